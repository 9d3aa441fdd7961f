/* Restitution by a spring that depends on the speed of compression, see restitution.h. */
#include "contact/penalty/restitution.h"
#include <math.h>

/* (1 + e) a - log((1 + a) / (1 - e a)): it increases from 0 to its maximum and then decreases without bound, so there is one root a > 0. */
static double mismatch(double e, double a) { return (1.0 + e) * a - log1p(a) + log1p(-e * a); }

double restitution_damping(double e)
{
  if (!(e > 0.0)) return 0.0;
  /* the maximum is at a = (1 - e)/e; the root is between it and 1/e */
  double lo = (1.0 - e) / e, hi = 1.0 / e;
  while (true) {
    const double middle = 0.5 * (lo + hi);
    if (!(middle > lo && middle < hi)) return lo;
    if (mismatch(e, middle) > 0.0) lo = middle;
    else hi = middle;
  }
}

double restitution_gain(const restitution *r, double v_rest, double *slope)
{
  const double a = r->damping, v = fmax(r->speed, v_rest), gain = 1.0 + a * r->rate / v;
  *slope = gain > 0.0 && gain < 1.0 + a ? a / v : 0.0;
  return fmin(fmax(gain, 0.0), 1.0 + a);
}

double restitution_speed(const restitution *r) { return r->damping > 0.0 ? fmax(r->speed, r->rate) : 0.0; }
