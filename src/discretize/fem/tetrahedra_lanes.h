/* What loops over batches of tetrahedra share. Rows are [component][element of the batch]; per-element data of a set are
 * component-major, gradient[3 a + k][element]: component k of the gradient of the shape function of corner a + 1. Corner 0 has
 * minus the sum of the others. */
#ifndef SS_DISCRETIZE_FEM_TETRAHEDRA_LANES_H
#define SS_DISCRETIZE_FEM_TETRAHEDRA_LANES_H
#include "core/math3.h"
#include "discretize/nodal/element_set.h"

/* x [12] of one element's corners. */
static inline void tetrahedra_corners(const int32_t *node, const double *x, double out[12])
{
  for (int a = 0; a < 4; ++a) v3_copy(out + 3 * a, x + 3 * (int64_t)node[a]);
}

/* G = sum_a (x_a - x_0) gradient_a: the deformation gradient of positions x [12], its rate of velocities. n <= ELEMENT_BATCH. */
void tetrahedra_gradients(double *const *gradient, int64_t first, int64_t n, const element_row *x, element_row *G);
/* f of corners 1, 2, 3 -= volume P gradient. */
void tetrahedra_corner_forces(int64_t n, const double *volume, double *const *gradient, int64_t first, const element_row *P,
                              element_row *f);
#endif
