/* The unknowns of the one-step problem: components of the global vector that are free. Prescribed ones are known, followers go
 * with their leaders, v = P y + known; equations are tested with P alone, so that P^T M P stays symmetric and positive definite. */
#ifndef SS_SIM_STEP_STEP_UNKNOWNS_H
#define SS_SIM_STEP_STEP_UNKNOWNS_H
#include "contact/rows/contact_jacobian.h"
#include "core/sparse_rows.h"
#include "sim/step/step_layout.h"

typedef struct {
  int64_t     n_full, n;  /* 3 n_blocks; free ones */
  bool        is_all;     /* everything is free: P = 1, and the rest is empty */
  bool        is_picked;  /* there are no followers: P picks, and PT is empty */
  sparse_rows P, PT;
  int32_t    *own;        /* [n] which component of the global vector each is */
  double     *known;      /* [n_full] */
} step_unknowns;

/* Of the step that `l` has begun. destroy copes with zeros. */
PetscErrorCode step_unknowns_create(const step_layout *l, step_unknowns *u);
void           step_unknowns_destroy(step_unknowns *u);
/* v [n_full] = P y + known. */
void step_unknowns_expand(const step_unknowns *u, const double *y, double *v);
/* v [n_full] = P y. */
void step_unknowns_spread(const step_unknowns *u, const double *y, double *v);
/* y [n] = P^T x. */
void step_unknowns_fold(const step_unknowns *u, const double *x, double *y);
/* y [n]: the free components of v. */
void step_unknowns_pick(const step_unknowns *u, const double *v, double *y);
/* M = P^T (what the systems assemble at their last residual with tangent) P; keep as in step_pattern. */
PetscErrorCode step_unknowns_mass(const step_unknowns *u, const step_layout *l, const bool *keep, sparse_rows *M);
/* H = (rows of contacts) P; u = H y + known_u then holds for known_u = the contacts' velocities at v = known. */
PetscErrorCode step_unknowns_jacobian(const step_unknowns *u, const contact_jacobian *j, sparse_rows *H);
#endif
