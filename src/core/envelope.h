/* A long table of numbers, seen through at most `n_bins` bins of equally many rows: of each column the least and the greatest value
 * of every bin and where they stand. A curve through these is, at that many pixels, the curve through all rows, spikes included.
 *
 * Takes the rows one by one and keeps only the bins: when all are full, neighbours are joined. */
#ifndef SS_CORE_ENVELOPE_H
#define SS_CORE_ENVELOPE_H
#include "core/error.h"

typedef struct envelope envelope;
/* n_bins: even, at least 2. */
PetscErrorCode envelope_create(int n_columns, int n_bins, envelope **out);
void           envelope_destroy(envelope **e);
/* values [n_columns] at x, which must not decrease. What is not finite is left out: where a whole bin has nothing, there is a gap. */
void envelope_add(envelope *e, double x, const double *values);

int64_t envelope_rows(const envelope *e);
/* Points there may be at most: for the arrays of envelope_curve. */
int64_t envelope_room(const envelope *e);
/* The curve of a column, from left to right: x, y [envelope_room]; *n points. A gap is a point whose y is NaN. */
void envelope_curve(const envelope *e, int column, int64_t *n, double *x, double *y);
/* Over all rows; NaN if no value was finite. */
typedef struct {
  double min, max, last, sum;
} envelope_range;
envelope_range envelope_range_of(const envelope *e, int column);
#endif
