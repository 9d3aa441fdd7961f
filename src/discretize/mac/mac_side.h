/* The sides of the mac domain as obstacles, on which bodies outside the grid rest. They have no fields and no picture. The
 * continuum does not use them; its grid ends there. */
#ifndef SS_DISCRETIZE_MAC_MAC_SIDE_H
#define SS_DISCRETIZE_MAC_MAC_SIDE_H
#include "discretize/body/body_kind.h"
#include "discretize/mac/mac_keys.h"

/* "walls.lower_x" ...: by axis, lower and upper. */
extern const char *const mac_side_name[3][2];
/* Kind of the bodies created here. It is not in the registry; a job cannot name it. */
extern const body_kind mac_side_kind;

static inline bool mac_side_is_solid(const mac_options *o, int axis, int upper)
{
  return o->walls->side[axis][upper] == MAC_WALL_ROUGH || o->walls->side[axis][upper] == MAC_WALL_SMOOTH;
}
/* Points with normal . x <= offset are behind the side; the normal points into the domain. Returns the offset. */
double mac_side_plane(const mac_options *o, int axis, int upper, double normal[3]);
/* The caller destroys the body through its ops. */
PetscErrorCode mac_side_create(const mac_options *o, int axis, int upper, body **out);
#endif
