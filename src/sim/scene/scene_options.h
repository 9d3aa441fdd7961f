/* Options of a scene: the part of a job that a scene is built from, i.e. time steps, contact laws, materials, bodies and shared
 * grids. app/job reads them from YAML by the key tables below. A scene borrows them (scene.options). Formulations copy what they
 * need when they are created. SI units. */
#ifndef SS_SIM_SCENE_SCENE_OPTIONS_H
#define SS_SIM_SCENE_SCENE_OPTIONS_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mpm/mpm_body.h"
#include <stdio.h>

typedef struct {
  int64_t halvings;
} retry_options;
typedef struct {
  double               end, step, frame;
  const retry_options *retry;
} time_options;

typedef struct {
  key_list between;                                    /* names of two bodies or materials */
  double   friction, stiffness, restitution;           /* NaN: the default of contact_options */
  double   friction_transverse, friction_direction[3]; /* NaN: not given */
  bool     contact;                                    /* false: the two are never in contact */
} contact_pair_options;
typedef struct {
  double   friction, stiffness; /* NaN: not given */
  double   restitution;
  double   overlap_correction, overlap_correction_speed; /* the first for `exact` and `monolith`; speed [m/s], NaN: not given */
  key_list pairs;
} contact_options;

typedef struct scene scene;
/* A key that a formulation does not use. */
typedef struct {
  const char *path;      /* "contact.pairs.friction_direction"; includes the keys below it. NULL: end of the list */
  const char *reason;    /* end of the message, for example "its friction cones are circular" */
  bool        is_notice; /* false: error. true: the key is accepted and reported as unused, because other formulations need it */
} unused_key;
/* Properties of the formulation that the scene needs; part of formulation_ops (sim/step/formulation.h). */
typedef struct {
  const char       *name;            /* value of `formulation:` in a job */
  const char       *kinds;           /* kinds of bodies that it supports, separated by spaces */
  const char       *kinds_reason;    /* why it supports no others */
  const char       *solver;          /* keys of `solver:` that it reads, separated by spaces; it reports all others as unused */
  const unused_key *unused;          /* NULL: none */
  bool              is_rigid;        /* contacts are rows with a contact law, not springs: a stiffness is not required */
  bool              has_light_nodes; /* light MPM grid nodes of sand are dependent nodes by default */
  bool              meets_on_grid;   /* bodies with a shared grid are in contact with level sets on that grid, not at points */
  /* Report to `d` a scene that the formulation cannot step. NULL: no checks. */
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
  const document_node     *root;                  /* root of the job's document, for positions in errors */
} scene_options;

extern const key_table time_table, contact_table; /* `time:` and `contact:` of a job */
#endif
