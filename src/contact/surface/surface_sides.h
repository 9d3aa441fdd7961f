/* Memory of the side on which points and edges touch open surfaces, which have no inside. Positions alone do not determine the side of a contact that
 * is deeper than the skin (surface_contact.h). State, group "contact/surface_sides" of checkpoints. Callers: surface_contact.c, surface_scene.c. */
#ifndef SS_CONTACT_SURFACE_SURFACE_SIDES_H
#define SS_CONTACT_SURFACE_SURFACE_SIDES_H
#include "core/field_table.h"

/* key: bodies and kind of contact (contact_set.h), and persistent identity of the point or edge. side: sign of the contact normal on the normal of
 * the surface. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;  /* [n][2] ascending */
  int32_t  *side; /* [n] 1 or -1 */
} surface_sides;

/* The stored side; 0: none. */
int surface_sides_find(const surface_sides *s, const uint64_t key[2]);
/* Replace the memory by n entries in any order; keys with different sides are not stored, as in folds of one surface. key [n][2] and side [n]: out,
 * undefined order. */
PetscErrorCode surface_sides_set(surface_sides *s, int64_t n, const uint64_t *key, const int32_t *side);
PetscErrorCode surface_sides_fields(surface_sides *s, field_table *table);
/* Release the memory of the arrays; the struct can be used again. */
void surface_sides_free(surface_sides *s);
#endif
