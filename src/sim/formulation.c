#include "sim/formulation.h"

#define X(name) &name##_formulation,
const formulation_ops *const formulations[] = {FORMULATION_TABLE(X) NULL};
#undef X

#define X(name) #name,
const char *const formulation_names[] = {FORMULATION_TABLE(X) NULL};
#undef X
