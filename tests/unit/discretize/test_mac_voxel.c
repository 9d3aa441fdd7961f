/* Fractions of the continuum rounded to voxels, against those by volume. */
#include "test.h"
#include "mac_fixture.h"

static bool below_a_slope(const double x[3]) { return x[1] < 0.35 - 0.3 * x[0] + 0.1 * x[2]; }

/* The neighbour of a cell that lies so many cells back; mirrored at the lower walls, which is itself. */
static int64_t back(const mac_grid *g, int64_t slot, int i, int j, int k)
{
  int32_t at[3];
  mac_grid_cell(g, slot, at);
  at[0] = at[0] > 0 ? at[0] - i : 0, at[1] = at[1] > 0 ? at[1] - j : 0, at[2] = at[2] > 0 ? at[2] - k : 0;
  return mac_grid_slot(g, at[0], at[1], at[2]);
}

static void voxels_are_full_or_empty(void **state)
{
  (void)state;
  mac_scene      c;
  mac_scene_spec m = {
      .h = 0.05, .n = {11, 9, 10}, .wall = MAC_ALL_ROUGH, .is_filled = below_a_slope, .density = 1000.0, .jitter = 0.5};
  mac_system     volume = {0}, voxel = {0};
  int            n[3] = {0};
  mac_scene_create(&c, &m);
  c.o.fractions = MAC_FRACTIONS_VOLUME;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &volume));
  c.o.fractions = MAC_FRACTIONS_VOXEL;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &voxel));
  const mac_grid *g = &c.s.grid;
  for (int64_t slot = 0; slot < g->n_slots; ++slot) {
    int32_t ijk[3];
    mac_grid_cell(g, slot, ijk);
    if (!mac_grid_is_inside(g, ijk)) continue;
    const double *full = voxel.weights.cell_liquid;
    const double  was  = volume.weights.cell_liquid[slot];
    assert_close(full[slot], was >= 0.5, 0.0);
    n[was == 0.0 ? 0 : was == 1.0 ? 1 : 2]++;
    for (int a = 0; a < 3; ++a) {
      const int64_t behind = back(g, slot, a == 0, a == 1, a == 2);
      if (behind >= 0) assert_close(voxel.weights.face_liquid[a][slot], fmax(full[slot], full[behind]), 0.0);
      const int64_t e[3] = {back(g, slot, a == 2, a == 0, a == 1), back(g, slot, a == 1, a == 2, a == 0),
                            back(g, slot, a != 0, a != 1, a != 2)};
      if (e[0] >= 0 && e[1] >= 0 && e[2] >= 0)
        assert_close(voxel.weights.edge_liquid[a][slot], fmax(fmax(full[slot], full[e[0]]), fmax(full[e[1]], full[e[2]])), 0.0);
    }
  }
  for (int k = 0; k < 3; ++k) assert_true(n[k] > 50); /* empty, full, cut */
  mac_system_destroy(&volume), mac_system_destroy(&voxel), mac_scene_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(voxels_are_full_or_empty))
