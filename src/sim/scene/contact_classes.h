/* Classes of bodies with identical contact properties (core/pair_classes.h), so that a scene stores one contact law per pair of classes.
 *
 * Two bodies are of one class if they have the same kind, functions, detectors of contact (contact_traits_of), names in contact.pairs, and sides of
 * the grid's domain that they can touch. A name that belongs to one body only, and that contact.pairs combines with such names only, does not
 * create a class: these pairs are exceptions. The bodies of one articulated body are a group. Called by the scene. */
#ifndef SS_SIM_SCENE_CONTACT_CLASSES_H
#define SS_SIM_SCENE_CONTACT_CLASSES_H
#include "core/key_table.h"
#include "core/pair_classes.h"

enum { CONTACT_NAMES = 3 };
/* Contact properties of a body; the pointers are borrowed. */
typedef struct {
  const void *kind, *ops;          /* identity of its kind and functions */
  unsigned    traits;              /* contact_traits_of; 0: its creation failed */
  bool        has_closed_surface;  /* rigid_body_closed_surface */
  unsigned    sides;               /* bits of the sides of the grid's domain that it can touch; a side: its own bit */
  const char *name[CONTACT_NAMES]; /* names under which contact.pairs can address it; NULL: none */
  int32_t     group;               /* articulated body to which it belongs; -1: none */
} contact_traits;

/* pairs: contact.pairs, a list of contact_pair_options. Entries without exactly two names are ignored. */
PetscErrorCode contact_classes_create(int32_t n, const contact_traits *traits, const key_list *pairs, pair_classes **out);
#endif
