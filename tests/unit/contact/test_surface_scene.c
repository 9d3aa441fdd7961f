/* Contacts of the surfaces and fibres of a scene: bodies, places on their triangles and segments, and the common point of every contact. */
#include "contact/surface/surface_scene.h"
#include "core/math3.h"
#include "test.h"
#include "contact_bodies.h"
#include <string.h>

enum { SOLID, LOWER, UPPER, FIBRE, N_BODIES, N_NODES = 4 };

/* A body with the surface or the fibres that it borrows. */
typedef struct {
  body          base;
  body_surface  surface;
  body_segments fibres;
} mock;
static void           mock_surface(const body *b, body_surface *out) { *out = ((const mock *)b)->surface; }
static void           mock_segments(const body *b, body_segments *out) { *out = ((const mock *)b)->fibres; }
static const body_ops surface_ops = {.kind = "mock surface", .surface = mock_surface},
                      fibre_ops   = {.kind = "mock fibre", .segments = mock_segments};

static const double radius = 0.05, margin = 0.2;

/* A tetrahedron far away; a roof with the ridge 0-1 along x; above it a trough with the bottom 0-1 along y, a vertex of which is above a slope of the
 * roof; a fibre across the end of the ridge. */
static double        x[N_BODIES][3 * N_NODES] = {{9, 0, 0, 10, 0, 0, 9, 1, 0, 9, 0, 1},
                                                 {-1, 0.1, 0, 1.5, 0.1, 0, 0, 1, -0.5, 0, -1, -0.5},
                                                 {0.3, -0.4, -0.1, 0.3, 1.6, 0.5, 1.3, 0, 1.0, -0.7, 0, 1.0},
                                                 {1.2, -0.4, 0.07, 1.2, 0.7, 0.09}};
static const int32_t tetrahedron[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3}, roof[6] = {0, 1, 2, 1, 0, 3}, trough[6] = {0, 1, 3, 1, 0, 2},
                     ends[2] = {0, 1};

static void place(const body_contact_location *p, int32_t i, double out[3])
{
  v3_set(out, 0.0, 0.0, 0.0);
  if (p->kind == FEATURE_SEGMENT) {
    assert_true(i == FIBRE && p->index == 0);
    v3_axpy(out, 1.0 - p->w[0], x[i]);
    v3_axpy(out, p->w[0], x[i] + 3);
    return;
  }
  assert_int_equal(p->kind, FEATURE_TRIANGLE);
  assert_true(i != FIBRE && p->index >= 0 && p->index < 2);
  assert_close(p->w[0] + p->w[1] + p->w[2], 1.0, 1e-12);
  for (int k = 0; k < 3; ++k) v3_axpy(out, p->w[k], x[i] + 3 * (i == LOWER ? roof : trough)[3 * p->index + k]);
}

static void test_places(void **state)
{
  (void)state;
  static mock    bodies[N_BODIES];
  body          *list[N_BODIES];
  contact_law    law[N_BODIES * N_BODIES];
  bool           can_touch[N_BODIES * N_BODIES] = {false};
  const int32_t  frame[N_BODIES]                = {-1, -1, -1, -1};
  step_status    status                         = {STEP_OK, NULL, -1};
  surface_scene *f                              = NULL;
  contact_set   *set                            = NULL;
  int            n_points = 0, n_edges = 0, n_of_fibre = 0;
  double         skin = 0.0;
  for (int i = 0; i < N_BODIES; ++i) {
    bodies[i].base = (body){.ops = i == FIBRE ? &fibre_ops : &surface_ops, .name = "mock"};
    if (i == FIBRE) bodies[i].fibres = (body_segments){.n_nodes = 2, .n_segments = 1, .segment = ends, .x = x[i], .radius = &radius};
    else
      bodies[i].surface = (body_surface){.n_nodes     = N_NODES,
                                         .n_triangles = i == SOLID ? 4 : 2,
                                         .triangles   = i == SOLID   ? tetrahedron
                                                        : i == LOWER ? roof
                                                                     : trough,
                                         .x           = x[i],
                                         .rest        = x[i]};
    list[i] = &bodies[i].base;
  }
  for (int k = 0; k < N_BODIES * N_BODIES; ++k) law[k] = (contact_law){.friction = 0.1 * (k % N_BODIES + k / N_BODIES), .restitution = 0.2};
  can_touch[LOWER * N_BODIES + UPPER] = can_touch[UPPER * N_BODIES + LOWER] = true; /* the first body has no partner */
  can_touch[LOWER * N_BODIES + FIBRE] = can_touch[FIBRE * N_BODIES + LOWER] = true;
  const contact_scene s = {.n_bodies = N_BODIES, .body = list, .frame = frame, .law = law, .dt = 0.01, .margin = margin, .length = 1.0};
  assert_ok(surface_scene_create(N_BODIES, list, NULL, can_touch, &f));
  assert_ok(contact_set_create(&set));
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int64_t i = 0; i < contact_set_size(set); ++i) {
    const contact_spot *p = contact_set_get(set) + i;
    double              a[3], b[3], d[3];
    assert_true(can_touch[p->body_a * N_BODIES + p->body_b]);
    place(&p->a, p->body_a, a);
    place(&p->b, p->body_b, b);
    v3_sub(d, a, b);
    const double distance = v3_norm(d), r = p->body_a == FIBRE ? radius : 0.0;
    assert_close(v3_dot(d, p->normal), distance, 1e-9);
    if (skin == 0.0) skin = distance - r - p->gap; /* the same for all open surfaces */
    assert_close(distance - r - p->gap, skin, 1e-9);
    for (int k = 0; k < 3; ++k) { /* halfway between the two surfaces */
      assert_close(p->a.x[k], 0.5 * (a[k] - r * p->normal[k] + b[k]), 1e-9);
      assert_close(p->b.x[k], p->a.x[k], 0.0);
    }
    assert_close(p->friction, 0.1 * (p->body_a + p->body_b), 1e-15);
    n_of_fibre += p->body_a == FIBRE;
    if (p->key[0] >> 56 == DETECTOR_SURFACE_POINT) ++n_points;
    else ++n_edges;
  }
  assert_true(skin > 0.0 && skin < 0.02 && n_points >= 1 && n_edges >= 2 && n_of_fibre >= 1);
  assert_ok(surface_scene_accept(f));
  const int64_t n = contact_set_size(set); /* the same contacts in the next step */
  contact_set_clear(set);
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  assert_int_equal(contact_set_size(set), n);
  x[UPPER][4] = NAN;
  contact_set_clear(set);
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  assert_int_equal(status.code, STEP_NOT_FINITE);
  assert_int_equal(status.where, 1);
  contact_set_destroy(&set);
  surface_scene_destroy(&f);
  assert_no_leak();
}

/* Two fibres, with a radius for each segment, above a floor. Each vertex has contact, with the radius of its last segment; segments are above
 * no edge but the diagonal of the floor. */
enum { FIRST_FIBRE, FLOOR, SECOND_FIBRE, N_PARTS, N_SEGMENTS = 3 };
static void test_radii(void **state)
{
  (void)state;
  static const int32_t square[6] = {0, 1, 2, 0, 2, 3}, chain[2 * N_SEGMENTS] = {0, 1, 1, 2, 2, 3};
  static const double  corner[12]                 = {-2, -2, 0, 2, -2, 0, 2, 2, 0, -2, 2, 0};
  static const double  radii[N_PARTS][N_SEGMENTS] = {{0.02, 0.03, 0.05}, {0}, {0.07, 0.11, 0.13}};
  static double        node[N_PARTS][3 * N_NODES];
  static mock          parts[N_PARTS];
  body                *list[N_PARTS];
  contact_law          law[N_PARTS * N_PARTS]       = {{0}};
  bool                 can_touch[N_PARTS * N_PARTS] = {false};
  const int32_t        frame[N_PARTS]               = {-1, -1, -1};
  step_status          status                       = {STEP_OK, NULL, -1};
  surface_scene       *f                            = NULL;
  contact_set         *set                          = NULL;
  bool                 has[N_PARTS][N_NODES]        = {{false}};
  double               skin                         = 0.0;
  int                  n_on_diagonal                = 0;
  for (int i = 0; i < N_PARTS; ++i) {
    parts[i].base = (body){.ops = i == FLOOR ? &surface_ops : &fibre_ops, .name = "mock"};
    list[i]       = &parts[i].base;
    for (int k = 0; k < N_NODES; ++k) v3_set(node[i] + 3 * k, -0.9 + 0.7 * k, i == FIRST_FIBRE ? -0.5 : 0.37, 0.14 + 0.01 * k);
    if (i == FLOOR)
      parts[i].surface = (body_surface){.n_nodes = N_NODES, .n_triangles = 2, .triangles = square, .x = corner, .rest = corner};
    else
      parts[i].fibres = (body_segments){.n_nodes = N_NODES, .n_segments = N_SEGMENTS, .segment = chain, .x = node[i], .radius = radii[i]};
    for (int j = 0; j < N_PARTS; ++j) can_touch[i * N_PARTS + j] = (i == FLOOR) != (j == FLOOR);
  }
  const contact_scene s = {.n_bodies = N_PARTS, .body = list, .frame = frame, .law = law, .dt = 0.01, .margin = margin, .length = 1.0};
  assert_ok(surface_scene_create(N_PARTS, list, NULL, can_touch, &f));
  assert_ok(contact_set_create(&set));
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  for (int64_t i = 0; i < contact_set_size(set); ++i) {
    const contact_spot *p = contact_set_get(set) + i;
    assert_true(p->body_b == FLOOR && p->a.kind == FEATURE_SEGMENT && p->a.index >= 0 && p->a.index < N_SEGMENTS);
    const double z = node[p->body_a][3 * p->a.index + 2] + 0.01 * p->a.w[0], r = radii[p->body_a][p->a.index];
    const bool   is_vertex = p->key[0] >> 56 == DETECTOR_SURFACE_POINT;
    if (skin == 0.0) skin = z / p->normal[2] - r - p->gap;
    assert_close(z / p->normal[2] - r - p->gap, skin, 1e-9);
    assert_close(p->normal[2], 1.0, is_vertex ? 1e-9 : 1e-3);
    if (!is_vertex) { /* the diagonal x = y */
      const double *x0 = node[p->body_a] + 3 * p->a.index;
      assert_close(x0[0] + 0.7 * p->a.w[0], x0[1], 0.02);
      ++n_on_diagonal;
      continue;
    }
    const int vertex = (int)(p->a.index + lround(p->a.w[0]));
    assert_true(p->a.w[0] == 0.0 || p->a.w[0] == 1.0);
    assert_int_equal(p->a.index, vertex < N_SEGMENTS ? vertex : N_SEGMENTS - 1);
    assert_false(has[p->body_a][vertex]);
    has[p->body_a][vertex] = true;
  }
  for (int i = 0; i < N_PARTS; ++i)
    for (int k = 0; k < N_NODES; ++k) assert_int_equal(has[i][k], i != FLOOR);
  assert_true(skin > 0.0);
  assert_int_equal(n_on_diagonal, 2);
  contact_set_destroy(&set);
  surface_scene_destroy(&f);
  assert_no_leak();
}

/* A strip of three triangles above a floor: every node has contact, with the height of the node as its gap; node 2 belongs to no triangle. */
static void test_nodes(void **state)
{
  (void)state;
  enum { GROUND, STRIP, N_STRIP = 6 };
  static const int32_t square[6] = {0, 1, 2, 0, 2, 3}, strip[9] = {0, 1, 3, 1, 4, 3, 3, 4, 5};
  static const double  corner[12]        = {-2, -2, 0, 2, -2, 0, 2, 2, 0, -2, 2, 0};
  static const double  node[3 * N_STRIP] = {-1, 0.3, 0.05, -0.7, 0.6, 0.06, 0, 0, 0.01, -0.5, 0.3, 0.07, 0.2, 0.8, 0.08, 0.3, 0.4, 0.09};
  mock                 parts[2]     = {{.base = {.ops = &surface_ops, .name = "floor"}}, {.base = {.ops = &surface_ops, .name = "strip"}}};
  body                *list[2]      = {&parts[0].base, &parts[1].base};
  const contact_law    law[4]       = {{0}};
  const bool           can_touch[4] = {false, true, true, false};
  const int32_t        frame[2]     = {-1, -1};
  step_status          status       = {STEP_OK, NULL, -1};
  surface_scene       *f            = NULL;
  contact_set         *set          = NULL;
  bool                 has[N_STRIP] = {false};
  double               skin         = -1.0;
  parts[GROUND].surface             = (body_surface){.n_nodes = 4, .n_triangles = 2, .triangles = square, .x = corner, .rest = corner};
  parts[STRIP].surface              = (body_surface){.n_nodes = N_STRIP, .n_triangles = 3, .triangles = strip, .x = node, .rest = node};
  const contact_scene s = {.n_bodies = 2, .body = list, .frame = frame, .law = law, .dt = 0.01, .margin = margin, .length = 1.0};
  assert_ok(surface_scene_create(2, list, NULL, can_touch, &f));
  assert_ok(contact_set_create(&set));
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  for (int64_t i = 0; i < contact_set_size(set); ++i) {
    const contact_spot *p = contact_set_get(set) + i;
    if (p->key[0] >> 56 != DETECTOR_SURFACE_POINT || p->body_a != STRIP) continue;
    int at = -1;
    for (int k = 0; k < 3; ++k)
      if (p->a.w[k] > 1.0 - 1e-12) at = strip[3 * p->a.index + k];
    assert_true(at >= 0 && !has[at] && p->body_b == GROUND);
    has[at] = true;
    if (skin < 0.0) skin = node[3 * at + 2] - p->gap;
    assert_close(node[3 * at + 2] - p->gap, skin, 1e-9);
    for (int k = 0; k < 2; ++k) assert_close(p->a.x[k], node[3 * at + k], 1e-9);
  }
  for (int k = 0; k < N_STRIP; ++k) assert_true(has[k] == (k != 2));
  contact_set_destroy(&set);
  surface_scene_destroy(&f);
  assert_no_leak();
}

/* Points of a cloud, in reverse order of their identities, above a plate that is fixed in its nodes, falls with them, or is rigid. Points near the plate have contact at
 * the distance of the plate; those far away only if they, or the plate, move fast enough. */
static PetscErrorCode cloud_velocity(const body *b, double *v)
{
  for (int64_t i = 0; i < b->n_blocks; ++i) v3_set(v + 3 * i, 0.0, 0.0, i % 2 ? -100.0 : 0.0);
  return PETSC_SUCCESS;
}
static PetscErrorCode never_called(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_ERR_PLIB;
}
static void test_cloud(void **state)
{
  (void)state;
  enum { PLATE, CLOUD, N_POINTS = 6 };
  static const int32_t square[6]    = {0, 1, 2, 0, 2, 3};
  static const double  corner[12]   = {-2, -2, 0, 2, -2, 0, 2, 2, 0, -2, 2, 0};
  const contact_law    law[4]       = {{0}};
  const bool           can_touch[4] = {false, true, true, false};
  body_ops             cloud_ops    = mock_weighted_ops;
  cloud_ops.residual = never_called, cloud_ops.velocity = cloud_velocity;
  for (int kind = 0; kind < 4; ++kind) { /* the plate: fixed nodes; fixed nodes and strong gravity; a pose that moves up; a turned pose */
    const int32_t  frame[2] = {kind < 2 ? -1 : 0, -1};
    rigid_frame    pose = mock_frame((const double[3]){0.1, 0.2, 0.3}, -1), end = pose;
    mock_body      cloud;
    mock           plate         = {.base = {.ops = &surface_ops, .name = "plate"}};
    body          *list[2]       = {&plate.base, &cloud.base};
    step_status    status        = {STEP_OK, NULL, -1};
    surface_scene *f             = NULL;
    contact_set   *set           = NULL;
    bool           has[N_POINTS] = {false};
    double         skin          = NAN;
    double         J[9];
    mock_create(&cloud, "cloud", false, N_POINTS, 1, N_POINTS);
    cloud.base.ops = &cloud_ops;
    plate.surface  = (body_surface){.n_nodes = 4, .n_triangles = 2, .triangles = square, .x = corner, .rest = corner};
    if (kind == 2) end.c[2] += 0.6;
    if (kind == 3) mock_exponential((const double[3]){0.3, 0.0, 0.0}, pose.R, J), end = pose;
    for (int i = 0; i < N_POINTS; ++i) { /* 0, 1, 2 near; 3, 5 fast; 4 is slow */
      const double at[3] = {-0.8 + 0.3 * i, 0.3 + 0.1 * i, i < 3 ? 0.1 + 0.02 * i : 0.5};
      if (kind < 2) v3_copy(cloud.x + 3 * i, at);
      else rigid_frame_to_world(&pose, at, cloud.x + 3 * i);
      cloud.block[i] = i, cloud.weight[i] = 1.0;
    }
    const contact_source source = {&cloud.base, -1, CLOUD};
    const contact_scene  s      = {.n_bodies = 2,
                                   .body     = list,
                                   .frame    = frame,
                                   .frames   = &pose,
                                   .end      = &end,
                                   .law      = law,
                                   .dt       = 0.01,
                                   .margin   = margin,
                                   .length   = 1.0,
                                   .gravity  = {0.0, 0.0, kind == 1 ? -6000.0 : 0.0}};
    assert_ok(surface_scene_create(2, list, NULL, can_touch, &f));
    assert_ok(contact_set_create(&set));
    for (int repeat = 0; repeat < 2; ++repeat) {
      contact_set_clear(set);
      memset(has, 0, sizeof has);
      assert_ok(surface_scene_find(f, &s, 1, &source, set, &status));
      assert_int_equal(status.code, STEP_OK);
      for (int64_t k = 0; k < contact_set_size(set); ++k) {
        const contact_spot *p = contact_set_get(set) + k;
        assert_true(p->body_a == CLOUD && p->body_b == PLATE && p->a.kind == FEATURE_POINT && p->a.index < N_POINTS);
        assert_int_equal(p->b.kind, kind < 2 ? FEATURE_TRIANGLE : FEATURE_FRAME);
        assert_int_equal(p->key[1] >> 32, 1000 - p->a.index);
        assert_false(has[p->a.index]);
        has[p->a.index] = true;
        if (p->a.index >= 3) continue;
        const double z = 0.1 + 0.02 * (double)p->a.index, *n = pose.R + 2; /* third column */
        for (int e = 0; e < 3; ++e) assert_close(p->normal[e], kind < 2 ? (e == 2) : n[3 * e], 1e-9);
        if (isnan(skin)) skin = z - p->gap; /* the same for all points */
        assert_close(z - p->gap, skin, 1e-9);
        assert_true(skin > -1e-12 && skin < 0.05);
        for (int e = 0; e < 3; ++e) /* on deforming bodies halfway, on the plate if it is rigid: the point moves with its block */
          assert_close(p->a.x[e], cloud.x[3 * p->a.index + e] - (kind < 2 ? 0.5 * z : 0.0) * p->normal[e], 1e-9);
      }
      for (int i = 0; i < N_POINTS; ++i) assert_int_equal(has[i], i < 3 || kind == 1 || kind == 2 || i % 2);
    }
    contact_set_destroy(&set);
    surface_scene_destroy(&f);
    mock_destroy(&cloud);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_places), cmocka_unit_test(test_nodes), cmocka_unit_test(test_radii), cmocka_unit_test(test_cloud))
