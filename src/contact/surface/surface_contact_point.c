#include "geometry/collision/ccd.h"
#include "contact/surface/surface_contact_internal.h"
#include "core/math3.h"

static const double snap            = 1e-9; /* weights below are 0 */
static const double flat            = 1e-6; /* sine of an angle at an edge or vertex that is none */
static const double sweep_tolerance = 1e-6; /* of the longest edge */
/* Sine by which a surface may rise beside a vertex that touches: much, since where a dent fits a bump all around rises, by half
 * an edge over the bump's radius. What lies beside a vertex in the same plane is at a right angle. */
static const double rise_tolerance = 0.5;

bool surface_face_normal(const double a[9], double n[3])
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

static void take(const double a[9], const double w[3], const double p[3], surface_nearest *best)
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

void surface_nearest_on(const double a[9], const double p[3], surface_nearest *out)
{
  double n[3], m[3], e[3], d[3], w[3];
  *out = (surface_nearest){.distance = INFINITY}; /* stays so where the corners are not finite */
  for (int i = 0; i < 3; ++i) { /* sides, i opposite */
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    v3_sub(e, a + 3 * k, a + 3 * j);
    v3_sub(d, p, a + 3 * j);
    const double ee = v3_dot(e, e), s = ee > 0.0 ? v3_dot(d, e) / ee : 0.0, t = s > snap ? (s < 1.0 - snap ? s : 1.0) : 0.0;
    w[i] = 0.0, w[j] = 1.0 - t, w[k] = t;
    take(a, w, p, out);
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
  if (w[0] > snap && w[1] > snap && w[2] > snap) take(a, w, p, out);
}

/* ---- touching ---- */

/* Is the nearest point of triangle t, on its side i, a local minimum for its neighbour too, and t the lower of both? */
static bool owns_side(const surface_contact *c, const double *x, int32_t t, int i, const double p[3])
{
  const int64_t at    = 3 * (int64_t)t + i;
  const int32_t other = c->topology->neighbor[at];
  double        a[9];
  surface_nearest near;
  if (other < 0) return true;
  if (other < t) return false;
  surface_corners(c, x, other, a);
  surface_nearest_on(a, p, &near);
  return near.w[c->topology->neighbor_side[at]] == 0.0;
}

/* ... at its corner i, for all around. */
static bool owns_corner(const surface_contact *c, const double *x, int32_t t, int i, const double p[3])
{
  const triangle_topology *o      = c->topology;
  const int32_t            vertex = o->tri[3 * (int64_t)t + i];
  double                   a[9];
  surface_nearest           near;
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

/* Does triangle t lie in the plane of unit normal n? */
static bool is_in_plane(const surface_contact *c, const double *x, int32_t t, const double n[3])
{
  double a[9], m[3], sine[3];
  surface_corners(c, x, t, a);
  if (!surface_face_normal(a, m)) return true;
  v3_cross(sine, m, n);
  return v3_dot(m, n) > 0.0 && v3_dot(sine, sine) <= flat * flat;
}

/* Does all around a vertex lie in the plane of unit normal n? Not at a border, beside which there is nothing. */
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

/* The feature of t that weights are on, the normal there that tells in from out, and whether all that meets there lies in one
 * plane: then that is the normal, wherever within rounding of the feature a point is. False if it belongs to another triangle, or
 * is no minimum. */
static bool feature_of(const surface_contact *c, const double *x, int32_t t, const double a[9], const double w[3],
                       const double p[3], int32_t *feature, double normal[3], bool *is_flat)
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

/* Is the point, if it is a vertex of a surface, outermost there against the normal? */
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

static bool is_own(const surface_contact *c, int32_t vertex, int32_t t, const double w[3], double distance)
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

/* Where the outside is, as far as one of the two knows: against it, they are in each other. */
static void outside(const surface_contact *c, int32_t vertex, int32_t t, const double surface_normal[3], const double between[3],
                    double out[3])
{
  v3_copy(out, between);
  if (c->is_closed[surface_body_of_triangle(c, t)])
    v3_copy(out, surface_normal);
  else if (surface_vertex_is_closed(c, vertex)) {
    surface_vertex_normal(c, c->x0, vertex, out);
    v3_scale(out, -1.0, out);
  }
}

static bool touches(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  const int32_t vertex = c->point[point];
  const double  radius = c->radius[point], skin = surface_point_skin(c, point, t), *p = surface_at(c->x0, vertex);
  double        a[9], own[3], between[3], outwards[3];
  surface_nearest near;
  bool            is_flat;
  surface_corners(c, c->x0, t, a);
  surface_nearest_on(a, p, &near);
  if (!(near.distance < radius + skin + c->margin) || is_own(c, vertex, t, near.w, near.distance)) return false;
  *out = (surface_spot){.kind = SURFACE_POINT, .first = point, .second = t};
  if (!feature_of(c, c->x0, t, a, near.w, p, &out->feature, own, &is_flat)) return false;
  v3_sub(between, p, near.x);
  outside(c, vertex, t, own, between, outwards);
  const double side = v3_dot(between, outwards) < 0.0 ? -1.0 : 1.0;
  /* The difference of two places that rounding keeps apart says nothing. */
  if (is_flat || !(near.distance > 2.0 * snap * longest_side(a)))
    v3_scale(out->normal, (v3_dot(own, outwards) < 0.0 ? -1.0 : 1.0) / v3_norm(own), own);
  else
    v3_scale(out->normal, side / near.distance, between);
  out->gap = side * near.distance - radius - skin;
  for (int k = 0; k < 3; ++k) out->weight[k] = near.w[k], out->x[0][k] = p[k], out->x[1][k] = near.x[k];
  return faces(c, vertex, out->normal);
}

/* ---- on the way ---- */

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

static bool comes_near(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  const int32_t vertex    = c->point[point];
  const bool    is_closed = c->is_closed[surface_body_of_triangle(c, t)];
  const double  radius = c->radius[point], skin = surface_point_skin(c, point, t);
  double        x0[12], x1[12], n[3], between[3];
  surface_nearest near;
  ccd_hit       hit;
  v3_copy(x0, surface_at(c->x0, vertex));
  v3_copy(x1, surface_at(c->x1, vertex));
  surface_corners(c, c->x0, t, x0 + 3);
  surface_corners(c, c->x1, t, x1 + 3);
  surface_nearest_on(x0 + 3, x0, &near);
  if (near.distance < radius + skin + c->margin || near.distance - largest_motion(c, vertex, t) > radius + skin) return false;
  const ccd_limits limits = {.separation = radius + skin, .tolerance = sweep_tolerance * c->skin / SURFACE_SKIN};
  if (!ccd_point_triangle_near(x0, x1, &limits, &hit)) return false;
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
  if (is_closed && side < 0.0) return false; /* out through the back */
  if (radius + skin > 0.0 && v3_norm(hit.normal) > 0.5)
    v3_copy(out->normal, hit.normal);
  else
    v3_scale(out->normal, side, n);
  out->gap = v3_dot(between, out->normal) - radius - skin;
  return out->gap > -radius - skin && faces(c, vertex, out->normal) && !is_own(c, vertex, t, w, 0.0);
}

bool surface_point_spot(const surface_contact *c, int32_t point, int32_t t, surface_spot *out)
{
  return touches(c, point, t, out) || (c->x1 && comes_near(c, point, t, out));
}
