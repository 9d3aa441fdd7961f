/* linear_solver: a system with its own factorisation, and the KSP and PC types of PETSc in its place. */
#include "optim/linear/linear_solver.h"
#include "test.h"
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

TEST_MAIN(cmocka_unit_test(test_types), cmocka_unit_test(test_changes), cmocka_unit_test(test_weights))
