#include "box_fixture.h"
#include "optim/bounds/bounds_tao.h"
#include "optim/optim.h"

typedef struct {
  grid_matrix a;
  double     *b, *lo, *x, *y;
  Mat         H;
  Vec         u, g, low, high;
  Tao         tao;
} tao_case;

static PetscErrorCode mult(Mat H, Vec x, Vec y)
{
  tao_case     *s;
  const double *from;
  double       *to;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(H, &s));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArray(y, &to));
  grid_matrix_apply(&s->a, from, to);
  PetscCall(VecRestoreArray(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode diagonal(Mat H, Vec d)
{
  tao_case *s;
  double   *to;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(H, &s));
  PetscCall(VecGetArray(d, &to));
  memcpy(to, s->a.diagonal, (size_t)s->a.n * sizeof *to);
  PetscCall(VecRestoreArray(d, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *context)
{
  tao_case     *s = context;
  const double *from;
  double       *to;
  (void)tao;
  PetscFunctionBegin;
  PetscCall(MatMult(s->H, x, g));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArray(g, &to));
  *f = 0.0;
  for (int64_t i = 0; i < s->a.n; ++i) {
    *f += from[i] * (0.5 * to[i] - s->b[i]);
    to[i] -= s->b[i];
  }
  PetscCall(VecRestoreArray(g, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode hessian(Tao tao, Vec x, Mat H, Mat P, void *context)
{
  (void)tao, (void)x, (void)H, (void)P, (void)context;
  return PETSC_SUCCESS;
}

static bool is_pool(int i, int j, int k) { return k < 6 + (i * j) % 4; }

static void open_case(tao_case *s)
{
  lattice_fill(14, 13, 12, 0, true, true, is_pool, &s->a);
  const PetscInt n         = (PetscInt)s->a.n;
  double **const vectors[] = {&s->b, &s->lo, &s->x, &s->y};
  for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("test", s->a.n, sizeof(double), vectors[k]));
  for (int64_t i = 0; i < n; ++i) s->b[i] = sin(0.5 * s->a.ijk[i][0]) * sin(0.4 * s->a.ijk[i][1]) * cos(0.4 * s->a.ijk[i][2]) - 0.05;
  assert_ok(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, s, &s->H));
  assert_ok(MatShellSetOperation(s->H, MATOP_MULT, (void (*)(void))mult));
  assert_ok(MatShellSetOperation(s->H, MATOP_GET_DIAGONAL, (void (*)(void))diagonal));
  assert_ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, s->y, &s->u));
  assert_ok(VecDuplicate(s->u, &s->low));
  assert_ok(VecDuplicate(s->u, &s->high));
  assert_ok(VecSet(s->high, PETSC_INFINITY));
  assert_ok(TaoCreate(PETSC_COMM_SELF, &s->tao));
  assert_ok(TaoSetSolution(s->tao, s->u));
  assert_ok(TaoSetVariableBounds(s->tao, s->low, s->high));
  assert_ok(TaoSetObjectiveAndGradient(s->tao, NULL, gradient, s));
  assert_ok(TaoSetHessian(s->tao, s->H, s->H, hessian, s));
}

static void close_case(tao_case *s)
{
  assert_ok(TaoDestroy(&s->tao));
  assert_ok(MatDestroy(&s->H));
  assert_ok(VecDestroy(&s->u));
  assert_ok(VecDestroy(&s->low));
  assert_ok(VecDestroy(&s->high));
  memory_free(&s->b), memory_free(&s->lo), memory_free(&s->x), memory_free(&s->y);
  grid_matrix_destroy(&s->a);
}

static bounds_qp qp_of(tao_case *s)
{
  return (bounds_qp){
      .n = s->a.n, .apply = grid_matrix_apply, .context = &s->a, .diagonal = s->a.diagonal, .b = s->b, .lo = s->lo, .grid = &s->a};
}

/* A Tao of these types goes through the iterates of bounds_solve, bit for bit: compared after 1, 2, 5, 13 steps and at the end. */
static void same_iterates_as_the_direct_call(void **state)
{
  static const char *const types[]   = {TAOMPRGP, TAOMPRGPORIGINAL, TAOACTIVESET};
  static const int         methods[] = {BOUNDS_METHOD_MPRGP, BOUNDS_METHOD_MPRGP_ORIGINAL, BOUNDS_METHOD_ACTIVE_SET};
  static const int         steps[]   = {1, 2, 5, 13, 5000};
  tao_case                 s         = {0};
  TaoConvergedReason       reason;
  PetscInt                 n_steps;
  (void)state;
  assert_ok(optim_register_all());
  open_case(&s);
  assert_ok(PetscOptionsSetValue(NULL, "-tao_mprgp_preconditioner", "mic"));
  for (int t = 0; t < 3; ++t)
    for (int with_grid = 0; with_grid < 2; ++with_grid)
      for (int k = 0; k < 5; ++k) {
        bounds_qp      q = qp_of(&s);
        bounds_options o = box_defaults(methods[t], BOUNDS_PRECONDITIONER_MIC, 1e-6);
        bounds_result  r = {0}, got;
        o.max_iterations = steps[k];
        if (!with_grid) q.grid = NULL;
        assert_ok(PetscObjectCompose((PetscObject)s.H, "SSGridMatrix", NULL));
        if (with_grid) assert_ok(bounds_tao_set_grid(s.H, &s.a));
        for (int64_t i = 0; i < q.n; ++i) s.x[i] = i % 3 ? 0.0 : 1e-3; /* b is not -g there */
        assert_ok(bounds_solve(&q, &o, s.x, &r));
        assert_ok(TaoSetType(s.tao, TAOBNLS)); /* and back: a fresh one, without a step length of the last solve */
        assert_ok(TaoSetType(s.tao, types[t]));
        assert_ok(TaoSetTolerances(s.tao, 0.0, 1e-6, 0.0));
        assert_ok(TaoSetMaximumIterations(s.tao, steps[k]));
        assert_ok(TaoSetFromOptions(s.tao));
        double *from;
        assert_ok(VecGetArray(s.u, &from));
        for (int64_t i = 0; i < q.n; ++i) from[i] = i % 3 ? 0.0 : 1e-3;
        assert_ok(VecRestoreArray(s.u, &from));
        assert_ok(TaoSolve(s.tao));
        assert_ok(TaoGetConvergedReason(s.tao, &reason));
        assert_ok(TaoGetIterationNumber(s.tao, &n_steps));
        assert_ok(bounds_tao_result(s.tao, &got));
        assert_int_equal(reason, r.status == BOUNDS_OK ? TAO_CONVERGED_GRTOL : TAO_DIVERGED_MAXITS);
        assert_int_equal(n_steps, r.iterations);
        assert_int_equal(got.n_bound, r.n_bound);
        assert_memory_equal(s.x, s.y, (size_t)s.a.n * sizeof *s.x);
      }
  assert_int_equal(reason, TAO_CONVERGED_GRTOL);
  assert_ok(PetscOptionsClearValue(NULL, "-tao_mprgp_preconditioner"));
  close_case(&s);
  assert_no_leak();
}

/* Method `tao` with the type from the options, and SNES: all converge to the solution, within a tolerance of 1e-9. */
static void methods_tao_and_snesvi(void **state)
{
  static const char *const types[] = {"mprgp", "activeset", "bnls", "bntr", "gpcg", "blmvm", "vinewtonrsls"};
  tao_case                 s       = {0};
  (void)state;
  open_case(&s);
  const bounds_qp      q     = qp_of(&s);
  const bounds_options exact = box_defaults(BOUNDS_METHOD_MPRGP, BOUNDS_PRECONDITIONER_MULTIGRID, 1e-11);
  bounds_result        r     = {0};
  assert_ok(bounds_solve(&q, &exact, s.x, &r));
  assert_int_equal(r.status, BOUNDS_OK);
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    const bool           is_tao = t + 1 < sizeof types / sizeof *types;
    const char          *key    = is_tao ? "-pressure_tao_type" : "-pressure_snes_type";
    const bounds_options o      = box_defaults(is_tao ? BOUNDS_METHOD_TAO : BOUNDS_METHOD_SNESVI, BOUNDS_PRECONDITIONER_MULTIGRID, 1e-9);
    assert_ok(PetscOptionsSetValue(NULL, key, types[t]));
    memset(s.y, 0, (size_t)s.a.n * sizeof *s.y);
    assert_ok(bounds_solve(&q, &o, s.y, &r));
    if (r.status != BOUNDS_OK) fail_msg("%s: %s, %g of %g", types[t], bounds_status_text(r.status), r.residual, r.target);
    assert_true(r.iterations > 0 && r.products > 0);
    double apart = 0.0, size = 0.0;
    for (int64_t i = 0; i < q.n; ++i) apart = fmax(apart, fabs(s.y[i] - s.x[i])), size = fmax(size, fabs(s.x[i]));
    assert_close(apart / size, 0.0, 1e-6);
    bounds_options few = o; /* the limit is reported, also as that of evaluations, and the best iterate is within the bounds */
    few.max_iterations = 1;
    memset(s.y, 0, (size_t)s.a.n * sizeof *s.y);
    assert_ok(bounds_solve(&q, &few, s.y, &r));
    if (r.status != BOUNDS_ITERATIONS) fail_msg("%s: %s", types[t], bounds_status_text(r.status));
    assert_true(r.residual > r.target);
    for (int64_t i = 0; i < q.n; ++i) assert_true((!q.lo || s.y[i] >= q.lo[i]) && (!q.hi || s.y[i] <= q.hi[i]));
    assert_ok(PetscOptionsClearValue(NULL, key));
  }
  /* linear solves of one iteration: no convergence, and no limit on the iterations of the method */
  const bounds_options o = box_defaults(BOUNDS_METHOD_SNESVI, BOUNDS_PRECONDITIONER_MULTIGRID, 1e-9);
  assert_ok(PetscOptionsInsertString(NULL, "-pressure_snes_type vinewtonrsls -pressure_ksp_max_it 1 -pressure_ksp_rtol 1e-14"));
  memset(s.y, 0, (size_t)s.a.n * sizeof *s.y);
  assert_ok(bounds_solve(&q, &o, s.y, &r));
  if (r.status != BOUNDS_STALLED) fail_msg("%s, %g of %g", bounds_status_text(r.status), r.residual, r.target);
  assert_ok(PetscOptionsClear(NULL));
  close_case(&s);
  assert_no_leak();
}

static void what_they_want_is_said(void **state)
{
  tao_case s = {0};
  (void)state;
  assert_ok(optim_register_all());
  open_case(&s);
  Tao bare;
  assert_ok(TaoCreate(PETSC_COMM_SELF, &bare));
  assert_ok(TaoSetType(bare, TAOMPRGP));
  assert_ok(TaoSetSolution(bare, s.u));
  assert_ok(TaoSetObjectiveAndGradient(bare, NULL, gradient, &s));
  assert_int_equal(TaoSolve(bare), PETSC_ERR_ORDER);
  assert_non_null(strstr(error_message(), "needs a Hessian"));
  error_clear();
  assert_ok(TaoDestroy(&bare));
  bounds_qp            q = qp_of(&s);
  const bounds_options o = box_defaults(BOUNDS_METHOD_SNESVI, BOUNDS_PRECONDITIONER_MULTIGRID, 1e-6);
  bounds_result        r = {0};
  q.grid                 = NULL;
  assert_int_equal(bounds_solve(&q, &o, s.x, &r), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(error_message(), "method snesvi needs an assembled matrix"));
  error_clear();
  close_case(&s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(same_iterates_as_the_direct_call), cmocka_unit_test(methods_tao_and_snesvi),
          cmocka_unit_test(what_they_want_is_said))
