#include "friction_fixture.h"
#include "optim/friction/alart_curnier.h"
#include "optim/friction/newton.h"
#include "optim/friction/newton_prox.h"
#include "optim/friction/newton_matrix.h"
#include <string.h>

typedef struct {
  contact_scene    scene;
  delassus        *w;
  document        *doc;
  friction_options o;
  friction_problem p;
  double           r[900], u[900];
} solve_case;

static void case_create(uint64_t seed, int64_t n_bodies, int64_t size, int64_t n, double mu, solve_case *c)
{
  memset(c, 0, sizeof *c);
  scene_create(seed, n_bodies, size, 3, n, mu, &c->scene);
  assert_ok(delassus_create_system(&c->scene.M, &c->scene.H, &c->w));
  c->p        = (friction_problem){.W = c->w, .n = n, .q = c->scene.q, .mu = c->scene.mu};
  c->o        = scene_options(&c->doc);
  c->o.method = FRICTION_METHOD_NEWTON;
}
static void case_destroy(solve_case *c)
{
  scene_destroy(&c->scene);
  delassus_destroy(&c->w);
  document_destroy(&c->doc);
}

/* d solves J d = -f, J = A (W + alpha I) + B, contacts eliminated or not; 60 contacts on one body of 12 freedoms take the saddle
 * form. */
static void newton_matrix_solves_its_system(void **state)
{
  enum { N = 60, M = 3 * N };
  const struct {
    int64_t n_bodies, size, n;
    double  shift;
  } c_of[] = {{6, 8, 40, 0.3}, {20, 12, 60, 0.0}, {1, 12, N, 0.01}};
  double r[M], f[M], A[3 * M], B[3 * M], d[M], rho[2 * N], Wd[M];
  bool   is_active[N], is_solved;
  (void)state;
  for (int k = 0; k < 3; ++k) {
    const int64_t  n     = c_of[k].n;
    const double   shift = c_of[k].shift;
    solve_case    *c     = malloc(sizeof *c);
    newton_matrix *matrix;
    case_create(3, c_of[k].n_bodies, c_of[k].size, n, 0.4, c);
    for (int64_t a = 0; a < n; ++a) alart_curnier_rho(delassus_diagonal(c->w) + 9 * a, rho + 2 * a);
    assert_ok(newton_matrix_create(&c->p, &matrix));
    for (uint64_t trial = 0; trial < 5; ++trial) {
      for (int64_t i = 0; i < 3 * n; ++i) r[i] = scene_random(trial, 9, (uint64_t)i) + (i % 3 == 0 ? 0.4 : 0.0);
      delassus_apply(c->w, r, c->u);
      for (int64_t i = 0; i < 3 * n; ++i) c->u[i] += c->p.q[i];
      alart_curnier(ALART_CURNIER_AUGMENTED, &c->p, rho, c->u, r, f, A, B, is_active);
      assert_ok(newton_matrix_factor(matrix, shift, A, B, is_active, &is_solved));
      assert_true(is_solved);
      assert_ok(newton_matrix_solve(matrix, f, d, &is_solved));
      assert_true(is_solved);
      delassus_apply(c->w, d, Wd);
      for (int64_t a = 0; a < n; ++a)
        for (int i = 0; i < 3; ++i) {
          double s = f[3 * a + i];
          for (int j = 0; j < 3; ++j)
            s += A[9 * a + 3 * i + j] * (Wd[3 * a + j] + shift * d[3 * a + j]) + B[9 * a + 3 * i + j] * d[3 * a + j];
          assert_close(s, 0.0, 1e-9);
        }
    }
    newton_matrix_destroy(&matrix);
    case_destroy(c);
    free(c);
  }
  assert_no_leak();
}

static void every_line_search_solves(void **state)
{
  (void)state;
  solve_case *c = malloc(sizeof *c);
  for (int search = NEWTON_FULL; search <= NEWTON_GOLDSTEIN_PRICE; ++search) {
    friction_result out;
    case_create(11, 20, 12, 60, 0.4, c); /* 3 n_c / n = 0.75 */
    c->o.line_search = search;
    assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &out));
    if (out.status != FRICTION_OK) fail_msg("search %d: %s, error %g", search, friction_status_text(out.status), out.scaled);
    assert_true(out.iterations < 40);
    assert_true(out.scaled <= c->o.tolerance);
    for (int64_t a = 0; a < c->p.n; ++a) assert_true(hypot(c->r[3 * a + 1], c->r[3 * a + 2]) <= c->p.mu[a] * c->r[3 * a] * (1.0 + 1e-15));
    case_destroy(c);
  }
  free(c);
  assert_no_leak();
}

/* Where whole steps cycle between sets of sliding contacts, the line search converges. */
static void the_line_search_ends_cycles(void **state)
{
  (void)state;
  solve_case *c = malloc(sizeof *c);
  for (int search = NEWTON_FULL; search <= NEWTON_GOLDSTEIN_PRICE; ++search) {
    friction_result out;
    case_create(1, 20, 12, 60, 0.7, c);
    c->o.line_search = search;
    assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &out));
    assert_int_equal(out.status, search == NEWTON_FULL ? FRICTION_STALLED : FRICTION_OK);
    case_destroy(c);
  }
  free(c);
  assert_no_leak();
}

/* Near a root where no contact is on a kink the residual squares: e_{k+1} <= C e_k^2 with one C for all starts. */
static void converges_quadratically(void **state)
{
  (void)state;
  solve_case     *c = malloc(sizeof *c);
  friction_result out;
  case_create(11, 20, 12, 60, 0.4, c);
  c->o.tolerance = 1e-13;
  assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &out));
  assert_int_equal(out.status, FRICTION_OK);
  double root[180], ratio[3], least = INFINITY, most = 0.0;
  memcpy(root, c->r, sizeof root);
  for (int k = 0; k < 3; ++k) { /* perturbations of 1e-3, 1e-4, 1e-5; one step each */
    const double size = pow(10.0, -3 - k);
    for (int i = 0; i < 180; ++i) c->r[i] = root[i] * (1.0 + size * scene_random(5, 12, (uint64_t)i));
    delassus_apply(c->w, c->r, c->u);
    for (int i = 0; i < 180; ++i) c->u[i] += c->p.q[i];
    const double before = friction_error(&c->p, FRICTION_ERROR_SCALED, c->r, c->u);
    c->o.max_iterations = 1;
    c->o.tolerance      = 1e-300;
    assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &out));
    ratio[k] = out.scaled / (before * before);
    least = fmin(least, ratio[k]), most = fmax(most, ratio[k]);
  }
  if (!(most < 10.0) || !(least > 0.0)) fail_msg("e_1/e_0^2 = %g, %g, %g", ratio[0], ratio[1], ratio[2]);
  case_destroy(c);
  free(c);
  assert_no_leak();
}

/* The published criterion stops earlier than the error. */
static void merit_stops(void **state)
{
  (void)state;
  solve_case     *c = malloc(sizeof *c);
  friction_result strict, loose;
  case_create(11, 20, 12, 60, 0.4, c);
  assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &strict));
  memset(c->r, 0, sizeof c->r);
  c->o.merit = 1e-3;
  assert_ok(friction_solve(&c->p, &c->o, c->r, c->u, &loose));
  assert_true(loose.iterations < strict.iterations);
  case_destroy(c);
  free(c);
  assert_no_leak();
}

/* ROWS x COLUMNS bricks of 1 kg, 1 x 0.5 x 0.5 m, each on two below and eight contacts, with gaps of 1e-5 m/s; one column has a
 * sideways impulse. Many sets of contacts could carry the load almost equally well. */
enum { ROWS = 4, COLUMNS = 5, BRICKS = ROWS * COLUMNS, MOST_CONTACTS = 8 * BRICKS };
typedef struct {
  int64_t n, n_entries;
  int32_t row[36 * MOST_CONTACTS], col[36 * MOST_CONTACTS];
  double  value[36 * MOST_CONTACTS], q[3 * MOST_CONTACTS], mu[MOST_CONTACTS], v[6 * BRICKS];
} wall;

static void wall_entry(wall *w, int i, int brick, int j, double value)
{
  w->row[w->n_entries] = (int32_t)(3 * w->n + i), w->col[w->n_entries] = (int32_t)(6 * brick + j);
  w->value[w->n_entries++] = value;
  w->q[3 * w->n + i] += value * w->v[6 * brick + j];
}
/* At `at`, normal upwards, on `brick` from `below` (-1: the ground). */
static void wall_contact(wall *w, int brick, int below, const double at[3], const double centre[][3])
{
  static const double axes[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
  w->q[3 * w->n]                 = 1e-5 * scene_random(77, 5, (uint64_t)w->n);
  for (int side = 0; side < 2; ++side) {
    const int b = side ? below : brick;
    if (b < 0) continue;
    for (int i = 0; i < 3; ++i) {
      const double *x = axes[i], arm[3] = {at[0] - centre[b][0], at[1] - centre[b][1], at[2] - centre[b][2]}, sign = side ? -1.0 : 1.0;
      const double  m[3] = {arm[1] * x[2] - arm[2] * x[1], arm[2] * x[0] - arm[0] * x[2], arm[0] * x[1] - arm[1] * x[0]};
      for (int j = 0; j < 3; ++j) wall_entry(w, i, b, j, sign * x[j]), wall_entry(w, i, b, 3 + j, sign * m[j]);
    }
  }
  w->mu[w->n++] = 0.3;
}
static void wall_build(wall *w)
{
  double centre[BRICKS][3];
  memset(w, 0, sizeof *w);
  for (int b = 0; b < BRICKS; ++b) {
    const int i = b / COLUMNS, j = b % COLUMNS;
    centre[b][0] = j + 0.5 * (i % 2), centre[b][1] = 0.0, centre[b][2] = 0.25 + 0.5 * i;
    w->v[6 * b]     = j == 0 ? 0.4 * (i + 1) / ROWS : 0.0;
    w->v[6 * b + 1] = 0.1 * scene_random(77, 6, (uint64_t)b);
    w->v[6 * b + 2] = -0.098;
  }
  for (int b = 0; b < BRICKS; ++b)
    for (int c = 0; c < 8; ++c) {
      const int    i = b / COLUMNS, j = b % COLUMNS, end = c & 1 ? 1 : -1, under = i % 2 ? j + (end > 0) : j - (end < 0);
      const double at[3] = {centre[b][0] + end * (c & 2 ? 0.45 : 0.05), c & 4 ? 0.25 : -0.25, 0.5 * i};
      if (i == 0 || (under >= 0 && under < COLUMNS))
        wall_contact(w, b, i == 0 ? -1 : (i - 1) * COLUMNS + under, at, (const double(*)[3])centre);
    }
}

static void a_wall_of_bricks_is_solved(void **state)
{
  static const int methods[] = {FRICTION_METHOD_NEWTON_PROX, FRICTION_METHOD_AUTOMATIC};
  static wall      s;
  int32_t          row[6 * BRICKS];
  double           mass[6 * BRICKS], r[3 * MOST_CONTACTS], u[3 * MOST_CONTACTS];
  sparse_rows      M, H;
  delassus        *w;
  document        *doc;
  (void)state;
  wall_build(&s);
  for (int i = 0; i < 6 * BRICKS; ++i) row[i] = i, mass[i] = i % 6 < 3 ? 1.0 : i % 6 == 3 ? 0.5 / 12.0 : 1.25 / 12.0;
  assert_ok(sparse_rows_from_triplets("mass", 6 * BRICKS, 6 * BRICKS, 6 * BRICKS, row, row, mass, &M));
  assert_ok(sparse_rows_from_triplets("Jacobian", 3 * s.n, 6 * BRICKS, s.n_entries, s.row, s.col, s.value, &H));
  assert_ok(delassus_create_system(&M, &H, &w));
  const friction_problem p = {.W = w, .n = s.n, .q = s.q, .mu = s.mu};
  friction_options       o = scene_options(&doc);
  for (int k = 0; k < 2; ++k) {
    friction_result out;
    o.method = methods[k];
    memset(r, 0, sizeof r);
    assert_ok(friction_solve(&p, &o, r, u, &out));
    if (out.status != FRICTION_OK)
      fail_msg("%s: %s after %d Newton steps, error %g", friction_solvers[o.method].name, friction_status_text(out.status),
               (int)out.inner_iterations, out.scaled);
    if (k == 0) assert_string_equal(out.method, "newton_prox"); /* without the sweeps that follow when it fails */
  }
  sparse_rows_destroy(&M), sparse_rows_destroy(&H);
  delassus_destroy(&w);
  document_destroy(&doc);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(newton_matrix_solves_its_system), cmocka_unit_test(every_line_search_solves),
          cmocka_unit_test(the_line_search_ends_cycles), cmocka_unit_test(converges_quadratically), cmocka_unit_test(merit_stops),
          cmocka_unit_test(a_wall_of_bricks_is_solved))
