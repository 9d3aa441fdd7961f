/* linear_solver: a system with its own factorisation, and the KSP and PC types of PETSc in its place. */
#include "linear_solver_fixture.h"
#include "core/stop.h"
#include <math.h>
#include <string.h>

enum { N = 12 };

typedef struct {
  int64_t     start[N + 1];
  int32_t     col[3 * N];
  double      value[3 * N], diagonal[N];
  sparse_rows A;
  int         n_factor_solves;
} fixture;

/* Tridiagonal: 2 + i on the diagonal, -1 next to it. */
static void fill_matrix(fixture *f)
{
  int64_t at = 0;
  memset(f, 0, sizeof *f);
  for (int32_t i = 0; i < N; ++i) {
    for (int32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; ++j) f->col[at] = j, f->value[at++] = i == j ? 2.0 + i : -1.0;
    f->start[i + 1] = at;
  }
  f->A = (sparse_rows){.n_rows = N, .n_cols = N, .start = f->start, .col = f->col, .value = f->value};
}

/* The factorisation of the fixture: elimination of the tridiagonal matrix. */
static PetscErrorCode solve_tridiagonal(void *context, const double *b, double *x)
{
  fixture *f = context;
  ++f->n_factor_solves;
  for (int i = 0; i < N; ++i)
    f->diagonal[i] = 2.0 + i - (i > 0 ? 1.0 / f->diagonal[i - 1] : 0.0), x[i] = b[i] + (i > 0 ? x[i - 1] / f->diagonal[i - 1] : 0.0);
  for (int i = N - 1; i >= 0; --i) x[i] = (x[i] + (i + 1 < N ? x[i + 1] : 0.0)) / f->diagonal[i];
  return PETSC_SUCCESS;
}

static PetscErrorCode multiply_tridiagonal(void *context, const double *x, double *y)
{
  const fixture *f = context;
  for (int i = 0; i < N; ++i) {
    y[i] = 0.0;
    for (int64_t k = f->start[i]; k < f->start[i + 1]; ++k) y[i] += f->value[k] * x[f->col[k]];
  }
  return PETSC_SUCCESS;
}

static double residual_of(const fixture *f, const double *x, const double *b)
{
  double most = 0.0;
  for (int i = 0; i < N; ++i) {
    double sum = -b[i];
    for (int64_t k = f->start[i]; k < f->start[i + 1]; ++k) sum += f->value[k] * x[f->col[k]];
    most = fmax(most, fabs(sum));
  }
  return most;
}

static const double TOLERANCE = 1e-10; /* Krylov methods stop at 1e-12 of |b| */

/* Solve with these options; returns the error that PETSc reports. */
static PetscErrorCode solve_with(const char *options, bool has_entries, fixture *f, double *x, int64_t *iterations)
{
  linear_solver *s = NULL;
  double         b[N];
  fill_matrix(f);
  for (int i = 0; i < N; ++i) b[i] = sin(1.0 + i);
  assert_ok(PetscOptionsInsertString(NULL, options));
  assert_ok(linear_solver_create(PETSC_COMM_SELF, "test_", &s));
  const linear_system system = {
      .ksp = KSPPREONLY, .pc = PCMASSFACTOR, .n = N, .context = f, .precondition = solve_tridiagonal, .A = has_entries ? &f->A : NULL};
  PetscErrorCode code = linear_solver_set(s, &system);
  memcpy(x, b, sizeof b);
  if (!code) code = linear_solver_solve(s, x, x, iterations); /* in place */
  linear_solver_destroy(&s);
  assert_ok(PetscOptionsClear(NULL));
  if (!code) assert_close(residual_of(f, x, b), 0.0, TOLERANCE);
  if (code) error_clear();
  return code;
}

static void test_types(void **state)
{
  fixture f;
  double  x[N], y[N], b[N];
  int64_t iterations;
  (void)state;
  assert_ok(solve_with("", true, &f, x, &iterations));
  assert_int_equal(f.n_factor_solves, 1);
  for (int i = 0; i < N; ++i) b[i] = sin(1.0 + i);
  assert_ok(solve_tridiagonal(&f, b, y));
  assert_memory_equal(x, y, sizeof x); /* KSP preonly gives the bits of the factorisation */
  assert_ok(solve_with("-test_ksp_type cg", true, &f, x, &iterations));
  assert_true(iterations <= 2 && f.n_factor_solves > 0); /* exact preconditioner */
  assert_ok(solve_with("-test_ksp_type cg -test_pc_type jacobi", true, &f, x, &iterations));
  assert_true(iterations > 2 && iterations <= N + 1 && f.n_factor_solves == 0);
  assert_ok(solve_with("-test_pc_type lu", true, &f, x, &iterations));
  assert_int_equal(f.n_factor_solves, 0);
  assert_ok(solve_with("-other_pc_type lu", true, &f, x, &iterations)); /* another prefix */
  assert_int_equal(f.n_factor_solves, 1);
  assert_int_not_equal(solve_with("-test_pc_type multifrontal", true, &f, x, &iterations), 0); /* a type of ours, but not of this system */
  assert_no_leak();
}

/* Size and default types change; tolerances of the program and of the options. */
static void test_changes(void **state)
{
  fixture           f;
  linear_solver    *s;
  double            x[N], b[N], unit = 4.0, quarter;
  int64_t           start[] = {0, 1}, tight, loose;
  int32_t           col[]   = {0};
  const sparse_rows one     = {.n_rows = 1, .n_cols = 1, .start = start, .col = col, .value = &unit};
  bool              is_cg;
  (void)state;
  fill_matrix(&f);
  for (int i = 0; i < N; ++i) b[i] = cos(1.0 + i);
  assert_ok(PetscOptionsInsertString(NULL, "-test_pc_type jacobi"));
  assert_ok(linear_solver_create(PETSC_COMM_SELF, "test_", &s));
  linear_system system = {.ksp = KSPCG, .pc = PCMASSFACTOR, .n = N, .context = &f, .precondition = solve_tridiagonal, .A = &f.A};
  assert_ok(linear_solver_set(s, &system));
  assert_ok(linear_solver_is(s, KSPCG, &is_cg));
  assert_true(is_cg);
  assert_ok(linear_solver_set_tolerance(s, 1e-12, 0.0, 100));
  assert_ok(linear_solver_solve(s, b, x, &tight));
  assert_ok(linear_solver_set_tolerance(s, 1e-2, 0.0, 100));
  assert_ok(linear_solver_solve(s, b, x, &loose));
  assert_true(loose < tight);
  system = (linear_system){.ksp = KSPGMRES, .pc = PCMASSFACTOR, .n = 1, .context = &f, .precondition = solve_tridiagonal, .A = &one};
  assert_ok(linear_solver_set(s, &system));
  assert_ok(linear_solver_is(s, KSPCG, &is_cg));
  assert_false(is_cg);
  quarter = 1.0;
  assert_ok(linear_solver_solve(s, &quarter, &quarter, NULL));
  assert_close(quarter, 0.25, 1e-15);
  unit = 8.0; /* new values of the same system: the PC of PETSc is set up again */
  assert_ok(linear_solver_set(s, &system));
  quarter = 1.0;
  assert_ok(linear_solver_solve(s, &quarter, &quarter, NULL));
  assert_close(quarter, 0.125, 1e-15);
  linear_solver_destroy(&s);
  assert_ok(PetscOptionsClear(NULL));
  assert_no_leak();
}

/* With weights the tolerance applies to |D (b - A x)|, for symmetric methods and GMRES, without preconditioner. */
static PetscErrorCode copy_vector(void *context, const double *b, double *x)
{
  (void)context;
  memcpy(x, b, N * sizeof *x);
  return PETSC_SUCCESS;
}

static double weighted_residual(const fixture *f, const double *x, const double *b, const double *weight)
{
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    double rest = b[i];
    for (int64_t k = f->start[i]; k < f->start[i + 1]; ++k) rest -= f->value[k] * x[f->col[k]];
    sum += weight[i] * rest * rest;
  }
  return sqrt(sum);
}

static void test_weights(void **state)
{
  static const char *const types[] = {KSPCG, KSPGMRES, KSPFGMRES, KSPCG};
  const double             target  = 1e-3;
  fixture                  f;
  double                   x[N], b[N], weight[N], diagonal[N];
  int64_t                  iterations;
  (void)state;
  fill_matrix(&f);
  for (int i = 0; i < N; ++i) b[i] = sin(2.0 + i), weight[i] = pow(4.0, i % 5), diagonal[i] = 2.0 + i;
  for (int k = 0; k < 4; ++k) {
    linear_solver *s;
    assert_ok(PetscOptionsInsertString(NULL, k == 3 ? "-test_pc_type jacobi" : ""));
    assert_ok(linear_solver_create(PETSC_COMM_SELF, "test_", &s));
    const linear_system system = {.ksp          = types[k],
                                  .pc           = PCMASSFACTOR,
                                  .n            = N,
                                  .context      = &f,
                                  .precondition = copy_vector,
                                  .A            = k == 3 ? NULL : &f.A,
                                  .product      = k == 3 ? multiply_tridiagonal : NULL,
                                  .weight       = weight,
                                  .weighted     = "none of these",
                                  .diagonal     = diagonal};
    assert_ok(linear_solver_set(s, &system));
    assert_ok(linear_solver_set_tolerance(s, 0.0, target, 100));
    assert_ok(linear_solver_solve(s, b, x, &iterations));
    assert_true(iterations <= N + 1); /* finite termination, also with a tolerance that is not reached before */
    const double reached = weighted_residual(&f, x, b, weight);
    assert_true(reached <= target * (1.0 + 1e-6));
    assert_ok(linear_solver_set_tolerance(s, 0.0, 0.1, 100));
    assert_ok(linear_solver_solve(s, b, x, &iterations));
    assert_true(weighted_residual(&f, x, b, weight) > target); /* not tighter than requested */
    linear_solver_destroy(&s);
    assert_ok(PetscOptionsClear(NULL));
  }
  assert_no_leak();
}

/* System of the fixture with KSP type `ksp` and the default factorisation, without weights. */
static linear_system system_of(fixture *f, const char *ksp)
{
  return (linear_system){.ksp = ksp, .pc = PCMASSFACTOR, .n = N, .context = f, .precondition = solve_tridiagonal, .A = &f->A};
}

static int64_t count_iterations(linear_solver *s, const linear_system *system, double *x)
{
  double  b[N];
  int64_t iterations = -1;
  for (int i = 0; i < N; ++i) b[i] = sin(2.0 + i);
  assert_ok(linear_solver_set(s, system));
  assert_ok(linear_solver_solve(s, b, x, &iterations));
  return iterations;
}

/* A preconditioner that is exact for A is exact for the scaled systems, on both sides and on one: one iteration. So is Jacobi for
 * a diagonal matrix. */
static void test_preconditioners_of_scaled_systems(void **state)
{
  static const char *const types[] = {KSPCG, KSPGMRES, KSPFGMRES};
  fixture                  f;
  double                   x[N], b[N], weight[N], diagonal[N];
  (void)state;
  for (int k = 0; k < 6; ++k) {
    const bool is_jacobi = k >= 3;
    fill_matrix(&f);
    for (int i = 0; i < N; ++i) b[i] = sin(2.0 + i), weight[i] = pow(4.0, i % 5), diagonal[i] = 2.0 + i;
    for (int64_t i = 0, at = 0; is_jacobi && i < N; ++i)
      for (; at < f.start[i + 1]; ++at) f.value[at] = f.col[at] == i ? diagonal[i] : 0.0;
    linear_solver *s      = create_with(is_jacobi ? "-test_pc_type jacobi" : "");
    linear_system  system = system_of(&f, types[k % 3]);
    system.weight = weight, system.weighted = "none of these";
    if (is_jacobi) system.A = NULL, system.product = multiply_tridiagonal, system.diagonal = diagonal;
    assert_ok(linear_solver_set(s, &system));
    assert_ok(linear_solver_set_tolerance(s, 1e-10, 0.0, 100));
    assert_int_equal(count_iterations(s, &system, x), 1);
    assert_close(residual_of(&f, x, b), 0.0, 1e-9);
    destroy_with(s);
  }
  assert_no_leak();
}

/* A KSP type that evaluates the weighted norm itself gets the system as it is. */
static void test_weighted_type_is_not_scaled(void **state)
{
  fixture f;
  double  x[N], y[N], weight[N];
  (void)state;
  fill_matrix(&f);
  for (int i = 0; i < N; ++i) weight[i] = pow(4.0, i % 5);
  linear_system  system = system_of(&f, KSPCG);
  linear_solver *s      = create_with("-test_pc_type none");
  const int64_t  n      = count_iterations(s, &system, x);
  system.weight = weight, system.weighted = KSPCG;
  assert_int_equal(count_iterations(s, &system, y), n);
  assert_memory_equal(x, y, sizeof x);
  destroy_with(s);
  assert_no_leak();
}

/* Options of PETSc have priority over the tolerances of the program. */
static void test_options_have_priority(void **state)
{
  static const struct {
    const char *options;
    int64_t     least, most; /* iterations; without options 1e-10 is reached in 8 to 13 */
  } cases[] = {{"", 8, N + 1},
               {"-test_ksp_rtol 0.5", 1, 3},
               {"-test_ksp_atol 1.0", 1, 3},
               {"-test_ksp_max_it 4", 4, 4},
               {"-test_ksp_norm_type none -test_ksp_rtol 0.5 -test_ksp_max_it 5", 5, 5}};
  fixture f;
  double  x[N];
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char options[200];
    snprintf(options, sizeof options, "-test_pc_type none %s", cases[k].options);
    fill_matrix(&f);
    linear_solver      *s      = create_with(options);
    const linear_system system = system_of(&f, KSPCG);
    assert_ok(linear_solver_set(s, &system));
    assert_ok(linear_solver_set_tolerance(s, 1e-10, 0.0, 100));
    assert_in_range(count_iterations(s, &system, x), cases[k].least, cases[k].most);
    destroy_with(s);
  }
  assert_no_leak();
}

/* GMRES with a restart after two iterations needs more of them than without. */
static void test_restart(void **state)
{
  int64_t n[2];
  fixture f;
  double  x[N];
  (void)state;
  for (int k = 0; k < 2; ++k) {
    fill_matrix(&f);
    linear_solver *s      = create_with("-test_pc_type none");
    linear_system  system = system_of(&f, KSPGMRES);
    system.restart        = k == 0 ? 0 : 2;
    n[k]                  = count_iterations(s, &system, x);
    destroy_with(s);
  }
  assert_in_range(n[0], 8, N + 1);
  assert_true(n[1] > 2 * n[0]);
  assert_no_leak();
}

/* New values of a system of the same size: entries that are gone count no more, and the diagonal and the entries that a PC of
 * PETSc used are replaced. */
static void test_new_values(void **state)
{
  fixture       f;
  double        x[N], diagonal[N];
  int64_t       start[N + 1];
  int32_t       col[N];
  linear_system system;
  (void)state;
  for (int i = 0; i <= N; ++i) start[i] = i;
  for (int i = 0; i < N; ++i) col[i] = i, diagonal[i] = 1.0 + 3.0 * i;
  const sparse_rows A = {.n_rows = N, .n_cols = N, .start = start, .col = col, .value = diagonal};
  fill_matrix(&f);
  linear_solver *s = create_with("-test_pc_type lu");
  system           = system_of(&f, KSPPREONLY);
  count_iterations(s, &system, x);
  system.A = &A; /* the off-diagonal entries are gone */
  count_iterations(s, &system, x);
  for (int i = 0; i < N; ++i) assert_close(diagonal[i] * x[i], sin(2.0 + i), 1e-13);
  destroy_with(s);
  s               = create_with("-test_pc_type jacobi");
  system          = system_of(&f, KSPCG);
  system.diagonal = diagonal;
  assert_true(count_iterations(s, &system, x) > 1);
  system.A = &A;
  assert_int_equal(count_iterations(s, &system, x), 1);
  for (int64_t i = 0, at = 0; i < N; ++i)
    for (; at < f.start[i + 1]; ++at) f.value[at] = f.col[at] == i ? diagonal[i] : 0.0;
  system.A = NULL, system.product = multiply_tridiagonal;
  assert_int_equal(count_iterations(s, &system, x), 1);
  for (int64_t i = 0, at = 0; i < N; ++i) /* without entries: the new diagonal is used */
    for (diagonal[i] = 30.0 - i; at < f.start[i + 1]; ++at) f.value[at] = f.col[at] == i ? diagonal[i] : 0.0;
  assert_int_equal(count_iterations(s, &system, x), 1);
  for (int i = 0; i < N; ++i) assert_close(diagonal[i] * x[i], sin(2.0 + i), 1e-13);
  destroy_with(s);
  assert_no_leak();
}

/* Options that cannot work are errors that name the remedy. */
static void test_errors(void **state)
{
  static const struct {
    const char *options, *message;
  } cases[] = {{"-test_pc_type jacobi", "the diagonal of this matrix is not available; use pc_type massfactor or none"},
               {"-test_ksp_type cg -test_ksp_initial_guess_nonzero", "the initial guess of each solve with prefix test_ is 0"},
               {"-test_pc_type face", "PC type face is not available for this system; its own type is massfactor"}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    fixture f;
    double  b[N] = {1.0}, x[N];
    fill_matrix(&f);
    linear_solver *s      = create_with(cases[k].options);
    linear_system  system = system_of(&f, KSPCG);
    system.A = NULL, system.product = multiply_tridiagonal;
    PetscErrorCode code = linear_solver_set(s, &system);
    if (!code) code = linear_solver_solve(s, b, x, NULL);
    assert_int_equal(code, PETSC_ERR_SUP);
    if (!strstr(error_message(), cases[k].message)) fail_msg("expected \"%s\", got \"%s\"", cases[k].message, error_message());
    error_clear();
    destroy_with(s);
  }
  assert_no_leak();
}

/* When the step must be aborted, a solve ends at once. */
static void test_stop(void **state)
{
  fixture f;
  double  x[N];
  (void)state;
  fill_matrix(&f);
  linear_solver      *s      = create_with("-test_pc_type none");
  const linear_system system = system_of(&f, KSPCG);
  assert_true(count_iterations(s, &system, x) > 1);
  assert_true(linear_solver_reason(s) > 0);
  stop_set_deadline(0.0);
  assert_int_equal(count_iterations(s, &system, x), 0);
  assert_true(linear_solver_reason(s) < 0);
  stop_reset();
  destroy_with(s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_types), cmocka_unit_test(test_changes), cmocka_unit_test(test_weights),
          cmocka_unit_test(test_preconditioners_of_scaled_systems), cmocka_unit_test(test_weighted_type_is_not_scaled),
          cmocka_unit_test(test_options_have_priority), cmocka_unit_test(test_restart), cmocka_unit_test(test_new_values),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_stop))
