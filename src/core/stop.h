/* Stop requests by signals. Handlers only set flags. The time loop reads stop_signal after every step. Solvers call stop_is_urgent many times per step
 * and abort the step if it returns true.
 *
 *   SIGUSR1, SIGUSR2   (warning of a batch system, request of a user) stop after this step
 *   SIGXCPU, SIGHUP    (CPU time limit, closed terminal) stop after this step; SIGHUP is ignored under nohup, see process.h
 *   SIGTERM            stop after this step; abort it after the grace period, because SIGKILL may follow (SLURM: after KillWait, 30 s)
 *   SIGINT             stop after this step; a second one aborts the step, a third one exits at once (files on the disk remain valid)
 *   a second SIGTERM   aborts the step
 *
 * A second SIGTERM or SIGINT within STOP_TWIN seconds is not counted, because launchers send a signal to a process and again to its group.
 * Handlers may run on any thread; they write only lock-free atomics. */
#ifndef SS_CORE_STOP_H
#define SS_CORE_STOP_H
#include <stdbool.h>

#define STOP_TWIN 0.2   /* s */
#define STOP_GRACE 20.0 /* s after SIGTERM, unless stop_set_grace changes it */

/* Install the handlers. Call after PetscInitialize, which installs handlers of its own. */
void stop_install(void);
/* Number of the first signal that requested a stop; 0: none. */
int stop_signal(void);
/* Grace period: the time after SIGTERM during which the current step may continue. */
void stop_set_grace(double seconds);
/* Set the time (clock of timer_now, s) after which the current step is aborted, even without a signal. INFINITY (default): never. */
void stop_set_deadline(double time);
/* Whether the current step must be aborted, so that the state before the step can be saved in time. Once true, it remains true until the grace period or
 * the deadline is changed. Call from serial code only. */
bool stop_is_urgent(void);
/* Reset all signals and settings, for tests. */
void stop_reset(void);
#endif
