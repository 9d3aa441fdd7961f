/* Implementation: closest point of the other segment for each end, and the common perpendicular as interior solution. */
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"

/* Squared sine of the angle below which round-off dominates the interior solution. */
static const double parallel_tolerance = 1e-24;

static double snapped(double s) { return s > SEGMENT_SNAP ? (s < 1.0 - SEGMENT_SNAP ? s : 1.0) : 0.0; }

double segment_nearest_to(const double x[6], const double p[3])
{
  double e[3], w[3];
  v3_sub(e, x + 3, x);
  v3_sub(w, p, x);
  const double ee = v3_dot(e, e), we = v3_dot(w, e);
  return we > 0.0 ? snapped(we / ee) : 0.0;
}

static void point_at(const double x[6], double s, double out[3])
{
  for (int k = 0; k < 3; ++k) out[k] = s < 1.0 ? x[k] + s * (x[3 + k] - x[k]) : x[3 + k];
}

static double distance_at(const double a[6], const double b[6], double s, double t)
{
  double p[3], q[3], d[3];
  point_at(a, s, p);
  point_at(b, t, q);
  v3_sub(d, p, q);
  return v3_norm(d);
}

/* Closest points inside both segments, from the common perpendicular. False if there are none. Projecting each point once more
 * removes the error of cancellation for nearly parallel segments. */
static bool interior_solution(const double a[6], const double b[6], segment_nearest *out)
{
  double ea[3], eb[3], w[3], n[3], m[3], p[3];
  v3_sub(ea, a + 3, a);
  v3_sub(eb, b + 3, b);
  v3_sub(w, b, a);
  v3_cross(n, ea, eb);
  const double nn = v3_dot(n, n);
  if (!(nn > parallel_tolerance * v3_dot(ea, ea) * v3_dot(eb, eb))) return false;
  v3_cross(m, eb, n);
  const double s = v3_dot(w, m) / nn;
  v3_cross(m, ea, n);
  const double t = v3_dot(w, m) / nn;
  if (!(s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)) return false;
  point_at(a, s, p);
  out->t = segment_nearest_to(b, p);
  point_at(b, out->t, p);
  out->s        = segment_nearest_to(a, p);
  out->distance = distance_at(a, b, out->s, out->t);
  return true;
}

void segment_pair_nearest(const double a[6], const double b[6], segment_nearest *out, segment_nearest rim[4])
{
  segment_nearest own[4], in;
  if (!rim) rim = own;
  for (int k = 0; k < 2; ++k) {
    rim[k]     = (segment_nearest){.s = k, .t = segment_nearest_to(b, a + 3 * k)};
    rim[2 + k] = (segment_nearest){.s = segment_nearest_to(a, b + 3 * k), .t = k};
  }
  for (int k = 0; k < 4; ++k) rim[k].distance = distance_at(a, b, rim[k].s, rim[k].t);
  *out = rim[0];
  for (int k = 1; k < 4; ++k)
    if (rim[k].distance < out->distance) *out = rim[k];
  if (interior_solution(a, b, &in) && in.distance < out->distance) *out = in;
}

bool segment_pair_overlaps_lengthwise(const double a[6], const double b[6], const segment_nearest *nearest, const segment_nearest rim[4],
                                      double limit)
{
  double ea[3], eb[3];
  bool   before = false, behind = false;
  v3_sub(ea, a + 3, a);
  v3_sub(eb, b + 3, b);
  const double la = v3_norm(ea), lb = v3_dot(ea, eb) < 0.0 ? -v3_norm(eb) : v3_norm(eb);
  for (int k = 0; k < 4; ++k) {
    const double on = (rim[k].s - nearest->s) * la + (rim[k].t - nearest->t) * lb;
    if (!(rim[k].distance < limit)) continue;
    before |= on < 0.0;
    behind |= on > 0.0;
  }
  return before && behind;
}
