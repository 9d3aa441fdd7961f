/* Input of the contact detectors: bodies, laws, poses, and the predicted motion over the step under gravity alone (no forces
 * between bodies). Filled by the steps of `exact` and `convex`. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SCENE_H
#define SS_CONTACT_DETECTION_CONTACT_SCENE_H
#include "discretize/body/body.h"
#include "geometry/level_set/level_set.h"

/* Body with contact points. For POINT_RIGID `frame` is the index of its own frame. Borrowed. */
typedef struct {
  body *b;
  int   frame;   /* -1 for POINT_WEIGHTED */
  int   body_id; /* index for the pair matrix below, and in the state table */
} contact_source;

/* One level set and the frame it is fixed to. Borrowed. */
typedef struct {
  const level_set *phi;
  int              frame;
  int              body_id;
} contact_object;

/* Body with a triangle surface (body_ops.surface), deformable or fixed to a frame. Borrowed. */
typedef struct {
  body *b;
  int   frame; /* -1: deformable */
  int   body_id;
} contact_mesh;

/* Contact law of two bodies. Friction mu [-] is used by all formulations. friction_across > 0: an ellipse, `friction` along
 * `direction`, an axis of the touched body, see relax_cone and relax_mesh_cone; edge pairs use `friction` only. Springs
 * (`penalty`): stiffness k [N/m] (0: no contact), damping of restitution.h. Rigid contact (`exact`): never_touch, and restitution
 * e. With a continuum on a grid (`monolith`): never_touch, and friction; INFINITY selects the continuum's own friction. */
typedef struct {
  double stiffness, friction, friction_across, direction[3], damping;
  double restitution;
  bool   never_touch;
} contact_law;

/* Scene data for the contact detectors. All borrowed. */
typedef struct {
  int                n_bodies;
  body *const       *body;       /* [n_bodies] */
  const int32_t     *frame;      /* [n_bodies] index of its pose, -1: none */
  const rigid_frame *frames;     /* at the start of the step */
  const rigid_frame *end;        /* at the end of the step, for bodies without unknowns */
  const contact_law *law;        /* [n_bodies][n_bodies] symmetric: friction, restitution, never_touch */
  double             dt;         /* [s] */
  double             gravity[3]; /* m/s^2 */
  double             margin;     /* features farther apart than this do not collide within the step [m] */
  double             length;     /* size of the smallest body or spacing; displacements beyond a quarter of it are swept for obstacles
                              * [m] */
  const double      *v;          /* [n_blocks][3] velocities until the end of the step; NULL: the current ones. Used for fibres only */
} contact_scene;
static inline const contact_law *contact_scene_law(const contact_scene *s, int32_t a, int32_t b)
{
  return &s->law[(int64_t)a * s->n_bodies + b];
}
/* True if body a has unknowns or moves with a body that has. */
static inline bool contact_scene_moves(const contact_scene *s, int32_t a) { return body_system(s->body[a]) != NULL; }

/* Pose at the end of the step of a body that has one: prescribed, or extrapolated from its current motion. */
PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t body, rigid_frame *out);
/* Displacement d [3] of the frame's origin in the step, at its current velocity. Returns the maximum additional displacement by
 * rotation of points within `reach` of the origin [m]; infinite if `reach` is infinite and the body rotates. */
double contact_scene_motion(const contact_scene *s, int32_t body, double reach, double d[3]);
/* Velocities at the start of the step of the system with the body's unknowns, whose first block is block 0: [n_blocks][3], owned by
 * the caller, or NULL if there is none. */
PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t body, double **v);
/* Predicted position x1 [3] at the end of the step of point k of a body, now at x0 [3]. v: from contact_scene_velocities, or NULL;
 * end: the pose at the end of a body that has one. */
void contact_scene_point_end(const contact_scene *s, int32_t body, int64_t k, const double x0[3], const double *v, const rigid_frame *end,
                             double x1[3]);
#endif
