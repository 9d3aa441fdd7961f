/* Being asked to stop. Signals set a flag and nothing else; the time loop looks at it after every step, and the solvers look, many
 * times a step, whether the step under way has to be dropped.
 *
 *   SIGUSR1, SIGUSR2   a batch system's warning, or a user's wish: stop after this step
 *   SIGXCPU, SIGHUP    the same: a limit of CPU time, a terminal that went away (unless under nohup, see process.h)
 *   SIGTERM            the same, but SIGKILL may follow (SLURM: after KillWait, 30 s): a step that outlasts the grace is dropped
 *   SIGINT             stop after this step; a second one drops it, a third leaves at once (what is on the disk stays good)
 *   a second SIGTERM   drops the step
 *
 * What comes right behind another is not a second one: launchers send to a process and again to its group.
 * Handlers may run on any thread: they write lock-free atomics alone. */
#ifndef SS_CORE_STOP_H
#define SS_CORE_STOP_H
#include <stdbool.h>

#define STOP_TWIN 0.2   /* s */
#define STOP_GRACE 20.0 /* s after SIGTERM, unless stop_set_grace says otherwise */

/* After PetscInitialize, which takes some signals for itself. */
void stop_install(void);
/* The first signal that asked, 0: none yet. */
int stop_signal(void);
/* For this long after SIGTERM a step may go on. */
void stop_set_grace(double seconds);
/* From this moment (timer_now's clock) on a step is dropped, whether a signal came or not. INFINITY: never, as at first. */
void stop_set_deadline(double time);
/* The step under way has to be dropped, so that the state before it can be saved in time. Once true it stays true, until the
 * grace or the deadline is moved. Serial code only. */
bool stop_is_urgent(void);
/* Nothing has happened yet: for tests. */
void stop_reset(void);
#endif
