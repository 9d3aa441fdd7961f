/* What the parts of the friction bench share. */
#ifndef SS_BENCH_FRICTION_H
#define SS_BENCH_FRICTION_H
#include "app/friction/friction_case.h"
#include "app/friction/friction_profile.h"

typedef struct {
  char name[96], local[512], binary[512], answer[512],
      table[512];  /* name of the problem; files of its local form, and of what comes back */
  friction_case c; /* local form */
} bench_problem;

/* Run argv, silent, for at most so many seconds. 0: it ended well; else *status says what became of it. */
int bench_spawn(const char *const *argv, double seconds, const char **status);
/* FILE.hdf5 in its local form, W and q, in the folder `work`: as FCLIB for our program, and for siconos_solve. False for files that are no such problem. */
bool bench_problem_open(const char *path, const char *work, bench_problem *p);
void bench_problem_close(bench_problem *p);
/* One solver on one problem. `program`: ours, or siconos_solve. */
PetscErrorCode bench_run_own(const char *program, const bench_problem *p, const char *solver, double tolerance, double limit,
                             friction_run *run);
PetscErrorCode bench_run_siconos(const char *program, const bench_problem *p, const char *solver, double tolerance, double limit,
                                 friction_run *run);
/* What a sweep of splitting costs: 256 less 32 of them, error evaluations included. NaN where it ends before. */
PetscErrorCode bench_run_sweeps(const char *program, const bench_problem *p, double *per_sweep);
/* Splitting with two threads against one: how much faster, and whether the answers have the same bits. NaN: not solved. */
PetscErrorCode bench_run_threads(const char *program, const bench_problem *p, double limit, double *speedup, bool *is_same);

/* The release targets, by what was measured at two tolerances and by the seconds of a sweep; figures of So-Bogus come from `peers` (PEERS.md), brought to this machine by the ratio of Siconos' NSGS here
 * and there. */
PetscErrorCode bench_targets(const friction_runs *loose, const friction_runs *tight, const friction_runs *sweeps, const char *peers,
                             FILE *out);
#endif
