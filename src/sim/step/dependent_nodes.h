/* Dependent nodes: blocks of the global vector whose velocity is a weighted sum of the velocities of other blocks, its leaders j:
 * v_i = sum_j a_ij v_j (body_ops.followers). Light MPM grid nodes are such blocks.
 *
 * Let R be the map that sets dependent blocks from their leaders. The equations become R^T g(R v) = 0 with the tangent R^T H R.
 * Test functions are restricted to the form R v, like velocities. Therefore momentum, rigid motions that R reproduces, and the
 * energy decay of backward Euler are preserved. Dependent blocks keep their places in the vector but are decoupled. Used by
 * step_layout and by formulation penalty. */
#ifndef SS_SIM_STEP_DEPENDENT_NODES_H
#define SS_SIM_STEP_DEPENDENT_NODES_H
#include "discretize/body/body.h"

typedef struct {
  int64_t               n, capacity;
  body_dependent_block *entry; /* block and leader in the global vector; the entries of one block are consecutive */
} dependent_nodes;

void           dependent_nodes_free(dependent_nodes *f);
PetscErrorCode dependent_nodes_gather(dependent_nodes *f, int n_systems, body *const *systems);
/* x [n_blocks][3] = R x */
void dependent_nodes_expand(const dependent_nodes *f, double *x);
/* x [n_blocks][3] = R^T x, zero for dependent blocks. */
void dependent_nodes_fold(const dependent_nodes *f, double *x);
/* d [n_blocks][width], diagonal blocks of H: in: of H, out: approximately of R^T H R. Leaders receive sum a^2 d; the coupling
 * between a leader and its dependent blocks is neglected. */
void dependent_nodes_fold_squares(const dependent_nodes *f, int width, double *d);
#endif
