/* Dirichlet conditions on nodes, from the entry of a job: selected nodes and components, prescribed positions, the text of each
 * error. */
#include "core/math3.h"
#include "discretize/nodal/nodal_hold.h"
#include "test.h"
#include <float.h>
#include <string.h>

/* A row of nodes along x at -2, -1, 0, 1, 2. */
enum { N = 5 };
static const double rest[3 * N] = {-2, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0};

static document    *doc;
static diagnostics *d;

static int setup(void **state)
{
  (void)state;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  return 0;
}
static int teardown(void **state)
{
  diagnostics_destroy(&d);
  document_destroy(&doc);
  return test_check_leaks(state);
}

/* The condition of an entry of `hold:`. */
static nodal_constraint constrain(const char *text)
{
  nodal_constraint out  = {0};
  document_node   *node = NULL;
  key_item         item = {0};
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 7, 3}, &node));
  assert_ok(key_table_read(&nodal_constraint_table, doc, node, "bodies.b.hold[0]", d, &item.value));
  item.node = node;
  if (diagnostics_count(d) == 0) assert_ok(nodal_constraint_create(&item, "bodies.b.hold[0]", N, rest, d, &out));
  return out;
}
static nodal_constraint accept(const char *text)
{
  const nodal_constraint out = constrain(text);
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  return out;
}

#define RIGHT "inside: {box: {min: [0, -1, -1], max: [3, 1, 1]}}"
#define ALL "inside: {sphere: {center: [0, 0, 0], radius: 3}}"

/* Nodes inside the shape or on its surface, all components or those of `axes`. */
static void nodes_in_the_shape_are_selected(void **state)
{
  uint8_t is_held[3 * N] = {0}, wanted[3 * N] = {0};
  (void)state;
  nodal_constraint h[2] = {accept("{" RIGHT ", axes: [x, z]}"), accept("{inside: {sphere: {center: [-2, 0, 0], radius: 1}}}")};
  assert_int_equal(h[0].n, 3);
  for (int i = 0; i < 3; ++i) assert_int_equal(h[0].node[i], 2 + i); /* node 2 lies on the face x = 0 */
  assert_true(h[0].axis[0] && !h[0].axis[1] && h[0].axis[2] && !h[0].motion && !h[0].displacement);
  assert_int_equal(h[1].n, 2);
  assert_true(h[1].axis[0] && h[1].axis[1] && h[1].axis[2]);
  for (int i = 2; i < N; ++i) wanted[3 * i] = wanted[3 * i + 2] = 1;
  nodal_constraints_mark(1, h, is_held);
  assert_memory_equal(is_held, wanted, sizeof wanted);
  for (int k = 0; k < 6; ++k) wanted[k] = 1;
  nodal_constraints_mark(2, h, is_held);
  assert_memory_equal(is_held, wanted, sizeof wanted);
  nodal_constraint_destroy(&h[0]), nodal_constraint_destroy(&h[1]);
}

/* At rest, along a rigid motion and by a displacement in closed form; a later condition takes precedence; other components keep
 * their values. */
static void positions_are_prescribed(void **state)
{
  double place[3 * N], x[3 * N], before[3 * N];
  (void)state;
  nodal_constraint h[3] = {accept("{" ALL ", motion: {velocity: [1, 2, 3], angular_velocity: [0, 0, 2], pivot: [0, 0, 0]}}"),
                           accept("{" RIGHT ", axes: [y], displacement: [\"0\", \"X + 10*x + 100*t\", \"0\"]}"),
                           accept("{inside: {sphere: {center: [2, 0, 0], radius: 0.5}}, axes: [z]}")};
  const double     t = 0.3, c = cos(0.6), s = sin(0.6);
  for (int i = 0; i < 3 * N; ++i) x[i] = rest[i] + 0.01 * i, place[i] = before[i] = 7.0 + i;
  nodal_constraints_place(1, h + 2, rest, x, t, place);
  before[14] = 0.0; /* z of the last node, at rest */
  assert_memory_equal(place, before, sizeof place);
  nodal_constraints_place(3, h, rest, x, t, place);
  for (int i = 0; i < N; ++i) {
    const double X = rest[3 * i];
    assert_close(place[3 * i], t + c * X, 4 * DBL_EPSILON);
    assert_close(place[3 * i + 1], i < 2 ? 2 * t + s * X : X + 10 * x[3 * i] + 100 * t, 64 * DBL_EPSILON);
    assert_close(place[3 * i + 2], i == N - 1 ? 0.0 : 3 * t, 4 * DBL_EPSILON);
  }
  for (int k = 0; k < 3; ++k) nodal_constraint_destroy(&h[k]);
}

static void errors_are_reported(void **state)
{
  static const char *const cases[][2] = {
      {"{" RIGHT ", axes: []}",
       "job.yaml:7:3: bodies.b.hold[0].axes: is empty: no component would be constrained; give some of x, y and z"},
      {"{" RIGHT ", axes: [w]}", "axes"},
      {"{}", "inside"},
      {"{inside: {sphere: {center: [9, 9, 9], radius: 1}}}",
       "bodies.b.hold[0].inside: no node of the body is in this shape: no node would be constrained"},
      {"{" RIGHT ", motion: {velocity: [1, 0, 0]}, displacement: [x, y, z]}",
       "bodies.b.hold[0].displacement: give motion or displacement, not both"},
      {"{" RIGHT ", displacement: [x, y]}", "bodies.b.hold[0].displacement"},
      {"{" RIGHT ", displacement: [x, y, q]}", "bodies.b.hold[0].displacement"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (i > 0) setup(state);
    nodal_constraint h = constrain(cases[i][0]);
    if (diagnostics_count(d) != 1 || !strstr(diagnostics_text(d, 0), cases[i][1]))
      fail_msg("%s: expected \"%s\", got \"%s\"", cases[i][0], cases[i][1], diagnostics_count(d) ? diagnostics_text(d, 0) : "nothing");
    nodal_constraint_destroy(&h);
    nodal_constraint_destroy(&h); /* nothing more to free */
    if (i + 1 < sizeof cases / sizeof *cases) assert_int_equal(teardown(state), 0);
  }
}

#define HOLD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_MAIN(HOLD_TEST(nodes_in_the_shape_are_selected), HOLD_TEST(positions_are_prescribed), HOLD_TEST(errors_are_reported))
