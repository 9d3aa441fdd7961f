/* The penalty formulation's equations, put together from the systems of a scene and the contact between them.
 *
 * Residual scaling. With D_i = sqrt(m_i M_b) dt g0 (m_i: lumped mass of the degree of freedom, M_b: mass of its system, g0: a
 * reference acceleration) the norm |D^-1 g| of a system's slice is its mass-weighted root-mean-square acceleration error in
 * units of g0, so the Newton tolerance is a relative force error. For a rigid body this is the note's diag(M) dt g0 (its angular
 * rows measured at the radius of gyration). On a grid diag(M) itself would let the almost empty nodes at a body's edge
 * rule the norm: there internal force over mass grows without bound as the weight goes to zero, over sqrt(mass) it does not.
 *
 * Followers are set from their leaders in every trial velocity, their equations added to their leaders'; their own read m z = 0. */
#include "sim/penalty/penalty_system.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

PetscErrorCode penalty_system_create(scene *s, penalty_system *p)
{
  PetscFunctionBegin;
  memset(p, 0, sizeof *p);
  p->scene = s;
  PetscCall(memory_alloc("frames", s->n_frames, sizeof(rigid_frame), &p->frames0));
  PetscCall(memory_alloc("frames", s->n_frames, sizeof(rigid_frame), &p->frames));
  PetscCall(penalty_contact_create(s->n_bodies, s->laws, &p->contact));
  PetscCall(penalty_contact_add_meshes(p->contact, s->n_meshes, s->meshes));
  if (s->job->contact->edges) PetscCall(penalty_contact_add_edges(p->contact));
  penalty_contact_set_scheme(p->contact, (contact_scheme)s->job->contact->scheme);
  penalty_contact_set_detection(p->contact, (contact_detection)s->job->contact->detection);
  penalty_contact_set_acceleration(p->contact, s->job->acceleration_scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_system_destroy(penalty_system *p)
{
  penalty_contact_destroy(&p->contact);
  followers_free(&p->led);
  void *arrays[] = {&p->prescribed, &p->prescribed_velocity, &p->masked, &p->frames0, &p->frames, &p->v0, &p->v, &p->scale, &p->inverse_scale, &p->column_scale};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

static PetscErrorCode trial_velocity(penalty_system *p, const double *z)
{
  PetscFunctionBegin;
  const int64_t n  = 3 * p->n_blocks;
  const double *v0 = p->v0;
  double       *v  = p->v;
#pragma omp parallel for simd schedule(static) if (n >= 4096)
  for (int64_t i = 0; i < n; ++i) v[i] = v0[i] + z[i];
  followers_expand(&p->led, v);
  PetscCall(scene_frames(p->scene, p->t, p->dt, v, p->frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- prescribed components ------------------------------------------------------------------------------------------- */

static PetscErrorCode reserve_prescribed(penalty_system *p, int64_t n)
{
  PetscFunctionBegin;
  if (n <= p->prescribed_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  p->prescribed_capacity = n + n / 2;
  PetscCall(memory_resize("prescribed components", p->prescribed_capacity, sizeof *p->prescribed, &p->prescribed));
  PetscCall(memory_resize("prescribed velocities", p->prescribed_capacity, sizeof *p->prescribed_velocity, &p->prescribed_velocity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode gather_prescribed(penalty_system *p)
{
  PetscFunctionBegin;
  p->n_prescribed = 0;
  for (int i = 0; i < p->scene->n_systems; ++i) {
    const body    *b = p->scene->systems[i];
    const int64_t *dof;
    const double  *velocity;
    if (!b->ops->prescribed) continue;
    const int64_t n = b->ops->prescribed(b, &dof, &velocity);
    PetscCall(reserve_prescribed(p, p->n_prescribed + n));
    for (int64_t k = 0; k < n; ++k) {
      p->prescribed[p->n_prescribed]            = 3 * b->first_block + dof[k];
      p->prescribed_velocity[p->n_prescribed++] = velocity[k];
    }
  }
  if (p->n_prescribed > 0 || p->led.n > 0) {
    memory_free(&p->masked);
    PetscCall(memory_alloc("prescribed components", 3 * p->n_blocks, sizeof *p->masked, &p->masked));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever pulls at them: the rest of the system sees them move as told, and their own equations say so. */
static void prescribe_residual(const penalty_system *p, double *g)
{
  for (int64_t i = 0; i < p->n_prescribed; ++i) {
    const int64_t k = p->prescribed[i];
    g[k]            = p->scale[k] * (p->v[k] - p->prescribed_velocity[i]);
  }
}

void penalty_system_prescribe_row(const penalty_system *p, int64_t i, const block_rows *H)
{
  const int64_t k = p->prescribed[i], row = k / 3, axis = k % 3;
  for (int64_t j = H->row_start[row]; j < H->row_start[row + 1]; ++j)
    for (int64_t c = 0; c < 3; ++c) H->value[9 * j + 3 * axis + c] = H->col[j] == row && c == axis ? p->scale[k] : 0.0;
}

/* ---- followers --------------------------------------------------------------------------------------------------------- */

/* y = R^T y, and m x for the followers themselves. */
static void fold_followers(const penalty_system *p, const double *x, double *y)
{
  followers_fold(&p->led, y);
  for (int64_t i = 0; i < p->led.n; ++i) {
    const int64_t f = 3 * (int64_t)p->led.entry[i].block;
    for (int64_t k = f; k < f + 3; ++k) y[k] = p->scale[k] * x[k];
  }
}

/* ---- equations ------------------------------------------------------------------------------------------------------- */

PetscErrorCode penalty_system_evaluate(penalty_system *p, const double *z, double *g, bool with_tangent)
{
  PetscFunctionBegin;
  scene *s   = p->scene;
  p->verdict     = (step_verdict){STEP_OK, NULL, -1};
  p->has_tangent = with_tangent;
  PetscCall(trial_velocity(p, z));
  memset(g, 0, (size_t)(3 * p->n_blocks) * sizeof *g);
  for (int i = 0; i < s->n_systems && p->verdict.code == STEP_OK; ++i) {
    body         *b      = s->systems[i];
    const int64_t offset = 3 * b->first_block;
    PetscCall(b->ops->residual(b, p->v + offset, g + offset, with_tangent, &p->verdict));
  }
  if (p->verdict.code == STEP_OK) PetscCall(penalty_contact_residual(p->contact, p->v, p->frames, g, with_tangent, &p->verdict));
  fold_followers(p, z, g);
  prescribe_residual(p, g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_product(const penalty_system *p, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBegin;
  memset(y, 0, (size_t)(3 * p->n_blocks) * sizeof *y);
  const double *from = x;
  if ((p->n_prescribed > 0 && is_transposed) || p->led.n > 0) {
    memcpy(p->masked, x, (size_t)(3 * p->n_blocks) * sizeof *x);
    for (int64_t i = 0; i < p->n_prescribed && is_transposed; ++i) p->masked[p->prescribed[i]] = 0.0; /* their rows weigh nothing */
    followers_expand(&p->led, p->masked);
    from = p->masked;
  }
  for (int i = 0; i < p->scene->n_systems; ++i) {
    const body *b = p->scene->systems[i];
    PetscCall(b->ops->tangent(b, from + 3 * b->first_block, y + 3 * b->first_block, is_transposed));
  }
  PetscCall(penalty_contact_tangent(p->contact, from, y, is_transposed));
  fold_followers(p, x, y);
  for (int64_t i = 0; i < p->n_prescribed; ++i) {
    const int64_t k = p->prescribed[i];
    y[k]            = (is_transposed ? y[k] : 0.0) + p->scale[k] * x[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_block_diagonal(const penalty_system *p, double *d)
{
  PetscFunctionBegin;
  memset(d, 0, (size_t)(9 * p->n_blocks) * sizeof *d);
  for (int i = 0; i < p->scene->n_systems; ++i) {
    const body *b = p->scene->systems[i];
    PetscCall(b->ops->block_diagonal(b, d + 9 * b->first_block));
  }
  PetscCall(penalty_contact_block_diagonal(p->contact, d));
  followers_fold_squares(&p->led, 9, d);
  for (int64_t i = 0; i < p->led.n; ++i) {
    const int64_t f = p->led.entry[i].block;
    for (int k = 0; k < 9; ++k) d[9 * f + k] = k % 4 == 0 ? p->scale[3 * f + k / 4] : 0.0;
  }
  for (int64_t i = 0; i < p->n_prescribed; ++i) {
    const int64_t k   = p->prescribed[i];
    double       *row = d + 9 * (k / 3) + 3 * (k % 3);
    for (int64_t c = 0; c < 3; ++c) row[c] = c == k % 3 ? p->scale[k] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lay out the global vector, gather v0 and the scaling. */
static PetscErrorCode begin_systems(penalty_system *p, step_verdict *verdict)
{
  PetscFunctionBegin;
  scene  *s = p->scene;
  int64_t n = 0;
  for (int i = 0; i < s->n_systems; ++i) {
    body *b        = s->systems[i];
    b->first_block = n;
    PetscCall(b->ops->begin_step(b, p->t, p->dt, &b->n_blocks, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    n += b->n_blocks;
  }
  p->n_blocks = n;
  if (n > p->capacity) {
    p->capacity = n + n / 8;
    double **arrays[] = {&p->v0, &p->v, &p->scale, &p->inverse_scale, &p->column_scale};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
      memory_free(arrays[k]);
      PetscCall(memory_alloc("global vectors", 3 * p->capacity, sizeof(double), arrays[k]));
    }
  }
  PetscCall(followers_gather(&p->led, s->n_systems, s->systems));
  const double g0 = s->job->acceleration_scale;
  for (int i = 0; i < s->n_systems; ++i) {
    const body   *b      = s->systems[i];
    const int64_t offset = 3 * b->first_block, m = 3 * b->n_blocks;
    body_totals   totals;
    PetscCall(b->ops->velocity(b, p->v0 + offset));
    PetscCall(b->ops->mass(b, p->scale + offset));
    PetscCall(b->ops->totals(b, s->gravity, &totals));
    for (int64_t k = offset; k < offset + m; ++k) {
      p->inverse_scale[k] = 1.0 / (sqrt(p->scale[k] * totals.mass) * p->dt * g0);
      p->column_scale[k]  = sqrt(totals.mass / p->scale[k]) * p->dt * g0; /* makes D^-1 H C = I + dt^2 M^-1/2 K M^-1/2 */
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fastest point of something that turns [m/s]; what has no points counts by its origin. */
static double rigid_speed(const contact_source *source, const rigid_frame *frame)
{
  const body *b     = source->b;
  double      reach = 0.0;
  for (int64_t i = 0, n = b->ops->n_clusters(b); i < n; ++i) {
    double  center[3], radius, arm[3];
    int64_t first, end;
    b->ops->cluster(b, i, center, &radius, &first, &end);
    v3_sub(arm, center, frame->c);
    reach = fmax(reach, v3_norm(arm) + radius);
  }
  return v3_norm(frame->v) + v3_norm(frame->w) * reach;
}

/* How far a point may come towards an object within the step: twice what the fastest thing moves now, what gravity adds, and a
 * little for what neighbours push. A point that still gets past is found at the start of the next step, being inside by then. */
static double search_margin(const penalty_system *p)
{
  const scene *s     = p->scene;
  double       speed = 0.0;
  for (int i = 0; i < s->n_systems; ++i) {
    const body *b = s->systems[i];
    if (b->ops->points == POINT_RIGID) continue; /* half of its unknowns are angular */
    for (int64_t k = b->first_block; k < b->first_block + b->n_blocks; ++k) speed = fmax(speed, v3_norm(p->v0 + 3 * k));
  }
  for (int i = 0; i < s->n_frames; ++i) speed = fmax(speed, v3_norm(p->frames0[i].v));
  for (int i = 0; i < s->n_sources; ++i)
    if (s->sources[i].b->ops->points == POINT_RIGID) speed = fmax(speed, rigid_speed(&s->sources[i], &p->frames0[s->sources[i].frame]));
  return fmin(2.0 * p->dt * (speed + p->dt * v3_norm(s->gravity)), 4.0 * s->length_scale) + 0.1 * s->length_scale;
}

/* The velocities at the end of the step, were there neither contact nor anything else but gravity. */
static void fall(const penalty_system *p, double *z)
{
  const scene *s = p->scene;
  memset(z, 0, (size_t)(3 * p->n_blocks) * sizeof *z);
  for (int i = 0; i < s->n_systems; ++i) {
    const body   *b = s->systems[i];
    const int64_t n = b->ops->points == POINT_RIGID ? 1 : b->n_blocks; /* the other block of a rigid body turns it */
    for (int64_t k = b->first_block; k < b->first_block + n; ++k) v3_axpy(z + 3 * k, p->dt, s->gravity);
  }
  for (int64_t i = 0; i < p->n_prescribed; ++i) z[p->prescribed[i]] = p->prescribed_velocity[i] - p->v0[p->prescribed[i]];
}

static PetscErrorCode expect_contacts(penalty_system *p)
{
  double *z;
  PetscFunctionBegin;
  PetscCall(memory_alloc("velocities without contact", 3 * p->n_blocks, sizeof *z, &z));
  fall(p, z);
  PetscCall(trial_velocity(p, z));
  PetscCall(penalty_contact_expect(p->contact, p->v, p->frames));
  memory_free(&z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_begin(penalty_system *p, double t, double dt, step_verdict *verdict)
{
  PetscFunctionBegin;
  scene *s = p->scene;
  p->t = t, p->dt = dt;
  PetscCall(begin_systems(p, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(gather_prescribed(p));
  PetscCall(scene_frames(s, t, dt, NULL, p->frames0));
  PetscCall(penalty_contact_begin_step(p->contact, s->n_sources, s->sources, s->n_objects, s->objects, s->n_frames, p->frames0, dt,
                                       search_margin(p), p->n_blocks));
  if (s->job->contact->detection == CONTACT_DETECT_STEP) PetscCall(expect_contacts(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_end(penalty_system *p, const double *z, step_verdict *verdict, contact_summary *out)
{
  PetscFunctionBegin;
  scene *s = p->scene;
  if (p->n_blocks > 0) PetscCall(trial_velocity(p, z));
  PetscCall(penalty_contact_settle(p->contact, p->v, p->frames));
  /* The grid comes first in the list and alone may refuse (CFL), before anything has changed. */
  for (int i = 0; i < s->n_systems; ++i) {
    body *b = s->systems[i];
    PetscCall(b->ops->end_step(b, p->v + 3 * b->first_block, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(penalty_contact_end_step(p->contact, p->v, p->frames, out));
  PetscCall(scene_set_time(s, p->t + p->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}
