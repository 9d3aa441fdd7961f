/* Gradients, velocities and the cone's penalty against finite differences of energies. */
#include "flow_fixture.h"
#include "optim/granular/granular_friction.h"
#include "optim/granular/granular_stress_lagrangian.h"

static bool is_corner(const int p[3], const int n[3]) { return p[0] + p[1] < n[0]; }

static double energy(const fixture *w)
{
  granular_kkt_report r;
  assert_ok(granular_kkt(&w->f, &w->x, &r));
  return r.energy;
}
/* J is quadratic: central differences are exact but for rounding. */
static void compare_gradient(const char *name, fixture *w, int64_t n, double *x, const double *g, double step)
{
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(g[i]));
  for (int64_t i = 0; i < n; ++i) {
    const double at   = x[i];
    x[i]              = at + step;
    const double up   = energy(w);
    x[i]              = at - step;
    const double down = energy(w), slope = (up - down) / (2.0 * step);
    x[i] = at;
    if (!(fabs(slope - g[i]) <= 1e-8 * most * test_tolerance_scale()))
      fail_msg("%s[%d]: gradient %.12g, difference quotient %.12g", name, (int)i, g[i], slope);
  }
}

typedef struct {
  fixture         w;
  double          p_known[64], s_known[400];
  arena          *memory;
  granular_solver S;
  granular_report r;
} scene;
static void scene_create(scene *c, bool is_staggered, bool is_orthonormal)
{
  uint64_t           count = 0;
  const fixture_spec spec  = {.n              = {3, 3, 2},
                              .h              = 0.1,
                              .dt             = 0.02,
                              .rho            = 1500,
                              .M              = 0.5,
                              .is_staggered   = is_staggered,
                              .is_orthonormal = is_orthonormal,
                              .is_open_wall   = true,
                              .is_material    = is_corner};
  fixture_create(&c->w, &spec);
  assert_true(c->w.f.n_cells <= 64 && c->w.f.n_stress <= 400);
  fixture_complicate(&c->w, c->p_known, c->s_known, &count);
  assert_ok(arena_create(1 << 16, &c->memory));
  assert_ok(granular_solver_create(&c->S, &c->w.f, &c->w.o, c->memory, &c->w.x, &c->r));
  granular_velocities(&c->S);
}
static void scene_destroy(scene *c)
{
  granular_solver_destroy(&c->S);
  arena_destroy(&c->memory);
  fixture_destroy(&c->w);
}

static void gradients_are_those_of_the_energy(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    scene  c;
    double g_p[64], g_lambda[3], g_z[6], *g_s = NULL;
    scene_create(&c, kind & 1, kind & 2);
    assert_ok(memory_alloc("gradient", c.w.f.n_stress, sizeof *g_s, &g_s));
    granular_gradient_p(&c.S, g_p);
    granular_gradient_s(&c.S, g_s);
    granular_gradient_contacts(&c.w.f, c.S.v, g_lambda, g_z);
    compare_gradient("p", &c.w, c.w.f.n_cells, c.w.x.p, g_p, 100.0);
    compare_gradient("s", &c.w, c.w.f.n_stress, c.w.x.s, g_s, 100.0);
    compare_gradient("lambda", &c.w, 3, c.w.x.lambda, g_lambda, 1.0);
    compare_gradient("z", &c.w, 6, c.w.x.z, g_z, 1.0);
    memory_free(&g_s);
    scene_destroy(&c);
  }
  assert_no_leak();
}

/* Changes one after the other leave the velocities that the sum makes. */
static void velocities_follow_changes(void **state)
{
  (void)state;
  scene    c;
  uint64_t count = 1000;
  double   d[400], *u = NULL, v[12];
  scene_create(&c, false, true);
  for (int round = 0; round < 5; ++round) {
    for (int64_t i = 0; i < c.w.f.n_cells; ++i) d[i] = 300 * fixture_draw(&count), c.w.x.p[i] += 0.5 * d[i];
    granular_change_p(&c.S, 0.5, d);
    for (int64_t i = 0; i < c.w.f.n_stress; ++i) d[i] = 300 * fixture_draw(&count), c.w.x.s[i] -= d[i];
    granular_change_s(&c.S, -1.0, d);
    for (int64_t i = 0; i < 9; ++i) d[i] = fixture_draw(&count);
    for (int64_t i = 0; i < 3; ++i) c.w.x.lambda[i] += d[i];
    for (int64_t i = 0; i < 6; ++i) c.w.x.z[i] += d[3 + i];
    granular_change_contacts(&c.S, 1.0, d, NULL);
    granular_change_contacts(&c.S, 1.0, NULL, d + 3);
  }
  assert_ok(memory_alloc("velocities", c.w.f.n_faces, sizeof *u, &u));
  memcpy(u, c.S.u, (size_t)c.w.f.n_faces * sizeof *u), memcpy(v, c.S.v, sizeof v);
  granular_velocities(&c.S);
  for (int64_t i = 0; i < c.w.f.n_faces; ++i) assert_close(u[i], c.S.u[i], 1e-13);
  for (int i = 0; i < 12; ++i) assert_close(v[i], c.S.v[i], 1e-12);
  memory_free(&u);
  scene_destroy(&c);
  assert_no_leak();
}

/* E_c: slope by central differences of second order (error falls as the square of the step), curvature by differences of slopes. */
static void the_penalty_of_the_cone_has_its_derivatives(void **state)
{
  (void)state;
  for (int basis = 0; basis < 2; ++basis) {
    scene c;
    scene_create(&c, false, basis);
    c.w.o.stress = GRANULAR_STRESS_LAGRANGIAN;
    assert_ok(granular_stress_lagrangian.create(&c.S));
    granular_lagrangian *w = c.S.stress;
    granular_radii(&c.S);
    for (int64_t i = 0; i < c.w.f.n_cells; ++i) w->multiplier[i] = i % 2 ? 0.1 * w->stiffness[i] * c.S.radius[i] * c.S.radius[i] : 0.0;
    double *s = c.w.x.s;
    for (int64_t i = 0; i < c.w.f.n_stress; ++i) s[i] *= 3.0;
    int64_t n_violated = 0;
    for (int64_t i = 0; i < c.w.f.n_stress; ++i) {
      const double at = s[i], step = 1e-3 * c.S.radius[i / 5];
      double       error[2], slope_up, slope_down, slope, hessian;
      for (int half = 0; half < 2; ++half) {
        const double d  = half ? 0.5 * step : step;
        s[i]            = at + d, granular_lagrangian_gather(&c.S, s);
        const double up = granular_lagrangian_energy(&c.S);
        granular_lagrangian_derivatives(&c.S), slope_up = w->gradient[i % 5][i / 5];
        s[i]              = at - d, granular_lagrangian_gather(&c.S, s);
        const double down = granular_lagrangian_energy(&c.S);
        granular_lagrangian_derivatives(&c.S), slope_down = w->gradient[i % 5][i / 5];
        s[i] = at, granular_lagrangian_gather(&c.S, s);
        granular_lagrangian_derivatives(&c.S), slope = w->gradient[i % 5][i / 5], hessian = w->part[i % 5].hessian[i / 5];
        error[half] = fabs((up - down) / (2.0 * d) - slope);
      }
      const double scale = w->stiffness[i / 5] * c.S.radius[i / 5];
      assert_true(error[0] <= 1e-5 * scale);
      assert_true(error[1] <= 0.3 * error[0] || error[1] <= 1e-9 * scale);
      assert_close((slope_up - slope_down) / step, hessian, 1e-5 * w->stiffness[i / 5]);
      assert_true(hessian >= 0.0);
      n_violated += slope != 0.0;
    }
    assert_true(n_violated > 10);
    granular_stress_lagrangian.destroy(&c.S);
    scene_destroy(&c);
  }
  assert_no_leak();
}

/* A_zz as the friction solvers apply it is the second derivative of J. */
static void the_product_of_friction_is_the_hessian(void **state)
{
  (void)state;
  scene             c;
  granular_friction t;
  double            before[6], after[6], x[6], y[6];
  uint64_t          count = 50;
  scene_create(&c, false, true);
  assert_ok(granular_friction_create(&c.S, &t));
  granular_gradient_contacts(&c.w.f, c.S.v, NULL, before);
  for (int i = 0; i < 6; ++i) x[i] = fixture_draw(&count);
  granular_friction_product(&t, x, y);
  granular_change_contacts(&c.S, 1.0, NULL, x);
  granular_gradient_contacts(&c.w.f, c.S.v, NULL, after);
  for (int i = 0; i < 6; ++i) assert_close(after[i] - before[i], y[i], 1e-13);
  scene_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(gradients_are_those_of_the_energy), cmocka_unit_test(velocities_follow_changes),
          cmocka_unit_test(the_penalty_of_the_cone_has_its_derivatives), cmocka_unit_test(the_product_of_friction_is_the_hessian))
