/* Subdomains of a 3x3-block matrix: METIS parts of its graph, grown by layers of neighbours. */
#ifndef SS_OPTIM_LINEAR_BLOCK3_PARTS_H
#define SS_OPTIM_LINEAR_BLOCK3_PARTS_H
#include "optim/linear/mat_block3.h"

/* Part p holds the blocks member[start[p] .. start[p+1]), sorted; is_owned tells which of them METIS gave to p (every
 * block is owned once), the others overlap. */
typedef struct {
  int64_t  n_parts;
  int64_t *start;    /* [n_parts+1] */
  int32_t *member;   /* [start[n_parts]] */
  uint8_t *is_owned; /* [start[n_parts]] */
} block3_parts;

/* Cut the graph of A + A^T into n_parts (clamped to 1 ... n) with METIS' fixed seed, so that the parts depend on the
 * pattern alone, and add n_layers of neighbours. Fails when memory or METIS does. */
PetscErrorCode block3_parts_create(const block3_view *a, int64_t n_parts, int n_layers, block3_parts *out);
void           block3_parts_destroy(block3_parts *p);
#endif
