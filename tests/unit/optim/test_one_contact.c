#include "friction_fixture.h"
#include "core/math3.h"
#include "optim/friction/cone.h"
#include "optim/friction/one_contact.h"

static double uniform(uint64_t id, uint64_t stream, double lo, double hi) { return random_range(11, id, stream, lo, hi); }

/* A random symmetric positive definite W; every kind of case comes by: coupling, weak directions, extreme coefficients. */
static void random_case(uint64_t id, double W[9], double b[3], double *mu)
{
  double a[9], scale[3] = {1.0, 1.0, 1.0};
  for (int e = 0; e < 9; ++e) a[e] = uniform(id, (uint64_t)e, -1.0, 1.0);
  if (id % 5 == 1) scale[id / 5 % 3] = pow(10.0, uniform(id, 20, -6.0, 0.0)); /* nearly singular */
  if (id % 5 == 2)
    for (int i = 0; i < 3; ++i) scale[i] = pow(10.0, uniform(id, 20 + (uint64_t)i, -3.0, 3.0));
  for (int i = 0; i < 9; ++i) a[i] *= scale[i % 3];
  m3_mul_nt(W, a, a);
  W[0] += 1e-3 * m3_trace(W) * (id % 5 == 1);
  for (int i = 0; i < 3; ++i) b[i] = uniform(id, 10 + (uint64_t)i, -1.0, 1.0) * scale[1];
  b[0] = id % 4 == 0 ? b[0] : -fabs(b[0]);
  *mu  = id % 7 == 0   ? 0.0
         : id % 7 == 1 ? pow(10.0, uniform(id, 30, 0.0, 6.0))
         : id % 7 == 2 ? pow(10.0, uniform(id, 31, -8.0, 0.0))
                       : uniform(id, 32, 0.05, 1.5);
  if (id % 11 == 3) b[1] = b[2] = 0.0;
  if (id % 11 == 7 && *mu <= 10.0) { /* grazing: sticks with the impulse on the border of the cone */
    const double angle = uniform(id, 33, 0.0, 6.0), r[3] = {1.0, *mu * cos(angle), *mu * sin(angle)};
    m3_mulv(b, W, r);
    v3_scale(b, -1.0, b);
  }
}

/* The largest violation of Coulomb's law: impulses against |r|, velocities against the terms they are sums of. */
static double violation(const double W[9], const double b[3], double mu, const double r[3])
{
  double u[3], reach[3] = {fabs(b[0]), fabs(b[1]), fabs(b[2])};
  m3_mulv(u, W, r);
  v3_add(u, u, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) reach[i] += fabs(W[3 * i + j] * r[j]);
  const double t_r = hypot(r[1], r[2]), t_u = hypot(u[1], u[2]), u_size = reach[0] + reach[1] + reach[2];
  if (!isfinite(t_r) || !isfinite(r[0])) return INFINITY;
  double v = fmax(-r[0], t_r - mu * r[0]) / fmax(v3_norm(r), 1e-300);
  if (r[0] == 0.0) return fmax(v, -u[0] / u_size);
  v = fmax(v, fabs(u[0]) / u_size);
  if (t_r < mu * r[0] * (1.0 - 1e-9)) return fmax(v, t_u / u_size);
  if (t_u <= 1e-12 * u_size || t_r == 0.0) return v;
  return fmax(v, hypot(u[1] + t_u / t_r * r[1], u[2] + t_u / t_r * r[2]) / u_size); /* against the impulse */
}

static void every_case_is_solved(void **state)
{
  double  worst    = 0.0;
  int64_t count[3] = {0};
  (void)state;
  for (uint64_t id = 0; id < 40000; ++id) {
    double      W[9], b[3], mu, r[3], alpha = 0.0, v;
    one_contact o;
    random_case(id, W, b, &mu);
    one_contact_prepare(W, mu, &o);
    one_contact_solve(&o, b, &alpha, r);
    v     = violation(W, b, mu, r);
    worst = fmax(worst, v);
    if (v > 1e-9) fail_msg("solve: case %d violates Coulomb's law by %g: r %g %g %g, mu %g", (int)id, v, r[0], r[1], r[2], mu);
    ++count[r[0] == 0.0 ? 0 : hypot(r[1], r[2]) < mu * r[0] * (1.0 - 1e-9) ? 1 : 2];
    /* from a guess that is far off, in either direction */
    const double exact = alpha;
    for (int k = 0; k < 2 && exact > 0.0; ++k) {
      alpha = exact * (k ? 1e3 : 1e-3);
      one_contact_solve(&o, b, &alpha, r);
      if ((v = violation(W, b, mu, r)) > 1e-9) fail_msg("warm: case %d violates Coulomb's law by %g", (int)id, v);
    }
  }
  for (int k = 0; k < 3; ++k) assert_true(count[k] > 2000); /* take-off, stick, slide */
  print_message("worst violation: %.1e\n", worst);
}

/* Projection: in the cone, orthogonal decomposition of Moreau, idempotent. */
static void projections_are_projections(void **state)
{
  (void)state;
  for (uint64_t id = 0; id < 5000; ++id) {
    const double mu = id % 9 == 0 ? 0.0 : pow(10.0, uniform(id, 1, -3.0, 3.0));
    double       z[3], p[3], d[3], again[3];
    for (int i = 0; i < 3; ++i) z[i] = uniform(id, 2 + (uint64_t)i, -1.0, 1.0);
    if (id % 7 == 0) z[1] = z[2] = 0.0; /* on the axis, ahead of the tip and behind it */
    cone_project(mu, z, p);
    assert_true(p[0] >= 0.0);
    for (int i = 0; i < 3; ++i) d[i] = p[i] - z[i]; /* in the dual cone */
    assert_true(hypot(p[1], p[2]) <= mu * p[0] * (1.0 + 1e-14) + 1e-300);
    assert_true(mu * hypot(d[1], d[2]) <= d[0] + 1e-15 * (1.0 + mu));
    assert_close(v3_dot(p, d), 0.0, 1e-15);
    cone_project(mu, p, again);
    for (int i = 0; i < 3; ++i) assert_close(again[i], p[i], 1e-15);
    cone_project_dual(mu, d, again);
    for (int i = 0; i < 3; ++i) assert_close(again[i], d[i], 1e-14);
  }
}

/* No tangential motion possible, none measurable, or a singular block: still finite, still the law. */
static void singular_blocks_give_finite_answers(void **state)
{
  const double W[4][9] = {
      {1, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 0}, {1, 0.5, 0, 0.5, 0.25, 0, 0, 0, 1}, {2, 1, 1, 1, 1, 1, 1, 1, 1}};
  (void)state;
  for (int k = 0; k < 4; ++k)
    for (uint64_t id = 0; id < 200; ++id) {
      one_contact  o;
      double       b[3] = {-1.0, 0, 0}, v[3], r[3], alpha = 0.0;
      const double mu = uniform(id, 3, 0.0, 2.0);
      for (int i = 0; i < 3; ++i) v[i] = uniform(id, (uint64_t)i, -1.0, 1.0);
      m3_mulv(b, W[k], v); /* within reach of the block */
      one_contact_prepare(W[k], mu, &o);
      one_contact_solve(&o, b, &alpha, r);
      assert_true(violation(W[k], b, mu, r) <= 1e-6);
    }
}

TEST_MAIN(cmocka_unit_test(every_case_is_solved), cmocka_unit_test(projections_are_projections),
          cmocka_unit_test(singular_blocks_give_finite_answers))
