/* Stage timers: wall time, calls, floating-point operations and bytes moved for each named stage of the program.
 *
 * Stages form one table for the whole program. A module registers its stages by name; core declares only "other", the time outside all
 * stages. Each layer defines its stages in one header as macros that call timer_register, for example discretize/body/body_stages.h:
 *
 *   #define TIMER_P2G timer_register("particles to grid", 20)
 *
 * Stages nest: time inside an inner stage is not counted for the outer one, so that the shares add up to 100 %.
 * Call all functions from serial code only. */
#ifndef SS_CORE_TIMER_H
#define SS_CORE_TIMER_H
#include <stdint.h>
#include <stdio.h>

enum { TIMER_MAX_STAGES = 64 };
typedef int timer_stage; /* handle of a registered stage, valid for the whole run of the program */

/* Handle of the stage `name`. The first call with a name adds the stage; every later call returns the same handle (a few comparisons of pointers,
 * 10 ns). Tables list stages by `position`, then by name, independently of the order of registration. `name` is stored as a pointer: pass a literal.
 * It must not contain a comma, because it is a cell of stages.csv. Stages beyond TIMER_MAX_STAGES are counted as "other". */
timer_stage timer_register(const char *name, int position);
#define TIMER_OTHER ((timer_stage)0) /* time outside of all stages; last in tables */

void timer_begin(timer_stage stage);
void timer_end(timer_stage stage);                              /* `stage`: the stage begun last */
void timer_work(timer_stage stage, double flops, double bytes); /* add floating-point operations and bytes moved to the stage */
void timer_reset(void);                                         /* sets all records to zero; stages remain registered */

/* Totals of a stage since timer_reset. */
typedef struct {
  double  seconds, flops, bytes;
  int64_t n_calls;
} timer_record;
timer_record timer_record_of(timer_stage stage);

double      timer_now(void);           /* seconds, monotonic */
double      timer_user_seconds(void);  /* CPU time of this process in user mode, all threads */
int         timer_n_stages(void);      /* registered so far, "other" included */
timer_stage timer_stage_at(int place); /* place 0 ... timer_n_stages() - 1 in the order of tables */
const char *timer_name(timer_stage stage);
/* Table of all stages that were entered, in the order of their positions: share, seconds, calls, GB/s, GFLOP/s. */
void timer_table(FILE *out);
#endif
