/* Hinges: pairs of triangles that resist a change of the angle between them, as an element set.
 *
 *   E = c (theta - theta0)^2 / 2,   c = B |e|^2 / (A_1 + A_2)          e: common edge, A_1, A_2: areas, of the undeformed triangles
 *
 * theta: signed angle between the normals, 0 if the triangles are in one plane; theta0: theta at the rest positions. Forces are minus the
 * gradient of E (discrete shells, [GrinspunEtAl2003]), and the stiffness is its second derivative, so bending conserves energy. The damping force
 * -beta c (grad theta) (d theta / dt) uses the gradient at the start of the step and is zero for rigid motions. For small angles the forces equal
 * those of [BridsonMarinoFedkiw2003], k_e |E|^2 / (|N_1| + |N_2|) sin(theta / 2) u in the notation of that paper, with k_e = 4 B. Those are not
 * used because they are not the gradient of an energy if edge lengths change. A grid of squares, bent to a cylinder about one of its directions,
 * has exactly the energy of a plate of flexural rigidity B [J]. theta jumps if a hinge closes by more than 180 degrees. Caller: cloth_body.c. */
#ifndef SS_DISCRETIZE_CLOTH_HINGES_H
#define SS_DISCRETIZE_CLOTH_HINGES_H
#include "discretize/nodal/nodal_body.h"

/* Add hinges node [n][4] to an unfinished body: triangles (0, 1, 2) and (1, 0, 3) along the edge from node 0 to node 1. bending: B >= 0
 * [J]; beta >= 0 [s]. PETSC_ERR_USER_INPUT for a triangle without area. */
PetscErrorCode hinges_add(nodal_body *b, double bending, double beta, int64_t n, const int32_t *node);
#endif
