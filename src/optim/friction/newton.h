/* Newton's method on the function of Alart and Curnier [BertailsEtAl2011], the keys of its options. */
#ifndef SS_OPTIM_FRICTION_NEWTON_H
#define SS_OPTIM_FRICTION_NEWTON_H
#include "core/key_table.h"

typedef enum { NEWTON_FULL, NEWTON_ARMIJO, NEWTON_GOLDSTEIN_PRICE, NEWTON_NONMONOTONE } newton_line_search;
typedef struct friction_newton_options {
  int    line_search; /* newton_line_search */
  double merit;       /* 1/2 |f|^2 at which to stop, 0: by the error alone */
} friction_newton_options;
extern const key_table friction_newton_table;
#endif
