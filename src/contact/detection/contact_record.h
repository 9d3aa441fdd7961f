/* What the last accepted step left of its contacts: the points that pushed, for frames and measures, and forces between bodies. */
#ifndef SS_CONTACT_DETECTION_CONTACT_RECORD_H
#define SS_CONTACT_DETECTION_CONTACT_RECORD_H
#include "contact/detection/contact_scene.h"
#include "core/field_table.h"

/* How relaxations on triangle meshes go: how many places each visits, and in which order [DingSchroeder2020, sec. 4]. */
/* The places of a chain (mesh_relax_place), four bits each, the first highest: 0x122 is 1-2-2. Chains of more than sixteen places keep
 * the last sixteen. */
typedef uint64_t relax_chain;
/* "1-2-2"; text [2 * 16]. */
void relax_chain_text(relax_chain chain, char *text);

enum { RELAX_STATISTICS_CHAINS = 24 };
typedef struct {
  int64_t n;              /* relaxations */
  int64_t n_at_start;     /* that ended in the place they began in */
  int64_t n_capped;       /* that gave up, see RELAX_MESH_MAX_MOVES */
  int64_t longest;        /* places in the longest chain */
  int64_t n_other;        /* of kinds for which the list below had no room */
  int     n_chains;
  struct {
    relax_chain chain;
    int64_t     n;
  } kind[RELAX_STATISTICS_CHAINS]; /* in the order they were first met */
} relax_statistics;

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped);
void relax_statistics_merge(relax_statistics *s, const relax_statistics *more);

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

/* n points in arrays of one quantity each, written in place by whoever knows them; n is set last. */
typedef struct {
  int64_t  n, capacity;
  double  *position, *force, *normal; /* [n][3] as in contact_points_view */
  double  *gap;
  int32_t *source_body, *object_body;
  uint8_t *is_sliding;
} contact_points;
PetscErrorCode      contact_points_reserve(contact_points *p, int64_t n);
void                contact_points_destroy(contact_points *p);
contact_points_view contact_points_get(const contact_points *p);
/* Group "contact/points" of frames. `p` must stay where it is as long as the table. */
PetscErrorCode contact_points_fields(contact_points *p, field_table *table);

/* Sum of what one body's points feel from another body; moment about the origin. */
typedef struct {
  int    source_body, object_body;
  double force[3], moment[3];
} contact_group_force;
typedef struct {
  int64_t              n, capacity;
  contact_group_force *group;
} contact_forces;
void contact_forces_destroy(contact_forces *f);
/* A new group, all zero; borrowed until the next. */
PetscErrorCode contact_forces_open(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* The group of two bodies, which is opened if there is none. */
PetscErrorCode contact_forces_find(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* What `more` holds is added to the groups of f. */
PetscErrorCode contact_forces_merge(contact_forces *f, const contact_forces *more);
/* force [3] at the place x [3]. */
void contact_group_add(contact_group_force *g, const double x[3], const double force[3]);
/* What body `on` feels from body `from` (-1: all). */
void contact_forces_between(const contact_forces *f, int on, int from, double force[3], double moment[3]);
#endif
