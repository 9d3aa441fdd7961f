/* Having SLURM start this job again, to go on where it left. */
#ifndef SS_APP_RUN_REQUEUE_H
#define SS_APP_RUN_REQUEUE_H
#include "core/error.h"

/* May --requeue be asked for? False after saying why not: no SLURM job. */
bool requeue_is_possible(const char *command);
/* The last thing that a process does, everything is on the disk: SLURM stops the job and starts it again. In an array this task alone. Where the
 * cluster forbids it, submits the command line of this process as a job that begins when this one has ended, with the same partition,
 * account, cores, memory, time, name and log. Says what it did; what cannot be done is a warning, for the exit code tells the rest. */
void requeue_this_job(void);
#endif
