/* Extrapolation to layers of faces around the known ones: sources of each face, and conservation of momentum. */
#include "discretize/mac/mac_velocity.h"
#include <string.h>
#include "core/team.h"
#include "core/memory.h"
#include "test.h"
#include "mac_fixture.h"

enum { CELLS = 14 };

static int shift; /* which third of the faces on a side; 0: the face with the first number is known */

/* Faces are known in a lump of cells that depends on the axis, and every third one on a side of the box. */
static bool is_known(const mac_grid *g, int axis, int64_t slot)
{
  int32_t at[3];
  double  d2 = 0.0;
  mac_grid_cell(g, slot, at);
  for (int a = 0; a < 3; ++a) d2 += (at[a] - 6.0) * (at[a] - 6.0);
  return mac_grid_has_face(g, axis, slot) && (d2 < 4.0 + axis || (at[axis] == 0 && (at[0] + at[1] + at[2]) % 3 == shift));
}

typedef struct {
  mac_grid g;
  uint8_t *layer[3];
  double  *u[3], *mass[3];
} faces;

static void make(faces *f, const mac_wall wall[3][2], int n)
{
  const double  min[3] = {0}, x0[3] = {6.5, 6.5, 6.5}, x1[3] = {0.5, 0.5, 0.5}, *x[1][3];
  const int32_t cells[3] = {n, n, n};
  double        all[3][2];
  const int64_t n_points = 2;
  for (int a = 0; a < 3; ++a) all[a][0] = x0[a], all[a][1] = x1[a], x[0][a] = all[a];
  assert_ok(mac_grid_create(1.0, min, cells, wall, &f->g));
  assert_ok(mac_grid_build(&f->g, 1, &n_points, (const double *const(*)[3])x, 4));
  for (int a = 0; a < 3; ++a) {
    assert_ok(memory_alloc("layer", f->g.n_slots, 1, &f->layer[a]));
    assert_ok(memory_alloc("u", f->g.n_slots, sizeof(double), &f->u[a]));
    assert_ok(memory_alloc("mass", f->g.n_slots, sizeof(double), &f->mass[a]));
    for (int64_t s = 0; s < f->g.n_slots; ++s) {
      const bool is_there = mac_grid_has_face(&f->g, a, s);
      f->layer[a][s]      = !is_known(&f->g, a, s);
      f->u[a][s]          = is_there ? random_range(1, (uint64_t)s, (uint64_t)a, -1.0, 1.0) : 0.0;
      f->mass[a][s]       = is_there ? fmax(0.0, random_range(2, (uint64_t)s, (uint64_t)a, -0.5, 1.0)) : 0.0;
    }
  }
}
static void unmake(faces *f)
{
  for (int a = 0; a < 3; ++a) memory_free(&f->layer[a]), memory_free(&f->u[a]), memory_free(&f->mass[a]);
  mac_grid_destroy(&f->g);
}

/* The layer is the number of steps over faces of the box to the nearest known one, at most two; velocities come from one layer
 * further in, each the mean of its neighbours there. Faces in no layer keep their values. */
static void layers_are_extrapolated(void **unused)
{
  (void)unused;
  const mac_wall(*const walls[2])[2] = {MAC_ALL_ROUGH, MAC_ALL_PERIODIC};
  for (int kind = 0; kind < 2; ++kind) {
    faces   f;
    int64_t n_second = 0, n_none = 0;
    make(&f, walls[kind], CELLS);
    double *before;
    assert_ok(memory_alloc("u", f.g.n_slots, sizeof *before, &before));
    assert_ok(mac_velocity_layers(&f.g, f.layer));
    for (int a = 0; a < 3; ++a) {
      memcpy(before, f.u[a], (size_t)f.g.n_slots * sizeof *before);
      mac_velocity_extrapolate(&f.g, f.layer, f.u); /* a second time changes nothing */
      for (int64_t s = 0; s < f.g.n_slots; ++s) {
        int32_t at[3];
        double  sum = 0.0;
        int     n = 0, nearest = MAC_NO_LAYER;
        if (!mac_grid_has_face(&f.g, a, s)) continue;
        mac_grid_cell(&f.g, s, at);
        for (int q = 0; q < 6; ++q) {
          int32_t beside[3] = {at[0], at[1], at[2]};
          beside[q / 2] += q % 2 ? 1 : -1;
          const int64_t other = mac_grid_slot(&f.g, beside[0], beside[1], beside[2]);
          if (other < 0 || !mac_grid_has_face(&f.g, a, other)) continue;
          if (f.layer[a][other] < nearest) nearest = f.layer[a][other];
          if (f.layer[a][other] == f.layer[a][s] - 1) sum += f.u[a][other], ++n;
        }
        const int expected = is_known(&f.g, a, s) ? 0 : nearest < MAC_LAYERS ? nearest + 1 : MAC_NO_LAYER;
        assert_int_equal(f.layer[a][s], expected);
        assert_close(f.u[a][s], n && expected != MAC_NO_LAYER ? sum / n : before[s], 1e-15);
        n_second += expected == 2, n_none += expected == MAC_NO_LAYER;
      }
    }
    assert_true(n_second > 100 && n_none > 100);
    memory_free(&before);
    unmake(&f);
  }
  assert_no_leak();
}

/* Across a border between blocks, from either side: a block that has nothing to give takes from its neighbour. */
static void extrapolation_crosses_block_borders(void **unused)
{
  (void)unused;
  for (int q = 0; q < 6; ++q) {
    faces  f;
    double mass[2] = {0.0};
    make(&f, MAC_ALL_ROUGH, CELLS);
    for (int a = 0; a < 3; ++a)
      for (int64_t s = 0; s < f.g.n_slots; ++s) {
        int32_t at[3];
        mac_grid_cell(&f.g, s, at);
        f.layer[a][s] = !(mac_grid_has_face(&f.g, a, s) && (at[q / 2] < 2 * MAC_SIDE) == q % 2);
        mass[0] += f.mass[a][s];
      }
    assert_ok(mac_velocity_layers(&f.g, f.layer));
    for (int a = 0; a < 3; ++a)
      for (int64_t s = 0; s < f.g.n_slots; ++s) mass[1] -= f.layer[a][s] == MAC_NO_LAYER ? f.mass[a][s] : 0.0;
    mass[0] += mass[1], mass[1] = 0.0;
    assert_ok(mac_velocity_transfer_mass(&f.g, f.layer, f.mass, f.u));
    for (int a = 0; a < 3; ++a)
      for (int64_t s = 0; s < f.g.n_slots; ++s) mass[1] += f.layer[a][s] == 0 ? f.mass[a][s] : 0.0;
    assert_close(mass[1], mass[0], 1e-13 * mass[0]);
    unmake(&f);
  }
  assert_no_leak();
}

/* Mass and momentum that are transferred inwards are complete, and for any change of the known faces all that follow together have
 * the momentum of what they carry. Same bits on any number of threads. */
static void check_momentum(void)
{
  const mac_wall(*const walls[3])[2] = {MAC_ALL_ROUGH, MAC_ALL_PERIODIC, MAC_ALL_PERIODIC};
  for (int kind = 0; kind < 3; ++kind) {
    faces f[2];
    for (int t = 0; t < 2; ++t) {
      team_set_threads(1 + 2 * t);
      make(&f[t], walls[kind], kind == 2 ? CELLS - 1 : CELLS); /* whole blocks do not fit a period */
      double *own[3], mass[2] = {0.0}, momentum[2] = {0.0}, after[2] = {0.0};
      for (int a = 0; a < 3; ++a) {
        assert_ok(memory_alloc("own", f[t].g.n_slots, sizeof(double), &own[a]));
        memcpy(own[a], f[t].mass[a], (size_t)f[t].g.n_slots * sizeof(double));
        for (int64_t s = 0; s < f[t].g.n_slots; ++s) mass[0] += own[a][s], momentum[0] += own[a][s] * f[t].u[a][s];
      }
      assert_ok(mac_velocity_layers(&f[t].g, f[t].layer));
      assert_ok(mac_velocity_transfer_mass(&f[t].g, f[t].layer, f[t].mass, f[t].u));
      for (int a = 0; a < 3; ++a)
        for (int64_t s = 0; s < f[t].g.n_slots; ++s) {
          const int layer = f[t].layer[a][s];
          if (layer > 0 && layer != MAC_NO_LAYER) continue;
          mass[1] += f[t].mass[a][s], momentum[1] += f[t].mass[a][s] * f[t].u[a][s];
          f[t].u[a][s] = random_range(3, (uint64_t)s, (uint64_t)a, -1.0, 1.0);
          after[0] += f[t].mass[a][s] * f[t].u[a][s];
        }
      mac_velocity_extrapolate(&f[t].g, f[t].layer, f[t].u);
      for (int a = 0; a < 3; ++a)
        for (int64_t s = 0; s < f[t].g.n_slots; ++s) after[1] += own[a][s] * f[t].u[a][s];
      assert_close(mass[1], mass[0], 1e-13 * mass[0]);
      assert_close(momentum[1], momentum[0], 1e-13 * mass[0]);
      assert_close(after[1], after[0], 1e-13 * mass[0]);
      for (int a = 0; a < 3; ++a) memory_free(&own[a]);
    }
    team_set_threads(1);
    for (int a = 0; a < 3; ++a) {
      assert_memory_equal(f[0].mass[a], f[1].mass[a], (size_t)f[0].g.n_slots * sizeof(double));
      assert_memory_equal(f[0].u[a], f[1].u[a], (size_t)f[0].g.n_slots * sizeof(double));
    }
    unmake(&f[0]), unmake(&f[1]);
  }
  assert_no_leak();
}

static void extrapolation_conserves_momentum(void **unused)
{
  (void)unused;
  for (shift = 0; shift < 3; ++shift) check_momentum();
  shift = 0;
}

TEST_MAIN(cmocka_unit_test(layers_are_extrapolated), cmocka_unit_test(extrapolation_crosses_block_borders),
          cmocka_unit_test(extrapolation_conserves_momentum))
