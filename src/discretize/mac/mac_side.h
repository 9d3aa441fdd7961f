/* The sides of the mac domain as static bodies, for contact with rigid and other bodies. They have no fields and no picture. The
 * continuum does not use them, because its grid ends there. */
#ifndef SS_DISCRETIZE_MAC_MAC_SIDE_H
#define SS_DISCRETIZE_MAC_MAC_SIDE_H
#include "discretize/body/body_kind.h"
#include "discretize/mac/mac_keys.h"

/* Job keys "walls.lower_x" ... of the sides: [axis][0: lower, 1: upper]. */
extern const char *const mac_side_name[3][2];
/* Kind of these bodies. It is not in the registry of kinds, so it is no value of `kind:` in a job. */
extern const body_kind mac_side_kind;

/* Returns true if a side is a wall (rough or smooth). */
static inline bool mac_side_is_solid(const mac_options *o, int axis, int upper)
{
  return o->walls->side[axis][upper] == MAC_WALL_ROUGH || o->walls->side[axis][upper] == MAC_WALL_SMOOTH;
}
/* Plane of a side: sets the unit normal, which points into the domain, and returns the offset [m]. Points x with normal . x <= offset are
 * outside the domain. */
double mac_side_plane(const mac_options *o, int axis, int upper, double normal[3]);
/* Create the body of a side. The caller destroys it by its ops->destroy. */
PetscErrorCode mac_side_create(const mac_options *o, int axis, int upper, body **out);
#endif
