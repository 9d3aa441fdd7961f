#include "box_fixture.h"

static double dense_objective(const dense *a, const double *x)
{
  double y[DENSE_MAX], sum = 0.0;
  dense_apply((void *)a, x, y);
  for (int64_t i = 0; i < a->n; ++i) sum += x[i] * (0.5 * y[i] - a->b[i]);
  return sum;
}

/* |nu|_D, straight from its definition. */
static double dense_residual(const dense *a, const double *x)
{
  double g[DENSE_MAX], sum = 0.0;
  dense_apply((void *)a, x, g);
  for (int64_t i = 0; i < a->n; ++i) {
    assert_true(x[i] >= a->lo[i] && x[i] <= a->hi[i]);
    double nu = g[i] - a->b[i];
    if (x[i] == a->lo[i]) nu = fmin(nu, 0.0);
    if (x[i] == a->hi[i]) nu = fmax(nu, 0.0);
    sum += nu * nu / a->d[i];
  }
  return sqrt(sum);
}

/* Every method and preconditioner against enumeration on up to 8 unknowns (E15): definite programs have a unique solution. 1e-10
 * on the scale of the unknown; condition numbers up to 1e4. */
static void against_enumeration(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t   n = seed == 39 ? DENSE_MAX : 1 + (int64_t)(seed % 8);
    dense           a = dense_random(seed, n, n, 0.05, seed % 4 == 3);
    const bounds_qp q = dense_qp(&a);
    double          exact[DENSE_MAX], x[DENSE_MAX];
    assert_true(dense_enumerate(&a, exact));
    for (int method = 0; method < BOUNDS_N_METHODS; ++method)
      for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS && method != BOUNDS_METHOD_CG; ++kind) {
        bounds_options o = box_defaults(method, kind, 1e-13);
        bounds_result  r = {0};
        o.max_iterations = 1000000;
        o.trials         = seed % 2 ? 5 : 1;
        for (int64_t i = 0; i < n; ++i) x[i] = random_range(seed, (uint64_t)i, 5, -1, 1);
        assert_ok(bounds_solve(&q, &o, x, &r));
        if (r.status != BOUNDS_OK)
          fail_msg("seed %d, %s, %d: %s, residual %g of %g", (int)seed, bounds_solvers[method].name, kind, bounds_status_text(r.status),
                   r.residual, r.target);
        assert_close(r.residual, dense_residual(&a, x), 1e-12);
        for (int64_t i = 0; i < n; ++i) assert_close(x[i] * sqrt(a.d[i]), exact[i] * sqrt(a.d[i]), 1e-10);
      }
  }
  assert_no_leak();
}

/* Stopped after 0, 1, 2, ... steps, MPRGP is feasible and lower each time. */
static void objective_falls_at_every_step(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 30; ++seed)
    for (int method = BOUNDS_METHOD_MPRGP; method <= BOUNDS_METHOD_MPRGP_ORIGINAL; ++method) {
      dense           a      = dense_random(100 + seed, DENSE_MAX, DENSE_MAX - (int64_t)(seed % 3), 0.0, seed % 2);
      const bounds_qp q      = dense_qp(&a);
      double          before = INFINITY;
      for (int k = 1; k < 40; ++k) {
        double         x[DENSE_MAX] = {0};
        bounds_result  r            = {0};
        bounds_options o            = box_defaults(method, BOUNDS_PRECONDITIONER_JACOBI, 1e-12);
        o.max_iterations            = k;
        assert_ok(bounds_solve(&q, &o, x, &r));
        assert_true(r.iterations <= k);
        dense_residual(&a, x); /* feasible */
        const double now = dense_objective(&a, x);
        if (!(now <= before + 1e-13 * fabs(now))) fail_msg("seed %d: %.17g after %.17g at step %d", (int)seed, now, before, k);
        before = now;
      }
    }
  assert_no_leak();
}

/* A narrow valley that leaves the box: the whole step of conjugate gradients, cut at the bound, ends high up its wall, 0.5 above
 * the minimum instead of 0.01. */
static void cut_steps_that_go_uphill_are_not_taken(void **state)
{
  dense           a      = {.n = 2, .A = {1, 0.99, 0.99, 1}, .d = {1, 1}, .b = {0.98, 1.01}, .lo = {0, 0}, .hi = {INFINITY, INFINITY}};
  const bounds_qp q      = dense_qp(&a);
  double          before = INFINITY;
  (void)state;
  for (int k = 1; k < 12; ++k) {
    double         x[DENSE_MAX] = {0.1, 0.95};
    bounds_result  r            = {.alpha_bar = 0.9};
    bounds_options o            = box_defaults(BOUNDS_METHOD_MPRGP, BOUNDS_PRECONDITIONER_JACOBI, 1e-9);
    o.max_iterations            = k;
    assert_ok(bounds_solve(&q, &o, x, &r));
    const double now = dense_objective(&a, x);
    if (!(now <= before + 1e-14)) fail_msg("%.17g after %.17g at step %d", now, before, k);
    before = now;
    if (k == 11) assert_close(x[1], 1.01, 1e-8);
  }
  assert_no_leak();
}

/* The numbering of unknowns changes neither iterations nor solution. Scaling the unknowns by powers of two gives the same bits. */
static void order_and_units_do_not_matter(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    dense                a = dense_random(200 + seed, 11, 11, 0.1, false), b = {.n = 11}, c = a;
    const bounds_options o = box_defaults(seed % 2 ? BOUNDS_METHOD_MPRGP : BOUNDS_METHOD_ACTIVE_SET, BOUNDS_PRECONDITIONER_JACOBI, 1e-12);
    double               x[DENSE_MAX] = {0}, y[DENSE_MAX] = {0}, z[DENSE_MAX] = {0};
    bounds_result        r = {0}, s = {0}, t = {0};
    for (int i = 0; i < 11; ++i) {
      const int p = i * 4 % 11;
      for (int j = 0; j < 11; ++j) b.A[i * 11 + j] = a.A[p * 11 + j * 4 % 11];
      b.d[i] = a.d[p], b.b[i] = a.b[p], b.lo[i] = a.lo[p], b.hi[i] = a.hi[p];
    }
    for (int i = 0; i < 11; ++i) {
      const double u = ldexp(1.0, i % 5 * 7 - 14);
      for (int j = 0; j < 11; ++j) c.A[i * 11 + j] *= u * ldexp(1.0, j % 5 * 7 - 14);
      c.d[i] *= u * u, c.b[i] *= u, c.lo[i] /= u, c.hi[i] /= u;
    }
    const bounds_qp qa = dense_qp(&a), qb = dense_qp(&b), qc = dense_qp(&c);
    r.alpha_bar = s.alpha_bar = t.alpha_bar = 0.1; /* its estimate starts from something rough that knows the order */
    assert_ok(bounds_solve(&qa, &o, x, &r));
    assert_ok(bounds_solve(&qb, &o, y, &s));
    assert_ok(bounds_solve(&qc, &o, z, &t));
    assert_int_equal(r.iterations, s.iterations);
    assert_int_equal(r.iterations, t.iterations);
    for (int i = 0; i < 11; ++i) assert_close(y[i], x[i * 4 % 11], 1e-10);
    for (int i = 0; i < 11; ++i) assert_true(z[i] * ldexp(1.0, i % 5 * 7 - 14) == x[i]);
  }
  assert_no_leak();
}

/* Rank 5 of 10: the solution is not unique, but A x and the objective are. */
static void semidefinite(void **state)
{
  static const int methods[] = {BOUNDS_METHOD_MPRGP, BOUNDS_METHOD_MPRGP_ORIGINAL, BOUNDS_METHOD_ACTIVE_SET, BOUNDS_METHOD_ADMM};
  (void)state;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    dense           a                = dense_random(300 + seed, 10, 5, 0.0, false);
    const bounds_qp q                = dense_qp(&a);
    double          first[DENSE_MAX] = {0};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
      bounds_options o = box_defaults(methods[m], BOUNDS_PRECONDITIONER_JACOBI, 1e-11);
      double         x[DENSE_MAX], y[DENSE_MAX];
      bounds_result  r = {0};
      o.max_iterations = 20000;
      for (int i = 0; i < 10; ++i) x[i] = random_range(seed, (uint64_t)i, 9, -1, 1);
      assert_ok(bounds_solve(&q, &o, x, &r));
      if (r.status != BOUNDS_OK)
        fail_msg("seed %d, %s: %s, %g of %g", (int)seed, bounds_solvers[methods[m]].name, bounds_status_text(r.status), r.residual,
                 r.target);
      assert_true(dense_residual(&a, x) <= r.target);
      dense_apply(&a, x, m == 0 ? first : y);
      for (int i = 0; i < 10 && m > 0; ++i) assert_close(y[i], first[i], 1e-8); /* sqrt of the objective's accuracy, at worst */
    }
  }
  assert_no_leak();
}

static void nothing_free_everything_free_and_warm(void **state)
{
  (void)state;
  for (int method = 0; method < BOUNDS_N_METHODS; ++method) {
    dense          a            = dense_random(7, 9, 9, 0.5, false);
    bounds_qp      q            = dense_qp(&a);
    bounds_options o            = box_defaults(method, BOUNDS_PRECONDITIONER_JACOBI, 1e-12);
    bounds_result  r            = {0};
    double         x[DENSE_MAX] = {0}, y[DENSE_MAX];
    o.max_iterations            = 100000;
    /* no bounds: the solution of A x = b */
    q.lo = q.hi = NULL;
    assert_ok(bounds_solve(&q, &o, x, &r));
    assert_int_equal(r.status, BOUNDS_OK);
    assert_int_equal(r.n_bound, 0);
    dense_apply(&a, x, y);
    for (int i = 0; i < 9; ++i) assert_close(y[i], a.b[i], 1e-10);
    /* from the solution: no iteration */
    memcpy(y, x, sizeof y);
    assert_ok(
        bounds_solve(&q, &(bounds_options){.method = method, .preconditioner = o.preconditioner, .tolerance = 1e-10, .trials = 1}, x, &r));
    assert_int_equal(r.status, BOUNDS_OK);
    assert_true(r.iterations == 0);
    if (method != BOUNDS_METHOD_INTERIOR_POINT) assert_memory_equal(x, y, 9 * sizeof *x);
    if (method == BOUNDS_METHOD_CG) continue;
    /* no room at all: the bounds, at once */
    for (int i = 0; i < 9; ++i) a.lo[i] = a.hi[i] = 0.1 * i - 0.4;
    q.lo = a.lo, q.hi = a.hi;
    assert_ok(bounds_solve(&q, &o, x, &r));
    assert_int_equal(r.status, BOUNDS_OK);
    assert_int_equal(r.n_bound, 9);
    assert_memory_equal(x, a.lo, 9 * sizeof *x);
    /* and no unknowns at all */
    q.n = 0;
    assert_ok(bounds_solve(&q, &o, x, &r));
    assert_int_equal(r.status, BOUNDS_OK);
  }
  assert_no_leak();
}

static bool is_pool(int i, int j, int k) { return k < 9 + (i * j) % 4; }

/* The same bits on 1, 2 and 3 threads, from cold and warm; a part of the unknowns beyond the grid. */
static void bits_do_not_depend_on_threads(void **state)
{
  grid_matrix a;
  double     *b, *lo, *x, *first;
  (void)state;
  lattice_fill(24, 22, 26, 2, true, true, is_pool, &a);
  double **const vectors[] = {&b, &lo, &x, &first};
  for (int k = 0; k < 4; ++k) assert_ok(memory_alloc("test", a.n, sizeof(double), vectors[k]));
  for (int64_t i = 0; i < a.n; ++i) b[i] = sin(0.3 * a.ijk[i][0]) * sin(0.4 * a.ijk[i][1]) * cos(0.2 * a.ijk[i][2]) - 0.1;
  const bounds_qp q = {.n = a.n, .apply = grid_matrix_apply, .context = &a, .diagonal = a.diagonal, .b = b, .lo = lo, .grid = &a};
  for (int method = 0; method <= BOUNDS_METHOD_ACTIVE_SET; ++method)
    for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS; ++kind)
      for (int threads = 1; threads <= 3; ++threads) {
        const bounds_options o = box_defaults(method, kind, 1e-3);
        bounds_result        r = {0};
        team_set_threads(threads);
        for (int64_t i = 0; i < a.n; ++i) x[i] = kind % 2 ? 1e-3 * fabs(sin((double)i)) : 0.0;
        assert_ok(bounds_solve(&q, &o, x, &r));
        assert_int_equal(r.status, BOUNDS_OK);
        assert_true(r.n_bound > a.n / 10 && r.n_bound < a.n);
        if (threads == 1) memcpy(first, x, (size_t)a.n * sizeof *x);
        assert_memory_equal(first, x, (size_t)a.n * sizeof *x);
      }
  team_set_threads(0);
  grid_matrix_destroy(&a);
  for (int k = 0; k < 4; ++k) memory_free(vectors[k]);
  assert_no_leak();
}

/* A grid with something afloat in it: A = grid + k c c^T, c over some cells, and an unknown of its own that is coupled to them. */
typedef struct {
  grid_matrix a;
  double     *c;
} floating;
static void floating_apply(void *context, const double *restrict x, double *restrict y)
{
  floating *f   = context;
  double    sum = 0.0;
  grid_matrix_apply(&f->a, x, y);
  for (int64_t i = 0; i <= f->a.n; ++i) sum += f->c[i] * x[i];
  y[f->a.n] = 0.5 * x[f->a.n];
  for (int64_t i = 0; i <= f->a.n; ++i) y[i] += f->c[i] * sum;
}

static void more_than_the_grid(void **state)
{
  enum { N = 12 };
  floating f;
  double  *d, *b, *lo, *x, *y, *first = NULL;
  (void)state;
  lattice_fill(N, N, N, 0, true, true, NULL, &f.a);
  const int64_t  n         = f.a.n + 1;
  double **const vectors[] = {&d, &b, &lo, &x, &y, &first, &f.c};
  for (int k = 0; k < 7; ++k) assert_ok(memory_alloc("test", n, sizeof(double), vectors[k]));
  for (int64_t i = 0; i < n; ++i) {
    f.c[i] = i % 37 == 0 ? 4.0 : i == n - 1 ? -3.0 : 0.0;
    d[i]   = (i < n - 1 ? f.a.diagonal[i] : 0.5) + f.c[i] * f.c[i];
    b[i]   = i < n - 1 ? cos(0.7 * f.a.ijk[i][0]) * cos(0.5 * f.a.ijk[i][1]) - 0.1 : 1.0;
  }
  const bounds_qp q = {.n = n, .apply = floating_apply, .context = &f, .diagonal = d, .b = b, .lo = lo, .grid = &f.a};
  for (int method = 0; method <= BOUNDS_METHOD_ACTIVE_SET; ++method)
    for (int kind = 0; kind < BOUNDS_N_PRECONDITIONERS; ++kind) {
      const bounds_options o = box_defaults(method, kind, 1e-10);
      bounds_result        r = {0};
      memset(x, 0, (size_t)n * sizeof *x);
      assert_ok(bounds_solve(&q, &o, x, &r));
      assert_int_equal(r.status, BOUNDS_OK);
      assert_close(r.residual, bounds_residual(&q, x, y, NULL), 1e-16);
      if (method + kind == 0) memcpy(first, x, (size_t)n * sizeof *x);
      for (int64_t i = 0; i < n; ++i) assert_close(x[i] * sqrt(d[i]), first[i] * sqrt(d[i]), 1e-6);
    }
  grid_matrix_destroy(&f.a);
  for (int k = 0; k < 7; ++k) memory_free(vectors[k]);
  assert_no_leak();
}

/* A cold start through coarser grids: the same solution in two thirds of the iterations or fewer; a good initial guess is not
 * changed. Once with two bounds, a border of odd length and missing cells. */
static void nested_start_finds_the_bounds(void **state)
{
  (void)state;
  for (int which = 0; which < 2; ++which) {
    grid_matrix a;
    double     *b, *lo, *hi, *x, *y;
    int64_t     steps[2];
    if (which == 0) lattice_fill(24, 24, 24, 0, true, false, NULL, &a);
    else lattice_fill(23, 25, 21, 1, true, true, is_pool, &a);
    double **const vectors[] = {&b, &lo, &hi, &x, &y};
    for (int k = 0; k < 5; ++k) assert_ok(memory_alloc("test", a.n, sizeof(double), vectors[k]));
    for (int64_t i = 0; i < a.n; ++i) {
      b[i]  = sin(0.2 * a.ijk[i][0]) * sin(0.2 * a.ijk[i][1]) * cos(0.1 * a.ijk[i][2]) - 0.08;
      hi[i] = which ? 0.02 : INFINITY;
    }
    const bounds_qp q = {
        .n = a.n, .apply = grid_matrix_apply, .context = &a, .diagonal = a.diagonal, .b = b, .lo = lo, .hi = hi, .grid = &a};
    for (int method = BOUNDS_METHOD_MPRGP; method <= BOUNDS_METHOD_ACTIVE_SET; method += BOUNDS_METHOD_ACTIVE_SET - BOUNDS_METHOD_MPRGP) {
      for (int is_nested = 0; is_nested < 2; ++is_nested) {
        bounds_options o  = box_defaults(method, BOUNDS_PRECONDITIONER_MULTIGRID, 1e-8);
        bounds_result  r  = {0};
        double        *to = is_nested ? x : y;
        memset(to, 0, (size_t)a.n * sizeof *x);
        assert_ok(is_nested ? bounds_solve(&q, &o, to, &r) : bounds_solve_with(NULL, bounds_solvers[method].solve, false, &q, &o, to, &r));
        assert_int_equal(r.status, BOUNDS_OK);
        assert_true(is_nested == (r.coarse_products > 0));
        assert_true(r.n_bound > a.n / 10);
        steps[is_nested] = r.iterations;
        if (!is_nested) continue;
        o.tolerance = 1e-7, r = (bounds_result){0};
        assert_ok(bounds_solve(&q, &o, to, &r));
        assert_true(r.iterations == 0 && r.coarse_products == 0);
      }
      if (!(3 * steps[1] <= 2 * steps[0])) fail_msg("%d steps instead of %d", (int)steps[1], (int)steps[0]);
      for (int64_t i = 0; i < a.n; ++i) assert_close(x[i] * a.diagonal[i], y[i] * a.diagonal[i], 1e-5);
    }
    grid_matrix_destroy(&a);
    for (int k = 0; k < 5; ++k) memory_free(vectors[k]);
  }
  assert_no_leak();
}

static void refused(const bounds_qp *q, double *x, const char *text)
{
  const bounds_options o = box_defaults(BOUNDS_METHOD_MPRGP, BOUNDS_PRECONDITIONER_JACOBI, 1e-6);
  bounds_result        r = {0};
  assert_int_equal(bounds_solve(q, &o, x, &r), PETSC_ERR_USER_INPUT);
  if (!strstr(error_message(), text)) fail_msg("\"%s\" does not say \"%s\"", error_message(), text);
  error_clear();
}

static void bad_input_and_bad_ends(void **state)
{
  dense           a = dense_random(5, 4, 4, 0.5, false), good = a;
  const bounds_qp q            = dense_qp(&a);
  double          x[DENSE_MAX] = {0};
  (void)state;
  a.lo[2] = 1.0, a.hi[2] = 0.5;
  refused(&q, x, "unknown 2 of a quadratic program: its bounds leave no room");
  a = good, a.d[1] = 0.0;
  refused(&q, x, "unknown 1 of a quadratic program: its diagonal");
  a = good, a.b[3] = NAN;
  refused(&q, x, "unknown 3 of a quadratic program: its right-hand side");
  a = good, x[0] = INFINITY;
  refused(&q, x, "unknown 0 of a quadratic program: the value it starts from");
  /* 1/2 (x - y)^2 - x - y is unbounded below along (1, 1) */
  dense                down = {.n = 2, .A = {1, -1, -1, 1}, .d = {1, 1}, .b = {1, 1}, .lo = {-1, -1}, .hi = {INFINITY, INFINITY}};
  const bounds_qp      p    = dense_qp(&down);
  const bounds_options o    = box_defaults(BOUNDS_METHOD_MPRGP, BOUNDS_PRECONDITIONER_JACOBI, 1e-6);
  bounds_result        r    = {0};
  double               y[2] = {0};
  assert_ok(bounds_solve(&p, &o, y, &r));
  assert_int_equal(r.status, BOUNDS_UNBOUNDED);
  down.hi[0] = down.hi[1] = 3.0; /* now there is an end to it */
  assert_ok(bounds_solve(&p, &o, y, &r));
  assert_int_equal(r.status, BOUNDS_OK);
  assert_true(y[0] == 3.0 && y[1] == 3.0);
  down.A[0] = NAN;
  r         = (bounds_result){0};
  y[0]      = 1.0;
  assert_ok(bounds_solve(&p, &o, y, &r));
  assert_int_equal(r.status, BOUNDS_NOT_FINITE);
  assert_no_leak();
}

static void keys_are_sound(void **state)
{
  diagnostics *d = NULL;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&bounds_options_table, d));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  for (int m = 0; m < BOUNDS_N_METHODS; ++m) assert_true(bounds_solvers[m].name && bounds_solvers[m].solve && bounds_solvers[m].help);
  assert_null(bounds_solvers[BOUNDS_N_METHODS].name);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(against_enumeration), cmocka_unit_test(objective_falls_at_every_step),
          cmocka_unit_test(cut_steps_that_go_uphill_are_not_taken), cmocka_unit_test(order_and_units_do_not_matter),
          cmocka_unit_test(semidefinite), cmocka_unit_test(nothing_free_everything_free_and_warm),
          cmocka_unit_test(bits_do_not_depend_on_threads), cmocka_unit_test(more_than_the_grid),
          cmocka_unit_test(nested_start_finds_the_bounds), cmocka_unit_test(bad_input_and_bad_ends), cmocka_unit_test(keys_are_sound))
