/* Implementation of particles.h: arrays of particles, their permutation, fields and initial positions. */
#include "discretize/particles/particles.h"
#include "core/memory.h"
#include "core/math3.h"

PetscErrorCode particles_create(const material_law *law, particles **out)
{
  PetscFunctionBeginUser;
  SS_ASSERT(!law || (law->n_state >= 0 && law->n_state <= MATERIAL_MAX_STATE));
  PetscCall(memory_alloc("particles", 1, sizeof **out, out));
  (*out)->law     = law;
  (*out)->n_state = law ? law->n_state : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int particles_arrays(particles *p, void **arrays[PARTICLES_MAX_ARRAYS])
{
  int n = 0;
  for (int k = 0; k < 3; ++k) arrays[n++] = (void **)&p->x[k];
  for (int k = 0; k < 3; ++k) arrays[n++] = (void **)&p->v[k];
  for (int k = 0; k < 9; ++k) arrays[n++] = (void **)&p->C[k];
  for (int k = 0; k < 9 && p->law; ++k) arrays[n++] = (void **)&p->F[k];
  for (int k = 0; k < p->n_state; ++k) arrays[n++] = (void **)&p->state[k];
  arrays[n++] = (void **)&p->mass;
  if (p->law) arrays[n++] = (void **)&p->volume;
  arrays[n++] = (void **)&p->id;
  return n;
}

void particles_destroy(particles **p)
{
  if (!*p) return;
  void    **arrays[PARTICLES_MAX_ARRAYS];
  const int n = particles_arrays(*p, arrays);
  for (int a = 0; a < n; ++a) memory_free(arrays[a]);
  MEMORY_FREE(&(*p)->scratch, &(*p)->pressure, &(*p)->shear, &(*p)->density, &(*p)->speed, &(*p)->groups, &(*p)->batches, p);
}

PetscErrorCode particles_resize(particles *p, int64_t n)
{
  PetscFunctionBeginUser;
  PetscCheck(n >= 0 && n < INT32_MAX - 64, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%lld particles in one body; at most %d are possible: split the body", (long long)n, INT32_MAX - 65);
  void    **arrays[PARTICLES_MAX_ARRAYS];
  const int n_arrays = particles_arrays(p, arrays);
  if (n > p->capacity) {
    const int64_t capacity = p->capacity == 0 ? n : n + n / 8; /* a body that has grown once (emitter) will grow again */
    for (int a = 0; a < n_arrays; ++a) PetscCall(memory_resize("particles", capacity + PARTICLES_PADDING, sizeof(double), arrays[a]));
    memory_free(&p->scratch);
    PetscCall(memory_alloc("particle sort scratch", capacity + PARTICLES_PADDING, sizeof(double), &p->scratch));
    p->capacity = capacity;
  }
  for (int64_t i = p->n; i < n; ++i) {
    for (int a = 0; a < n_arrays; ++a) ((double *)*arrays[a])[i] = 0.0;
    if (p->law) p->F[0][i] = p->F[4][i] = p->F[8][i] = 1.0;
  }
  p->n        = n;
  p->n_groups = p->n_batches = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool particles_permute(particles *p, const int32_t *order)
{
  const int64_t n     = p->n;
  int64_t       moved = n;
#pragma omp parallel for reduction(min : moved) schedule(static)
  for (int64_t i = 0; i < n; ++i)
    if (i < moved && order[i] != i) moved = i;
  if (moved == n) return false; /* a pile at rest */
  void    **arrays[PARTICLES_MAX_ARRAYS];
  const int n_arrays = particles_arrays(p, arrays);
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

int64_t particles_next_id(const particles *p, int64_t least)
{
  for (int64_t i = 0; i < p->n; ++i)
    if (p->id[i] >= least) least = p->id[i] + 1;
  return least;
}

double particles_bytes(const particles *p)
{
  if (p->n == 0) return 0.0;
  const double arrays = 8.0 * (17 + (p->law ? 10 : 0) + p->n_state + 1) * (double)(p->capacity + PARTICLES_PADDING);
  return (arrays + (double)p->groups_capacity * sizeof(particle_group) + (double)p->batches_capacity * sizeof(particle_batch)) /
         (double)p->n;
}

PetscErrorCode particles_fields(particles *p, field_table *table, const char *name, void *context, field_group **out)
{
  enum { STATE = FIELD_CHECKPOINT, BOTH = FIELD_CHECKPOINT | FIELD_FRAME, DERIVED = FIELD_FRAME | FIELD_DERIVED };
  const material_law *law = p->law;
  char                path[96];
  field_group        *g;

  PetscFunctionBeginUser;
  snprintf(path, sizeof path, "bodies/%s", name);
  PetscCall(field_table_add_group(table, path, FIELD_GROUP_POINTS, &p->n, context, &g));
  PetscCall(field_table_add_soa(table, g, "position", "m", FIELD_F64, 3, p->x, BOTH, "position of the particle"));
  PetscCall(field_table_add_soa(table, g, "velocity", "m/s", FIELD_F64, 3, p->v, BOTH | FIELD_RATE, "velocity"));
  PetscCall(field_table_add_soa(table, g, "affine_velocity", "1/s", FIELD_F64, 9, p->C, STATE | FIELD_RATE,
                                "velocity gradient carried by the affine transfer"));
  if (law)
    PetscCall(
        field_table_add_soa(table, g, "deformation_gradient", "1", FIELD_F64, 9, p->F, STATE, "elastic deformation gradient, row-major"));
  PetscCall(field_table_add(table, g, "mass", "kg", FIELD_F64, 1, &p->mass, STATE, "mass"));
  if (law) PetscCall(field_table_add(table, g, "volume", "m^3", FIELD_F64, 1, &p->volume, BOTH, "undeformed volume"));
  PetscCall(field_table_add(table, g, "id", "1", FIELD_I64, 1, &p->id, BOTH, "constant identity"));
  for (int k = 0; law && k < p->n_state; ++k)
    PetscCall(field_table_add(table, g, law->state_name[k], law->state_unit[k], FIELD_F64, 1, &p->state[k], BOTH, law->state_help[k]));
  PetscCall(field_table_add(table, g, "pressure", "Pa", FIELD_F64, 1, &p->pressure, DERIVED, "minus a third of the trace of the stress"));
  if (law) PetscCall(field_table_add(table, g, "shear_stress", "Pa", FIELD_F64, 1, &p->shear, DERIVED, "von Mises stress"));
  PetscCall(field_table_add(table, g, "density", "kg/m^3", FIELD_F64, 1, &p->density, DERIVED, "mass over deformed volume"));
  PetscCall(field_table_add(table, g, "speed", "m/s", FIELD_F64, 1, &p->speed, DERIVED, "magnitude of velocity"));
  *out = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particles_room_for_frames(particles *p)
{
  PetscFunctionBeginUser;
  double **arrays[] = {&p->pressure, &p->density, &p->speed, &p->shear};
  for (int a = 0; a < (p->law ? 4 : 3); ++a) {
    memory_free(arrays[a]);
    PetscCall(memory_alloc("frame fields", p->n, sizeof(double), arrays[a]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- origins --- */

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
