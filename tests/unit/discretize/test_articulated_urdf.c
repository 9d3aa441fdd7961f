/* URDF against the same body defined in the job, and the message for each error in a URDF, with line and column. */
#include "core/math3.h"
#include "articulated_fixture.h"
#include "temporary.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[TEMPORARY_ROOM];

static made make(const char *text) { return make_with(text, -9.81, 1e-3); }

static void write_file(const char *name, const char *text)
{
  char path[TEMPORARY_ROOM + 100];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  (void)fputs(text, f);
  (void)fclose(f);
}

static made from_urdf(const char *text, const char *more)
{
  char job[TEMPORARY_ROOM + 1000];
  write_file("arm.urdf", text);
  (void)snprintf(job, sizeof job, "{urdf: \"%s/arm.urdf\"%s}", folder, more);
  return make(job);
}

#define INERTIAL(xyz, rpy)                                                                                                                 \
  "<inertial><origin xyz=\"" xyz "\" rpy=\"" rpy                                                                                           \
  "\"/><mass value=\"2\"/><inertia ixx=\"0.3\" iyy=\"0.2\" izz=\"0.15\" ixy=\"0.01\" ixz=\"0.02\" iyz=\"0\"/></inertial>"
#define LINK(name) "<link name=\"" name "\">" INERTIAL("0.1 0 0.2", "0 0 0") "</link>"
#define LIMIT "<limit lower=\"-1\" upper=\"2\" effort=\"5\" velocity=\"3\"/>"
#define JOINT(name, parent, child)                                                                                                         \
  "<joint name=\"" name "\" type=\"revolute\"><parent link=\"" parent "\"/><child link=\"" child "\"/><axis xyz=\"0 1 0\"/>" LIMIT         \
  "</joint>"

static void test_same(void **state)
{
  (void)state;
  /* the elbow's frame stands 0.5 m up, turned by a quarter about z; the forearm's inertial frame is turned by another about x */
  made u = from_urdf(
      "<?xml version=\"1.0\"?>\n<robot name=\"r\"><link name=\"world\"/>\n<link name=\"upper\">" INERTIAL(
          "0 0 0.25", "0 0 0") "<visual/>"
                               "<collision><origin xyz=\"0 0 0.25\"/><geometry><box size=\"0.1 0.2 0.4\"/></geometry></collision></link>\n"
                               "<link name=\"fore\">" INERTIAL(
                                   "0.3 0 0",
                                   "1.5707963267948966 0 0") "<collision><origin xyz=\"0.3 0 0\" rpy=\"0 1.5707963267948966 0\"/><geometry>"
                                                             "<cylinder radius=\"0.05\" "
                                                             "length=\"0.4\"/></geometry></collision><collision><geometry><sphere "
                                                             "radius=\"0.06\"/></geometry></collision></link>\n"
                                                             "<joint name=\"shoulder\" type=\"continuous\"><parent link=\"world\"/><child "
                                                             "link=\"upper\"/><axis xyz=\"0 0 1\"/><dynamics damping=\"0.5\" "
                                                             "friction=\"0.1\"/></joint>\n"
                                                             "<joint name=\"elbow\" type=\"revolute\"><parent link=\"upper\"/><child "
                                                             "link=\"fore\"/><origin xyz=\"0 0 0.5\" rpy=\"0 0 1.5707963267948966\"/><axis "
                                                             "xyz=\"0 2 0\"/>" LIMIT "</joint></robot>",
      ", translate: [1, 2, 3], joints: {elbow: {position: 0.4}}");
  if (!u.b) fail_msg("rejected: %s", diagnostics_text(u.d, 0));
  /* turned about x by a quarter: y to z. (ixx, izz, iyy; -ixz..): J' = Rx J Rx^T; then about z: x to y */
  made h = make("{links: {upper: {mass: 2, center_of_mass: [1, 2, 3.25], inertia: [0.3, 0.2, 0.15, 0.01, 0.02, 0]}, "
                "fore: {mass: 2, center_of_mass: [1, 2.3, 3.5], inertia: [0.15, 0.3, 0.2, 0.02, 0, 0.01]}}, joints: {shoulder: "
                "{type: revolute, child: upper, at: [1, 2, 3], axis: [0, 0, 1]}, "
                "elbow: {type: revolute, parent: upper, child: fore, at: [1, 2, 3.5], axis: [-1, 0, 0], position: 0.4}}}");
  if (!h.b) fail_msg("rejected: %s", diagnostics_text(h.d, 0));
  articulated_tree_mass_matrix(&u.b->tree, u.b->R0, u.b->p0, u.b->S, u.b->M);
  articulated_tree_mass_matrix(&h.b->tree, h.b->R0, h.b->p0, h.b->S, h.b->M);
  for (int k = 0; k < 4; ++k) assert_close(u.b->M[k], h.b->M[k], 1e-13);
  for (int k = 0; k < 18; ++k) assert_close(u.b->tree.inertia[k], h.b->tree.inertia[k], 1e-14);
  for (int k = 0; k < 6; ++k) assert_close(u.b->tree.center[k], h.b->tree.center[k], 1e-14);
  const articulated_axis *shoulder = &u.b->axis[0], *elbow = &u.b->axis[1];
  assert_close(shoulder->damping, 0.5, 0.0);
  assert_close(shoulder->friction, 0.1, 0.0);
  assert_true(isinf(shoulder->lower) && isinf(shoulder->upper));
  assert_close(elbow->lower, -1.0, 0.0);
  assert_close(elbow->upper, 2.0, 0.0);
  assert_close(elbow->max_rate, 3.0, 0.0);
  const rigid_body *fore = &u.b->link[1]->rigid; /* a cylinder along y of the world from the elbow on, and the ball at the elbow */
  double            lo = INFINITY, hi = -INFINITY;
  assert_int_equal(fore->n_solids, 2);
  for (int64_t k = 0; k < fore->n_vertices; ++k)
    lo = fmin(lo, fore->surface->x[3 * k + 1] + fore->origin[1]), hi = fmax(hi, fore->surface->x[3 * k + 1] + fore->origin[1]);
  assert_close(lo, 1.94, 0.005);
  assert_close(hi, 2.5, 0.005);
  drop(&h);
  drop(&u);
  assert_no_leak();
}

/* Values that the job gives for any joint replace those of the file; the others remain. */
static void test_merged(void **state)
{
  (void)state;
  static const char *const joint[2] = {"first", "second"};
#define CHAIN "<robot name=\"r\"><link name=\"a\"/>" LINK("b") LINK("c") JOINT("first", "a", "b") JOINT("second", "b", "c") "</robot>"
  for (int k = 0; k < 2; ++k) {
    char more[400];
    (void)snprintf(more, sizeof more,
                   ", joints: {%s: {position: 0.25, rate: 0.5, lower: -0.75, upper: 1.25, damping: 1.5, friction: 1.75, effort: 2.25, "
                   "max_rate: 2.5, drive: {stiffness: 100, damping: 10}}}",
                   joint[k]);
    made                    m = from_urdf(CHAIN, more);
    const articulated_axis *x = &sound(&m)->axis[k], *other = &m.b->axis[1 - k];
    assert_close(m.b->q[k], 0.25, 0.0);
    assert_close(m.b->q[1 - k], 0.0, 0.0);
    assert_close(m.b->v[k], 0.5, 0.0);
    assert_close(m.b->v[1 - k], 0.0, 0.0);
    assert_close(x->lower, -0.75, 0.0);
    assert_close(other->lower, -1.0, 0.0);
    assert_close(x->upper, 1.25, 0.0);
    assert_close(other->upper, 2.0, 0.0);
    assert_close(x->damping, 1.5, 0.0);
    assert_close(other->damping, 0.0, 0.0);
    assert_close(x->friction, 1.75, 0.0);
    assert_close(other->friction, 0.0, 0.0);
    assert_close(x->effort, 2.25, 0.0);
    assert_true(isinf(other->effort)); /* without a motor */
    assert_close(x->max_rate, 2.5, 0.0);
    assert_close(other->max_rate, 3.0, 0.0);
    drop(&m);
  }
  static const char *const wrong[3][2] = {
      {"frst", "did you mean \"first\"?"}, {"secnd", "did you mean \"second\"?"}, {"elbow", "has no joint of this name"}};
  for (int k = 0; k < 3; ++k) {
    char more[100];
    (void)snprintf(more, sizeof more, ", joints: {%s: {position: 0.25}}", wrong[k][0]);
    made m = from_urdf(CHAIN, more);
    assert_int_equal(diagnostics_count(m.d), 1);
    assert_non_null(strstr(diagnostics_text(m.d, 0), wrong[k][1]));
    drop(&m);
  }
  assert_no_leak();
}

/* Joints of every type have their number of unknowns; only revolute and prismatic ones require limits. */
static void test_types(void **state)
{
  (void)state;
  static const struct {
    const char *type;
    int         n;
    bool        has_limits;
  } types[] = {{"revolute", 1, true}, {"continuous", 1, false}, {"prismatic", 1, true},
               {"fixed", 0, false},   {"floating", 6, false},   {"planar", 3, false}};
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
    for (int with = 0; with < 2; ++with) {
      char text[2000];
      (void)snprintf(text, sizeof text,
                     "<robot name=\"r\"><link name=\"a\"/>" LINK("b") LINK("c")
                         JOINT("first", "a", "b") "<joint name=\"second\" type=\"%s\"><parent link=\"b\"/><child "
                                                  "link=\"c\"/>%s%s</joint></robot>",
                     types[k].type, types[k].n % 2 ? "<axis xyz=\"0 1 0\"/>" : "",
                     !with                 ? ""
                     : types[k].has_limits ? LIMIT
                                           : "<limit effort=\"5\" velocity=\"3\"/>");
      if (!with && types[k].has_limits) {
        made m = from_urdf(text, "");
        assert_int_equal(diagnostics_count(m.d), 1);
        assert_non_null(strstr(diagnostics_text(m.d, 0), "has no <limit>"));
        drop(&m);
      } else if (!with || types[k].n == 1) {
        made m = from_urdf(text, "");
        assert_int_equal(sound(&m)->tree.n_v, 1 + types[k].n);
        drop(&m);
      }
    }
  assert_no_leak();
}

static void check_refused(const char *text, int line, const char *message)
{
  made        m = from_urdf(text, "");
  char        place[TEMPORARY_ROOM + 100];
  const char *said = diagnostics_count(m.d) > 0 ? diagnostics_text(m.d, 0) : "nothing";
  (void)snprintf(place, sizeof place, "%s/arm.urdf:%d:", folder, line);
  if (m.b || diagnostics_count(m.d) == 0) fail_msg("taken: %s", text);
  if (!strstr(said, message) || strncmp(said, place, strlen(place)) != 0)
    fail_msg("%s\n  message \"%s\", expected \"%s\" in line %d", text, said, message, line);
  drop(&m);
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
#define ROBOT(text) "<robot name=\"r\">\n" text "</robot>"
  check_refused("<robot name=\"r\">\n<link name=\"a\">\n</robot>", 3, "is not XML: mismatched tag");
  check_refused("", 1, "is not XML");
  check_refused("<!DOCTYPE robot [<!ENTITY a \"b\">]><robot/>", 1, "document type");
  check_refused("<model/>", 1, "expected <robot>");
  check_refused(ROBOT(""), 1, "has no links");
  check_refused(ROBOT(LINK("a") "\n" LINK("b") "\n" JOINT("j", "a", "b") "\n" JOINT("k", "b", "a")), 1, "has no root link");
  check_refused(ROBOT(LINK("o") LINK("a") "\n" LINK("b") "\n" JOINT("j", "a", "b") "\n" JOINT("k", "b", "a")), 5,
                "depends on itself through");
  check_refused(ROBOT(LINK("a") "\n" LINK("b") LINK("c") "\n" JOINT("j", "a", "b") JOINT("l", "a", "c") "\n" JOINT("k", "c", "b")), 5,
                "already has joint \"j\" (line 4)");
  check_refused(ROBOT(LINK("a") "\n" LINK("b") "\n" JOINT("j", "c", "b")), 4, "there is no such link");
  check_refused(ROBOT(LINK("a") "\n" LINK("b") "\n"), 3, "a urdf has one root");
  check_refused(ROBOT(LINK("a") "\n" LINK("a") "\n"), 3, "duplicates the name of the link in line 2");
  check_refused(ROBOT(LINK("a") LINK("b") LINK("c") "\n" JOINT("j", "a", "b") "\n" JOINT("j", "a", "c")), 4,
                "duplicates the name of the joint in line 3");
  check_refused(ROBOT("<link name=\"a\"/>\n<link name=\"b\"><inertial><mass value=\"1\"/>\n<inertia ixx=\"0\" iyy=\"0\" "
                      "izz=\"0\"/></inertial></link>" JOINT("j", "a", "b")),
                4, "a link with mass needs moments of inertia > 0");
  check_refused(ROBOT("<link name=\"a\"/>\n<link name=\"b\"><inertial><mass value=\"1\"/>\n<inertia ixx=\"1\" iyy=\"1\" izz=\"1\" "
                      "ixy=\"2\"/></inertial></link>" JOINT("j", "a", "b")),
                4, "principal moments");
  check_refused(ROBOT("<link name=\"a\"/>\n<link name=\"b\"/>\n" JOINT("j", "a", "b")), 4, "moves no mass");
  check_refused(ROBOT(LINK("a") LINK("b") "\n<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/>\n<limit "
                                          "lower=\"1\" upper=\"-1\"/></joint>"),
                4, "exchange them");
  check_refused(ROBOT(LINK("a") LINK("b") "\n<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/></joint>"), 3,
                "has no <limit>");
  check_refused(ROBOT(LINK("a") LINK("b") "\n<joint name=\"j\" type=\"screw\"><parent link=\"a\"/><child link=\"b\"/></joint>"), 3,
                "expected revolute, continuous");
  check_refused(ROBOT(LINK("a") LINK(
                    "b") "\n<joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/><mimic joint=\"k\"/></joint>"),
                3, "no joint is called \"k\"");
  check_refused(ROBOT(LINK("a") LINK(
                    "b") "\n<joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/>\n<axis xyz=\"0 1\"/></joint>"),
                4, "expected 3 finite numbers");
  check_refused(ROBOT(LINK("a") "\n<gazebo/>"), 3, "<gazebo> has no effect here");
  check_refused(ROBOT("<link name=\"a\">\n<collision><geometry><mesh filename=\"nowhere.obj\"/></geometry></collision></link>"), 3,
                "there is no such file");
  check_refused(
      ROBOT("<link name=\"a\">\n<collision><geometry><mesh filename=\"arm.urdf\" scale=\"1 2 1\"/></geometry></collision></link>"), 3,
      "expected the same factor");
  check_refused(ROBOT("<link name=\"a\">\n<collision><geometry><cone/></geometry></collision></link>"), 3, "not a supported shape");
  check_refused(ROBOT("<link name=\"a\">\n<collision><geometry of=\"b\"><sphere radius=\"1\"/></geometry></collision></link>"), 3,
                "attribute of has no effect here");
  check_refused(ROBOT("<link name=\"a\">" INERTIAL("0 0 0", "0 0 0") "\n" INERTIAL("1 0 0", "0 0 0") "</link>"), 3,
                "duplicates the <inertial> in line 2");
}

/* Keys of the job that extend a URDF. */
static void test_job_errors(void **state)
{
  (void)state;
  static const char *const more[][2] = {{", joints: {k: {}}", "the URDF file has no joint of this name"},
                                        {", joints: {j: {type: fixed}}", "is defined by the urdf"},
                                        {", joints: {j: {effort: 3}}", "without a motor"},
                                        {", links: {a: {mass: 1}}", "conflicts with urdf"},
                                        {", axis: [0, 0, 0]", "zero vector"}};
  for (size_t k = 0; k < sizeof more / sizeof *more; ++k) {
    made m = from_urdf(ROBOT(LINK("a") LINK("b") JOINT("j", "a", "b")), more[k][0]);
    if (m.b || diagnostics_count(m.d) == 0) fail_msg("taken: %s", more[k][0]);
    if (!strstr(diagnostics_text(m.d, 0), more[k][1])) fail_msg("%s: message \"%s\"", more[k][0], diagnostics_text(m.d, 0));
    drop(&m);
    assert_no_leak();
  }
}

/* A file truncated anywhere is rejected, without leaks. */
static void test_cut(void **state)
{
  (void)state;
  static const char text[] = ROBOT(LINK("a") LINK("b") JOINT("j", "a", "b"));
  for (size_t n = 0; n + 1 < sizeof text; n += 7) {
    char part[sizeof text];
    memcpy(part, text, n);
    part[n] = '\0';
    made m  = from_urdf(part, "");
    if (m.b) fail_msg("taken when cut at %zu", n);
    drop(&m);
    assert_no_leak();
  }
}

static int make_folder(void **state) { return (void)state, mkdtemp(temporary_name(folder, "")) ? 0 : 1; }
static int remove_folder(void **state)
{
  char path[TEMPORARY_ROOM + 100];
  (void)state;
  (void)snprintf(path, sizeof path, "%s/arm.urdf", folder);
  (void)unlink(path);
  return rmdir(folder);
}

TEST_MAIN(cmocka_unit_test_setup(test_same, make_folder), cmocka_unit_test(test_merged), cmocka_unit_test(test_types),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_job_errors), cmocka_unit_test_teardown(test_cut, remove_folder))
