/* Poses and predicted velocities of bodies for the contact detectors, see contact_scene.h. */
#include "contact/detection/contact_scene.h"
#include "core/math3.h"
#include "core/memory.h"

int64_t contact_rests_find(const contact_rests *r, int32_t a, int32_t b)
{
  const int32_t low = a < b ? a : b, high = a < b ? b : a;
  int64_t       lo = 0, hi = r ? r->n : 0;
  while (lo < hi) {
    const int64_t  mid = lo + (hi - lo) / 2;
    const int32_t *p   = r->pair + 2 * mid;
    if (p[0] < low || (p[0] == low && p[1] < high)) lo = mid + 1;
    else hi = mid;
  }
  return r && lo < r->n && r->pair[2 * lo] == low && r->pair[2 * lo + 1] == high ? lo : -1;
}

PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t i, double **v)
{
  const body *system = body_system(s->body[i]);
  PetscFunctionBegin;
  *v = NULL;
  if (!system || !system->ops->velocity) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("velocities", 3 * system->n_blocks, sizeof **v, v));
  const PetscErrorCode code = system->ops->velocity(system, *v);
  if (code) memory_free(v);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t i, rigid_frame *out)
{
  body *const b = s->body[i];
  PetscFunctionBegin;
  *out                     = s->end[s->frame[i]];
  const body *const system = body_system(b);
  if (system && s->v) b->ops->frame(b, 0.0, s->dt, s->v + 3 * system->first_block, out);
  else if (system) {
    double *v;
    PetscCall(contact_scene_velocities(s, i, &v));
    b->ops->frame(b, 0.0, s->dt, v, out); /* a body with unknowns does not use the time */
    memory_free(&v);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

double contact_scene_motion(const contact_scene *s, int32_t i, double reach, double d[3])
{
  v3_set(d, 0.0, 0.0, 0.0);
  if (s->frame[i] < 0) return 0.0;
  const rigid_frame *f = &s->frames[s->frame[i]];
  double             turn;
  if (contact_scene_moves(s, i)) {
    v3_axpy(d, s->dt, f->v);
    v3_axpy(d, s->dt * s->dt, s->gravity);
    turn = s->dt * v3_norm(f->w);
  } else {
    const rigid_frame *end = &s->end[s->frame[i]];
    double             sum = 0.0;
    v3_sub(d, end->c, f->c);
    for (int k = 0; k < 9; ++k) sum += (end->R[k] - f->R[k]) * (end->R[k] - f->R[k]);
    turn = sqrt(sum);
  }
  return turn > 0.0 ? turn * reach : 0.0;
}

void contact_scene_point_end(const contact_scene *s, int32_t i, int64_t k, const double x0[3], const double *v, const rigid_frame *end,
                             double x1[3])
{
  const body *b = s->body[i];
  double      weight[POINT_MAX_WEIGHTS], X[3];
  int32_t     block[POINT_MAX_WEIGHTS];
  if (s->frame[i] >= 0 && end) {
    rigid_frame_to_local(&s->frames[s->frame[i]], x0, X);
    rigid_frame_to_world(end, X, x1);
    return;
  }
  v3_copy(x1, x0);
  const int n = v ? b->ops->point_row(b, k, block, weight) : 0;
  if (n == 0) return;
  const int64_t shift = b->first_block - body_system(s->body[i])->first_block;
  for (int e = 0; e < n; ++e) v3_axpy(x1, s->dt * weight[e], v + 3 * (block[e] + shift));
  v3_axpy(x1, s->dt * s->dt, s->gravity);
}
