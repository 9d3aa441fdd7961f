/* Balanced contact forces between pairs of bodies. The total force on each body is known, its distribution over several
 * neighbours is not. Of all antisymmetric forces f_ab = -f_ba between pairs in contact that sum to the known totals, the one
 * closest to a guess is f_ab = guess_ab + lambda_a - lambda_b, where lambda solves Laplace's equation on the graph of pairs.
 * Used by the record of formulation hybrid. */
#ifndef SS_SIM_HYBRID_HYBRID_BALANCE_H
#define SS_SIM_HYBRID_HYBRID_BALANCE_H
#include "core/error.h"

typedef struct {
  int32_t body[2];
  double  force[3]; /* on body[0]: in: guess, out: balanced force */
} balance_pair;
/* total [n_bodies][3]: total forces of the bodies with is_known; the forces on other bodies, for example constrained ones, may
 * have any sum. Over each connected group of known bodies `total` must sum to zero up to rounding; a remainder stays unbalanced. */
PetscErrorCode hybrid_balance(int32_t n_bodies, const double (*total)[3], const bool *is_known, int64_t n_pairs, balance_pair *pair);
#endif
