/* All dynamic rigid bodies of a scene as one table with one row per body: structure of arrays, stored in checkpoints and frames as the group "rigid/bodies".
 *
 * State: centre of mass, orientation, velocity, angular velocity. Constants: number of the body in the scene, name, shape, size. Equal surfaces are
 * stored once, as shapes in body axes; spheres have no surface. Bodies with the same vertices up to rounding errors have the same shape.
 * For ParaView the group "rigid/surfaces" contains the surfaces of the bodies in world coordinates, if they have few vertices in total: at most
 * RIGID_TABLE_SURFACES with those of spheres; otherwise at most RIGID_TABLE_OTHER_SURFACES without spheres; otherwise none.
 * Created and destroyed by the scene. Links of articulated bodies, kinematic and static bodies are not in the table. */
#ifndef SS_DISCRETIZE_RIGID_RIGID_TABLE_H
#define SS_DISCRETIZE_RIGID_RIGID_TABLE_H
#include "discretize/rigid/rigid_body.h"

enum { RIGID_TABLE_SURFACES = 100000, RIGID_TABLE_OTHER_SURFACES = 1000000 }; /* vertices; 1.2 and 12 MB per frame */

typedef struct rigid_table rigid_table;
/* Move the state of the bodies [n] (borrowed, RIGID_DYNAMIC) into the rows 0 ... n - 1; b->c, q, v and w then point into the table, which must exist as
 * long as the bodies are used. number [n]: numbers of the bodies in the scene. */
PetscErrorCode rigid_table_create(int64_t n, rigid_body *const *bodies, const int32_t *number, rigid_table **out);
void           rigid_table_destroy(rigid_table **t);
/* Register the groups "rigid/bodies", "rigid/names", "rigid/shapes" and "rigid/surfaces"; none if there are no bodies. */
PetscErrorCode rigid_table_fields(rigid_table *t, field_table *fields);
#endif
