/* Error handling, see error.h. The handler stores the first and the last error; error_report prints the one with the given code. */
#include "core/error.h"
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_SIZE = 2048, N_FRAMES = 48 }; /* PETSc truncates messages at 2047 */

/* The pointers refer to literals: PETSc passes __func__ and __FILE__. */
typedef struct {
  const char *function, *file;
  int         line;
} error_frame;

typedef struct {
  bool           is_set;
  PetscErrorCode code;
  char           message[MESSAGE_SIZE];
  int            n_frames;
  error_frame    frame[N_FRAMES];
} error_record;

/* Cleaning up after the first error may raise further errors, and an earlier error may have been ignored by its caller. Therefore the first and the
 * last error are stored, and the report uses the one with the given code. Static storage: memory may be exhausted. */
static error_record first, last;

static int64_t (*bytes_in_use)(void); /* see error_set_memory_counter */

static void start_record(error_record *r, PetscErrorCode code, const char *message)
{
  r->is_set   = true;
  r->code     = code;
  r->n_frames = 0;
  snprintf(r->message, sizeof r->message, "%s", message ? message : "");
  size_t n = strlen(r->message);
  while (n > 0 && strchr(" \n", r->message[n - 1])) r->message[--n] = '\0';
}

static void add_frame(error_record *r, const char *function, const char *file, int line)
{
  if (r->n_frames < N_FRAMES) r->frame[r->n_frames++] = (error_frame){function, file, line};
}

/* When PETSc 3.18 runs out of memory (mal.c), it passes the caller's line as error code and the caller's name as message. */
static bool is_out_of_memory(const char *function, PetscErrorType type)
{
  return type == PETSC_ERROR_INITIAL && function && (!strcmp(function, "PetscMallocAlign") || !strcmp(function, "PetscReallocAlign"));
}

static PetscErrorCode catch_error(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type,
                                  const char *message, void *context)
{
  char why[512];
  (void)comm, (void)context;
  if (is_out_of_memory(function, type)) {
    code            = PETSC_ERR_MEM;
    char in_use[48] = "";
    if (bytes_in_use) snprintf(in_use, sizeof in_use, " with %.1f MiB in use", (double)bytes_in_use() / 1048576.0);
    snprintf(why, sizeof why, "out of memory: PETSc requested more in %s%s; use a smaller scene or a larger machine",
             message && *message ? message : function, in_use);
    message = why;
  }
  if (code == PETSC_ERR_SIG) /* PETSc aborts right after this call, so print here */
    fprintf(stderr, "stickslip: internal error: caught a deadly signal (%s)\n", message && *message ? message : function);
  const bool is_start = type == PETSC_ERROR_INITIAL || !first.is_set;
  if (is_start) {
    /* a repeated error has only a placeholder as message */
    const char *text = type == PETSC_ERROR_INITIAL ? message : "";
    if (!first.is_set) start_record(&first, code, text);
    start_record(&last, code, text);
  }
  if (is_start ? first.n_frames == 0 : first.code == code && last.n_frames == first.n_frames) add_frame(&first, function, file, line);
  add_frame(&last, function, file, line);
  return code;
}

void error_set_memory_counter(int64_t (*counter)(void)) { bytes_in_use = counter; }

PetscErrorCode error_install(void)
{
  error_clear();
  PetscCall(PetscPushErrorHandler(catch_error, NULL));
  return PETSC_SUCCESS;
}

static bool is_from_options(const error_record *r)
{
  for (int i = 0; i < r->n_frames; ++i) {
    const char *f = r->frame[i].function;
    if (f && (strstr(f, "PetscOptions") == f || strstr(f, "FromOptions"))) return true;
  }
  return false;
}

static exit_code exit_code_of(PetscErrorCode code, const error_record *r)
{
  switch ((int)code) {
  case 0: return SS_EXIT_OK;
  case PETSC_ERR_USER_INPUT:
  case PETSC_ERR_ARG_UNKNOWN_TYPE: /* unknown name of a solver in the petsc: block */ return SS_EXIT_BAD_INPUT;
  case PETSC_ERR_ARG_WRONG:
  case PETSC_ERR_ARG_OUTOFRANGE:
  case PETSC_ERR_ARG_INCOMP:
  case PETSC_ERR_SUP:
  case PETSC_ERR_USER: /* an option value rejected by PETSc; from any other function it is a programming error */
    return r && is_from_options(r) ? SS_EXIT_BAD_INPUT : SS_EXIT_BUG;
  case PETSC_ERR_FILE_OPEN:
  case PETSC_ERR_FILE_READ:
  case PETSC_ERR_FILE_WRITE:
  case PETSC_ERR_FILE_UNEXPECTED:
  case PETSC_ERR_MEM:
  case PETSC_ERR_SYS: return SS_EXIT_ENVIRONMENT;
  default: return SS_EXIT_BUG;
  }
}

static const error_record *record_of(PetscErrorCode code)
{
  return first.is_set && first.code == code ? &first : last.is_set && last.code == code ? &last : NULL;
}

exit_code error_exit_code(PetscErrorCode code) { return exit_code_of(code, record_of(code)); }

static void print_frames(FILE *out, const error_record *r)
{
  for (int i = 0; i < r->n_frames; ++i)
    fprintf(out, "  %s %s (%s:%d)\n", i ? "called from" : "in", r->frame[i].function ? r->frame[i].function : "?",
            r->frame[i].file ? r->frame[i].file : "?", r->frame[i].line);
}

exit_code error_report(FILE *out, PetscErrorCode code, bool verbose)
{
  const error_record *r      = record_of(code);
  const exit_code     result = exit_code_of(code, r);
  const char         *text = r ? r->message : "", *generic = NULL;
  if (result == SS_EXIT_OK) {
    error_clear();
    return result;
  }
  /* user input without a message: diagnostics_close has printed its list */
  const bool is_reported = code == PETSC_ERR_USER_INPUT && !*text;
  if (!is_reported) {
    if (!*text) (void)PetscErrorMessage(code, &generic, NULL);
    if (!*text) text = generic ? generic : "unknown error";
    const int length = result == SS_EXIT_BUG || verbose ? (int)strlen(text) : (int)strcspn(text, "\n");
    fprintf(out, "stickslip: %s%.*s\n", result == SS_EXIT_BUG ? "internal error: " : "", length, text);
  }
  if (r && (verbose || result == SS_EXIT_BUG)) print_frames(out, r);
  if (result == SS_EXIT_BUG) fprintf(out, "  (code %d; please report this, with the job file if you can)\n", (int)code);
  fflush(out);
  error_clear();
  return result;
}

const char *error_message(void) { return first.is_set ? first.message : ""; }

void error_clear(void)
{
  first.is_set = last.is_set = false;
  first.n_frames = last.n_frames = 0;
  first.message[0] = last.message[0] = '\0';
}

void error_assertion_failed(const char *condition, const char *file, int line, const char *function)
{
  fflush(stdout);
  fprintf(stderr, "stickslip: internal error: %s:%d: %s: assertion failed: %s\n", file, line, function, condition);
  fflush(stderr);
  /* PETSc's handler for SIGABRT would print a page of advice */
  (void)PetscPopSignalHandler();
  abort();
}
