#include "geometry/collision/ccd.h"
#include "contact/fibre/fibre_contact_internal.h"
#include "core/math3.h"

enum { ENDS_OF_A = 1, ENDS_OF_B = 4, INSIDE = 16, SWEPT = 32 }; /* ends: << 1 the second */
static const double sweep_tolerance = 1e-6;                     /* of the separation */

typedef struct {
  int32_t i, j;
  double  a[6], b[6], radii, reach, flat, nearest_contact; /* the last: [m], INFINITY if the nearest is the inside of a bend */
  segment_nearest nearest, rim[4];                         /* rim: a's ends on b, b's ends on a */
} pair;

static double larger_radius(const fibre_contact *c, int32_t i, int32_t j) { return fmax(c->radius[i], c->radius[j]); }

static bool is_inside_of_bend(const fibre_contact *c, int32_t i, double s, int32_t j, double t)
{
  return fibre_arc_between(c, i, s, j, t) < M_PI * larger_radius(c, i, j);
}

/* False if balls around them are out of reach; then nothing is nearest. */
static bool pair_fill(const fibre_contact *c, int32_t i, int32_t j, bool is_wanted_anyhow, pair *p)
{
  double between[3], size = c->arc[i + 1] - c->arc[i] + (c->arc[j + 1] - c->arc[j]);
  p->i = i, p->j = j;
  p->radii = c->radius[i] + c->radius[j];
  p->reach = p->radii + c->margin;
  p->flat  = 0.5 * FIBRE_FLAT * p->radii;
  fibre_corners(c, c->x0, i, p->a);
  fibre_corners(c, c->x0, j, p->b);
  for (int k = 0; k < 3; ++k) between[k] = 0.5 * (p->a[k] + p->a[3 + k] - p->b[k] - p->b[3 + k]);
  if (!is_wanted_anyhow && v3_norm(between) > (0.5 * size + p->reach) * (1.0 + 1e-12)) return false;
  segment_pair_nearest(p->a, p->b, &p->nearest, p->rim);
  p->nearest_contact = is_inside_of_bend(c, i, p->nearest.s, j, p->nearest.t) ? INFINITY : p->nearest.distance;
  return true;
}

/* ---- touching ---- */

/* How near are two segments, if that is a contact; else INFINITY. */
static double distance_between(const fibre_contact *c, int32_t i, int32_t j)
{
  double          a[6], b[6];
  segment_nearest near;
  fibre_corners(c, c->x0, i, a);
  fibre_corners(c, c->x0, j, b);
  segment_pair_nearest(a, b, &near, NULL);
  return is_inside_of_bend(c, i, near.s, j, near.t) ? INFINITY : near.distance;
}

/* Vertex `end` of segment i with its nearest point on j: both their own, and none much nearer on the segments that meet there? */
static bool vertex_touches(const fibre_contact *c, const pair *p, int32_t i, int end, int32_t j, double t, double distance)
{
  if ((end == 1 && c->next[i] >= 0) || (t == 1.0 && c->next[j] >= 0)) return false;
  if (!(distance < p->reach && distance <= p->nearest_contact + p->flat)) return false;
  if (is_inside_of_bend(c, i, end, j, t)) return false;
  const int32_t at_vertex[2] = {i, end == 0 ? c->previous[i] : -1}, at_foot[2] = {j, t == 0.0 ? c->previous[j] : -1};
  for (int k = 0; k < 2; ++k)
    for (int l = 0; l < 2; ++l)
      if (k + l > 0 && at_vertex[k] >= 0 && at_foot[l] >= 0 && distance > distance_between(c, at_vertex[k], at_foot[l]) + p->flat)
        return false;
  return true;
}

static uint8_t touching(const fibre_contact *c, const pair *p)
{
  const segment_nearest *rim = p->rim, *near = &p->nearest;
  uint8_t                flags = 0;
  for (int end = 0; end < 2; ++end) {
    if (vertex_touches(c, p, p->i, end, p->j, rim[end].t, rim[end].distance)) flags |= (uint8_t)(ENDS_OF_A << end);
    if (vertex_touches(c, p, p->j, end, p->i, rim[2 + end].s, rim[2 + end].distance)) flags |= (uint8_t)(ENDS_OF_B << end);
  }
  if (near->s > 0.0 && near->s < 1.0 && near->t > 0.0 && near->t < 1.0 && p->nearest_contact < INFINITY &&
      !segment_pair_is_along(p->a, p->b, near, rim, fmin(p->reach, near->distance + p->flat)))
    flags |= INSIDE;
  return flags;
}

/* ---- on the way ---- */

/* Largest motion of one against the other. */
static double relative_motion(const pair *p, const double a1[6], const double b1[6])
{
  double most = 0.0;
  for (int e = 0; e < 4; ++e) {
    double d[3];
    for (int k = 0; k < 3; ++k) {
      const int m = 3 * (e / 2) + k, n = 3 * (e % 2) + k;
      d[k] = (a1[m] - p->a[m]) - (b1[n] - p->b[n]);
    }
    most = fmax(most, v3_norm(d));
  }
  return most;
}

/* Those that touch are held where they do; if they move far, they might yet swing through each other elsewhere. */
static bool comes_together(const fibre_contact *c, const pair *p, ccd_hit *hit)
{
  double x0[12], x1[12];
  if (!c->x1) return false;
  memcpy(x0, p->a, sizeof p->a);
  memcpy(x0 + 6, p->b, sizeof p->b);
  fibre_corners(c, c->x1, p->i, x1);
  fibre_corners(c, c->x1, p->j, x1 + 6);
  const double motion = relative_motion(p, x1, x1 + 6), now = p->nearest.distance;
  const bool   is_touching = now < p->reach;
  const double separation  = is_touching ? 0.5 * fmin(now, p->radii) : p->radii;
  if (now - motion > separation * (1.0 + 1e-9) || (is_touching && motion < 0.25 * p->radii)) return false;
  const ccd_limits limits = {.separation = separation, .tolerance = sweep_tolerance * p->radii};
  return ccd_edge_edge_near(x0, x1, &limits, hit) && !is_inside_of_bend(c, p->i, hit->u, p->j, hit->v);
}

uint8_t fibre_pair_flags(const fibre_contact *c, int32_t i, int32_t j)
{
  pair    p;
  ccd_hit hit;
  uint8_t flags = 0;
  if (!pair_fill(c, i, j, c->x1 != NULL, &p)) return 0;
  if (p.nearest.distance < p.reach) flags = touching(c, &p);
  return comes_together(c, &p, &hit) ? flags | SWEPT : flags;
}

uint8_t fibre_pair_swept(const fibre_contact *c, int32_t i, int32_t j)
{
  pair    p;
  ccd_hit hit;
  return pair_fill(c, i, j, true, &p) && comes_together(c, &p, &hit) ? SWEPT : 0;
}

/* ---- spots ---- */

static void any_normal(const pair *p, double n[3])
{
  double ea[3], eb[3];
  v3_sub(ea, p->a + 3, p->a);
  v3_sub(eb, p->b + 3, p->b);
  v3_cross(n, ea, eb);
  if (!(v3_norm(n) > 1e-9 * v3_norm(ea) * v3_norm(eb))) {
    const double axis[3]  = {fabs(ea[0]) <= fabs(ea[1]) && fabs(ea[0]) <= fabs(ea[2]), 0.0, 0.0};
    const double other[3] = {0.0, axis[0] == 0.0 && fabs(ea[1]) <= fabs(ea[2]), axis[0] == 0.0 && fabs(ea[1]) > fabs(ea[2])};
    double       e[3];
    v3_add(e, axis, other);
    v3_cross(n, ea, e);
    if (!(v3_norm(n) > 0.0)) v3_set(n, 0.0, 0.0, 1.0);
  }
  v3_scale(n, 1.0 / v3_norm(n), n);
}

/* normal: NULL: along the vector between them, or whatever is upright on both where there is none. */
static void spot_fill(const pair *p, double s, double t, const double normal[3], fibre_spot *out)
{
  double between[3];
  *out = (fibre_spot){.segment = {p->i, p->j}, .at = {s, t}};
  for (int k = 0; k < 3; ++k) {
    out->axis[0][k] = s < 1.0 ? p->a[k] + s * (p->a[3 + k] - p->a[k]) : p->a[3 + k];
    out->axis[1][k] = t < 1.0 ? p->b[k] + t * (p->b[3 + k] - p->b[k]) : p->b[3 + k];
  }
  v3_sub(between, out->axis[0], out->axis[1]);
  const double distance = v3_norm(between);
  if (normal && v3_norm(normal) > 0.5)
    v3_copy(out->normal, normal);
  else if (distance > 1e-9 * p->radii)
    v3_scale(out->normal, 1.0 / distance, between);
  else
    any_normal(p, out->normal);
  out->gap = v3_dot(out->normal, between) - p->radii;
}

static void name(const fibre_contact *c, fibre_spot *out)
{
  for (int k = 0; k < 2; ++k) {
    if (out->at[k] >= 1.0 - SEGMENT_SNAP) {
      out->at[k] = 1.0;
      if (c->next[out->segment[k]] >= 0) out->segment[k] = c->next[out->segment[k]], out->at[k] = 0.0;
    } else if (out->at[k] <= SEGMENT_SNAP)
      out->at[k] = 0.0;
    out->feature[k] = out->at[k] == 0.0 ? FIBRE_FIRST : out->at[k] == 1.0 ? FIBRE_LAST : FIBRE_INSIDE;
  }
  if (out->segment[0] < out->segment[1]) return;
  const fibre_spot old = *out; /* over the end of a closed strand */
  for (int k = 0; k < 2; ++k) {
    out->segment[k] = old.segment[1 - k], out->feature[k] = old.feature[1 - k], out->at[k] = old.at[1 - k];
    v3_copy(out->axis[k], old.axis[1 - k]);
  }
  v3_scale(out->normal, -1.0, old.normal);
}

int fibre_pair_spots(const fibre_contact *c, int32_t i, int32_t j, uint8_t flags, fibre_spot *out)
{
  pair    p;
  ccd_hit hit;
  int     n = 0;
  pair_fill(c, i, j, true, &p);
  for (int k = 0; k < 4; ++k)
    if (flags & 1 << k) spot_fill(&p, p.rim[k].s, p.rim[k].t, NULL, &out[n++]);
  if (flags & INSIDE) spot_fill(&p, p.nearest.s, p.nearest.t, NULL, &out[n++]);
  if (flags & SWEPT && comes_together(c, &p, &hit)) {
    spot_fill(&p, hit.u, hit.v, hit.normal, &out[n]);
    out[n++].is_swept = true;
  }
  for (int k = 0; k < n; ++k) name(c, &out[k]);
  return n;
}
