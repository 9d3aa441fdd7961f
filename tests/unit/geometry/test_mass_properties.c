/* Volume, centre and inertia of tetrahedra and boxes against closed forms; rigid motions. */
#include "geometry/primitive/mass_properties.h"
#include "core/math3.h"
#include "test.h"

/* The unit corner tetrahedron: volume 1/6, centre 1/4; int x^2 = 1/60, int x y = 1/120, so that about the centre
 * I_xx = 2 (1/60 - 1/96) = 1/80 and I_xy = -(1/120 - 1/96) = 1/480. */
static void tetrahedron(void **state)
{
  (void)state;
  const double corner[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, origin[3] = {10, 20, 30};
  mass_sum     s = {0};
  mass_sum_add(&s, 1.0 / 6.0, 3, corner);
  const mass_properties p = mass_sum_properties(&s, origin);
  assert_close(p.volume, 1.0 / 6.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    assert_close(p.center[i], origin[i] + 0.25, 1e-14);
    for (int j = 0; j < 3; ++j) assert_close(p.inertia[3 * i + j], i == j ? 1.0 / 80.0 : 1.0 / 480.0, 1e-16);
  }
}

/* A box a x b x c of five tetrahedra, corners relative to a distant point: inertia V/12 (b^2 + c^2) and so on. */
static void box(void **state)
{
  (void)state;
  static const int four[5][4] = {{0, 3, 5, 6}, {1, 0, 3, 5}, {2, 0, 3, 6}, {4, 0, 5, 6}, {7, 3, 5, 6}};
  const double     side[3] = {0.5, 2, 3}, volume = 3, at[3] = {1, -2, 4}, zero[3] = {0, 0, 0};
  mass_sum         s = {0};
  for (int t = 0; t < 5; ++t) {
    double corner[4][3];
    for (int q = 0; q < 4; ++q)
      for (int k = 0; k < 3; ++k) corner[q][k] = at[k] + (four[t][q] >> k & 1 ? side[k] : 0.0);
    mass_sum_add(&s, volume * (t ? 1.0 / 6.0 : 1.0 / 3.0), 4, corner);
  }
  const mass_properties p      = mass_sum_properties(&s, zero);
  const double          square = side[0] * side[0] + side[1] * side[1] + side[2] * side[2];
  assert_close(p.volume, volume, 1e-15 * 4);
  for (int i = 0; i < 3; ++i) {
    assert_close(p.center[i], at[i] + 0.5 * side[i], 1e-14);
    for (int j = 0; j < 3; ++j) assert_close(p.inertia[3 * i + j], i == j ? volume / 12.0 * (square - side[i] * side[i]) : 0.0, 1e-12);
  }
}

/* A quarter turn about z exchanges I_xx and I_yy and changes the sign of I_xz and I_yz as rotated. */
static void rigid_motion(void **state)
{
  (void)state;
  const mass_properties p    = {.volume = 2, .center = {1, 2, 3}, .inertia = {4, 0.1, 0.2, 0.1, 5, 0.3, 0.2, 0.3, 6}};
  const double          c[3] = {10, 0, 0}, R[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1}, expected[9] = {5, -0.1, -0.3, -0.1, 4, 0.2, -0.3, 0.2, 6};
  const mass_properties q = mass_properties_transform(&p, c, R);
  assert_close(q.volume, 2, 0);
  assert_close(q.center[0], 8, 1e-15);
  assert_close(q.center[1], 1, 1e-15);
  assert_close(q.center[2], 3, 1e-15);
  for (int k = 0; k < 9; ++k) assert_close(q.inertia[k], expected[k], 1e-15);
}

TEST_MAIN(cmocka_unit_test(tetrahedron), cmocka_unit_test(box), cmocka_unit_test(rigid_motion))
