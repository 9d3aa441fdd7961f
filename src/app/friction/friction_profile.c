/* Table, CSV file and performance profile of friction solvers. */
#include "app/friction/friction_profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "core/text.h"
#include "io/table_file.h"
#include "optim/friction/friction.h"
#include "app/report/figures.h"

PetscErrorCode friction_runs_add(friction_runs *runs, friction_run **out)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("friction runs", runs->n + 1, sizeof *runs->run, &runs->capacity, &runs->run));
  *out = &runs->run[runs->n++];
  memset(*out, 0, sizeof **out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void friction_runs_clear(friction_runs *runs)
{
  memory_free(&runs->run);
  runs->n = runs->capacity = 0;
}

void friction_problem_name(const char *path, size_t room, char *out)
{
  const char  *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  const size_t n = dot && dot != name ? (size_t)(dot - name) : strlen(name);
  (void)snprintf(out, room, "%.*s", (int)n, name);
}

const friction_run *friction_runs_find(const friction_runs *runs, const char *problem, const char *solver)
{
  for (int64_t i = 0; i < runs->n; ++i)
    if (!strcmp(runs->run[i].problem, problem) && !strcmp(runs->run[i].solver, solver)) return &runs->run[i];
  return NULL;
}

int64_t friction_runs_problems(const friction_runs *runs, int64_t *first)
{
  int64_t n = 0, k;
  for (int64_t i = 0; i < runs->n; ++i) {
    for (k = 0; k < n && strcmp(runs->run[first[k]].problem, runs->run[i].problem);) ++k;
    if (k == n) first[n++] = i;
  }
  return n;
}

int64_t friction_runs_solvers(const friction_runs *runs, int64_t *first)
{
  int64_t n = 0, k;
  for (int64_t i = 0; i < runs->n; ++i) {
    for (k = 0; k < n && strcmp(runs->run[first[k]].solver, runs->run[i].solver);) ++k;
    if (k == n) first[n++] = i;
  }
  return n;
}

void friction_time_text(double seconds, size_t room, char *out)
{
  if (seconds >= 1) (void)snprintf(out, room, "%.3g s", seconds);
  else if (seconds >= 1e-3) (void)snprintf(out, room, "%.3g ms", 1e3 * seconds);
  else (void)snprintf(out, room, "%.3g us", 1e6 * seconds);
}

/* The shortest time of all solvers that solved this problem; infinite if there is none. */
static double find_best_time(const friction_runs *runs, const char *problem)
{
  double best = INFINITY;
  for (int64_t i = 0; i < runs->n; ++i)
    if (runs->run[i].is_solved && !strcmp(runs->run[i].problem, problem)) best = fmin(best, runs->run[i].seconds);
  return best;
}

/* --- table -------------------------------------------------------------------------------------------------------------- */

static void print_cell(const friction_run *r, int error, double best, FILE *out)
{
  char time[32];
  if (!r) {
    fprintf(out, " - |");
    return;
  }
  const friction_result errors  = {.scaled = r->scaled, .siconos = r->siconos, .absolute = r->absolute};
  const double          reached = friction_result_error(&errors, error);
  friction_time_text(r->seconds, sizeof time, time);
  const char *bold = r->is_solved && r->seconds <= best ? "**" : "";
  if (r->is_solved) fprintf(out, " %s%s (%lld)%s |", bold, time, (long long)r->iterations, bold);
  else if (isfinite(reached) && reached > 0) fprintf(out, " no: %.0e |", reached);
  else fprintf(out, " no: %s |", r->status);
}

PetscErrorCode friction_profile_print(const friction_runs *runs, int error, FILE *out)
{
  int64_t *problem __attribute__((cleanup(memory_free))) = NULL, *solver __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("profile", ARRAY(problem, runs->n), ARRAY(solver, runs->n)));
  const int64_t n_problems = friction_runs_problems(runs, problem), n_solvers = friction_runs_solvers(runs, solver);
  fprintf(out, "| problem | contacts | nu |");
  for (int64_t s = 0; s < n_solvers; ++s) fprintf(out, " %s |", runs->run[solver[s]].solver);
  fprintf(out, "\n|---|---|---|");
  for (int64_t s = 0; s < n_solvers; ++s) fprintf(out, "---|");
  for (int64_t p = 0; p < n_problems; ++p) {
    const friction_run *first = &runs->run[problem[p]];
    const double        best  = find_best_time(runs, first->problem);
    fprintf(out, "\n| %s | %lld |", first->problem, (long long)first->n_contacts);
    if (isfinite(first->nu)) fprintf(out, " %.2f |", first->nu);
    else fprintf(out, " ? |");
    for (int64_t s = 0; s < n_solvers; ++s)
      print_cell(friction_runs_find(runs, first->problem, runs->run[solver[s]].solver), error, best, out);
  }
  fprintf(out, "\n| solved |  | |");
  for (int64_t s = 0; s < n_solvers; ++s) {
    int solved = 0;
    for (int64_t i = 0; i < runs->n; ++i) solved += runs->run[i].is_solved && !strcmp(runs->run[i].solver, runs->run[solver[s]].solver);
    fprintf(out, " %d of %lld |", solved, (long long)n_problems);
  }
  fprintf(out, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- CSV ---------------------------------------------------------------------------------------------------------------- */

enum { N_TEXTS = 4, N_WHOLES = 6, N_REALS = 6 };

PetscErrorCode friction_profile_csv(const friction_runs *runs, const char *path)
{
  const char  **texts __attribute__((cleanup(memory_free)))  = NULL;
  int64_t      *wholes __attribute__((cleanup(memory_free))) = NULL;
  double       *reals __attribute__((cleanup(memory_free)))  = NULL;
  const int64_t n                                            = runs->n;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("table", ARRAY(texts, N_TEXTS * n), ARRAY(wholes, N_WHOLES * n), ARRAY(reals, N_REALS * n)));
  for (int64_t i = 0; i < n; ++i) {
    const friction_run *r               = &runs->run[i];
    const char *const   text[N_TEXTS]   = {r->problem, r->solver, r->method, r->status};
    const int64_t       whole[N_WHOLES] = {r->n_contacts, r->n_dof, r->is_solved, r->iterations, r->inner_iterations, r->linear_solves};
    const double        real[N_REALS]   = {r->nu, r->seconds, r->scaled, r->siconos, r->absolute, r->cpu};
    for (int k = 0; k < N_TEXTS; ++k) texts[k * n + i] = text[k];
    for (int k = 0; k < N_WHOLES; ++k) wholes[k * n + i] = whole[k];
    for (int k = 0; k < N_REALS; ++k) reals[k * n + i] = real[k];
  }
  const table_column columns[] = {{"problem", "", TABLE_TEXT, NULL, NULL, texts},
                                  {"contacts", "", TABLE_WHOLE, NULL, wholes, NULL},
                                  {"dof", "", TABLE_WHOLE, NULL, wholes + n, NULL},
                                  {"nu", "", TABLE_REAL, reals, NULL, NULL},
                                  {"solver", "", TABLE_TEXT, NULL, NULL, texts + n},
                                  {"method", "", TABLE_TEXT, NULL, NULL, texts + 2 * n},
                                  {"solved", "", TABLE_WHOLE, NULL, wholes + 2 * n, NULL},
                                  {"status", "", TABLE_TEXT, NULL, NULL, texts + 3 * n},
                                  {"iterations", "", TABLE_WHOLE, NULL, wholes + 3 * n, NULL},
                                  {"inner_iterations", "", TABLE_WHOLE, NULL, wholes + 4 * n, NULL},
                                  {"linear_solves", "", TABLE_WHOLE, NULL, wholes + 5 * n, NULL},
                                  {"time", "s", TABLE_REAL, reals + n, NULL, NULL},
                                  {"cpu", "s", TABLE_REAL, reals + 5 * n, NULL, NULL},
                                  {"error_scaled", "", TABLE_REAL, reals + 2 * n, NULL, NULL},
                                  {"error_siconos", "", TABLE_REAL, reals + 3 * n, NULL, NULL},
                                  {"error_absolute", "", TABLE_REAL, reals + 4 * n, NULL, NULL}};
  PetscCall(table_write_csv(path, n, sizeof columns / sizeof *columns, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- plot --------------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Ratios of the times of one solver to the best times, ascending. Returns the number of solved problems. */
static int64_t compute_ratios(const friction_runs *runs, const char *solver, double *ratio)
{
  int64_t n = 0;
  for (int64_t i = 0; i < runs->n; ++i) {
    const friction_run *r = &runs->run[i];
    if (r->is_solved && !strcmp(r->solver, solver)) ratio[n++] = r->seconds / find_best_time(runs, r->problem);
  }
  qsort(ratio, (size_t)n, sizeof *ratio, compare_doubles);
  return n;
}

/* The step function from 1 to `last`; x, y: [2 n + 2]. Returns the number of points. */
static int64_t make_step_function(int64_t n, const double *ratio, int64_t n_problems, double last, double *x, double *y)
{
  int64_t at = 0;
  x[at] = 1, y[at++] = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[at] = ratio[i], y[at++] = (double)i / (double)n_problems;
    x[at] = ratio[i], y[at++] = (double)(i + 1) / (double)n_problems;
  }
  x[at] = last, y[at++] = (double)n / (double)n_problems;
  return at;
}

static PetscErrorCode draw_profile(const friction_runs *runs, figures *f, const char *title)
{
  const plot_axes axes                                          = {.x_label  = "time relative to the fastest solver",
                                                                   .y_label  = "share of problems solved",
                                                                   .is_log_x = true,
                                                                   .has_zero = true,
                                                                   .width    = 760,
                                                                   .height   = 420};
  int64_t        *problem __attribute__((cleanup(memory_free))) = NULL, *solver __attribute__((cleanup(memory_free))) = NULL;
  double         *ratio __attribute__((cleanup(memory_free))) = NULL, *x __attribute__((cleanup(memory_free))) = NULL,
                *y __attribute__((cleanup(memory_free))) = NULL;
  double last                                            = 10;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("profile", ARRAY(problem, runs->n), ARRAY(solver, runs->n), ARRAY(ratio, runs->n), ARRAY(x, 2 * runs->n + 2),
                         ARRAY(y, 2 * runs->n + 2)));
  const int64_t n_problems = friction_runs_problems(runs, problem), n_solvers = friction_runs_solvers(runs, solver);
  for (int64_t s = 0; s < n_solvers; ++s) {
    const int64_t n = compute_ratios(runs, runs->run[solver[s]].solver, ratio);
    if (n > 0) last = fmax(last, 1.5 * ratio[n - 1]);
  }
  PetscCall(figures_begin(f, "profile", title, &axes));
  int n_own = 0, n_peers = 0;
  for (int64_t s = 0; s < n_solvers; ++s) {
    const friction_run *r = &runs->run[solver[s]];
    const int64_t       n = compute_ratios(runs, r->solver, ratio), at = make_step_function(n, ratio, n_problems, last, x, y);
    const int           colour = (r->is_peer ? n_peers++ : n_own++) % 8 + 1;
    PetscCall(figures_curve(f, r->solver, r->is_peer ? PLOT_THIN : PLOT_LINE, colour, at, x, y));
  }
  PetscCall(figures_end(f));
  PetscCall(figures_draw(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_profile_plot(const friction_runs *runs, const char *title, const char *path)
{
  figures *f __attribute__((cleanup(figures_destroy))) = NULL;

  PetscFunctionBegin;
  PetscCall(figures_create(&f));
  PetscCall(draw_profile(runs, f, title));
  PetscCall(figures_write_svg(f, "profile", path));
  PetscFunctionReturn(PETSC_SUCCESS);
}
