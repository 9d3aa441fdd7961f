#include "core/timer.h"
#include "core/error.h"
#include <sys/resource.h>
#include <time.h>

enum { MAX_DEPTH = 64 };

static const char *const stage_name[TIMER_N_STAGES] = {
#define X(name, text) [name] = text,
  TIMER_STAGE_TABLE(X)
#undef X
};

static timer_record stage_of[TIMER_N_STAGES];

/* Time runs for the stage on top; with none open, for TIMER_OTHER. */
static timer_stage open_stage[MAX_DEPTH];
static int         depth;
static double      last_mark = -1.0; /* when the running stage was last charged; negative: the clock has not been started */

double timer_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timer_user_seconds(void)
{
  struct rusage u;
  if (getrusage(RUSAGE_SELF, &u)) return 0.0;
  return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

static timer_stage running(void) { return depth > 0 ? open_stage[depth - 1] : TIMER_OTHER; }

static void charge(void)
{
  const double now = timer_now();
  if (last_mark >= 0.0) stage_of[running()].seconds += now - last_mark;
  last_mark = now;
}

void timer_begin(timer_stage stage)
{
  SS_ASSERT(depth < MAX_DEPTH && (int)stage >= 0 && stage < TIMER_N_STAGES);
  charge();
  open_stage[depth++] = stage;
  stage_of[stage].n_calls++;
}

void timer_end(timer_stage stage)
{
  SS_ASSERT(depth > 0 && open_stage[depth - 1] == stage);
  (void)stage;
  charge();
  --depth;
}

void timer_work(timer_stage stage, double flops, double bytes)
{
  stage_of[stage].flops += flops;
  stage_of[stage].bytes += bytes;
}

void timer_reset(void)
{
  for (int i = 0; i < TIMER_N_STAGES; ++i) {
    stage_of[i].seconds = stage_of[i].flops = stage_of[i].bytes = 0.0;
    stage_of[i].n_calls = 0;
  }
  depth = 0; /* also forgets what an error left open */
  last_mark = timer_now();
}

double timer_seconds(timer_stage stage)
{
  charge();
  return stage_of[stage].seconds;
}

timer_record timer_record_of(timer_stage stage)
{
  charge();
  return stage_of[stage];
}

int64_t     timer_calls(timer_stage stage) { return stage_of[stage].n_calls; }
const char *timer_name(timer_stage stage) { return stage_name[stage]; }

static void print_rate(FILE *out, double work, double seconds)
{
  if (work > 0.0 && seconds > 0.0) fprintf(out, " %9.2f", 1e-9 * work / seconds);
  else fprintf(out, " %9s", "-");
}

void timer_table(FILE *out)
{
  double total = 0.0;
  charge();
  for (int i = 0; i < TIMER_N_STAGES; ++i) total += stage_of[i].seconds;
  fprintf(out, "%-22s %7s %10s %10s %9s %9s\n", "stage", "share", "seconds", "calls", "GB/s", "GFLOP/s");
  for (int i = 0; i < TIMER_N_STAGES; ++i) {
    if (stage_of[i].n_calls == 0 && i != TIMER_OTHER) continue;
    fprintf(out, "%-22s %5.1f %% %10.3f ", stage_name[i], total > 0.0 ? 100.0 * stage_of[i].seconds / total : 0.0,
            stage_of[i].seconds);
    if (stage_of[i].n_calls > 0) fprintf(out, "%10lld", (long long)stage_of[i].n_calls);
    else fprintf(out, "%10s", "-");
    print_rate(out, stage_of[i].bytes, stage_of[i].seconds);
    print_rate(out, stage_of[i].flops, stage_of[i].seconds);
    fputc('\n', out);
  }
  fprintf(out, "%-22s %5.1f %% %10.3f\n", "total", 100.0, total);
}
