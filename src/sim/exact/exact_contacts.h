/* The contacts of a step of `exact`: found, turned into rows, and what their relative velocities have to make up for.
 *
 * With u = H v + known in the contact's frame, Coulomb's law is put on u + (shift, 0, 0), h the step [BertailsEtAl2011; theory,
 * section 1]:
 *   gap g > 0        shift = g/h: what is apart may close exactly the gap
 *   g < 0            shift = max(share g/h, -speed): overlaps are pushed apart slowly; within a step it would inject energy
 *   closes, with restitution e, faster than v_rest = g0 h:  shift = e u_N(start of the step), Newton's law of impact
 * v_rest is what gravity adds within a step: no faster than that it cannot be told from rest. */
#ifndef SS_SIM_EXACT_CONTACTS_H
#define SS_SIM_EXACT_CONTACTS_H
#include "contact/contact_jacobian.h"
#include "contact/fibre_scene.h"
#include "contact/convex_contact.h"
#include "contact/point_contact.h"
#include "contact/surface_scene.h"
#include "sim/exact/exact_unknowns.h"

typedef struct {
  scene            *scene; /* borrowed */
  body            **body;  /* [n_bodies] */
  int32_t          *frame; /* [n_bodies] */
  bool             *by_points; /* [n_bodies][n_bodies] which pairs are found by their points */
  point_contact    *points;
  fibre_scene      *fibres; /* NULL: there are none */
  surface_scene    *surfaces; /* NULL: there are none */
  convex_contact   *convex; /* rigid bodies whose shapes are known exactly */
  contact_set      *set;
  contact_jacobian  rows;
  int64_t           capacity;
  double           *shift, *mu; /* [n] m/s; 1 */
} exact_contacts;

/* *c is filled in place; destroy copes with zeros. */
PetscErrorCode exact_contacts_create(scene *s, exact_contacts *c);
void           exact_contacts_destroy(exact_contacts *c);
/* All contacts that may act in the step that `l` has begun, sorted by key, with their rows and shifts. Those that nothing can push
 * apart, as between a held node and an obstacle, are left out. */
PetscErrorCode exact_contacts_find(exact_contacts *c, const step_layout *l, const exact_unknowns *u, step_verdict *verdict);
static inline int64_t             exact_contacts_size(const exact_contacts *c) { return c->rows.n; }
static inline const contact_spot *exact_contacts_spots(const exact_contacts *c) { return contact_set_get(c->set); }
#endif
