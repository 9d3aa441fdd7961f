/* One convex solid of each kind, with its level set, for the tests of contact between them. */
#ifndef SS_TESTS_CONVEX_ZOO_H
#define SS_TESTS_CONVEX_ZOO_H
#include "geometry/convex/convex_pair.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "geometry/shape/shape.h"
#include "test.h"

enum { ZOO_BALL, ZOO_CAPSULE, ZOO_CYLINDER, ZOO_BOX, ZOO_PLATE, ZOO_GEM, ZOO_WALL, ZOO_SIZE, ZOO_ROOM = 1024 };
typedef struct {
  shape *s[ZOO_SIZE];
} zoo;

static inline shape *zoo_shape(const shape_spec *spec)
{
  diagnostics *d = NULL;
  shape       *s = NULL;
  assert_ok(diagnostics_create(&d));
  assert_ok(shape_create(spec, NULL, "shape", d, NAN, &s));
  if (diagnostics_count(d)) fail_msg("rejected: %s", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  assert_int_equal(s->n_solids, 1);
  return s;
}

/* All of a size of about 1, none centred at the origin. */
static inline void zoo_create(zoo *z)
{
  const shape_sphere_spec  ball    = {{0.1, 0.2, 0.3}, 0.4};
  const shape_segment_spec capsule = {{-0.5, 0.1, 0.2}, {0.5, 0.2, -0.1}, 0.2}, cylinder = {{0.1, -0.4, 0}, {0.2, 0.5, 0.1}, 0.35};
  const shape_box_spec     box = {{-0.4, -0.3, -0.5}, {0.3, 0.4, 0.3}}, plate = {{-0.6, -0.5, -0.02}, {0.5, 0.6, 0.02}},
                       big    = {{-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}};
  const shape_plane_spec wall = {{0.1, 0.2, 1}, {NAN, NAN, NAN}, 0.1, 1};
  shape_plane_spec       plane[7];
  shape_spec             part[8];
  key_item               item[8];
  memset(part, 0, sizeof part);
  memset(item, 0, sizeof item);
  part[0]       = (shape_spec){.box = &big, .axis = {0, 0, 1}};
  item[0].value = &part[0];
  for (int i = 0; i < 7; ++i) {
    plane[i] = (shape_plane_spec){.offset = 0.4, .point = {NAN, NAN, NAN}, .extent = 1};
    random_direction(11, (uint64_t)i, 0, plane[i].normal);
    part[i + 1]       = (shape_spec){.plane = &plane[i], .axis = {0, 0, 1}};
    item[i + 1].value = &part[i + 1];
  }
  z->s[ZOO_BALL]     = zoo_shape(&(shape_spec){.sphere = &ball, .axis = {0, 0, 1}});
  z->s[ZOO_CAPSULE]  = zoo_shape(&(shape_spec){.capsule = &capsule, .axis = {0, 0, 1}});
  z->s[ZOO_CYLINDER] = zoo_shape(&(shape_spec){.cylinder = &cylinder, .axis = {0, 0, 1}});
  z->s[ZOO_BOX]      = zoo_shape(&(shape_spec){.box = &box, .axis = {0, 0, 1}});
  z->s[ZOO_PLATE]    = zoo_shape(&(shape_spec){.box = &plate, .axis = {0, 0, 1}});
  z->s[ZOO_GEM]      = zoo_shape(&(shape_spec){.intersect = {.n = 8, .item = item}, .axis = {0, 0, 1}});
  z->s[ZOO_WALL]     = zoo_shape(&(shape_spec){.plane = &wall, .axis = {0, 0, 1}});
}
static inline void zoo_destroy(zoo *z)
{
  for (int i = 0; i < ZOO_SIZE; ++i) shape_destroy(&z->s[i]);
}

/* A solid in a pose. */
typedef struct {
  const shape *s;
  double       c[3], R[9], room[ZOO_ROOM];
  convex_pose  pose;
} placed;

static inline void placed_set(placed *p, const shape *s, const double *c, const double *R)
{
  p->s = s;
  v3_copy(p->c, c);
  m3_copy(p->R, R);
  assert_true(convex_pose_work_size(&s->solid[0]) <= ZOO_ROOM);
  convex_pose_set(&p->pose, &s->solid[0], p->c, p->R, p->room);
}
/* Level set, negative inside. For intersections its magnitude is a lower bound of the distance. */
static inline double placed_phi(const placed *p, const double *x)
{
  double d[3], b[3];
  v3_sub(d, x, p->c);
  m3_mulv_t(b, p->R, d);
  return level_set_value(p->s->piece[0], b);
}
/* The largest n.x including the rounding radius; INFINITY for half-spaces. */
static inline double placed_height(const placed *p, const double *n)
{
  const convex_pose *q = &p->pose;
  if (q->kind == CONVEX_HALF_SPACE) return v3_dot(n, q->normal) > 1.0 - 1e-14 ? q->offset : INFINITY;
  double x[3];
  convex_support(q, n, x);
  return v3_dot(n, x) + convex_rounding(q);
}
/* Separation of a and b along n. */
static inline double placed_separation(const placed *a, const placed *b, const double *n)
{
  double back[3];
  v3_scale(back, -1.0, n);
  return -placed_height(a, back) - placed_height(b, n);
}
static inline void zoo_rotation(uint64_t seed, uint64_t id, double *R)
{
  double theta[3];
  random_direction(seed, id, 100, theta);
  v3_scale(theta, random_range(seed, id, 101, 0.0, M_PI), theta);
  rotation_exp(R, theta);
}
static inline int zoo_deepest(const convex_touches *t)
{
  int best = 0;
  for (int k = 1; k < t->n; ++k)
    if (t->touch[k].gap < t->touch[best].gap) best = k;
  return best;
}
/* Two at random poses a distance `gap` apart, or overlapping: a is moved along the direction of the closest points. The
 * resulting distance is asserted. */
static inline void zoo_pose(const zoo *z, int i, int j, uint64_t trial, double gap, placed *a, placed *b)
{
  const double seed = 7;
  double       R[9], c[3], n[3];
  zoo_rotation((uint64_t)seed, 2 * trial, R);
  for (int k = 0; k < 3; ++k) c[k] = random_range((uint64_t)seed, trial, (uint64_t)k, -2.0, 2.0);
  placed_set(b, z->s[j], c, R);
  zoo_rotation((uint64_t)seed, 2 * trial + 1, R);
  placed_set(a, z->s[i], c, R);
  if (j == ZOO_WALL) v3_copy(n, b->pose.normal);
  else if (i == ZOO_WALL) v3_scale(n, -1.0, a->pose.normal);
  else random_direction((uint64_t)seed, trial, 5, n);
  v3_axpy(c, 0.1 - placed_separation(a, b, n), n);
  placed_set(a, z->s[i], c, R);
  convex_touches t;
  convex_pair_touches(&a->pose, &b->pose, 10.0, &t);
  assert_true(t.n > 0);
  const convex_touch *o = &t.touch[zoo_deepest(&t)];
  v3_axpy(c, gap - o->gap, o->normal);
  placed_set(a, z->s[i], c, R);
}
#endif
