/* Shear rates on the staggered grid, and the friction mu(I). */
#include "test.h"
#include "mac_fixture.h"
#include "sim/monolith/monolith_rheology.h"

enum { N = 9 };
#define H 0.1

static double *doubles(int64_t n)
{
  double *x = NULL;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  return x;
}

/* u = A x without change of volume: rate = sqrt(2 e:e) in every cell away from the walls, in every arrangement and basis. */
static void rates(void **unused)
{
  (void)unused;
  static const double A[9]   = {0.3, 1.1, -0.4, 0.2, 0.5, 0.9, -0.7, 0.6, -0.8};
  double              square = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) square += 0.25 * (A[3 * i + j] + A[3 * j + i]) * (A[3 * i + j] + A[3 * j + i]);
  for (int arrangement = 0; arrangement < 2; ++arrangement)
    for (int basis = 0; basis < 2; ++basis) {
      mac_scene         c;
      mac_scene_spec    m       = {.h = H, .n = {N, N, N}, .wall = MAC_ALL_ROUGH, .density = 1500.0, .friction = 0.5};
      mac_system        y       = {0};
      monolith_rheology r       = {0};
      int64_t           n_inner = 0;
      mac_scene_create(&c, &m);
      c.o.arrangement = arrangement, c.o.basis = basis;
      assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
      assert_ok(monolith_rheology_create(&y, &c.s, &r));
      double *u = doubles(y.n_faces), *rate = doubles(y.n_cells);
      for (int64_t f = 0; f < y.n_faces; ++f) {
        const int d = y.face_axis[f];
        double    x[3];
        mac_cell_center(&c.s.grid, y.face_slot[f], x);
        x[d] -= 0.5 * H;
        u[f] = v3_dot(A + 3 * d, x);
      }
      monolith_rheology_rate(&r, u, rate);
      for (int64_t i = 0; i < y.n_cells; ++i) {
        bool is_inner = true;
        for (int k = 0; k < 3; ++k) is_inner = is_inner && y.ijk[i][k] >= 2 && y.ijk[i][k] < N - 2;
        n_inner += is_inner;
        if (is_inner) assert_close(rate[i], sqrt(2.0 * square), 1e-12);
      }
      assert_int_equal(n_inner, (N - 4) * (N - 4) * (N - 4));
      memory_free(&u), memory_free(&rate);
      monolith_rheology_destroy(&r), mac_system_destroy(&y), mac_scene_destroy(&c);
    }
  assert_no_leak();
}

/* Simple shear at pressure p: M(I) between M at rest and M_2, at I = I_0 in the middle. */
static void inertial_number(void **unused)
{
  (void)unused;
  const double constant[MAC_MU_I_CONSTANTS] = {0.3, 0.25, 0.002, 2500.0}, p = 800.0;
  const double middle = constant[1] * sqrt(p / constant[3]) / constant[2], gamma[3] = {0.0, middle, 1e9 * middle},
               expected[3] = {0.5, 0.65, 0.8};
  mac_scene         c;
  mac_scene_spec    m = {.h = H, .n = {N, N, N}, .wall = MAC_ALL_ROUGH, .density = 1500.0, .friction = 0.5};
  mac_system        y = {0};
  monolith_rheology r = {0};
  mac_scene_create(&c, &m);
  for (int k = 0; k < MAC_MU_I_CONSTANTS; ++k) {
    c.s.mu_i[k] = doubles(c.s.grid.n_slots);
    for (int64_t i = 0; i < c.s.grid.n_slots; ++i) c.s.mu_i[k][i] = constant[k];
  }
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  assert_ok(monolith_rheology_create(&y, &c.s, &r));
  double *u = doubles(y.n_faces), *alpha = doubles(y.n_cells), *pressure = doubles(y.n_cells);
  for (int64_t i = 0; i < y.n_cells; ++i) pressure[i] = p;
  const int64_t at = y.cell_of[mac_grid_slot(&c.s.grid, N / 2, N / 2, N / 2)];
  for (int k = 0; k < 3; ++k) {
    for (int64_t f = 0; f < y.n_faces; ++f) {
      double x[3];
      mac_cell_center(&c.s.grid, y.face_slot[f], x);
      u[f] = y.face_axis[f] == 0 ? gamma[k] * x[2] : 0.0;
    }
    r.is_begun = false;
    monolith_rheology_alpha(&r, pressure, u, alpha);
    assert_close(alpha[at] / M_SQRT2, expected[k], k == 2 ? 1e-8 : 1e-12);
  }
  /* after the first iteration of a step only a part of the change is taken, converging to all of it */
  const double wanted = M_SQRT2 * expected[1], start = M_SQRT2 * expected[2];
  y.dt = 10.0;                                          /* long, for so coarse a grid */
  for (int64_t f = 0; f < y.n_faces; ++f) u[f] *= 1e-9; /* gamma[1] */
  monolith_rheology_alpha(&r, pressure, u, alpha);
  assert_true(alpha[at] < start - 1e-3 && alpha[at] > wanted + 1e-3);
  for (int k = 0; k < 2000; ++k) monolith_rheology_alpha(&r, pressure, u, alpha);
  assert_close(alpha[at], wanted, 1e-9);
  /* a cell inside a solid, which transmits stress of the adjacent material, has no density and no constants: its friction is
   * unchanged */
  y.rest_density[at] = 0.0;
  for (int k = 0; k < MAC_MU_I_CONSTANTS; ++k) c.s.mu_i[k][y.cell_slot[at]] = 0.0;
  r.is_begun = false;
  for (int k = 0; k < 2; ++k) monolith_rheology_alpha(&r, pressure, u, alpha);
  assert_close(alpha[at], M_SQRT2 * 0.5, 1e-15);
  memory_free(&u), memory_free(&alpha), memory_free(&pressure);
  for (int k = 0; k < MAC_MU_I_CONSTANTS; ++k) memory_free(&c.s.mu_i[k]);
  monolith_rheology_destroy(&r), mac_system_destroy(&y), mac_scene_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(rates), cmocka_unit_test(inertial_number))
