/* Contacts of the surfaces and fibres of a scene: bodies, places on their triangles and segments, and the common point of every contact. */
#include "contact/surface/surface_scene.h"
#include "core/math3.h"
#include "test.h"
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
  bool           meets[N_BODIES * N_BODIES] = {false};
  const int32_t  frame[N_BODIES]            = {-1, -1, -1, -1};
  step_status    status                     = {STEP_OK, NULL, -1};
  surface_scene *f                          = NULL;
  contact_set   *set                        = NULL;
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
  meets[LOWER * N_BODIES + UPPER] = meets[UPPER * N_BODIES + LOWER] = true; /* the first body has no partner */
  meets[LOWER * N_BODIES + FIBRE] = meets[FIBRE * N_BODIES + LOWER] = true;
  const contact_scene s = {.n_bodies = N_BODIES, .body = list, .frame = frame, .law = law, .dt = 0.01, .margin = margin, .length = 1.0};
  assert_ok(surface_scene_create(N_BODIES, list, meets, &f));
  assert_ok(contact_set_create(&set));
  assert_ok(surface_scene_find(f, &s, 0, NULL, set, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int64_t i = 0; i < contact_set_size(set); ++i) {
    const contact_spot *p = contact_set_get(set) + i;
    double              a[3], b[3], d[3];
    assert_true(meets[p->body_a * N_BODIES + p->body_b]);
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

TEST_MAIN(cmocka_unit_test(test_places))
