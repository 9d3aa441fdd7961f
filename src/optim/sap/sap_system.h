/* The unknowns that take part in contact, and what the minimisation knows of them: S, which is A where all of a component's
 * unknowns take part, and its Schur complement where few do; and contacts by columns. */
#ifndef SS_OPTIM_SAP_SYSTEM_H
#define SS_OPTIM_SAP_SYSTEM_H
#include "optim/sap/sap.h"

typedef struct {
  int64_t     n, n_contacts;
  int32_t    *own;      /* [n] unknown of the problem */
  sparse_rows S;        /* [n x n] */
  double     *v_free;   /* [n] */
  double     *inverse;  /* [n] diag(S)^-1/2 */
  /* J by contacts: what one unknown adds to u_a, */
  int64_t *start;  /* [n_contacts + 1] */
  int32_t *column; /* ascending */
  double  *value;  /* [][3] */
  /* and by unknowns: entries of the above, ascending. */
  int64_t *touch_start; /* [n + 1] */
  int64_t *touch;
  int32_t *contact;     /* of each entry */
} sap_system;

PetscErrorCode sap_system_create(const sap_problem *p, sap_system *out);
void           sap_system_destroy(sap_system *s);
/* u [n_contacts][3] = J x */
void sap_system_velocity(const sap_system *s, const double *x, double *u);
/* y [n] = J^T r */
void sap_system_impulse(const sap_system *s, const double *r, double *y);
#endif
