/* Sets of units that move as one, by union and find. */
#ifndef SS_CONTACT_IMPULSE_IMPACT_ZONES_H
#define SS_CONTACT_IMPULSE_IMPACT_ZONES_H
#include "core/error.h"

typedef struct {
  int64_t  n;
  int32_t *parent; /* [n] union-find; a root leads */
  int32_t *order;  /* [n] units by zone, ascending within */
  int32_t *start;  /* [n + 1] of the zones with more than one unit, n_zones of them */
  int64_t  n_zones;
} impact_zones;

PetscErrorCode impact_zones_create(int64_t n, impact_zones *z);
void           impact_zones_destroy(impact_zones *z);
/* Each unit alone. */
void    impact_zones_clear(impact_zones *z);
int32_t impact_zones_find(impact_zones *z, int32_t unit);
void    impact_zones_merge(impact_zones *z, int32_t a, int32_t b);
/* Fill order, start and n_zones. */
void impact_zones_sort(impact_zones *z);
#endif
