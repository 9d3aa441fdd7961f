/* Contacts of triangle surfaces with points and edges, see surface_contact.h. */
#include "contact/surface/surface_contact.h"
#include "contact/detection/contact_set.h"
#include "contact/detection/edge_pair.h"
#include "geometry/collision/broad_phase.h"
#include "geometry/collision/ccd.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/memory.h"
#include <stdlib.h>

/* ---- data ---- */

/* Private to this file. */

struct surface_contact {
  int64_t              n_vertices, n_points, n_segments;
  int32_t              n_bodies, *point, *segment, *body;
  const pair_classes  *pairs;
  bool                *can_touch, *is_closed, *is_rigid; /* [n_bodies] is_closed: of its surface */
  double              *radius, *rest, thickest;
  triangle_topology   *topology;
  broad_phase         *broad;
  const surface_sides *sides; /* NULL: no memory */
  const int64_t       *point_id;
  /* Of the last run. */
  const double *x0, *x1; /* borrowed while it lasts */
  double        margin, skin;
  int64_t       flag_capacity, n_spots, spot_capacity;
  uint8_t      *flags;
  surface_spot *spot;
};

static inline const double *surface_at(const double *x, int32_t vertex) { return x + 3 * (int64_t)vertex; }
static inline int32_t surface_body_of_triangle(const surface_contact *c, int32_t t) { return c->body[c->topology->tri[3 * (int64_t)t]]; }
/* Whether the vertex belongs to a closed surface, which has an inside. */
static inline bool surface_vertex_is_closed(const surface_contact *c, int32_t vertex)
{
  return c->topology->fan_start[vertex + 1] > c->topology->fan_start[vertex] && c->is_closed[c->body[vertex]];
}
static inline double surface_point_skin(const surface_contact *c, int32_t point, int32_t t)
{
  return c->is_closed[surface_body_of_triangle(c, t)] || surface_vertex_is_closed(c, c->point[point]) ? 0.0 : c->skin;
}
/* Ends of edge i: an edge of the topology if i < n_edges, else segment i - n_edges. */
static inline const int32_t *surface_edge(const surface_contact *c, int32_t e)
{
  const int64_t n = c->topology->n_edges;
  return e < n ? c->topology->edge + 2 * (int64_t)e : c->segment + 2 * (e - n);
}

void surface_contact_use_sides(surface_contact *c, const surface_sides *sides, const int64_t *point_id)
{
  c->sides = sides, c->point_id = point_id;
}

static bool is_border_edge(const surface_contact *c, int64_t edge) { return c->topology->edge_triangle[2 * edge + 1] < 0; }
/* The sheet of two edges, of which normal and side are stored: the second edge (1) unless that is at a border, else the first (0). */
static int sheet_of_edges(const surface_contact *c, int32_t second) { return is_border_edge(c, second) ? 0 : 1; }

void surface_contact_side_key(const surface_contact *c, const surface_spot *p, uint64_t key[2])
{
  const int32_t edge[2] = {p->first, p->second};
  if (p->kind == SURFACE_POINT) {
    key[0] = contact_key(DETECTOR_SURFACE_POINT, c->body[c->point[p->first]], surface_body_of_triangle(c, p->second));
    key[1] = (uint64_t)c->point_id[p->first];
    return;
  }
  const int sheet = sheet_of_edges(c, p->second);
  key[0] = contact_key(DETECTOR_SURFACE_EDGE, c->body[surface_edge(c, edge[1 - sheet])[0]], c->body[surface_edge(c, edge[sheet])[0]]);
  key[1] = (uint64_t)edge[1 - sheet];
}

/* Side of the last step; 0: not known. */
static int stored_side(const surface_contact *c, const surface_spot *p)
{
  uint64_t key[2];
  if (!c->sides || c->sides->n == 0) return 0;
  surface_contact_side_key(c, p, key);
  return surface_sides_find(c->sides, key);
}

/* Whether a feature (surface_spot.feature) is at the border of its surface. */
static bool is_at_border(const surface_contact *c, int64_t feature)
{
  const triangle_topology *o = c->topology;
  if (feature < o->n_triangles) return false;
  feature -= o->n_triangles;
  if (feature < o->n_edges) return is_border_edge(c, feature);
  const int64_t vertex = feature - o->n_edges;
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k)
    for (int i = 0; i < 3; ++i) {
      const int32_t edge = o->side_edge[3 * (int64_t)o->fan[k] + i];
      if (is_border_edge(c, edge) && (o->edge[2 * (int64_t)edge] == vertex || o->edge[2 * (int64_t)edge + 1] == vertex)) return true;
    }
  return false;
}

/* Closest point of a triangle with corners a [3][3]: weights, exactly 0 on sides and at corners, and distance; INFINITY if a corner is
 * not finite. */
typedef struct {
  double w[3], x[3], distance;
} surface_nearest;
static inline void surface_corners(const surface_contact *c, const double *x, int32_t t, double out[9])
{
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i) out[3 * k + i] = surface_at(x, c->topology->tri[3 * (int64_t)t + k])[i];
}

/* Query whether a point is inside a closed surface. The point is on the line from a point on an edge of that surface. All borrowed. */
typedef struct {
  const edge_star *star;
  const double    *x;    /* [4][3] nodes of the star */
  const double    *line; /* [2][3] */
  const double    *from, *to;
  double           at; /* in (0, 1) */
} surface_inside;

/* ---- normals and nearest points ---- */

/* Smaller weights are set to 0. */
static const double weight_snap = 1e-9;

static void surface_contact_combine(const double *x, int n, const int32_t *vertex, const double *weight, double out[3])
{
  v3_set(out, 0.0, 0.0, 0.0);
  for (int k = 0; k < n; ++k) v3_axpy(out, weight[k], surface_at(x, vertex[k]));
}

/* Whether two points of one body are closer than half of their distance in the undeformed shape. */
static bool surface_has_folded(const surface_contact *c, int n_first, const int32_t *first, const double *weight_first, int n_second,
                               const int32_t *second, const double *weight_second, double distance)
{
  double a[3], b[3];
  SS_ASSERT(c->rest);
  surface_contact_combine(c->rest, n_first, first, weight_first, a);
  surface_contact_combine(c->rest, n_second, second, weight_second, b);
  v3_sub(a, a, b);
  return distance < 0.5 * v3_norm(a);
}

/* The mean of the normals around a vertex, weighted by angles; 0 if it has no triangles. Not a unit vector. */
static void surface_vertex_normal(const surface_contact *c, const double *x, int32_t vertex, double out[3])
{
  const triangle_topology *o = c->topology;
  v3_set(out, 0.0, 0.0, 0.0);
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k) {
    const int32_t *t = o->tri + 3 * (int64_t)o->fan[k];
    const int      i = t[0] == vertex ? 0 : t[1] == vertex ? 1 : 2;
    double         e[3], f[3], n[3];
    v3_sub(e, surface_at(x, t[(i + 1) % 3]), surface_at(x, vertex));
    v3_sub(f, surface_at(x, t[(i + 2) % 3]), surface_at(x, vertex));
    v3_cross(n, e, f);
    const double length = v3_norm(n);
    if (length > 0.0) v3_axpy(out, atan2(length, v3_dot(e, f)) / length, n);
  }
}

/* Unit normal of a triangle; false if its area is zero. */
static bool surface_face_normal(const double a[9], double n[3])
{
  double e[3], f[3];
  v3_sub(e, a + 3, a);
  v3_sub(f, a + 6, a);
  v3_cross(n, e, f);
  const double length = v3_norm(n);
  if (!(length > 0.0)) return false;
  v3_scale(n, 1.0 / length, n);
  return true;
}

static void update_nearest_point(const double a[9], const double w[3], const double p[3], surface_nearest *best)
{
  double x[3], d[3];
  for (int k = 0; k < 3; ++k) x[k] = w[0] * a[k] + w[1] * a[3 + k] + w[2] * a[6 + k];
  v3_sub(d, p, x);
  const double distance = v3_norm(d);
  if (!(distance < best->distance)) return;
  best->distance = distance;
  v3_copy(best->w, w);
  v3_copy(best->x, x);
}

static void surface_nearest_on(const double a[9], const double p[3], surface_nearest *out)
{
  double n[3], m[3], e[3], d[3], w[3];
  *out = (surface_nearest){.distance = INFINITY}; /* remains infinite if a corner is not finite */
  for (int i = 0; i < 3; ++i) {                   /* sides, i opposite */
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    v3_sub(e, a + 3 * k, a + 3 * j);
    v3_sub(d, p, a + 3 * j);
    const double ee = v3_dot(e, e), s = ee > 0.0 ? v3_dot(d, e) / ee : 0.0, t = s > weight_snap ? (s < 1.0 - weight_snap ? s : 1.0) : 0.0;
    w[i] = 0.0, w[j] = 1.0 - t, w[k] = t;
    update_nearest_point(a, w, p, out);
  }
  v3_sub(e, a + 3, a);
  v3_sub(d, a + 6, a);
  v3_cross(n, e, d);
  const double nn = v3_dot(n, n);
  if (!(nn > 1e-24 * v3_dot(e, e) * v3_dot(d, d))) return;
  double rest = 1.0;
  for (int i = 1; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    v3_sub(e, a + 3 * k, a + 3 * j);
    v3_sub(d, p, a + 3 * j);
    v3_cross(m, e, d);
    w[i] = v3_dot(m, n) / nn;
    rest -= w[i];
  }
  w[0] = rest;
  if (w[0] > weight_snap && w[1] > weight_snap && w[2] > weight_snap) update_nearest_point(a, w, p, out);
}

/* ---- is a point inside the solid? ---- */

/* Tolerance relative to the area of a triangle, and for the sine of an angle to its plane. */
static const double through_tolerance = 1e-6;
/* Cosine of the angle within which two triangles have the same orientation. */
static const double same_side = 0.7;
/* Ratio of the depth behind one side to the depth below the edge, below which a line has penetrated that side and not the edge. Edges of
 * less than 14 degrees also have such ratios. */
static const double shallow = 0.25;
/* Round-off of positions along a line, relative to its length. */
static const double snap = 1e-9;

/* Whether the line crosses the triangle or its border (a line in a face of a solid leaves the solid at an edge). Lines parallel to the
 * triangle do not cross it. 1: outwards, -1: inwards, 0: no crossing; where: position on the line, in (0, 1). */
static int line_crosses_triangle(const double from[3], const double to[3], const double a[3], const double b[3], const double c[3],
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

/* Whether the orientation of triangle t differs from that of both triangles at an edge (same_side). */
static bool is_other_side(const surface_contact *c, const edge_star *star, const double a[9])
{
  double n[3], own[3], corner[9];
  if (!surface_face_normal(a, n)) return false;
  for (int k = 2; k < 4; ++k) { /* the second triangle has the opposite direction along the edge */
    const int order[3] = {k == 2 ? 0 : 1, k == 2 ? 1 : 0, k};
    for (int i = 0; i < 3; ++i) v3_copy(corner + 3 * i, surface_at(c->x0, star->node[order[i]]));
    if (surface_face_normal(corner, own) && v3_dot(n, own) > same_side) return false;
  }
  return true;
}

/* A query and its intermediate result. */
typedef struct {
  surface_inside in;
  double         distance;
  double         low, high; /* the part of the line around `at` that is inside the solid */
} question;

/* Whether triangle t is nearer than the edge, or the line from the edge leaves the solid, at a triangle of the edge or through another
 * triangle. */
static bool is_taken(const surface_contact *c, int32_t t, question *p)
{
  const int32_t  *v  = c->topology->tri + 3 * (int64_t)t;
  int             at = 0;
  double          a[9], where;
  surface_nearest near;
  for (int k = 0; k < 3; ++k) at += v[k] == p->in.star->node[0] || v[k] == p->in.star->node[1];
  surface_corners(c, c->x0, t, a);
  if (at == 2) return rises_from(p->in.from, p->in.to, a, a + 3, a + 6);
  if (line_crosses_triangle(p->in.from, p->in.to, a, a + 3, a + 6, &where)) return true;
  surface_nearest_on(a, p->in.to, &near);
  if (near.distance < (1.0 - 1e-9) * p->distance && is_other_side(c, p->in.star, a)) return true;
  const int crossing = line_crosses_triangle(p->in.line, p->in.line + 3, a, a + 3, a + 6, &where);
  if (crossing < 0 && where <= p->in.at + snap) p->low = fmax(p->low, where);
  if (crossing > 0 && where >= p->in.at - snap) p->high = fmin(p->high, where);
  return false;
}

/* Whether the part of the line inside the solid is much nearer to one triangle at the edge than to the edge. Then the line has
 * penetrated that side, not the edge. */
static bool is_shallow(question *p)
{
  double e[3], d[3], n[3], depth[2][2]; /* depth of both ends behind each of the two triangles */
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
  p->low = fmin(p->low, p->in.at), p->high = fmax(p->high, p->in.at); /* contains `at` despite round-off */
  for (int k = 0; k < 2; ++k) {
    const double slope = depth[k][1] - depth[k][0];
    if (depth[k][0] + fmax(p->low * slope, p->high * slope) < shallow * p->distance) return true;
  }
  return false;
}

/* Whether the point is beyond a thin solid, or inside it and nearer to another side. Lines inside a solid, as points, have contacts only
 * with the nearest feature. */
static bool surface_is_elsewhere(const surface_contact *c, const surface_inside *in)
{
  const int32_t solid = c->body[in->star->node[0]];
  question      p     = {.in = *in, .high = 1.0};
  double        d[3], min[3], max[3];
  int32_t       found[BOX_TREE_WIDTH];
  box_walk      walk;
  v3_sub(d, in->to, in->from);
  p.distance = v3_norm(d);
  for (int k = 0; k < 3; ++k) min[k] = in->to[k] - p.distance, max[k] = in->to[k] + p.distance;
  broad_phase_walk_triangles(c->broad, min, max, &walk);
  for (int n = box_walk_next(&walk, found); n > 0; n = box_walk_next(&walk, found))
    for (int k = 0; k < n; ++k)
      if (surface_body_of_triangle(c, found[k]) == solid && is_taken(c, found[k], &p)) return true;
  return is_shallow(&p);
}

/* ---- points against triangles ---- */

static const double flat                  = 1e-6; /* sine of the angle below which an edge or vertex is part of a flat face */
static const double point_sweep_tolerance = 1e-6; /* relative to the longest edge */
/* Sine of the angle by which a surface may rise next to an outermost vertex that has a contact. It is large because, if a dent fits a
 * bump, the surroundings rise by half an edge length divided by the radius of the bump. */
static const double rise_tolerance = 0.5;

/* ---- contacts within the margin ---- */

/* Whether the closest point of triangle t, on its side i, is also a local minimum for the neighbour there, and t is the lower number. */
static bool owns_side(const surface_contact *c, const double *x, int32_t t, int i, const double p[3])
{
  const int64_t   at    = 3 * (int64_t)t + i;
  const int32_t   other = c->topology->neighbor[at];
  double          a[9];
  surface_nearest near;
  if (other < 0) return true;
  if (other < t) return false;
  surface_corners(c, x, other, a);
  surface_nearest_on(a, p, &near);
  return near.w[c->topology->neighbor_side[at]] == 0.0;
}

/* As owns_side, for a closest point at corner i and all adjacent triangles. */
static bool owns_corner(const surface_contact *c, const double *x, int32_t t, int i, const double p[3])
{
  const triangle_topology *o      = c->topology;
  const int32_t            vertex = o->tri[3 * (int64_t)t + i];
  double                   a[9];
  surface_nearest          near;
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k) {
    const int32_t other = o->fan[k];
    if (other < t) return false;
    if (other == t) continue;
    surface_corners(c, x, other, a);
    surface_nearest_on(a, p, &near);
    if (near.w[triangle_topology_corner(o, other, vertex)] != 1.0) return false;
  }
  return true;
}

/* Whether triangle t is perpendicular to the unit vector n. */
static bool is_in_plane(const surface_contact *c, const double *x, int32_t t, const double n[3])
{
  double a[9], m[3], sine[3];
  surface_corners(c, x, t, a);
  if (!surface_face_normal(a, m)) return true;
  v3_cross(sine, m, n);
  return v3_dot(m, n) > 0.0 && v3_dot(sine, sine) <= flat * flat;
}

/* Whether all triangles around a vertex are perpendicular to the unit vector n. False at a border. */
static bool is_flat_around(const surface_contact *c, const double *x, int32_t vertex, const double n[3])
{
  const triangle_topology *o = c->topology;
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k) {
    const int32_t t  = o->fan[k];
    const int     at = triangle_topology_corner(o, t, vertex);
    if (!is_in_plane(c, x, t, n)) return false;
    for (int i = 1; i < 3; ++i)
      if (o->neighbor[3 * (int64_t)t + (at + i) % 3] < 0) return false;
  }
  return true;
}

/* Feature of t at the given weights, its outward normal, and whether all triangles at the feature lie in one plane. In that case the normal
 * is that of the plane, independently of round-off in the position. False if the feature belongs to another triangle, or the distance has
 * no minimum there. */
static bool feature_of(const surface_contact *c, const double *x, int32_t t, const double a[9], const double w[3], const double p[3],
                       int32_t *feature, double normal[3], bool *is_flat)
{
  const triangle_topology *o    = c->topology;
  const int                zero = (w[0] == 0.0) + (w[1] == 0.0) + (w[2] == 0.0);
  *feature                      = t;
  *is_flat                      = zero == 0;
  if (!surface_face_normal(a, normal)) return false;
  if (zero == 0) return true;
  if (zero == 1) {
    const int     i     = w[0] == 0.0 ? 0 : w[1] == 0.0 ? 1 : 2;
    const int32_t other = o->neighbor[3 * (int64_t)t + i];
    double        b[9], m[3];
    if (!owns_side(c, x, t, i, p)) return false;
    *feature = (int32_t)o->n_triangles + o->side_edge[3 * (int64_t)t + i];
    if (other < 0) return true;
    *is_flat = is_in_plane(c, x, other, normal);
    surface_corners(c, x, other, b);
    if (surface_face_normal(b, m)) v3_add(normal, normal, m);
    return true;
  }
  const int     i      = w[0] == 1.0 ? 0 : w[1] == 1.0 ? 1 : 2;
  const int32_t vertex = o->tri[3 * (int64_t)t + i];
  if (!owns_corner(c, x, t, i, p)) return false;
  *feature = (int32_t)(o->n_triangles + o->n_edges) + vertex;
  *is_flat = is_flat_around(c, x, vertex, normal);
  surface_vertex_normal(c, x, vertex, normal);
  return true;
}

/* Whether a point is outermost on its surface against the normal; true if it is no vertex of a surface. */
static bool faces(const surface_contact *c, int32_t vertex, const double normal[3])
{
  const triangle_topology *o = c->topology;
  for (int32_t k = o->fan_start[vertex]; k < o->fan_start[vertex + 1]; ++k)
    for (int i = 0; i < 3; ++i) {
      double e[3];
      v3_sub(e, surface_at(c->x0, o->tri[3 * (int64_t)o->fan[k] + i]), surface_at(c->x0, vertex));
      if (-v3_dot(e, normal) > rise_tolerance * v3_norm(e)) return false;
    }
  return true;
}

static bool is_own_point(const surface_contact *c, int32_t vertex, int32_t t, const double w[3], double distance)
{
  const double one = 1.0;
  if (c->body[vertex] != surface_body_of_triangle(c, t)) return false;
  return !surface_has_folded(c, 1, &vertex, &one, 3, c->topology->tri + 3 * (int64_t)t, w, distance);
}

static double longest_side(const double a[9])
{
  double most = 0.0;
  for (int k = 0; k < 3; ++k) {
    double e[3];
    v3_sub(e, a + 3 * ((k + 1) % 3), a + 3 * k);
    most = fmax(most, v3_norm(e));
  }
  return most;
}

/* Outward direction of the closed surface among the two; if the contact direction is opposite to it, the surfaces penetrate. */
static void outside(const surface_contact *c, int32_t vertex, int32_t t, const double surface_normal[3], const double between[3],
                    double out[3])
{
  v3_copy(out, between);
  if (c->is_closed[surface_body_of_triangle(c, t)]) v3_copy(out, surface_normal);
  else if (surface_vertex_is_closed(c, vertex)) {
    surface_vertex_normal(c, c->x0, vertex, out);
    v3_scale(out, -1.0, out);
  }
}

static bool point_touches(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  const int32_t   vertex = c->point[point];
  const double    radius = c->radius[point], skin = surface_point_skin(c, point, t), *p = surface_at(c->x0, vertex);
  double          a[9], own[3], between[3], outwards[3];
  surface_nearest near;
  bool            is_flat;
  surface_corners(c, c->x0, t, a);
  surface_nearest_on(a, p, &near);
  if (!(near.distance < radius + skin + c->margin) || is_own_point(c, vertex, t, near.w, near.distance)) return false;
  *out = (surface_spot){.kind = SURFACE_POINT, .first = point, .second = t};
  if (!feature_of(c, c->x0, t, a, near.w, p, &out->feature, own, &is_flat)) return false;
  v3_sub(between, p, near.x);
  outside(c, vertex, t, own, between, outwards);
  const bool has_side = skin > 0.0 && !is_at_border(c, out->feature);
  const int  stored   = has_side ? stored_side(c, out) : 0;
  if (stored) v3_scale(outwards, stored, own);
  const double side = v3_dot(between, outwards) < 0.0 ? -1.0 : 1.0;
  /* For distances of the order of round-off, the difference of the two points has no direction. */
  if (is_flat || !(near.distance > 2.0 * weight_snap * longest_side(a)))
    v3_scale(out->normal, (v3_dot(own, outwards) < 0.0 ? -1.0 : 1.0) / v3_norm(own), own);
  else v3_scale(out->normal, side / near.distance, between);
  out->gap = side * near.distance - radius - skin;
  for (int k = 0; k < 3; ++k) out->weight[k] = near.w[k], out->x[0][k] = p[k], out->x[1][k] = near.x[k];
  if (has_side) out->side = v3_dot(out->normal, own) < 0.0 ? -1 : 1;
  return faces(c, vertex, out->normal);
}

/* ---- swept contacts ---- */

static double largest_motion(const surface_contact *c, int32_t vertex, int32_t t)
{
  double own[3], most = 0.0;
  v3_sub(own, surface_at(c->x1, vertex), surface_at(c->x0, vertex));
  for (int k = 0; k < 3; ++k) {
    const int32_t v = c->topology->tri[3 * (int64_t)t + k];
    double        d[3];
    for (int i = 0; i < 3; ++i) d[i] = own[i] - (surface_at(c->x1, v)[i] - surface_at(c->x0, v)[i]);
    most = fmax(most, v3_norm(d));
  }
  return most;
}

static bool point_comes_near(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  const int32_t   vertex    = c->point[point];
  const bool      is_closed = c->is_closed[surface_body_of_triangle(c, t)];
  const double    radius = c->radius[point], skin = surface_point_skin(c, point, t);
  double          x0[12], x1[12], n[3], between[3];
  surface_nearest near;
  ccd_hit         hit;
  v3_copy(x0, surface_at(c->x0, vertex));
  v3_copy(x1, surface_at(c->x1, vertex));
  surface_corners(c, c->x0, t, x0 + 3);
  surface_corners(c, c->x1, t, x1 + 3);
  surface_nearest_on(x0 + 3, x0, &near);
  if (near.distance < radius + skin + c->margin || near.distance - largest_motion(c, vertex, t) > radius + skin) return false;
  const ccd_limits limits = {.separation = radius + skin, .tolerance = point_sweep_tolerance * c->skin / SURFACE_SKIN};
  if (!ccd_point_triangle_conservative(x0, x1, &limits, &hit)) return false;
  for (int k = 0; k < 12; ++k) x1[k] = (1.0 - hit.t) * x0[k] + hit.t * x1[k];
  const double w[3] = {1.0 - hit.u - hit.v, hit.u, hit.v};
  if (!surface_face_normal(x1 + 3, n)) return false;
  *out = (surface_spot){.kind = SURFACE_POINT, .is_swept = true, .first = point, .second = t, .feature = t};
  for (int k = 0; k < 3; ++k) {
    out->weight[k] = w[k], out->x[0][k] = x0[k];
    out->x[1][k] = w[0] * x0[3 + k] + w[1] * x0[6 + k] + w[2] * x0[9 + k];
  }
  v3_sub(between, out->x[0], out->x[1]);
  const double side = v3_dot(between, n) < 0.0 ? -1.0 : 1.0;
  if (is_closed && side < 0.0) return false; /* the point moves out of the solid */
  if (radius + skin > 0.0 && v3_norm(hit.normal) > 0.5) v3_copy(out->normal, hit.normal);
  else v3_scale(out->normal, side, n);
  out->gap = v3_dot(between, out->normal) - radius - skin;
  if (skin > 0.0) out->side = v3_dot(out->normal, n) < 0.0 ? -1 : 1;
  return out->gap > -radius - skin && faces(c, vertex, out->normal) && !is_own_point(c, vertex, t, w, 0.0);
}

/* Contact of a candidate pair of a point and a triangle; false if it has none. */
static bool surface_point_spot(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  return point_touches(c, point, t, out) || (c->x1 && point_comes_near(c, point, t, out));
}

/* ---- edges against edges ---- */

/* Sine of the angle below which edges are parallel; contacts of their ends with triangles are used then. */
static const double parallel_tolerance = 1e-3;
/* Sine of the angle by which an adjacent triangle must descend from an edge that is not flat. */
static const double flat_tolerance       = 1e-3;
static const double edge_sweep_tolerance = 1e-6;
/* Cosine of the angle between a contact normal and that of the surface, below which the side is not stored. */
static const double least_cosine = 0.3;
typedef struct {
  bool      is_rigid[2];
  bool      is_fibre; /* the first is a segment of a fibre */
  edge_star star[2];
  double    radius, skin;
  double    x0[24], x1[24]; /* positions of the nodes of both stars; missing nodes are replaced by those of the edge */
} edges;

static void star_corners(const double *x, const edge_star *star, double out[12])
{
  for (int k = 0; k < 4; ++k) v3_copy(out + 3 * k, surface_at(x, star->node[star->node[k] < 0 ? 0 : k]));
}

static void edges_fill(const surface_contact *c, int32_t first, int32_t second, edges *p)
{
  const int64_t n            = c->topology->n_edges;
  const bool    is_closed[2] = {c->is_closed[c->body[surface_edge(c, first)[0]]], c->is_closed[c->body[surface_edge(c, second)[0]]]};
  for (int k = 0; k < 2; ++k) p->is_rigid[k] = c->is_rigid[c->body[surface_edge(c, k ? second : first)[0]]];
  p->is_fibre = first >= n;
  p->radius   = p->is_fibre ? c->radius[c->n_points + first - n] : 0.0;
  p->skin     = is_closed[1] || (!p->is_fibre && is_closed[0]) ? 0.0 : c->skin;
  if (p->is_fibre) p->star[0] = (edge_star){.node = {surface_edge(c, first)[0], surface_edge(c, first)[1], -1, -1}};
  else edge_star_fill(c->topology, is_closed[0], first, &p->star[0]);
  edge_star_fill(c->topology, is_closed[1], second, &p->star[1]);
  for (int k = 0; k < 2; ++k) star_corners(c->x0, &p->star[k], p->x0 + 12 * k);
  for (int k = 0; k < 2 && c->x1; ++k) star_corners(c->x1, &p->star[k], p->x1 + 12 * k);
}

/* Whether an adjacent triangle descends from an edge with respect to n; true at a border, where a triangle is missing. */
static bool is_sharp(const edge_star *star, const double x[12], const double n[3])
{
  double e[3], m[3];
  v3_sub(e, x + 3, x);
  for (int k = 2; k < 4; ++k) {
    if (star->node[k] < 0) return true;
    v3_sub(m, x + 3 * k, x);
    v3_axpy(m, -v3_dot(m, e) / v3_dot(e, e), e);
    if (v3_dot(m, n) < -flat_tolerance * v3_norm(m)) return true;
  }
  return false;
}

/* Whether these edges can have a contact along n, from the second to the first. On closed surfaces only outermost edges can; open surfaces
 * have no inside. Other features have the contacts of two edges in flat faces, and of fibres on flat faces. */
static bool is_outermost(const edges *p, const double x[24], const double n[3])
{
  const double down[3]        = {-n[0], -n[1], -n[2]};
  const bool   is_sharp_first = !p->is_fibre && is_sharp(&p->star[0], x, down), is_sharp_second = is_sharp(&p->star[1], x + 12, n);
  if (!is_sharp_first && !is_sharp_second) return false;
  if ((p->is_rigid[0] && !p->is_fibre && !is_sharp_first) || (p->is_rigid[1] && !is_sharp_second)) return false;
  return (!p->star[0].is_closed || edge_star_is_outermost(&p->star[0], x, down)) &&
         (!p->star[1].is_closed || edge_star_is_outermost(&p->star[1], x + 12, n));
}

static bool across(const double x[24], double n[3])
{
  double a[3], b[3];
  v3_sub(a, x + 3, x);
  v3_sub(b, x + 15, x + 12);
  v3_cross(n, a, b);
  const double length = v3_norm(n);
  if (!(length > parallel_tolerance * v3_norm(a) * v3_norm(b))) return false;
  v3_scale(n, 1.0 / length, n);
  return true;
}

static void fill_edge_spot(const edges *p, double s, double t, surface_spot *out)
{
  double between[3];
  out->weight[0] = s, out->weight[1] = t;
  for (int k = 0; k < 3; ++k) {
    out->x[0][k] = p->x0[k] + s * (p->x0[3 + k] - p->x0[k]);
    out->x[1][k] = p->x0[12 + k] + t * (p->x0[15 + k] - p->x0[12 + k]);
  }
  v3_sub(between, out->x[0], out->x[1]);
  out->gap = v3_dot(between, out->normal) - p->radius - p->skin;
}

static bool are_own_edges(const surface_contact *c, const edges *p, double s, double t, double distance)
{
  const double a[2] = {1.0 - s, s}, b[2] = {1.0 - t, t};
  if (c->body[p->star[0].node[0]] != c->body[p->star[1].node[0]]) return false;
  return !surface_has_folded(c, 2, p->star[0].node, a, 2, p->star[1].node, b, distance);
}

static bool is_deep_elsewhere(const surface_contact *c, const edges *p, const surface_spot *s)
{
  for (int k = 0; k < 2; ++k) {
    const surface_inside in = {&p->star[k], p->x0 + 12 * k, p->x0 + 12 * (1 - k), s->x[k], s->x[1 - k], s->weight[1 - k]};
    if (p->star[k].is_closed && surface_is_elsewhere(c, &in)) return true;
  }
  return false;
}

/* Normal of the sheet at its edge, not a unit vector; false at a border and for contacts without skin. */
static bool sheet_normal(const surface_contact *c, const edges *p, int32_t second, double n[3])
{
  const int        sheet = sheet_of_edges(c, second);
  const edge_star *star  = &p->star[sheet];
  const double    *x     = p->x0 + 12 * (int64_t)sheet;
  double           e[3], d[3], m[3];
  v3_set(n, 0.0, 0.0, 0.0);
  if (!(p->skin > 0.0) || star->node[2] < 0 || star->node[3] < 0) return false;
  v3_sub(e, x + 3, x);
  for (int k = 2; k < 4; ++k) {
    v3_sub(d, x + 3 * k, x);
    v3_cross(m, e, d);
    v3_axpy(n, (k == 2 ? 1.0 : -1.0) / v3_norm(m), m);
  }
  return true;
}

static bool edges_touch(const surface_contact *c, const edges *p, const segment_nearest *near, surface_spot *out)
{
  double n[3], sheet[3], between = 0.0;
  bool   is_inside = false;
  if (!(near->distance < p->radius + p->skin + c->margin)) return false;
  if (!(near->s > 0.0 && near->s < 1.0 && near->t > 0.0 && near->t < 1.0) || !across(p->x0, n)) return false;
  if (are_own_edges(c, p, near->s, near->t, near->distance)) return false;
  for (int k = 0; k < 3; ++k)
    between += n[k] * (p->x0[k] + near->s * (p->x0[3 + k] - p->x0[k]) - p->x0[12 + k] - near->t * (p->x0[15 + k] - p->x0[12 + k]));
  const bool has_side = sheet_normal(c, p, out->second, sheet) && fabs(v3_dot(n, sheet)) > least_cosine * v3_norm(sheet);
  const int  stored   = has_side ? stored_side(c, out) : 0;
  if (stored ? stored * v3_dot(n, sheet) < 0.0 : between < 0.0) v3_scale(n, -1.0, n);
  if (has_side) out->side = v3_dot(n, sheet) < 0.0 ? -1 : 1;
  if (!is_outermost(p, p->x0, n)) { /* otherwise they penetrate */
    v3_scale(n, -1.0, n);
    if (!(p->star[0].is_closed || p->star[1].is_closed) || !is_outermost(p, p->x0, n)) return false;
    is_inside = true;
  }
  v3_copy(out->normal, n);
  fill_edge_spot(p, near->s, near->t, out);
  return !is_inside || !(near->distance > c->skin) || !is_deep_elsewhere(c, p, out);
}

static bool edges_come_near(const surface_contact *c, const edges *p, surface_spot *out)
{
  double       x0[12], x1[12], x[24], n[3];
  ccd_hit      hit;
  const double separation = p->radius + p->skin;
  memcpy(x0, p->x0, 6 * sizeof *x0), memcpy(x0 + 6, p->x0 + 12, 6 * sizeof *x0);
  memcpy(x1, p->x1, 6 * sizeof *x1), memcpy(x1 + 6, p->x1 + 12, 6 * sizeof *x1);
  const ccd_limits limits = {.separation = separation, .tolerance = edge_sweep_tolerance * c->skin / SURFACE_SKIN};
  if (ccd_boxes_are_apart(x0, x1, 2, separation) || !ccd_edge_edge_conservative(x0, x1, &limits, &hit)) return false;
  if (!(fmin(hit.u, hit.v) > SEGMENT_SNAP && fmax(hit.u, hit.v) < 1.0 - SEGMENT_SNAP) || are_own_edges(c, p, hit.u, hit.v, 0.0))
    return false;
  for (int k = 0; k < 24; ++k) x[k] = (1.0 - hit.t) * p->x0[k] + hit.t * p->x1[k];
  if (!across(x, n)) return false;
  v3_copy(out->normal, n);
  fill_edge_spot(p, hit.u, hit.v, out);
  if (separation > 0.0 ? v3_dot(hit.normal, n) < 0.0 : out->gap < 0.0) {
    v3_scale(out->normal, -1.0, n);
    fill_edge_spot(p, hit.u, hit.v, out);
  }
  out->is_swept = true;
  if (sheet_normal(c, p, out->second, n) && fabs(v3_dot(out->normal, n)) > least_cosine * v3_norm(n))
    out->side = v3_dot(out->normal, n) < 0.0 ? -1 : 1;
  return out->gap > -separation && is_outermost(p, x, out->normal);
}

static bool surface_edge_spot(const surface_contact *c, int32_t first, int32_t second, surface_spot *out)
{
  const int64_t   n = c->topology->n_edges;
  segment_nearest near;
  edges           p;
  if (first < n && second >= n) { /* the second is the edge of a surface */
    const int32_t other = first;
    first = second, second = other;
  }
  if (second >= n) return false; /* two fibres */
  edges_fill(c, first, second, &p);
  segment_pair_nearest(p.x0, p.x0 + 12, &near, NULL);
  *out = (surface_spot){.kind = SURFACE_EDGE, .first = first, .second = second};
  if (near.distance < p.radius + p.skin + c->margin) return edges_touch(c, &p, &near, out);
  return c->x1 && edges_come_near(c, &p, out);
}

/* ---- creation and search ---- */

enum { CHUNK = 128, SERIAL_LIMIT = 512 };

/* ---- creation ---- */

void surface_contact_destroy(surface_contact **out)
{
  if (!out || !*out) return;
  surface_contact *c = *out;
  MEMORY_FREE(&c->point, &c->segment, &c->body, &c->can_touch, &c->is_closed, &c->is_rigid, &c->radius, &c->rest, &c->flags, &c->spot);
  triangle_topology_destroy(&c->topology);
  broad_phase_destroy(&c->broad);
  memory_free(out);
}

static PetscErrorCode create_broad_phase(surface_contact *c)
{
  const int64_t  n_edges = c->topology->n_edges;
  int32_t       *edge;
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface contacts", 2 * (n_edges + c->n_segments), sizeof *edge, &edge));
  if (n_edges > 0) memcpy(edge, c->topology->edge, 2 * (size_t)n_edges * sizeof *edge);
  if (c->n_segments > 0) memcpy(edge + 2 * n_edges, c->segment, 2 * (size_t)c->n_segments * sizeof *edge);
  const broad_phase_surfaces all = {
      c->n_vertices, c->n_points, n_edges + c->n_segments, c->topology->n_triangles, c->point, edge, c->topology->tri, c->n_bodies, c->body,
      c->can_touch,  c->pairs};
  code = broad_phase_create(&all, &c->broad);
  memory_free(&edge);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_set(const surface_set *s, surface_contact *c)
{
  const int64_t n = s->n_vertices;
  PetscFunctionBegin;
  c->n_vertices = n, c->n_points = s->n_points, c->n_segments = s->n_segments, c->n_bodies = s->n_bodies, c->pairs = s->pairs;
  PetscCall(memory_copy("surface contacts", s->n_points, sizeof *c->point, s->point, &c->point));
  PetscCall(memory_copy("surface contacts", 2 * s->n_segments, sizeof *c->segment, s->segment, &c->segment));
  PetscCall(memory_copy("surface contacts", n, sizeof *c->body, s->body, &c->body));
  PetscCall(memory_copy("surface contacts", pair_n_slots(s->pairs, s->n_bodies), sizeof *c->can_touch, s->can_touch, &c->can_touch));
  PetscCall(memory_copy("surface contacts", s->n_points + s->n_segments, sizeof *c->radius, s->radius, &c->radius));
  PetscCall(memory_copy("surface contacts", s->n_bodies, sizeof *c->is_rigid, s->is_rigid, &c->is_rigid));
  PetscCall(memory_copy("surface contacts", s->rest ? 3 * n : 0, sizeof *c->rest, s->rest, &c->rest));
  PetscCall(memory_alloc("surface contacts", s->n_bodies, sizeof *c->is_closed, &c->is_closed));
  for (int64_t i = 0; i < s->n_points + s->n_segments; ++i) {
    PetscCheck(s->radius[i] >= 0.0 && isfinite(s->radius[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "expected a contact radius >= 0");
    c->thickest = fmax(c->thickest, s->radius[i]);
  }
  PetscCall(triangle_topology_create(n, s->n_triangles, s->triangle, &c->topology));
  PetscCall(create_broad_phase(c)); /* checks all vertices and bodies */
  for (int32_t i = 0; i < s->n_bodies; ++i) c->is_closed[i] = true;
  for (int64_t e = 0; e < c->topology->n_edges; ++e)
    if (c->topology->edge_triangle[2 * e + 1] < 0) c->is_closed[c->body[c->topology->edge[2 * e]]] = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode surface_contact_create(const surface_set *set, surface_contact **out)
{
  surface_contact *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("surface contacts", 1, sizeof *c, &c));
  const PetscErrorCode code = fill_set(set, c);
  if (code) surface_contact_destroy(&c);
  PetscCall(code);
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const triangle_topology *surface_contact_topology(const surface_contact *c) { return c->topology; }

/* ---- search ---- */

/* Mean edge length of the surfaces in their current shape; summed in chunks of fixed size. */
static double mean_edge(const surface_contact *c, const double *x)
{
  const int64_t n   = c->topology->n_edges;
  double        sum = 0.0;
  for (int64_t e = 0; e < n; ++e) {
    double d[3];
    v3_sub(d, surface_at(x, c->topology->edge[2 * e]), surface_at(x, c->topology->edge[2 * e + 1]));
    sum += v3_norm(d);
  }
  return n > 0 ? sum / (double)n : 0.0;
}

typedef bool make_spot(const surface_contact *c, int32_t first, int32_t second, surface_spot *out);

static PetscErrorCode surface_contact_collect(surface_contact *c, int64_t n, const broad_phase_pair *pair, make_spot *make)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("surface contacts", n, sizeof *c->flags, &c->flag_capacity, &c->flags));
  uint8_t *const flags = c->flags;
  int64_t        total = 0;
#pragma omp parallel for schedule(dynamic, CHUNK) reduction(+ : total) if (n > SERIAL_LIMIT)
  for (int64_t k = 0; k < n; ++k) {
    surface_spot spot;
    flags[k] = make(c, pair[k].first, pair[k].second, &spot);
    total += flags[k];
  }
  PetscCall(memory_reserve("surface contacts", c->n_spots + total, sizeof *c->spot, &c->spot_capacity, &c->spot));
  for (int64_t k = 0; k < n; ++k)
    if (flags[k]) make(c, pair[k].first, pair[k].second, &c->spot[c->n_spots++]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int by_feature(const void *a, const void *b)
{
  const surface_spot *p = a, *q = b;
  if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
  if (p->first != q->first) return p->first < q->first ? -1 : 1;
  const int32_t i = p->kind == SURFACE_POINT ? p->feature : p->second, j = q->kind == SURFACE_POINT ? q->feature : q->second;
  if (i != j) return i < j ? -1 : 1;
  return (int)p->is_swept - (int)q->is_swept;
}

/* Reduce the spots [n] of one point and one body: of a point inside only the nearest contact remains; of a point outside those from inside
 * are removed; swept contacts are removed if there are others. Returns the number of remaining spots. */
static int64_t reduce_point(surface_spot *spot, int64_t n, double radius)
{
  int64_t nearest = 0, m = 0;
  bool    any_touches = false;
  for (int64_t k = 0; k < n; ++k) any_touches |= !spot[k].is_swept;
  for (int64_t k = 1; k < n; ++k)
    if (spot[k].is_swept <= spot[nearest].is_swept &&
        (spot[k].is_swept < spot[nearest].is_swept || fabs(spot[k].gap + radius) < fabs(spot[nearest].gap + radius)))
      nearest = k;
  const bool is_inside = any_touches && spot[nearest].gap + radius < 0.0;
  for (int64_t k = 0; k < n; ++k) {
    const bool stays = !any_touches ? k == nearest : is_inside ? k == nearest : !spot[k].is_swept && spot[k].gap + radius >= 0.0;
    if (stays) spot[m++] = spot[k];
  }
  return m;
}

static void reduce_points(surface_contact *c)
{
  int64_t m = 0;
  for (int64_t k = 0, end; k < c->n_spots; k = end) {
    const int32_t point = c->spot[k].first, sheet = surface_body_of_triangle(c, c->spot[k].second);
    const double  skin = surface_point_skin(c, point, c->spot[k].second);
    for (end = k + 1; end < c->n_spots && c->spot[end].first == point && surface_body_of_triangle(c, c->spot[end].second) == sheet; ++end) {
    }
    const int64_t left = reduce_point(c->spot + k, end - k, c->radius[point] + skin);
    memmove(c->spot + m, c->spot + k, (size_t)left * sizeof *c->spot);
    m += left;
  }
  c->n_spots = m;
}

PetscErrorCode surface_contact_run(surface_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                   const surface_spot **out, int64_t *bad)
{
  int64_t                 n_pairs;
  const broad_phase_pair *pair;
  PetscFunctionBegin;
  const double edge = mean_edge(c, x0);
  c->skin           = SURFACE_SKIN * edge;
  c->margin         = fmin(margin, 0.5 * edge);
  PetscCall(broad_phase_update(c->broad, x0, x1 ? x1 : x0, isfinite(edge) ? c->margin + c->skin + c->thickest : 0.0, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  c->x0 = x0, c->x1 = x1, c->n_spots = 0;
  PetscCall(broad_phase_point_triangle(c->broad, &n_pairs, &pair));
  PetscCall(surface_contact_collect(c, n_pairs, pair, surface_point_spot));
  reduce_points(c);
  PetscCall(broad_phase_edge_edge(c->broad, &n_pairs, &pair));
  PetscCall(surface_contact_collect(c, n_pairs, pair, surface_edge_spot));
  if (c->n_spots > 1) qsort(c->spot, (size_t)c->n_spots, sizeof *c->spot, by_feature);
  c->x0 = c->x1 = NULL;
  *n            = c->n_spots;
  *out          = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}
