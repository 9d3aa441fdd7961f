/* Terms by columns: what one unknown adds to the three velocities of a term, side by side. */
#ifndef SS_OPTIM_SAP_SAP_COLUMNS_H
#define SS_OPTIM_SAP_SAP_COLUMNS_H
#include "optim/multifrontal/multifrontal.h"

typedef struct {
  int64_t  n;
  int64_t *start;  /* [n + 1] */
  int32_t *column; /* ascending in a term */
  double  *value;  /* [][3] */
} sap_columns;

/* Of J [3 n x ...]. *out is empty after a failure. */
PetscErrorCode     sap_columns_create(const sparse_rows *J, int64_t n, sap_columns *out);
void               sap_columns_destroy(sap_columns *t);
static inline front_terms sap_columns_view(const sap_columns *t) { return (front_terms){t->n, t->start, t->column, t->value}; }
#endif
