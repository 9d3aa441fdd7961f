/* Contacts of fibres with level sets, see fibre_object.h: local minima of the distance along segments, swept contacts, entries. */
#include "contact/fibre/fibre_object.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/memory.h"

enum { CHUNK = 64, SERIAL_LIMIT = 256, BISECTIONS = 40, ADVANCES = 200 };
/* Increase of the distance from a minimum, in radii, up to which a border is searched. */
static const double border_rise = 0.5;
/* Height of the ends of a range of nearly constant distance above its minimum, in radii, from which the minimum is a contact, too. Without
 * it, segments on a drum would penetrate by FIBRE_FLAT, and forces would jump where a range begins or ends. */
static const double level_rise = 1e-3;
/* Smallest distance between contacts of one strand, in radii. */
static const double spacing = 0.5;
/* Factor applied to each step of conservative advancement, because interpolated distances may be slightly too large. */
static const double caution = 0.9;
/* Distance, in radii, below which conservative advancement ends with a contact. */
static const double near_enough = 1e-3;

/* A segment in the frame of the level set. */
typedef struct {
  const level_set *phi;
  double           x[6], length, radius, reach;
} view;

typedef struct {
  int    n;
  double at[2 * FIBRE_OBJECT_INSIDE]; /* ascending */
  bool   has_vertex[2];               /* whether the first and the second vertex are minima, or within FIBRE_FLAT, on this segment */
} minima;

typedef struct {
  const fibre_contact *c;
  const bool          *touches;
  const double        *x0, *x1;
  const level_set     *phi;
  const rigid_frame   *frame0, *frame1;
  double               margin, box_min[3], box_max[3];
} search;

static double fibre_object_along(const view *v, double s, double *slope)
{
  double x[3], gradient[3], e[3];
  for (int k = 0; k < 3; ++k) x[k] = s < 1.0 ? v->x[k] + s * (v->x[3 + k] - v->x[k]) : v->x[3 + k];
  if (!slope) return level_set_value(v->phi, x);
  const double value = level_set_eval(v->phi, x, gradient, NULL);
  v3_sub(e, v->x + 3, v->x);
  *slope = v3_dot(gradient, e);
  return value;
}

static void transform_segment(const search *q, int32_t i, const double *x, const rigid_frame *f, view *v)
{
  double corner[6], e[3];
  fibre_corners(q->c, x, i, corner);
  for (int k = 0; k < 2; ++k) rigid_frame_to_local(f, corner + 3 * k, v->x + 3 * k);
  v3_sub(e, v->x + 3, v->x);
  v->phi    = q->phi;
  v->length = v3_norm(e);
  v->radius = q->c->radius[i];
  v->reach  = v->radius + q->margin;
}

/* ---- minima along a segment ---- */

/* Position of the minimum of the distance between lo and hi, where it first decreases and then increases. */
static double bottom(const view *v, double lo, double hi)
{
  for (int k = 0; k < BISECTIONS && hi - lo > 0.5 * SEGMENT_SNAP; ++k) {
    const double mid = 0.5 * (lo + hi);
    double       slope;
    fibre_object_along(v, mid, &slope);
    if (slope > 0.0) hi = mid;
    else lo = mid;
  }
  return 0.5 * (lo + hi);
}

/* Half a radius, as a fraction of the segment. */
static double fine_step(const view *v) { return 0.5 * v->radius / fmax(v->length, v->radius); }

/* Position between a and b at which the distance curve is farthest below its chord: the kink of a curve with curvature of one sign. */
static double bend_between(const view *v, double a, double b)
{
  const double ga = fibre_object_along(v, a, NULL), slope = (fibre_object_along(v, b, NULL) - ga) / (b - a), golden = 0.6180339887498949;
  double       lo = a, hi = b;
  for (int k = 0; k < BISECTIONS && fabs(hi - lo) > SEGMENT_SNAP; ++k) {
    const double p = hi - golden * (hi - lo), q = lo + golden * (hi - lo);
    if (fibre_object_along(v, p, NULL) - slope * (p - a) < fibre_object_along(v, q, NULL) - slope * (q - a)) hi = q;
    else lo = p;
  }
  return 0.5 * (lo + hi);
}

/* End of the range of nearly constant distance from the minimum at s in direction h: an end of the segment (0 or 1); the border of the
 * object, where the distance begins to grow steeply; or s. */
static double level_end(const view *v, double s, double h)
{
  const double flat = fibre_object_along(v, s, NULL) + FIBRE_FLAT * v->radius,
               high = fibre_object_along(v, s, NULL) + border_rise * v->radius, end = h > 0.0;
  double out     = s;
  bool   is_flat = true;
  while (out != end && fibre_object_along(v, out, NULL) < high) {
    out = h > 0.0 ? fmin(out + h, 1.0) : fmax(out + h, 0.0);
    is_flat &= fibre_object_along(v, out, NULL) < fmin(flat, v->reach);
  }
  if (is_flat) return end;
  if (fabs(out - s) * v->length < v->radius) return s;
  const double at = bend_between(v, s, out);
  return fabs(at - s) * v->length > v->radius && fibre_object_along(v, at, NULL) < fmin(flat, v->reach) ? at : s;
}

static void fibre_object_add(minima *m, double s)
{
  if (s > SEGMENT_SNAP && s < 1.0 - SEGMENT_SNAP && m->n < 2 * FIBRE_OBJECT_INSIDE) m->at[m->n++] = s;
}

/* Add a minimum at s; s = 0 or 1: a vertex. If the distance is nearly constant around s, both ends of this range are added, and s only if
 * both are higher by more than level_rise. */
static void add_minimum(const view *v, double s, minima *m)
{
  const double h = fine_step(v), lo = s > 0.0 ? level_end(v, s, -h) : 0.0, hi = s < 1.0 ? level_end(v, s, h) : 1.0;
  const bool   is_vertex = s == 0.0 || s == 1.0;
  const double rise      = fmin(fibre_object_along(v, lo, NULL), fibre_object_along(v, hi, NULL)) - fibre_object_along(v, s, NULL);
  if (s == 0.0 || (lo == 0.0 && lo != s)) m->has_vertex[0] = true;
  if (s == 1.0 || (hi == 1.0 && hi != s)) m->has_vertex[1] = true;
  if (lo != s) fibre_object_add(m, lo);
  if (!is_vertex && (lo == s || hi == s || rise > level_rise * v->radius)) fibre_object_add(m, s);
  if (hi != s) fibre_object_add(m, hi);
}

/* Find all minima below the reach. The sampling step is small near the surface and equal to the distance far from it. */
static void find_minima(const view *v, minima *m)
{
  const double h = fine_step(v), none = v->reach, unit = fmax(v->length, v->radius);
  double       before = 0.0, s = 0.0, value = fibre_object_along(v, 0.0, NULL), last = INFINITY;
  *m = (minima){0};
  while (s <= 1.0) { /* the value at s is the smallest of three; s may be an end */
    const double next  = fmin(s + fmax(h, caution * (value - none) / unit), 1.0),
                 ahead = s < 1.0 ? fibre_object_along(v, next, NULL) : INFINITY;
    if (value < last && value <= ahead && value < none + h * v->length) {
      const double at = bottom(v, before, next), end = at > SEGMENT_SNAP ? (at < 1.0 - SEGMENT_SNAP ? at : 1.0) : 0.0;
      if (fibre_object_along(v, end, NULL) < none) add_minimum(v, end, m);
    }
    if (s == 1.0) break;
    before = s, last = value, s = next, value = ahead;
  }
}

/* ---- contacts within the margin ---- */

/* False if the bounding box of the level set, or its value at the midpoint, proves that no point of the segment is within reach + `more`. */
static bool is_near(const search *q, const view *v, double more)
{
  double       mid[3];
  const double size = 0.5 * v->length + v->reach + more;
  for (int k = 0; k < 3; ++k) {
    if (fmin(v->x[k], v->x[3 + k]) > q->box_max[k] + v->reach + more || fmax(v->x[k], v->x[3 + k]) < q->box_min[k] - v->reach - more)
      return false;
    mid[k] = 0.5 * (v->x[k] + v->x[3 + k]);
  }
  return caution * level_set_value(q->phi, mid) <= size;
}

/* Whether vertex `end` of segment i is a minimum on this segment; true if i is -1. */
static bool has_vertex(const search *q, int32_t i, int end)
{
  view   v;
  minima m;
  if (i < 0) return true;
  transform_segment(q, i, q->x0, q->frame0, &v);
  find_minima(&v, &m);
  return m.has_vertex[end];
}

/* Flags of the contacts of segment i: bit 0 first vertex, bit 1 last vertex, bit 2 + k minimum k inside. */
static uint32_t fibre_object_touching(const search *q, int32_t i, const minima *m)
{
  uint32_t flags = 0;
  if (m->has_vertex[0] && has_vertex(q, q->c->previous[i], 1)) flags |= 1;
  if (m->has_vertex[1] && q->c->next[i] < 0) flags |= 2;
  for (int k = 0; k < m->n; ++k) flags |= 4u << k;
  return flags;
}

/* ---- swept contacts ---- */

/* Lower bound of the distance over the segment; *at: approximate place of the minimum. Between samples the distance changes by at
 * most the sample spacing. The spacing keeps the loss below half of the excess over `distance`, or an eighth of a radius. */
static double fibre_object_bound(const view *v, double distance, double *at)
{
  const double unit = fmax(v->length, v->radius);
  double       s = 0.0, value = fibre_object_along(v, 0.0, NULL), least = value, low = value;
  *at = 0.0;
  while (s < 1.0) {
    const double next  = fmin(1.0, s + fmax(0.25 * v->radius, caution * 0.5 * (value - distance)) / unit),
                 ahead = fibre_object_along(v, next, NULL);
    low                = fmin(low, 0.5 * (value + ahead - (next - s) * v->length / caution));
    if (ahead < least) least = ahead, *at = next;
    s = next, value = ahead;
  }
  return low;
}

/* Lower bound of the fraction of the step at which the segment comes within `distance`; >= 1: never. *at: position on the segment. */
static double fibre_object_advance(const view *v0, const view *v1, double motion, double distance, double *at)
{
  view   v = *v0;
  double t = 0.0;
  for (int n = 0; n < ADVANCES && t < 1.0; ++n) {
    double e[3];
    for (int k = 0; k < 6; ++k) v.x[k] = (1.0 - t) * v0->x[k] + t * v1->x[k];
    v3_sub(e, v.x + 3, v.x);
    v.length           = v3_norm(e);
    const double above = fibre_object_bound(&v, distance, at) - distance;
    if (above <= 0.0) return t;
    t += caution * above / fmax(motion, 1e-300);
  }
  return t;
}

/* Whether segment i, out of reach at the start, comes into contact during the step. */
static bool first_approach(const search *q, int32_t i, const view *v0, double *t, double *at)
{
  view   v1;
  double motion = 0.0, d[3];
  if (!q->x1) return false;
  transform_segment(q, i, q->x1, q->frame1, &v1);
  for (int k = 0; k < 2; ++k) {
    v3_sub(d, v1.x + 3 * k, v0->x + 3 * k);
    motion = fmax(motion, v3_norm(d));
  }
  if (!is_near(q, v0, motion)) return false;
  *t = fibre_object_advance(v0, &v1, motion, v0->radius, at);
  return *t < 1.0;
}

/* ---- spots ---- */

static uint32_t flags_of(const search *q, int32_t i)
{
  view   v;
  minima m;
  double t, at;
  transform_segment(q, i, q->x0, q->frame0, &v);
  if (is_near(q, &v, 0.0)) {
    find_minima(&v, &m);
    if (m.n > 0 || m.has_vertex[0] || m.has_vertex[1]) return fibre_object_touching(q, i, &m);
  }
  return first_approach(q, i, &v, &t, &at) ? 1u << 31 : 0;
}

static bool spot_fill(const search *q, const view *v, int32_t i, double at, const view *then, fibre_object_spot *out)
{
  double x[3], y[3], gradient[3], corner[6];
  *out = (fibre_object_spot){.segment = i, .at = at};
  if (at <= SEGMENT_SNAP) out->at = 0.0;
  if (at >= 1.0 - SEGMENT_SNAP) {
    const int32_t next = q->c->next[i];
    out->at            = next < 0 ? 1.0 : next > i ? 0.0 : 1.0 - SEGMENT_SNAP; /* continue the order of spots, also where a strand closes */
    if (next > i) out->segment = next;
  }
  out->feature = out->at == 0.0 ? FIBRE_FIRST : out->at == 1.0 ? FIBRE_LAST : FIBRE_INSIDE;
  fibre_corners(q->c, q->x0, i, corner);
  for (int k = 0; k < 3; ++k) {
    out->axis[k] = corner[k] + at * (corner[3 + k] - corner[k]);
    x[k]         = v->x[k] + at * (v->x[3 + k] - v->x[k]);
    y[k]         = then->x[k] + at * (then->x[3 + k] - then->x[k]);
  }
  out->gap            = level_set_eval(q->phi, y, gradient, NULL);
  const double length = v3_norm(gradient);
  if (!(length > 0.0)) return false;
  m3_mulv(out->normal, q->frame0->R, gradient);
  v3_scale(out->normal, 1.0 / v3_norm(out->normal), out->normal);
  for (int k = 0; k < 3; ++k) out->gap += (x[k] - y[k]) * gradient[k] / length;
  out->gap -= v->radius;
  return true;
}

static int spots_of(const search *q, int32_t i, uint32_t flags, fibre_object_spot *out)
{
  view   v, v1, then;
  minima m;
  double t, at = 0.0;
  int    n = 0;
  transform_segment(q, i, q->x0, q->frame0, &v);
  if (flags >> 31) {
    transform_segment(q, i, q->x1, q->frame1, &v1);
    if (!first_approach(q, i, &v, &t, &at)) return 0;
    then = v;
    for (int k = 0; k < 6; ++k) then.x[k] = (1.0 - t) * v.x[k] + t * v1.x[k];
    n = spot_fill(q, &v, i, at, &then, out);
    if (n) out->is_swept = true;
    return n;
  }
  find_minima(&v, &m);
  if (flags & 1) n += spot_fill(q, &v, i, 0.0, &v, &out[n]);
  for (int k = 0; k < m.n; ++k)
    if (flags & 4u << k && spot_fill(q, &v, i, m.at[k], &v, &out[n])) out[n++].ordinal = (uint8_t)k;
  if (flags & 2) n += spot_fill(q, &v, i, 1.0, &v, &out[n]);
  return n;
}

void fibre_object_spots_clear(fibre_object_spots *s)
{
  MEMORY_FREE(&s->spot, &s->flags);
  *s = (fibre_object_spots){0};
}

/* Of spots too close to each other along a strand, keep only the one nearest to the surface. The spots are sorted along the strand. */
static void thin(const fibre_contact *c, const double *x, fibre_object_spots *s)
{
  int64_t m    = 0;
  double  last = 0.0, arc = 0.0; /* arc length of spot m - 1; of the start of segment i */
  int32_t i = 0;
  for (int64_t k = 0; k < s->n; ++k) {
    const fibre_object_spot p = s->spot[k];
    double                  e[6];
    for (; i < p.segment; ++i) fibre_corners(c, x, i, e), v3_sub(e, e + 3, e), arc += v3_norm(e);
    fibre_corners(c, x, i, e), v3_sub(e, e + 3, e);
    const double at       = arc + p.at * v3_norm(e);
    const bool   is_close = m > 0 && c->strand[s->spot[m - 1].segment] == c->strand[i] && at - last < spacing * c->radius[i];
    if (is_close && p.gap >= s->spot[m - 1].gap) continue;
    if (!is_close) ++m;
    s->spot[m - 1] = p;
    last           = at;
  }
  s->n = m;
}

PetscErrorCode fibre_object_run(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                const rigid_frame *frame0, const rigid_frame *frame1, double margin, fibre_object_spots *out)
{
  search        q     = {c, touches, x0, x1, phi, frame0, frame1, margin, {0}, {0}};
  const int64_t n     = c->n_segments;
  int64_t       total = 0;
  PetscFunctionBegin;
  level_set_bounds(phi, q.box_min, q.box_max);
  PetscCall(memory_reserve("fibre contacts", n, sizeof *out->flags, &out->flag_capacity, &out->flags));
  uint32_t *const flags = out->flags;
#pragma omp parallel for schedule(dynamic, CHUNK) if (n > SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i) flags[i] = touches[c->body[i]] ? flags_of(&q, (int32_t)i) : 0;
  for (int64_t i = 0; i < n; ++i) total += __builtin_popcount(flags[i]);
  PetscCall(memory_reserve("fibre contacts", total, sizeof *out->spot, &out->capacity, &out->spot));
  out->n = 0;
  for (int64_t i = 0; i < n; ++i)
    if (flags[i]) out->n += spots_of(&q, (int32_t)i, flags[i], out->spot + out->n);
  thin(c, x0, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- end of the step ---- */

/* Minima below the reach inside segment i at its predicted end position. */
static bool find_ends(const search *q, int32_t i, view *v, minima *m)
{
  transform_segment(q, i, q->x1, q->frame1, v);
  if (!is_near(q, v, 0.0)) return false;
  find_minima(v, m);
  return m->n > 0;
}

/* First contact of a point that moves from `from` to `to` in the frame of the level set, by sphere tracing. */
static bool first_touch(const level_set *phi, const double from[3], const double to[3], double radius, double y[3])
{
  double d[3], t = 0.0;
  v3_sub(d, to, from);
  const double way = v3_norm(d);
  for (int n = 0; n < ADVANCES && t <= 1.0; ++n) {
    for (int k = 0; k < 3; ++k) y[k] = from[k] + t * d[k];
    const double above = level_set_value(phi, y) - radius;
    if (n == 0 && !(above > 0.0)) return false;
    if (above <= near_enough * radius) return true;
    t += caution * above / fmax(way, 1e-300);
  }
  return false;
}

bool fibre_object_way_in(const level_set *phi, const rigid_frame *frame0, const rigid_frame *frame1, const double x0[3], const double x1[3],
                         double radius, double normal[3], double *gap)
{
  double from[3], to[3], at[3], g[3], d[3];
  rigid_frame_to_local(frame0, x0, from);
  rigid_frame_to_local(frame1, x1, to);
  v3_copy(at, to);
  for (int k = 0; k < 2; ++k) {
    const double value = level_set_eval(phi, at, g, NULL), length = v3_norm(g);
    if (!(length > 0.0)) return false;
    v3_scale(g, 1.0 / length, g);
    v3_sub(d, from, at);
    *gap = v3_dot(g, d) + value - radius;
    m3_mulv(normal, k == 0 ? frame1->R : frame0->R, g);
    v3_scale(normal, 1.0 / v3_norm(normal), normal);
    if (*gap > 0.0) return true;
    if (k == 0 && !first_touch(phi, from, to, radius, at)) return false;
  }
  return false;
}

static bool entry_fill(const search *q, int32_t i, double at, fibre_object_spot *out)
{
  double x0[6], x1[6], then[3];
  *out = (fibre_object_spot){.segment = i, .at = at, .feature = FIBRE_INSIDE, .is_swept = true};
  fibre_corners(q->c, q->x0, i, x0);
  fibre_corners(q->c, q->x1, i, x1);
  for (int k = 0; k < 3; ++k) {
    out->axis[k] = x0[k] + at * (x0[3 + k] - x0[k]);
    then[k]      = x1[k] + at * (x1[3 + k] - x1[k]);
  }
  return fibre_object_way_in(q->phi, q->frame0, q->frame1, out->axis, then, q->c->radius[i], out->normal, &out->gap);
}

PetscErrorCode fibre_object_entries(const fibre_contact *c, const bool *touches, const double *x0, const double *x1, const level_set *phi,
                                    const rigid_frame *frame0, const rigid_frame *frame1, double deep, uint8_t ordinal,
                                    fibre_object_spots *out)
{
  search        q     = {c, touches, x0, x1, phi, frame0, frame1, -deep * c->thickest, {0}, {0}};
  const int64_t n     = c->n_segments;
  int64_t       total = 0;
  PetscFunctionBegin;
  level_set_bounds(phi, q.box_min, q.box_max);
  PetscCall(memory_reserve("fibre contacts", n, sizeof *out->flags, &out->flag_capacity, &out->flags));
  uint32_t *const flags = out->flags;
#pragma omp parallel for schedule(dynamic, CHUNK) if (n > SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i) {
    view   v;
    minima m;
    flags[i] = touches[c->body[i]] && find_ends(&q, (int32_t)i, &v, &m) ? (uint32_t)m.n : 0;
  }
  for (int64_t i = 0; i < n; ++i) total += flags[i];
  PetscCall(memory_reserve("fibre contacts", total, sizeof *out->spot, &out->capacity, &out->spot));
  out->n = 0;
  for (int64_t i = 0; i < n; ++i) {
    view   v;
    minima m;
    if (!flags[i] || !find_ends(&q, (int32_t)i, &v, &m)) continue;
    for (int k = 0; k < m.n; ++k)
      if (entry_fill(&q, (int32_t)i, m.at[k], &out->spot[out->n])) out->spot[out->n++].ordinal = (uint8_t)(ordinal + k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
