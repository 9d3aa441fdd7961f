/* Models of rods as bodies: derivatives against finite differences, energy, rotations of everything, what a restart needs, and closed
 * forms of statics. */
#include "rod_statics.h"
#include "core/quaternion.h"

/* Rods with everything: bent, twisted, anisotropic, clamped, moved, loaded, damped, several, closed; what every model can do comes first. */
static const char *const rods[] = {
    "curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: [1, 0, 0], radius: 0.1, pitch: 0.1, turns: 1.2}}, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 3, curvature: [2, -1]}",
    "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 6, "
    "section: {ellipse: {radii: [0.02, 0.01]}}, damping: {mass: 2, stiffness: 0.05}, "
    "start: {support: clamped, motion: {angular_velocity: [1, 2, 3], velocity: [0.1, 0.2, 0.3]}}, end: {force: [1, 2, -3], moment: [0.1, "
    "0.3, -0.2]}",
    "curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {circle: 0.01}, copies: {count: 3, radius: 0.2}, "
    "start: {support: pinned}, natural: straight, velocity: [1, 0, 2], angular_velocity: [1, -2, 3]",
    "curve: {points: [{at: [0, 0, 0]}, {at: [0.1, 0, 0]}, {at: [0.2, 0.1, 0]}, {at: [0.3, 0.1, 0.2]}]}, section: {circle: 0.01}, "
    "start: {moment: [0.2, 0.1, 0.3], force: [0.1, 0.2, 0.3]}",
    "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 360}}, closed: true, segments: 7, "
    "section: {rectangle: {sides: [0.02, 0.01]}}, natural: {shape: straight, twist: 4}, damping: {stiffness: 0.02}",
    "curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {circle: 0.01}, "
    "start: {support: clamped}, end: {support: clamped, motion: {angular_velocity: [3, 0, 1]}}"};
/* Those without twist are round. */
/* clang-format off */
static const char *const round_rods[] = {
    "curve: {helix: {from: [0, 0, 0], axis: [0, 0, 1], towards: [1, 0, 0], radius: 0.1, pitch: 0.1, turns: 1.2}}, segments: 7, section: {circle: 0.01}, "
    "natural: {shape: straight, curvature: [2, -1]}, stiffness: {bend_springs: 20, twist_springs: 10}",
    "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 6, section: {circle: 0.01}, "
    "damping: {mass: 2, stiffness: 0.05}, stiffness: {bending: [0, 0], bend_springs: 20, twist_springs: 10}, "
    "start: {support: clamped, motion: {angular_velocity: [1, 2, 3], velocity: [0.1, 0.2, 0.3]}}, end: {force: [1, 2, -3], moment: [0.1, 0.3, -0.2]}",
    "curve: {line: {from: [0, 0, 0], to: [0.5, 0, 0.1]}}, segments: 5, section: {circle: 0.01}, copies: {count: 3, radius: 0.2}, "
    "start: {support: pinned}, natural: straight, velocity: [1, 0, 2], angular_velocity: [1, -2, 3]",
    "curve: {points: [{at: [0, 0, 0]}, {at: [0.1, 0, 0]}, {at: [0.2, 0.1, 0]}, {at: [0.3, 0.1, 0.2]}]}, section: {circle: 0.01}, "
    "start: {moment: [0.2, 0.1, 0.3], force: [0.1, 0.2, 0.3]}, end: clamped, damping: {stiffness: 0.02}",
    "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 360}}, closed: true, segments: 7, "
    "section: {circle: 0.01}, stiffness: {bend_springs: 20, twist_springs: 10}"};
static const struct {
  const char        *name;
  const char *const *rods;
  int                n_rods;
  bool               has_ends; /* its last half segment, on which moments act, is neither bent nor twisted */
  bool               is_round; /* no section, no twist */
} models[] = {{"corde", rods, 6, true, false}, {"super_helix", rods, 4, false, false}, {"discrete_elastic_rod", rods, 6, true, false}, {"mass_spring", round_rods, 5, true, true}};
/* clang-format on */
enum { N_MODELS = 4 };

static void open_rod(const char *model, const char *text, const double gravity[3], rod_case *c)
{
  char whole[2000];
  snprintf(whole, sizeof whole, "model: %s, %s", model, text);
  rod_case_open(whole, gravity, c);
  assert_non_null(c->b);
}
static void random_rates(const rod_body *b, double size, double *u)
{
  for (int64_t i = 0; i < 3 * b->n_blocks; ++i) u[i] = size * rod_uniform(-1.0, 1.0);
}

/* From the start and after steps that turn everything, with trial states away from the start of the step. */
static void test_derivatives(void **unused)
{
  (void)unused;
  const double gravity[3] = {1.0, -2.0, 3.0};
  rod_random_state        = 3;
  for (int m = 0; m < N_MODELS; ++m)
    for (int i = 0; i < models[m].n_rods; ++i) {
      rod_case c;
      double   u[300];
      open_rod(models[m].name, models[m].rods[i], gravity, &c);
      for (int step = 0; step < 3; ++step) {
        rod_begin(c.b, 0.01 * step, 0.01);
        random_rates(c.b, 5.0, u);
        rod_check_derivatives(c.b, u, 5e-8);
        rod_accept(c.b, u);
      }
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* A definite tangent: symmetric, u.H u > 0, and the matrix is what products multiply with. */
static void test_definite(void **unused)
{
  (void)unused;
  const double gravity[3] = {1.0, -2.0, 3.0};
  rod_random_state        = 5;
  for (int m = 0; m < N_MODELS; ++m)
    for (int i = 0; i < models[m].n_rods; ++i) {
      rod_case c;
      double   u[300], g[300];
      open_rod(models[m].name, models[m].rods[i], gravity, &c);
      rod_begin(c.b, 0.0, 0.05);
      random_rates(c.b, 5.0, u);
      c.base->ops->set_definite(c.base, true);
      rod_residual_at(c.b, u, g, true);
      for (int trial = 0; trial < 20; ++trial) {
        double x[300], y[300] = {0.0}, z[300], w[300] = {0.0}, form = 0.0, left = 0.0, right = 0.0;
        random_rates(c.b, 1.0, x), random_rates(c.b, 1.0, z);
        assert_ok(c.base->ops->tangent(c.base, x, y, false));
        assert_ok(c.base->ops->tangent(c.base, z, w, false));
        for (int64_t k = 0; k < 3 * c.b->n_blocks; ++k) form += x[k] * y[k], left += z[k] * y[k], right += x[k] * w[k];
        assert_true(form > 0.0);
        assert_close(left, right, 1e-12 * fabs(form));
      }
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* The matrix that preconditioners get is the one that products multiply with. */
static void test_matrix(void **unused)
{
  (void)unused;
  rod_random_state = 7;
  for (int m = 0; m < N_MODELS; ++m) {
    rod_case c;
    double   u[300], g[300], x[300], y[300] = {0.0}, z[300] = {0.0};
    open_rod(models[m].name, models[m].rods[1], NULL, &c);
    rod_begin(c.b, 0.0, 0.01);
    random_rates(c.b, 5.0, u), random_rates(c.b, 1.0, x);
    rod_residual_at(c.b, u, g, true);
    const int64_t    n = c.b->n_blocks, blocks = c.b->row_start[n];
    double          *value = calloc((size_t)(9 * blocks), sizeof *value);
    const block_rows H     = {n, c.b->row_start, c.b->col, value};
    assert_ok(c.base->ops->assemble(c.base, &H));
    assert_ok(c.base->ops->tangent(c.base, x, y, false));
    double scale = 0.0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = H.row_start[i]; j < H.row_start[i + 1]; ++j) {
        double term[3];
        m3_mulv(term, value + 9 * j, x + 3 * (int64_t)H.col[j]);
        v3_axpy(z + 3 * i, 1.0, term);
      }
    for (int64_t k = 0; k < 3 * n; ++k) scale = fmax(scale, fabs(y[k]));
    for (int64_t k = 0; k < 3 * n; ++k) assert_close(y[k], z[k], 1e-13 * scale);
    free(value);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* Without gravity, loads and damping, steps so short that nothing but positions counts: g = -dt f is the derivative of the energy. */
static void test_energy(void **unused)
{
  (void)unused;
  const int which[] = {0, 2, 4};
  rod_random_state  = 9;
  for (int m = 0; m < N_MODELS; ++m)
    for (int i = 0; i < 3 && which[i] < models[m].n_rods; ++i) {
      rod_case c;
      double   u[300], zero[300] = {0.0}, g[300], d[300], energy[2], slope = 0.0;
      open_rod(models[m].name, models[m].rods[which[i]], NULL, &c);
      rod_begin(c.b, 0.0, 0.02);
      random_rates(c.b, 1.0, u);
      rod_accept(c.b, u);
      const int n = 3 * (int)c.b->n_blocks;
      random_rates(c.b, 1.0, d);
      memset(c.b->u, 0, sizeof *c.b->u * (size_t)n);
      const double h = 1e-5;
      for (int side = 0; side < 2; ++side) {
        rod_begin(c.b, 0.0, side ? 2.0 * h : h);
        for (int k = 0; k < n; ++k) u[k] = side ? d[k] : -d[k];
        rod_accept(c.b, u);
        energy[side] = rod_elastic(c.b);
        if (side == 0) continue;
        for (int k = 0; k < n; ++k) u[k] = -d[k];
        rod_begin(c.b, 0.0, h);
        rod_accept(c.b, u);
      }
      memset(c.b->u, 0, sizeof *c.b->u * (size_t)n);
      /* Super-helices carry the velocities of their points as well: a second step from rest. */
      rod_begin(c.b, 0.0, 1e3);
      rod_accept(c.b, zero);
      rod_begin(c.b, 0.0, 1e3);
      rod_residual_at(c.b, zero, g, false);
      for (int k = 0; k < n; ++k) slope += g[k] / 1e3 * d[k];
      assert_close((energy[1] - energy[0]) / (2.0 * h), slope, 1e-6 * fabs(slope));
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* A rod drawn in its natural shape, in any model and pose, has no force and no energy. */
static void test_rest(void **unused)
{
  (void)unused;
  static const char *const shapes[] = {
      "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 1], towards: [-1, 0, 0], radius: 0.1, angle_deg: 250}}, segments: 9, section: "
      "{circle: 0.01}, "
      "natural: {curvature: [10, 0], twist: 0}, start: clamped",
      "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: -0.1, turns: 1.2}}, segments: 9, "
      "section: {rectangle: {sides: [0.02, 0.01]}}, start: clamped"};
  static const char *const round_shapes[] = {"curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 1], towards: [-1, 0, 0], radius: 0.1, "
                                             "angle_deg: 250}}, segments: 9, section: {circle: 0.01}, "
                                             "natural: {curvature: [6, -8]}, start: clamped",
                                             "curve: {helix: {from: [0, 0, 0], axis: [0, 1, 1], towards: [1, 0, 0], radius: 0.1, pitch: "
                                             "-0.1, turns: 1.2}}, segments: 9, section: {circle: 0.01}, "
                                             "start: clamped, stiffness: {bend_springs: 10, twist_springs: 10}"};
  for (int m = 0; m < N_MODELS; ++m)
    for (int i = 0; i < 2; ++i) {
      rod_case c;
      double   zero[300] = {0.0}, g[300];
      open_rod(models[m].name, models[m].is_round ? round_shapes[i] : shapes[i], NULL, &c);
      rod_begin(c.b, 0.0, 1.0);
      rod_residual_at(c.b, zero, g, false);
      /* the segments of CORDE are chords, over which it rotates less: its curvature at rest differs from 10 / m by (l kappa)^2 / 24 */
      const double bending = 1e6 * M_PI / 4.0 * 1e-8 * 10.0, tolerance = i == 0 && m == 0 ? 0.02 * bending : 1e-12;
      for (int64_t k = 0; k < 3 * c.b->n_blocks; ++k) assert_close(g[k], 0.0, tolerance);
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* Arcs of any size have no force at rest if their curvature is the natural one: lengths from 4 mm to 40 m, long segments of 0.5 rad. */
static void test_rest_of_any_size(void **unused)
{
  (void)unused;
  for (int m = 1; m < 3; ++m)
    for (int k = 0; k < 5; ++k) {
      const double radius = 1e-3 * pow(10.0, k);
      char         text[400];
      rod_case     c;
      double       zero[300] = {0.0}, g[300];
      snprintf(text, sizeof text,
               "curve: {arc: {from: [%g, 0, 0], tangent: [0, 1, 1], towards: [-1, 0, 0], radius: %g, angle_deg: 250}}, segments: 9, "
               "section: {circle: %g}, "
               "natural: {curvature: [%g, 0], twist: 0}, start: clamped",
               radius, radius, 0.1 * radius, 1.0 / radius);
      open_rod(models[m].name, text, NULL, &c);
      rod_begin(c.b, 0.0, 1.0);
      rod_residual_at(c.b, zero, g, false);
      const double bending = 1e6 * M_PI / 4.0 * pow(0.1 * radius, 4) / radius, force = bending / radius; /* B kappa, B kappa^2 */
      for (int64_t i = 0; i < 3 * c.b->n_blocks; ++i) assert_close(g[i], 0.0, 1e-9 * (bending + force));
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* A straight rod drawn as a closed ring: B pi / R, and a strain of 4 tan (phi / 4) per joint; the same wherever it begins. */
static void test_ring(void **unused)
{
  (void)unused;
  rod_case c;
  open_rod("corde",
           "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 360}}, closed: true, "
           "segments: 12, "
           "section: {circle: 0.01}, natural: straight, stiffness: {bending: [0.3, 0.3], twist: 0.2}",
           NULL, &c);
  const double phi = 2.0 * M_PI / 12.0, l = 0.2 * sin(0.5 * phi), u = 4.0 / l * tan(0.25 * phi);
  assert_close(rod_elastic(c.b), 0.5 * 12 * l * 0.3 * u * u, 1e-12);
  rod_case_close(&c);
  assert_no_leak();
}

/* Springs over two and three segments of loops of mass points: one per node, and none where it would join the same two nodes twice. Stretched by a
 * tenth, a spring of length l has the energy k l / 200. */
static void test_small_loops(void **unused)
{
  (void)unused;
  for (int n = 4; n <= 8; ++n) {
    char     text[1024];
    rod_case c;
    double   u[3 * 8], expected = 0.0;
    int      at = snprintf(text, sizeof text, "curve: {points: [");
    for (int i = 0; i < n; ++i)
      at += snprintf(text + at, sizeof text - (size_t)at, "%s{at: [%.17g, %.17g, 0]}", i ? ", " : "", cos(2.0 * M_PI * i / n),
                     sin(2.0 * M_PI * i / n));
    snprintf(text + at, sizeof text - (size_t)at,
             "]}, closed: true, section: {circle: 0.01}, natural: straight, stiffness: {bending: [0, 0], stretch: 3, bend_springs: 5, "
             "twist_springs: 7}");
    open_rod("mass_spring", text, NULL, &c);
    for (int span = 1; span <= 3; ++span)
      if (n >= 2 * span) expected += (n == 2 * span ? span : n) * (2 * span + 1) * 2.0 * sin(M_PI * span / n) / 200.0;
    rod_begin(c.b, 0.0, 1.0);
    for (int i = 0; i < 3 * n; ++i) u[i] = 0.1 * c.b->q[i];
    rod_accept(c.b, u);
    assert_close(rod_elastic(c.b), expected, 1e-12);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* A straight round rod has the same energy with a natural curvature along either axis of its section; that of a natural twist is added. */
static void test_natural_curvature(void **unused)
{
  (void)unused;
  static const char *const natural[] = {"[3, 0], twist: 0", "[0, 3], twist: 0", "[0, 0], twist: 2", "[0, 3], twist: 2"};
  double                   energy[4];
  for (int i = 0; i < 4; ++i) {
    char     text[512];
    rod_case c;
    snprintf(text, sizeof text,
             "curve: {line: {from: [0, 0, 0], to: [0.5, 0.1, 0]}}, segments: 9, section: {circle: 0.01}, natural: {curvature: %s}",
             natural[i]);
    open_rod("discrete_elastic_rod", text, NULL, &c);
    energy[i] = rod_elastic(c.b);
    rod_case_close(&c);
  }
  assert_true(energy[0] > 0.0 && energy[2] > 0.0);
  assert_close(energy[1], energy[0], 1e-12 * energy[0]);
  assert_close(energy[3], energy[0] + energy[2], 1e-12 * energy[3]);
  assert_no_leak();
}

/* All strands of a super-helix have the lengths of their arcs. */
static void test_lengths_of_arcs(void **unused)
{
  (void)unused;
  rod_case c;
  open_rod("super_helix",
           "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 200}}, segments: 7, "
           "section: {circle: 0.002}, natural: straight, copies: {count: 4, radius: 0.3, pattern: disc}",
           NULL, &c);
  assert_int_equal(c.b->strands.n_segments, 4 * 7);
  for (int64_t i = 0; i < 4 * 7; ++i) assert_close(c.b->strands.length[i], 0.1 * 200.0 / 180.0 * M_PI / 7.0, 1e-13);
  rod_case_close(&c);
  assert_no_leak();
}

/* A rotated step is the same step: rod, gravity, the motion of the clamp, constraints. */
static void test_frame_indifference(void **unused)
{
  (void)unused;
  const double turn[3] = {0.3, -1.1, 0.8}, gravity[3] = {1.0, -2.0, 3.0};
  double       R[9];
  rotation_exp(R, turn);
  for (int m = 0; m < N_MODELS; ++m) {
    double tip[2][3], energy[2];
    for (int side = 0; side < 2; ++side) {
      double        v[4][3], down[3], x[3];
      const double  from[3] = {0.1, 0.2, 0.3}, tangent[3] = {1.0, 0.0, 0.0}, towards[3] = {0.0, 1.0, 0.0}, w[3] = {1.0, 2.0, 3.0};
      const double *plain[4] = {from, tangent, towards, w};
      char          text[1000];
      rod_case      c;
      for (int k = 0; k < 4; ++k)
        if (side) m3_mulv(v[k], R, plain[k]);
        else v3_copy(v[k], plain[k]);
      if (side) m3_mulv(down, R, gravity);
      else v3_copy(down, gravity);
      snprintf(text, sizeof text,
               "curve: {arc: {from: [%.17g, %.17g, %.17g], tangent: [%.17g, %.17g, %.17g], towards: [%.17g, %.17g, %.17g], radius: 0.2, "
               "angle_deg: 100}}, "
               "segments: 8, section: %s, damping: {mass: 1, stiffness: 0.01}, "
               "start: {support: clamped, motion: {pivot: [%.17g, %.17g, %.17g], angular_velocity: [%.17g, %.17g, %.17g]}}",
               v[0][0], v[0][1], v[0][2], v[1][0], v[1][1], v[1][2], v[2][0], v[2][1], v[2][2],
               models[m].is_round ? "{circle: 0.01}" : "{rectangle: {sides: [0.02, 0.01]}}", v[0][0], v[0][1], v[0][2], v[3][0], v[3][1],
               v[3][2]);
      open_rod(models[m].name, text, down, &c);
      for (int step = 0; step < 5; ++step) assert_true(rod_step(c.b, 0.05 * step, 0.05) > 0);
      v3_copy(x, c.b->x + 3 * 8);
      if (side) m3_mulv_t(tip[side], R, x);
      else v3_copy(tip[side], x);
      energy[side] = rod_elastic(c.b);
      rod_case_close(&c);
    }
    for (int k = 0; k < 3; ++k) assert_close(tip[0][k], tip[1][k], 1e-10);
    assert_close(energy[0], energy[1], 1e-10 * energy[0]);
  }
  assert_no_leak();
}

/* End moment 2 pi B / L on a clamped straight rod, raised slowly; how far the ends of the circle miss each other, and the energy. */
static void bend_to_circle(const char *model, int segments, double *gap, double *energy)
{
  rod_case     c;
  const double B = 0.01;
  char         text[500];
  snprintf(text, sizeof text,
           "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: %d, section: {circle: 0.005}, stiffness: {bending: [0.01, 0.01], "
           "twist: 0.01}, "
           "start: clamped, damping: {mass: 1000}",
           segments);
  open_rod(model, text, NULL, &c);
  for (int step = 0; step < 20; ++step) {
    v3_set(c.b->end[1].moment, 0.0, 0.0, 2.0 * M_PI * B * fmin((step + 1) / 12.0, 1.0));
    assert_true(rod_step(c.b, step, 1e4) > 0);
  }
  *gap    = v3_norm(c.b->x + 3 * segments);
  *energy = rod_elastic(c.b) / (0.5 * B * 4.0 * M_PI * M_PI);
  rod_case_close(&c);
}
static void test_pure_bending(void **unused)
{
  (void)unused;
  double gap[2], energy;
  bend_to_circle("super_helix", 6, gap, &energy);
  assert_close(gap[0], 0.0, 1e-9);
  assert_close(energy, 1.0, 1e-9);
  /* CORDE: K u (1 + tan^2(phi / 4)) = M with u = (4 / l) tan(phi / 4): the turning of a joint falls short of M l / K by phi^2 / 12 of itself, and so far
   * the end is from the start of the circle. */
  for (int i = 0; i < 2; ++i) {
    const double phi = 2.0 * M_PI / (10 << i);
    bend_to_circle("corde", 10 << i, &gap[i], &energy);
    assert_close(gap[i], phi * phi / 12.0, 0.15 * phi * phi / 12.0);
    assert_close(energy, (1.0 - phi * phi / 8.0) * (1.0 - 0.5 / (10 << i)), 0.15 * phi * phi / 8.0); /* the last half segment is straight */
  }
  assert_no_leak();
}

/* A moment about the axis: twist uniform, the rod straight. The last frame of CORDE, on which moments act, ends half a segment before the rod. */
static void test_twist(void **unused)
{
  (void)unused;
  for (int m = 0; m < N_MODELS; ++m) {
    rod_case c;
    if (models[m].is_round) continue;
    open_rod(models[m].name,
             "curve: {line: {from: [0, 0, 0], to: [0, 1, 0]}}, segments: 12, section: {circle: 0.005}, stiffness: {bending: [0.01, 0.01], "
             "twist: 0.02}, "
             "start: clamped, end: {moment: [0, 0.01, 0]}, damping: {mass: 10}",
             NULL, &c);
    for (int step = 0; step < 12; ++step) assert_true(rod_step(c.b, step, 1e3) > 0);
    assert_close(rod_elastic(c.b), 0.5 * 0.01 * 0.01 / 0.02 * (models[m].has_ends ? 1.0 - 0.5 / 12.0 : 1.0), m == 0 ? 1e-6 : 1e-12);
    for (int i = 0; i < 13; ++i) {
      assert_close(c.b->x[3 * i], 0.0, 1e-10);
      assert_close(c.b->x[3 * i + 1], i / 12.0, 1e-10);
    }
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* The end of a twisted rod, clamped and turned: torque C theta / L, no bending. */
static void test_driven_twist(void **unused)
{
  (void)unused;
  rod_case     c;
  const double twist[] = {0.5, 1.0};
  open_rod("corde",
           "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 12, section: {circle: 0.005}, stiffness: {bending: [0.01, 0.01], "
           "twist: 0.02}, "
           "start: clamped, end: {support: clamped, motion: {keyframes: [{time: 0}, {time: 1, rotate_deg: 114.59155902616465, axis: [1, 0, "
           "0]}]}}, damping: {mass: 10}",
           NULL, &c);
  for (int k = 0; k < 2; ++k) {
    for (int step = 0; step < 4; ++step) assert_true(rod_step(c.b, 0.5 * k + step / 8.0, 1.0 / 8.0) > 0);
    const double theta = 2.0 * twist[k];
    assert_close(rod_elastic(c.b), 0.5 * 0.02 * theta * theta, 2e-3 * theta * theta * 0.02);
  }
  rod_case_close(&c);
  assert_no_leak();
}

/* Velocities of contact places: nodes against their displacement; points off the axis in a rigid rotation of the whole rod. */
static void test_spots(void **unused)
{
  (void)unused;
  rod_random_state = 21;
  for (int m = 0; m < 2; ++m) {
    rod_case              c;
    double                u[300], before[300], J[LOCATION_MAX_BLOCKS][9];
    int32_t               block[LOCATION_MAX_BLOCKS];
    body_contact_location spot = {.kind = FEATURE_POINT};
    open_rod(models[m].name, rods[3], NULL, &c);
    rod_begin(c.b, 0.0, 1e-7);
    random_rates(c.b, 1.0, u);
    memcpy(before, c.b->x, sizeof(double) * 3 * (size_t)c.b->strands.n_nodes);
    double    v[20][3] = {{0.0}}, w[20][3] = {{0.0}};
    const int n = (int)c.b->strands.n_nodes;
    for (int i = 0; i < n; ++i) {
      spot = (body_contact_location){.kind = FEATURE_POINT, .index = i};
      v3_copy(spot.x, before + 3 * i);
      const int count = c.base->ops->location_jacobian(c.base, &spot, block, J);
      for (int k = 0; k < count; ++k) {
        double term[3];
        m3_mulv(term, J[k], u + 3 * block[k]);
        v3_axpy(v[i], 1.0, term);
      }
      /* Half way along a segment, and a rigid motion. */
      if (i == n - 1) continue;
      spot = (body_contact_location){.kind = FEATURE_SEGMENT, .index = i, .w = {0.5}};
      for (int k = 0; k < 3; ++k) spot.x[k] = 0.5 * (before[3 * i + k] + before[3 * i + 3 + k]) + 0.01 * rod_uniform(-1.0, 1.0);
      const int    links   = c.base->ops->location_jacobian(c.base, &spot, block, J);
      const double spin[3] = {1.0, -2.0, 0.5};
      double       expected[3], arm[3], shift[3] = {0.3, 0.1, 0.2};
      v3_sub(arm, spot.x, before);
      v3_cross(expected, spin, arm);
      v3_axpy(expected, 1.0, shift);
      for (int k = 0; k < links; ++k) {
        double     rate[3] = {0.0}, term[3];
        const bool is_node = m == 0 && block[k] % 2 == 0;
        if (is_node) {
          v3_sub(arm, before + 3 * (block[k] / 2), before);
          v3_cross(rate, spin, arm);
          v3_axpy(rate, 1.0, shift);
        } else if (m == 0 || block[k] == 1) v3_copy(rate, spin);
        else if (block[k] == 0) v3_copy(rate, shift);
        m3_mulv(term, J[k], rate);
        v3_axpy(w[i], 1.0, term);
      }
      for (int k = 0; k < 3; ++k) assert_close(w[i][k], expected[k], 1e-14);
    }
    rod_accept(c.b, u);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 3; ++k) assert_close((c.b->x[3 * i + k] - before[3 * i + k]) / 1e-7, v[i][k], 1e-6);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* Lowest two frequencies of a clamped rod in its weak plane, of K x = omega^2 M x with the body's own matrices: M + dt^2 K for two dt. */
static void frequencies(const char *model, int segments, double omega[2])
{
  rod_case c;
  char     text[600];
  snprintf(text, sizeof text,
           "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: %d, section: {circle: 1.0e-3}, "
           "stiffness: {bending: [1000, 1], twist: 1000, mass_per_length: 1%s}, start: clamped",
           segments, strcmp(model, "corde") ? "" : ", stretch: 1.0e+7, shear: 1.0e+7");
  open_rod(model, text, NULL, &c);
  const int    n        = 3 * (int)c.b->n_blocks;
  const double steps[2] = {1e-9, 1.0};
  double      *H[2], *A = malloc(sizeof *A * (size_t)(n * n)), *x = malloc(sizeof *x * (size_t)n), *y = malloc(sizeof *x * (size_t)n),
                *zero = calloc((size_t)n, sizeof *x);
  double         mode[2][300], Mmode[2][300];
  const int64_t *dof;
  const double  *wanted;
  for (int k = 0; k < 2; ++k) {
    H[k] = malloc(sizeof(double) * (size_t)(n * n));
    rod_begin(c.b, 0.0, steps[k]);
    rod_residual_at(c.b, zero, y, true);
    for (int j = 0; j < n; ++j) {
      memset(y, 0, sizeof *y * (size_t)n);
      memset(x, 0, sizeof *x * (size_t)n);
      x[j] = 1.0;
      assert_ok(c.base->ops->tangent(c.base, x, y, false));
      for (int i = 0; i < n; ++i) H[k][n * i + j] = y[i];
    }
  }
  const int64_t held = c.base->ops->prescribed(c.base, &dof, &wanted);
  for (int i = 0; i < n * n; ++i) H[1][i] -= H[0][i]; /* K */
  for (int m = 0; m < 2; ++m) {
    for (int i = 0; i < n; ++i) x[i] = rod_uniform(-1.0, 1.0);
    for (int it = 0; it < 30; ++it) { /* inverse iteration, M-orthogonal to the mode before */
      double norm = 0.0, along = 0.0;
      for (int64_t k = 0; k < held; ++k) x[dof[k]] = 0.0;
      for (int i = 0; i < n && m == 1; ++i) along += Mmode[0][i] * x[i];
      for (int i = 0; i < n && m == 1; ++i) x[i] -= along * mode[0][i];
      for (int i = 0; i < n; ++i) {
        y[i] = 0.0;
        for (int j = 0; j < n; ++j) y[i] += H[0][n * i + j] * x[j];
        norm += x[i] * y[i];
      }
      for (int i = 0; i < n; ++i) mode[m][i] = x[i] / sqrt(norm), Mmode[m][i] = y[i] / sqrt(norm), x[i] = Mmode[m][i];
      memcpy(A, H[1], sizeof *A * (size_t)(n * n));
      for (int64_t k = 0; k < held; ++k) {
        for (int j = 0; j < n; ++j) A[n * dof[k] + j] = j == dof[k];
        x[dof[k]] = 0.0;
      }
      rod_eliminate(n, A, x);
      double quotient = 0.0;
      for (int i = 0; i < n; ++i) quotient += x[i] * Mmode[m][i];
      omega[m] = 1.0 / sqrt(quotient);
    }
  }
  for (int k = 0; k < 2; ++k) free(H[k]);
  free(A), free(x), free(y), free(zero);
  rod_case_close(&c);
}
static void test_frequencies(void **unused)
{
  (void)unused;
  const double exact[2] = {3.51602, 22.0345};
  for (int m = 0; m < 2; ++m) {
    double coarse[2], fine[2];
    frequencies(models[m].name, 8, coarse);
    frequencies(models[m].name, 16, fine);
    for (int k = 0; k < 2; ++k) {
      assert_close(fine[k], exact[k], (k ? 0.02 : 0.005) * exact[k]);
      assert_close(log2((coarse[k] - exact[k]) / (fine[k] - exact[k])), 2.0, 0.15);
      assert_close((4.0 * fine[k] - coarse[k]) / 3.0, exact[k], (k ? 2e-3 : 1e-3) * exact[k]);
    }
  }
  assert_no_leak();
}

/* Every node is a contact point in the ball of one cluster, whose diameter is the diagonal of the smallest box around its nodes. */
static void test_clusters(void **unused)
{
  (void)unused;
  rod_case c;
  open_rod("discrete_elastic_rod",
           "curve: {line: {from: [-3, -2, -4], to: [-1, -1, -1]}}, segments: 149, section: {circle: 0.01}, copies: {count: 3, radius: 0.2}",
           NULL, &c);
  const body *b    = c.base;
  rod_random_state = 3;
  for (int64_t i = 0; i < 3 * c.b->strands.n_nodes; ++i) c.b->x[i] += rod_uniform(-0.1, 0.1);
  int64_t     n_blocks, next = 0;
  step_status status = {STEP_OK, NULL, -1};
  assert_ok(b->ops->begin_step(c.base, 0.0, 0.01, &n_blocks, &status));
  const int64_t n = b->ops->n_clusters(b);
  assert_true(n > 3);
  for (int64_t k = 0; k < n; ++k) {
    double  center[3], radius, low[3] = {9.0, 9.0, 9.0}, high[3] = {-9.0, -9.0, -9.0}, x[3], d[3];
    int64_t first, end;
    b->ops->cluster(b, k, center, &radius, &first, &end);
    assert_int_equal(first, next);
    for (int64_t i = first; i < end; ++i) {
      assert_int_equal(b->ops->point(b, i, x), i);
      assert_memory_equal(x, c.b->x + 3 * i, sizeof x);
      v3_sub(d, x, center);
      assert_true(v3_norm(d) <= radius);
      for (int a = 0; a < 3; ++a) low[a] = fmin(low[a], x[a]), high[a] = fmax(high[a], x[a]);
    }
    v3_sub(d, high, low);
    assert_close(radius, 0.5 * v3_norm(d), 1e-10);
    for (int a = 0; a < 3; ++a) assert_close(center[a], 0.5 * (low[a] + high[a]), 1e-12);
    next = end;
  }
  assert_int_equal(next, 450);
  rod_case_close(&c);
  assert_no_leak();
}

/* A checkpoint contains the state: another body that is restored from it has the same nodes, and continues with the same bits. */
static void test_restart(void **unused)
{
  (void)unused;
  const double gravity[3] = {0.5, -1.0, -9.81}, dt = 0.01;
  for (int m = 0; m < N_MODELS; ++m)
    for (int k = 0; k < models[m].n_rods; ++k) {
      rod_case        c[2];
      field_table    *t[2];
      field_snapshot *s;
      double          u[300];
      assert_ok(field_snapshot_create(&s));
      for (int i = 0; i < 2; ++i) {
        open_rod(models[m].name, models[m].rods[k], gravity, &c[i]);
        assert_ok(field_table_create(&t[i]));
        assert_ok(c[i].base->ops->fields(c[i].base, t[i]));
      }
      const int64_t n = 3 * c[0].b->n_blocks, n_nodes = 3 * c[0].b->strands.n_nodes;
      for (int step = 0; step < 3; ++step) random_rates(c[0].b, 5.0, u), rod_begin(c[0].b, step * dt, dt), rod_accept(c[0].b, u);
      assert_ok(field_snapshot_take(s, t[0]));
      assert_ok(field_snapshot_restore(s, t[1]));
      for (int step = 3; step < 6; ++step) {
        body_nodes    a, b;
        body_segments one, two;
        c[0].base->ops->nodes(c[0].base, &a), c[1].base->ops->nodes(c[1].base, &b);
        c[0].base->ops->segments(c[0].base, &one), c[1].base->ops->segments(c[1].base, &two);
        assert_true(3 * a.n == n_nodes && one.n_nodes == a.n && one.n_segments == two.n_segments);
        assert_memory_equal(a.x, b.x, (size_t)n_nodes * sizeof(double));
        assert_memory_equal(a.v, b.v, (size_t)n_nodes * sizeof(double));
        assert_memory_equal(one.x, two.x, (size_t)n_nodes * sizeof(double));
        assert_memory_equal(c[0].b->q, c[1].b->q, (size_t)n * sizeof(double));
        assert_memory_equal(c[0].b->u, c[1].b->u, (size_t)n * sizeof(double));
        random_rates(c[0].b, 5.0, u);
        for (int i = 0; i < 2; ++i) rod_begin(c[i].b, step * dt, dt), rod_accept(c[i].b, u);
      }
      field_snapshot_destroy(&s);
      for (int i = 0; i < 2; ++i) field_table_destroy(&t[i]), rod_case_close(&c[i]);
    }
  assert_no_leak();
}

/* The velocity of every node, and of places between two nodes, from the rates of the unknowns. */
static void test_velocities_of_places(void **unused)
{
  (void)unused;
  const double dt = 0.01;
  for (int m = 0; m < N_MODELS; ++m)
    for (int k = 0; k < models[m].n_rods; ++k) {
      rod_case      c;
      body_nodes    nodes;
      body_segments segments;
      double        u[300];
      open_rod(models[m].name, models[m].rods[k], NULL, &c);
      for (int step = 0; step < 2; ++step) random_rates(c.b, 5.0, u), rod_begin(c.b, step * dt, dt), rod_accept(c.b, u);
      rod_begin(c.b, 2 * dt, dt);
      c.base->ops->nodes(c.base, &nodes), c.base->ops->segments(c.base, &segments);
      for (int64_t i = 0; i < nodes.n + (segments.on_axis ? segments.n_segments : 0); ++i) {
        body_contact_location at = {.kind = i < nodes.n ? FEATURE_POINT : FEATURE_SEGMENT, .index = i < nodes.n ? i : i - nodes.n};
        int32_t               block[LOCATION_MAX_BLOCKS];
        double                J[LOCATION_MAX_BLOCKS][9], sum[3] = {0.0}, term[3], expected[3] = {0.0};
        if (i < nodes.n) v3_copy(at.x, nodes.x + 3 * i), v3_copy(expected, nodes.v + 3 * i);
        else
          for (int e = 0; e < 2; ++e) {
            const int64_t node = segments.segment[2 * at.index + e];
            const double  w    = e ? 0.3 : 0.7;
            at.w[0]            = 0.3;
            v3_axpy(at.x, w, nodes.x + 3 * node), v3_axpy(expected, w, nodes.v + 3 * node);
          }
        const int n = c.base->ops->location_jacobian(c.base, &at, block, J);
        for (int e = 0; e < n; ++e) {
          m3_mulv(term, J[e], c.b->u + 3 * (int64_t)block[e]);
          v3_add(sum, sum, term);
        }
        for (int e = 0; e < 3; ++e) assert_close(sum[e], expected[e], 1e-11);
      }
      for (int64_t b = 0; b < c.b->n_blocks; ++b) { /* couplings are the pattern of the matrix */
        int32_t   other[1000];
        const int n       = c.base->ops->couplings(c.base, b, other);
        bool      has_own = false;
        for (int e = 0; e < n; ++e) {
          assert_true(other[e] >= 0 && other[e] < c.b->n_blocks && (e == 0 || other[e] > other[e - 1]));
          has_own |= other[e] == b;
        }
        assert_true(has_own);
      }
      rod_case_close(&c);
    }
  assert_no_leak();
}

/* Every strand of several starts with the velocity of a rigid body. */
static void test_initial_velocities(void **unused)
{
  (void)unused;
  for (int m = 0; m < N_MODELS; ++m) {
    const double velocity[3] = {0.5, -1.0, 2.0}, spin[3] = {1.0, -2.0, 3.0};
    double       center[3] = {0.0}, mass = 0.0;
    rod_case     c;
    body_nodes   nodes;
    open_rod(models[m].name,
             "curve: {arc: {from: [0.1, 0, 0], tangent: [0, 1, 0], towards: [-1, 0, 0], radius: 0.1, angle_deg: 100}}, segments: 6, "
             "section: {circle: 0.002}, natural: straight, copies: {count: 3, radius: 0.3, pattern: disc}, velocity: [0.5, -1, 2], "
             "angular_velocity: [1, -2, 3]",
             NULL, &c);
    rod_begin(c.b, 0.0, 0.01);
    c.base->ops->nodes(c.base, &nodes);
    assert_int_equal(nodes.n, 3 * 7);
    for (int64_t i = 0; i < nodes.n; ++i) v3_axpy(center, c.b->mass[i], nodes.x + 3 * i), mass += c.b->mass[i];
    v3_scale(center, 1.0 / mass, center);
    for (int64_t i = 0; i < nodes.n; ++i) {
      body_contact_location at = {.kind = FEATURE_POINT, .index = i};
      int32_t               block[LOCATION_MAX_BLOCKS];
      double                J[LOCATION_MAX_BLOCKS][9], sum[3] = {0.0}, term[3], arm[3], expected[3];
      v3_copy(at.x, nodes.x + 3 * i);
      v3_sub(arm, at.x, center);
      v3_cross(expected, spin, arm);
      v3_add(expected, expected, velocity);
      const int n = c.base->ops->location_jacobian(c.base, &at, block, J);
      for (int e = 0; e < n; ++e) {
        m3_mulv(term, J[e], c.b->u + 3 * (int64_t)block[e]);
        v3_add(sum, sum, term);
      }
      for (int e = 0; e < 3; ++e) assert_close(sum[e], expected[e], 1e-12);
    }
    rod_case_close(&c);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_clusters), cmocka_unit_test(test_derivatives), cmocka_unit_test(test_definite),
          cmocka_unit_test(test_matrix), cmocka_unit_test(test_energy), cmocka_unit_test(test_rest),
          cmocka_unit_test(test_rest_of_any_size), cmocka_unit_test(test_ring), cmocka_unit_test(test_small_loops),
          cmocka_unit_test(test_natural_curvature), cmocka_unit_test(test_lengths_of_arcs), cmocka_unit_test(test_frame_indifference),
          cmocka_unit_test(test_pure_bending), cmocka_unit_test(test_twist), cmocka_unit_test(test_driven_twist),
          cmocka_unit_test(test_spots), cmocka_unit_test(test_frequencies), cmocka_unit_test(test_restart),
          cmocka_unit_test(test_velocities_of_places), cmocka_unit_test(test_initial_velocities))
