/* What the two makers of contact groups share. */
#ifndef SS_OPTIM_FRICTION_CONTACT_GROUPS_IMPL_H
#define SS_OPTIM_FRICTION_CONTACT_GROUPS_IMPL_H
#include "optim/friction/contact_groups.h"

static inline int32_t group_padded(int64_t n) { return (int32_t)((n + 3) / 4 * 4); }

PetscErrorCode contact_groups_from_blocks(delassus *w, contact_groups *g); /* contact_groups_blocks.c */
PetscErrorCode contact_groups_from_system(delassus *w, contact_groups *g); /* contact_groups_system.c */
#endif
