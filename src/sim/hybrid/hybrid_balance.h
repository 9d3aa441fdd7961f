/* Forces between pairs that add up: what each body felt is known, who of several did how much of it is not. Of all forces f_ab =
 * -f_ba between pairs that met and that sum up to what each body felt, those nearest to a guess: f_ab = guess_ab + lambda_a -
 * lambda_b, which is Laplace's equation on the graph of pairs. */
#ifndef SS_SIM_HYBRID_HYBRID_BALANCE_H
#define SS_SIM_HYBRID_HYBRID_BALANCE_H
#include "core/error.h"

typedef struct {
  int32_t body[2];
  double  force[3]; /* on body[0]: a guess in, the answer out */
} balance_pair;
/* felt [n_bodies][3] of bodies for which it is known; of others, as those that are held, forces may sum up to anything. Sums of
 * felt over what hangs together by pairs and is all known have to vanish, to rounding; what does not is left. */
PetscErrorCode hybrid_balance(int32_t n_bodies, const double (*felt)[3], const bool *is_known, int64_t n_pairs, balance_pair *pair);
#endif
