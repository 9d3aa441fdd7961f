/* The rigid contacts of a step: found, turned into rows, and what their relative velocities have to make up for.
 *
 * With u = H v + known in the contact's frame, Coulomb's law is put on u + (shift, 0, 0), h the step [BertailsEtAl2011; theory,
 * section 1]:
 *   gap g > 0        shift = g/h: what is apart may close exactly the gap
 *   g < 0            shift = max(share g/h, -speed): overlaps are pushed apart slowly; within a step it would inject energy
 *   closes, with restitution e, faster than v_rest = g0 h:  shift = e u_N(start of the step), Newton's law of impact
 * v_rest is what gravity adds within a step: no faster than that it cannot be told from rest. */
#ifndef SS_SIM_STEP_STEP_CONTACTS_H
#define SS_SIM_STEP_STEP_CONTACTS_H
#include "contact/detection/convex_contact.h"
#include "contact/detection/point_contact.h"
#include "contact/fibre/fibre_scene.h"
#include "contact/rows/contact_jacobian.h"
#include "contact/surface/surface_scene.h"
#include "sim/scene/scene.h"
#include "sim/step/step_unknowns.h"
#include <stdio.h>

typedef struct {
  scene            *scene; /* borrowed */
  double            overlap_share, overlap_speed; /* the latter [m/s], NaN: acceleration_scale times the step */
  body            **body;  /* [n_bodies] */
  int32_t          *frame; /* [n_bodies] */
  bool             *by_points; /* [n_bodies][n_bodies] which pairs are found by their points */
  point_contact    *points;
  fibre_scene      *fibres; /* NULL: there are none */
  surface_scene    *surfaces; /* NULL: there are none */
  convex_contact   *convex; /* rigid bodies whose shapes are known exactly */
  contact_set      *set, *more; /* more: of another look */
  contact_jacobian  rows;
  int64_t           capacity;
  double           *shift, *mu; /* [n] m/s; 1 */
} step_contacts;

/* *c is filled in place; destroy copes with zeros. overlap_share: of overlaps that velocities push apart; 0: something else does.
 * */
PetscErrorCode step_contacts_create(scene *s, double overlap_share, step_contacts *c);
void           step_contacts_destroy(step_contacts *c);
/* All contacts that may act in the step that `l` has begun, sorted by key, with their rows and shifts. Those that nothing can push
 * apart, as between a held node and an obstacle, are left out. */
PetscErrorCode step_contacts_find(step_contacts *c, const step_layout *l, const step_unknowns *u, step_verdict *verdict);
/* Once more, where fibres come together as l->v leads them, which contact may have changed: *is_more if any are new, and then all
 * contacts have other numbers, rows and shifts. */
PetscErrorCode step_contacts_find_more(step_contacts *c, const step_layout *l, const step_unknowns *u, bool *is_more,
                                       step_verdict *verdict);
static inline int64_t             step_contacts_size(const step_contacts *c) { return c->rows.n; }
static inline const contact_spot *step_contacts_spots(const step_contacts *c) { return contact_set_get(c->set); }

/* What `check` says of how contacts are found where contact is rigid. */
/* A line for each way in which contacts are found, with the pairs of bodies that are looked at so. */
PetscErrorCode step_finders_describe(const scene *s, FILE *out);
#endif
