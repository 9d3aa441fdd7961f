/* Splitting: block Gauss-Seidel over contacts [Daviet2011], the keys of its options. */
#ifndef SS_OPTIM_SPLITTING_H
#define SS_OPTIM_SPLITTING_H
#include "core/key_table.h"

typedef struct friction_splitting_options {
  int64_t check_every; /* sweeps between evaluations of the error */
} friction_splitting_options;
extern const key_table friction_splitting_table;
#endif
