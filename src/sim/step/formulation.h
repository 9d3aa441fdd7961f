/* Interface of a formulation: a method that advances a scene by one step. Each of the five published systems is one folder of
 * src/sim with one table formulation_ops. app/run calls the functions; the registry of all tables is sim/formulations.h. */
#ifndef SS_SIM_STEP_FORMULATION_H
#define SS_SIM_STEP_FORMULATION_H
#include "contact/detection/contact_record.h"
#include "core/field_table.h"
#include "discretize/body/step_status.h"
#include "sim/scene/scene_options.h"

/* Results of the friction solver, for formulations that solve for impulses with exact Coulomb friction. */
typedef struct {
  int64_t n_contacts, iterations;    /* contacts in the friction problem; iterations of all its solves in the step */
  double  absolute, siconos, scaled; /* errors of the last solve, see friction.h */
  double  over_constraint;           /* 3 n_contacts over the number of free unknowns */
  int     method;                    /* method that found the solution, index of friction_solvers; -1: no problem was solved */
} friction_report;

/* Results for a continuum on a staggered grid with bodies in it. Residuals of the last solve of the step, evaluated
 * independently of the solver. */
typedef struct {
  int64_t cells, stresses;      /* unknown pressures, unknown stresses */
  int64_t stress_iterations, contact_iterations; /* inner iterations; pressure iterations are linear_iterations, outer iterations
                                                  * newton_iterations */
  double  error;                /* largest natural map of p, s, lambda, z, each in its own scale; 0 at a solution */
  double  yield;                /* max |s|/(alpha (p + c)), at most 1 */
  double  complementarity, contact_complementarity; /* sum |(p + c) d|, d the rate of volume [W]; sum |lambda u_N| [W] */
  double  volume_rate;          /* rate of volume loss that remains [m^3/s] */
  double  volume;               /* of the continuum, from its signed distance, without the volume inside solids [m^3] */
  double  excess;               /* mass in excess of the rest density, summed over cells that are denser than at rest, as a
                                 * fraction of the total mass */
} continuum_report;

/* Results of contact through a grid (augury) and by impulses, for formulation hybrid. */
typedef struct {
  int64_t iterations, points;   /* augury iterations; sample points transferred to the grid */
  double  left;                 /* velocity change that the augury iteration would still undo [m/s] */
  double  spin[3];              /* angular momentum stored in affine velocity parts of boundaries, in addition to that of the
                                 * bodies [N m s] */
  int64_t meetings, zone_nodes; /* colliding pairs, summed over all detections; nodes in zones that had to move rigidly */
} transfer_report;

/* Cost and results of one accepted or rejected step, for the history table. */
typedef struct {
  int64_t         newton_iterations, linear_iterations, evaluations, fallbacks;
  int64_t         inner_iterations;   /* iterations of linear solvers inside these, where there are any */
  double          residual, gradient; /* |D^-1 g|, |H^T g| in the solver's scaling, at the last state */
  bool            is_unsolved;        /* the step was accepted although its residual exceeds solver.newton.tolerance */
  contact_summary contact;
  friction_report friction;
  continuum_report continuum;
  transfer_report transfer;
  double          friction_work, friction_astray; /* [J] contact.friction_work and contact.friction_astray summed over all steps
                                                   * since the run began; set by app/run */
} step_report;

typedef struct formulation formulation;
typedef struct {
  scene_formulation scene; /* properties that scenes need */
  const char *outer, *inner; /* names of its iterations in logs: of newton_iterations, and of linear_iterations or
                              * friction.iterations */
  const char *remedy;        /* remedy named in the message when a step fails at every size: "a softer contact.stiffness" */
  size_t      size;          /* of the formulation's struct, whose first member is a `formulation` */
  /* Fill in f, which is zero except for ops. After a failure f->ops->destroy must accept what was built. */
  PetscErrorCode (*create)(scene *s, formulation *f);
  /* Create every PETSc solver that steps of the scene may use, for a few unknowns and unit matrices, with the options in PETSc's
   * database; set it up and destroy it. Prints nothing, solves nothing. Called by petsc_options_check before the run. NULL: none. */
  PetscErrorCode (*probe)(const scene *s);
  /* Advance the scene from t to t + dt. If the status is negative, nothing has changed. Calls stop_is_urgent() often and returns
   * STEP_INTERRUPTED when it is true. */
  PetscErrorCode (*step)(formulation *f, double t, double dt, step_status *verdict, step_report *report);
  /* Pressure [Pa] of the continuum at x in the last accepted step. NULL: the formulation has no continuum. */
  double (*pressure)(const formulation *f, const double x[3]);
  PetscErrorCode (*fields)(formulation *f, field_table *table);
  /* Write the last contact problem of the last accepted step as an FCLIB file; writes nothing without contacts. NULL: not
   * supported. */
  PetscErrorCode (*write_problem)(const formulation *f, const char *path);
  void (*destroy)(formulation *f); /* frees the members, not the struct itself */
} formulation_ops;

struct formulation {
  const formulation_ops *ops;
  /* Of the last accepted step: the contact points, and the forces that bodies exert on each other. Owned by the module that set
   * them. */
  const contact_points *points;
  const contact_forces *forces;
};

/* Create a formulation for a scene, which must outlive it. On failure *out must still be destroyed. */
PetscErrorCode formulation_create(const formulation_ops *ops, scene *s, formulation **out);
void           formulation_destroy(formulation **f); /* accepts NULL */
#endif
