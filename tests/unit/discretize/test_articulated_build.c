/* Articulated bodies from a job: size, tables of joint positions, mimic joints, initial positions, and the message for each error. */
#include "articulated_fixture.h"
#include "temporary.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char file[TEMPORARY_ROOM];

static made make(const char *table, const char *joints)
{
  char  text[1000];
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  (void)fputs(table, f);
  (void)fclose(f);
  (void)snprintf(text, sizeof text,
                 "{trajectory: \"%s\", links: {upper: {mass: 1, center_of_mass: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}, "
                 "hand: {mass: 1, center_of_mass: [0, 0, 2], inertia: [1, 1, 1, 0, 0, 0]}}, joints: {%s}}",
                 file, joints);
  return make_with(text, -9.81, 1e-2);
}

#define HINGE(more) "hinge: {type: revolute, child: upper, at: [0, 0, 0], axis: [0, 1, 0]" more "}"
#define SLIDE(more) "slide: {type: prismatic, parent: upper, child: hand, axis: [0, 0, 1]" more "}"
#define DRIVE ", drive: {stiffness: 100, damping: 10}"
static const char good[] = "t,hinge,slide\r\n0.1,0.5, -0.25\r\n1.1,1.5,+0.75\r\n2.1,-1,2.5e-1"; /* no line end: the row counts */

/* A column is the target of a joint with a drive and the prescribed motion of one without; both start at its first value. */
static void test_follow(void **state)
{
  (void)state;
  made m = make(good, HINGE(DRIVE) ", " SLIDE(""));
  if (!m.b) fail_msg("rejected: %s", diagnostics_text(m.d, 0));
  articulated_body       *b     = m.b;
  const articulated_axis *hinge = &b->axis[0], *slide = &b->axis[1];
  assert_close(b->q[0], 0.5, 1e-15);
  assert_close(b->q[1], -0.25, 1e-15);
  assert_null(hinge->motion);
  assert_null(slide->target);
  double t = 1.6, value;
  assert_close(expression_derivative(slide->motion, &t, 0, &value), -0.5, 1e-13);
  assert_close(value, 0.5, 1e-14);
  const double v[2] = {0.25, 0.0}; /* the motor: towards 1.0 with the rate 1 at the end of the step */
  int64_t      n_blocks;
  step_status  status;
  b->q[0] = 0.75 - 0.01 * v[0];
  assert_ok(b->base.ops->begin_step(&b->base, 0.59, 0.01, &n_blocks, &status));
  assert_close(articulated_motor_force(b, 0, v), 100.0 * (1.0 - 0.75) + 10.0 * (1.0 - 0.25), 1e-11);
  t = 3.0;
  assert_close(expression_value(hinge->target, &t), -1.0, 0.0);
  drop(&m);
  assert_no_leak();
}

/* The distance of the farthest joint or centre of mass from the first joint, wherever that is. */
static void test_size(void **state)
{
  (void)state;
  made m =
      make_with("{links: {upper: {mass: 1, center_of_mass: [5, 3, 8], inertia: [1, 1, 1, 0, 0, 0]}, "
                "hand: {mass: 1, center_of_mass: [5, 3, 10], inertia: [1, 1, 1, 0, 0, 0]}}, joints: {hinge: {type: revolute, child: upper, "
                "at: [5, 3, 7], axis: [0, 1, 0]}, wrist: {type: revolute, parent: upper, child: hand, at: [5, 3, 9], axis: [0, 1, 0]}}}",
                0.0, 1e-2);
  assert_close(sound(&m)->size, 3.0, 1e-14);
  drop(&m);
  m = make_with("{links: {arm: {mass: 1, center_of_mass: [5, 3, 9.5], inertia: [1, 1, 1, 0, 0, 0]}}, "
                "joints: {hinge: {type: revolute, child: arm, at: [5, 3, 7], axis: [0, 1, 0]}}}",
                0.0, 1e-2);
  assert_close(sound(&m)->size, 2.5, 1e-14);
  drop(&m);
}

static void check_refused(const char *table, const char *joints, const char *message)
{
  made m = make(table, joints);
  if (m.b || diagnostics_count(m.d) == 0) fail_msg("taken: %s with %s", table, joints);
  if (!strstr(diagnostics_text(m.d, 0), message))
    fail_msg("%s\n  message \"%s\", expected \"%s\"", table, diagnostics_text(m.d, 0), message);
  drop(&m);
}

static void test_errors(void **state)
{
  (void)state;
  const char *both = HINGE(DRIVE) ", " SLIDE("");
  char        there[TEMPORARY_ROOM + 100];
  check_refused("", both, "is not a table of joint positions");
  check_refused("t,hinge\n0,1\n", both, "is not a table of joint positions");
  check_refused("time,hinge\n0,1\n1,1\n", both, "expected a first row t,JOINT");
  check_refused("t,hinge\n0,1\n1\n", both, "row 3 is damaged: expected 2 columns, found 1");
  (void)snprintf(there, sizeof there, "%s:1:2: no joint is called \"hing\"; did you mean \"hinge\"?", file);
  check_refused("t,hing\n0,1\n1,1\n", both, there);
  check_refused("t,hinge,hinge\n0,1,1\n1,1,1\n", both, "has two columns");
  (void)snprintf(there, sizeof there, "%s:3:2: hinge: expected a number, found \"1..\"", file);
  check_refused("t,hinge\n0,1\n1,1..\n", both, there);
  check_refused("t,hinge\n0,\n1,1\n", both, "expected a number, found \"\"");
  check_refused("t,hinge\n0,inf\n1,1\n", both, "expected a number, found \"inf\"");
  (void)snprintf(there, sizeof there, "%s:4:1: t: 1 s is not later than the previous time, 1 s", file);
  check_refused("t,hinge\n0,1\n1,1\n1,1\n", both, there);
  check_refused(good, HINGE(", motion: t") ", " SLIDE(""), "hinge.motion: is given by its column in");
  check_refused(good, HINGE(DRIVE ", position: 0.5") ", " SLIDE(""), "hinge.position: is given by its column in");
  check_refused(good, HINGE(", drive: {stiffness: 1, target: t}") ", " SLIDE(""), "hinge.drive.target: is given by its column in");
  check_refused(good, HINGE(", damping: 1") ", " SLIDE(""), "a prescribed motion");
  check_refused(good, HINGE("") ", " SLIDE(", mimic: {joint: hinge}"), "it mimics joint \"hinge\" and has a column");
  check_refused(good, HINGE("") ", slide: {type: ball, parent: upper, child: hand, at: [0, 0, 1]}", "neither revolute nor prismatic");
  check_refused(good, HINGE(DRIVE ", lower: 1, upper: 2") ", " SLIDE(""), "starts at 0.5, outside its limits 1 and 2");
  assert_no_leak();
}

/* The initial velocity of a link: by the rate of its joint about or along the axis; a ball has any angular velocity; free joints have any motion;
 * planar joints have the part of the velocity in their plane and the part of the angular velocity along its normal. */
static void test_initial_velocities(void **state)
{
  (void)state;
  static const struct {
    const char *joint;
    double      v[3], w[3];
  } rows[] = {{"revolute, at: [1, 0, 2], axis: [0, 3, 4], rate: 5", {0.0, 0.0, 0.0}, {0.0, 3.0, 4.0}},
              {"revolute, at: [0, 0, 2], axis: [0, 1, 0], rate: 5", {0.0, 0.0, -5.0}, {0.0, 5.0, 0.0}},
              {"prismatic, axis: [0, 3, 4], rate: 5", {0.0, 3.0, 4.0}, {0.0, 0.0, 0.0}},
              {"ball, at: [1, 0, 1], angular_velocity: [0.5, -2, 3]", {-2.0, -0.5, 0.0}, {0.5, -2.0, 3.0}},
              {"free, velocity: [1, -2, 3], angular_velocity: [4, 5, -6]", {1.0, -2.0, 3.0}, {4.0, 5.0, -6.0}},
              {"planar, axis: [0, 0, 7], velocity: [1, -2, 0], angular_velocity: [0, 0, -6]", {1.0, -2.0, 0.0}, {0.0, 0.0, -6.0}},
              {"planar, axis: [0, 3, 4], velocity: [1, 4, -3], angular_velocity: [0, 6, 8]", {1.0, 4.0, -3.0}, {0.0, 6.0, 8.0}},
              {"planar, axis: [2, 0, 0], velocity: [0, -4, 3], angular_velocity: [-1, 0, 0]", {0.0, -4.0, 3.0}, {-1.0, 0.0, 0.0}}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    char text[1000];
    for (int i = 0; i < 2; ++i) { /* the first or the second link of the tree */
      (void)snprintf(
          text, sizeof text,
          "{links: {arm: {mass: 2, center_of_mass: [1, 0, 2], inertia: [1, 2, 2, 0, 0, 0]}%s}, joints: {%sown: {child: arm, %stype: %s}}}",
          i ? ", base: {mass: 1, center_of_mass: [0, 1, 0], inertia: [1, 1, 1, 0, 0, 0]}" : "",
          i ? "other: {type: revolute, child: base, at: [0, 0, 0], axis: [0, 1, 0]}, " : "", i ? "parent: base, " : "", rows[k].joint);
      made              m = make_with(text, 0.0, 1e-6);
      const rigid_body *b = &sound(&m)->link[i]->rigid;
      for (int e = 0; e < 3; ++e) {
        assert_close(b->v[e], rows[k].v[e], 1e-9);
        assert_close(b->w[e], rows[k].w[e], 1e-9);
      }
      drop(&m);
    }
  }
  assert_no_leak();
}

/* Limits, damping, friction and largest rate of a joint that mimics another one with q = factor q' + offset apply to the latter. */
static void test_mimic_limits(void **state)
{
  (void)state;
  static const double factor[3] = {2.0, -2.0, 0.5}, offset[3] = {0.5, 0.25, -1.0};
  for (int k = 0; k < 3; ++k)
    for (int open = 0; open < 4; ++open) { /* bit 0: without lower limit, 1: without upper limit */
      char text[1000];
      (void)snprintf(
          text, sizeof text,
          "{links: {base: {mass: 1, center_of_mass: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}, arm: {mass: 1, center_of_mass: [0, 0, 2], "
          "inertia: [1, 1, 1, 0, 0, 0]}}, joints: {other: {type: revolute, child: base, at: [0, 0, 0], axis: [0, 1, 0], lower: -9, upper: "
          "8, "
          "damping: 0.1, friction: 0.2, max_rate: 7}, own: {parent: base, child: arm, type: revolute, at: [0, 0, 1], axis: [0, 1, 0], "
          "mimic: {joint: other, factor: %g, offset: %g}, damping: 0.3, friction: 0.4, max_rate: 6%s%s}}}",
          factor[k], offset[k], open & 1 ? "" : ", lower: -1.5", open & 2 ? "" : ", upper: 1.75");
      made                    m     = make_with(text, 0.0, 1e-2);
      const articulated_axis *x     = &sound(&m)->axis[0];
      const double            at[2] = {(-1.5 - offset[k]) / factor[k], (1.75 - offset[k]) / factor[k]};
      const bool is_reversed = factor[k] < 0.0, has_lower = !(open & (is_reversed ? 2 : 1)), has_upper = !(open & (is_reversed ? 1 : 2));
      assert_close(x->lower, has_lower ? fmax(-9.0, at[is_reversed]) : -9.0, 1e-14);
      assert_close(x->upper, has_upper ? fmin(8.0, at[!is_reversed]) : 8.0, 1e-14);
      assert_close(x->damping, 0.1 + factor[k] * factor[k] * 0.3, 1e-14);
      assert_close(x->friction, 0.2 + fabs(factor[k]) * 0.4, 1e-14);
      assert_close(x->max_rate, fmin(7.0, 6.0 / fabs(factor[k])), 1e-14);
      assert_close(m.b->q[1], offset[k], 1e-14);
      drop(&m);
    }
  assert_no_leak();
}

/* Whether one of the messages about a job contains a text. */
static bool says(const made *m, const char *place, const char *message)
{
  for (int i = 0; i < diagnostics_count(m->d); ++i)
    if (strstr(diagnostics_text(m->d, i), place) && strstr(diagnostics_text(m->d, i), message)) return true;
  return false;
}

/* Keys of joints: for the types whose help text names them, and not with a prescribed motion or another joint that gives the same value. */
static void test_keys_of_joints(void **state)
{
  (void)state;
  enum { REVOLUTE, PRISMATIC, BALL, FREE, FIXED, PLANAR, N_TYPES };
  static const char *const type[N_TYPES] = {"revolute, at: [0, 0, 0], axis: [0, 1, 0]",
                                            "prismatic, axis: [0, 1, 0]",
                                            "ball, at: [0, 0, 0]",
                                            "free",
                                            "fixed",
                                            "planar, axis: [0, 1, 0]"};
  static const struct {
    const char *key, *value;
    bool        is_valid[N_TYPES], with_motion, with_mimic;
  } rows[] = {{"position", "0.5", {true, true}, false, false},
              {"rate", "0.5", {true, true}, false, false},
              {"lower", "-2", {true, true}, false, true},
              {"upper", "2", {true, true}, false, true},
              {"friction", "0.5", {true, true}, false, true},
              {"max_rate", "2", {true, true}, false, true},
              {"motion", "0.1 * t", {true, true}, true, false},
              {"drive", "{stiffness: 1}", {true, true}, false, false},
              {"mimic", "{joint: other}", {true, true}, false, true},
              {"damping", "0.5", {true, true, true}, false, true},
              {"velocity", "[1, 0, 1]", {false, false, false, true, false, true}, true, true},
              {"angular_velocity", "[0, 1, 0]", {false, false, true, true, false, true}, true, true}};
  static const char links[] =
      "{links: {base: {mass: 1, center_of_mass: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}, arm: {mass: 1, center_of_mass: [0, 0, 2], "
      "inertia: [1, 1, 1, 0, 0, 0]}}, joints: {other: {type: revolute, child: base, at: [0, 0, 0], axis: [0, 1, 0]}, "
      "own: {parent: base, child: arm, type: %s, %s: %s%s}}}";
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    char text[1000], place[60];
    (void)snprintf(place, sizeof place, "joints.own.%s: ", rows[k].key);
    for (int t = 0; t < N_TYPES; ++t) {
      (void)snprintf(text, sizeof text, links, type[t], rows[k].key, rows[k].value, "");
      made m = make_with(text, -9.81, 1e-2);
      if (says(&m, place, "has no effect on a joint of this type") == rows[k].is_valid[t] || (rows[k].is_valid[t] && !m.b))
        fail_msg("%s of a joint of type %s: %s", rows[k].key, type[t], diagnostics_count(m.d) ? diagnostics_text(m.d, 0) : "no message");
      drop(&m);
    }
    if (strcmp(rows[k].key, "motion") != 0) {
      (void)snprintf(text, sizeof text, links, type[REVOLUTE], rows[k].key, rows[k].value, ", motion: 0.2 * t");
      made m = make_with(text, -9.81, 1e-2);
      assert_true(says(&m, place, "has no effect on a joint with a prescribed motion") == !rows[k].with_motion);
      drop(&m);
    }
    if (strcmp(rows[k].key, "mimic") != 0) {
      (void)snprintf(text, sizeof text, links, type[REVOLUTE], rows[k].key, rows[k].value, ", mimic: {joint: other}");
      made m = make_with(text, -9.81, 1e-2);
      assert_true(says(&m, place, "it mimics joint \"other\"") == !rows[k].with_mimic);
      drop(&m);
    }
  }
  made m = make_with("{links: {arm: {mass: 1, center_of_mass: [0, 0, 2], inertia: [1, 1, 1, 0, 0, 0]}}, joints: {own: {type: revolute, "
                     "child: arm, at: [0, 0, 0], "
                     "axis: [0, 1, 0], lower: 1.5, upper: 1.25, effort: 3}}}",
                     0.0, 1e-2);
  assert_true(says(&m, "joints.own.lower: ", "1.5 is above upper = 1.25") &&
              says(&m, "joints.own.effort: ", "has no effect without a motor"));
  drop(&m);
  assert_no_leak();
}

static int make_file(void **state)
{
  (void)state;
  const int at = mkstemp(temporary_name(file, ""));
  return at < 0 ? -1 : close(at);
}
static int remove_file(void **state) { return (void)state, unlink(file); }

TEST_MAIN(cmocka_unit_test(test_size), cmocka_unit_test(test_keys_of_joints), cmocka_unit_test(test_initial_velocities),
          cmocka_unit_test(test_mimic_limits), cmocka_unit_test_setup(test_follow, make_file),
          cmocka_unit_test_teardown(test_errors, remove_file))
