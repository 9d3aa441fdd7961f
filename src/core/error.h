/* Error handling of the whole program.
 *
 * Every function that can fail returns PetscErrorCode and is called through PetscCall (petscsys.h). There are four kinds of failures:
 *   invalid user input          collected in a `diagnostics` list (core/diagnostics.h), then one PETSC_ERR_USER_INPUT
 *   environment (disk, memory)  PetscCheck / SETERRQ, with the file and the remedy in the message
 *   failed time step            not an error: the step status (discretize/body/step_status.h); negative: retry with a smaller step
 *   programming error           SS_ASSERT
 * error_install replaces PETSc's error printer; main reports an error with error_report, as one line for users. */
#ifndef SS_CORE_ERROR_H
#define SS_CORE_ERROR_H

#include <petscsys.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifndef PETSC_SUCCESS /* came with PETSc 3.19; Debian 12 has 3.18 */
#define PETSC_SUCCESS ((PetscErrorCode)0)
#endif

/* Exit codes of the program: name, number, meaning. main, --help, the man page and the tests use this table. */
/* clang-format off */
#define EXIT_CODE_TABLE(X)                                                                                          \
  X(EXIT_OK, 0, "success")                                                                                         \
  X(EXIT_BUG, 1, "an internal error: please report it with the message")                                           \
  X(EXIT_BAD_INPUT, 2, "the command line, job or input file is wrong; nothing was written")                        \
  X(EXIT_ENVIRONMENT, 3, "disk, memory, permission or a damaged file; existing files are unchanged")               \
  X(EXIT_STEP_FAILED, 4, "a time step failed at the smallest step allowed; a checkpoint and a report were written") \
  X(EXIT_DIFFERENT, 5, "diff: the two checkpoints differ")                                                          \
  X(EXIT_QUALITY, 5, "run, resume, sweep with --strict: finished, but an entry of the quality block is bad")        \
  X(EXIT_NOT_CONVERGED, 6, "friction: a solver did not reach the tolerance; its last iterate is written")            \
  X(EXIT_REQUEUE, 75, "stopped by a signal or a time limit, after writing a checkpoint: run `stickslip resume`, or requeue the job")
/* clang-format on */
typedef enum {
#define X(name, number, text) SS_##name = number,
  EXIT_CODE_TABLE(X)
#undef X
} exit_code;

/* Enabled in the debug, asan and tsan profiles (-DSS_CHECKS): a programming error stops the program with its position and expression. */
#ifdef SS_CHECKS
#define SS_ASSERT(condition)                                                                                                               \
  do {                                                                                                                                     \
    if (!(condition)) error_assertion_failed(#condition, __FILE__, __LINE__, __func__);                                                    \
  } while (0)
#else
#define SS_ASSERT(condition) ((void)sizeof(condition))
#endif
void error_assertion_failed(const char *condition, const char *file, int line, const char *function) __attribute__((noreturn));

/* Replace PETSc's error printer: the first message and the stack frames are stored in a fixed buffer, nothing is printed. Call once after
 * PetscInitialize. */
PetscErrorCode error_install(void);
/* Set the function that returns the bytes allocated by this program (memory_live). Out-of-memory messages of PETSc then contain this number; with NULL
 * they contain none. It is a callback because core/memory includes this header. */
void error_set_memory_counter(int64_t (*counter)(void));

/* Print the stored error with code `code` as one line for users. With `verbose`, and for internal errors, print the stack frames (function, file:line)
 * as well. Returns the exit code for `code` and clears the buffer. */
exit_code error_report(FILE *out, PetscErrorCode code, bool verbose);

/* Exit code for `code`; prints nothing. */
exit_code error_exit_code(PetscErrorCode code);
/* Message of the first error since error_clear, "" if none. Valid until the next error or error_clear. */
const char *error_message(void);
void        error_clear(void);

#endif
