/* The formulation `exact`: backward Euler with rigid contact and exact Coulomb friction [BertailsEtAl2011]. The step is solved by
 * sim/step/step_coulomb.c; this file adds the options, and the export of contact problems. */
#include "core/memory.h"
#include "sim/exact/exact_export.h"
#include "sim/exact/exact_keys.h"
#include "sim/step/step_coulomb.h"
#include "sim/scene/scene_overlap_check.h"
#include "sim/step/step_creep.h"
#include <string.h>

typedef struct {
  step_frame           frame;
  step_coulomb_options options;
  const char          *name; /* of the run, in files of contact problems */
  exact_export         last; /* if options.keep_problem is set */
  step_creep           creep;
  linear_solver       *motion_solver, *contact_solver;
} exact;

/* Temporary data of one step. */
typedef struct {
  exact       *e;
  step_coulomb problem;
} exact_attempt;

static PetscErrorCode keep_problem(void *context, const delassus *W, int64_t n, const double *v_free, const double *q, const double *mu,
                                   const double *guess)
{
  return exact_export_problem(context, W, n, v_free, q, mu, guess);
}
static void keep_solution(void *context, const double *r, const double *u, const double *v) { exact_export_solution(context, r, u, v); }

static void exact_finish(void *context) { step_coulomb_destroy(&((exact_attempt *)context)->problem); }

static PetscErrorCode exact_try(void *context, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  exact_attempt *p   = context;
  exact         *e   = p->e;
  e->last.n_contacts = 0;
  PetscCall(step_coulomb_solve(&p->problem, &e->frame, &e->options, status, report));
  if (status->code == STEP_OK) PetscCall(step_coulomb_accept(&p->problem, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_step(formulation *f, double t, double dt, step_status *status, step_report *report)
{
  PetscFunctionBegin;
  exact_attempt      now = {.e = (exact *)f};
  const step_attempt own = {exact_try, exact_finish, &now};
  PetscCall(step_run_attempt(f, &now.e->frame.layout, t, dt, &own, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation exact: rigid contact, Coulomb friction solved by %s; contacts are detected between\n",
          friction_solvers[s->options->solver->friction->method].name);
  return step_contacts_describe(s, out);
}

static PetscErrorCode exact_write_problem(const formulation *f, const char *path)
{
  const exact *e = (const exact *)f;
  return exact_export_write(&e->last, e->name, path);
}

static PetscErrorCode exact_fields(formulation *f, field_table *table) { return step_frame_fields(&((exact *)f)->frame, table); }

static void exact_destroy(formulation *f)
{
  exact *e = (exact *)f;
  step_frame_destroy(&e->frame);
  exact_export_destroy(&e->last);
  step_creep_destroy(&e->creep);
  linear_solver_destroy(&e->motion_solver);
  linear_solver_destroy(&e->contact_solver);
}

static const char MOTION[] = "exact_motion_", CONTACT[] = "exact_contact_"; /* prefixes of options */

static PetscErrorCode exact_create(scene *s, formulation *f)
{
  PetscFunctionBegin;
  const scene_options *o = s->options;
  exact               *e = (exact *)f;
  e->name                = o->name;
  PetscCall(linear_solver_create(s->comm, MOTION, &e->motion_solver));
  PetscCall(linear_solver_create(s->comm, CONTACT, &e->contact_solver));
  e->options = (step_coulomb_options){.newton                   = o->solver->newton,
                                      .friction                 = o->solver->friction,
                                      .friction_stall_tolerance = solver_contact_stall_tolerance(o->solver->exact->friction_stall_tolerance,
                                                                                                 friction_tolerance(o->solver->friction)),
                                      .motion_solver            = e->motion_solver,
                                      .contact_solver           = e->contact_solver,
                                      .context                  = &e->last};
  if (step_creep_applies(s, o->solver->exact->max_creep, o->solver->friction)) {
    PetscCall(step_creep_create(s, o->solver->exact->max_creep, &e->creep));
    e->options.creep                 = &e->creep;
    e->options.creep_stall_tolerance = solver_stall_tolerance(NAN, 1.0);
  }
  if (o->keeps_problem) e->options.keep_problem = keep_problem, e->options.keep_solution = keep_solution;
  PetscCall(step_frame_create(s, o->contact->overlap_correction, o->contact->skip_resting, &e->frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_probe(const scene *s)
{
  PetscFunctionBegin;
  PetscCall(step_coulomb_probe(MOTION, CONTACT, s->options->solver->friction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const unused_key unused[]          = {{"contact.stiffness", "contact is rigid, without springs", true},
                                             {"contact.pairs.stiffness", "contact is rigid, without springs", true},
                                             {"contact.pairs.friction_direction", "its friction cones are circular", false},
                                             {"contact.pairs.friction_transverse", "its friction cones are circular", false},
                                             {.path = NULL}};
const formulation_ops   exact_formulation = {
      .scene.name         = "exact",
      .scene.kinds        = "mpm fem cloth rod articulated rigid kinematic static",
      .scene.kinds_reason = "its continua are elastic or plastic",
      .scene.solver       = "newton friction exact petsc",
      .scene.unused       = unused,
      .scene.is_rigid     = true,
      .outer              = "Newton",
      .inner              = "friction",
      .report             = REPORT_OUTER | REPORT_EVALUATIONS | REPORT_TOLERANCE | REPORT_CONTACT | REPORT_CONTACT_LAW | REPORT_IMPULSES |
                REPORT_CONTACT_PROBLEM | REPORT_RESTING | REPORT_FRICTION_SOLVER,
      .remedy         = "another solver.friction.method",
      .size           = sizeof(exact),
      .create         = exact_create,
      .probe          = exact_probe,
      .step           = exact_step,
      .fields         = exact_fields,
      .scene.check    = scene_overlap_check,
      .scene.describe = exact_describe,
      .write_problem  = exact_write_problem,
      .destroy        = exact_destroy,
};
