/* The formulation `convex`: free motion, then one convex contact problem [ZongJiangHan2024].
 *
 * Free motion v* solves m(v) = 0, with m the residuals of the systems including their implicit internal forces. Linearised there
 * with the symmetric positive definite tangent A, and with the contacts detected at the start of the step,
 *
 *    A (v - v*) = J^T r,   r = -dl/du,   u = J v
 *
 * is the optimality condition of min 1/2 |v - v*|_A^2 + l(J v), with the potentials l of optim/sap/sap_law.h. It has exactly one
 * solution, which the solver finds from any initial guess. Joint stops, motors, dry friction and loops within bodies are terms
 * of l like contacts. Bodies move with v = v* + A^-1 J^T r, which preserves momentum to rounding.
 *
 * If the systems are nonlinear, the problem is linearised again at its solution until the nonlinear equation m = J^T r is
 * satisfied. The linearisation point may be improved by Newton's method on the nonlinear equation with unsymmetric tangents
 * (sand), or, where convergence is slow, by Anderson's combination of earlier points. An accepted state is always the solution
 * of a linearised problem. Articulated bodies are blocks of A like any other body. */
#include "contact/rows/contact_jacobian.h"
#include "core/memory.h"
#include "core/stop.h"
#include "sim/step/step_stages.h"
#include "discretize/mpm/mpm_domain.h"
#include "optim/friction/anderson.h"
#include "optim/sap/sap_law.h"
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_contacts.h"
#include "sim/step/step_contacts.h"
#include "sim/step/step_motion.h"
#include <math.h>
#include <string.h>

/* ==== Newton's method on the nonlinear equation ==== */

/* Improves the next linearisation point: Newton's method on the nonlinear equation of a step, m(v) = J^T r(J v), with the exact
 * tangents of the bodies. */
/* Everything is borrowed. */
typedef struct {
  double              tolerance;   /* of Newton's method */
  step_motion        *motion;      /* its A is that of the last problem; its options define which tangents may be exact */
  step_layout        *layout;
  const step_unknowns *unknowns;
  const sparse_rows  *J;
  const contact_jacobian *rows; /* contact rows of the global vector */
  sap_terms           terms;       /* in their current state */
  const double       *known;       /* [n_terms][3] */
  convex_constraints *constraints; /* their laws are linearised at v */
} outer_newton;


enum { MOST = 12, MOST_INNER = 200 };
static const double INEXACT = 1e-2; /* relative tolerance of linear systems */
static const double TARGET  = 0.1;  /* of the Newton tolerance: from such a point one more linearised problem suffices */

typedef struct {
  outer_newton *c;
  step_operator       products;
  sap_cg             *cg;
  double             *best, *dv, *work; /* [n] */
  double             *u, *r, *cost, *G;        /* [n_terms][3], [n_terms][3], [n_terms], [n_terms][9] */
} outer_newton_work;

static void outer_newton_destroy(outer_newton_work *w)
{
  void *arrays[] = {&w->best, &w->dv, &w->work, &w->u, &w->r, &w->cost, &w->G};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  sap_cg_destroy(&w->cg);
  step_operator_destroy(&w->products);
}

static PetscErrorCode outer_newton_create(outer_newton *c, const multifrontal_terms *columns, outer_newton_work *w)
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

/* Residual norm |D^-1 (m - J^T r)| with these impulses [n_terms][3], at the last evaluation of motion; motion->right is the
 * residual without D^-1. */
static double outer_newton_residual(outer_newton *c, const double *r)
{
  contact_jacobian_scatter(c->rows, -1.0, r, c->motion->full);
  convex_constraints_subtract(c->constraints, r + 3 * c->terms.n_contacts, c->motion->full);
  step_unknowns_fold(c->unknowns, c->motion->full, c->motion->right);
  return step_motion_norm(c->layout, c->unknowns, c->motion->right);
}

/* Evaluate the residual at v and the derivatives there. */
static PetscErrorCode outer_newton_evaluate(outer_newton_work *w, double *norm, step_status *verdict, step_report *report)
{
  outer_newton *c     = w->c;
  const int64_t       first = 3 * c->terms.n_contacts;
  double              alone;
  PetscFunctionBegin;
  *norm = INFINITY;
  PetscCall(step_motion_evaluate(c->motion, c->layout, c->unknowns, &alone, verdict, report));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  sparse_rows_apply(c->J, c->motion->v, w->u);
  for (int64_t i = 0; i < 3 * sap_terms_size(&c->terms); ++i) w->u[i] += c->known[i];
  convex_constraints_linearise(c->layout, w->u + first, w->r + first, c->constraints);
  sap_evaluate_terms(&c->terms, w->u, w->cost, w->r, w->G);
  *norm = outer_newton_residual(c, w->r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v -= H^-1 residual with H = dm/dv + J^T G J. *has_moved false: H is not usable. */
static PetscErrorCode outer_newton_advance(outer_newton_work *w, bool *has_moved, step_report *report)
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

static PetscErrorCode outer_newton_iterate(outer_newton_work *w, bool *has_moved, step_status *verdict, step_report *report)
{
  outer_newton *c      = w->c;
  const double        target = TARGET * c->tolerance;
  double             *const v = c->motion->v, least, norm;
  bool                is_decreasing = true;
  PetscFunctionBegin;
  PetscCall(outer_newton_evaluate(w, &least, verdict, report));
  for (int k = 0; k < MOST && is_decreasing && verdict->code == STEP_OK && least > target && !stop_is_urgent(); ++k) {
    memcpy(w->best, v, (size_t)c->unknowns->n * sizeof *v);
    PetscCall(outer_newton_advance(w, &is_decreasing, report));
    if (!is_decreasing) break;
    PetscCall(outer_newton_evaluate(w, &norm, verdict, report));
    ++report->newton_iterations;
    is_decreasing = verdict->code == STEP_OK && norm < least;
    if (is_decreasing) least = norm, *has_moved = true;
    else memcpy(v, w->best, (size_t)c->unknowns->n * sizeof *v);
  }
  *verdict = (step_status){STEP_OK, NULL, -1}; /* in the worst case v is unchanged */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Move motion->v, the solution of the last problem, as long as the residual decreases. *has_moved false: it did not decrease.
 * Afterwards the tangents of the systems are definite again but not evaluated. Impulses are not kept; the next problem computes
 * them. */
static PetscErrorCode outer_newton_improve(outer_newton *c, bool *has_moved, step_status *verdict, step_report *report)
{
  const multifrontal_terms columns = sap_columns_view(&c->motion->columns);
  outer_newton_work             w       = {.c = c};
  PetscFunctionBegin;
  *has_moved = false;
  timer_begin(TIMER_FRICTION);
  step_motion_set_exact(c->motion, c->layout, true);
  PetscErrorCode code = outer_newton_create(c, &columns, &w);
  if (!code) code = outer_newton_iterate(&w, has_moved, verdict, report);
  outer_newton_destroy(&w);
  step_motion_set_exact(c->motion, c->layout, false);
  timer_end(TIMER_FRICTION);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== formulation ==== */

typedef struct {
  step_frame frame;
  const convex_options *options;
  const newton_options *newton;
  bool      *tries_exact; /* [n_systems] see step_motion_options; NULL: no system has an exact tangent that differs */
} convex;

/* Temporary data of one step. */
typedef struct {
  convex            *c;
  step_unknowns      unknowns;
  step_motion        motion;
  convex_contacts    contacts;
  convex_constraints constraints;
  outer_newton       whole;
  sparse_rows        J;      /* rows of contacts, then of constraints */
  double            *v_free; /* [n] */
  double            *start, *last_solution, *weight; /* [n] linearisation point and solution of the last problem; masses */
  anderson           past;
} convex_attempt;

static void convex_finish(void *context)
{
  convex_attempt *p = context;
  step_unknowns_destroy(&p->unknowns);
  step_motion_destroy(&p->motion);
  convex_contacts_destroy(&p->contacts);
  convex_constraints_destroy(&p->constraints);
  sparse_rows_destroy(&p->J);
  anderson_destroy(&p->past);
  void *arrays[] = {&p->v_free, &p->start, &p->last_solution, &p->weight};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

static void record_solver_result(const convex_options *o, const sap_result *result, step_status *verdict, step_report *report)
{
  report->linear_iterations += result->iterations;
  report->inner_iterations += result->inner;
  report->gradient = result->error;
  if (result->verdict == SAP_OK) return;
  ++report->fallbacks;
  if (result->verdict == SAP_STOPPED || stop_is_urgent()) *verdict = (step_status){STEP_INTERRUPTED, NULL, -1};
  else if (!isfinite(result->error)) *verdict = (step_status){STEP_NOT_FINITE, NULL, -1};
  else if (!(result->error <= o->stall_tolerance)) *verdict = (step_status){STEP_FRICTION_NOT_CONVERGED, NULL, -1};
}

/* Solve the convex problem of the linearised systems: v = v_free + A^-1 J^T r, with p->motion.v as initial guess and result. For
 * Coulomb's law (coulomb_passes > 1) the opening by sliding is taken from the previous pass: fixed-point iteration on mu |u_T|
 * [Cadoux2009], convex in each pass, until a pass needs no iteration. guess: impulses for the first pass, may be NULL. */
static PetscErrorCode solve_contact(convex_attempt *p, const double *guess, step_status *verdict, step_report *report)
{
  const convex_options *o = p->c->options;
  convex_contacts      *c = &p->contacts;
  sap_result            result;
  PetscFunctionBegin;
  const multifrontal_terms columns = sap_columns_view(&p->motion.columns);
  sap_problem problem = {&p->motion.A, &p->J, p->motion.factor, p->v_free, c->known,
                               p->whole.terms, p->motion.front, &columns,
                               p->motion.is_iterative ? &p->motion.by_products.operator : NULL, guess};
  timer_begin(TIMER_FRICTION);
  for (int64_t k = 1;; ++k) {
    PetscCall(sap_solve(&problem, &o->sap, p->motion.v, c->r, c->u, &result));
    record_solver_result(o, &result, verdict, report);
    problem.pushes = NULL;
    if (k == o->coulomb_passes || verdict->code != STEP_OK || (k > 1 && result.iterations == 0)) break;
    convex_contacts_shift(c, p->c->frame.contacts.shift);
  }
  timer_end(TIMER_FRICTION);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Linearise the constraints at the last evaluated velocities. */
static void linearise_constraints(convex_attempt *p)
{
  const int64_t first = 3 * p->contacts.n;
  convex_constraints_linearise(&p->c->frame.layout, p->contacts.u + first, p->contacts.r + first, &p->constraints);
}

/* Residual norm |D^-1 (m - J^T r)| of the nonlinear problem at p->motion.v with the current impulses. */
static PetscErrorCode evaluate_residual(convex_attempt *p, double *norm, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame *f = &p->c->frame;
  double      alone;
  PetscCall(step_motion_evaluate(&p->motion, &f->layout, &p->unknowns, &alone, verdict, report));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  linearise_constraints(p);
  *norm = outer_newton_residual(&p->whole, p->contacts.r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v_free of the systems linearised at the last evaluation of m->g: v - A^-1 g. */
static PetscErrorCode compute_free_velocity(step_motion *m, int64_t n, double tolerance, double *v_free)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < n; ++i) v_free[i] = m->g[i];
  PetscCall(step_motion_solve_linear(m, tolerance, v_free));
  for (int64_t i = 0; i < n; ++i) v_free[i] = m->v[i] - v_free[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SLOW 0.1 /* Newton's method alone reduces the residual by more than this factor */
enum { IDLE = 4, IDLE_FAR = 16 }; /* linearisations without progress after which the iteration stops: near the tolerance, and far
                                   * from it */

/* Update the rotations at p->motion.v and evaluate the systems there. */
static PetscErrorCode relinearise_and_evaluate(convex_attempt *p, double *norm, step_status *verdict, step_report *report)
{
  bool has_changed;
  PetscFunctionBegin;
  PetscCall(step_motion_relinearise(&p->motion, &p->c->frame.layout, &p->unknowns, &has_changed));
  PetscCall(evaluate_residual(p, norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Choose the next linearisation point by Anderson's combination in the norm of kinetic energy; if the systems are invalid there,
 * keep the solution of the last problem. */
static PetscErrorCode apply_anderson(convex_attempt *p, step_status *verdict, step_report *report)
{
  const int64_t      n = p->unknowns.n;
  const step_layout *l = &p->c->frame.layout;
  double             norm; /* not used: contact is not solved at this state */
  PetscFunctionBegin;
  if (!p->past.f) {
    PetscCall(anderson_create(n, 5, &p->past));
    PetscCall(memory_alloc("velocities", n, sizeof *p->last_solution, &p->last_solution));
    PetscCall(memory_alloc("velocities", n, sizeof *p->weight, &p->weight));
    for (int64_t i = 0; i < n; ++i) p->weight[i] = l->scale[p->unknowns.is_all ? i : p->unknowns.own[i]];
  }
  memcpy(p->last_solution, p->motion.v, (size_t)n * sizeof *p->last_solution);
  anderson_step(&p->past, p->start, p->last_solution, p->weight, p->motion.v);
  PetscCall(relinearise_and_evaluate(p, &norm, verdict, report));
  if (verdict->code == STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  *verdict = (step_status){STEP_OK, NULL, -1};
  anderson_reset(&p->past);
  memcpy(p->motion.v, p->last_solution, (size_t)n * sizeof *p->last_solution);
  PetscCall(relinearise_and_evaluate(p, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the step is solved or no further progress is possible. With one linearisation the step is accepted without a check. */
static bool has_finished(const convex_attempt *p, int64_t k, double norm, double *best, int64_t *n_idle, step_status *verdict)
{
  const newton_options *newton = p->c->newton;
  const int64_t     most = p->c->options->linearisations, patience = norm <= newton->stall_tolerance ? IDLE : IDLE_FAR;
  *n_idle = norm < 0.9 * *best ? 0 : *n_idle + 1;
  *best   = fmin(*best, norm);
  if (norm <= newton->tolerance) return true;
  if (k < most && !(*n_idle >= patience && norm <= *best)) return false;
  if (most > 1 && !(norm <= newton->stall_tolerance))
    *verdict = (step_status){STEP_NOT_CONVERGED, step_layout_largest_residual(&p->c->frame.layout, p->motion.full), -1};
  return true;
}

/* Choose the next linearisation point: by Newton's method on the nonlinear equation if bodies have exact tangents and this
 * reduces the residual; otherwise, if convergence is slow, by Anderson's combination. */
static PetscErrorCode choose_linearisation_point(convex_attempt *p, double norm, double before, int64_t k, step_status *verdict, step_report *report)
{
  bool has_moved = false;
  PetscFunctionBegin;
  if (p->c->tries_exact && step_operator_exists(&p->c->frame.layout)) {
    PetscCall(outer_newton_improve(&p->whole, &has_moved, verdict, report));
    PetscCall(relinearise_and_evaluate(p, &norm, verdict, report));
  }
  if (has_moved || verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (norm > before) anderson_reset(&p->past);
  else if (k > 1 && norm > SLOW * before) PetscCall(apply_anderson(p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Outer Newton iteration: solve contact and linearise the bodies at the solution, until convergence. */
static PetscErrorCode solve_nonlinear_step(convex_attempt *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame   *f = &p->c->frame;
  const double  tolerance = p->c->newton->tolerance;
  const int64_t most = p->c->options->linearisations;
  double        norm = INFINITY, before, best = INFINITY;
  int64_t       n_idle = 0;
  for (int64_t k = 1;; ++k) {
    PetscCall(solve_contact(p, k == 1 ? p->contacts.r_previous : NULL, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    before = norm;
    if (k < most) PetscCall(relinearise_and_evaluate(p, &norm, verdict, report));
    else PetscCall(evaluate_residual(p, &norm, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    report->residual = norm;
    if (has_finished(p, k, norm, &best, &n_idle, verdict)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(choose_linearisation_point(p, norm, before, k, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(step_motion_linearise(&p->motion, &f->layout, &p->unknowns, false, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    memcpy(p->start, p->motion.v, (size_t)p->unknowns.n * sizeof *p->start);
    PetscCall(compute_free_velocity(&p->motion, p->unknowns.n, 1e-2 * tolerance, p->v_free));
  }
}

/* Solve contact and constraints after free motion. */
static PetscErrorCode solve_with_contact(convex_attempt *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame           *f = &p->c->frame;
  convex_constraints   *c = &p->constraints;
  const size_t          n_bytes = (size_t)p->unknowns.n * sizeof *p->v_free;
  PetscCall(convex_contacts_create(p->c->options, f, &p->unknowns, &p->motion.A, &p->J, c, &p->contacts));
  for (int64_t i = 0; i < 3 * c->n; ++i) p->contacts.known[3 * p->contacts.n + i] = c->known[i];
  p->whole = (outer_newton){p->c->newton->tolerance, &p->motion, &f->layout, &p->unknowns, &p->J, &f->contacts.rows,
                            {.model = (sap_model)p->c->options->law, .n_contacts = p->contacts.n, .contact = p->contacts.law,
                             .n_constraints = c->n, .constraint = c->law},
                            p->contacts.known, c};
  linearise_constraints(p);
  PetscCall(memory_alloc("free motion", p->unknowns.n, sizeof *p->v_free, &p->v_free));
  PetscCall(memory_alloc("free motion", p->unknowns.n, sizeof *p->start, &p->start));
  memcpy(p->v_free, p->motion.v, n_bytes);
  memcpy(p->start, p->motion.v, n_bytes);
  step_unknowns_select(&p->unknowns, f->layout.v0, p->motion.v); /* initial guess */
  PetscCall(solve_nonlinear_step(p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute free motion. Without contact, materials that are linearised about rotations are linearised again at the solution. */
static PetscErrorCode move_freely(convex_attempt *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame   *f    = &p->c->frame;
  const int64_t most = step_contacts_size(&f->contacts) + p->constraints.n > 0 ? 1 : p->c->options->linearisations;
  PetscCall(step_motion_solve(&p->motion, &f->layout, &p->unknowns, verdict, report));
  for (int64_t k = 1; k < most && verdict->code == STEP_OK; ++k) {
    double norm;
    bool   has_changed;
    PetscCall(step_motion_relinearise(&p->motion, &f->layout, &p->unknowns, &has_changed));
    if (!has_changed) break;
    PetscCall(step_motion_evaluate(&p->motion, &f->layout, &p->unknowns, &norm, verdict, report));
    if (verdict->code != STEP_OK || norm <= p->c->newton->tolerance) break;
    PetscCall(step_motion_solve(&p->motion, &f->layout, &p->unknowns, verdict, report));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode accept_step(convex_attempt *p, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  const convex_options *o   = p->c->options;
  const step_outcome    law = {.r = p->contacts.r, .u = p->contacts.u, .x = p->contacts.x, .scale = p->contacts.scale};
  convex_contacts_evaluate(o, p->c->frame.contacts.shift, &p->contacts);
  PetscCall(step_frame_accept(&p->c->frame, &law, verdict, report));
  report->is_unsolved              = report->residual > p->c->newton->tolerance;
  report->contact.creep_bound      = convex_contacts_creep_bound(o, &p->contacts);
  report->friction.n_contacts      = p->contacts.n;
  report->friction.over_constraint = p->unknowns.n > 0 ? 3.0 * (double)p->contacts.n / (double)p->unknowns.n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_try(void *context, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt *p = context;
  step_frame     *f = &p->c->frame;
  PetscCall(step_frame_start(f, &p->unknowns, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t a = 0; a < step_contacts_size(&f->contacts); ++a) f->contacts.shift[a] = 0.0; /* the laws contain the gaps */
  if (p->unknowns.n_full > 0) {
    PetscCall(step_unknowns_jacobian(&p->unknowns, &f->contacts.rows, &p->J));
    PetscCall(convex_constraints_create(&f->layout, &p->unknowns, &p->constraints));
    PetscCall(convex_constraints_append(&p->constraints, &p->unknowns, &p->J));
    const step_motion_options own = {p->c->options->linear, true, p->c->tries_exact, p->c->newton};
    PetscCall(step_motion_create(&f->layout, &p->unknowns, &own, &p->J, &p->motion));
    PetscCall(move_freely(p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    if (step_contacts_size(&f->contacts) + p->constraints.n > 0) PetscCall(solve_with_contact(p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  report->inner_iterations += p->motion.n_inner;
  PetscCall(accept_step(p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_step(formulation *f, double t, double dt, step_status *verdict, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt now = {.c = (convex *)f};
  const step_attempt own = {convex_try, convex_finish, &now};
  PetscCall(step_run_attempt(&now.c->frame.layout, t, dt, &own, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Law `lagged` needs a stiffness: contacts as stiff as the step allows have impulses that change completely from step to step,
 * which give no limit for friction. */
static PetscErrorCode convex_check(const scene *s, diagnostics *d)
{
  const document_node *root = s->options->root, *where = document_find(root, "contact");
  PetscFunctionBegin;
  if (s->options->solver->convex->law != SAP_LAGGED) PetscFunctionReturn(PETSC_SUCCESS);
  if (isfinite(s->options->contact->overlap_correction_speed))
    diagnostics_add_under(d, where, "contact", "overlap_correction_speed", "has no effect when solver.convex.law is lagged; remove it");
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = i; j < s->n_bodies; ++j) {
      const contact_law *law = &s->laws[i * s->n_bodies + j];
      if (law->never_touch || !isnan(law->stiffness)) continue;
      diagnostics_add(
          d, (where ? where : root)->mark, "contact.stiffness",
          "missing: \"%s\" and \"%s\" may touch, and law: lagged needs a contact stiffness; give one in N/m, or use law: "
          "regularised",
          s->bodies[i].name, s->bodies[j].name);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation convex: free motion, then contact as one convex problem, law %s; contacts are detected between\n",
          s->options->solver->convex->law == SAP_LAGGED ? "lagged" : "regularised");
  return step_contacts_describe(s, out);
}

static PetscErrorCode convex_fields(formulation *f, field_table *table) { return step_frame_fields(&((convex *)f)->frame, table); }

static void convex_destroy(formulation *f)
{
  convex *c = (convex *)f;
  step_frame_destroy(&c->frame);
  memory_free(&c->tries_exact);
}

static PetscErrorCode convex_create(scene *s, formulation *f)
{
  convex *c      = (convex *)f;
  bool    is_any = false;
  PetscFunctionBegin;
  c->options = s->options->solver->convex;
  c->newton  = s->options->solver->newton;
  PetscCall(step_frame_create(s, 0.0, &c->frame));
  for (int i = 0; i < s->n_systems; ++i) is_any |= mpm_domain_has_projected_tangent(s->systems[i]);
  if (is_any) PetscCall(memory_alloc("systems", s->n_systems, sizeof *c->tries_exact, &c->tries_exact));
  for (int i = 0; i < s->n_systems && is_any; ++i) c->tries_exact[i] = mpm_domain_has_projected_tangent(s->systems[i]);
  convex_constraints_take_over(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[] = {
  {"contact.overlap_correction", "springs correct overlaps", true},
  {"contact.restitution", "restitution is determined by solver.convex.relaxation_time", false},
  {"contact.pairs.restitution", "restitution is determined by solver.convex.relaxation_time", false},
  {"contact.pairs.friction_direction", "its friction cones are circular", false},
  {"contact.pairs.friction_transverse", "its friction cones are circular", false},
  {"output.fclib", "its contacts are compliant, which the file format does not support", true},
  {.path = NULL}};
const formulation_ops convex_formulation = {
  .scene.name     = "convex",
  .scene.kinds    = "mpm fem cloth rod articulated rigid kinematic static",
  .scene.kinds_reason = "its continua are elastic or plastic",
  .scene.solver   = "newton convex petsc",
  .scene.unused   = unused,
  .scene.is_rigid = true,
  .outer    = "Newton",
  .inner    = "contact",
  .remedy   = "another solver.convex.law or a softer contact.stiffness",
  .size     = sizeof(convex),
  .create   = convex_create,
  .scene.check    = convex_check,
  .step     = convex_step,
  .fields   = convex_fields,
  .scene.describe = convex_describe,
  .destroy  = convex_destroy,
};
