#include "friction_fixture.h"
#include "core/math3.h"
#include "core/team.h"
#include "optim/friction/body_sweeps.h"
#include "optim/friction/cone.h"
#include <string.h>

enum { SIZE = 6 };

/* A scene of bodies with 6 unknowns, and what the sweeps require in addition. */
typedef struct {
  contact_scene scene;
  delassus     *w;
  int32_t      *body;
  double       *limit, *r, *u;
} pile;

static void pile_finish(double limit, pile *p)
{
  contact_scene *s = &p->scene;
  assert_ok(delassus_create_system(&s->M, &s->H, &p->w));
  assert_ok(memory_alloc("bodies", s->M.n_rows, sizeof *p->body, &p->body));
  assert_ok(memory_alloc("limits", s->n, sizeof *p->limit, &p->limit));
  assert_ok(memory_alloc("r", 3 * s->n, sizeof *p->r, &p->r));
  assert_ok(memory_alloc("u", 3 * s->n, sizeof *p->u, &p->u));
  for (int64_t i = 0; i < s->M.n_rows; ++i) p->body[i] = (int32_t)(i / SIZE);
  for (int64_t a = 0; a < s->n; ++a) p->limit[a] = limit;
  delassus_set_bodies(p->w, p->body);
}

static void pile_create(uint64_t seed, int64_t n_bodies, int64_t n, double friction, double limit, pile *p)
{
  *p = (pile){0};
  scene_create(seed, n_bodies, SIZE, SIZE - 1, n, friction, &p->scene);
  pile_finish(limit, p);
}

static void pile_destroy(pile *p)
{
  delassus_destroy(&p->w);
  MEMORY_FREE(&p->body, &p->limit, &p->r, &p->u);
  scene_destroy(&p->scene);
}

static friction_problem problem_of(const pile *p)
{
  return (friction_problem){.W = p->w, .n = p->scene.n, .q = p->scene.q, .mu = p->scene.mu, .speed_limit = p->limit, .load_speed = 1.0};
}

static friction_result solve(pile *p, int64_t least_work)
{
  const friction_problem problem = problem_of(p);
  const friction_options o       = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0, .least_work = least_work};
  friction_result        out     = {0};
  assert_true(body_sweeps_apply(p->w));
  assert_ok(body_sweeps_solve(&problem, &o, p->r, p->u, &out));
  return out;
}

/* The remaining speed of every contact, from W r + q, is within the limit, and the impulses are in their cones. */
static void assert_solved(const pile *p)
{
  const friction_problem problem = problem_of(p);
  double                 speed, *u;
  assert_ok(memory_alloc("u", 3 * p->scene.n, sizeof *u, &u));
  friction_velocity(&problem, p->r, u);
  for (int64_t i = 0; i < 3 * p->scene.n; ++i) assert_close(p->u[i], u[i], 1e-12 * (double)p->scene.n);
  assert_true(friction_speed_error(&problem, p->r, u, &speed) <= 1.0);
  assert_true(speed <= p->limit[0]);
  for (int64_t a = 0; a < p->scene.n; ++a) {
    const double *r = p->r + 3 * a;
    assert_true(r[0] >= 0.0);
    assert_true(hypot(r[1], r[2]) <= p->scene.mu[a] * r[0] * (1.0 + 1e-14));
  }
  memory_free(&u);
}

static void solutions_are_within_the_limit(void **state)
{
  const struct {
    int64_t n_bodies, n;
    double  friction;
  } c[] = {{1, 1, 0.5}, {4, 7, 0.3}, {20, 25, 0.0}, {30, 31, 0.8}, {60, 58, 2.0}, {200, 230, 0.5}};
  (void)state;
  for (int k = 0; k < (int)(sizeof c / sizeof *c); ++k) {
    pile p;
    pile_create((uint64_t)k, c[k].n_bodies, c[k].n, c[k].friction, 1e-7, &p);
    const friction_result out = solve(&p, 0);
    assert_int_equal(out.status, FRICTION_OK);
    assert_solved(&p);
    pile_destroy(&p);
  }
  assert_no_leak();
}

/* Three sweeps do not solve the problem: the contacts above the tolerance are counted. */
static void contacts_above_the_limit_are_counted(void **state)
{
  pile p;
  (void)state;
  pile_create(5, 200, 230, 0.5, 1e-7, &p);
  const friction_problem problem = problem_of(&p);
  friction_options       options = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0, .max_iterations = 3};
  friction_result        out     = {0};
  int64_t                n       = 0;
  assert_ok(body_sweeps_solve(&problem, &options, p.r, p.u, &out));
  assert_int_equal(out.status, FRICTION_ITERATIONS);
  for (int64_t a = 0; a < p.scene.n; ++a) {
    const double rho = 3.0 / m3_trace(delassus_diagonal(problem.W) + 9 * a);
    double       F[3];
    cone_natural_map(p.scene.mu[a], rho, p.u + 3 * a, p.r + 3 * a, F);
    n += v3_norm(F) / rho > friction_speed_limit(&problem, a, rho, p.r + 3 * a);
  }
  assert_in_range(n, 2, p.scene.n - 1);
  assert_int_equal(out.n_above, n);
  options.max_iterations = 0;
  assert_ok(body_sweeps_solve(&problem, &options, p.r, p.u, &out));
  assert_int_equal(out.n_above, 0);
  pile_destroy(&p);
  assert_no_leak();
}

/* W_TT with a ratio of eigenvalues of 1e-8 is solved in rotated tangents; the result is in those of the problem. */
static void almost_singular_tangents(void **state)
{
  pile p = {0};
  (void)state;
  scene_create(3, 12, SIZE, SIZE - 1, 12, 0.5, &p.scene);
  sparse_rows *H = &p.scene.H;
  for (int64_t a = 0; a < 12; a += 2)
    for (int64_t k = 0; k < H->start[3 * a + 2] - H->start[3 * a + 1]; ++k)
      H->value[H->start[3 * a + 2] + k] = 0.7 * H->value[H->start[3 * a + 1] + k] + 1e-4 * H->value[H->start[3 * a + 2] + k];
  pile_finish(1e-6, &p);
  assert_int_equal(solve(&p, 0).status, FRICTION_OK);
  assert_solved(&p);
  pile_destroy(&p);
  assert_no_leak();
}

/* A body with more contacts than there are colours. */
static void a_hub_has_more_contacts_than_colours(void **state)
{
  enum { N = 150 };
  pile p = {0};
  (void)state;
  scene_create(8, N + 1, SIZE, 2, N, 0.4, &p.scene);
  sparse_rows  *H  = &p.scene.H;
  const int64_t nz = 3 * N * 2 * SIZE;
  int32_t      *row, *col;
  double       *value;
  assert_ok(memory_alloc("rows", nz, sizeof *row, &row));
  assert_ok(memory_alloc("columns", nz, sizeof *col, &col));
  assert_ok(memory_alloc("values", nz, sizeof *value, &value));
  for (int64_t k = 0; k < nz; ++k) {
    const int64_t i = k / (2 * SIZE), j = k % (2 * SIZE);
    row[k] = (int32_t)i;
    col[k] = (int32_t)(j < SIZE ? j : (i / 3 + 1) * SIZE + j - SIZE); /* the first body and body a + 1 */
    value[k] =
        j < SIZE ? 2.0 * scene_random(8, 7, (uint64_t)(i % 3 * SIZE + j)) : scene_random(8, 7, (uint64_t)k); /* all push the hub alike */
  }
  sparse_rows_destroy(H);
  assert_ok(sparse_rows_from_triplets("Jacobian", 3 * N, (N + 1) * SIZE, nz, row, col, value, H));
  memory_free(&row), memory_free(&col), memory_free(&value);
  for (int64_t a = 0; a < N; ++a) v3_set(p.scene.q + 3 * a, -1.0, 0.0, 0.0);
  pile_finish(1e-5, &p);
  assert_int_equal(solve(&p, 0).status, FRICTION_OK);
  assert_solved(&p);
  pile_destroy(&p);
  assert_no_leak();
}

/* With compliances R and an entry speed e the law holds for u_N + R_N r_N and u_T + (R_T + e/r_N) r_T. */
static void compliance_of_the_contacts(void **state)
{
  enum { N = 60 };
  (void)state;
  for (int kind = 0; kind < 3; ++kind) { /* normals; normals and tangents; also entry */
    pile   p;
    double compliance[2 * N], entry[N], *u, most[3] = {0.0, 0.0, 0.0};
    pile_create(9, 50, N, 0.5, 1e-7, &p);
    for (int a = 0; a < N; ++a) {
      compliance[2 * a]     = 0.1 * (1 + a % 4);
      compliance[2 * a + 1] = kind > 0 ? 0.07 * (1 + a % 5) : 0.0;
      entry[a]              = a % 3 == 0 ? 1.0 + a % 7 : 0.0;
    }
    friction_problem problem = problem_of(&p);
    problem.compliance       = compliance;
    problem.entry            = kind > 1 ? entry : NULL;
    const friction_options o = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0};
    friction_result        out;
    memset(&out, 0, sizeof out);
    assert_ok(body_sweeps_solve(&problem, &o, p.r, p.u, &out));
    assert_int_equal(out.status, FRICTION_OK);
    assert_ok(memory_alloc("u", 3 * N, sizeof *u, &u));
    friction_velocity(&problem, p.r, u);
    for (int a = 0; a < N; ++a) {
      const double *r = p.r + 3 * a, soft = kind > 1 && r[0] > 0.0 ? entry[a] / r[0] : 0.0;
      const double  rho = 3.0 / (m3_trace(delassus_diagonal(p.w) + 9 * a) + compliance[2 * a] + 2.0 * compliance[2 * a + 1]);
      double        F[3];
      assert_close(p.u[3 * a], u[3 * a], 1e-11); /* without the compliance */
      for (int i = 0; i < 3; ++i) u[3 * a + i] += (i == 0 ? compliance[2 * a] : compliance[2 * a + 1] + soft) * r[i];
      cone_natural_map(p.scene.mu[a], rho, u + 3 * a, r, F);
      assert_true(v3_norm(F) / rho <= 1e-7);
      const bool slides = r[0] > 0.0 && hypot(r[1], r[2]) > p.scene.mu[a] * r[0] * (1.0 - 1e-9);
      most[0]           = fmax(most[0], compliance[2 * a] * r[0]);
      most[1]           = fmax(most[1], slides ? 0.0 : compliance[2 * a + 1] * hypot(r[1], r[2]));
      most[2]           = fmax(most[2], slides ? 0.0 : soft * hypot(r[1], r[2]));
    }
    for (int i = 0; i < 3; ++i) assert_true(most[i] > 1e-3 || i > kind); /* it matters */
    memory_free(&u);
    pile_destroy(&p);
  }
  assert_no_leak();
}

/* Diagonal block matrix of a and b. */
static void join(const sparse_rows *a, const sparse_rows *b, sparse_rows *out)
{
  const int64_t na = a->start[a->n_rows], n = na + b->start[b->n_rows];
  int32_t      *row, *col;
  double       *value;
  assert_ok(memory_alloc("rows", n, sizeof *row, &row));
  assert_ok(memory_alloc("columns", n, sizeof *col, &col));
  assert_ok(memory_alloc("values", n, sizeof *value, &value));
  for (int64_t i = 0; i < a->n_rows + b->n_rows; ++i) {
    const sparse_rows *from = i < a->n_rows ? a : b;
    const int64_t      own = i < a->n_rows ? i : i - a->n_rows, offset = i < a->n_rows ? 0 : na;
    for (int64_t k = from->start[own]; k < from->start[own + 1]; ++k) {
      row[offset + k] = (int32_t)i, col[offset + k] = (int32_t)(from->col[k] + (i < a->n_rows ? 0 : a->n_cols));
      value[offset + k] = from->value[k];
    }
  }
  assert_ok(sparse_rows_from_triplets("joined", a->n_rows + b->n_rows, a->n_cols + b->n_cols, n, row, col, value, out));
  memory_free(&row), memory_free(&col), memory_free(&value);
}

/* The impulses of a pile have the same bits with another pile in the scene. */
static void islands_are_independent(void **state)
{
  pile one, two, both = {0};
  (void)state;
  pile_create(11, 40, 44, 0.5, 1e-6, &one);
  pile_create(12, 20, 24, 0.3, 1e-6, &two);
  contact_scene *s = &both.scene;
  *s               = (contact_scene){.n = one.scene.n + two.scene.n};
  join(&one.scene.M, &two.scene.M, &s->M), join(&one.scene.H, &two.scene.H, &s->H);
  assert_ok(memory_alloc("q", 3 * s->n, sizeof *s->q, &s->q));
  assert_ok(memory_alloc("mu", s->n, sizeof *s->mu, &s->mu));
  memcpy(s->q, one.scene.q, (size_t)(3 * one.scene.n) * sizeof *s->q);
  memcpy(s->q + 3 * one.scene.n, two.scene.q, (size_t)(3 * two.scene.n) * sizeof *s->q);
  for (int64_t a = 0; a < s->n; ++a) s->mu[a] = a < one.scene.n ? 0.5 : 0.3;
  pile_finish(1e-6, &both);
  const friction_result first = solve(&one, 0), second = solve(&two, 0), all = solve(&both, 0);
  assert_true(first.iterations != second.iterations); /* each has its own convergence test */
  assert_int_equal(all.iterations, first.iterations > second.iterations ? first.iterations : second.iterations);
  assert_memory_equal(both.r, one.r, (size_t)(3 * one.scene.n) * sizeof *one.r);
  assert_memory_equal(both.r + 3 * one.scene.n, two.r, (size_t)(3 * two.scene.n) * sizeof *two.r);
  pile_destroy(&one), pile_destroy(&two), pile_destroy(&both);
  assert_no_leak();
}

/* A large island and many small ones; the large one in double and in single precision. */
static void bits_do_not_depend_on_threads(void **state)
{
  const int    threads[] = {1, 2, 3, 7};
  const double limit[]   = {1e-6, 1e-3};
  (void)state;
  for (int k = 0; k < 2; ++k) {
    double *r = NULL;
    pile    p;
    pile_create(21, 2200, 2300, 0.5, limit[k], &p);
    for (int t = 0; t < 4; ++t) {
      team_set_threads(threads[t]);
      memset(p.r, 0, (size_t)(3 * p.scene.n) * sizeof *p.r);
      assert_int_equal(solve(&p, 0).status, FRICTION_OK);
      if (t == 0) assert_ok(memory_copy("r", 3 * p.scene.n, sizeof *r, p.r, &r));
      else assert_memory_equal(p.r, r, (size_t)(3 * p.scene.n) * sizeof *r);
    }
    team_set_threads(0);
    assert_solved(&p);
    memory_free(&r);
    pile_destroy(&p);
  }
  assert_no_leak();
}

/* True if all normal impulses have the bits of single precision. */
static bool is_single(const pile *p)
{
  for (int64_t a = 0; a < p->scene.n; ++a)
    if (p->r[3 * a] != (double)(float)p->r[3 * a]) return false;
  return true;
}

/* Largest magnitude of q. */
static double largest_speed(const pile *p)
{
  double most = 0.0;
  for (int64_t a = 0; a < p->scene.n; ++a) most = fmax(most, v3_norm(p->scene.q + 3 * a));
  return most;
}

/* Islands of more than 500 contacts are solved in single precision where the accepted velocities are far above its rounding errors. The result fulfils the
 * limit in double precision, and no impulse leaves its cone. */
static void single_precision_where_it_suffices(void **state)
{
  const struct {
    int64_t n;
    double  share; /* limit over the largest velocity */
    bool    is_single;
  } c[] = {{900, 1e-3, true}, {900, 1e-4, true}, {900, 0.9e-5, false}, {900, 1e-8, false}, {450, 1e-3, false}};
  (void)state;
  for (int k = 0; k < (int)(sizeof c / sizeof *c); ++k) {
    pile p;
    pile_create(31, 700, c[k].n, 0.5, 1.0, &p);
    for (int64_t a = 0; a < p.scene.n; ++a) p.limit[a] = c[k].share * largest_speed(&p);
    assert_int_equal(solve(&p, 0).status, FRICTION_OK);
    assert_solved(&p);
    assert_int_equal(is_single(&p), c[k].is_single);
    assert_int_equal(solve(&p, 0).status, FRICTION_OK); /* the guess is a solution: the island is at rest */
    assert_solved(&p);
    assert_false(is_single(&p));
    pile_destroy(&p);
  }
  assert_no_leak();
}

/* Masses of 4^-60 and 4^60 kg: the impulses of single precision are scaled, exactly. */
static void single_precision_for_all_masses(void **state)
{
  double *r = NULL;
  (void)state;
  for (int k = 0; k < 3; ++k) {
    const double scale = exp2(k == 0 ? 0.0 : k == 1 ? -120.0 : 120.0);
    pile         p     = {0};
    scene_create(31, 700, SIZE, SIZE - 1, 900, 0.5, &p.scene);
    for (int64_t i = 0; i < p.scene.M.start[p.scene.M.n_rows]; ++i) p.scene.M.value[i] *= scale;
    pile_finish(1.0, &p);
    for (int64_t a = 0; a < p.scene.n; ++a) p.limit[a] = 1e-3 * largest_speed(&p);
    assert_int_equal(solve(&p, 0).status, FRICTION_OK);
    if (k == 0) assert_ok(memory_copy("r", 3 * p.scene.n, sizeof *r, p.r, &r));
    for (int64_t i = 0; i < 3 * p.scene.n; ++i) assert_true(p.r[i] == scale * r[i]);
    pile_destroy(&p);
  }
  memory_free(&r);
  assert_no_leak();
}

/* The largest number of sweeps is that of both precisions together, and the contacts above the limit are those of W r + q. */
static void single_precision_respects_the_limit_of_sweeps(void **state)
{
  pile p;
  (void)state;
  pile_create(31, 700, 900, 0.5, 1.0, &p);
  for (int64_t a = 0; a < p.scene.n; ++a) p.limit[a] = 1e-4 * largest_speed(&p);
  const friction_problem problem = problem_of(&p);
  friction_options       o       = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0, .max_iterations = 5};
  friction_result        out     = {0};
  assert_ok(body_sweeps_solve(&problem, &o, p.r, p.u, &out));
  assert_int_equal(out.status, FRICTION_ITERATIONS);
  assert_int_equal(out.iterations, 5);
  assert_true(is_single(&p) && out.n_above > 0);
  assert_close(out.speed, friction_speed_error(&problem, p.r, p.u, NULL), 1e-12 * out.speed);
  pile_destroy(&p);
  assert_no_leak();
}

/* The number of sweeps and the time are limited, and values that are not finite are reported. The impulses stay in their cones. */
static void limits_are_respected(void **state)
{
  pile p;
  (void)state;
  for (int k = 0; k < 3; ++k) {
    static const friction_status expected[] = {FRICTION_ITERATIONS, FRICTION_TIME, FRICTION_NOT_FINITE};
    pile_create(15, 40, 60, 0.4, 1e-30, &p);
    const friction_problem problem = problem_of(&p);
    friction_options       o       = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0};
    friction_result        out     = {0};
    if (k == 0) o.max_iterations = 5;
    if (k == 1) o.time_limit = 1e-9;
    if (k == 2) p.scene.q[3 * 17 + 1] = NAN;
    assert_ok(body_sweeps_solve(&problem, &o, p.r, p.u, &out));
    assert_int_equal(out.status, expected[k]);
    if (k == 0) assert_int_equal(out.iterations, 5);
    if (k == 1) assert_int_equal(out.iterations, 64); /* the first look at the clock */
    for (int64_t a = 0; a < p.scene.n && k < 2; ++a)
      assert_true(p.r[3 * a] >= 0.0 && hypot(p.r[3 * a + 1], p.r[3 * a + 2]) <= 0.4 * p.r[3 * a] * (1.0 + 1e-14));
    pile_destroy(&p);
  }
  assert_no_leak();
}

/* Bodies of 3 unknowns, such as points: the rest of their 6 is unused. */
static void bodies_with_fewer_unknowns(void **state)
{
  enum { FEWER = 3 };
  pile p = {0};
  (void)state;
  scene_create(16, 50, FEWER, FEWER - 1, 45, 0.6, &p.scene);
  pile_finish(1e-7, &p);
  for (int64_t i = 0; i < p.scene.M.n_rows; ++i) p.body[i] = (int32_t)(i / FEWER);
  assert_int_equal(solve(&p, 0).status, FRICTION_OK);
  assert_solved(&p);
  pile_destroy(&p);
  assert_no_leak();
}

/* From a solution, the given number of sweeps is made all the same, and the error falls further. */
static void least_work_improves_a_solution(void **state)
{
  pile   p;
  double before, after;
  (void)state;
  pile_create(5, 30, 33, 0.5, 1e-3, &p);
  const friction_problem problem = problem_of(&p);
  (void)solve(&p, 0);
  (void)friction_speed_error(&problem, p.r, p.u, &before);
  const friction_result out = solve(&p, 20 * 33 * 33);
  (void)friction_speed_error(&problem, p.r, p.u, &after);
  assert_true(out.iterations >= 20);
  assert_true(before > 0.0 && after < 0.1 * before);
  pile_destroy(&p);
  assert_no_leak();
}

static void undefined_where_bodies_are_unknown_or_large(void **state)
{
  contact_scene s;
  delassus     *w;
  int32_t       body[24];
  (void)state;
  scene_create(1, 2, 12, 3, 5, 0.5, &s); /* two bodies with 12 unknowns */
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  assert_false(body_sweeps_apply(w));
  for (int i = 0; i < 24; ++i) body[i] = i / 12;
  delassus_set_bodies(w, body);
  assert_false(body_sweeps_apply(w));
  for (int i = 0; i < 24; ++i) body[i] = i / 6; /* but their mass couples them */
  assert_false(body_sweeps_apply(w));
  delassus_destroy(&w);
  scene_destroy(&s);
  scene_create(1, 4, 1, 0, 1, 0.5, &s); /* a contact of three bodies; and of two, if two of them are one */
  sparse_rows_destroy(&s.H);
  const int32_t row[4] = {0, 0, 1, 2}, col[4] = {0, 1, 2, 0};
  const double  one[4] = {1.0, 1.0, 1.0, 1.0};
  assert_ok(sparse_rows_from_triplets("Jacobian", 3, 4, 4, row, col, one, &s.H));
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  delassus_set_bodies(w, body);
  for (int i = 0; i < 4; ++i) body[i] = i;
  assert_false(body_sweeps_apply(w));
  for (int i = 1; i < 4; ++i) body[i] = i - 1;
  assert_true(body_sweeps_apply(w));
  delassus_destroy(&w);
  scene_destroy(&s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(solutions_are_within_the_limit), cmocka_unit_test(contacts_above_the_limit_are_counted),
          cmocka_unit_test(almost_singular_tangents), cmocka_unit_test(a_hub_has_more_contacts_than_colours),
          cmocka_unit_test(compliance_of_the_contacts), cmocka_unit_test(islands_are_independent),
          cmocka_unit_test(bits_do_not_depend_on_threads), cmocka_unit_test(single_precision_where_it_suffices),
          cmocka_unit_test(single_precision_for_all_masses), cmocka_unit_test(single_precision_respects_the_limit_of_sweeps),
          cmocka_unit_test(limits_are_respected), cmocka_unit_test(bodies_with_fewer_unknowns),
          cmocka_unit_test(least_work_improves_a_solution), cmocka_unit_test(undefined_where_bodies_are_unknown_or_large))
