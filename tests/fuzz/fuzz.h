/* Common to all fuzz targets: a MUST that is not satisfied stops the fuzzer, which then writes the input to a file. */
#ifndef SS_TESTS_FUZZ_H
#define SS_TESTS_FUZZ_H
#include <stdio.h>
#include <stdlib.h>
#include "core/error.h"

#define MUST(condition)                                                                                                                    \
  do {                                                                                                                                     \
    if (!(condition)) {                                                                                                                    \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                                            \
      abort();                                                                                                                             \
    }                                                                                                                                      \
  } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Once, at the start: what a target needs besides PETSc. */
static void fuzz_set_up(void);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc;
  (void)argv;
  MUST(!PetscInitializeNoArguments() && !error_install());
  fuzz_set_up();
  return 0;
}
#endif
