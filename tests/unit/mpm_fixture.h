/* What the MPM tests share: two small laws written out by hand, a rough cloud of particles, a dense scalar reference of the
 * grid, and a plain Newton-CG step.                                                                                     */
#ifndef SS_TESTS_MPM_FIXTURE_H
#define SS_TESTS_MPM_FIXTURE_H
#include <string.h>
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include "discretize/mpm/mpm_domain.h"
#include "test.h"

/* Neo-Hookean: p = mu (s - 1/s) + lambda log J / s. With `twist` p_i += twist tr(s - 1) s_i: no potential, so p' is not symmetric. */
typedef struct {
  double mu, lambda, twist;
} toy_constants;

static void toy_stress(const void *constants, int64_t n, const material_row *s, const material_row *state, material_row *p,
                       material_row *dp, material_row *pair_a, material_row *pair_b)
{
  const toy_constants *c = constants;
  (void)state;
  for (int64_t i = 0; i < n; ++i) {
    const double x[3] = {s[0][i], s[1][i], s[2][i]}, l = c->lambda * log(x[0] * x[1] * x[2]), tr = x[0] + x[1] + x[2] - 3.0;
    for (int a = 0; a < 3; ++a) p[a][i] = c->mu * (x[a] - 1.0 / x[a]) + l / x[a] + c->twist * tr * x[a];
    if (!dp) continue;
    for (int a = 0; a < 3; ++a) {
      const int e = (a + 1) % 3, f = (a + 2) % 3;
      for (int b = 0; b < 3; ++b)
        dp[3 * a + b][i] = c->lambda / (x[a] * x[b]) + c->twist * x[a] +
                           (a == b ? c->mu * (1.0 + 1.0 / (x[a] * x[a])) - l / (x[a] * x[a]) + c->twist * tr : 0.0);
      pair_a[a][i] = c->mu * (1.0 + 1.0 / (x[e] * x[f])) - l / (x[e] * x[f]) + c->twist * tr;
      pair_b[a][i] = (p[e][i] + p[f][i]) / (x[e] + x[f]);
    }
  }
}
static void toy_energy(const void *constants, int64_t n, const material_row *s, const material_row *state, double *psi)
{
  const toy_constants *c = constants;
  (void)state;
  for (int64_t i = 0; i < n; ++i) {
    const double x[3] = {s[0][i], s[1][i], s[2][i]}, l = log(x[0] * x[1] * x[2]);
    psi[i] = 0.5 * c->mu * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 3.0) - c->mu * l + 0.5 * c->lambda * l * l;
  }
}
static const material_law toy_law = {.name = "toy", .stress = toy_stress, .energy = toy_energy};

static inline material toy_material(double density, double mu, double lambda, double twist, toy_constants *c)
{
  *c = (toy_constants){mu, lambda, twist};
  return (material){.name = "toy", .law = &toy_law, .density = density, .constants = c};
}

/* A cloud that crosses the origin and block borders, with crowded and lonely cells, spinning and strained. */
static inline mpm_domain *fixture_cloud(const material *m, int n_bodies, int64_t n, double h, mpm_kernel kernel, mpm_transfer transfer,
                                        const double gravity[3])
{
  static const char *const names[] = {"bed", "block", "third"};
  mpm_domain              *d;
  assert_ok(mpm_domain_create(h, kernel, transfer, gravity, &d));
  for (int b = 0; b < n_bodies; ++b) {
    double *x, *v;
    int     index;
    assert_ok(memory_alloc("x", 3 * n, sizeof *x, &x));
    assert_ok(memory_alloc("v", 3 * n, sizeof *v, &v));
    for (int64_t i = 0; i < 3 * n; ++i) {
      const double u = random_u01(11 + (uint64_t)b, (uint64_t)i, 0);
      x[i]           = h * (-3.3 + 7.1 * (i % 3 == 0 ? u * u : u) + 0.8 * b);
      v[i]           = random_range(12, (uint64_t)i, (uint64_t)b, -1.0, 1.0);
    }
    const particle_seed seed = {.n = n, .x = x, .v = v, .volume_each = 0.11 * h * h * h};
    assert_ok(mpm_domain_add_body(d, names[b], m, &seed, &index));
    particles *p = d->bodies.particles[index];
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < 9; ++k) {
        p->F[k][i] = (k % 4 == 0) + random_range(13, (uint64_t)(9 * i + k), (uint64_t)b, -0.12, 0.12);
        if (transfer.is_apic) p->C[k][i] = random_range(14, (uint64_t)(9 * i + k), (uint64_t)b, -3.0, 3.0);
        p->volume[i] *= k == 0 ? 1.0 + 0.3 * random_u01(15, (uint64_t)i, (uint64_t)b) : 1.0;
        p->mass[i] = m->density * p->volume[i];
      }
    memory_free(&x);
    memory_free(&v);
  }
  return d;
}

/* B-splines from their textbook piecewise form, at signed distance r = (x - x_i)/h: value and derivative by r. */
static inline double spline(mpm_kernel kernel, double r, double *slope)
{
  const double a = fabs(r), sign = r < 0.0 ? -1.0 : 1.0;
  if (kernel == MPM_QUADRATIC) {
    *slope = a < 0.5 ? -2.0 * r : a < 1.5 ? -sign * (1.5 - a) : 0.0;
    return a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0.0;
  }
  *slope = sign * (a < 1.0 ? -2.0 * a + 1.5 * a * a : a < 2.0 ? -0.5 * (2.0 - a) * (2.0 - a) : 0.0);
  return a < 1.0 ? 2.0 / 3.0 - a * a + 0.5 * a * a * a : a < 2.0 ? (2.0 - a) * (2.0 - a) * (2.0 - a) / 6.0 : 0.0;
}
/* Weight and gradient of the node of a dof at a point. */
static inline double node_weight(const mpm_grid *g, int64_t dof, const double x[3], double gradient[3], double arm[3])
{
  int64_t node[3];
  double  w[3], s[3];
  mpm_grid_node(g, dof, node);
  for (int k = 0; k < 3; ++k) {
    arm[k] = g->h * (double)node[k] - x[k];
    w[k]   = spline(g->kernel, -arm[k] / g->h, &s[k]);
  }
  for (int k = 0; k < 3; ++k) gradient[k] = s[k] / g->h * w[(k + 1) % 3] * w[(k + 2) % 3];
  return w[0] * w[1] * w[2];
}
static inline void particle_at(const particles *p, int64_t i, double x[3]) { v3_set(x, p->x[0][i], p->x[1][i], p->x[2][i]); }

static inline double *fixture_vector(int64_t n)
{
  double *x;
  assert_ok(memory_alloc("test vector", n, sizeof *x, &x));
  return x;
}
static inline void fixture_random(int64_t n, double *x, uint64_t stream, double size)
{
  for (int64_t i = 0; i < n; ++i) x[i] = random_range(99, (uint64_t)i, stream, -size, size);
}
static inline double norm(int64_t n, const double *x) { return sqrt(team_dot(n, x, x)); }
/* |a - b| / |b| */
static inline double distance(int64_t n, const double *a, const double *b)
{
  double d = 0.0, s = 0.0;
  for (int64_t i = 0; i < n; ++i) d += (a[i] - b[i]) * (a[i] - b[i]), s += b[i] * b[i];
  return sqrt(d / (s > 0.0 ? s : 1.0));
}
static inline int64_t fixture_begin(body *b, double t, double dt)
{
  step_status status = {STEP_OK, NULL, -1};
  int64_t     n;
  assert_ok(b->ops->begin_step(b, t, dt, &n, &status));
  assert_int_equal(status.code, STEP_OK);
  return n;
}

/* One backward Euler step by Newton and diagonally scaled CG (the toy law without twist is symmetric). */
static inline void fixture_step(body *b, double t, double dt, double tolerance)
{
  const int64_t n = 3 * fixture_begin(b, t, dt);
  double       *v = fixture_vector(n), *g = fixture_vector(n), *z = fixture_vector(n), *r = fixture_vector(n), *p = fixture_vector(n),
         *q = fixture_vector(n), *m = fixture_vector(n);
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->ops->velocity(b, v));
  assert_ok(b->ops->mass(b, m));
  for (int newton = 0; newton < 20; ++newton) {
    memset(g, 0, (size_t)n * sizeof *g);
    assert_ok(b->ops->residual(b, v, g, true, &status));
    assert_int_equal(status.code, STEP_OK);
    double size = 0.0, rho = 0.0;
    for (int64_t i = 0; i < n; ++i) size = fmax(size, fabs(g[i]) / sqrt(m[i]));
    if (size <= tolerance) break;
    memset(z, 0, (size_t)n * sizeof *z);
    for (int64_t i = 0; i < n; ++i) r[i] = -g[i], p[i] = r[i] / m[i], rho += r[i] * p[i];
    const double rho0 = rho;
    for (int cg = 0; cg < 400 && rho > 1e-26 * rho0; ++cg) {
      memset(q, 0, (size_t)n * sizeof *q);
      assert_ok(b->ops->tangent(b, p, q, false));
      const double alpha = rho / team_dot(n, p, q);
      double       next  = 0.0;
      for (int64_t i = 0; i < n; ++i) z[i] += alpha * p[i], r[i] -= alpha * q[i], next += r[i] * r[i] / m[i];
      for (int64_t i = 0; i < n; ++i) p[i] = r[i] / m[i] + next / rho * p[i];
      rho = next;
    }
    for (int64_t i = 0; i < n; ++i) v[i] += z[i];
    assert_true(newton < 19);
  }
  assert_ok(b->ops->end_step(b, v, &status));
  assert_int_equal(status.code, STEP_OK);
  double *all[] = {v, g, z, r, p, q, m};
  for (int a = 0; a < 7; ++a) memory_free(&all[a]);
}
#endif
