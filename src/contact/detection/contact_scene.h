/* Input of the contact detectors: bodies, contact laws, poses, and functions that predict the motion over the step without contact forces.
 * The steps of `exact` and `convex` set it. */
#ifndef SS_CONTACT_DETECTION_CONTACT_SCENE_H
#define SS_CONTACT_DETECTION_CONTACT_SCENE_H
#include "core/pair_classes.h"
#include "discretize/body/body.h"
#include "geometry/level_set/level_set.h"

/* Body with contact points; the pointer is borrowed. */
typedef struct {
  body *b;
  int   frame;   /* POINT_RIGID: index of the frame of the body; POINT_WEIGHTED: -1 */
  int   body_id; /* row of contact_scene.law; also stored in checkpoints */
} contact_source;

/* A level set and the frame to which it is fixed; the pointer is borrowed. */
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

/* Contact law of two bodies. All formulations use the friction coefficient `friction` [-]. friction_across > 0: elliptic friction cone with
 * the coefficient `friction` along `direction`, an axis of the body with the surface, see relax_cone and relax_mesh_cone; pairs of edges
 * use `friction` only. `penalty`: stiffness [N/m] (0: no contact), and damping of restitution.h. `exact`: never_touch (true: no contact)
 * and coefficient of restitution [-]. `monolith`: never_touch; friction INFINITY selects the friction of the continuum. */
typedef struct {
  double stiffness, friction, friction_across, direction[3], damping;
  double restitution;
  bool   never_touch;
  bool   may_overlap; /* the job permits an overlap at the start of the run; is_preloaded: it compresses the contact springs */
  bool   is_preloaded;
} contact_law;

/* Rest depths of contact springs: overlaps at the start of the run that are not yet corrected; the springs of a pair act from this depth on. */
typedef struct {
  int64_t  n;
  int32_t *pair;      /* [n][2] bodies a <= b, ascending */
  double  *depth;     /* [n] m */
  double  *reduction; /* [n] of the depth since the last step; it compresses springs [m] */
} contact_rests;
/* Row of bodies a and b in any order; -1: none, also for NULL. */
int64_t              contact_rests_find(const contact_rests *r, int32_t a, int32_t b);
static inline double contact_rest_depth(const contact_rests *r, int32_t a, int32_t b)
{
  const int64_t k = contact_rests_find(r, a, b);
  return k < 0 ? 0.0 : r->depth[k];
}
static inline double contact_rest_reduction(const contact_rests *r, int32_t a, int32_t b)
{
  const int64_t k = contact_rests_find(r, a, b);
  return k < 0 ? 0.0 : r->reduction[k];
}

/* Scene data for the contact detectors. All borrowed. */
typedef struct {
  int                 n_bodies;
  body *const        *body;       /* [n_bodies] */
  const int32_t      *frame;      /* [n_bodies] index of the pose of each body in `frames` and `end`, -1: none */
  const rigid_frame  *frames;     /* poses at the start of the step */
  const rigid_frame  *end;        /* poses at the end of the step, valid for bodies without unknowns */
  const contact_law  *law;        /* [n_slots] of `pairs`, symmetric: friction, restitution, never_touch */
  double              dt;         /* time step [s] */
  double              gravity[3]; /* m/s^2 */
  double              margin;     /* features farther apart than this do not collide within the step [m] */
  double              length;     /* size of the smallest body or spacing [m]; for displacements beyond a quarter of it, contacts with
                              * obstacles on the trajectory are searched */
  const double       *v;          /* [n_blocks][3] predicted velocities during the step; NULL: the current ones. Used for fibres only */
  const pair_classes *pairs;      /* NULL: law is [n_bodies][n_bodies] */
  bool sees_resting; /* bodies at rest (body.is_resting) are moving bodies, not obstacles: contacts between them are found, too */
} contact_scene;
static inline const contact_law *contact_scene_law(const contact_scene *s, int32_t a, int32_t b)
{
  return &s->law[pair_slot(s->pairs, s->n_bodies, a, b)];
}
/* True if body a has unknowns, or moves with a body that has unknowns. */
static inline bool contact_scene_moves(const contact_scene *s, int32_t a)
{
  return (s->sees_resting ? body_system(s->body[a]) : body_moving_system(s->body[a])) != NULL;
}

/* Pose *out of a rigid body at the end of the step: prescribed, or extrapolated from the current velocity. The body must have a frame. */
PetscErrorCode contact_scene_end_frame(const contact_scene *s, int32_t body, rigid_frame *out);
/* Displacement d [3] of the origin of the body's frame in the step at the current velocity. Returns the maximum additional displacement by
 * rotation of points within `reach` of the origin [m]; infinite if `reach` is infinite and the body rotates. */
double contact_scene_motion(const contact_scene *s, int32_t body, double reach, double d[3]);
/* Velocities at the start of the step of the body system (body_system) to which the body belongs, from its first block on: *v
 * [n_blocks][3], memory_free(v); NULL if the body belongs to none. */
PetscErrorCode contact_scene_velocities(const contact_scene *s, int32_t body, double **v);
/* Predicted position x1 [3] at the end of the step of point k of a body, at x0 [3] at its start. v: from contact_scene_velocities, or NULL;
 * end: from contact_scene_end_frame, for a body with a frame; NULL for all others. */
void contact_scene_point_end(const contact_scene *s, int32_t body, int64_t k, const double x0[3], const double *v, const rigid_frame *end,
                             double x1[3]);

/* Energy of a normal spring of stiffness k [N/m] with a gap [m], negative: compressed [J]. */
static inline double contact_spring_energy(double k, double gap) { return gap < 0.0 ? 0.5 * k * gap * gap : 0.0; }
#endif
