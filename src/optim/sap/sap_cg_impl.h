/* What conjugate gradients and GMRES share: products, the preconditioner, the norm. */
#ifndef SS_OPTIM_SAP_SAP_CG_IMPL_H
#define SS_OPTIM_SAP_SAP_CG_IMPL_H
#include "optim/sap/sap_cg.h"

enum { SAP_CG_PARALLEL = 4096 };
static const double SAP_CG_ROUNDING = 1e-15; /* of |D b|: no residual comes lower */

struct sap_cg {
  const sap_operator *o;
  const front_terms  *t;
  int64_t             n, n_touched;
  double             *inverse;    /* [n] 1/diag(A), or weight */
  double             *block;      /* [(n + 2)/3][9] inverses of diagonal blocks */
  int32_t            *touched;    /* [n_touched] */
  sparse_rows         part;       /* A among them */
  int32_t            *part_column; /* columns of terms, as numbers of them */
  front_terms         part_terms;
  front_tree         *tree;
  front_factor       *factor;
  const double       *G;
  double             *own;        /* [n_touched] */
  double             *r, *z, *p, *Ap, *Hp; /* [n] */
  double             *u;          /* [t->n][3] */
  int64_t            *touch_start, *touch; /* entries of terms by touched unknown */
  int32_t            *term;
};

/* z = an approximation of H^-1 r. */
void   sap_cg_precondition(sap_cg *c, const double *restrict r, double *restrict z);
/* Hp = Ap + J^T G J p. */
void   sap_cg_add_terms(sap_cg *c, const double *p, const double *Ap, double *Hp);
/* |D r|; scaled [n]: work. */
double sap_cg_norm(const sap_cg *c, const double *r, double *scaled);
#endif
