/* Numbering of blocks, prescribed components (merged lists, ascending), scaling, and the end of a step. */
#include "sim/step/step_layout.h"
#include "contact/detection/contact_search.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include <stdio.h>
#include <string.h>

PetscErrorCode step_layout_create(scene *s, step_layout *l)
{
  PetscFunctionBegin;
  memset(l, 0, sizeof *l);
  l->scene              = s;
  l->acceleration_scale = s->options->acceleration_scale;
  PetscCall(MEMORY_ALLOC("frames", ARRAY(l->frames0, s->n_frames), ARRAY(l->frames, s->n_frames)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_layout_destroy(step_layout *l)
{
  dependent_nodes_free(&l->dependent);
  MEMORY_FREE(&l->prescribed, &l->prescribed_velocity, &l->frames0, &l->frames, &l->v0, &l->v, &l->scale, &l->inverse_scale,
              &l->column_scale);
}

PetscErrorCode step_layout_try(step_layout *l, const double *z)
{
  PetscFunctionBegin;
  const int64_t n  = 3 * l->n_blocks;
  const double *v0 = l->v0;
  double       *v  = l->v;
#pragma omp parallel for simd schedule(static) if (n >= 4096)
  for (int64_t i = 0; i < n; ++i) v[i] = v0[i] + z[i];
  PetscCall(step_layout_update_poses(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_layout_update_poses(step_layout *l)
{
  PetscFunctionBegin;
  dependent_nodes_expand(&l->dependent, l->v);
  PetscCall(scene_frames(l->scene, l->t, l->dt, l->v, l->frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done with each system. */
typedef PetscErrorCode (*system_function)(step_layout *l, body *b, void *context, step_status *status);

/* Call f for each system until one fails; many rigid bodies by all threads, where the first failure in the order of the systems counts. */
static PetscErrorCode for_systems(step_layout *l, system_function f, void *context, step_status *status)
{
  const scene   *s     = l->scene;
  int            first = s->n_systems;
  PetscErrorCode code  = PETSC_SUCCESS;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_systems && !s->has_many_rigid && status->code == STEP_OK; ++i) PetscCall(f(l, s->systems[i], context, status));
  if (!s->has_many_rigid) PetscFunctionReturn(PETSC_SUCCESS);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < s->n_systems; ++i) {
    step_status          own      = {.code = STEP_OK};
    const PetscErrorCode own_code = f(l, s->systems[i], context, &own);
    if (own_code || own.code != STEP_OK) {
#pragma omp critical
      if (i < first) first = i, code = own_code, *status = own;
    }
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double *g;
  bool    with_tangent;
} residual_request;

static PetscErrorCode add_residual(step_layout *l, body *b, void *context, step_status *status)
{
  const residual_request *r      = context;
  const int64_t           offset = 3 * b->first_block;
  return b->n_blocks > 0 ? b->ops->residual(b, l->v + offset, r->g + offset, r->with_tangent, status) : PETSC_SUCCESS;
}

PetscErrorCode step_layout_residual(step_layout *l, double *g, bool with_tangent, step_status *status)
{
  residual_request r = {g, with_tangent};
  PetscFunctionBegin;
  memset(g, 0, (size_t)(3 * l->n_blocks) * sizeof *g);
  if (status->code == STEP_OK) PetscCall(for_systems(l, add_residual, &r, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbering and prescribed components ----------------------------------------------------------------------------- */

static PetscErrorCode reserve_prescribed(step_layout *l, int64_t total)
{
  PetscFunctionBegin;
  PetscCall(
      MEMORY_RESERVE("prescribed components", total, &l->prescribed_capacity, ARRAY(l->prescribed, 1), ARRAY(l->prescribed_velocity, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode gather_prescribed(step_layout *l)
{
  PetscFunctionBegin;
  l->n_prescribed = 0;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body    *b = l->scene->systems[i];
    const int64_t *dof;
    const double  *velocity;
    if (!b->ops->prescribed) continue;
    const int64_t n = b->ops->prescribed(b, &dof, &velocity);
    PetscCall(reserve_prescribed(l, l->n_prescribed + n));
    for (int64_t k = 0; k < n; ++k) {
      l->prescribed[l->n_prescribed]            = 3 * b->first_block + dof[k];
      l->prescribed_velocity[l->n_prescribed++] = velocity[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_layout_prescribe(step_layout *l, int64_t n, const int64_t *dof, const double *velocity)
{
  int64_t own = l->n_prescribed - 1, more = n - 1, n_new = 0;
  PetscFunctionBegin;
  PetscCall(reserve_prescribed(l, l->n_prescribed + n));
  for (int64_t i = 0, j = 0; j < n; ++j) {
    while (i < l->n_prescribed && l->prescribed[i] < dof[j]) ++i;
    n_new += i == l->n_prescribed || l->prescribed[i] != dof[j];
  }
  l->n_prescribed += n_new;
  for (int64_t at = l->n_prescribed - 1; more >= 0; --at) { /* merged from the end, in place */
    if (own >= 0 && l->prescribed[own] == dof[more]) --more;
    if (own >= 0 && (more < 0 || l->prescribed[own] > dof[more])) {
      l->prescribed[at]          = l->prescribed[own];
      l->prescribed_velocity[at] = l->prescribed_velocity[own--];
    } else l->prescribed[at] = dof[more], l->prescribed_velocity[at] = velocity[more], --more;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_layout_release(step_layout *l)
{
  PetscFunctionBegin;
  PetscCall(gather_prescribed(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode begin_system(step_layout *l, body *b, void *context, step_status *status)
{
  (void)context;
  return b->ops->begin_step(b, l->t, l->dt, &b->n_blocks, status);
}

/* Velocities at the start and scaling of one system. */
static PetscErrorCode scale_system(step_layout *l, body *b, void *context, step_status *status)
{
  const double  g0     = l->acceleration_scale;
  const int64_t offset = 3 * b->first_block, m = 3 * b->n_blocks;
  body_totals   totals;
  PetscFunctionBegin;
  (void)context, (void)status;
  if (m == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(b->ops->velocity(b, l->v0 + offset));
  PetscCall(b->ops->mass(b, l->scale + offset));
  PetscCall(b->ops->totals(b, l->scene->gravity, &totals));
  for (int64_t k = offset; k < offset + m; ++k) {
    l->inverse_scale[k] = 1.0 / (sqrt(l->scale[k] * totals.mass) * l->dt * g0);
    l->column_scale[k]  = sqrt(totals.mass / l->scale[k]) * l->dt * g0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode begin_systems(step_layout *l, step_status *status)
{
  PetscFunctionBegin;
  scene  *s = l->scene;
  int64_t n = 0;
  if (s->has_many_rigid) PetscCall(for_systems(l, begin_system, NULL, status));
  for (int i = 0; i < s->n_systems && status->code == STEP_OK; ++i) {
    body *b        = s->systems[i];
    b->first_block = n; /* particle bodies copy it in begin_step */
    if (!s->has_many_rigid) PetscCall(begin_system(l, b, NULL, status));
    n += b->n_blocks;
  }
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  l->n_blocks = n;
  if (n > l->capacity) {
    l->capacity       = n + n / 8;
    double **arrays[] = {&l->v0, &l->v, &l->scale, &l->inverse_scale, &l->column_scale};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
      memory_free(arrays[k]);
      PetscCall(memory_alloc("global vectors", 3 * l->capacity, sizeof(double), arrays[k]));
    }
  }
  PetscCall(dependent_nodes_gather(&l->dependent, s->n_systems, s->systems));
  PetscCall(for_systems(l, scale_system, NULL, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_finite_frame(const rigid_frame *f)
{
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) sum += fabs(f->c[k]) + fabs(f->v[k]) + fabs(f->w[k]);
  for (int k = 0; k < 9; ++k) sum += fabs(f->R[k]);
  return isfinite(sum);
}

/* Poses and velocities of bodies with a prescribed motion at both ends of the step: an expression may have overflowed. */
static void check_prescribed_poses(const step_layout *l, step_status *status)
{
  const double none[3] = {0}; /* selects the end of the step */
  for (int i = 0; i < l->scene->n_bodies && status->code == STEP_OK; ++i) {
    const scene_body *b = &l->scene->bodies[i];
    rigid_frame       end;
    if (b->frame < 0 || body_system(b->body)) continue;
    b->body->ops->frame(b->body, l->t, l->dt, none, &end);
    if (!is_finite_frame(&l->frames0[b->frame]) || !is_finite_frame(&end)) *status = (step_status){STEP_BAD_EXPRESSION, b->name, -1};
  }
}

PetscErrorCode step_layout_begin(step_layout *l, double t, double dt, step_status *status)
{
  PetscFunctionBegin;
  l->t = t, l->dt = dt;
  PetscCall(begin_systems(l, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(gather_prescribed(l));
  PetscCall(scene_frames(l->scene, t, dt, NULL, l->frames0));
  check_prescribed_poses(l, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- search distance and free fall ----------------------------------------------------------------------------------- */

/* Upper bound of the speed of the points of a rotating body [m/s]; a body without points counts by its origin. */
static double rigid_speed(const contact_source *source, const rigid_frame *frame)
{
  return v3_norm(frame->v) + v3_norm(frame->w) * contact_search_reach(source->b, frame->c);
}

double step_layout_margin(const step_layout *l)
{
  const scene *s     = l->scene;
  double       speed = 0.0;
  for (int i = 0; i < s->n_systems; ++i) {
    const body *b = s->systems[i];
    if (b->ops->points == POINT_RIGID || b->ops->is_reduced)
      continue; /* half of its unknowns are angular velocities, or all are
                                                                        * joint velocities */
    for (int64_t k = b->first_block; k < b->first_block + b->n_blocks; ++k) speed = fmax(speed, v3_norm(l->v0 + 3 * k));
  }
  for (int i = 0; i < s->n_frames; ++i) speed = fmax(speed, v3_norm(l->frames0[i].v));
  for (int i = 0; i < s->n_sources; ++i)
    if (s->sources[i].b->ops->points == POINT_RIGID) speed = fmax(speed, rigid_speed(&s->sources[i], &l->frames0[s->sources[i].frame]));
  return fmin(2.0 * l->dt * (speed + l->dt * v3_norm(s->gravity)), 4.0 * s->length_scale) + 0.1 * s->length_scale;
}

/* ---- end of the step ------------------------------------------------------------------------------------------------- */

/* Velocities are finite, and so is their kinetic energy (with lumped masses). */
static void check_final_velocities(const step_layout *l, step_status *status)
{
  for (int i = 0; i < l->scene->n_systems; ++i) {
    const body *b   = l->scene->systems[i];
    double      sum = 0.0;
    for (int64_t k = 3 * b->first_block; k < 3 * (b->first_block + b->n_blocks); ++k) sum += l->scale[k] * l->v[k] * l->v[k];
    if (isfinite(sum)) continue;
    *status = (step_status){STEP_NOT_FINITE, b->name, -1};
    return;
  }
}

static PetscErrorCode end_system(step_layout *l, body *b, void *context, step_status *status)
{
  (void)context;
  return b->ops->end_step(b, l->v + 3 * b->first_block, status);
}

PetscErrorCode step_layout_end(step_layout *l, step_status *status)
{
  PetscFunctionBegin;
  check_final_velocities(l, status);
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* The grid is first in the list. Only the grid may reject the step (CFL), before any body has changed. */
  PetscCall(for_systems(l, end_system, NULL, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *step_layout_largest_residual(const step_layout *l, const double *g)
{
  int64_t at = -1, known = 0;
  double  most = 0.0;
  for (int64_t i = 0; i < 3 * l->n_blocks; ++i) {
    if (known < l->n_prescribed && l->prescribed[known] == i) {
      ++known;
      continue;
    }
    const double left = fabs(g[i] * l->inverse_scale[i]);
    if (left > most) most = left, at = i;
  }
  for (int s = 0; s < l->scene->n_systems && at >= 0; ++s) {
    const body   *b     = l->scene->systems[s];
    const int64_t first = 3 * b->first_block;
    if (at >= first && at < first + 3 * b->n_blocks) return b->ops->name_of ? b->ops->name_of(b, at - first) : b->name;
  }
  return NULL;
}
