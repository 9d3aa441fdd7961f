#include "contact/ccd.h"
#include <float.h>
#include <math.h>

enum { LANES = 4, STACK = 128, PATIENCE = 32 };
#define SETTLE 0x1p-46 /* 128 unit round-offs of double */

/* corner i of differences: x[plus[i]] - x[minus[i]]; edge i: x[to[i]] - x[from[i]]. */
typedef struct {
  int  plus[LANES], minus[LANES], to[2], from[2];
  bool is_square;
} ccd_layout;
/* Powers of two; `before` is not 1 only next to overflow or underflow. */
typedef struct {
  double before, after;
} ccd_scale;

#define CCD(name) name##_double
#define CCD_REAL double
#define CCD_SQRT(x) sqrt(x)
#define U 0x1p-53
#define FLOOR SETTLE
#define PIECES_MAX CCD_PIECES_MAX
#include "contact/ccd_search.h"
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
/* Newton's iteration doubles the digits. What lies far below where squares of doubles do is as good as 0. */
static quad root(quad x)
{
  const double start = sqrt((double)x);
  if (!(start > 0.0)) return start;
  const quad once = (start + x / start) / 2;
  return (once + x / once) / 2;
}

#define CCD(name) name##_quad
#define CCD_REAL quad
#define CCD_SQRT(x) root(x)
#define U 0x1p-113
#define FLOOR 0x1p-104
#define PIECES_MAX CCD_PIECES_MAX
#include "contact/ccd_search.h"

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

/* Go on from where double precision could say no more. */
static __attribute__((noinline)) bool solve_sharply(const double *x0, const double *x1, const ccd_layout *l, const ccd_scale *scale,
                                                    const ccd_limits *limits, double t_begin, int pieces, ccd_hit *hit)
{
  problem_quad p;
  nearest_quad near;
  quad         t = t_begin;
  problem_fill_quad(&p, x0, x1, l, scale, limits);
  return search_quad(&p, &t, &near, &pieces) && report_quad(&p, t, &near, scale, pieces, hit);
}

static bool solve(const double *x0, const double *x1, const ccd_layout *l, const ccd_limits *limits, ccd_hit *out)
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
  /* Undecided: rounding went in circles, or its floor was met above the tolerance asked for. */
  if (near.distance > p.near || limits->tolerance * scale.before * scale.after < SETTLE)
    return solve_sharply(x0, x1, l, &scale, limits, t, pieces, hit);
  return report_double(&p, t, &near, &scale, pieces, hit);
}

bool ccd_point_triangle(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  static const ccd_layout layout = {{1, 2, 3, 1}, {0, 0, 0, 0}, {2, 3}, {1, 1}, false};
  return solve(x0, x1, &layout, limits, hit);
}

bool ccd_edge_edge(const double x0[12], const double x1[12], const ccd_limits *limits, ccd_hit *hit)
{
  static const ccd_layout layout = {{0, 1, 0, 1}, {2, 2, 3, 3}, {1, 2}, {0, 3}, true};
  return solve(x0, x1, &layout, limits, hit);
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
