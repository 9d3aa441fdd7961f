/* Contacts between fibres, see fibre_contact.h: local minima of the distance, swept contacts, thinning along strands. */
#include "contact/fibre/fibre_contact.h"
#include "geometry/collision/broad_phase.h"
#include "geometry/collision/ccd.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of contacts of two segments i < j. */
enum { FIBRE_SPOTS = 6 };

/* ---- contacts of two segments ---- */

enum { ENDS_OF_A = 1, ENDS_OF_B = 4, INSIDE = 16, SWEPT = 32 }; /* second end: bit << 1 */
static const double sweep_tolerance = 1e-6;                     /* relative to the separation */

typedef struct {
  int32_t         i, j;
  double          a[6], b[6], radii, reach, flat, nearest_contact; /* nearest_contact [m]: INFINITY if the closest points are in one bend */
  segment_nearest nearest, rim[4];                                 /* rim: a's ends on b, b's ends on a */
} near_segments;

static double larger_radius(const fibre_contact *c, int32_t i, int32_t j) { return fmax(c->radius[i], c->radius[j]); }

static bool is_inside_of_bend(const fibre_contact *c, int32_t i, double s, int32_t j, double t)
{
  return fibre_arc_between(c, i, s, j, t) < M_PI * larger_radius(c, i, j);
}

/* Set p for segments i, j. False if their bounding spheres are out of reach; p->nearest and p->rim are then undefined. */
static bool pair_fill(const fibre_contact *c, int32_t i, int32_t j, bool is_wanted_anyhow, near_segments *p)
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

/* ---- contacts within the margin ---- */

/* Distance of two segments; INFINITY if they have no contact because they are in one bend. */
static double distance_between(const fibre_contact *c, int32_t i, int32_t j)
{
  double          a[6], b[6];
  segment_nearest near;
  fibre_corners(c, c->x0, i, a);
  fibre_corners(c, c->x0, j, b);
  segment_pair_nearest(a, b, &near, NULL);
  return is_inside_of_bend(c, i, near.s, j, near.t) ? INFINITY : near.distance;
}

/* Whether vertex `end` of segment i has a contact with its closest point on segment j: both features belong to these segments, and no
 * adjacent segment is much nearer. */
static bool vertex_touches(const fibre_contact *c, const near_segments *p, int32_t i, int end, int32_t j, double t, double distance)
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

static uint8_t fibre_contact_touching(const fibre_contact *c, const near_segments *p)
{
  const segment_nearest *rim = p->rim, *near = &p->nearest;
  uint8_t                flags = 0;
  for (int end = 0; end < 2; ++end) {
    if (vertex_touches(c, p, p->i, end, p->j, rim[end].t, rim[end].distance)) flags |= (uint8_t)(ENDS_OF_A << end);
    if (vertex_touches(c, p, p->j, end, p->i, rim[2 + end].s, rim[2 + end].distance)) flags |= (uint8_t)(ENDS_OF_B << end);
  }
  if (near->s > 0.0 && near->s < 1.0 && near->t > 0.0 && near->t < 1.0 && p->nearest_contact < INFINITY &&
      !segment_pair_overlaps_lengthwise(p->a, p->b, near, rim, fmin(p->reach, near->distance + p->flat)))
    flags |= INSIDE;
  return flags;
}

/* ---- swept contacts ---- */

/* Largest relative displacement of two points of the segments. */
static double relative_motion(const near_segments *p, const double a1[6], const double b1[6])
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

/* Whether the segments have a swept contact. Pairs within the margin are tested only if they move far: they could collide elsewhere. */
static bool segments_collide(const fibre_contact *c, const near_segments *p, ccd_hit *hit)
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
  return ccd_edge_edge_conservative(x0, x1, &limits, hit) && !is_inside_of_bend(c, p->i, hit->u, p->j, hit->v);
}

static uint8_t fibre_pair_flags(const fibre_contact *c, int32_t i, int32_t j)
{
  near_segments p;
  ccd_hit       hit;
  uint8_t       flags = 0;
  if (!pair_fill(c, i, j, c->x1 != NULL, &p)) return 0;
  if (p.nearest.distance < p.reach) flags = fibre_contact_touching(c, &p);
  return segments_collide(c, &p, &hit) ? flags | SWEPT : flags;
}

/* SWEPT if the pair has a swept contact, else 0. */
static uint8_t fibre_pair_swept(const fibre_contact *c, int32_t i, int32_t j)
{
  near_segments p;
  ccd_hit       hit;
  return pair_fill(c, i, j, true, &p) && segments_collide(c, &p, &hit) ? SWEPT : 0;
}

/* ---- spots ---- */

static void any_normal(const near_segments *p, double n[3])
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

/* Set a spot. normal NULL: the direction between the two points, or a common perpendicular if they coincide. */
static void spot_fill(const near_segments *p, double s, double t, const double normal[3], fibre_spot *out)
{
  double between[3];
  *out = (fibre_spot){.segment = {p->i, p->j}, .at = {s, t}};
  for (int k = 0; k < 3; ++k) {
    out->axis[0][k] = s < 1.0 ? p->a[k] + s * (p->a[3 + k] - p->a[k]) : p->a[3 + k];
    out->axis[1][k] = t < 1.0 ? p->b[k] + t * (p->b[3 + k] - p->b[k]) : p->b[3 + k];
  }
  v3_sub(between, out->axis[0], out->axis[1]);
  const double distance = v3_norm(between);
  if (normal && v3_norm(normal) > 0.5) v3_copy(out->normal, normal);
  else if (distance > 1e-9 * p->radii) v3_scale(out->normal, 1.0 / distance, between);
  else any_normal(p, out->normal);
  out->gap = v3_dot(out->normal, between) - p->radii;
}

static void name(const fibre_contact *c, fibre_spot *out)
{
  for (int k = 0; k < 2; ++k) {
    if (out->at[k] >= 1.0 - SEGMENT_SNAP) {
      out->at[k] = 1.0;
      if (c->next[out->segment[k]] >= 0) out->segment[k] = c->next[out->segment[k]], out->at[k] = 0.0;
    } else if (out->at[k] <= SEGMENT_SNAP) out->at[k] = 0.0;
    out->feature[k] = out->at[k] == 0.0 ? FIBRE_FIRST : out->at[k] == 1.0 ? FIBRE_LAST : FIBRE_INSIDE;
  }
  if (out->segment[0] < out->segment[1]) return;
  const fibre_spot old = *out; /* position beyond the end of a closed strand */
  for (int k = 0; k < 2; ++k) {
    out->segment[k] = old.segment[1 - k], out->feature[k] = old.feature[1 - k], out->at[k] = old.at[1 - k];
    v3_copy(out->axis[k], old.axis[1 - k]);
  }
  v3_scale(out->normal, -1.0, old.normal);
}

static int fibre_pair_spots(const fibre_contact *c, int32_t i, int32_t j, uint8_t flags, fibre_spot *out)
{
  near_segments p;
  ccd_hit       hit;
  int           n = 0;
  pair_fill(c, i, j, true, &p);
  for (int k = 0; k < 4; ++k)
    if (flags & 1 << k) spot_fill(&p, p.rim[k].s, p.rim[k].t, NULL, &out[n++]);
  if (flags & INSIDE) spot_fill(&p, p.nearest.s, p.nearest.t, NULL, &out[n++]);
  if (flags & SWEPT && segments_collide(c, &p, &hit)) {
    spot_fill(&p, hit.u, hit.v, hit.normal, &out[n]);
    out[n++].is_swept = true;
  }
  for (int k = 0; k < n; ++k) name(c, &out[k]);
  return n;
}

/* ---- removal of contacts near each other ---- */

enum { SERIAL_LIMIT = 512 };

typedef struct fibre_item {
  int32_t strand, spot;
  double  arc[2], distance; /* distance: gap, to decide which contact is kept; later -1: kept */
  int32_t place;
} fibre_item;

static int by_place(const void *a, const void *b)
{
  const fibre_item *p = a, *q = b;
  if (p->strand != q->strand) return p->strand < q->strand ? -1 : 1;
  if (p->arc[0] != q->arc[0]) return p->arc[0] < q->arc[0] ? -1 : 1;
  return p->spot - q->spot;
}

static int by_distance(const void *a, const void *b)
{
  const fibre_item *p = a, *q = b;
  if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
  return p->spot - q->spot;
}

static int by_name(const void *a, const void *b) { return fibre_spot_compare(a, b); }

/* Whether a remaining item is within `near` of item k; the items are sorted by arc[0]. */
static bool has_neighbour(const fibre_item *item, const uint8_t *stays, int64_t n, int64_t k, double near)
{
  for (int step = -1; step <= 1; step += 2)
    for (int64_t j = k + step; j >= 0 && j < n && fabs(item[j].arc[0] - item[k].arc[0]) < near; j += step)
      if (stays[item[j].spot] && fabs(item[j].arc[1] - item[k].arc[1]) < near) return true;
  return false;
}

/* Thin the contacts item [n] of two strands, sorted by place: in order of gap, an item remains unless a remaining item is near. */
static void thin_group(const fibre_contact *c, int64_t n, const fibre_item *item, fibre_item *order, uint8_t *stays)
{
  for (int64_t k = 0; k < n; ++k) {
    order[k]            = item[k];
    order[k].place      = (int32_t)k;
    stays[item[k].spot] = n == 1;
  }
  if (n == 1) return;
  qsort(order, (size_t)n, sizeof *order, by_distance);
  for (int64_t k = 0; k < n; ++k) {
    const int32_t *segment = c->spot[order[k].spot].segment;
    const double   near    = 0.5 * (c->radius[segment[0]] + c->radius[segment[1]]);
    stays[order[k].spot]   = !has_neighbour(item, stays, n, order[k].place, near);
  }
}

static void thin_strand(const fibre_contact *c, int64_t first, int64_t end, fibre_item *item, fibre_item *order, uint8_t *stays)
{
  for (int64_t k = first; k < end; ++k) {
    const fibre_spot *p = &c->spot[k];
    item[k]             = (fibre_item){.strand = c->strand[p->segment[1]], .spot = (int32_t)k, .distance = p->gap};
    for (int e = 0; e < 2; ++e) item[k].arc[e] = fibre_arc(c, p->segment[e], p->at[e]);
  }
  qsort(item + first, (size_t)(end - first), sizeof *item, by_place);
  for (int64_t k = first, last; k < end; k = last) {
    for (last = k + 1; last < end && item[last].strand == item[k].strand; ++last) {}
    thin_group(c, last - k, item + k, order + k, stays);
  }
}

/* Thinning: of c->spot [n_spots], ascending by the strand of the first segment, keep the nearest of contacts that are close to
 * each other, sorted. */
static PetscErrorCode fibre_contact_thin(fibre_contact *c)
{
  const int64_t n         = c->n_spots;
  bool          is_sorted = true;
  PetscFunctionBegin;
  PetscCall(memory_reserve("fibre contacts", 2 * n, sizeof *c->item, &c->item_capacity, &c->item));
  PetscCall(memory_reserve("fibre contacts", n, sizeof *c->flags, &c->pair_capacity, &c->flags));
  PetscCall(memory_reserve("fibre contacts", n + 1, sizeof *c->start, &c->start_capacity, &c->start));
  int64_t n_strands = 0;
  for (int64_t k = 0; k < n; ++k)
    if (k == 0 || c->strand[c->spot[k].segment[0]] != c->strand[c->spot[k - 1].segment[0]]) c->start[n_strands++] = k;
  c->start[n_strands] = n;
#pragma omp parallel for schedule(dynamic, 16) if (n > SERIAL_LIMIT)
  for (int64_t k = 0; k < n_strands; ++k) thin_strand(c, c->start[k], c->start[k + 1], c->item, c->item + n, c->flags);
  int64_t left = 0;
  for (int64_t k = 0; k < n; ++k)
    if (c->flags[k]) {
      c->spot[left++] = c->spot[k];
      is_sorted &= left < 2 || fibre_spot_compare(&c->spot[left - 2], &c->spot[left - 1]) < 0;
    }
  if (!is_sorted) qsort(c->spot, (size_t)left, sizeof *c->spot, by_name);
  c->n_spots = left > 0;
  for (int64_t k = 1; k < left; ++k)
    if (fibre_spot_compare(&c->spot[k], &c->spot[c->n_spots - 1]) != 0) c->spot[c->n_spots++] = c->spot[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matching with contacts of earlier steps ---- */

/* Index of the first of the spots [n] whose segments are not smaller than (a, b). */
static int64_t lower_bound(int64_t n, const fibre_spot *spot, int32_t a, int32_t b)
{
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    const int64_t  mid = lo + (hi - lo) / 2;
    const int32_t *s   = spot[mid].segment;
    if (s[0] < a || (s[0] == a && s[1] < b)) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* Arc length between two spots along strand k; for a closed strand the shorter one. */
static double arc_distance(const fibre_contact *c, const fibre_spot *p, const fibre_spot *q, int k)
{
  return fibre_arc_between(c, p->segment[k], p->at[k], q->segment[k], q->at[k]);
}

/* Index of the nearest spot of `last` on the same or neighbouring segments that is not in `taken` (NULL: none taken), at most the longer
 * segment of the spot away along either strand; -1: none. wants_side: the normals must be on the same side. */
static int64_t nearest_of(const fibre_contact *c, int64_t n_last, const fibre_spot *last, const uint8_t *taken, const fibre_spot *p,
                          bool wants_side)
{
  const int32_t a[3]  = {p->segment[0], c->previous[p->segment[0]], c->next[p->segment[0]]};
  const int32_t b[3]  = {p->segment[1], c->previous[p->segment[1]], c->next[p->segment[1]]};
  double        best  = fmax(c->arc[a[0] + 1] - c->arc[a[0]], c->arc[b[0] + 1] - c->arc[b[0]]);
  int64_t       found = -1;
  for (int k = 0; k < 9; ++k) {
    const int32_t i = a[k / 3], j = b[k % 3];
    if (i < 0 || j < 0) continue;
    for (int64_t q = lower_bound(n_last, last, i, j); q < n_last && last[q].segment[0] == i && last[q].segment[1] == j; ++q) {
      if ((taken && taken[q]) || (wants_side && !(v3_dot(last[q].normal, p->normal) > 0.0))) continue;
      const double d = fmax(arc_distance(c, p, &last[q], 0), arc_distance(c, p, &last[q], 1));
      if (d < best || (d == best && found < 0)) best = d, found = q;
    }
  }
  return found;
}

void fibre_contact_keep_sides(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, fibre_spot *spot)
{
  for (int64_t k = 0; k < n; ++k) {
    fibre_spot  *p     = &spot[k];
    const double radii = c->radius[p->segment[0]] + c->radius[p->segment[1]];
    if (p->is_swept || !(p->gap < 0.0)) continue;
    const int64_t was = nearest_of(c, n_last, last, NULL, p, false);
    if (was < 0 || !(fmin(p->gap, last[was].gap) < -0.5 * radii) || !(v3_dot(p->normal, last[was].normal) < 0.0)) continue;
    v3_scale(p->normal, -1.0, p->normal);
    p->gap = -(p->gap + radii) - radii;
  }
}

static bool has_near(const fibre_contact *c, int64_t n_found, const fibre_spot *found, const fibre_spot *p)
{
  const int32_t a[3] = {p->segment[0], c->previous[p->segment[0]], c->next[p->segment[0]]};
  const int32_t b[3] = {p->segment[1], c->previous[p->segment[1]], c->next[p->segment[1]]};
  const double  near = 0.5 * (c->radius[a[0]] + c->radius[b[0]]);
  for (int k = 0; k < 9; ++k) {
    const int32_t i = a[k / 3], j = b[k % 3];
    if (i < 0 || j < 0) continue;
    for (int64_t q = lower_bound(n_found, found, i, j); q < n_found && found[q].segment[0] == i && found[q].segment[1] == j; ++q)
      if (arc_distance(c, p, &found[q], 0) < near && arc_distance(c, p, &found[q], 1) < near) return true;
  }
  return false;
}

/* Remove from c->spot all contacts within a radius, along both strands, of one of `found`. */
static void fibre_contact_drop_near(fibre_contact *c, int64_t n_found, const fibre_spot *found)
{
  int64_t left = 0;
  for (int64_t k = 0; k < c->n_spots; ++k)
    if (!has_near(c, n_found, found, &c->spot[k])) c->spot[left++] = c->spot[k];
  c->n_spots = left;
}

/* Row of `last` with the features of p, or -1. */
static int64_t fibre_contact_same(int64_t n_last, const fibre_spot *last, const fibre_spot *p)
{
  int64_t q = lower_bound(n_last, last, p->segment[0], p->segment[1]);
  while (q < n_last && fibre_spot_compare(&last[q], p) < 0) ++q;
  return q < n_last && fibre_spot_compare(&last[q], p) == 0 ? q : -1;
}

PetscErrorCode fibre_contact_match(const fibre_contact *c, int64_t n_last, const fibre_spot *last, int64_t n, const fibre_spot *spot,
                                   int64_t *from)
{
  uint8_t *taken;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", n_last, sizeof *taken, &taken));
  for (int64_t k = 0; k < n; ++k) {
    from[k] = fibre_contact_same(n_last, last, &spot[k]);
    if (from[k] >= 0) taken[from[k]] = 1;
  }
  for (int64_t k = 0; k < n; ++k) {
    if (from[k] >= 0) continue;
    from[k] = nearest_of(c, n_last, last, taken, &spot[k], true);
    if (from[k] >= 0) taken[from[k]] = 1;
  }
  memory_free(&taken);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation and search ---- */

enum { CHUNK = 256 };

/* ---- creation ---- */

void fibre_contact_destroy(fibre_contact **out)
{
  if (!out || !*out) return;
  fibre_contact *c = *out;
  MEMORY_FREE(&c->segment, &c->strand, &c->body, &c->previous, &c->next, &c->radius, &c->arc, &c->turn, &c->flags, &c->spot, &c->start,
              &c->item);
  broad_phase_destroy(&c->broad);
  memory_free(out);
}

static PetscErrorCode fibre_contact_allocate(int64_t n, fibre_contact *c)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("fibre contacts", ARRAY(c->segment, 2 * n), ARRAY(c->strand, n), ARRAY(c->body, n), ARRAY(c->previous, n),
                         ARRAY(c->next, n), ARRAY(c->radius, n), ARRAY(c->arc, n + 1), ARRAY(c->turn, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Link the segments of each strand. */
static void link_segments(fibre_contact *c)
{
  const int64_t n = c->n_segments;
  for (int64_t i = 0; i < n; ++i) c->previous[i] = c->next[i] = -1;
  for (int64_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && c->strand[end] == c->strand[first] && c->body[end] == c->body[first]; ++end)
      c->next[end - 1] = (int32_t)end, c->previous[end] = (int32_t)(end - 1);
    if (end - first < 3 || c->segment[2 * end - 1] != c->segment[2 * first]) continue;
    c->next[end - 1]   = (int32_t)first;
    c->previous[first] = (int32_t)(end - 1);
  }
}

static PetscErrorCode create_broad_phase(const fibre_set *set, fibre_contact *c)
{
  int32_t       *body;
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", set->n_nodes, sizeof *body, &body));
  for (int64_t i = 0; i < 2 * c->n_segments; ++i) body[c->segment[i]] = c->body[i / 2];
  const broad_phase_surfaces edges = {.n_vertices = set->n_nodes,
                                      .n_edges    = c->n_segments,
                                      .edge       = c->segment,
                                      .n_bodies   = set->n_bodies,
                                      .body       = body,
                                      .can_touch  = set->can_touch,
                                      .pairs      = set->pairs};
  code                             = broad_phase_create(&edges, &c->broad);
  memory_free(&body);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fibre_contact_fill(const fibre_set *set, fibre_contact *c)
{
  const int64_t n = set->n_segments;
  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= INT32_MAX / 4 && set->n_nodes >= 0 && set->n_nodes <= INT32_MAX && set->n_bodies >= 1, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "%lld fibre segments, %lld nodes; expected at most 2^29 - 1, 2^31 - 1", (long long)n,
             (long long)set->n_nodes);
  c->n_segments = n, c->n_nodes = set->n_nodes;
  PetscCall(fibre_contact_allocate(n, c));
  for (int64_t i = 0; i < n; ++i) {
    const int32_t *v = set->segment + 2 * i, b = set->body[i];
    PetscCheck(v[0] >= 0 && v[0] < set->n_nodes && v[1] >= 0 && v[1] < set->n_nodes && v[0] != v[1], PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "segment %lld has nodes %d and %d; expected two different nodes below %lld", (long long)i,
               (int)v[0], (int)v[1], (long long)set->n_nodes);
    PetscCheck(b >= 0 && b < set->n_bodies, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "segment %lld has body %d; expected 0 or more, less than %d", (long long)i, (int)b, (int)set->n_bodies);
    PetscCheck(set->radius[i] > 0.0 && isfinite(set->radius[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "segment %lld: expected a finite radius > 0", (long long)i);
    PetscCheck(i == 0 || set->strand[i] != set->strand[i - 1] || b != set->body[i - 1] || v[0] == v[-1], PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "segment %lld does not start at the end of the previous segment of its strand", (long long)i);
    c->segment[2 * i] = v[0], c->segment[2 * i + 1] = v[1];
    c->strand[i] = set->strand[i], c->body[i] = b, c->radius[i] = set->radius[i];
    c->thickest = fmax(c->thickest, set->radius[i]);
  }
  link_segments(c);
  PetscCall(create_broad_phase(set, c));
  /* From here on strands are identified by their rows, because bodies may use the same strand numbers. */
  for (int64_t i = 0, row = 0; i < n; ++i) c->strand[i] = (int32_t)(i > 0 && c->next[i - 1] != i ? ++row : row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_create(const fibre_set *set, fibre_contact **out)
{
  fibre_contact *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", 1, sizeof *c, &c));
  const PetscErrorCode code = fibre_contact_fill(set, c);
  if (code) fibre_contact_destroy(&c);
  PetscCall(code);
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- search ---- */

static void fibre_contact_measure(fibre_contact *c, const double *x)
{
  const int64_t n = c->n_segments;
  for (int64_t i = 0, first = 0; i < n; ++i) {
    double e[3];
    v3_sub(e, x + 3 * (int64_t)c->segment[2 * i + 1], x + 3 * (int64_t)c->segment[2 * i]);
    c->arc[i + 1] = c->arc[i] + v3_norm(e);
    if (i + 1 < n && c->next[i] == i + 1) continue;
    for (int64_t k = first; k <= i; ++k) c->turn[k] = c->next[i] < 0 ? INFINITY : c->arc[i + 1] - c->arc[first];
    first = i + 1;
  }
}

int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b)
{
  for (int k = 0; k < 2; ++k)
    if (a->segment[k] != b->segment[k]) return a->segment[k] < b->segment[k] ? -1 : 1;
  for (int k = 0; k < 2; ++k)
    if (a->feature[k] != b->feature[k]) return a->feature[k] < b->feature[k] ? -1 : 1;
  return (int)a->is_swept - (int)b->is_swept;
}

/* Write the spots of all pairs in the order of pairs; start[] contains the index of the first spot of each chunk of pairs. */
static PetscErrorCode fibre_contact_collect(fibre_contact *c, int64_t n, const broad_phase_pair *pair)
{
  const uint8_t *const flags    = c->flags;
  const int64_t        n_chunks = (n + CHUNK - 1) / CHUNK;
  int64_t              total    = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("fibre contacts", n_chunks, sizeof *c->start, &c->start_capacity, &c->start));
  for (int64_t k = 0; k < n; ++k) {
    if (k % CHUNK == 0) c->start[k / CHUNK] = total;
    total += __builtin_popcount(flags[k]);
  }
  PetscCall(memory_reserve("fibre contacts", total, sizeof *c->spot, &c->spot_capacity, &c->spot));
  c->n_spots = total;
#pragma omp parallel for schedule(dynamic, 1) if (n > SERIAL_LIMIT)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t end  = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    fibre_spot   *spot = c->spot + c->start[chunk];
    for (int64_t k = chunk * CHUNK; k < end; ++k)
      if (flags[k]) spot += fibre_pair_spots(c, pair[k].first, pair[k].second, flags[k], spot);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fibre_search_contacts(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                            int64_t *bad)
{
  int64_t                 n_pairs;
  const broad_phase_pair *pair;
  PetscFunctionBegin;
  PetscCall(broad_phase_update(c->broad, x0, x1 ? x1 : x0, margin + 2.0 * c->thickest, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  c->x0 = x0, c->x1 = x1, c->margin = margin;
  fibre_contact_measure(c, x0);
  PetscCall(broad_phase_edge_edge(c->broad, &n_pairs, &pair));
  PetscCall(memory_reserve("fibre contacts", n_pairs, sizeof *c->flags, &c->pair_capacity, &c->flags));
  uint8_t *const flags = c->flags;
#pragma omp parallel for schedule(dynamic, CHUNK) if (n_pairs > SERIAL_LIMIT)
  for (int64_t k = 0; k < n_pairs; ++k) {
    const int32_t i = pair[k].first, j = pair[k].second;
    flags[k] = !moves ? fibre_pair_flags(c, i, j) : moves[i] || moves[j] ? fibre_pair_swept(c, i, j) : 0;
  }
  PetscCall(fibre_contact_collect(c, n_pairs, pair));
  PetscCall(fibre_contact_thin(c));
  c->x0 = c->x1 = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_run(fibre_contact *c, const double *x0, const double *x1, double margin, int64_t *n, const fibre_spot **out,
                                 int64_t *bad)
{
  PetscFunctionBegin;
  PetscCall(fibre_search_contacts(c, x0, x1, margin, NULL, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  *n   = c->n_spots;
  *out = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_run_again(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                       int64_t n_found, const fibre_spot *found, int64_t *n, const fibre_spot **out, int64_t *bad)
{
  PetscFunctionBegin;
  PetscCall(fibre_search_contacts(c, x0, x1, margin, moves, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  fibre_contact_drop_near(c, n_found, found);
  *n   = c->n_spots;
  *out = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}
