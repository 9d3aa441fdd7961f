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

/* The largest violation of Coulomb's law: impulses against |r|, velocities against the terms they are sums of, or `size` if that is
 * more. */
static double violation_against(double size, const double W[9], const double b[3], double mu, const double r[3])
{
  double u[3], reach[3] = {fabs(b[0]), fabs(b[1]), fabs(b[2])};
  m3_mulv(u, W, r);
  v3_add(u, u, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) reach[i] += fabs(W[3 * i + j] * r[j]);
  const double t_r = hypot(r[1], r[2]), t_u = hypot(u[1], u[2]), u_size = fmax(size, reach[0] + reach[1] + reach[2]);
  if (!isfinite(t_r) || !isfinite(r[0])) return INFINITY;
  double v = fmax(-r[0], t_r - mu * r[0]) / fmax(v3_norm(r), 1e-300);
  if (r[0] == 0.0) return fmax(v, -u[0] / u_size);
  v = fmax(v, fabs(u[0]) / u_size);
  if (t_r < mu * r[0] * (1.0 - 1e-9)) return fmax(v, t_u / u_size);
  if (t_u <= 1e-12 * u_size || t_r == 0.0) return v;
  return fmax(v, hypot(u[1] + t_u / t_r * r[1], u[2] + t_u / t_r * r[2]) / u_size); /* against the impulse */
}

static double violation(const double W[9], const double b[3], double mu, const double r[3]) { return violation_against(0.0, W, b, mu, r); }

static void every_case_is_solved(void **state)
{
  double  worst[3] = {0};
  int64_t count[3] = {0}, n_newton = 0, n_failed = 0;
  (void)state;
  for (uint64_t id = 0; id < 40000; ++id) {
    double      W[9], b[3], mu, r[3], alpha = 0.0, v;
    one_contact o;
    random_case(id, W, b, &mu);
    one_contact_prepare(W, mu, &o);
    one_contact_solve(&o, b, &alpha, r);
    v        = violation(W, b, mu, r);
    worst[0] = fmax(worst[0], v);
    if (v > 1e-9) fail_msg("solve: case %d violates Coulomb's law by %g: r %g %g %g, mu %g", (int)id, v, r[0], r[1], r[2], mu);
    ++count[r[0] == 0.0 ? 0 : hypot(r[1], r[2]) < mu * r[0] * (1.0 - 1e-9) ? 1 : 2];
    /* from a guess that is far off, in either direction */
    const double exact = alpha;
    for (int k = 0; k < 2 && exact > 0.0; ++k) {
      alpha = exact * (k ? 1e3 : 1e-3);
      one_contact_solve(&o, b, &alpha, r);
      if ((v = violation(W, b, mu, r)) > 1e-9) fail_msg("warm: case %d violates Coulomb's law by %g", (int)id, v);
    }
    one_contact_enumerate(&o, b, r);
    if ((v = violation(W, b, mu, r)) > 1e-9) fail_msg("enumerate: case %d violates Coulomb's law by %g", (int)id, v);
    worst[1] = fmax(worst[1], v);
    v3_set(r, 0.0, 0.0, 0.0);
    one_contact_hybrid(&o, b, 1e-14, r);
    /* phi multiplies r_N by mu and u by rho, and their round-off as well; a square root brings that to sqrt(epsilon) */
    if ((v = violation_against(v3_norm(r) / o.rho, W, b, mu, r) / (1.0 + mu)) > 1.5e-8)
      fail_msg("hybrid: case %d violates Coulomb's law by %g: mu %g", (int)id, v, mu);
    worst[2] = fmax(worst[2], v);
    if (mu == 0.0 || b[0] >= 0.0 || mu > 10.0 || mu < 1e-2) continue;
    v3_set(r, 0.0, 0.0, 0.0);
    ++n_newton;
    n_failed += !one_contact_newton(&o, b, 50, 1e-12 * o.rho * v3_norm(b), r);
  }
  for (int k = 0; k < 3; ++k) assert_true(count[k] > 2000); /* take-off, stick, slide */
  print_message("worst violation: solve %.1e, enumerate %.1e, hybrid %.1e; Newton alone fails on %d of %d\n", worst[0], worst[1], worst[2],
                (int)n_failed, (int)n_newton);
  assert_true(5 * n_failed < n_newton);
}

/* Enumeration takes the smallest sliding coefficient that a scan finds, also where normal and tangent are strongly coupled and
 * friction is large. */
static void enumeration_takes_the_smallest_root(void **state)
{
  int n_scanned = 0;
  (void)state;
  for (uint64_t id = 0; id < 4000; ++id) {
    double       W[9], b[3], mu, r[3], u[3], least = INFINITY;
    one_contact  o;
    int          n_roots = 0;
    const double d[3]    = {1.0, uniform(id, 41, -2.0, 2.0), uniform(id, 42, -2.0, 2.0)}; /* normal and tangent move together */
    m3_outer(W, d, d);
    for (int i = 0; i < 9; i += 4) W[i] += 0.02;
    mu   = pow(10.0, uniform(id, 40, -0.5, 1.0));
    b[0] = -pow(10.0, uniform(id, 43, -4.0, 0.0)), b[1] = uniform(id, 44, -1.0, 1.0), b[2] = uniform(id, 45, -1.0, 1.0);
    one_contact_prepare(W, mu, &o);
    one_contact_enumerate(&o, b, r);
    if (b[0] >= 0.0 || hypot(r[1], r[2]) < mu * r[0] * (1.0 - 1e-9)) continue;
    /* scan alpha, solving u_N = 0, u_T = -alpha r_T by elimination */
    double before = 0.0;
    for (int k = 0; k < 4000; ++k) {
      const double alpha = m3_trace(W) * 1e-6 * pow(10.0, 9.0 * k / 4000.0);
      double       A[9], inverse[9], x[3];
      m3_copy(A, W);
      A[4] += alpha, A[8] += alpha;
      m3_inverse(inverse, A);
      m3_mulv(x, inverse, b);
      const double gap = -mu * x[0] - hypot(x[1], x[2]);
      if (k > 0 && (gap >= 0.0) != (before >= 0.0) && -x[0] > 0.0) {
        ++n_roots;
        if (alpha < least) least = alpha;
      }
      before = gap;
    }
    m3_mulv(u, W, r);
    v3_add(u, u, b);
    const double found = hypot(u[1], u[2]) / hypot(r[1], r[2]);
    n_scanned += n_roots > 0;
    if (n_roots > 0 && fabs(found / least - 1.0) > 0.01)
      fail_msg("case %d: sliding coefficient %g, but the scan finds %g first", (int)id, found, least);
  }
  assert_true(n_scanned > 1000);
}

/* A problem with several solutions, found among 3e6 random ones: the smallest coefficient is found only if the turning points of the quartic are accurate. */
static void enumeration_separates_close_roots(void **state)
{
  const double W[9] = {1.0002155464425879,   -0.050734287168722858, -0.2568328331126537,  -0.050734287168722858, 0.002727502906863044,
                       0.013030230709494045, -0.2568328331126537,   0.013030230709494045, 0.065967576232451711},
               b[3] = {-0.0062300913118782542, -0.15437237670831649, -0.13912914079347161}, mu = 3.8265625204241354;
  one_contact o;
  double      r[3], u[3];
  (void)state;
  one_contact_prepare(W, mu, &o);
  one_contact_enumerate(&o, b, r);
  m3_mulv(u, W, r);
  v3_add(u, u, b);
  assert_close(u[0], 0.0, 1e-9);
  assert_close(hypot(r[1], r[2]), mu * r[0], 1e-9 * mu * r[0]);
  assert_true(hypot(u[1], u[2]) < 1e-3 * hypot(r[1], r[2])); /* another solution has the coefficient 1.7 */
}

static void fischer_burmeister_derivative(void **state)
{
  int n_checked = 0;
  (void)state;
  for (uint64_t id = 0; id < 2000; ++id) {
    double      W[9], b[3], mu, r[3], phi[3], J[9], forward[3], backward[3];
    one_contact o;
    random_case(5 * id, W, b, &mu);
    mu = uniform(id, 50, 0.1, 1.0);
    one_contact_prepare(W, mu, &o);
    for (int i = 0; i < 3; ++i) r[i] = uniform(id, 60 + (uint64_t)i, -1.0, 1.0) * o.rho;
    one_contact_fischer_burmeister(&o, b, r, phi, J);
    const double h     = 1e-6 * v3_norm(r);
    double       error = 0.0, coarse = 0.0;
    for (int j = 0; j < 3; ++j) {
      double at[3];
      for (int level = 0; level < 2; ++level) {
        const double step = level ? 4.0 * h : h;
        v3_copy(at, r), at[j] += step;
        one_contact_fischer_burmeister(&o, b, at, forward, NULL);
        v3_copy(at, r), at[j] -= step;
        one_contact_fischer_burmeister(&o, b, at, backward, NULL);
        for (int i = 0; i < 3; ++i) {
          const double d = fabs((forward[i] - backward[i]) / (2.0 * step) - J[3 * i + j]);
          if (level) coarse = fmax(coarse, d);
          else error = fmax(error, d);
        }
      }
    }
    if (coarse > 1e-4) continue; /* strong curvature or a kink close by: differences say nothing */
    ++n_checked;
    assert_close(error, 0.0, 1e-6);
  }
  assert_true(n_checked > 1800);
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
      one_contact_enumerate(&o, b, r);
      assert_true(violation(W[k], b, mu, r) <= 1e-6);
      v3_set(r, 0, 0, 0);
      one_contact_hybrid(&o, b, 1e-12, r);
      assert_true(violation(W[k], b, mu, r) <= 1e-5);
    }
}

TEST_MAIN(cmocka_unit_test(every_case_is_solved), cmocka_unit_test(enumeration_takes_the_smallest_root),
          cmocka_unit_test(enumeration_separates_close_roots), cmocka_unit_test(fischer_burmeister_derivative),
          cmocka_unit_test(projections_are_projections), cmocka_unit_test(singular_blocks_give_finite_answers))
