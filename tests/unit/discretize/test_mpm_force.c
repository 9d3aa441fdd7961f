/* Internal forces of MPM bodies and their derivative: definition, finite differences, adjoint, what must vanish. */
#include "mpm_fixture.h"

static const double       no_gravity[3] = {0, 0, 0};
static const mpm_transfer apic          = {.is_apic = true};
static const mpm_kernel   kernels[]     = {MPM_QUADRATIC, MPM_CUBIC};
enum { N = 300 };
static const double  dt = 4e-3;
static toy_constants elastic_constants, twisted_constants;
static material      elastic, twisted;

static int setup(void **state)
{
  (void)state;
  elastic = toy_material(1300.0, 1e5, 2e5, 0.0, &elastic_constants);
  twisted = toy_material(1300.0, 1e5, 2e5, 4e4, &twisted_constants);
  return 0;
}

static void residual(mpm_domain *d, const double *v, double *g, bool with_tangent)
{
  step_status status = {STEP_OK, NULL, -1};
  memset(g, 0, (size_t)(3 * d->grid->n_dofs) * sizeof *g);
  assert_ok(d->base.ops->residual(&d->base, v, g, with_tangent, &status));
  assert_int_equal(status.code, STEP_OK);
}
static void product(mpm_domain *d, const double *x, double *y, bool is_transposed)
{
  memset(y, 0, (size_t)(3 * d->grid->n_dofs) * sizeof *y);
  assert_ok(d->base.ops->tangent(&d->base, x, y, is_transposed));
}

/* The gradient of a weight: that of the spline, or of the affine transfer, w (x_i - x)/D. */
static void node_slope(const mpm_grid *g, int64_t i, const double x[3], bool is_affine, double slope[3])
{
  double       arm[3];
  const double w = node_weight(g, i, x, slope, arm);
  if (is_affine) v3_scale(slope, w / kernel_inertia(g->kernel, g->h), arm);
}

/* g = m (v - v0) - dt (m gravity - sum V P F0^T grad w), P from the law through an SVD of our own. */
static void residual_is_the_definition(void **state)
{
  (void)state;
  const double gravity[3] = {0.3, -0.4, -9.81};
  for (int c = 0; c < 4; ++c) {
    mpm_domain *d = fixture_cloud(&twisted, 2, N, 0.1, kernels[c & 1], apic, gravity);
    mpm_domain_set_affine_gradient(d, c >= 2);
    const int64_t   n = fixture_begin(&d->base, 0.0, dt);
    const mpm_grid *g = d->grid;
    double         *v = fixture_vector(3 * n), *got = fixture_vector(3 * n), *expected = fixture_vector(3 * n);
    fixture_random(3 * n, v, 1, 0.7);
    residual(d, v, got, false);
    for (int64_t i = 0; i < 3 * n; ++i) expected[i] = g->mass[i / 3] * (v[i] - g->velocity[i] - dt * gravity[i % 3]);
    for (int b = 0; b < 2; ++b)
      for (int64_t q = 0; q < N; ++q) {
        const particles *p = d->bodies.particles[b];
        double           x[3], w[3], G[9] = {0}, F0[9], F[9], P[9], Q[9], f[3];
        particle_at(p, q, x);
        for (int k = 0; k < 9; ++k) F0[k] = p->F[k][q];
        for (int64_t i = 0; i < n; ++i) {
          node_slope(g, i, x, c >= 2, w);
          for (int k = 0; k < 9; ++k) G[k] += v[3 * i + k / 3] * w[k % 3];
        }
        m3_mul(F, G, F0);
        for (int k = 0; k < 9; ++k) F[k] = F0[k] + dt * F[k];
        assert_int_equal(material_stress(&twisted, 1, 1, NULL, F, NULL, P, NULL, NULL, NULL, NULL, NULL), 1);
        m3_mul_nt(Q, P, F0);
        for (int64_t i = 0; i < n; ++i) {
          node_slope(g, i, x, c >= 2, w);
          m3_mulv(f, Q, w);
          v3_axpy(expected + 3 * i, dt * p->volume[q], f);
        }
      }
    assert_close(distance(3 * n, got, expected), 0.0, 1e-13);
    memory_free(&v);
    memory_free(&got);
    memory_free(&expected);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Central differences fall with the square of the step until rounding; at 1e-5 they agree to 1e-7. */
static void tangent_is_the_derivative(void **state)
{
  (void)state;
  const material *stuff[] = {&elastic, &twisted};
  for (int c = 0; c < 6; ++c) {
    mpm_domain *d = fixture_cloud(stuff[c >> 1 & 1], 2, N, 0.1, kernels[c & 1], apic, no_gravity);
    mpm_domain_set_affine_gradient(d, c >= 4);
    const int64_t n = 3 * fixture_begin(&d->base, 0.0, dt);
    double *v = fixture_vector(n), *x = fixture_vector(n), *y = fixture_vector(n), *plus = fixture_vector(n), *minus = fixture_vector(n),
           *w = fixture_vector(n);
    fixture_random(n, v, 1, 0.5);
    fixture_random(n, x, 2, 1.0);
    residual(d, v, y, true);
    product(d, x, y, false);
    double error[2];
    for (int s = 0; s < 2; ++s) {
      const double eps = s == 0 ? 2e-2 : 5e-3;
      for (int64_t i = 0; i < n; ++i) w[i] = v[i] + eps * x[i];
      residual(d, w, plus, false);
      for (int64_t i = 0; i < n; ++i) w[i] = v[i] - eps * x[i];
      residual(d, w, minus, false);
      for (int64_t i = 0; i < n; ++i) plus[i] = (plus[i] - minus[i]) / (2.0 * eps);
      error[s] = distance(n, plus, y);
    }
    assert_close(error[1], 0.0, 1e-5);
    assert_close(log(error[0] / error[1]) / log(4.0), 2.0, 0.1);
    for (int64_t i = 0; i < n; ++i) w[i] = v[i] + 1e-4 * x[i];
    residual(d, w, plus, false);
    for (int64_t i = 0; i < n; ++i) w[i] = v[i] - 1e-4 * x[i];
    residual(d, w, minus, false);
    for (int64_t i = 0; i < n; ++i) plus[i] = (plus[i] - minus[i]) / 2e-4;
    assert_close(distance(n, plus, y), 0.0, 1e-8);
    double *all[] = {v, x, y, plus, minus, w};
    for (int a = 0; a < 6; ++a) memory_free(&all[a]);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void transposed_product_is_the_adjoint(void **state)
{
  (void)state;
  for (int c = 0; c < 4; ++c) {
    mpm_domain *d = fixture_cloud(&twisted, 2, N, 0.1, kernels[c & 1], apic, no_gravity);
    mpm_domain_set_affine_gradient(d, c >= 2);
    assert_ok(mpm_domain_add_wall(d, 2, -1, -0.1, MPM_WALL_STICK));
    assert_ok(mpm_domain_add_wall(d, 0, 1, 0.2, MPM_WALL_SLIP));
    const int64_t n = 3 * fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(n), *x = fixture_vector(n), *y = fixture_vector(n), *hx = fixture_vector(n), *hy = fixture_vector(n);
    fixture_random(n, v, 1, 0.5);
    fixture_random(n, x, 2, 1.0);
    fixture_random(n, y, 3, 1.0);
    residual(d, v, hx, true);
    product(d, x, hx, false);
    product(d, y, hy, true);
    const double scale = norm(n, hx) * norm(n, y);
    assert_close(team_dot(n, hx, y) / scale, team_dot(n, x, hy) / scale, 1e-14);
    product(d, y, hy, false); /* and it is not symmetric by accident */
    assert_true(fabs(team_dot(n, hx, y) - team_dot(n, x, hy)) > 1e-7 * scale);
    double *all[] = {v, x, y, hx, hy};
    for (int a = 0; a < 5; ++a) memory_free(&all[a]);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

static void product_single(mpm_domain *d, const double *x, double *y)
{
  memset(y, 0, (size_t)(3 * d->grid->n_dofs) * sizeof *y);
  assert_ok(d->base.ops->tangent_single(&d->base, x, y));
}

/* Against the exact product: every term is rounded to 2^-24, and a node sums some hundred of them. A cloud is dense enough for
 * groups of one vector and more; particles of every cell contribute. */
static void single_precision_product_is_accurate(void **state)
{
  (void)state;
  enum { DENSE = 4000 };
  const double EXPECTED = 4e-7; /* a particle left out makes 1e-2 */
  for (int c = 0; c < 4; ++c) {
    mpm_domain *d = fixture_cloud(&twisted, 2, DENSE, 0.1, kernels[c & 1], apic, no_gravity);
    mpm_domain_set_affine_gradient(d, c >= 2);
    d->base.ops->want_single(&d->base, true);
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(3 * n), *x = fixture_vector(3 * n), *y = fixture_vector(3 * n), *near = fixture_vector(3 * n);
    int64_t       n_full = 0;
    for (int64_t q = 0; q < d->bodies.particles[0]->n_groups; ++q) n_full += d->bodies.particles[0]->groups[q].n == LANES;
    assert_true(n_full > 0);
    fixture_random(3 * n, v, 3, 0.5);
    fixture_random(3 * n, x, 4, 1.0);
    residual(d, v, y, true);
    product(d, x, y, false);
    product_single(d, x, near);
    assert_close(distance(3 * n, near, y), 0.0, EXPECTED);
    assert_true(distance(3 * n, near, y) > 0.0); /* it is the other one */
    memory_free(&v), memory_free(&x), memory_free(&y), memory_free(&near);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Column by column against the product, on a few nodes (those with a mirror image couple to it: only nearly equal). */
static void block_diagonal_is_the_diagonal(void **state)
{
  (void)state;
  for (int c = 0; c < 4; ++c) {
    mpm_domain *d = fixture_cloud(&twisted, 2, N, 0.1, kernels[c & 1], apic, no_gravity);
    mpm_domain_set_affine_gradient(d, c >= 2);
    assert_ok(mpm_domain_add_wall(d, 0, 1, 0.2, MPM_WALL_SLIP));
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(3 * n), *x = fixture_vector(3 * n), *y = fixture_vector(3 * n), *diagonal = fixture_vector(9 * n);
    fixture_random(3 * n, v, 1, 0.5);
    residual(d, v, y, true);
    assert_ok(d->base.ops->block_diagonal(&d->base, diagonal));
    for (int64_t i = 3; i < n; i += n / 12) {
      bool has_image = false;
      for (int64_t q = 0; q < d->walls.n_ghosts; ++q) has_image |= d->walls.ghost[q].image == i;
      if (has_image) continue;
      for (int k = 0; k < 3; ++k) {
        memset(x, 0, (size_t)(3 * n) * sizeof *x);
        x[3 * i + k] = 1.0;
        product(d, x, y, false);
        const double scale = fabs(y[3 * i]) + fabs(y[3 * i + 1]) + fabs(y[3 * i + 2]);
        for (int r = 0; r < 3; ++r) assert_close(diagonal[9 * i + 3 * r + k] / scale, y[3 * i + r] / scale, 1e-12);
      }
    }
    double *all[] = {v, x, y, diagonal};
    for (int a = 0; a < 4; ++a) memory_free(&all[a]);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* Internal forces sum to zero, and so do their moments about the moved nodes (F P^T is symmetric); forces of a stress-free
 * body under a rigid velocity are second order in dt |omega|, and exactly zero under translation. */
static void internal_forces_balance(void **state)
{
  (void)state;
  for (int c = 0; c < 4; ++c) {
    mpm_domain *d = fixture_cloud(&elastic, 2, N, 0.1, kernels[c & 1], apic, no_gravity);
    mpm_domain_set_affine_gradient(d, c >= 2);
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(3 * n), *f = fixture_vector(3 * n), sum[3] = {0}, moment[3] = {0}, size = 0.0;
    step_status   status = {STEP_OK, NULL, -1};
    fixture_random(3 * n, v, 1, 0.5);
    assert_ok(mpm_force_residual(d->grid, 2, d->bodies.particles, d->bodies.materials, d->bodies.names, dt, v, f, NULL, &status));
    for (int64_t i = 0; i < n; ++i) {
      int64_t node[3];
      double  x[3], m[3];
      mpm_grid_node(d->grid, i, node);
      for (int k = 0; k < 3; ++k) x[k] = d->grid->h * (double)node[k] + dt * v[3 * i + k];
      v3_cross(m, x, f + 3 * i);
      v3_add(sum, sum, f + 3 * i);
      v3_add(moment, moment, m);
      size += v3_norm(f + 3 * i);
    }
    for (int k = 0; k < 3; ++k) {
      assert_close(sum[k] / size, 0.0, 1e-14);
      assert_close(moment[k] / size, 0.0, 1e-14);
    }
    for (int b = 0; b < 2; ++b)
      for (int k = 0; k < 9; ++k)
        for (int64_t i = 0; i < N; ++i) d->bodies.particles[b]->F[k][i] = k % 4 == 0;
    for (int64_t i = 0; i < n; ++i) v3_set(v + 3 * i, 3.0, -2.0, 1.0);
    assert_ok(mpm_force_residual(d->grid, 2, d->bodies.particles, d->bodies.materials, d->bodies.names, dt, v, f, NULL, &status));
    assert_close(norm(3 * n, f) / size, 0.0, 1e-12);
    memory_free(&v);
    memory_free(&f);
    mpm_domain_destroy(&d);
    assert_no_leak();
  }
}

/* The status names the body and its smallest bad particle, on any number of threads. */
static void first_bad_particle_is_reported(void **state)
{
  (void)state;
  for (int threads = 1; threads <= 3; ++threads) {
    team_set_threads(threads);
    mpm_domain   *d = fixture_cloud(&elastic, 2, N, 0.1, MPM_QUADRATIC, apic, no_gravity);
    const int64_t n = fixture_begin(&d->base, 0.0, dt);
    double       *v = fixture_vector(3 * n), *g = fixture_vector(3 * n);
    step_status   status              = {STEP_OK, NULL, -1};
    d->bodies.particles[1]->F[4][250] = -1.0;
    d->bodies.particles[1]->F[4][77]  = -1.0;
    assert_ok(d->base.ops->residual(&d->base, v, g, true, &status));
    assert_int_equal(status.code, STEP_INVERTED);
    assert_int_equal(status.where, 77);
    assert_string_equal(status.body, "block");
    d->bodies.particles[0]->F[4][123] = NAN;
    status                            = (step_status){STEP_OK, NULL, -1};
    assert_ok(d->base.ops->residual(&d->base, v, g, false, &status));
    assert_int_equal(status.code, STEP_NOT_FINITE);
    assert_int_equal(status.where, 123);
    assert_string_equal(status.body, "bed");
    memory_free(&v);
    memory_free(&g);
    mpm_domain_destroy(&d);
  }
  team_set_threads(0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test_setup(residual_is_the_definition, setup), cmocka_unit_test_setup(tangent_is_the_derivative, setup),
          cmocka_unit_test_setup(transposed_product_is_the_adjoint, setup),
          cmocka_unit_test_setup(single_precision_product_is_accurate, setup),
          cmocka_unit_test_setup(block_diagonal_is_the_diagonal, setup), cmocka_unit_test_setup(internal_forces_balance, setup),
          cmocka_unit_test_setup(first_bad_particle_is_reported, setup))
