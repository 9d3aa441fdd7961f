/* Speed of the numerics: threaded vectors and 3x3-block products against PETSc's own and against this machine's memory.
 *   bench_optim [lattice edge, default 32]
 * Each kernel is repeated with its rivals interleaved and the minimum is kept: the machine may be shared. GB/s count the bytes
 * that must move (no write-allocate). */
#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "core/timer.h"
#include "optim/linear/mat_block3.h"
#include "optim/optim.h"
#include "optim/linear/pc_metis_schwarz.h"
#include <math.h>
#include <stdlib.h>

enum { REPEATS = 15, N_VECTORS = 20, MAX_THREADS = 2 };

static PetscErrorCode fill(Vec v, uint64_t seed)
{
  PetscScalar *a;
  PetscInt     n;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n; ++i) a[i] = random_range(seed, (uint64_t)i, 0, -1.0, 1.0);
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m^3 nodes, 27-point pattern of springs and mass, as trilinear elements have. */
static PetscErrorCode lattice(int m, Mat *A)
{
  const int64_t n = (int64_t)m * m * m;
  int32_t      *row, *col, *block_col;
  int64_t      *start, k = 0;
  block3_view   v;
  PetscFunctionBegin;
  PetscCall(memory_alloc("bench", 27 * n, sizeof *row, &row));
  PetscCall(memory_alloc("bench", 27 * n, sizeof *col, &col));
  for (int32_t i = 0; i < n; ++i)
    for (int o = 0; o < 27; ++o) {
      const int x = i % m + o % 3 - 1, y = i / m % m + o / 3 % 3 - 1, z = i / (m * m) + o / 9 - 1;
      if (x < 0 || y < 0 || z < 0 || x >= m || y >= m || z >= m) continue;
      row[k]   = i;
      col[k++] = (z * m + y) * m + x;
    }
  PetscCall(mat_block3_pattern(n, k, row, col, &start, &block_col, NULL));
  PetscCall(mat_block3_create(PETSC_COMM_SELF, n, start, block_col, NULL, false, A));
  PetscCall(mat_block3_get(*A, &v));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t s = v.row_start[i]; s < v.row_start[i + 1]; ++s) {
      const int    j = v.col[s], d[3] = {j % m - (int)(i % m), j / m % m - (int)(i / m % m), j / (m * m) - (int)(i / (m * m))};
      const double q = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      for (int e = 0; e < 9 && q > 0.0; ++e) {
        const double spring = (d[e / 3] * d[e % 3] / q + (e % 4 == 0 ? 0.2 : 0.0)) / q;
        v.value[9 * s + e] -= spring;
        v.value[9 * v.diagonal[i] + e] += spring;
      }
      for (int e = 0; e < 3 && q == 0.0; ++e) v.value[9 * s + 4 * e] += 0.01;
    }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  memory_free(&row);
  memory_free(&col);
  memory_free(&start);
  memory_free(&block_col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat         A;
  Vec         x, y, *many;
  PetscScalar coefficient[N_VECTORS];
  PC          pc;
} work;

static PetscErrorCode run_mult(work *w) { return MatMult(w->A, w->x, w->y); }
static PetscErrorCode run_dot(work *w) { return VecDot(w->x, w->y, w->coefficient); }
static PetscErrorCode run_mdot(work *w) { return VecMDot(w->x, N_VECTORS, w->many, w->coefficient); }
static PetscErrorCode run_axpy(work *w) { return VecAXPY(w->y, 1e-9, w->x); }
static PetscErrorCode run_maxpy(work *w)
{
  for (int k = 0; k < N_VECTORS; ++k) w->coefficient[k] = 1e-9;
  return VecMAXPY(w->y, N_VECTORS, w->coefficient, w->many);
}
static PetscErrorCode run_apply(work *w) { return PCApply(w->pc, w->x, w->y); }
static PetscErrorCode run_set_up(work *w)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(w->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(w->A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCSetUp(w->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* best[0]: PETSc, 1 thread (NULL: none); best[t]: ours on t threads. */
static PetscErrorCode race(const char *name, PetscErrorCode (*run)(work *), work *petsc, work *ours, double bytes)
{
  double best[MAX_THREADS + 1] = {INFINITY, INFINITY, INFINITY};
  PetscFunctionBegin;
  for (int r = 0; r < REPEATS; ++r)
    for (int t = petsc ? 0 : 1; t <= MAX_THREADS; ++t) {
      team_set_threads(t ? t : 1);
      const double begin = timer_now();
      PetscCall((*run)(t ? ours : petsc));
      best[t] = fmin(best[t], timer_now() - begin);
    }
  printf("%-28s", name);
  for (int t = 0; t <= MAX_THREADS; ++t) {
    if (isinf(best[t])) printf("%22s", "-");
    else printf("%10.3f ms %5.1f GB/s", 1e3 * best[t], 1e-9 * bytes / best[t]);
  }
  printf("%8.2f\n", best[1] / best[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make(Mat A, work *w)
{
  PetscFunctionBegin;
  w->A = A;
  PetscCall(MatCreateVecs(A, &w->x, &w->y));
  PetscCall(VecDuplicateVecs(w->x, N_VECTORS, &w->many));
  PetscCall(fill(w->x, 1));
  PetscCall(fill(w->y, 2));
  for (int k = 0; k < N_VECTORS; ++k) PetscCall(fill(w->many[k], (uint64_t)(3 + k)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode unmake(work *w)
{
  PetscFunctionBegin;
  PetscCall(VecDestroyVecs(N_VECTORS, &w->many));
  PetscCall(VecDestroy(&w->x));
  PetscCall(VecDestroy(&w->y));
  PetscCall(MatDestroy(&w->A));
  PetscCall(PCDestroy(&w->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(work *w, const char *pc_type, int n_threads)
{
  KSP      ksp;
  PC       pc;
  PetscInt n;
  PetscFunctionBegin;
  team_set_threads(n_threads);
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, w->A, w->A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pc_type));
  PetscCall(KSPSetUp(ksp));
  const double begin = timer_now();
  PetscCall(KSPSolve(ksp, w->x, w->y));
  const double seconds = timer_now() - begin;
  PetscCall(KSPGetIterationNumber(ksp, &n));
  printf("GMRES(30), %-14s %d threads: %4d iterations, %.3f s\n", pc_type, n_threads, (int)n, seconds);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix in PETSc's format. MatConvert would insert row by row without preallocation, which takes minutes. */
static PetscErrorCode make_baij(const block3_view *v, Mat *B)
{
  PetscInt *n_blocks;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(v->n, &n_blocks));
  for (int64_t i = 0; i < v->n; ++i) n_blocks[i] = (PetscInt)(v->row_start[i + 1] - v->row_start[i]);
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, 3, (PetscInt)(3 * v->n), (PetscInt)(3 * v->n), 0, n_blocks, B));
  for (PetscInt i = 0; i < (PetscInt)v->n; ++i)
    for (int64_t s = v->row_start[i]; s < v->row_start[i + 1]; ++s) {
      const PetscInt column = v->col[s];
      PetscCall(MatSetValuesBlocked(*B, 1, &i, 1, &column, &v->value[9 * s], INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(n_blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bench(int m)
{
  work        petsc = {0}, ours = {0};
  Mat         A, B;
  block3_view v;
  PetscFunctionBegin;
  PetscCall(optim_register_all());
  PetscCall(lattice(m, &A));
  PetscCall(mat_block3_get(A, &v));
  PetscCall(make_baij(&v, &B));
  PetscCall(make(A, &ours));
  PetscCall(make(B, &petsc));
  const double n = 3.0 * (double)v.n, nnz = (double)v.row_start[v.n], matrix = 76.0 * nnz + 16.0 * n;
  printf("%.0f unknowns, %.0f blocks; PETSc: BAIJ and seq\n%-28s%22s%22s%22s%8s\n", n, nnz, "", "PETSc, 1 thread", "1 thread", "2 threads",
         "ratio");
  PetscCall(race("MatMult", run_mult, &petsc, &ours, matrix));
  PetscCall(race("VecDot", run_dot, &petsc, &ours, 16.0 * n));
  PetscCall(race("VecAXPY", run_axpy, &petsc, &ours, 24.0 * n));
  PetscCall(race("VecMDot, 20 vectors", run_mdot, &petsc, &ours, 8.0 * n * (N_VECTORS + 1)));
  PetscCall(race("VecMAXPY, 20 vectors", run_maxpy, &petsc, &ours, 8.0 * n * (N_VECTORS + 2)));
  PetscCall(PCCreate(PETSC_COMM_SELF, &ours.pc));
  PetscCall(PCSetType(ours.pc, PCMETISSCHWARZ));
  PetscCall(PCSetOperators(ours.pc, A, A));
  const double begin = timer_now();
  PetscCall(PCSetUp(ours.pc));
  printf("metisschwarz: first set-up with partition %.3f s\n", timer_now() - begin);
  PetscCall(race("metisschwarz, new values", run_set_up, NULL, &ours, 152.0 * nnz));
  PetscCall(race("metisschwarz, apply", run_apply, NULL, &ours, 76.0 * nnz));
  for (int t = 1; t <= MAX_THREADS; ++t) PetscCall(solve(&ours, "blockdiagonal", t));
  for (int t = 1; t <= MAX_THREADS; ++t) PetscCall(solve(&ours, "metisschwarz", t));
  PetscCall(solve(&petsc, PCPBJACOBI, 1));
  PetscCall(solve(&petsc, PCILU, 1));
  PetscCall(unmake(&ours));
  PetscCall(unmake(&petsc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  if (PetscInitialize(&argc, &argv, NULL, NULL) || error_install()) return 1;
  const PetscErrorCode e = bench(argc > 1 && atoi(argv[1]) > 1 ? atoi(argv[1]) : 32);
  if (e) return error_report(stderr, e, true);
  return PetscFinalize() ? 1 : 0;
}
