/* Collision and crossing tests of two edges, see edge_pair.h. */
#include "contact/detection/edge_pair.h"
#include "geometry/collision/ccd.h"
#include "core/math3.h"
#include <float.h>

/* Distance of a collision relative to the longer edge: much larger than round-off, much smaller than any penetration. */
static const double ccd_tolerance = 1e-10;
/* Distance to an end, relative to the edge, below which the contact of the end point with a triangle is used instead. It has the size of
 * ccd_tolerance, within which points collide beside a triangle: contact must not vanish between the two, where blocks have coplanar faces. */
static const double end_tolerance = 1e-9;
/* Sine of the angle below which edges are parallel; then contacts of their ends with adjacent triangles are used. */
static const double parallel_tolerance = 1e-3;
/* Sine of the angle by which an adjacent triangle must descend from an edge that is not flat. Contacts that this limit excludes have a
 * penetration of less than 1/4000 of an edge. */
static const double flat_tolerance = 1e-3;

void edge_star_fill(const triangle_topology *t, bool is_closed, int32_t edge, edge_star *out)
{
  *out = (edge_star){.node = {-1, -1, -1, -1}, .is_closed = is_closed};
  for (int k = 0; k < 2; ++k) {
    const int64_t triangle = t->edge_triangle[2 * (int64_t)edge + k];
    if (triangle < 0) continue;
    const int32_t *v    = t->tri + 3 * triangle;
    const int      side = t->side_edge[3 * triangle] == edge ? 0 : t->side_edge[3 * triangle + 1] == edge ? 1 : 2;
    if (k == 0) out->node[0] = v[(side + 1) % 3], out->node[1] = v[(side + 2) % 3];
    out->node[2 + k] = v[side];
  }
}

/* Largest and smallest sine of the angles by which the triangles at an edge rise along n; false: n points into a closed surface. */
static bool rise_of(const edge_star *star, const double x[12], const double n[3], double *most, double *least)
{
  double e[3], out[3] = {0.0, 0.0, 0.0};
  v3_sub(e, x + 3, x);
  const double ee = v3_dot(e, e);
  *most           = -INFINITY;
  *least          = INFINITY;
  for (int k = 0; k < 2; ++k) {
    double m[3], normal[3];
    if (star->node[2 + k] < 0) continue;
    v3_sub(m, x + 6 + 3 * k, x);
    v3_axpy(m, -v3_dot(m, e) / ee, e);
    const double length = v3_norm(m), rise = v3_dot(m, n) / length;
    if (!(length * sqrt(ee) > DBL_MIN)) return false;
    v3_cross(normal, e, m);
    v3_axpy(out, (k == 0 ? 1.0 : -1.0) / (sqrt(ee) * length), normal);
    *most  = fmax(*most, rise);
    *least = fmin(*least, rise);
  }
  return *most <= EDGE_RISE && (!star->is_closed || v3_dot(out, n) > 0.0);
}

bool edge_star_is_outermost(const edge_star *star, const double x[12], const double n[3])
{
  double most, least;
  return rise_of(star, x, n, &most, &least);
}

/* Whether edge b is outermost along n and edge a along -n; x [8][3]: nodes of both stars, n from b to a. False if both edges lie in flat
 * faces, where contacts of points and of other edges suffice. */
static bool are_outermost(const edge_star star[2], const double x[24], const double n[3])
{
  const double down[3] = {-n[0], -n[1], -n[2]};
  double       most, least_a, least_b;
  return rise_of(&star[0], x, down, &most, &least_a) && rise_of(&star[1], x + 12, n, &most, &least_b) &&
         fmin(least_a, least_b) < -flat_tolerance;
}

static double volume(const double *p, const double *q, const double *r, const double *x)
{
  double e1[3], e2[3], e3[3], n[3];
  v3_sub(e1, q, p);
  v3_sub(e2, r, p);
  v3_sub(e3, x, p);
  v3_cross(n, e1, e2);
  return v3_dot(n, e3);
}

/* Whether edge p intersects a triangle adjacent to edge q; p, q [4][3]: nodes of their stars. */
static bool pierces(const double *p, const edge_star *star, const double *q)
{
  for (int k = 2; k < 4; ++k) {
    if (star->node[k] < 0 || !(volume(q, q + 3, q + 3 * k, p) * volume(q, q + 3, q + 3 * k, p + 3) < 0.0)) continue;
    const double a = volume(p, p + 3, q, q + 3), b = volume(p, p + 3, q + 3, q + 3 * k), c = volume(p, p + 3, q + 3 * k, q);
    if ((a > 0.0 && b > 0.0 && c > 0.0) || (a < 0.0 && b < 0.0 && c < 0.0)) return true;
  }
  return false;
}

bool edge_pair_is_crossed(const edge_star star[2], const double x[24], int32_t *side, double at[2], double *depth)
{
  double d_a[3], d_b[3], w[3], n[3];
  v3_sub(d_a, x + 3, x);
  v3_sub(d_b, x + 15, x + 12);
  v3_sub(w, x + 12, x);
  v3_cross(n, d_a, d_b);
  const double length = v3_norm(n), aa = v3_dot(d_a, d_a), ab = v3_dot(d_a, d_b), bb = v3_dot(d_b, d_b);
  if (!(length > parallel_tolerance * sqrt(aa * bb))) return false;
  const double aw = v3_dot(d_a, w), bw = v3_dot(d_b, w);
  const double s = (bb * aw - ab * bw) / (length * length), t = (ab * aw - aa * bw) / (length * length);
  if (!(fmin(s, 1.0 - s) > end_tolerance && fmin(t, 1.0 - t) > end_tolerance)) return false;
  const double height = v3_dot(w, n) / length; /* of b relative to a along n */
  *side               = height > 0.0 ? 1 : -1;
  *depth              = fabs(height);
  at[0]               = s;
  at[1]               = t;
  v3_scale(n, *side / length, n);
  return *depth > 0.0 && are_outermost(star, x, n) && (pierces(x, &star[1], x + 12) || pierces(x + 12, &star[0], x));
}

double edge_pair_reach(const double x0[12])
{
  double e[3], longest = 0.0;
  for (int k = 0; k < 2; ++k) {
    v3_sub(e, x0 + 6 * k + 3, x0 + 6 * k);
    longest = fmax(longest, v3_norm(e));
  }
  return ccd_tolerance * longest;
}

bool edge_pair_collides(const edge_star star[2], const double x0[24], const double x1[24], bool is_pair, int32_t *side, double at[3])
{
  double  from[12], to[12], x[24], d_a[3], d_b[3], n[3], inward = 0.0;
  ccd_hit hit;
  for (int k = 0; k < 6; ++k) from[k] = x0[k], to[k] = x1[k], from[6 + k] = x0[12 + k], to[6 + k] = x1[12 + k];
  const ccd_limits limits = {.separation = 0.0, .tolerance = edge_pair_reach(from)};
  if (!ccd_edge_edge_conservative(from, to, &limits, &hit)) return false;
  if (!(fmin(hit.u, 1.0 - hit.u) > end_tolerance && fmin(hit.v, 1.0 - hit.v) > end_tolerance)) return false;
  for (int k = 0; k < 24; ++k) x[k] = (1.0 - hit.t) * x0[k] + hit.t * x1[k];
  v3_sub(d_a, x + 3, x);
  v3_sub(d_b, x + 15, x + 12);
  v3_cross(n, d_a, d_b);
  const double length = v3_norm(n);
  if (!(length > parallel_tolerance * v3_norm(d_a) * v3_norm(d_b))) return false;
  for (int k = 0; k < 3; ++k) {
    const double move_a = (1.0 - hit.u) * (to[k] - from[k]) + hit.u * (to[3 + k] - from[3 + k]);
    const double move_b = (1.0 - hit.v) * (to[6 + k] - from[6 + k]) + hit.v * (to[9 + k] - from[9 + k]);
    inward -= (move_a - move_b) * n[k];
  }
  if (inward == 0.0) return false;
  *side = inward > 0.0 ? 1 : -1;
  at[0] = hit.u;
  at[1] = hit.v;
  at[2] = hit.t;
  v3_scale(n, *side / length, n);
  return is_pair || are_outermost(star, x, n);
}
