/* When a run has to leave its allocation: a signal asked for it, or too little time is left for more steps and a checkpoint. */
#ifndef SS_APP_RUN_RUN_LEAVE_H
#define SS_APP_RUN_RUN_LEAVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SLURM's KillWait, where nobody has changed it: SIGKILL comes so long [s] after SIGTERM. */
#define RUN_KILL_WAIT 30.0
/* [s] for leaving: the process, its script, and the batch system's own reckoning of time. */
#define RUN_LEAVE_SPARE 5.0

typedef struct {
  double  end;    /* timer_now() at which the allocation ends; INFINITY: not known */
  double  step;   /* [s] what a step takes: the slowest of late, forgotten by a tenth a step */
  int64_t memory; /* [byte] given; 0: not known, or the warning has been given */
} run_pace;

typedef struct run run;
/* As the steps begin: asks for the time left. */
void run_leave_begin(run *r);
/* After a step that took so many seconds with all it wrote. */
void run_leave_step(run *r, double seconds);
/* Before a step, and when one has been dropped; `why`, if true. */
bool run_must_leave(const run *r, size_t size, char *why);
#endif
