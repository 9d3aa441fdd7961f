/* The formulation `convex`: free motion, then one convex problem of contact [ZongJiangHan2024; convex contact, sec. 2, 11].
 *
 * Free motion v* solves m(v) = 0, m the systems' residuals with their implicit internal forces. Linearised there, with the
 * symmetric and definite tangent A, and with contacts found where the step begins,
 *
 *   A (v - v*) = J^T r,   r = -dl/du,   u = J v
 *
 * is the optimality of min 1/2 |v - v*|_A^2 + l(J v), with the potentials of optim/sap/sap_law.h: it has one solution, which the
 * solver finds from any start. What moves takes v = v* + A^-1 J^T r, so that momentum is kept to rounding. With linearisations
 * above 1 the problem is made again where it led to. Articulated bodies are blocks of A like any other. */
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "sim/convex/convex_contacts.h"
#include "sim/convex/convex_free.h"
#include "sim/step/step_finders.h"
#include <math.h>
#include <string.h>

typedef struct {
  step_frame frame;
} convex;

/* What one step needs, from its begin to its end. */
typedef struct {
  convex         *c;
  step_unknowns   unknowns;
  convex_motion   motion;
  convex_contacts contacts;
  sparse_rows     J;
  double         *v_free; /* [n] */
} convex_attempt;

static void convex_finish(void *context)
{
  convex_attempt *p = context;
  step_unknowns_destroy(&p->unknowns);
  convex_motion_destroy(&p->motion);
  convex_contacts_destroy(&p->contacts);
  sparse_rows_destroy(&p->J);
  memory_free(&p->v_free);
}

static const convex_options *options_of(const convex *c) { return c->frame.layout.scene->job->solver->convex; }

static void take_answer(const convex_options *o, const sap_result *answer, step_verdict *verdict, step_report *report)
{
  report->linear_iterations += answer->iterations;
  report->gradient = answer->error;
  if (answer->verdict == SAP_OK) return;
  ++report->fallbacks;
  if (answer->verdict == SAP_STOPPED || stop_is_urgent()) *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
  else if (!isfinite(answer->error)) *verdict = (step_verdict){STEP_NOT_FINITE, NULL, -1};
  else if (!(answer->error <= o->stall_tolerance)) *verdict = (step_verdict){STEP_FRICTION, NULL, -1};
}

/* Impulses and velocities for the systems as linearised: v_free + A^-1 J^T r, from p->motion.v as a guess, which it becomes. */
static PetscErrorCode solve_contact(convex_attempt *p, step_verdict *verdict, step_report *report)
{
  const convex_options *o = options_of(p->c);
  convex_contacts      *c = &p->contacts;
  sap_result            answer;
  PetscFunctionBegin;
  const sap_problem problem = {&p->motion.A, &p->J, p->motion.factor, c->n, p->v_free, c->known, (sap_model)o->law, c->law};
  timer_begin(TIMER_FRICTION);
  PetscCall(sap_solve(&problem, &o->sap, p->motion.v, c->r, c->u, &answer));
  timer_end(TIMER_FRICTION);
  take_answer(o, &answer, verdict, report);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left of the whole problem at p->motion.v with these impulses: |D^-1 (m - J^T r)|. */
static PetscErrorCode evaluate(convex_attempt *p, double *norm, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame *f = &p->c->frame;
  double      alone;
  PetscCall(convex_motion_evaluate(&p->motion, &f->layout, &p->unknowns, &alone, verdict, report));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  contact_jacobian_scatter(&f->contacts.rows, -1.0, p->contacts.r, p->motion.full);
  step_unknowns_fold(&p->unknowns, p->motion.full, p->motion.right);
  *norm = convex_motion_norm(&f->layout, &p->unknowns, p->motion.right);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v_free of the systems as linearised where m->g was evaluated: v - A^-1 g. */
static void free_of(const convex_motion *m, int64_t n, double *v_free)
{
  const int32_t *dof = mass_factor_dof(m->factor);
  for (int64_t at = 0; at < n; ++at) m->right[at] = m->g[dof[at]];
  mass_factor_solve_places(m->factor, m->right);
  for (int64_t at = 0; at < n; ++at) v_free[dof[at]] = m->v[dof[at]] - m->right[at];
}

/* How often the systems are linearised: those that have kinks until they are on the right side of them, if it takes no more than
 * that. */
static int64_t most_linearisations(const convex_attempt *p)
{
  enum { KINKED = 30 };
  const scene  *s = p->c->frame.layout.scene;
  const int64_t n = options_of(p->c)->linearisations;
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->has_kinks && s->systems[i]->ops->has_kinks(s->systems[i])) return n > KINKED ? n : KINKED;
  return n;
}

static PetscErrorCode add_contact(convex_attempt *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_frame           *f = &p->c->frame;
  const convex_options *o = options_of(p->c);
  const int64_t         most = most_linearisations(p);
  double                norm = INFINITY;
  PetscCall(step_unknowns_jacobian(&p->unknowns, &f->contacts.rows, &p->J));
  PetscCall(convex_contacts_create(o, f, &p->unknowns, &p->motion.A, &p->J, &p->contacts));
  PetscCall(memory_alloc("free motion", p->unknowns.n, sizeof *p->v_free, &p->v_free));
  for (int64_t i = 0; i < p->unknowns.n; ++i) p->v_free[i] = p->motion.v[i];
  step_unknowns_pick(&p->unknowns, f->layout.v0, p->motion.v); /* the guess */
  for (int64_t k = 1;; ++k) {
    PetscCall(solve_contact(p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(evaluate(p, &norm, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    report->residual = norm;
    if (k == most || norm <= f->layout.scene->job->solver->newton->tolerance) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(convex_motion_linearise(&p->motion, &f->layout, &p->unknowns, false, verdict));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    free_of(&p->motion, p->unknowns.n, p->v_free);
  }
}

static PetscErrorCode accept(convex_attempt *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  const convex_options *o   = options_of(p->c);
  const step_outcome    law = {.r = p->contacts.r, .u = p->contacts.u, .x = p->contacts.x, .scale = p->contacts.scale};
  convex_contacts_judge(o, &p->contacts);
  PetscCall(step_frame_accept(&p->c->frame, &law, verdict, report));
  report->contact.creep_bound      = convex_contacts_creep_bound(o, &p->contacts);
  report->friction.n_contacts      = p->contacts.n;
  report->friction.over_constraint = p->unknowns.n > 0 ? 3.0 * (double)p->contacts.n / (double)p->unknowns.n : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_try(void *context, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt *p = context;
  step_frame     *f = &p->c->frame;
  PetscCall(step_frame_start(f, &p->unknowns, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t a = 0; a < step_contacts_size(&f->contacts); ++a) f->contacts.shift[a] = 0.0; /* gaps are the potentials' business */
  if (p->unknowns.n_full > 0) {
    PetscCall(convex_motion_create(&f->layout, &p->unknowns, &p->motion));
    PetscCall(convex_motion_solve(&p->motion, &f->layout, &p->unknowns, verdict, report));
    if (verdict->code == STEP_OK && step_contacts_size(&f->contacts) > 0) PetscCall(add_contact(p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(accept(p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_step(formulation *f, double t, double dt, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  convex_attempt now = {.c = (convex *)f};
  const step_try own = {convex_try, convex_finish, &now};
  PetscCall(step_take(&now.c->frame.layout, t, dt, &own, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs as stiff as the step can carry push, in a step, with what the next has no more of: no limit for its friction. */
static PetscErrorCode convex_check(const scene *s, diagnostics *d)
{
  const document_node *root = document_root(s->job->document), *where = document_find(root, "contact");
  PetscFunctionBegin;
  if (s->job->solver->convex->law != SAP_LAGGED) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < s->n_bodies; ++i)
    for (int j = i; j < s->n_bodies; ++j) {
      const contact_law *law = &s->laws[i * s->n_bodies + j];
      if (law->never_touch || !isnan(law->stiffness)) continue;
      diagnostics_add(
          d, (where ? where : root)->mark, "contact.stiffness",
          "missing: \"%s\" and \"%s\" may touch, and law: lagged needs the stiffness of what touches; give one in N/m, or "
          "take law: regularised",
          s->bodies[i].name, s->bodies[j].name);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode convex_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation convex: free motion, then contact as one convex problem, law %s; contacts are found between\n",
          s->job->solver->convex->law == SAP_LAGGED ? "lagged" : "regularised");
  return step_finders_describe(s, out);
}

static PetscErrorCode convex_fields(formulation *f, field_table *table) { return step_frame_fields(&((convex *)f)->frame, table); }

static void convex_destroy(formulation **f)
{
  convex *c = (convex *)*f;
  if (!c) return;
  step_frame_destroy(&c->frame);
  memory_free(&c);
  *f = NULL;
}

static PetscErrorCode convex_create(scene *s, formulation **out)
{
  PetscFunctionBegin;
  convex *c;
  PetscCall(memory_alloc("convex formulation", 1, sizeof *c, &c));
  c->frame.base.ops = &convex_formulation;
  *out              = &c->frame.base;
  PetscCall(step_frame_create(s, 0.0, &c->frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const formulation_ops convex_formulation = {
  .name     = "convex",
  .is_rigid = true,
  .outer    = "Newton",
  .inner    = "contact",
  .remedy   = "another solver.convex.law or a softer contact.stiffness",
  .create   = convex_create,
  .check    = convex_check,
  .step     = convex_step,
  .fields   = convex_fields,
  .describe = convex_describe,
  .destroy  = convex_destroy,
};
