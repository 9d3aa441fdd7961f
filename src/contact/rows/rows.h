/* Rows of contacts: the sparse map from velocity blocks to contact points that are weighted sums of blocks.
 *
 * Built once per step for all pairs (pairs of rigid points have empty rows), together with its transpose. Gathering is parallel over
 * pairs, scattering is parallel over touched blocks. Every sum has a fixed order, so the bits do not depend on the number of threads.
 * Callers: penalty contact (rigid_sides.h, penalty_pairs.h). */
#ifndef SS_CONTACT_ROWS_ROWS_H
#define SS_CONTACT_ROWS_ROWS_H
#include "contact/detection/contact_search.h"

typedef struct contact_rows contact_rows;
PetscErrorCode              contact_rows_create(contact_rows **out);
void                        contact_rows_destroy(contact_rows **r);

/* Rows of `candidates` [n] at the layout of this step; n_blocks: length of the global vector in blocks. Weights for blocks
 * outside of the body are internal errors (SS_ASSERT). */
PetscErrorCode contact_rows_build(contact_rows *r, int64_t n, const contact_candidate *candidates, const contact_source *sources,
                                  int64_t n_blocks);
/* Rows of one block each, with weight 1: block [n], global. Scattering then only uses the transposed lists. */
PetscErrorCode contact_rows_build_single(contact_rows *r, int64_t n, const int32_t *block, int64_t n_blocks);
int64_t        contact_rows_n_entries(const contact_rows *r);
/* The map itself and its transpose, borrowed until the next build: entries of pair i, and of each touched block. */
typedef struct {
  int64_t        n_touched;
  const int64_t *start, *touched_start;          /* [n + 1], [n_touched + 1] */
  const int32_t *block, *touched, *touched_pair; /* blocks are global, touched ascends, pairs ascend within a block */
  const double  *weight, *touched_weight;
} contact_rows_view;
contact_rows_view contact_rows_get(const contact_rows *r);

/* out [n][3] = scale sum_k w_k v[block_k], v [n_blocks][3]; zero for an empty row. Rows with is_wanted[i] == 0 are not written;
 * is_wanted NULL: all. */
void contact_rows_gather(const contact_rows *r, double scale, const double *v, const uint8_t *is_wanted, double *out);
/* y [n_blocks][3] += scale sum_i w_i f_i over the pairs at each block; f [n][3], zero where nothing acts. */
void contact_rows_scatter(const contact_rows *r, double scale, const double *f, double *y);
/* d [n_blocks][9] += scale sum_i w_i^2 m_i; m [n][9]. */
void contact_rows_scatter_squares(const contact_rows *r, double scale, const double *m, double *d);
#endif
