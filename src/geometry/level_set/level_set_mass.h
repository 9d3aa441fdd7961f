/* Volume, centre of mass and inertia of a level set by quadrature. Called for boolean combinations of shapes. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_MASS_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_MASS_H
#include "geometry/level_set/level_set.h"
#include "geometry/primitive/mass_properties.h"

/* Mass properties of {phi < 0} for unit density. min, max: bounds that contain this set [m]. phi must be 1-Lipschitz, as every distance
 * and every minimum or maximum of distances is. The grid has about cells_along_longest cells along the longest side, rounded up to a
 * multiple of 8, at most 512. The order of summation is fixed. Relative error below 1e-6 (tests/unit/geometry/test_shape.c). */
mass_properties level_set_mass(const level_set *phi, const double min[3], const double max[3], int cells_along_longest);
#endif
