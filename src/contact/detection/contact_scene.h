/* What finders of contacts foresee: where things would be at the end of the step if nothing acted between bodies but gravity. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SCENE_H
#define SS_CONTACT_DETECTION_CONTACT_SCENE_H
#include "discretize/body/body.h"
#include "geometry/level_set/level_set.h"

/* A body whose points touch. For POINT_RIGID `frame` is the index of its own frame. Borrowed. */
typedef struct {
  body *b;
  int   frame; /* -1 for POINT_WEIGHTED */
  int   body_id; /* index for the pair matrix below, and in the state table */
} contact_source;

/* One level set and the frame it is fixed to. Borrowed. */
typedef struct {
  const level_set *phi;
  int              frame;
  int              body_id;
} contact_object;

/* A body with a surface of triangles (body_ops.surface): a deforming one, or one that is fixed to a frame. Borrowed. */
typedef struct {
  body *b;
  int   frame; /* -1: it deforms */
  int   body_id;
} contact_mesh;

/* Between two bodies: friction mu [-] is everybody's. friction_across > 0: an ellipse, `friction` along the direction, an axis of whatever is
 * touched, see relax_cone and relax_mesh_cone; pairs of edges take `friction` alone. Springs (`penalty`): stiffness k [N/m], 0: these never
 * touch; damping of restitution.h. Rigid contact (`exact`): never_touch, and restitution e.
 * With a continuum on a grid (`monolith`): never_touch, and friction; INFINITY is the continuum's own. */
typedef struct {
  double stiffness, friction, friction_across, direction[3], damping;
  double restitution;
  bool   never_touch;
} contact_law;

/* What finders are told of the scene. All borrowed. */
typedef struct {
  int                n_bodies;
  body *const       *body;   /* [n_bodies] */
  const int32_t     *frame;  /* [n_bodies] number of its pose, -1: it has none */
  const rigid_frame *frames; /* at the start of the step */
  const rigid_frame *end;    /* of what has no unknowns: at its end */
  const contact_law *law;    /* [n_bodies][n_bodies] symmetric: friction, restitution, never_touch */
  double             dt;     /* [s] */
  double             gravity[3]; /* m/s^2 */
  double             margin; /* what is farther apart than this does not meet within the step [m] */
  double             length; /* of the smallest body or spacing: ways beyond a quarter of it are followed for what stands in them [m] */
  const double      *v;      /* [n_blocks][3] velocities until the end of the step; NULL: as things move now. Asked for fibres alone */
} contact_scene;
static inline const contact_law *contact_scene_law(const contact_scene *s, int32_t a, int32_t b) { return &s->law[(int64_t)a * s->n_bodies + b]; }
/* Body a has unknowns, or moves with one that has. */
static inline bool contact_scene_moves(const contact_scene *s, int32_t a) { return body_system(s->body[a]) != NULL; }

/* Pose of a body that has one: as prescribed, or as it moves now. */
PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t body, rigid_frame *out);
/* How far its frame's origin goes in the step, as it moves now: d [3]. Returns the most that turning adds to that for what is
 * `reach` from the origin [m]; infinite if `reach` is, unless it does not turn. */
double contact_scene_motion(const contact_scene *s, int32_t body, double reach, double d[3]);
/* Velocities at the start of the step of what carries a body's unknowns, the first of them its block 0: [n_blocks][3], owned by
 * the caller, or NULL if there is none. */
PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t body, double **v);
/* Where point k of a body, at x0 [3], would be at the end of the step: v as contact_scene_velocities gives them, or NULL; end: the
 * pose then of a body that has one. */
void contact_scene_point_end(const contact_scene *s, int32_t body, int64_t k, const double x0[3], const double *v,
                             const rigid_frame *end, double x1[3]);
#endif
