/* Quadratic programs with bounds as pressure brings them: our solvers, the published competitors and PETSc's on the same matrices.
 *   bench_box [largest edge of B, default 96; 0: the parts on threads, sizes and warm starts alone, -1: warm starts alone [solvers whose name has this, cold alone]]
 *
 * B: full box of N^3 cells, closed on five sides, open at the top, a smooth source that pulls a part of the liquid apart.
 * S: liquid in a ball as it sloshes, from formulas: fractions of wall faces, ghost values at the surface; a stand-in for states of a
 *    running simulation of the same size.
 * All start from zero and stop at |nu|_D <= 1e-6 |b|_D. Seconds are CPU seconds of one thread, set-up included, the least of the repeats;
 * `CG` is conjugate gradients with the same preconditioner on the same system without its bounds. Numbers in brackets: what prototypes and
 * PETSc took on one core of a Zen 3 for boxes and balls of these sizes, stopping at the Euclidean norm; the balls there were a simulation's. */
#include "core/error.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/timer.h"
#include "optim/bounds/bounds_qp.h"
#include "optim/optim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
  char        name[16];
  grid_matrix a;
  double     *b, *lo;
} problem;

static void close_problem(problem *p)
{
  grid_matrix_destroy(&p->a);
  memory_free(&p->b), memory_free(&p->lo);
}

/* Signed distances of the ball's wall (inside > 0) and of the liquid (inside < 0), domain [-1/2, 1/2]^3. */
static double wall(const double *x) { return 0.475 - sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }
static double surface(const double *x, double t) { return x[2] + 0.205 - 0.05 * sin(7.0 * x[0] + t) * cos(5.0 * x[1]); }
/* Open share of a face with this centre: linear in the distance across one cell. */
static double open_share(const double *x, double h) { return fmin(1.0, fmax(0.0, 0.5 + wall(x) / h)); }
/* Velocity before the projection: gravity's of a step and a straining flow that leaves the wall on one side. */
static double velocity(int axis, const double *x, double t)
{
  const double u[3] = {0.25 * x[2] * cos(t) - 0.2 * x[1], 0.2 * x[0], -0.05 + 0.4 * x[0]};
  return u[axis];
}

static bool is_cell(bool is_ball, const double *x, double h, double t) { return !is_ball || (wall(x) > -0.5 * h && surface(x, t) < 0.0); }

/* One face of cell i: coefficient and flow out of the cell. */
static void add_side(problem *p, bool is_ball, int n, double t, int64_t i, int side, const double *x, const int32_t *number)
{
  const int    axis = side / 2;
  const double h = 1.0 / n, sign = side % 2 ? 1.0 : -1.0;
  double       face[3] = {x[0], x[1], x[2]}, beyond[3] = {x[0], x[1], x[2]};
  int32_t      at[3];
  memcpy(at, p->a.ijk[i], sizeof at);
  at[axis] += side % 2 ? 1 : -1;
  face[axis] += 0.5 * sign * h, beyond[axis] += sign * h;
  const bool is_outside = at[axis] < 0 || at[axis] >= n;
  if (is_outside && !(side == 5 && !is_ball)) return;
  const double share = is_ball ? open_share(face, h) : 1.0;
  if (share <= 0.0) return;
  const int32_t j      = is_outside ? -1 : number[((int64_t)at[0] * n + at[1]) * n + at[2]];
  double        weight = share / (h * h);
  if (is_ball) p->b[i] -= sign * share * velocity(axis, face, t) / h;
  if (j >= 0) p->a.neighbor[i][side] = j, p->a.off[i][side] = -weight;
  else if (is_ball) { /* the surface lies at theta of the way */ const double in = surface(x, t), out = surface(beyond, t);
    if (wall(beyond) <= -0.5 * h) return;
    weight /= fmin(1.0, fmax(0.05, in / (in - out)));
  }
  p->a.diagonal[i] += weight;
}

/* t moves the source, or the surface: the next step of a warm start. */
static PetscErrorCode open_problem(bool is_ball, int n, double t, problem *p)
{
  const double h      = 1.0 / n;
  int32_t     *number = NULL, count = 0;
  PetscFunctionBegin;
  snprintf(p->name, sizeof p->name, "%c%d", is_ball ? 'S' : 'B', n);
  PetscCall(memory_alloc("numbers of cells", (int64_t)n * n * n, sizeof *number, &number));
  for (int64_t c = 0; c < (int64_t)n * n * n; ++c) {
    const double x[3] = {((double)(c / n / n) + 0.5) * h - 0.5, ((double)(c / n % n) + 0.5) * h - 0.5, ((double)(c % n) + 0.5) * h - 0.5};
    number[c]         = is_cell(is_ball, x, h, t) ? count++ : -1;
  }
  PetscCall(grid_matrix_allocate(count, &p->a));
  PetscCall(memory_alloc("right-hand side", count, sizeof(double), &p->b));
  PetscCall(memory_alloc("bounds", count, sizeof(double), &p->lo));
  for (int64_t c = 0; c < (int64_t)n * n * n; ++c)
    if (number[c] >= 0)
      memcpy(p->a.ijk[number[c]], (const int32_t[]){(int32_t)(c / n / n), (int32_t)(c / n % n), (int32_t)(c % n)}, sizeof p->a.ijk[0]);
  for (int64_t i = 0; i < count; ++i) {
    double x[3];
    for (int k = 0; k < 3; ++k) x[k] = (p->a.ijk[i][k] + 0.5) * h - 0.5;
    for (int side = 0; side < 6; ++side) add_side(p, is_ball, n, t, i, side, x, number);
    if (!is_ball) p->b[i] = sin(2.0 * M_PI * (x[0] + 0.5) + t) * sin(2.0 * M_PI * (x[1] + 0.5)) * cos(M_PI * (x[2] + 0.5)) - 0.065;
    if (!(p->a.diagonal[i] > 0.0)) p->a.diagonal[i] = 1.0, p->b[i] = 0.0;
  }
  memory_free(&number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double cpu_seconds(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

typedef struct {
  const char *name;
  int         method, preconditioner;
  int64_t     trials;
  bool        is_nested;
  const char *key, *value; /* of PETSc's options */
  int64_t     largest;     /* unknowns; more would take too long */
  const char *known[4];    /* S64, S128, B64, B96 as measured elsewhere */
} row;

typedef struct {
  double        cpu, wall;
  bounds_result r;
} measured;

static const double SLOW = 3.0; /* [s] once is enough */

/* The least of the repeats; coarse levels are made anew in each. x in: start, out: answer. */
static PetscErrorCode measure(problem *p, const row *w, double tolerance, int repeats, double *x, measured *out)
{
  const bounds_qp q = {
      .n = p->a.n, .apply = grid_matrix_apply, .context = &p->a, .diagonal = p->a.diagonal, .b = p->b, .lo = p->lo, .grid = &p->a};
  const bounds_options o = {
      .method = w->method, .preconditioner = w->preconditioner, .tolerance = tolerance, .trials = w->trials ? w->trials : 1};
  double *start = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("start", q.n, sizeof *start, &start));
  memcpy(start, x, (size_t)q.n * sizeof *x);
  *out = (measured){.cpu = INFINITY, .wall = INFINITY};
  if (w->key) PetscCall(PetscOptionsSetValue(NULL, w->key, w->value));
  for (int k = 0; k < repeats && !(out->wall < INFINITY && out->wall > SLOW); ++k) {
    memcpy(x, start, (size_t)q.n * sizeof *x);
    grid_matrix cold = p->a;
    cold.levels      = NULL;
    bounds_qp    qk  = q;
    const double cpu = cpu_seconds(), clock = timer_now();
    qk.grid = &cold;
    out->r  = (bounds_result){0};
    const PetscErrorCode code =
        w->is_nested ? bounds_solve(&qk, &o, x, &out->r)
                     : bounds_solve_with(NULL, bounds_solvers[w->method].solve, w->method == BOUNDS_METHOD_CG, &qk, &o, x, &out->r);
    out->cpu  = fmin(out->cpu, cpu_seconds() - cpu);
    out->wall = fmin(out->wall, timer_now() - clock);
    cold.ijk = NULL, cold.neighbor = NULL, cold.diagonal = NULL, cold.off = NULL; /* the problem's */
    grid_matrix_destroy(&cold);
    PetscCall(code);
  }
  if (w->key) PetscCall(PetscOptionsClearValue(NULL, w->key));
  memory_free(&start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* clang-format off */
enum { NONE = BOUNDS_PRECONDITIONER_NONE, JACOBI = BOUNDS_PRECONDITIONER_JACOBI, MIC = BOUNDS_PRECONDITIONER_MIC, GRID = BOUNDS_PRECONDITIONER_MULTIGRID };
/* clang-format on */
static const int64_t TINY = 100000, SMALL = 300000, MEDIUM = 900000, ANY = INT64_MAX;
#define TAO_TYPE "-pressure_tao_type"

static PetscErrorCode cold(problem *p, int known, const char *only)
{
  const row rows[] = {
      {"CG, none", BOUNDS_METHOD_CG, NONE, .largest = MEDIUM, .known = {"334/.05", "334/.41", "", "432/4.6"}},
      {"CG, Jacobi", BOUNDS_METHOD_CG, JACOBI, .largest = MEDIUM},
      {"CG, MIC(0)", BOUNDS_METHOD_CG, MIC, .largest = ANY, .known = {"19/.009", "18/.07", "59/.37", "86/2.0"}},
      {"CG, multigrid", BOUNDS_METHOD_CG, GRID, .largest = ANY, .known = {"", "6/.08", "6/.14", "6/.49"}},
      {"MPRGP original, none", BOUNDS_METHOD_MPRGP_ORIGINAL, NONE, .largest = TINY, .known = {"586/.21", "865/2.3", "350/1.7", "708/12.8"}},
      {"MPRGP modified, none", BOUNDS_METHOD_MPRGP, NONE, .largest = TINY, .known = {"554/.17", "1548/3.8", "271/1.2", "652/10.9"}},
      {"MPRGP modified, Jacobi", BOUNDS_METHOD_MPRGP, JACOBI, .largest = TINY, .known = {"133/.05", "165/.46", "", ""}},
      {"MPRGP original, MIC(0)", BOUNDS_METHOD_MPRGP_ORIGINAL, MIC, .largest = MEDIUM,
       .known = {"28/.023", "32/.22", "88/.97", "329/15.5"}},
      {"MPRGP modified, MIC(0)", BOUNDS_METHOD_MPRGP, MIC, .largest = ANY, .known = {"26/.021", "30/.20", "53/.47", "87/3.3"}},
      {"MPRGP original, multigrid", BOUNDS_METHOD_MPRGP_ORIGINAL, GRID, .largest = SMALL},
      {"MPRGP modified, multigrid", BOUNDS_METHOD_MPRGP, GRID, .largest = ANY, .known = {"", "12/.21", "34/.54", "45/2.5"}},
      {"  from coarser grids", BOUNDS_METHOD_MPRGP, GRID, .is_nested = true, .largest = ANY},
      {"active set, MIC(0)", BOUNDS_METHOD_ACTIVE_SET, MIC, .largest = ANY, .known = {"7+23/.021", "7+26/.19", "17+61/.67", "23+97/3.5"}},
      {"active set, multigrid", BOUNDS_METHOD_ACTIVE_SET, GRID, .largest = ANY, .known = {"", "6+7/.19", "16+26/.71", "22+35/3.3"}},
      {"  from coarser grids", BOUNDS_METHOD_ACTIVE_SET, GRID, .is_nested = true, .largest = ANY},
      {"ADMM, MIC(0)", BOUNDS_METHOD_ADMM, MIC, .largest = SMALL},
      {"interior point, 1 trial, MIC(0)", BOUNDS_METHOD_INTERIOR_POINT, MIC, 1, .largest = SMALL},
      {"interior point, 5 trials, MIC(0)", BOUNDS_METHOD_INTERIOR_POINT, MIC, 5, .largest = SMALL},
      {"augmented Lagrangian, 1, MIC(0)", BOUNDS_METHOD_AUGMENTED_LAGRANGIAN, MIC, 1, .largest = SMALL},
      {"augmented Lagrangian, 5, MIC(0)", BOUNDS_METHOD_AUGMENTED_LAGRANGIAN, MIC, 5, .largest = SMALL},
      {"SNESVINEWTONRSLS, CG, ICC(0)", BOUNDS_METHOD_SNESVI, MIC, .largest = MEDIUM,
       .known = {"7+44/.048", "7+52/.41", "18+142/1.3", "24+269/7.6"}},
      {"TAOGPCG", BOUNDS_METHOD_TAO, MIC, .key = TAO_TYPE, .value = "gpcg", .largest = TINY,
       .known = {"4+110/.074", "5+177/.89", "7+283/1.7", "8+474/10.3"}},
      {"TAOBNLS, ICC(0)", BOUNDS_METHOD_TAO, MIC, .key = TAO_TYPE, .value = "bnls", .largest = SMALL,
       .known = {"5+92/.065", "6+173/.80", "15+497/2.7", "21+1002/19"}},
      {"TAOBLMVM", BOUNDS_METHOD_TAO, MIC, .key = TAO_TYPE, .value = "blmvm", .largest = TINY, .known = {"180/.20", "228/2.4", "", ""}},
  };
  double *x = NULL, cg[BOUNDS_N_PRECONDITIONERS] = {0};
  PetscFunctionBegin;
  PetscCall(memory_alloc("unknowns", p->a.n, sizeof *x, &x));
  printf("\n%s, %lld unknowns\n%-34s %16s %9s %8s %8s  %s\n", p->name, (long long)p->a.n, "", "outer+steps", "s", "over CG", "% bound",
         "[elsewhere: steps/s]");
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    const row *w = &rows[k];
    measured   m;
    if (p->a.n > w->largest || (only && !strstr(w->name, only))) continue;
    memset(x, 0, (size_t)p->a.n * sizeof *x);
    PetscCall(measure(p, w, 1e-6, p->a.n < SMALL ? 3 : 2, x, &m));
    if (w->method == BOUNDS_METHOD_CG) cg[w->preconditioner] = m.cpu;
    char steps[32], over[16] = "";
    snprintf(steps, sizeof steps, m.r.outer > 0 ? "%lld+%lld" : "%.0lld%lld", (long long)m.r.outer, (long long)m.r.iterations);
    if (w->method != BOUNDS_METHOD_CG && cg[w->preconditioner] > 0.0 && !w->key && w->method != BOUNDS_METHOD_SNESVI)
      snprintf(over, sizeof over, "%.1f", m.cpu / cg[w->preconditioner]);
    printf("%-34s %16s %9.3f %8s %8.1f  %s%s%s%s\n", w->name, steps, m.cpu, over, 100.0 * (double)m.r.n_bound / (double)p->a.n,
           known >= 0 && w->known[known] && *w->known[known] ? "[" : "", known >= 0 && w->known[known] ? w->known[known] : "",
           known >= 0 && w->known[known] && *w->known[known] ? "]" : "", m.r.status == BOUNDS_OK ? "" : bounds_status_text(m.r.status));
    fflush(stdout);
  }
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const row MULTIGRID_ROWS[] = {{"CG", BOUNDS_METHOD_CG, GRID, .trials = 1},
                                     {"MPRGP", BOUNDS_METHOD_MPRGP, GRID, .is_nested = true},
                                     {"active set", BOUNDS_METHOD_ACTIVE_SET, GRID, .is_nested = true}};
enum { N_MULTIGRID_ROWS = 3 };

/* Steps and seconds from 32^3 to 128^3, on one thread and on two. */
static PetscErrorCode sizes_and_threads(void)
{
  PetscFunctionBegin;
  printf("\nMultigrid, from coarser grids: steps, wall seconds on 1 and on 2 threads\n%-6s %9s", "", "unknowns");
  for (int k = 0; k < N_MULTIGRID_ROWS; ++k) printf("  %24s", MULTIGRID_ROWS[k].name);
  printf("\n");
  for (int which = 0; which < 2; ++which)
    for (int n = 32; n <= 128; n += n == 96 ? 32 : 32) {
      problem  p;
      measured m[2];
      double  *x = NULL;
      PetscCall(open_problem(which, n, 0.0, &p));
      PetscCall(memory_alloc("unknowns", p.a.n, sizeof *x, &x));
      printf("%-6s %9lld", p.name, (long long)p.a.n);
      for (int k = 0; k < N_MULTIGRID_ROWS; ++k) {
        for (int threads = 1; threads <= 2; ++threads) {
          team_set_threads(threads);
          memset(x, 0, (size_t)p.a.n * sizeof *x);
          PetscCall(measure(&p, &MULTIGRID_ROWS[k], 1e-6, 3, x, &m[threads - 1]));
        }
        printf("  %6lld %8.3f %8.3f", (long long)m[0].r.iterations, m[0].wall, m[1].wall);
      }
      printf("\n");
      fflush(stdout);
      team_set_threads(1);
      memory_free(&x);
      close_problem(&p);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The answer of one step as the start of the next: source and surface have moved by a part of their wave. A hundredth is a step of what
 * comes to rest; a twelfth one of what falls, where bounds move by many cells: the published comparison of MPRGP with its original. */
static PetscErrorCode warm(bool is_ball, int n, double shift, double tolerance)
{
  static const row rows[] = {{"CG, MIC(0)", BOUNDS_METHOD_CG, MIC, .trials = 1},
                             {"MPRGP original, MIC(0)", BOUNDS_METHOD_MPRGP_ORIGINAL, MIC, .trials = 1},
                             {"MPRGP modified, MIC(0)", BOUNDS_METHOD_MPRGP, MIC, .trials = 1},
                             {"active set, MIC(0)", BOUNDS_METHOD_ACTIVE_SET, MIC, .trials = 1},
                             {"CG, multigrid", BOUNDS_METHOD_CG, GRID, .trials = 1},
                             {"MPRGP original, multigrid", BOUNDS_METHOD_MPRGP_ORIGINAL, GRID, .trials = 1},
                             {"MPRGP modified, multigrid", BOUNDS_METHOD_MPRGP, GRID, .trials = 1},
                             {"  from coarser grids if far", BOUNDS_METHOD_MPRGP, GRID, .is_nested = true},
                             {"active set, multigrid", BOUNDS_METHOD_ACTIVE_SET, GRID, .trials = 1},
                             {"  from coarser grids if far", BOUNDS_METHOD_ACTIVE_SET, GRID, .is_nested = true}};
  problem          before, p;
  enum { ORIGINAL = 1, MODIFIED = 2, CG_GRID = 4, DEFAULT = 9, N_ROWS = 10 };
  _Static_assert(sizeof rows / sizeof *rows == N_ROWS, "the bars name rows by number");
  double  *answer[2] = {NULL, NULL}, *x = NULL, *start = NULL, cg = 0.0, cpu[N_ROWS] = {0}; /* answers without bounds, within them */
  int32_t *at = NULL;
  measured m;
  PetscFunctionBegin;
  PetscCall(open_problem(is_ball, n, 0.0, &before));
  PetscCall(open_problem(is_ball, n, shift, &p));
  PetscCall(memory_alloc("start", p.a.n, sizeof *start, &start));
  PetscCall(memory_alloc("answer by cell", (int64_t)n * n * n, sizeof *at, &at));
  for (int64_t i = 0; i < before.a.n; ++i)
    at[((int64_t)before.a.ijk[i][0] * n + before.a.ijk[i][1]) * n + before.a.ijk[i][2]] = (int32_t)i + 1;
  for (int k = 0; k < 2; ++k) { /* each from its own answer: conjugate gradients from one without bounds */
    const row first = {"", k ? BOUNDS_METHOD_ACTIVE_SET : BOUNDS_METHOD_CG, GRID, .is_nested = true};
    PetscCall(memory_alloc("unknowns", before.a.n, sizeof *x, &answer[k]));
    PetscCall(measure(&before, &first, 1e-6, 1, answer[k], &m));
  }
  printf("\n%s, warm, moved by %g, %g\n", p.name, shift, tolerance);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    if (!is_ball && shift > 0.1 && rows[k].method == BOUNDS_METHOD_MPRGP_ORIGINAL && rows[k].preconditioner == GRID) continue; /* minutes */
    x = answer[rows[k].method != BOUNDS_METHOD_CG];
    for (int64_t i = 0; i < p.a.n; ++i) {
      const int32_t from = at[((int64_t)p.a.ijk[i][0] * n + p.a.ijk[i][1]) * n + p.a.ijk[i][2]];
      start[i]           = from > 0 ? x[from - 1] : 0.0; /* cells that became active start from 0 */
    }
    PetscCall(measure(&p, &rows[k], tolerance, 3, start, &m));
    if (rows[k].method == BOUNDS_METHOD_CG) cg = m.cpu;
    cpu[k] = m.cpu;
    printf("%-34s %8lld+%-6lld %9.3f s %6.1f x CG %s\n", rows[k].name, (long long)m.r.outer, (long long)m.r.iterations, m.cpu, m.cpu / cg,
           m.r.status == BOUNDS_OK ? "" : bounds_status_text(m.r.status));
    fflush(stdout);
  }
  printf("bars: the default over CG, at most 2: %.1f%s; MPRGP original over modified, MIC(0), at least 2: %.1f%s\n",
         cpu[DEFAULT] / cpu[CG_GRID], cpu[DEFAULT] <= 2.0 * cpu[CG_GRID] ? "" : ", missed", cpu[ORIGINAL] / cpu[MODIFIED],
         cpu[ORIGINAL] >= 2.0 * cpu[MODIFIED] ? "" : ", missed");
  memory_free(&answer[0]), memory_free(&answer[1]), memory_free(&start), memory_free(&at);
  close_problem(&before);
  close_problem(&p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(int largest, const char *only)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4 && largest > 0; ++k) {
    static const struct {
      bool is_ball;
      int  n;
    } systems[4] = {{true, 64}, {true, 128}, {false, 64}, {false, 96}};
    problem p;
    if (!systems[k].is_ball && systems[k].n > largest) continue;
    PetscCall(open_problem(systems[k].is_ball, systems[k].n, 0.0, &p));
    PetscCall(cold(&p, k, only));
    close_problem(&p);
  }
  if (only) PetscFunctionReturn(PETSC_SUCCESS);
  if (largest >= 0) PetscCall(sizes_and_threads());
  PetscCall(warm(true, 128, 0.06, 1e-4));
  PetscCall(warm(true, 128, 0.5, 1e-4));
  PetscCall(warm(false, 64, 0.06, 1e-4));
  PetscCall(warm(false, 64, 0.5, 1e-5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int largest = argc > 1 ? atoi(argv[1]) : 96;
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  PetscErrorCode code = error_install();
  team_set_threads(1);
  if (!code) code = optim_register_all();
  if (!code) code = PetscOptionsSetValue(NULL, "-bench_tao_bnk_ksp_type", "cg");
  if (!code) code = PetscOptionsSetValue(NULL, "-bench_tao_bnk_pc_type", "icc");
  if (!code) code = run(largest, argc > 2 ? argv[2] : NULL);
  if (code) error_report(stderr, code, true);
  PetscFinalize();
  return code != 0;
}
