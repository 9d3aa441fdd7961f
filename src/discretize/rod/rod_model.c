#include "discretize/rod/rod_model.h"

#define X(name, help) &rod_model_##name,
const rod_model *const rod_models[] = {ROD_MODEL_TABLE(X) NULL};
#undef X
#define X(name, help) #name,
const char *const rod_model_names[] = {ROD_MODEL_TABLE(X) NULL};
#undef X
#define X(name, help) help,
const char *const rod_model_help[] = {ROD_MODEL_TABLE(X) NULL};
#undef X
