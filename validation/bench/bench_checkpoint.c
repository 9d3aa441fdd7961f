/* What a checkpoint costs: a bed of sand with a ball in it, of so many particles.
 * Usage: bench_checkpoint [DIR [PARTICLES ...]]; default build/bench-checkpoint, 1e5 and 1e6. DIR tells which disk is meant.
 *
 *   written     seconds and rate of checkpoint_write, best of 3: HDF5, checksum, seal, flush to the disk, rename; and its share of the run at the
 *               default interval of 600 s and at one a minute
 *   beside      what the computation would lose if a forked child wrote it: fork itself, and the CPU seconds that the next steps take more because
 *               the pages they write to have to be copied first; the child's memory grows by these pages
 *   packed      what shuffling and deflate 1 leave of it, and the CPU seconds that takes
 *   restart     scene from the job, state from the file
 *
 * Measured on two Zen 3 cores that had other work, virtual disk, 2026-11-21, 1e5 and 1e6 particles (25.0 and 234.9 MB): written 0.072 and 1.43 s;
 * beside 0.074 and 0.84 s, since steps write to all their memory, which is three times the state; packed to 73 % at 70 MB/s: not worth it;
 * restart 1.3 and 37 s for the scene, 0.05 and 2.3 s for the state. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include "app/job/job.h"
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "discretize/mpm/mpm_body.h"
#include "io/checkpoint.h"
#include "sim/formulations.h"
#include "sim/scene/scene.h"

enum { REPEATS = 3, STEPS = 1, CHUNK = 1 << 20 };

static double cpu_seconds(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
static long page_faults(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_minflt;
}

static PetscErrorCode build(const job *j, scene **s, formulation **f)
{
  diagnostics *d;
  PetscFunctionBegin;
  PetscCall(diagnostics_create(&d));
  PetscCall(scene_create(PETSC_COMM_SELF, &j->scene, d, s));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(formulation_create(&penalty_formulation, *s, f));
  PetscCall((*f)->ops->fields(*f, (*s)->fields));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_steps(const job *j, formulation *f, int *at, double *cpu, double *wall)
{
  const double c = cpu_seconds(), w = timer_now();
  PetscFunctionBegin;
  for (int i = 0; i < STEPS; ++i, ++*at) {
    step_status status;
    step_report report;
    PetscCall(f->ops->step(f, *at * j->scene.time->step, j->scene.time->step, &status, &report));
  }
  *cpu  = (cpu_seconds() - c) / STEPS;
  *wall = (timer_now() - w) / STEPS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes left of `n` entries of `size` bytes: all first bytes, then all second ones, ..., deflated. */
static size_t packed_bytes(const unsigned char *from, size_t n, size_t size, unsigned char *shuffled, unsigned char *out, uLong room)
{
  for (size_t b = 0; b < size; ++b)
    for (size_t i = 0; i < n; ++i) shuffled[b * n + i] = from[i * size + b];
  uLongf length = room;
  return compress2(out, &length, shuffled, n * size, 1) == Z_OK && length < n * size ? length : n * size;
}

static PetscErrorCode pack(const field_table *table, double *before, double *after, double *cpu)
{
  const uLong    room = compressBound(CHUNK);
  unsigned char *shuffled, *out;
  PetscFunctionBegin;
  PetscCall(memory_alloc("bench", CHUNK, 1, &shuffled));
  PetscCall(memory_alloc("bench", (int64_t)room, 1, &out));
  *before = *after   = 0.0;
  const double begun = cpu_seconds();
  for (int g = 0; g < field_table_n_groups(table); ++g) {
    const field_group *group = field_table_group(table, g);
    for (int k = 0; k < group->n_fields; ++k) {
      const field *x = &group->fields[k];
      if (!(x->flags & FIELD_CHECKPOINT)) continue;
      const size_t size = field_type_size(x->type);
      for (int c = 0; c < (x->stride > 1 ? 1 : x->n_components); ++c) {
        const size_t         n    = (size_t)(*group->n_rows * x->stride);
        const unsigned char *from = field_component(x, c);
        for (size_t i = 0; i < n; i += CHUNK / size) {
          const size_t part = n - i < CHUNK / size ? n - i : CHUNK / size;
          *before += (double)(part * size);
          *after += (double)packed_bytes(from + i * size, part, size, shuffled, out, room);
        }
      }
    }
  }
  *cpu = cpu_seconds() - begun;
  memory_free(&shuffled);
  memory_free(&out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_one(const char *dir, const job *j, const scene *s, int64_t step, double *seconds, double *bytes)
{
  const checkpoint_head head  = {j->scene.name, "penalty", j->resolved, step, 0.0};
  const double          begun = timer_now();
  char                 *path;
  struct stat           status;
  PetscFunctionBegin;
  PetscCall(checkpoint_write(dir, &head, s->fields, 1));
  *seconds = timer_now() - begun;
  PetscCall(checkpoint_newest(dir, &path));
  *bytes = path && stat(path, &status) == 0 ? (double)status.st_size : 0.0;
  memory_free(&path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps while a child writes, against steps alone. */
static PetscErrorCode beside(const char *dir, const job *j, const scene *s, formulation *f, double *fork_seconds, double *extra_cpu,
                             double *copied, double *step_seconds)
{
  const checkpoint_head head = {j->scene.name, "penalty", j->resolved, 99, 0.0};
  double                cpu, wall, cpu_beside;
  int                   at = 0, status;
  PetscFunctionBegin;
  PetscCall(take_steps(j, f, &at, &cpu, &wall)); /* to settle */
  PetscCall(take_steps(j, f, &at, &cpu, step_seconds));
  const double begun = timer_now();
  const pid_t  child = fork();
  if (child == 0) _exit(checkpoint_write(dir, &head, s->fields, 1) ? 1 : 0);
  *fork_seconds     = timer_now() - begun;
  const long faults = page_faults();
  PetscCall(take_steps(j, f, &at, &cpu_beside, &wall));
  *copied    = (double)(page_faults() - faults) * (double)sysconf(_SC_PAGESIZE);
  *extra_cpu = STEPS * (cpu_beside - cpu);
  PetscCheck(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status), PETSC_COMM_SELF, PETSC_ERR_SYS,
             "the child failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bench(const char *dir, double n_wanted)
{
  char         spacing[64], *path;
  const char  *overrides[] = {spacing, "bodies.ball.velocity=[0, 0, -1]",
                              "solver.newton.tolerance=0.1"}; /* steps only have to touch all memory */
  double       best = 1e30, bytes = 0, fork_seconds = 0, extra = 0, copied = 0, step = 0, before = 0, after = 0, cpu = 1, time = 0;
  int64_t      at;
  diagnostics *d;
  job         *j;
  scene       *s;
  formulation *f;
  PetscFunctionBegin;
  snprintf(spacing, sizeof spacing, "bodies.bed.spacing=%.6g", 0.01875 * cbrt(23040.0 / n_wanted));
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read("jobs/quickstart.yaml", 3, overrides, d, &j));
  PetscCall(diagnostics_close(d, stderr));
  diagnostics_destroy(&d);
  PetscCall(build(j, &s, &f));
  PetscCall(beside(dir, j, s, f, &fork_seconds, &extra, &copied, &step));
  PetscCall(checkpoint_drop_all(dir));
  for (int r = 0; r < REPEATS; ++r) {
    double seconds = 0;
    PetscCall(write_one(dir, j, s, r, &seconds, &bytes));
    best = fmin(best, seconds);
  }
  PetscCall(pack(s->fields, &before, &after, &cpu));
  const double live = (double)memory_live();
  printf("%.3g particles: %.1f MB in a checkpoint, %.0f MB in memory, %.3g s a step\n", (double)particles_of(s->bodies[0].body)->n,
         1e-6 * bytes, 1e-6 * live, step);
  printf("  written  %8.3f s  %6.0f MB/s  %.3f %% of a run at one in 600 s, %.2f %% at one a minute\n", best, 1e-6 * bytes / best,
         100 * best / 600, 100 * best / 60);
  printf("  beside   %8.3f s for fork, %.3f s of CPU for %.0f MB of pages copied: %.3f %% and %.2f %%\n", fork_seconds, extra,
         1e-6 * copied, 100 * (fork_seconds + extra) / 600, 100 * (fork_seconds + extra) / 60);
  printf("  packed   %8.3f s of CPU, %.0f MB/s, to %.0f %%\n", cpu, 1e-6 * before / cpu, 100 * after / before);
  formulation_destroy(&f);
  scene_destroy(&s);
  double begun = timer_now();
  PetscCall(build(j, &s, &f));
  const double building = timer_now() - begun;
  begun                 = timer_now();
  PetscCall(checkpoint_newest(dir, &path));
  PetscCall(checkpoint_read(path, j->scene.name, s->fields, &at, &time));
  printf("  restart  %8.3f s for the scene, %.3f s for the state\n", building, timer_now() - begun);
  fflush(stdout);
  memory_free(&path);
  formulation_destroy(&f);
  scene_destroy(&s);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char    *dir   = argc > 1 ? argv[1] : "build/bench-checkpoint";
  const char    *std[] = {"1e5", "1e6"};
  const int      n     = argc > 2 ? argc - 2 : 2;
  int            none  = 1;
  PetscErrorCode error = PETSC_SUCCESS;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  if (PetscInitialize(&none, &argv, NULL, NULL) || error_install()) return 1;
  log_open(true, 0);
  for (int i = 0; i < n && !error; ++i) error = bench(dir, strtod(argc > 2 ? argv[2 + i] : std[i], NULL));
  if (error) (void)error_report(stderr, error, true);
  return PetscFinalize() || error ? 1 : 0;
}
