/* Volume, centre and inertia of a level set. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_MASS_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_MASS_H
#include "geometry/level_set/level_set.h"
#include "geometry/primitive/mass_properties.h"

/* Integrals of {phi < 0} within the bounds, which must hold all of it; phi must change by at most its distance (every
 * distance and every min/max of distances does). Fixed order of summation. */
mass_properties level_set_mass(const level_set *phi, const double min[3], const double max[3], int cells_along_longest);
#endif
