#include "contact/detection/point_sweep.h"
#include "core/math3.h"

enum { STRIDE = 4 };
/* Of the way: nearer than this is there; what is left is told by value and normal. */
static const double near_enough = 1e-3;
/* Cosine: within this it is still the side that was nearest. */
static const double same_side = 0.9;

/* The part of the way inside the box around the solid: values outside that are no bounds. */
static bool clip(const level_set *s, const double x0[3], const double d[3], double *first, double *last)
{
  double min[3], max[3];
  level_set_bounds(s, min, max);
  for (int k = 0; k < 3; ++k) {
    const double low = (min[k] - x0[k]) / d[k], high = (max[k] - x0[k]) / d[k];
    if (d[k] == 0.0 && (x0[k] < min[k] || x0[k] > max[k])) return false;
    if (d[k] == 0.0) continue;
    *first = fmax(*first, fmin(low, high));
    *last  = fmin(*last, fmax(low, high));
  }
  return *first <= *last;
}

/* Does the plane across `held` at the distance phi from x0 hold it where it is? */
static bool is_held(const double x0[3], double phi, const double *held, const double place[3], const double normal[3], double slack)
{
  double d[3];
  if (!held || v3_dot(held, normal) < same_side) return false;
  v3_sub(d, place, x0);
  return v3_dot(held, d) + phi < slack;
}

bool point_sweep(const level_set *s, const double x0[3], const double x1[3], double phi, const double *held, double place[3],
                 double normal[3], double *gap)
{
  double d[3], at, last = 1.0;
  v3_sub(d, x1, x0);
  const double length = v3_norm(d), closing = held ? -v3_dot(held, d) : 0.0, near = near_enough * length;
  if (!(length > phi)) return false;
  at = phi / length;
  if (closing > 0.0) last = fmin(last, phi / closing * (1.0 - 1e-6));
  if (!clip(s, x0, d, &at, &last)) return false;
  while (at <= last) {
    for (int i = 0; i < 3; ++i) place[i] = x0[i] + at * d[i];
    const double value = level_set_eval(s, place, normal, NULL), size = v3_norm(normal);
    if (value <= near && size > 0.0) {
      v3_scale(normal, 1.0 / size, normal);
      v3_axpy(place, -value, normal);
      *gap = value - at * v3_dot(normal, d);
      if (v3_dot(normal, d) < 0.0 && *gap > 0.0 && !is_held(x0, phi, held, place, normal, 2.0 * near)) return true;
    }
    at += fmax(value, value <= near ? STRIDE * near : 0.0) / length;
  }
  return false;
}
