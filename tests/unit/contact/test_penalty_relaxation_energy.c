/* Energy of one backward Euler step in which an attachment moves to another face, exactly.
 *
 * A spring f = k (Y - Z) acts for the whole step with its value at the end. It changes the energy of itself and of its point by
 *   k d1 . (Y1 - X) - k/2 |d1 - d0|^2 - m/2 |dv|^2,   d = Y - Z,   X the attachment before, on a surface at rest,
 * for any rule for Y. On one plane the first term is minus the work of friction. Over a convex edge it also contains the work of the new
 * face's force along the slip before the edge: up to (normal force) (slip) (sine of the angle). The decrease in depth compensates this only
 * in short steps. */
#include "relaxation_meshes.h"
#include "contact/penalty/penalty_relaxation.h"

/* The change of energy without the last term: by the spring's energy and its work. */
static double energy_change(double k, const double X[3], const double Z0[3], const double Y1[3], const double Z1[3])
{
  double d0[3], d1[3], dZ[3];
  v3_sub(d0, X, Z0);
  v3_sub(d1, Y1, Z1);
  v3_sub(dZ, Z1, Z0);
  return 0.5 * k * (v3_dot(d1, d1) - v3_dot(d0, d0)) + k * v3_dot(d1, dZ);
}

/* ... and by the identity. */
static double by_identity(double k, const double X[3], const double Z0[3], const double Y1[3], const double Z1[3])
{
  double d0[3], d1[3], dY[3], turn[3];
  v3_sub(d0, X, Z0);
  v3_sub(d1, Y1, Z1);
  v3_sub(dY, Y1, X);
  v3_sub(turn, d1, d0);
  return k * v3_dot(d1, dY) - 0.5 * k * v3_dot(turn, turn);
}

/* A roof over y: flat on the left of x = 0, falling by `angle` on the right. */
static triangle_topology *roof(double angle, double x[18])
{
  const int32_t      tri[12] = {0, 2, 1, 1, 2, 3, 2, 4, 3, 3, 4, 5};
  triangle_topology *t;
  for (int i = 0; i < 2; ++i) {
    const double y = i ? 50.0 : -50.0;
    v3_set(x + 3 * i, -10.0, y, 0.0);
    v3_set(x + 6 + 3 * i, 0.0, y, 0.0);
    v3_set(x + 12 + 3 * i, 10.0 * cos(angle), y, -10.0 * sin(angle));
  }
  assert_ok(triangle_topology_create(6, 4, tri, &t));
  return t;
}

/* The point slides at depth a below the left face, from s before the edge to `past` behind it. */
static double over_roof(double angle, double mu, double k, double a, double s, double past, bool *is_over)
{
  static mesh_relaxation r, before;
  double                 x[18], change = 0.0;
  triangle_topology     *t     = roof(angle, x);
  const double           Z0[3] = {-s, 0.1, -a}, Z1[3] = {past, 0.1, -a};
  mesh_attachment        X = {0, {0.0, 0.0, 0.0}};
  X.weight[0] = s / 10.0, X.weight[2] = 0.5 * (1.0 - s / 10.0), X.weight[1] = 1.0 - X.weight[0] - X.weight[2];
  double X0[3];
  relax_mesh(t, x, 0.0, &X, Z0, false, &before);
  assert_int_not_equal(before.state, RELAX_INACTIVE);
  v3_copy(X0, before.Y);
  assert_close(distance(X0, (const double[3]){-s, 0.1, 0.0}), 0.0, 1e-13);
  relax_mesh(t, x, mu, &before.at, Z1, false, &r);
  assert_int_not_equal(r.state, RELAX_INACTIVE);
  change = energy_change(k, X0, Z0, r.Y, Z1);
  assert_close(change, by_identity(k, X0, Z0, r.Y, Z1), 1e-12 * k * a * a);
  *is_over = r.Y[0] > 0.0;
  triangle_topology_destroy(&t);
  return change;
}

/* Without friction the result depends only on the depths below the new face before and after, b0 = a cos + s sin, b1 = a cos -
 * past sin: k (b0 b1 - b1^2/2 - a^2/2). Just over the edge that is a gain where s > a tan(angle)/2, a loss below. */
static void test_roof(void **unused)
{
  (void)unused;
  const double k = 1e3, a = 0.3;
  int          n_gain = 0;
  for (double angle = 0.1; angle < 1.4; angle += 0.3)
    for (double s = 0.02; s < 1.0; s += 0.06)
      for (double past = 1e-9; past < 0.2 * a / tan(angle); past += 0.03) {
        bool         is_over;
        const double gain = over_roof(angle, 0.0, k, a, s, past, &is_over);
        const double b0 = a * cos(angle) + s * sin(angle), b1 = a * cos(angle) - past * sin(angle);
        assert_true(is_over);
        assert_close(gain, k * (b0 * b1 - 0.5 * b1 * b1 - 0.5 * a * a), 1e-11 * k);
        if (past < 1e-8 && fabs(s - 0.5 * a * tan(angle)) > 1e-6) assert_int_equal(gain > 0.0, s > 0.5 * a * tan(angle));
        if (s <= 0.5 * a * tan(angle)) assert_true(gain < 1e-9 * k);
        assert_true(gain <= k * b1 * s * sin(angle)); /* normal force, slip, sine */
        n_gain += gain > 0.0;
      }
  assert_true(n_gain > 100);
  assert_no_leak();
}

/* With friction the same bound applies, minus the work of friction. */
static void test_friction(void **unused)
{
  (void)unused;
  const double k = 1e3, a = 0.3, angle = 0.5;
  for (double mu = 0.0; mu < 0.6; mu += 0.1)
    for (double s = 0.05; s < 1.0; s += 0.05) {
      bool         is_over;
      const double past = 0.2, gain = over_roof(angle, mu, k, a, s, past, &is_over);
      if (!is_over) assert_true(gain < 0.0); /* friction on one plane only takes */
      else assert_true(gain <= k * a * s * sin(angle));
    }
  assert_no_leak();
}

/* The corner x <= 0, z <= 0 of a box as a level set: exact distance, whose gradient turns where both faces are equally near. */
static double eval_corner(const void *context, const double x[3], double gradient[3], double hessian[9])
{
  (void)context;
  const bool is_side = x[0] > x[2];
  if (gradient) v3_set(gradient, is_side, 0.0, !is_side);
  if (hessian) m3_zero(hessian);
  return is_side ? x[0] : x[2];
}

/* From nearer to the top (a0 below it, b0 from the side) to nearer to the side: k (b0 b1 - b1^2/2 - a0^2/2), at most k/2 (b0^2 -
 * a0^2). This is first order in the step, as b0 exceeds a0 by at most the slip at the axis. Friction adds up to k mu^2 b1^2 / 2
 * for any step: the attachment starts on the new face at the limit of the cone, minus the part that points into the face. */
static void test_level_set(void **unused)
{
  (void)unused;
  const relax_surface corner = {eval_corner, NULL};
  const double        k = 1e3, a = 0.3;
  for (double mu = 0.0; mu < 0.5; mu += 0.15)
    for (double slip = 0.001; slip < 0.2; slip *= 1.7)
      for (double share = 0.05; share < 1.0; share += 0.1) {
        const double      b0 = a + share * slip, b1 = b0 - slip, X[3] = {-b0, 0.0, 0.0}, Z0[3] = {-b0, 0.0, -a}, Z1[3] = {-b1, 0.0, -a};
        double            Y[3];
        const relax_cone  round = {.mu = mu};
        const relax_state s     = relax_implicit_cone(&corner, &round, X, Z1, Y, NULL);
        assert_int_equal(s, RELAX_SLIDE);
        const double gain = energy_change(k, X, Z0, Y, Z1);
        assert_close(gain, by_identity(k, X, Z0, Y, Z1), 1e-12 * k);
        assert_close(Y[0], 0.0, 1e-15);
        const double stretch = mu * b1 * a / sqrt(a * a + b0 * b0);
        assert_close(gain, k * (b0 * b1 - 0.5 * b1 * b1 - 0.5 * a * a) + 0.5 * k * stretch * stretch, 1e-12 * k);
        assert_true(gain <= k * a * slip + 0.5 * k * mu * mu * b1 * b1);
      }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_roof), cmocka_unit_test(test_friction), cmocka_unit_test(test_level_set))
