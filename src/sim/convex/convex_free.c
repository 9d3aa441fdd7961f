#include "sim/convex/convex_free.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include <string.h>

/* A residual that one linear solve has brought down to this part was linear; its tangent is the same everywhere. */
static const double LINEAR = 1e-9;
/* What a full step leaves is the change of the tangent along it, times it: where all is solved and no more than this part is left,
 * the tangent is known well enough. Contact's own step leads farther. */
static const double KNOWN  = 1e-4;
static const double OFF    = 0.5; /* a way ends where the slope of work has come down to this part of that at its start */
enum { TRIALS = 20 };

void convex_motion_destroy(convex_motion *m)
{
  sparse_rows_destroy(&m->A);
  mass_factor_destroy(&m->factor);
  void *arrays[] = {&m->v, &m->dv, &m->g, &m->full, &m->right};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

PetscErrorCode convex_motion_create(const step_layout *l, const step_unknowns *u, convex_motion *m)
{
  double **arrays[] = {&m->v, &m->dv, &m->g, &m->right};
  PetscFunctionBegin;
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("velocities", u->n, sizeof(double), arrays[k]));
  PetscCall(memory_alloc("velocities", u->n_full, sizeof *m->full, &m->full));
  step_unknowns_pick(u, l->v0, m->v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double convex_motion_norm(const step_layout *l, const step_unknowns *u, const double *x)
{
  double sum = 0.0;
  for (int64_t i = 0; i < u->n; ++i) {
    const double y = x[i] * l->inverse_scale[u->is_all ? i : u->own[i]];
    sum += y * y;
  }
  return sqrt(sum);
}

PetscErrorCode convex_motion_evaluate(convex_motion *m, step_layout *l, const step_unknowns *u, double *norm, step_verdict *verdict,
                                      step_report *report)
{
  PetscFunctionBegin;
  ++report->evaluations;
  step_unknowns_expand(u, m->v, l->v);
  PetscCall(step_layout_follow(l));
  PetscCall(step_layout_residual(l, m->full, true, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  step_unknowns_fold(u, m->full, m->g);
  *norm = convex_motion_norm(l, u, m->g);
  if (!isfinite(*norm)) *verdict = (step_verdict){STEP_NOT_FINITE, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode convex_motion_linearise(convex_motion *m, const step_layout *l, const step_unknowns *u, bool is_start,
                                       step_verdict *verdict)
{
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  sparse_rows_destroy(&m->A);
  mass_factor_destroy(&m->factor);
  PetscCall(step_unknowns_mass(u, l, &m->A));
  const PetscErrorCode code = mass_factor_create(&m->A, &m->factor);
  if (code == PETSC_ERR_MAT_CH_ZRPVT && !is_start) { /* where bodies promise a definite one: the state is too far gone */
    error_clear();
    *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, -1};
  } else PetscCall(code);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m->dv = -A^-1 g, and the slope of work along it. */
static double newton_direction(convex_motion *m, int64_t n)
{
  const int32_t *dof   = mass_factor_dof(m->factor);
  double         slope = 0.0;
  for (int64_t at = 0; at < n; ++at) m->right[at] = -m->g[dof[at]];
  mass_factor_solve_places(m->factor, m->right);
  for (int64_t at = 0; at < n; ++at) m->dv[dof[at]] = m->right[at];
  for (int64_t i = 0; i < n; ++i) slope += m->dv[i] * m->g[i];
  return slope;
}

static double slope_along(const convex_motion *m, int64_t n)
{
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += m->dv[i] * m->g[i];
  return sum;
}

/* All of the way, or as much of it as does not lead uphill or to what cannot be. */
static PetscErrorCode take_way(convex_motion *m, step_layout *l, const step_unknowns *u, double slope, double *norm,
                               step_verdict *verdict, step_report *report)
{
  double share = 0.0, low = 0.0, high = 1.0;
  PetscFunctionBegin;
  for (int k = 0; k < TRIALS; ++k) {
    const double next = k == 0 ? 1.0 : 0.5 * (low + high);
    for (int64_t i = 0; i < u->n; ++i) m->v[i] += (next - share) * m->dv[i];
    share    = next;
    *verdict = (step_verdict){STEP_OK, NULL, -1};
    PetscCall(convex_motion_evaluate(m, l, u, norm, verdict, report));
    const double there = verdict->code == STEP_OK ? slope_along(m, u->n) : INFINITY;
    if (there <= -OFF * slope) { /* downhill still, or about level */
      if (share == 1.0 || there >= OFF * slope) break;
      low = share;
    } else high = share;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode convex_motion_solve(convex_motion *m, step_layout *l, const step_unknowns *u, step_verdict *verdict,
                                   step_report *report)
{
  PetscFunctionBegin;
  const job_newton *o = l->scene->job->solver->newton;
  double            norm = INFINITY, before, slope;
  bool              is_known = false;
  PetscCall(convex_motion_evaluate(m, l, u, &norm, verdict, report));
  for (int64_t k = 0; verdict->code == STEP_OK; ++k) {
    if (stop_is_urgent()) *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
    else if (!is_known) /* also where nothing is left to do: contact wants A there */
      PetscCall(convex_motion_linearise(m, l, u, k == 0, verdict));
    if (verdict->code != STEP_OK || is_known || (k > 0 && norm <= o->tolerance)) break;
    if (k == o->max_iterations) {
      if (!(norm <= o->stall_tolerance)) *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, -1};
      break;
    }
    before = norm;
    slope  = newton_direction(m, u->n);
    PetscCall(take_way(m, l, u, slope, &norm, verdict, report));
    ++report->newton_iterations;
    is_known = norm <= (norm <= o->tolerance ? KNOWN : LINEAR) * before;
  }
  report->residual = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}
