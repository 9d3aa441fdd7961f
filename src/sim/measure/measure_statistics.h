/* What a recorded quantity came to over a run. Built from the rows of its table in their order, so that a resumed run, which reads
 * them back, gets the same bits as one that never stopped. */
#ifndef SS_SIM_MEASURE_MEASURE_STATISTICS_H
#define SS_SIM_MEASURE_MEASURE_STATISTICS_H
#include <math.h>
#include <stdint.h>

typedef struct {
  int64_t n;                        /* records that are finite; the others count for nothing but `last` */
  double  last;                     /* of the last record, whatever it is */
  double  min, max, sum;            /* NaN, NaN and 0 while n = 0 */
  double  time_of_min, time_of_max; /* [s], when first reached */
} measure_statistics;

#define MEASURE_STATISTICS_NONE {0, NAN, NAN, NAN, 0.0, NAN, NAN}

static inline void measure_statistics_add(measure_statistics *s, double time, double value)
{
  s->last = value;
  if (!isfinite(value)) return;
  if (!(s->min <= value)) s->min = value, s->time_of_min = time;
  if (!(s->max >= value)) s->max = value, s->time_of_max = time;
  s->sum += value;
  ++s->n;
}
static inline double measure_statistics_mean(const measure_statistics *s) { return s->n > 0 ? s->sum / (double)s->n : NAN; }
#endif
