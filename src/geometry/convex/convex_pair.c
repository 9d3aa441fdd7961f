/* Implementation: clipping of the faces and edges closest to the other solid, closest points of spheres and capsules, and the choice of
 * the method for each pair of kinds. */
#include "geometry/convex/convex_pair.h"
#include "geometry/convex/convex_distance.h"
#include "geometry/primitive/equal_areas.h"

/* Feature number of a touch: the kinds below, and the numbers of the features of a and b. Different kinds give different
 * numbers. */
static inline uint64_t convex_feature_name(unsigned kind, unsigned a, unsigned b) { return (uint64_t)kind << 24 | (uint64_t)a << 12 | b; }
enum {
  CONVEX_TOUCH_CORNER_A,
  CONVEX_TOUCH_CORNER_B,
  CONVEX_TOUCH_CROSSING,
  CONVEX_TOUCH_CLOSEST,
  CONVEX_TOUCH_END_A,
  CONVEX_TOUCH_END_B,
  CONVEX_TOUCH_AREA
};

/* ==== clipping ==== */

enum { MAX_CORNERS = CONVEX_MAX_SIDES, MAX_FOUND = 4 * MAX_CORNERS, RIM_POINTS = 16, RIM_AREA = 46 };
static const double INSIDE = 1e-9, MERGE = 1e-5, LINE = 1e-6; /* relative to the size of the smaller solid */
static const double AREA_FLAT = 1e-3;                         /* difference of gaps over the size above which area points are not used */
static const double RIM_FLAT  = 0.02;                         /* sine of the tilt above which points are distributed from the lowest one */

/* The supporting feature of a solid that faces the other one: coordinates (u, v) perpendicular to n, and the height h along n. */
typedef struct {
  int    n;                                                        /* 0: an unbounded plane; 1: a point; 2: an edge; more: a polygon */
  double u[MAX_CORNERS], v[MAX_CORNERS], height, slope_u, slope_v; /* h = height + slope_u u + slope_v v */
  int    name[MAX_CORNERS];
} support_region;

typedef struct {
  double n[3], e[3], f[3], origin[3], size;
} view;

typedef struct {
  double   u, v, gap;
  uint64_t name;
} clip_point;

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
  /* an origin close to both solids, so that large coordinates cost no accuracy */
  const convex_pose *at = b->kind == CONVEX_HALF_SPACE ? a : b;
  v3_copy(w->origin, at->center);
  w->size = fmin(a->solid->bound, b->solid->bound);
}

static void add_corner(support_region *o, const view *w, const double *x, int name)
{
  double d[3];
  v3_sub(d, x, w->origin);
  o->u[o->n]      = v3_dot(d, w->e);
  o->v[o->n]      = v3_dot(d, w->f);
  o->name[o->n++] = name;
}

/* Heights of the plane through x with this normal. */
static void set_plane(support_region *o, const view *w, const double *x, const double *normal)
{
  double       d[3];
  const double s = 1.0 / v3_dot(normal, w->n);
  v3_sub(d, x, w->origin);
  o->slope_u = -s * v3_dot(normal, w->e);
  o->slope_v = -s * v3_dot(normal, w->f);
  o->height  = s * v3_dot(normal, d);
}

static void set_segment_region(support_region *o, const view *w, const double *x, const double *y)
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

/* Supporting face of a polyhedron in direction d: at the support corner, the edge closest to perpendicular to d; of its two faces
 * the one whose normal is closer to d. A solid that rests on an edge or a face is then represented by the complete edge or face. */
static int support_face(const convex_pose *p, const double *d)
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

/* The flat end of a cylinder: the support point, and RIM_POINTS points fixed to its rim while it stands on the end, or distributed from the
 * support point if it is tilted. */
static void set_cap_region(support_region *o, const view *w, const convex_pose *p, const double *d)
{
  const double  along = v3_dot(d, p->axis), side = along > 0.0 ? 1.0 : -1.0;
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
  v3_scale(normal, side, p->axis);
  set_plane(o, w, center, normal);
}

/* The flat end of a cylinder as a regular polygon with the area of the disc. */
static void set_cap_polygon(support_region *o, const view *w, const convex_pose *p, const double *d)
{
  const double  side = v3_dot(d, p->axis) > 0.0 ? 1.0 : -1.0, step = 2.0 * M_PI / RIM_AREA, radius = p->radius * sqrt(step / sin(step));
  const double *center = side > 0.0 ? p->to : p->from;
  double        f[3], x[3], normal[3];
  v3_cross(f, p->axis, p->across);
  for (int k = 0; k < RIM_AREA; ++k) {
    v3_copy(x, center);
    v3_axpy(x, radius * cos(step * k), p->across);
    v3_axpy(x, radius * sin(step * k), f);
    add_corner(o, w, x, k);
  }
  v3_scale(normal, side, p->axis);
  set_plane(o, w, center, normal);
}

/* Supporting feature of p in direction d. for_area: the end of a cylinder has the area of the disc. */
static void find_support_region(support_region *o, const view *w, const convex_pose *p, const double *d, bool for_area)
{
  double x[3], y[3], low[3];
  *o = (support_region){0};
  if (p->kind == CONVEX_HALF_SPACE) {
    v3_scale(x, p->offset, p->normal);
    set_plane(o, w, x, p->normal);
  } else if (p->kind == CONVEX_POLYHEDRON) {
    const convex_polyhedron *h    = p->solid->polyhedron;
    const int                face = support_face(p, d);
    for (int k = h->loop_start[face]; k < h->loop_start[face + 1]; ++k) add_corner(o, w, p->x + 3 * h->loop[k], h->loop[k]);
    set_plane(o, w, p->x + 3 * h->loop[h->loop_start[face]], p->face_normal + 3 * face);
  } else {
    const double along       = v3_dot(d, p->axis);
    const bool   is_cylinder = p->kind == CONVEX_CYLINDER;
    v3_copy(low, d);
    v3_axpy(low, -along, p->axis);
    if (is_cylinder && fabs(along) > M_SQRT1_2) {
      (for_area ? set_cap_polygon : set_cap_region)(o, w, p, d);
    } else if (p->kind == CONVEX_SPHERE || fabs(along) > 0.9) {
      convex_support(p, d, x);
      add_corner(o, w, x, v3_dot(d, p->axis) > 0.0);
      v3_sub(y, x, w->origin);
      o->height = v3_dot(y, w->n);
    } else {
      v3_copy(x, p->from);
      v3_copy(y, p->to);
      if (is_cylinder) v3_axpy(x, p->radius / v3_norm(low), low), v3_axpy(y, p->radius / v3_norm(low), low);
      set_segment_region(o, w, x, y);
    }
  }
}

static double cross_product(const support_region *o, int i, int j, double u, double v)
{
  return (o->u[j] - o->u[i]) * (v - o->v[i]) - (o->v[j] - o->v[i]) * (u - o->u[i]);
}

static double area(const support_region *o)
{
  double sum = 0.0;
  for (int i = 2; i < o->n; ++i) sum += cross_product(o, 0, i - 1, o->u[i], o->v[i]);
  return sum;
}

static bool contains(const support_region *o, double u, double v, double tolerance)
{
  if (o->n == 0) return true;
  if (o->n == 1) return hypot(u - o->u[0], v - o->v[0]) <= tolerance;
  if (o->n == 2) {
    const double du = o->u[1] - o->u[0], dv = o->v[1] - o->v[0], l = hypot(du, dv);
    const double s = ((u - o->u[0]) * du + (v - o->v[0]) * dv) / l;
    return fabs(cross_product(o, 0, 1, u, v)) <= tolerance * l && s >= -tolerance && s <= l + tolerance;
  }
  const double sign = area(o) < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < o->n; ++i) {
    const int    j = i + 1 < o->n ? i + 1 : 0;
    const double l = hypot(o->u[j] - o->u[i], o->v[j] - o->v[i]);
    if (sign * cross_product(o, i, j, u, v) < -tolerance * l) return false;
  }
  return true;
}

static double gap_at(const support_region *a, const support_region *b, double u, double v)
{
  return a->height - b->height + (a->slope_u - b->slope_u) * u + (a->slope_v - b->slope_v) * v;
}

/* Append a point unless the list has one at the same position, which then keeps its feature number. */
static void add_unique_point(const view *w, const support_region *a, const support_region *b, double u, double v, uint64_t name, int *n,
                             clip_point *list)
{
  for (int i = 0; i < *n; ++i)
    if (hypot(u - list[i].u, v - list[i].v) <= MERGE * w->size) return;
  if (*n < MAX_FOUND) list[(*n)++] = (clip_point){u, v, gap_at(a, b, u, v), name};
}

/* Crossings of the edges of both features. Edges on the same line up to rounding, as of equal boxes on each other, have none: their point
 * of intersection is ill-conditioned, so that it would jump along the edge from step to step. The ends of their common part are corners
 * that the other feature contains. */
static void add_edge_crossings(const view *w, const support_region *a, const support_region *b, int *n, clip_point *list)
{
  const int ea = a->n > 2 ? a->n : a->n - 1, eb = b->n > 2 ? b->n : b->n - 1;
  for (int i = 0; i < ea; ++i)
    for (int j = 0; j < eb; ++j) {
      const int    i1 = i + 1 < a->n ? i + 1 : 0, j1 = j + 1 < b->n ? j + 1 : 0;
      const double s0 = cross_product(b, j, j1, a->u[i], a->v[i]), s1 = cross_product(b, j, j1, a->u[i1], a->v[i1]);
      const double t0 = cross_product(a, i, i1, b->u[j], b->v[j]), t1 = cross_product(a, i, i1, b->u[j1], b->v[j1]);
      if (!(s0 * s1 < 0.0 && t0 * t1 < 0.0)) continue;
      const double length = hypot(b->u[j1] - b->u[j], b->v[j1] - b->v[j]);
      if (fmax(fabs(s0), fabs(s1)) <= INSIDE * w->size * length) continue;
      const double s = s0 / (s0 - s1);
      add_unique_point(w, a, b, a->u[i] + s * (a->u[i1] - a->u[i]), a->v[i] + s * (a->v[i1] - a->v[i]),
                       convex_feature_name(CONVEX_TOUCH_CROSSING, (unsigned)a->name[i], (unsigned)b->name[j]), n, list);
    }
}

/* Extent of the points perpendicular to their longest extent. */
static double extent_across(int n, const clip_point *list)
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

/* Reduce the list to CONVEX_MAX_CLIPPED points: the deepest one, then repeatedly the point farthest from all points chosen so
 * far. */
static void select_spread_points(int *n, clip_point *list)
{
  for (int taken = 0; taken < CONVEX_MAX_CLIPPED; ++taken) {
    int    best = taken;
    double most = -INFINITY;
    for (int i = taken; i < *n; ++i) {
      double value = taken == 0 ? -list[i].gap : INFINITY;
      for (int k = 0; k < taken; ++k) value = fmin(value, hypot(list[i].u - list[k].u, list[i].v - list[k].v));
      if (value > most) most = value, best = i;
    }
    const clip_point t = list[taken];
    list[taken]        = list[best];
    list[best]         = t;
  }
  *n = CONVEX_MAX_CLIPPED;
}

/* Corners of the common area of the supporting features fa, fb along n. Returns their number; 0 also if the projections of two faces have at most a
 * line in common. list [MAX_FOUND]. */
static int find_common_corners(view *w, support_region *fa, support_region *fb, const convex_pose *a, const convex_pose *b,
                               const double n[3], bool for_area, clip_point *list)
{
  int    m = 0;
  double back[3];
  v3_scale(back, -1.0, n);
  set_view(w, a, b, n);
  find_support_region(fa, w, a, back, for_area);
  find_support_region(fb, w, b, n, for_area);
  for (int i = 0; i < fa->n; ++i)
    if (contains(fb, fa->u[i], fa->v[i], INSIDE * w->size))
      add_unique_point(w, fa, fb, fa->u[i], fa->v[i], convex_feature_name(CONVEX_TOUCH_CORNER_A, (unsigned)fa->name[i], 0), &m, list);
  for (int j = 0; j < fb->n; ++j)
    if (contains(fa, fb->u[j], fb->v[j], INSIDE * w->size))
      add_unique_point(w, fa, fb, fb->u[j], fb->v[j], convex_feature_name(CONVEX_TOUCH_CORNER_B, 0, (unsigned)fb->name[j]), &m, list);
  add_edge_crossings(w, fa, fb, &m, list);
  return fa->n > 2 && fb->n > 2 && m > 0 && extent_across(m, list) <= LINE * w->size ? 0 : m;
}

/* Append the touches along the unit vector n (from b towards a) within margin: the corners of the common area of the supporting
 * features of both solids in projection along n. Returns false, and appends nothing, if there is none, or if the projections of two
 * faces have at most a line in common. */
static bool convex_clip(const convex_pose *a, const convex_pose *b, const double n[3], double margin, convex_touches *out)
{
  view           w;
  support_region fa, fb;
  clip_point     list[MAX_FOUND];
  const int      m = find_common_corners(&w, &fa, &fb, a, b, n, false, list);
  if (m == 0) return false;
  const double rounding = convex_rounding(a) + convex_rounding(b);
  int          kept     = 0;
  for (int i = 0; i < m; ++i) {
    list[i].gap -= rounding;
    if (list[i].gap <= margin) list[kept++] = list[i]; /* also points of a tilted rim, because a cylinder rolls onto them */
  }
  if (kept > CONVEX_MAX_CLIPPED) select_spread_points(&kept, list);
  for (int i = 0; i < kept; ++i) {
    double       q[3];
    const double h = fb.height + fb.slope_u * list[i].u + fb.slope_v * list[i].v + convex_rounding(b);
    for (int k = 0; k < 3; ++k) q[k] = w.origin[k] + list[i].u * w.e[k] + list[i].v * w.f[k] + h * n[k];
    convex_touches_add(out, margin, q, n, list[i].gap, list[i].name);
  }
  return true;
}

/* ---- points of equal area ---- */

/* Sort the corners of a convex polygon counter-clockwise around their mean, by angle. */
static void sort_around(int n, double (*x)[2])
{
  double center[2] = {0.0, 0.0}, angle[MAX_FOUND];
  for (int i = 0; i < n; ++i) center[0] += x[i][0] / n, center[1] += x[i][1] / n;
  for (int i = 0; i < n; ++i) angle[i] = atan2(x[i][1] - center[1], x[i][0] - center[0]);
  for (int i = 1; i < n; ++i) /* insertion sort of a few entries */
    for (int k = i; k > 0 && angle[k] < angle[k - 1]; --k) {
      const double t = angle[k], u = x[k][0], v = x[k][1];
      angle[k] = angle[k - 1], x[k][0] = x[k - 1][0], x[k][1] = x[k - 1][1];
      angle[k - 1] = t, x[k - 1][0] = u, x[k - 1][1] = v;
    }
}

int convex_pair_area_points(const convex_pose *a, const convex_pose *b)
{
  const int m = a->solid->area_points, n = b->solid->area_points;
  return m > n ? m : n;
}

bool convex_touch_is_area(uint64_t feature) { return feature >> 24 == CONVEX_TOUCH_AREA; }

/* The touches of equal area along the unit vector n from b towards a; -1: no area. The cuts are parallel to the first edge of one of the faces,
 * so that the points move with this solid. */
static int find_area_touches(const convex_pose *a, const convex_pose *b, const double n[3], double margin, convex_touch *out)
{
  view           w;
  support_region fa, fb;
  clip_point     list[MAX_FOUND];
  double         corner[MAX_FOUND][2], x[CONVEX_MAX_AREA_POINTS][2], low = INFINITY, high = -INFINITY;
  const int      m = find_common_corners(&w, &fa, &fb, a, b, n, true, list), n_points = convex_pair_area_points(a, b);
  if (m < 3 || m > EQUAL_AREAS_MAX_CORNERS / 2 || (fa.n < 3 && fa.n != 0) || (fb.n < 3 && fb.n != 0)) return -1;
  const support_region *own = fa.n > 0 ? &fa : &fb;
  const double          du = own->u[1] - own->u[0], dv = own->v[1] - own->v[0], l = hypot(du, dv), c = du / l, s = dv / l;
  for (int i = 0; i < m; ++i) {
    low = fmin(low, list[i].gap), high = fmax(high, list[i].gap);
    corner[i][0] = c * list[i].u + s * list[i].v, corner[i][1] = c * list[i].v - s * list[i].u;
  }
  if (high - low > AREA_FLAT * w.size) return -1;
  sort_around(m, corner);
  polygon_equal_areas(m, (const double(*)[2])corner, n_points, x);
  convex_touches one  = {0};
  int            kept = 0;
  for (int i = 0; i < n_points; ++i) {
    const double u = c * x[i][0] - s * x[i][1], v = s * x[i][0] + c * x[i][1], h = fb.height + fb.slope_u * u + fb.slope_v * v;
    double       q[3];
    for (int k = 0; k < 3; ++k) q[k] = w.origin[k] + u * w.e[k] + v * w.f[k] + h * n[k];
    one.n = 0;
    convex_touches_add(&one, margin, q, n, gap_at(&fa, &fb, u, v), convex_feature_name(CONVEX_TOUCH_AREA, (unsigned)i, 0));
    if (one.n > 0) out[kept++] = one.touch[0];
  }
  return kept;
}

/* ==== spheres, capsules and sides of cylinders: distances of points and segments ==== */

/* Sine of the angle between two axes below which they touch in two points instead of one. */
static const double SIDE_BY_SIDE = 0.1;
static const double FLUSH        = 1e-6; /* relative to the length: tolerance for an end that projects onto the end of the other segment */

/* ---- points ---- */

/* Signed distance, normal and closest point for a cylinder. */
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
  const convex_polyhedron *h       = p->solid->polyhedron;
  const double            *n       = p->face_normal + 3 * f;
  double                   least   = INFINITY;
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

/* The same for a polyhedron. */
static double polyhedron_point(const convex_pose *p, const double *x, double *normal, double *q)
{
  const int n       = p->solid->polyhedron->n_faces;
  double    highest = -INFINITY, least = INFINITY;
  int       best = 0;
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
  else { /* parallel: the middle of the overlap */ const double s0 = clamp01(-dr / dd), s1 = clamp01((de - dr) / dd);
    *s = 0.5 * (s0 + s1);
  }
  *t = clamp01((er + *s * de) / ee);
  *s = clamp01((*t * de - dr) / dd);
}

/* ---- two spheres, capsules or parallel cylinders ---- */

/* Append the touch of two balls with centres x, y and radii rx, ry; normal `fallback` if the centres coincide. */
static void add_balls(const double *x, double rx, const double *y, double ry, const double *fallback, double margin, uint64_t name,
                      convex_touches *out)
{
  double n[3], q[3];
  v3_sub(n, x, y);
  const double distance = v3_norm(n);
  if (distance > 0.0) v3_scale(n, 1.0 / distance, n);
  else v3_copy(n, fallback);
  v3_copy(q, y);
  v3_axpy(q, ry, n);
  convex_touches_add(out, margin, q, n, distance - rx - ry, name);
}

/* Append contacts at the ends of a next to the side of b. */
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
    if (is_swapped) add_balls(y, b->radius, x, a->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_B, 0, (unsigned)end), out);
    else add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0), out);
  }
}

/* Remove touches at the same position. Coinciding ends are found once for each solid. */
static void remove_duplicates(convex_touches *out, int first, double tolerance)
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

/* An arbitrary normal for coinciding points: perpendicular to the axis of p. */
static void any_normal(const convex_pose *p, double *n)
{
  if (p->kind == CONVEX_SPHERE) v3_set(n, 0.0, 0.0, 1.0);
  else v3_copy(n, p->across);
}

/* Touches of two spheres, capsules, or cylinders with parallel sides: distances of their cores. Two touches for nearly parallel
 * axes. */
static void convex_barrel_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double    d[3], e[3], m[3], x[3], y[3], s, t, fallback[3];
  const int first = out->n;
  any_normal(a->kind == CONVEX_SPHERE ? b : a, fallback);
  v3_sub(d, a->to, a->from);
  v3_sub(e, b->to, b->from);
  v3_cross(m, a->axis, b->axis);
  if (a->kind != CONVEX_SPHERE && b->kind != CONVEX_SPHERE && v3_norm(m) < SIDE_BY_SIDE) {
    add_ends(a, b, fallback, false, margin, out);
    add_ends(b, a, fallback, true, margin, out);
    remove_duplicates(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
    if (out->n > first && v3_norm(m) < 1e-7) return; /* parallel axes: the closest points add nothing to the two ends */
  }
  convex_segments_closest(a->from, d, b->from, e, &s, &t);
  v3_copy(x, a->from);
  v3_axpy(x, s, d);
  v3_copy(y, b->from);
  v3_axpy(y, t, e);
  add_balls(x, a->radius, y, b->radius, fallback, margin, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0), out);
  remove_duplicates(out, first, 1e-5 * fmin(a->solid->bound, b->solid->bound));
}

/* ---- a sphere or capsule against a polyhedron or cylinder ---- */

/* Append the touch of a ball of this radius at x with p. */
static void add_ball(const convex_pose *p, const double *x, double radius, double margin, uint64_t name, convex_touches *out)
{
  double       n[3], q[3];
  const double distance = convex_point_distance(p, x, n, q);
  convex_touches_add(out, margin, q, n, distance - radius, name);
}

/* Append touches between the side of a capsule and edges of a polyhedron: closest points inside both segments, with a normal
 * between those of the two faces of the edge. */
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
    v3_cross(fe, e, f); /* e has the direction f x g, so normals between f and g have these signs */
    v3_cross(ge, e, g);
    double       sign      = v3_dot(n, f) + v3_dot(n, g) > 0.0 ? 1.0 : -1.0;
    const double tolerance = 1e-9 * v3_norm(e) * distance; /* tolerance: at the border of a face the normal is that of the face */
    if (sign * v3_dot(n, fe) < -tolerance || sign * v3_dot(n, ge) > tolerance || (sign < 0.0 && distance > round->radius)) continue;
    v3_scale(n, sign / distance, n);
    convex_touches_add(out, margin, q, n, sign * distance - round->radius, convex_feature_name(CONVEX_TOUCH_CROSSING, 0, (unsigned)i));
  }
}

/* Append the closest points of a capsule and p, if they are closer than all touches so far (a corner, or the rim of a cylinder). */
static void add_closest(const convex_pose *round, const convex_pose *p, double margin, convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       x[3], q[3], n[3], least = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  const double distance = convex_distance(round, p, stay, x, q, n), gap = distance - round->radius;
  if (distance > 0.0 && gap < least - 1e-9 * round->radius)
    convex_touches_add(out, margin, q, n, gap, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

static void reverse_normals(convex_touches *out)
{
  for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
}

/* Touches if at least one solid is a sphere or capsule, and the other one is not a half-space. */
static void convex_round_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const bool is_a = a->kind == CONVEX_SPHERE || a->kind == CONVEX_CAPSULE, is_b = b->kind == CONVEX_SPHERE || b->kind == CONVEX_CAPSULE;
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
    remove_duplicates(out, 0, 1e-5 * fmin(round->solid->bound, other->solid->bound));
  }
  if (!is_a) reverse_normals(out);
}

/* ==== pairs ==== */

static const double GRAZING = 1e-4; /* sine of the angle below which two directions count as equal */

/* ---- half-spaces ---- */

/* Touches of solid a with the half-space b: its corners or lowest points. */
static void touch_half_space(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const int n_corners = a->kind == CONVEX_POLYHEDRON ? a->solid->polyhedron->n_corners : 0;
  int       n_near    = 0;
  for (int i = 0; i < n_corners; ++i) n_near += v3_dot(b->normal, a->x + 3 * i) - b->offset <= margin;
  if (a->kind == CONVEX_CYLINDER || n_near > CONVEX_MAX_TOUCHES) {
    convex_clip(a, b, b->normal, margin, out);
  } else if (a->kind == CONVEX_POLYHEDRON) { /* all corners, not only those of one face */
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
      convex_touches_add(out, margin, q, b->normal, distance - a->radius, convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0));
    }
  }
}

/* ---- polyhedra and cylinders ---- */

/* Append the closest points of two disjoint solids, for touches at corners or between parallel edges. is_line: the projections of
 * the supporting faces along `axis` have at most a line in common. */
static void add_closest_points(const convex_pose *a, const convex_pose *b, const double *axis, bool is_line, double margin,
                               convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       p[3], q[3], n[3], sine[3];
  const double distance = convex_distance(a, b, stay, p, q, n);
  if (!(distance > 0.0) || distance > margin) return;
  v3_cross(sine, n, axis);
  if (is_line && v3_norm(sine) < GRAZING) return; /* the solids pass each other at their borders */
  convex_touches_add(out, margin, q, n, distance, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

/* Append the deepest point of two overlapping solids with curved sides: the support point of one of them that lies closer to the
 * surface of the other. A flat side has many support points; the support point of the curved side then determines the position. */
static void add_deepest_point(const convex_pose *a, const convex_pose *b, const double *n, double separation, double margin,
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

/* Append the closest or deepest points along the axis n if no touch so far has the gap `separation`. */
static void add_missing_closest(const convex_pose *a, const convex_pose *b, const double *n, double separation, bool is_line, double margin,
                                convex_touches *out)
{
  const bool   is_round = a->kind == CONVEX_CYLINDER || b->kind == CONVEX_CYLINDER;
  const double slack    = (is_round ? 1e-7 : 1e-9) * fmin(a->solid->bound, b->solid->bound);
  double       least    = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  if (!(least > separation + slack)) return;
  if (separation > 0.0) add_closest_points(a, b, n, is_line, margin, out);
  else if (is_round) add_deepest_point(a, b, n, separation, margin, out);
}

static void touch_polyhedra(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_polyhedra(a, b, margin, n);
  if (separation > margin) return;
  const bool is_area = convex_clip(a, b, n, margin, out);
  add_missing_closest(a, b, n, separation, !is_area, margin, out);
}

/* True if two cylinders touch with their curved sides, at a crossing point or along a line. */
static bool is_side_by_side(const convex_pose *a, const convex_pose *b, const double *n)
{
  double       sine[3];
  const double tilt = fmax(fabs(v3_dot(n, a->axis)), fabs(v3_dot(n, b->axis)));
  v3_cross(sine, a->axis, b->axis);
  return tilt < (v3_norm(sine) < 0.1 ? 1e-3 : 1e-6);
}

static void touch_cylinder(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_cylinder(a, b, margin, n);
  if (separation > margin) return;
  if (a->kind == b->kind && is_side_by_side(a, b, n)) convex_barrel_touches(a, b, margin, out);
  else convex_clip(a, b, n, margin, out);
  add_missing_closest(a, b, n, separation, false, margin, out);
}

void convex_pair_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  out->n = 0;
  if (a->kind == CONVEX_HALF_SPACE && b->kind == CONVEX_HALF_SPACE) return;
  if (a->kind == CONVEX_HALF_SPACE) {
    touch_half_space(b, a, margin, out);
    for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
    return;
  }
  if (b->kind == CONVEX_HALF_SPACE) touch_half_space(a, b, margin, out);
  else if (a->kind <= CONVEX_CAPSULE || b->kind <= CONVEX_CAPSULE) convex_round_touches(a, b, margin, out);
  else if (a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON) touch_polyhedra(a, b, margin, out);
  else touch_cylinder(a, b, margin, out);
}

int convex_pair_area_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touch *out)
{
  double n[3];
  if (a->kind < CONVEX_CYLINDER || b->kind < CONVEX_CYLINDER || (a->kind == CONVEX_HALF_SPACE && b->kind == CONVEX_HALF_SPACE)) return -1;
  if (b->kind == CONVEX_HALF_SPACE) return find_area_touches(a, b, b->normal, margin, out);
  if (a->kind == CONVEX_HALF_SPACE) {
    v3_scale(n, -1.0, a->normal);
    return find_area_touches(a, b, n, margin, out);
  }
  const bool   is_flat    = a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON;
  const double separation = is_flat ? convex_axis_polyhedra(a, b, margin, n) : convex_axis_cylinder(a, b, margin, n);
  return separation > margin ? -1 : find_area_touches(a, b, n, margin, out);
}
