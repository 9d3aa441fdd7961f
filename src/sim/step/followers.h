/* Blocks of the global vector that move as a weighted sum of others (body_ops.followers): v_i = sum a_ij v_j.
 *
 * With R the map that sets followers from their leaders, the equations are R^T g(R v) = 0 and their tangent is R^T H R: what is
 * tested with R v is the same as without followers, so momentum, whatever rigid motion R reproduces, and backward Euler's loss of
 * energy stay. Followers keep their place in the vector, decoupled. */
#ifndef SS_SIM_STEP_FOLLOWERS_H
#define SS_SIM_STEP_FOLLOWERS_H
#include "discretize/body/body.h"

typedef struct {
  int64_t        n, capacity;
  body_follower *entry; /* block and leader in the global vector; those of one block together */
} followers;

void           followers_free(followers *f);
PetscErrorCode followers_gather(followers *f, int n_systems, body *const *systems);
/* x [n_blocks][3] = R x */
void followers_expand(const followers *f, double *x);
/* x [n_blocks][3] = R^T x, zero for followers. */
void followers_fold(const followers *f, double *x);
/* d [n_blocks][width], what stands on the diagonal: leaders get sum a^2 d. What couples a leader with its followers is left out. */
void followers_fold_squares(const followers *f, int width, double *d);
#endif
