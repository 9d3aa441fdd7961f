/* Contact stiffness from limits of the penetration, see contact_stiffness.h. */
#include "sim/scene/contact_stiffness.h"
#include "core/math3.h"

static const double static_share = 0.01, impact_share = 0.1; /* of h */

/* Distance of the points of a deformable body; INFINITY: none, or not smaller than the body. */
static double spacing_of(const body_survey *b) { return b->is_free && !b->is_rigid && b->spacing < 0.5 * b->size ? b->spacing : INFINITY; }

double contact_length_of(const body_survey *b, int i, int j)
{
  return fmin(fmin(b[i].size, b[j].size), fmin(spacing_of(&b[i]), spacing_of(&b[j])));
}

int contact_carried_body(const body_survey *b, int i, int j)
{
  const bool can_i = b[i].is_free && b[i].mass > 0.0, can_j = b[j].is_free && b[j].mass > 0.0;
  if (can_i && can_j) return b[i].load <= b[j].load ? i : j;
  return can_i ? i : can_j ? j : -1;
}

/* Largest force of an impact with speed v on a contact point of a deformable body [N]; INFINITY: rigid. */
static double largest_force(const body_survey *b, double v)
{
  return b->wave_speed > 0.0 && isfinite(b->spacing) ? b->density * b->wave_speed * (b->wave_speed + v) * b->spacing * b->spacing
                                                     : INFINITY;
}

double contact_stiffness_of(const body_survey *b, int i, int j)
{
  double       v[3];
  const int    carried = contact_carried_body(b, i, j);
  const double h       = contact_length_of(b, i, j);
  if (carried < 0 || !isfinite(h) || !(h > 0.0)) return NAN;
  v3_sub(v, b[i].v, b[j].v);
  const double n    = (double)b[carried].n_bottom,
               m    = fmin(b[i].is_free && b[i].mass > 0.0 ? b[i].mass : INFINITY, b[j].is_free && b[j].mass > 0.0 ? b[j].mass : INFINITY);
  const double most = fmin(largest_force(&b[i], v3_norm(v)), largest_force(&b[j], v3_norm(v))) / (impact_share * h);
  const double impact = fmin(m * v3_dot(v, v) / (n * impact_share * impact_share * h * h), most);
  const double k      = fmax(b[carried].load / (n * static_share * h), impact);
  return k > 0.0 && isfinite(k) ? k : NAN;
}
