#include "discretize/mpm/mpm_derive.h"
#include "core/math3.h"

/* Cauchy stress from P F^T / J; an impossible state (which no accepted step leaves behind) shows as NaN. */
static void derive_batch(particles *p, const material *m, int64_t first, int64_t n)
{
  double F[9 * MATERIAL_BATCH] = {0}, P[9 * MATERIAL_BATCH], state[MATERIAL_MAX_STATE * MATERIAL_BATCH] = {0};
  for (int k = 0; k < 9; ++k)
    for (int64_t i = 0; i < n; ++i) F[k * MATERIAL_BATCH + i] = p->F[k][first + i];
  for (int k = 0; k < p->n_state; ++k)
    for (int64_t i = 0; i < n; ++i) state[k * MATERIAL_BATCH + i] = p->state[k][first + i];
  const int64_t good = material_stress(m, n, MATERIAL_BATCH, NULL, F, state, P, NULL, NULL, NULL, NULL, NULL);
  for (int64_t i = 0; i < n; ++i) {
    double f[9], q[9], s[9];
    for (int k = 0; k < 9; ++k) f[k] = F[k * MATERIAL_BATCH + i], q[k] = i < good ? P[k * MATERIAL_BATCH + i] : NAN;
    m3_mul_nt(s, q, f);
    const double j = m3_det(f), mean = m3_trace(s) / (3.0 * j);
    double       dev2 = 0.0;
    for (int k = 0; k < 9; ++k) {
      const double d = s[k] / j - (k % 4 == 0 ? mean : 0.0);
      dev2 += d * d;
    }
    const int64_t a = first + i;
    p->pressure[a]  = -mean;
    p->shear[a]     = sqrt(1.5 * dev2);
    p->density[a]   = p->mass[a] / (p->volume[a] * j);
    p->speed[a]     = sqrt(particles_speed2(p, a));
  }
}

PetscErrorCode mpm_derive(particles *p, const material *m)
{
  PetscFunctionBeginUser;
  PetscCall(particles_room_for_frames(p));
  const int64_t n_chunks = (p->n + MATERIAL_BATCH - 1) / MATERIAL_BATCH;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int64_t first = c * MATERIAL_BATCH, left = p->n - first;
    derive_batch(p, m, first, left < MATERIAL_BATCH ? left : MATERIAL_BATCH);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
