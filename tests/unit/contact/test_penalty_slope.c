/* A point and a box on a slope, integrated by backward Euler and a small dense Newton solver of this file: rest depth (target
 * A10), no creep at any tolerance, and the acceleration of sliding. */
#include "test.h"
#include "contact/penalty/penalty.h"
#include "contact_bodies.h"
#include <float.h>

static const double GRAVITY = 9.81, MASS = 1.0, SIDE = 0.1, STIFFNESS = 1e3;

/* Body 0 on body 1, the plane n.x = 0. A point is one block; a box two, its inertia a multiple of 1, so that the gyroscopic
 * term vanishes. */
typedef struct {
  mock_body        body;
  bool             is_box;
  level_set       *plane;
  penalty_contact *contact;
  rigid_frame      frames0[2], frames[2]; /* box (not used by a point), world */
  contact_source   source;
  contact_object   object;
  double           corner[4][3], v[6], down[3], along[3], n[3]; /* along: straight down the slope */
  double           belt[3];                                     /* velocity of the plane, prescribed */
  int              n_newton;
} slope;

static void place(slope *s)
{
  for (int i = 0; i < 4 && s->is_box; ++i) {
    m3_mulv(s->body.x + 3 * i, s->frames0[0].R, s->corner[i]);
    v3_axpy(s->body.x + 3 * i, 1.0, s->frames0[0].c);
  }
}

/* The body starts at rest, just touching. tangent: of the angle of the slope. */
static void slope_create(slope *s, bool is_box, double tangent, double mu)
{
  const double      cosine = 1.0 / sqrt(1.0 + tangent * tangent), sine = tangent * cosine, zero[3] = {0.0, 0.0, 0.0};
  const contact_law law[4] = {
      {.stiffness = 0}, {.stiffness = STIFFNESS, .friction = mu}, {.stiffness = STIFFNESS, .friction = mu}, {.stiffness = 0}};
  memset(s, 0, sizeof *s);
  s->is_box = is_box;
  v3_set(s->n, sine, 0.0, cosine);
  v3_set(s->along, cosine, 0.0, -sine);
  v3_set(s->down, 0.0, 0.0, -1.0);
  mock_create(&s->body, is_box ? "box" : "point", is_box, is_box ? 4 : 1, 1, is_box ? 2 : 1);
  if (!is_box) s->body.weight[0] = 1.0;
  s->frames0[0] = mock_frame(zero, 0);
  s->frames0[1] = mock_frame(zero, -1);
  if (is_box) {
    const double R[9] = {s->along[0], 0.0, s->n[0], s->along[1], 1.0, s->n[1], s->along[2], 0.0, s->n[2]};
    m3_copy(s->frames0[0].R, R);
    v3_scale(s->frames0[0].c, 0.5 * SIDE, s->n);
    for (int i = 0; i < 4; ++i) v3_set(s->corner[i], i % 2 ? 0.05 : -0.05, i / 2 ? 0.05 : -0.05, -0.05);
    place(s);
  } else s->frames0[0].block = -1;
  assert_ok(level_set_plane(s->n, 0.0, &s->plane));
  assert_ok(penalty_contact_create(2, NULL, law, &s->contact));
  s->source = (contact_source){&s->body.base, is_box ? 0 : -1, 0};
  s->object = (contact_object){s->plane, 1, 1};
}

static void slope_destroy(slope *s)
{
  penalty_contact_destroy(&s->contact);
  level_set_destroy(&s->plane);
  mock_destroy(&s->body);
  assert_no_leak();
}

/* g = M (v - v0) - dt (gravity + contact), and its norm in units of m g dt. */
static double gradient(slope *s, double dt, const double *v0, double *g)
{
  const double diagonal[2] = {MASS, MASS * SIDE * SIDE / 6.0};
  step_status  status      = {STEP_OK, NULL, -1};
  double       sum         = 0.0;
  for (int f = 0; f < 2; ++f) mock_move_frame(&s->frames0[f], dt, s->v, &s->frames[f]);
  v3_copy(s->frames[1].v, s->belt);
  v3_axpy(s->frames[1].c, dt, s->belt);
  for (int i = 0; i < 6; ++i) g[i] = diagonal[i / 3] * (s->v[i] - v0[i]) - (i < 3 ? dt * MASS * GRAVITY * s->down[i] : 0.0);
  assert_ok(penalty_contact_residual(s->contact, s->v, s->frames, g, true, &status));
  assert_int_equal(status.code, STEP_OK);
  const int n = s->is_box ? 6 : 3;
  for (int i = 0; i < n; ++i) sum += pow(g[i] / (i < 3 ? 1.0 : SIDE) / (MASS * GRAVITY * dt), 2);
  return sqrt(sum);
}

/* Solve H d = -g, H = M + contact, by elimination with pivoting. */
static void direction(slope *s, const double *g, double *d)
{
  const double diagonal[2] = {MASS, MASS * SIDE * SIDE / 6.0};
  const int    n           = s->is_box ? 6 : 3;
  double       A[6][7]     = {{0.0}};
  for (int j = 0; j < n; ++j) {
    double x[6] = {0.0}, y[6] = {0.0};
    x[j] = 1.0;
    y[j] = diagonal[j / 3];
    assert_ok(penalty_contact_tangent(s->contact, x, y, false));
    for (int i = 0; i < n; ++i) A[i][j] = y[i];
    A[j][n] = -g[j];
  }
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (fabs(A[i][k]) > fabs(A[p][k])) p = i;
    for (int j = 0; j <= n; ++j) {
      const double t = A[k][j];
      A[k][j] = A[p][j], A[p][j] = t;
    }
    for (int i = 0; i < n; ++i)
      for (int j = n; i != k && j >= k; --j) A[i][j] -= A[i][k] / A[k][k] * A[k][j];
  }
  for (int i = 0; i < 6; ++i) d[i] = i < n ? A[i][n] / A[i][i] : 0.0;
}

/* At least one Newton iteration, at most 40; halving while the residual grows, at most 20 times. */
static void step(slope *s, double dt, double tolerance, contact_summary *summary)
{
  double v0[6], g[6], d[6], norm;
  memcpy(v0, s->v, sizeof v0);
  assert_ok(penalty_contact_begin_step(s->contact, 1, &s->source, 1, &s->object, 2, s->frames0, dt, 0.05, s->body.base.n_blocks));
  norm = gradient(s, dt, v0, g);
  for (int i = 0; i < 40 && (i == 0 || norm > tolerance); ++i, ++s->n_newton) {
    double before[6], next = norm;
    memcpy(before, s->v, sizeof before);
    direction(s, g, d);
    for (int half = 0; half < 20; ++half) {
      for (int k = 0; k < 6; ++k) s->v[k] = before[k] + ldexp(d[k], -half);
      next = gradient(s, dt, v0, g);
      if (next < norm || norm <= tolerance) break;
    }
    norm = next;
  }
  assert_ok(penalty_contact_settle(s->contact, s->v, s->frames));
  assert_ok(penalty_contact_end_step(s->contact, s->v, s->frames, summary));
  memcpy(s->frames0, s->frames, sizeof s->frames);
  if (s->is_box) place(s);
  else v3_axpy(s->body.x, dt, s->v);
}

static const double *where(const slope *s) { return s->is_box ? s->frames0[0].c : s->body.x; }

/* Steps of 0.1 s damp every oscillation of this stiffness within a few steps, and rest does not depend on the step. */
static void settle(slope *s)
{
  for (int i = 0; i < 400; ++i) step(s, 0.1, 1e-13, NULL);
}

static void rests_at_the_right_depth(void **unused)
{
  (void)unused;
  for (int is_box = 0; is_box < 2; ++is_box) {
    slope           s;
    contact_summary summary;
    const double    n_points = is_box ? 4.0 : 1.0;
    slope_create(&s, is_box, 0.0, 0.3);
    settle(&s);
    step(&s, 1e-3, 1e-13, &summary);
    assert_close(summary.contact_depth, MASS * GRAVITY / (n_points * STIFFNESS), 1e-12);
    assert_int_equal(summary.contacts, (int)n_points);
    assert_int_equal(summary.sliding, 0);
    double f[3], m[3];
    contact_force(s.contact, 0, 1, f, m);
    assert_close(f[2], MASS * GRAVITY, 1e-9);
    slope_destroy(&s);
  }
}

/* For loose and tight tolerances, attachments stick: only round-off moves. */
static void does_not_creep(void **unused)
{
  (void)unused;
  const double tolerance[3] = {1e-1, 1e-5, 1e-12};
  for (int is_box = 0; is_box < 2; ++is_box)
    for (int t = 0; t < 3; ++t) {
      slope           s;
      double          start[3], moved[3];
      contact_summary summary;
      slope_create(&s, is_box, 0.11, 0.125);
      for (int i = 0; i < 400; ++i) step(&s, 0.1, 1e-13, NULL);
      v3_copy(start, where(&s));
      for (int i = 0; i < 1000; ++i) step(&s, 1e-3, tolerance[t], &summary);
      v3_sub(moved, where(&s), start);
      assert_close(v3_norm(moved), 0.0, 1e-12);
      assert_int_equal(summary.sliding, 0);
      assert_int_equal(summary.contacts, is_box ? 4 : 1);
      slope_destroy(&s);
    }
}

/* A01: tan = 0.11, mu = 0.1. Once settled, velocity grows by a dt in every step, friction is on the cone and opposes it. */
static void slides_with_the_right_acceleration(void **unused)
{
  (void)unused;
  for (int is_box = 0; is_box < 2; ++is_box) {
    slope           s;
    contact_summary summary;
    const double    tangent = 0.11, mu = 0.1, a = GRAVITY * (tangent - mu) / sqrt(1.0 + tangent * tangent);
    slope_create(&s, is_box, tangent, mu);
    settle(&s);
    const double before = v3_dot(s.v, s.along);
    s.n_newton          = 0;
    for (int i = 0; i < 500; ++i) {
      step(&s, 1e-3, 1e-12, &summary);
      assert_int_equal(summary.sliding, is_box ? 4 : 1);
      assert_close(summary.cone_violation, 0.0, 1e-11); /* positions of 80 m, forces of 1e3 N/m times their round-off */
      assert_close(summary.slip_angle_error, 0.0, 1e-6);
      assert_close(summary.friction_angle_error, 0.0, 1e-6);
    }
    assert_close((v3_dot(s.v, s.along) - before) / 0.5, a, 1e-6);
    assert_true(s.n_newton <= 2 * 500); /* the problem is linear on a branch: one iteration, sometimes one for round-off */
    slope_destroy(&s);
  }
}

/* A01: v0 = 0.1 downhill, mu = 0.125 stops after 0.03418 m. The attachment carries the full load from the start (a spring that
 * has yet to load up lets the point 5 mm further). From there the spring swings back around its rest, mu h - sin(angle) m g/k
 * = 0.15 mm uphill; and backward Euler is v0 dt/2 = 0.05 mm short. */
static void stops_at_the_predicted_place(void **unused)
{
  (void)unused;
  slope           s;
  contact_summary summary;
  const double    tangent = 0.11, mu = 0.125, h = MASS * GRAVITY / sqrt(1.0 + tangent * tangent) / STIFFNESS;
  slope_create(&s, false, tangent, mu);
  v3_axpy(s.body.x, -h, s.n);
  assert_ok(penalty_contact_begin_step(s.contact, 1, &s.source, 1, &s.object, 2, s.frames0, 1e-3, 0.05, 1));
  assert_ok(penalty_contact_settle(s.contact, s.v, s.frames0));
  assert_ok(penalty_contact_end_step(s.contact, s.v, s.frames0, NULL));
  v3_axpy(s.body.x, mu * h, s.along);
  v3_scale(s.v, 0.1, s.along);
  const double start = v3_dot(s.body.x, s.along);
  for (int i = 0; i < 1000; ++i) step(&s, 1e-3, 1e-12, &summary);
  const double swing = mu * h - tangent * h;
  assert_close(v3_dot(s.body.x, s.along) - start, 0.03418 - 5e-5 - swing, swing);
  assert_int_equal(summary.sliding, 0);
  slope_destroy(&s);
}

/* A plane that moves by decree carries its attachments along: a box dropped on a conveyor slides, against the relative
 * motion, and then rides. */
static void moves_with_a_conveyor(void **unused)
{
  (void)unused;
  for (int is_box = 0; is_box < 2; ++is_box) {
    slope           s;
    contact_summary summary;
    double          f[3], m[3];
    slope_create(&s, is_box, 0.0, 0.3);
    settle(&s);
    v3_set(s.belt, 0.3, 0.4, 0.0);
    for (int i = 0; i < 40; ++i) step(&s, 1e-3, 1e-12, &summary);
    assert_int_equal(summary.sliding, is_box ? 4 : 1);
    contact_force(s.contact, 0, 1, f, m);
    assert_close(f[0], 0.3 * 0.6 * MASS * GRAVITY, is_box ? 0.05 : 1e-6); /* the box leans a little */
    assert_close(f[1], 0.3 * 0.8 * MASS * GRAVITY, is_box ? 0.05 : 1e-6);
    assert_close(summary.friction_angle_error, 0.0, is_box ? 0.05 : 1e-6);
    settle(&s);
    assert_close(s.v[0], 0.3, 1e-9);
    assert_close(s.v[1], 0.4, 1e-9);
    step(&s, 1e-3, 1e-13, &summary);
    assert_int_equal(summary.sliding, 0);
    slope_destroy(&s);
  }
}

/* Energies of the report. With the spring s = f/k of a point, a backward Euler step changes kinetic energy, potential energy and spring energy together by
 * minus the friction work minus m/2 |dv|^2 minus k/2 |ds|^2. The spring of the first step starts with the depth of the point. */
static void energy_is_balanced(void **unused)
{
  (void)unused;
  slope        s;
  const double dt = 1e-3, h = 3e-3;
  double       before = 0.0, spring[3], total = 0.0, friction = 0.0;
  int          n_stuck = 0, n_sliding = 0;
  slope_create(&s, false, 0.11, 0.2);
  v3_scale(s.body.x, -h, s.n);
  v3_scale(s.v, 0.03, s.along);
  s.v[1] = 0.02;
  v3_scale(spring, h, s.n);
  for (int i = 0; i < 60; ++i) {
    contact_summary summary;
    double          v0[3], dv[3], f[3], m[3], ds[3];
    v3_copy(v0, s.v);
    const double kinetic = 0.5 * MASS * v3_dot(v0, v0), height = s.body.x[2];
    step(&s, dt, 1e-13, &summary);
    assert_int_equal(summary.contacts, 1);
    assert_close(summary.start_energy, i == 0 ? 0.5 * STIFFNESS * h * h : 0.0, 1e-15);
    assert_close(summary.correction_work, 0.0, 1e-17);
    before = i == 0 ? summary.start_energy : before;
    contact_force(s.contact, 0, 1, f, m);
    v3_scale(f, 1.0 / STIFFNESS, f);
    v3_sub(ds, f, spring), v3_sub(dv, s.v, v0);
    assert_close(summary.contact_energy, 0.5 * STIFFNESS * v3_dot(f, f), 1e-14);
    const double change =
                     0.5 * MASS * v3_dot(s.v, s.v) - kinetic + MASS * GRAVITY * (s.body.x[2] - height) + summary.contact_energy - before,
                 lost = 0.5 * MASS * v3_dot(dv, dv) + 0.5 * STIFFNESS * v3_dot(ds, ds);
    assert_close(summary.friction_work_done, -change - lost, 1e-14);
    assert_true(summary.sliding ? summary.friction_work_done > 0.0 : summary.friction_work_done == 0.0);
    before = summary.contact_energy;
    v3_copy(spring, f);
    total += change, friction += summary.friction_work_done;
    ++*(summary.sliding ? &n_sliding : &n_stuck);
  }
  assert_true(n_sliding > 5 && n_stuck > 5 && friction > 1e-5 && total < -friction);
  slope_destroy(&s);
}

/* A point that overlaps at the start of the run by 3 mm, of which the spring does not see 1 mm: the force, its energy, and the work of the correction. */
static void rest_depths_do_not_press(void **unused)
{
  (void)unused;
  slope               s;
  contact_summary     summary;
  int32_t             pair[2] = {0, 1};
  double              depth = 1e-3, reduction = 4e-4, f[3], m[3];
  const contact_rests rests = {1, pair, &depth, &reduction};
  slope_create(&s, false, 0.0, 0.2);
  v3_scale(s.body.x, -3e-3, s.n);
  penalty_contact_set_rests(s.contact, &rests);
  assert_ok(penalty_contact_begin_step(s.contact, 1, &s.source, 1, &s.object, 2, s.frames0, 1e-3, 0.05, 1));
  assert_ok(penalty_contact_settle(s.contact, s.v, s.frames0));
  assert_ok(penalty_contact_end_step(s.contact, s.v, s.frames0, &summary));
  contact_force(s.contact, 0, 1, f, m);
  assert_close(f[2], STIFFNESS * 2e-3, 1e-12);
  assert_close(summary.contact_depth, 3e-3, 1e-15);
  assert_close(summary.contact_energy, 0.5 * STIFFNESS * 4e-6, 1e-15);
  assert_close(summary.start_energy, 0.5 * STIFFNESS * 4e-6, 1e-15);
  assert_close(summary.correction_work, 0.5 * STIFFNESS * (4e-6 - 2.56e-6), 1e-15);
  slope_destroy(&s);
}

TEST_MAIN(cmocka_unit_test(rests_at_the_right_depth), cmocka_unit_test(does_not_creep),
          cmocka_unit_test(slides_with_the_right_acceleration), cmocka_unit_test(stops_at_the_predicted_place),
          cmocka_unit_test(moves_with_a_conveyor), cmocka_unit_test(energy_is_balanced), cmocka_unit_test(rest_depths_do_not_press))
