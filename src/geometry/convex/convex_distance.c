#include "geometry/convex/convex_distance.h"

enum { MAX_ROUNDS = 128, MAX_CLIMBS = 60, MAX_PROBES = 8, N_ROOMS = 3, N_HALVINGS = 20 };

/* Corners of a simplex in the difference of the solids, w = p - q, and the weights of its point closest to the origin. */
typedef struct {
  int    n;
  double w[4][3], p[4][3], q[4][3], weight[4];
} simplex;

/* Whether a tetrahedron is too flat to say what is inside it: corners on a curved side come as close to each other as round-off
 * lets them. */
static bool is_flat(const simplex *s)
{
  double e[3][3], c[3];
  for (int i = 0; i < 3; ++i) v3_sub(e[i], s->w[i + 1], s->w[0]);
  v3_cross(c, e[0], e[1]);
  return fabs(v3_dot(c, e[2])) <= 1e-9 * v3_norm(e[0]) * v3_norm(e[1]) * v3_norm(e[2]);
}

/* Weights of the point of the affine hull of the corners in `set` that is closest to the origin; false if they are not all
 * positive. */
static bool project(const simplex *s, int set, double weight[4])
{
  int    index[4] = {0}, m = 0;
  double G[3][4];
  for (int i = 0; i < s->n; ++i) {
    weight[i] = 0.0;
    if (set >> i & 1) index[m++] = i;
  }
  if (m == 4 && is_flat(s)) return false;
  /* normal equations in the edges from the first corner, by elimination with pivots */
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

/* The point of the simplex closest to the origin: try all faces. Keeps only the corners it takes; returns its distance squared. */
static double reduce(simplex *s, double v[3])
{
  double least = INFINITY, weight[4], best[4] = {0.0};
  for (int set = 1; set < 1 << s->n; ++set) {
    double x[3] = {0.0, 0.0, 0.0};
    if (!project(s, set, weight)) continue;
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
    if (round > 0 && dd - v3_dot(old, s.w[s.n - 1]) <= 1e-13 * dd) { /* no point is nearer along v: it is the closest */
      s = before;
      break;
    }
    const double least = reduce(&s, v);
    if (round > 0 && !(least < dd)) { /* round-off has the last word */
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

/* With a moved away along n, so that `room` is between them, the direction of the shortest way between the solids is no worse
 * than n. The wider the room the farther one sees, the narrower the better one aims. */
static double climb(const convex_pose *a, const convex_pose *b, double *n, double separation, double room)
{
  for (int step = 0; step < MAX_CLIMBS; ++step) {
    double shift[3], p[3], q[3], m[3] = {0.0, 0.0, 0.0};
    v3_scale(shift, fmax(0.0, room - separation), n);
    if (!(convex_distance(a, b, shift, p, q, m) > 0.0)) return separation;
    const double better = convex_separation(a, b, m);
    if (!(better > separation + 1e-13 * room)) return separation;
    separation = better;
    v3_copy(n, m);
  }
  return separation;
}

/* Where the way leads to a corner, all directions about it may be better: try four of them, ever closer, from 0.1 to 2e-7. */
static double probe(const convex_pose *a, const convex_pose *b, double *n, double separation)
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

double convex_climb(const convex_pose *a, const convex_pose *b, double n[3], double separation)
{
  const double size = fmin(a->solid->bound, b->solid->bound);
  double       room = size;
  for (int i = 0; i < N_ROOMS; ++i, room *= 0.1) separation = climb(a, b, n, separation, room);
  return separation < 0.0 ? probe(a, b, n, separation) : separation;
}
