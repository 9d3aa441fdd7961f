/* Balanced contact forces between pairs of bodies. The total contact force on each body is known, its distribution over several
 * neighbours is not. Among all forces f_ab = -f_ba between pairs in contact that sum to the known totals, those closest to a guess
 * (least squares) are f_ab = guess_ab + lambda_a - lambda_b. The lambda solve Poisson's equation on the graph of pairs, with the
 * missing totals as sources. Used by hybrid_record_balance. */
#ifndef SS_SIM_HYBRID_HYBRID_BALANCE_H
#define SS_SIM_HYBRID_HYBRID_BALANCE_H
#include "core/error.h"

typedef struct {
  int32_t body[2];
  double  force[3]; /* [N] on body[0]; in: guess, out: balanced force */
} balance_pair;
/* Balance the forces of pair [n_pairs]. total [n_bodies][3] N: contact force on each body with is_known; the sum on other bodies,
 * such as constrained ones, is free. In a connected group of known bodies totals must sum to 0; a remainder stays unbalanced. */
PetscErrorCode hybrid_balance(int32_t n_bodies, const double (*total)[3], const bool *is_known, int64_t n_pairs, balance_pair *pair);
#endif
