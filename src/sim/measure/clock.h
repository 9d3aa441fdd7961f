/* Where a run is in time, and what is due there. */
#ifndef SS_SIM_MEASURE_CLOCK_H
#define SS_SIM_MEASURE_CLOCK_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t step;     /* whole steps done */
  double  time, dt; /* [s] now, and the length of the steps that lead here; time must not be accumulated */
} sim_clock;

/* Is what happens every so many simulated seconds due at the end of this step: does it pass, or end on, a multiple of `every`? Once for
 * each multiple whatever the steps are, also if their length changes on the way; at every step if `every` is no longer than it. */
static inline bool sim_clock_is_due(const sim_clock *c, double every)
{
  /* A millionth of `every` early is in time: far above round-off of c->time, far below a step. */
  return every > 0.0 && (c->step == 0 || floor(c->time / every + 1e-6) > floor((c->time - c->dt) / every + 1e-6));
}
#endif
