/* Quantities of a continuum whose pressure is solved for. */
#include "sim/measure/measure_quantity.h"

PetscErrorCode measure_pressure(const measure_moment *now, measure *k, double *value)
{
  *value = now->formulation->ops->pressure ? now->formulation->ops->pressure(now->formulation, k->point) : NAN;
  return PETSC_SUCCESS;
}
