/* Error norms of a body of tetrahedra against a solution that is known everywhere, not only at its nodes. Caller: measures. */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_ERROR_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_ERROR_H
#include "discretize/nodal/nodal_body.h"

typedef enum { TETRAHEDRA_DISPLACEMENT, TETRAHEDRA_VELOCITY, TETRAHEDRA_GRADIENT } tetrahedra_quantity;

/* Root mean square over the undeformed volume of the interpolated solution minus the field, at time t: of a displacement [m], of
 * a velocity [m/s], or of the displacement gradient dx/dX - 1 against that of a displacement field [-] (all nine components).
 * Times the root of the volume these are the L2 norm of the error, and its H1 seminorm. Integrated by 14 points per element,
 * exact for polynomials of degree 5. Fails only if memory allocation fails. */
PetscErrorCode tetrahedra_error(const nodal_body *b, const vector_field *f, double t, tetrahedra_quantity of, double *error);
#endif
