/* Sizes of bodies to which overlaps are compared: solids whose bounding box is centred deep inside, near the surface, and outside. */
#include "sim/scene/scene_size.h"
#include "formulation_fixture.h"

#define HEAD                                                                                                                               \
  "stickslip: 1\nname: test\nformulation: exact\ngravity: [0, 0, 0]\ntime: {end: 1, step: 1.0e-2}\n"                                       \
  "materials: {stone: {model: rigid, density: 1000}}\nbodies:\n  b: {kind: rigid, material: stone, shape: {"
#define SEARCH 0.02 /* relative error of the pattern search: its last step is 1/100 of a quarter of the size */

static double size_of(const char *solid)
{
  char  text[2000];
  world w;
  snprintf(text, sizeof text, HEAD "%s}}\n", solid);
  open_world(text, &w);
  const double size = scene_body_size(w.s, 0);
  close_world(&w);
  return size;
}

static void test_convex_solids(void **state)
{
  (void)state;
  assert_close(size_of("box: {min: [0, 0, 0], max: [1, 2, 3]}"), 1.0, SEARCH);
  assert_close(size_of("sphere: {center: [1, 2, 3], radius: 0.5}"), 1.0, SEARCH);
  assert_close(size_of("cylinder: {from: [0, 0, 0], to: [0, 0, 0.3], radius: 1}"), 0.3, SEARCH * 0.3);
  assert_no_leak();
}

/* The box of an L, two squares of edge 1 and height 1 in a corner, is centred near the reentrant edge: 0.01 below the surface. */
static void test_concave_solid(void **state)
{
  (void)state;
  assert_close(
      size_of("difference: {from: {box: {min: [0, 0, 0], max: [2, 2, 1]}}, minus: [{box: {min: [1.01, 1.01, -1], max: [3, 3, 2]}}]}"), 1.0,
      SEARCH);
  assert_no_leak();
}

/* The centre of a hollow solid is outside: its extent counts. */
static void test_hollow_solid(void **state)
{
  (void)state;
  assert_close(size_of("difference: {from: {sphere: {center: [0, 0, 0], radius: 1}}, minus: [{sphere: {center: [0, 0, 0], radius: 0.9}}]}"),
               2.0, SEARCH);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_convex_solids), cmocka_unit_test(test_concave_solid), cmocka_unit_test(test_hollow_solid))
