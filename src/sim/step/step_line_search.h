/* Line search for a zero of the slope of work along a linearised step, for the whole scene or separately for independent parts.
 *
 * A linearised step M (v - v_k) + g(v_k) = H^T r goes from v_k along d = v - v_k. The slope of work d . (g - H^T r) is negative at
 * v_k and should be near 0 at the end of the step. For given impulses r the connected components of M (strands, meshes,
 * super-helices) are independent, so that each can have its own step length: one strand that snaps through does not shorten the
 * steps of thousands of others. All components smaller than a strand (rigid bodies, free nodes) together are one part.
 *
 * Step lengths are found by safeguarded interpolation of the slope, every third time by bisection. Used by nonlinear.c. */
#ifndef SS_SIM_STEP_STEP_LINE_SEARCH_H
#define SS_SIM_STEP_STEP_LINE_SEARCH_H
#include "optim/friction/delassus.h"

/* A slope below this fraction of the initial slope counts as zero. Measured: with 0.1 to 0.9 the number of linearisations of wisps,
 * brushes, knots and plates changes by at most 8 %, without a trend. */
#define STEP_SLOPE_FRACTION 0.5

typedef struct {
  int64_t  n, n_parts;
  int32_t *part;                          /* [n] part of each unknown; NULL: there is one part */
  double  *first, *slope;                 /* [n_parts] slope of work at the start, and at the last trial point */
  double  *residual;                      /* [n_parts] squared residual norms */
  double  *share;                         /* [n_parts] step length: 1 is the full step */
  double  *low, *at_low, *high, *at_high; /* [n_parts] step lengths that are too short and too long, and the slopes there */
  bool    *is_selected;                   /* [n_parts] parts whose line search is not finished */
  int64_t  n_selected;
} step_line_search;

/* One part of n unknowns. destroy accepts zeros. */
PetscErrorCode step_line_search_create(int64_t n, step_line_search *w);
void           step_line_search_destroy(step_line_search *w);
/* Find the parts of W's mass matrix. */
PetscErrorCode step_line_search_create_parts(const delassus *W, step_line_search *w);
/* Set the initial slopes: dy is the search direction, gradient the residual g - H^T r at the start, both [n]. */
void step_line_search_start(step_line_search *w, const double *dy, const double *gradient);
/* Check the full step, where the residual is `gradient`; scale [n]: its weights (not used for one part). Select the parts that need a
 * shorter step (slope > -STEP_SLOPE_FRACTION * initial slope), among those with at least the average squared residual; return their
 * number. Other parts keep the full step. gradient NULL, for one part: the state is invalid. */
int64_t step_line_search_select(step_line_search *w, const double *dy, const double *gradient, const double *scale);
/* Choose the next step length of every selected part; `step` counts from 0. */
void step_line_search_next(step_line_search *w, int step);
/* gradient: the residual at these step lengths; NULL: the state is invalid, so all step lengths are too long. Returns the number of
 * parts whose search is not finished. */
int64_t step_line_search_update(step_line_search *w, const double *dy, const double *gradient);
/* y = start + share dy. */
void step_line_search_point(const step_line_search *w, const double *start, const double *dy, double *y);
#endif
