/* Stage timers, see timer.h. */
#include "core/timer.h"
#include "core/error.h"
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_DEPTH = 64 };

typedef struct {
  const char  *name;
  int          position;
  timer_record record;
} stage_entry;

static stage_entry stage_of[TIMER_MAX_STAGES]    = {[TIMER_OTHER] = {.name = "other", .position = INT_MAX}};
static timer_stage table_order[TIMER_MAX_STAGES] = {TIMER_OTHER}; /* sorted by position, then by name */
static int         n_stages                      = 1;

/* Stack of open stages. Time is added to the innermost open stage; without one, to TIMER_OTHER. */
static timer_stage open_stage[MAX_DEPTH];
static int         depth;
static double      last_mark = -1.0; /* when the running stage was last charged; negative: the clock has not been started */

static bool comes_before(const stage_entry *a, const stage_entry *b)
{
  return a->position != b->position ? a->position < b->position : strcmp(a->name, b->name) < 0;
}

timer_stage timer_register(const char *name, int position)
{
  for (timer_stage i = 0; i < n_stages; ++i) /* equal literals usually are one string in the program */
    if (stage_of[i].name == name) return i;
  for (timer_stage i = 0; i < n_stages; ++i)
    if (strcmp(stage_of[i].name, name) == 0) return i;
  SS_ASSERT(n_stages < TIMER_MAX_STAGES);
  if (n_stages == TIMER_MAX_STAGES) return TIMER_OTHER;
  const timer_stage stage = n_stages++;
  int               place = stage;
  stage_of[stage]         = (stage_entry){.name = name, .position = position};
  for (; place > 0 && comes_before(&stage_of[stage], &stage_of[table_order[place - 1]]); --place)
    table_order[place] = table_order[place - 1];
  table_order[place] = stage;
  return stage;
}

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
  if (last_mark >= 0.0) stage_of[running()].record.seconds += now - last_mark;
  last_mark = now;
}

void timer_begin(timer_stage stage)
{
  SS_ASSERT(depth < MAX_DEPTH && stage >= 0 && stage < n_stages);
  charge();
  open_stage[depth++] = stage;
  stage_of[stage].record.n_calls++;
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
  stage_of[stage].record.flops += flops;
  stage_of[stage].record.bytes += bytes;
}

void timer_reset(void)
{
  for (int i = 0; i < n_stages; ++i) stage_of[i].record = (timer_record){0};
  depth     = 0; /* also forgets what an error left open */
  last_mark = timer_now();
}

timer_record timer_record_of(timer_stage stage)
{
  charge();
  return stage_of[stage].record;
}

int         timer_n_stages(void) { return n_stages; }
timer_stage timer_stage_at(int place) { return table_order[place]; }
const char *timer_name(timer_stage stage) { return stage_of[stage].name; }

static void print_rate(FILE *out, double work, double seconds)
{
  if (work > 0.0 && seconds > 0.0) fprintf(out, " %9.2f", 1e-9 * work / seconds);
  else fprintf(out, " %9s", "-");
}

void timer_table(FILE *out)
{
  double total = 0.0;
  charge();
  for (int i = 0; i < n_stages; ++i) total += stage_of[i].record.seconds;
  fprintf(out, "%-22s %7s %10s %10s %9s %9s\n", "stage", "share", "seconds", "calls", "GB/s", "GFLOP/s");
  for (int i = 0; i < n_stages; ++i) {
    const timer_stage   stage  = table_order[i];
    const timer_record *record = &stage_of[stage].record;
    if (record->n_calls == 0 && stage != TIMER_OTHER) continue;
    fprintf(out, "%-22s %5.1f %% %10.3f ", stage_of[stage].name, total > 0.0 ? 100.0 * record->seconds / total : 0.0, record->seconds);
    if (record->n_calls > 0) fprintf(out, "%10lld", (long long)record->n_calls);
    else fprintf(out, "%10s", "-");
    print_rate(out, record->bytes, record->seconds);
    print_rate(out, record->flops, record->seconds);
    fputc('\n', out);
  }
  fprintf(out, "%-22s %5.1f %% %10.3f\n", "total", 100.0, total);
}
