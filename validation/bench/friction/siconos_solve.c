/* One problem by one solver of Siconos, in a process that may crash or hang without harm: siconos_solve PROBLEM SOLVER TOLERANCE ANSWER.
 * Solved again from zero until half a second is used up. Only the bench needs this, and only where libsiconos-numerics-dev is installed.
 *
 *   PROBLEM  int64 n, n_blocks; start [n + 1] int64; col [n_blocks] int32; value [n_blocks][9], q [n][3], mu [n] doubles
 *   ANSWER   int64 iterations, info; double seconds (least); r [n][3] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <NumericsVerbose.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>

typedef struct {
  int64_t  n, n_blocks, *start;
  int32_t *col;
  double  *value, *q, *mu;
} problem;

typedef struct {
  const char *name;
  int         id;
} solver;

static const solver solvers[] = {{"NSGS", SICONOS_FRICTION_3D_NSGS},     {"NSGS-quartic", SICONOS_FRICTION_3D_NSGS},
                                 {"NSN_AC", SICONOS_FRICTION_3D_NSN_AC}, {"NSN_AC-hybrid", SICONOS_FRICTION_3D_NSN_AC},
                                 {"NSN_FB", SICONOS_FRICTION_3D_NSN_FB}, {"ADMM", SICONOS_FRICTION_3D_ADMM},
                                 {"PROX", SICONOS_FRICTION_3D_PROX},     {"VI_EG", SICONOS_FRICTION_3D_VI_EG}};

static void *room(size_t n, size_t size)
{
  void *p = calloc(n ? n : 1, size);
  if (!p) exit(3);
  return p;
}

static void take(FILE *in, void *out, size_t size, int64_t n)
{
  if (fread(out, size, (size_t)n, in) != (size_t)n) exit(2);
}

static void read_problem(const char *path, problem *p)
{
  FILE *in = fopen(path, "rb");
  if (!in) exit(2);
  take(in, &p->n, 8, 1);
  take(in, &p->n_blocks, 8, 1);
  p->start = room((size_t)p->n + 1, 8), p->col = room((size_t)p->n_blocks, 4), p->value = room((size_t)p->n_blocks * 9, 8);
  p->q = room((size_t)p->n * 3, 8), p->mu = room((size_t)p->n, 8);
  take(in, p->start, 8, p->n + 1);
  take(in, p->col, 4, p->n_blocks);
  take(in, p->value, 8, 9 * p->n_blocks);
  take(in, p->q, 8, 3 * p->n);
  take(in, p->mu, 8, p->n);
  fclose(in);
}

/* Blocks column by column, as Siconos has them; with scalar sparse matrices its Newton methods took more iterations and longer. */
static NumericsMatrix *make_blocks(const problem *p)
{
  NumericsMatrix              *M = NM_create(NM_SPARSE_BLOCK, (int)(3 * p->n), (int)(3 * p->n));
  SparseBlockStructuredMatrix *s = M->matrix1;
  s->nbblocks                    = (unsigned)p->n_blocks;
  s->blocknumber0 = s->blocknumber1 = (unsigned)p->n;
  s->blocksize0                     = room((size_t)p->n, sizeof *s->blocksize0);
  s->blocksize1                     = room((size_t)p->n, sizeof *s->blocksize1);
  s->filled1                        = (size_t)p->n + 1;
  s->filled2                        = (size_t)p->n_blocks;
  s->index1_data                    = room(s->filled1, sizeof *s->index1_data);
  s->index2_data                    = room(s->filled2, sizeof *s->index2_data);
  s->block                          = room(s->filled2, sizeof *s->block);
  for (int64_t a = 0; a < p->n; ++a) s->blocksize0[a] = s->blocksize1[a] = (unsigned)(3 * a + 3);
  for (int64_t a = 0; a <= p->n; ++a) s->index1_data[a] = (size_t)p->start[a];
  for (int64_t k = 0; k < p->n_blocks; ++k) {
    s->index2_data[k] = (size_t)p->col[k];
    s->block[k]       = room(9, sizeof(double));
    for (int e = 0; e < 9; ++e) s->block[k][3 * (e % 3) + e / 3] = p->value[9 * k + e];
  }
  return M;
}

static SolverOptions *make_options(const solver *s, double tolerance)
{
  SolverOptions *o                   = solver_options_create(s->id);
  o->dparam[SICONOS_DPARAM_TOL]      = tolerance;
  o->iparam[SICONOS_IPARAM_MAX_ITER] = s->id == SICONOS_FRICTION_3D_NSGS || s->id == SICONOS_FRICTION_3D_VI_EG ? 100000000
                                       : s->id == SICONOS_FRICTION_3D_ADMM                                     ? 1000000
                                                                                                               : 10000;
  if (!strcmp(s->name, "NSGS-quartic")) solver_options_update_internal(o, 0, SICONOS_FRICTION_3D_ONECONTACT_QUARTIC);
  if (!strcmp(s->name, "NSN_AC-hybrid"))
    o->iparam[SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY] = SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY_VI_EG_NSN;
  return o;
}

static double now(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* From zero, on a matrix that nothing has been factored of. */
static double solve_once(const problem *p, const solver *s, double tolerance, double *r, double *u, int64_t *iterations, int64_t *info)
{
  double *q = room((size_t)p->n * 3, 8), *mu = room((size_t)p->n, 8);
  memcpy(q, p->q, (size_t)p->n * 24);
  memcpy(mu, p->mu, (size_t)p->n * 8);
  FrictionContactProblem *f = frictionContactProblem_new_with_data(3, (int)p->n, make_blocks(p), q, mu);
  SolverOptions          *o = make_options(s, tolerance);
  memset(r, 0, (size_t)p->n * 24);
  memset(u, 0, (size_t)p->n * 24);
  const double begin = now(CLOCK_MONOTONIC), begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  *info             = fc3d_driver(f, r, u, o);
  const double wall = now(CLOCK_MONOTONIC) - begin, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
  *iterations = o->iparam[SICONOS_IPARAM_ITER_DONE];
  return wall > 0.05 ? fmin(wall, cpu)
                     : wall; /* as bench_friction_run.c chooses; what its clean-up would double free is left to the end of the process */
}

int main(int argc, char **argv)
{
  problem       p;
  const solver *s = NULL;
  int64_t       number[2];
  double        least = INFINITY, total = 0;
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; ++i) printf("%s\n", solvers[i].name);
    return 0;
  }
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers && argc == 5; ++i)
    if (!strcmp(solvers[i].name, argv[2])) s = &solvers[i];
  if (!s) return 2;
  read_problem(argv[1], &p);

  numerics_set_verbose(0);
  double *r = room((size_t)p.n * 3, 8), *u = room((size_t)p.n * 3, 8);
  for (int i = 0; i < 50 && total < 0.5; ++i) {
    const double seconds = solve_once(&p, s, strtod(argv[3], NULL), r, u, &number[0], &number[1]);
    total += seconds;
    if (seconds < least) least = seconds;
  }
  FILE *out = fopen(argv[4], "wb");
  if (!out || fwrite(number, 8, 2, out) != 2 || fwrite(&least, 8, 1, out) != 1 || fwrite(r, 8, (size_t)p.n * 3, out) != (size_t)p.n * 3 ||
      fclose(out))
    return 3;
  return 0;
}
