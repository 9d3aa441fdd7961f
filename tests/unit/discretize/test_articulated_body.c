/* Articulated bodies as systems: residual against matrix, conserved quantities, joints, and errors. */
#include "articulated_fixture.h"
#include <string.h>

static made make(const char *text, double gravity) { return make_with(text, gravity, 1e-3); }

static void finish(made *m)
{
  drop(m);
  assert_no_leak();
}

/* x = A^-1 x by elimination; A [n][n] is positive definite. */
static void solve(int n, double *A, double *x)
{
  for (int k = 0; k < n; ++k)
    for (int r = k + 1; r < n; ++r) {
      const double f = A[n * r + k] / A[n * k + k];
      for (int c = k; c < n; ++c) A[n * r + c] -= f * A[n * k + c];
      x[r] -= f * x[k];
    }
  for (int r = n - 1; r >= 0; --r) {
    for (int c = r + 1; c < n; ++c) x[r] -= A[n * r + c] * x[c];
    x[r] /= A[n * r + r];
  }
}

/* A step without contact: the iteration of `exact`, prescribed components known. Returns the number of linearisations. */
static int step(articulated_body *b, double t, double dt)
{
  enum { MOST = 24 };
  double          v[MOST], g[MOST], A[MOST * MOST], scale[MOST];
  const int64_t  *dof;
  const double   *to;
  int64_t         n_blocks;
  step_status     ok  = {STEP_OK, NULL, -1};
  const int       n   = b->tree.n_v;
  int             k   = 0;
  const body_ops *ops = b->base.ops;
  assert_ok(ops->begin_step(&b->base, t, dt, &n_blocks, &ok));
  assert_true(3 * n_blocks <= MOST);
  assert_ok(ops->velocity(&b->base, v));
  assert_ok(ops->mass(&b->base, scale));
  const int64_t held = ops->prescribed(&b->base, &dof, &to);
  for (int64_t i = 0; i < held; ++i) v[dof[i]] = to[i];
  for (; k < 60; ++k) {
    double most = 0.0;
    memset(g, 0, sizeof g);
    assert_ok(ops->residual(&b->base, v, g, true, &ok));
    assert_int_equal(ok.code, STEP_OK);
    memcpy(A, b->H, (size_t)(n * n) * sizeof *A);
    for (int64_t i = 0; i < held; ++i) {
      for (int c = 0; c < n; ++c) A[n * dof[i] + c] = A[n * c + dof[i]] = 0.0;
      A[(n + 1) * dof[i]] = 1.0, g[dof[i]] = 0.0;
    }
    for (int i = 0; i < n; ++i) most = fmax(most, fabs(g[i]) / scale[i]);
    if (most < 1e-13 && k > 0) break;
    solve(n, A, g);
    for (int i = 0; i < n; ++i) v[i] -= g[i];
  }
  assert_ok(ops->end_step(&b->base, v, &ok));
  return k;
}

static body_totals sums(const articulated_body *b)
{
  body_totals s;
  assert_ok(b->base.ops->totals(&b->base, b->gravity, &s));
  return s;
}

#define CHAIN                                                                                                                              \
  "{links: {a: {mass: 2, center_of_mass: [0, 0, 0], inertia: [0.1, 0.2, 0.25, 0.01, 0, 0.02]}, b: {mass: 1, center_of_mass: [1, "          \
  "0.1, 0], inertia: [0.02, 0.1, 0.1, 0, 0, 0]}, "                                                                                         \
  "c: {mass: 0.7, center_of_mass: [2, 0, 0.2], inertia: [0.05, 0.06, 0.07, 0, 0.01, 0]}, d: {mass: 0.5, center_of_mass: [0, 1, "           \
  "0], inertia: [0.05, 0.02, 0.04, 0, 0, 0]}}, "                                                                                           \
  "joints: {base: {type: free, child: a, velocity: [0.3, 0.2, -0.1], angular_velocity: [0.5, 1, -0.7]}, ab: {type: revolute, "             \
  "parent: a, child: b, at: [0.5, 0, 0], axis: [0, 1, 1], "                                                                                \
  "rate: 2}, bc: {type: ball, parent: b, child: c, at: [1.5, 0, 0], angular_velocity: [1, -2, 3]}, ad: {type: prismatic, parent: "         \
  "a, child: d, axis: [0, 1, 0.2], rate: 0.5}}"

/* A free body: linear and angular momentum are constant to round-off, energy to second order in the mean; a torque at a joint
 * does not change the momenta. */
static void test_momentum(void **state)
{
  (void)state;
  static const char *const text[] = {CHAIN "}", CHAIN ", loops: [{one: c, other: d, at: [1, 1, 0]}]}"};
  for (int i = 0; i < 2; ++i) {
    made              m = make(text[i], 0.0);
    articulated_body *b = sound(&m);
    if (i == 1) { /* nothing turns that tears the loop at once */
      memset(b->v, 0, (size_t)b->n_v * sizeof *b->v);
      b->v[4] = 1.0, b->v[0] = 0.5;
      articulated_body_place(b);
    }
    const body_totals before = sums(b);
    const double      rounds = 1e-12; /* 400 steps that stop at 1e-13 of the velocities */
    for (int k = 0; k < 400; ++k) step(b, 0.005 * k, 0.005);
    const body_totals after = sums(b);
    for (int k = 0; k < 3; ++k) {
      assert_close(after.momentum[k], before.momentum[k], 400 * rounds);
      assert_close(after.angular_momentum[k], before.angular_momentum[k], 400 * rounds);
      assert_close(after.center[k], before.center[k] + 2.0 * before.momentum[k] / before.mass, 1e-9);
    }
    assert_close(after.kinetic, before.kinetic, 0.02 * before.kinetic);
    finish(&m);
  }
}

/* Where it is at time 1 by steps of dt. */
static void chain_at_one(const char *text, double dt, double *q, int *n_q)
{
  made      m = make(text, -9.81);
  const int n = (int)lround(1.0 / dt);
  sound(&m);
  for (int k = 0; k < n; ++k) step(m.b, k * dt, dt);
  memcpy(q, m.b->q, (size_t)m.b->n_q * sizeof *q);
  *n_q = (int)m.b->n_q;
  finish(&m);
}

/* Both integrators are of first order and converge to the same solution. */
static void test_order(void **state)
{
  (void)state;
  static const char *const text[] = {CHAIN "}", CHAIN ", integrator: semi_implicit}"};
  double                   q[2][3][32], between = 0.0;
  int                      n_q;
  for (int i = 0; i < 2; ++i) {
    double coarse = 0.0, fine = 0.0;
    for (int k = 0; k < 3; ++k) chain_at_one(text[i], 0.004 / (1 << k), q[i][k], &n_q);
    for (int k = 0; k < n_q; ++k) coarse = fmax(coarse, fabs(q[i][1][k] - q[i][0][k])), fine = fmax(fine, fabs(q[i][2][k] - q[i][1][k]));
    assert_close(log2(coarse / fine), 1.0, 0.15);
  }
  for (int k = 0; k < n_q; ++k) /* extrapolated to no step at all */
    between = fmax(between, fabs(2 * q[0][2][k] - q[0][1][k] - 2 * q[1][2][k] + q[1][1][k]));
  assert_close(between, 0.0, 2e-3);
}

#define ARM(more)                                                                                                                          \
  "{links: {a: {mass: 2, center_of_mass: [1, 0, 0], inertia: [0.1, 0.5, 0.5, 0, 0, 0]}}, joints: {j: {type: revolute, child: a, "          \
  "at: [0, 0, 0], axis: [0, 1, 0]" more "}}}"
#define SLIDE(more) "{links: {a: {mass: 2, center_of_mass: [1, 0, 0]}}, joints: {j: {type: prismatic, child: a, axis: [0, 0, 1]" more "}}}"

/* Energy stays near its initial value over many oscillations, without drift. */
static void test_pendulum(void **state)
{
  (void)state;
  made m = make(
      "{links: {a: {mass: 1, center_of_mass: [1, 0, 0]}}, joints: {j: {type: revolute, child: a, at: [0, 0, 0], axis: [0, 1, 0]}}}", -9.81);
  double most = 0.0, late = 0.0;
  sound(&m);
  for (int k = 0; k < 4000; ++k) {
    step(m.b, 0.005 * k, 0.005);
    const body_totals s = sums(m.b);
    most                = fmax(most, k < 1000 ? fabs(s.kinetic + s.potential) : 0.0);
    late                = fmax(late, k >= 3000 ? fabs(s.kinetic + s.potential) : 0.0);
  }
  assert_true(most < 0.5 * 0.005 * 9.81 * sqrt(2 * 9.81)); /* half a step of the greatest power */
  assert_close(late, most, 0.02 * most);
  finish(&m);
}

/* A free body with moments 1, 2, 3 that spins about the middle one turns over every 19.553 s (validation case A27), again and
 * again: its momentum, which is that of the middle of a step, stays to round-off, and energy does not drift. */
static void test_spin(void **state)
{
  (void)state;
  made m = make("{links: {a: {mass: 1, center_of_mass: [0, 0, 0], inertia: [1, 2, 3, 0, 0, 0]}}, joints: {j: {type: free, child: a, "
                "angular_velocity: [0.01, 1, 0.01]}}}",
                0.0);
  const double dt = 0.02, L[3] = {0.01, 2.0, 0.03};
  double       last = 1.0, first_flip = NAN, flip = NAN;
  int          n = -1;
  sound(&m);
  for (int k = 0; k < 5000; ++k) {
    double W[3];
    step(m.b, dt * k, dt);
    m3_mulv_t(W, m.b->link[0]->rigid.R0, m.b->w);
    if (W[1] * last < 0.0) {
      if (n++ < 0) first_flip = dt * k;
      flip = dt * k, last = W[1];
    }
  }
  assert_int_equal(n, 4);
  assert_close((flip - first_flip) / n, 19.553, 0.005 * 19.553);
  for (int k = 0; k < 3; ++k) assert_close(m.b->L[k], L[k], 1e-10);
  assert_close(sums(m.b).kinetic, 1.0002, 1e-4);
  finish(&m);
}

/* Joint forces against closed forms, for a slide of 2 kg, weight 19.62 N. */
static void test_joints(void **state)
{
  (void)state;
  const double dt = 0.01, g = 9.81;
  made         m = make(SLIDE(", damping: 4"), -g);
  for (int k = 0; k < 500; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->v[0], -2.0 * g / 4.0, 1e-3); /* falls no faster: exp(-10) */
  finish(&m);
  m = make(SLIDE(", lower: -0.1, upper: 0.2"), -g);
  for (int k = 0; k < 100; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->q[0], -0.1, g * dt * dt * 0.01 / (4 * M_PI * M_PI) * 1.01); /* on its stop, with the depth given by the
                                                                                 * spring */
  assert_true(m.b->q[0] < -0.1);
  finish(&m);
  m = make(SLIDE(", friction: 20"), -g); /* more than the weight: creeps by 1e-3 of g dt */
  for (int k = 0; k < 10; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->v[0], -1e-3 * g * dt, 1e-6 * g * dt);
  finish(&m);
  m = make(SLIDE(", friction: 10"), -g);
  for (int k = 0; k < 10; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->v[0], -(g - 5.0) * 0.1, 1e-12);
  finish(&m);
  m = make(SLIDE(", drive: {stiffness: 200, damping: 40, target: \"0.3\"}"), -g);
  for (int k = 0; k < 1000; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->q[0], 0.3 - 2 * g / 200, 1e-9);
  assert_close(m.b->torque[0], 2 * g, 1e-6);
  finish(&m);
  m = make(SLIDE(", effort: 15, drive: {stiffness: 1.0e6, damping: 2000}"), -g); /* too weak to hold */
  for (int k = 0; k < 10; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->v[0], -(g - 7.5) * 0.1, 1e-12);
  assert_close(m.b->torque[0], 15.0, 0.0);
  finish(&m);
  m = make(SLIDE(", max_rate: 0.05"), -g);
  for (int k = 0; k < 10; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->v[0], -0.05, 3e-4 * g * dt);
  finish(&m);
  m = make(ARM(", motion: \"sin(3*t)\""), -g);
  for (int k = 0; k < 100; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->q[0], sin(3.0), 1e-14);
  finish(&m);
  m = make(ARM(", drive: {force: \"-2*9.81*cos(t*0)\"}"), -g); /* carries it level: about y a weight turns by +x m g */
  for (int k = 0; k < 10; ++k) step(sound(&m), k * dt, dt);
  assert_close(m.b->q[0], 0.0, 1e-14);
  finish(&m);
}

/* Two fingers by one unknown: they move alike, and forces on one are felt by both. The force of the joints on each finger follows from its motion. */
static void test_mimic(void **state)
{
  (void)state;
  made m = make("{links: {a: {mass: 1, center_of_mass: [1, 0, 0], force: [\"4\", 0, 0]}, b: {mass: 3, center_of_mass: [-1, 0, "
                "0]}}, joints: {ja: {type: prismatic, child: a, axis: [1, 0, 0]}, "
                "jb: {type: prismatic, child: b, axis: [1, 0, 0], mimic: {joint: ja, factor: -0.5, offset: 0.1}}}}",
                -9.81);
  for (int k = 0; k < 100; ++k) step(sound(&m), 0.01 * k, 0.01);
  const double a = 4.0 / (1.0 + 0.25 * 3.0), push[2][3] = {{a - 4.0, 0.0, 9.81}, {3.0 * -0.5 * a, 0.0, 3.0 * 9.81}};
  assert_close(m.b->v[0], a, 1e-12);
  assert_close(m.b->q[1], 0.1 - 0.5 * m.b->q[0], 1e-15);
  for (int i = 0; i < 6; ++i) assert_close(m.b->push[i], push[i / 3][i % 3], 1e-10); /* rounding of velocities over the step */
  finish(&m);
}

/* A four-bar linkage, a parallelogram: the coupler stays level, and the loop closed. */
static void test_loop(void **state)
{
  (void)state;
  made m = make("{links: {l: {mass: 1, center_of_mass: [0, 0, 0.5]}, r: {mass: 1, center_of_mass: [1, 0, 0.5]}, c: {mass: 2, "
                "center_of_mass: [0.5, 0, 1], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}}, "
                "joints: {jl: {type: revolute, child: l, at: [0, 0, 0], axis: [0, 1, 0], rate: 1}, jr: {type: revolute, child: r, "
                "at: [1, 0, 0], axis: [0, 1, 0], rate: 1}, "
                "jc: {type: revolute, parent: l, child: c, at: [0, 0, 1], axis: [0, 1, 0], rate: -1}}, loops: [{one: c, other: r, "
                "at: [1, 0, 1], type: ball}]}",
                -9.81);
  for (int k = 0; k < 300 && !(fabs(sound(&m)->q[0]) > 1.2); ++k) { /* at a right angle all bars lie on one line, and it may turn over */
    step(m.b, 0.005 * k, 0.005);
    assert_close(m.b->q[0], m.b->q[1], 2e-5);
    assert_close(m.b->q[2], -m.b->q[0], 2e-5);
  }
  assert_true(fabs(m.b->q[0]) > 1.0);
  finish(&m);
}

/* Links as bodies: their poses for trial velocities, the velocity of a spot by the blocks of the whole, and sums that make up its
 * own. */
static void test_links(void **state)
{
  (void)state;
  made m =
      make("{links: {a: {mass: 2, center_of_mass: [0, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}, b: {mass: 1, center_of_mass: [1, 0.1, "
           "0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}, "
           "c: {mass: 1, center_of_mass: [2, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}}, joints: {base: {type: free, child: a, "
           "velocity: [1, 2, 3], angular_velocity: [3, -1, 2]}, "
           "ab: {type: revolute, parent: a, child: b, at: [0.5, 0, 0], axis: [0, 1, 1], position: 0.3, rate: 2}, "
           "bc: {type: revolute, parent: b, child: c, at: [1.5, 0, 0], axis: [1, 1, 0], mimic: {joint: ab, factor: -2, offset: 0.1}}}}",
           -9.81);
  articulated_body *b    = sound(&m);
  const double      h    = 1e-6;
  double            v[9] = {0.0};
  int64_t           n;
  int               n_parts;
  body_totals       whole = sums(b), one, all = {0};
  step_status       ok   = {STEP_OK, NULL, -1};
  body *const      *part = b->base.ops->parts(&b->base, &n_parts);
  assert_int_equal(n_parts, 3);
  assert_ok(b->base.ops->begin_step(&b->base, 0.0, h, &n, &ok));
  assert_ok(b->base.ops->velocity(&b->base, v));
  for (int i = 0; i < 3; ++i) {
    body_contact_location spot = {.kind = FEATURE_FRAME, .x = {0.3, 0.7, -0.4}};
    rigid_frame           f0, f1;
    int32_t               block[LOCATION_MAX_BLOCKS];
    double                J[LOCATION_MAX_BLOCKS][9], u[3] = {0.0}, term[3], arm[3], X[3], x1[3];
    assert_ptr_equal(part[i]->ops->carrier(part[i]), &b->base);
    part[i]->ops->frame(part[i], 0.0, 0.0, NULL, &f0);
    part[i]->ops->frame(part[i], 0.0, h, v, &f1);
    v3_sub(arm, spot.x, f0.c);
    m3_mulv_t(X, f0.R, arm);
    m3_mulv(x1, f1.R, X);
    v3_add(x1, x1, f1.c);
    for (int k = part[i]->ops->location_jacobian(part[i], &spot, block, J); k-- > 0;) {
      m3_mulv(term, J[k], v + 3 * block[k]);
      v3_axpy(u, 1.0, term);
    }
    for (int k = 0; k < 3; ++k) assert_close(u[k], (x1[k] - spot.x[k]) / h, 1e-4); /* h times accelerations of some 50 */
    assert_ok(part[i]->ops->totals(part[i], b->gravity, &one));
    all.mass += one.mass, all.kinetic += one.kinetic, all.potential += one.potential;
    v3_add(all.momentum, all.momentum, one.momentum);
    v3_add(all.angular_momentum, all.angular_momentum, one.angular_momentum);
  }
  assert_close(all.mass, whole.mass, 1e-15);
  assert_close(all.kinetic, whole.kinetic, 1e-13);
  assert_close(all.potential, whole.potential, 1e-13);
  for (int k = 0; k < 3; ++k) {
    assert_close(all.momentum[k], whole.momentum[k], 1e-13);
    assert_close(all.angular_momentum[k], whole.angular_momentum[k], 1e-13);
  }
  finish(&m);
}

/* A loop of type revolute lets a door swing about its axis, one of type fixed prevents it. */
static void test_loop_types(void **state)
{
  (void)state;
#define DOOR(more)                                                                                                                         \
  "{links: {a: {mass: 2, center_of_mass: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0], torque: [\"1\", \"2\", \"3\"]}}, "                \
  "joints: {j: {type: free, child: a}}, loops: [{one: a, at: [0, 0, 0], " more "}]}"
  made m = make(DOOR("type: revolute, axis: [0, 0, 1]"), 0.0);
  for (int k = 0; k < 100; ++k) step(sound(&m), 0.01 * k, 0.01);
  assert_close(m.b->w[2], 3.0 / (0.1 + 2 * 0.25), 3e-3); /* torque over inertia, for 1 s; chords are shorter than arcs by (w dt)^2/6 */
  assert_close(fabs(m.b->w[0]) + fabs(m.b->w[1]), 0.0, 1e-4);
  finish(&m);
  m = make(DOOR("type: fixed"), 0.0);
  for (int k = 0; k < 100; ++k) step(sound(&m), 0.01 * k, 0.01);
  for (int k = 0; k < 6; ++k) assert_close(m.b->v[k], 0.0, 1e-6);
  finish(&m);
}

static void check_refused(const char *text, const char *message)
{
  made m = make(text, -9.81);
  if (m.b || diagnostics_count(m.d) == 0) fail_msg("taken: %s", text);
  if (!strstr(diagnostics_text(m.d, 0), message))
    fail_msg("%s\n  message \"%s\", expected \"%s\"", text, diagnostics_text(m.d, 0), message);
  assert_true(strncmp(diagnostics_text(m.d, 0), "job.yaml:4:", 11) == 0);
  finish(&m);
}

static void test_errors(void **state)
{
  (void)state;
#define TWO "{links: {a: {mass: 1, center_of_mass: [1, 0, 0]}, b: {mass: 1, center_of_mass: [2, 0, 0]}}, joints: "
#define HINGE "type: revolute, at: [0, 0, 0], axis: [0, 1, 0]"
  check_refused("{}", "has no links");
  check_refused(TWO "{j: {" HINGE ", child: a}}}", "has no joint");
  check_refused(TWO "{j: {" HINGE ", child: a, parent: b}, k: {" HINGE ", child: b, parent: a}}}", "depends on itself through");
  check_refused(TWO "{j: {" HINGE ", child: a}, k: {" HINGE ", child: b}, l: {" HINGE ", child: a, parent: b}}}",
                "already has joint \"j\"");
  check_refused(TWO "{j: {" HINGE ", child: a}, k: {" HINGE ", child: bb}}}", "no link is called \"bb\"");

  check_refused("{links: {a: {mass: 1, center_of_mass: [0, 0, 0]}}, joints: {j: {" HINGE ", child: a}}}", "moves no mass");
  check_refused("{links: {a: {mass: 0}}, joints: {j: {type: free, child: a}}}", "moves no mass");
  check_refused("{links: {a: {mass: 1, center_of_mass: [1, 0, 0], inertia: [1, 1, 3, 0, 0, 0]}}, joints: {j: {" HINGE ", child: a}}}",
                "principal moments (3, 1, 1)");
  check_refused("{links: {a: {mass: 1, center_of_mass: [1, 0, 0], inertia: [1, 1, 1, 2, 0, 0]}}, joints: {j: {" HINGE ", child: a}}}",
                "principal moments");
  check_refused(SLIDE(", lower: 1, upper: -1"), "lower: 1 is above upper = -1");
  check_refused(SLIDE(", lower: 1, upper: 2"), "starts at 0, outside its limits 1 and 2");
  check_refused(SLIDE(", motion: t, damping: 1"), "a prescribed motion");
  check_refused(SLIDE(", motion: tt"), "at character");
  check_refused(SLIDE(", velocity: [1, 0, 0]"), "on a joint of this type");
  check_refused(SLIDE(", effort: 3"), "without a motor");
  check_refused(SLIDE(", mimic: {joint: k}"), "no joint is called \"k\"");
  check_refused("{links: {a: {mass: 1, center_of_mass: [1, 0, 0]}}, joints: {j: {type: revolute, child: a, axis: [0, 1, 0]}}}",
                "missing required key \"at\"");
  check_refused("{links: {a: {mass: 1, center_of_mass: [1, 0, 0]}}, joints: {j: {type: fixed, child: a}}}", "has no joint that moves");
  check_refused("{translate: [1, 0, 0], links: {a: {mass: 1, center_of_mass: [1, 0, 0]}}, joints: {j: {" HINGE ", child: a}}}",
                "has no effect without urdf");
}

/* The matrix as products, as blocks on the diagonal and assembled is the same, also in the rows that fill the last block; all blocks are coupled. */
static void test_matrix(void **state)
{
  (void)state;
  enum { N = 12, BLOCKS = N / 3, FIRST = 2, ALL = FIRST + BLOCKS };
  made              m = make(CHAIN "}", -9.81);
  articulated_body *b = sound(&m);
  int64_t           n_blocks, row_start[ALL + 1];
  int32_t           col[ALL * ALL], other[BLOCKS];
  step_status       ok = {STEP_OK, NULL, -1};
  double            v[N], g[N] = {0.0}, value[9 * ALL * ALL] = {0.0}, diagonal[9 * BLOCKS] = {0.0};
  assert_int_equal(b->tree.n_v, N - 1);
  step(b, 0.0, 0.01);
  assert_ok(b->base.ops->begin_step(&b->base, 0.01, 0.01, &n_blocks, &ok));
  assert_int_equal(n_blocks, BLOCKS);
  for (int i = 0; i < N; ++i) v[i] = 0.1 * (i - 5);
  assert_ok(b->base.ops->residual(&b->base, v, g, true, &ok));
  b->base.first_block = FIRST;
  for (int i = 0; i <= ALL; ++i) row_start[i] = i * ALL;
  for (int i = 0; i < ALL * ALL; ++i) col[i] = i % ALL;
  const block_rows H = {ALL, row_start, col, value};
  assert_ok(b->base.ops->assemble(&b->base, &H));
  assert_ok(b->base.ops->block_diagonal(&b->base, diagonal));
  for (int l = 0; l < N; ++l)
    for (int transposed = 0; transposed < 2; ++transposed) {
      double x[N] = {0.0}, y[N] = {0.0};
      x[l] = 1.0;
      assert_ok(b->base.ops->tangent(&b->base, x, y, transposed));
      for (int k = 0; k < N; ++k) {
        const double *block = value + 9 * ((FIRST + k / 3) * ALL + FIRST + l / 3);
        assert_close(block[3 * (k % 3) + l % 3], y[k], 0.0);
        assert_close(y[k], k < N - 1 && l < N - 1 ? b->H[(N - 1) * k + l] : k == l, 0.0);
        if (k / 3 == l / 3) assert_close(diagonal[9 * (k / 3) + 3 * (k % 3) + l % 3], y[k], 0.0);
      }
    }
  for (int i = 0; i < ALL * ALL; ++i)
    for (int e = 0; e < 9 && (i / ALL < FIRST || i % ALL < FIRST); ++e) assert_true(value[9 * i + e] == 0.0);
  for (int i = 0; i < BLOCKS; ++i) {
    assert_int_equal(b->base.ops->couplings(&b->base, i, other), BLOCKS);
    for (int k = 0; k < BLOCKS; ++k) assert_int_equal(other[k], k);
  }
  v[4] = NAN;
  assert_ok(b->base.ops->residual(&b->base, v, g, true, &ok));
  assert_int_equal(ok.code, STEP_NOT_FINITE);
  finish(&m);
}

/* Another body that is restored from a checkpoint has its links at the same places, and continues with the same bits. */
static void test_restart(void **state)
{
  (void)state;
  made            m[2];
  field_table    *t[2];
  field_snapshot *s;
  assert_ok(field_snapshot_create(&s));
  for (int i = 0; i < 2; ++i) {
    m[i] = make(CHAIN "}", -9.81);
    assert_ok(field_table_create(&t[i]));
    assert_ok(sound(&m[i])->base.ops->fields(&m[i].b->base, t[i]));
  }
  for (int k = 0; k < 5; ++k) step(m[0].b, 0.005 * k, 0.005);
  assert_ok(field_snapshot_take(s, t[0]));
  assert_ok(field_snapshot_restore(s, t[1]));
  for (int k = 5; k < 10; ++k) {
    const articulated_body *a = m[0].b, *b = m[1].b;
    assert_memory_equal(a->q, b->q, (size_t)a->n_q * sizeof(double));
    assert_memory_equal(a->v, b->v, (size_t)a->n_v * sizeof(double));
    for (int i = 0; i < a->tree.n; ++i) {
      body *const *parts[2];
      body_totals  one, two;
      int          n;
      parts[0] = a->base.ops->parts(&a->base, &n), parts[1] = b->base.ops->parts(&b->base, &n);
      assert_int_equal(n, a->tree.n);
      assert_ok(parts[0][i]->ops->totals(parts[0][i], a->gravity, &one));
      assert_ok(parts[1][i]->ops->totals(parts[1][i], b->gravity, &two));
      assert_memory_equal(&one, &two, sizeof one);
    }
    for (int i = 0; i < 2; ++i) step(m[i].b, 0.005 * k, 0.005);
  }
  field_snapshot_destroy(&s);
  for (int i = 0; i < 2; ++i) field_table_destroy(&t[i]), drop(&m[i]);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_momentum), cmocka_unit_test(test_order), cmocka_unit_test(test_pendulum), cmocka_unit_test(test_spin),
          cmocka_unit_test(test_joints), cmocka_unit_test(test_mimic), cmocka_unit_test(test_loop), cmocka_unit_test(test_loop_types),
          cmocka_unit_test(test_links), cmocka_unit_test(test_errors), cmocka_unit_test(test_matrix), cmocka_unit_test(test_restart))
