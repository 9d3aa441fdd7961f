#include "discretize/particles/particle_origins.h"
#include "core/math3.h"
#include "core/memory.h"

PetscErrorCode particle_origins_create(int n_sets, particles *const *sets, particle_origins *out)
{
  PetscFunctionBegin;
  *out = (particle_origins){0, NULL};
  for (int b = 0; b < n_sets; ++b) {
    const particles *p = sets[b];
    for (int64_t i = 0; i < p->n; ++i) out->n = p->id[i] >= out->n ? p->id[i] + 1 : out->n;
  }
  PetscCall(memory_alloc("particle origins", 3 * out->n, sizeof *out->x, &out->x));
  for (int b = 0; b < n_sets; ++b) {
    particles *p = sets[b];
    p->origins   = out;
    for (int64_t i = 0; i < p->n; ++i)
      for (int k = 0; k < 3; ++k) out->x[3 * p->id[i] + k] = p->x[k][i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

double particle_origins_error(const particles *p, const vector_field *f, double t, bool is_velocity)
{
  double mass = 0.0, sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double *X = p->origins->x + 3 * p->id[i], x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double        expected[3];
    vector_field_at(f, X, x, t, expected);
    for (int k = 0; k < 3; ++k) {
      const double e = (is_velocity ? p->v[k][i] : x[k] - X[k]) - expected[k];
      sum += p->mass[i] * e * e;
    }
    mass += p->mass[i];
  }
  return mass > 0.0 ? sqrt(sum / mass) : NAN;
}
