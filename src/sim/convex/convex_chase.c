#include "sim/convex/convex_chase.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include <math.h>
#include <string.h>

enum { MOST = 12, MOST_INNER = 200 };
static const double INEXACT = 1e-2; /* of linear systems */
static const double ENOUGH  = 0.1;  /* of the tolerance: the problem that is made there is solved in one go */

typedef struct {
  const convex_chase *c;
  step_operator       products;
  sap_cg             *cg;
  double             *best, *dv, *work; /* [n] */
  double             *u, *r, *cost, *G;        /* [n_terms][3], [n_terms][3], [n_terms], [n_terms][9] */
} chase;

static void chase_destroy(chase *w)
{
  void *arrays[] = {&w->best, &w->dv, &w->work, &w->u, &w->r, &w->cost, &w->G};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  sap_cg_destroy(&w->cg);
  step_operator_destroy(&w->products);
}

static PetscErrorCode chase_create(const convex_chase *c, const front_terms *columns, chase *w)
{
  const int64_t n = c->unknowns->n, m = sap_terms_size(&c->terms);
  double      **of_unknowns[] = {&w->best, &w->dv, &w->work}, **of_terms[] = {&w->u, &w->r};
  PetscFunctionBegin;
  for (int k = 0; k < 3; ++k) PetscCall(memory_alloc("velocities", n, sizeof(double), of_unknowns[k]));
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities of contacts", 3 * m, sizeof(double), of_terms[k]));
  PetscCall(memory_alloc("costs of contacts", m, sizeof *w->cost, &w->cost));
  PetscCall(memory_alloc("derivatives of contacts", 9 * m, sizeof *w->G, &w->G));
  PetscCall(step_operator_create(c->layout, c->unknowns, &c->motion->A, &w->products));
  PetscCall(sap_cg_create(&w->products.operator, columns, &w->cg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

double convex_chase_left(const convex_chase *c, const double *r)
{
  contact_jacobian_scatter(c->rows, -1.0, r, c->motion->full);
  convex_constraints_push(c->constraints, r + 3 * c->terms.n_contacts, c->motion->full);
  step_unknowns_fold(c->unknowns, c->motion->full, c->motion->right);
  return step_motion_norm(c->layout, c->unknowns, c->motion->right);
}

/* What is left at v, and derivatives there. */
static PetscErrorCode evaluate(chase *w, double *norm, step_verdict *verdict, step_report *report)
{
  const convex_chase *c     = w->c;
  const int64_t       first = 3 * c->terms.n_contacts;
  double              alone;
  PetscFunctionBegin;
  *norm = INFINITY;
  PetscCall(step_motion_evaluate(c->motion, c->layout, c->unknowns, &alone, verdict, report));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  sparse_rows_apply(c->J, c->motion->v, w->u);
  for (int64_t i = 0; i < 3 * sap_terms_size(&c->terms); ++i) w->u[i] += c->known[i];
  convex_constraints_linearise(c->layout, w->u + first, w->r + first, c->constraints);
  sap_laws(&c->terms, w->u, w->cost, w->r, w->G);
  *norm = convex_chase_left(c, w->r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v - H^-1 (what is left), H = dm/dv + J^T G J. false: there is no such place. */
static PetscErrorCode advance(chase *w, bool *has_moved, step_report *report)
{
  const int64_t n = w->c->unknowns->n;
  int64_t       iterations = 0;
  PetscFunctionBegin;
  PetscCall(sap_cg_set(w->cg, w->G, has_moved));
  if (!*has_moved) PetscFunctionReturn(PETSC_SUCCESS);
  const double *left = w->c->motion->right;
  PetscCall(sap_gmres_solve(w->cg, left, INEXACT * sap_cg_size(w->cg, left), MOST_INNER, w->dv, w->work, &iterations));
  report->inner_iterations += iterations;
  for (int64_t i = 0; i < n; ++i) w->c->motion->v[i] -= w->dv[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(chase *w, bool *has_moved, step_verdict *verdict, step_report *report)
{
  const convex_chase *c      = w->c;
  const double        enough = ENOUGH * c->tolerance;
  double             *const v = c->motion->v, least, norm;
  bool                goes_on = true;
  PetscFunctionBegin;
  PetscCall(evaluate(w, &least, verdict, report));
  for (int k = 0; k < MOST && goes_on && verdict->code == STEP_OK && least > enough && !stop_is_urgent(); ++k) {
    memcpy(w->best, v, (size_t)c->unknowns->n * sizeof *v);
    PetscCall(advance(w, &goes_on, report));
    if (!goes_on) break;
    PetscCall(evaluate(w, &norm, verdict, report));
    ++report->newton_iterations;
    goes_on = verdict->code == STEP_OK && norm < least;
    if (goes_on) least = norm, *has_moved = true;
    else memcpy(v, w->best, (size_t)c->unknowns->n * sizeof *v);
  }
  *verdict = (step_verdict){STEP_OK, NULL, -1}; /* at worst v is where it was */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode convex_chase_run(const convex_chase *c, bool *has_moved, step_verdict *verdict, step_report *report)
{
  const front_terms columns = sap_columns_view(&c->motion->columns);
  chase             w       = {.c = c};
  PetscFunctionBegin;
  *has_moved = false;
  timer_begin(TIMER_FRICTION);
  step_motion_set_exact(c->motion, c->layout, true);
  PetscErrorCode code = chase_create(c, &columns, &w);
  if (!code) code = run(&w, has_moved, verdict, report);
  chase_destroy(&w);
  step_motion_set_exact(c->motion, c->layout, false);
  timer_end(TIMER_FRICTION);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
