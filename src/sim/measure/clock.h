/* The simulated time of a run, and a test for periodic events. Used by measures, until: and the output of app/run. */
#ifndef SS_SIM_MEASURE_CLOCK_H
#define SS_SIM_MEASURE_CLOCK_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t step;     /* completed steps */
  double  time, dt; /* [s] time at the end of the step, not computed by summation over steps; length of the step */
} sim_clock;

/* True if an event with period `every` [s] is due at the end of this step: the step passes or ends on a multiple of `every`.
 * Each multiple counts once, also if the step length changes. True at every step if `every` does not exceed the step length. */
static inline bool sim_clock_is_due(const sim_clock *c, double every)
{
  /* The tolerance of 1e-6 * every is far above rounding errors of c->time and far below a step. */
  return every > 0.0 && (c->step == 0 || floor(c->time / every + 1e-6) > floor((c->time - c->dt) / every + 1e-6));
}
#endif
