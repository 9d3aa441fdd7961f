/* The unknowns that take part in contact or other terms of the cost, and what the minimisation knows of them: S, which is A where all
 * of a component's unknowns take part, and its Schur complement where few do; and terms by columns. */
#ifndef SS_OPTIM_SAP_SAP_SYSTEM_H
#define SS_OPTIM_SAP_SAP_SYSTEM_H
#include "optim/sap/sap.h"
#include "optim/sap/sap_columns.h"

typedef struct {
  const sap_problem *problem; /* borrowed */
  int64_t     n;
  int32_t    *own;      /* [n] unknown of the problem */
  sparse_rows S;        /* [n x n]; empty where the problem has a multifrontal factor, which holds it */
  double     *v_free;   /* [n] */
  double     *inverse;  /* [n] diag(S)^-1/2 */
  /* J by terms: what one unknown of these adds to u_a, */
  sap_columns J;
  /* and by unknowns: entries of the above, ascending. */
  int64_t *touch_start; /* [n + 1] */
  int64_t *touch;
  int32_t *term;        /* of each entry */
  double  *wide, *wide_too; /* [of the problem] work */
} sap_system;

PetscErrorCode sap_system_create(const sap_problem *p, sap_system *out);
void           sap_system_destroy(sap_system *s);
/* y [n] = S x */
void sap_system_product(const sap_system *s, const double *x, double *y);
/* u [n_terms][3] = J x */
void sap_system_velocity(const sap_system *s, const double *x, double *u);
/* y [n] = J^T r */
void sap_system_impulse(const sap_system *s, const double *r, double *y);
#endif
