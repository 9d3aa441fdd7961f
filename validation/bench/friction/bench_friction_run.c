#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench_friction.h"
#include "core/csv.h"
#include "core/memory.h"
#include "core/timer.h"
#include "io/sealed_file.h"

enum { ENOUGH_REPEATS = 200 };
/* Solvers that end with the error a hair above, for the order of their sums, have solved it. */
static const double SLACK = 1.0 + 1e-6;

/* --- processes ---------------------------------------------------------------------------------------------------------- */

int bench_spawn(const char *const *argv, double seconds, const char **status)
{
  int         status = 0;
  const pid_t child  = fork();
  *status            = "could not be started";
  if (child < 0) return 1;
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0) dup2(nowhere, 0), dup2(nowhere, 1), dup2(nowhere, 2);
    setpgid(0, 0);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
  }
  const double end = timer_now() + seconds;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (timer_now() > end) {
      kill(-child, SIGKILL), kill(child, SIGKILL);
      waitpid(child, &status, 0);
      *status = "out of time";
      return 1;
    }
    usleep(2000);
  }
  *status = WIFSIGNALED(status) ? "crashed" : WEXITSTATUS(status) ? "failed" : "";
  return WIFSIGNALED(status) ? 1 : WEXITSTATUS(status);
}

/* --- problems ----------------------------------------------------------------------------------------------------------- */

static bool write_binary(const char *path, const friction_case *c)
{
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  if (delassus_blocks(c->W, &start, &col, &value)) return false;
  const int64_t n = c->problem.n, head[2] = {n, start[n]};
  FILE         *out = fopen(path, "wb");
  return out && fwrite(head, 8, 2, out) == 2 && fwrite(start, 8, (size_t)n + 1, out) == (size_t)n + 1 &&
         fwrite(col, 4, (size_t)head[1], out) == (size_t)head[1] && fwrite(value, 72, (size_t)head[1], out) == (size_t)head[1] &&
         fwrite(c->q, 24, (size_t)n, out) == (size_t)n && fwrite(c->mu, 8, (size_t)n, out) == (size_t)n && !fclose(out);
}

/* W of the blocks as columns: those of its transpose are its rows. */
static PetscErrorCode write_local(const char *path, const friction_case *c)
{
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  sparse_rows    W = {0};
  int32_t       *i = NULL, *j = NULL;
  double        *x = NULL;

  PetscFunctionBegin;
  PetscCall(delassus_blocks(c->W, &start, &col, &value));
  const int64_t n = c->problem.n, n_entries = 9 * start[n];
  PetscCall(memory_alloc("bench", n_entries, sizeof *i, &i));
  PetscCall(memory_alloc("bench", n_entries, sizeof *j, &j));
  PetscCall(memory_alloc("bench", n_entries, sizeof *x, &x));
  int64_t at = 0;
  for (int64_t a = 0; a < n; ++a)
    for (int64_t k = start[a]; k < start[a + 1]; ++k)
      for (int e = 0; e < 9; ++e)
        if (value[9 * k + e] != 0) i[at] = (int32_t)(3 * a + e / 3), j[at] = 3 * col[k] + e % 3, x[at++] = value[9 * k + e];
  PetscCall(sparse_rows_from_triplets("W", 3 * n, 3 * n, at, j, i, x, &W));
  fclib_problem p = {
      .dimension = 3, .n_contacts = n, .n_dof = c->n_dof, .W = {3 * n, 3 * n, W.start, W.col, W.value}, .q = c->q, .mu = c->mu};
  PetscErrorCode code = fclib_write(path, &p, NULL, 0, NULL);
  sparse_rows_destroy(&W);
  memory_free(&i), memory_free(&j), memory_free(&x);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool bench_problem_open(const char *path, const char *work, bench_problem *p)
{
  friction_case original;
  memset(p, 0, sizeof *p);
  friction_problem_name(path, sizeof p->name, p->name);
  snprintf(p->local, sizeof p->local, "%.300s/%s.hdf5", work, p->name);
  snprintf(p->binary, sizeof p->binary, "%.300s/%s.bin", work, p->name);
  snprintf(p->answer, sizeof p->answer, "%.300s/%s.answer", work, p->name);
  snprintf(p->table, sizeof p->table, "%.300s/%s.csv", work, p->name);
  if (friction_case_read(path, &original)) {
    fprintf(stderr, "left out: %s\n", error_message());
    error_clear();
    return false;
  }
  const bool is_written = !write_local(p->local, &original) && write_binary(p->binary, &original);
  friction_case_clear(&original);
  if (is_written && !friction_case_read(p->local, &p->c)) return true;
  fprintf(stderr, "left out: %s: %s\n", path, error_message());
  error_clear();
  return false;
}

void bench_problem_close(bench_problem *p)
{
  friction_case_clear(&p->c);
  unlink(p->local), unlink(p->binary), unlink(p->answer), unlink(p->table);
}

/* --- runs --------------------------------------------------------------------------------------------------------------- */

static double cell(const csv_table *t, const char *name)
{
  for (int k = 0; k < t->n_columns && t->n_rows > 1; ++k)
    if (!strcmp(t->cell[k], name)) return strtod(t->cell[t->n_columns + k], NULL);
  return NAN;
}

/* On a shared machine a long solve is interrupted, and the time of the processor tells more; that one is often counted in milliseconds. siconos_solve does the same. */
static double best_clock(double wall, double cpu) { return wall > 0.05 ? fmin(wall, cpu) : wall; }

/* Speed-up by threads is by the clock. */
static PetscErrorCode read_own(const bench_problem *p, bool is_cpu, friction_run *run)
{
  char     *text;
  size_t    n;
  csv_table t;

  PetscFunctionBegin;
  PetscCall(file_read_text(p->table, &text, &n));
  PetscErrorCode code = text ? csv_read(p->table, text, &t) : PETSC_SUCCESS;
  if (text && !code) {
    run->iterations = (int64_t)cell(&t, "iterations"), run->inner_iterations = (int64_t)cell(&t, "inner_iterations"),
    run->linear_solves = (int64_t)cell(&t, "linear_solves");
    run->seconds = cell(&t, "time [s]"), run->scaled = cell(&t, "error_scaled"), run->siconos = cell(&t, "error_siconos"),
    run->absolute = cell(&t, "error_absolute");
    if (is_cpu) run->seconds = best_clock(run->seconds, cell(&t, "cpu [s]"));
    for (int k = 0; k < t.n_columns; ++k)
      if (!strcmp(t.cell[k], "method")) snprintf(run->method, sizeof run->method, "%s", t.cell[t.n_columns + k]);
    csv_clear(&t);
  }
  memory_free(&text);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Once to see how long it takes; then as often as half a second allows. */
PetscErrorCode bench_run_own(const char *program, const bench_problem *p, const char *solver, double tolerance, double limit,
                             friction_run *run)
{
  char        tol[32], repeat[32], time[32];
  const char *status = "",
             *argv[] = {program,        "friction", p->local,   "--solver", solver,    "--tol",   tol,      "--error", "siconos",
                        "--time-limit", time,       "--repeat", repeat,     "--force", "--table", p->table, NULL};
  int64_t n          = 1;

  PetscFunctionBegin;
  snprintf(tol, sizeof tol, "%.17g", tolerance);
  snprintf(time, sizeof time, "%g", limit);
  for (int k = 0; k < 2; ++k) {
    snprintf(repeat, sizeof repeat, "%lld", (long long)n);
    unlink(p->table);
    const int status = bench_spawn(argv, limit + 10, &status);
    if (status == 0 || status == SS_EXIT_NOT_CONVERGED) PetscCall(read_own(p, true, run));
    run->is_solved = status == 0 && run->siconos <= tolerance * SLACK;
    snprintf(run->status, sizeof run->status, "%s", run->is_solved ? "solved" : status);
    if (!run->is_solved || run->seconds > 0.25) break;
    n = (int64_t)(0.5 / fmax(run->seconds, 1e-7));
    if (n > ENOUGH_REPEATS) n = ENOUGH_REPEATS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Splitting stopped after so many sweeps, of which *n were made. */
static PetscErrorCode seconds_of_sweeps(const char *program, const bench_problem *p, const char *sweeps, double *seconds, int64_t *n)
{
  const char *status,
      *argv[] = {program, "friction", p->local, "--solver", "splitting", "--tol",  "1e-300", "--max-iterations", sweeps, "--time-limit",
                 "5",     "--repeat", "50",     "--force",  "--table",   p->table, NULL};
  friction_run run = {.seconds = NAN};

  PetscFunctionBegin;
  unlink(p->table);
  bench_spawn(argv, 300, &status);
  PetscCall(read_own(p, false, &run));
  *seconds = run.seconds, *n = run.iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode bench_run_sweeps(const char *program, const bench_problem *p, double *per_sweep)
{
  double  few, many;
  int64_t n_few, n_many;

  PetscFunctionBegin;
  PetscCall(seconds_of_sweeps(program, p, "32", &few, &n_few));
  PetscCall(seconds_of_sweeps(program, p, "256", &many, &n_many));
  *per_sweep = n_many > n_few ? (many - few) / (double)(n_many - n_few) : NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same solve with so many threads; its answer into `output`. */
static double seconds_with(const char *program, const bench_problem *p, const char *threads, double limit, const char *output)
{
  char         time[32];
  const char  *status, *argv[] = {program,   "friction", p->local,       "--solver", "splitting", "--tol",  "1e-4",
                                  "--error", "siconos",  "--time-limit", time,       "--repeat",  "5",      "--threads",
                                  threads,   "--output", output,         "--force",  "--table",   p->table, NULL};
  friction_run run = {.seconds = NAN};
  snprintf(time, sizeof time, "%g", limit);
  unlink(p->table);
  const int status = bench_spawn(argv, 5 * limit + 10, &status);
  if ((status == 0 || status == SS_EXIT_NOT_CONVERGED) && read_own(p, false, &run)) error_clear();
  return status == 0 ? run.seconds : NAN;
}

PetscErrorCode bench_run_threads(const char *program, const bench_problem *p, double limit, double *speedup, bool *is_same)
{
  char   path[2][600], *text[2] = {NULL, NULL};
  size_t n[2] = {0, 0};
  double seconds[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; ++k) {
    snprintf(path[k], sizeof path[k], "%s.%d", p->answer, k + 1);
    seconds[k] = seconds_with(program, p, k ? "2" : "1", limit, path[k]);
    PetscCall(file_read_text(path[k], &text[k], &n[k]));
    unlink(path[k]);
  }
  *speedup = seconds[0] / seconds[1];
  *is_same = text[0] && text[1] && n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
  memory_free(&text[0]), memory_free(&text[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool read_answer(const char *path, int64_t n, int64_t number[2], double *seconds, double *r)
{
  FILE *in = fopen(path, "rb");
  if (!in) return false;
  const bool is_whole = fread(number, 8, 2, in) == 2 && fread(seconds, 8, 1, in) == 1 && fread(r, 24, (size_t)n, in) == (size_t)n;
  fclose(in);
  return is_whole;
}

PetscErrorCode bench_run_siconos(const char *program, const bench_problem *p, const char *solver, double tolerance, double limit,
                                 friction_run *run)
{
  char          tol[32];
  const char   *status, *argv[] = {program, p->binary, solver, tol, p->answer, NULL};
  const int64_t n = p->c.problem.n;
  int64_t       number[2];
  double       *r __attribute__((cleanup(memory_free))) = NULL, *u __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("bench", 3 * n, sizeof *r, &r));
  PetscCall(memory_alloc("bench", 3 * n, sizeof *u, &u));
  snprintf(tol, sizeof tol, "%.17g", tolerance);
  unlink(p->answer);
  bench_spawn(argv, limit + 1, &status);
  snprintf(run->status, sizeof run->status, "%s", status);
  if (!read_answer(p->answer, n, number, &run->seconds, r)) PetscFunctionReturn(PETSC_SUCCESS);
  delassus_apply(p->c.W, r, u);
  for (int64_t i = 0; i < 3 * n; ++i) u[i] += p->c.q[i];
  friction_errors(&p->c.problem, r, u, &run->absolute, &run->siconos, &run->scaled, NULL);
  run->iterations = number[0];
  run->is_solved  = run->siconos <= tolerance * SLACK;
  snprintf(run->method, sizeof run->method, "%s", solver);
  snprintf(run->status, sizeof run->status, "%s", run->is_solved ? "solved" : "no further progress");
  PetscFunctionReturn(PETSC_SUCCESS);
}
