/* Vector fields given by three expressions in a job: initial velocities, forces, displacements, exact solutions for error norms.
 *
 * Variables: x y z current position of a material point [m], X Y Z its position at the start of the run [m], t time [s].   */
#ifndef SS_DISCRETIZE_BODY_VECTOR_FIELD_H
#define SS_DISCRETIZE_BODY_VECTOR_FIELD_H
#include "core/diagnostics.h"
#include "core/key_table.h"

typedef struct vector_field vector_field;

/* Create a field from three expressions `texts`. If their number is not 3 or an expression is invalid, an error at `node` (key `path`) is
 * added to `d` and *out is NULL. */
PetscErrorCode vector_field_create(const key_list *texts, const document_node *node, const char *path, diagnostics *d, vector_field **out);
void           vector_field_destroy(vector_field **f);
/* Value [3] and gradient [3][3] at X, x, t. The gradient is the total derivative d value_i / d X_j with dx/dX = F [3][3].
 * May be called by several threads at once. */
void vector_field_at(const vector_field *f, const double X[3], const double x[3], double t, double value[3]);
void vector_field_gradient(const vector_field *f, const double X[3], const double x[3], double t, const double F[9], double gradient[9]);
#endif
