/* Envelope of a time series, see envelope.h. The first and last finite point of a column are stored separately, so that the curve spans all rows. */
#include "core/envelope.h"
#include <math.h>
#include "core/memory.h"

/* Minimum and maximum of one column in one bin, with their x; x_min NaN: no finite value. */
typedef struct {
  double x_min, min, x_max, max;
} extremes;

typedef struct {
  double         x_first, first, x_last, last; /* finite ones */
  envelope_range range;
} column_state;

struct envelope {
  int           n_columns, n_bins, n_used;
  int64_t       rows_per_bin, in_last, n_rows;
  double       *x_bin; /* [n_bins] x of the first row of each bin, for gaps */
  extremes     *bin;   /* [n_bins][n_columns] */
  column_state *column;
};

PetscErrorCode envelope_create(int n_columns, int n_bins, envelope **out)
{
  envelope *e;
  PetscFunctionBegin;
  PetscCheck(n_columns > 0 && n_bins >= 2 && n_bins % 2 == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "an envelope of %d columns in %d bins; expected 1 column or more and an even number of bins", n_columns, n_bins);
  PetscCall(memory_alloc("envelope", 1, sizeof *e, &e));
  *out            = e;
  e->n_columns    = n_columns;
  e->n_bins       = n_bins;
  e->rows_per_bin = 1;
  PetscCall(MEMORY_ALLOC("envelope", ARRAY(e->x_bin, n_bins), ARRAY(e->bin, (int64_t)n_bins * n_columns), ARRAY(e->column, n_columns)));
  for (int c = 0; c < n_columns; ++c) e->column[c] = (column_state){NAN, NAN, NAN, NAN, {NAN, NAN, NAN, 0.0}};
  PetscFunctionReturn(PETSC_SUCCESS);
}

void envelope_destroy(envelope **e)
{
  if (!*e) return;
  MEMORY_FREE(&(*e)->x_bin, &(*e)->bin, &(*e)->column, e);
}

static void merge_extremes(extremes *a, const extremes *b)
{
  if (isnan(b->x_min)) return;
  if (isnan(a->x_min)) {
    *a = *b;
    return;
  }
  if (b->min < a->min) a->min = b->min, a->x_min = b->x_min;
  if (b->max > a->max) a->max = b->max, a->x_max = b->x_max;
}

static void merge_neighbouring_bins(envelope *e)
{
  for (int i = 0; i < e->n_bins / 2; ++i) {
    e->x_bin[i] = e->x_bin[2 * i];
    for (int c = 0; c < e->n_columns; ++c) {
      extremes merged = e->bin[2 * i * e->n_columns + c];
      merge_extremes(&merged, &e->bin[(2 * i + 1) * e->n_columns + c]);
      e->bin[i * e->n_columns + c] = merged;
    }
  }
  e->n_used = e->n_bins / 2;
  e->rows_per_bin *= 2;
}

static void update_column_range(column_state *s, double x, double y)
{
  if (isnan(s->x_first)) {
    s->x_first = x, s->first = y;
    s->range.min = s->range.max = y;
  }
  s->x_last = x, s->last = y;
  s->range.min  = fmin(s->range.min, y);
  s->range.max  = fmax(s->range.max, y);
  s->range.last = y;
  s->range.sum += y;
}

void envelope_add(envelope *e, double x, const double *values)
{
  if (e->n_used == e->n_bins && e->in_last == e->rows_per_bin) {
    merge_neighbouring_bins(e);
    e->in_last = e->rows_per_bin; /* the last bin is full again */
  }
  if (e->n_used == 0 || e->in_last == e->rows_per_bin) {
    e->x_bin[e->n_used] = x;
    for (int c = 0; c < e->n_columns; ++c) e->bin[e->n_used * e->n_columns + c] = (extremes){NAN, NAN, NAN, NAN};
    ++e->n_used;
    e->in_last = 0;
  }
  ++e->in_last;
  ++e->n_rows;
  for (int c = 0; c < e->n_columns; ++c) {
    if (!isfinite(values[c])) continue;
    merge_extremes(&e->bin[(e->n_used - 1) * e->n_columns + c], &(extremes){x, values[c], x, values[c]});
    update_column_range(&e->column[c], x, values[c]);
  }
}

int64_t        envelope_rows(const envelope *e) { return e->n_rows; }
int64_t        envelope_room(const envelope *e) { return 2 * (int64_t)e->n_used + 2; }
envelope_range envelope_range_of(const envelope *e, int column) { return e->column[column].range; }

void envelope_curve(const envelope *e, int column, int64_t *n, double *x, double *y)
{
  const column_state *s = &e->column[column];
  *n                    = 0;
  for (int i = 0; i < e->n_used; ++i) {
    const extremes *b        = &e->bin[i * e->n_columns + column];
    const bool      up       = b->x_min <= b->x_max;
    const double    px[2]    = {up ? b->x_min : b->x_max, up ? b->x_max : b->x_min};
    const double    py[2]    = {up ? b->min : b->max, up ? b->max : b->min};
    const int       n_points = isnan(b->x_min) || px[0] == px[1] ? 1 : 2;
    if (*n == 0 && !isnan(b->x_min) && px[0] != s->x_first) x[*n] = s->x_first, y[(*n)++] = s->first;
    for (int k = 0; k < n_points; ++k)
      x[*n] = n_points == 1 && isnan(px[0]) ? e->x_bin[i] : px[k], y[(*n)++] = isnan(b->x_min) ? NAN : py[k];
  }
  if (*n > 0 && !isnan(s->x_last) && x[*n - 1] < s->x_last && !isnan(y[*n - 1])) x[*n] = s->x_last, y[(*n)++] = s->last;
}
