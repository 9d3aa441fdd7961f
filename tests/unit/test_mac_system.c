/* The operators of the staggered grid: what linear fields give, duality, momentum, statics, forces on solids. */
#include "test.h"
#include "core/team.h"
#include "mac_fixture.h"
#include <string.h>

enum { N = 14 };
static bool everywhere(const double x[3]) { return x[0] == x[0]; }
static mac_scene_spec scene_spec(const mac_wall (*wall)[2])
{
  return (mac_scene_spec){.h = 0.05, .min = {-0.2, 0.1, 0.3}, .n = {N, N + 1, N + 2}, .wall = wall, .is_filled = everywhere, .density = 1500.0,
                          .friction = 0.5, .jitter = 0.6};
}
static bool is_inner(const mac_grid *g, const int32_t ijk[3], int layers)
{
  for (int a = 0; a < 3; ++a)
    if (ijk[a] < layers || ijk[a] >= g->n[a] - layers) return false;
  return true;
}
static double *doubles(int64_t n)
{
  double *x = NULL;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  return x;
}

/* -grad p and div s of linear fields at faces inside, in every arrangement and basis */
static void linear_fields(int arrangement, int basis)
{
  static const double slope[3] = {3.0, -5.0, 7.0}, rate[MAC_STRESSES][3] = {{1.0, 2.0, 3.0}, {-2.0, 1.0, 4.0}, {3.0, 1.0, -2.0}, {1.0, -4.0, 2.0}, {2.0, 5.0, 1.0}};
  mac_scene      c;
  mac_scene_spec m = scene_spec(MAC_ALL_ROUGH);
  mac_system     y = {0};
  mac_scene_create(&c, &m);
  c.o.arrangement = arrangement, c.o.basis = basis;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &y));
  assert_int_equal(y.n_cells, (int64_t)N * (N + 1) * (N + 2));
  if (arrangement == MAC_COLOCATED) assert_int_equal(y.n_stress, 5 * y.n_cells);
  double *p = doubles(y.n_cells), *s = doubles(y.n_stress), *force_p = doubles(y.n_faces), *force_s = doubles(y.n_faces);
  for (int64_t i = 0; i < y.n_cells; ++i) {
    double x[3];
    mac_cell_center(&c.s.grid, y.cell_slot[i], x);
    p[i] = 11.0 + v3_dot(slope, x);
  }
  for (int64_t i = 0; i < y.n_stress; ++i) {
    double x[3];
    mac_cell_center(&c.s.grid, y.stress_slot[i], x);
    const int o = 4 - y.component[i];
    for (int a = 0; arrangement == MAC_STAGGERED && y.component[i] > 1 && a < 3; ++a) x[a] -= a == o ? 0.0 : 0.5 * c.s.grid.h;
    s[i] = 2.0 + v3_dot(rate[y.component[i]], x);
  }
  sparse_rows_apply(&y.GT, p, force_p);
  sparse_rows_apply(&y.DT, s, force_s);
  double gradient[3][6], expected[3] = {0};
  for (int b = 0; b < 3; ++b) {
    double five[MAC_STRESSES];
    for (int q = 0; q < MAC_STRESSES; ++q) five[q] = rate[q][b];
    mac_stress_tensor(basis, five, gradient[b]);
  }
  static const int place[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}}; /* of xx yy zz xy xz yz */
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) expected[a] -= gradient[b][place[a][b]];
  int64_t n_tested = 0;
  for (int64_t f = 0; f < y.n_faces; ++f) {
    int32_t ijk[3];
    mac_grid_cell(&c.s.grid, y.face_slot[f], ijk);
    if (!is_inner(&c.s.grid, ijk, 2)) continue;
    assert_close(force_p[f], slope[y.face_axis[f]], 1e-11);
    assert_close(force_s[f], expected[y.face_axis[f]], 1e-11);
    ++n_tested;
  }
  assert_true(n_tested > 2000);
  memory_free(&p), memory_free(&s), memory_free(&force_p), memory_free(&force_s);
  mac_system_destroy(&y), mac_scene_destroy(&c);
}
static void linear_fields_give_constant_forces(void **unused)
{
  (void)unused;
  for (int arrangement = 0; arrangement < 2; ++arrangement)
    for (int basis = 0; basis < 2; ++basis) linear_fields(arrangement, basis);
  assert_no_leak();
}

/* Uniform pressure pushes a body inside the material nowhere; a linear one as Archimedes says. */
static void force_of_pressure(const mac_system *y, int32_t solid, double constant, const double slope[3], const mac_grid *g, double total[6])
{
  for (int d = 0; d < 6; ++d) total[d] = 0.0;
  for (int64_t q = 0; q < y->F_p.n; ++q) {
    double x[3];
    if (y->F_p.solid[q] != solid) continue;
    mac_cell_center(g, y->cell_slot[y->F_p.sample[q]], x);
    for (int d = 0; d < 6; ++d) total[d] += (constant + v3_dot(slope, x)) * y->F_p.wrench[q][d];
  }
}
static void archimedes(void **unused)
{
  (void)unused;
  static const double none[3] = {0}, slope[3] = {300.0, -200.0, 500.0}, half[3] = {0.11, 0.08, 0.06};
  double              previous = 0.0;
  for (int level = 0; level < 3; ++level) {
    const int32_t  n = 12 << level;
    mac_scene      c;
    mac_scene_spec m = {.h = 0.6 / n, .n = {n, n, n}, .wall = MAC_ALL_ROUGH, .density = 1000.0, .friction = 0.4};
    mac_system     y = {0};
    level_set     *box;
    mac_scene_create(&c, &m);
    assert_ok(level_set_box((double[3]){-half[0], -half[1], -half[2]}, half, &box));
    mac_solid solid = {.n = 1, .sets = &box, .frame = mac_frame_at(0.31, 0.287, 0.305), .is_unknown = true, .friction = INFINITY};
    const double angle = 0.5;
    solid.frame.R[0] = solid.frame.R[4] = cos(angle), solid.frame.R[1] = -sin(angle), solid.frame.R[3] = sin(angle);
    assert_ok(mac_system_assemble(&c.s, &c.o, 1, &solid, 0.01, &y));
    double uniform[6], linear[6], error = 0.0;
    force_of_pressure(&y, 0, 1e4, none, &c.s.grid, uniform);
    force_of_pressure(&y, 0, 0.0, slope, &c.s.grid, linear);
    for (int d = 0; d < 6; ++d) assert_close(uniform[d], 0.0, 1e-10);
    const double volume = 8.0 * half[0] * half[1] * half[2];
    for (int d = 0; d < 3; ++d) error = fmax(error, fabs(linear[d] + volume * slope[d]) / (volume * 500.0));
    for (int d = 3; d < 6; ++d) error = fmax(error, fabs(linear[d]) / (volume * 500.0 * 0.1));
    print_message("h = %g: error %.3g\n", m.h, error);
    assert_true(error < 0.6 * c.s.grid.h * c.s.grid.h / (half[2] * half[2]));
    if (level > 0) assert_true(error < previous / 3.0);
    previous = error;
    mac_system_destroy(&y), level_set_destroy(&box), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(linear_fields_give_constant_forces), cmocka_unit_test(archimedes))
