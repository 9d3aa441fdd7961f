/* The unknowns of the one-step problem: components of the global vector that are free. Prescribed ones are known, followers go
 * with their leaders, v = P y + known; equations are tested with P alone, so that P^T M P stays symmetric and positive definite. */
#ifndef SS_SIM_STEP_STEP_UNKNOWNS_H
#define SS_SIM_STEP_STEP_UNKNOWNS_H
#include "contact/rows/contact_jacobian.h"
#include "core/sparse_rows.h"
#include "optim/sap/sap_cg.h"
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
/* y [n] = P^T x. */
void step_unknowns_fold(const step_unknowns *u, const double *x, double *y);
/* y [n]: the free components of v. */
void step_unknowns_pick(const step_unknowns *u, const double *v, double *y);
/* M = P^T (what the systems assemble at their last residual with tangent) P; keep as in step_pattern. */
PetscErrorCode step_unknowns_mass(const step_unknowns *u, const step_layout *l, const bool *keep, sparse_rows *M);
/* H = (rows of contacts) P; u = H y + known_u then holds for known_u = the contacts' velocities at v = known. */
PetscErrorCode step_unknowns_jacobian(const step_unknowns *u, const contact_jacobian *j, sparse_rows *H);

/* Which blocks of the global vector a step's matrix couples. */
/* Couplings that the systems say they have (body_ops.couplings), and n_pairs more (row, col), unordered, which may repeat: rows
 * *row_start
 * [n_blocks + 1] of ascending columns *col. Both are allocated: free them with memory_free. keep [n_blocks], NULL: all: of systems that
 * assemble parts only couplings of blocks both of which are kept, and diagonals. */
PetscErrorCode step_pattern(const step_layout *l, int64_t n_pairs, const int32_t *pair_row, const int32_t *pair_col, const bool *keep,
                            int64_t **row_start, int32_t **col);
/* How many couplings systems have, about: of large ones every 16th block is asked. */
double         step_pattern_size(const step_layout *l);

/* The tangent A of the systems in the step's unknowns by products, without its entries: body_ops.tangent where they were evaluated
 * last. */
typedef struct {
  const step_layout   *l;
  const step_unknowns *u;
  double              *x, *y; /* [n_full] */
  int64_t              n_products;
  sap_operator         operator; /* its context is this */
} step_operator;

/* A: its entries, for preconditioning; NULL: blocks that systems give will do, residuals are weighed as in step_motion_norm. Everything is borrowed; *o stays where it is. */
PetscErrorCode step_operator_create(const step_layout *l, const step_unknowns *u, const sparse_rows *A, step_operator *o);
void           step_operator_destroy(step_operator *o);
/* Do all systems have products? */
bool           step_operator_exists(const step_layout *l);
#endif
