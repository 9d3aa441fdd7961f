/* 6x6 systems per body: inverse tangents for the linear coupling, and Newton's method for the final velocities. */
#include "sim/monolith/monolith_bodies.h"
#include "core/memory.h"
#include <float.h>

enum { SIZE = 6, MOST_ITERATIONS = 40 };

/* o = m^-1 by Gauss-Jordan elimination with column pivoting. false: singular. */
static bool invert(double o[36], const double m[36])
{
  double a[SIZE][2 * SIZE] = {{0.0}};
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < SIZE; ++j) a[i][j] = m[SIZE * i + j], a[i][SIZE + i] = 1.0;
  for (int k = 0; k < SIZE; ++k) {
    int best = k;
    for (int i = k + 1; i < SIZE; ++i)
      if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
    if (!(fabs(a[best][k]) > 0.0)) return false;
    for (int j = 0; j < 2 * SIZE; ++j) {
      const double x = a[k][j];
      a[k][j]        = a[best][j];
      a[best][j]     = x;
    }
    const double pivot = a[k][k];
    for (int j = 0; j < 2 * SIZE; ++j) a[k][j] /= pivot;
    for (int i = 0; i < SIZE; ++i) {
      const double x = a[i][k];
      if (i != k)
        for (int j = 0; j < 2 * SIZE; ++j) a[i][j] -= x * a[k][j];
    }
  }
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < SIZE; ++j) o[SIZE * i + j] = a[i][SIZE + j];
  return true;
}

/* Tangent H of the last residual with tangent, column by column. */
static PetscErrorCode tangent_of(const body *b, double H[36])
{
  PetscFunctionBegin;
  for (int k = 0; k < SIZE; ++k) {
    double e[SIZE] = {0.0}, column[SIZE] = {0.0};
    e[k] = 1.0;
    PetscCall(b->ops->tangent(b, e, column, false));
    for (int i = 0; i < SIZE; ++i) H[SIZE * i + k] = column[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Newton's method for g(v) = impulse down to rounding errors; |g| is measured as kinetic energy. */
static PetscErrorCode solve_body(body *b, const double impulse[SIZE], double v[SIZE], step_status *status)
{
  double mass[SIZE], g[SIZE], H[36], inverse[36], best[SIZE], least = INFINITY, scale = 0.0;
  PetscFunctionBegin;
  PetscCall(b->ops->mass(b, mass));
  for (int iteration = 0; iteration < MOST_ITERATIONS; ++iteration) {
    double norm = 0.0;
    for (int i = 0; i < SIZE; ++i) g[i] = -impulse[i];
    PetscCall(b->ops->residual(b, v, g, true, status));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    for (int i = 0; i < SIZE; ++i) norm += g[i] * g[i] / mass[i];
    for (int i = 0; i < SIZE; ++i) scale = fmax(scale, fmax(mass[i] * v[i] * v[i], impulse[i] * impulse[i] / mass[i]));
    if (norm < least)
      for (int i = 0; i < SIZE; ++i) best[i] = v[i];
    if (!(norm < 0.25 * least) && least <= 1e6 * DBL_EPSILON * DBL_EPSILON * scale)
      break; /* no further decrease, and close to
                                                                                            * rounding */
    least = fmin(least, norm);
    if (norm == 0.0) break;
    PetscCall(tangent_of(b, H));
    if (!invert(inverse, H)) break;
    for (int i = 0; i < SIZE; ++i)
      for (int j = 0; j < SIZE; ++j) v[i] -= inverse[SIZE * i + j] * g[j];
  }
  for (int i = 0; i < SIZE; ++i) v[i] = best[i];
  if (!(least <= 1e-20 * scale)) *status = (step_status){isfinite(least) ? STEP_NOT_CONVERGED : STEP_NOT_FINITE, b->name, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_bodies_destroy(monolith_bodies *b)
{
  MEMORY_FREE(&b->body, &b->v_free, &b->inverse_mass);
  b->n = b->capacity = 0;
}

static PetscErrorCode collect_bodies(monolith_bodies *b, const step_layout *l)
{
  PetscFunctionBegin;
  if (l->n_blocks > 2 * b->capacity) {
    monolith_bodies_destroy(b);
    b->capacity = l->n_blocks / 2;
    PetscCall(
        MEMORY_ALLOC("rigid bodies", ARRAY(b->body, b->capacity), ARRAY(b->v_free, b->capacity), ARRAY(b->inverse_mass, b->capacity)));
  }
  b->n  = 0;
  b->dt = l->dt;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    body *system = l->scene->systems[i];
    if (system->n_blocks == 0) continue;
    SS_ASSERT(system->n_blocks == 2 && system->first_block == 2 * b->n);
    b->body[b->n++] = system;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_bodies_begin(monolith_bodies *b, const step_layout *l, step_status *status)
{
  static const double nothing[SIZE];
  PetscFunctionBegin;
  PetscCall(collect_bodies(b, l));
  for (int64_t r = 0; r < b->n; ++r) {
    body  *one     = b->body[r];
    double g[SIZE] = {0.0}, M[36];
    for (int i = 0; i < SIZE; ++i) b->v_free[r][i] = l->v0[SIZE * r + i];
    PetscCall(solve_body(one, nothing, b->v_free[r], status));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    one->ops->set_definite(one, true);
    PetscCall(one->ops->residual(one, b->v_free[r], g, true, status));
    PetscCall(tangent_of(one, M));
    one->ops->set_definite(one, false);
    PetscCheck(invert(b->inverse_mass[r], M), PETSC_COMM_SELF, PETSC_ERR_PLIB, "body %s: its mass matrix is singular", one->name);
    for (int i = 0; i < SIZE; ++i)
      for (int j = 0; j <= i; ++j) {
        double *lower = &b->inverse_mass[r][SIZE * i + j], *upper = &b->inverse_mass[r][SIZE * j + i];
        *lower = *upper = 0.5 * l->dt * (*lower + *upper);
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_bodies_push(const monolith_bodies *b, double dt, const double (*wrench)[6], double (*v)[6], step_status *status)
{
  PetscFunctionBegin;
  for (int64_t r = 0; r < b->n && status->code == STEP_OK; ++r) {
    double impulse[SIZE];
    for (int i = 0; i < SIZE; ++i) impulse[i] = dt * wrench[r][i];
    PetscCall(solve_body(b->body[r], impulse, v[r], status));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_bodies_relinearize(void *bodies, const double (*wrench)[6])
{
  monolith_bodies *b = bodies;
  PetscFunctionBegin;
  for (int64_t r = 0; r < b->n; ++r) {
    double      impulse[SIZE], moved[SIZE] = {0.0}, v[SIZE];
    step_status status = {STEP_OK, NULL, -1};
    for (int i = 0; i < SIZE; ++i) {
      impulse[i] = b->dt * wrench[r][i];
      for (int j = 0; j < SIZE; ++j) moved[i] += b->inverse_mass[r][SIZE * i + j] * wrench[r][j];
      v[i] = b->v_free[r][i] + moved[i];
    }
    PetscCall(solve_body(b->body[r], impulse, v, &status));
    for (int i = 0; i < SIZE && status.code == STEP_OK; ++i) b->v_free[r][i] = v[i] - moved[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
