#include "contact/surface/surface_contact_internal.h"
#include "core/math3.h"

/* Of a triangle's area, and the sine of an angle to it. */
static const double through_tolerance = 1e-6;
/* Cosine of the angle within which triangles look the same way. */
static const double same_side = 0.7;
/* Depth behind one side, over that below the edge, which tells that a line sticks through that side: blades of less than 14 degrees
 * are as shallow. */
static const double shallow = 0.25;
/* Of a line: as far as places on it may be off by rounding. */
static const double snap = 1e-9;

/* Through the triangle or its rim: what runs within the side of a solid comes out at an edge. Not along it. 1: out of it, -1: into
 * it, 0: not; where: on the way, in (0, 1). */
static int goes_through(const double from[3], const double to[3], const double a[3], const double b[3], const double c[3],
                        double *where)
{
  double e[3], f[3], n[3], d[3], x[3];
  v3_sub(e, b, a);
  v3_sub(f, c, a);
  v3_cross(n, e, f);
  v3_sub(d, from, a);
  const double before = v3_dot(n, d);
  v3_sub(d, to, a);
  const double after = v3_dot(n, d);
  v3_sub(d, to, from);
  if (!(before * after < 0.0) || !(fabs(before - after) > through_tolerance * v3_norm(n) * v3_norm(d))) return 0;
  *where = before / (before - after);
  for (int k = 0; k < 3; ++k) x[k] = from[k] + *where * (to[k] - from[k]);
  const double *corner[4] = {a, b, c, a};
  for (int i = 0; i < 3; ++i) {
    v3_sub(e, corner[i + 1], corner[i]);
    v3_sub(d, x, corner[i]);
    v3_cross(f, e, d);
    if (v3_dot(f, n) < -through_tolerance * v3_dot(n, n)) return 0;
  }
  return before < 0.0 ? 1 : -1;
}

static bool rises_from(const double from[3], const double to[3], const double a[3], const double b[3], const double c[3])
{
  double e[3], f[3], n[3], d[3];
  v3_sub(e, b, a);
  v3_sub(f, c, a);
  v3_cross(n, e, f);
  v3_sub(d, to, from);
  return v3_dot(n, d) > through_tolerance * v3_norm(n) * v3_norm(d);
}

/* Does triangle t look another way than both triangles at an edge? */
static bool is_other_side(const surface_contact *c, const edge_star *star, const double a[9])
{
  double n[3], own[3], corner[9];
  if (!surface_face_normal(a, n)) return false;
  for (int k = 2; k < 4; ++k) { /* the second runs through the edge the other way */
    const int order[3] = {k == 2 ? 0 : 1, k == 2 ? 1 : 0, k};
    for (int i = 0; i < 3; ++i) v3_copy(corner + 3 * i, surface_at(c->x0, star->node[order[i]]));
    if (surface_face_normal(corner, own) && v3_dot(n, own) > same_side) return false;
  }
  return true;
}

/* What is asked, and what is found of it. */
typedef struct {
  surface_inside in;
  double         distance;
  double         low, high; /* the part of the line about `at` that comes out nowhere */
} question;

/* Is triangle t nearer than the edge, or does the way from the edge lead out there: off a triangle at the edge, or through
 * another? */
static bool is_taken(const surface_contact *c, int32_t t, question *p)
{
  const int32_t  *v  = c->topology->tri + 3 * (int64_t)t;
  int             at = 0;
  double          a[9], where;
  surface_nearest near;
  for (int k = 0; k < 3; ++k) at += v[k] == p->in.star->node[0] || v[k] == p->in.star->node[1];
  surface_corners(c, c->x0, t, a);
  if (at == 2) return rises_from(p->in.from, p->in.to, a, a + 3, a + 6);
  if (goes_through(p->in.from, p->in.to, a, a + 3, a + 6, &where)) return true;
  surface_nearest_on(a, p->in.to, &near);
  if (near.distance < (1.0 - 1e-9) * p->distance && is_other_side(c, p->in.star, a)) return true;
  const int way = goes_through(p->in.line, p->in.line + 3, a, a + 3, a + 6, &where);
  if (way < 0 && where <= p->in.at + snap) p->low = fmax(p->low, where);
  if (way > 0 && where >= p->in.at - snap) p->high = fmin(p->high, where);
  return false;
}

/* Is the line, as far as it is inside, much nearer to one triangle at the edge than to the edge? Then it sticks through that side
 * below the edge. */
static bool is_shallow(question *p)
{
  double e[3], d[3], n[3], depth[2][2]; /* behind either, of both ends */
  v3_sub(e, p->in.x + 3, p->in.x);
  for (int k = 0; k < 2; ++k) {
    v3_sub(d, p->in.x + 6 + 3 * k, p->in.x);
    v3_cross(n, e, d);
    v3_scale(n, (k == 0 ? -1.0 : 1.0) / v3_norm(n), n);
    for (int i = 0; i < 2; ++i) v3_sub(d, p->in.line + 3 * i, p->in.x), depth[k][i] = v3_dot(n, d);
    const double zero = depth[k][0] / (depth[k][0] - depth[k][1]);
    if (depth[k][0] < 0.0 && depth[k][1] > 0.0) p->low = fmax(p->low, zero);
    if (depth[k][0] > 0.0 && depth[k][1] < 0.0) p->high = fmin(p->high, zero);
  }
  p->low = fmin(p->low, p->in.at), p->high = fmax(p->high, p->in.at); /* but for rounding */
  for (int k = 0; k < 2; ++k) {
    const double slope = depth[k][1] - depth[k][0];
    if (depth[k][0] + fmax(p->low * slope, p->high * slope) < shallow * p->distance) return true;
  }
  return false;
}

bool surface_is_elsewhere(const surface_contact *c, const surface_inside *in)
{
  const int32_t body = c->body[in->star->node[0]];
  question      p    = {.in = *in, .high = 1.0};
  double        d[3], min[3], max[3];
  int32_t       found[BOX_TREE_WIDTH];
  box_walk      walk;
  v3_sub(d, in->to, in->from);
  p.distance = v3_norm(d);
  for (int k = 0; k < 3; ++k) min[k] = in->to[k] - p.distance, max[k] = in->to[k] + p.distance;
  broad_phase_walk_triangles(c->broad, min, max, &walk);
  for (int n = box_walk_next(&walk, found); n > 0; n = box_walk_next(&walk, found))
    for (int k = 0; k < n; ++k)
      if (surface_body_of_triangle(c, found[k]) == body && is_taken(c, found[k], &p)) return true;
  return is_shallow(&p);
}
