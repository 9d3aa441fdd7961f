/* Bodies that consist of contact points only, for tests of contact: a cloud (POINT_WEIGHTED) and a set of rigid vertices
 * (POINT_RIGID). Points are stored in clusters of 16. Also: random numbers and the pose after moving with a velocity. */
#ifndef SS_TESTS_CONTACT_BODIES_H
#define SS_TESTS_CONTACT_BODIES_H
#include "contact/penalty/penalty.h"
#include "core/math3.h"
#include "core/memory.h"

typedef struct {
  body     base;
  int64_t  n;
  int      n_weights;
  double  *x;      /* [n][3] */
  int64_t *id;     /* [n] */
  int32_t *block;  /* [n][n_weights] */
  double  *weight; /* [n][n_weights] */
} mock_body;

enum { MOCK_CLUSTER = 16 };

/* Sum of the contact forces of the last accepted step on body `on` from body `from` (-1: all), and their moment about the origin. */
static inline void contact_force(const penalty_contact *c, int on, int from, double force[3], double moment[3])
{
  const contact_points *points;
  const contact_forces *forces;
  penalty_contact_record(c, &points, &forces);
  contact_forces_between(forces, on, from, force, moment);
}

static inline double mock_random(uint64_t *state, double lo, double hi) /* splitmix64 */
{
  uint64_t x = (*state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static inline void mock_random_vector(uint64_t *state, double *x, double size)
{
  for (int i = 0; i < 3; ++i) x[i] = mock_random(state, -size, size);
}

static inline int64_t mock_n_clusters(const body *b) { return (((const mock_body *)b)->n + MOCK_CLUSTER - 1) / MOCK_CLUSTER; }
static inline void    mock_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first, int64_t *end)
{
  const mock_body *m = (const mock_body *)b;
  *first             = i * MOCK_CLUSTER;
  *end               = *first + MOCK_CLUSTER < m->n ? *first + MOCK_CLUSTER : m->n;
  v3_set(center, 0.0, 0.0, 0.0);
  for (int64_t p = *first; p < *end; ++p) v3_axpy(center, 1.0 / (double)(*end - *first), m->x + 3 * p);
  *radius = 0.0;
  for (int64_t p = *first; p < *end; ++p) {
    double d[3];
    v3_sub(d, m->x + 3 * p, center);
    *radius = fmax(*radius, v3_norm(d));
  }
}
static inline int64_t mock_point(const body *b, int64_t i, double x[3])
{
  const mock_body *m = (const mock_body *)b;
  v3_copy(x, m->x + 3 * i);
  return m->id[i];
}
static inline int mock_point_row(const body *b, int64_t i, int32_t *block, double *weight)
{
  const mock_body *m = (const mock_body *)b;
  for (int k = 0; k < m->n_weights; ++k) {
    block[k]  = m->block[i * m->n_weights + k];
    weight[k] = m->weight[i * m->n_weights + k];
  }
  return m->n_weights;
}
static const body_ops mock_weighted_ops = {.kind       = "mock cloud",
                                           .points     = POINT_WEIGHTED,
                                           .n_clusters = mock_n_clusters,
                                           .cluster    = mock_cluster,
                                           .point      = mock_point,
                                           .point_row  = mock_point_row};
static const body_ops mock_rigid_ops    = {
       .kind = "mock rigid", .points = POINT_RIGID, .n_clusters = mock_n_clusters, .cluster = mock_cluster, .point = mock_point};

/* n points at the origin with identities 1000 - i (so that identity and index disagree); rows all zero. */
static inline void mock_create(mock_body *m, const char *name, bool is_rigid, int64_t n, int n_weights, int64_t n_blocks)
{
  memset(m, 0, sizeof *m);
  m->base.ops      = is_rigid ? &mock_rigid_ops : &mock_weighted_ops;
  m->base.name     = name;
  m->base.n_blocks = n_blocks;
  m->n             = n;
  m->n_weights     = is_rigid ? 0 : n_weights;
  assert_ok(memory_alloc("mock", 3 * n, sizeof(double), &m->x));
  assert_ok(memory_alloc("mock", n, sizeof(int64_t), &m->id));
  assert_ok(memory_alloc("mock", n * m->n_weights, sizeof(int32_t), &m->block));
  assert_ok(memory_alloc("mock", n * m->n_weights, sizeof(double), &m->weight));
  for (int64_t i = 0; i < n; ++i) m->id[i] = 1000 - i;
}
/* Positive weights that sum to one, on distinct blocks. */
static inline void mock_random_rows(mock_body *m, uint64_t *state)
{
  for (int64_t i = 0; i < m->n; ++i) {
    const int32_t first = (int32_t)mock_random(state, 0.0, (double)m->base.n_blocks);
    double        sum   = 0.0;
    for (int k = 0; k < m->n_weights; ++k) {
      m->block[i * m->n_weights + k]         = (int32_t)((first + k) % m->base.n_blocks);
      sum += m->weight[i * m->n_weights + k] = mock_random(state, 0.1, 1.0);
    }
    for (int k = 0; k < m->n_weights; ++k) m->weight[i * m->n_weights + k] /= sum;
  }
}
static inline void mock_destroy(mock_body *m)
{
  memory_free(&m->x);
  memory_free(&m->id);
  memory_free(&m->block);
  memory_free(&m->weight);
}

/* R = exp([t]x) and its left Jacobian. */
static inline void mock_exponential(const double t[3], double R[9], double Jl[9])
{
  const double q = v3_dot(t, t), a = sqrt(q);
  const double s = a < 1e-4 ? 1.0 - q / 6.0 : sin(a) / a;
  const double c = a < 1e-4 ? 0.5 - q / 24.0 : (1.0 - cos(a)) / q;
  const double d = a < 1e-4 ? 1.0 / 6.0 - q / 120.0 : (a - sin(a)) / (q * a);
  double       S[9], SS[9];
  m3_skew(S, t);
  m3_mul(SS, S, S);
  m3_identity(R);
  m3_axpy(R, s, S);
  m3_axpy(R, c, SS);
  m3_identity(Jl);
  m3_axpy(Jl, c, S);
  m3_axpy(Jl, d, SS);
}
/* The pose after dt at the velocities in v (global vector); frames without unknowns stay. */
static inline void mock_move_frame(const rigid_frame *f0, double dt, const double *v, rigid_frame *out)
{
  *out = *f0;
  if (f0->block < 0) return;
  double E[9], turn[3];
  v3_copy(out->v, v + 3 * f0->block);
  v3_copy(out->w, v + 3 * f0->block + 3);
  v3_scale(turn, dt, out->w);
  mock_exponential(turn, E, out->Jl);
  m3_mul(out->R, E, f0->R);
  v3_axpy(out->c, dt, out->v);
}
static inline rigid_frame mock_frame(const double c[3], int64_t block)
{
  rigid_frame f = {{c[0], c[1], c[2]}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}, {0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, block};
  return f;
}
#endif
