/* Reduction of a long time series to minimum and maximum per bin, for plots (app/report).
 *
 * Rows are added one by one and stored in at most `n_bins` bins of equally many rows. Each bin stores the minimum and maximum of every column and
 * their positions. When all bins are full, neighbours are merged. Drawn at n_bins pixels, a curve through these points equals the curve
 * through all rows, including spikes. */
#ifndef SS_CORE_ENVELOPE_H
#define SS_CORE_ENVELOPE_H
#include "core/error.h"

typedef struct envelope envelope;
/* n_bins: even, at least 2. */
PetscErrorCode envelope_create(int n_columns, int n_bins, envelope **out);
void           envelope_destroy(envelope **e);
/* Add a row: values [n_columns] at x, which must not decrease. Values that are not finite are skipped; a bin without finite values is a gap. */
void envelope_add(envelope *e, double x, const double *values);

int64_t envelope_rows(const envelope *e);
/* Maximum number of points that envelope_curve returns now. */
int64_t envelope_room(const envelope *e);
/* Curve of a column with x ascending: x, y [envelope_room], *n points. A gap is a point with y = NaN. */
void envelope_curve(const envelope *e, int column, int64_t *n, double *x, double *y);
/* Statistics of a column over all rows; NaN if no value was finite. */
typedef struct {
  double min, max, last, sum;
} envelope_range;
envelope_range envelope_range_of(const envelope *e, int column);
#endif
