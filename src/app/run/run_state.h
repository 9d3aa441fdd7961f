/* The clockwork's own state, a one-row group of the field table: what a resumed run must know to be as if it had never stopped.
 * Times are never accumulated: base_time + (step - base_step) dt, where the base is the start of the run, or the last resume that
 * changed time.step. */
#ifndef SS_APP_RUN_RUN_STATE_H
#define SS_APP_RUN_RUN_STATE_H
#include "core/field_table.h"

/* member, its name in a checkpoint, type, unit, help */
#define RUN_STATE_TABLE(X)                                                                       \
  X(step, "step", int64_t, FIELD_I64, "1", "whole steps done")                                   \
  X(base_step, "base_step", int64_t, FIELD_I64, "1", "step at which the present time step began") \
  X(base_time, "base_time", double, FIELD_F64, "s", "time at base_step")                         \
  X(dt, "time_step", double, FIELD_F64, "s", "time step in use")                                 \
  X(level, "level", int64_t, FIELD_I64, "1", "the last step was taken in 2^level parts")         \
  X(frame, "frame", int64_t, FIELD_I64, "1", "frames written")                                   \
  X(frame_step, "frame_step", int64_t, FIELD_I64, "1", "step of the last frame")                 \
  X(retries, "retries", int64_t, FIELD_I64, "1", "steps that were retried")                      \
  X(newton, "newton", int64_t, FIELD_I64, "1", "Newton iterations so far")                       \
  X(linear, "linear", int64_t, FIELD_I64, "1", "iterations of the linear solver so far")         \
  X(contacts, "contacts", int64_t, FIELD_I64, "1", "active contacts after the last step")        \
  X(friction_work, "friction_work", double, FIELD_F64, "J", "what friction has taken up so far") \
  X(friction_astray, "friction_astray", double, FIELD_F64, "J", "what it would have taken up more, opposite to the slip") \
  X(max_penetration, "max_penetration", double, FIELD_F64, "m", "the deepest so far")

typedef struct {
#define X(member, name, type, field_type, unit, help) type *member;
  RUN_STATE_TABLE(X)
#undef X
} run_state;

/* Allocated, all 0, and registered as the group "run". The state must stay where it is as long as the table. */
PetscErrorCode run_state_create(run_state *s, field_table *table);
void           run_state_destroy(run_state *s);
/* Simulated time now [s]. */
static inline double run_state_time(const run_state *s) { return *s->base_time + (double)(*s->step - *s->base_step) * *s->dt; }
#endif
