/* Kinds fem and cloth, from a job to a body: nodes, masses, initial state, surface, loads. Errors:
 * tests/integration/test_bad_input.sh. */
#include <string.h>
#include "test.h"
#include "app/job/job.h"
#include "core/math3.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/scene/scene.h"

static const char *const head =
    "stickslip: 1\nname: bodies\ngravity: [0, 0, -9.81]\ntime: {end: 1, step: 0.1}\n"
    "materials: {rubber: {model: neo_hookean, density: 300, youngs_modulus: 1000, poisson_ratio: 0.2}}\nbodies:\n";
static diagnostics *d;
static job         *j;
static scene       *s;

static nodal_body *make(const char *body_text)
{
  char text[2048];
  snprintf(text, sizeof text, "%s  b: {%s}\n", head, body_text);
  assert_ok(diagnostics_create(&d));
  assert_ok(job_read_text("job", text, 0, NULL, d, &j));
  for (int i = 0; i < diagnostics_count(d); ++i) print_message("%s\n", diagnostics_text(d, i));
  assert_int_equal(diagnostics_count(d), 0);
  assert_ok(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  for (int i = 0; i < diagnostics_count(d); ++i) print_message("%s\n", diagnostics_text(d, i));
  assert_int_equal(diagnostics_count(d), 0);
  return (nodal_body *)s->bodies[0].body;
}

static void destroy(void)
{
  scene_destroy(&s);
  job_destroy(&j);
  diagnostics_destroy(&d);
  assert_no_leak();
}

static double mass_of(const nodal_body *b)
{
  double sum = 0.0;
  for (int64_t i = 0; i < b->n_nodes; ++i) sum += b->mass[i];
  return sum;
}

/* Volume that the surface encloses, by the divergence theorem: positive if its triangles face outwards. */
static double volume_of(const nodal_body *b)
{
  double sum = 0.0, n[3];
  for (int64_t t = 0; t < b->n_triangles; ++t) {
    const int32_t *c = b->triangles + 3 * t;
    v3_cross(n, b->x + 3 * c[1], b->x + 3 * c[2]);
    sum += v3_dot(b->x + 3 * c[0], n) / 6.0;
  }
  return sum;
}

/* A box that is turned: mass, place, the start about its centre of mass, gravity and load, damping. */
static void test_box(void **unused)
{
  (void)unused;
  nodal_body *b = make("kind: fem, material: rubber, spacing: 0.5, shape: {box: {min: [1, 2, 3], max: [3, 3, 4]}, rotate_deg: 90}, "
                       "velocity: [1, 2, 3], angular_velocity: [0, 0, 2], load: [0.5*z + t, 0, 0], damping: {mass: 0.25, stiffness: 0.1}");
  assert_int_equal(b->n_nodes, 5 * 3 * 3);
  assert_int_equal(b->n_sets, 1);
  assert_int_equal(b->sets[0].n, 5 * 4 * 2 * 2);
  assert_close(mass_of(b), 300.0 * 2.0, 1e-10);
  assert_close(volume_of(b), 2.0, 1e-13);
  assert_int_equal(b->n_surface, 45 - 3);
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int64_t i = 0; i < 3 * b->n_nodes; ++i) min[i % 3] = fmin(min[i % 3], b->x[i]), max[i % 3] = fmax(max[i % 3], b->x[i]);
  const double low[3] = {-3.0, 1.0, 3.0}, high[3] = {-2.0, 3.0, 4.0}; /* x -> -y, y -> x */
  for (int k = 0; k < 3; ++k) {
    assert_close(min[k], low[k], 1e-14);
    assert_close(max[k], high[k], 1e-14);
  }
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    assert_close(b->v[3 * i], 1.0 - 2.0 * (b->x[3 * i + 1] - 2.0), 1e-13);
    assert_close(b->v[3 * i + 1], 2.0 + 2.0 * (b->x[3 * i] + 2.5), 1e-13);
    assert_close(b->v[3 * i + 2], 3.0, 0.0);
  }
  assert_close(b->gravity[2], -9.81, 0.0);
  double load[3];
  vector_field_at(b->load, (const double[3]){0.0, 0.0, 7.0}, (const double[3]){0.0, 0.0, 1.0}, 0.25, load);
  assert_close(load[0], 0.75, 0.0);
  assert_close(b->mass_damping, 0.25, 0.0);
  destroy();
}

/* Meshes of shapes without a structured one, and of a ball with short edges below. */
static void test_shapes(void **unused)
{
  (void)unused;
  nodal_body *b = make("kind: fem, material: rubber, spacing: 0.1, mesher: stuffing, shape: {sphere: {center: [1, 1, 1], radius: 0.5}}");
  assert_close(volume_of(b), M_PI / 6.0, 0.03 * M_PI / 6.0);
  assert_close(mass_of(b), 300.0 * volume_of(b), 1e-9);
  destroy();
  b                     = make("kind: fem, material: rubber, spacing: 0.1, shape: {sphere: {center: [1, 1, 1], radius: 0.5}}");
  const double  even    = b->length;
  const int64_t n_nodes = b->n_nodes;
  destroy();
  b = make("kind: fem, material: rubber, spacing: 0.1, shape: {sphere: {center: [1, 1, 1], radius: 0.5}}, grading: {direction: [0, 0, -1], "
           "factor: 4}");
  int64_t below = 0;
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    const double arm[3] = {b->x[3 * i] - 1.0, b->x[3 * i + 1] - 1.0, b->x[3 * i + 2] - 1.0};
    assert_true(v3_norm(arm) < 0.5 * (1.0 + 1e-14));
    below += arm[2] < -0.25;
  }
  assert_int_equal(b->n_nodes, n_nodes);
  assert_true(b->length < even / 3.0);
  assert_true(below > n_nodes / 2); /* 16 % of the ball */
  destroy();
}

/* A sheet: masses by area, a spring per edge of its rows and columns and per diagonal of its cells, hinges on demand. */
static void test_cloth(void **unused)
{
  (void)unused;
  nodal_body *b = make(
      "kind: cloth, sheet: {corner: [0, 0, 1], u: [2, 0, 0], v: [0, 1, 0], cells: [4, 2]}, mass_per_area: 0.7, stretch: 100, bending: 0.1, "
      "velocity: [0, 0, 2], hold: [{inside: {box: {min: [-1, -1, 0], max: [0.1, 2, 2]}}, axes: [x, z]}]");
  assert_int_equal(b->n_nodes, 15);
  assert_int_equal(b->n_triangles, 16);
  assert_close(mass_of(b), 1.4, 1e-14);
  assert_int_equal(b->n_prescribed, 3 * 2);
  assert_int_equal(b->n_surface, 15);
  int64_t springs = 0, hinges = 0;
  for (int k = 0; k < b->n_sets; ++k) *(b->sets[k].ops->n_nodes == 2 ? &springs : &hinges) += b->sets[k].n;
  assert_int_equal(springs, 4 * 3 + 2 * 5 + 2 * 8);
  assert_int_equal(hinges, 8 + 4 * 1 + 3 * 2); /* diagonals, and edges between cells */
  for (int64_t i = 0; i < 15; ++i) assert_close(b->v[3 * i + 2], 2.0, 0.0);
  destroy();
  b = make("kind: cloth, shape: {sphere: {center: [0, 0, 0], radius: 1}}, spacing: 0.3, mass_per_area: 0.5, stretch: 100, pressure: "
           "[{value: -3}]");
  double area = 0.0;
  for (int64_t t = 0; t < b->n_triangles; ++t) {
    const int32_t *c = b->triangles + 3 * t;
    double         e[3], f[3], n[3];
    v3_sub(e, b->x + 3 * c[1], b->x + 3 * c[0]);
    v3_sub(f, b->x + 3 * c[2], b->x + 3 * c[0]);
    v3_cross(n, e, f);
    area += 0.5 * v3_norm(n);
  }
  assert_close(area, 4.0 * M_PI, 0.05 * 4.0 * M_PI);
  assert_close(mass_of(b), 0.5 * area, 1e-12);
  assert_true(volume_of(b) > 0.9 * 4.0 / 3.0 * M_PI);
  assert_int_equal(b->sets[0].n, 3 * b->n_triangles / 2);     /* every edge of a closed surface */
  assert_int_equal(b->sets[b->n_sets - 1].n, b->n_triangles); /* the pressure */
  destroy();
}

TEST_MAIN(cmocka_unit_test(test_box), cmocka_unit_test(test_shapes), cmocka_unit_test(test_cloth))
