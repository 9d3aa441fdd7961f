#include "geometry/convex/convex_pair.h"
#include "geometry/convex/convex_distance.h"

/* Touches of features of different kinds have different names. */
static inline uint64_t convex_feature_name(unsigned kind, unsigned a, unsigned b)
{
  return (uint64_t)kind << 24 | (uint64_t)a << 12 | b;
}
enum {
  CONVEX_TOUCH_CORNER_A,
  CONVEX_TOUCH_CORNER_B,
  CONVEX_TOUCH_CROSSING,
  CONVEX_TOUCH_CLOSEST,
  CONVEX_TOUCH_END_A,
  CONVEX_TOUCH_END_B
};

/* ==== clipping ==== */

enum { MAX_CORNERS = CONVEX_MAX_SIDES, MAX_FOUND = 4 * MAX_CORNERS, RIM_POINTS = 16 };
static const double INSIDE = 1e-9, MERGE = 1e-5, LINE = 1e-6; /* of the size of the smaller solid */
static const double RIM_FLAT = 0.02; /* a cylinder tilted by more stands on one point of its rim */

/* What of a solid faces the other, in coordinates (u, v) across n and h along it. */
typedef struct {
  int    n; /* 0: a plane without end; 1: a point; 2: an edge */
  double u[MAX_CORNERS], v[MAX_CORNERS], height, slope_u, slope_v; /* h = height + slope_u u + slope_v v */
  int    name[MAX_CORNERS];
  int    deepest; /* rim of a tilted cylinder: the one corner that counts, else -1 */
} facing;

typedef struct {
  double n[3], e[3], f[3], origin[3], size;
} view;

typedef struct {
  double   u, v, gap;
  uint64_t name;
} found;

static void set_view(view *w, const convex_pose *a, const convex_pose *b, const double *n)
{
  double axis[3] = {0.0, 0.0, 0.0};
  int    least   = 0;
  for (int k = 1; k < 3; ++k)
    if (fabs(n[k]) < fabs(n[least])) least = k;
  axis[least] = 1.0;
  v3_copy(w->n, n);
  v3_cross(w->e, n, axis);
  v3_scale(w->e, 1.0 / v3_norm(w->e), w->e);
  v3_cross(w->f, n, w->e);
  const convex_pose *at = b->kind == CONVEX_HALF_SPACE ? a : b; /* near both, so that large coordinates cost no digits */
  v3_copy(w->origin, at->center);
  w->size = fmin(a->solid->bound, b->solid->bound);
}

static void add_corner(facing *o, const view *w, const double *x, int name)
{
  double d[3];
  v3_sub(d, x, w->origin);
  o->u[o->n]      = v3_dot(d, w->e);
  o->v[o->n]      = v3_dot(d, w->f);
  o->name[o->n++] = name;
}

/* Heights on the plane through x with this normal. */
static void set_plane(facing *o, const view *w, const double *x, const double *normal)
{
  double       d[3];
  const double s = 1.0 / v3_dot(normal, w->n);
  v3_sub(d, x, w->origin);
  o->slope_u = -s * v3_dot(normal, w->e);
  o->slope_v = -s * v3_dot(normal, w->f);
  o->height  = s * v3_dot(normal, d);
}

static void face_segment(facing *o, const view *w, const double *x, const double *y)
{
  double d[3];
  add_corner(o, w, x, 0);
  add_corner(o, w, y, 1);
  v3_sub(d, y, x);
  const double du = o->u[1] - o->u[0], dv = o->v[1] - o->v[0], s = v3_dot(d, w->n) / (du * du + dv * dv);
  o->slope_u = s * du, o->slope_v = s * dv;
  v3_sub(d, x, w->origin);
  o->height = v3_dot(d, w->n) - o->slope_u * o->u[0] - o->slope_v * o->v[0];
}

/* The face by which a polyhedron stands on something below it along d: of the flattest edge at its lowest corner the flatter
 * side, so that what lies down on an edge or a face is seen whole. */
static int standing_face(const convex_pose *p, const double *d)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  double                   x[3], flattest = INFINITY;
  const int                corner = convex_support(p, d, x);
  int                      face   = h->fan[h->fan_start[corner]];
  for (int e = 0; e < h->n_edges; ++e) {
    const int32_t *edge = h->edge + 4 * e;
    double         along[3];
    if (edge[0] != corner && edge[1] != corner) continue;
    v3_sub(along, p->x + 3 * edge[1], p->x + 3 * edge[0]);
    const double slope = fabs(v3_dot(along, d)) / v3_norm(along);
    if (slope >= flattest) continue;
    flattest = slope;
    face     = v3_dot(p->face_normal + 3 * edge[2], d) >= v3_dot(p->face_normal + 3 * edge[3], d) ? edge[2] : edge[3];
  }
  return face;
}

/* The end of a cylinder: points fixed to its rim while it stands on it, and the lowest one. */
static void face_cap(facing *o, const view *w, const convex_pose *p, const double *d)
{
  const double  along  = v3_dot(d, p->axis), side = along > 0.0 ? 1.0 : -1.0;
  const double *center = along > 0.0 ? p->to : p->from;
  double        low[3], e[3], f[3], x[3], normal[3];
  v3_copy(low, d);
  v3_axpy(low, -along, p->axis);
  const double tilt = v3_norm(low);
  if (tilt > RIM_FLAT) v3_scale(e, 1.0 / tilt, low);
  else v3_copy(e, p->across);
  v3_cross(f, p->axis, e);
  double angle = tilt > 1e-7 ? atan2(v3_dot(low, f), v3_dot(low, e)) : 0.0;
  if (angle < 0.0) angle += 2.0 * M_PI;
  bool is_lowest_in = tilt > RIM_FLAT || tilt <= 1e-7;
  for (int k = 0; k < RIM_POINTS; ++k) {
    double at = 2.0 * M_PI * k / RIM_POINTS;
    if (!is_lowest_in && angle < at) {
      v3_copy(x, center);
      v3_axpy(x, p->radius * cos(angle), e);
      v3_axpy(x, p->radius * sin(angle), f);
      add_corner(o, w, x, RIM_POINTS);
      is_lowest_in = true;
    }
    v3_copy(x, center);
    v3_axpy(x, p->radius * cos(at), e);
    v3_axpy(x, p->radius * sin(at), f);
    add_corner(o, w, x, tilt > RIM_FLAT ? RIM_POINTS + k : k);
  }
  if (tilt > RIM_FLAT) o->deepest = RIM_POINTS;
  v3_scale(normal, side, p->axis);
  set_plane(o, w, center, normal);
}

/* What of p lies farthest along d. */
static void set_facing(facing *o, const view *w, const convex_pose *p, const double *d)
{
  double x[3], y[3], low[3];
  *o = (facing){.deepest = -1};
  if (p->kind == CONVEX_HALF_SPACE) {
    v3_scale(x, p->offset, p->normal);
    set_plane(o, w, x, p->normal);
  } else if (p->kind == CONVEX_POLYHEDRON) {
    const convex_polyhedron *h    = p->solid->polyhedron;
    const int                face = standing_face(p, d);
    for (int k = h->loop_start[face]; k < h->loop_start[face + 1]; ++k) add_corner(o, w, p->x + 3 * h->loop[k], h->loop[k]);
    set_plane(o, w, p->x + 3 * h->loop[h->loop_start[face]], p->face_normal + 3 * face);
  } else {
    const double along = v3_dot(d, p->axis);
    const bool   is_cylinder = p->kind == CONVEX_CYLINDER;
    v3_copy(low, d);
    v3_axpy(low, -along, p->axis);
    if (is_cylinder && fabs(along) > M_SQRT1_2) {
      face_cap(o, w, p, d);
    } else if (p->kind == CONVEX_SPHERE || fabs(along) > 0.9) {
      convex_support(p, d, x);
      add_corner(o, w, x, v3_dot(d, p->axis) > 0.0);
      v3_sub(y, x, w->origin);
      o->height = v3_dot(y, w->n);
    } else {
      v3_copy(x, p->from);
      v3_copy(y, p->to);
      if (is_cylinder) v3_axpy(x, p->radius / v3_norm(low), low), v3_axpy(y, p->radius / v3_norm(low), low);
      face_segment(o, w, x, y);
    }
  }
}

static double turn(const facing *o, int i, int j, double u, double v)
{
  return (o->u[j] - o->u[i]) * (v - o->v[i]) - (o->v[j] - o->v[i]) * (u - o->u[i]);
}

static double area(const facing *o)
{
  double sum = 0.0;
  for (int i = 2; i < o->n; ++i) sum += turn(o, 0, i - 1, o->u[i], o->v[i]);
  return sum;
}

static bool contains(const facing *o, double u, double v, double tolerance)
{
  if (o->n == 0) return true;
  if (o->n == 1) return hypot(u - o->u[0], v - o->v[0]) <= tolerance;
  if (o->n == 2) {
    const double du = o->u[1] - o->u[0], dv = o->v[1] - o->v[0], l = hypot(du, dv);
    const double s = ((u - o->u[0]) * du + (v - o->v[0]) * dv) / l;
    return fabs(turn(o, 0, 1, u, v)) <= tolerance * l && s >= -tolerance && s <= l + tolerance;
  }
  const double sign = area(o) < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < o->n; ++i) {
    const int    j = i + 1 < o->n ? i + 1 : 0;
    const double l = hypot(o->u[j] - o->u[i], o->v[j] - o->v[i]);
    if (sign * turn(o, i, j, u, v) < -tolerance * l) return false;
  }
  return true;
}

static double gap_at(const facing *a, const facing *b, double u, double v)
{
  return a->height - b->height + (a->slope_u - b->slope_u) * u + (a->slope_v - b->slope_v) * v;
}

/* Once per place: what comes first keeps its name. */
static void note(const view *w, const facing *a, const facing *b, double u, double v, uint64_t name, int *n, found *list)
{
  for (int i = 0; i < *n; ++i)
    if (hypot(u - list[i].u, v - list[i].v) <= MERGE * w->size) return;
  if (*n < MAX_FOUND) list[(*n)++] = (found){u, v, gap_at(a, b, u, v), name};
}

static void note_crossings(const view *w, const facing *a, const facing *b, int *n, found *list)
{
  const int ea = a->n > 2 ? a->n : a->n - 1, eb = b->n > 2 ? b->n : b->n - 1;
  for (int i = 0; i < ea; ++i)
    for (int j = 0; j < eb; ++j) {
      const int    i1 = i + 1 < a->n ? i + 1 : 0, j1 = j + 1 < b->n ? j + 1 : 0;
      const double s0 = turn(b, j, j1, a->u[i], a->v[i]), s1 = turn(b, j, j1, a->u[i1], a->v[i1]);
      const double t0 = turn(a, i, i1, b->u[j], b->v[j]), t1 = turn(a, i, i1, b->u[j1], b->v[j1]);
      if (!(s0 * s1 < 0.0 && t0 * t1 < 0.0)) continue;
      const double s = s0 / (s0 - s1);
      note(w, a, b, a->u[i] + s * (a->u[i1] - a->u[i]), a->v[i] + s * (a->v[i1] - a->v[i]),
           convex_feature_name(CONVEX_TOUCH_CROSSING, (unsigned)a->name[i], (unsigned)b->name[j]), n, list);
    }
}

/* How far they spread across their longest extent. */
static double width(int n, const found *list)
{
  double longest = 0.0, most = 0.0;
  int    far = 0;
  for (int i = 1; i < n; ++i) {
    const double l = hypot(list[i].u - list[0].u, list[i].v - list[0].v);
    if (l > longest) longest = l, far = i;
  }
  if (!(longest > 0.0)) return 0.0;
  for (int i = 1; i < n; ++i) {
    const double d = (list[far].u - list[0].u) * (list[i].v - list[0].v) - (list[far].v - list[0].v) * (list[i].u - list[0].u);
    most           = fmax(most, fabs(d) / longest);
  }
  return most;
}

/* More than there is room for: the deepest, and then always the one farthest from all taken. */
static void choose(int *n, found *list)
{
  for (int taken = 0; taken < CONVEX_MAX_CLIPPED; ++taken) {
    int    best = taken;
    double most = -INFINITY;
    for (int i = taken; i < *n; ++i) {
      double value = taken == 0 ? -list[i].gap : INFINITY;
      for (int k = 0; k < taken; ++k) value = fmin(value, hypot(list[i].u - list[k].u, list[i].v - list[k].v));
      if (value > most) most = value, best = i;
    }
    const found t = list[taken];
    list[taken]   = list[best];
    list[best]    = t;
  }
  *n = CONVEX_MAX_CLIPPED;
}

static bool convex_clip(const convex_pose *a, const convex_pose *b, const double n[3], double margin, convex_touches *out)
{
  view   w;
  facing fa, fb;
  found  list[MAX_FOUND];
  int    m = 0;
  double back[3];
  v3_scale(back, -1.0, n);
  set_view(&w, a, b, n);
  set_facing(&fa, &w, a, back);
  set_facing(&fb, &w, b, n);
  for (int i = 0; i < fa.n; ++i)
    if (contains(&fb, fa.u[i], fa.v[i], INSIDE * w.size))
      note(&w, &fa, &fb, fa.u[i], fa.v[i], convex_feature_name(CONVEX_TOUCH_CORNER_A, (unsigned)fa.name[i], 0), &m, list);
  for (int j = 0; j < fb.n; ++j)
    if (contains(&fa, fb.u[j], fb.v[j], INSIDE * w.size))
      note(&w, &fa, &fb, fb.u[j], fb.v[j], convex_feature_name(CONVEX_TOUCH_CORNER_B, 0, (unsigned)fb.name[j]), &m, list);
  note_crossings(&w, &fa, &fb, &m, list);
  if (m == 0 || (fa.n > 2 && fb.n > 2 && width(m, list) <= LINE * w.size)) return false;
  const double rounding = convex_rounding(a) + convex_rounding(b);
  int          kept     = 0;
  for (int i = 0; i < m; ++i) {
    list[i].gap -= rounding;
    const bool is_rim_a = list[i].name >> 24 == CONVEX_TOUCH_CORNER_A && fa.deepest >= 0,
               is_rim_b = list[i].name >> 24 == CONVEX_TOUCH_CORNER_B && fb.deepest >= 0;
    const int  of_a = (int)(list[i].name >> 12 & 0xfff), of_b = (int)(list[i].name & 0xfff);
    if (list[i].gap > margin || (is_rim_a && of_a != fa.deepest) || (is_rim_b && of_b != fb.deepest)) continue;
    list[kept++] = list[i];
  }
  if (kept > CONVEX_MAX_CLIPPED) choose(&kept, list);
  for (int i = 0; i < kept; ++i) {
    double       q[3];
    const double h = fb.height + fb.slope_u * list[i].u + fb.slope_v * list[i].v + convex_rounding(b);
    for (int k = 0; k < 3; ++k) q[k] = w.origin[k] + list[i].u * w.e[k] + list[i].v * w.f[k] + h * n[k];
    convex_touches_add(out, margin, q, n, list[i].gap, list[i].name);
  }
  return true;
}

/* ==== spheres and capsules ==== */

/* Contact of what is round: distances of points and of segments. */

/* Sine of the angle between two axes below which they touch in two points, not one. */
static const double SIDE_BY_SIDE = 0.1;
static const double FLUSH = 1e-6; /* of the length: ends beside each other are seen from at least one side */

/* ---- points ---- */

static double cylinder_point(const convex_pose *p, const double *x, double *normal, double *q)
{
  double d[3], out[3], half[3];
  v3_sub(half, p->to, p->from);
  v3_sub(d, x, p->center);
  const double t = v3_dot(d, p->axis), side = t < 0.0 ? -1.0 : 1.0, beyond = fabs(t) - 0.5 * v3_norm(half);
  v3_copy(out, d);
  v3_axpy(out, -t, p->axis);
  const double rho = v3_norm(out), outside = rho - p->radius;
  if (rho > 0.0) v3_scale(out, 1.0 / rho, out);
  else v3_copy(out, p->across);
  if (beyond > 0.0 && outside > 0.0) {
    const double distance = hypot(beyond, outside);
    v3_scale(normal, side * beyond / distance, p->axis);
    v3_axpy(normal, outside / distance, out);
    v3_copy(q, x);
    v3_axpy(q, -distance, normal);
    return distance;
  }
  const double distance = fmax(beyond, outside);
  if (beyond > outside) v3_scale(normal, side, p->axis);
  else v3_copy(normal, out);
  v3_copy(q, x);
  v3_axpy(q, -distance, normal);
  return distance;
}

/* The point of face f closest to x, which is `height` above it. */
static void face_closest(const convex_pose *p, int f, const double *x, double height, double *q)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  const double            *n = p->face_normal + 3 * f;
  double                   least = INFINITY;
  bool                     is_over = true;
  v3_copy(q, x);
  for (int k = h->loop_start[f]; k < h->loop_start[f + 1]; ++k) {
    const double *from = p->x + 3 * h->loop[k], *to = p->x + 3 * h->loop[k + 1 < h->loop_start[f + 1] ? k + 1 : h->loop_start[f]];
    double        e[3], d[3], out[3], r[3];
    v3_sub(e, to, from);
    v3_sub(d, x, from);
    v3_cross(out, e, n);
    if (v3_dot(out, d) <= 0.0) continue;
    is_over        = false;
    const double s = fmin(1.0, fmax(0.0, v3_dot(d, e) / v3_dot(e, e)));
    for (int i = 0; i < 3; ++i) r[i] = x[i] - from[i] - s * e[i];
    const double distance = v3_dot(r, r);
    if (distance >= least) continue;
    least = distance;
    v3_copy(q, from);
    v3_axpy(q, s, e);
  }
  if (is_over) v3_axpy(q, -height, n);
}

static double polyhedron_point(const convex_pose *p, const double *x, double *normal, double *q)
{
  const int n       = p->solid->polyhedron->n_faces;
  double    highest = -INFINITY, least = INFINITY;
  int       best    = 0;
  v3_copy(q, x);
  for (int f = 0; f < n; ++f) {
    const double height = v3_dot(p->face_normal + 3 * f, x) - p->face_offset[f];
    if (height > highest) highest = height, best = f;
    if (height <= 0.0) continue;
    double at[3], d[3];
    face_closest(p, f, x, height, at);
    v3_sub(d, x, at);
    if (v3_norm(d) < least) least = v3_norm(d), v3_copy(q, at);
  }
  v3_copy(normal, p->face_normal + 3 * best);
  if (highest > 0.0 && least > highest * (1.0 + 1e-14)) { /* an edge or a corner is closest */
    v3_sub(normal, x, q);
    v3_scale(normal, 1.0 / least, normal);
    return least;
  }
  v3_copy(q, x);
  v3_axpy(q, -highest, normal);
  return highest;
}

double convex_point_distance(const convex_pose *p, const double x[3], double normal[3], double q[3])
{
  return p->kind == CONVEX_CYLINDER ? cylinder_point(p, x, normal, q) : polyhedron_point(p, x, normal, q);
}

/* ---- segments ---- */

static double clamp01(double s) { return s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s; }

static void convex_segments_closest(const double x[3], const double d[3], const double y[3], const double e[3], double *s, double *t)
{
  double       r[3];
  const double dd = v3_dot(d, d), ee = v3_dot(e, e), de = v3_dot(d, e);
  v3_sub(r, x, y);
  const double dr = v3_dot(d, r), er = v3_dot(e, r), det = dd * ee - de * de;
  if (!(dd > 0.0) || !(ee > 0.0)) {
    *s = dd > 0.0 ? clamp01(-dr / dd) : 0.0;
    *t = ee > 0.0 ? clamp01(er / ee) : 0.0;
    return;
  }
  if (det > 1e-14 * dd * ee) *s = clamp01((de * er - ee * dr) / det);
  else { /* parallel: the middle of what they share */
    const double s0 = clamp01(-dr / dd), s1 = clamp01((de - dr) / dd);
    *s = 0.5 * (s0 + s1);
  }
  *t = clamp01((er + *s * de) / ee);
  *s = clamp01((*t * de - dr) / dd);
}

/* ---- cores of radius against each other ---- */

/* The touch of balls of these radii around x and y. */
static void add_balls(const double *x, double rx, const double *y, double ry, const double *fallback, double margin, uint64_t name,
                      convex_touches *out)
{
  double       n[3], q[3];
  v3_sub(n, x, y);
  const double distance = v3_norm(n);
  if (distance > 0.0) v3_scale(n, 1.0 / distance, n);
  else v3_copy(n, fallback);
  v3_copy(q, y);
  v3_axpy(q, ry, n);
  convex_touches_add(out, margin, q, n, distance - rx - ry, name);
}

/* Ends of what a shares with b along the side of both. */
static void add_ends(const convex_pose *a, const convex_pose *b, const double *fallback, bool is_swapped, double margin,
                     convex_touches *out)
{
  double e[3];
  v3_sub(e, b->to, b->from);
  const double ee = v3_dot(e, e);
  for (int end = 0; end < 2; ++end) {
    const double *x = end ? a->to : a->from;
    double        d[3], y[3];
    v3_sub(d, x, b->from);
    const double t = v3_dot(d, e) / ee;
    if (t < -FLUSH || t > 1.0 + FLUSH) continue;
    v3_copy(y, b->from);
    v3_axpy(y, t, e);
    if (is_swapped)
      add_balls(y, b->radius, x, a->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_B, 0, (unsigned)end), out);
    else add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0), out);
  }
}

/* Ends that lie on ends are found from both sides: once is enough. */
static void drop_twins(convex_touches *out, int first, double tolerance)
{
  int n = first;
  for (int i = first; i < out->n; ++i) {
    bool is_new = true;
    for (int k = first; k < n && is_new; ++k) {
      double d[3];
      v3_sub(d, out->touch[i].x, out->touch[k].x);
      is_new = v3_norm(d) > tolerance;
    }
    if (is_new) out->touch[n++] = out->touch[i];
  }
  out->n = n;
}

/* Any direction across the axis of p. */
static void any_normal(const convex_pose *p, double *n)
{
  if (p->kind == CONVEX_SPHERE) v3_set(n, 0.0, 0.0, 1.0);
  else v3_copy(n, p->across);
}

static void convex_barrel_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double d[3], e[3], m[3], x[3], y[3], s, t, fallback[3];
  const int first = out->n;
  any_normal(a->kind == CONVEX_SPHERE ? b : a, fallback);
  v3_sub(d, a->to, a->from);
  v3_sub(e, b->to, b->from);
  v3_cross(m, a->axis, b->axis);
  if (a->kind != CONVEX_SPHERE && b->kind != CONVEX_SPHERE && v3_norm(m) < SIDE_BY_SIDE) {
    add_ends(a, b, fallback, false, margin, out);
    add_ends(b, a, fallback, true, margin, out);
    drop_twins(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
    if (out->n > first && v3_norm(m) < 1e-7) return; /* the middle adds nothing */
  }
  convex_segments_closest(a->from, d, b->from, e, &s, &t);
  v3_copy(x, a->from);
  v3_axpy(x, s, d);
  v3_copy(y, b->from);
  v3_axpy(y, t, e);
  add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0), out);
  drop_twins(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
}

/* ---- against flat sides and cylinders ---- */

/* A ball of the radius of `round` at x, against p. */
static void add_ball(const convex_pose *p, const double *x, double radius, double margin, uint64_t name, convex_touches *out)
{
  double       n[3], q[3];
  const double distance = convex_point_distance(p, x, n, q);
  convex_touches_add(out, margin, q, n, distance - radius, name);
}

/* Where the side of a capsule meets edges: between the ends of both, along a normal that lies between those of the faces. */
static void add_edges(const convex_pose *round, const convex_pose *p, double margin, convex_touches *out)
{
  const convex_polyhedron *h = p->solid->polyhedron;
  double                   d[3];
  v3_sub(d, round->to, round->from);
  for (int i = 0; i < h->n_edges; ++i) {
    const int32_t *edge = h->edge + 4 * i;
    const double  *y = p->x + 3 * edge[0], *f = p->face_normal + 3 * edge[2], *g = p->face_normal + 3 * edge[3];
    double         e[3], n[3], q[3], s, t, fe[3], ge[3];
    v3_sub(e, p->x + 3 * edge[1], y);
    convex_segments_closest(round->from, d, y, e, &s, &t);
    if (!(s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)) continue;
    for (int k = 0; k < 3; ++k) q[k] = y[k] + t * e[k], n[k] = round->from[k] + s * d[k] - q[k];
    double distance = v3_norm(n);
    if (distance > round->radius + margin || !(distance > 0.0)) continue;
    v3_cross(fe, e, f); /* e is f x g: normals between f and g have these signs */
    v3_cross(ge, e, g);
    double sign = v3_dot(n, f) + v3_dot(n, g) > 0.0 ? 1.0 : -1.0;
    const double hair = 1e-9 * v3_norm(e) * distance; /* across a face its rims are met along its own normal */
    if (sign * v3_dot(n, fe) < -hair || sign * v3_dot(n, ge) > hair || (sign < 0.0 && distance > round->radius)) continue;
    v3_scale(n, sign / distance, n);
    convex_touches_add(out, margin, q, n, sign * distance - round->radius,
                       convex_feature_name(CONVEX_TOUCH_CROSSING, 0, (unsigned)i));
  }
}

/* What of the side of a capsule comes closer than all that: to a corner, or a rim. */
static void add_closest(const convex_pose *round, const convex_pose *p, double margin, convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       x[3], q[3], n[3], least = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  const double distance = convex_distance(round, p, stay, x, q, n), gap = distance - round->radius;
  if (distance > 0.0 && gap < least - 1e-9 * round->radius)
    convex_touches_add(out, margin, q, n, gap, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

static void turn_about(convex_touches *out)
{
  for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
}

static void convex_round_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const bool is_a = a->kind == CONVEX_SPHERE || a->kind == CONVEX_CAPSULE,
             is_b = b->kind == CONVEX_SPHERE || b->kind == CONVEX_CAPSULE;
  if (is_a && is_b) {
    convex_barrel_touches(a, b, margin, out);
    return;
  }
  const convex_pose *round = is_a ? a : b, *other = is_a ? b : a;
  add_ball(other, round->from, round->radius, margin, convex_feature_name(CONVEX_TOUCH_END_A, 0, 0), out);
  if (round->kind == CONVEX_CAPSULE) {
    add_ball(other, round->to, round->radius, margin, convex_feature_name(CONVEX_TOUCH_END_A, 1, 0), out);
    if (other->kind == CONVEX_POLYHEDRON) add_edges(round, other, margin, out);
    add_closest(round, other, margin, out);
    drop_twins(out, 0, 1e-5 * fmin(round->solid->bound, other->solid->bound));
  }
  if (!is_a) turn_about(out);
}

/* ==== pairs ==== */

static const double GRAZING = 1e-4; /* sine of the angle within which two directions are the same */

/* ---- half-spaces ---- */

/* Lowest points of a; the half-space is b. */
static void half_space(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const int n_corners = a->kind == CONVEX_POLYHEDRON ? a->solid->polyhedron->n_corners : 0;
  int       n_near    = 0;
  for (int i = 0; i < n_corners; ++i) n_near += v3_dot(b->normal, a->x + 3 * i) - b->offset <= margin;
  if (a->kind == CONVEX_CYLINDER || n_near > CONVEX_MAX_TOUCHES) {
    convex_clip(a, b, b->normal, margin, out);
  } else if (a->kind == CONVEX_POLYHEDRON) { /* every corner, not only those of one face */
    for (int i = 0; i < n_corners; ++i) {
      const double *x   = a->x + 3 * i;
      const double  gap = v3_dot(b->normal, x) - b->offset;
      double        q[3];
      v3_copy(q, x);
      v3_axpy(q, -gap, b->normal);
      convex_touches_add(out, margin, q, b->normal, gap, convex_feature_name(CONVEX_TOUCH_CORNER_A, (unsigned)i, 0));
    }
  } else {
    for (int end = 0; end < (a->kind == CONVEX_CAPSULE ? 2 : 1); ++end) {
      const double *x        = end ? a->to : a->from;
      const double  distance = v3_dot(b->normal, x) - b->offset;
      double        q[3];
      v3_copy(q, x);
      v3_axpy(q, -distance, b->normal);
      convex_touches_add(out, margin, q, b->normal, distance - a->radius,
                         convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0));
    }
  }
}

/* ---- two with flat sides ---- */

/* Those that touch with corners, or with edges side by side: the two closest points. */
static void corners(const convex_pose *a, const convex_pose *b, const double *axis, bool is_line, double margin,
                    convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       p[3], q[3], n[3], sine[3];
  const double distance = convex_distance(a, b, stay, p, q, n);
  if (!(distance > 0.0) || distance > margin) return;
  v3_cross(sine, n, axis);
  if (is_line && v3_norm(sine) < GRAZING) return; /* they pass along each other */
  convex_touches_add(out, margin, q, n, distance, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

/* Where round sides or rims overlap most: the point of one that is farthest into the other. Where one of them is flat any of its
 * points is as far, and the other's says where. */
static void deepest(const convex_pose *a, const convex_pose *b, const double *n, double separation, double margin,
                    convex_touches *out)
{
  double p[3], q[3], back[3], normal[3], at[3];
  v3_scale(back, -1.0, n);
  convex_support(a, back, p);
  convex_support(b, n, q);
  v3_axpy(p, -separation, n); /* where the surface of b should be */
  const double off_b = fabs(convex_point_distance(b, p, normal, at));
  v3_copy(back, q);
  v3_axpy(back, separation, n);
  const double off_a = fabs(convex_point_distance(a, back, normal, at));
  convex_touches_add(out, margin, off_b < off_a ? p : q, n, separation, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

/* Found so far along the normal n, maybe without the closest points, which are `separation` apart. */
static void complete(const convex_pose *a, const convex_pose *b, const double *n, double separation, bool is_line, double margin,
                     convex_touches *out)
{
  const bool   is_round = a->kind == CONVEX_CYLINDER || b->kind == CONVEX_CYLINDER;
  const double slack    = (is_round ? 1e-7 : 1e-9) * fmin(a->solid->bound, b->solid->bound);
  double       least    = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  if (!(least > separation + slack)) return;
  if (separation > 0.0) corners(a, b, n, is_line, margin, out);
  else if (is_round) deepest(a, b, n, separation, margin, out);
}

static void polyhedra(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_polyhedra(a, b, margin, n);
  if (separation > margin) return;
  const bool is_area = convex_clip(a, b, n, margin, out);
  complete(a, b, n, separation, !is_area, margin, out);
}

/* Whether two cylinders touch with their sides: where these cross, or along a line. */
static bool is_side_by_side(const convex_pose *a, const convex_pose *b, const double *n)
{
  double       sine[3];
  const double tilt = fmax(fabs(v3_dot(n, a->axis)), fabs(v3_dot(n, b->axis)));
  v3_cross(sine, a->axis, b->axis);
  return tilt < (v3_norm(sine) < 0.1 ? 1e-3 : 1e-6);
}

static void cylinder(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_cylinder(a, b, margin, n);
  if (separation > margin) return;
  if (a->kind == b->kind && is_side_by_side(a, b, n)) convex_barrel_touches(a, b, margin, out);
  else convex_clip(a, b, n, margin, out);
  complete(a, b, n, separation, false, margin, out);
}

void convex_pair_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  out->n = 0;
  if (a->kind == CONVEX_HALF_SPACE && b->kind == CONVEX_HALF_SPACE) return;
  if (a->kind == CONVEX_HALF_SPACE) {
    half_space(b, a, margin, out);
    for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
    return;
  }
  if (b->kind == CONVEX_HALF_SPACE) half_space(a, b, margin, out);
  else if (a->kind <= CONVEX_CAPSULE || b->kind <= CONVEX_CAPSULE) convex_round_touches(a, b, margin, out);
  else if (a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON) polyhedra(a, b, margin, out);
  else cylinder(a, b, margin, out);
}
