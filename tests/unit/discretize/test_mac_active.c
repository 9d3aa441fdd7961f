/* Which cells take part: dense ones that are filled, by what the options say. */
#include "core/memory.h"
#include "test.h"
#include "mac_fixture.h"

static bool hill(const double x[3]) { return x[2] < 0.3 + 0.3 * x[0] && x[0] + x[1] < 1.3; }

static void dense_and_filled_cells_are_active(void **unused)
{
  (void)unused;
  static const double fill[3] = {0.01, 0.95, 0.01}, threshold[3] = {0.4, 0.4, 0.8};
  int64_t             n_active[3] = {0};
  for (int kind = 0; kind < 3; ++kind) {
    mac_scene      c;
    mac_scene_spec m = {
        .h = 0.1, .n = {10, 10, 10}, .wall = MAC_ALL_ROUGH, .is_filled = hill, .density = 1500.0, .friction = 0.5, .jitter = 0.8};
    mac_system y = {0};
    mac_scene_create(&c, &m);
    c.o.cell_fill = fill[kind], c.o.density_threshold = threshold[kind];
    assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
    for (int64_t s = 0; s < c.s.grid.n_slots; ++s) {
      int32_t ijk[3];
      mac_grid_cell(&c.s.grid, s, ijk);
      const bool expected = mac_grid_is_inside(&c.s.grid, ijk) && c.s.rho[s] > threshold[kind] * 1500.0 &&
                            y.weights.cell_liquid[s] > fill[kind];
      assert_int_equal(y.cell_of[s] >= 0, expected);
      n_active[kind] += expected;
    }
    mac_system_destroy(&y), mac_scene_destroy(&c);
  }
  assert_true(n_active[0] > n_active[1] && n_active[0] > n_active[2] && n_active[2] > 100);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(dense_and_filled_cells_are_active))
