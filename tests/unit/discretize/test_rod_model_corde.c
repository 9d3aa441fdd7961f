/* The energies of CORDE: derivatives against finite differences, definite tangents, what a rotation of everything leaves alone, and the
 * strain rates as published. */
#include "test.h"
#include "core/math3.h"
#include "discretize/rod/cayley.h"
#include "discretize/rod/corde.h"
#include "rod_fixture.h"

static uint64_t state = 3;
static double   uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static void random_vector(double *x, int n, double size)
{
  for (int i = 0; i < n; ++i) x[i] = size * uniform(-1.0, 1.0);
}
static void random_frame(double q[4])
{
  random_vector(q, 4, 1.0);
  quaternion_normalise(q);
}

/* What the energies depend on besides their unknowns. */
typedef struct {
  double q0[4], q1[4], d0[3], target[3], rest[3], stiffness[3];
} setting;

typedef double energy_function(const setting *s, const double *x, bool is_definite, double *gradient, double *hessian);
static double  stretch(const setting *s, const double *x, bool is_definite, double *g, double *H)
{
  return corde_stretch(x, s->stiffness[1], s->stiffness[0], is_definite, g, H);
}
static double bend(const setting *s, const double *x, bool is_definite, double *g, double *H)
{
  return corde_bend(s->q0, x, s->q1, x + 3, 0.3, s->stiffness, s->rest, is_definite, g, H);
}
static double parallel(const setting *s, const double *x, bool is_definite, double *g, double *H)
{
  return corde_parallel(x, s->d0, x + 3, 1.7, is_definite, g, H);
}
static double director(const setting *s, const double *x, bool is_definite, double *g, double *H)
{
  return corde_director(s->d0, s->target, x, 1.7, is_definite, g, H);
}
static const struct {
  energy_function *energy;
  int              n;
} kinds[] = {{stretch, 3}, {bend, 6}, {parallel, 6}, {director, 3}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void make(setting *s)
{
  double turn[3], q[4];
  random_frame(s->q0);
  random_vector(turn, 3, 1.0);
  quaternion_exp(q, turn);
  quaternion_multiply(s->q1, q, s->q0);
  random_vector(s->target, 3, 1.0), random_vector(s->rest, 3, 1.0);
  random_vector(s->d0, 3, 1.0);
  v3_scale(s->d0, 1.0 / v3_norm(s->d0), s->d0);
  for (int k = 0; k < 3; ++k) s->stiffness[k] = uniform(0.5, 2.0);
}

static void test_derivatives(void **unused)
{
  (void)unused;
  const double h = 1e-5;
  for (int kind = 0; kind < N_KINDS; ++kind)
    for (int trial = 0; trial < 20; ++trial) {
      const int n = kinds[kind].n;
      setting   s;
      double    x[6], g[6], H[36], side[2][6], energy[2];
      make(&s);
      random_vector(x, n, 1.0);
      kinds[kind].energy(&s, x, false, g, H);
      for (int j = 0; j < n; ++j) {
        for (int p = 0; p < 2; ++p) {
          x[j] += p ? 2.0 * h : -h;
          energy[p] = kinds[kind].energy(&s, x, false, side[p], NULL);
        }
        x[j] -= h;
        double scale = 1.0;
        for (int i = 0; i < n * n; ++i) scale = fmax(scale, fabs(H[i]));
        assert_close((energy[1] - energy[0]) / (2.0 * h), g[j], 2e-8 * scale);
        for (int i = 0; i < n; ++i) assert_close((side[1][i] - side[0][i]) / (2.0 * h), H[n * i + j], 2e-8 * scale);
      }
    }
}

/* x^T H x >= 0 always, and equal to the exact one where nothing pulls. */
static void test_definite(void **unused)
{
  (void)unused;
  for (int kind = 0; kind < N_KINDS; ++kind)
    for (int trial = 0; trial < 200; ++trial) {
      const int n = kinds[kind].n;
      setting   s;
      double    x[6], g[6], H[36], d[6], form = 0.0, scale = 0.0;
      make(&s);
      random_vector(x, n, 1.0), random_vector(d, n, 1.0);
      kinds[kind].energy(&s, x, true, g, H);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) form += d[i] * H[n * i + j] * d[j], scale = fmax(scale, fabs(H[n * i + j]));
      assert_true(form >= -1e-14 * scale);
    }
  for (int kind = 0; kind < N_KINDS; ++kind) {
    const int n = kinds[kind].n;
    setting   s;
    double    x[6] = {0.0}, g[6], H[36], exact[36], q[4];
    make(&s);
    random_vector(x, n, 0.7);
    if (kind == 0) v3_scale(x, s.stiffness[1] / v3_norm(x), x);
    if (kind == 1) corde_curvature(s.q0, x, s.q1, x + 3, 0.3, s.rest);
    cayley_quaternion(q, kind == 2 ? x + 3 : x);
    if (kind == 2) quaternion_rotate(x, q, s.d0);
    if (kind == 3) quaternion_rotate(s.target, q, s.d0);
    kinds[kind].energy(&s, x, true, g, H);
    kinds[kind].energy(&s, x, false, g, exact);
    for (int i = 0; i < n; ++i) assert_close(g[i], 0.0, 1e-14);
    for (int i = 0; i < n * n; ++i) assert_close(H[i], exact[i], 1e-13);
  }
}

/* 2 (B_k q) . q' / |q|^2 with quaternions (vector, scalar) and the tangent third, in the paper's order. */
static void test_published_strain(void **unused)
{
  (void)unused;
  const double none[3] = {0.0}, l = 0.3;
  for (int trial = 0; trial < 20; ++trial) {
    setting s;
    double  u[3], q[4], slope[4];
    make(&s);
    corde_curvature(s.q0, none, s.q1, none, l, u);
    /* Ours has the tangent first: permute the axes (0, 1, 2) -> (3, 1, 2) of the paper; the scalar last. */
    for (int k = 0; k < 4; ++k) {
      const double a[4] = {s.q0[2], s.q0[3], s.q0[1], s.q0[0]}, b[4] = {s.q1[2], s.q1[3], s.q1[1], s.q1[0]};
      q[k]     = 0.5 * (a[k] + b[k]);
      slope[k] = (b[k] - a[k]) / l;
    }
    /* World axes are permuted as well then, a rotation of everything. */
    const double B[3][4] = {{q[3], q[2], -q[1], -q[0]}, {-q[2], q[3], q[0], -q[1]}, {q[1], -q[0], q[3], -q[2]}};
    for (int k = 0; k < 3; ++k) assert_close(u[(k + 1) % 3], 2.0 * quaternion_dot(B[k], slope) / quaternion_dot(q, q), 1e-13);
    /* (4 / l) tan(phi / 4) */
    double relative[4], inverse[4], axis[3];
    quaternion_conjugate(inverse, s.q0);
    quaternion_multiply(relative, inverse, s.q1);
    quaternion_log(axis, relative);
    const double phi = v3_norm(axis);
    for (int k = 0; k < 3; ++k) assert_close(u[k], 4.0 / l * tan(0.25 * phi) * axis[k] / phi, 1e-13);
  }
}

/* Rotating both frames, or the edge and the frame, changes nothing; the unknowns are world rotations. */
static void test_frame_indifference(void **unused)
{
  (void)unused;
  const double none[3] = {0.0};
  setting      s;
  double       u[3], v[3], turn[4], q0[4], q1[4], e[3], d[3], ed[3], dd[3], theta[3];
  make(&s);
  random_frame(turn);
  corde_curvature(s.q0, none, s.q1, none, 0.3, u);
  quaternion_multiply(q0, turn, s.q0);
  quaternion_multiply(q1, turn, s.q1);
  corde_curvature(q0, none, q1, none, 0.3, v);
  for (int k = 0; k < 3; ++k) assert_close(u[k], v[k], 1e-13);
  random_vector(theta, 3, 1.0);
  corde_curvature(s.q0, theta, s.q1, theta, 0.3, v);
  for (int k = 0; k < 3; ++k) assert_close(u[k], v[k], 1e-13);
  random_vector(e, 3, 1.0), random_vector(d, 3, 1.0);
  v3_scale(d, 1.0 / v3_norm(d), d);
  quaternion_rotate(ed, turn, e), quaternion_rotate(dd, turn, d);
  assert_close(corde_parallel(e, d, none, 1.0, false, NULL, NULL), corde_parallel(ed, dd, none, 1.0, false, NULL, NULL), 1e-14);
  /* A whole turn between two frames has no strain. */
  const double back[4] = {-s.q0[0], -s.q0[1], -s.q0[2], -s.q0[3]};
  corde_curvature(s.q0, none, back, none, 0.3, v);
  assert_true(isnan(v[0]));
}

/* Diagonal entries of the inertia matrix, in world axes, of an oblique rod: masses of nodes, moments of inertia of segments with elliptic section. */
static void test_inertia(void **unused)
{
  (void)unused;
  const double tangent[3] = {1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0}, director[3] = {2.0 / 3.0, 1.0 / 3.0, -2.0 / 3.0},
               across[3] = {-2.0 / 3.0, 2.0 / 3.0, -1.0 / 3.0}, length = 0.1;
  const double radii[2] = {0.02, 0.01}, mass = 1000.0 * M_PI * radii[0] * radii[1] * length;
  rod_case     c;
  double       scale[3 * 7];
  rod_case_open("model: corde, section: {ellipse: {radii: [0.02, 0.01]}}, director: [2, 1, -2], segments: 3, "
                "curve: {line: {from: [0, 0, 0], to: [0.1, 0.2, 0.2]}}",
                NULL, &c);
  assert_int_equal(c.b->n_blocks, 7);
  assert_ok(c.base->ops->mass(c.base, scale));
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 3; ++k) {
      const double along = 0.25 * mass * radii[0] * radii[0], side = 0.25 * mass * radii[1] * radii[1];
      const double moment = (along + side) * tangent[k] * tangent[k] + side * director[k] * director[k] + along * across[k] * across[k];
      assert_close(scale[3 * i + k], i % 2 ? moment : i == 0 || i == 6 ? 0.5 * mass : mass, 1e-13 * mass);
    }
  rod_case_close(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_inertia), cmocka_unit_test(test_derivatives), cmocka_unit_test(test_definite),
          cmocka_unit_test(test_published_strain), cmocka_unit_test(test_frame_indifference))
