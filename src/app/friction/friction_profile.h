/* Solvers side by side on problems: a table, its CSV, and the performance profile [DolanMore2002]: the share of problems that a solver has solved within so
 * many times the time of the fastest. */
#ifndef SS_APP_FRICTION_FRICTION_PROFILE_H
#define SS_APP_FRICTION_FRICTION_PROFILE_H
#include "core/error.h"

typedef struct {
  char    problem[96], solver[32], method[32], verdict[64]; /* method: that gave the answer */
  bool    is_solved, is_peer;                               /* peer: another program's, drawn thin */
  int64_t n_contacts, n_dof, iterations, inner_iterations, linear_solves; /* 0: unknown */
  double  nu, seconds, cpu, absolute, siconos, scaled; /* seconds by the clock, cpu of all threads: the least of all repeats */
} friction_run;

typedef struct {
  int64_t       n, capacity;
  friction_run *run; /* of one problem behind each other, solvers in the same order */
} friction_runs;

/* A new run at the end, zeroed; valid until the next. */
PetscErrorCode friction_runs_add(friction_runs *runs, friction_run **out);
void           friction_runs_clear(friction_runs *runs);
/* The problem's name for a file: its last part, without .hdf5. */
void           friction_problem_name(const char *path, size_t room, char *out);
/* Of `problem` by `solver`, or NULL. */
const friction_run *friction_runs_find(const friction_runs *runs, const char *problem, const char *solver);
/* The first run of each problem, of each solver: indices into run[], [n] of them at most; returns how many. */
int64_t friction_runs_problems(const friction_runs *runs, int64_t *first);
int64_t friction_runs_solvers(const friction_runs *runs, int64_t *first);

/* In Markdown: a row a problem, a column a solver, time and iterations or the error of measure `error` (friction_error_kind) that was reached; the fastest in bold. */
PetscErrorCode friction_profile_print(const friction_runs *runs, int error, FILE *out);
PetscErrorCode friction_profile_csv(const friction_runs *runs, const char *path);
/* SVG by gnuplot; `title` above it. */
PetscErrorCode friction_profile_plot(const friction_runs *runs, const char *title, const char *path);
/* "1.2 s", "34 ms", "56 us" */
void friction_time_text(double seconds, size_t room, char *out);
#endif
