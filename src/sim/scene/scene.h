/* A scene: the bodies of a job, what they are made of, and which of them may touch how. Built from a job, advanced by a
 * formulation, seen by output through its field table. */
#ifndef SS_SIM_SCENE_SCENE_H
#define SS_SIM_SCENE_SCENE_H
#include "contact/detection/contact.h"
#include "core/field_table.h"
#include "discretize/body/body_kind.h"
#include "sim/scene/scene_options.h"

/* One entry of `bodies:` in the job, in the job's order, followed by its parts, if it has any. */
typedef struct {
  const char      *name;
  const body_kind *kind;
  const material  *material; /* borrowed; NULL for obstacles without one */
  body            *body;     /* owned if its ops have destroy, else by the world; what it is: body.h */
  int              frame;    /* index of its pose among the frames, -1: has none */
  int              whole;    /* index of the body it is a part of; -1: none */
} scene_body;

struct scene {
  MPI_Comm    comm; /* on which solvers are created */
  const scene_options *options; /* borrowed */
  double      gravity[3];
  int         n_materials;
  material  **materials;
  int         n_bodies;
  scene_body *bodies;
  body_world  world;        /* what bodies share */
  double      length_scale; /* smallest spacing or body size, for margins [m] */
  /* Everything with unknowns, in the order of the global vector: by kind as in the registry, then as in the job. */
  int    n_systems;
  body **systems;
  /* Contact. */
  int             n_frames, n_sources, n_objects;
  contact_source *sources;
  contact_object *objects;
  int             n_meshes;
  contact_mesh   *meshes; /* deforming surfaces */
  contact_law    *laws;   /* [n_bodies][n_bodies] */
  field_table    *fields; /* bodies; the formulation adds its own */
};

/* Complaints about the job go to `d`; then *out is NULL and the return is still 0. comm: whoever steps this scene together, of which
 * each process holds its part; one process so far. */
PetscErrorCode scene_create(MPI_Comm comm, const scene_options *options, diagnostics *d, scene **out);
void           scene_destroy(scene **s);
int            scene_find_body(const scene *s, const char *name); /* -1: none */
/* Poses of all frames: at the start of the step (v == NULL) or for trial velocities v [n_blocks][3] at t + dt. */
PetscErrorCode scene_frames(const scene *s, double t, double dt, const double *v, rigid_frame *frames);
/* What comes from outside between two steps, the last of which ended at t: called before the step that starts there. */
PetscErrorCode scene_emit(scene *s, double t, double dt);
/* Move what has a prescribed motion to its pose at time t. */
PetscErrorCode scene_set_time(scene *s, double t);
/* One line per body: what `check` prints. */
PetscErrorCode scene_describe(const scene *s, FILE *out);
PetscErrorCode scene_totals(const scene *s, body_totals *sum);
PetscErrorCode scene_body_totals(const scene *s, int i_body, body_totals *sum);
#endif
