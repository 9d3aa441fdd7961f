/* Pressure on triangles of a surface, following it: f = -p A n / 3 on each corner. Over a closed surface it has a potential (p times the
 * volume) and a symmetric stiffness; on a part with a border it has neither. */
#ifndef SS_DISCRETIZE_NODAL_PRESSURE_H
#define SS_DISCRETIZE_NODAL_PRESSURE_H
#include "discretize/nodal/nodal_body.h"

/* Add p [Pa], positive inwards, on triangles [n][3] of nodes, outward, to an unfinished body. */
PetscErrorCode pressure_add(nodal_body *b, double p, int64_t n, const int32_t *triangles);
#endif
