/* Implementation: GJK on simplices of support points, separating-axis tests, and a local search for overlapping round solids. */
#include "geometry/convex/convex_distance.h"

enum { MAX_ROUNDS = 128, MAX_CLIMBS = 60, MAX_PROBES = 8, N_OFFSETS = 3, N_HALVINGS = 20 };

/* A simplex in the Minkowski difference: corners w = p - q, and the barycentric weights of its point closest to the origin. */
typedef struct {
  int    n;
  double w[4][3], p[4][3], q[4][3], weight[4];
} simplex;

/* True if a tetrahedron is too flat to decide whether the origin is inside. This happens because corners on a curved surface
 * approach each other up to round-off. */
static bool is_flat(const simplex *s)
{
  double e[3][3], c[3];
  for (int i = 0; i < 3; ++i) v3_sub(e[i], s->w[i + 1], s->w[0]);
  v3_cross(c, e[0], e[1]);
  return fabs(v3_dot(c, e[2])) <= 1e-9 * v3_norm(e[0]) * v3_norm(e[1]) * v3_norm(e[2]);
}

/* Weights of the point closest to the origin in the affine hull of the corners in `set`; false unless all are positive. */
static bool project_origin(const simplex *s, int set, double weight[4])
{
  int    index[4] = {0}, m = 0;
  double G[3][4];
  for (int i = 0; i < s->n; ++i) {
    weight[i] = 0.0;
    if (set >> i & 1) index[m++] = i;
  }
  if (m == 4 && is_flat(s)) return false;
  /* normal equations in the edges from the first corner, solved by Gauss-Jordan elimination with pivoting */
  for (int i = 1; i < m; ++i) {
    double e[3];
    v3_sub(e, s->w[index[i]], s->w[index[0]]);
    for (int j = 1; j < m; ++j) {
      double f[3];
      v3_sub(f, s->w[index[j]], s->w[index[0]]);
      G[i - 1][j - 1] = v3_dot(e, f);
    }
    G[i - 1][3] = -v3_dot(e, s->w[index[0]]);
  }
  const int r = m - 1;
  for (int c = 0; c < r; ++c) {
    int pivot = c;
    for (int i = c + 1; i < r; ++i)
      if (fabs(G[i][c]) > fabs(G[pivot][c])) pivot = i;
    if (!(fabs(G[pivot][c]) > 0.0)) return false;
    for (int k = 0; k < 4 && pivot != c; ++k) {
      const double t = G[c][k];
      G[c][k] = G[pivot][k], G[pivot][k] = t;
    }
    for (int i = 0; i < r; ++i) {
      if (i == c) continue;
      const double factor = G[i][c] / G[c][c];
      for (int k = c; k < 4; ++k) G[i][k] -= k < r || k == 3 ? factor * G[c][k] : 0.0;
    }
  }
  double rest = 1.0;
  for (int i = 0; i < r; ++i) {
    const double t = G[i][3] / G[i][i];
    if (!(t > 0.0)) return false;
    weight[index[i + 1]] = t;
    rest -= t;
  }
  weight[index[0]] = rest;
  return rest > 0.0;
}

/* v: the point of the simplex closest to the origin, by trying all subsets of corners. Removes corners with zero weight. Returns
 * the squared distance. */
static double reduce_simplex(simplex *s, double v[3])
{
  double least = INFINITY, weight[4], best[4] = {0.0};
  for (int set = 1; set < 1 << s->n; ++set) {
    double x[3] = {0.0, 0.0, 0.0};
    if (!project_origin(s, set, weight)) continue;
    for (int i = 0; i < s->n; ++i) v3_axpy(x, weight[i], s->w[i]);
    const double d = v3_dot(x, x);
    if (!(d < least)) continue;
    least = d;
    v3_copy(v, x);
    for (int i = 0; i < s->n; ++i) best[i] = weight[i];
  }
  int m = 0;
  for (int i = 0; i < s->n; ++i) {
    if (!(best[i] > 0.0)) continue;
    v3_copy(s->w[m], s->w[i]);
    v3_copy(s->p[m], s->p[i]);
    v3_copy(s->q[m], s->q[i]);
    s->weight[m++] = best[i];
  }
  s->n = m;
  return least;
}

static void add_corner(simplex *s, const convex_pose *a, const convex_pose *b, const double *shift, const double *v)
{
  double back[3];
  v3_scale(back, -1.0, v);
  convex_support(a, back, s->p[s->n]);
  v3_axpy(s->p[s->n], 1.0, shift);
  convex_support(b, v, s->q[s->n]);
  v3_sub(s->w[s->n], s->p[s->n], s->q[s->n]);
  ++s->n;
}

double convex_distance(const convex_pose *a, const convex_pose *b, const double shift[3], double p[3], double q[3], double n[3])
{
  simplex s = {0};
  double  v[3], dd = INFINITY;
  v3_sub(v, a->center, b->center);
  v3_axpy(v, 1.0, shift);
  if (!(v3_norm(v) > 0.0)) v3_set(v, 1.0, 0.0, 0.0);
  const double size = a->solid->bound + b->solid->bound;
  for (int round = 0; round < MAX_ROUNDS; ++round) {
    const simplex before = s;
    const double  old[3] = {v[0], v[1], v[2]};
    add_corner(&s, a, b, shift, v);
    if (round > 0 && dd - v3_dot(old, s.w[s.n - 1]) <= 1e-13 * dd) { /* no point of the difference is closer along v: converged */
      s = before;
      break;
    }
    const double least = reduce_simplex(&s, v);
    if (round > 0 && !(least < dd)) { /* no further decrease: limited by round-off */
      s = before;
      v3_copy(v, old);
      break;
    }
    dd = least;
    if (s.n == 4 || dd < 1e-30 * size * size) return 0.0;
  }
  v3_set(p, 0.0, 0.0, 0.0);
  v3_set(q, 0.0, 0.0, 0.0);
  for (int i = 0; i < s.n; ++i) v3_axpy(p, s.weight[i], s.p[i]), v3_axpy(q, s.weight[i], s.q[i]);
  const double d = sqrt(dd);
  v3_scale(n, 1.0 / d, v);
  return d;
}

/* Local search for a larger separation. Solid a is moved along n until the gap is `offset`; the direction of the shortest distance
 * then has a separation at least as large as n. A large offset has a wide range, a small one is more accurate. */
static double improve_axis(const convex_pose *a, const convex_pose *b, double *n, double separation, double offset)
{
  for (int step = 0; step < MAX_CLIMBS; ++step) {
    double shift[3], p[3], q[3], m[3] = {0.0, 0.0, 0.0};
    v3_scale(shift, fmax(0.0, offset - separation), n);
    if (!(convex_distance(a, b, shift, p, q, m) > 0.0)) return separation;
    const double better = convex_separation(a, b, m);
    if (!(better > separation + 1e-13 * offset)) return separation;
    separation = better;
    v3_copy(n, m);
  }
  return separation;
}

/* Pattern search around n: four perpendicular directions with steps from 0.1 down to 2e-7. Needed where the maximum is a kink (a
 * corner). */
static double probe_directions(const convex_pose *a, const convex_pose *b, double *n, double separation)
{
  double step = 0.1;
  for (int halving = 0; halving < N_HALVINGS; ++halving, step *= 0.5) {
    bool is_better = true;
    for (int round = 0; round < MAX_PROBES && is_better; ++round) {
      double across[2][3], e[3] = {0.0, 0.0, 0.0};
      int    least = 0;
      for (int k = 1; k < 3; ++k)
        if (fabs(n[k]) < fabs(n[least])) least = k;
      e[least] = 1.0;
      v3_cross(across[0], n, e);
      v3_scale(across[0], 1.0 / v3_norm(across[0]), across[0]);
      v3_cross(across[1], n, across[0]);
      is_better = false;
      for (int k = 0; k < 4; ++k) {
        double m[3];
        v3_copy(m, n);
        v3_axpy(m, k % 2 ? -step : step, across[k / 2]);
        v3_scale(m, 1.0 / v3_norm(m), m);
        const double other = convex_separation(a, b, m);
        if (!(other > separation)) continue;
        separation = other;
        v3_copy(n, m);
        is_better = true;
        break;
      }
    }
  }
  return separation;
}

/* Local maximum of the separation next to n, which is updated; exact if the solids are disjoint. `separation` is that of the
 * initial n. */
static double climb_separation(const convex_pose *a, const convex_pose *b, double n[3], double separation)
{
  const double size   = fmin(a->solid->bound, b->solid->bound);
  double       offset = size;
  for (int i = 0; i < N_OFFSETS; ++i, offset *= 0.1) separation = improve_axis(a, b, n, separation, offset);
  return separation < 0.0 ? probe_directions(a, b, n, separation) : separation;
}

/* ==== separating axes ==== */

static const double PARALLEL  = 1e-4; /* sine of the angle below which two edges count as parallel */
static const double ROUND_OFF = 1e-9; /* relative to the size: margin by which an edge pair must exceed a face */

/* ---- polyhedra ---- */

/* Largest separation over the faces of `of`, if above `most`; away: the outward normal of that face. */
static double face_axis(const convex_pose *of, const convex_pose *other, double cutoff, double most, double away[3])
{
  const convex_polyhedron *h = of->solid->polyhedron, *g = other->solid->polyhedron;
  for (int f = 0; f < h->n_faces && most <= cutoff; ++f) {
    const double *n     = of->face_normal + 3 * f;
    double        least = INFINITY;
    for (int c = 0; c < g->n_corners; ++c) least = fmin(least, v3_dot(n, other->x + 3 * c));
    least -= of->face_offset[f];
    if (least > most) most = least, v3_copy(away, n);
  }
  return most;
}

/* True if the arcs of two edges on the Gauss sphere (that of b negated) cross. Exactly then the two edges form a face of the
 * Minkowski difference. ea has the direction of f x g of its faces, likewise eb. */
static bool edges_form_face(const double *fa, const double *ga, const double *ea, const double *fb, const double *gb, const double *eb)
{
  const double c = -v3_dot(fb, ea), d = -v3_dot(gb, ea), p = -v3_dot(fa, eb), q = -v3_dot(ga, eb);
  return c * d < 0.0 && p * q < 0.0 && -c * q > 0.0;
}

static double edge_axis(const convex_pose *a, const convex_pose *b, double cutoff, double most, double n[3])
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
      if (!edges_form_face(fa, ga, ea, b->face_normal + 3 * t[2], b->face_normal + 3 * t[3], eb)) continue;
      v3_cross(m, ea, eb);
      const double sine = v3_norm(m);
      if (sine < PARALLEL * la * v3_norm(eb)) continue;
      v3_scale(m, (v3_dot(m, fa) + v3_dot(m, ga) > 0.0 ? -1.0 : 1.0) / sine, m); /* pointing into a */
      v3_sub(d, x, y);
      const double separation = v3_dot(m, d);
      if (separation <= most) continue;
      most = separation;
      v3_copy(n, m);
      if (most > cutoff) return most;
    }
  }
  return most;
}

double convex_axis_polyhedra(const convex_pose *a, const convex_pose *b, double cutoff, double n[3])
{
  double       away[3] = {0.0}, edge[3] = {0.0};
  const double slack = ROUND_OFF * fmin(a->solid->bound, b->solid->bound);
  double       best  = face_axis(b, a, cutoff, -INFINITY, n);
  if (best > cutoff) return best;
  const double of_a = face_axis(a, b, cutoff, best + slack, away);
  if (of_a > best + slack) best = of_a, v3_scale(n, -1.0, away);
  if (best > cutoff) return best;
  const double of_edges = edge_axis(a, b, cutoff, best + slack, edge);
  if (of_edges > best + slack) best = of_edges, v3_copy(n, edge);
  return best;
}

/* ---- cylinders ---- */

enum { KEPT = 4 };
typedef struct {
  const convex_pose *a, *b;
  int                n;
  double             separation[KEPT + 1], axis[KEPT + 1][3]; /* the KEPT largest separations in descending order */
} search;

static void insert_axis(search *s, double separation, const double *n)
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
    insert_axis(s, convex_separation(s->a, s->b, n), n);
  }
}

/* The axis of a cylinder, or the face normals of a polyhedron. */
static void try_own_axes(search *s, const convex_pose *p)
{
  if (p->kind == CONVEX_CYLINDER) try_axis(s, p->axis);
  else
    for (int f = 0; f < p->solid->polyhedron->n_faces; ++f) try_axis(s, p->face_normal + 3 * f);
}

/* Axes between the curved side of a cylinder and edges or corners of a polyhedron, or another cylinder. */
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

double convex_axis_cylinder(const convex_pose *a, const convex_pose *b, double cutoff, double n[3])
{
  const double stay[3] = {0.0, 0.0, 0.0}, size = fmin(a->solid->bound, b->solid->bound);
  double       p[3], q[3];
  const double distance = convex_distance(a, b, stay, p, q, n);
  if (distance > cutoff || distance > 1e-4 * size) return distance; /* the direction is accurate at this distance */
  search s = {.a = a, .b = b};
  try_own_axes(&s, b);
  try_own_axes(&s, a);
  if (a->kind == CONVEX_CYLINDER) try_barrel(&s, a, b);
  if (b->kind == CONVEX_CYLINDER) try_barrel(&s, b, a);
  double best = s.separation[0];
  v3_copy(n, s.axis[0]);
  for (int k = 0; k < s.n; ++k) { /* the best start can be near a local maximum that is not the global one */
    double       climbed[3] = {s.axis[k][0], s.axis[k][1], s.axis[k][2]};
    const double higher     = climb_separation(a, b, climbed, s.separation[k]);
    if (higher > best + ROUND_OFF * size) best = higher, v3_copy(n, climbed);
  }
  return best;
}
