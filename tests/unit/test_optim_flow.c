#include "flow_fixture.h"

static void the_table_is_sound(void **state)
{
  diagnostics *d;
  (void)state;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&flow_options_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_no_leak();
}

static bool is_lower_half(const int p[3], const int n[3]) { return 2 * p[1] < n[1]; }

/* Liquid at rest: p = rho g (depth - h/2) from the surface, exactly; stress is there but may carry nothing. */
static void a_hydrostatic_column_is_exact(void **state)
{
  (void)state;
  const fixture_spec spec = {.n = {3, 12, 2}, .h = 0.05, .dt = 0.02, .rho = 1000, .M = 0, .is_orthonormal = true, .is_material = is_lower_half};
  fixture w;
  fixture_create(&w, &spec);
  fixture_tighten(&w, 1e-12);
  const flow_report r = fixture_solve(&w);
  assert_true(r.is_converged);
  for (int64_t c = 0; c < w.f.n_cells; ++c) /* the surface lies half a cell above the last one's centre, where p = 0 is one cell up */
    assert_close(w.x.p[c], spec.rho * FIXTURE_G * spec.h * (6 - w.ijk[c][1]), 1e-10 * spec.rho * FIXTURE_G * 0.3);
  for (int64_t i = 0; i < w.f.n_faces; ++i) assert_close(w.x.u[i], 0.0, 1e-12);
  assert_true(r.kkt.kkt < 1e-11 && r.kkt.energy < 0.0);
  fixture_destroy(&w);
  assert_no_leak();
}

/* A heap of sand, warm and cold, in both bases. */
static void sand_is_solved_to_the_tolerance(void **state)
{
  (void)state;
  for (int basis = 0; basis < 2; ++basis) {
    const fixture_spec spec = {.n = {8, 8, 8}, .h = 0.05, .dt = 0.02, .rho = 1600, .M = 0.5, .is_orthonormal = basis == 0, .is_open_wall = true, .tilt = 0.3,
                               .is_material = is_lower_half};
    fixture w;
    fixture_create(&w, &spec);
    fixture_tighten(&w, 1e-8);
    const flow_report r = fixture_solve(&w);
    assert_true(r.is_converged);
    assert_true(r.kkt.kkt < 1e-7 && r.kkt.energy < 0.0);
    assert_true(r.kkt.yield < 1.0 + 1e-6);
    fixture_destroy(&w);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(the_table_is_sound), cmocka_unit_test(a_hydrostatic_column_is_exact), cmocka_unit_test(sand_is_solved_to_the_tolerance))
