/* Contact data of the last accepted step: contact points with their forces for frames and measures, and forces between bodies.
 * Written by the formulations; read by frames, measures and the history table. */
#ifndef SS_CONTACT_DETECTION_CONTACT_RECORD_H
#define SS_CONTACT_DETECTION_CONTACT_RECORD_H
#include "contact/detection/contact_scene.h"
#include "core/field_table.h"

/* Statistics of relaxations on triangle meshes: how many places each visits, and in which order [DingSchroeder2020, sec. 4]. */
/* The places of a chain (mesh_relax_place), four bits each, the first highest: 0x122 is 1-2-2. Chains of more than sixteen places
 * keep the last sixteen. */
typedef uint64_t relax_chain;
/* "1-2-2"; text [2 * 16]. */
void relax_chain_text(relax_chain chain, char *text);

enum { RELAX_STATISTICS_CHAINS = 24 };
typedef struct {
  int64_t n;              /* relaxations */
  int64_t n_at_start;     /* that ended in the place they began in */
  int64_t n_capped;       /* stopped at the limit RELAX_MESH_MAX_MOVES */
  int64_t longest;        /* places in the longest chain */
  int64_t n_other;        /* of kinds for which the list below had no room */
  int     n_chains;
  struct {
    relax_chain chain;
    int64_t     n;
  } kind[RELAX_STATISTICS_CHAINS]; /* in the order of first occurrence */
} relax_statistics;

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped);
void relax_statistics_merge(relax_statistics *s, const relax_statistics *more);

/* One step's summary for the history table. */
typedef struct {
  int64_t n_active, n_sliding;
  double  max_penetration;   /* m */
  double  stored_energy;     /* sum of k/2 |Y - Z|^2 over active pairs [J] */
  double  friction_work;     /* energy dissipated by friction in this step: friction force times displacement of the attachment over
                              * the surface, sliding pairs [J] */
  double  max_cone_violation; /* max of (|f_t| - mu f_n)+ / max f_n over all active pairs, normal taken at Y */
  /* Largest angle of a sliding pair between its friction f_t and [rad]
   *   slip_angle        minus the displacement of the attachment over the surface during the step: the law itself
   *   power_loss_angle  minus the tangential velocity of the point against the object at Y. It differs from slip_angle where
   *                     a path bends, by about mu h times its curvature, and while the contact spring is loaded
   * Displacements of less than 1e-9 m per step have no direction and are ignored, as is friction below 1e-12 of the normal
   * force. */
  double  power_loss_angle, slip_angle;
  /* Rigid contact: additional dissipation if the friction of each sliding contact were opposite to its slip [J]: sum of
   * |r_T| |u_T| (1 - cos angle). This weights an angle by the contact's importance: where force or slip is negligible, the residual
   * turns the direction by any angle, which has no significance. See history_values. */
  double  friction_astray;
  /* Largest distance of a force from the Coulomb return of its trial force, over max f_n: pairs on flat and on curved parts of a
   * surface. The law is that of a plane: flat pairs show round-off only; curved pairs show the bend over the slip. */
  double  natural_map, natural_map_curved;
  /* Regularised friction (convex): largest slip speed of a sticking contact, and the largest that the law permits [m/s]. */
  double creep, creep_bound;
  relax_statistics relaxations; /* on deforming surfaces, in all evaluations of the step */
} contact_summary;

/* Contacts of a step with a non-zero force. */
typedef struct {
  int64_t        n;
  const double  *position, *force, *normal; /* [n][3] m, on the touched surface; N, on the touching point; outward normal */
  const double  *gap;                       /* [n] m, distance of the point, negative if it penetrates */
  const int32_t *source_body, *object_body; /* [n] body of the point, body of the surface */
  const uint8_t *is_sliding;                /* [n] */
} contact_points_view;

/* n points, one array per quantity. The formulation writes them in place and sets n last. */
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

/* Sum of the forces on one body's points from another body; moment about the origin. */
typedef struct {
  int    source_body, object_body;
  double force[3], moment[3];
} contact_group_force;
typedef struct {
  int64_t              n, capacity;
  contact_group_force *group;
} contact_forces;
void contact_forces_destroy(contact_forces *f);
/* Append a new group, all zero; borrowed until the next call. */
PetscErrorCode contact_forces_open(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* Return the group of two bodies; append it if it does not exist. */
PetscErrorCode contact_forces_find(contact_forces *f, int source_body, int object_body, contact_group_force **out);
/* Add the groups of `more` to those of f. */
PetscErrorCode contact_forces_merge(contact_forces *f, const contact_forces *more);
/* Add force [3] at the place x [3]. */
void contact_group_add(contact_group_force *g, const double x[3], const double force[3]);
/* Force and moment on body `on` from body `from` (-1: from all bodies). */
void contact_forces_between(const contact_forces *f, int on, int from, double force[3], double moment[3]);
#endif
