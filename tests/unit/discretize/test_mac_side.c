/* Sides of the mac domain as bodies: planes of the box with normals into it, at rest and without unknowns. */
#include "discretize/mac/mac_side.h"
#include "mac_domain_fixture.h"

static void sides_are_planes(void **state)
{
  (void)state;
  const int   n[3]   = {4, 6, 8};
  mac_options o      = fixture_options(n, 0.1);
  fixture_box.min[0] = -0.3, fixture_box.max[0] = 0.1;
  static const mac_wall kind[4]    = {MAC_WALL_ROUGH, MAC_WALL_SMOOTH, MAC_WALL_OPEN, MAC_WALL_PERIODIC};
  const double          gravity[3] = {0.0, 0.0, -9.81};
  for (int axis = 0; axis < 3; ++axis)
    for (int upper = 0; upper < 2; ++upper) {
      body        *b;
      double       normal[3], x[3] = {0.01, 0.02, 0.03};
      int          n_sets;
      rigid_frame  frame;
      body_totals  totals;
      const double border = upper ? fixture_box.max[axis] : fixture_box.min[axis];
      assert_close(mac_side_plane(&o, axis, upper, normal), upper ? -border : border, 1e-15);
      for (int k = 0; k < 3; ++k) assert_close(normal[k], k != axis ? 0.0 : upper ? -1.0 : 1.0, 0.0);
      for (int k = 0; k < 4; ++k) {
        fixture_walls.side[axis][upper] = kind[k];
        assert_int_equal(mac_side_is_solid(&o, axis, upper), k < 2);
      }
      assert_ok(mac_side_create(&o, axis, upper, &b));
      assert_string_equal(b->name, mac_side_name[axis][upper]);
      level_set *const *set = b->ops->level_sets(b, &n_sets);
      assert_int_equal(n_sets, 1);
      x[axis] = border + (upper ? -0.07 : 0.07);
      assert_close(level_set_value(set[0], x), 0.07, 1e-15);
      assert_non_null(b->ops->solids(b, &n_sets));
      assert_int_equal(n_sets, 1);
      b->ops->frame(b, 0.3, 0.1, NULL, &frame);
      assert_int_equal(frame.block, -1);
      for (int k = 0; k < 9; ++k) assert_true(frame.R[k] == (k % 4 == 0) && frame.Jl[k] == (k % 4 == 0));
      for (int k = 0; k < 3; ++k) assert_true(frame.c[k] == 0.0 && frame.v[k] == 0.0 && frame.w[k] == 0.0);
      memset(&totals, 1, sizeof totals);
      assert_ok(b->ops->totals(b, gravity, &totals));
      assert_true(totals.mass == 0.0 && totals.kinetic == 0.0 && totals.potential == 0.0);
      b->ops->destroy(&b);
    }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(sides_are_planes))
