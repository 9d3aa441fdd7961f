/* Line search of a linearised step, separately for independent parts of the scene. Parts are the connected components of the
 * mass matrix in M (v - v_k) + g(v_k) = H^T r: strands, meshes, super-helices. All components smaller than a strand (rigid
 * bodies, free nodes) together are one part. For given impulses r the parts are independent. In each part the slope of work (v -
 * v_k) . (g - H^T r) is negative at the start of the search direction and should be near 0 at the end of the step. Thus one
 * strand that snaps through does not shorten the steps of thousands of others. Used by exact.c. */
#ifndef SS_SIM_EXACT_EXACT_LINE_SEARCH_H
#define SS_SIM_EXACT_EXACT_LINE_SEARCH_H
#include "optim/friction/delassus.h"

#define EXACT_SLOPE_FRACTION 0.5 /* fraction of the initial slope below which a slope counts as zero */

typedef struct {
  int64_t  n, n_parts;
  int32_t *part;            /* [n] part of each unknown */
  double  *first, *slope;   /* [n_parts] slope of work at the start, and at the last trial point */
  double  *residual;        /* [n_parts] squared residual norms */
  double  *share;           /* [n_parts] step length: 1 is the full step */
  double  *low, *at_low, *high, *at_high; /* [n_parts] step lengths that are too short and too long (infinite: none known), and
                                           * the slopes there */
  bool    *is_selected;       /* [n_parts] parts whose line search is not finished */
  int64_t  n_selected;
} exact_line_search;

/* Find the parts of W's mass matrix. destroy accepts zeros. */
PetscErrorCode exact_line_search_create(const delassus *W, exact_line_search *w);
void           exact_line_search_destroy(exact_line_search *w);
/* Set the initial slopes: dy is the search direction, gradient the residual g - H^T r at the start, both [n]. */
void exact_line_search_start(exact_line_search *w, const double *dy, const double *gradient);
/* Check the full step, where the residual is `gradient` with weights `scale` [n]. Select the parts that went too far, among
 * those with at least an average share of the residual, and return their number. All step lengths are 1 until
 * exact_line_search_next. Parts that did not go far enough are not selected: their stiff components have converged, and the next
 * linearisation advances the others. */
int64_t exact_line_search_select(exact_line_search *w, const double *dy, const double *gradient, const double *scale);
/* Choose the next step length of every selected part; `step` counts from 0. */
void exact_line_search_next(exact_line_search *w, int step);
/* Evaluate the residual at these step lengths; NULL: the state is invalid, all selected parts went too far. Returns the number
 * of parts still selected. */
int64_t exact_line_search_update(exact_line_search *w, const double *dy, const double *gradient);
/* y = start + share dy. */
void exact_line_search_point(const exact_line_search *w, const double *start, const double *dy, double *y);
#endif
