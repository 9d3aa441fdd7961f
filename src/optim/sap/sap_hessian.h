/* Newton's matrix H = S + J^T G J of the reduced contact problem (sap_system.h). Its pattern contains all terms, active or not. It is
 * assembled and factored in every iteration; connected components and orderings are determined once. Used by sap.c. */
#ifndef SS_OPTIM_SAP_SAP_HESSIAN_H
#define SS_OPTIM_SAP_SAP_HESSIAN_H
#include "optim/multifrontal/multifrontal_dual.h"
#include "optim/sap/sap_system.h"

typedef struct {
  const sap_system  *s;       /* borrowed */
  sparse_rows        H;       /* [n x n]; empty with a multifrontal factor or an operator */
  mass_factor       *factor;  /* of H */
  multifrontal_dual *dual;    /* with a multifrontal factor: used when few terms are active */
  sap_cg            *cg;      /* with an operator; NULL otherwise */
  bool               is_dual; /* the last factorisation used `dual` */
  int32_t           *mark;    /* [threads][n] slot of a column in the row being assembled */
  double            *work;    /* [n] */
  const double      *G;       /* [n_terms][9] of the last factorisation, borrowed */
} sap_hessian;

PetscErrorCode sap_hessian_create(const sap_system *s, sap_hessian *out);
void           sap_hessian_destroy(sap_hessian *h);
/* Factor H for G [n_terms][9]. *is_definite false: H is not positive definite, and the factor must not be used. */
PetscErrorCode sap_hessian_factor(sap_hessian *h, const double *G, bool *is_definite);
/* x = H^-1 b, [n]; x may be b. Uses the KSP of the problem, if it has one. Not available with an operator: call sap_cg_solve with h->cg
 * after sap_hessian_factor. */
PetscErrorCode sap_hessian_solve(sap_hessian *h, const double *b, double *x);
#endif
