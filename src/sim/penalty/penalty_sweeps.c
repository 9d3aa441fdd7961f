#include "sim/penalty/penalty_sweeps.h"
#include "core/math3.h"
#include "core/memory.h"
#include "optim/friction/body_sweeps.h"
#include "sim/step/step_creep.h"
#include "sim/step/step_stages.h"
#include "sim/step/step_unknowns.h"
#include <math.h>
#include <string.h>

/* Bodies without sweeps: Newton's method alone is faster. A disc with 127 contact points takes 0.5 ms instead of 80 ms. */
enum { FEW_BODIES = 8 };
/* Most sweeps per body along the edge of a cube of as many bodies, then Newton's method continues. A pile of 1,000 balls needs 15 to 40, in
 * single steps more than 100. */
static const double SWEEPS = 200.0;
/* Largest error of an impulse, relative to the one that alone would have a residual of the tolerance. The errors of a pile of 1,000 balls add up to four times
 * the largest one. */
static const double SHARE = 0.1;

/* Bodies at rest need no sweeps: the residual norm of the start is below QUIET (1: the acceleration of one body), or its root mean square over the bodies is
 * below BALANCED, and they have moved, but no contact that is closed at the end of the step moves faster than RESTS times the speed that gravity adds in the
 * step. Newton's method from the start then needs few iterations, and its solutions are more accurate. With sweeps a wall of 36 bricks would not come to rest,
 * because errors of the tolerance are different in every step. BALANCED: with 0.3 it does not either; with 1.0 three steps of 1,000 falling cubes take 2 s. */
static const double QUIET = 0.1, BALANCED = 0.8, RESTS = 0.05;

typedef struct {
  penalty_system         *p;
  const penalty_rows     *springs;
  const contact_jacobian *rows; /* borrowed from springs */
  int64_t                 n, n_full;
  step_unknowns           unknowns;
  sparse_rows             M, H;
  delassus               *W;
  int32_t                *bodies;
  double                 *full;   /* [n_full] */
  double                 *y, *dy; /* [unknowns.n] */
  double                 *q, *u, *r, *compliance, *entry, *mu, *limit;
} sweeps_work;

static void work_destroy(sweeps_work *w)
{
  delassus_destroy(&w->W);
  sparse_rows_destroy(&w->M), sparse_rows_destroy(&w->H);
  step_unknowns_destroy(&w->unknowns);
  MEMORY_FREE(&w->bodies, &w->full, &w->y, &w->dy, &w->q, &w->u, &w->r, &w->compliance, &w->entry, &w->mu, &w->limit);
}

/* The matrices of the step, linearised at its start, with the positive definite tangents of the bodies; full: their residual. */
static PetscErrorCode linearise(sweeps_work *w, const double *zeros)
{
  step_layout *l = &w->p->layout;
  PetscFunctionBegin;
  w->p->has_tangent = false;
  PetscCall(step_layout_try(l, zeros));
  penalty_system_set_definite(w->p, true);
  PetscErrorCode code = step_layout_residual(l, w->full, true, &w->p->status);
  if (!code) code = step_unknowns_create(l, &w->unknowns);
  if (!code) code = step_unknowns_mass(&w->unknowns, l, NULL, &w->M);
  penalty_system_set_definite(w->p, false);
  PetscCall(code);
  PetscCall(step_unknowns_jacobian(&w->unknowns, w->rows, &w->H));
  PetscCall(delassus_create_system(&w->M, &w->H, &w->W));
  PetscCall(step_creep_bodies(&w->unknowns, l, &w->bodies));
  delassus_set_bodies(w->W, w->bodies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y: the velocities without contact; q: the relative velocities, to which the springs at the start are added. */
static PetscErrorCode move_freely(sweeps_work *w)
{
  const step_layout *l = &w->p->layout;
  PetscFunctionBegin;
  step_unknowns_fold(&w->unknowns, w->full, w->dy);
  PetscCall(delassus_solve(w->W, w->dy, w->dy));
  step_unknowns_select(&w->unknowns, l->v0, w->y);
  for (int64_t i = 0; i < w->unknowns.n; ++i) w->y[i] -= w->dy[i];
  step_unknowns_expand(&w->unknowns, w->y, w->full);
  contact_jacobian_velocity(w->rows, w->full, w->u);
  for (int64_t i = 0; i < 3 * w->n; ++i) w->q[i] += w->u[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Accepted error of the relative velocity of contact a. Divided by the compliance it is an error of the impulse, and E^T times this, an error of the
 * equations. */
static double speed_limit(const sweeps_work *w, int64_t a, double tolerance)
{
  double most = 0.0;
  for (int64_t e = w->rows->start[a]; e < w->rows->start[a + 1]; ++e) {
    const double *E = w->rows->value + 9 * e, *d = w->p->layout.inverse_scale + 3 * (int64_t)w->rows->block[e];
    for (int k = 0; k < 3; ++k) most = fmax(most, d[k] * sqrt(E[k] * E[k] + E[3 + k] * E[3 + k] + E[6 + k] * E[6 + k]));
  }
  return SHARE * tolerance * w->compliance[2 * a] / most;
}

/* r: the impulses; y: the velocities with them. */
static PetscErrorCode sweep(sweeps_work *w, int64_t *n_sweeps)
{
  const step_layout     *l       = &w->p->layout;
  const friction_problem problem = {.W           = w->W,
                                    .n           = w->n,
                                    .q           = w->q,
                                    .mu          = w->mu,
                                    .speed_limit = w->limit,
                                    .compliance  = w->compliance,
                                    .entry       = w->entry,
                                    .load_speed  = l->acceleration_scale * l->dt};
  const friction_options options = {
      .error = FRICTION_ERROR_SPEED, .tolerance = 1.0, .max_iterations = (int64_t)(SWEEPS * cbrt((double)l->scene->n_systems))};
  friction_result result = {0};
  PetscFunctionBegin;
  PetscCall(body_sweeps_solve(&problem, &options, w->r, w->u, &result));
  *n_sweeps = result.iterations;
  memset(w->dy, 0, (size_t)w->unknowns.n * sizeof *w->dy);
  for (int64_t i = 0; i < 3 * w->n; ++i)
    for (int64_t k = w->H.start[i]; k < w->H.start[i + 1]; ++k) w->dy[w->H.col[k]] += w->H.value[k] * w->r[i];
  PetscCall(delassus_solve(w->W, w->dy, w->dy));
  for (int64_t i = 0; i < w->unknowns.n; ++i) w->y[i] += w->dy[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode residual_norm(sweeps_work *w, const double *z, penalty_sweeps_result *out, double *norm)
{
  double sum = 0.0;
  PetscFunctionBegin;
  ++out->n_evaluations;
  PetscCall(penalty_system_evaluate(w->p, z, w->full, false));
  for (int64_t i = 0; i < w->n_full; ++i) sum += pow(w->full[i] * w->p->layout.inverse_scale[i], 2);
  *norm = w->p->status.code == STEP_OK ? sqrt(sum) : INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_at_rest(sweeps_work *w, double norm)
{
  const step_layout *l    = &w->p->layout;
  double             most = 0.0;
  contact_jacobian_velocity(w->rows, l->v0, w->u);
  for (int64_t a = 0; a < w->n; ++a)
    if (w->q[3 * a] + w->u[3 * a] < 0.0) most = fmax(most, v3_norm(w->u + 3 * a));
  return norm <= BALANCED * sqrt((double)l->scene->n_systems) && most > 0.0 && most <= RESTS * l->acceleration_scale * l->dt;
}

/* Bodies at rest: zero velocity is the guess, if its residual is smaller than that of the velocity of the last step. */
static PetscErrorCode guess_rest(sweeps_work *w, double *z, penalty_sweeps_result *out)
{
  double norm;
  PetscFunctionBegin;
  for (int64_t i = 0; i < w->n_full; ++i) z[i] = -w->p->layout.v0[i];
  PetscCall(residual_norm(w, z, out, &norm));
  if (norm < out->norm) out->norm = norm;
  else memset(z, 0, (size_t)w->n_full * sizeof *z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_guess(sweeps_work *w, double tolerance, double *z, penalty_sweeps_result *out)
{
  double at_start;
  PetscFunctionBegin;
  PetscCall(memory_alloc("initial guess", w->n_full, sizeof *w->full, &w->full));
  PetscCall(residual_norm(w, z, out, &at_start));
  out->norm = at_start;
  if (at_start <= QUIET) {
    PetscCall(guess_rest(w, z, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MEMORY_ALLOC("initial guess", ARRAY(w->q, 3 * w->n), ARRAY(w->u, 3 * w->n), ARRAY(w->r, 3 * w->n),
                         ARRAY(w->compliance, 2 * w->n), ARRAY(w->entry, w->n), ARRAY(w->mu, w->n), ARRAY(w->limit, w->n)));
  w->rows = penalty_rows_coulomb(w->springs, w->q, w->compliance, w->entry, w->mu, w->r);
  if (is_at_rest(w, at_start)) {
    PetscCall(guess_rest(w, z, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(linearise(w, z));
  if (w->p->status.code != STEP_OK || !body_sweeps_apply(w->W)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_ALLOC("initial guess", ARRAY(w->y, w->unknowns.n), ARRAY(w->dy, w->unknowns.n)));
  PetscCall(move_freely(w));
  for (int64_t a = 0; a < w->n; ++a) w->limit[a] = speed_limit(w, a, tolerance);
  PetscCall(sweep(w, &out->n_sweeps));
  out->n_contacts = w->n;
  step_unknowns_expand(&w->unknowns, w->y, z);
  for (int64_t i = 0; i < w->n_full; ++i) z[i] -= w->p->layout.v0[i];
  PetscCall(residual_norm(w, z, out, &out->norm));
  if (out->norm < at_start) PetscFunctionReturn(PETSC_SUCCESS);
  memset(z, 0, (size_t)w->n_full * sizeof *z);
  out->norm = at_start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode penalty_sweeps_guess(penalty_system *p, double tolerance, double *z, penalty_sweeps_result *out)
{
  sweeps_work w = {.p = p, .springs = penalty_contact_springs_alone(p->contact), .n_full = 3 * p->layout.n_blocks};
  PetscFunctionBegin;
  *out = (penalty_sweeps_result){.norm = INFINITY};
  if (!w.springs || p->layout.scene->n_systems <= FEW_BODIES || !step_creep_is_rigid(p->layout.scene)) PetscFunctionReturn(PETSC_SUCCESS);
  w.n = penalty_rows_size(w.springs);
  timer_begin(TIMER_FRICTION);
  PetscErrorCode code = find_guess(&w, tolerance, z, out);
  work_destroy(&w);
  timer_end(TIMER_FRICTION);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
