/* Copies of a rigid body: names, poses, sizes against bodies that are created at this size, shared geometry, random orientations, poses from
 * a file, and rejected input. */
#include "discretize/rigid/rigid_copies.h"
#include <string.h>
#include <unistd.h>
#include "core/math3.h"
#include "core/quaternion.h"
#include "rigid_fixture.h"
#include "temporary.h"

static document    *doc;
static diagnostics *d;
static int64_t      n;
static body       **copy;

/* Create the copies of an entry; diagnostics in d. */
static void expand(const char *text)
{
  const double   gravity[3] = {0, 0, -10};
  document_node *node       = NULL;
  const void    *spec       = NULL;
  assert_ok(document_create(&doc));
  assert_ok(diagnostics_create(&d));
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 3, 1}, &node));
  assert_ok(key_table_read(&rigid_body_table, doc, node, "bodies.b", d, &spec));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  const body_request r = {.name = "b", .path = "bodies.b", .spec = spec, .node = node};
  assert_ok(rigid_copies_create(&r, 1000.0, gravity, d, &n, &copy));
}

static void expand_well(const char *text)
{
  expand(text);
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
}

static void drop(void)
{
  for (int64_t i = n; i-- > 0;) copy[i]->ops->destroy(&copy[i]);
  memory_free(&copy);
  diagnostics_destroy(&d);
  document_destroy(&doc);
  assert_no_leak();
}

static const rigid_body *at(int64_t i) { return (const rigid_body *)copy[i]; }

#define BOX "material: m, shape: {box: {min: [1, 1, 1], max: [2, 3, 4]}}"

static void test_lattice(void **state)
{
  (void)state;
  expand_well("{" BOX ", velocity: [1, 2, 3], copies: {arrangement: lattice, region: {box: {min: [0, 0, 0], max: [3, 2, 6]}}}}");
  assert_int_equal(n, 6);
  for (int i = 0; i < 6; ++i) {
    const rigid_body *b = at(i);
    char              name[8];
    snprintf(name, sizeof name, "b.%d", i + 1);
    assert_string_equal(b->base.name, name);
    assert_close(b->c[0], 0.5 + i % 3, 1e-15);
    assert_close(b->c[1], 1.0, 1e-15);
    assert_close(b->c[2], 1.5 + 3 * (i / 3), 1e-15);
    assert_close(b->mass, 6000.0, 1e-9);
    assert_close(b->volume, 6.0, 1e-12);
    assert_close(b->v[1], 2.0, 0.0);
    assert_close(b->gravity[2], -10.0, 0.0);
    assert_ptr_equal(b->surface, at(0)->surface); /* shared */
    assert_ptr_equal(b->level_sets, at(0)->level_sets);
  }
  double x[3], q[4];
  rigid_body_current_point(at(4), at(4)->c, x);
  for (int k = 0; k < 3; ++k) assert_close(x[k], at(4)->c[k], 0.0);
  rigid_body_rotation(at(4), q);
  assert_close(q[0], 1.0, 0.0);
  drop();
}

/* A copy of size s is the body that has this size in the job. */
static void check_size(const char *form, const char *larger, double s)
{
  document *other;
  char      text[500];
  snprintf(text, sizeof text,
           "{material: m, shape: %s, copies: {arrangement: lattice, count: 1, sizes: {list: [{size: %g}]}, region: {box: {min: [-9, -9, "
           "-9], max: [9, 9, 9]}}}}",
           form, s);
  expand_well(text);
  assert_ok(document_create(&other));
  snprintf(text, sizeof text, "{material: m, shape: %s}", larger);
  rigid_body       *whole = rigid_from_text(RIGID_DYNAMIC, text, 1000.0, other, NULL);
  const rigid_body *b     = at(0);
  assert_close(b->mass / whole->mass, 1.0, 1e-12);
  assert_close(b->volume / whole->volume, 1.0, 1e-12);
  assert_close(b->radius / whole->radius, 1.0, 1e-12);
  for (int i = 0; i < 9; ++i) assert_close(b->inertia[i], whole->inertia[i], 1e-9 * whole->inertia[0]);
  for (int64_t i = 0; i < 3 * b->n_vertices && strstr(form, "box"); ++i) /* rounding may change the order of the vertices of round bodies */
    assert_close(b->surface->x[i], whole->surface->x[i], 1e-12);
  for (int64_t i = 0; i < b->n_vertices; ++i) assert_close(level_set_value(whole->level_sets[0], b->surface->x + 3 * i), 0.0, 1e-12);
  assert_int_equal(b->n_level_sets, whole->n_level_sets);
  const double point[3] = {0.7, -0.2, 1.1};
  double       g[3], h[9], expected_g[3], expected_h[9], lower[3], upper[3], expected_lower[3], expected_upper[3];
  assert_close(level_set_eval(b->level_sets[0], point, g, h), level_set_eval(whole->level_sets[0], point, expected_g, expected_h), 1e-12);
  for (int i = 0; i < 3; ++i) assert_close(g[i], expected_g[i], 1e-12);
  for (int i = 0; i < 9; ++i) assert_close(h[i], expected_h[i], 1e-12);
  assert_true(level_set_implicit(b->level_sets[0], point) * level_set_implicit(whole->level_sets[0], point) > 0.0);
  level_set_bounds(b->level_sets[0], lower, upper);
  level_set_bounds(whole->level_sets[0], expected_lower, expected_upper);
  for (int k = 0; k < 3; ++k) {
    assert_close(lower[k], expected_lower[k], 1e-12);
    assert_close(upper[k], expected_upper[k], 1e-12);
  }
  assert_int_equal(b->n_solids, whole->n_solids);
  for (int i = 0; i < b->n_solids; ++i) {
    const convex_solid *one = &b->solids[i], *two = &whole->solids[i];
    assert_int_equal(one->kind, two->kind);
    assert_close(one->bound, two->bound, 1e-12);
    assert_close(one->radius, two->radius, 1e-12);
    for (int k = 0; k < 3; ++k) {
      assert_close(one->center[k], two->center[k], 1e-12);
      if (one->polyhedron) continue;
      assert_close(one->from[k], two->from[k], 1e-12);
      assert_close(one->to[k], two->to[k], 1e-12);
    }
    for (int f = 0; one->polyhedron && f < one->polyhedron->n_faces; ++f)
      assert_close(one->polyhedron->offset[f], two->polyhedron->offset[f], 1e-12);
    for (int k = 0; one->polyhedron && k < 3 * one->polyhedron->n_corners; ++k)
      assert_close(one->polyhedron->x[k], two->polyhedron->x[k], 1e-12);
  }
  int64_t     n_blocks, seen = 0;
  step_status status = {0};
  assert_ok(copy[0]->ops->begin_step(copy[0], 0.0, 0.1, &n_blocks, &status));
  for (int64_t i = 0; i < copy[0]->ops->n_clusters(copy[0]); ++i) { /* spheres around the vertices, no larger than necessary */
    double  center[3], radius, x[3], arm[3], most = 0.0;
    int64_t first, end;
    copy[0]->ops->cluster(copy[0], i, center, &radius, &first, &end);
    for (int64_t k = first; k < end; ++k, ++seen) {
      copy[0]->ops->point(copy[0], k, x);
      v3_sub(arm, x, center);
      most = fmax(most, v3_norm(arm));
    }
    assert_close(radius, most, 1e-12);
  }
  assert_int_equal(seen, b->n_vertices);
  rigid_body_destroy(&whole);
  document_destroy(&other);
  drop();
}

static void test_sizes(void **state)
{
  (void)state;
  check_size("{sphere: {center: [1, 2, 3], radius: 0.5}}", "{sphere: {center: [0, 0, 0], radius: 1.25}}", 2.5);
  check_size("{box: {min: [1, 1, 1], max: [2, 3, 4]}}", "{box: {min: [0, 0, 0], max: [1.5, 3, 4.5]}}", 1.5);
  check_size("{union: [{sphere: {center: [0, 0, 0], radius: 1}}, {sphere: {center: [1, 0, 0], radius: 0.8}}]}",
             "{union: [{sphere: {center: [0, 0, 0], radius: 0.5}}, {sphere: {center: [0.5, 0, 0], radius: 0.4}}]}", 0.5);
}

/* Random orientations: unit quaternions; each axis has a mean of zero and a mean square of 1/3 along each direction. */
static void test_orientation(void **state)
{
  (void)state;
  double mean[3] = {0}, square[3] = {0}, moment[16] = {0};
  expand_well("{" BOX
              ", copies: {arrangement: random, orientation: random, count: 1000, region: {box: {min: [0, 0, 0], max: [100, 50, 70]}}}}");
  assert_int_equal(n, 1000);
  for (int64_t i = 0; i < n; ++i) {
    double R[9], q[4], x[3], from[3];
    assert_close(quaternion_dot(at(i)->q, at(i)->q), 1.0, 1e-15);
    quaternion_to_matrix(R, at(i)->q);
    for (int k = 0; k < 16; ++k) moment[k] += at(i)->q[k / 4] * at(i)->q[k % 4] / 1000.0;
    for (int k = 0; k < 3; ++k) mean[k] += R[3 * k] / 1000.0, square[k] += R[3 * k] * R[3 * k] / 1000.0;
    rigid_body_rotation(at(i), q); /* none since the start */
    assert_close(q[0], 1.0, 1e-15);
    v3_copy(from, at(i)->c);
    from[1] += 0.5;
    rigid_body_current_point(at(i), from, x);
    for (int k = 0; k < 3; ++k) assert_close(x[k], from[k], 1e-13);
  }
  for (int k = 0; k < 3; ++k) {
    assert_close(mean[k], 0.0, 5.0 * sqrt(1.0 / 3.0 / 1000.0));
    assert_close(square[k], 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / 1000.0));
  }
  /* on the sphere of quaternions E q_i q_j = delta_ij/4, E q_i^4 = 1/8, E q_i^2 q_j^2 = 1/24 */
  for (int k = 0; k < 16; ++k) assert_close(moment[k], k % 5 ? 0.0 : 0.25, 5.0 * sqrt((k % 5 ? 1.0 / 24.0 : 1.0 / 16.0) / 1000.0));
  drop();
}

/* The number of bodies that fill a part of the region. */
static void test_packing(void **state)
{
  (void)state;
  double sum = 0.0;
  expand_well("{material: m, shape: {sphere: {center: [0, 0, 0], radius: 0.05}}, copies: {arrangement: random, packing: 0.2, sizes: "
              "{uniform: [0.5, 1.5]}, "
              "region: {sphere: {center: [0, 0, 0], radius: 0.7}}}}");
  for (int64_t i = 0; i < n; ++i) sum += at(i)->volume;
  assert_close(sum / (4.0 / 3.0 * M_PI * 0.343), 0.2, at(0)->volume * 3.375);
  drop();
}

static void write_file(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static char        poses[TEMPORARY_ROOM];
static const char *entry_from(char *text, size_t size)
{
  snprintf(text, size, "{" BOX ", velocity: [1, 2, 3], copies: {arrangement: file, file: %s}}", poses);
  return text;
}

static void test_file(void **state)
{
  (void)state;
  char text[400];
  close(mkstemp(temporary_name(poses, "")));
  write_file(poses, "size, x,y,z,qw,qx,qy,qz,wx,wy,wz\n1,1,2,3,1,0,0,0,0,0,5\n2,-1e1,0,0,0,0,0,1,0,0,0"); /* without a last line break */
  expand_well(entry_from(text, sizeof text));
  assert_int_equal(n, 2);
  assert_close(at(0)->c[2], 3.0, 0.0);
  assert_close(at(0)->w[2], 5.0, 0.0);
  assert_close(at(0)->v[1], 2.0, 0.0); /* of the entry */
  assert_close(at(1)->c[0], -10.0, 0.0);
  assert_close(at(1)->q[3], 1.0, 0.0);
  assert_close(at(1)->mass, 48000.0, 1e-9);
  drop();
  /* every column at its place, in another order, with blanks; the quaternion is normalised */
  write_file(poses, " wz, vy ,z,qy,x,qz,wx,y,qw,vz,wy,vx,qx,size\r\n13,9,3,0.5,1,0.5001,11,2,0.5,10,12,8,-0.5,3\r\n");
  expand_well(entry_from(text, sizeof text));
  assert_int_equal(n, 1);
  for (int k = 0; k < 3; ++k) {
    assert_close(at(0)->c[k], 1.0 + k, 0.0);
    assert_close(at(0)->v[k], 8.0 + k, 0.0);
    assert_close(at(0)->w[k], 11.0 + k, 0.0);
  }
  const double given[4] = {0.5, -0.5, 0.5, 0.5001}, length = sqrt(0.75 + 0.5001 * 0.5001);
  for (int k = 0; k < 4; ++k) assert_close(at(0)->q[k], given[k] / length, 1e-15);
  assert_close(at(0)->volume, 6.0 * 27.0, 1e-10);
  drop();
  static const struct {
    const char *content, *message;
  } bad[] = {{"x,y,z\n", "expected a header and at least one row"},
             {"x,y\n1,2\n", ":1: column \"z\" is missing; add it"},
             {"x,y,z,qw\n1,2,3,1\n", ":1: column \"qx\" is missing"},
             {"x,y,z,colour\n1,2,3,1\n", ":1: unknown column \"colour\"; expected x, y, z"},
             {"x,y,z,x\n1,2,3,1\n", ":1: column \"x\" occurs twice"},
             {"x,y,z\n1,2,3\n1,2,three\n", ":3: column z: expected a number, got \"three\""},
             {"x,y,z\n1,2,nan\n", ":2: column z: expected a number"},
             {"x,y,z,size\n1,2,3,0\n", ":2: column size: expected a number > 0, got 0"},
             {"x,y,z,qw,qx,qy,qz\n1,2,3,2,0,0,0\n", ":2: the quaternion qw, qx, qy, qz has length 2; divide it"},
             {"x,y,z\n1,2\n", "bodies.b.copies.file: "}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    write_file(poses, bad[k].content);
    expand(entry_from(text, sizeof text));
    assert_true(diagnostics_count(d) > 0 && n == 0);
    if (!strstr(diagnostics_text(d, 0), bad[k].message)) fail_msg("%s", diagnostics_text(d, 0));
    drop();
  }
  unlink(poses);
}

/* Releases at 1, 1.4 and 1.8 s fill the region with other random numbers; the first one at 0 s does not wait. */
static void test_pour(void **state)
{
  (void)state;
  char text[500];
  expand_well("{" BOX ", copies: {arrangement: lattice, jitter: 1, gap: 0.1, sizes: {uniform: [0.5, 0.9]}, orientation: random, "
              "pour: {start: 1, end: 2, every: 0.4}, region: {box: {min: [0, 0, 0], max: [8, 4, 4]}}}}");
  assert_int_equal(n, 6);
  for (int i = 0; i < 6; ++i) {
    assert_true(copy[i]->is_waiting);
    assert_close(at(i)->release, 1.0 + 0.4 * (i / 2), 1e-15);
    assert_true(i < 2 || at(i)->c[0] != at(i - 2)->c[0]);
    assert_true(i < 2 || at(i)->q[0] != at(i - 2)->q[0]);
    assert_true(i < 2 || at(i)->mass != at(i - 2)->mass);
  }
  assert_string_equal(at(5)->base.name, "b.6");
  drop();
  close(mkstemp(temporary_name(poses, "")));
  write_file(poses, "x,y,z\n1,2,3\n4,5,6\n");
  snprintf(text, sizeof text, "{" BOX ", copies: {arrangement: file, file: %s, pour: {end: 0.2, every: 0.1}}}", poses);
  expand_well(text);
  unlink(poses);
  assert_int_equal(n, 4);
  for (int i = 0; i < 4; ++i) {
    assert_true(copy[i]->is_waiting == (i >= 2));
    assert_close(at(i)->release, i < 2 ? 0.0 : 0.1, 1e-15);
    assert_close(at(i)->c[1], i % 2 ? 5.0 : 2.0, 0.0);
  }
  drop();
}

/* Lattices: capsules, whose round surface reaches beyond its triangles, with a gap; any orientation in bounding spheres; a part of the region. */
static void test_lattice_cells(void **state)
{
#define CAPSULE "material: m, shape: {capsule: {from: [0, 0, 0], to: [0, 0, 0.6], radius: 0.2}}"
  (void)state;
  /* cells of 0.5 x 0.5 x 1.1, of which those remain whose bounding sphere, of radius 0.5, is in the region */
  expand_well("{" CAPSULE ", copies: {arrangement: lattice, gap: 0.1, region: {box: {min: [0, 0, 0], max: [3, 3, 3]}}}}");
  assert_int_equal(n, 32);
  for (int i = 0; i < 32; ++i) {
    assert_close(at(i)->c[0], 0.75 + 0.5 * (i % 4), 1e-12);
    assert_close(at(i)->c[1], 0.75 + 0.5 * (i / 4 % 4), 1e-12);
    assert_close(at(i)->c[2], 0.5 + 1.1 * (i / 16), 1e-12);
  }
  drop();
  /* spheres of radius 0.5: 2 x 1 x 1 in 2.3 x 1.4 x 1.2, centred in the plane and on the floor */
  expand_well("{" CAPSULE ", copies: {arrangement: lattice, orientation: random, region: {box: {min: [0, 0, 0], max: [2.3, 1.4, 1.2]}}}}");
  assert_int_equal(n, 2);
  for (int i = 0; i < 2; ++i) {
    assert_close(at(i)->c[0], 0.65 + i, 1e-12);
    assert_close(at(i)->c[1], 0.7, 1e-12);
    assert_close(at(i)->c[2], 0.5, 1e-12);
  }
  drop();
  /* boxes of 6 in a region of 324: 27 of them fill half, if the last one is not to exceed it */
  expand_well("{" BOX ", copies: {arrangement: lattice, packing: 0.5, region: {box: {min: [0, 0, 0], max: [6, 6, 9]}}}}");
  assert_int_equal(n, 27);
  drop();
  /* at least one */
  expand_well("{" BOX ", copies: {arrangement: lattice, packing: 0.01, region: {box: {min: [0, 0, 0], max: [6, 6, 9]}}}}");
  assert_int_equal(n, 1);
  drop();
  /* with the largest shifts boxes stay apart and in the region */
  expand_well("{" BOX ", copies: {arrangement: lattice, jitter: 1, gap: 0.5, count: 27, sizes: {uniform: [0.3, 1]}, seed: 5, region: {box: "
              "{min: [0, 0, 0], "
              "max: [4.5, 7.5, 10.5]}}}}");
  assert_int_equal(n, 27);
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double apart = -INFINITY;
      for (int k = 0; k < 3; ++k) {
        const double a = 0.5 * (k + 1) * cbrt(at(i)->volume / 6.0), b = 0.5 * (k + 1) * cbrt(at(j)->volume / 6.0);
        apart = fmax(apart, fabs(at(i)->c[k] - at(j)->c[k]) - a - b);
        if (i == j) assert_true(at(i)->c[k] - a >= -1e-9 && at(i)->c[k] + a <= 4.5 + 3.0 * k + 1e-9);
        if (i == j) most = fmax(most, fabs(remainder(at(i)->c[k] - 0.5 * (1.5 + k), 1.5 + k)));
      }
      if (i != j) assert_true(apart >= -1e-9);
    }
  assert_true(most > 0.3); /* they are shifted */
  drop();
}

static void test_errors(void **state)
{
#define REGION "region: {box: {min: [0, 0, 0], max: [9, 9, 9]}}"
  static const struct {
    const char *copies, *message;
  } bad[] = {
      {"arrangement: lattice", "missing required key \"region\""},
      {"arrangement: file", "missing required key \"file\""},
      {"arrangement: random, " REGION, "missing required key \"count\" or \"packing\""},
      {"arrangement: random, count: 1, packing: 0.1, " REGION, "copies.packing: cannot be given together with count"},
      {"arrangement: lattice, count: 1000, " REGION,
       "copies.count: arrangement: lattice found positions for 108 of 1000 bodies; enlarge the region"},
      {"arrangement: random, packing: 0.5, " REGION,
       "bodies; enlarge the region, or reduce the packing or the gap, or use arrangement: lattice"},
      {"arrangement: lattice, region: {sphere: {center: [0, 0, 0], radius: 0.9}}",
       "copies.region: has no room for a body of 1 x 2 x 3 m; enlarge it"},
      {"arrangement: lattice, region: {plane: {normal: [0, 0, 1]}}", "copies.region: has no volume"},
      {"arrangement: lattice, sizes: {log_normal: [1, 0.1]}, " REGION, "copies.sizes: missing required key \"limits\""},
      {"arrangement: lattice, sizes: {uniform: [2, 1]}, " REGION, "copies.sizes.uniform: the smallest size, 2"},
      {"arrangement: lattice, pour: {start: 2, end: 2, every: 1}, " REGION, "copies.pour: its end, 2 s, is not after its start, 2 s"},
      {"arrangement: lattice, pour: {end: 1, every: 1.0e-7}, " REGION, "copies.pour: the releases have more than 100000000 bodies"},
      {"arrangement: lattice, " REGION
       ", pour: {end: 1, every: 1}}, anchors: [], velocity: [0, 0, 0], contact_surface: mesh, force: [0, 0, 0",
       "copies.pour: not supported with contact_surface: mesh"},
      {"arrangement: lattice, " REGION "}, anchors: [{point: [0, 0, 0], stiffness: 1}], velocity: [0, 0, 0",
       "bodies.b.anchors: not supported with copies"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    char text[600];
    snprintf(text, sizeof text, "{" BOX ", copies: {%s%s}", bad[k].copies, strstr(bad[k].copies, "anchors") ? "]" : "}");
    expand(text);
    assert_true(diagnostics_count(d) > 0 && n == 0);
    if (!strstr(diagnostics_text(d, 0), bad[k].message)) fail_msg("%s", diagnostics_text(d, 0));
    drop();
  }
}

TEST_MAIN(cmocka_unit_test(test_lattice), cmocka_unit_test(test_sizes), cmocka_unit_test(test_orientation), cmocka_unit_test(test_packing),
          cmocka_unit_test(test_file), cmocka_unit_test(test_pour), cmocka_unit_test(test_lattice_cells), cmocka_unit_test(test_errors))
