/* One round of moving particles apart, against its formulas, pair by pair and in double precision. */
#include "discretize/mac/mac_correction.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "test.h"
#include <string.h>

enum { CELLS = 6, N = 500 };
static const double h = 0.1, R = 0.1; /* two spacings */

/* Share of (1 - r^2)^3 beyond a plane at distance t, by Simpson's rule on its integral over planes. */
static double beyond(double t)
{
  enum { STEPS = 2000 };
  double part = 0.0, all = 0.0;
  if (t >= 1.0) return 0.0;
  for (int i = 0; i <= STEPS; ++i) {
    const double w = (i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0) / STEPS;
    const double u = t + (1.0 - t) * i / STEPS, v = -1.0 + 2.0 * i / STEPS;
    part += w * (1.0 - t) * pow(1.0 - u * u, 4), all += w * 2.0 * pow(1.0 - v * v, 4);
  }
  return part / all;
}

/* 1 - product of (1 - F) over the walls of a box [0, CELLS h]^3, of a point [R]. */
static double wall_density(const double x[3], bool is_closed)
{
  double free = 1.0;
  for (int a = 0; a < 3 && is_closed; ++a) free *= (1.0 - beyond(x[a] / R)) * (1.0 - beyond((CELLS * h - x[a]) / R));
  return 1.0 - free;
}

/* From x_p to the nearest image of x_q [R]. */
static double arm_to(const double (*x)[3], int p, int q, bool is_periodic, double d[3])
{
  for (int a = 0; a < 3; ++a) {
    d[a] = x[p][a] - x[q][a];
    if (is_periodic) d[a] -= CELLS * h * nearbyint(d[a] / (CELLS * h));
    d[a] /= R;
  }
  return v3_norm(d);
}

static double multiplier_of(const double (*x)[3], int p, bool is_periodic, double unit, double slack, double wall[3])
{
  double density = 0.0, total[3] = {0}, squares = 0.0;
  for (int a = 0; a < 3; ++a) { /* gradient [1/R] */
    double up[3] = {x[p][0], x[p][1], x[p][2]}, down[3] = {x[p][0], x[p][1], x[p][2]};
    up[a] += 1e-4 * R, down[a] -= 1e-4 * R;
    wall[a] = (wall_density(up, !is_periodic) - wall_density(down, !is_periodic)) / 2e-4;
  }
  for (int q = 0; q < N; ++q) {
    double       d[3];
    const double r = arm_to(x, p, q, is_periodic, d);
    if (r >= 1.0) continue;
    density += pow(1.0 - r * r, 3);
    if (q == p) continue;
    const double slope = -3.0 * (1.0 - r) * (1.0 - r) * unit / r;
    v3_axpy(total, slope, d), squares += slope * slope * r * r;
  }
  v3_add(total, total, wall);
  const double C = density * unit + wall_density(x[p], !is_periodic) - 1.0 - slack, usual = 0.75 * unit;
  return C > 0.0 ? -C / (squares + v3_dot(total, total) + 0.6 * usual * usual) : 0.0;
}

static void moves_are_those_of_the_formulas(void **unused)
{
  (void)unused;
  static const mac_wall walls[2][3][2] = {
      {{MAC_WALL_ROUGH, MAC_WALL_SMOOTH}, {MAC_WALL_SMOOTH, MAC_WALL_ROUGH}, {MAC_WALL_ROUGH, MAC_WALL_ROUGH}},
      {{MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}, {MAC_WALL_PERIODIC, MAC_WALL_PERIODIC}}};
  static const double  min[3]   = {0};
  static const int32_t cells[3] = {CELLS, CELLS, CELLS};
  const mac_packing    packing  = mac_packing_of(h * h * h / 8.0, R);
  const int64_t        n        = N;
  for (int kind = 0; kind < 4; ++kind) { /* walls or periodic; moves free or limited */
    const bool    is_periodic = kind % 2;
    const double  longest     = kind < 2 ? 1.0 : 0.1 * h;
    static double x[N][3], multiplier[N], wall[N][3], at[2][3][N];
    for (int i = 0; i < N; ++i) /* in a corner, three times too dense */
      for (int a = 0; a < 3; ++a) {
        x[i][a]     = random_range(3, (uint64_t)i, (uint64_t)a, 0.003, 0.25);
        at[0][a][i] = at[1][a][i] = is_periodic && x[i][a] < 0.12 ? CELLS * h - x[i][a] : x[i][a];
        x[i][a]                   = at[0][a][i];
      }
    mac_correction c = {0};
    for (int t = 0; t < 2; ++t) {
      mac_grid            g;
      bool                is_done    = true;
      double *const       to[1][3]   = {{at[t][0], at[t][1], at[t][2]}};
      const double *const from[1][3] = {{at[t][0], at[t][1], at[t][2]}};
      team_set_threads(1 + 2 * t);
      assert_ok(mac_grid_create(h, min, cells, walls[is_periodic], &g));
      assert_ok(mac_grid_build(&g, 1, &n, from, MAC_REACH));
      assert_ok(mac_correction_round(&c, &g, 1, &n, to, &packing, R, longest, 0, NULL, &is_done));
      assert_false(is_done);
      mac_grid_destroy(&g);
    }
    team_set_threads(1);
    assert_memory_equal(at[0], at[1], sizeof at[0]);
    int n_limited = 0;
    for (int p = 0; p < N; ++p) multiplier[p] = multiplier_of(x, p, is_periodic, 1.0 / packing.reference, packing.slack, wall[p]);
    for (int p = 0; p < N; ++p) {
      double move[3] = {0}, d[3];
      for (int q = 0; q < N; ++q) {
        const double r = arm_to(x, p, q, is_periodic, d);
        if (q != p && r < 1.0) v3_axpy(move, -3.0 * (1.0 - r) * (1.0 - r) / r / packing.reference * (multiplier[p] + multiplier[q]), d);
      }
      v3_axpy(move, multiplier[p], wall[p]);
      v3_scale(move, R, move);
      const double length = v3_norm(move);
      if (length > longest) v3_scale(move, longest / length, move), ++n_limited;
      for (int a = 0; a < 3; ++a) assert_close(at[0][a][p] - x[p][a], move[a], 2e-4 * R); /* single precision, and next to each other */
    }
    assert_true(kind < 2 ? n_limited == 0 : n_limited > N / 4);
    mac_correction_free(&c);
  }
  assert_no_leak();
}

/* The kernel over a lattice, and what next to walls seems too much: in a corner, along an edge and at a wall of a full box. */
static void a_lattice_is_not_too_dense(void **unused)
{
  (void)unused;
  const double      a   = 0.5 * h;
  const mac_packing p   = mac_packing_of(a * a * a, R);
  double            sum = 0.0, most = 0.0;
  for (int i = -2; i <= 2; ++i)
    for (int j = -2; j <= 2; ++j)
      for (int k = -2; k <= 2; ++k) sum += pow(fmax(0.0, 1.0 - (i * i + j * j + k * k) * 0.25), 3);
  assert_close(p.reference, sum, 1e-12 * sum);
  for (int q = 0; q < 27; ++q) { /* layers behind each wall; 2: none near */
    const int layer[3] = {q / 9, q / 3 % 3, q % 3};
    double    here = 0.0, free = 1.0;
    for (int i = -2; i <= 2; ++i)
      for (int j = -2; j <= 2; ++j)
        for (int k = -2; k <= 2; ++k)
          if (i >= -layer[0] && j >= -layer[1] && k >= -layer[2]) here += pow(fmax(0.0, 1.0 - (i * i + j * j + k * k) * 0.25), 3);
    for (int b = 0; b < 3; ++b) free *= 1.0 - beyond((layer[b] + 0.5) * a / R);
    most = fmax(most, here / sum - free);
  }
  assert_true(p.slack >= most && p.slack < most + 2e-3);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(moves_are_those_of_the_formulas), cmocka_unit_test(a_lattice_is_not_too_dense))
