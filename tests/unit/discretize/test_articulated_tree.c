/* Trees of joints against definitions: velocities as derivatives of poses, the mass matrix as kinetic energy, inverse
 * dynamics as the rate of momentum, all in poses that no chart of three angles would survive. */
#include "core/quaternion.h"
#include "core/random.h"
#include "discretize/articulated/articulated_tree.h"
#include "test.h"
#include <string.h>

enum { N = 8, RATES = 16 };
static uint64_t drawn;
static double   any(void) { return 2.0 * random_u01(7, drawn++, 0) - 1.0; }

/* One joint of each type, branches, and a mimic joint that depends on the first revolute one. */
static void build(articulated_tree *t)
{
  const int type[N] = {JOINT_FREE, JOINT_REVOLUTE, JOINT_BALL, JOINT_PRISMATIC, JOINT_FIXED, JOINT_PLANAR, JOINT_REVOLUTE, JOINT_REVOLUTE};
  const int parent[N] = {-1, 0, 1, 1, 3, 4, 0, 6};
  assert_ok(articulated_tree_create(N, type, t));
  for (int i = 0; i < N; ++i) {
    double direction[3] = {any(), any(), any()};
    t->parent[i]        = parent[i];
    articulated_axes(direction, t->axes + 9 * i);
    for (int k = 0; k < 3; ++k) t->anchor[3 * i + k] = any(), t->center[3 * i + k] = any();
    t->mass[i] = i == 4 ? 0.0 : 1.0 + 0.5 * any();
    /* that of three pairs of masses: any positive semidefinite second moments will do */
    double X[9];
    for (int k = 0; k < 9; ++k) X[k] = 0.5 * any();
    for (int k = 0; k < 3 && i != 4; ++k) {
      const double *x = X + 3 * k;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) t->inertia[9 * i + 3 * r + c] += t->mass[i] * ((r == c ? v3_dot(x, x) : 0.0) - x[r] * x[c]);
    }
  }
  const int led  = t->rate_start[7];
  t->leader[led] = t->rate_start[1], t->factor[led] = -1.7, t->offset[led] = 0.3;
  articulated_tree_number(t);
  assert_int_equal(t->n_rates, RATES);
  assert_int_equal(t->n_v, RATES - 1);
}

typedef struct {
  double q[32], R[9 * N], p[3 * N], S[6 * 32], v[32], a[32];
} state;

static void place(const articulated_tree *t, const double *q, state *s)
{
  if (q != s->q) memcpy(s->q, q, (size_t)t->n_q * sizeof *q);
  articulated_tree_pose(t, s->q, s->R, s->p);
  articulated_tree_columns(t, s->q, s->R, s->p, s->S);
}

/* Anywhere, quaternions through half turns. */
static void scatter(const articulated_tree *t, state *s)
{
  double q[32], v[32];
  articulated_tree_rest(t, q);
  for (int k = 0; k < t->n_v; ++k) v[k] = 3.0 * any(), s->v[k] = any(), s->a[k] = any();
  articulated_tree_advance(t, q, v, 1.0, s->q);
  place(t, s->q, s);
}

/* Momentum of link i: of its centre, and about the world's origin. */
static void momentum(const articulated_tree *t, const state *s, const double *v, int i, double out[6])
{
  double M[6 * N], c[3], u[3], RI[9], Iw[9], L[3], o[3];
  articulated_tree_velocities(t, s->S, v, M);
  m3_mulv(c, s->R + 9 * i, t->center + 3 * i);
  v3_axpy(c, 1.0, s->p + 3 * i);
  spatial_point_velocity(u, M + 6 * i, c);
  m3_mul(RI, s->R + 9 * i, t->inertia + 9 * i);
  m3_mul_nt(Iw, RI, s->R + 9 * i);
  m3_mulv(L, Iw, M + 6 * i);
  v3_scale(out + 3, t->mass[i], u);
  v3_cross(o, c, out + 3);
  v3_add(out, o, L);
}

static void test_velocities(void **context)
{
  (void)context;
  articulated_tree t;
  const double     h = 1e-5, tolerance = 2e-8; /* h^2 times third derivatives of some 50 */
  build(&t);
  for (int trial = 0; trial < 5; ++trial) {
    state  s, ahead, behind;
    double q[32], M[6 * N], J[3 * 32];
    scatter(&t, &s);
    articulated_tree_advance(&t, s.q, s.v, h, q), place(&t, q, &ahead);
    articulated_tree_advance(&t, s.q, s.v, -h, q), place(&t, q, &behind);
    articulated_tree_velocities(&t, s.S, s.v, M);
    for (int i = 0; i < N; ++i) {
      const double X[3] = {any(), any(), any()};
      double       x[3], x1[3], x0[3], u[3], R[9], p[3];
      m3_mulv(x, s.R + 9 * i, X), v3_axpy(x, 1.0, s.p + 3 * i);
      m3_mulv(x1, ahead.R + 9 * i, X), v3_axpy(x1, 1.0, ahead.p + 3 * i);
      m3_mulv(x0, behind.R + 9 * i, X), v3_axpy(x0, 1.0, behind.p + 3 * i);
      spatial_point_velocity(u, M + 6 * i, x);
      articulated_tree_point_jacobian(&t, s.S, i, x, J);
      for (int k = 0; k < 3; ++k) {
        double sum = 0.0;
        for (int d = 0; d < t.n_v; ++d) sum += J[k * t.n_v + d] * s.v[d];
        assert_close(u[k], (x1[k] - x0[k]) / (2 * h), tolerance);
        assert_close(sum, u[k], 1e-13);
      }
      articulated_tree_link_pose(&t, s.q, i, R, p);
      for (int k = 0; k < 9; ++k) assert_close(R[k], s.R[9 * i + k], 1e-15);
      for (int k = 0; k < 3; ++k) assert_close(p[k], s.p[3 * i + k], 1e-14);
    }
    /* the mimic joint has multiplier -1.7 and offset 0.3 */
    assert_close(s.q[t.q_start[7]], -1.7 * s.q[t.q_start[1]] + 0.3, 1e-15);
  }
  articulated_tree_destroy(&t);
  assert_no_leak();
}

static void test_mass_matrix(void **context)
{
  (void)context;
  articulated_tree t;
  const double     none[3] = {0, 0, 0};
  build(&t);
  for (int trial = 0; trial < 5; ++trial) {
    state  s;
    double M[32 * 32], bias[32], tau[32], twice = 0.0, sum = 0.0, W[6 * N];
    scatter(&t, &s);
    articulated_tree_mass_matrix(&t, s.R, s.p, s.S, M);
    articulated_tree_velocities(&t, s.S, s.v, W);
    for (int i = 0; i < N; ++i) {
      double P[6];
      momentum(&t, &s, s.v, i, P);
      sum += spatial_dot(P, W + 6 * i);
    }
    for (int k = 0; k < t.n_v; ++k)
      for (int l = 0; l < t.n_v; ++l) twice += s.v[k] * M[t.n_v * k + l] * s.v[l];
    assert_close(twice, sum, 1e-12 * sum);
    articulated_tree_inverse_dynamics(&t, s.R, s.p, s.S, s.v, NULL, none, bias);
    for (int l = 0; l < t.n_v; ++l) { /* columns are what unit accelerations take */
      double a[32] = {0.0};
      a[l]         = 1.0;
      articulated_tree_inverse_dynamics(&t, s.R, s.p, s.S, s.v, a, none, tau);
      for (int k = 0; k < t.n_v; ++k) {
        assert_close(tau[k] - bias[k], M[t.n_v * k + l], 1e-11);
        assert_close(M[t.n_v * k + l], M[t.n_v * l + k], 1e-13);
      }
    }
  }
  articulated_tree_destroy(&t);
  assert_no_leak();
}

/* tau = sum over links of J^T (dP/dt - m g at the centre), dP/dt by central differences along a path with these v and a. */
static void test_inverse_dynamics(void **context)
{
  (void)context;
  articulated_tree t;
  const double     g[3] = {1.0, -2.0, -9.81}, h = 1e-4;
  build(&t);
  for (int trial = 0; trial < 5; ++trial) {
    state  s, ahead, behind;
    double q[32], up[32], down[32], tau[32], expected[32] = {0.0}, F[6 * N];
    scatter(&t, &s);
    for (int k = 0; k < t.n_v; ++k) up[k] = s.v[k] + 0.5 * h * s.a[k], down[k] = s.v[k] - 0.5 * h * s.a[k];
    articulated_tree_advance(&t, s.q, up, h, q), place(&t, q, &ahead);
    articulated_tree_advance(&t, s.q, down, -h, q), place(&t, q, &behind);
    for (int k = 0; k < t.n_v; ++k) up[k] = s.v[k] + h * s.a[k], down[k] = s.v[k] - h * s.a[k];
    for (int i = 0; i < N; ++i) {
      double P1[6], P0[6], c[3], w[3], m[3];
      momentum(&t, &ahead, up, i, P1);
      momentum(&t, &behind, down, i, P0);
      m3_mulv(c, s.R + 9 * i, t.center + 3 * i);
      v3_axpy(c, 1.0, s.p + 3 * i);
      v3_scale(w, t.mass[i], g);
      v3_cross(m, c, w);
      for (int k = 0; k < 3; ++k) {
        F[6 * i + k]     = (P1[k] - P0[k]) / (2 * h) - m[k];
        F[6 * i + 3 + k] = (P1[3 + k] - P0[3 + k]) / (2 * h) - w[k];
      }
    }
    articulated_tree_project(&t, s.S, F, expected);
    articulated_tree_inverse_dynamics(&t, s.R, s.p, s.S, s.v, s.a, g, tau);
    for (int k = 0; k < t.n_v; ++k) assert_close(tau[k], expected[k], 1e-5); /* h^2 times some 500 */
  }
  articulated_tree_destroy(&t);
  assert_no_leak();
}

/* Two links in a plane, stretched out: the hand cannot be moved along them, but masses move as ever. Closed form
 * [Featherstone2008]. */
static void test_stretched(void **context)
{
  (void)context;
  articulated_tree t;
  const int        type[2] = {JOINT_REVOLUTE, JOINT_REVOLUTE};
  const double     y[3] = {0, 1, 0}, tip[3] = {2, 0, 0}, g[3] = {0, 0, -9.81};
  double           q[2], R[18], p[6], S[12], M[4], J[6], tau[2], v[2] = {0, 0};
  assert_ok(articulated_tree_create(2, type, &t));
  t.parent[0] = -1, t.parent[1] = 0;
  for (int i = 0; i < 2; ++i) {
    articulated_axes(y, t.axes + 9 * i);
    t.mass[i]       = 1.0;
    t.anchor[3 * i] = i;
    t.center[3 * i] = i + 1.0; /* mass points at the ends */
  }
  articulated_tree_rest(&t, q);
  articulated_tree_pose(&t, q, R, p);
  articulated_tree_columns(&t, q, R, p, S);
  articulated_tree_mass_matrix(&t, R, p, S, M);
  assert_close(M[0], 5.0, 1e-14); /* m l^2 (3 + 2 cos q2) */
  assert_close(M[1], 2.0, 1e-14);
  assert_close(M[3], 1.0, 1e-14);
  articulated_tree_point_jacobian(&t, S, 1, tip, J);
  assert_close(fabs(J[0]) + fabs(J[1]), 0.0, 0.0); /* along the arm */
  assert_close(J[4], -2.0, 1e-15);
  assert_close(J[5], -1.0, 1e-15);
  articulated_tree_inverse_dynamics(&t, R, p, S, v, NULL, g, tau);
  assert_close(tau[0], -9.81 * 3.0, 1e-13); /* about y a weight at x turns by +x m g: held against */
  assert_close(tau[1], -9.81 * 1.0, 1e-13);
  articulated_tree_destroy(&t);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_velocities), cmocka_unit_test(test_mass_matrix), cmocka_unit_test(test_inverse_dynamics),
          cmocka_unit_test(test_stretched))
