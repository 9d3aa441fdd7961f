/* The part of a job that a scene is built from: time steps, contact laws, materials, bodies and shared grids. app/job reads it from YAML by the
 * key tables below; a scene borrows it (scene.options). Formulations copy what they need from it when they are created. SI units. */
#ifndef SS_SIM_SCENE_SCENE_OPTIONS_H
#define SS_SIM_SCENE_SCENE_OPTIONS_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mpm/mpm_keys.h"
#include <stdio.h>

typedef struct {
  int64_t halvings;
} retry_options;
typedef struct {
  double           end, step, frame;
  const retry_options *retry;
} time_options;

typedef struct {
  key_list between; /* two names: bodies or materials */
  double   friction, stiffness, restitution; /* NaN: the default */
  double   friction_transverse, friction_direction[3]; /* NaN: not given */
  bool     touch;
} contact_pair_options;
typedef struct {
  double   friction, stiffness; /* NaN: not given */
  double   restitution;
  double   overlap_share, overlap_speed; /* the former of `exact` and `monolith`; the latter [m/s], NaN: not given */
  bool     edges;               /* of surfaces meet */
  int      scheme;              /* contact_scheme */
  int      detection;           /* contact_detection */
  key_list pairs;
} contact_options;

typedef struct scene scene;
/* Properties of the formulation that steps a scene: the part of its formulation_ops (sim/step/formulation.h) that the scene needs. */
typedef struct {
  const char *name;            /* value of `formulation:` in a job */
  bool        is_rigid;        /* contacts are rows that a law is put on, no springs on bodies: a stiffness need not be given */
  bool        has_light_nodes; /* light grid nodes of sand follow others unless the job says otherwise */
  bool        meets_on_grid;   /* bodies that share a grid meet level sets there, not with points */
  /* Complaints about a scene that it cannot step, to `d`. NULL: it has none. */
  PetscErrorCode (*check)(const scene *s, diagnostics *d);
  /* What `check` says of it, in a few lines; NULL: nothing. */
  PetscErrorCode (*describe)(const scene *s, FILE *out);
} scene_formulation;

typedef struct scene_options {
  const char            *name; /* of the run */
  double                 gravity[3];
  const time_options    *time;
  key_list               materials, bodies;
  const mpm_options     *mpm; /* what bodies of kind mpm share */
  const mac_options     *mac; /* what bodies of kind mac share; NULL: not given */
  const contact_options *contact;
  const struct solver_options *solver; /* for formulations, sim/step/solver_options.h */
  /* Not read from keys of the same name: */
  const scene_formulation *formulation;
  double                   acceleration_scale;     /* g0 of the residual norm, resolved */
  bool                     has_assembled_tangent;  /* the preconditioner metis_schwarz, which cannot have light grid nodes */
  bool                     keeps_origins;          /* some measure compares with initial positions */
  bool                     keeps_problem;          /* output.fclib: the last contact problem can be written */
  const key_list          *glass;                  /* picture.glass, names of bodies to be checked; NULL: not given */
  const document_node     *root;                   /* of the job's document, for the places of complaints */
} scene_options;

extern const key_table time_table, contact_table; /* `time:` and `contact:` of a job */
#endif
