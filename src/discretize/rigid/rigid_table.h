/* All dynamic rigid bodies of a scene as one table with one row per body: structure of arrays, stored in checkpoints and frames as the group "rigid/bodies".
 *
 * State: centre of mass, orientation, velocity, angular velocity. Constants: number of the body in the scene, name, shape, size. Equal surfaces are
 * stored once, as shapes in body axes; spheres have no surface. Bodies with the same vertices up to rounding errors have the same shape.
 * Bodies that are poured (body.is_waiting) get a row at their release, after all others. Rows, names and surfaces then change during the run; the
 * numbers of the bodies are part of the state. A waiting body has the state of its release.
 * For ParaView the group "rigid/surfaces" contains the surfaces of the bodies in world coordinates, if they have few vertices in total: at most
 * RIGID_TABLE_SURFACES with those of spheres; otherwise at most RIGID_TABLE_OTHER_SURFACES without spheres; otherwise none.
 * Created and destroyed by the scene. Links of articulated bodies, kinematic and static bodies are not in the table. */
#ifndef SS_DISCRETIZE_RIGID_RIGID_TABLE_H
#define SS_DISCRETIZE_RIGID_RIGID_TABLE_H
#include "discretize/rigid/rigid_body.h"

enum { RIGID_TABLE_SURFACES = 100000, RIGID_TABLE_OTHER_SURFACES = 1000000 }; /* vertices; 1.2 and 12 MB per frame */

typedef struct rigid_table rigid_table;
/* Move the state of the bodies [n] (borrowed, RIGID_DYNAMIC) into the table; b->c, q, v and w then point into it. It must exist as long as the bodies
 * are used. number [n]: numbers of the bodies in the scene, ascending. */
PetscErrorCode rigid_table_create(int64_t n, rigid_body *const *bodies, const int32_t *number, rigid_table **out);
void           rigid_table_destroy(rigid_table **t);
/* Release the waiting body with this number: add a row with its state. */
void rigid_table_release(rigid_table *t, int32_t number);
/* Call changed(context) after a restore, which can add rows. */
void rigid_table_on_restore(rigid_table *t, void (*changed)(void *context), void *context);
/* Register the groups "rigid/bodies", "rigid/names", "rigid/shapes" and "rigid/surfaces"; none if there are no bodies. */
PetscErrorCode rigid_table_fields(rigid_table *t, field_table *fields);
#endif
