/* Implementation: tests of the Voronoi regions of vertices, edges and face in turn. */
#include "geometry/primitive/triangle_nearest.h"
#include "core/math3.h"

int triangle_nearest(const double a[3], const double b[3], const double c[3], const double p[3], double w[3])
{
  double ab[3], ac[3], ap[3], bp[3], cp[3];
  v3_sub(ab, b, a), v3_sub(ac, c, a), v3_sub(ap, p, a), v3_sub(bp, p, b), v3_sub(cp, p, c);
  const double d1 = v3_dot(ab, ap), d2 = v3_dot(ac, ap), d3 = v3_dot(ab, bp), d4 = v3_dot(ac, bp);
  const double d5 = v3_dot(ab, cp), d6 = v3_dot(ac, cp);
  const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
  if (d1 <= 0.0 && d2 <= 0.0) return v3_set(w, 1.0, 0.0, 0.0), 0;
  if (d3 >= 0.0 && d4 <= d3) return v3_set(w, 0.0, 1.0, 0.0), 1;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return v3_set(w, 1.0 - d1 / (d1 - d3), d1 / (d1 - d3), 0.0), 3;
  if (d6 >= 0.0 && d5 <= d6) return v3_set(w, 0.0, 0.0, 1.0), 2;
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return v3_set(w, 1.0 - d2 / (d2 - d6), 0.0, d2 / (d2 - d6)), 5;
  if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
    const double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return v3_set(w, 0.0, 1.0 - t, t), 4;
  }
  const double s = 1.0 / (va + vb + vc);
  return v3_set(w, va * s, vb * s, vc * s), 6;
}
