/* The contacts of fibres with fibres in the last step that was accepted: they tell what those of this step were, and from which side
 * fibres touch that have come through each other. State, of checkpoints. */
#ifndef SS_CONTACT_FIBRE_FIBRE_PAST_H
#define SS_CONTACT_FIBRE_FIBRE_PAST_H
#include "contact/fibre/fibre_contact.h"
#include "core/field_table.h"

/* Zeroed, but for n_segments, to begin with. spot is what the other arrays say: these are fields, one array a quantity. */
typedef struct {
  int64_t     n_segments; /* of all fibres */
  int64_t     n, capacity, spot_capacity;
  fibre_spot *spot;    /* [n] ascending by segments */
  int32_t    *segment; /* [n][2] */
  uint8_t    *feature; /* [n][3] the last: is_swept */
  double     *at, *axis, *normal, *gap; /* [n][2] [n][6] [n][3] [n] */
} fibre_past;
void           fibre_past_clear(fibre_past *p);
PetscErrorCode fibre_past_set(fibre_past *p, int64_t n, const fibre_spot *spot);
/* Group "contact/fibres" of checkpoints; p stays where it is. */
PetscErrorCode fibre_past_fields(fibre_past *p, field_table *table);
#endif
