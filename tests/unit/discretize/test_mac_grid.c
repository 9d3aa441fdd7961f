/* The staggered grid's blocks: all cells near particles and few others, in ascending order, wrapped where periodic, on any threads.
 * */
#include "test.h"
#include "core/random.h"
#include "core/team.h"
#include "discretize/mac/mac_grid.h"

enum { N = 60 };
static double              X[3][N];
static const double *const SET[1][3] = {{X[0], X[1], X[2]}};
static const mac_wall ROUGH[3][2] = {{MAC_WALL_ROUGH, MAC_WALL_OPEN}, {MAC_WALL_SMOOTH, MAC_WALL_ROUGH}, {MAC_WALL_ROUGH, MAC_WALL_ROUGH}};
static const mac_wall WRAPPED[3][2] = {
    {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_ROUGH, MAC_WALL_ROUGH}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}};
static const double  MIN[3] = {-1.0, 2.0, 0.5}, H = 0.25;
static const int32_t SIZE[3] = {50, 23, 37};

/* three clouds, one of them across a corner of the box */
static void particles(void)
{
  static const double center[3][3] = {{3.0, 5.0, 4.0}, {-1.0, 2.0, 0.5}, {11.4, 3.0, 9.6}};
  for (int p = 0; p < N; ++p)
    for (int a = 0; a < 3; ++a) X[a][p] = center[p % 3][a] + random_range(7, (uint64_t)p, (uint64_t)a, -0.3, 0.3);
}

static int32_t distance(const mac_grid *g, int axis, int32_t a, int32_t b)
{
  int32_t d = a > b ? a - b : b - a;
  if (mac_grid_is_periodic(g, axis) && g->n[axis] - d < d) d = g->n[axis] - d;
  return d;
}

static void blocks_stand_where_particles_reach(const mac_wall wall[3][2])
{
  mac_grid g;
  particles();
  assert_ok(mac_grid_create(H, MIN, SIZE, wall, &g));
  assert_ok(mac_grid_build(&g, 1, &(int64_t){N}, SET, 3));
  assert_int_equal(g.n_slots, 64 * g.n_blocks);
  assert_true(g.n_blocks > 0 && g.n_blocks < 100); /* the table has 13 x 6 x 10 */
  for (int p = 0; p < N; ++p) {
    const int32_t i = mac_grid_index(&g, 0, X[0][p]), j = mac_grid_index(&g, 1, X[1][p]), k = mac_grid_index(&g, 2, X[2][p]);
    for (int o = 0; o < 343; ++o) {
      const int32_t at[3]     = {i + o / 49 - 3, j + o / 7 % 7 - 3, k + o % 7 - 3};
      bool          is_stored = true;
      for (int a = 0; a < 3; ++a) is_stored = is_stored && (mac_grid_is_periodic(&g, a) || (at[a] >= 0 && at[a] <= SIZE[a]));
      const int64_t slot = mac_grid_slot(&g, at[0], at[1], at[2]);
      if (!is_stored) continue;
      assert_true(slot >= 0 && slot < g.n_slots);
      int32_t back[3];
      mac_grid_cell(&g, slot, back);
      for (int a = 0; a < 3; ++a)
        if (mac_grid_is_periodic(&g, a)) assert_int_equal((back[a] - at[a]) % SIZE[a], 0);
        else assert_int_equal(back[a], at[a]);
    }
  }
  /* no block without a particle within its own cells and three more, plus the block that particle shares its layers with */
  for (int64_t b = 0; b < g.n_blocks; ++b) {
    bool is_needed = false;
    for (int p = 0; p < N; ++p) {
      bool is_near = true;
      for (int a = 0; a < 3; ++a) {
        int32_t least = INT32_MAX;
        for (int32_t c = 4 * g.block[b][a]; c < 4 * g.block[b][a] + 4; ++c) {
          const int32_t d = distance(&g, a, c, mac_grid_index(&g, a, X[a][p]));
          if (d < least) least = d;
        }
        is_near = is_near && least <= 3 + 3;
      }
      is_needed = is_needed || is_near;
    }
    assert_true(is_needed);
    for (int a = 0; b > 0 && a < 3; ++a) {
      if (g.block[b][a] == g.block[b - 1][a]) continue;
      assert_true(g.block[b][a] > g.block[b - 1][a]);
      break;
    }
  }
  int64_t tile[MAC_TILE];
  for (int64_t b = 0; b < g.n_blocks; ++b) {
    mac_grid_tile(&g, b, tile);
    for (int l = 0; l < MAC_BLOCK; ++l) {
      int32_t at[3];
      mac_grid_cell(&g, 64 * b + l, at);
      if (mac_grid_is_inside(&g, at)) assert_int_equal(tile[mac_grid_tile_place(l)], 64 * b + l);
    }
  }
  mac_grid_destroy(&g);
}
static void blocks_in_a_box(void **unused)
{
  (void)unused, blocks_stand_where_particles_reach(ROUGH);
  assert_no_leak();
}
static void blocks_that_wrap(void **unused)
{
  (void)unused, blocks_stand_where_particles_reach(WRAPPED);
  assert_no_leak();
}

static void neighbours_wrap_by_cells(void **unused)
{
  (void)unused;
  mac_grid g;
  for (int p = 0; p < N; ++p) X[0][p] = MIN[0] - 0.1 * H, X[1][p] = 4.0, X[2][p] = MIN[2] + (SIZE[2] + 0.5) * H;
  assert_ok(mac_grid_create(H, MIN, SIZE, WRAPPED, &g));
  assert_ok(mac_grid_build(&g, 1, &(int64_t){1}, SET, 3));
  assert_int_equal(mac_grid_index(&g, 0, X[0][0]), SIZE[0] - 1); /* 50 and 37 are no multiples of 4 */
  assert_int_equal(mac_grid_index(&g, 2, X[2][0]), 0);
  assert_int_equal(mac_grid_slot(&g, SIZE[0], 8, -1), mac_grid_slot(&g, 0, 8, SIZE[2] - 1));
  assert_int_equal(mac_grid_slot(&g, -1, 8, SIZE[2]), mac_grid_slot(&g, SIZE[0] - 1, 8, 0));
  assert_true(mac_grid_slot(&g, -1, 8, 0) >= 0);
  mac_grid_destroy(&g);
  assert_no_leak();
}

static void the_same_on_any_number_of_threads(void **unused)
{
  (void)unused;
  mac_grid g[3];
  particles();
  for (int t = 0; t < 3; ++t) {
    team_set_threads(t + 1);
    assert_ok(mac_grid_create(H, MIN, SIZE, WRAPPED, &g[t]));
    assert_ok(mac_grid_build(&g[t], 1, &(int64_t){N}, SET, 3));
    assert_int_equal(g[t].n_blocks, g[0].n_blocks);
    assert_memory_equal(g[t].block, g[0].block, (size_t)g[0].n_blocks * sizeof *g[0].block);
  }
  team_set_threads(1);
  for (int t = 0; t < 3; ++t) mac_grid_destroy(&g[t]);
  assert_no_leak();
}

static void invalid_grids_are_rejected(void **unused)
{
  (void)unused;
  mac_grid       g;
  const mac_wall half[3][2] = {{MAC_WALL_PERIODIC, MAC_WALL_OPEN}};
  assert_int_equal(mac_grid_create(0.0, MIN, SIZE, ROUGH, &g), PETSC_ERR_USER_INPUT);
  assert_int_equal(mac_grid_create(H, MIN, (int32_t[3]){4, 0, 4}, ROUGH, &g), PETSC_ERR_USER_INPUT);
  assert_int_equal(mac_grid_create(H, MIN, (int32_t[3]){100000, 100000, 100000}, ROUGH, &g), PETSC_ERR_USER_INPUT);
  assert_int_equal(mac_grid_create(H, MIN, SIZE, half, &g), PETSC_ERR_USER_INPUT);
  mac_grid_destroy(&g);
  assert_ok(mac_grid_create(H, MIN, (int32_t[3]){1, 1, 1}, ROUGH, &g)); /* one cell is the smallest grid */
  mac_grid_destroy(&g);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(blocks_in_a_box), cmocka_unit_test(blocks_that_wrap), cmocka_unit_test(neighbours_wrap_by_cells),
          cmocka_unit_test(the_same_on_any_number_of_threads), cmocka_unit_test(invalid_grids_are_rejected))
