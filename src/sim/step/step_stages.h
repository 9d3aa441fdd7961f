/* Timer stages of the solvers that formulations call (core/timer.h). */
#ifndef SS_SIM_STEP_STEP_STAGES_H
#define SS_SIM_STEP_STEP_STAGES_H
#include "core/timer.h"

#define TIMER_NEWTON timer_register("Newton and Krylov", 90)
#define TIMER_FRICTION timer_register("friction", 100)
#define TIMER_FLOW timer_register("pressure and stress", 120)
#endif
