/* What a batch system has given this process: cores, memory, time. Read from the environment, the control groups of the kernel and
 * SLURM's own tools; outside of a batch job everything is unknown, and nothing is asked. */
#ifndef SS_APP_RUN_ALLOCATION_H
#define SS_APP_RUN_ALLOCATION_H
#include "core/error.h"

/* SLURM's KillWait, where nobody has changed it: SIGKILL comes so long [s] after SIGTERM. */
#define RUN_KILL_WAIT 30.0
/* [s] for leaving: the process, its script, and the batch system's own reckoning of time. */
#define RUN_LEAVE_SPARE 5.0

typedef struct {
  char    job[64];  /* number of the SLURM job; "" outside */
  int64_t restarts; /* how often it has been requeued */
  int64_t cores;    /* of this task; 0: unknown */
  int64_t memory;   /* [byte], the least of what SLURM and the control groups allow; 0: unknown */
} allocation;

/* Reads the environment and a few files of the kernel. */
void allocation_read(allocation *a);
/* [s] until SLURM ends the job; INFINITY: no limit, or not known. Asks the controller unless the environment knows (it does since
 * SLURM 22.11), and gives it ten seconds to answer. */
double allocation_time_left(const allocation *a);
/* Ask now, and leave the answer in the environment as SLURM_JOB_END_TIME: many runs in one job need not ask for themselves. */
void allocation_share_time(void);
/* The job has been requeued, or its node failed: SLURM started it again. */
bool allocation_is_restart(void);

/* Where threads may be bound: set in the environment before the OpenMP library is loaded (the program starts itself again), so that
 * they stay on the cores that SLURM gave to this task. NULL where that would hurt: without an allocation, where the user has decided
 * already, or where nothing confines the task to its own cores, so that every job's first thread would land on the same one. */
const char *allocation_places(const allocation *a, int64_t n_threads);

/* Parts, for tests. "1-02:03:04" as squeue writes it; INFINITY for UNLIMITED and what is no time. */
double allocation_parse_time(const char *text);
/* The least limit of a process whose /proc/PID/cgroup reads `membership`, in control groups mounted at `root`; 0: none. */
int64_t allocation_group_memory(const char *root, const char *membership);

/* Having SLURM start this job again, to go on where it left. */

/* May --requeue be asked for? False after saying why not: no SLURM job. */
bool requeue_is_possible(const char *command);
/* The last thing that a process does, everything is on the disk: SLURM stops the job and starts it again. In an array this task alone. Where the
 * cluster forbids it, submits the command line of this process as a job that begins when this one has ended, with the same partition,
 * account, cores, memory, time, name and log. Says what it did; what cannot be done is a warning, for the exit code tells the rest. */
void requeue_this_job(void);
#endif
