#include "discretize/particles/particle_seed.h"
#include "core/math3.h"

PetscErrorCode particle_seed_add(const particle_seed *seed, const char *name, double density, bool with_affine, int64_t *next_id,
                                 particles *p)
{
  const int64_t first     = p->n;
  double        center[3] = {0, 0, 0}, total = 0.0;

  PetscFunctionBeginUser;
  PetscCall(particles_resize(p, first + seed->n));
  for (int64_t i = 0; i < seed->n; ++i) {
    const double volume = seed->volume ? seed->volume[i] : seed->volume_each;
    PetscCheck(volume > 0.0 && isfinite(volume), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: particle %lld has no volume",
               name, (long long)i);
    v3_axpy(center, volume, seed->x + 3 * i);
    total += volume;
  }
  if (total > 0.0) v3_scale(center, 1.0 / total, center);
  for (int64_t i = 0; i < seed->n; ++i) {
    const int64_t at     = first + i;
    const double  volume = seed->volume ? seed->volume[i] : seed->volume_each;
    double        v[3], arm[3];
    v3_sub(arm, seed->x + 3 * i, center);
    v3_cross(v, seed->angular_velocity, arm);
    v3_add(v, v, seed->velocity);
    for (int k = 0; k < 3; ++k) p->x[k][at] = seed->x[3 * i + k], p->v[k][at] = seed->v ? seed->v[3 * i + k] : v[k];
    if (!seed->v && with_affine) { /* the affine part of a spin, so that it starts exactly */
      double spin[9];
      m3_skew(spin, seed->angular_velocity);
      for (int k = 0; k < 9; ++k) p->C[k][at] = spin[k];
    }
    if (p->law) p->volume[at] = volume;
    p->mass[at] = density * volume;
    for (int k = 0; p->law && k < p->n_state; ++k) p->state[k][at] = p->law->state_initial[k];
    p->id[at] = seed->id ? seed->id[i] : *next_id + i;
  }
  if (!seed->id)
    *next_id += seed->n;
  else
    for (int64_t i = 0; i < seed->n; ++i) *next_id = seed->id[i] >= *next_id ? seed->id[i] + 1 : *next_id;
  PetscFunctionReturn(PETSC_SUCCESS);
}
