/* Reduction of a long time series to minimum and maximum per bin, for plots (app/report).
 *
 * A row consists of a time x and one value per column. Consecutive rows form at most `n_bins` bins of equally many rows. Each bin stores the minimum and
 * maximum of every column and the x at which they occur. When all bins are full, neighbouring bins are merged. In a plot of n_bins pixels, the curve
 * through these points equals the curve through all rows, including spikes. */
#ifndef SS_CORE_ENVELOPE_H
#define SS_CORE_ENVELOPE_H
#include "core/error.h"

typedef struct envelope envelope;
/* n_bins: even, at least 2. */
PetscErrorCode envelope_create(int n_columns, int n_bins, envelope **out);
void           envelope_destroy(envelope **e);
/* Add a row: values [n_columns] at x; x must not decrease. Values that are not finite are skipped; a bin without finite values is a gap. */
void envelope_add(envelope *e, double x, const double *values);

int64_t envelope_rows(const envelope *e); /* number of rows added */
/* Upper bound of the number of points that envelope_curve returns for the rows added so far. */
int64_t envelope_room(const envelope *e);
/* Points of the curve of one column, x ascending: x, y [envelope_room], of which the first *n are set. A gap is a point with y = NaN. */
void envelope_curve(const envelope *e, int column, int64_t *n, double *x, double *y);
/* Statistics of the finite values of a column over all rows. Without finite values sum is 0 and the others are NaN. */
typedef struct {
  double min, max, last, sum;
} envelope_range;
envelope_range envelope_range_of(const envelope *e, int column);
#endif
