/* Options of a scene: time steps, contact laws, materials, bodies and shared grids of a job. app/job reads them from YAML with key
 * tables. A scene borrows them (scene.options). Formulations copy the options that they need when they are created. SI units. */
#ifndef SS_SIM_SCENE_SCENE_OPTIONS_H
#define SS_SIM_SCENE_SCENE_OPTIONS_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mpm/mpm_body.h"
#include <stdio.h>

enum { RETRY_ACCEPT_NEVER, RETRY_ACCEPT_SMALLEST_STEP, RETRY_ACCEPT_ALWAYS };
typedef struct {
  int64_t halvings;           /* maximum number of step halvings after a failed step */
  int     accept_unconverged; /* RETRY_ACCEPT_...: whether the best state is accepted if a solver does not converge */
} retry_options;
enum { TIME_START_AS_GIVEN, TIME_START_AT_REST };
typedef struct {
  double               end, step, frame; /* [s] end time, step length, time between frames */
  int                  start;            /* TIME_START_... */
  const retry_options *retry;
} time_options;

enum { CONTACT_OVERLAP_REJECT, CONTACT_OVERLAP_PERMIT, CONTACT_OVERLAP_PRELOAD }; /* bodies that overlap at the start of the run */
typedef struct {
  key_list between;                                    /* names of two bodies or materials */
  double   friction, stiffness, restitution;           /* NaN: the default of contact_options */
  double   friction_transverse, friction_direction[3]; /* NaN: not given */
  bool     contact;                                    /* false: the two are never in contact */
  int      initial_overlap;                            /* CONTACT_OVERLAP_...; -1: that of contact_options */
} contact_pair_options;
typedef struct {
  double friction, stiffness; /* NaN: not given; stiffness -INFINITY: `auto`, see contact_stiffness.h */
  double restitution;
  double overlap_correction,
      overlap_correction_speed; /* share of an overlap corrected per step (exact, monolith); speed [m/s], NaN: not given */
  int      initial_overlap;     /* CONTACT_OVERLAP_... */
  bool     skip_resting;        /* sim/step/resting_islands.h */
  key_list pairs;
} contact_options;

typedef struct scene scene;
/* A key that a formulation does not use. */
typedef struct {
  const char *path;      /* "contact.pairs.friction_direction"; includes the keys below it. NULL: end of the list */
  const char *reason;    /* last part of the message: why the formulation does not use it, "its friction cones are circular" */
  bool        is_notice; /* false: error. true: the key is accepted and reported as unused, because other formulations need it */
} unused_key;
/* Properties of the formulation that the scene needs; part of formulation_ops (sim/step/formulation.h). */
typedef struct {
  const char       *name;            /* value of `formulation:` in a job */
  const char       *kinds;           /* kinds of bodies that it supports, separated by spaces */
  const char       *kinds_reason;    /* reason why it supports no others, for the message */
  const char       *solver;          /* keys of `solver:` that it reads, separated by spaces; all others are reported as unused */
  const unused_key *unused;          /* NULL: none */
  bool              is_rigid;        /* contacts are rows with a contact law, not springs: a stiffness is not required */
  bool              has_light_nodes; /* light MPM grid nodes of sand are dependent nodes by default */
  bool              touches_on_grid; /* bodies with a shared grid are in contact with level sets on that grid, not at points */
  bool              checks_surfaces; /* its `check` reports intersections of triangle surfaces at the start of the run */
  /* Add an entry to `d` for each property of the scene that the formulation does not support. NULL: no checks. */
  PetscErrorCode (*check)(const scene *s, diagnostics *d);
  /* Print a few lines for the command `check`; NULL: nothing. */
  PetscErrorCode (*describe)(const scene *s, FILE *out);
} scene_formulation;

typedef struct scene_options {
  const char                  *name; /* of the run */
  double                       gravity[3];
  const time_options          *time;
  key_list                     materials, bodies;
  const mpm_options           *mpm; /* shared options of bodies of kind mpm */
  const mac_options           *mac; /* shared options of bodies of kind mac; NULL: not given */
  const contact_options       *contact;
  const struct solver_options *solver; /* not used by the scene; for formulations (sim/step/solver_options.h) */
  /* Derived from several keys by app/job: */
  const scene_formulation *formulation;
  double                   acceleration_scale;    /* g0 of the residual norm [m/s^2] */
  bool                     has_assembled_tangent; /* preconditioner metis_schwarz, which does not support light grid nodes */
  bool                     keeps_origins;         /* some measure compares with initial positions */
  bool                     keeps_problem;         /* output.fclib > 0: the last contact problem must be available */
  const key_list          *transparent;           /* picture.transparent: names of bodies, checked by the scene; NULL: not given */
  key_list                 ignored_warnings;      /* const char *: codes of warning_codes.h that are not reported */
  const document_node     *root;                  /* root of the job's document, for positions in errors */
} scene_options;

extern const key_table time_table, contact_table; /* `time:` and `contact:` of a job */
#endif
