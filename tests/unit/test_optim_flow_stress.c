/* Solvers of stress against each other and against references of their own. */
#include "flow_fixture.h"

static bool is_heap(const int p[3], const int n[3])
{
  const double x = p[0] + 0.5 - 0.5 * n[0], z = p[2] + 0.5 - 0.5 * n[2];
  return 4.0 * (x * x + z * z) < 0.64 * n[0] * n[2] && 2 * p[1] < n[1];
}
static fixture_spec heap(bool is_staggered, bool is_orthonormal)
{
  return (fixture_spec){.n = {6, 8, 6}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.5, .is_staggered = is_staggered, .is_orthonormal = is_orthonormal,
                        .is_open_wall = true, .is_material = is_heap};
}
static double largest_difference(int64_t n, const double *a, const double *b)
{
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

/* The cone is the same set in both bases, and the published method ends where projected gradient does: the same velocities. */
static void methods_and_bases_agree_on_the_cone(void **state)
{
  (void)state;
  double *u = NULL, scale = 0.0;
  for (int basis = 0; basis < 2; ++basis)
    for (int method = FLOW_STRESS_GRADIENT; method <= FLOW_STRESS_LAGRANGIAN; ++method) {
      const fixture_spec spec = heap(false, basis == 0);
      fixture            w;
      fixture_create(&w, &spec);
      fixture_tighten(&w, 1e-9);
      w.o.stress = method;
      const flow_report r = fixture_solve(&w);
      assert_true(r.is_converged);
      assert_true(r.kkt.energy < 0.0 && r.kkt.kkt < 1e-6);
      assert_close(r.kkt.yield, 1.0, 1e-6);
      if (!u) {
        assert_ok(memory_alloc("velocities", w.f.n_faces, sizeof *u, &u));
        memcpy(u, w.x.u, (size_t)w.f.n_faces * sizeof *u);
        scale = largest_difference(w.f.n_faces, w.x.u, w.u_star);
      }
      assert_close(largest_difference(w.f.n_faces, u, w.x.u), 0.0, 1e-6 * scale);
      fixture_destroy(&w);
    }
  memory_free(&u);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(methods_and_bases_agree_on_the_cone))
