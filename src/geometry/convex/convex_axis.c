#include "geometry/convex/convex_axis.h"
#include "geometry/convex/convex_distance.h"

static const double PARALLEL = 1e-4; /* sine below which two edges have no common normal of their own */
static const double ROUND_OFF = 1e-9; /* of the size: what an edge must do better than a face */

/* ---- polyhedra ---- */

/* The best face of `of`: away, its outward normal. */
static double face_axis(const convex_pose *of, const convex_pose *other, double enough, double most, double away[3])
{
  const convex_polyhedron *h = of->solid->polyhedron, *g = other->solid->polyhedron;
  for (int f = 0; f < h->n_faces && most <= enough; ++f) {
    const double *n    = of->face_normal + 3 * f;
    double        least = INFINITY;
    for (int c = 0; c < g->n_corners; ++c) least = fmin(least, v3_dot(n, other->x + 3 * c));
    least -= of->face_offset[f];
    if (least > most) most = least, v3_copy(away, n);
  }
  return most;
}

/* Whether the arcs of two edges cross on the sphere of normals, that of b turned about: then, and only then, they bound a face
 * of the difference of the solids. ea has the direction of f x g of its faces, likewise eb. */
static bool edges_meet(const double *fa, const double *ga, const double *ea, const double *fb, const double *gb, const double *eb)
{
  const double c = -v3_dot(fb, ea), d = -v3_dot(gb, ea), p = -v3_dot(fa, eb), q = -v3_dot(ga, eb);
  return c * d < 0.0 && p * q < 0.0 && -c * q > 0.0;
}

static double edge_axis(const convex_pose *a, const convex_pose *b, double enough, double most, double n[3])
{
  const convex_polyhedron *ha = a->solid->polyhedron, *hb = b->solid->polyhedron;
  for (int i = 0; i < ha->n_edges; ++i) {
    const int32_t *s = ha->edge + 4 * i;
    const double  *x = a->x + 3 * s[0], *fa = a->face_normal + 3 * s[2], *ga = a->face_normal + 3 * s[3];
    double         ea[3];
    v3_sub(ea, a->x + 3 * s[1], x);
    const double la = v3_norm(ea);
    for (int j = 0; j < hb->n_edges; ++j) {
      const int32_t *t = hb->edge + 4 * j;
      const double  *y = b->x + 3 * t[0];
      double         eb[3], m[3], d[3];
      v3_sub(eb, b->x + 3 * t[1], y);
      if (!edges_meet(fa, ga, ea, b->face_normal + 3 * t[2], b->face_normal + 3 * t[3], eb)) continue;
      v3_cross(m, ea, eb);
      const double sine = v3_norm(m);
      if (sine < PARALLEL * la * v3_norm(eb)) continue;
      v3_scale(m, (v3_dot(m, fa) + v3_dot(m, ga) > 0.0 ? -1.0 : 1.0) / sine, m); /* into a */
      v3_sub(d, x, y);
      const double separation = v3_dot(m, d);
      if (separation <= most) continue;
      most = separation;
      v3_copy(n, m);
      if (most > enough) return most;
    }
  }
  return most;
}

double convex_axis_polyhedra(const convex_pose *a, const convex_pose *b, double enough, double n[3])
{
  double       away[3] = {0.0}, edge[3] = {0.0};
  const double slack = ROUND_OFF * fmin(a->solid->bound, b->solid->bound);
  double       best  = face_axis(b, a, enough, -INFINITY, n);
  if (best > enough) return best;
  const double of_a = face_axis(a, b, enough, best + slack, away);
  if (of_a > best + slack) best = of_a, v3_scale(n, -1.0, away);
  if (best > enough) return best;
  const double of_edges = edge_axis(a, b, enough, best + slack, edge);
  if (of_edges > best + slack) best = of_edges, v3_copy(n, edge);
  return best;
}

/* ---- cylinders ---- */

enum { KEPT = 4 };
typedef struct {
  const convex_pose *a, *b;
  int                n;
  double             separation[KEPT + 1], axis[KEPT + 1][3]; /* the best ones, best first */
} search;

static void keep(search *s, double separation, const double *n)
{
  int at = s->n < KEPT ? s->n++ : KEPT;
  for (; at > 0 && separation > s->separation[at - 1]; --at) {
    s->separation[at] = s->separation[at - 1];
    v3_copy(s->axis[at], s->axis[at - 1]);
  }
  s->separation[at] = separation;
  v3_copy(s->axis[at], n);
}

static void try_axis(search *s, const double *m)
{
  const double l = v3_norm(m);
  double       n[3];
  if (!(l > PARALLEL)) return;
  for (int sign = -1; sign <= 1; sign += 2) {
    v3_scale(n, sign / l, m);
    keep(s, convex_separation(s->a, s->b, n), n);
  }
}

/* Directions that a solid has by itself. */
static void try_own_axes(search *s, const convex_pose *p)
{
  if (p->kind == CONVEX_CYLINDER) try_axis(s, p->axis);
  else
    for (int f = 0; f < p->solid->polyhedron->n_faces; ++f) try_axis(s, p->face_normal + 3 * f);
}

/* Between the barrel of a cylinder and edges, corners or another axis. */
static void try_barrel(search *s, const convex_pose *cylinder, const convex_pose *other)
{
  double m[3], d[3];
  if (other->kind == CONVEX_CYLINDER) {
    v3_cross(m, cylinder->axis, other->axis);
    try_axis(s, m);
    v3_sub(d, cylinder->center, other->center);
    v3_copy(m, d);
    v3_axpy(m, -v3_dot(d, cylinder->axis), cylinder->axis);
    v3_scale(m, 1.0 / fmax(v3_norm(d), 1e-300), m);
    try_axis(s, m);
    return;
  }
  const convex_polyhedron *h = other->solid->polyhedron;
  for (int e = 0; e < h->n_edges; ++e) {
    v3_sub(d, other->x + 3 * h->edge[4 * e + 1], other->x + 3 * h->edge[4 * e]);
    v3_scale(d, 1.0 / v3_norm(d), d);
    v3_cross(m, cylinder->axis, d);
    try_axis(s, m);
  }
  for (int c = 0; c < h->n_corners; ++c) {
    v3_sub(d, other->x + 3 * c, cylinder->center);
    v3_copy(m, d);
    v3_axpy(m, -v3_dot(d, cylinder->axis), cylinder->axis);
    v3_scale(m, 1.0 / fmax(v3_norm(d), 1e-300), m);
    try_axis(s, m);
  }
}

double convex_axis_cylinder(const convex_pose *a, const convex_pose *b, double enough, double n[3])
{
  const double stay[3] = {0.0, 0.0, 0.0}, size = fmin(a->solid->bound, b->solid->bound);
  double       p[3], q[3];
  const double distance = convex_distance(a, b, stay, p, q, n);
  if (distance > enough || distance > 1e-4 * size) return distance; /* its direction has lost no digits */
  search s = {.a = a, .b = b};
  try_own_axes(&s, b);
  try_own_axes(&s, a);
  if (a->kind == CONVEX_CYLINDER) try_barrel(&s, a, b);
  if (b->kind == CONVEX_CYLINDER) try_barrel(&s, b, a);
  double best = s.separation[0];
  v3_copy(n, s.axis[0]);
  for (int k = 0; k < s.n; ++k) { /* the nearest summit may not be the highest */
    double       climbed[3] = {s.axis[k][0], s.axis[k][1], s.axis[k][2]};
    const double higher     = convex_climb(a, b, climbed, s.separation[k]);
    if (higher > best + ROUND_OFF * size) best = higher, v3_copy(n, climbed);
  }
  return best;
}
