/* Rigid contacts of a step: detection, contact rows H, and the shifts of Coulomb's law. Used by formulations exact, convex and
 * monolith.
 *
 * Let u = H v + known be the relative velocity in the contact frame and h the step. Coulomb's law is applied to u + (shift, 0, 0)
 * [BertailsEtAl2011]:
 *    gap g > 0        shift = g/h: the bodies may approach until they touch
 *    g < 0            shift = max(share g/h, -speed): overlaps are corrected slowly; correction within one step would add energy
 *    restitution e, closing speed above v_rest = g0 h:  shift = e u_N(start of the step), Newton's law of impact
 * Surfaces keep the distance `distance` from each other: g is the gap minus this distance.
 *
 * v_rest, with g0 = acceleration_scale, is the speed that gravity adds within a step; slower contacts are treated as resting. */
#ifndef SS_SIM_STEP_STEP_CONTACTS_H
#define SS_SIM_STEP_STEP_CONTACTS_H
#include "contact/detection/convex_contact.h"
#include "contact/detection/obstacle_edges.h"
#include "contact/detection/point_contact.h"
#include "contact/fibre/fibre_scene.h"
#include "contact/rows/contact_jacobian.h"
#include "contact/surface/surface_scene.h"
#include "sim/scene/scene.h"
#include "sim/step/step_unknowns.h"
#include <stdio.h>

#define STEP_LEAST_SLIP 1e-9 /* [m] sliding per step; less counts as sticking */

typedef struct {
  scene           *scene;                                        /* borrowed */
  double           distance;                                     /* [m] 0, or set by the formulation after creation */
  double           overlap_correction, overlap_correction_speed; /* share per step; maximum speed [m/s], NaN: acceleration_scale times dt */
  body           **body;                                         /* [n_bodies] of the scene */
  int32_t         *frame;                                        /* [n_bodies] index of the pose; -1: none */
  bool            *by_points; /* [n_slots] of scene.pairs: pairs whose contacts are detected between points and level sets */
  point_contact   *points;
  fibre_scene     *fibres;     /* NULL: the scene has no fibres */
  surface_scene   *surfaces;   /* NULL: no pair needs triangle surfaces */
  obstacle_edges  *edges;      /* contact of edges and vertices of obstacles with convex solids */
  convex_contact  *convex;     /* contact between bodies that consist of convex solids */
  contact_set     *set, *more; /* more: contacts of a repeated detection */
  contact_jacobian rows;
  int64_t          capacity;
  double          *shift, *mu; /* [n] m/s; friction coefficients */
} step_contacts;

/* Fill in *c; destroy accepts zeros. overlap_correction: fraction of an overlap that the shift corrects per step; 0: none
 * (formulation monolith corrects positions). */
PetscErrorCode step_contacts_create(scene *s, double overlap_correction, step_contacts *c);
void           step_contacts_destroy(step_contacts *c);
/* Detect all contacts that may become active in the step that `l` has begun. They are sorted by key and have rows and shifts.
 * Contacts that no impulse can separate are dropped, for example between a constrained node and an obstacle. */
PetscErrorCode step_contacts_find(step_contacts *c, const step_layout *l, const step_unknowns *u, step_status *status);
/* The two parts of step_contacts_find: c->set, sorted; then rows and shifts. sees_resting: also contacts of bodies at rest with each other and with
 * obstacles. */
PetscErrorCode step_contacts_detect(step_contacts *c, const step_layout *l, bool sees_resting, step_status *status);
PetscErrorCode step_contacts_build(step_contacts *c, const step_layout *l, const step_unknowns *u);
/* Repeat the detection between fibres at the velocities l->v of the current step. *is_more: new contacts were found; then all
 * contacts have new indices, rows and shifts. */
PetscErrorCode step_contacts_find_more(step_contacts *c, const step_layout *l, const step_unknowns *u, bool *is_more, step_status *status);
static inline int64_t             step_contacts_size(const step_contacts *c) { return c->rows.n; }
static inline const contact_spot *step_contacts_spots(const step_contacts *c) { return contact_set_get(c->set); }

/* For the command `check`: print one line per contact detector with the pairs of bodies that it serves. */
PetscErrorCode step_contacts_describe(const scene *s, FILE *out);
#endif
