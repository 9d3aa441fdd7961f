/* Contacts of a crowd of rigid bodies against all pairs one by one: none missed, none twice, on any number of threads; where
 * they act. */
#include "contact/detection/convex_contact.h"
#include "convex_zoo.h"
#include "discretize/rigid/rigid_body.h"
#include <omp.h>

enum { N_BODIES = 400 };

typedef struct {
  rigid_body   *rigid[N_BODIES];
  body         *body[N_BODIES];
  int32_t       frame[N_BODIES];
  rigid_frame   frames[N_BODIES];
  contact_law  *law;
  contact_scene scene;
} crowd;

static rigid_body *add_body(crowd *c, int i, rigid_kind kind, const shape_spec *spec)
{
  diagnostics          *d = NULL;
  const rigid_body_spec s = {.shape           = spec,
                             .surface_spacing = NAN,
                             .mass            = kind == RIGID_DYNAMIC ? 1.0 : NAN,
                             .inertia         = {NAN, NAN, NAN},
                             .center_of_mass  = {NAN, NAN, NAN}};
  assert_ok(diagnostics_create(&d));
  assert_ok(rigid_body_create("body", kind, &s, 1000.0, NULL, "bodies.body", d, &c->rigid[i]));
  assert_int_equal(diagnostics_count(d), 0);
  diagnostics_destroy(&d);
  c->body[i]  = &c->rigid[i]->base;
  c->frame[i] = i;
  return c->rigid[i];
}

/* A container, a slab that is a union, a ring, and balls, boxes and cylinders at random inside a box, with some overlaps. */
static void crowd_create(crowd *c)
{
  const shape_sphere_spec ball = {{0, 0, 0}, 0.1};
  const shape_box_spec    box = {{-0.1, -0.08, -0.06}, {0.1, 0.08, 0.06}}, left = {{-1, -1, 0.4}, {0, 1, 0.5}},
                       right         = {{0, -1, 0.4}, {1, 1, 0.5}};
  const shape_segment_spec   can     = {{0, 0, -0.1}, {0, 0, 0.1}, 0.07};
  const shape_torus_spec     ring    = {{0, 0, 0}, {0, 0, 1}, 0.3, 0.05};
  const shape_container_spec room    = {{-1, -1, -1}, {1, 1, 1}, {0}};
  shape_spec                 half[2] = {{.box = &left, .axis = {0, 0, 1}}, {.box = &right, .axis = {0, 0, 1}}};
  key_item                   item[2];
  memset(item, 0, sizeof item);
  item[0].value = &half[0], item[1].value = &half[1];
  const shape_spec spec[6] = {{.container = &room, .axis = {0, 0, 1}}, {.unite = {.n = 2, .item = item}, .axis = {0, 0, 1}},
                              {.torus = &ring, .axis = {0, 0, 1}},     {.sphere = &ball, .axis = {0, 0, 1}},
                              {.box = &box, .axis = {0, 0, 1}},        {.cylinder = &can, .axis = {0, 0, 1}}};
  memset(c, 0, sizeof *c);
  for (int i = 0; i < N_BODIES; ++i) {
    rigid_body *b = add_body(c, i, i < 2 ? RIGID_STATIC : RIGID_DYNAMIC, &spec[i < 3 ? i : 3 + i % 3]);
    m3_identity(c->frames[i].R);
    c->frames[i].block = -1;
    if (i < 2) continue;
    zoo_rotation(1, (uint64_t)i, c->frames[i].R);
    for (int k = 0; k < 3; ++k) c->frames[i].c[k] = random_range(2, (uint64_t)i, (uint64_t)k, -1.0, 1.0);
    (void)b;
  }
  c->law = calloc((size_t)N_BODIES * N_BODIES, sizeof *c->law);
  for (int i = 0; i < N_BODIES; ++i)
    for (int j = 0; j < N_BODIES; ++j)
      c->law[N_BODIES * i + j] =
          (contact_law){.friction = 0.1 * (i % 3) + 0.1 * (j % 3), .restitution = 0.5, .never_touch = (i + j) % 17 == 0};
  c->scene = (contact_scene){.n_bodies = N_BODIES,
                             .body     = c->body,
                             .frame    = c->frame,
                             .frames   = c->frames,
                             .end      = c->frames,
                             .law      = c->law,
                             .dt       = 0.01,
                             .margin   = 0.01};
}

static void crowd_destroy(crowd *c)
{
  for (int i = 0; i < N_BODIES; ++i) rigid_body_destroy(&c->rigid[i]);
  free(c->law);
}

/* All touches of two bodies, by hand. */
static int count_by_hand(const crowd *c, int i, int j)
{
  int                 total = 0, n, m;
  const convex_solid *s = c->body[i]->ops->solids(c->body[i], &n), *t = c->body[j]->ops->solids(c->body[j], &m);
  if (c->law[N_BODIES * i + j].never_touch || j < 2) return 0;
  for (int k = 0; k < n; ++k)
    for (int l = 0; l < m; ++l) {
      double         room_a[ZOO_ROOM], room_b[ZOO_ROOM];
      convex_pose    a, b;
      convex_touches touches;
      convex_pose_set(&a, &s[k], c->frames[i].c, c->frames[i].R, room_a);
      convex_pose_set(&b, &t[l], c->frames[j].c, c->frames[j].R, room_b);
      convex_pair_touches(&a, &b, c->scene.margin, &touches);
      total += touches.n;
    }
  return total;
}

static void test_crowd(void **state)
{
  (void)state;
  crowd           c;
  convex_contact *finder = NULL;
  contact_set    *set = NULL, *again = NULL;
  crowd_create(&c);
  assert_ok(convex_contact_create(N_BODIES, c.body, &finder));
  assert_ok(contact_set_create(&set));
  assert_ok(contact_set_create(&again));
  assert_ok(convex_contact_find(finder, &c.scene, set));
  assert_ok(contact_set_sort(set)); /* all keys are different */
  const int64_t       n     = contact_set_size(set);
  const contact_spot *spot  = contact_set_get(set);
  int                *count = calloc((size_t)N_BODIES * N_BODIES, sizeof *count);
  for (int64_t i = 0; i < n; ++i) {
    const contact_spot *s = &spot[i];
    assert_true(s->body_a < s->body_b && s->gap <= c.scene.margin);
    ++count[N_BODIES * s->body_a + s->body_b];
    const contact_law *law = &c.law[N_BODIES * s->body_a + s->body_b];
    assert_true(!law->never_touch && s->friction == law->friction && s->restitution == law->restitution);
    assert_true(s->a.kind == FEATURE_FRAME && s->b.kind == FEATURE_FRAME && memcmp(s->a.x, s->b.x, sizeof s->a.x) == 0);
    if (s->body_a < 2 && s->body_b % 3 == 0) { /* a ball and an obstacle: on the ball, opposite the normal, which points from b to a */
      double d[3];
      v3_sub(d, s->a.x, c.frames[s->body_b].c);
      v3_axpy(d, -0.1, s->normal);
      assert_close(v3_norm(d), 0.0, 1e-13);
    }
    if (s->body_a > 2 && s->body_a % 3 == 0 && s->body_b % 3 == 0) { /* two balls: halfway between */
      double d[3];
      for (int k = 0; k < 3; ++k) d[k] = s->a.x[k] - 0.5 * (c.frames[s->body_a].c[k] + c.frames[s->body_b].c[k]);
      assert_close(v3_norm(d), 0.0, 1e-13);
    }
  }
  int64_t total = 0;
  for (int i = 0; i < N_BODIES; ++i)
    for (int j = i + 1; j < N_BODIES; ++j) {
      const int expected = count_by_hand(&c, i, j);
      total += expected;
      if (count[N_BODIES * i + j] != expected) fail_msg("bodies %d and %d: %d contacts, not %d", i, j, count[N_BODIES * i + j], expected);
    }
  assert_int_equal(total, n);
  assert_true(n > 500);
  assert_true(convex_contact_takes(c.body[0], c.body[3]) && !convex_contact_takes(c.body[2], c.body[3]));
  for (int threads = 1; threads <= 7; threads += 3) { /* the same, as found */
    omp_set_num_threads(threads);
    contact_set_clear(again);
    assert_ok(convex_contact_find(finder, &c.scene, again));
    assert_ok(contact_set_sort(again));
    assert_int_equal(contact_set_size(again), n);
    assert_memory_equal(contact_set_get(again), spot, (size_t)n * sizeof *spot);
  }
  free(count);
  contact_set_destroy(&set);
  contact_set_destroy(&again);
  convex_contact_destroy(&finder);
  crowd_destroy(&c);
  assert_no_leak();
}

/* Two flat faces that request contact points of equal area: as many, at their gap, with the centroid of the common area. */
static void test_equal_areas(void **state)
{
  (void)state;
  static const shape_box_spec box     = {{-0.1, -0.08, -0.06}, {0.1, 0.08, 0.06}};
  static const shape_spec     spec    = {.box = &box, .axis = {0, 0, 1}};
  const contact_law           law[4]  = {{.friction = 0.5}, {.friction = 0.5}, {.friction = 0.5}, {.friction = 0.5}};
  crowd                       c       = {0};
  convex_contact             *finder  = NULL;
  contact_set                *set     = NULL;
  double                      mean[2] = {0.0, 0.0};
  for (int i = 0; i < 2; ++i) {
    rigid_body *b            = add_body(&c, i, RIGID_DYNAMIC, &spec);
    b->solids[0].area_points = i == 0 ? 0 : 7;
    m3_identity(c.frames[i].R);
    v3_set(c.frames[i].c, 0.04 * i, 0.0, 0.125 * i);
    c.frames[i].block = -1;
  }
  c.scene = (contact_scene){
      .n_bodies = 2, .body = c.body, .frame = c.frame, .frames = c.frames, .end = c.frames, .law = law, .dt = 0.01, .margin = 0.01};
  assert_ok(convex_contact_create(2, c.body, &finder));
  assert_ok(contact_set_create(&set));
  assert_ok(convex_contact_find(finder, &c.scene, set));
  assert_int_equal(contact_set_size(set), 7);
  for (int i = 0; i < 7; ++i) {
    const contact_spot *s = contact_set_get(set) + i;
    assert_close(s->gap, 0.005, 1e-14);
    assert_close(s->normal[2], -1.0, 1e-14);
    for (int k = 0; k < 2; ++k) mean[k] += s->a.x[k] / 7.0;
  }
  assert_close(mean[0], 0.02, 1e-13);
  assert_close(mean[1], 0.0, 1e-13);
  contact_set_destroy(&set);
  convex_contact_destroy(&finder);
  for (int i = 0; i < 2; ++i) rigid_body_destroy(&c.rigid[i]);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_crowd), cmocka_unit_test(test_equal_areas))
