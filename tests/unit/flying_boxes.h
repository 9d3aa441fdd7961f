/* Boxes of triangles that fly at each other, a test of intersection that shares nothing with the code under test, and momenta. */
#ifndef SS_TESTS_FLYING_BOXES_H
#define SS_TESTS_FLYING_BOXES_H
#include "contact/impulse/impulses.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "test.h"

/* ---- boxes of triangles that fly about ---------------------------------------------------------------------------------- */

enum { SIDE = 3, BOX_NODES = 6 * SIDE * SIDE + 2, BOX_TRIANGLES = 12 * SIDE * SIDE, BOX_EDGES = 18 * SIDE * SIDE };
enum { MOST = 12, TIMES = 3 };

typedef struct {
  int                  n;
  int32_t              triangle[3 * MOST * BOX_TRIANGLES], edge[2 * MOST * BOX_EDGES], body[MOST * BOX_NODES];
  bool                 can_touch[(MOST + 1) * (MOST + 1)]; /* the last body is that of walls */
  double               x[3 * MOST * BOX_NODES], v[3 * MOST * BOX_NODES], inverse_mass[MOST * BOX_NODES];
  broad_phase_surfaces s;
  int                  n_rigid, n_walls; /* none as thrown */
  int32_t              rigid[MOST * BOX_NODES];
  uint8_t              held[MOST * BOX_NODES];
  impulse_rigid        carrier[MOST];
  impulse_wall         wall[MOST];
  impulse_law          law[(MOST + 1) * (MOST + 1)];
} boxes;

/* The surface of [0, 1]^3, SIDE squares along each edge. */
static inline void box(double *x, int32_t *triangle, int32_t *edge)
{
  int32_t number[SIDE + 1][SIDE + 1][SIDE + 1];
  int     n = 0, t = 0, e = 0;
  for (int i = 0; i <= SIDE; ++i)
    for (int j = 0; j <= SIDE; ++j)
      for (int k = 0; k <= SIDE; ++k) {
        const bool is_inner = i % SIDE && j % SIDE && k % SIDE;
        number[i][j][k]     = is_inner ? -1 : n;
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
static inline void throw(boxes * w, int n, double speed, uint64_t seed)
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
  for (int k = 0; k < (n + 1) * (n + 1); ++k) w->can_touch[k] = true;
  for (int i = 0; i < n * BOX_NODES; ++i) w->rigid[i] = -1;
  w->s = (broad_phase_surfaces){.n_vertices  = n * BOX_NODES,
                                .n_points    = n * BOX_NODES,
                                .n_edges     = n * BOX_EDGES,
                                .n_triangles = n * BOX_TRIANGLES,
                                .edge        = w->edge,
                                .triangle    = w->triangle,
                                .n_bodies    = n + 1,
                                .body        = w->body,
                                .can_touch   = w->can_touch};
}

/* ---- an independent test of intersection: edge against triangle by the signs of volumes, in quadruple precision ---- */

typedef __float128 quad;

static inline quad volume(const double *a, const double *b, const double *c, const double *d)
{
  quad p[3], q[3], r[3];
  for (int k = 0; k < 3; ++k) p[k] = (quad)b[k] - a[k], q[k] = (quad)c[k] - a[k], r[k] = (quad)d[k] - a[k];
  return p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0]) + p[2] * (q[0] * r[1] - q[1] * r[0]);
}

static inline bool cross(const double *p, const double *q, const double *a, const double *b, const double *c)
{
  const quad s = volume(p, a, b, c), t = volume(q, a, b, c), u = volume(p, q, a, b), v = volume(p, q, b, c), w = volume(p, q, c, a);
  return ((s <= 0 && t >= 0) || (s >= 0 && t <= 0)) && ((u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0));
}

static inline int64_t intersections(const boxes *w, const double *x)
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

/* Of unconstrained nodes. */
static inline void momentum(const boxes *w, double P[3], double L[3])
{
  double l[3], inertia[9];
  v3_set(P, 0, 0, 0), v3_set(L, 0, 0, 0);
  for (int i = 0; i < w->n * BOX_NODES; ++i) {
    if (w->inverse_mass[i] == 0.0 || w->rigid[i] >= 0) continue;
    v3_cross(l, w->x + 3 * i, w->v + 3 * i);
    v3_axpy(P, 1.0 / w->inverse_mass[i], w->v + 3 * i);
    v3_axpy(L, 1.0 / w->inverse_mass[i], l);
  }
  for (int r = 0; r < w->n_rigid; ++r) {
    const impulse_rigid *b = &w->carrier[r];
    if (b->inverse_mass == 0.0) continue;
    v3_cross(l, b->center, b->v);
    v3_axpy(P, 1.0 / b->inverse_mass, b->v);
    v3_axpy(L, 1.0 / b->inverse_mass, l);
    m3_inverse(inertia, b->inverse_inertia);
    m3_mulv(l, inertia, b->w);
    v3_axpy(L, 1.0, l);
  }
}

static inline double kinetic(const boxes *w)
{
  double sum = 0.0, l[3], inertia[9];
  for (int i = 0; i < w->n * BOX_NODES; ++i)
    if (w->inverse_mass[i] > 0.0 && w->rigid[i] < 0) sum += 0.5 * v3_dot(w->v + 3 * i, w->v + 3 * i) / w->inverse_mass[i];
  for (int r = 0; r < w->n_rigid; ++r) {
    const impulse_rigid *b = &w->carrier[r];
    if (b->inverse_mass == 0.0) continue;
    m3_inverse(inertia, b->inverse_inertia);
    m3_mulv(l, inertia, b->w);
    sum += 0.5 * v3_dot(b->v, b->v) / b->inverse_mass + 0.5 * v3_dot(l, b->w);
  }
  return sum;
}

static inline impulse_scene scene_of(const boxes *w)
{
  return (impulse_scene){.surfaces     = w->s,
                         .inverse_mass = w->inverse_mass,
                         .held_axes    = w->held,
                         .n_rigid      = w->n_rigid,
                         .n_walls      = w->n_walls,
                         .rigid        = w->n_rigid ? w->rigid : NULL,
                         .law          = w->law};
}

/* Solve over dt = 0.1 and check the result: nothing collides on the trajectories, and nothing intersects at any of a number of
 * times, by the test above. x1: end positions; contacts (if not NULL) are valid as long as *keep. */
static inline impulse_report solve_and_check(boxes *w, const impulse_options *o, double *x1, impulses **keep)
{
  const impulse_scene scene = scene_of(w);
  const impulse_step  step  = {.dt = 0.1, .x0 = w->x, .v = w->v, .rigid = w->carrier, .wall = w->wall};
  static double       x[3 * MOST * BOX_NODES];
  impulses           *a;
  impulse_report      r;
  step_status         status = {STEP_OK, NULL, -1};
  int64_t             n;
  assert_ok(impulses_create(&scene, &a));
  assert_ok(impulses_solve(a, o, &step, &status, &r));
  assert_int_equal(status.code, STEP_OK);
  for (int i = 0; i < 3 * w->n * BOX_NODES; ++i) x1[i] = impulses_ends(a)[i];
  for (int i = 0; i < 3 * w->n * BOX_NODES; ++i)
    if (w->rigid[i / 3] < 0) assert_true(x1[i] == w->x[i] + 0.1 * w->v[i]);
  assert_ok(impulses_count_collisions(a, w->x, x1, &n));
  assert_int_equal(n, 0);
  for (int k = 1; k <= TIMES; ++k) {
    for (int i = 0; i < 3 * w->n * BOX_NODES; ++i) x[i] = k == TIMES ? x1[i] : w->x[i] + (double)k / TIMES * (x1[i] - w->x[i]);
    assert_int_equal(intersections(w, x), 0);
  }
  if (keep) *keep = a;
  else impulses_destroy(&a);
  return r;
}
#endif
