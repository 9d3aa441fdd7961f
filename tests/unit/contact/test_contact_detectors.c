/* Contact detectors of pairs of kinds of bodies, by hand. The bodies are tables of functions that report level sets, solids, triangles and segments. */
#include "contact/detection/contact_detectors.h"
#include "test.h"
#include <string.h>

static level_set *const *one_level_set(const body *b, int *n)
{
  (void)b;
  *n = 1;
  return NULL;
}
static const convex_solid *one_solid(const body *b, int *n)
{
  (void)b;
  *n = 1;
  return NULL;
}
static void one_triangle(const body *b, body_surface *out)
{
  (void)b;
  *out = (body_surface){.n_nodes = 3, .n_triangles = 1};
}
static void one_segment(const body *b, body_segments *out)
{
  (void)b;
  *out = (body_segments){.n_nodes = 2, .n_segments = 1};
}
static double radius(const body *b, int64_t i) { return (void)b, (void)i, 0.1; }
static void   pose(const body *b, double t, double dt, const double *v, rigid_frame *f) { (void)b, (void)t, (void)dt, (void)v, (void)f; }
static PetscErrorCode residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_SUCCESS;
}

enum { BOX, TORUS, WALL, RIDGE, MESH_BLOCK, SOFT, SAND, FIBRE, N_KINDS };
static const body_ops ops[N_KINDS] = {
    [BOX]        = {.residual = residual, .frame = pose, .points = POINT_RIGID, .level_sets = one_level_set, .solids = one_solid},
    [TORUS]      = {.residual = residual, .frame = pose, .points = POINT_RIGID, .level_sets = one_level_set},
    [WALL]       = {.frame = pose, .points = POINT_NONE, .level_sets = one_level_set, .solids = one_solid},
    [RIDGE]      = {.frame = pose, .points = POINT_NONE, .level_sets = one_level_set},
    [MESH_BLOCK] = {.residual = residual, .frame = pose, .points = POINT_RIGID, .surface = one_triangle},
    [SOFT]       = {.residual = residual, .points = POINT_WEIGHTED, .surface = one_triangle},
    [SAND]       = {.residual = residual, .points = POINT_WEIGHTED, .point_radius = radius},
    [FIBRE]      = {.residual = residual, .points = POINT_WEIGHTED, .segments = one_segment}};

static unsigned rigid_of(int a, int b)
{
  const body one = {.ops = &ops[a]}, two = {.ops = &ops[b]};
  assert_int_equal(contact_detectors_of(&one, &two), contact_detectors_of(&two, &one));
  return contact_detectors_of(&one, &two);
}

static unsigned springs_of(int a, int b, bool uses_solids)
{
  const body one = {.ops = &ops[a]}, two = {.ops = &ops[b]};
  assert_int_equal(contact_spring_detectors_of(&one, &two, uses_solids), contact_spring_detectors_of(&two, &one, uses_solids));
  return contact_spring_detectors_of(&one, &two, uses_solids);
}

enum {
  POINT     = 1 << DETECTOR_POINT,
  SOLIDS    = 1 << DETECTOR_CONVEX,
  TRIANGLES = 1 << DETECTOR_SURFACE_POINT,
  EDGES     = 1 << DETECTOR_SURFACE_EDGE
};

static void test_rigid_contact(void **state)
{
  (void)state;
  assert_int_equal(rigid_of(BOX, BOX), SOLIDS);
  assert_int_equal(rigid_of(BOX, WALL), SOLIDS);
  assert_int_equal(rigid_of(BOX, TORUS), POINT);
  assert_int_equal(rigid_of(TORUS, RIDGE), POINT);
  assert_int_equal(rigid_of(WALL, RIDGE), 0); /* neither moves */
  assert_int_equal(rigid_of(MESH_BLOCK, MESH_BLOCK), TRIANGLES | EDGES);
  assert_int_equal(rigid_of(MESH_BLOCK, SOFT), TRIANGLES | EDGES);
  assert_int_equal(rigid_of(SOFT, WALL), POINT);
  assert_int_equal(rigid_of(SAND, SOFT), TRIANGLES);
  assert_int_equal(rigid_of(SAND, FIBRE), 1 << DETECTOR_FIBRE_POINT);
  assert_int_equal(rigid_of(FIBRE, FIBRE), 1 << DETECTOR_FIBRE);
  assert_int_equal(rigid_of(FIBRE, WALL), 1 << DETECTOR_FIBRE_OBJECT);
  assert_int_equal(rigid_of(FIBRE, SOFT), TRIANGLES | EDGES);
}

static void test_springs(void **state)
{
  (void)state;
  assert_int_equal(springs_of(BOX, WALL, true), SOLIDS);
  assert_int_equal(springs_of(BOX, WALL, false), POINT);
  assert_int_equal(springs_of(BOX, RIDGE, true), POINT);
  assert_int_equal(springs_of(MESH_BLOCK, SOFT, true), TRIANGLES);
  assert_int_equal(springs_of(SAND, MESH_BLOCK, true), TRIANGLES);
  assert_int_equal(springs_of(SAND, SAND, true), 0); /* contact on their grid */
  assert_int_equal(springs_of(WALL, RIDGE, true), 0);
}

/* Self-contact: of deformable surfaces and of fibres. */
static void test_one_body(void **state)
{
  (void)state;
  const body soft = {.ops = &ops[SOFT]}, block = {.ops = &ops[MESH_BLOCK]}, fibre = {.ops = &ops[FIBRE]};
  assert_int_equal(contact_detectors_of(&soft, &soft), TRIANGLES | EDGES);
  assert_int_equal(contact_detectors_of(&block, &block), 0);
  assert_int_equal(contact_detectors_of(&fibre, &fibre), 1 << DETECTOR_FIBRE);
  assert_int_equal(contact_spring_detectors_of(&soft, &soft, true), TRIANGLES);
  assert_int_equal(contact_spring_detectors_of(&block, &block, true), 0);
}

static void test_texts(void **state)
{
  (void)state;
  for (int i = 0; i < CONTACT_N_DETECTORS; ++i)
    for (int j = 0; j < i; ++j)
      assert_string_not_equal(contact_detector_text((contact_detector)i), contact_detector_text((contact_detector)j));
}

TEST_MAIN(cmocka_unit_test(test_rigid_contact), cmocka_unit_test(test_springs), cmocka_unit_test(test_one_body),
          cmocka_unit_test(test_texts))
