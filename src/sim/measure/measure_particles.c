/* Quantities summed over the particles of a body. */
#include "discretize/particles/particles.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

static particles *measured(const measure_moment *now, const measure *k) { return particles_of(measure_body_of(now, k)); }

static bool is_within(const measure_box *box, const particles *p, int64_t i)
{
  for (int q = 0; box && q < 3; ++q)
    if (!(p->x[q][i] >= box->min[q] && p->x[q][i] <= box->max[q])) return false;
  return true;
}

PetscErrorCode measure_mass_beyond(const measure_moment *now, measure *k, double *value)
{
  const particles *p     = measured(now, k);
  *value                 = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i] - k->point[0], p->x[1][i] - k->point[1], p->x[2][i] - k->point[2]};
    if (v3_dot(k->direction, x) > 0) *value += p->mass[i];
  }
  return PETSC_SUCCESS;
}

PetscErrorCode measure_density(const measure_moment *now, measure *k, double *value)
{
  const particles       *p   = measured(now, k);
  const measure_box *box = k->spec->within;
  double                 sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i)
    if (is_within(box, p, i)) sum += p->mass[i];
  *value = sum / ((box->max[0] - box->min[0]) * (box->max[1] - box->min[1]) * (box->max[2] - box->min[2]));
  return PETSC_SUCCESS;
}

/* In two passes: the mean may be far larger than what differs from it. */
PetscErrorCode measure_granular_temperature(const measure_moment *now, measure *k, double *value)
{
  const particles     *p    = measured(now, k);
  double               mass = 0.0, mean[3] = {0.0, 0.0, 0.0}, sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    if (!is_within(k->spec->within, p, i)) continue;
    mass += p->mass[i];
    for (int q = 0; q < 3; ++q) mean[q] += p->mass[i] * p->v[q][i];
  }
  if (!(mass > 0.0)) return PETSC_SUCCESS;
  v3_scale(mean, 1.0 / mass, mean);
  for (int64_t i = 0; i < p->n; ++i) {
    const double v[3] = {p->v[0][i] - mean[0], p->v[1][i] - mean[1], p->v[2][i] - mean[2]};
    if (is_within(k->spec->within, p, i)) sum += p->mass[i] * v3_dot(v, v);
  }
  *value = sum / (3.0 * mass);
  return PETSC_SUCCESS;
}
