/* Contact stiffness from limits of the penetration, see contact_stiffness.h. */
#include "sim/scene/contact_stiffness.h"
#include "core/math3.h"

static const double static_share = 0.01, impact_share = 0.1; /* of h */

double contact_length_of(const body_survey *b, int i, int j)
{
  double h = fmin(b[i].size, b[j].size);
  if (b[i].is_free) h = fmin(h, b[i].spacing < 0.5 * b[i].size ? b[i].spacing : INFINITY);
  if (b[j].is_free) h = fmin(h, b[j].spacing < 0.5 * b[j].size ? b[j].spacing : INFINITY);
  return h;
}

int contact_carried_body(const body_survey *b, int i, int j)
{
  const bool can_i = b[i].is_free && b[i].mass > 0.0, can_j = b[j].is_free && b[j].mass > 0.0;
  if (can_i && can_j) return b[i].load <= b[j].load ? i : j;
  return can_i ? i : can_j ? j : -1;
}

double contact_stiffness_of(const body_survey *b, int i, int j)
{
  double       v[3];
  const int    carried = contact_carried_body(b, i, j);
  const double h       = contact_length_of(b, i, j);
  if (carried < 0 || !isfinite(h) || !(h > 0.0)) return NAN;
  v3_sub(v, b[i].v, b[j].v);
  const double n = (double)b[carried].n_bottom,
               m = fmin(b[i].is_free && b[i].mass > 0.0 ? b[i].mass : INFINITY, b[j].is_free && b[j].mass > 0.0 ? b[j].mass : INFINITY);
  const double k = fmax(b[carried].load / (n * static_share * h), m * v3_dot(v, v) / (n * impact_share * impact_share * h * h));
  return k > 0.0 && isfinite(k) ? k : NAN;
}
