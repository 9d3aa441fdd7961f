#include "optim/newton/snes_stabilized.h"
#include "core/math3.h"
#include "optim/linear/pc_block_diagonal.h"
#include "optim/linear/pc_metis_schwarz.h"
#include "optim_lattice.h"
#include <float.h>
#include <string.h>

/* A system of n unknowns: residual and tangent as plain functions of arrays; the tangent is a block3 matrix. */
typedef struct problem problem;
struct problem {
  PetscInt n;
  Mat      H;
  void (*residual)(problem *, const double *z, double *g);
  void (*tangent)(problem *, const double *z);
  Vec           last;     /* where the residual was evaluated last */
  int           n_wanted; /* residuals evaluated with the hint that a tangent follows */
  bool          has_domain_error;
  const double *parameter;
  Mat           constant; /* for lattice problems */
};

static PetscErrorCode form_residual(SNES snes, Vec z, Vec g, void *ctx)
{
  problem           *p = ctx;
  const PetscScalar *za;
  PetscScalar       *ga;
  PetscBool          wants;
  PetscFunctionBegin;
  PetscCall(VecCopy(z, p->last));
  PetscCall(SNESStabilizedExpectsTangent(snes, &wants));
  p->n_wanted += wants;
  p->has_domain_error = false;
  PetscCall(VecGetArrayRead(z, &za));
  PetscCall(VecGetArray(g, &ga));
  p->residual(p, za, ga);
  PetscCall(VecRestoreArray(g, &ga));
  PetscCall(VecRestoreArrayRead(z, &za));
  if (p->has_domain_error) PetscCall(SNESSetFunctionDomainError(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode form_tangent(SNES snes, Vec z, Mat A, Mat P, void *ctx)
{
  problem           *p = ctx;
  const PetscScalar *za;
  PetscFunctionBegin;
  (void)snes, (void)A, (void)P;
  PetscCall(VecGetArrayRead(z, &za));
  p->tangent(p, za);
  PetscCall(VecRestoreArrayRead(z, &za));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void solver_for(problem *p, SNES *snes, Vec *z)
{
  assert_ok(MatCreateVecs(p->H, z, &p->last));
  assert_ok(SNESCreate(PETSC_COMM_SELF, snes));
  assert_ok(SNESSetType(*snes, SNESSTABILIZED));
  assert_ok(SNESSetFunction(*snes, NULL, form_residual, p));
  assert_ok(SNESSetJacobian(*snes, p->H, p->H, form_tangent, p));
}

/* Ends a test: the last residual was that of the returned z; nothing is left. */
static void finish(problem *p, SNES *snes, Vec *z)
{
  PetscReal d;
  assert_ok(VecAXPY(p->last, -1.0, *z));
  assert_ok(VecNorm(p->last, NORM_INFINITY, &d));
  assert_close(d, 0.0, 0.0);
  assert_ok(VecDestroy(&p->last));
  assert_ok(VecDestroy(z));
  assert_ok(SNESDestroy(snes));
  assert_ok(MatDestroy(&p->H));
  assert_ok(MatDestroy(&p->constant));
  assert_no_leak();
}

static void set_options(const char *a, const char *b)
{
  assert_ok(PetscOptionsInsertString(NULL, a));
  if (b) assert_ok(PetscOptionsInsertString(NULL, b));
}
static void clear_options(void) { assert_ok(PetscOptionsClear(NULL)); }

/* One dense 3x3 block. */
static Mat one_block(void)
{
  Mat           A;
  const int64_t start[] = {0, 1};
  const int32_t col[]   = {0};
  assert_ok(mat_block3_create(PETSC_COMM_SELF, 1, start, col, NULL, false, &A));
  return A;
}

/* g = A z + 0.3 z^3 - b on a lattice, A asymmetric. */
static void cubic_residual(problem *p, const double *z, double *g)
{
  Vec x, y;
  assert_ok(MatCreateVecs(p->constant, &x, &y));
  assert_ok(VecPlaceArray(x, z));
  assert_ok(VecPlaceArray(y, g));
  assert_ok(MatMult(p->constant, x, y));
  assert_ok(VecResetArray(x));
  assert_ok(VecResetArray(y));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  for (PetscInt i = 0; i < p->n; ++i) g[i] += 0.3 * z[i] * z[i] * z[i] - random_range(8, (uint64_t)i, 0, -3, 3);
}
static void cubic_tangent(problem *p, const double *z)
{
  block3_view v;
  assert_ok(MatCopy(p->constant, p->H, SAME_NONZERO_PATTERN));
  assert_ok(mat_block3_get(p->H, &v));
  for (PetscInt i = 0; i < p->n; ++i) v.value[9 * v.diagonal[i / 3] + 4 * (i % 3)] += 0.9 * z[i] * z[i];
}
static problem cubic(int m)
{
  problem p = {.n = 3 * m * m * m, .residual = cubic_residual, .tangent = cubic_tangent};
  assert_ok(lattice_create(m, m, m, 0.5, 0.2, 0.1, &p.constant));
  assert_ok(MatDuplicate(p.constant, MAT_COPY_VALUES, &p.H));
  return p;
}

/* With exact linear solves the residual squares: r[k+1] <= C r[k]^2 with one C, down to round-off. */
static void converges_quadratically(void **state)
{
  problem                  p = cubic(4);
  SNES                     snes;
  Vec                      z;
  PetscReal                r[51];
  PetscInt                 n;
  SNESStabilizedStatistics s;
  (void)state;
  set_options("-snes_atol 1e-12 -snes_stabilized_eta 1e-13 -ksp_max_it 200 -ksp_gmres_restart 200", "-pc_type metisschwarz");
  solver_for(&p, &snes, &z);
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(SNESSetConvergenceHistory(snes, r, NULL, 51, PETSC_TRUE));
  assert_ok(SNESSolve(snes, NULL, z));
  SNESConvergedReason reason;
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_CONVERGED_FNORM_ABS);
  assert_ok(SNESGetConvergenceHistory(snes, NULL, NULL, &n));
  assert_true(n <= 9);
  int n_squared = 0;
  for (PetscInt k = 1; k < n; ++k)
    if (r[k - 1] < 1.0 && r[k] > 1e-12) {
      assert_true(r[k] <= 1.0 * r[k - 1] * r[k - 1]);
      ++n_squared;
    }
  assert_true(n_squared >= 1);
  assert_ok(SNESStabilizedGetStatistics(snes, &s));
  assert_int_equal(s.n_newton, n - 1);
  assert_int_equal(s.n_fallbacks, 0);
  assert_int_equal(s.n_residuals, n); /* full steps all the way, each evaluated once */
  assert_int_equal(s.n_tangents, n);
  assert_int_equal(p.n_wanted, n);
  clear_options();
  finish(&p, &snes, &z);
}

/* Tolerances of the linear solves, recorded before each of them, and products with the transposed tangent. */
typedef struct {
  double eta[50];
  int    n;
} solve_record;
static PetscErrorCode record_tolerance(KSP ksp, Vec b, Vec x, void *context)
{
  solve_record *r = context;
  PetscFunctionBegin;
  (void)b, (void)x;
  assert_in_range(r->n, 0, 49);
  PetscCall(KSPGetTolerances(ksp, &r->eta[r->n++], NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode (*transpose_product)(Mat, Vec, Vec);
static int            n_transposed;
static PetscErrorCode count_transpose(Mat A, Vec x, Vec y)
{
  ++n_transposed;
  return transpose_product(A, x, y);
}

/* Inexact Newton: the first linear solve has the tolerance eta, later ones at most eta_max, and only the last ones are cut short near tau. The root
 * is found to the same tolerance with fewer GMRES iterations. The gradient is computed once, at the end, since every step halves |g|. */
static void adapts_the_linear_tolerance(void **state)
{
  SNESStabilizedStatistics s[2];
  (void)state;
  for (int is_adaptive = 0; is_adaptive < 2; ++is_adaptive) {
    problem      p      = cubic(4);
    solve_record record = {.n = 0};
    SNES         snes;
    KSP          ksp;
    Vec          z;
    PetscReal    r[51], eta;
    n_transposed = 0;
    assert_ok(MatGetOperation(p.H, MATOP_MULT_TRANSPOSE, (void (**)(void)) & transpose_product));
    assert_ok(MatSetOperation(p.H, MATOP_MULT_TRANSPOSE, (void (*)(void))count_transpose));
    set_options("-snes_atol 1e-6 -ksp_max_it 200 -ksp_gmres_restart 200", is_adaptive ? "-ksp_rtol 1e-5" : "-snes_stabilized_eta 1e-5");
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(SNESGetKSP(snes, &ksp));
    assert_ok(KSPSetPreSolve(ksp, record_tolerance, &record));
    assert_ok(SNESSetConvergenceHistory(snes, r, NULL, 51, PETSC_TRUE));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s[is_adaptive]));
    assert_true(s[is_adaptive].norm < 1e-6);
    assert_true(s[is_adaptive].gradient_norm > 0.0 && isfinite(s[is_adaptive].gradient_norm));
    assert_int_equal(record.n, s[is_adaptive].n_newton);
    for (int k = 0; k < record.n; ++k) {
      const double rate = k > 0 ? 0.9 * pow(r[k] / r[k - 1], 1.618) : 0.0, last = 0.25 * 1e-6 / r[k];
      assert_close(record.eta[k], is_adaptive ? fmax(1e-5, fmin(0.03, fmax(rate, last))) : 1e-5, 1e-15);
    }
    assert_close(record.eta[0], 1e-5, 0.0);
    assert_ok(KSPGetTolerances(ksp, &eta, NULL, NULL, NULL));
    assert_close(eta, 1e-5, 0.0); /* as before the solve */
    assert_int_equal(n_transposed, 1);
    clear_options();
    finish(&p, &snes, &z);
  }
  print_message("GMRES iterations %d, with one tolerance %d; Newton %d and %d\n", (int)s[1].n_linear, (int)s[0].n_linear,
                (int)s[1].n_newton, (int)s[0].n_newton);
  assert_true(s[1].n_linear <= 0.75 * s[0].n_linear);
}

static void same_bits_on_any_team(void **state)
{
  double *first = NULL;
  (void)state;
  for (int n_threads = 1; n_threads <= 3; ++n_threads)
    for (int pc = 0; pc < 2; ++pc) {
      SNES               snes;
      Vec                z, dinv;
      const PetscScalar *a;
      team_set_threads(n_threads);
      problem p = cubic(14); /* 8232 unknowns: three chunks; 2744 blocks: three Schwarz parts */
      set_options("-snes_atol 1e-8 -pc_metisschwarz_parts 5", pc ? "-pc_type metisschwarz" : "-pc_type blockdiagonal");
      solver_for(&p, &snes, &z);
      assert_ok(SNESSetFromOptions(snes));
      assert_ok(VecDuplicate(z, &dinv));
      assert_ok(lattice_random(dinv, 3));
      assert_ok(VecShift(dinv, 1.5));
      assert_ok(SNESStabilizedSetScaling(snes, dinv));
      assert_ok(SNESSolve(snes, NULL, z));
      assert_ok(VecGetArrayRead(z, &a));
      if (!first) first = calloc((size_t)p.n, 2 * sizeof *first);
      if (n_threads == 1) memcpy(first + pc * p.n, a, sizeof *a * (size_t)p.n);
      else assert_memory_equal(first + pc * p.n, a, sizeof *a * (size_t)p.n);
      assert_ok(VecRestoreArrayRead(z, &a));
      assert_ok(VecDestroy(&dinv));
      clear_options();
      finish(&p, &snes, &z);
    }
  free(first);
  team_set_threads(0);
}

/* A point mass on the plane z = 0 with a penalty force and a sliding attachment, one backward Euler step, written out for the
 * plane. */
enum {
  MASS,
  DT,
  STIFFNESS,
  FRICTION,
  GRAVITY,
  POSITION   = GRAVITY + 3,
  VELOCITY   = POSITION + 3,
  ATTACHMENT = VELOCITY + 3,
  N_BLOCK    = ATTACHMENT + 3
};

static bool relax(const double *q, const double *z, double Z[3], double Y[3], double A[9]) /* true: sliding */
{
  for (int i = 0; i < 3; ++i) Z[i] = q[POSITION + i] + q[DT] * (q[VELOCITY + i] + z[i]);
  const double h = -Z[2], limit = q[FRICTION] * h, x = q[ATTACHMENT] - Z[0], y = q[ATTACHMENT + 1] - Z[1], r = hypot(x, y);
  m3_zero(A);
  v3_set(Y, q[ATTACHMENT], q[ATTACHMENT + 1], 0.0);
  if (h < 0.0 || r <= limit) return false;
  const double d[2] = {x / r, y / r};
  for (int i = 0; i < 2; ++i) {
    Y[i] = Z[i] + limit * d[i];
    for (int j = 0; j < 2; ++j) A[3 * i + j] = (i == j) - limit / r * ((i == j) - d[i] * d[j]);
    A[3 * i + 2] = -q[FRICTION] * d[i];
  }
  return true;
}
static void block_residual(problem *p, const double *z, double *g)
{
  const double *q = p->parameter;
  double        Z[3], Y[3], A[9];
  relax(q, z, Z, Y, A);
  for (int i = 0; i < 3; ++i)
    g[i] = q[MASS] * z[i] - q[DT] * (q[MASS] * q[GRAVITY + i] + (Z[2] < 0.0 ? q[STIFFNESS] * (Y[i] - Z[i]) : 0.0));
}
static void block_tangent(problem *p, const double *z)
{
  const double *q = p->parameter;
  double        Z[3], Y[3], A[9], *H;
  relax(q, z, Z, Y, A);
  assert_ok(mat_block3_values(p->H, &H));
  for (int e = 0; e < 9; ++e) H[e] = q[MASS] * (e % 4 == 0) - (Z[2] < 0.0 ? q[DT] * q[DT] * q[STIFFNESS] * (A[e] - (e % 4 == 0)) : 0.0);
}

/* Newton counts on the slope: 1 while sliding or sticking, 2 at the transition; deceleration g (sin - mu cos). */
static void block_on_a_slope(void **state)
{
  const double             g = 9.81, tan_theta = 0.11, c = 1.0 / sqrt(1.0 + tan_theta * tan_theta);
  double                   q[N_BLOCK] = {[MASS] = 1.0, [DT] = 1e-3, [STIFFNESS] = 1e6, [FRICTION] = 0.125};
  problem                  p          = {.n = 3, .residual = block_residual, .tangent = block_tangent, .parameter = q, .H = one_block()};
  SNES                     snes;
  Vec                      z;
  SNESStabilizedStatistics s;
  int                      n_steps[4] = {0}, n_stopped_at = -1;
  (void)state;
  v3_set(q + GRAVITY, g * tan_theta * c, 0.0, -g * c);
  v3_set(q + POSITION, 0.0, 0.0, -g * c / q[STIFFNESS]); /* at rest across the plane, friction fully mobilised */
  v3_set(q + VELOCITY, 0.1, 0.0, 0.0);
  v3_set(q + ATTACHMENT, -q[FRICTION] * g * c / q[STIFFNESS], 0.0, 0.0);
  set_options("-snes_atol 1e-10 -snes_stabilized_eta 1e-12", NULL);
  solver_for(&p, &snes, &z);
  assert_ok(SNESSetFromOptions(snes));
  for (int step = 0; step < 1500; ++step) {
    double             Z[3], Y[3], A[9];
    const PetscScalar *a;
    PetscInt           n;
    assert_ok(VecSet(z, 0.0));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESGetIterationNumber(snes, &n));
    assert_ok(SNESStabilizedGetStatistics(snes, &s));
    assert_true(n <= 2);
    /* at rest g is round-off, which no step lowers: then z = 0 stays, after a short search */
    if (n == 0) assert_true(s.norm < 8 * DBL_EPSILON * q[DT] * q[STIFFNESS] * q[POSITION] && s.n_residuals <= 6);
    ++n_steps[n];
    assert_ok(VecGetArrayRead(z, &a));
    const bool is_sliding = relax(q, a, Z, Y, A);
    for (int i = 0; i < 3; ++i) q[VELOCITY + i] += a[i];
    assert_ok(VecRestoreArrayRead(z, &a));
    v3_copy(q + POSITION, Z);
    v3_copy(q + ATTACHMENT, Y);
    if (!is_sliding && n_stopped_at < 0) n_stopped_at = step;
  }
  /* v = 0.1 - g (mu cos - sin) t ends at t = 0.6837 s; afterwards the spring rings down, sticking: at most a few transitions */
  assert_close(n_stopped_at * q[DT], 0.1 / (g * c * (0.125 - tan_theta)), 5 * q[DT]);
  assert_close(q[POSITION], 0.5 * 0.01 / (g * c * (0.125 - tan_theta)), 2e-4);
  print_message("steps with 0, 1 and 2 iterations: %d, %d, %d\n", n_steps[0], n_steps[1], n_steps[2]);
  assert_true(n_steps[2] <= 5);
  clear_options();
  finish(&p, &snes, &z);
}

/* Section 9: a block that sticks must not creep at any tolerance, thanks to the one forced iteration. */
static void no_creep_at_any_tolerance(void **state)
{
  const double g = 9.81, c = 1.0 / sqrt(1.0 + 0.01);
  (void)state;
  for (int forced = 0; forced <= 1; ++forced)
    for (double tolerance = 1e-6; tolerance < 1.0; tolerance *= 1e2) {
      double  q[N_BLOCK] = {[MASS] = 1.0, [DT] = 1e-2, [STIFFNESS] = 1e4, [FRICTION] = 0.3};
      problem p          = {.n = 3, .residual = block_residual, .tangent = block_tangent, .parameter = q, .H = one_block()};
      SNES    snes;
      Vec     z;
      v3_set(q + GRAVITY, g * 0.1 * c, 0.0, -g * c);
      v3_set(q + POSITION, 0.0, 0.0, -g * c / q[STIFFNESS]);
      v3_set(q + ATTACHMENT, -0.1 * g * c / q[STIFFNESS], 0.0, 0.0);
      v3_set(q + VELOCITY, 1e-4, 0.0, 0.0); /* a disturbance */
      solver_for(&p, &snes, &z);
      assert_ok(SNESSetTolerances(snes, tolerance, 0.0, 0.0, 50, 10000));
      set_options("-snes_stabilized_eta 1e-12", forced ? NULL : "-snes_stabilized_min_it 0");
      assert_ok(SNESSetFromOptions(snes));
      clear_options();
      double halfway = 0.0;
      for (int step = 0; step < 1000; ++step) {
        double             Z[3], Y[3], A[9];
        const PetscScalar *a;
        if (step == 500) halfway = q[POSITION];
        assert_ok(VecSet(z, 0.0));
        assert_ok(SNESSolve(snes, NULL, z));
        assert_ok(VecGetArrayRead(z, &a));
        relax(q, a, Z, Y, A);
        for (int i = 0; i < 3; ++i) q[VELOCITY + i] += a[i];
        assert_ok(VecRestoreArrayRead(z, &a));
        v3_copy(q + POSITION, Z);
        v3_copy(q + ATTACHMENT, Y);
      }
      if (forced) assert_close(q[POSITION] - halfway, 0.0, 1e-15);
      else if (tolerance > 1e-2 / 2) assert_true(fabs(q[POSITION] - halfway) > 1e-5); /* the drift the forced iteration prevents */
      finish(&p, &snes, &z);
    }
}

/* A start that is a solution needs no iteration where the caller accepts it; another start is iterated. */
static void accepts_a_solution_as_start(void **state)
{
  (void)state;
  for (int accepts = 0; accepts <= 1; ++accepts)
    for (int is_solved = 0; is_solved <= 1; ++is_solved) {
      problem                  p = cubic(3);
      SNES                     snes;
      Vec                      z;
      SNESStabilizedStatistics count;
      solver_for(&p, &snes, &z);
      assert_ok(VecSet(z, 0.3));
      assert_ok(SNESSolve(snes, NULL, z));
      if (!is_solved) assert_ok(VecSet(z, 0.3));
      assert_ok(SNESStabilizedSetAcceptsStart(snes, accepts ? PETSC_TRUE : PETSC_FALSE));
      assert_ok(SNESSolve(snes, NULL, z));
      assert_ok(SNESStabilizedGetStatistics(snes, &count));
      assert_true(is_solved ? count.n_newton == (accepts ? 0 : 1) : count.n_newton > 1);
      assert_true(count.norm < 1e-3 && isfinite(count.gradient_norm));
      finish(&p, &snes, &z);
    }
}

/* g = P z - e, P the cyclic shift: GMRES(2) makes no progress, the step is zero. The gradient step is the root, as P is orthogonal.
 * */
static void shift_residual(problem *p, const double *z, double *g)
{
  (void)p;
  v3_set(g, z[1] - 1.0, z[2], z[0]);
}
static void shift_tangent(problem *p, const double *z)
{
  double *H;
  (void)z;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  H[1] = H[5] = H[6] = 1.0;
}
static void falls_back_when_gmres_stagnates(void **state)
{
  problem                  p = {.n = 3, .residual = shift_residual, .tangent = shift_tangent, .H = one_block()};
  SNES                     snes;
  Vec                      z;
  SNESStabilizedStatistics s;
  SNESConvergedReason      reason;
  (void)state;
  set_options("-pc_type none -ksp_max_it 2", NULL);
  solver_for(&p, &snes, &z);
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(SNESSolve(snes, NULL, z));
  assert_ok(SNESStabilizedGetStatistics(snes, &s));
  assert_int_equal(s.n_fallbacks, 1);
  assert_int_equal(s.n_newton, 1);
  assert_close(s.norm, 0.0, 1e-15);
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_CONVERGED_FNORM_ABS);
  clear_options();
  finish(&p, &snes, &z);
}

/* g = (z0^2 + 1, z1 - 1, 2 z2): no root; E has its minimum at (0, 1, 0), where H^T g = 0. */
static void rootless_residual(problem *p, const double *z, double *g)
{
  (void)p;
  v3_set(g, z[0] * z[0] + 1.0, z[1] - 1.0, 2.0 * z[2]);
}
static void rootless_tangent(problem *p, const double *z)
{
  double *H;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  H[0] = 2.0 * z[0], H[4] = 1.0, H[8] = 2.0;
}
static void finds_the_stationary_point(void **state)
{
  (void)state;
  for (int with_test = 0; with_test <= 1; ++with_test)
    for (int start_on_it = 0; start_on_it <= 1; ++start_on_it) {
      problem                  p = {.n = 3, .residual = rootless_residual, .tangent = rootless_tangent, .H = one_block()};
      SNES                     snes;
      Vec                      z, c;
      SNESStabilizedStatistics s;
      SNESConvergedReason      reason;
      double                  *a;
      solver_for(&p, &snes, &z);
      assert_ok(VecDuplicate(z, &c));
      assert_ok(VecSet(c, 1.0));
      if (with_test) assert_ok(SNESStabilizedSetColumnScaling(snes, c));
      assert_ok(VecGetArray(z, &a));
      v3_set(a, start_on_it ? 0.0 : 0.7, 3.0, -1.0);
      assert_ok(VecRestoreArray(z, &a));
      assert_ok(SNESSetTolerances(snes, 1e-6, 0.0, 0.0, 200, 10000));
      assert_ok(SNESSetFromOptions(snes));
      assert_ok(SNESSolve(snes, NULL, z));
      assert_ok(SNESStabilizedGetStatistics(snes, &s));
      assert_ok(SNESGetConvergedReason(snes, &reason));
      assert_int_equal(s.is_stationary, with_test);
      assert_int_equal(reason > 0, with_test);
      assert_close(s.norm, 1.0, 1e-6);
      assert_close(s.gradient_norm, 0.0, with_test ? 1e-6 : 1e-3);
      assert_ok(VecDestroy(&c));
      finish(&p, &snes, &z);
    }
}

/* g = (exp(z) - 1) / 20: near the root |H^T g| is 20 times smaller than |g|. The default gradient tolerance does not stop the solver while Newton's
 * method converges. */
static void flat_residual(problem *p, const double *z, double *g)
{
  (void)p;
  for (int i = 0; i < 3; ++i) g[i] = 0.05 * (exp(z[i]) - 1.0);
}
static void flat_tangent(problem *p, const double *z)
{
  double *H;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  for (int i = 0; i < 3; ++i) H[4 * i] = 0.05 * exp(z[i]);
}
static void small_gradient_is_not_enough(void **state)
{
  (void)state;
  problem                  p = {.n = 3, .residual = flat_residual, .tangent = flat_tangent, .H = one_block()};
  SNES                     snes;
  Vec                      z, c;
  SNESStabilizedStatistics s;
  SNESConvergedReason      reason;
  solver_for(&p, &snes, &z);
  assert_ok(VecDuplicate(z, &c));
  assert_ok(VecSet(c, 1.0));
  assert_ok(SNESStabilizedSetColumnScaling(snes, c));
  assert_ok(VecSet(z, 1.0));
  assert_ok(SNESSetTolerances(snes, 1e-3, 0.0, 0.0, 200, 10000));
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(SNESSolve(snes, NULL, z));
  assert_ok(SNESStabilizedGetStatistics(snes, &s));
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_CONVERGED_FNORM_ABS);
  assert_false(s.is_stationary);
  assert_true(s.norm < 1e-3);
  assert_ok(VecDestroy(&c));
  finish(&p, &snes, &z);
}

/* g = log(z/a): the full Newton step from above leaves the domain. */
static void log_residual(problem *p, const double *z, double *g)
{
  for (int i = 0; i < 3; ++i) {
    if (z[i] <= 0.0 && p->parameter[3] > 0.0) p->has_domain_error = true;
    g[i] = z[i] > 0.0 || p->parameter[3] > 0.0 ? log(fabs(z[i]) / p->parameter[i]) : NAN;
  }
}
static void log_tangent(problem *p, const double *z)
{
  double *H;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  for (int i = 0; i < 3; ++i) H[4 * i] = 1.0 / z[i];
}
static void backtracks_from_states_that_do_not_exist(void **state)
{
  (void)state;
  for (int by_domain_error = 0; by_domain_error <= 1; ++by_domain_error) {
    const double             a[4] = {0.01, 3.0, 1e-3, by_domain_error};
    problem                  p    = {.n = 3, .residual = log_residual, .tangent = log_tangent, .parameter = a, .H = one_block()};
    SNES                     snes;
    Vec                      z;
    const PetscScalar       *za;
    SNESStabilizedStatistics s;
    SNESConvergedReason      reason;
    solver_for(&p, &snes, &z);
    assert_ok(VecSet(z, 5.0));
    assert_ok(SNESSetTolerances(snes, 1e-10, 0.0, 0.0, 50, 10000));
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESGetConvergedReason(snes, &reason));
    assert_int_equal(reason, SNES_CONVERGED_FNORM_ABS);
    assert_ok(SNESStabilizedGetStatistics(snes, &s));
    assert_true(s.n_rejected >= 1);
    assert_ok(VecGetArrayRead(z, &za));
    for (int i = 0; i < 3; ++i) assert_close(za[i], a[i], 1e-9 * a[i]);
    assert_ok(VecRestoreArrayRead(z, &za));
    assert_ok(VecSet(z, -1.0)); /* a start outside the domain */
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESGetConvergedReason(snes, &reason));
    assert_int_equal(reason, by_domain_error ? SNES_DIVERGED_FUNCTION_DOMAIN : SNES_DIVERGED_FNORM_NAN);
    finish(&p, &snes, &z);
  }
}

/* A tangent of the wrong sign: nothing is downhill, z must stay. */
static void liar_tangent(problem *p, const double *z)
{
  double *H;
  log_tangent(p, z);
  assert_ok(mat_block3_values(p->H, &H));
  for (int k = 0; k < 9; ++k) H[k] = -H[k];
}
static void keeps_z_when_the_search_fails(void **state)
{
  const double             a[4] = {1.0, 2.0, 3.0, 0.0};
  problem                  p    = {.n = 3, .residual = log_residual, .tangent = liar_tangent, .parameter = a, .H = one_block()};
  SNES                     snes;
  Vec                      z;
  PetscReal                norm;
  SNESConvergedReason      reason;
  SNESStabilizedStatistics s;
  (void)state;
  solver_for(&p, &snes, &z);
  assert_ok(VecSet(z, 5.0));
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(SNESSolve(snes, NULL, z));
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_DIVERGED_LINE_SEARCH);
  assert_ok(VecShift(z, -5.0));
  assert_ok(VecNorm(z, NORM_INFINITY, &norm));
  assert_close(norm, 0.0, 0.0);
  assert_ok(VecShift(z, 5.0));
  assert_ok(SNESStabilizedGetStatistics(snes, &s));
  assert_int_equal(s.n_fallbacks, 1);
  finish(&p, &snes, &z);
}

/* Section 9: after GMRES from zero, preconditioned from the right, g^T H dz = -(|g|^2 - |rho|^2) <= 0 however bad the
 * preconditioner; from the left it minimises another norm, and some of these go uphill. */
static void right_preconditioned_gmres_is_downhill(void **state)
{
  enum { N_TRIALS = 60, N_ROWS = 30 };
  int n_uphill[2] = {0};
  (void)state;
  for (int trial = 0; trial < N_TRIALS; ++trial)
    for (int is_right = 0; is_right <= 1; ++is_right) {
      Mat          H, M;
      Vec          g, dz, r;
      KSP          ksp;
      PC           pc;
      PetscScalar *a, m, g2, r2;
      assert_ok(MatCreateSeqDense(PETSC_COMM_SELF, N_ROWS, N_ROWS, NULL, &H));
      assert_ok(MatCreateSeqDense(PETSC_COMM_SELF, N_ROWS, N_ROWS, NULL, &M));
      for (int k = 0; k < 2; ++k) {
        assert_ok(MatDenseGetArray(k ? M : H, &a));
        for (int i = 0; i < N_ROWS * N_ROWS; ++i)
          a[i] = random_range((uint64_t)trial, (uint64_t)i, (uint64_t)k, -1, 1) * (k && i % N_ROWS < 5 ? 100.0 : 1.0);
        assert_ok(MatDenseRestoreArray(k ? M : H, &a));
      }
      assert_ok(MatCreateVecs(H, &g, &dz));
      assert_ok(VecDuplicate(g, &r));
      assert_ok(lattice_random(g, (uint64_t)trial));
      assert_ok(KSPCreate(PETSC_COMM_SELF, &ksp));
      assert_ok(KSPSetOperators(ksp, H, M));
      assert_ok(KSPSetType(ksp, KSPGMRES));
      assert_ok(KSPSetPCSide(ksp, is_right ? PC_RIGHT : PC_LEFT));
      assert_ok(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 5));
      assert_ok(KSPGetPC(ksp, &pc));
      assert_ok(PCSetType(pc, PCMAT)); /* multiplies by M: a bad idea on purpose */
      assert_ok(VecScale(g, -1.0));
      assert_ok(KSPSolve(ksp, g, dz));
      assert_ok(VecScale(g, -1.0));
      assert_ok(MatMult(H, dz, r));
      assert_ok(VecDot(g, r, &m));
      assert_ok(VecAXPY(r, 1.0, g));
      assert_ok(VecDot(g, g, &g2));
      assert_ok(VecDot(r, r, &r2));
      if (is_right) assert_close(m, -(g2 - r2), 1e-12 * g2);
      n_uphill[is_right] += m > 0.0;
      assert_ok(KSPDestroy(&ksp));
      assert_ok(MatDestroy(&H));
      assert_ok(MatDestroy(&M));
      assert_ok(VecDestroy(&g));
      assert_ok(VecDestroy(&dz));
      assert_ok(VecDestroy(&r));
    }
  print_message("uphill from the left %d, from the right %d of %d\n", n_uphill[0], n_uphill[1], N_TRIALS);
  assert_true(n_uphill[0] > 0);
  assert_int_equal(n_uphill[1], 0);
}

/* g = S (z + 0.1 z^3) - 1 with S = diag(1, 1e2, 1e4), as stiff contacts have: the exact Newton step makes an angle of almost 90
 * degrees with the steepest descent. It must be taken; the angle test alone wastes iterations. */
static void stiff_residual(problem *p, const double *z, double *g)
{
  (void)p;
  for (int i = 0; i < 3; ++i) g[i] = pow(100.0, i) * (z[i] + 0.1 * z[i] * z[i] * z[i]) - 1.0;
}
static void stiff_tangent(problem *p, const double *z)
{
  double *H;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  for (int i = 0; i < 3; ++i) H[4 * i] = pow(100.0, i) * (1.0 + 0.3 * z[i] * z[i]);
}
static void takes_newton_steps_of_stiff_systems(void **state)
{
  SNESStabilizedStatistics s[2];
  (void)state;
  for (int is_strict = 0; is_strict <= 1; ++is_strict) {
    problem p = {.n = 3, .residual = stiff_residual, .tangent = stiff_tangent, .H = one_block()};
    SNES    snes;
    Vec     z;
    set_options("-snes_atol 1e-9", is_strict ? "-snes_stabilized_strict" : NULL);
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s[is_strict]));
    assert_true(s[is_strict].norm < 1e-9);
    clear_options();
    finish(&p, &snes, &z);
  }
  print_message("iterations %d, by the angle test alone %d with %d gradient steps\n", (int)s[0].n_newton, (int)s[1].n_newton,
                (int)s[1].n_fallbacks);
  assert_int_equal(s[0].n_fallbacks, 0);
  assert_true(s[0].n_newton <= 5 && s[1].n_fallbacks >= 1 && s[1].n_newton > s[0].n_newton);
}

/* A mass on a stiff spring of length 1 around the origin is pulled sideways: g = z - y + k (|z| - 1) z / |z|, k = 1e6. E has a curved valley along
 * the circle: a full step along the tangent increases E by a factor of 1e10, the next one returns to the circle. Line searches alone
 * stall. */
static void pendulum_residual(problem *p, const double *z, double *g)
{
  const double r = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
  for (int i = 0; i < 3; ++i) g[i] = z[i] - p->parameter[i] + 1e6 * (r - 1.0) * z[i] / r;
}
static void pendulum_tangent(problem *p, const double *z)
{
  const double r = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
  double      *H;
  assert_ok(mat_block3_values(p->H, &H));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * i + j] = (i == j ? 1.0 + 1e6 * (1.0 - 1.0 / r) : 0.0) + 1e6 * z[i] * z[j] / (r * r * r);
}
static void relaxed_steps_follow_a_curved_valley(void **state)
{
  const double             pull[3] = {0.5, 1.0, 0.3}, length = sqrt(0.25 + 1.0 + 0.09);
  SNESStabilizedStatistics s[2];
  (void)state;
  for (int is_relaxed = 0; is_relaxed <= 1; ++is_relaxed) {
    problem       p = {.n = 3, .residual = pendulum_residual, .tangent = pendulum_tangent, .H = one_block(), .parameter = pull};
    const double *at;
    SNES          snes;
    Vec           z;
    set_options("-snes_atol 1e-6 -snes_max_it 1000", is_relaxed ? NULL : "-snes_stabilized_relaxed_steps 0");
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(VecSetValue(z, 0, 1.0, INSERT_VALUES));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s[is_relaxed]));
    assert_ok(VecGetArrayRead(z, &at));
    /* the root is parallel to the pull, where z - y + k (|z| - 1) e = 0: |z| = (k + |y|) / (k + 1) */
    if (is_relaxed)
      for (int i = 0; i < 3; ++i) assert_close(at[i], (1e6 + length) / (1e6 + 1.0) * pull[i] / length, 1e-6);
    assert_ok(VecRestoreArrayRead(z, &at));
    clear_options();
    finish(&p, &snes, &z);
  }
  print_message("%d evaluations, residual %g; by line searches alone %d, residual %g\n", (int)s[1].n_residuals, s[1].norm,
                (int)s[0].n_residuals, s[0].norm);
  assert_int_equal(s[0].n_relaxed, 0);
  assert_true(s[0].norm > 0.1);
  assert_in_range(s[1].n_relaxed, 1, 20);
  assert_true(s[1].norm < 1e-6 && s[1].n_residuals < 60);
}

/* g = z^3 - 3 z + 5 is the gradient of a potential with one minimum, z = -2.279. From z = 2, E has a minimum at z = 1, where H = 0. Line
 * searches on E end there, with |g| = 3. Steps to zeros of the work with H >= 1 continue to the minimum of the potential. The other
 * equations are linear. */
static bool           is_definite;
static PetscErrorCode select_definite(SNES snes, PetscBool is_wanted, void *context)
{
  (void)snes;
  ++*(int *)context;
  is_definite = is_wanted;
  return PETSC_SUCCESS;
}
static void inflected_residual(problem *p, const double *z, double *g)
{
  (void)p;
  g[0] = z[0] * z[0] * z[0] - 3.0 * z[0] + 5.0;
  g[1] = z[1] - 1.0, g[2] = z[2];
}
static void inflected_tangent(problem *p, const double *z)
{
  double *H;
  assert_ok(mat_block3_values(p->H, &H));
  m3_identity(H);
  H[0] = 3.0 * z[0] * z[0] - 3.0;
  if (is_definite) H[0] = fmax(H[0], 1.0);
}
static void work_steps_leave_minima_of_the_residual(void **state)
{
  (void)state;
  for (int has_work = 0; has_work <= 1; ++has_work) {
    problem                  p = {.n = 3, .residual = inflected_residual, .tangent = inflected_tangent, .H = one_block()};
    SNESStabilizedStatistics s;
    const double            *at;
    int                      n_calls = 0;
    SNES                     snes;
    Vec                      z;
    set_options("-snes_atol 1e-9 -snes_max_it 1000 -snes_stabilized_relaxed_steps 0", NULL);
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    if (has_work) assert_ok(SNESStabilizedSetDefinite(snes, select_definite, &n_calls));
    assert_ok(VecSetValue(z, 0, 2.0, INSERT_VALUES));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s));
    assert_ok(VecGetArrayRead(z, &at));
    print_message("%s: z = %.9g, |g| = %g, %d evaluations, %d work steps\n", has_work ? "work" : "line searches", at[0], s.norm,
                  (int)s.n_residuals, (int)s.n_work);
    if (has_work) {
      const double root = -cbrt(0.5 * (5.0 + sqrt(21.0))) - cbrt(0.5 * (5.0 - sqrt(21.0))); /* Cardano */
      assert_close(at[0], root, 1e-9);
      assert_close(at[1], 1.0, 1e-9);
      assert_true(s.norm < 1e-9 && s.n_residuals < 100);
      assert_in_range(s.n_work, 1, 50);
      assert_true(n_calls > 0 && n_calls % 2 == 0 && !is_definite);
    } else {
      assert_close(s.norm, 3.0, 1e-3);
      assert_int_equal(s.n_work, 0);
    }
    assert_ok(VecRestoreArrayRead(z, &at));
    clear_options();
    finish(&p, &snes, &z);
  }
}

/* g = S z - b with S = diag(1, 1e2, 1e4), solves with 4 S. This direction reduces |g|^2 by a quarter in the linear model and is
 * nearly orthogonal to the gradient, which the stiff equation turns. The direction with the larger predicted decrease is chosen:
 * the gradient gives 1 of 1.02 where the stiff equation has most of the residual, 0.01 where it has a tenth. */
static void weighed_residual(problem *p, const double *z, double *g)
{
  for (int i = 0; i < 3; ++i) g[i] = pow(100.0, i) * z[i] - p->parameter[i];
}
static void weighed_tangent(problem *p, const double *z)
{
  double *H;
  (void)z;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  for (int i = 0; i < 3; ++i) H[4 * i] = pow(100.0, i);
}
static void takes_what_promises_more(void **state)
{
  static const double b[2][3] = {{1.0, 0.1, 0.1}, {0.1, 0.1, 1.0}};
  (void)state;
  for (int c = 0; c < 4; ++c) {
    const bool   is_stiff = c & 1, is_strict = c & 2, takes_gradient = is_stiff || is_strict;
    problem      p     = {.n = 3, .residual = weighed_residual, .tangent = weighed_tangent, .H = one_block(), .parameter = b[is_stiff]};
    Mat          other = one_block();
    SNES         snes;
    Vec          z;
    double      *H;
    const double before = v3_norm(b[is_stiff]);
    SNESStabilizedStatistics s;
    assert_ok(mat_block3_values(other, &H));
    m3_zero(H);
    for (int i = 0; i < 3; ++i) H[4 * i] = 4.0 * pow(100.0, i);
    set_options("-snes_atol 1e-9 -snes_stabilized_eta 1e-12 -snes_max_it 1", is_strict ? "-snes_stabilized_strict" : NULL);
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(SNESStabilizedSetSolveMatrix(snes, other));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s));
    assert_int_equal(s.n_newton, 1);
    assert_int_equal(s.n_fallbacks, takes_gradient);
    if (!takes_gradient) assert_close(s.norm, 0.75 * before, 1e-9);
    else assert_close(s.norm, sqrt(before * before - (is_stiff ? 1.0 : 0.01)), 1e-3);
    clear_options();
    assert_ok(MatDestroy(&other));
    finish(&p, &snes, &z);
  }
}

/* g = S z - 1 with S = diag(1, 2, 4). Solves with 5/4 S instead of S reduce the residual to a fifth each time; with S itself
 * there is one iteration. In both cases S decides when the root is reached. */
static void plain_residual(problem *p, const double *z, double *g)
{
  (void)p;
  for (int i = 0; i < 3; ++i) g[i] = (1 << i) * z[i] - 1.0;
}
static void plain_tangent(problem *p, const double *z)
{
  double *H;
  (void)z;
  assert_ok(mat_block3_values(p->H, &H));
  m3_zero(H);
  for (int i = 0; i < 3; ++i) H[4 * i] = 1 << i;
}
static void solves_with_another_matrix(void **state)
{
  enum { EXPECTED = 14 }; /* sqrt(3) 0.2^14 < 1e-9 */
  (void)state;
  for (int c = 0; c < 4; ++c) {
    const bool               has_other = c & 1, is_scaled = c & 2;
    problem                  p     = {.n = 3, .residual = plain_residual, .tangent = plain_tangent, .H = one_block()};
    Mat                      other = one_block();
    SNES                     snes;
    Vec                      z, dinv;
    double                  *H;
    const PetscScalar       *at;
    SNESStabilizedStatistics s;
    assert_ok(mat_block3_values(other, &H));
    m3_zero(H);
    for (int i = 0; i < 3; ++i) H[4 * i] = 1.25 * (1 << i);
    set_options("-snes_atol 1e-9 -snes_stabilized_eta 1e-12", NULL);
    solver_for(&p, &snes, &z);
    assert_ok(SNESSetFromOptions(snes));
    assert_ok(VecDuplicate(z, &dinv));
    assert_ok(VecSet(dinv, 1.0));
    if (is_scaled) assert_ok(SNESStabilizedSetScaling(snes, dinv));
    assert_ok(SNESStabilizedSetSolveMatrix(snes, has_other ? other : NULL));
    assert_ok(SNESSolve(snes, NULL, z));
    assert_ok(SNESStabilizedGetStatistics(snes, &s));
    assert_int_equal(s.n_newton, has_other ? EXPECTED : 1);
    assert_int_equal(s.n_fallbacks, 0);
    assert_ok(VecGetArrayRead(z, &at));
    for (int i = 0; i < 3; ++i) assert_close(at[i], 1.0 / (1 << i), 1e-9);
    assert_ok(VecRestoreArrayRead(z, &at));
    clear_options();
    assert_ok(VecDestroy(&dinv));
    assert_ok(MatDestroy(&other));
    finish(&p, &snes, &z);
  }
}

static PetscErrorCode count_calls(SNES snes, PetscInt it, PetscReal norm, void *ctx)
{
  (void)snes, (void)it, (void)norm;
  ++*(int *)ctx;
  return PETSC_SUCCESS;
}

/* Reached by name and steered by options and prefixes, like PETSc's own. */
static void is_steered_by_options(void **state)
{
  problem                  p = cubic(3);
  SNES                     snes;
  KSP                      ksp;
  Vec                      z;
  SNESType                 type;
  PetscReal                rtol;
  PetscInt                 max_it, n_its, n_linear, restart;
  PCSide                   side;
  int                      n_calls = 0;
  SNESConvergedReason      reason;
  SNESStabilizedStatistics s;
  (void)state;
  set_options("-step_snes_type stabilized -step_snes_monitor ascii:/dev/null -step_ksp_monitor ascii:/dev/null "
              "-step_snes_view ascii:/dev/null -step_snes_converged_reason ascii:/dev/null",
              "-step_snes_stabilized_eta 1e-2 -step_ksp_max_it 7 -step_snes_max_it 2 -step_snes_atol 1e-12");
  assert_ok(MatCreateVecs(p.H, &z, &p.last));
  assert_ok(SNESCreate(PETSC_COMM_SELF, &snes));
  assert_ok(SNESSetOptionsPrefix(snes, "step_"));
  assert_ok(SNESSetFunction(snes, NULL, form_residual, &p));
  assert_ok(SNESSetJacobian(snes, p.H, p.H, form_tangent, &p));
  assert_ok(SNESMonitorSet(snes, count_calls, &n_calls, NULL));
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(SNESGetType(snes, &type));
  assert_string_equal(type, SNESSTABILIZED);
  assert_ok(SNESGetKSP(snes, &ksp));
  assert_ok(KSPGetTolerances(ksp, &rtol, NULL, NULL, &max_it));
  assert_ok(KSPGetPCSide(ksp, &side));
  assert_ok(KSPGMRESGetRestart(ksp, &restart));
  assert_close(rtol, 1e-2, 0.0);
  assert_int_equal(max_it, 7);
  assert_int_equal(restart, 20);
  assert_int_equal(side, PC_RIGHT);
  assert_ok(SNESSolve(snes, NULL, z));
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_DIVERGED_MAX_IT);
  assert_ok(SNESGetIterationNumber(snes, &n_its));
  assert_int_equal(n_its, 2);
  assert_int_equal(n_calls, 3);
  assert_ok(SNESStabilizedGetStatistics(snes, &s));
  assert_ok(SNESGetLinearSolveIterations(snes, &n_linear));
  assert_int_equal(n_linear, s.n_linear);
  assert_true(n_linear <= 14);
  PetscInt left;
  assert_ok(PetscOptionsLeftGet(NULL, &left, NULL, NULL));
  assert_int_equal(left, 0);
  clear_options();
  /* Eisenstat-Walker: PETSc's own, loose at first: fewer linear iterations, same solution */
  set_options("-step_snes_ksp_ew -step_snes_atol 1e-9 -step_snes_max_it 50", NULL);
  assert_ok(SNESSetFromOptions(snes));
  assert_ok(VecSet(z, 0.0));
  assert_ok(SNESSolve(snes, NULL, z));
  assert_ok(SNESGetConvergedReason(snes, &reason));
  assert_int_equal(reason, SNES_CONVERGED_FNORM_ABS);
  clear_options();
  set_options("-step_snes_stabilized_wolfe_c1 0.95", NULL);
  assert_int_not_equal(SNESSetFromOptions(snes), 0);
  assert_non_null(strstr(error_message(), "c1 < c2"));
  error_clear();
  clear_options();
  finish(&p, &snes, &z);
}

static void registers(void **state)
{
  (void)state;
  void (*create)(void) = NULL;
  assert_ok(PetscFunctionListFind(SNESList, SNESSTABILIZED, &create));
  assert_true(create == NULL);
  assert_ok(optim_register_all());
  assert_ok(PetscFunctionListFind(SNESList, SNESSTABILIZED, &create));
  assert_true(create != NULL);
}

TEST_MAIN(cmocka_unit_test(registers), cmocka_unit_test(converges_quadratically), cmocka_unit_test(adapts_the_linear_tolerance),
          cmocka_unit_test(same_bits_on_any_team), cmocka_unit_test(block_on_a_slope), cmocka_unit_test(no_creep_at_any_tolerance),
          cmocka_unit_test(accepts_a_solution_as_start), cmocka_unit_test(falls_back_when_gmres_stagnates),
          cmocka_unit_test(finds_the_stationary_point), cmocka_unit_test(small_gradient_is_not_enough),
          cmocka_unit_test(backtracks_from_states_that_do_not_exist), cmocka_unit_test(keeps_z_when_the_search_fails),
          cmocka_unit_test(right_preconditioned_gmres_is_downhill), cmocka_unit_test(takes_newton_steps_of_stiff_systems),
          cmocka_unit_test(relaxed_steps_follow_a_curved_valley), cmocka_unit_test(work_steps_leave_minima_of_the_residual),
          cmocka_unit_test(takes_what_promises_more), cmocka_unit_test(solves_with_another_matrix), cmocka_unit_test(is_steered_by_options))
