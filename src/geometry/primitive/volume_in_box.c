/* Ball: the box is an alternating sum of eight corners {x >= a, y >= b, z >= c}. For a corner with a, b, c >= 0 inside the unit ball,
 * the divergence theorem gives 3 V = S - a A_a - b A_b - c A_c with the area S of the spherical face and the plane faces A. S follows from
 * the theorem of Gauss and Bonnet: three arcs of circles with geodesic curvature, and three angles. Negative a, b, c: complements.
 *
 * Mesh: lines along z inside the box have the length sum of +-clamp(z, min_z, max_z) over the surface points that they cross. The volume is
 * therefore the integral of (clamp(z) - min_z) n_z dA over the part of the surface above and below the rectangle of x and y: polygons
 * that result from clipping the triangles. */
#include "geometry/primitive/volume_in_box.h"
#include "core/math3.h"
#include <stdbool.h>

/* ==== ball ==== */

/* Volume of {x >= a} in the unit ball. */
static double cap_volume(double a)
{
  if (a >= 1.0) return 0.0;
  if (a <= -1.0) return 4.0 / 3.0 * M_PI;
  return M_PI / 3.0 * (1.0 - a) * (1.0 - a) * (2.0 + a);
}

static double limited(double c) { return fmax(-1.0, fmin(1.0, c)); }

/* Angle of the arc {x = a, y >= b, z >= c} on the unit sphere, b, c >= 0. rho: radius of its circle. */
static double arc_angle(double rho, double b, double c) { return fmax(0.0, acos(limited(b / rho)) - asin(limited(c / rho))); }

/* Area of {y >= b, z >= c} in a disc of radius rho, b, c >= 0, bounded by an arc of this angle. */
static double sector_area(double rho, double angle, double b, double c)
{
  const double along_b = sqrt(fmax(0.0, rho * rho - b * b)) - c, along_c = sqrt(fmax(0.0, rho * rho - c * c)) - b;
  return 0.5 * (rho * rho * angle - b * along_b - c * along_c);
}

/* {x >= a, y >= b, z >= c} in the unit ball, a, b, c >= 0. */
static double positive_corner(const double p[3])
{
  if (v3_dot(p, p) >= 1.0) return 0.0;
  double area = 2.0 * M_PI, volume = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double a = p[k], b = p[(k + 1) % 3], c = p[(k + 2) % 3], rho = sqrt(1.0 - a * a), angle = arc_angle(rho, b, c);
    area -= acos(limited(-a * b / (rho * sqrt(1.0 - b * b)))) + a * angle;
    volume -= a * sector_area(rho, angle, b, c);
  }
  return (area + volume) / 3.0;
}

/* {y >= b, z >= c} in the unit ball, of any sign. */
static double wedge(double b, double c)
{
  if (b < 0.0) return cap_volume(c) - wedge(-b, c);
  if (c < 0.0) return cap_volume(b) - wedge(b, -c);
  return 2.0 * positive_corner((const double[3]){0.0, b, c});
}

static double corner_volume(const double p[3])
{
  for (int k = 0; k < 3; ++k) {
    if (p[k] >= 0.0) continue;
    const double mirrored[3] = {k == 0 ? -p[0] : p[0], k == 1 ? -p[1] : p[1], k == 2 ? -p[2] : p[2]};
    return wedge(p[(k + 1) % 3], p[(k + 2) % 3]) - corner_volume(mirrored);
  }
  return positive_corner(p);
}

double ball_volume_in_box(const double center[3], double radius, const double min[3], const double max[3])
{
  double sum = 0.0;
  for (int i = 0; i < 8; ++i) {
    double p[3];
    int    n_upper = 0;
    for (int k = 0; k < 3; ++k) {
      const double side = ((i >> k & 1 ? max[k] : min[k]) - center[k]) / radius;
      p[k]              = fmax(-1.0, fmin(1.0, side));
      n_upper += i >> k & 1;
    }
    sum += n_upper % 2 ? -corner_volume(p) : corner_volume(p);
  }
  return radius * radius * radius * sum;
}

/* ==== mesh ==== */

enum { MOST_CORNERS = 12 }; /* a triangle has at most one corner more after each of six cuts */
typedef struct {
  int    n;
  double x[MOST_CORNERS][3];
} polygon;

/* Part of the polygon where sign * x[axis] <= sign * limit. */
static void clip(const polygon *p, int axis, double sign, double limit, polygon *out)
{
  out->n = 0;
  for (int i = 0; i < p->n; ++i) {
    const double *a = p->x[i], *b = p->x[(i + 1) % p->n], da = sign * (a[axis] - limit), db = sign * (b[axis] - limit);
    if (da <= 0.0) v3_copy(out->x[out->n++], a);
    if ((da <= 0.0) == (db <= 0.0)) continue;
    for (int k = 0; k < 3; ++k) out->x[out->n][k] = a[k] + da / (da - db) * (b[k] - a[k]);
    out->x[out->n++][axis] = limit;
  }
}

/* Integral of z - from over the projection of the polygon along z; with is_area, of 1. */
static double projected_integral(const polygon *p, double from, bool is_area)
{
  double sum = 0.0;
  for (int i = 2; i < p->n; ++i) {
    const double *a = p->x[0], *b = p->x[i - 1], *c = p->x[i];
    const double  area = 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    sum += is_area ? area : area * ((a[2] + b[2] + c[2]) / 3.0 - from);
  }
  return sum;
}

double mesh_volume_in_box(int64_t n, const int32_t *tri, const double *x, const double min[3], const double max[3])
{
  double volume = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    polygon p = {.n = 3}, q;
    for (int k = 0; k < 3; ++k) v3_copy(p.x[k], x + 3 * (int64_t)tri[3 * i + k]);
    for (int axis = 0; axis < 2; ++axis) {
      clip(&p, axis, -1.0, min[axis], &q);
      clip(&q, axis, 1.0, max[axis], &p);
    }
    clip(&p, 2, -1.0, max[2], &q); /* above the box: the whole height */
    volume += (max[2] - min[2]) * projected_integral(&q, 0.0, true);
    clip(&p, 2, -1.0, min[2], &q);
    clip(&q, 2, 1.0, max[2], &p);
    volume += projected_integral(&p, min[2], false);
  }
  return volume;
}
