#include "geometry/collision/ccd.h"
#include "geometry/primitive/segment_pair.h"
#include "contact/surface/surface_contact_internal.h"
#include "core/math3.h"

/* Sine of an angle below which edges lie along each other: then ends and points tell. */
static const double parallel_tolerance = 1e-3;
/* Sine by which a triangle must fall beside an edge that is not flat. */
static const double flat_tolerance  = 1e-3;
static const double sweep_tolerance = 1e-6;
typedef struct {
  bool      is_rigid[2];
  bool      is_fibre; /* the first */
  edge_star star[2];
  double    radius, skin;
  double    x0[24], x1[24]; /* of the stars' nodes; of those that are not there, the edge's */
} edges;

static void corners(const double *x, const edge_star *star, double out[12])
{
  for (int k = 0; k < 4; ++k) v3_copy(out + 3 * k, surface_at(x, star->node[star->node[k] < 0 ? 0 : k]));
}

static void edges_fill(const surface_contact *c, int32_t first, int32_t second, edges *p)
{
  const int64_t n         = c->topology->n_edges;
  const bool is_closed[2] = {c->is_closed[c->body[surface_edge(c, first)[0]]], c->is_closed[c->body[surface_edge(c, second)[0]]]};
  for (int k = 0; k < 2; ++k) p->is_rigid[k] = c->is_rigid[c->body[surface_edge(c, k ? second : first)[0]]];
  p->is_fibre = first >= n;
  p->radius   = p->is_fibre ? c->radius[c->n_points + first - n] : 0.0;
  p->skin     = is_closed[1] || (!p->is_fibre && is_closed[0]) ? 0.0 : c->skin;
  if (p->is_fibre)
    p->star[0] = (edge_star){.node = {surface_edge(c, first)[0], surface_edge(c, first)[1], -1, -1}};
  else
    edge_star_fill(c->topology, is_closed[0], first, &p->star[0]);
  edge_star_fill(c->topology, is_closed[1], second, &p->star[1]);
  for (int k = 0; k < 2; ++k) corners(c->x0, &p->star[k], p->x0 + 12 * k);
  for (int k = 0; k < 2 && c->x1; ++k) corners(c->x1, &p->star[k], p->x1 + 12 * k);
}

/* Does a triangle fall beside an edge, seen along n? A border has none on one side. */
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

/* May these edges touch along n, from the second to the first? Closed surfaces only with edges that are outermost; open ones
 * have no inside. Of edges that both lie in flat faces, and of fibres on flat ground, other features tell. */
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

static void fill(const edges *p, double s, double t, surface_spot *out)
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

static bool is_own(const surface_contact *c, const edges *p, double s, double t, double distance)
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

static bool touches(const surface_contact *c, const edges *p, const segment_nearest *near, surface_spot *out)
{
  double n[3], between = 0.0;
  bool   is_inside = false;
  if (!(near->distance < p->radius + p->skin + c->margin)) return false;
  if (!(near->s > 0.0 && near->s < 1.0 && near->t > 0.0 && near->t < 1.0) || !across(p->x0, n)) return false;
  if (is_own(c, p, near->s, near->t, near->distance)) return false;
  for (int k = 0; k < 3; ++k)
    between += n[k] * (p->x0[k] + near->s * (p->x0[3 + k] - p->x0[k]) - p->x0[12 + k] - near->t * (p->x0[15 + k] - p->x0[12 + k]));
  if (between < 0.0) v3_scale(n, -1.0, n);
  if (!is_outermost(p, p->x0, n)) { /* or they are in each other */
    v3_scale(n, -1.0, n);
    if (!(p->star[0].is_closed || p->star[1].is_closed) || !is_outermost(p, p->x0, n)) return false;
    is_inside = true;
  }
  v3_copy(out->normal, n);
  fill(p, near->s, near->t, out);
  return !is_inside || !(near->distance > c->skin) || !is_deep_elsewhere(c, p, out);
}

static bool comes_near(const surface_contact *c, const edges *p, surface_spot *out)
{
  double       x0[12], x1[12], x[24], n[3];
  ccd_hit      hit;
  const double separation = p->radius + p->skin;
  memcpy(x0, p->x0, 6 * sizeof *x0), memcpy(x0 + 6, p->x0 + 12, 6 * sizeof *x0);
  memcpy(x1, p->x1, 6 * sizeof *x1), memcpy(x1 + 6, p->x1 + 12, 6 * sizeof *x1);
  const ccd_limits limits = {.separation = separation, .tolerance = sweep_tolerance * c->skin / SURFACE_SKIN};
  if (ccd_boxes_are_apart(x0, x1, 2, separation) || !ccd_edge_edge_near(x0, x1, &limits, &hit)) return false;
  if (!(fmin(hit.u, hit.v) > SEGMENT_SNAP && fmax(hit.u, hit.v) < 1.0 - SEGMENT_SNAP) || is_own(c, p, hit.u, hit.v, 0.0))
    return false;
  for (int k = 0; k < 24; ++k) x[k] = (1.0 - hit.t) * p->x0[k] + hit.t * p->x1[k];
  if (!across(x, n)) return false;
  v3_copy(out->normal, n);
  fill(p, hit.u, hit.v, out);
  if (separation > 0.0 ? v3_dot(hit.normal, n) < 0.0 : out->gap < 0.0) {
    v3_scale(out->normal, -1.0, n);
    fill(p, hit.u, hit.v, out);
  }
  out->is_swept = true;
  return out->gap > -separation && is_outermost(p, x, out->normal);
}

bool surface_edge_spot(const surface_contact *c, int32_t first, int32_t second, surface_spot *out)
{
  const int64_t   n = c->topology->n_edges;
  segment_nearest near;
  edges           p;
  if (first < n && second >= n) { /* a surface's edge second */
    const int32_t other = first;
    first = second, second = other;
  }
  if (second >= n) return false; /* two fibres */
  edges_fill(c, first, second, &p);
  segment_pair_nearest(p.x0, p.x0 + 12, &near, NULL);
  *out = (surface_spot){.kind = SURFACE_EDGE, .first = first, .second = second};
  if (near.distance < p.radius + p.skin + c->margin) return touches(c, &p, &near, out);
  return c->x1 && comes_near(c, &p, out);
}
