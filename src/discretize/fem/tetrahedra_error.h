/* Error norms of a body of tetrahedra against an exact solution, integrated over the elements. Caller: measures (sim/measure). */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_ERROR_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_ERROR_H
#include "discretize/nodal/nodal_body.h"

typedef enum { TETRAHEDRA_DISPLACEMENT, TETRAHEDRA_VELOCITY, TETRAHEDRA_GRADIENT } tetrahedra_quantity;

/* *error: root mean square over the undeformed volume of the interpolated solution minus the field f at time t. `of` selects displacement
 * [m], velocity [m/s], or the displacement gradient dx/dX - 1 (all nine components, against the gradient of a displacement field). Times
 * the square root of the volume these are the L2 norm of the error and its H1 seminorm. Integrated with 14 points per element, exact for
 * polynomials of degree 5. Fails only if memory allocation fails. */
PetscErrorCode tetrahedra_error(const nodal_body *b, const vector_field *f, double t, tetrahedra_quantity of, double *error);
#endif
