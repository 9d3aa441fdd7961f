/* Statistics of a recorded quantity over a run, computed from the rows of its table in order. A resumed run reads the rows again, so
 * its statistics are bit-identical to those of an uninterrupted run. */
#ifndef SS_SIM_MEASURE_MEASURE_STATISTICS_H
#define SS_SIM_MEASURE_MEASURE_STATISTICS_H
#include <math.h>
#include <stdint.h>

typedef struct {
  int64_t n;                        /* finite records; others only set `last` */
  double  last;                     /* value of the last record, finite or not */
  double  min, max, sum;            /* NaN, NaN and 0 while n = 0 */
  double  time_of_min, time_of_max; /* [s], first occurrence */
} measure_statistics;

/* clang-format off */
#define MEASURE_STATISTICS_NONE {0, NAN, NAN, NAN, 0.0, NAN, NAN}
/* clang-format on */

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
