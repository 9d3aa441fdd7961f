/* What the tests of contact through a grid share: two spheres of triangles with random masses and motions. */
#ifndef SS_TESTS_AUGURY_FIXTURE_H
#define SS_TESTS_AUGURY_FIXTURE_H
#include "contact/augury/augury.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "test.h"

/* ---- spheres of triangles: an icosahedron divided ---------------------------------------------------------------------- */

enum { NODES = 162, TRIANGLES = 320 };

typedef struct {
  augury_boundary b;
  int32_t         element[2 * 3 * TRIANGLES];
  double          mass[2 * NODES], x[3 * 2 * NODES], normal[3 * 2 * NODES], v[3 * 2 * NODES], A[9 * 2 * NODES];
} scene;

static inline int32_t middle_of(double *x, int32_t *n, int32_t a, int32_t b)
{
  double m[3];
  v3_add(m, x + 3 * a, x + 3 * b);
  v3_scale(m, 1.0 / v3_norm(m), m);
  for (int32_t i = 0; i < *n; ++i)
    if (fabs(x[3 * i] - m[0]) + fabs(x[3 * i + 1] - m[1]) + fabs(x[3 * i + 2] - m[2]) < 1e-9) return i;
  v3_copy(x + 3 * *n, m);
  return (*n)++;
}

/* Of radius 1 at the origin. */
static inline void sphere(double *x, int32_t *element)
{
  const double     g             = 0.5 * (1.0 + sqrt(5.0));
  static const int face[20][3]   = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                                    {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                                    {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  const double     corner[12][3] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                                    {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  int32_t          now[TRIANGLES][3], next[TRIANGLES][3];
  int32_t          n = 12;
  int              m = 20;
  for (int i = 0; i < 12; ++i) v3_scale(x + 3 * i, 1.0 / v3_norm(corner[i]), corner[i]);
  for (int i = 0; i < 20; ++i)
    for (int k = 0; k < 3; ++k) now[i][k] = face[i][k];
  for (int level = 0; level < 2; ++level) {
    for (int i = 0; i < m; ++i) {
      const int32_t *t = now[i], p = middle_of(x, &n, t[0], t[1]), q = middle_of(x, &n, t[1], t[2]), r = middle_of(x, &n, t[2], t[0]);
      const int32_t  four[4][3] = {{t[0], p, r}, {p, t[1], q}, {r, q, t[2]}, {p, q, r}};
      memcpy(next[4 * i], four, sizeof four);
    }
    m *= 4;
    memcpy(now, next, sizeof now);
  }
  assert_int_equal(n, NODES);
  memcpy(element, now, sizeof now);
}

/* ---- momenta ------------------------------------------------------------------------------------------------------------ */

static inline void add_node_momentum(const augury_boundary *b, double dx, const double *x, int64_t i, const double origin[3],
                                     const double *v, const double *A, double P[3], double L[3])
{
  const double *B = A + 9 * i, spin[3] = {B[7] - B[5], B[2] - B[6], B[3] - B[1]};
  double        l[3], r[3];
  v3_sub(r, x + 3 * i, origin);
  v3_cross(l, r, v + 3 * i);
  v3_axpy(l, 0.25 * dx * dx, spin);
  v3_axpy(P, b->mass[i], v + 3 * i);
  v3_axpy(L, b->mass[i], l);
}

/* Momentum P and angular momentum L about the origin of the nodes, affine matrices included. */
static inline void boundary_momentum(const augury_boundary *b, double dx, const double *x, const double *v, const double *A, double P[3],
                                     double L[3])
{
  const double origin[3] = {0.0, 0.0, 0.0};
  v3_set(P, 0.0, 0.0, 0.0), v3_set(L, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < b->n_nodes; ++i) add_node_momentum(b, dx, x, i, origin, v, A, P, L);
}

/* The same of each body, about origin [n_bodies][3]. */
static inline void body_momenta(const augury_boundary *b, double dx, const double *x, const int32_t *body, int64_t n_bodies,
                                const double *origin, const double *v, const double *A, double (*P)[3], double (*L)[3])
{
  for (int64_t k = 0; k < n_bodies; ++k) v3_set(P[k], 0.0, 0.0, 0.0), v3_set(L[k], 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < b->n_nodes; ++i) add_node_momentum(b, dx, x, i, origin + 3 * (int64_t)body[i], v, A, P[body[i]], L[body[i]]);
}

/* Two spheres of radius 1, `gap` apart along x, with uneven masses; at rest. */
static inline void two_spheres(scene *s, double gap)
{
  memset(s, 0, sizeof *s);
  sphere(s->x, s->element);
  memcpy(s->normal, s->x, 3 * NODES * sizeof *s->x);
  memcpy(s->normal + 3 * NODES, s->x, 3 * NODES * sizeof *s->x);
  for (int k = 0; k < 3 * TRIANGLES; ++k) s->element[3 * TRIANGLES + k] = s->element[k] + NODES;
  for (int i = 0; i < NODES; ++i) {
    v3_copy(s->x + 3 * (NODES + i), s->x + 3 * i);
    s->x[3 * i] -= 1.0 + 0.5 * gap, s->x[3 * (NODES + i)] += 1.0 + 0.5 * gap;
  }
  for (int i = 0; i < 2 * NODES; ++i) s->mass[i] = random_range(5, (uint64_t)i, 0, 0.5, 1.5);
  s->b = (augury_boundary){2 * NODES, 2 * TRIANGLES, s->element, s->mass, false};
}

static inline double edge(void) { return 0.2951; /* mean edge of a sphere */ }

static inline void random_state(scene *s, uint64_t seed)
{
  for (int i = 0; i < 3 * 2 * NODES; ++i) s->v[i] = random_normal(seed, (uint64_t)i, 1);
  for (int i = 0; i < 9 * 2 * NODES; ++i) s->A[i] = random_normal(seed, (uint64_t)i, 2);
}

static inline augury *begin(scene *s, double dx, const bool *is_active)
{
  augury     *a;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(augury_create(&s->b, s->x, dx, &a));
  assert_ok(augury_begin(a, s->x, is_active, &status));
  assert_int_equal(status.code, STEP_OK);
  return a;
}

static inline double size_of_angular(const scene *s, double dx)
{
  double sum = 0.0;
  for (int i = 0; i < 2 * NODES; ++i)
    sum += s->mass[i] * (v3_norm(s->x + 3 * i) * v3_norm(s->v + 3 * i) + 0.25 * dx * dx * sqrt(team_dot(9, s->A + 9 * i, s->A + 9 * i)));
  return sum;
}
#endif
