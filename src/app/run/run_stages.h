/* DIR/stages.csv: where the time of a run went, over all its starts: a line for each stage of core/timer.h that was entered, with
 * seconds, calls, bytes moved and operations done (0 where they are not counted). Of starts that were killed: up to their last
 * checkpoint. summary.txt says the same of the last start alone, from the same timers. */
#ifndef SS_APP_RUN_RUN_STAGES_H
#define SS_APP_RUN_RUN_STAGES_H
#include "core/timer.h"
#include "core/error.h"

/* Timer stages of the run's output (core/timer.h), after those of the step. */
#define TIMER_CHECKPOINT timer_register("checkpoint", 200)
#define TIMER_FRAME      timer_register("frames and history", 210)

enum { RUN_STAGES_MAX = 64 };
typedef struct {
  char         name[48];
  timer_record record;
} run_stage;
typedef struct {
  int       n;
  run_stage stage[RUN_STAGES_MAX];
} run_stages;

/* What the file says, in its order; n = 0 if there is none, or nothing that can be read. */
PetscErrorCode run_stages_read(const char *dir, run_stages *out);
/* Replace the file: `past` (earlier starts) and what the timers say now. */
PetscErrorCode run_stages_write(const char *dir, const run_stages *past);
/* Sum into `to` by name. */
void run_stages_add(run_stages *to, const char *name, const timer_record *record);
#endif
