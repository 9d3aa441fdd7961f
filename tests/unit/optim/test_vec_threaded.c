#include "optim/linear/vec_threaded.h"
#include "optim_lattice.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 50021, M = 37 }; /* several chunks and a remainder; more vectors than one batch */

typedef struct {
  Vec x, y, z, many[M];
} vectors;

static void make(const char *type, PetscInt n, vectors *v)
{
  assert_ok(VecCreate(PETSC_COMM_SELF, &v->x));
  assert_ok(VecSetSizes(v->x, n, n));
  assert_ok(VecSetType(v->x, type));
  assert_ok(VecDuplicate(v->x, &v->y));
  assert_ok(VecDuplicate(v->x, &v->z));
  assert_ok(lattice_random(v->x, 1));
  assert_ok(lattice_random(v->y, 2));
  assert_ok(lattice_random(v->z, 3));
  for (int k = 0; k < M; ++k) {
    assert_ok(VecDuplicate(v->x, &v->many[k]));
    assert_ok(lattice_random(v->many[k], (uint64_t)(10 + k)));
  }
}

static void unmake(vectors *v)
{
  assert_ok(VecDestroy(&v->x));
  assert_ok(VecDestroy(&v->y));
  assert_ok(VecDestroy(&v->z));
  for (int k = 0; k < M; ++k) assert_ok(VecDestroy(&v->many[k]));
}

enum { N_SCALARS = 20 + M };

/* Every operation once; sums go to out, vectors end up in v. */
static void operate(vectors *v, double *out)
{
  PetscScalar coefficient[M];
  int         k = 0;
  memset(out, 0, N_SCALARS * sizeof *out);
  for (int j = 0; j < M; ++j) coefficient[j] = random_range(5, (uint64_t)j, 0, -1, 1);
  assert_ok(VecAXPY(v->y, 0.3, v->x));
  assert_ok(VecAYPX(v->y, -0.7, v->x));
  assert_ok(VecAXPBY(v->y, 0.3, 1.7, v->x));
  assert_ok(VecWAXPY(v->many[0], 0.9, v->x, v->y));
  assert_ok(VecAXPBYPCZ(v->z, 0.3, -0.4, 0.5, v->x, v->y));
  assert_ok(VecMAXPY(v->z, M, coefficient, v->many));
  assert_ok(VecPointwiseMult(v->many[1], v->x, v->y));
  assert_ok(VecScale(v->many[1], 0.0)); /* zeros, for the divisions */
  assert_ok(VecPointwiseDivide(v->many[2], v->x, v->many[1]));
  assert_ok(VecPointwiseDivide(v->many[3], v->x, v->y));
  assert_ok(VecReciprocal(v->many[3]));
  assert_ok(VecReciprocal(v->many[1]));
  assert_ok(VecPointwiseMult(v->x, v->x, v->y));
  assert_ok(VecSwap(v->x, v->y));
  assert_ok(VecSet(v->many[4], 0.125));
  assert_ok(VecCopy(v->x, v->many[5]));
  assert_ok(VecShift(v->many[5], 0.5));
  assert_ok(VecDot(v->x, v->y, &out[k++]));
  assert_ok(VecTDot(v->x, v->y, &out[k++]));
  assert_ok(VecNorm(v->z, NORM_1, &out[k++]));
  assert_ok(VecNorm(v->z, NORM_2, &out[k++]));
  assert_ok(VecNorm(v->z, NORM_INFINITY, &out[k++]));
  assert_ok(VecNorm(v->x, NORM_1_AND_2, &out[k]));
  k += 2;
  assert_ok(VecSum(v->z, &out[k++]));
  assert_ok(VecDotNorm2(v->x, v->y, &out[k], &out[k + 1]));
  k += 2;
  assert_ok(VecMax(v->z, NULL, &out[k++]));
  assert_ok(VecMin(v->z, NULL, &out[k++]));
  assert_ok(VecMTDot(v->x, 3, v->many, &out[k]));
  k += 3;
  assert_ok(VecMDot(v->z, M, v->many, &out[k]));
  assert_true(k + M <= N_SCALARS);
}

/* Against PETSc's own vector: entries to a few roundings of their terms, sums to n eps of theirs (n terms of size < 10). */
static void same_as_seq(void **state)
{
  (void)state;
  for (PetscInt n = 0; n <= N; n = n ? n * 40 + 1 : 7) {
    vectors a, b;
    double  sum_a[N_SCALARS], sum_b[N_SCALARS];
    n = n > N ? N : n;
    make(VECSEQ, n, &a);
    make(VECTHREADED, n, &b);
    operate(&a, sum_a);
    operate(&b, sum_b);
    for (int k = 0; k < N_SCALARS; ++k)
      if (fabs(sum_a[k]) < 1e300) assert_close(sum_b[k], sum_a[k], 100.0 * DBL_EPSILON * (n + 10.0) * (1.0 + fabs(sum_a[k]) / (n + 1.0)));
    const PetscScalar *x, *y;
    for (int k = -3; k < M; ++k) {
      Vec u = k == -3 ? a.x : k == -2 ? a.y : k == -1 ? a.z : a.many[k];
      Vec w = k == -3 ? b.x : k == -2 ? b.y : k == -1 ? b.z : b.many[k];
      assert_ok(VecGetArrayRead(u, &x));
      assert_ok(VecGetArrayRead(w, &y));
      for (PetscInt i = 0; i < n; ++i)
        if (!(fabs(x[i] - y[i]) <= 100 * DBL_EPSILON * (1.0 + fabs(x[i])))) fail_msg("vector %d entry %d: %g, %g", k, (int)i, x[i], y[i]);
      assert_ok(VecRestoreArrayRead(w, &y));
      assert_ok(VecRestoreArrayRead(u, &x));
    }
    unmake(&a);
    unmake(&b);
    if (n == N) break;
  }
  assert_no_leak();
}

static void same_bits_on_any_team(void **state)
{
  const int n_threads[] = {1, 2, 3, 7};
  double    sum[4][N_SCALARS], *entries[4];
  (void)state;
  for (int t = 0; t < 4; ++t) {
    vectors            v;
    const PetscScalar *x;
    team_set_threads(n_threads[t]);
    make(VECTHREADED, N, &v);
    operate(&v, sum[t]);
    entries[t] = malloc(sizeof(double) * N * 2);
    assert_ok(VecGetArrayRead(v.z, &x));
    memcpy(entries[t], x, N * sizeof *x);
    assert_ok(VecRestoreArrayRead(v.z, &x));
    assert_ok(VecGetArrayRead(v.many[3], &x));
    memcpy(entries[t] + N, x, N * sizeof *x);
    assert_ok(VecRestoreArrayRead(v.many[3], &x));
    unmake(&v);
    assert_memory_equal(sum[t], sum[0], sizeof sum[0]);
    assert_memory_equal(entries[t], entries[0], 2 * N * sizeof(double));
  }
  for (int t = 0; t < 4; ++t) free(entries[t]);
  team_set_threads(0);
  assert_no_leak();
}

/* The ways PETSc handles vectors behind one's back. */
static void behaves_as_a_vec(void **state)
{
  Vec                v, w, *several, parsed;
  VecType            type;
  double             own[6] = {1, 2, 3, 4, 5, 6};
  const PetscScalar *x;
  PetscReal          norm;
  PetscViewer        viewer;
  char               text[400] = "";
  (void)state;
  assert_ok(vec_threaded_create(PETSC_COMM_SELF, 6, &v));
  assert_ok(VecSetBlockSize(v, 3));
  assert_ok(VecNorm(v, NORM_2, &norm));
  assert_close(norm, 0.0, 0.0);
  assert_ok(VecDuplicateVecs(v, 3, &several));
  assert_ok(VecGetType(several[2], &type));
  assert_string_equal(type, VECTHREADED);
  PetscInt bs;
  assert_ok(VecGetBlockSize(several[1], &bs));
  assert_int_equal(bs, 3);
  assert_ok(VecSet(v, 2.0));
  assert_ok(VecPlaceArray(v, own));
  assert_ok(VecNorm(v, NORM_1, &norm));
  assert_close(norm, 21.0, 0.0);
  assert_ok(VecScale(v, 2.0));
  assert_ok(VecResetArray(v));
  assert_close(own[5], 12.0, 0.0);
  assert_ok(VecNorm(v, NORM_1, &norm));
  assert_close(norm, 12.0, 0.0);
  assert_ok(VecSetValue(v, 4, 3.5, INSERT_VALUES));
  assert_ok(VecAssemblyBegin(v));
  assert_ok(VecAssemblyEnd(v));
  assert_ok(VecNorm(v, NORM_INFINITY, &norm));
  assert_close(norm, 3.5, 0.0);
  assert_ok(PetscViewerStringOpen(PETSC_COMM_SELF, text, sizeof text, &viewer));
  assert_ok(VecView(v, viewer));
  assert_ok(PetscViewerDestroy(&viewer));
  assert_ok(VecDuplicate(v, &w));
  assert_ok(VecCopy(v, w));
  assert_ok(VecGetArrayRead(w, &x));
  assert_close(x[4], 3.5, 0.0);
  assert_ok(VecRestoreArrayRead(w, &x));
  assert_ok(PetscOptionsSetValue(NULL, "-vec_type", "threaded"));
  assert_ok(VecCreate(PETSC_COMM_SELF, &parsed));
  assert_ok(VecSetSizes(parsed, 3, 3));
  assert_ok(VecSetFromOptions(parsed));
  assert_ok(VecGetType(parsed, &type));
  assert_string_equal(type, VECTHREADED);
  assert_ok(PetscOptionsClearValue(NULL, "-vec_type"));
  assert_ok(VecSet(w, NAN)); /* y = a x + 0 y and sums: NaN neither leaks in nor is lost */
  assert_ok(VecAXPBY(w, 1.0, 0.0, v));
  assert_ok(VecNorm(w, NORM_INFINITY, &norm));
  assert_close(norm, 3.5, 0.0);
  assert_ok(VecSetValue(w, 1, NAN, INSERT_VALUES));
  assert_ok(VecAssemblyBegin(w));
  assert_ok(VecAssemblyEnd(w));
  assert_ok(VecNorm(w, NORM_INFINITY, &norm));
  assert_true(isnan(norm));
  assert_ok(VecDestroyVecs(3, &several));
  assert_ok(VecDestroy(&v));
  assert_ok(VecDestroy(&w));
  assert_ok(VecDestroy(&parsed));
  assert_no_leak();
}

static int setup(void **state)
{
  (void)state;
  return optim_register_all() || optim_register_all();
}
static void registers(void **state) { assert_int_equal(setup(state), 0); }

/* ---- several processes ---- */

#define IS_CHILD "STICKSLIP_TEST_PROCESSES" /* set by two_processes for the processes that it starts; they run this test only */
__attribute__((constructor)) static void choose_test(void)
{
  if (getenv(IS_CHILD)) cmocka_set_test_filter("two_processes");
}

static double entry(PetscInt i, uint64_t k) { return random_range(60 + k, (uint64_t)i, 0, -1.0, 1.0); }

/* Vectors with different numbers of entries on two processes: products and norms are those of all entries. */
static void check_two_processes(int rank)
{
  const PetscInt local = rank == 0 ? 30000 : N - 30000, first = rank == 0 ? 0 : 30000;
  Vec            x, y[2];
  PetscScalar    dot[2], *a;
  double         exact[2] = {0.0}, one = 0.0, square = 0.0, most = 0.0, norm[2];
  assert_ok(vec_threaded_create(PETSC_COMM_WORLD, local, &x));
  for (int k = 0; k < 2; ++k) assert_ok(VecDuplicate(x, &y[k]));
  for (int k = 0; k < 3; ++k) {
    assert_ok(VecGetArray(k < 2 ? y[k] : x, &a));
    for (PetscInt i = 0; i < local; ++i) a[i] = entry(first + i, (uint64_t)k);
    assert_ok(VecRestoreArray(k < 2 ? y[k] : x, &a));
  }
  for (PetscInt i = 0; i < N; ++i) {
    const double here = entry(i, 2);
    for (int k = 0; k < 2; ++k) exact[k] += here * entry(i, (uint64_t)k);
    one += fabs(here), square += here * here, most = fmax(most, fabs(here));
  }
  assert_ok(VecMDot(x, 2, y, dot));
  for (int k = 0; k < 2; ++k) {
    assert_close(dot[k], exact[k], 1e-10);
    assert_ok(VecDot(x, y[k], &dot[k]));
    assert_close(dot[k], exact[k], 1e-10);
  }
  static const NormType types[4] = {NORM_1, NORM_2, NORM_FROBENIUS, NORM_INFINITY};
  for (int t = 0; t < 4; ++t) {
    const double expected = types[t] == NORM_1 ? one : types[t] == NORM_INFINITY ? most : sqrt(square);
    assert_ok(VecGetArray(x, &a)); /* to forget the norms that are known */
    assert_ok(VecRestoreArray(x, &a));
    assert_ok(VecNorm(x, types[t], norm));
    assert_close(norm[0], expected, 1e-12 * expected);
  }
  assert_ok(VecGetArray(x, &a));
  assert_ok(VecRestoreArray(x, &a));
  assert_ok(VecNorm(x, NORM_1_AND_2, norm));
  assert_close(norm[0], one, 1e-12 * one);
  assert_close(norm[1], sqrt(square), 1e-12 * sqrt(square));
  assert_ok(VecDestroy(&x));
  for (int k = 0; k < 2; ++k) assert_ok(VecDestroy(&y[k]));
}

static void two_processes(void **state)
{
  PetscMPIInt size, rank;
  (void)state;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  assert_int_equal(size, getenv(IS_CHILD) ? 2 : 1);
  if (size == 2) {
    assert_int_equal(setup(state), 0);
    check_two_processes(rank);
    return;
  }
  char          self[500], command[1200]; /* a new environment: MPI has set variables in this one */
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(n > 0);
  self[n] = '\0';
  (void)snprintf(command, sizeof command,
                 "env -i PATH=\"$PATH\" HOME=/tmp TMPDIR=\"${TMPDIR:-/tmp}\" LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" "
                 "ASAN_OPTIONS=\"$ASAN_OPTIONS\" OMP_NUM_THREADS=1 "
                 "OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1 " IS_CHILD
                 "=1 mpirun --allow-run-as-root -n 2 '%s' >/dev/null 2>&1",
                 self);
  assert_int_equal(system(command), 0);
}

TEST_MAIN(cmocka_unit_test(registers), cmocka_unit_test(two_processes), cmocka_unit_test(same_as_seq),
          cmocka_unit_test(same_bits_on_any_team), cmocka_unit_test(behaves_as_a_vec))
