/* Contacts of a box with the edges and vertices of an obstacle, by hand: a ridge under its bottom face, a tip under it, edges beside it and beyond
 * it, an obstacle in a turned pose. The obstacle is a static torus; its surface is replaced by the mesh of the test. */
#include "contact/detection/obstacle_edges.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/quaternion.h"
#include "discretize/rigid/rigid_body.h"
#include "test.h"
#include <string.h>

typedef struct {
  rigid_body     *rigid[2];
  body           *body[2];
  triangle_mesh  *mesh;
  rigid_frame     frames[2], end[2];
  contact_law     law[4];
  contact_scene   scene;
  obstacle_edges *edges;
  contact_set    *set;
} world;

/* Prism along x from -1 to 1 with triangular cross-section: edge at y = 0, z = 0 on top, base at z = -1 from y = -1 to 1. */
static triangle_mesh *prism(void)
{
  static const double  x[18]   = {-1, -1, -1, -1, 1, -1, -1, 0, 0, 1, -1, -1, 1, 1, -1, 1, 0, 0};
  static const int32_t tri[24] = {0, 2, 1, 3, 4, 5, 0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4, 2, 0, 3, 2, 3, 5};
  triangle_mesh       *m       = NULL;
  assert_ok(triangle_mesh_create(6, 8, &m));
  memcpy(m->x, x, sizeof x);
  memcpy(m->tri, tri, sizeof tri);
  return m;
}

/* Pyramid with the tip at the origin and a square base at z = -1. */
static triangle_mesh *pyramid(void)
{
  static const double  x[15]   = {-1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1, 0, 0, 0};
  static const int32_t tri[18] = {0, 2, 1, 0, 3, 2, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
  triangle_mesh       *m       = NULL;
  assert_ok(triangle_mesh_create(5, 6, &m));
  memcpy(m->x, x, sizeof x);
  memcpy(m->tri, tri, sizeof tri);
  return m;
}

static body *add_body(world *w, int i, rigid_kind kind, const shape_spec *form)
{
  rigid_body_spec spec = {.shape = form, .surface_spacing = NAN, .mass = NAN, .inertia = {NAN}, .center_of_mass = {NAN}};
  diagnostics    *d    = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(rigid_body_create("body", kind, &spec, 1000.0, NULL, "bodies.body", d, &w->rigid[i]));
  if (diagnostics_count(d)) fail_msg("%s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  w->body[i] = &w->rigid[i]->base;
  return w->body[i];
}

/* Body 0: a cube of side 0.2 around its frame; body 1: the obstacle with the surface m, which the world owns. */
static void open_world(world *w, triangle_mesh *m)
{
  static const shape_box_spec   cube     = {{-0.1, -0.1, -0.1}, {0.1, 0.1, 0.1}};
  static const shape_torus_spec ring     = {{0, 0, 0}, {0, 0, 1}, 0.3, 0.05};
  static const int32_t          frame[2] = {0, 1};
  const shape_spec              box = {.box = &cube, .axis = {0, 0, 1}}, torus = {.torus = &ring, .axis = {0, 0, 1}};
  memset(w, 0, sizeof *w);
  w->mesh = m;
  add_body(w, 0, RIGID_DYNAMIC, &box);
  add_body(w, 1, RIGID_STATIC, &torus);
  for (int i = 0; i < 2; ++i) m3_identity(w->frames[i].R), w->frames[i].block = -1;
  for (int i = 0; i < 4; ++i) w->law[i] = (contact_law){.friction = 0.3, .restitution = 0.5};
  w->scene = (contact_scene){
      .n_bodies = 2, .body = w->body, .frame = frame, .frames = w->frames, .end = w->frames, .law = w->law, .dt = 0.01, .margin = 0.01};
  const triangle_mesh *surface[2] = {NULL, m};
  assert_true(obstacle_edges_takes(w->body[0], w->body[1]));
  assert_false(obstacle_edges_takes(w->body[1], w->body[0]));
  assert_ok(obstacle_edges_create(2, w->body, surface, &w->edges));
  assert_ok(contact_set_create(&w->set));
}

static void close_world(world *w)
{
  obstacle_edges_destroy(&w->edges);
  contact_set_destroy(&w->set);
  triangle_mesh_destroy(&w->mesh);
  for (int i = 0; i < 2; ++i) rigid_body_destroy(&w->rigid[i]);
  assert_no_leak();
}

/* Number of contacts with the cube at c, turned by theta. */
static int64_t find(world *w, double x, double y, double z, const double theta[3])
{
  v3_set(w->frames[0].c, x, y, z);
  rotation_exp(w->frames[0].R, theta);
  contact_set_clear(w->set);
  assert_ok(obstacle_edges_find(w->edges, &w->scene, w->set));
  assert_ok(contact_set_sort(w->set)); /* all keys are different */
  return contact_set_size(w->set);
}

static const double straight[3] = {0, 0, 0};

static void assert_spot(const contact_spot *s, double x, double y, double z, double nx, double ny, double nz, double gap)
{
  const double at[3] = {x, y, z}, n[3] = {nx, ny, nz};
  assert_true(s->body_a == 0 && s->body_b == 1 && s->friction == 0.3 && s->restitution == 0.5);
  assert_true(memcmp(s->a.x, s->b.x, sizeof s->a.x) == 0);
  for (int k = 0; k < 3; ++k) {
    assert_close(s->a.x[k], at[k], 1e-14);
    assert_close(s->normal[k], n[k], 1e-14);
  }
  assert_close(s->gap, gap, 1e-14);
}

/* The ridge crosses two edges of the bottom face, at x = -0.1 and 0.1; above and below it. */
static void test_ridge(void **state)
{
  (void)state;
  world w;
  open_world(&w, prism());
  for (int k = 0; k < 3; ++k) {
    const double gap = k == 0 ? 0.005 : k == 1 ? -0.005 : -0.02;
    assert_int_equal(find(&w, 0.0, 0.03, 0.1 + gap, straight), 2);
    for (int i = 0; i < 2; ++i) {
      const contact_spot *s = contact_set_get(w.set) + i;
      assert_spot(s, s->a.x[0] < 0.0 ? -0.1 : 0.1, 0.0, gap, 0.0, 0.0, 1.0, gap);
    }
  }
  assert_int_equal(find(&w, 0.0, 0.0, 0.12, straight), 0); /* beyond the margin */
  assert_int_equal(find(&w, 0.0, 0.12, 0.1, straight), 0); /* beside the ridge */
  assert_int_equal(find(&w, 0.0, 0.0, -0.6, straight), 0); /* in the middle of the prism: not at its edges */
  close_world(&w);
}

/* A corner of the ridge under the bottom face: its vertex, and one crossing with the bottom edge. */
static void test_end_of_ridge(void **state)
{
  (void)state;
  world w;
  open_world(&w, prism());
  assert_int_equal(find(&w, 1.02, 0.0, 0.097, straight), 2);
  for (int i = 0; i < 2; ++i) {
    const contact_spot *s = contact_set_get(w.set) + i;
    assert_spot(s, s->a.x[0] < 0.95 ? 0.92 : 1.0, 0.0, -0.003, 0.0, 0.0, 1.0, -0.003);
  }
  close_world(&w);
}

/* A tip under the bottom face; its four edges do not cross edges of the cube. Turned by 45 degrees about x, an edge of the cube is above
 * the tip, at (0, 0, gap). */
static void test_tip(void **state)
{
  (void)state;
  const double turned[3] = {0.25 * M_PI, 0.0, 0.0};
  world        w;
  open_world(&w, pyramid());
  assert_int_equal(find(&w, 0.05, 0.02, 0.098, straight), 1);
  assert_spot(contact_set_get(w.set), 0.0, 0.0, -0.002, 0.0, 0.0, 1.0, -0.002);
  assert_int_equal(find(&w, 0.0, 0.0, 0.1 * M_SQRT2 + 0.004, turned), 1);
  assert_spot(contact_set_get(w.set), 0.0, 0.0, 0.004, 0.0, 0.0, 1.0, 0.004);
  /* closer to a side face than to the bottom, but horizontal normals are not those of a tip with sides of 45 degrees */
  const int64_t n        = find(&w, 0.0, 0.098, 0.05, straight);
  int           n_at_tip = 0;
  for (int64_t i = 0; i < n; ++i) {
    const contact_spot *s = contact_set_get(w.set) + i;
    if (hypot(s->a.x[0], s->a.x[1]) > 1e-12) continue;
    assert_spot(s, 0.0, 0.0, -0.05, 0.0, 0.0, 1.0, -0.05);
    ++n_at_tip;
  }
  assert_int_equal(n_at_tip, 1);
  close_world(&w);
}

/* The prism turned by 90 degrees about y: its ridge points along x, at x = 0.5, and touches a side face of the cube. */
static void test_turned_obstacle(void **state)
{
  (void)state;
  const double quarter[3] = {0.0, 0.5 * M_PI, 0.0};
  world        w;
  open_world(&w, prism());
  rotation_exp(w.frames[1].R, quarter);
  v3_set(w.frames[1].c, 0.5, 0.0, 0.0);
  assert_int_equal(find(&w, 0.5 + 0.1 - 0.001, 0.0, 0.0, straight), 2);
  for (int i = 0; i < 2; ++i) {
    const contact_spot *s = contact_set_get(w.set) + i;
    assert_spot(s, 0.499, 0.0, s->a.x[2] < 0.0 ? -0.1 : 0.1, 1.0, 0.0, 0.0, -0.001);
  }
  w.law[1].never_touch = w.law[2].never_touch = true;
  assert_int_equal(find(&w, 0.5 + 0.1 - 0.001, 0.0, 0.0, straight), 0);
  close_world(&w);
}

/* ---- bodies that move farther than the margin in one step ---- */

/* Contact of the first touch: at a on the cube, at b on the obstacle, in world axes at the start of the step. */
static void assert_swept(const contact_spot *s, const double a[3], const double b[3], double nz, double gap)
{
  for (int k = 0; k < 3; ++k) {
    assert_close(s->a.x[k], a[k], 2e-5); /* the motion ends 1e-4 m before the contact, obliquely in test_fast_ridge */
    assert_close(s->b.x[k], b[k], 2e-5);
  }
  assert_close(s->normal[2], nz, 1e-12);
  assert_close(s->gap, gap, 1e-12);
}

/* The cube, above the ridge, moves obliquely through it: it is 0.3 m lower at the end of the step. */
static void test_fast_ridge(void **state)
{
  (void)state;
  world w;
  open_world(&w, prism());
  v3_set(w.frames[0].v, 0.0, 2.0, -30.0);
  assert_int_equal(find(&w, 0.0, 0.03, 0.1 + 0.15, straight), 2);
  for (int i = 0; i < 2; ++i) {
    const contact_spot *s    = contact_set_get(w.set) + i;
    const double        x    = s->a.x[0] < 0.0 ? -0.1 : 0.1;
    const double        a[3] = {x, -0.01, 0.15}, b[3] = {x, 0.0, 0.0};
    assert_swept(s, a, b, 1.0, 0.15);
  }
  assert_int_equal(find(&w, 0.0, 0.03, 0.1 + 0.31, straight), 0); /* not reached in this step */
  assert_int_equal(find(&w, 0.0, 0.12, 0.1 + 0.15, straight), 0); /* passes beside the ridge */
  v3_set(w.frames[0].v, 0.0, 0.0, 30.0);
  assert_int_equal(find(&w, 0.0, 0.03, 0.1 + 0.15, straight), 0); /* moves away */
  v3_set(w.frames[0].v, 0.0, 0.0, 0.0);
  w.scene.gravity[2] = -2000.0; /* 0.2 m in a step */
  assert_int_equal(find(&w, 0.0, 0.03, 0.1 + 0.15, straight), 2);
  close_world(&w);
}

/* A tip that moves upwards by 0.4 m, through the cube at rest. */
static void test_fast_obstacle(void **state)
{
  (void)state;
  world w;
  open_world(&w, pyramid());
  memcpy(w.end, w.frames, sizeof w.end);
  w.scene.end = w.end;
  v3_set(w.end[1].c, 0.0, 0.0, 0.4);
  assert_int_equal(find(&w, 0.05, 0.02, 0.1 + 0.15, straight), 1);
  const double a[3] = {0.0, 0.0, 0.15}, b[3] = {0.0, 0.0, 0.0};
  assert_swept(contact_set_get(w.set), a, b, 1.0, 0.15);
  v3_set(w.end[1].c, 0.0, 0.0, 0.14);
  assert_int_equal(find(&w, 0.05, 0.02, 0.1 + 0.15, straight), 0); /* not reached */
  close_world(&w);
}

/* A turned obstacle that moves along x, against a cube that moves along -x: the ridge points along x. */
static void test_fast_turned_obstacle(void **state)
{
  (void)state;
  const double quarter[3] = {0.0, 0.5 * M_PI, 0.0};
  world        w;
  open_world(&w, prism());
  rotation_exp(w.frames[1].R, quarter);
  v3_set(w.frames[1].c, 0.5, 0.0, 0.0);
  memcpy(w.end, w.frames, sizeof w.end);
  w.scene.end = w.end;
  v3_set(w.end[1].c, 0.6, 0.0, 0.0);
  v3_set(w.frames[0].v, -15.0, 0.0, 0.0);
  assert_int_equal(find(&w, 0.5 + 0.1 + 0.2, 0.0, 0.0, straight), 2);
  for (int i = 0; i < 2; ++i) {
    const contact_spot *s    = contact_set_get(w.set) + i;
    const double        z    = s->a.x[2] < 0.0 ? -0.1 : 0.1;
    const double        a[3] = {0.7, 0.0, z}, b[3] = {0.5, 0.0, z};
    assert_swept(s, a, b, 0.0, 0.2);
    assert_close(s->normal[0], 1.0, 1e-12);
  }
  close_world(&w);
}

/* Tilted by 1e-4 over the ridge, the bottom face has contacts at both of its edges, above the ridge and below it. */
static void test_tilted(void **state)
{
  (void)state;
  const double tilted[3] = {0.0, 1e-4, 0.0};
  world        w;
  open_world(&w, prism());
  for (int k = 0; k < 3; ++k) {
    const double height = k == 0 ? 1e-3 : k == 1 ? 0.0 : -1e-3;
    assert_int_equal(find(&w, 0.0, 0.03, 0.1 + height, tilted), 2);
    for (int i = 0; i < 2; ++i) {
      const contact_spot *s = contact_set_get(w.set) + i;
      assert_close(s->normal[2], 1.0, 1e-12);
      assert_close(s->gap, height + (s->a.x[0] < 0.0 ? 1e-5 : -1e-5), 1e-8);
    }
  }
  close_world(&w);
}

/* The cube turns by 0.05 rad in the step: its corner edges come closer to the ridge by the rotation. Contacts are found, with gaps of the start. */
static void test_fast_turning(void **state)
{
  (void)state;
  world w;
  open_world(&w, prism());
  v3_set(w.frames[0].v, 0.0, 0.0, -30.0);
  v3_set(w.frames[0].w, 0.0, 0.0, 5.0);
  assert_int_equal(find(&w, 0.0, 0.03, 0.1 + 0.15, straight), 2);
  for (int i = 0; i < 2; ++i) assert_close((contact_set_get(w.set) + i)->gap, 0.15, 1e-12);
  close_world(&w);
}

/* ---- random poses, against the distances of all pairs of features ---- */

/* Distance of the segments a + s d and b + t e, its vector from a to b in r; INFINITY if the closest points are not inside of both. */
static double inner_distance(const double a[3], const double d[3], const double b[3], const double e[3], double r[3])
{
  double w[3];
  v3_sub(w, b, a);
  const double dd = v3_dot(d, d), ee = v3_dot(e, e), de = v3_dot(d, e), dw = v3_dot(d, w), ew = v3_dot(e, w), det = dd * ee - de * de,
               s = (dw * ee - ew * de) / det, t = (dw * de - ew * dd) / det;
  if (!(det > 1e-6 * dd * ee && s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)) return INFINITY;
  for (int k = 0; k < 3; ++k) r[k] = w[k] + t * e[k] - s * d[k];
  return v3_norm(r);
}

/* Largest separation of the convex hulls of x [n][3] and y [8][3] along the directions of axis [m][3]; above 0: they do not intersect. */
static double separation(int n, const double *x, const double *y, int m, const double (*axis)[3])
{
  double most = -INFINITY;
  for (int i = 0; i < m; ++i) {
    double       range[2][2] = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    const double size        = v3_norm(axis[i]);
    if (size < 1e-6) continue;
    for (int k = 0; k < n; ++k)
      range[0][0] = fmin(range[0][0], v3_dot(axis[i], x + 3 * k)), range[0][1] = fmax(range[0][1], v3_dot(axis[i], x + 3 * k));
    for (int k = 0; k < 8; ++k)
      range[1][0] = fmin(range[1][0], v3_dot(axis[i], y + 3 * k)), range[1][1] = fmax(range[1][1], v3_dot(axis[i], y + 3 * k));
    most = fmax(most, fmax(range[0][0] - range[1][1], range[1][0] - range[0][1]) / size);
  }
  return most;
}

static double random_number(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

/* The edges of the prism and of the cube: pairs of vertices. */
static const int prism_edge[9][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}};

/* A cube apart from a prism, both in any pose: if a pair of edges or a vertex of the prism is closest, it is a contact at this distance and with this
 * normal. No contact is closer. */
static void test_closest_features(void **state)
{
  enum { POSES = 4000 };
  static const double margin  = 0.4;
  uint64_t            random  = 5;
  int                 n_edges = 0, n_vertices = 0;
  world               w;
  (void)state;
  open_world(&w, prism());
  w.scene.margin = margin;
  for (int pose = 0; pose < test_samples(POSES); ++pose) {
    double theta[2][3], c[3], x[18], y[24], axis[3 + 5 + 27][3], best = INFINITY, other = INFINITY, normal[3] = {0}, r[3];
    bool   is_edge = false;
    for (int k = 0; k < 3; ++k) theta[0][k] = 2.0 * random_number(&random), theta[1][k] = 2.0 * random_number(&random);
    rotation_exp(w.frames[1].R, theta[1]);
    for (int k = 0; k < 3; ++k) w.frames[1].c[k] = random_number(&random);
    const int   *edge  = prism_edge[pose % 9]; /* near this edge */
    const double place = 0.5 + 0.6 * random_number(&random);
    for (int k = 0; k < 3; ++k)
      c[k] = (1.0 - place) * w.mesh->x[3 * edge[0] + k] + place * w.mesh->x[3 * edge[1] + k] + 0.4 * random_number(&random);
    rigid_frame_to_world(&w.frames[1], c, r);
    v3_copy(c, r);
    const int64_t n = find(&w, c[0], c[1], c[2], theta[0]);
    for (int i = 0; i < 6; ++i) rigid_frame_to_world(&w.frames[1], w.mesh->x + 3 * i, x + 3 * i);
    for (int i = 0; i < 8; ++i)
      rigid_frame_to_world(&w.frames[0], (const double[3]){i & 1 ? 0.1 : -0.1, i & 2 ? 0.1 : -0.1, i & 4 ? 0.1 : -0.1}, y + 3 * i);
    for (int k = 0; k < 3; ++k) v3_sub(axis[k], y + 3 * (1 << k), y);
    for (int e = 0; e < 9; ++e) {
      double d[3];
      v3_sub(d, x + 3 * prism_edge[e][1], x + 3 * prism_edge[e][0]);
      for (int k = 0; k < 3; ++k) v3_cross(axis[8 + 3 * e + k], d, axis[k]);
    }
    for (int f = 0; f < 5; ++f) { /* normals: three sides and the two ends, which have one direction */
      double d[3], e[3];
      v3_sub(d, x + 3 * prism_edge[f % 3][1], x + 3 * prism_edge[f % 3][0]);
      v3_sub(e, x + 3 * (f < 3 ? 3 : 2), x + 3 * (f < 3 ? 0 : f - 3));
      v3_cross(axis[3 + f], d, e);
    }
    if (!(separation(6, x, y, 35, axis) > 1e-3)) continue;
    for (int e = 0; e < 9; ++e)
      for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 3; ++k) {
          double d[3];
          if (i & 1 << k) continue;
          v3_sub(d, x + 3 * prism_edge[e][1], x + 3 * prism_edge[e][0]);
          const double distance = inner_distance(x + 3 * prism_edge[e][0], d, y + 3 * i, axis[k], r);
          if (distance < best) best = distance, is_edge = true, v3_scale(normal, 1.0 / distance, r);
        }
    for (int i = 0; i < 6; ++i) { /* a vertex and the closest point of the cube */
      double at[3], near[3];
      rigid_frame_to_local(&w.frames[0], x + 3 * i, at);
      for (int k = 0; k < 3; ++k) near[k] = fmin(fmax(at[k], -0.1), 0.1);
      rigid_frame_to_world(&w.frames[0], near, r);
      v3_sub(r, r, x + 3 * i);
      if (v3_norm(r) < best) best = v3_norm(r), is_edge = false, v3_scale(normal, 1.0 / best, r);
    }
    for (int i = 0; i < 8; ++i) { /* a vertex of the cube and an inner point of a triangle: point_contact finds these */
      double phi = -INFINITY;
      for (int64_t t = 0; t < 8; ++t) {
        const int32_t *v = w.mesh->tri + 3 * t;
        double         a[3], b[3], m[3], d[3];
        v3_sub(a, x + 3 * v[1], x + 3 * v[0]);
        v3_sub(b, x + 3 * v[2], x + 3 * v[0]);
        v3_cross(m, a, b);
        v3_sub(d, y + 3 * i, x + 3 * v[0]);
        phi = fmax(phi, v3_dot(m, d) / v3_norm(m));
      }
      other = fmin(other, phi); /* at most the distance of the vertex */
    }
    double least    = INFINITY;
    bool   is_found = false;
    for (int64_t i = 0; i < n; ++i) {
      const contact_spot *spot = contact_set_get(w.set) + i;
      least                    = fmin(least, spot->gap);
      is_found                 = is_found || (fabs(spot->gap - best) < 1e-12 && v3_dot(spot->normal, normal) > 1.0 - 1e-12);
    }
    assert_true(least >= fmin(best, other) - 1e-12);
    if (best < other - 1e-9 && best < margin) {
      if (!is_found) fail_msg("pose %d: no contact at the distance %g", pose, best);
      ++*(is_edge ? &n_edges : &n_vertices);
    }
  }
  assert_true(n_edges > test_samples(100) && n_vertices > test_samples(5));
  close_world(&w);
}

TEST_MAIN(cmocka_unit_test(test_ridge), cmocka_unit_test(test_end_of_ridge), cmocka_unit_test(test_tip),
          cmocka_unit_test(test_turned_obstacle), cmocka_unit_test(test_fast_ridge), cmocka_unit_test(test_fast_obstacle),
          cmocka_unit_test(test_fast_turned_obstacle), cmocka_unit_test(test_fast_turning), cmocka_unit_test(test_tilted),
          cmocka_unit_test(test_closest_features))
