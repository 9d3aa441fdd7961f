/* Arrays generated from the table of warning codes. */
#include "sim/scene/warning_codes.h"
#include <stddef.h>

#define X(code, place, help) {code, place, help},
const warning_code warning_codes[] = {WARNING_CODE_TABLE(X){NULL, NULL, NULL}};
#undef X
#define X(code, place, help) code,
const char *const warning_code_names[] = {WARNING_CODE_TABLE(X) NULL};
#undef X
