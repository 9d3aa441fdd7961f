/* Vector fields over matter, written as three expressions in a job: initial velocities, forces, displacements, expected answers.
 *
 * Variables: x y z where a piece of matter is, X Y Z where it was when the run began [m], t [s].                         */
#ifndef SS_DISCRETIZE_BODY_VECTOR_FIELD_H
#define SS_DISCRETIZE_BODY_VECTOR_FIELD_H
#include "core/diagnostics.h"
#include "core/key_table.h"

typedef struct vector_field vector_field;

/* `texts`: three expressions; with any other number, or if one does not compile, a complaint goes to `d` and *out is NULL. */
PetscErrorCode vector_field_create(const key_list *texts, const document_node *node, const char *path, diagnostics *d, vector_field **out);
void           vector_field_destroy(vector_field **f);
/* Value [3], and gradient [3][3], d value_i / d X_j with x moving along as F [3][3] = dx/dX says, at X, x, t. Safe in parallel. */
void vector_field_at(const vector_field *f, const double X[3], const double x[3], double t, double value[3]);
void vector_field_gradient(const vector_field *f, const double X[3], const double x[3], double t, const double F[9], double gradient[9]);
#endif
