/* What bodies bring to contact, and what is told of it afterwards: the same for every law that may act between them. */
#ifndef SS_CONTACT_DETECTION_CONTACT_H
#define SS_CONTACT_DETECTION_CONTACT_H
#include "contact/penalty/relax_statistics.h"
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

/* One step's summary for the history table. */
typedef struct {
  int64_t n_active, n_sliding;
  double  max_penetration;   /* m */
  double  stored_energy;     /* sum of k/2 |Y - Z|^2 over active pairs [J] */
  double  friction_work;     /* what friction took up in this step: its force times the way of the attachment over the surface, over sliding pairs [J] */
  double  max_cone_violation; /* max of (|f_t| - mu f_n)+ / max f_n over all active pairs, normal taken at Y */
  /* Largest angle of a sliding pair between its friction f_t and [rad]
   *   slip_angle        minus the motion of the attachment over the surface during the step: the law itself
   *   power_loss_angle  minus the tangential velocity of the point against the object at Y; differs from the former where
   *                     a path bends, by about mu h times its curvature, and while the spring behind a contact loads up
   * Motions of less than 1e-9 m in the step have no direction and are left out, as is friction below 1e-12 of the pull. */
  double  power_loss_angle, slip_angle;
  /* Rigid contact: what friction would have taken up more in this step had it been opposite to the slip, over the contacts that slide [J]:
   * |r_T| |u_T| (1 - cos angle). By this an angle counts as much as the contact does: where force or slip are next to nothing beside the
   * others', what is left of the equations turns either by any angle, and that means nothing. See history_values. */
  double  friction_astray;
  /* Largest distance of a force from the Coulomb return of its trial force, over max f_n: pairs on flat and on curved parts of a
   * surface. The law is the plane's: what flat pairs show is round-off; curved ones show the bend over the slip, see penalty_report.c. */
  double  natural_map, natural_map_curved;
  /* Where friction gives way by design (convex): the fastest that a contact slides which sticks, and the most that its law lets any
   * of them [m/s]. */
  double creep, creep_bound;
  relax_statistics relaxations; /* on deforming surfaces, in all evaluations of the step */
} contact_summary;

/* The contacts of a step that push. */
typedef struct {
  int64_t        n;
  const double  *position, *force, *normal; /* [n][3] m, on the surface that is touched; N, on the point that touches; outward normal */
  const double  *gap;                       /* [n] m, distance of the point, negative inside */
  const int32_t *source_body, *object_body; /* [n] whose point, whose surface */
  const uint8_t *is_sliding;                /* [n] */
} contact_points_view;
#endif
