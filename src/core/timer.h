/* Stage timers: who spent the time, and how close to the machine's limits. One table of stages for the whole program. */
#ifndef SS_CORE_TIMER_H
#define SS_CORE_TIMER_H
#include <stdint.h>
#include <stdio.h>

#define TIMER_STAGE_TABLE(X)                                \
  X(TIMER_SORT, "particle sort")                            \
  X(TIMER_P2G, "particles to grid")                         \
  X(TIMER_G2P, "grid to particles")                         \
  X(TIMER_STRESS, "stress and tangent")                     \
  X(TIMER_OPERATOR, "tangent product")                      \
  X(TIMER_PRECONDITIONER, "preconditioner")                 \
  X(TIMER_CONTACT_SEARCH, "contact search")                 \
  X(TIMER_CONTACT_FORCE, "contact force")                   \
  X(TIMER_NEWTON, "Newton and Krylov")                      \
  X(TIMER_FRICTION, "friction")                             \
  X(TIMER_GRID, "grid operators")                           \
  X(TIMER_FLOW, "pressure and stress")                      \
  X(TIMER_CHECKPOINT, "checkpoint")                         \
  X(TIMER_FRAME, "frames and history")                      \
  X(TIMER_OTHER, "other")
typedef enum {
#define X(name, text) name,
  TIMER_STAGE_TABLE(X)
#undef X
  TIMER_N_STAGES
} timer_stage;

/* Stages nest: the time inside an inner stage is not counted for the outer one, so the shares add to 100 %.
 * Serial code only. */
void timer_begin(timer_stage stage);
void timer_end(timer_stage stage);
void timer_work(timer_stage stage, double flops, double bytes); /* adds known work */
void timer_reset(void);

/* What a stage has come to since timer_reset. */
typedef struct {
  double  seconds, flops, bytes;
  int64_t n_calls;
} timer_record;
timer_record timer_record_of(timer_stage stage);

double      timer_now(void); /* seconds, monotonic */
double      timer_user_seconds(void); /* CPU time of this process in user mode, all threads */
double      timer_seconds(timer_stage stage);
int64_t     timer_calls(timer_stage stage);
const char *timer_name(timer_stage stage);
void        timer_table(FILE *out); /* share, seconds, calls, GB/s, GFLOP/s */
#endif
