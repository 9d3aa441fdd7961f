/* Free unknowns y of a step, v = P y + known, and matrices in terms of y. `known` contains prescribed components; P sets dependent
 * nodes from their leaders. Equations are multiplied by P^T, so that P^T M P is symmetric positive definite. The tangent is available
 * as a matrix (step_unknowns_mass) or by products (step_operator). */
#ifndef SS_SIM_STEP_STEP_UNKNOWNS_H
#define SS_SIM_STEP_STEP_UNKNOWNS_H
#include "contact/rows/contact_jacobian.h"
#include "core/sparse_rows.h"
#include "optim/sap/sap_cg.h"
#include "sim/step/step_layout.h"

typedef struct {
  int64_t     n_full, n;    /* 3 n_blocks; number of free unknowns */
  bool        is_all;       /* all components are free: P = 1, the other members are empty */
  bool        is_selection; /* there are no dependent nodes: P selects components, PT is empty */
  sparse_rows P, PT;
  int32_t    *own;   /* [n] component of the global vector of each unknown */
  double     *known; /* [n_full] prescribed part of v */
} step_unknowns;

/* Create the unknowns of the step that `l` has begun. destroy accepts zeros. */
PetscErrorCode step_unknowns_create(const step_layout *l, step_unknowns *u);
void           step_unknowns_destroy(step_unknowns *u);
/* v [n_full] = P y + known. */
void step_unknowns_expand(const step_unknowns *u, const double *y, double *v);
/* y [n] = P^T x. */
void step_unknowns_fold(const step_unknowns *u, const double *x, double *y);
/* y [n]: the free components of v. */
void step_unknowns_select(const step_unknowns *u, const double *v, double *y);
/* Residual norm |D^-1 x| of x [n], see step_layout.h. */
double step_unknowns_norm(const step_unknowns *u, const step_layout *l, const double *x);
/* M = P^T A P, with A assembled by the systems at their last residual with tangent. keep: as in step_pattern. */
PetscErrorCode step_unknowns_mass(const step_unknowns *u, const step_layout *l, const bool *keep, sparse_rows *M);
/* H = (contact rows) P. Then u = H y + known_u, with known_u the contact velocities at v = known. */
PetscErrorCode step_unknowns_jacobian(const step_unknowns *u, const contact_jacobian *j, sparse_rows *H);

/* Sparsity pattern of the global matrix: the couplings of the systems (body_ops.couplings) and n_pairs further (row, col),
 * unordered, possibly repeated. Out: *row_start [n_blocks + 1] and ascending columns *col, to be freed with memory_free. keep
 * [n_blocks]: systems that can assemble parts contribute only diagonals and couplings between kept blocks; NULL: everything. */
PetscErrorCode step_pattern(const step_layout *l, int64_t n_pairs, const int32_t *pair_row, const int32_t *pair_col, const bool *keep,
                            int64_t **row_start, int32_t **col);
/* Estimated number of couplings between blocks; in large systems every 16th block is counted. */
double step_pattern_size(const step_layout *l);

/* Products with the tangent of the systems in the unknowns of the step (body_ops.tangent at the last evaluation), without
 * assembling it. */
typedef struct {
  const step_layout   *l;
  const step_unknowns *u;
  double              *x, *y; /* [n_full] work */
  int64_t              n_products;
  sap_operator         operator; /* its context is this struct */
} step_operator;

/* A: assembled entries for preconditioning; NULL: the diagonal blocks of the systems are used, and residuals are weighted as in
 * step_unknowns_norm. Everything is borrowed; *o must not move. */
PetscErrorCode step_operator_create(const step_layout *l, const step_unknowns *u, const sparse_rows *A, step_operator *o);
void           step_operator_destroy(step_operator *o);
/* True if all systems provide products and diagonal blocks. */
bool step_operator_exists(const step_layout *l);
#endif
