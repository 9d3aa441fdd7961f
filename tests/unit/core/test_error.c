/* core/error: what users see for each kind of error, and with which exit code. */
#include "test.h"
#include <petscksp.h>
#include <string.h>

static PetscErrorCode fail_deep(PetscErrorCode code, const char *message)
{
  PetscCheck(false, PETSC_COMM_SELF, code, "%s", message);
  return PETSC_SUCCESS;
}
static PetscErrorCode fail_middle(PetscErrorCode code, const char *message)
{
  PetscCall(fail_deep(code, message));
  return PETSC_SUCCESS;
}
static PetscErrorCode fail_bare(PetscErrorCode code) { return code; } /* like diagnostics_close: has printed already */
static PetscErrorCode fail_bare_middle(PetscErrorCode code)
{
  PetscCall(fail_bare(code));
  return PETSC_SUCCESS;
}

/* The report as a string. */
static const char *report(PetscErrorCode code, bool verbose, exit_code *result)
{
  static char text[8192];
  text[0]   = '\0';
  FILE *out = fmemopen(text, sizeof text, "w");
  assert_non_null(out);
  *result = error_report(out, code, verbose);
  fclose(out);
  return text;
}

static void test_user_sees_one_line(void **state)
{
  (void)state;
  exit_code            e;
  const PetscErrorCode code = fail_middle(PETSC_ERR_FILE_OPEN, "cannot open \"a.h5\": no such file\nmore");
  assert_int_equal(code, PETSC_ERR_FILE_OPEN);
  assert_string_equal(error_message(), "cannot open \"a.h5\": no such file\nmore");
  assert_string_equal(report(code, false, &e), "stickslip: cannot open \"a.h5\": no such file\n");
  assert_int_equal(e, SS_EXIT_ENVIRONMENT);
  assert_string_equal(error_message(), ""); /* cleared */
}

static void test_verbose_and_bugs_show_frames(void **state)
{
  (void)state;
  exit_code   e;
  const char *text = report(fail_middle(PETSC_ERR_FILE_READ, "damaged"), true, &e);
  assert_non_null(strstr(text, "in fail_deep ("));
  assert_non_null(strstr(text, "called from fail_middle ("));
  assert_non_null(strstr(text, "test_error.c:"));
  text = report(fail_middle(PETSC_ERR_PLIB, "impossible"), false, &e);
  assert_int_equal(e, SS_EXIT_BUG);
  assert_ptr_equal(strstr(text, "stickslip: internal error: impossible\n"), text);
  assert_non_null(strstr(text, "called from fail_middle ("));
  assert_non_null(strstr(text, "report"));
}

static void test_reported_user_input_is_silent(void **state)
{
  (void)state;
  exit_code e;
  assert_string_equal(report(fail_bare_middle(PETSC_ERR_USER_INPUT), false, &e), "");
  assert_int_equal(e, SS_EXIT_BAD_INPUT);
  assert_string_equal(report(fail_middle(PETSC_ERR_USER_INPUT, "no such command"), false, &e), "stickslip: no such command\n");
  assert_int_equal(e, SS_EXIT_BAD_INPUT);
}

static void test_exit_codes(void **state)
{
  (void)state;
  static const struct {
    PetscErrorCode code;
    exit_code      expected;
  } row[] = {{PETSC_ERR_USER_INPUT, SS_EXIT_BAD_INPUT},
             {PETSC_ERR_FILE_OPEN, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_FILE_READ, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_FILE_WRITE, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_FILE_UNEXPECTED, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_MEM, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_SYS, SS_EXIT_ENVIRONMENT},
             {PETSC_ERR_PLIB, SS_EXIT_BUG},
             {PETSC_ERR_ARG_WRONG, SS_EXIT_BUG},
             {PETSC_ERR_ARG_NULL, SS_EXIT_BUG},
             {PETSC_SUCCESS, SS_EXIT_OK}};
  for (size_t i = 0; i < sizeof row / sizeof *row; ++i) {
    exit_code e;
    report(row[i].code ? fail_middle(row[i].code, "x") : PETSC_SUCCESS, false, &e);
    assert_int_equal(e, row[i].expected);
  }
}

/* PETSc reports a misspelt solver name or a word instead of a number, but it is an error of the user. */
static void test_petsc_option_mistakes_are_input(void **state)
{
  (void)state;
  exit_code e;
  KSP       ksp = NULL;
  assert_ok(KSPCreate(PETSC_COMM_SELF, &ksp));
  const char *text = report(KSPSetType(ksp, "gmrs"), false, &e);
  assert_int_equal(e, SS_EXIT_BAD_INPUT);
  assert_non_null(strstr(text, "gmrs"));
  assert_ok(PetscOptionsSetValue(NULL, "-ksp_max_it", "many"));
  report(KSPSetFromOptions(ksp), false, &e);
  assert_int_equal(e, SS_EXIT_BAD_INPUT);
  assert_ok(PetscOptionsClearValue(NULL, "-ksp_max_it"));
  KSPDestroy(&ksp);
}

/* An error during clean-up must not hide the original one; a handled error must not be reported for a later one. */
static void test_first_and_last_are_kept(void **state)
{
  (void)state;
  exit_code            e;
  const PetscErrorCode code = fail_middle(PETSC_ERR_FILE_WRITE, "disk full");
  (void)fail_middle(PETSC_ERR_ARG_NULL, "clean-up went wrong");
  assert_string_equal(error_message(), "disk full");
  assert_string_equal(report(code, false, &e), "stickslip: disk full\n");
  (void)fail_middle(PETSC_ERR_FILE_READ, "swallowed");
  assert_string_equal(report(fail_middle(PETSC_ERR_USER_INPUT, "real"), false, &e), "stickslip: real\n");
  assert_int_equal(e, SS_EXIT_BAD_INPUT);
}

static void test_unknown_code_has_text(void **state)
{
  (void)state;
  exit_code e;
  assert_non_null(strstr(report(PETSC_ERR_MEM, false, &e), "memory")); /* nothing was caught: PETSc's generic words */
  assert_int_equal(e, SS_EXIT_ENVIRONMENT);
}

static void test_petsc_out_of_memory(void **state)
{
  (void)state;
  exit_code e;
#ifdef __SANITIZE_ADDRESS__ /* it ends the program over such a request */
  const PetscErrorCode code = PetscError(PETSC_COMM_SELF, 55, "PetscMallocAlign", "mal.c", 235, PETSC_ERROR_INITIAL, "%s", __func__);
#else
  double              *none = NULL;
  const PetscErrorCode code = PetscMalloc1((size_t)1 << 46, &none); /* 560 TB */
#endif
  assert_int_equal(code, PETSC_ERR_MEM);
  const char *said = report(code, false, &e);
  if (!strstr(said, "out of memory: PETSc requested more in test_petsc_out_of_memory")) fail_msg("message: %s", said);
  assert_int_equal(e, SS_EXIT_ENVIRONMENT);
}

static void test_long_messages_are_cut(void **state)
{
  (void)state;
  char text[6000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  (void)fail_deep(PETSC_ERR_FILE_READ, text);
  assert_int_equal(strlen(error_message()), 2047);
  error_clear();
}

TEST_MAIN(cmocka_unit_test(test_user_sees_one_line), cmocka_unit_test(test_verbose_and_bugs_show_frames),
          cmocka_unit_test(test_reported_user_input_is_silent), cmocka_unit_test(test_exit_codes),
          cmocka_unit_test(test_petsc_option_mistakes_are_input), cmocka_unit_test(test_first_and_last_are_kept),
          cmocka_unit_test(test_unknown_code_has_text), cmocka_unit_test(test_petsc_out_of_memory),
          cmocka_unit_test(test_long_messages_are_cut))
