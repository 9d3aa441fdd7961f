/* Particles by cell: each is in the cell it belongs to, once, in the order of sets and indices. */
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "discretize/mac/mac_bins.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { SETS = 2, MOST = 700 };
static const int64_t n[SETS] = {700, 300};
static double        x[SETS][3][MOST];

/* Some lie outside the box: they count for its nearest cell, or wrap. */
static void scatter(uint64_t seed, bool is_sorted)
{
  for (int s = 0; s < SETS; ++s)
    for (int64_t i = 0; i < n[s]; ++i)
      for (int a = 0; a < 3; ++a) x[s][a][i] = is_sorted ? 0.55 : random_range(seed, (uint64_t)(s * MOST + i), (uint64_t)a, -0.15, 1.15);
}

static void each_is_in_its_cell(void **unused)
{
  (void)unused;
  static const double   min[3]     = {0.1, 0.0, -0.05};
  static const int32_t  cells[3]   = {9, 10, 11};
  static const mac_wall open[3][2] = {
      {MAC_WALL_ROUGH, MAC_WALL_ROUGH}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_OPEN, MAC_WALL_SMOOTH}};
  const double *const at[SETS][3] = {{x[0][0], x[0][1], x[0][2]}, {x[1][0], x[1][1], x[1][2]}};
  mac_grid            g;
  mac_bins            b = {0}, again = {0};
  assert_ok(mac_grid_create(0.1, min, cells, open, &g));
  for (int round = 0; round < 3; ++round) { /* into what is there, also where nothing needs to be sorted */
    bool seen[SETS][MOST] = {{false}};
    scatter((uint64_t)round, round == 2);
    assert_ok(mac_grid_build(&g, SETS, n, at, MAC_REACH));
    assert_ok(mac_bins_fill(&b, &g, SETS, n, at));
    assert_int_equal(b.n, n[0] + n[1]);
    assert_int_equal(b.start[0], 0);
    assert_int_equal(b.start[g.n_slots], b.n);
    for (int64_t slot = 0; slot < g.n_slots; ++slot) {
      int32_t cell[3];
      mac_grid_cell(&g, slot, cell);
      for (int32_t q = b.start[slot]; q < b.start[slot + 1]; ++q) {
        const int     s = b.order[q] >= n[0];
        const int64_t i = b.order[q] - (s ? n[0] : 0);
        assert_true(i >= 0 && i < n[s] && !seen[s][i]);
        seen[s][i] = true;
        if (q > b.start[slot]) assert_true(b.order[q] > b.order[q - 1]);
        for (int a = 0; a < 3; ++a) {
          const double wrapped = a == 1 ? x[s][a][i] - floor(x[s][a][i]) : x[s][a][i], k = (wrapped - min[a]) / 0.1;
          const int    nearest = k < 0.0 ? 0 : k >= cells[a] ? cells[a] - 1 : (int)k;
          assert_close(b.x[a][q], wrapped, 1e-15);
          assert_int_equal(cell[a], nearest);
        }
      }
    }
    team_set_threads(3);
    assert_ok(mac_bins_fill(&again, &g, SETS, n, at));
    team_set_threads(1);
    assert_memory_equal(again.order, b.order, (size_t)b.n * sizeof *b.order);
    assert_memory_equal(again.start, b.start, (size_t)(g.n_slots + 1) * sizeof *b.start);
    for (int a = 0; a < 3; ++a) assert_memory_equal(again.x[a], b.x[a], (size_t)b.n * sizeof *b.x[a]);
  }
  mac_bins_destroy(&b), mac_bins_destroy(&again);
  mac_grid_destroy(&g);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(each_is_in_its_cell))
