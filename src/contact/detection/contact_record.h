/* Contact data of the last accepted step: contact points with their forces for frames and measures, and forces between bodies.
 * Written by the formulations; read by frames, measures and the history table. */
#ifndef SS_CONTACT_DETECTION_CONTACT_RECORD_H
#define SS_CONTACT_DETECTION_CONTACT_RECORD_H
#include "contact/detection/contact_scene.h"
#include "core/field_table.h"

/* Statistics of relaxations of attachments on triangle meshes (penalty_mesh_relaxation.h) [DingSchroeder2020, sec. 4].
 *
 * Chain of places (mesh_relax_place) that an attachment visits, four bits per place, the first place in the highest bits: 0x122 is 1-2-2.
 * Of chains of more than sixteen places, the last sixteen are stored. */
typedef uint64_t relax_chain;
/* Write a chain as text such as "1-2-2" to text [2 * 16]. */
void relax_chain_text(relax_chain chain, char *text);

enum { RELAX_STATISTICS_CHAINS = 24 };
typedef struct {
  int64_t n;          /* number of relaxations */
  int64_t n_at_start; /* relaxations that ended in their first place */
  int64_t n_capped;   /* relaxations stopped at the limit RELAX_MESH_MAX_MOVES */
  int64_t longest;    /* number of places of the longest chain */
  int64_t n_other;    /* relaxations whose chain is not in the full list `kind` */
  int     n_chains;
  struct {
    relax_chain chain;
    int64_t     n;
  } kind[RELAX_STATISTICS_CHAINS]; /* in the order of first occurrence */
} relax_statistics;

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped);
void relax_statistics_merge(relax_statistics *s, const relax_statistics *more);

/* Quantities of contacts that a step reports. Columns as in sim/step/step_report.h: member, type, unit, merge rule over substeps,
 * group, help. INTERNAL: used by app/run, not a column of history.csv.
 *
 * The angles compare the friction of sliding contacts with the direction prescribed by the friction law. slip_angle_error uses the
 * displacement of the attachment over the surface during the step, to which the discrete law applies. friction_angle_error uses the
 * velocity at the end of the step. The two directions differ by about mu h times the curvature of a curved path, and while the contact
 * spring is loaded. Slip below 1e-9 m per step and friction below 1e-12 of the normal force have no direction and are ignored.
 * friction_work_deficit weights the angle with force and slip, because for negligible force or slip the solver residual can change the
 * direction by any angle. The discrete law applies to a plane: contact_law_error of flat pairs contains only round-off,
 * contact_law_error_curved also contains the change of the normal over the slip. */
/* clang-format off */
#define CONTACT_SUMMARY_TABLE(X)                                                                                                   \
  X(contacts, int64_t, "1", LAST, CONTACT, "active contacts: contacts with a force")                                               \
  X(sliding, int64_t, "1", LAST, CONTACT, "active contacts that slide")                                                            \
  X(penetration, double, "m", MAX, CONTACT, "largest overlap depth of the shapes of two bodies, also of earlier substeps")         \
  X(contact_depth, double, "m", MAX, CONTACT, "depth of the deepest contact point, also of earlier substeps")                      \
  X(cone_violation, double, "1", MAX, CONTACT,                                                                                     \
    "largest excess of friction over mu times normal force, over the largest normal force")                                        \
  X(friction_angle_error, double, "rad", MAX, CONTACT_LAW,                                                                         \
    "largest angle between friction and the direction opposite to the sliding velocity "                                           \
    "at the end of the step")                                                                                                      \
  X(contact_law_error, double, "1", MAX, CONTACT_LAW,                                                                              \
    "largest natural map of the contact law |r - P(r - rho u)| over the largest normal "                                           \
    "force, or over the largest force if friction exceeds 10; 0 if the law is satisfied; penalty: of flat surfaces")               \
  X(contact_law_error_curved, double, "1", MAX, SPRINGS,                                                                           \
    "contact_law_error of contacts at curved parts of surfaces, where the law of a plane is a first-order approximation")          \
  X(slip_angle_error, double, "rad", MAX, SPRINGS,                                                                                 \
    "largest angle between friction and the direction opposite to the slip of the attachment "                                     \
    "in the step")                                                                                                                 \
  X(contact_energy, double, "J", LAST, SPRINGS, "energy stored in contact springs")                                                \
  X(relaxations, int64_t, "1", SUM, SPRINGS, "relaxations of attachments on deforming surfaces, in all evaluations")               \
  X(relaxations_moved, int64_t, "1", SUM, SPRINGS,                                                                                 \
    "relaxations that ended on another triangle, edge or vertex than they began on")                                               \
  X(relaxation_max_features, int64_t, "1", MAX, SPRINGS,                                                                           \
    "largest number of triangles, edges and vertices that a relaxation visited")                                                   \
  X(creep, double, "m/s", MAX, IMPULSES, "largest tangential speed of a sticking contact")                                         \
  X(creep_bound, double, "m/s", MAX, CONVEX, "largest creep that the regularised friction law permits")                            \
  X(start_energy, double, "J", SUM, INTERNAL, "energy at the start of the step of springs that the step before did not have")         \
  X(correction_work, double, "J", SUM, INTERNAL, "energy that springs received from contact_rests.reduction")                  \
  X(friction_work_done, double, "J", SUM, INTERNAL, "energy dissipated by friction in the step: friction times slip")              \
  X(friction_work_deficit, double, "J", SUM, INTERNAL,                                                                             \
    "additional dissipation if friction were opposite to slip: sum of |r_T| |u_T| (1 - cos angle)")
/* clang-format on */

typedef struct {
#define X(name, type, unit, rule, group, help) type name;
  CONTACT_SUMMARY_TABLE(X)
#undef X
  relax_statistics relaxation_chains; /* relaxations on deforming surfaces in all evaluations of the step */
} contact_summary;

/* Contacts of a step with a non-zero force. */
typedef struct {
  int64_t        n;
  const double  *position, *force, *normal; /* [n][3] position on the surface [m]; force on the point [N]; outward unit normal */
  const double  *gap;                       /* [n] signed distance of the point from the surface [m]; negative: penetration */
  const int32_t *source_body, *object_body; /* [n] body of the point, body of the surface */
  const uint8_t *is_sliding;                /* [n] */
} contact_points_view;

/* Owned contact points, one array per quantity. The formulation writes the arrays after contact_points_reserve and then sets n. */
typedef struct {
  int64_t  n, capacity;
  double  *position, *force, *normal; /* [n][3] as in contact_points_view */
  double  *gap;
  int32_t *source_body, *object_body;
  uint8_t *is_sliding;
} contact_points;
PetscErrorCode      contact_points_reserve(contact_points *p, int64_t n);
PetscErrorCode      contact_points_append(contact_points *p, const contact_points *more);
void                contact_points_destroy(contact_points *p);
contact_points_view contact_points_get(const contact_points *p);
/* Register the group "contact/points" (frames). The address of *p must not change while the table exists. */
PetscErrorCode contact_points_fields(contact_points *p, field_table *table);

/* Sum of the forces on the points of source_body from object_body [N], and of their moments about the origin [N m]. */
typedef struct {
  int    source_body, object_body;
  double force[3], moment[3];
} contact_group_force;
typedef struct {
  int64_t              n, capacity;
  contact_group_force *group;
} contact_forces;
void contact_forces_destroy(contact_forces *f);
/* Append a group with zero force; *out is borrowed until the next call. */
PetscErrorCode contact_forces_open(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* Return the group of two bodies; append it if it does not exist. */
PetscErrorCode contact_forces_find(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* Add the groups of `more` to those of f. */
PetscErrorCode contact_forces_merge(contact_forces *f, const contact_forces *more);
/* Append the groups of `more`, multiplied by `factor`. Two bodies may then have several groups. */
PetscErrorCode contact_forces_append(contact_forces *f, const contact_forces *more, double factor);
/* Add force [3] acting at the position x [3] to the group, with its moment. */
void contact_group_add(contact_group_force *g, const double x[3], const double force[3]);
/* Force and moment on body `on` from body `from` (-1: from all bodies). */
void contact_forces_between(const contact_forces *f, int on, int from, double force[3], double moment[3]);
#endif
