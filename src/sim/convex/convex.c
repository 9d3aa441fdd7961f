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
#include "sim/step/step_stages.h"
#include "discretize/mpm/mpm_domain.h"
#include "optim/friction/anderson.h"
#include "optim/friction/body_sweeps.h"
#include "optim/friction/sparse_direct.h"
#include "optim/sap/sap_law.h"
#include "sim/convex/convex_constraints.h"
#include "sim/convex/convex_contacts.h"
#include "sim/step/nonlinear.h"
#include "sim/step/step_contacts.h"
#include "sim/step/step_creep.h"
#include "sim/step/step_motion.h"
#include "sim/scene/scene_overlap_check.h"
#include <math.h>
#include <string.h>

typedef struct {
  step_frame            frame;
  const convex_options *options;
  const newton_options *newton;
  linear_solver        *motion_solver, *contact_solver, *newton_solver; /* free motion; convex problems; motion with contact */
  double                max_depth;                                      /* of resting contacts without a given stiffness [m] */
  sap_options           sap;
  step_creep            creep; /* for scenes that body_sweeps.h solves */
  bool                  uses_sweeps;
  bool                 *tries_exact; /* [n_systems] see step_motion_options; NULL: no system has an exact tangent that differs */
} convex;

/* Temporary data of one step: a problem of the nonlinear driver. */
typedef struct {
  convex            *c;
  step_unknowns      unknowns;
  step_motion        motion;
  convex_contacts    contacts;
  convex_constraints constraints;
  sap_terms          terms;         /* laws of contacts and constraints */
  sparse_rows        J;             /* rows of contacts, then of constraints */
  double            *v_free;        /* [n] */
  anderson           past;          /* of the iteration for Coulomb's law */
  double            *next, *weight; /* [n_contacts] */
  double            *speed_limit;   /* [n_contacts] accepted creep of sweeps, see step_outcome */
  bool               is_swept;      /* the last problem was solved by sweeps */
  double             n_unconverged; /* in the last linearised problem: contacts that violate Coulomb's law, plus 1 if it is not solved */
  step_report       *report;
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
  MEMORY_FREE(&p->v_free, &p->next, &p->weight, &p->speed_limit);
}

/* motion.right = m - J^T r with these impulses [n_terms][3], at the last evaluation of motion. */
static void subtract_impulses(convex_attempt *p, const double *r)
{
  contact_jacobian_scatter(&p->c->frame.contacts.rows, -1.0, r, p->motion.full);
  convex_constraints_subtract(&p->constraints, r + 3 * p->contacts.n, p->motion.full);
  step_unknowns_fold(&p->unknowns, p->motion.full, p->motion.right);
}

/* ==== Newton's method on the nonlinear equation ==== */

/* Improves the next linearisation point: Newton's method on the nonlinear equation of a step, m(v) = J^T r(J v), with the exact
 * tangents of the bodies. The nonlinear driver runs it as a problem of its own, inside that of the contact problems. */
enum { MOST = 12, MOST_INNER = 200 };
static const double INEXACT = 1e-2; /* relative tolerance of linear systems */
static const double TARGET  = 0.1;  /* of the Newton tolerance: from such a point one more linearised problem suffices */

typedef struct {
  convex_attempt *p;
  step_operator   products;
  sap_cg         *cg;
  double         *dv, *work;        /* [n] */
  double         *u, *r, *cost, *G; /* [n_terms][3], [n_terms][3], [n_terms], [n_terms][9] */
} outer_newton_work;

static void outer_newton_destroy(outer_newton_work *w)
{
  MEMORY_FREE(&w->dv, &w->work, &w->u, &w->r, &w->cost, &w->G);
  sap_cg_destroy(&w->cg);
  step_operator_destroy(&w->products);
}

static PetscErrorCode outer_newton_create(convex_attempt *p, const multifrontal_terms *columns, outer_newton_work *w)
{
  const int64_t n = p->unknowns.n, m = sap_terms_size(&p->terms);
  double      **of_unknowns[] = {&w->dv, &w->work}, **of_terms[] = {&w->u, &w->r};
  PetscFunctionBegin;
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities", n, sizeof(double), of_unknowns[k]));
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities of contacts", 3 * m, sizeof(double), of_terms[k]));
  PetscCall(MEMORY_ALLOC("convex", ARRAY(w->cost, m), ARRAY(w->G, 9 * m)));
  PetscCall(step_operator_create(&p->c->frame.layout, &p->unknowns, &p->motion.A, &w->products));
  PetscCall(sap_cg_create(&w->products.operator, columns, p->c->newton_solver, &w->cg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Evaluate m - J^T r and the derivatives at v. */
static PetscErrorCode outer_newton_evaluate(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  outer_newton_work *w     = context;
  convex_attempt    *p     = w->p;
  const int64_t      first = 3 * p->terms.n_contacts;
  PetscFunctionBegin;
  (void)now;
  PetscCall(step_motion_evaluate(&p->motion, &p->c->frame.layout, &p->unknowns, with_tangent, status, p->report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  sparse_rows_apply(&p->J, p->motion.v, w->u);
  for (int64_t i = 0; i < 3 * sap_terms_size(&p->terms); ++i) w->u[i] += p->contacts.known[i];
  convex_constraints_linearise(&p->c->frame.layout, w->u + first, w->r + first, &p->constraints);
  sap_evaluate_terms(&p->terms, w->u, w->cost, w->r, w->G);
  subtract_impulses(p, w->r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* H = dm/dv + J^T G J. */
static PetscErrorCode outer_newton_linearise(void *context, const nonlinear_state *now, step_status *status)
{
  outer_newton_work *w = context;
  bool               is_usable;
  PetscFunctionBegin;
  (void)now;
  PetscCall(sap_cg_set(w->cg, w->G, &is_usable));
  if (!is_usable) *status = (step_status){STEP_NOT_CONVERGED, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v -= H^-1 residual. */
static PetscErrorCode outer_newton_advance(void *context, nonlinear_state *now, step_status *status)
{
  outer_newton_work *w          = context;
  step_motion       *m          = &w->p->motion;
  int64_t            iterations = 0;
  PetscFunctionBegin;
  (void)status;
  now->expects_tangent = true;
  PetscCall(sap_gmres_solve(w->cg, m->right, INEXACT * sap_cg_size(w->cg, m->right), MOST_INNER, w->dv, w->work, &iterations));
  w->p->report->inner_iterations += iterations;
  for (int64_t i = 0; i < w->p->unknowns.n; ++i) m->v[i] -= w->dv[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode outer_newton_iterate(outer_newton_work *w, bool *has_moved, step_status *status)
{
  convex_attempt         *p       = w->p;
  const nonlinear_problem problem = {w,
                                     &p->c->frame.layout,
                                     &p->unknowns,
                                     p->motion.v,
                                     NULL,
                                     p->motion.right,
                                     p->motion.full,
                                     .evaluate  = outer_newton_evaluate,
                                     .linearise = outer_newton_linearise,
                                     .solve     = outer_newton_advance};
  nonlinear_options       o       = nonlinear_defaults(p->c->newton);
  nonlinear_result        result;
  PetscFunctionBegin;
  o.tolerance       = TARGET * o.tolerance;
  o.stall_tolerance = INFINITY;
  o.max_iterations  = MOST;
  o.is_smooth = o.checks_start = o.is_monotone = true;
  o.trials                                     = 0;
  PetscCall(nonlinear_solve(&problem, &o, &result, status));
  p->report->newton_iterations += result.n_iterations;
  *has_moved = result.norm < result.first;
  *status    = (step_status){STEP_OK, NULL, -1}; /* in the worst case v is unchanged */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Move motion->v, the solution of the last problem, as long as the residual decreases. *has_moved false: it did not decrease.
 * Afterwards the tangents of the systems are definite again but not evaluated. Impulses are not kept; the next problem computes
 * them. */
static PetscErrorCode outer_newton_improve(void *context, bool *has_moved, step_status *status)
{
  convex_attempt          *p       = context;
  const step_layout       *l       = &p->c->frame.layout;
  const multifrontal_terms columns = sap_columns_view(&p->motion.columns);
  outer_newton_work        w       = {.p = p};
  PetscFunctionBegin;
  *has_moved = false;
  timer_begin(TIMER_FRICTION);
  step_motion_set_exact(&p->motion, l, true);
  PetscErrorCode code = outer_newton_create(p, &columns, &w);
  if (!code) code = outer_newton_iterate(&w, has_moved, status);
  outer_newton_destroy(&w);
  step_motion_set_exact(&p->motion, l, false);
  timer_end(TIMER_FRICTION);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== contact problems ==== */

/* Returns 1 if the problem is accepted above its tolerance. */
static int64_t record_solver_result(const convex *c, const sap_result *result, step_status *status, step_report *report)
{
  int64_t      n = 0;
  const double stall =
      c->frame.layout.accepts_unconverged ? INFINITY : solver_contact_stall_tolerance(c->options->stall_tolerance, c->sap.tolerance);
  report->linear_iterations += result->iterations;
  report->inner_iterations += result->inner;
  report->gradient = result->error;
  nonlinear_record_solver(result->status == SAP_OK, result->status == SAP_STOPPED, false, result->error, stall, &n, status);
  return n;
}

enum { MEMORY = 6 }; /* earlier differences in Anderson's acceleration of the iteration for Coulomb's law */

/* v = v_free + A^-1 J^T r. */
static PetscErrorCode velocities_of(const convex_attempt *p, const delassus *W, const double *r, double *v)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < p->unknowns.n; ++i) v[i] = 0.0;
  for (int64_t i = 0; i < 3 * p->contacts.n; ++i)
    for (int64_t k = p->J.start[i]; k < p->J.start[i + 1]; ++k) v[p->J.col[k]] += p->J.value[k] * r[i];
  PetscCall(delassus_solve(W, v, v));
  for (int64_t i = 0; i < p->unknowns.n; ++i) v[i] += p->v_free[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve the Coulomb problem with W from the impulses r, see solve_by_sweeps. r, u [n][3], q [n][3], compliance [n][2]: work. */
static PetscErrorCode run_sweeps(convex_attempt *p, delassus *W, double *r, double *u, double *q, double *compliance,
                                 friction_result *result)
{
  convex_contacts   *c       = &p->contacts;
  const step_layout *l       = &p->c->frame.layout;
  double            *shift   = p->c->frame.contacts.shift;
  friction_problem   problem = {W, c->n, q, NULL, p->speed_limit, compliance, NULL, l->acceleration_scale * l->dt};
  friction_options   options = {.error = FRICTION_ERROR_SPEED, .tolerance = 1.0, .least_work = STEP_CREEP_WORK};
  double            *mu      = p->next;
  PetscFunctionBegin;
  for (int64_t a = 0; a < c->n; ++a) mu[a] = c->law[a].mu;
  problem.mu = mu;
  sparse_rows_apply(&p->J, p->v_free, q);
  convex_contacts_coulomb_problem(shift, c, q, compliance);
  PetscCall(body_sweeps_solve(&problem, &options, r, u, result));
  convex_contacts_adopt(r, u, shift, p->next, c);
  PetscCall(velocities_of(p, W, r, p->motion.v));
  sparse_rows_apply(&p->J, p->motion.v, c->u);
  for (int64_t i = 0; i < 3 * c->n; ++i) c->u[i] += c->known[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool can_sweep(const convex_attempt *p)
{
  const convex_options *o = p->c->options;
  return p->c->uses_sweeps && p->constraints.n == 0 && p->contacts.n > STEP_CREEP_FEW && o->law == SAP_REGULARISED &&
         o->max_coulomb_iterations > 1;
}

/* Of the accepted creep, as in solver.exact. Passes for moving bodies would take minutes and end with larger errors. */
static const double MOST_CREEP = 10.0;

/* Coulomb's law with the compliance of the contacts is the limit of the passes. Sweeps find it directly, to the accepted creep. If the error remains above the tolerance but below MOST_CREEP, the contacts above it are counted. p->is_swept false: not solved; then motion.v, the impulses and the shifts are an initial guess. */
static PetscErrorCode solve_by_sweeps(convex_attempt *p, step_report *report)
{
  const int64_t   n      = p->contacts.n;
  delassus       *W      = NULL;
  int32_t        *bodies = NULL;
  double         *r = NULL, *u = NULL, *q = NULL, *compliance = NULL;
  friction_result result = {0};
  PetscFunctionBegin;
  PetscErrorCode code = step_creep_bodies(&p->unknowns, &p->c->frame.layout, &bodies);
  if (!code) code = delassus_create_system(&p->motion.A, &p->J, &W);
  if (!code) delassus_set_bodies(W, bodies);
  if (!code && body_sweeps_apply(W)) {
    code = MEMORY_ALLOC("Coulomb's law", ARRAY(r, 3 * n), ARRAY(u, 3 * n), ARRAY(q, 3 * n), ARRAY(compliance, 2 * n));
    if (!code) memcpy(r, p->contacts.r_previous, (size_t)(3 * n) * sizeof *r);
    if (!code) code = run_sweeps(p, W, r, u, q, compliance, &result);
    p->is_swept = !code && result.speed <= MOST_CREEP;
    if (p->is_swept) p->n_unconverged = (double)result.n_above;
    report->linear_iterations += result.iterations;
  }
  delassus_destroy(&W);
  MEMORY_FREE(&bodies, &r, &u, &q, &compliance);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve the convex problem of the linearised systems: v = v_free + A^-1 J^T r, with p->motion.v as initial guess and result. For
 * Coulomb's law (max_coulomb_iterations > 1) the opening by sliding is taken from the previous pass: fixed-point iteration on mu |u_T|
 * [Cadoux2009], convex in each pass. The loads of the contacts of one patch depend on differences of mu |u_T| that are small compared with
 * mu |u_T|; without Anderson's acceleration the iteration then converges slowly. If the first attempt fails, a second one starts without the
 * friction and sliding velocities of the last step. Contacts that violate the law after the last pass are counted.
 * guess: impulses for the first pass, may be NULL. */
static PetscErrorCode solve_by_passes(convex_attempt *p, const double *guess, step_status *status, step_report *report)
{
  const convex_options *o     = p->c->options;
  convex_contacts      *c     = &p->contacts;
  double               *shift = p->c->frame.contacts.shift, *next = p->next;
  sap_result            result;
  int64_t               n_open = 0, n_unsolved;
  PetscFunctionBegin;
  PetscCall(step_motion_couple(&p->motion));
  const multifrontal_terms columns = sap_columns_view(&p->motion.columns);
  sap_problem              problem = {&p->motion.A, &p->J, p->motion.factor, p->v_free, c->known, p->terms, p->motion.front, &columns,
                                      p->motion.is_iterative ? &p->motion.by_products.operator: NULL, guess, p->c->contact_solver };
  anderson_reset(&p->past);
  for (int64_t k = 1;; ++k) {
    PetscCall(sap_solve(&problem, &p->c->sap, p->motion.v, c->r, c->u, &result));
    n_unsolved        = record_solver_result(p->c, &result, status, report);
    problem.predicted = NULL;
    if (o->law != SAP_REGULARISED || o->max_coulomb_iterations == 1 || status->code != STEP_OK) break;
    n_open = convex_contacts_compare(o, shift, c, next);
    if (n_open == 0 || k == 2 * o->max_coulomb_iterations) break;
    if (k == o->max_coulomb_iterations) { /* second attempt */
      anderson_reset(&p->past);
      for (int64_t a = 0; a < c->n; ++a) next[a] = c->r[3 * a + 1] = c->r[3 * a + 2] = 0.0;
    } else anderson_step(&p->past, shift, next, p->weight, next);
    for (int64_t a = 0; a < c->n; ++a) next[a] = fmax(0.0, next[a]);
    convex_contacts_shift(next, shift, c);
  }
  p->n_unconverged = (double)(n_open + n_unsolved);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bodies at rest: passes, which are accurate, and few because nothing slides. With the accepted creep of sweeps a wall of bricks would not come to rest. Moving
 * bodies: sweeps, because passes are many where contacts slide, and an error of 1 % of the relative velocities is acceptable; passes if they fail. */
static PetscErrorCode solve_contact(convex_attempt *p, const double *guess, step_status *status, step_report *report)
{
  bool moves = false;
  PetscFunctionBegin;
  timer_begin(TIMER_FRICTION);
  p->is_swept      = false;
  p->n_unconverged = 0.0;
  memory_free(&p->speed_limit);
  if (can_sweep(p)) PetscCall(step_creep_limits(&p->c->creep, &p->c->frame.contacts, &p->c->frame.layout, &p->speed_limit, &moves));
  if (moves) PetscCall(solve_by_sweeps(p, report));
  if (!p->is_swept) PetscCall(solve_by_passes(p, guess, status, report));
  timer_end(TIMER_FRICTION);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Linearise the constraints at the last evaluated velocities. */
static void linearise_constraints(convex_attempt *p)
{
  const int64_t first = 3 * p->contacts.n;
  convex_constraints_linearise(&p->c->frame.layout, p->contacts.u + first, p->contacts.r + first, &p->constraints);
}

/* m - J^T r of the nonlinear problem at p->motion.v with the current impulses. If another linearisation may follow, the rotations
 * of the materials are updated first. */
static PetscErrorCode evaluate_residual(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  convex_attempt *p = context;
  step_layout    *l = &p->c->frame.layout;
  bool            has_changed;
  PetscFunctionBegin;
  if (now->k + 1 < p->c->options->max_outer_iterations) PetscCall(step_motion_relinearise(&p->motion, l, &p->unknowns, &has_changed));
  PetscCall(step_motion_evaluate(&p->motion, l, &p->unknowns, with_tangent, status, p->report));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  linearise_constraints(p);
  subtract_impulses(p, p->contacts.r);
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

static PetscErrorCode linearise_step(void *context, const nonlinear_state *now, step_status *status)
{
  convex_attempt *p = context;
  PetscFunctionBegin;
  (void)now;
  PetscCall(step_motion_linearise(&p->motion, &p->c->frame.layout, &p->unknowns, false, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first problem is that of free motion. */
static PetscErrorCode solve_linearised(void *context, nonlinear_state *now, step_status *status)
{
  convex_attempt *p = context;
  PetscFunctionBegin;
  now->expects_tangent = true; /* products of the bodies' tangents belong to the last evaluation */
  if (now->k > 0) PetscCall(compute_free_velocity(&p->motion, p->unknowns.n, now->tolerance, p->v_free));
  PetscCall(solve_contact(p, now->k == 0 ? p->contacts.r_previous : NULL, status, p->report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Impulses, contact velocities and the number of unconverged contacts belong to the velocities that they were solved with. */
static int list_arrays(void *context, nonlinear_array out[NONLINEAR_MAX_ARRAYS])
{
  convex_attempt *p = context;
  const int64_t   m = 3 * sap_terms_size(&p->terms);
  out[0]            = (nonlinear_array){p->contacts.r, m};
  out[1]            = (nonlinear_array){p->contacts.u, m};
  out[2]            = (nonlinear_array){&p->n_unconverged, 1};
  return 3;
}

/* Solve contact and linearise the bodies at the solution, until convergence. */
static PetscErrorCode solve_nonlinear_step(convex_attempt *p, step_status *status)
{
  step_layout            *l       = &p->c->frame.layout;
  const bool              is_any  = p->c->tries_exact && step_operator_exists(l);
  const nonlinear_problem problem = {p,
                                     l,
                                     &p->unknowns,
                                     p->motion.v,
                                     NULL,
                                     p->motion.right,
                                     p->motion.full,
                                     .evaluate    = evaluate_residual,
                                     .linearise   = linearise_step,
                                     .solve       = solve_linearised,
                                     .improve     = is_any ? outer_newton_improve : NULL,
                                     .list_arrays = list_arrays};
  nonlinear_options       o       = nonlinear_defaults(p->c->newton);
  nonlinear_result        result;
  PetscFunctionBegin;
  o.max_iterations = p->c->options->max_outer_iterations;
  o.is_linearised = o.accepts_first = true;
  o.least                           = o.accurate;
  o.renew  = 0.0; /* always: sand needs 10 to 13 % more linearisations with 0.1 and 0.3, and contact is solved in each */
  o.trials = 0;   /* none: no scene needed one */
  PetscCall(nonlinear_solve(&problem, &o, &result, status));
  nonlinear_record(&result, o.tolerance, p->report);
  p->report->contact_unconverged = (int64_t)p->n_unconverged;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve contact and constraints after free motion. */
static PetscErrorCode solve_with_contact(convex_attempt *p, step_status *status)
{
  PetscFunctionBegin;
  step_frame         *f = &p->c->frame;
  convex_constraints *c = &p->constraints;
  PetscCall(
      convex_contacts_create(p->c->options, f, &p->unknowns, &p->motion.A, &p->J, c, p->c->max_depth, f->contacts.shift, &p->contacts));
  PetscCall(anderson_create(p->contacts.n, MEMORY, &p->past));
  PetscCall(MEMORY_ALLOC("Coulomb's law", ARRAY(p->next, p->contacts.n), ARRAY(p->weight, p->contacts.n)));
  for (int64_t a = 0; a < p->contacts.n; ++a) p->weight[a] = 1.0;
  for (int64_t i = 0; i < 3 * c->n; ++i) p->contacts.known[3 * p->contacts.n + i] = c->known[i];
  p->terms = (sap_terms){.model         = (sap_model)p->c->options->law,
                         .n_contacts    = p->contacts.n,
                         .contact       = p->contacts.law,
                         .n_constraints = c->n,
                         .constraint    = c->law};
  linearise_constraints(p);
  PetscCall(memory_alloc("free motion", p->unknowns.n, sizeof *p->v_free, &p->v_free));
  memcpy(p->v_free, p->motion.v, (size_t)p->unknowns.n * sizeof *p->v_free);
  step_unknowns_select(&p->unknowns, f->layout.v0, p->motion.v); /* initial guess */
  PetscCall(solve_nonlinear_step(p, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute free motion. Without contact, materials that are linearised about rotations are linearised again at the solution. */
static PetscErrorCode move_freely(convex_attempt *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  step_frame   *f    = &p->c->frame;
  const int64_t most = step_contacts_size(&f->contacts) + p->constraints.n > 0 ? 1 : p->c->options->max_outer_iterations;
  PetscCall(step_motion_solve(&p->motion, &f->layout, &p->unknowns, status, report));
  for (int64_t k = 1; k < most && status->code == STEP_OK; ++k) {
    bool has_changed;
    PetscCall(step_motion_relinearise(&p->motion, &f->layout, &p->unknowns, &has_changed));
    if (!has_changed) break;
    PetscCall(step_motion_evaluate(&p->motion, &f->layout, &p->unknowns, true, status, report));
    if (status->code != STEP_OK) break;
    if (step_unknowns_norm(&p->unknowns, &f->layout, p->motion.g) <= p->c->newton->tolerance) break;
    PetscCall(step_motion_solve(&p->motion, &f->layout, &p->unknowns, status, report));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode accept_step(convex_attempt *p, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  const convex_options *o                                                = p->c->options;
  double               *of_contact __attribute__((cleanup(memory_free))) = NULL;
  PetscCall(memory_alloc("energy of contacts", p->contacts.n, sizeof *of_contact, &of_contact));
  convex_contacts_evaluate(o, p->c->frame.contacts.shift, &p->contacts);
  const spring_energy energy = convex_contacts_energy(o, &p->c->frame, &p->contacts, of_contact);
  const step_outcome  law    = {.r      = p->contacts.r,
                                .u      = p->contacts.u,
                                .x      = p->contacts.x,
                                .scale  = p->contacts.scale,
                                .energy = of_contact,
                                .creep  = p->is_swept ? p->speed_limit : NULL};
  PetscCall(step_frame_accept(&p->c->frame, &law, status, report));
  report->contact.contact_energy += energy.end; /* to that of bodies at rest */
  report->contact.correction_work = energy.correction;
  report->contact.start_energy    = energy.start;
  report->contact.creep_bound     = convex_contacts_creep_bound(o, &p->contacts);
  report->contact_candidates      = p->contacts.n;
  report->over_constraint         = p->unknowns.n > 0 ? 3.0 * (double)p->contacts.n / (double)p->unknowns.n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_try(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt *p = context;
  step_frame     *f = &p->c->frame;
  p->report         = report;
  PetscCall(step_frame_start(f, &p->unknowns, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t a = 0; a < step_contacts_size(&f->contacts); ++a) f->contacts.shift[a] = 0.0; /* the laws contain the gaps */
  if (p->unknowns.n_full > 0) {
    PetscCall(step_unknowns_jacobian(&p->unknowns, &f->contacts.rows, &p->J));
    PetscCall(convex_constraints_create(&f->layout, &p->unknowns, &p->constraints));
    PetscCall(convex_constraints_append(&p->constraints, &p->unknowns, &p->J));
    const step_motion_options own = {p->c->options->linear, true, p->c->tries_exact, p->c->newton, p->c->motion_solver};
    PetscCall(step_motion_create(&f->layout, &p->unknowns, &own, &p->J, &p->motion));
    PetscCall(move_freely(p, status, report));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    if (step_contacts_size(&f->contacts) + p->constraints.n > 0) PetscCall(solve_with_contact(p, status));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  report->inner_iterations += p->motion.n_inner;
  PetscCall(accept_step(p, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_step(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt     now = {.c = (convex *)f};
  const step_attempt own = {convex_try, convex_finish, &now};
  PetscCall(step_run_attempt(f, &now.c->frame.layout, t, dt, &own, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Law `lagged` needs a stiffness: contacts as stiff as the step allows have impulses that change completely from step to step,
 * which give no limit for friction. */
static PetscErrorCode convex_check(const scene *s, diagnostics *d)
{
  const document_node *root = s->options->root, *where = document_find(root, "contact");
  PetscFunctionBegin;
  PetscCall(scene_overlap_check(s, d));
  if (s->options->solver->convex->law != SAP_LAGGED) PetscFunctionReturn(PETSC_SUCCESS);
  if (isfinite(s->options->contact->overlap_correction_speed))
    diagnostics_add_under(d, where, "contact", "overlap_correction_speed", "has no effect when solver.convex.law is lagged; remove it");
  bool is_missing = false;
  for (int64_t k = 0; k < s->pairs->n_slots; ++k)
    is_missing = is_missing || (s->pairs->count[k] > 0 && !s->laws[k].never_touch && isnan(s->laws[k].stiffness));
  for (int i = 0; i < s->n_bodies && is_missing; ++i)
    for (int j = i; j < s->n_bodies; ++j) {
      const contact_law *law = scene_law(s, i, j);
      if (law->never_touch || !isnan(law->stiffness)) continue;
      diagnostics_add(d, (where ? where : root)->mark, "contact.stiffness",
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
  linear_solver_destroy(&c->motion_solver);
  linear_solver_destroy(&c->contact_solver);
  linear_solver_destroy(&c->newton_solver);
  step_creep_destroy(&c->creep);
  memory_free(&c->tries_exact);
}

static const char MOTION[] = "convex_motion_", CONTACT[] = "convex_contact_", NEWTON[] = "convex_newton_"; /* prefixes of options */

static PetscErrorCode convex_create(scene *s, formulation *f)
{
  convex *c      = (convex *)f;
  bool    is_any = false;
  PetscFunctionBegin;
  c->options   = s->options->solver->convex;
  c->newton    = s->options->solver->newton;
  c->max_depth = 4.0 * c->options->max_static_penetration * s->length_scale;
  PetscCall(step_frame_create(s, 0.0, s->options->contact->skip_resting, &c->frame));
  PetscCall(linear_solver_create(s->comm, MOTION, &c->motion_solver));
  PetscCall(linear_solver_create(s->comm, CONTACT, &c->contact_solver));
  PetscCall(linear_solver_create(s->comm, NEWTON, &c->newton_solver));
  for (int i = 0; i < s->n_systems; ++i) is_any |= mpm_domain_has_projected_tangent(s->systems[i]);
  if (is_any)
    PetscCall(memory_alloc("systems", s->n_bodies, sizeof *c->tries_exact, &c->tries_exact)); /* poured bodies become systems later */
  for (int i = 0; i < s->n_systems && is_any; ++i) c->tries_exact[i] = mpm_domain_has_projected_tangent(s->systems[i]);
  c->sap           = c->options->sap;
  c->sap.tolerance = sap_tolerance(&c->sap);
  c->uses_sweeps   = step_creep_is_rigid(s) && (!isnan(c->options->max_creep) || isnan(c->options->sap.tolerance));
  if (c->uses_sweeps) PetscCall(step_creep_create(s, c->options->max_creep, &c->creep));
  convex_constraints_take_over(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_probe(const scene *s)
{
  PetscFunctionBegin;
  PetscCall(sparse_direct_probe(SPARSE_DIRECT_CHOLESKY));
  PetscCall(step_motion_probe(MOTION, s->options->solver->convex->linear));
  PetscCall(linear_solver_probe(CONTACT, KSPPREONLY, PCMASSFACTOR, true, false));
  PetscCall(linear_solver_probe(CONTACT, KSPPREONLY, PCMULTIFRONTAL, false, false));
  if (s->options->solver->convex->linear != MOTION_DIRECT)
    PetscCall(linear_solver_probe(CONTACT, KSPWEIGHTEDCG, PCSAPBLOCKS, false, false));
  PetscCall(linear_solver_probe(NEWTON, KSPGMRES, PCSAPBLOCKS, false, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[]           = {{"contact.overlap_correction", "springs correct overlaps", true},
                                              {"contact.restitution", "restitution is determined by solver.convex.relaxation_time", false},
                                              {"contact.pairs.restitution", "restitution is determined by solver.convex.relaxation_time", false},
                                              {"contact.pairs.friction_direction", "its friction cones are circular", false},
                                              {"contact.pairs.friction_transverse", "its friction cones are circular", false},
                                              {"output.fclib", "its contacts are compliant, which the file format does not support", true},
                                              {.path = NULL}};
const formulation_ops   convex_formulation = {
      .scene.name         = "convex",
      .scene.kinds        = "mpm fem cloth rod articulated rigid kinematic static",
      .scene.kinds_reason = "its continua are elastic or plastic",
      .scene.solver       = "newton convex petsc",
      .scene.unused       = unused,
      .scene.is_rigid     = true,
      .outer              = "Newton",
      .inner              = "contact",
      .report = REPORT_OUTER | REPORT_EVALUATIONS | REPORT_LINEAR | REPORT_INNER | REPORT_GRADIENT | REPORT_TOLERANCE | REPORT_CONTACT |
                REPORT_CONTACT_LAW | REPORT_IMPULSES | REPORT_CONTACT_PROBLEM | REPORT_RESTING | REPORT_CONVEX,
      .remedy         = "another solver.convex.law or a softer contact.stiffness",
      .size           = sizeof(convex),
      .create         = convex_create,
      .probe          = convex_probe,
      .scene.check    = convex_check,
      .step           = convex_step,
      .fields         = convex_fields,
      .scene.describe = convex_describe,
      .destroy        = convex_destroy,
};
