/* The whole implicit Newton step of a sand bed with a ball in it, and checkpoint speed, at 1, 2, ... threads.
 * Usage: bench_step [JOB.yaml [STEPS]]; default jobs/quickstart.yaml, 10 steps after 5 to settle. Runs are interleaved and the
 * best of each is kept, so that a noisy machine disturbs the ratio less. */
#include <omp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "bench_mpm_memory.h"
#include "app/job/job.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "io/checkpoint.h"
#include "sim/formulations.h"
#include "discretize/mpm/mpm_body.h"
#include "sim/scene/scene.h"

enum { MAX_COUNTS = 8, REPEATS = 3 };

typedef struct {
  double seconds, newton, linear;
} step_cost;

/* A fresh scene each time: every thread count does exactly the same work, bit for bit. */
static PetscErrorCode time_steps(const job *j, int threads, int n_steps, step_cost *cost, double *checkpoint_rate, double *state,
                                 double *work)
{
  PetscFunctionBegin;
  diagnostics *d;
  scene       *s;
  formulation *f;
  team_set_threads(threads);
  PetscCall(diagnostics_create(&d));
  PetscCall(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(formulation_create(&penalty_formulation, s, &f));
  PetscCall(f->ops->fields(f, s->fields));
  *cost           = (step_cost){0};
  const double dt = j->scene.time->step;
  for (int i = -5; i < n_steps; ++i) {
    step_status  status;
    step_report  report;
    const double t0 = timer_now();
    PetscCall(f->ops->step(f, (i + 5) * dt, dt, &status, &report));
    if (i < 0) continue;
    cost->seconds += timer_now() - t0;
    cost->newton += (double)report.newton_iterations;
    cost->linear += (double)report.linear_iterations;
  }
  (void)mkdir("build/bench-checkpoint", 0777);
  const double          t0   = timer_now();
  const checkpoint_head head = {j->scene.name, f->ops->scene.name, j->resolved, 1, dt};
  PetscCall(checkpoint_write("build/bench-checkpoint", &head, s->fields, 1));
  const double seconds = timer_now() - t0;
  char        *path;
  struct stat  status;
  PetscCall(checkpoint_newest("build/bench-checkpoint", &path));
  if (path && stat(path, &status) == 0) *checkpoint_rate = (double)status.st_size / seconds * 1e-6;
  memory_free(&path);
  if (s->world.mpm) bench_mpm_memory(s->world.mpm->domain, state, work);
  formulation_destroy(&f);
  scene_destroy(&s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bench(const char *path, int n_steps)
{
  PetscFunctionBegin;
  diagnostics *d;
  job         *j;
  int          counts[MAX_COUNTS], n = 0;
  step_cost    best[MAX_COUNTS];
  double       rate[MAX_COUNTS] = {0}, state = 0, work = 0;
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(path, 0, NULL, d, &j));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  for (int k = 1; k <= omp_get_num_procs() && n < MAX_COUNTS; k *= 2) counts[n++] = k;
  for (int r = 0; r < REPEATS; ++r)
    for (int k = 0; k < n; ++k) {
      step_cost cost;
      double    mb = 0.0;
      PetscCall(time_steps(j, counts[k], n_steps, &cost, &mb, &state, &work));
      if (r == 0 || cost.seconds < best[k].seconds) best[k] = cost;
      if (mb > rate[k]) rate[k] = mb;
    }
  printf("%s: %.1f Newton and %.1f GMRES iterations per step; %.0f B state and %.0f B solver work per particle\n", path,
         best[0].newton / n_steps, best[0].linear / n_steps, state, work);
  printf("%8s %14s %12s %16s\n", "threads", "ms per step", "speed-up", "checkpoint MB/s");
  for (int k = 0; k < n; ++k)
    printf("%8d %14.2f %12.2f %16.0f\n", counts[k], 1e3 * best[k].seconds / n_steps, best[0].seconds / best[k].seconds, rate[k]);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *path = argc > 1 ? argv[1] : "jobs/quickstart.yaml";
  const int   n    = argc > 2 ? atoi(argv[2]) : 10;
  int         none = 1;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  if (PetscInitialize(&none, &argv, NULL, NULL) || error_install()) return 1;
  log_open(true, 0);
  const PetscErrorCode error = bench(path, n);
  if (error) (void)error_report(stderr, error, true);
  return PetscFinalize() || error ? 1 : 0;
}
