/* Geometric impulses and rigid impact zones [hybrid, sec. 9, 10]: nothing meets afterwards, and what is conserved is. */
#include "contact/impulse/impact_zones.h"
#include "contact/impulse/impulses.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "test.h"

/* ---- boxes of triangles that fly about ---------------------------------------------------------------------------------- */

enum { SIDE = 3, BOX_NODES = 6 * SIDE * SIDE + 2, BOX_TRIANGLES = 12 * SIDE * SIDE, BOX_EDGES = 18 * SIDE * SIDE, MOST = 12 };

typedef struct {
  int      n;
  int32_t  triangle[3 * MOST * BOX_TRIANGLES], edge[2 * MOST * BOX_EDGES], body[MOST * BOX_NODES];
  bool     meets[MOST * MOST];
  double   x[3 * MOST * BOX_NODES], v[3 * MOST * BOX_NODES], inverse_mass[MOST * BOX_NODES];
  broad_phase_surfaces s;
} boxes;

/* The surface of [0, 1]^3, SIDE squares along each edge. */
static void box(double *x, int32_t *triangle, int32_t *edge)
{
  int32_t number[SIDE + 1][SIDE + 1][SIDE + 1];
  int     n = 0, t = 0, e = 0;
  for (int i = 0; i <= SIDE; ++i)
    for (int j = 0; j <= SIDE; ++j)
      for (int k = 0; k <= SIDE; ++k) {
        const bool is_inner = i % SIDE && j % SIDE && k % SIDE;
        number[i][j][k] = is_inner ? -1 : n;
        if (!is_inner) v3_set(x + 3 * n++, (double)i / SIDE, (double)j / SIDE, (double)k / SIDE);
      }
  assert_int_equal(n, BOX_NODES);
  for (int face = 0; face < 6; ++face)
    for (int a = 0; a < SIDE; ++a)
      for (int b = 0; b < SIDE; ++b) {
        int32_t q[4];
        for (int c = 0; c < 4; ++c) {
          int p[3];
          p[face % 3] = face < 3 ? 0 : SIDE, p[(face + 1) % 3] = a + (c == 1 || c == 2), p[(face + 2) % 3] = b + (c >= 2);
          q[c] = number[p[0]][p[1]][p[2]];
        }
        const int32_t two[6] = {q[0], q[face < 3 ? 2 : 1], q[face < 3 ? 1 : 2], q[0], q[face < 3 ? 3 : 2], q[face < 3 ? 2 : 3]};
        memcpy(triangle + 3 * t, two, sizeof two);
        t += 2;
      }
  for (int k = 0; k < t; ++k)
    for (int i = 0; i < 3; ++i) {
      const int32_t a = triangle[3 * k + i], b = triangle[3 * k + (i + 1) % 3];
      if (a < b) edge[2 * e] = a, edge[2 * e++ + 1] = b; /* each edge is run through once either way */
    }
  assert_int_equal(t, BOX_TRIANGLES);
  assert_int_equal(e, BOX_EDGES);
}

/* n boxes on a lattice 1.2 apart, turned and thrown at each other with these speeds, their nodes with much noise. */
static void throw(boxes *w, int n, double speed, uint64_t seed)
{
  memset(w, 0, sizeof *w);
  w->n = n;
  for (int b = 0; b < n; ++b) {
    double  *x = w->x + 3 * b * BOX_NODES, *v = w->v + 3 * b * BOX_NODES, u[3], turn[3];
    int32_t *t = w->triangle + 3 * b * BOX_TRIANGLES, *e = w->edge + 2 * b * BOX_EDGES;
    box(x, t, e);
    for (int k = 0; k < 3 * BOX_TRIANGLES; ++k) t[k] += b * BOX_NODES;
    for (int k = 0; k < 2 * BOX_EDGES; ++k) e[k] += b * BOX_NODES;
    const double at[3] = {1.2 * (b % 3), 1.2 * (b / 3 % 2), 1.2 * (b / 6)}, middle[3] = {1.2, 0.6, 0.6};
    for (int k = 0; k < 3; ++k) u[k] = speed * (middle[k] - at[k]) + 0.3 * speed * random_normal(seed, (uint64_t)(3 * b + k), 0);
    random_direction(seed, (uint64_t)b, 1, turn);
    for (int i = 0; i < BOX_NODES; ++i) {
      double r[3], spin[3];
      for (int k = 0; k < 3; ++k) r[k] = x[3 * i + k] - 0.5;
      v3_cross(spin, turn, r);
      for (int k = 0; k < 3; ++k) {
        v[3 * i + k] = u[k] + speed * spin[k] + 0.2 * speed * random_normal(seed, (uint64_t)(3 * (b * BOX_NODES + i) + k), 2);
        x[3 * i + k] += at[k] + 0.02 * random_normal(seed, (uint64_t)(3 * (b * BOX_NODES + i) + k), 3);
      }
      w->body[b * BOX_NODES + i]         = b;
      w->inverse_mass[b * BOX_NODES + i] = random_range(seed, (uint64_t)(b * BOX_NODES + i), 4, 0.5, 2.0);
    }
  }
  for (int k = 0; k < n * n; ++k) w->meets[k] = true;
  w->s = (broad_phase_surfaces){.n_vertices = n * BOX_NODES, .n_points = n * BOX_NODES, .n_edges = n * BOX_EDGES,
                                .n_triangles = n * BOX_TRIANGLES, .edge = w->edge, .triangle = w->triangle, .n_bodies = n,
                                .body = w->body, .meets = w->meets};
}

/* ---- an independent test of intersection: edge against triangle by the signs of volumes, in quadruple precision --------------- */

typedef __float128 quad;

static quad volume(const double *a, const double *b, const double *c, const double *d)
{
  quad p[3], q[3], r[3];
  for (int k = 0; k < 3; ++k) p[k] = (quad)b[k] - a[k], q[k] = (quad)c[k] - a[k], r[k] = (quad)d[k] - a[k];
  return p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0]) + p[2] * (q[0] * r[1] - q[1] * r[0]);
}

static bool cross(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const quad s = volume(p, a, b, c), t = volume(q, a, b, c), u = volume(p, q, a, b), v = volume(p, q, b, c), w = volume(p, q, c, a);
  return ((s <= 0 && t >= 0) || (s >= 0 && t <= 0)) && ((u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0));
}

static int64_t intersections(const boxes *w, const double *x)
{
  int64_t n = 0;
  for (int64_t e = 0; e < w->s.n_edges; ++e)
    for (int64_t t = 0; t < w->s.n_triangles; ++t) {
      const int32_t *d = w->edge + 2 * e, *f = w->triangle + 3 * t;
      if (d[0] == f[0] || d[0] == f[1] || d[0] == f[2] || d[1] == f[0] || d[1] == f[1] || d[1] == f[2]) continue;
      bool is_apart = false;
      for (int k = 0; k < 3 && !is_apart; ++k) {
        const double lo = fmin(x[3 * d[0] + k], x[3 * d[1] + k]), hi = fmax(x[3 * d[0] + k], x[3 * d[1] + k]);
        is_apart = fmax(x[3 * f[0] + k], fmax(x[3 * f[1] + k], x[3 * f[2] + k])) < lo ||
                   fmin(x[3 * f[0] + k], fmin(x[3 * f[1] + k], x[3 * f[2] + k])) > hi;
      }
      n += !is_apart && cross(x + 3 * d[0], x + 3 * d[1], x + 3 * f[0], x + 3 * f[1], x + 3 * f[2]);
    }
  return n;
}

static void momentum(const boxes *w, double P[3], double L[3])
{
  v3_set(P, 0, 0, 0), v3_set(L, 0, 0, 0);
  for (int i = 0; i < w->n * BOX_NODES; ++i) {
    double l[3];
    if (w->inverse_mass[i] == 0.0) continue;
    v3_cross(l, w->x + 3 * i, w->v + 3 * i);
    v3_axpy(P, 1.0 / w->inverse_mass[i], w->v + 3 * i);
    v3_axpy(L, 1.0 / w->inverse_mass[i], l);
  }
}

static double kinetic(const boxes *w)
{
  double sum = 0.0;
  for (int i = 0; i < w->n * BOX_NODES; ++i)
    if (w->inverse_mass[i] > 0.0) sum += 0.5 * v3_dot(w->v + 3 * i, w->v + 3 * i) / w->inverse_mass[i];
  return sum;
}

/* Solve over dt = 0.1 and judge; the ends of the ways to x. */
static impulse_report solve_and_judge(boxes *w, const impulse_options *o, double *x1)
{
  impulses      *a;
  impulse_report r;
  step_verdict   verdict = {STEP_OK, NULL, -1};
  int64_t        n;
  assert_ok(impulses_create(&w->s, w->inverse_mass, &a));
  assert_ok(impulses_solve(a, o, w->x, 0.1, w->v, &verdict, &r));
  assert_int_equal(verdict.code, STEP_OK);
  for (int i = 0; i < 3 * w->n * BOX_NODES; ++i) x1[i] = w->x[i] + 0.1 * w->v[i];
  assert_ok(impulses_count_meetings(a, w->x, x1, &n));
  assert_int_equal(n, 0);
  assert_int_equal(intersections(w, x1), 0);
  impulses_destroy(&a);
  return r;
}

static double ends_of[3 * MOST * BOX_NODES];

static void nothing_meets_and_momentum_stays(void **state)
{
  (void)state;
  static boxes w;
  for (uint64_t c = 0; c < 12; ++c) {
    const impulse_options o = {.thickness = c % 3 ? 0.02 : 0.0, .stiffness = 10.0, .friction = c % 2 ? 0.4 : 0.0,
                               .max_iterations = c % 4 == 3 ? 2 : 30};
    double P0[3], L0[3], P1[3], L1[3];
    throw(&w, 2 + (int)(c % 4) * 2, 4.0, c);
    assert_int_equal(intersections(&w, w.x), 0);
    for (int i = 0; i < 3 * w.n * BOX_NODES; ++i) ends_of[i] = w.x[i] + 0.1 * w.v[i];
    assert_true(intersections(&w, ends_of) > 0); /* else it would be no test */
    momentum(&w, P0, L0);
    const double energy = kinetic(&w);
    const impulse_report r = solve_and_judge(&w, &o, ends_of);
    momentum(&w, P1, L1);
    for (int k = 0; k < 3; ++k) assert_close(P1[k], P0[k], 1e-12 * w.n * BOX_NODES);
    if (o.thickness == 0.0) assert_true(kinetic(&w) <= energy * (1 + 1e-12)); /* inelastic, without a spring */
    print_message("%d boxes: %lld rounds, %lld meetings, %lld near, %lld zones of %lld nodes in %lld rounds\n", w.n,
                  (long long)r.n_iterations, (long long)r.n_meetings, (long long)r.n_near, (long long)r.n_zones,
                  (long long)r.n_zone_nodes, (long long)r.n_zone_rounds);
    if (o.max_iterations == 2) assert_true(r.n_zones > 0);
  }
  assert_no_leak();
}

/* Zones alone: momentum and angular momentum about the start to rounding, and nothing meets. */
static void zones_keep_angular_momentum(void **state)
{
  (void)state;
  static boxes w;
  const impulse_options o = {.max_iterations = 0};
  double P0[3], L0[3], P1[3], L1[3];
  throw(&w, 4, 4.0, 77);
  momentum(&w, P0, L0);
  const impulse_report r = solve_and_judge(&w, &o, ends_of);
  momentum(&w, P1, L1);
  assert_true(r.n_zones > 0);
  for (int k = 0; k < 3; ++k) {
    assert_close(P1[k], P0[k], 1e-11);
    assert_close(L1[k], L0[k], 1e-11);
  }
  assert_no_leak();
}

/* What is held keeps every bit; others keep off it. */
static void held_nodes_are_not_moved(void **state)
{
  (void)state;
  static boxes w;
  const impulse_options o = {.thickness = 0.01, .stiffness = 10.0, .max_iterations = 20};
  static double held[3 * BOX_NODES];
  throw(&w, 2, 5.0, 5);
  for (int i = 0; i < BOX_NODES; ++i) w.inverse_mass[i] = 0.0, v3_set(w.v + 3 * i, 1.0, 0.0, 0.0);
  memcpy(held, w.v, sizeof held);
  solve_and_judge(&w, &o, ends_of);
  assert_memory_equal(held, w.v, sizeof held);
  assert_no_leak();
}

/* A box squeezed between two held ones that close the gap: no motion is free of meetings, and it is said. */
static void a_trap_is_named(void **state)
{
  (void)state;
  static boxes w;
  const impulse_options o = {.max_iterations = 5};
  impulses      *a;
  impulse_report r;
  step_verdict   verdict = {STEP_OK, NULL, -1};
  throw(&w, 3, 0.0, 5);
  for (int i = 0; i < 3 * BOX_NODES; ++i)
    if (i / BOX_NODES != 1) w.inverse_mass[i] = 0.0, v3_set(w.v + 3 * i, i / BOX_NODES == 0 ? 9.0 : -9.0, 0.0, 0.0);
  assert_ok(impulses_create(&w.s, w.inverse_mass, &a));
  assert_ok(impulses_solve(a, &o, w.x, 0.1, w.v, &verdict, &r));
  assert_int_equal(verdict.code, STEP_NOT_CONVERGED);
  impulses_destroy(&a);
  assert_no_leak();
}

/* One point on a large held triangle at an angle: friction takes mu times the normal impulse and no more than stops it. */
static void friction_is_coulombs(void **state)
{
  (void)state;
  const double   x[12] = {0.1, 0.2, 0.05, -9, -9, 0, 9, -9, 0, 0, 18, 0}, mu[] = {0.0, 0.3, 2.0};
  const int32_t  triangle[3] = {1, 2, 3}, point[1] = {0}, body[4] = {0, 1, 1, 1};
  const bool     meets[4] = {false, true, true, false};
  const double   inverse_mass[4] = {0.5, 0, 0, 0};
  const broad_phase_surfaces s               = {.n_vertices  = 4,
                                                .n_points    = 1,
                                                .n_triangles = 1,
                                                .point       = point,
                                                .triangle    = triangle,
                                                .n_bodies    = 2,
                                                .body        = body,
                                                .meets       = meets};
  impulses *a;
  assert_ok(impulses_create(&s, inverse_mass, &a));
  for (int c = 0; c < 3; ++c) {
    double         v[12] = {3.0, 0.0, -2.0};
    impulse_report r;
    step_verdict   verdict = {STEP_OK, NULL, -1};
    const impulse_options o = {.friction = mu[c], .max_iterations = 3};
    assert_ok(impulses_solve(a, &o, x, 0.1, v, &verdict, &r));
    assert_close(v[0], fmax(0.0, 3.0 - 2.0 * mu[c]), 1e-13);
    assert_close(v[2], 0.0, 1e-13);
  }
  /* Within the thickness the spring pushes: dt k overlap over the mass, at most a tenth of the overlap in a step. */
  for (int c = 0; c < 2; ++c) {
    double         v[12] = {0.0, 0.0, -2.0};
    impulse_report r;
    step_verdict   verdict = {STEP_OK, NULL, -1};
    const impulse_options o = {.thickness = 0.08, .stiffness = c ? 1e9 : 0.5, .max_iterations = 3};
    assert_ok(impulses_solve(a, &o, x, 0.1, v, &verdict, &r));
    assert_close(v[2], c ? 0.1 * 0.03 / 0.1 : 0.1 * 0.5 * 0.03 * 0.5, 1e-12);
    assert_int_equal(r.n_near, 1);
  }
  impulses_destroy(&a);
  assert_no_leak();
}

static void same_bits_on_any_number_of_threads(void **state)
{
  (void)state;
  static boxes  w;
  static double first[3 * MOST * BOX_NODES];
  const int     threads = team_threads();
  const impulse_options o = {.thickness = 0.02, .stiffness = 10.0, .friction = 0.3, .max_iterations = 3};
  for (int t = 1; t <= 3; ++t) {
    team_set_threads(t);
    throw(&w, 8, 4.0, 11);
    solve_and_judge(&w, &o, ends_of);
    if (t == 1) memcpy(first, w.v, sizeof first);
    assert_memory_equal(first, w.v, sizeof first);
  }
  team_set_threads(threads);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(nothing_meets_and_momentum_stays), cmocka_unit_test(zones_keep_angular_momentum),
          cmocka_unit_test(held_nodes_are_not_moved), cmocka_unit_test(a_trap_is_named), cmocka_unit_test(friction_is_coulombs),
          cmocka_unit_test(same_bits_on_any_number_of_threads))
