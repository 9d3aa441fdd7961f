/* Shapes: mass properties in closed form against integrals, surfaces on their level sets, boolean combinations with known
 * volumes, walls, rigid motions, and all error messages. */
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "geometry/level_set/level_set_mass.h"
#include "geometry/shape/shape.h"
#include "test.h"
#include "temporary.h"

/* Defaults of the key table. */
static shape_spec plain(void) { return (shape_spec){.axis = {0, 0, 1}}; }

static shape *create(const shape_spec *spec, double spacing)
{
  diagnostics *d = NULL;
  shape       *s = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(shape_create(spec, NULL, "bodies.b.shape", d, spacing, &s));
  if (diagnostics_count(d)) fail_msg("rejected: %s", diagnostics_text(d, 0));
  assert_non_null(s);
  diagnostics_destroy(&d);
  return s;
}

static void refuse_as(bool is_surface_only, const shape_spec *spec, const char *expected)
{
  diagnostics *d = NULL;
  shape       *s = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok((is_surface_only ? shape_create_surface : shape_create)(spec, NULL, "bodies.b.shape", d, NAN, &s));
  assert_null(s);
  assert_int_equal(diagnostics_count(d), 1);
  if (!strstr(diagnostics_text(d, 0), expected)) fail_msg("\"%s\" does not contain \"%s\"", diagnostics_text(d, 0), expected);
  diagnostics_destroy(&d);
}
static void refuse(const shape_spec *spec, const char *expected) { refuse_as(false, spec, expected); }

static void assert_mass(const mass_properties *a, const mass_properties *b, double relative)
{
  double size = 0.0;
  for (int k = 0; k < 9; ++k) size = fmax(size, fabs(b->inertia[k]));
  assert_close(a->volume, b->volume, relative * b->volume);
  for (int k = 0; k < 3; ++k) assert_close(a->center[k], b->center[k], relative);
  for (int k = 0; k < 9; ++k) assert_close(a->inertia[k], b->inertia[k], relative * size);
}

static const shape_sphere_spec  ball  = {{0.1, 0.2, 0.3}, 0.5};
static const shape_box_spec     brick = {{-0.4, -0.3, -0.2}, {0.5, 0.3, 0.4}};
static const shape_segment_spec rod   = {{-0.3, 0.1, 0.2}, {0.5, 0.4, 0.9}, 0.3};
static const shape_torus_spec   ring  = {{0.1, 0.2, 0.3}, {1, 2, 2}, 0.6, 0.2};

static const shape_ellipsoid_spec egg = {{0.1, 0.2, 0.3}, {0.8, 0.3, 0.5}};
/* an hourglass with a pointed end */
static const shape_profile_spec waist_of[4] = {{-0.7, 0.8}, {-0.1, 0.2}, {0.2, 0.3}, {0.9, 0.0}};
static key_item corners[4] = {{.value = &waist_of[0]}, {.value = &waist_of[1]}, {.value = &waist_of[2]}, {.value = &waist_of[3]}};
static const shape_revolution_spec hourglass = {{0.1, 0.2, 0.3}, {1, 2, 2}, {4, corners}};

/* Closed forms agree with the integral over the level set (1e-6) and with that over a fine surface (its h^2), after a turn. */
static void test_primitives(void **state)
{
  (void)state;
  for (int kind = 0; kind < 7; ++kind) {
    shape_spec spec = plain();
    if (kind == 0) spec.sphere = &ball;
    if (kind == 1) spec.box = &brick;
    if (kind == 2) spec.cylinder = &rod;
    if (kind == 3) spec.capsule = &rod;
    if (kind == 4) spec.torus = &ring;
    if (kind == 5) spec.ellipsoid = &egg;
    if (kind == 6) spec.revolution = &hourglass;
    spec.rotate_deg = 40.0;
    v3_set(spec.axis, 1.0, 1.0, 0.0);
    v3_set(spec.about, 0.2, 0.0, 0.0);
    v3_set(spec.translate, 0.3, -0.2, 0.1);
    shape *s = create(&spec, 0.03);
    assert_true(s->is_bounded && s->n_pieces == 1 && s->surface && !s->outline);
    const mass_properties quadrature = level_set_mass(s->piece[0], s->min, s->max, kind == 6 ? 24 : 16);
    const mass_properties mesh       = triangle_mesh_mass(s->surface);
    /* a fifth of that with the 32 cells of shape_create; an hourglass has edges throughout */
    assert_mass(&quadrature, &s->mass, kind == 6 ? 5e-5 : 5e-6);
    assert_mass(&mesh, &s->mass, 1.5e-2);
    for (int64_t i = 0; i < s->surface->n_vertices; ++i) assert_close(level_set_value(s->piece[0], &s->surface->x[3 * i]), 0.0, 1e-14);
    shape_destroy(&s);
  }
  assert_no_leak();
}

/* The rabbit is a union of five overlapping ellipsoids: its volume is below their sum and agrees with the integral over its
 * surface. */
static void test_rabbit(void **state)
{
  (void)state;
  const shape_rabbit_spec rabbit = {{1.0, 2.0, 3.0}, 0.5};
  shape_spec              spec   = plain();
  spec.rabbit                    = &rabbit;
  shape       *s                 = create(&spec, 0.01);
  const double sum = 4.0 / 3.0 * M_PI * (0.33 * 0.32 * 0.28 + 0.19 * 0.18 * 0.17 + 2 * 0.07 * 0.16 * 0.05 + 0.09 * 0.09 * 0.09) * 0.125;
  assert_true(s->mass.volume < sum && s->mass.volume > 0.95 * sum);
  assert_close(s->mass.volume, 0.1514 * 0.125, 1e-4 * 0.125);
  assert_close(triangle_mesh_mass(s->surface).volume, s->mass.volume, 0.01 * s->mass.volume);
  assert_close(s->mass.center[2], 3.0, 1e-6); /* symmetric */
  const double lo[3] = {1.0 - 0.215, 2.0, 3.0 - 0.14}, hi[3] = {1.0 + 0.205, 2.51, 3.0 + 0.14};
  for (int k = 0; k < 3; ++k) {
    assert_close(s->min[k], lo[k], 1e-15);
    assert_close(s->max[k], hi[k], 1e-15);
  }
  assert_int_equal(s->n_solids, 0);
  shape_destroy(&s);
  assert_no_leak();
}

/* The tabulated mass properties of rabbits are those of their level sets, also of one that is moved. */
static void test_mass_of_rabbits(void **state)
{
  (void)state;
  const shape_rabbit_spec rabbit = {{0.1, 0.2, -0.3}, 0.5};
  shape_spec              spec   = plain();
  spec.rabbit                    = &rabbit;
  spec.axis[0]                   = 1.0;
  for (int turn = 0; turn < 2; ++turn) {
    spec.rotate_deg         = turn ? 50.0 : 0.0;
    spec.translate[1]       = turn ? 0.2 : 0.0;
    shape                *s = create(&spec, 0.05);
    const mass_properties m = level_set_mass(s->piece[0], s->min, s->max, 32); /* relative error 4e-7 */
    assert_close(s->mass.volume, m.volume, 1e-6 * m.volume);
    for (int k = 0; k < 3; ++k) assert_close(s->mass.center[k], m.center[k], 1e-6 * rabbit.size);
    for (int k = 0; k < 9; ++k) assert_close(s->mass.inertia[k], m.inertia[k], 1e-6 * m3_trace(m.inertia));
    shape_destroy(&s);
  }
  assert_no_leak();
}

/* Regions have the bounds and mass properties of the shape, but no surface if contouring would compute it; obstacles have the surface. An empty
 * intersection is an error of both. */
static void test_regions_and_obstacles(void **state)
{
  (void)state;
  static const shape_sphere_spec near = {{0.0, 0.0, 0.0}, 1.0}, far = {{1.9, 0.0, 0.0}, 1.0}, outside = {{1.9, 1.9, 0.0}, 1.0};
  for (int k = 0; k < 3; ++k) { /* a union, an intersection, an empty one whose bounds intersect */
    shape_spec   part[2] = {plain(), plain()}, spec = plain();
    key_item     item[2] = {{.value = &part[0]}, {.value = &part[1]}};
    diagnostics *d       = NULL;
    shape       *s[3]    = {NULL};
    part[0].sphere = &near, part[1].sphere = k == 2 ? &outside : &far;
    if (k == 0) spec.unite.n = 2, spec.unite.item = item;
    else spec.intersect.n = 2, spec.intersect.item = item;
    assert_ok(diagnostics_create(&d));
    assert_ok(shape_create(&spec, NULL, "shape", d, 0.2, &s[0]));
    assert_ok(shape_create_region(&spec, NULL, "shape", d, &s[1]));
    assert_ok(shape_create_obstacle(&spec, NULL, "shape", d, 0.2, &s[2]));
    assert_int_equal(diagnostics_count(d), k == 2 ? 3 : 0);
    if (k < 2) {
      assert_memory_equal(&s[0]->mass, &s[1]->mass, sizeof s[0]->mass);
      assert_memory_equal(s[0]->min, s[1]->min, sizeof s[0]->min);
      assert_memory_equal(s[0]->max, s[1]->max, sizeof s[0]->max);
      assert_null(s[1]->surface);
      assert_int_equal(s[0]->surface->n_triangles, s[2]->surface->n_triangles);
      assert_memory_equal(s[0]->surface->x, s[2]->surface->x, (size_t)s[0]->surface->n_vertices * 3 * sizeof(double));
    }
    for (int i = 0; i < 3; ++i) shape_destroy(&s[i]);
    diagnostics_destroy(&d);
  }
  assert_no_leak();
}

static void test_turn(void **state)
{
  (void)state;
  shape_spec spec = plain();
  spec.box        = &brick;
  spec.rotate_deg = 90.0;
  v3_set(spec.about, 1.0, 0.0, 0.0);
  v3_set(spec.translate, 0.0, 0.0, 2.0);
  shape *s = create(&spec, NAN); /* (x, y) -> (1 - y, x - 1) */
  assert_int_equal(s->surface->n_vertices, 8);
  const double lo[3] = {0.7, -1.4, 1.8}, hi[3] = {1.3, -0.5, 2.4};
  for (int k = 0; k < 3; ++k) {
    assert_close(s->min[k], lo[k], 1e-15);
    assert_close(s->max[k], hi[k], 1e-15);
    assert_close(s->mass.center[k], 0.5 * (lo[k] + hi[k]), 1e-15);
  }
  shape_destroy(&s);
  assert_no_leak();
}

/* Combinations with known volumes. Lens of two balls r at distance d: pi (2r - d)^2 (d^2 + 4 d r)/(12 d). */
static void test_booleans(void **state)
{
  (void)state;
  const shape_sphere_spec left = {{-0.3, 0, 0}, 0.5}, right = {{0.3, 0, 0}, 0.5};
  const double            each = 4.0 / 3.0 * M_PI * 0.125, lens = M_PI * 0.16 * (0.36 + 1.2) / 7.2;
  shape_spec              a = plain(), b = plain();
  a.sphere = &left, b.sphere = &right;
  key_item              two[2]      = {{.value = &a}, {.value = &b}};
  shape_difference_spec cut         = {&a, {1, &two[1]}};
  const double          expected[3] = {2 * each - lens, lens, each - lens};
  for (int kind = 0; kind < 3; ++kind) {
    shape_spec spec = plain();
    if (kind == 0) spec.unite = (key_list){2, two};
    if (kind == 1) spec.intersect = (key_list){2, two};
    if (kind == 2) spec.difference = &cut;
    shape *s = create(&spec, 0.04);
    assert_close(s->mass.volume / expected[kind], 1.0, 1e-6);
    if (kind < 2) assert_close(s->mass.center[0], 0.0, 1e-6);
    const mass_properties mesh = triangle_mesh_mass(s->surface);
    assert_close(mesh.volume / expected[kind], 1.0, 0.02);
    for (int64_t i = 0; i < s->surface->n_vertices; ++i) assert_close(level_set_value(s->piece[0], &s->surface->x[3 * i]), 0.0, 1e-9);
    shape_destroy(&s);
  }
  assert_no_leak();
}

/* A box with a box cut out of its corner is a polyhedron: contouring keeps its edges and corners, integrals are exact. */
static void test_sharp_edges(void **state)
{
  (void)state;
  const shape_box_spec  whole = {{0, 0, 0}, {1, 1, 1}}, corner = {{0.5, 0.6, 0.7}, {2, 2, 2}};
  shape_spec            a = plain(), b = plain(), spec = plain();
  key_item              one = {.value = &b};
  shape_difference_spec cut = {&a, {1, &one}};
  a.box = &whole, b.box = &corner, spec.difference = &cut;
  shape       *s        = create(&spec, 0.083);
  const double expected = 1.0 - 0.5 * 0.4 * 0.3;
  assert_close(s->mass.volume, expected, 1e-6); /* edges along the grid are the hardest case: errors add up along them */
  for (int k = 0; k < 3; ++k) assert_close(s->mass.center[k], (0.5 - 0.06 * (0.75 + 0.05 * k)) / expected, 1e-6);
  assert_close(triangle_mesh_mass(s->surface).volume, expected, 2e-3);
  int n_corners = 0;
  for (int64_t i = 0; i < s->surface->n_vertices; ++i) {
    const double *x = &s->surface->x[3 * i];
    assert_close(level_set_value(s->piece[0], x), 0.0, 1e-9);
    n_corners += fabs(x[0] - 0.5) + fabs(x[1] - 0.6) + fabs(x[2] - 0.7) < 1e-6; /* the inner one */
    n_corners += x[0] + x[1] + x[2] < 1e-6;
  }
  assert_int_equal(n_corners, 2);
  shape_destroy(&s);
  assert_no_leak();
}

/* Intersections of boxes and half-spaces are polyhedra: corners and integrals to round-off at any spacing, wherever they are
 * turned. */
static void test_polyhedra(void **state)
{
  (void)state;
  /* A box of 2 x 2 x 1 cut by a plane through four of its edges: a prism of half its volume; two planes without effect, one of them
   * on a face. */
  const shape_box_spec   whole = {{-1, -1, 0}, {1, 1, 1}};
  const shape_plane_spec slope = {{1, 0, 2}, {0, 0, 0.5}, NAN, 1.0}, beyond = {{0, 0, 3}, {NAN, 0, 0}, 5.0, 1.0},
                         face = {{0, 2, 0}, {0, 1, 0}, NAN, 1.0};
  shape_spec a = plain(), b = plain(), c = plain(), d = plain(), inner = plain(), spec = plain();
  a.box = &whole, b.plane = &slope, c.plane = &beyond, d.plane = &face;
  key_item two[2] = {{.value = &a}, {.value = &b}}, three[3] = {{.value = &inner}, {.value = &c}, {.value = &d}};
  inner.intersect = (key_list){2, two}, spec.intersect = (key_list){3, three};
  const double turn[2] = {0.0, 0.73};
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 3; ++k) spec.axis[k] = 1.0 + k, spec.translate[k] = i * (3.0 - k);
    spec.rotate_deg = turn[i] * 180.0 / M_PI;
    double at[3], R[9];
    (void)shape_pose(&spec, at, R);
    for (int n = 0; n < 2; ++n) {
      shape *s = create(&spec, n ? 0.17 : 10.0);
      if (!n) assert_int_equal(s->surface->n_vertices, 6);
      assert_close(s->mass.volume, 2.0, 1e-13);
      const double expected[3] = {-1.0 / 3.0, 0.0, 1.0 / 3.0}; /* of the triangle (-1, 0), (1, 0), (-1, 1) */
      double       x[3];
      m3_mulv(x, R, expected);
      for (int k = 0; k < 3; ++k) assert_close(s->mass.center[k], x[k] + at[k], 1e-13);
      const double corner[6][3] = {{-1, -1, 0}, {1, -1, 0}, {-1, -1, 1}, {-1, 1, 0}, {1, 1, 0}, {-1, 1, 1}};
      int          n_found      = 0;
      for (int q = 0; q < 6; ++q) {
        m3_mulv(x, R, corner[q]);
        v3_axpy(x, 1.0, at);
        for (int64_t v = 0; v < s->surface->n_vertices; ++v) {
          double gap[3];
          v3_sub(gap, x, s->surface->x + 3 * v);
          n_found += v3_norm(gap) < 1e-13;
        }
      }
      assert_int_equal(n_found, 6);
      triangle_mesh_defects defects;
      assert_ok(triangle_mesh_check(s->surface, &defects));
      assert_true(triangle_mesh_is_sound(&defects));
      shape_destroy(&s);
    }
  }
  /* empty intersection; intersections with curved solids are contoured */
  const shape_plane_spec away  = {{0, 0, 1}, {0, 0, -1e-3}, NAN, 1.0};
  const double           lo[3] = {-1, -1, 0}, hi[3] = {1, 1, 1};
  triangle_mesh         *m = NULL;
  b.plane                  = &away;
  refuse(&inner, "is empty");
  b.plane = NULL, b.sphere = &ball;
  assert_ok(shape_polyhedron(&inner, lo, hi, &m));
  assert_null(m);
  assert_no_leak();
}

/* Slices of a ring, turned: three corners of a quadrilateral may lie on a sharp edge, and both its triangles still have an area. */
static void test_sharp_slices(void **state)
{
  (void)state;
  const shape_segment_spec outer = {{0, -0.052, 0}, {0, 0.052, 0}, 1.062}, bore = {{0, -1, 0}, {0, 1, 0}, 0.938};
  for (int i = 0; i < 15; ++i) {
    const double           low = M_PI * i / 15.0, high = M_PI * (i + 1) / 15.0;
    const shape_plane_spec below = {{sin(low), 0, -cos(low)}, {NAN, 0, 0}, NAN, 1.0},
                           above = {{-sin(high), 0, cos(high)}, {NAN, 0, 0}, NAN, 1.0};
    shape_spec o = plain(), p = plain(), q = plain(), n = plain(), wedge = plain(), spec = plain();
    o.cylinder = &outer, n.cylinder = &bore, p.plane = &below, q.plane = &above;
    key_item              three[3] = {{.value = &o}, {.value = &p}, {.value = &q}}, one = {.value = &n};
    shape_difference_spec cut = {&wedge, {1, &one}};
    wedge.intersect = (key_list){3, three}, spec.difference = &cut;
    shape *s = create(&spec, 0.05);
    shape_destroy(&s);
  }
  assert_no_leak();
}

static void test_unbounded(void **state)
{
  (void)state;
  shape_plane_spec ground   = {{0, 0, 2}, {0, 0, 0.5}, NAN, 3.0};
  shape_spec       spec     = plain();
  const double     above[3] = {4, 5, 0.75}, inside[3] = {0.5, 0.25, 0.4}, low[3] = {0.5, 0.25, -0.1};
  spec.plane = &ground;
  shape *s   = create(&spec, NAN);
  assert_true(!s->is_bounded && s->n_pieces == 1 && !s->surface && s->outline);
  assert_close(level_set_value(s->piece[0], above), 0.25, 1e-15);
  for (int i = 0; i < 4; ++i) assert_close(s->outline->x[3 * i + 2], 0.5, 1e-15);
  shape_destroy(&s);
  key_item             open = {.value = "top"};
  shape_container_spec box  = {{0, 0, 0}, {1, 2, 3}, {1, &open}};
  spec.plane = NULL, spec.container = &box;
  s = create(&spec, NAN);
  assert_int_equal(s->n_pieces, 5);
  assert_int_equal(s->outline->n_triangles, 10);
  const double distance[5] = {0.5, 0.5, 0.25, 1.75, 0.4}; /* left, right, front, back, bottom */
  for (int i = 0; i < 5; ++i) assert_close(level_set_value(s->piece[i], inside), distance[i], 1e-15);
  assert_close(level_set_value(s->piece[4], low), -0.1, 1e-15);
  for (int64_t t = 0; t < 10; ++t) { /* the triangles of the outline face the inside */
    const int32_t *v = &s->outline->tri[3 * t];
    double         e1[3], e2[3], n[3], d[3];
    v3_sub(e1, &s->outline->x[3 * v[1]], &s->outline->x[3 * v[0]]);
    v3_sub(e2, &s->outline->x[3 * v[2]], &s->outline->x[3 * v[0]]);
    v3_cross(n, e1, e2);
    v3_sub(d, inside, &s->outline->x[3 * v[0]]);
    assert_true(v3_dot(n, d) > 0.0);
  }
  shape_destroy(&s);
  assert_no_leak();
}

/* The corner of a cube of side 2 at x = 1 (test_mesh_file), whose level set needs a finer grid than its default. */
static void check_surface_only(const shape_spec *spec)
{
  diagnostics *d = NULL;
  shape       *s = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(shape_create_surface(spec, NULL, "bodies.b.shape", d, NAN, &s));
  assert_int_equal(diagnostics_count(d), 0);
  assert_true(s->is_bounded && s->n_pieces == 0);
  assert_close(s->mass.volume, 8.0 / 6.0, 1e-14);
  assert_int_equal(s->surface->n_triangles, 4);
  for (int k = 0; k < 3; ++k) {
    assert_close(s->min[k], k == 0 ? 1.0 : 0.0, 1e-15);
    assert_close(s->max[k], k == 0 ? 3.0 : 2.0, 1e-15);
  }
  shape_destroy(&s);
  diagnostics_destroy(&d);
}

static void test_mesh_file(void **state)
{
  (void)state;
  char  path[TEMPORARY_ROOM];
  FILE *f = fdopen(mkstemps(temporary_name(path, ".obj"), 4), "w");
  fprintf(f, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
  fclose(f);
  shape_mesh_spec mesh = {path, 2.0, NAN};
  shape_spec      spec = plain();
  spec.mesh            = &mesh;
  v3_set(spec.translate, 1.0, 0.0, 0.0);
  shape *s = create(&spec, NAN);
  assert_close(s->mass.volume, 8.0 / 6.0, 1e-14);
  assert_close(s->mass.center[0], 1.5, 1e-14);
  assert_int_equal(s->surface->n_vertices, 4);
  for (int i = 0; i < 500; ++i) { /* the side is that of the planes, beyond the error of the grid at its edges */
    double x[3];
    for (int k = 0; k < 3; ++k) x[k] = random_range(3, (uint64_t)i, (uint64_t)k, -0.5, 2.5) + (k == 0);
    const double depth = fmin(fmin(x[0] - 1.0, fmin(x[1], x[2])), (3.0 - x[0] - x[1] - x[2]) / sqrt(3.0));
    if (fabs(depth) > 0.03) assert_int_equal(level_set_value(s->piece[0], x) < 0.0, depth > 0.0);
  }
  shape_destroy(&s);
  s = create(&spec, 0.2); /* refined: same solid, more vertices */
  assert_close(s->mass.volume, 8.0 / 6.0, 1e-14);
  assert_close(triangle_mesh_mass(s->surface).volume, 8.0 / 6.0, 1e-13);
  assert_true(s->surface->n_vertices > 100);
  triangle_mesh_defects defects;
  assert_ok(triangle_mesh_check(s->surface, &defects));
  assert_true(triangle_mesh_is_sound(&defects));
  shape_destroy(&s);
  mesh.spacing = 1.0;
  refuse(&spec, "bodies.b.shape.mesh.spacing: ");
  check_surface_only(&spec);
  f = fopen(path, "w");
  fprintf(f, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
  fclose(f);
  refuse(&spec, "the surface is open: 3 edges");
  refuse_as(true, &spec, "bodies.b.shape.mesh.file: /");
  remove(path);
  refuse(&spec, "cannot be opened");
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  shape_spec           spec = plain(), far = plain(), near = plain();
  shape_box_spec       flat  = {{0, 0, 0}, {1, 0, 1}};
  shape_segment_spec   point = {{1, 1, 1}, {1, 1, 1}, 1};
  shape_torus_spec     fat = {{0, 0, 0}, {0, 0, 1}, 1, 1}, no_axis = {{0, 0, 0}, {0, 0, 0}, 1, 0.5};
  shape_plane_spec     nowhere = {{0, 0, 0}, {NAN, NAN, NAN}, NAN, 1}, twice = {{0, 0, 1}, {0, 0, 0}, 1, 1};
  key_item             open = {.value = "topp"};
  shape_container_spec room = {{0, 0, 0}, {1, 1, 1}, {1, &open}};
  refuse(&spec, "bodies.b.shape: needs one of sphere, box");
  spec.sphere = &ball, spec.box = &brick;
  refuse(&spec, "is both a sphere and a box");
  spec = plain(), spec.box = &flat;
  refuse(&spec, "bodies.b.shape.box.max: must be above min in every direction, but y runs from 0 to 0");
  spec = plain(), spec.capsule = &point;
  refuse(&spec, "bodies.b.shape.capsule.to: is the same point");
  spec = plain(), spec.torus = &fat;
  refuse(&spec, "bodies.b.shape.torus.minor_radius: must be less than major_radius");
  spec.torus = &no_axis;
  refuse(&spec, "bodies.b.shape.torus.axis: is the zero vector");
  const shape_ellipsoid_spec plate = {{0, 0, 0}, {1, 0, 1}};
  spec = plain(), spec.ellipsoid = &plate;
  refuse(&spec, "bodies.b.shape.ellipsoid.radii: must be positive, but the one along y is 0");
  const shape_profile_spec back[3] = {{0, 1}, {1, 1}, {1, 2}}, waist[3] = {{0, 1}, {1, 0}, {2, 1}}, axis_only[2] = {{0, 0}, {1, 0}};
  key_item                 steps[3];
  shape_revolution_spec    turned = {{0, 0, 0}, {0, 0, 1}, {3, steps}};
  spec = plain(), spec.revolution = &turned;
  for (int i = 0; i < 3; ++i) steps[i] = (key_item){.value = &back[i]};
  refuse(&spec, "bodies.b.shape.revolution.profile[2].at: must ascend along the profile, but 1 comes after 1");
  for (int i = 0; i < 3; ++i) steps[i] = (key_item){.value = &waist[i]};
  refuse(&spec, "bodies.b.shape.revolution.profile[1].radius: is zero between the ends");
  for (int i = 0; i < 2; ++i) steps[i] = (key_item){.value = &axis_only[i]};
  turned.profile.n = 2;
  refuse(&spec, "bodies.b.shape.revolution.profile: has only zero radii");
  turned.profile.n = 1;
  refuse(&spec, "needs two points or more");
  turned.axis[2] = 0.0;
  refuse(&spec, "bodies.b.shape.revolution.axis: is the zero vector");
  spec = plain(), spec.plane = &nowhere;
  refuse(&spec, "bodies.b.shape.plane.normal: is the zero vector");
  spec.plane = &twice;
  refuse(&spec, "are both specified");
  spec = plain(), spec.container = &room;
  refuse(&spec, "did you mean \"top\"");
  spec = plain(), spec.sphere = &ball, spec.rotate_deg = 1.0, spec.axis[2] = 0.0;
  refuse(&spec, "bodies.b.shape.axis: is the zero vector");
  /* empty intersection: disjoint bounds, and overlapping bounds */
  const shape_sphere_spec b1 = {{0, 0, 0}, 1}, b2 = {{5, 0, 0}, 1}, b3 = {{1.3, 1.3, 1.3}, 1};
  near.sphere = &b1, far.sphere = &b2;
  key_item two[2] = {{.value = &near}, {.value = &far}};
  spec = plain(), spec.intersect = (key_list){2, two};
  refuse(&spec, "do not intersect");
  far.sphere = &b3;
  refuse(&spec, "empty");
  /* errors of a part are reported at its position */
  far.sphere = NULL, far.box = &flat;
  refuse(&spec, "bodies.b.shape.intersection[1].box.max: must be above");
  assert_no_leak();
}

/* From the text of a job to a shape: the key table is sound, nests, fills defaults, and errors have a position. */
static const shape *from_text(const char *text, document *doc, diagnostics *d)
{
  document_node *node = NULL;
  const void    *spec = NULL;
  shape         *s    = NULL;
  document_mark  mark = {"job.yaml", 7, 3};
  assert_ok(document_read_flow(doc, text, mark, &node));
  assert_ok(key_table_read(&shape_table, doc, node, "bodies.b.shape", d, &spec));
  if (diagnostics_count(d) == 0) assert_ok(shape_create(spec, node, "bodies.b.shape", d, NAN, &s));
  return s;
}

static void test_key_table(void **state)
{
  (void)state;
  document    *doc = NULL;
  diagnostics *d   = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(key_table_validate(&shape_table, d));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_ok(document_create(&doc));
  shape *s =
      (shape *)from_text("{difference: {from: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, minus: [{box: {min: [0.5, 0, 0], max: [1, 1, 1]}}, "
                         "{union: [{box: {min: [0, 0.5, 0], max: [1, 1, 1]}}]}]}, translate: [0, 0, 2]}",
                         doc, d);
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  assert_close(s->mass.volume, 0.25, 1e-6);
  assert_close(s->mass.center[2], 2.5, 1e-6);
  shape_destroy(&s);
  s = (shape *)from_text("{container: {min: [0, 0, 0], max: [1, 1, 1]}}", doc, d);
  assert_int_equal(s->n_pieces, 5); /* open at the top by default */
  shape_destroy(&s);
  s = (shape *)from_text("{container: {min: [0, 0, 0], max: [1, 1, 1], open: []}}", doc, d);
  assert_int_equal(s->n_pieces, 6);
  shape_destroy(&s);
  s = (shape *)from_text("{plane: {}}", doc, d);
  assert_close(level_set_value(s->piece[0], (const double[3]){3, 4, 5}), 5.0, 0.0);
  shape_destroy(&s);
  assert_int_equal(diagnostics_count(d), 0);
  s = (shape *)from_text("{union: [{plane: {}}, {cylinder: {from: [0, 0, 0], to: [0, 0, 0], radius: 1}}]}", doc, d);
  assert_null(s);
  assert_string_equal(diagnostics_text(d, 0),
                      "job.yaml:7:3: bodies.b.shape.union[1].cylinder.to: is the same point as `from`: there is no axis");
  s = (shape *)from_text("{sphere: {center: [0, 0, 0], radius: -1}}", doc, d);
  assert_null(s);
  document_destroy(&doc);
  diagnostics_destroy(&d);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_key_table), cmocka_unit_test(test_primitives), cmocka_unit_test(test_rabbit),
          cmocka_unit_test(test_mass_of_rabbits), cmocka_unit_test(test_regions_and_obstacles), cmocka_unit_test(test_turn),
          cmocka_unit_test(test_booleans), cmocka_unit_test(test_sharp_edges), cmocka_unit_test(test_polyhedra),
          cmocka_unit_test(test_sharp_slices), cmocka_unit_test(test_unbounded), cmocka_unit_test(test_mesh_file),
          cmocka_unit_test(test_errors))
