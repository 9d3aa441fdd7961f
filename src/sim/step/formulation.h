/* Interface of a formulation: a method that advances a scene by one step. Each of the five published systems is one folder of
 * src/sim with one table formulation_ops. app/run calls the functions; the registry of all tables is sim/formulations.h. */
#ifndef SS_SIM_STEP_FORMULATION_H
#define SS_SIM_STEP_FORMULATION_H
#include "core/field_table.h"
#include "discretize/body/step_status.h"
#include "sim/scene/scene_options.h"
#include "sim/step/step_report.h"

typedef struct formulation formulation;
typedef struct {
  scene_formulation scene;             /* properties that scenes need */
  const char       *outer, *inner;     /* names in log lines of newton_iterations, and of linear_iterations +
                              * friction_iterations */
  int               report;            /* groups of quantities that it reports: REPORT_OUTER | ... */
  int (*not_reported)(const scene *s); /* groups of `report` without meaning for a scene; NULL: none */
  const char *remedy;                  /* remedy in the message if a step fails at the smallest step length: "a softer contact.stiffness" */
  size_t      size;                    /* of the formulation's struct, whose first member is a `formulation` */
  /* Fill in f, which is zero except for ops. After a failure f->ops->destroy must accept the incomplete f. */
  PetscErrorCode (*create)(scene *s, formulation *f);
  /* Create every PETSc solver that steps of the scene may use, for a few unknowns and unit matrices, with the options in PETSc's
   * database; set it up and destroy it. Prints nothing, solves nothing. Called by petsc_options_check before the run. NULL: none. */
  PetscErrorCode (*probe)(const scene *s);
  /* Advance the scene from t to t + dt. If the status is negative, nothing has changed. Calls stop_is_urgent() often and returns
   * STEP_INTERRUPTED when it is true. */
  PetscErrorCode (*step)(formulation *f, double t, double dt, step_status *status, step_report *report);
  /* Pressure [Pa] of the continuum at x in the last accepted step. NULL: the formulation has no continuum. */
  double (*pressure)(const formulation *f, const double x[3]);
  PetscErrorCode (*fields)(formulation *f, field_table *table); /* register the state of checkpoints and fields of frames */
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
  const contact_forces *mean_forces; /* set by app/run: means over a step that was done in substeps; NULL: the step had none */
  bool has_changed_job;     /* set by app/run: the job has changed since the state was stored; cleared by formulations that use it */
  bool accepts_unconverged; /* set by app/run: the next step accepts the best state that its solvers reach */
  bool is_precise;          /* set by static_equilibrium.c: the next step uses step_layout_tolerance's smaller tolerance */
  bool repeats_stalled; /* set by app/run: a stalled step above solver.newton.tolerance fails, so that it is repeated in substeps, unless
                                          * the job gives a stall_tolerance */
};

/* Create a formulation for a scene, which must outlive it. On failure *out must still be destroyed. */
PetscErrorCode formulation_create(const formulation_ops *ops, scene *s, formulation **out);
void           formulation_destroy(formulation **f); /* accepts NULL */
#endif
