/* One case of a sweep as a process of its own: started, and noted when it has ended. What happens to it happens to it alone: it leads its
 * own process group, has its own log, and memory that runs out takes it before the sweep. */
#ifndef SS_APP_SWEEP_SWEEP_CASE_H
#define SS_APP_SWEEP_SWEEP_CASE_H
#include <sched.h>
#include <sys/types.h>
#include "app/sweep/sweep_folder.h"

typedef struct {
  const char *dir;       /* of the sweep */
  int         threads;   /* of OpenMP */
  int         n_cpus;    /* to be bound to these; 0: wherever the kernel likes */
  int         cpu[64];   /* [n_cpus]; more threads than that are not bound */
  bool        has_picture;
  bool        is_fresh;  /* a new start of the program; else a fork of this process, which has started MPI and PETSc already */
} sweep_case_options;

/* A case under way. The kernel's lock on its log.txt decides between sweeps who runs it: it is held here and by the case itself, so
 * that it outlives either of them. */
typedef struct {
  pid_t pid; /* 0: none */
  int   log;
} sweep_child;

/* Continue the case where it has checkpoints, else start it, in a process of its own; its log.txt gets all it prints. child->pid = 0 if
 * there is nothing to do: another sweep has it in hand, it runs, it is finished, or it has failed (retry first). */
PetscErrorCode sweep_case_start(const sweep_plan *plan, const sweep_case *c, const sweep_case_options *o, sweep_child *child);
/* It has ended with this status of waitpid(): what it could not say itself (a crash, a kill, an early refusal) is written to its
 * result.yaml. *why: a line for people, "" if there is nothing to say. */
PetscErrorCode sweep_case_end(const sweep_plan *plan, const sweep_case *c, const char *dir, int wait_status, sweep_child *child,
                              case_state *state, size_t size, char *why);
/* What its log has to say of how it ended: the program's last complaint, else the last line; "" if there is none. */
void sweep_case_last_words(const char *dir, int64_t number, size_t size, char *words);
#endif
