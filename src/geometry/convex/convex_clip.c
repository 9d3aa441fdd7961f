#include "geometry/convex/convex_clip.h"

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

bool convex_clip(const convex_pose *a, const convex_pose *b, const double n[3], double margin, convex_touches *out)
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
