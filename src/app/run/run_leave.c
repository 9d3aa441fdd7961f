#include "app/run/run_leave.h"
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "app/run/allocation.h"
#include "app/run/run_impl.h"

enum { STEPS_IN_RESERVE = 3 };
#define FIRST_CHECKPOINT_SPEED 100e6 /* [byte/s], until one has been measured: a slow network file system */

static double checkpoint_seconds(const run *r)
{
  const double measured = r->output.checkpoint_seconds;
  return measured > 0 ? 1.5 * measured : (double)memory_live() / FIRST_CHECKPOINT_SPEED;
}

/* Until when a step may go on: a checkpoint of the state before it must still be possible. */
static void set_limits(const run *r)
{
  const double saving = checkpoint_seconds(r) + RUN_LEAVE_SPARE;
  stop_set_grace(fmax(0.0, RUN_KILL_WAIT - saving));
  stop_set_deadline(r->pace.end - saving);
}

static void warn_of_memory(run *r)
{
  struct rusage u;
  if (r->pace.memory == 0 || getrusage(RUSAGE_SELF, &u)) return;
  const double peak = 1024.0 * (double)u.ru_maxrss, given = (double)r->pace.memory;
  if (peak < 0.9 * given) return;
  log_warn("%.3g GB of the %.3g GB of memory that were given are in use, and what goes beyond ends the run; ask for more (sbatch --mem)",
           1e-9 * peak, 1e-9 * given);
  r->pace.memory = 0;
}

void run_leave_begin(run *r)
{
  allocation given;
  allocation_read(&given);
  const double left = allocation_time_left(&given);
  r->pace           = (run_pace){.end = timer_now() + left, .memory = given.memory};
  if (isfinite(left)) log_info("job %s: %.0f s are left", given.job, left);
  set_limits(r);
  warn_of_memory(r);
}

void run_leave_step(run *r, double seconds)
{
  r->pace.step = fmax(seconds, 0.9 * r->pace.step);
  set_limits(r);
  warn_of_memory(r);
}

bool run_must_leave(const run *r, size_t size, char *why)
{
  const int    number = stop_signal();
  const double left   = r->pace.end - timer_now();
  if (number) {
    snprintf(why, size, "signal %d", number);
    return true;
  }
  if (left > STEPS_IN_RESERVE * r->pace.step + checkpoint_seconds(r) + 2.0 * RUN_LEAVE_SPARE && !stop_is_urgent()) return false;
  snprintf(why, size, "%.0f s are left of the time that was given", fmax(0.0, left));
  return true;
}
