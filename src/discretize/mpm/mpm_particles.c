#include "discretize/mpm/mpm_particles.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_lanes.h"

PetscErrorCode mpm_particles_create(int n_state, mpm_particles **out)
{
  PetscFunctionBeginUser;
  SS_ASSERT(n_state >= 0 && n_state <= MATERIAL_MAX_STATE);
  PetscCall(memory_alloc("mpm particles", 1, sizeof **out, out));
  (*out)->n_state = n_state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int mpm_particles_arrays(mpm_particles *p, void **arrays[MPM_PARTICLES_MAX_ARRAYS])
{
  int n = 0;
  for (int k = 0; k < 3; ++k) arrays[n++] = (void **)&p->x[k];
  for (int k = 0; k < 3; ++k) arrays[n++] = (void **)&p->v[k];
  for (int k = 0; k < 9; ++k) arrays[n++] = (void **)&p->C[k];
  for (int k = 0; k < 9; ++k) arrays[n++] = (void **)&p->F[k];
  for (int k = 0; k < p->n_state; ++k) arrays[n++] = (void **)&p->state[k];
  arrays[n++] = (void **)&p->mass;
  arrays[n++] = (void **)&p->volume;
  arrays[n++] = (void **)&p->id;
  return n;
}

void mpm_particles_destroy(mpm_particles **p)
{
  if (!*p) return;
  void    **arrays[MPM_PARTICLES_MAX_ARRAYS];
  const int n = mpm_particles_arrays(*p, arrays);
  for (int a = 0; a < n; ++a) memory_free(arrays[a]);
  memory_free(&(*p)->scratch);
  memory_free(&(*p)->pressure);
  memory_free(&(*p)->shear);
  memory_free(&(*p)->density);
  memory_free(&(*p)->speed);
  memory_free(&(*p)->groups);
  memory_free(&(*p)->batches);
  memory_free(p);
}

PetscErrorCode mpm_particles_resize(mpm_particles *p, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCheck(n >= 0 && n < INT32_MAX - 64, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%lld particles in one MPM body; at most %d are possible: split the body", (long long)n, INT32_MAX - 65);
  void    **arrays[MPM_PARTICLES_MAX_ARRAYS];
  const int n_arrays = mpm_particles_arrays(p, arrays);
  if (n > p->capacity) {
    const int64_t capacity = p->capacity == 0 ? n : n + n / 8; /* a body that has grown once (emitter) will grow again */
    for (int a = 0; a < n_arrays; ++a) PetscCall(memory_resize("mpm particles", capacity + LANES, sizeof(double), arrays[a]));
    memory_free(&p->scratch);
    PetscCall(memory_alloc("mpm sort scratch", capacity + LANES, sizeof(double), &p->scratch));
    p->capacity = capacity;
  }
  for (int64_t i = p->n; i < n; ++i) {
    for (int a = 0; a < n_arrays; ++a) ((double *)*arrays[a])[i] = 0.0;
    p->F[0][i] = p->F[4][i] = p->F[8][i] = 1.0;
  }
  p->n        = n;
  p->n_groups = p->n_batches = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool mpm_particles_permute(mpm_particles *p, const int32_t *order)
{
  const int64_t n     = p->n;
  int64_t       moved = n;
#pragma omp parallel for reduction(min : moved) schedule(static)
  for (int64_t i = 0; i < n; ++i)
    if (i < moved && order[i] != i) moved = i;
  if (moved == n) return false; /* a pile at rest */
  void    **arrays[MPM_PARTICLES_MAX_ARRAYS];
  const int n_arrays = mpm_particles_arrays(p, arrays);
  for (int a = 0; a < n_arrays; ++a) {
    const uint64_t *restrict from = *arrays[a];
    uint64_t *restrict to         = (uint64_t *)p->scratch;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) to[i] = from[order[i]];
    p->scratch = *arrays[a];
    *arrays[a] = to;
  }
  return true;
}

double mpm_particles_bytes(const mpm_particles *p)
{
  if (p->n == 0) return 0.0;
  const double arrays = 8.0 * (27 + p->n_state + 1) * (double)(p->capacity + LANES);
  return (arrays + (double)p->groups_capacity * sizeof(mpm_group) + (double)p->batches_capacity * sizeof(mpm_batch)) / (double)p->n;
}

PetscErrorCode mpm_particles_fields(mpm_particles *p, const material_law *law, field_table *table, const char *name,
                                    void *context, field_group **out)
{
  enum { STATE = FIELD_CHECKPOINT, BOTH = FIELD_CHECKPOINT | FIELD_FRAME, DERIVED = FIELD_FRAME | FIELD_DERIVED };
  char         path[96];
  field_group *g;

  PetscFunctionBeginUser;
  snprintf(path, sizeof path, "bodies/%s", name);
  PetscCall(field_table_add_group(table, path, FIELD_GROUP_POINTS, &p->n, context, &g));
  PetscCall(field_table_add_soa(table, g, "position", "m", FIELD_F64, 3, p->x, BOTH, "where the particle is"));
  PetscCall(field_table_add_soa(table, g, "velocity", "m/s", FIELD_F64, 3, p->v, BOTH, "velocity"));
  PetscCall(field_table_add_soa(table, g, "affine_velocity", "1/s", FIELD_F64, 9, p->C, STATE,
                                "velocity gradient carried by the affine transfer"));
  PetscCall(field_table_add_soa(table, g, "deformation_gradient", "1", FIELD_F64, 9, p->F, STATE,
                                "elastic deformation gradient, row-major"));
  PetscCall(field_table_add(table, g, "mass", "kg", FIELD_F64, 1, &p->mass, STATE, "mass"));
  PetscCall(field_table_add(table, g, "volume", "m^3", FIELD_F64, 1, &p->volume, BOTH, "undeformed volume"));
  PetscCall(field_table_add(table, g, "id", "1", FIELD_I64, 1, &p->id, BOTH, "persistent identity"));
  for (int k = 0; k < p->n_state; ++k)
    PetscCall(field_table_add(table, g, law->state_name[k], law->state_unit[k], FIELD_F64, 1, &p->state[k], BOTH, law->state_help[k]));
  PetscCall(field_table_add(table, g, "pressure", "Pa", FIELD_F64, 1, &p->pressure, DERIVED, "minus a third of the Cauchy trace"));
  PetscCall(field_table_add(table, g, "shear_stress", "Pa", FIELD_F64, 1, &p->shear, DERIVED, "von Mises stress"));
  PetscCall(field_table_add(table, g, "density", "kg/m^3", FIELD_F64, 1, &p->density, DERIVED, "mass over deformed volume"));
  PetscCall(field_table_add(table, g, "speed", "m/s", FIELD_F64, 1, &p->speed, DERIVED, "magnitude of velocity"));
  *out = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cauchy stress from P F^T / J; an impossible state (which no accepted step leaves behind) shows as NaN. */
static void derive_batch(mpm_particles *p, const material *m, int64_t first, int64_t n)
{
  double F[9 * MATERIAL_BATCH] = {0}, P[9 * MATERIAL_BATCH], state[MATERIAL_MAX_STATE * MATERIAL_BATCH] = {0};
  for (int k = 0; k < 9; ++k)
    for (int64_t i = 0; i < n; ++i) F[k * MATERIAL_BATCH + i] = p->F[k][first + i];
  for (int k = 0; k < p->n_state; ++k)
    for (int64_t i = 0; i < n; ++i) state[k * MATERIAL_BATCH + i] = p->state[k][first + i];
  const int64_t good = material_stress(m, n, MATERIAL_BATCH, F, state, P, NULL, NULL, NULL, NULL, NULL);
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
    p->speed[a]     = sqrt(p->v[0][a] * p->v[0][a] + p->v[1][a] * p->v[1][a] + p->v[2][a] * p->v[2][a]);
  }
}

PetscErrorCode mpm_particles_derive(mpm_particles *p, const material *m)
{
  PetscFunctionBeginUser;
  double **arrays[] = {&p->pressure, &p->shear, &p->density, &p->speed};
  for (int a = 0; a < 4; ++a) {
    memory_free(arrays[a]);
    PetscCall(memory_alloc("mpm frame fields", p->n, sizeof(double), arrays[a]));
  }
  const int64_t n_chunks = (p->n + MATERIAL_BATCH - 1) / MATERIAL_BATCH;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int64_t first = c * MATERIAL_BATCH, left = p->n - first;
    derive_batch(p, m, first, left < MATERIAL_BATCH ? left : MATERIAL_BATCH);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
