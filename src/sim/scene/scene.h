/* A scene: the bodies of a job, their materials, and the contact law of every pair. It is built by scene_create from
 * scene_options, advanced by a formulation (sim/step/formulation.h), and read by output through its field table. */
#ifndef SS_SIM_SCENE_SCENE_H
#define SS_SIM_SCENE_SCENE_H
#include "contact/detection/contact_scene.h"
#include "core/field_table.h"
#include "core/warning_list.h"
#include "discretize/body/body_kind.h"
#include "sim/scene/body_survey.h"
#include "sim/scene/scene_options.h"

/* One entry of `bodies:` in the order of the job, followed by its parts (the links of an articulated body); or a copy of such an entry. */
typedef struct {
  const char      *name;
  const char      *entry; /* name of the entry: the name of the body, unless the body is a part or a copy */
  const body_kind *kind;
  const material  *material; /* borrowed; NULL for obstacles without one */
  body            *body;     /* owned if its ops have destroy, else by the world (body.h) */
  int              frame;    /* index of its pose in frame arrays; -1: it has no pose */
  int              whole;    /* index of the body of which it is a part; -1: none */
} scene_body;

struct scene {
  MPI_Comm             comm;    /* communicator of solvers */
  const scene_options *options; /* borrowed */
  double               gravity[3];
  int                  n_materials;
  material           **materials;
  int                  n_bodies;
  scene_body          *bodies;
  body_world           world;        /* data shared by bodies */
  double               length_scale; /* smallest grid spacing or body size, for contact margins [m] */
  /* Everything with unknowns, in the order of the global vector: by kind as in the registry of kinds, then as in the job. Without bodies that wait or rest. */
  int                   n_systems;
  body                **systems;
  bool                  has_many_rigid; /* the systems are many rigid bodies: loops over them may use all threads */
  struct rigid_table   *rigid;          /* state of all dynamic rigid bodies, rigid_table.h */
  struct body_releases *releases;       /* waiting bodies, body_releases.h; NULL: none */
  /* Data for contact detection. `sources` and `objects` without waiting bodies. */
  int             n_frames, n_sources, n_objects;
  contact_source *sources;
  contact_object *objects;
  int             n_meshes;
  contact_mesh   *meshes;      /* surfaces of triangles */
  pair_classes   *pairs;       /* classes of bodies with equal contact properties */
  contact_law    *laws;        /* [n_slots] of `pairs`, symmetric; see scene_law */
  double      *auto_stiffness; /* [1 + n of contact.pairs] value of contact.stiffness and of each entry that is `auto` [N/m]; NaN: given */
  field_table *fields;         /* fields of bodies; the formulation adds its own */
  struct scene_overlaps *overlaps; /* scene_overlaps.h; of the start of the run, then of the last accepted step */
  warning_list          *warnings; /* of checks of the scene, of the formulation and of the run */
};

/* Contact law of bodies a and b. */
static inline const contact_law *scene_law(const scene *s, int32_t a, int32_t b)
{
  return &s->laws[pair_slot(s->pairs, s->n_bodies, a, b)];
}

/* Build a scene and borrow its options. Errors about the job go to `d`; then *out is NULL and the return value is still 0.
 * comm: must have one process today. */
PetscErrorCode scene_create(MPI_Comm comm, const scene_options *options, diagnostics *d, scene **out);
void           scene_destroy(scene **s);
int            scene_find_body(const scene *s, const char *name); /* index; -1: no such body */
/* The bodies with this name: one body, or all copies of an entry, which are consecutive. n = 0: none. */
typedef struct {
  int first, n;
} body_range;
body_range scene_find_bodies(const scene *s, const char *name);
/* Name of body i in warnings: all copies of an entry have the name of the entry, so that they share a warning. */
static inline const char *scene_shared_name(const scene *s, int i)
{
  return s->bodies[i].whole < 0 ? s->bodies[i].entry : s->bodies[i].name;
}
static inline bool body_range_has(body_range r, int i) { return i >= r.first && i < r.first + r.n; }
/* Entry of body i in the job, for the position of errors. */
const document_node *scene_body_node(const scene *s, int i);

/* Summary of all bodies at the start: *survey [n_bodies], memory_free(survey). Accepts a scene whose bodies are partly NULL. */
PetscErrorCode scene_survey(const scene *s, body_survey **survey);
/* Evaluate frames [n_frames]: poses at time t (v == NULL), or at t + dt for velocities v [n_blocks][3]. */
PetscErrorCode scene_frames(const scene *s, double t, double dt, const double *v, rigid_frame *frames);
/* Add material from sources and release waiting bodies between two steps; t is the end of the last step. Call it before the step that starts at t. */
PetscErrorCode scene_emit(scene *s, double t, double dt);
/* Renew the lists of systems, sources and objects: bodies have begun or ceased to wait or to rest. */
void scene_list_present(scene *s);
/* Move bodies with prescribed motion to their poses at time t. */
PetscErrorCode scene_set_time(scene *s, double t);
/* Print one line per body, for the command `check`. */
PetscErrorCode scene_describe(const scene *s, FILE *out);
/* Mass, momenta and energies of all bodies; below: of one body, and of some. Waiting bodies count only in scene_body_totals. If all of some bodies wait, their
 * centre is NaN. */
PetscErrorCode scene_totals(const scene *s, body_totals *sum);
PetscErrorCode scene_body_totals(const scene *s, int i_body, body_totals *sum);
PetscErrorCode scene_bodies_totals(const scene *s, body_range bodies, body_totals *sum);
#endif
