/* Joint stops, motors, dry friction and loops of articulated bodies as terms of the convex problem, in one solve with contact:
 * closed forms, and comparison with `exact`, which has them in the residuals. */
#include "discretize/articulated/articulated_body.h"
#include "formulation_fixture.h"
#include <stdio.h>

/* The residual of loops, with their stiff springs, stalls at rounding of the gaps, below 1e-8. */
#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: %s\n"                                                                                            \
  "materials:\n  wood: {model: rigid, density: 1000}\nsolver: {newton: {tolerance: 1.0e-10, stall_tolerance: 1.0e-7}%s}\n"
#define CONVEX(linearisations) ", convex: {tolerance: 1.0e-12, max_outer_iterations: " #linearisations "}"
#define SLIDE                                                                                                                              \
  "  arm: {kind: articulated, links: {a: {mass: 2, center_of_mass: [1, 0, 0]}}, joints: {j: {type: prismatic, child: a, axis: [0, 0, "     \
  "1]%s}}}\n"

static void open_formulation(const char *name, const char *solver, const char *format, const char *more, world *w)
{
  char text[4000];
  int  n = snprintf(text, sizeof text, HEAD, name, solver);
  n += snprintf(text + n, sizeof text - (size_t)n, format, more);
  assert_true(n < (int)sizeof text);
  open_world(text, w);
}

static const articulated_body *arm_of(const world *w)
{
  articulated_body *b = (articulated_body *)w->s->bodies[scene_find_body(w->s, "arm")].body;
  assert_non_null(b);
  return b;
}

/* Steps of a slide of 2 kg under its weight from q0 = 0.1 m. */
static void slide_from(double v0, const char *joint, int n_steps, double *q, double *v, double *force)
{
  world w;
  char  more[400];
  snprintf(more, sizeof more, ", position: 0.1, rate: %g%s", v0, joint);
  open_formulation("convex", CONVEX(1), "gravity: [0, 0, -10]\ntime: {end: 1, step: 1.0e-2}\nbodies:\n" SLIDE, more, &w);
  for (int k = 0; k < n_steps; ++k) step(&w);
  *q = arm_of(&w)->q[0], *v = arm_of(&w)->v[0], *force = arm_of(&w)->torque[0];
  close_world(&w);
}

static void slide_once(const char *joint, int n_steps, double *q, double *v, double *force)
{
  slide_from(-0.3, joint, n_steps, q, v, force);
}

/* A motor follows backward Euler up to its effort; gains above those of a spring with a period of a tenth of a step are reduced
 * to them. */
static void test_motor(void **state)
{
  const double m = 2.0, g = 10.0, h = 1e-2, v0 = -0.3, q0 = 0.1;
  double       q, v, f;
  (void)state;
  slide_once(", drive: {stiffness: 300, damping: 7, target: \"0.4\", rate: \"0.2\", force: \"3\"}", 1, &q, &v, &f);
  const double euler = (m * (v0 - h * g) + h * (300 * (0.4 - q0) + 7 * 0.2 + 3)) / (m + h * (h * 300 + 7));
  assert_close(v, euler, 2e-15);
  assert_close(q, q0 + h * euler, 2e-16);
  assert_close(f, 300 * (0.4 - q0 - h * euler) + 7 * (0.2 - euler) + 3, 1e-12);
  for (int sign = -1; sign < 2; sign += 2) { /* at maximum effort */
    char drive[200];
    snprintf(drive, sizeof drive, ", effort: 12, drive: {stiffness: 1.0e6, damping: 2000, target: \"%d\"}", sign);
    slide_once(drive, 5, &q, &v, &f);
    assert_close(v, v0 + 5 * h * (sign * 12 / m - g), 1e-14);
    assert_close(f, sign * 12, 0.0);
  }
  slide_once(", effort: 12, drive: {force: \"20\"}", 1, &q, &v, &f); /* only a force */
  assert_close(v, v0 + h * (12 / m - g), 1e-15);
  assert_close(f, 12, 0.0);
  slide_once(", drive: {stiffness: 1.0e9, damping: 1.0e7}", 1, &q, &v, &f);
  const double share = 4e2 * M_PI * M_PI * m / (h * (h * 1e9 + 1e7)), K = share * 1e9, D = share * 1e7;
  assert_true(share < 1.0);
  assert_close(v, (m * (v0 - h * g) - h * K * q0) / (m + h * (h * K + D)), 5e-12);
  assert_no_leak();
}

/* To the tolerance of the solver, 1e-12. Stops are compliant like springs with a period of a tenth of a step, in position and
 * velocity; dry friction is at its maximum, or creeps. */
static void test_stops(void **state)
{
  const double m = 2.0, g = 10.0, h = 1e-2, v0 = -0.3, q0 = 0.1, stiff = 4e2 * M_PI * M_PI * m;
  double       q, v, f;
  (void)state;
  slide_once(", lower: 0.0985", 1, &q, &v, &f);
  assert_close(v, (m * (v0 - h * g) + stiff * (0.0985 - q0) / h) / (m + stiff), 1e-12 * 0.4);
  slide_once(", upper: 0.3", 1, &q, &v, &f); /* far away */
  assert_close(v, v0 - h * g, 1e-15);
  slide_once(", max_rate: 0.25", 1, &q, &v, &f);
  assert_close(v, (m * (v0 - h * g) - stiff * 0.25) / (m + stiff), 1e-12 * 0.4);
  slide_once(", friction: 15", 1, &q, &v, &f);
  assert_close(v, v0 + h * (15 / m - g), 1e-15);
  slide_from(0.4, ", friction: 15", 1, &q, &v, &f);
  assert_close(v, 0.4 + h * (-15 / m - g), 1e-15);
  slide_from(0.4, ", max_rate: 0.25", 1, &q, &v, &f);
  assert_close(v, (m * (0.4 - h * g) + stiff * 0.25) / (m + stiff), 1e-12 * 0.4);
  slide_from(0.4, ", upper: 0.101", 1, &q, &v, &f);
  assert_close(v, (m * (0.4 - h * g) + stiff * (0.101 - q0) / h) / (m + stiff), 1e-12 * 0.4);
  slide_once(", friction: 90", 1, &q, &v, &f);
  assert_close(v, (v0 - h * g) / (1.0 + 1e3), 1e-12 * 0.4);
  assert_no_leak();
}

/* A finger at its maximum effort of 12 N presses a cube against a wall, in one solve: the wall and the cube exert this force on
 * each other. */
static void test_with_contact(void **state)
{
  world  w;
  double push[3], moment[3];
  (void)state;
  open_formulation("convex", CONVEX(1),
                   "gravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-2}\nbodies:\n"
                   "  wall: {kind: static, shape: {plane: {normal: [0, 0, -1], offset: -0.2}}}\n"
                   "  cube: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}\n"
                   "  arm: {kind: articulated, material: wood, links: {a: {shape: {box: {min: [-0.05, -0.05, -0.1], max: [0.05, "
                   "0.05, 0]}}}}, joints: {j: {type: prismatic, child: a, axis: [0, 0, 1]%s}}}\n"
                   "contact: {friction: 0.5}\n",
                   ", effort: 12, drive: {stiffness: 1.0e6, damping: 2000, target: \"1\"}", &w);
  for (int i = 0; i < 40; ++i) step(&w);
  contact_forces_between(w.f->forces, scene_find_body(w.s, "cube"), scene_find_body(w.s, "wall"), push, moment);
  assert_close(fabs(push[2]), 12.0, 1e-9);
  assert_close(arm_of(&w)->torque[0], 12.0, 0.0);
  close_world(&w);
  assert_no_leak();
}

/* |J D^-1 J^T|_F / 3 of a corner of that cube, 8 kg, on a platform that moves along z with the inertia M. */
static double corner_on_platform(double M)
{
  const double m = 8.0, inertia = m * 0.2 * 0.2 / 6.0, x[3] = {0.1, 0.1, -0.1};
  double       sum = 0.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double w = (i == j ? 1.0 / m + (0.03 - x[i] * x[i]) / inertia : -x[i] * x[j] / inertia) + (i == 2 && j == 2 ? 1.0 / M : 0.0);
      sum += w * w;
    }
  return sqrt(sum) / 3.0;
}

/* With one pass sticking contacts creep by stiction_tolerance w r_T, w the contact's inverse mass. A link with a drive has, in addition to its mass, the
 * gains h (h stiffness + damping), at most those of a spring with a period of a tenth of a step, also at maximum effort; dry
 * friction adds none. */
static void test_creep_on_a_drive(void **state)
{
  const double h = 1e-2, M = 4.0, m = 8.0, g_T = 1.0;
  const struct {
    const char *joint;
    double      inertia;
  } is[] = {{"drive: {stiffness: 1.0e5, damping: 1.0e3}", M + h * (h * 1e5 + 1e3)},
            {"effort: 72, drive: {stiffness: 1.0e8, damping: 1.0e3, target: \"10\"}", M * (1.0 + 400.0 * M_PI * M_PI)},
            {"friction: 5000", M}};
  (void)state;
  for (int k = 0; k < 3; ++k) {
    world w;
    open_formulation("convex",
                     ", convex: {tolerance: 1.0e-12, max_outer_iterations: 1, relaxation_time: 0.03, "
                     "expert: {stiction_tolerance: 1.0e-2, min_contact_period: 2, max_coulomb_iterations: 1}}",
                     "gravity: [1, 0, -9]\ntime: {end: 1, step: 1.0e-2}\nbodies:\n"
                     "  cube: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.2]}}}\n"
                     "  arm: {kind: articulated, material: wood, links: {a: {shape: {box: {min: [-0.2, -0.2, -0.025], max: [0.2, "
                     "0.2, 0]}}}}, joints: {j: {type: prismatic, child: a, axis: [0, 0, 1], %s}}}\n"
                     "contact: {friction: 0.5}\n",
                     is[k].joint, &w);
    for (int i = 0; i < 120; ++i) step(&w);
    const double creep = 1e-2 * corner_on_platform(is[k].inertia) * m * g_T * h / 4.0;
    assert_int_equal(w.report.contact.contacts, 4);
    assert_int_equal(w.report.contact.sliding, 0);
    assert_close(w.report.contact.creep, creep, 1e-3 * creep);
    close_world(&w);
  }
  assert_no_leak();
}

#define CHAIN                                                                                                                              \
  "gravity: [0.5, 0, -9.81]\ntime: {end: 1, step: 5.0e-3}\nbodies:\n"                                                                      \
  "  arm:\n    kind: articulated\n    links: {a: {mass: 2, center_of_mass: [0.2, 0, 0.1], inertia: [0.1, 0.2, 0.25, 0, 0, 0]}, "           \
  "b: {mass: 1, center_of_mass: [1, 0.1, 0], inertia: [0.02, 0.1, 0.1, 0, 0, 0]}, c: {mass: 1, center_of_mass: [1.5, 0, 0], "              \
  "inertia: [0.02, 0.1, 0.1, 0, 0, 0]}, d: {mass: 0.5, center_of_mass: [0, 1, 0], inertia: [0.05, 0.02, 0.04, 0, 0, 0]}}\n"                \
  "    joints:\n      ja: {type: revolute, child: a, at: [0, 0, 0], axis: [0, 1, 0], friction: 0.5, lower: -0.2, upper: 0.3}\n"            \
  "      jb: {type: revolute, parent: a, child: b, at: [0.5, 0, 0], axis: [0, 1, 1], rate: 2, effort: 4, drive: {stiffness: 400, "         \
  "damping: 5, target: \"0.5*sin(8*t)\"}}\n"                                                                                               \
  "      jc: {type: revolute, parent: b, child: c, at: [1.2, 0, 0], axis: [0, 1, 0], mimic: {joint: jb, factor: -0.5}}\n"                  \
  "      jd: {type: prismatic, parent: a, child: d, axis: [0, 1, 0], rate: -1, friction: 1, lower: -0.05, max_rate: 0.8%s}\n"

#define BARS                                                                                                                               \
  "gravity: [0, 0, -9.81]\ntime: {end: 1, step: 5.0e-3}\nbodies:\n"                                                                        \
  "  arm: {kind: articulated, links: {l: {mass: 1, center_of_mass: [0, 0, 0.5]}, r: {mass: 1, center_of_mass: [1, 0, 0.5]}, c: "           \
  "{mass: 2, center_of_mass: [0.5, 0, 1], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}}, "                                                           \
  "joints: {jl: {type: revolute, child: l, at: [0, 0, 0], axis: [0, 1, 0]%s}, jr: {type: revolute, child: r, "                             \
  "at: [1, 0, 0], axis: [0, 1, 0], rate: 1}, jc: {type: revolute, parent: l, child: c, at: [0, 0, 1], axis: [0, 1, 0], rate: -1}}"         \
  ", loops: [{one: c, other: r, at: [1, 0, 1], type: ball}]}\n"

/* Repeated linearisation until convergence gives the solution of `exact`, which has the same terms in its residuals: stops in
 * contact and not, motors at maximum effort, sliding and sticking dry friction; and a four-bar linkage, free and driven. */
static void test_agrees_with_exact(void **state)
{
  static const char *const format[3] = {CHAIN, BARS, BARS}, *const more[3] = {"", ", rate: 1", ", motion: \"sin(t)\""};
  (void)state;
  for (int k = 0; k < 3; ++k) {
    world   own, other;
    int64_t most  = 0;
    double  reach = 0.0;
    open_formulation("convex", CONVEX(60), format[k], more[k], &own);
    open_formulation("exact", "", format[k], more[k], &other);
    for (int i = 0; i < 160 && reach < 1.2; ++i) { /* collinear bars may continue on either branch */
      step(&own), step(&other);
      assert_true(own.report.residual <= (k ? 1e-7 : 1e-10)); /* rounding of gaps, with the stiff springs of loops: 2.3e-8 with AVX-512 */
      assert_true(k || own.report.evaluations < 16);
      most  = own.report.linear_iterations > most ? own.report.linear_iterations : most;
      reach = fmax(reach, fabs(arm_of(&own)->q[0]));
      for (int j = 0; j < arm_of(&own)->n_q; ++j) assert_close(arm_of(&own)->q[j], arm_of(&other)->q[j], 1e-9);
      for (int j = 0; j < arm_of(&own)->n_v; ++j) assert_close(arm_of(&own)->torque[j], arm_of(&other)->torque[j], 1e-6);
    }
    assert_true(most > 0);
    assert_true(reach > 0.2999); /* reached its stop; completed a turn */
    close_world(&own), close_world(&other);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_motor), cmocka_unit_test(test_stops), cmocka_unit_test(test_with_contact),
          cmocka_unit_test(test_creep_on_a_drive), cmocka_unit_test(test_agrees_with_exact))
