/* The convex contact problem (sap_problem) and its reduced system (sap_system). The reduced system contains the unknowns in the terms of
 * the cost, and the terms by columns. Its matrix S is A for small components, and a Schur complement of A for large components with few
 * such unknowns. Used by sap.c and sap_hessian.c. */
#ifndef SS_OPTIM_SAP_SAP_SYSTEM_H
#define SS_OPTIM_SAP_SAP_SYSTEM_H
#include "core/sparse_rows.h"
#include "optim/friction/mass_factor.h"
#include "optim/multifrontal/multifrontal.h"
#include "optim/sap/sap_cg.h"
#include "optim/sap/sap_law.h"

/* J by columns: for each term and each of its unknowns, the three coefficients of the unknown in the velocities of the term. */
typedef struct {
  int64_t  n;      /* terms */
  int64_t *start;  /* [n + 1] */
  int32_t *column; /* [start[n]] unknown, ascending within a term */
  double  *value;  /* [start[n]][3] */
} sap_columns;

/* Create from J, which has 3 n rows. The caller destroys *out, which is empty after a failure. */
PetscErrorCode                   sap_columns_create(const sparse_rows *J, int64_t n, sap_columns *out);
void                             sap_columns_destroy(sap_columns *t);
static inline multifrontal_terms sap_columns_view(const sap_columns *t)
{
  return (multifrontal_terms){t->n, t->start, t->column, t->value};
}

typedef struct {
  const sparse_rows *A, *J;  /* [n x n] symmetric positive definite, both triangles; [3 n_terms x n], contacts: normal row first */
  const mass_factor *factor; /* of A */
  const double      *v_free; /* [n] velocities without contact impulses */
  const double      *known;  /* [n_terms][3] known part of u, e.g. of prescribed bodies [m/s] */
  sap_terms          terms;
  /* For large components: a multifrontal factor of A, created with the terms of J; and J by columns. It replaces `factor`, which may then
   * be NULL. */
  multifrontal_factor      *front;
  const multifrontal_terms *columns;
  /* For conjugate gradients: products with A, which replace both factors. */
  const sap_operator *operator;
  /* [n_contacts][3] predicted contact impulses, 0 where unknown; NULL: none. They predict stick and slip for the first search
   * direction only, and only with the regularised law. */
  const double  *predicted;
  linear_solver *solver; /* of the Newton systems; NULL: factors, or with `operator` conjugate gradients with prefix sap_ */
} sap_problem;

typedef struct {
  const sap_problem *problem; /* borrowed */
  int64_t            n;       /* unknowns of the reduced system */
  int32_t           *own;     /* [n] the unknown of the problem */
  sparse_rows        S;       /* [n x n]; empty where the problem has a multifrontal factor, which contains it */
  double            *v_free;  /* [n] */
  double            *inverse; /* [n] diag(S)^-1/2 */
  sap_columns        J;       /* J by terms, unknowns of the reduced system */
  /* Transpose of J: the entries of J that belong to unknown i are touch[touch_start[i]] ... touch[touch_start[i + 1] - 1], ascending. */
  int64_t *touch_start; /* [n + 1] */
  int64_t *touch;
  int32_t *term;            /* [touch_start[n]] term of each entry of J */
  double  *wide, *wide_too; /* scratch vectors of the size of the problem; NULL without a multifrontal factor */
} sap_system;

PetscErrorCode sap_system_create(const sap_problem *p, sap_system *out);
void           sap_system_destroy(sap_system *s);
/* y [n] = S x, x [n] */
void sap_system_product(const sap_system *s, const double *x, double *y);
/* u [n_terms][3] = J x, x [n] */
void sap_system_velocity(const sap_system *s, const double *x, double *u);
/* y [n] = J^T r, r [n_terms][3] */
void sap_system_impulse(const sap_system *s, const double *r, double *y);
#endif
