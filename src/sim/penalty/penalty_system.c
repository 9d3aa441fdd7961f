/* Equations of formulation penalty, assembled from the systems of a scene and the contacts between them. Scaling of the residual:
 * step_layout.h.
 *
 * Dependent nodes are set from their leaders in every trial velocity, and their equations are added to those of the leaders;
 * their own equations become m z = 0. */
#include "sim/penalty/penalty_system.h"
#include "sim/scene/scene_overlaps.h"
#include "sim/scene/scene_surfaces.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "optim/linear/mat_block3.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/step/solver_options.h"
#include "sim/step/step_unknowns.h"
#include <string.h>

static PetscErrorCode add_rigid_pairs(const scene *s, penalty_contact *c)
{
  body                **bodies;
  int32_t              *frame;
  const triangle_mesh **surface;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("penalty bodies", ARRAY(bodies, s->n_bodies), ARRAY(frame, s->n_bodies), ARRAY(surface, s->n_bodies)));
  PetscCall(scene_obstacle_surfaces(s, surface));
  for (int i = 0; i < s->n_bodies; ++i) bodies[i] = s->bodies[i].body, frame[i] = s->bodies[i].frame;
  const PetscErrorCode code =
      penalty_contact_add_rigid_pairs(c, bodies, frame, s->options->solver->penalty->rigid_detector == PENALTY_DETECTOR_CONVEX, surface);
  MEMORY_FREE(&bodies, &frame, &surface);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_create(scene *s, penalty_system *p)
{
  PetscFunctionBegin;
  memset(p, 0, sizeof *p);
  PetscCall(step_layout_create(s, &p->layout));
  PetscCall(penalty_contact_create(s->n_bodies, s->pairs, s->laws, &p->contact));
  PetscCall(add_rigid_pairs(s, p->contact));
  PetscCall(penalty_contact_add_meshes(p->contact, s->n_meshes, s->meshes));
  const penalty_options *o = s->options->solver->penalty;
  if (penalty_has_edges(s)) PetscCall(penalty_contact_add_edges(p->contact));
  penalty_contact_set_scheme(p->contact, (contact_scheme)o->scheme);
  penalty_contact_set_acceleration(p->contact, s->options->acceleration_scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_system_destroy(penalty_system *p)
{
  penalty_contact_destroy(&p->contact);
  step_layout_destroy(&p->layout);
  memory_free(&p->masked);
}

/* ---- prescribed components ------------------------------------------------------------------------------------------- */

/* Other equations use the prescribed velocities; the prescribed components get their own equations m (v - velocity). */
static void prescribe_residual(const penalty_system *p, double *g)
{
  for (int64_t i = 0; i < p->layout.n_prescribed; ++i) {
    const int64_t k = p->layout.prescribed[i];
    g[k]            = p->layout.scale[k] * (p->layout.v[k] - p->layout.prescribed_velocity[i]);
  }
}

/* Replace row i of the prescribed components in an assembled H by its own equation. */
static void penalty_system_prescribe_row(const penalty_system *p, int64_t i, const block_rows *H)
{
  const int64_t k = p->layout.prescribed[i], row = k / 3, axis = k % 3;
  for (int64_t j = H->row_start[row]; j < H->row_start[row + 1]; ++j)
    for (int64_t c = 0; c < 3; ++c) H->value[9 * j + 3 * axis + c] = H->col[j] == row && c == axis ? p->layout.scale[k] : 0.0;
}

/* ---- dependent nodes --------------------------------------------------------------------------------------------------- */

/* y = R^T y, and m x for the dependent nodes themselves. */
static void fold_followers(const penalty_system *p, const double *x, double *y)
{
  dependent_nodes_fold(&p->layout.dependent, y);
  for (int64_t i = 0; i < p->layout.dependent.n; ++i) {
    const int64_t f = 3 * (int64_t)p->layout.dependent.entry[i].block;
    for (int64_t k = f; k < f + 3; ++k) y[k] = p->layout.scale[k] * x[k];
  }
}

/* ---- equations ------------------------------------------------------------------------------------------------------- */

PetscErrorCode penalty_system_evaluate(penalty_system *p, const double *z, double *g, bool with_tangent)
{
  PetscFunctionBegin;
  p->status      = (step_status){STEP_OK, NULL, -1};
  p->has_tangent = with_tangent;
  PetscCall(step_layout_try(&p->layout, z));
  PetscCall(step_layout_residual(&p->layout, g, with_tangent, &p->status));
  if (p->status.code == STEP_OK)
    PetscCall(penalty_contact_residual(p->contact, p->layout.v, p->layout.frames, g, with_tangent, &p->status));
  fold_followers(p, z, g);
  prescribe_residual(p, g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product(penalty_system *p, const double *x, double *y, bool is_transposed, bool is_single)
{
  PetscFunctionBegin;
  memset(y, 0, (size_t)(3 * p->layout.n_blocks) * sizeof *y);
  const double *from = x;
  if ((p->layout.n_prescribed > 0 && is_transposed) || p->layout.dependent.n > 0) {
    memcpy(p->masked, x, (size_t)(3 * p->layout.n_blocks) * sizeof *x);
    for (int64_t i = 0; i < p->layout.n_prescribed && is_transposed; ++i)
      p->masked[p->layout.prescribed[i]] = 0.0; /* their rows
                                                                                                                     * are
                                                                                                                     * replaced */
    dependent_nodes_expand(&p->layout.dependent, p->masked);
    from = p->masked;
  }
  for (int i = 0; i < p->layout.scene->n_systems; ++i) {
    const body *b = p->layout.scene->systems[i];
    if (is_single && b->ops->tangent_single) PetscCall(b->ops->tangent_single(b, from + 3 * b->first_block, y + 3 * b->first_block));
    else PetscCall(b->ops->tangent(b, from + 3 * b->first_block, y + 3 * b->first_block, is_transposed));
  }
  PetscCall(penalty_contact_tangent(p->contact, from, y, is_transposed));
  fold_followers(p, x, y);
  for (int64_t i = 0; i < p->layout.n_prescribed; ++i) {
    const int64_t k = p->layout.prescribed[i];
    y[k]            = (is_transposed ? y[k] : 0.0) + p->layout.scale[k] * x[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_product(penalty_system *p, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBegin;
  PetscCall(product(p, x, y, is_transposed, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_product_single(penalty_system *p, const double *x, double *y)
{
  PetscFunctionBegin;
  PetscCall(product(p, x, y, false, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void penalty_system_want_single(penalty_system *p)
{
  const scene *s = p->layout.scene;
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->want_single) s->systems[i]->ops->want_single(s->systems[i], true);
}

void penalty_system_set_definite(penalty_system *p, bool is_definite)
{
  const scene *s = p->layout.scene;
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->set_definite) s->systems[i]->ops->set_definite(s->systems[i], is_definite);
}

PetscErrorCode penalty_system_block_diagonal(const penalty_system *p, double *d)
{
  PetscFunctionBegin;
  memset(d, 0, (size_t)(9 * p->layout.n_blocks) * sizeof *d);
  for (int i = 0; i < p->layout.scene->n_systems; ++i) {
    const body *b = p->layout.scene->systems[i];
    PetscCall(b->ops->block_diagonal(b, d + 9 * b->first_block));
  }
  PetscCall(penalty_contact_block_diagonal(p->contact, d));
  dependent_nodes_fold_squares(&p->layout.dependent, 9, d);
  for (int64_t i = 0; i < p->layout.dependent.n; ++i) {
    const int64_t f = p->layout.dependent.entry[i].block;
    for (int k = 0; k < 9; ++k) d[9 * f + k] = k % 4 == 0 ? p->layout.scale[3 * f + k / 4] : 0.0;
  }
  for (int64_t i = 0; i < p->layout.n_prescribed; ++i) {
    const int64_t k   = p->layout.prescribed[i];
    double       *row = d + 9 * (k / 3) + 3 * (k % 3);
    for (int64_t c = 0; c < 3; ++c) row[c] = c == k % 3 ? p->layout.scale[k] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_begin(penalty_system *p)
{
  PetscFunctionBegin;
  step_layout *l = &p->layout;
  const scene *s = l->scene;
  if (l->n_prescribed > 0 || l->dependent.n > 0) {
    memory_free(&p->masked);
    PetscCall(memory_alloc("prescribed components", 3 * l->n_blocks, sizeof *p->masked, &p->masked));
  }
  penalty_contact_set_rests(p->contact, scene_overlaps_rests(s->overlaps));
  PetscCall(penalty_contact_begin_step(p->contact, s->n_sources, s->sources, s->n_objects, s->objects, s->n_frames, l->frames0, l->dt,
                                       step_layout_margin(l), l->n_blocks));
  if (l->n_blocks > 0) memcpy(l->v, l->v0, (size_t)(3 * l->n_blocks) * sizeof *l->v);
  PetscCall(step_layout_update_poses(l)); /* poses of obstacles at the end of the step */
  const rows_step step = {.frames   = l->frames0,
                          .end      = l->frames,
                          .dt       = l->dt,
                          .gravity  = {s->gravity[0], s->gravity[1], s->gravity[2]},
                          .margin   = step_layout_margin(l),
                          .length   = s->length_scale,
                          .n_blocks = l->n_blocks};
  PetscCall(penalty_contact_begin_rigid_pairs(p->contact, &step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_system_end(penalty_system *p, const double *z, step_status *status, contact_summary *out)
{
  PetscFunctionBegin;
  step_layout *l = &p->layout;
  if (l->n_blocks > 0) PetscCall(step_layout_try(l, z));
  PetscCall(penalty_contact_settle(p->contact, l->v, l->frames));
  PetscCall(step_layout_end(l, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(penalty_contact_end_step(p->contact, l->v, l->frames, out));
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== assembled tangent ==== */

static PetscErrorCode has_pattern(Mat P, int64_t n, const int64_t *row_start, const int32_t *col, bool *same)
{
  block3_view view;
  PetscFunctionBegin;
  *same = false;
  if (!P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mat_block3_get(P, &view));
  *same = view.n == n && memcmp(view.row_start, row_start, (size_t)(n + 1) * sizeof *row_start) == 0 &&
          memcmp(view.col, col, (size_t)row_start[n] * sizeof *col) == 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_matrix_lay_out(const penalty_system *p, Mat *P)
{
  const step_layout *l = &p->layout;
  int64_t           *row_start, n_pairs;
  int32_t           *col, *pair_row, *pair_col;
  bool               same;
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(penalty_contact_couplings(p->contact, &n_pairs, &pair_row, &pair_col));
  PetscCall(step_pattern(l, n_pairs, pair_row, pair_col, NULL, &row_start, &col));
  MEMORY_FREE(&pair_row, &pair_col);
  PetscCall(has_pattern(*P, l->n_blocks, row_start, col, &same));
  if (!same) {
    PetscCall(MatDestroy(P));
    PetscCall(mat_block3_create(l->scene->comm, l->n_blocks, row_start, col, NULL, false, P));
  }
  MEMORY_FREE(&row_start, &col);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_matrix_assemble(const penalty_system *p, Mat P)
{
  block3_view view;
  PetscFunctionBegin;
  SS_ASSERT(p->has_tangent);
  timer_begin(TIMER_PRECONDITIONER);
  PetscCall(MatZeroEntries(P));
  PetscCall(mat_block3_get(P, &view));
  const block_rows H = {view.n, view.row_start, view.col, view.value};
  for (int k = 0; k < p->layout.scene->n_systems; ++k)
    PetscCall(p->layout.scene->systems[k]->ops->assemble(p->layout.scene->systems[k], &H));
  PetscCall(penalty_contact_assemble(p->contact, &H));
  for (int64_t i = 0; i < p->layout.n_prescribed; ++i) penalty_system_prescribe_row(p, i, &H);
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}
