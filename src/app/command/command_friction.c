/* The command friction: reads contact problems with exact Coulomb friction from FCLIB files, solves them with one or all
 * solvers, and prints or writes solutions, errors, times and performance profiles. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "io/plot_sheet.h"
#include "io/table_file.h"
#include "app/command/command_line.h"
#include "app/friction/friction_case.h"
#include "app/friction/friction_profile.h"
#include "app/job/job.h"

enum { RANK_LIMIT = 600 }; /* rows of W; computing the rank takes about 30 ms */

#define X(symbol, name, solve, help) "|" name
static const char solver_names[] = FRICTION_SOLVER_TABLE(X);
#undef X
static const command_option friction_options_list[] = {
    {"--solver", solver_names + 1, false, "solver; see the list above"},
    {"--tol", "X", false, "tolerance of the error; default 1e-8"},
    {"--error", "both|scaled|siconos|absolute", false,
     "error norm of --tol: natural map scaled with W, error of Siconos, both (default), or unscaled natural map"},
    {"--time-limit", "S", false, "time limit per solve in seconds; default: none, with --all 20"},
    {"--max-iterations", "N", false, "limit of outer iterations; default: the limit of the solver, or none with a time limit"},
    {"--set", "OPTION=VALUE", true, "set another option by its key in solver.friction: --set method=newton"},
    {"--from-guess", "N", false, "initial guess: guess N of the file, 0: its solution; default: zero"},
    {"--repeat", "N", false, "solve N times and report the shortest time"},
    {"--all", NULL, false, "solve all files with all solvers and print a table; the exit code is 6 if any solver fails"},
    {"--output", "FILE.hdf5", false, "write problem and solution as FCLIB, for one FILE; an unconverged result is written as a guess"},
    {"--force", NULL, false, "allow outputs to replace existing files"},
    {"--contacts", "FILE.csv", false, "write state, impulse, velocity and error of each contact, for one FILE"},
    {"--table", "FILE.csv", false, "write a table of all solves: result, iterations, time, errors"},
    {"--plot", "FILE.svg", false, "with --all: performance profile, drawn by gnuplot"},
    {NULL, NULL, false, NULL}};

typedef struct {
  const command_line     *line;
  const friction_options *options;
  int64_t                 guess, repeat; /* guess -1: start from zero */
  bool                    is_all;
  friction_runs           runs;
  exit_code               code;
} session;

static void session_clear(session *s) { friction_runs_clear(&s->runs); }

/* --- options ------------------------------------------------------------------------------------------------------------ */

/* Converts options of the command line to keys of the solvers' key table, which validates them. */
static PetscErrorCode read_friction_options(const command_line *line, document *doc, diagnostics *d, const friction_options **out)
{
  static const char *const key_of[][2] = {{"--solver", "method"},
                                          {"--tol", "tolerance"},
                                          {"--error", "error"},
                                          {"--time-limit", "time_limit"},
                                          {"--max-iterations", "max_iterations"}};
  const document_mark      nowhere     = {"", 0, 0};
  document_node           *root, *value, *resolved;
  const char              *settings[COMMAND_MAX_VALUES];
  const void              *read;

  PetscFunctionBegin;
  PetscCall(document_add_node(doc, DOCUMENT_MAPPING, nowhere, NULL, &root));
  document_set_root(doc, root);
  if (command_value(line, "--all") && !command_value(line, "--time-limit")) {
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, nowhere, "20", &value));
    PetscCall(document_override(doc, "time_limit", value));
  }
  for (size_t i = 0; i < sizeof key_of / sizeof *key_of; ++i) {
    const char *text = command_value(line, key_of[i][0]);
    if (!text) continue;
    const document_mark mark = {key_of[i][0], 1, 1};
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, mark, text, &value));
    PetscCall(document_override(doc, key_of[i][1], value));
  }
  const int n = command_values(line, "--set", settings);
  for (int i = 0; i < n; ++i) PetscCall(job_override(doc, settings[i], d));
  PetscCall(key_table_read(&friction_options_table, doc, root, "friction", d, &read));
  if (diagnostics_count(d) == 0 && !command_value(line, "--all")) { /* --all: every method, so that all keys have an effect */
    PetscCall(key_table_resolve(&friction_options_table, doc, root, &resolved));
    key_table_check_conditions(&friction_options_table, root, resolved, d);
  }
  *out = read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool reject_options(const char *text)
{
  fprintf(stderr, "stickslip friction: %s\n", text);
  return false;
}

static bool is_same_file(const char *a, const char *b)
{
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static const char *const outputs[] = {"--output", "--contacts", "--table", "--plot"};

static bool has_outputs(const command_line *line)
{
  for (int k = 0; k < 4; ++k)
    if (command_value(line, outputs[k])) return true;
  return false;
}

/* Outputs replace existing files only with --force. Only --output may then replace an input file. */
static bool check_output_paths(const command_line *line)
{
  struct stat about;
  const bool  is_forced = command_value(line, "--force");
  for (int k = 0; k < 4; ++k) {
    const char *path = command_value(line, outputs[k]);
    for (int i = 0; path && i < line->n_positional; ++i)
      if (is_same_file(path, line->positional[i]) && !(k == 0 && is_forced)) {
        fprintf(stderr, "stickslip friction: %s %s is an input file%s\n", outputs[k], path,
                k == 0 ? "; choose another name, or add --force to replace it" : "; choose another name");
        return false;
      }
    if (path && !is_forced && !lstat(path, &about)) {
      fprintf(stderr, "stickslip friction: %s %s already exists; choose another name, or add --force to replace it\n", outputs[k], path);
      return false;
    }
  }
  return true;
}

static bool check_options(const command_line *line, session *s)
{
  const bool is_single = line->n_positional == 1 && !s->is_all;
  if (!command_integer(line, "--from-guess", 0, INT32_MAX, -1, &s->guess) || !command_integer(line, "--repeat", 1, 1000000, 1, &s->repeat))
    return false;
  if (command_value(line, "--output") && !is_single) return reject_options("--output requires one FILE and one solver");
  if (command_value(line, "--contacts") && !is_single) return reject_options("--contacts requires one FILE and one solver");
  if (command_value(line, "--force") && !has_outputs(line))
    return reject_options("--force requires --output, --contacts, --table or --plot");
  if (s->is_all && command_value(line, "--solver")) return reject_options("--all and --solver contradict each other; give one of them");
  if (command_value(line, "--plot") && !s->is_all) return reject_options("--plot requires --all, because it compares solvers");
  if (command_value(line, "--plot") && !plot_sheet_is_possible())
    return reject_options("--plot: gnuplot is not on the PATH; install it: apt-get install --no-install-recommends gnuplot-nox");
  return check_output_paths(line);
}

/* --- one solve ---------------------------------------------------------------------------------------------------------- */

static double read_cpu_time(void)
{
  struct timespec t;
  return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) ? NAN : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Solves `repeat` times from the same initial guess. Keeps the last solution and the shortest wall and CPU times. */
static PetscErrorCode solve_repeatedly(const friction_case *c, const friction_options *o, int64_t repeat, const double *guess, double *r,
                                       double *u, friction_result *out, double *cpu)
{
  PetscFunctionBegin;
  *out           = (friction_result){0};
  *cpu           = INFINITY;
  double seconds = INFINITY;
  for (int64_t i = 0; i < repeat; ++i) {
    memcpy(r, guess, (size_t)(3 * c->problem.n) * sizeof *r);
    const double begin = read_cpu_time();
    PetscCall(friction_solve(&c->problem, o, r, u, out));
    *cpu    = fmin(*cpu, read_cpu_time() - begin);
    seconds = fmin(seconds, out->seconds);
    if (out->status == FRICTION_TIME || out->status == FRICTION_STOPPED) break;
  }
  out->seconds = seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_run(session *s, const char *path, const friction_case *c, int method, const friction_result *result, double cpu)
{
  friction_run *run;

  PetscFunctionBegin;
  PetscCall(friction_runs_add(&s->runs, &run));
  friction_problem_name(path, sizeof run->problem, run->problem);
  (void)snprintf(run->solver, sizeof run->solver, "%s", friction_solvers[method].name);
  (void)snprintf(run->method, sizeof run->method, "%s", result->method);
  (void)snprintf(run->status, sizeof run->status, "%s", friction_status_text(result->status));
  run->is_solved        = result->status == FRICTION_OK;
  run->n_contacts       = c->problem.n;
  run->n_dof            = c->n_dof;
  run->nu               = friction_case_nu(c);
  run->iterations       = result->iterations;
  run->inner_iterations = result->inner_iterations;
  run->linear_solves    = result->linear_solves;
  run->seconds          = result->seconds;
  run->cpu              = cpu;
  run->absolute         = result->absolute;
  run->siconos          = result->siconos;
  run->scaled           = result->scaled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- printed results ---------------------------------------------------------------------------------------------------- */

static PetscErrorCode print_problem(const char *path, friction_case *c)
{
  const fclib_problem *f  = &c->file;
  const double         nu = friction_case_nu(c);
  char                 text[200];
  int64_t              rank;

  PetscFunctionBegin;
  printf("%s\n  %s problem%s, %lld contacts", path, f->is_global ? "global" : "local", f->dimension == 2 ? " in the plane" : "",
         (long long)f->n_contacts);
  if (c->n_dof > 0)
    printf(", %lld degrees of freedom%s, nu = %.2f\n", (long long)c->n_dof, f->n_dof > 0 ? "" : " (estimated from the number of bodies)",
           nu);
  else printf(", degrees of freedom not recorded\n");
  if (f->title && *f->title) fclib_clean_text(f->title, sizeof text, text), printf("  title: %s\n", text);
  PetscCall(friction_case_rank(c, RANK_LIMIT, &rank));
  const int64_t rows = f->dimension * f->n_contacts;
  if (rank >= 0)
    printf("  rank of W: %lld of %lld%s\n", (long long)rank, (long long)rows,
           rank < rows ? ": impulses are not unique, velocities may be unique" : "");
  const double asymmetry = f->is_global ? 0 : fclib_asymmetry(&f->W);
  if (asymmetry > 1e-12) printf("  W is not symmetric (asymmetry %.1e of its largest entry); it is used unchanged\n", asymmetry);
  if (f->has_solution || f->n_guesses > 0)
    printf("  the file also contains %s%s%lld guesses, used with --from-guess only\n", f->has_solution ? "a solution" : "",
           f->has_solution ? ", " : "", (long long)f->n_guesses);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void print_result(const friction_run *run, const friction_options *o)
{
  static const char *const names[] = {"scaled and siconos", "scaled", "siconos", "absolute"};
  char                     time[32];
  friction_time_text(run->seconds, sizeof time, time);
  printf("  %s: %s", run->solver, run->status);
  if (strcmp(run->method, run->solver)) printf(" by %s", run->method);
  printf(", %lld iterations", (long long)run->iterations);
  if (run->inner_iterations > 0) printf(" (%lld inner)", (long long)run->inner_iterations);
  if (run->linear_solves > 0) printf(", %lld linear solves", (long long)run->linear_solves);
  printf(", %s\n  error: scaled %.2e, siconos %.2e, absolute %.2e; tolerance: %s at most %.3g\n", time, run->scaled, run->siconos,
         run->absolute, names[o->error], o->tolerance);
}

static void print_line(const friction_run *run, bool is_first)
{
  char time[32], nu[16] = "?";
  if (is_first)
    printf("%-44s %8s %6s  %-24s %-20s %10s %10s %9s %9s\n", "problem", "contacts", "nu", "solver", "result", "iterations", "time",
           "scaled", "siconos");
  friction_time_text(run->seconds, sizeof time, time);
  if (isfinite(run->nu)) (void)snprintf(nu, sizeof nu, "%.2f", run->nu);
  printf("%-44s %8lld %6s  %-24s %-20s %10lld %10s %9.2e %9.2e\n", run->problem, (long long)run->n_contacts, nu, run->method, run->status,
         (long long)run->iterations, time, run->scaled, run->siconos);
  (void)fflush(stdout);
}

static PetscErrorCode write_contacts(const char *path, const friction_problem *p, const double *r, const double *u)
{
  static const char *const states[]                                    = {"take-off", "stick", "slide"};
  const int64_t            n                                           = p->n;
  double                  *v __attribute__((cleanup(memory_free)))     = NULL;
  int64_t                 *index __attribute__((cleanup(memory_free))) = NULL;
  const char             **state __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contacts", ARRAY(v, 8 * n), ARRAY(index, n), ARRAY(state, n)));
  friction_errors(p, r, u, NULL, NULL, NULL, v + 7 * n);
  for (int64_t a = 0; a < n; ++a) {
    const double tangent = hypot(r[3 * a + 1], r[3 * a + 2]);
    index[a]             = a;
    state[a]             = states[r[3 * a] <= 0 ? 0 : tangent < p->mu[a] * r[3 * a] * (1 - 1e-9) ? 1 : 2];
    v[a]                 = p->mu[a];
    for (int i = 0; i < 3; ++i) v[(1 + i) * n + a] = r[3 * a + i], v[(4 + i) * n + a] = u[3 * a + i];
  }
  const table_column columns[] = {{"contact", "", TABLE_WHOLE, NULL, index, NULL}, {"state", "", TABLE_TEXT, NULL, NULL, state},
                                  {"mu", "", TABLE_REAL, v, NULL, NULL},           {"r_n", "", TABLE_REAL, v + n, NULL, NULL},
                                  {"r_t1", "", TABLE_REAL, v + 2 * n, NULL, NULL}, {"r_t2", "", TABLE_REAL, v + 3 * n, NULL, NULL},
                                  {"u_n", "", TABLE_REAL, v + 4 * n, NULL, NULL},  {"u_t1", "", TABLE_REAL, v + 5 * n, NULL, NULL},
                                  {"u_t2", "", TABLE_REAL, v + 6 * n, NULL, NULL}, {"error_scaled", "", TABLE_REAL, v + 7 * n, NULL, NULL}};
  PetscCall(table_write_csv(path, n, sizeof columns / sizeof *columns, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- files -------------------------------------------------------------------------------------------------------------- */

typedef struct {
  double *guess, *r, *u;
} vectors;

static void vectors_clear(vectors *v) { MEMORY_FREE(&v->guess, &v->r, &v->u); }

/* Writes --contacts and --output. An unconverged result is written as a guess, not as a solution. */
static PetscErrorCode write_results(session *s, const friction_case *c, const vectors *v, bool is_solved)
{
  const char   *output = command_value(s->line, "--output"), *contacts = command_value(s->line, "--contacts");
  const double *guesses[FRICTION_CASE_GUESSES];
  int           n = 0;

  PetscFunctionBegin;
  if (contacts) PetscCall(write_contacts(contacts, &c->problem, v->r, v->u));
  if (!output) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->guess >= 0) guesses[n++] = v->guess;
  if (!is_solved) guesses[n++] = v->r;
  PetscCall(friction_case_write(c, output, is_solved ? v->r : NULL, n, guesses));
  if (!is_solved) log_warn("%s: not solved to the tolerance; the last iterate was written as guess %d", output, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_with_all(session *s, const char *path, const friction_case *c, vectors *v)
{
  PetscFunctionBegin;
  for (int method = 0; method < FRICTION_N_METHODS && !stop_signal(); ++method) {
    friction_options o = *s->options;
    friction_result  result;
    double           cpu;
    o.method = method;
    log_progress("%s: %s", path, friction_solvers[method].name);
    PetscCall(solve_repeatedly(c, &o, s->repeat, v->guess, v->r, v->u, &result, &cpu));
    PetscCall(add_run(s, path, c, method, &result, cpu));
    if (result.status != FRICTION_OK && s->code == SS_EXIT_OK) s->code = SS_EXIT_NOT_CONVERGED;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_case(session *s, const char *path, friction_case *c)
{
  vectors         v __attribute__((cleanup(vectors_clear))) = {0};
  friction_result result;
  double          cpu;
  const int64_t   m = 3 * c->problem.n;

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("friction", ARRAY(v.guess, m), ARRAY(v.r, m), ARRAY(v.u, m)));
  if (s->guess >= 0) PetscCall(friction_case_guess(path, c, s->guess, v.guess));
  if (s->is_all) {
    PetscCall(solve_with_all(s, path, c, &v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->line->n_positional == 1) PetscCall(print_problem(path, c));
  PetscCall(solve_repeatedly(c, s->options, s->repeat, v.guess, v.r, v.u, &result, &cpu));
  PetscCall(add_run(s, path, c, s->options->method, &result, cpu));
  const friction_run *run = &s->runs.run[s->runs.n - 1];
  if (s->line->n_positional == 1) print_result(run, s->options);
  else print_line(run, s->runs.n == 1);
  if (!run->is_solved && s->code == SS_EXIT_OK) s->code = SS_EXIT_NOT_CONVERGED;
  PetscCall(write_results(s, c, &v, run->is_solved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With several files, an error in one file is printed and determines the exit code, and the other files are still solved. */
static PetscErrorCode solve_file(session *s, const char *path)
{
  friction_case c;

  PetscFunctionBegin;
  PetscErrorCode error = friction_case_read(path, &c);
  if (!error) {
    error = friction_case_add_path(path, solve_case(s, path, &c));
    friction_case_clear(&c);
  }
  if (error && s->line->n_positional > 1 && error_exit_code(error) != SS_EXIT_BUG) {
    const exit_code code = error_report(stderr, error, log_verbosity() > 0);
    if (s->code == SS_EXIT_OK || s->code == SS_EXIT_NOT_CONVERGED) s->code = code;
    error = PETSC_SUCCESS;
  }
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_files(session *s)
{
  const char *table = command_value(s->line, "--table"), *plot = command_value(s->line, "--plot");
  char        title[96];

  PetscFunctionBegin;
  for (int i = 0; i < s->line->n_positional && !stop_signal(); ++i) PetscCall(solve_file(s, s->line->positional[i]));
  log_progress_end();
  if (stop_signal()) s->code = SS_EXIT_NOT_CONVERGED;
  if (s->runs.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->is_all) PetscCall(friction_profile_print(&s->runs, s->options->error, stdout));
  if (table) PetscCall(friction_profile_csv(&s->runs, table));
  (void)snprintf(title, sizeof title, "Solved to %.0e, %d threads", s->options->tolerance, team_threads());
  if (plot) PetscCall(friction_profile_plot(&s->runs, title, plot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_friction(const command_line *line, exit_code *code)
{
  session      s __attribute__((cleanup(session_clear)))       = {.line = line, .is_all = command_value(line, "--all"), .code = SS_EXIT_OK};
  document    *doc __attribute__((cleanup(document_destroy)))  = NULL;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;

  PetscFunctionBegin;
  if (!check_options(line, &s)) {
    *code = SS_EXIT_BAD_INPUT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(document_create(&doc));
  PetscCall(diagnostics_create(&d));
  PetscCall(read_friction_options(line, doc, d, &s.options));
  PetscCall(diagnostics_close(d, stderr));
  PetscCall(solve_files(&s));
  *code = s.code;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define X(symbol, name, solve, help) "\n" name ": " help "."
const command command_friction_entry = {
    "friction",
    "FILE.hdf5...",
    "solve problems of exact Coulomb friction from FCLIB files",
    "Reads local and global FCLIB problems (docs/friction.md), solves them with exact Coulomb "
    "friction, and reports the error of the solution (natural map) in three "
    "norms. The exit code is 6 if a problem is not solved, with --all by any solver.\nSolvers:" FRICTION_SOLVER_TABLE(X),
    1,
    COMMAND_MAX_VALUES,
    friction_options_list,
    command_friction};
#undef X
