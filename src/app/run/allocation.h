/* The allocation of this process by the batch system SLURM: cores, memory, remaining time, and requeueing of the job.
 *
 * Read from the environment, the kernel's control groups and SLURM's commands. Outside of a batch job everything is unknown and
 * no SLURM command is executed. Used by main (threads), run (time limit, memory warning) and the commands run and sweep. */
#ifndef SS_APP_RUN_ALLOCATION_H
#define SS_APP_RUN_ALLOCATION_H
#include "core/error.h"

/* [s] between SIGTERM and SIGKILL: SLURM's default KillWait. */
#define ALLOCATION_KILL_WAIT 30.0
/* [s] reserved for ending the process and its script, and for inaccuracy of the batch system's clock. */
#define ALLOCATION_SPARE 5.0

/* [s] before the end of the time limit at which SLURM sends SIGUSR1 to submitted jobs (--signal=B:USR1@120; config/slurm). */
#define ALLOCATION_SIGNAL_LEAD 120

typedef struct {
  char    job[64];  /* number of the SLURM job; "" outside of SLURM */
  int64_t restarts; /* number of times that the job has been requeued */
  int64_t cores;    /* of this task; 0: unknown */
  int64_t memory;   /* [byte], the smallest limit of SLURM and the control groups; 0: unknown */
} allocation;

/* Reads the environment and a few files of the kernel. */
void allocation_read(allocation *a);
/* [s] until SLURM ends the job; INFINITY: no limit, or unknown. Taken from SLURM_JOB_END_TIME (set since SLURM 22.11), otherwise
 * from squeue with a limit of ten seconds. */
double allocation_time_left(const allocation *a);
/* Sets SLURM_JOB_END_TIME from squeue if it is not set. The cases of a sweep inherit it and do not execute squeue. */
void allocation_share_time(void);
/* The time limit [s] that --time of sbatch requests: "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S"; INFINITY for anything else. */
double allocation_parse_request(const char *text);
/* The time [s] before the end at which the value "[R][B:]SIGNAL[@SECONDS]" of --signal requests the signal; without SECONDS 60, SLURM's default. */
double allocation_parse_lead(const char *text);
/* Warn if a limit [s] does not exceed the lead time [s] of the warning signal: the job would be stopped as soon as it starts. `option`: where the limit
 * was given, "--time=2". */
void allocation_warn_lead(const char *option, double limit, double lead);
/* True if SLURM has started this job again, after a requeue or a node failure. */
bool allocation_is_restart(void);

/* Value for OMP_PLACES ("cores" or "threads") that binds the threads to the cores of this task. It must be set before the OpenMP
 * library is loaded; for this purpose main executes the program again. NULL: do not bind threads, because there is no allocation, or
 * the user has set OMP_PLACES, or the task is not confined to its own cores (binding would put the first threads of all jobs of the
 * node on one core). */
const char *allocation_places(const allocation *a, int64_t n_threads);

/* True in a SLURM job. Otherwise prints on stderr that option --requeue of `command` requires one, and returns false. */
bool allocation_can_requeue(const char *command);
/* Requests that SLURM stops this job and starts it again; of a job array only this task. Must be the last action of the process, after
 * all files are on disk. If the cluster does not allow requeueing, submits the command line of this process as a new job that starts
 * when this job has ended, with the same partition, account, QOS, constraint, cores, memory, time, name and log. Logs the result. A
 * failure is only a warning, because the exit code already shows that the run can be continued. */
void allocation_requeue(void);

/* For tests. Parses "1-02:03:04" as printed by squeue [s]; INFINITY for UNLIMITED and for anything that is not a time. */
double allocation_parse_time(const char *text);
/* The smallest memory limit [byte] of a process whose /proc/PID/cgroup is the file `membership`, in control groups mounted at
 * `root`; 0: none. */
int64_t allocation_group_memory(const char *root, const char *membership);
#endif
