/* Implementation: ccd_search.h in double and in quadruple precision, and proofs of a collision in double precision. */
#include "geometry/collision/ccd.h"
#include <float.h>
#include <math.h>

enum { LANES = 4, STACK = 128, PATIENCE = 32 };
#define SETTLE 0x1p-46 /* 128 unit round-offs of double */

/* Differences of vertices: corner i is x[plus[i]] - x[minus[i]], edge i is x[to[i]] - x[from[i]]. */
typedef struct {
  int  plus[LANES], minus[LANES], to[2], from[2];
  bool is_square;
} ccd_layout;
/* Scale factors before and after the subtraction, powers of two; `before` differs from 1 only close to overflow or underflow. */
typedef struct {
  double before, after;
} ccd_scale;

#define CCD(name) name##_double
#define CCD_REAL double
#define CCD_SQRT(x) sqrt(x)
#define U 0x1p-53
#define FLOOR SETTLE
#define PIECES_MAX CCD_MAX_INTERVALS
#include "geometry/collision/ccd_search.h"
#undef CCD
#undef CCD_REAL
#undef CCD_SQRT
#undef U
#undef FLOOR
#undef PIECES_MAX

#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad;
#else
typedef long double quad;
_Static_assert(LDBL_MANT_DIG == 113, "quadruple precision");
#endif
/* Square root by Newton iteration from the double result; each step doubles the digits. Results that underflow in double count as
 * 0. */
static quad quad_sqrt(quad x)
{
  const double start = sqrt((double)x);
  if (!(start > 0.0)) return start;
  const quad once = (start + x / start) / 2;
  return (once + x / once) / 2;
}

#define CCD(name) name##_quad
#define CCD_REAL quad
#define CCD_SQRT(x) quad_sqrt(x)
#define U 0x1p-113
#define FLOOR 0x1p-104
#define PIECES_MAX CCD_MAX_INTERVALS
#include "geometry/collision/ccd_search.h"

static double largest_difference(const double *x, const ccd_layout *l, double before)
{
  double m = 0.0;
  for (int i = 0; i < LANES; ++i)
    for (int k = 0; k < 3; ++k) m = fmax(m, fabs(before * x[3 * l->plus[i] + k] - before * x[3 * l->minus[i] + k]));
  return m;
}

static bool is_usable(const double *x0, const double *x1, const ccd_limits *limits)
{
  bool is_finite = true;
  for (int i = 0; i < 12; ++i) is_finite &= isfinite(x0[i]) && isfinite(x1[i]);
  return is_finite && limits->separation >= 0.0 && limits->tolerance >= 0.0;
}

/* Continue the search at t_begin in quadruple precision. */
static __attribute__((noinline)) bool search_in_quad_precision(const double *x0, const double *x1, const ccd_layout *l,
                                                               const ccd_scale *scale, const ccd_limits *limits, double t_begin, int pieces,
                                                               ccd_hit *hit)
{
  problem_quad p;
  nearest_quad near;
  quad         t = t_begin;
  problem_fill_quad(&p, x0, x1, l, scale, limits);
  return search_quad(&p, &t, &near, &pieces) && report_quad(&p, t, &near, scale, pieces, hit);
}

/* ---- proofs of a collision in double precision: close primitives may still pass each other ---- */

#define PROOF_ERROR (128.0 * 0x1p-53) /* three times the error of a triple product of numbers up to 1 with errors of 4 units each */

static double determinant(const shape_double *s)
{
  const double q[3] = {s->corner[0][0], s->corner[1][0], s->corner[2][0]};
  double       N[3];
  cross_double(N, s->edge[0], s->edge[1]);
  return dot_double(N, q);
}

/* Side of the edge from corner i to corner j on which the origin lies in projection along n, during the whole interval from a to b:
 * 1 or -1, by the control values of a quadratic; 0: the side may change. */
static int side_of_edge(const double *n, const shape_double *a, const shape_double *b, int i, int j)
{
  const double xa[3] = {a->corner[0][i], a->corner[1][i], a->corner[2][i]}, ya[3] = {a->corner[0][j], a->corner[1][j], a->corner[2][j]};
  const double xb[3] = {b->corner[0][i], b->corner[1][i], b->corner[2][i]}, yb[3] = {b->corner[0][j], b->corner[1][j], b->corner[2][j]};
  double       c[4][3], mixed;
  cross_double(c[0], xa, ya);
  cross_double(c[1], xa, yb);
  cross_double(c[2], xb, ya);
  cross_double(c[3], xb, yb);
  mixed             = 0.5 * (dot_double(n, c[1]) + dot_double(n, c[2]));
  const double low  = fmin(mixed, fmin(dot_double(n, c[0]), dot_double(n, c[3]))),
               high = fmax(mixed, fmax(dot_double(n, c[0]), dot_double(n, c[3])));
  return low > PROOF_ERROR ? 1 : high < -PROOF_ERROR ? -1 : 0;
}

/* Proof of a collision: the line through the origin along n intersects the face during the whole interval from a to b, in a point
 * that starts on one side of the origin and ends on the other. */
static bool passes_through(const problem_double *p, const double *n, const shape_double *a, const shape_double *b)
{
  static const int triangle[] = {0, 1, 2, 0}, square[] = {0, 1, 3, 2, 0};
  const double     from = determinant(a), to = determinant(b);
  if (!(fmin(fabs(from), fabs(to)) > p->cubic_error) || (from > 0.0) == (to > 0.0)) return false;
  const int *corner = p->is_square ? square : triangle, side = side_of_edge(n, a, b, 0, 1);
  for (int k = 1; k < (p->is_square ? 4 : 3) && side != 0; ++k)
    if (side_of_edge(n, a, b, corner[k], corner[k + 1]) != side) return false;
  return side != 0;
}

/* Proof of a collision: a point of the face is closer to the origin than the separation. */
static bool is_closer(const problem_double *p, const shape_double *s)
{
  nearest_double near;
  nearest_point_double(s, p->is_square, &near);
  if (!(near.u >= 0.0 && near.v >= 0.0 && (p->is_square ? near.u <= 1.0 && near.v <= 1.0 : near.u + near.v <= 1.0))) return false;
  double x[3] = {s->corner[0][0], s->corner[1][0], s->corner[2][0]};
  axpy_double(x, near.u, s->edge[0]);
  axpy_double(x, near.v, s->edge[1]);
  return sqrt(dot_double(x, x)) + PROOF_ERROR < p->separation * (1.0 - PROOF_ERROR);
}

/* Try to prove a collision shortly after t, with interval lengths that grow by a factor of four. False: not proved. */
static bool will_collide_soon(const problem_double *p, double t, const nearest_double *near)
{
  shape_double a, b;
  shape_at_double(p, t, &a);
  for (double step = 16.0 * p->width_min; t < 1.0; step *= 4.0) {
    const double end = fmin(t + step, 1.0);
    shape_at_double(p, end, &b);
    if (p->separation > 0.0 ? is_closer(p, &b) : passes_through(p, near->n, &a, &b)) return true;
    if (end == 1.0) break;
  }
  return false;
}

/* For primitives within the tolerance at t: true if they come within the separation itself. */
static bool collides_exactly(const double *x0, const double *x1, const ccd_layout *l, const ccd_scale *scale, const ccd_limits *limits,
                             const problem_double *near_problem, double t, const nearest_double *near_point, int pieces)
{
  const ccd_limits exact = {limits->separation, 0.0};
  problem_double   p;
  nearest_double   near;
  ccd_hit          unused;
  if (will_collide_soon(near_problem, t, near_point)) return true;
  problem_fill_double(&p, x0, x1, l, scale, &exact);
  if (!search_double(&p, &t, &near, &pieces)) return false;
  return search_in_quad_precision(x0, x1, l, scale, &exact, t, pieces, &unused);
}

static bool run_query(const double *x0, const double *x1, const ccd_layout *l, const ccd_limits *limits, bool is_conservative, ccd_hit *out)
{
  ccd_hit        unused = {0}, *hit = out ? out : &unused;
  double         m = fmax(largest_difference(x0, l, 1.0), largest_difference(x1, l, 1.0)), t = 0.0;
  ccd_scale      scale = {1.0, 1.0};
  problem_double p;
  nearest_double near;
  int            pieces = 0;
  if (!is_usable(x0, x1, limits) || m == 0.0) {
    *hit = (ccd_hit){.is_certain = true};
    return true;
  }
  if (m > 0x1p1000 || m < 0x1p-900) {
    scale.before = m > 1.0 ? 0x1p-200 : 0x1p600;
    m            = fmax(largest_difference(x0, l, scale.before), largest_difference(x1, l, scale.before));
  }
  scale.after = ldexp(1.0, -ilogb(m) - 1);
  problem_fill_double(&p, x0, x1, l, &scale, limits);
  if (!search_double(&p, &t, &near, &pieces)) return false;
  /* Undecided: round-off prevented progress, or its level exceeds the requested tolerance. */
  if (near.distance > p.near || limits->tolerance * scale.before * scale.after < SETTLE) {
    const ccd_limits sharp = {limits->separation, is_conservative ? limits->tolerance : 0.0};
    return search_in_quad_precision(x0, x1, l, &scale, &sharp, t, pieces, hit);
  }
  if (!is_conservative && !collides_exactly(x0, x1, l, &scale, limits, &p, t, &near, pieces)) return false;
  return report_double(&p, t, &near, &scale, pieces, hit);
}

static const ccd_layout point_triangle = {{1, 2, 3, 1}, {0, 0, 0, 0}, {2, 3}, {1, 1}, false};
static const ccd_layout edge_edge      = {{0, 1, 0, 1}, {2, 2, 3, 3}, {1, 2}, {0, 3}, true};

bool ccd_point_triangle(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  return run_query(x0, x1, &point_triangle, limits, false, hit);
}

bool ccd_edge_edge(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  return run_query(x0, x1, &edge_edge, limits, false, hit);
}

bool ccd_point_triangle_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  return run_query(x0, x1, &point_triangle, limits, true, hit);
}

bool ccd_edge_edge_conservative(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  return run_query(x0, x1, &edge_edge, limits, true, hit);
}

bool ccd_boxes_are_apart(const double x0[12], const double x1[12], int n_first, double gap)
{
  for (int k = 0; k < 3; ++k) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < 4; ++i) {
      const int    side = i >= n_first;
      const double a = x0[3 * i + k], b = x1[3 * i + k];
      low[side]  = a < low[side] ? a : low[side];
      low[side]  = b < low[side] ? b : low[side];
      high[side] = a > high[side] ? a : high[side];
      high[side] = b > high[side] ? b : high[side];
    }
    if (low[0] > high[1] + gap || low[1] > high[0] + gap) return true;
  }
  return false;
}

bool ccd_corners_are_apart(const double x0[12], const double x1[12], int n_first, double gap)
{
  for (int k = 0; k < 3; ++k) {
    bool is_above = true, is_below = true; /* the first primitive relative to the other, at both ends */
    for (int end = 0; end < 2; ++end) {
      const double *x      = end ? x1 : x0;
      double        low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
      for (int i = 0; i < 4; ++i) {
        const int side = i >= n_first;
        low[side]      = x[3 * i + k] < low[side] ? x[3 * i + k] : low[side];
        high[side]     = x[3 * i + k] > high[side] ? x[3 * i + k] : high[side];
      }
      is_above = is_above && low[0] > high[1] + gap, is_below = is_below && low[1] > high[0] + gap;
    }
    if (is_above || is_below) return true;
  }
  return false;
}
