/* Discrete elastic rods: derivatives against finite differences, balance, frames, closed forms. */
#include "rod_statics.h"
#include "core/quaternion.h"
#include "discretize/rod/der_vertex.h"

/* Rods with everything: bent, twisted, anisotropic, clamped, moved, loaded, damped, several, closed. */
/* clang-format off */
static const char *const rods[] = {
    "curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: [1, 0, 0], radius: 0.1, pitch: 0.1, turns: 1.2}}, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 3, curvature: [2, -1]}",
    "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 6, "
    "section: {ellipse: {radii: [0.02, 0.01]}}, damping: {mass: 2, stiffness: 0.05}, "
    "start: {support: clamped, motion: {angular_velocity: [1, 2, 3], velocity: [0.1, 0.2, 0.3]}}, end: {force: [1, 2, -3], moment: [0.1, 0.3, -0.2]}",
    "curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {circle: 0.01}, copies: {count: 3, radius: 0.2}, "
    "start: {support: clamped}, end: {support: clamped, motion: {angular_velocity: [3, 0, 1]}}, natural: straight",
    "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 360}}, closed: true, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 4}, damping: {stiffness: 0.02}",
    "curve: {points: [{at: [0, 0, 0]}, {at: [0.1, 0, 0]}, {at: [0.2, 0.1, 0]}, {at: [0.3, 0.1, 0.2]}]}, section: {circle: 0.01}, "
    "start: {moment: [0.2, 0.1, 0.3]}, end: {support: pinned}",
    "bending_strain: angle, curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 6, "
    "section: {ellipse: {radii: [0.02, 0.01]}}, damping: {mass: 2, stiffness: 0.05}, natural: {shape: straight, curvature: [2, -1]}, start: clamped",
    "bending_strain: angle, curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {ellipse: {radii: [0.02, 0.01]}}, natural: {curvature: [0.1, 0.2]}"};
/* clang-format on */
enum { N_RODS = sizeof rods / sizeof *rods };

/* Rates that move nodes and angles by about 0.01 l in a step, and more from step to step. */
static void random_rates(const rod_body *b, double size, double *u)
{
  for (int64_t i = 0; i < 3 * b->n_blocks; ++i) u[i] = rod_uniform(-size, size);
}

/* From the start and after steps that turn everything, with trial states away from the start of the step. */
static void derivatives(void **unused)
{
  (void)unused;
  rod_random_state = 3;
  for (int i = 0; i < N_RODS; ++i) {
    rod_case c;
    double   u[300], gravity[3] = {1.0, -2.0, 3.0};
    rod_case_open(rods[i], gravity, &c);
    for (int step = 0; step < 3; ++step) {
      rod_begin(c.b, 0.01 * step, 0.01);
      random_rates(c.b, 1.0, u);
      rod_check_derivatives(c.b, u, 2e-8);
      rod_accept(c.b, u);
    }
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* Bends by their angle: length, and two derivatives against differences, on both sides of where series take over. */
static void bend_angles(void **unused)
{
  (void)unused;
  const double radius[] = {1e-9, 1e-3, 0.05, 0.0999, 0.1001, 0.7, 3.0}, moment[2] = {0.7, -1.3}, h = 1e-4;
  for (size_t i = 0; i < sizeof radius / sizeof *radius; ++i)
    for (int k = 0; k < 4; ++k) {
      const double kappa[2] = {radius[i] * cos(0.4 + k), radius[i] * sin(0.4 + k)};
      double       s[2], J[2][2], D[2][2], side[2][2], JJ[2][2][2], none[2][2];
      der_bend_angle(kappa, s, J, moment, D);
      assert_close(hypot(s[0], s[1]), 2.0 * atan(0.5 * radius[i]), 1e-15);
      assert_close(s[0] * kappa[1] - s[1] * kappa[0], 0.0, 1e-15 * radius[i] * radius[i]);
      for (int m = 0; m < 2; ++m) {
        for (int e = 0; e < 2; ++e) {
          double moved[2] = {kappa[0], kappa[1]};
          moved[m] += e ? h : -h;
          der_bend_angle(moved, side[e], JJ[e], NULL, none);
        }
        for (int l = 0; l < 2; ++l) {
          const double slope = (moment[0] * (JJ[1][0][l] - JJ[0][0][l]) + moment[1] * (JJ[1][1][l] - JJ[0][1][l])) / (2.0 * h);
          assert_close((side[1][l] - side[0][l]) / (2.0 * h), J[l][m], 4e-9);
          assert_close(slope, D[l][m], 4e-9);
        }
      }
    }
  assert_no_leak();
}

/* Frames and twist keep their branch: an end that is turned five times about keeps all of its twist, and gives it back. */
static void twist_of_many_turns(void **unused)
{
  (void)unused;
  rod_case     c;
  const double dt = 0.05;
  rod_case_open("curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 8, section: {circle: 0.01}, stiffness: {bending: [100, 100], "
                "twist: 2}, start: clamped, "
                "end: {support: clamped, motion: {keyframes: [{time: 0}, {time: 1, rotate_deg: 179, axis: [1, 0, 0]}, {time: 2, "
                "rotate_deg: 358, axis: [1, 0, 0]}, "
                "{time: 3, rotate_deg: 537, axis: [1, 0, 0]}, {time: 4, rotate_deg: 716, axis: [1, 0, 0]}, {time: 5, rotate_deg: 895, "
                "axis: [1, 0, 0]}, "
                "{time: 6, rotate_deg: 720, axis: [1, 0, 0]}]}}, damping: {mass: 10}",
                NULL, &c);
  for (int step = 0; step < 240; ++step) {
    assert_true(rod_step(c.b, dt * step, dt) > 0);
    const double time = dt * (step + 1), turned = fmin(time, 5.0) * 179.0 - fmax(0.0, fmin(time, 6.0) - 5.0) * 175.0,
                 theta = turned * M_PI / 180.0;
    if (step == 99 || step == 239) assert_close(rod_elastic(c.b), 0.5 * 2.0 * theta * theta, (step == 239 ? 1e-9 : 1e-3) * theta * theta);
  }
  for (int i = 0; i <= 8; ++i) assert_close(c.b->x[3 * i], i / 8.0, 1e-9);
  rod_case_close(&c);
  assert_no_leak();
}

/* The two lowest frequencies of bending, from M and K at rest: inverse iteration on H = M + dt^2 K. */
static void frequencies(void **unused)
{
  (void)unused;
  const double exact[2] = {3.51602, 22.0345}, dt = 1e3;
  double       error[2][2];
  for (int fine = 0; fine < 2; ++fine) {
    rod_case c;
    char     text[300];
    snprintf(text, sizeof text,
             "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: %d, section: {rectangle: {sides: [0.01, 0.02]}}, start: clamped",
             fine ? 24 : 12);
    rod_case_open(text, NULL, &c);
    rod_begin(c.b, 0.0, dt);
    const int n = 3 * (int)c.b->n_blocks;
    double   *H = malloc(sizeof *H * (size_t)n * (size_t)n), *A = malloc(sizeof *H * (size_t)n * (size_t)n),
           *x = malloc(sizeof *x * (size_t)n), *first = calloc((size_t)n, sizeof *x);
    double *unit = calloc((size_t)n, sizeof *x), *y = malloc(sizeof *x * (size_t)n), *m = c.b->inertia;
    rod_residual_at(c.b, c.b->u, y, true);
    for (int j = 0; j < n; ++j) {
      memset(y, 0, sizeof *y * (size_t)n);
      unit[j] = 1.0;
      assert_ok(c.base->ops->tangent(c.base, unit, y, false));
      unit[j] = 0.0;
      for (int i = 0; i < n; ++i) H[n * i + j] = y[i];
    }
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < n; ++j) H[n * k + j] = H[n * j + k] = j == k ? 1e30 : 0.0;
    for (int mode = 0; mode < 2; ++mode) {
      double value = 0.0;
      for (int i = 0; i < n; ++i) x[i] = 0.0;
      for (int i = 0; i <= (fine ? 24 : 12); ++i) x[3 * c.b->node_block[i] + 2] = i * (mode ? 1.0 - 0.1 * i : 1.0);
      for (int it = 0; it < 12; ++it) {
        double along = 0.0, norm = 0.0, size = 0.0;
        for (int i = 0; i < n; ++i) along += first[i] * m[i] * x[i];
        for (int i = 0; i < n && mode; ++i) x[i] -= along * first[i];
        for (int i = 0; i < n; ++i) norm += m[i] * x[i] * x[i];
        for (int i = 0; i < n; ++i) x[i] /= sqrt(norm), y[i] = m[i] * x[i];
        memcpy(A, H, sizeof *A * (size_t)n * (size_t)n);
        rod_eliminate(n, A, y);
        for (int i = 0; i < n; ++i) size += m[i] * x[i] * y[i], x[i] = y[i];
        value = 1.0 / size;
      }
      double norm = 0.0;
      for (int i = 0; i < n; ++i) norm += m[i] * x[i] * x[i];
      for (int i = 0; i < n && mode == 0; ++i) first[i] = x[i] / sqrt(norm);
      const double omega = sqrt((value - 1.0) / (dt * dt)), scale = sqrt(c.b->section.bending[0] / c.b->section.mass_per_length);
      error[fine][mode] = omega / (exact[mode] * scale) - 1.0;
    }
    free(H), free(A), free(x), free(first), free(unit), free(y);
    rod_case_close(&c);
  }
  for (int mode = 0; mode < 2; ++mode) {
    assert_close(error[1][mode], 0.0, mode ? 1e-2 : 2e-3);
    assert_close(error[0][mode] / error[1][mode], 4.0, 0.2); /* second order */
    assert_close((4.0 * error[1][mode] - error[0][mode]) / 3.0, 0.0, mode ? 5e-4 : 2e-5);
  }
  assert_no_leak();
}

/* Free flight: momentum is kept, angular momentum to the step's own error, of first order in it, in a thin rod: what spins about the tangent turns with it
 * without a torque in [Bergou2010], which is as much as the section's inertia. */
static void momenta(void **unused)
{
  (void)unused;
  double drift[2];
  for (int fine = 0; fine < 2; ++fine) {
    rod_case     c;
    body_totals  start, end;
    const double none[3] = {0.0}, dt = fine ? 5e-4 : 1e-3;
    rod_case_open("curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: [1, 0, 0], radius: 0.1, pitch: 0.1, turns: 1}}, segments: 8, "
                  "section: {circle: 0.0005}, stiffness: {stretch: 100, bending: [0.001, 0.001], twist: 0.001, mass_per_length: 0.2}, "
                  "natural: straight, "
                  "velocity: [1, 2, 3], angular_velocity: [3, -2, 1]",
                  NULL, &c);
    assert_ok(c.base->ops->totals(c.base, none, &start));
    for (int step = 0; step < (fine ? 40 : 20); ++step) assert_true(rod_step(c.b, dt * step, dt) > 0);
    assert_ok(c.base->ops->totals(c.base, none, &end));
    for (int k = 0; k < 3; ++k) assert_close(end.momentum[k], start.momentum[k], 1e-9 * v3_norm(start.momentum));
    v3_axpy(end.angular_momentum, -1.0, start.angular_momentum);
    drift[fine] = v3_norm(end.angular_momentum) / v3_norm(start.angular_momentum);
    rod_case_close(&c);
  }
  assert_true(drift[0] > 1e-6 && drift[0] < 0.01);
  assert_true(drift[1] < 0.6 * drift[0]);
  assert_no_leak();
}

/* A point of the section of edge j of the strand, in its material frame; edges of the helix above. */
static void surface_point(const rod_body *b, int64_t j, double s, const double local[3], double x[3])
{
  const double      *p = b->x + 3 * (int64_t)b->strands.segment[2 * j], *q = b->x + 3 * (int64_t)b->strands.segment[2 * j + 1];
  const field_group *g;
  field_table       *table;
  double             t[3], m1[3], m2[3], a1[3], a2[3];
  assert_ok(field_table_create(&table));
  assert_ok(b->base.ops->fields((body *)(uintptr_t)&b->base, table));
  g                = field_table_find_group(table, "bodies/strand/segments");
  const field *ref = field_group_find(g, "reference");
  for (int k = 0; k < 3; ++k) a1[k] = ((const double *)field_component(ref, k))[3 * j];
  field_table_destroy(&table);
  v3_sub(t, q, p);
  v3_scale(t, 1.0 / v3_norm(t), t);
  v3_cross(a2, t, a1);
  const double theta = b->q[3 * (4 * (j / 3) + 2) + j % 3]; /* blocks: two nodes, three angles, a node */
  for (int k = 0; k < 3; ++k) m1[k] = cos(theta) * a1[k] + sin(theta) * a2[k], m2[k] = -sin(theta) * a1[k] + cos(theta) * a2[k];
  for (int k = 0; k < 3; ++k) x[k] = (1.0 - s) * p[k] + s * q[k] + local[0] * t[k] + local[1] * m1[k] + local[2] * m2[k];
}

/* Spots move as points that are fixed to the section do, rolling and tilting included. */
static void spots(void **unused)
{
  (void)unused;
  const double local[3] = {0.004, 0.01, -0.007}, dt = 1e-6;
  rod_random_state = 17;
  for (int64_t j = 0; j < 7; ++j) {
    rod_case c;
    double   u[300], v[3] = {0.0}, x[2][3], J[LOCATION_MAX_BLOCKS][9];
    int32_t  block[LOCATION_MAX_BLOCKS];
    rod_case_open(rods[0], NULL, &c);
    rod_begin(c.b, 0.0, 0.01);
    random_rates(c.b, 1.0, u);
    rod_accept(c.b, u);
    body_contact_location spot = {.kind = FEATURE_SEGMENT, .index = j, .w = {0.3}};
    surface_point(c.b, j, 0.3, local, spot.x);
    const int n = c.base->ops->location_jacobian(c.base, &spot, block, J);
    assert_int_equal(n, 3);
    random_rates(c.b, 1.0, u);
    for (int k = 0; k < n; ++k) {
      double term[3];
      m3_mulv(term, J[k], u + 3 * (int64_t)block[k]);
      v3_axpy(v, 1.0, term);
    }
    for (int side = 0; side < 2; ++side) {
      rod_begin(c.b, 0.0, side ? 2.0 * dt : dt);
      for (int k = 0; k < 3 * c.b->n_blocks; ++k) u[k] = side ? -u[k] : u[k];
      rod_accept(c.b, u);
      surface_point(c.b, j, 0.3, local, x[side]);
    }
    for (int k = 0; k < 3; ++k) assert_close((x[0][k] - x[1][k]) / (2.0 * dt), v[k], 1e-6);
    rod_case_close(&c);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(derivatives), cmocka_unit_test(bend_angles), cmocka_unit_test(twist_of_many_turns),
          cmocka_unit_test(frequencies), cmocka_unit_test(momenta), cmocka_unit_test(spots))
