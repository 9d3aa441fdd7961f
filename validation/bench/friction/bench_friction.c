/* Every solver of exact Coulomb friction on every FCLIB file of a folder, and eight of Siconos' beside them where siconos_solve could be built.
 *   bench_friction PROGRAM SICONOS_SOLVE|"" FOLDER OUT [LIMIT]
 *
 * All get the local form (W, q) and start from zero, on one thread, by the clock or, for long solves, the time of the processor; the error is the natural map as Siconos measures it, computed here, whatever a solver says of itself. Each
 * solve is a process of its own with LIMIT seconds (default 20). A table, a CSV and a performance profile for each tolerance go to OUT; then the release targets. */
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench_friction.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/plot_sheet.h"
#include "io/sealed_file.h"

static const double tolerances[2] = {1e-4, 1e-8};
enum { MANY_CONTACTS = 900 };

typedef struct {
  const char    *program, *siconos, *folder, *out;
  double         limit;
  int            n_peers;
  friction_runs *sweeps; /* seconds of one, for each problem */
  char           peer[16][32];
} bench;

static void list_peers(bench *b)
{
  char command[600], line[64];
  if (!*b->siconos) return;
  snprintf(command, sizeof command, "'%s' --list", b->siconos);
  FILE *in = popen(command, "r");
  while (in && b->n_peers < 16 && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    snprintf(b->peer[b->n_peers++], sizeof b->peer[0], "%.31s", line);
  }
  if (in) pclose(in);
}

/* All solvers on one problem; one that failed at the looser tolerance is not asked for more. */
static PetscErrorCode run_problem(const bench *b, const bench_problem *p, double tolerance, const friction_runs *before,
                                  friction_runs *runs)
{
  PetscFunctionBegin;
  for (int i = 0; i < FRICTION_N_METHODS + b->n_peers; ++i) {
    const bool          is_own = i < FRICTION_N_METHODS;
    const char         *solver = is_own ? friction_solvers[i].name : b->peer[i - FRICTION_N_METHODS];
    const friction_run *was    = before ? friction_runs_find(before, p->name, solver) : NULL;
    friction_run       *run;
    PetscCall(friction_runs_add(runs, &run));
    snprintf(run->problem, sizeof run->problem, "%s", p->name);
    snprintf(run->solver, sizeof run->solver, "%s", solver);
    run->is_peer    = !is_own;
    run->n_contacts = p->c.problem.n;
    run->n_dof      = p->c.n_dof;
    run->nu         = friction_case_nu(&p->c);
    snprintf(run->status, sizeof run->status, "failed at the looser one");
    log_progress("%s: %s to %.0e", p->name, solver, tolerance);
    if (was && !was->is_solved) continue;
    if (is_own) PetscCall(bench_run_own(b->program, p, solver, tolerance, b->limit, run));
    else PetscCall(bench_run_siconos(b->siconos, p, solver, tolerance, b->limit, run));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_threads(const bench *b, const bench_problem *p)
{
  double speedup;
  bool   is_same;

  PetscFunctionBegin;
  PetscCall(bench_run_threads(b->program, p, b->limit, &speedup, &is_same));
  printf("- 4. two threads, splitting, %s (%lld contacts): %.2f times as fast, %s; %s\n", p->name, (long long)p->c.problem.n, speedup,
         is_same ? "the same bits" : "OTHER BITS", speedup >= 1.6 && is_same ? "met" : "MISSED");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_sweeps(const bench *b, const bench_problem *p)
{
  friction_run *run;

  PetscFunctionBegin;
  PetscCall(friction_runs_add(b->sweeps, &run));
  snprintf(run->problem, sizeof run->problem, "%s", p->name);
  PetscCall(bench_run_sweeps(b->program, p, &run->seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_tolerance(const bench *b, const glob_t *files, double tolerance, const friction_runs *before, friction_runs *runs)
{
  char path[600], title[96];

  PetscFunctionBegin;
  for (size_t i = 0; i < files->gl_pathc; ++i) {
    bench_problem p;
    if (!bench_problem_open(files->gl_pathv[i], b->out, &p)) continue;
    PetscCall(run_problem(b, &p, tolerance, before, runs));
    if (!before) PetscCall(run_sweeps(b, &p));
    if (!before && p.c.problem.n >= MANY_CONTACTS) PetscCall(run_threads(b, &p));
    bench_problem_close(&p);
  }
  log_progress_end();
  printf("\nTolerance %.0e: time (iterations), or the error where it was not reached\n\n", tolerance);
  PetscCall(friction_profile_print(runs, FRICTION_ERROR_SICONOS, stdout));
  (void)fflush(stdout);
  snprintf(path, sizeof path, "%s/friction-%.0e.csv", b->out, tolerance);
  PetscCall(friction_profile_csv(runs, path));
  snprintf(path, sizeof path, "%s/friction-%.0e.svg", b->out, tolerance);
  snprintf(title, sizeof title, "Local form, one thread, natural map of Siconos to %.0e (thin: Siconos 4.4)", tolerance);
  if (plot_sheet_is_possible()) PetscCall(friction_profile_plot(runs, title, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(bench *b)
{
  glob_t        files   = {0};
  friction_runs runs[2] = {{0}, {0}}, sweeps = {0};
  char          text[600];

  PetscFunctionBegin;
  b->sweeps = &sweeps;
  PetscCall(file_make_directory(b->out));
  snprintf(text, sizeof text, "%s/*.hdf5", b->folder);
  PetscCheck(!glob(text, 0, NULL, &files), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no *.hdf5 in it", b->folder);
  PetscErrorCode code = PETSC_SUCCESS;
  for (int k = 0; k < 2 && !code; ++k) code = run_tolerance(b, &files, tolerances[k], k ? &runs[0] : NULL, &runs[k]);
  globfree(&files);
  snprintf(text, sizeof text, "%s/PEERS.md", b->folder);
  if (!code) code = bench_targets(&runs[0], &runs[1], &sweeps, text, stdout);
  for (int k = 0; k < 2; ++k) friction_runs_clear(&runs[k]);
  friction_runs_clear(&sweeps);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  if (argc < 5) {
    fprintf(stderr, "usage: bench_friction PROGRAM SICONOS_SOLVE FOLDER OUT [LIMIT]\n");
    return 2;
  }
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv("OMPI_MCA_pml", "ob1", 0), setenv("OMPI_MCA_btl", "self", 0), setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  if (PetscInitializeNoArguments() || error_install()) return 1;
  log_open(false, 0);
  bench b = {.program = argv[1], .siconos = argv[2], .folder = argv[3], .out = argv[4], .limit = argc > 5 ? strtod(argv[5], NULL) : 20};
  list_peers(&b);
  if (!b.n_peers) printf("Siconos: not installed (libsiconos-numerics-dev); our own solvers alone\n");
  const PetscErrorCode error = run(&b);
  return error ? (int)error_report(stderr, error, false) : 0;
}
