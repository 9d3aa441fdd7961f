/* Timer stages of bodies and their discretisation (core/timer.h). The second argument is the position in the printed table: these
 * stages precede those of contact and of the solvers. */
#ifndef SS_DISCRETIZE_BODY_BODY_STAGES_H
#define SS_DISCRETIZE_BODY_BODY_STAGES_H
#include "core/timer.h"

#define TIMER_SORT timer_register("particle sort", 10)
#define TIMER_P2G timer_register("particles to grid", 20)
#define TIMER_G2P timer_register("grid to particles", 30)
#define TIMER_STRESS timer_register("stress and tangent", 40)
#define TIMER_OPERATOR timer_register("tangent product", 50)
#define TIMER_PRECONDITIONER timer_register("preconditioner", 60)
#define TIMER_GRID timer_register("grid operators", 110)
#endif
