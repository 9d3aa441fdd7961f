/* Bodies count as fallen when they move down below all obstacles. */
#include "sim/scene/fallen_bodies.h"
#include "formulation_fixture.h"
#include "sim/scene/scene_overlaps.h"

#define HEAD(gravity)                                                                                                                      \
  "stickslip: 1\nname: test\nformulation: exact\ntime: {end: 1, step: 0.05}\ngravity: " gravity                                            \
  "\nmaterials: {wood: {model: rigid, density: 1000}}\ncontact: {friction: 0.3}\nbodies:\n"                                                \
  "  a: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 0], radius: 0.1}}, copies: {arrangement: lattice, count: 2, "        \
  "region: {box: {min: [0, 0, 0], max: [1, 1, 1]}}}}\n"                                                                                    \
  "  b: {kind: rigid, material: wood, shape: {sphere: {center: [0, 0, 2], radius: 0.1}}}\n"
#define PLATE "  plate: {kind: static, shape: {box: {min: [-1, -1, -2], max: [1, 1, -1]}}}\n"
#define WALLS "  walls: {kind: static, shape: {container: {min: [-1, -1, -1], max: [1, 1, 1], open: [top, bottom]}}}\n"

static int  first[4], n_first;
static void add_first(const scene *s, int i)
{
  (void)s;
  first[n_first++] = i;
}

/* Number of fallen bodies with all three at height z and vertical velocity v. */
static int64_t count(const char *text, double z, double v)
{
  world                w;
  const scene_overlap *list;
  int64_t              n;
  open_world(text, &w);
  for (int i = 0; i < 3; ++i) {
    rigid_body *b = rigid_body_dynamic(w.s->bodies[i].body);
    b->c[0] = 0.3 * i, b->c[1] = 0.0, b->c[2] = z, b->v[2] = v;
  }
  assert_ok(scene_overlaps_find(w.s->overlaps, 0.0, false, &n, &list));
  n_first             = 0;
  const int64_t found = fallen_bodies_count(w.s, add_first);
  assert_int_equal(fallen_bodies_count(w.s, NULL), found);
  close_world(&w);
  assert_no_leak();
  return found;
}

static void test_heights(void **state)
{
  (void)state;
  assert_int_equal(count(HEAD("[0, 0, -10]") PLATE, -2.09, -1.0), 0);
  assert_int_equal(count(HEAD("[0, 0, -10]") PLATE, -2.11, -1.0), 3);
  assert_int_equal(n_first, 2); /* one of each entry */
  assert_true(first[0] == 0 && first[1] == 2);
  assert_int_equal(count(HEAD("[0, 0, -10]") PLATE, -2.11, 1.0), 0); /* upwards */
  assert_int_equal(count(HEAD("[0, 0, 10]") PLATE, -2.11, -1.0), 0); /* other gravity */
  assert_int_equal(count(HEAD("[0, 0, 10]") PLATE, 1.0, 1.0), 3);
  assert_int_equal(count(HEAD("[0, 0, 0]") PLATE, -9.0, -1.0), 0); /* no gravity */
  assert_int_equal(count(HEAD("[0, 0, -10]"), -9.0, -1.0), 0);     /* a free fall */
  assert_int_equal(count(HEAD("[0, 0, -10]") PLATE "  ground: {kind: static, shape: {plane: {point: [0, 0, -20]}}}\n", -9.0, -1.0), 0);
  assert_int_equal(count(HEAD("[0, 0, -10]") WALLS, -1.05, -1.0), 0);
  assert_int_equal(count(HEAD("[0, 0, -10]") WALLS, -1.15, -1.0), 3); /* walls without a bottom */
}

TEST_MAIN(cmocka_unit_test(test_heights))
