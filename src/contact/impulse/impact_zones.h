/* Rigid impact zones: sets of nodes that move as one, where impulses pair by pair would go on for ever [Provot1997,
 * BridsonEtAl2002]. The motion is affine, v = V + W x r with r at the beginning of the step: it has the nodes' momentum and
 * angular momentum about there to rounding, and as r -> r + t W x r never shortens a distance, nothing within a zone meets
 * [hybrid, sec. 9]. */
#ifndef SS_CONTACT_IMPACT_ZONES_H
#define SS_CONTACT_IMPACT_ZONES_H
#include "core/verdict.h"
#include "core/error.h"

typedef struct {
  int64_t  n;
  int32_t *parent; /* [n] union-find; a root leads */
  int32_t *order;  /* [n] nodes by zone, ascending within */
  int32_t *start;  /* [n + 1] of the zones with more than one node, n_zones of them */
  int64_t  n_zones;
} impact_zones;

PetscErrorCode impact_zones_create(int64_t n, impact_zones *z);
void           impact_zones_destroy(impact_zones *z);
/* Each node alone. */
void    impact_zones_clear(impact_zones *z);
int32_t impact_zones_find(impact_zones *z, int32_t node);
void    impact_zones_merge(impact_zones *z, int32_t a, int32_t b);
/* Velocities [n][3] of all zones made rigid at x [n][3]; held nodes (inverse mass 0) lead their zone and must agree on one rigid
 * motion: *verdict STEP_NOT_CONVERGED at the first node of a zone in which they do not. */
void impact_zones_move(impact_zones *z, const double *inverse_mass, const double *x, double *v, step_verdict *verdict);
#endif
