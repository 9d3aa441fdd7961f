/* Comparison of solvers on a set of problems: a Markdown table, a CSV table, and the performance profile [DolanMore2002], which
 * is the fraction of problems that a solver solves within a multiple of the time of the fastest solver. Used by the command
 * friction and by benchmarks. */
#ifndef SS_APP_FRICTION_FRICTION_PROFILE_H
#define SS_APP_FRICTION_FRICTION_PROFILE_H
#include "core/error.h"

typedef struct {
  char    problem[96], solver[32], method[128], status[64];               /* method: methods that ran, in order */
  bool    is_solved, is_peer;                                             /* is_peer: result of another program */
  int64_t n_contacts, n_dof, iterations, inner_iterations, linear_solves; /* 0: unknown */
  double  nu, seconds, cpu, absolute, siconos, scaled; /* seconds (wall) and cpu (all threads): minima of all repetitions */
} friction_run;

typedef struct {
  int64_t       n, capacity;
  friction_run *run; /* [n] runs of the same problem are consecutive, solvers in equal order */
} friction_runs;

/* Appends a run, set to zero; the pointer is valid until the next call. */
PetscErrorCode friction_runs_add(friction_runs *runs, friction_run **out);
void           friction_runs_clear(friction_runs *runs);
/* The name of a problem: the file name without folder and extension. */
void friction_problem_name(const char *path, size_t room, char *out);
/* The run of `problem` by `solver`, or NULL. */
const friction_run *friction_runs_find(const friction_runs *runs, const char *problem, const char *solver);
/* first [runs->n]: index of the first run of each problem, or of each solver. Returns their number. */
int64_t friction_runs_problems(const friction_runs *runs, int64_t *first);
int64_t friction_runs_solvers(const friction_runs *runs, int64_t *first);

/* Prints a Markdown table with a row per problem and a column per solver: time and iterations, or the final error in the norm
 * `error` (friction_error_kind) if not solved. The fastest solver is bold. */
PetscErrorCode friction_profile_print(const friction_runs *runs, int error, FILE *out);
PetscErrorCode friction_profile_csv(const friction_runs *runs, const char *path);
/* Draws the performance profile with gnuplot as an SVG file; runs with is_peer as thin lines. */
PetscErrorCode friction_profile_plot(const friction_runs *runs, const char *title, const char *path);
/* Formats a time [s]: "1.2 s", "34 ms", "56 us". */
void friction_time_text(double seconds, size_t room, char *out);
#endif
