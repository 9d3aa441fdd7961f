/* Implementation of rod_section.h: stiffness and mass of rod cross-sections. */
#include "discretize/rod/rod_section.h"
#include <math.h>

/* a b^3 / 3 (1 - 192 b / (pi^5 a) sum over odd n of tanh(n pi a / 2 b) / n^5), a the longer side. The remainder of the series
 * from n = 2k + 1 on is below 1 / (8 (2k)^4), 2e-12 after 200 terms. */
double rod_torsion_of_rectangle(double side, double other)
{
  const double a = fmax(side, other), b = fmin(side, other);
  double       sum = 0.0;
  for (int n = 399; n > 0; n -= 2) sum += tanh(0.5 * n * M_PI * a / b) / pow(n, 5.0);
  return a * b * b * b / 3.0 * (1.0 - 192.0 * b / (pow(M_PI, 5.0) * a) * sum);
}

/* Area, second moments for bending towards the director and across it, torsion constant, smaller half width. */
static void section_geometry(const rod_section_spec *s, double *area, double moment[2], double *torsion, double *radius)
{
  double h[2] = {0.0, 0.0};
  if (s->rectangle) {
    h[0] = s->rectangle->sides[0], h[1] = s->rectangle->sides[1];
    *area     = h[0] * h[1];
    moment[0] = h[0] * h[0] * *area / 12.0, moment[1] = h[1] * h[1] * *area / 12.0;
    *torsion = rod_torsion_of_rectangle(h[0], h[1]);
    *radius  = 0.5 * fmin(h[0], h[1]);
    return;
  }
  if (s->ellipse) h[0] = s->ellipse->radii[0], h[1] = s->ellipse->radii[1];
  else if (s->circle) h[0] = h[1] = s->circle->radius;
  *area     = M_PI * h[0] * h[1];
  moment[0] = 0.25 * h[0] * h[0] * *area, moment[1] = 0.25 * h[1] * h[1] * *area;
  *torsion = *area * h[0] * h[0] * h[1] * h[1] / (h[0] * h[0] + h[1] * h[1]);
  *radius  = fmin(h[0], h[1]);
}

static double given_or(double given, double otherwise) { return isnan(given) ? otherwise : given; }

void rod_section_of(const rod_section_spec *section, const rod_stiffness_spec *stiffness, const material *m, rod_section *out)
{
  double area, moment[2], torsion, mu, lambda;
  section_geometry(section, &area, moment, &torsion, &out->radius);
  material_small_strain(m, &mu, &lambda);
  const double E       = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
  out->stretch         = given_or(stiffness->stretch, E * area);
  out->bending[0]      = given_or(stiffness->bending[0], E * moment[0]);
  out->bending[1]      = given_or(stiffness->bending[1], E * moment[1]);
  out->twist           = given_or(stiffness->twist, mu * torsion);
  out->mass_per_length = given_or(stiffness->mass_per_length, m->density * area);
  out->shear           = given_or(stiffness->shear, mu * area);
  for (int k = 0; k < 2; ++k) out->inertia[k] = out->mass_per_length * moment[k] / area;
  out->inertia_per_length = out->inertia[0] + out->inertia[1];
}
