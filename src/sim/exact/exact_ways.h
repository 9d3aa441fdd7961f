/* How far to go along the way that a linearised problem gives, each part of the scene for itself. Parts are the components of the
 * mass matrix of M (v - v_k) + g(v_k) = H^T r: strands, meshes, super-helices; what falls into smaller pieces than a strand, rigid
 * bodies and free nodes, is one part. Given the impulses r parts do not know of each other, and in each the slope of work
 * (v - v_k) . (g - H^T r) is below 0 where the way begins and should be near 0 where it ends. One strand among thousands that
 * snaps through keeps no other from going all its way. */
#ifndef SS_SIM_EXACT_EXACT_WAYS_H
#define SS_SIM_EXACT_EXACT_WAYS_H
#include "optim/friction/delassus.h"

#define EXACT_OFF 0.5 /* share of the slope at the start of a way that is no slope at its end */

typedef struct {
  int64_t  n, n_parts;
  int32_t *part;            /* [n] of each unknown */
  double  *first, *slope;   /* [n_parts] slope of work at the start, and where it was last looked */
  double  *residual;        /* [n_parts] squares of what is left */
  double  *share;           /* [n_parts] of the way: 1 all of it */
  double  *low, *at_low, *high, *at_high; /* [n_parts] shares not far enough and too far (infinite: none known), and slopes there */
  bool    *is_sought;       /* [n_parts] */
  int64_t  n_sought;
} exact_ways;

/* The parts of W's mass matrix. destroy copes with zeros. */
PetscErrorCode exact_ways_create(const delassus *W, exact_ways *w);
void           exact_ways_destroy(exact_ways *w);
/* Where ways begin: dy, left (g - H^T r) [n]. */
void exact_ways_begin(exact_ways *w, const double *dy, const double *left);
/* Where they end, with what is left there; `scale` [n] measures it. Which parts went too far, among those that have at least their
 * even share of what is left? Returns how many; all shares are 1 until exact_ways_next. Parts that did not go far enough are not
 * sought: what is stiff in them is where it should be, and another linearisation brings the rest on. */
int64_t exact_ways_seek(exact_ways *w, const double *dy, const double *left, const double *scale);
/* The next share of every part that is sought; step counts from 0. */
void exact_ways_next(exact_ways *w, int step);
/* What is left at these shares; NULL: that state cannot be, all that are sought went too far. Returns how many still are sought. */
int64_t exact_ways_take(exact_ways *w, const double *dy, const double *left);
/* y = start + share dy. */
void exact_ways_go(const exact_ways *w, const double *start, const double *dy, double *y);
#endif
