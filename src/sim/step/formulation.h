/* A formulation advances a scene by one step: the five published systems each become one file with this face. */
#ifndef SS_SIM_STEP_FORMULATION_H
#define SS_SIM_STEP_FORMULATION_H
#include "contact/detection/contact_record.h"
#include "core/field_table.h"
#include "discretize/body/step_status.h"
#include "sim/scene/scene_options.h"

/* Of the solver for impulses with exact friction, in formulations that have one. */
typedef struct {
  int64_t n_contacts, iterations;    /* contacts that might have acted; iterations in all its solves of the step */
  double  absolute, siconos, scaled; /* errors of the last solve, see friction.h */
  double  over_constraint;           /* 3 n_contacts over the number of free unknowns */
  int     method;                    /* that answered, index of friction_solvers; -1: none was asked */
} friction_report;

/* Of a continuum on a staggered grid with bodies in it, in formulations that have one: the last solve of the step, judged apart from
 * the solver that found it. */
typedef struct {
  int64_t cells, stresses;      /* unknown pressures, unknown stresses */
  int64_t stress_iterations, contact_iterations; /* inner ones; those of pressure are linear_iterations, outer ones newton_iterations */
  double  error;                /* largest natural map of p, s, lambda, z, each in its own scale; 0 at a solution */
  double  yield;                /* max |s|/(alpha (p + c)), at most 1 */
  double  complementarity, contact_complementarity; /* sum |(p + c) d|, d the rate of volume [W]; sum |lambda u_N| [W] */
  double  volume_rate;          /* volume that is still lost [m^3/s] */
  double  volume;               /* that the continuum takes up, from its signed distance, without what is in solids [m^3] */
  double  excess;               /* mass in cells denser than at rest, over what they hold at rest, as a share of all */
} continuum_report;

/* Of contact through a grid and by impulses, in formulations that have it. */
typedef struct {
  int64_t iterations, points;   /* of augury; points that went to the grid */
  double  left;                 /* change that was still to be taken back [m/s] */
  double  spin[3];              /* angular momentum that boundaries carry as affine parts, besides that of bodies [N m s] */
  int64_t meetings, zone_nodes; /* pairs found on their way, each time; nodes that had to move rigidly */
} transfer_report;

/* What one accepted (or refused) step cost and found, for the history table. */
typedef struct {
  int64_t         newton_iterations, linear_iterations, evaluations, fallbacks;
  int64_t         inner_iterations;   /* of linear solvers inside of these, where there are such */
  double          residual, gradient; /* |D^-1 g|, |H^T g| in the solver's scaling, at the last state */
  bool            is_unsolved;        /* the residual was taken although it is above solver.newton.tolerance */
  contact_summary contact;
  friction_report friction;
  continuum_report continuum;
  transfer_report transfer;
  double          friction_work, friction_astray; /* [J] those of contact, of all steps since the run began; the run adds them up */
} step_report;

typedef struct formulation formulation;
typedef struct {
  scene_formulation scene; /* what scenes need of it */
  const char *outer, *inner; /* what its iterations are called: those of newton_iterations, those of linear_iterations or friction */
  const char *remedy;        /* what may help a step that fails at any size: "a softer contact.stiffness" */
  size_t      size;          /* of what begins with a `formulation` */
  /* f, zeros but for ops, is filled in place; f->ops->destroy copes with what a failure leaves. */
  PetscErrorCode (*create)(scene *s, formulation *f);
  /* Advance the scene from t to t + dt. On a negative verdict nothing has changed. Looks at stop_is_urgent() often, and then gives
   * up with STEP_DROPPED. */
  PetscErrorCode (*step)(formulation *f, double t, double dt, step_verdict *verdict, step_report *report);
  /* Pressure [Pa] of the continuum at x in the last accepted step; NULL: there is none. */
  double (*pressure)(const formulation *f, const double x[3]);
  PetscErrorCode (*fields)(formulation *f, field_table *table);
  /* The last contact problem of the last accepted step as an FCLIB file; nothing without contacts. NULL: it has none. */
  PetscErrorCode (*write_problem)(const formulation *f, const char *path);
  void (*destroy)(formulation *f); /* what it holds, not itself */
} formulation_ops;

struct formulation {
  const formulation_ops *ops;
  /* Of the last accepted step: the contacts, and the forces that bodies exert on each other. Owned by whoever made the formulation. */
  const contact_points *points;
  const contact_forces *forces;
};

/* Of a scene, which must outlive it. On failure *out is still to be destroyed. */
PetscErrorCode formulation_create(const formulation_ops *ops, scene *s, formulation **out);
void           formulation_destroy(formulation **f); /* copes with NULL */
#endif
