/* Options of PETSc in a job: which ones are rejected, with which suggestion, and what is entered into PETSc's database. The
 * formulation has one linear solver with the prefix new_. */
#include "test.h"
#include <string.h>
#include <unistd.h>
#include "io/yaml.h"
#include "optim/linear/linear_solver.h"
#include "sim/scene/scene.h"
#include "sim/step/petsc_options.h"
#include "sim/step/solver_options.h"
#include "temporary.h"

static bool is_probe_broken;

static PetscErrorCode probe(const scene *s)
{
  (void)s;
  PetscFunctionBegin;
  PetscCheck(!is_probe_broken, PETSC_COMM_SELF, PETSC_ERR_LIB, "broken probe");
  PetscCall(linear_solver_probe("new_", KSPCG, PCMASSFACTOR, true, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static const formulation_ops ops = {.scene.name = "new", .probe = probe};

typedef struct {
  document      *doc;
  diagnostics   *d;
  solver_options solver;
  scene_options  options;
  scene          s;
} fixture;

/* A scene whose job has this text as `solver.petsc:`; NULL: none. */
static void set_up(const char *text, fixture *f)
{
  memset(f, 0, sizeof *f);
  assert_ok(document_create(&f->doc));
  assert_ok(diagnostics_create(&f->d));
  if (text) assert_ok(yaml_read_text("job", text, strlen(text), f->doc, f->d));
  assert_int_equal(diagnostics_count(f->d), 0);
  f->solver.petsc   = text ? document_root(f->doc) : NULL;
  f->options.solver = &f->solver;
  f->s.options      = &f->options;
}

static void tear_down(fixture *f)
{
  diagnostics_destroy(&f->d);
  document_destroy(&f->doc);
}

/* The check of `text` reports exactly these errors: each message contains the text, or does not exist (NULL). */
static void expect_errors(const char *text, const char *first, const char *second)
{
  const char *expected[] = {first, second};
  const int   n          = (first != NULL) + (second != NULL);
  fixture     f;
  char       *before, *after;
  set_up(text, &f);
  assert_ok(PetscOptionsGetAll(NULL, &before));
  assert_ok(petsc_options_check(&ops, &f.s, f.d));
  assert_ok(PetscOptionsGetAll(NULL, &after));
  assert_string_equal(before, after);
  for (int i = 0; i < diagnostics_count(f.d) || i < n; ++i) {
    const char *got = i < diagnostics_count(f.d) ? diagnostics_text(f.d, i) : "nothing";
    if (i >= n || !strstr(got, expected[i]))
      fail_msg("%s: expected %s, got %s", text ? text : "no options", i < n ? expected[i] : "nothing", got);
  }
  PetscFree(before);
  PetscFree(after);
  tear_down(&f);
}

#define UNREAD "no solver of formulation new reads this option"

static void test_valid_options(void **state)
{
  (void)state;
  expect_errors(NULL, NULL, NULL);
  expect_errors("new_ksp_type: gmres\nnew_ksp_gmres_restart: 7\nnew_pc_type: jacobi", NULL, NULL);
  expect_errors("new: {ksp: {type: gmres, rtol: 1e-3}, pc_type: lu}", NULL, NULL);
  expect_errors("log_view:\noptions_left:\noptions_view:", NULL, NULL); /* read at the end of the program */
  assert_no_leak();
}

static void test_wrong_names(void **state)
{
  char text[400] = "new_";
  (void)state;
  expect_errors("new_ksp_typ: cg", "job:1:1: solver.petsc: new_ksp_typ: " UNREAD "; did you mean \"new_ksp_type\"? (docs", NULL);
  expect_errors("ksp_rtol: 1", "ksp_rtol: " UNREAD "; did you mean \"new_ksp_rtol\"?", NULL); /* without its prefix */
  expect_errors("new_ksp_gmres_restart: 7", "new_ksp_gmres_restart: " UNREAD, NULL);          /* of another type */
  expect_errors("other_ksp_type: cg\nnew_ksp_rtol: 1e-3\nnew_nonsense_xyz: 1", "job:1:1: solver.petsc: other_ksp_type: " UNREAD,
                "job:3:1: solver.petsc: new_nonsense_xyz: " UNREAD "; remove it");
  expect_errors("-new_ksp_type: cg", "-new_ksp_type: write the option without its dash", NULL);
  expect_errors("new_ksp_type: [cg, gmres]", "new_ksp_type: expected a number, a word or nothing, got a list", NULL);
  expect_errors("new_ksp_rtol: 1e-3\nnew: {ksp_rtol: 1e-4}", "job:2:7: solver.petsc: new_ksp_rtol: is given twice; remove one of them",
                NULL);
  memset(text + 4, 'x', 150);
  strcpy(text + 154, ": 1");
  expect_errors(text, ": expected a shorter name", NULL);
  assert_no_leak();
}

/* Values that PETSc does not accept are reported with its message. */
static void test_wrong_values(void **state)
{
  (void)state;
  expect_errors("new_ksp_type: nonsense", "new_ksp_type: PETSc does not accept \"nonsense\" for formulation new: Unable to find", NULL);
  expect_errors("new_ksp_max_it: many", "new_ksp_max_it: PETSc does not accept \"many\"", NULL);
  expect_errors("new_ksp_rtol: 1e-3\nnew_pc_type: frictionlu", "job:2:1: solver.petsc: new_pc_type: PETSc does not accept \"frictionlu\"",
                NULL);
  /* Two wrong values, and a wrong value beside a wrong name: both are reported. */
  expect_errors("new_ksp_type: nonsense\nnew_ksp_max_it: many", "new_ksp_type: PETSc", "new_ksp_max_it: PETSc");
  expect_errors("new_pc_typ: lu\nnew_ksp_type: nonsense", "new_ksp_type: PETSc", "new_pc_typ: " UNREAD);
  assert_no_leak();
}

/* The check writes nothing: a file that a monitor or view names is not created. */
static void test_files(void **state)
{
  char text[1000], name[TEMPORARY_ROOM];
  (void)state;
  close(mkstemps(temporary_name(name, ".txt"), 4));
  remove(name);
  snprintf(text, sizeof text, "new_ksp_monitor: ascii:%s\nnew_ksp_view: ascii:%s\nnew_ksp_converged_reason: ", name, name);
  expect_errors(text, NULL, NULL);
  assert_int_not_equal(access(name, F_OK), 0);
  assert_no_leak();
}

/* More options than a job may have: each further one is an error. */
static void test_many_options(void **state)
{
  static char text[20000];
  size_t      n = 0;
  fixture     f;
  int         n_many = 0;
  (void)state;
  for (int i = 0; i < 258; ++i) n += (size_t)snprintf(text + n, sizeof text - n, "x%d: 1\n", i);
  set_up(text, &f);
  assert_ok(petsc_options_check(&ops, &f.s, f.d));
  for (int i = 0; i < diagnostics_count(f.d); ++i) n_many += strstr(diagnostics_text(f.d, i), "the job has too many options") != NULL;
  assert_int_equal(n_many, 2);
  tear_down(&f);
  assert_no_leak();
}

/* Solvers that cannot be created without options either: an error of the program, not of the job. */
static void test_broken_probe(void **state)
{
  fixture f;
  (void)state;
  set_up("new_ksp_rtol: 1e-3", &f);
  is_probe_broken           = true;
  const PetscErrorCode code = petsc_options_check(&ops, &f.s, f.d);
  is_probe_broken           = false;
  assert_int_equal(code, PETSC_ERR_LIB);
  error_clear();
  tear_down(&f);
  assert_no_leak();
}

/* Options are entered with their values, nested keys joined. */
static void test_database(void **state)
{
  static const char *const names[]  = {"-new_ksp_rtol", "-new_pc_type", "-new_ksp_monitor"};
  static const char *const values[] = {"1e-3", "lu", ""};
  fixture                  f;
  (void)state;
  assert_ok(petsc_options_set(NULL));
  set_up("new: {ksp: {rtol: 1e-3}, pc_type: lu}\nnew_ksp_monitor:", &f);
  assert_ok(petsc_options_set(f.solver.petsc));
  for (int i = 0; i < 3; ++i) {
    char      value[100];
    PetscBool is_set;
    assert_ok(PetscOptionsGetString(NULL, NULL, names[i], value, sizeof value, &is_set));
    assert_true(is_set);
    assert_string_equal(value, values[i]);
  }
  assert_ok(PetscOptionsClear(NULL));
  tear_down(&f);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_valid_options), cmocka_unit_test(test_wrong_names), cmocka_unit_test(test_wrong_values),
          cmocka_unit_test(test_files), cmocka_unit_test(test_many_options), cmocka_unit_test(test_broken_probe),
          cmocka_unit_test(test_database))
