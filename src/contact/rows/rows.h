/* Rows of contacts: the sparse map from velocity blocks to contact points that are weighted sums of blocks.
 *
 * The map and its transpose are built once per step for all pairs; pairs of rigid points have empty rows. Gathering is parallel over pairs,
 * scattering over the blocks with entries ("touched"). Every sum has a fixed order, so the bits do not depend on the number of threads.
 * Callers: penalty contact (rigid_sides.h, penalty_pairs.h). */
#ifndef SS_CONTACT_ROWS_ROWS_H
#define SS_CONTACT_ROWS_ROWS_H
#include "contact/detection/contact_search.h"

typedef struct contact_rows contact_rows;
PetscErrorCode              contact_rows_create(contact_rows **out);
void                        contact_rows_destroy(contact_rows **r);

/* Build the rows of `candidates` [n] for the block layout of this step; n_blocks: length of the global vector in blocks. A weight for a
 * block outside the body is a programming error (SS_ASSERT). */
PetscErrorCode contact_rows_build(contact_rows *r, int64_t n, const contact_candidate *candidates, const contact_source *sources,
                                  int64_t n_blocks);
/* Build rows of one block with weight 1 each: block [n], global numbers. */
PetscErrorCode contact_rows_build_single(contact_rows *r, int64_t n, const int32_t *block, int64_t n_blocks);
int64_t        contact_rows_n_entries(const contact_rows *r);
/* Arrays of the map (entries of each pair) and of its transpose (entries of each touched block), borrowed until the next build. */
typedef struct {
  int64_t        n_touched;
  const int64_t *start, *touched_start;          /* [n + 1], [n_touched + 1] */
  const int32_t *block, *touched, *touched_pair; /* blocks are global, touched ascends, pairs ascend within a block */
  const double  *weight, *touched_weight;
} contact_rows_view;
contact_rows_view contact_rows_get(const contact_rows *r);

/* out [n][3] = scale sum_k w_k v[block_k], v [n_blocks][3]; zero for an empty row. Only rows with is_wanted[i] != 0 are computed; is_wanted
 * NULL: all rows. */
void contact_rows_gather(const contact_rows *r, double scale, const double *v, const uint8_t *is_wanted, double *out);
/* y [n_blocks][3] += scale sum_i w_i f_i over the pairs i at each block; f [n][3]. */
void contact_rows_scatter(const contact_rows *r, double scale, const double *f, double *y);
/* d [n_blocks][9] += scale sum_i w_i^2 m_i over the pairs i at each block; m [n][9]. */
void contact_rows_scatter_squares(const contact_rows *r, double scale, const double *m, double *d);
#endif
