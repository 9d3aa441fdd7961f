#include "optim/linear/block3_ilu.h"
#include "optim/linear/block3_inverse.h"
#include "optim/linear/pc_block_diagonal.h"
#include "optim/linear/pc_metis_schwarz.h"
#include "core/math3.h"
#include "optim_lattice.h"
#include <float.h>
#include <string.h>

static void inverse_of_blocks(void **state)
{
  double a[9], inverse[9], product[9];
  (void)state;
  for (int k = 0; k < 200; ++k) {
    for (int e = 0; e < 9; ++e) a[e] = random_range(1, (uint64_t)(9 * k + e), 0, -1, 1) * pow(10.0, k - 100);
    assert_int_equal(block3_inverse(a, 1.0, inverse), 0);
    m3_mul(product, a, inverse);
    for (int e = 0; e < 9; ++e) assert_close(product[e], e % 4 == 0, 1e-11);
  }
  /* weak but regular: still exact (cond 1e9, so 1e9 eps) */
  const double weak[9] = {1, 0, 0, 0, 1e-9, 0, 0, 0, 2};
  assert_int_equal(block3_inverse(weak, 1.0, inverse), 0);
  assert_close(inverse[4] * 1e-9, 1.0, 1e-6);
  /* symmetric of rank one or two: exact in the range, 1/largest across, so for n n^T 4 it is identity/4; symmetric */
  for (int k = 0; k < 20; ++k) {
    double n[3], b[3];
    for (int e = 0; e < 3; ++e) n[e] = random_range(2, (uint64_t)k, (uint64_t)e, -1, 1);
    v3_scale(n, 1.0 / v3_norm(n), n);
    v3_cross(b, n, (const double[3]){0.36, 0.48, 0.8});
    for (int e = 0; e < 9; ++e) a[e] = 4.0 * n[e / 3] * n[e % 3];
    assert_int_equal(block3_inverse(a, 1.0, inverse), 1);
    for (int e = 0; e < 9; ++e) assert_close(inverse[e], e % 4 == 0 ? 0.25 : 0.0, 1e-14);
    const double sign = k % 2 ? 1.0 : -1.0; /* indefinite too */
    for (int e = 0; e < 9; ++e) a[e] += sign * b[e / 3] * b[e % 3];
    assert_int_equal(block3_inverse(a, 1.0, inverse), 1);
    m3_mul(product, a, inverse);
    double across[3], image[3]; /* the null space maps to itself by +1/largest */
    v3_cross(across, n, b);
    m3_mulv(image, inverse, across);
    assert_close(v3_dot(across, image), 0.25 * v3_dot(across, across), 1e-12);
    for (int e = 0; e < 9; ++e) {
      assert_close(inverse[e], inverse[3 * (e % 3) + e / 3], 1e-13 / v3_dot(b, b));
      assert_close(product[e], n[e / 3] * n[e % 3] + b[e / 3] * b[e % 3] / v3_dot(b, b), 1e-13 / v3_dot(b, b));
    }
  }
  const double zero[9] = {0}, bad[9] = {1, 0, 0, 0, NAN, 0, 0, 0, 1};
  assert_int_equal(block3_inverse(zero, 8.0, inverse), 1);
  for (int e = 0; e < 9; ++e) assert_close(inverse[e], e % 4 == 0 ? 0.125 : 0.0, 1e-15);
  assert_int_equal(block3_inverse(bad, 1.0, inverse), -1);
}

static void solver_for(Mat A, const char *type, KSP *ksp, PC *pc)
{
  assert_ok(KSPCreate(PETSC_COMM_SELF, ksp));
  assert_ok(KSPSetOperators(*ksp, A, A));
  assert_ok(KSPSetType(*ksp, KSPGMRES));
  assert_ok(KSPGMRESSetRestart(*ksp, 200));
  assert_ok(KSPSetPCSide(*ksp, PC_RIGHT));
  assert_ok(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  assert_ok(PetscOptionsSetValue(NULL, "-pc_type", type));
  assert_ok(KSPSetFromOptions(*ksp));
  assert_ok(PetscOptionsClearValue(NULL, "-pc_type"));
  assert_ok(KSPGetPC(*ksp, pc));
  PCType got;
  assert_ok(PCGetType(*pc, &got));
  assert_string_equal(got, type);
}

static double difference(Vec a, Vec b)
{
  double d;
  assert_ok(VecAXPY(a, -1.0, b));
  assert_ok(VecNorm(a, NORM_INFINITY, &d));
  return d;
}

/* The same bits on any team. */
static void same_bits_on_any_team(void **state)
{
  const char *types[] = {PCBLOCKDIAGONAL, PCMETISSCHWARZ};
  Mat         A;
  Vec         x, mx, first;
  KSP         ksp;
  PC          pc;
  (void)state;
  assert_ok(lattice_create(13, 14, 15, 0.5, 0.2, 0.1, &A));
  assert_ok(MatCreateVecs(A, &x, &mx));
  assert_ok(VecDuplicate(x, &first));
  assert_ok(lattice_random(x, 1));
  assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_parts", "9"));
  assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_overlap", "2"));
  for (int t = 0; t < 2; ++t)
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      team_set_threads(n_threads);
      solver_for(A, types[t], &ksp, &pc);
      assert_ok(PCSetUp(pc));
      assert_ok(PCApply(pc, x, mx));
      if (n_threads == 1) assert_ok(VecCopy(mx, first));
      else assert_true(difference(mx, first) == 0.0);
      assert_ok(KSPDestroy(&ksp));
    }
  team_set_threads(0);
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_parts"));
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_overlap"));
  assert_ok(MatDestroy(&A));
  Vec *all[] = {&x, &mx, &first};
  for (int k = 0; k < 3; ++k) assert_ok(VecDestroy(all[k]));
  assert_no_leak();
}

/* Where ILU(0) drops nothing it is LU: block-tridiagonal matrices. One part: M = A. Several parts with more overlap than they are
 * long: still A, restricted to what each owns. */
static void exact_without_fill(void **state)
{
  Mat A;
  Vec x, y, z;
  KSP ksp;
  PC  pc;
  (void)state;
  assert_ok(lattice_create(40, 1, 1, 0.5, 0.2, 0.1, &A));
  assert_ok(MatCreateVecs(A, &x, &y));
  assert_ok(VecDuplicate(x, &z));
  assert_ok(lattice_random(x, 1));
  for (int k = 0; k < 2; ++k) {
    assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_parts", k ? "4" : "1"));
    assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_overlap", k ? "40" : "0"));
    solver_for(A, PCMETISSCHWARZ, &ksp, &pc);
    assert_ok(PCSetUp(pc));
    assert_ok(MatMult(A, x, y));
    assert_ok(PCApply(pc, y, z));
    assert_close(difference(z, x), 0.0, 1e-13);
    assert_ok(KSPDestroy(&ksp));
  }
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_parts"));
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_overlap"));
  assert_ok(MatDestroy(&A));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&y));
  assert_ok(VecDestroy(&z));
  assert_no_leak();
}

static int iterations(Mat A, const char *type, double *error)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b, u;
  PetscInt           n;
  KSPConvergedReason reason;
  solver_for(A, type, &ksp, &pc);
  assert_ok(MatCreateVecs(A, &x, &b));
  assert_ok(VecDuplicate(x, &u));
  assert_ok(lattice_random(u, 5));
  assert_ok(MatMult(A, u, b));
  assert_ok(KSPSolve(ksp, b, x));
  assert_ok(KSPGetConvergedReason(ksp, &reason));
  assert_true(reason > 0);
  assert_ok(KSPGetIterationNumber(ksp, &n));
  *error = difference(x, u);
  assert_ok(KSPDestroy(&ksp));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&b));
  assert_ok(VecDestroy(&u));
  return (int)n;
}

/* On a soft lattice Schwarz must need clearly fewer iterations than the block diagonal, and fewer with overlap. */
static void schwarz_beats_block_diagonal(void **state)
{
  Mat    A;
  double error;
  (void)state;
  assert_ok(lattice_create(16, 16, 16, 0.01, 0.2, 0.02, &A));
  const int jacobi = iterations(A, PCBLOCKDIAGONAL, &error);
  assert_close(error, 0.0, 1e-5);
  assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_part_size", "1024")); /* 4096 blocks: 4 parts */
  const int disjoint = iterations(A, PCMETISSCHWARZ, &error);
  assert_close(error, 0.0, 1e-5);
  assert_ok(PetscOptionsSetValue(NULL, "-pc_metisschwarz_overlap", "1"));
  const int overlapping = iterations(A, PCMETISSCHWARZ, &error);
  assert_close(error, 0.0, 1e-5);
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_part_size"));
  assert_ok(PetscOptionsClearValue(NULL, "-pc_metisschwarz_overlap"));
  print_message("iterations: block diagonal %d, Schwarz %d, without overlap %d\n", jacobi, overlapping, disjoint);
  assert_true(2 * overlapping < jacobi);
  assert_true(overlapping <= disjoint && disjoint < jacobi);
  assert_ok(MatDestroy(&A));
  assert_no_leak();
}

/* PETSc's Krylov methods on threaded vectors, with both preconditioners. */
static void works_with_petsc_solvers(void **state)
{
  const char *methods[] = {KSPCG, KSPBCGS, KSPGMRES, KSPFGMRES, KSPMINRES, KSPTFQMR, KSPGCR};
  Mat         A;
  Vec         x, b, u;
  (void)state;
  assert_ok(lattice_create(7, 8, 9, 0.5, 0.2, 0.0, &A)); /* symmetric */
  assert_ok(MatCreateVecs(A, &x, &b));
  assert_ok(VecDuplicate(x, &u));
  assert_ok(lattice_random(u, 5));
  assert_ok(MatMult(A, u, b));
  for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k)
    for (int p = 0; p < 2; ++p) {
      KSP ksp;
      PC  pc;
      if (p && (k == 0 || k == 4)) continue; /* restricted Schwarz is not symmetric: not for CG and MINRES */
      assert_ok(KSPCreate(PETSC_COMM_SELF, &ksp));
      assert_ok(KSPSetType(ksp, methods[k]));
      assert_ok(KSPSetOperators(ksp, A, A));
      assert_ok(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
      assert_ok(KSPGetPC(ksp, &pc));
      assert_ok(PCSetType(pc, p ? PCMETISSCHWARZ : PCBLOCKDIAGONAL));
      assert_ok(KSPSolve(ksp, b, x));
      assert_close(difference(x, u), 0.0, 1e-7);
      assert_ok(KSPDestroy(&ksp));
    }
  assert_ok(MatDestroy(&A));
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&b));
  assert_ok(VecDestroy(&u));
  assert_no_leak();
}

static void touch(Mat A) /* "values have changed" */
{
  assert_ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  assert_ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

static void refuses_and_reports(void **state)
{
  const char        *types[] = {PCBLOCKDIAGONAL, PCMETISSCHWARZ};
  Mat                A, B;
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  double            *value;
  KSPConvergedReason reason;
  (void)state;
  assert_ok(lattice_create(4, 4, 4, 0.5, 0.2, 0.0, &A));
  assert_ok(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &B));
  solver_for(B, PCMETISSCHWARZ, &ksp, &pc);
  assert_int_not_equal(PCSetUp(pc), 0);
  assert_non_null(strstr(error_message(), "of type block3, not seqaij"));
  error_clear();
  assert_ok(KSPDestroy(&ksp));
  solver_for(B, PCBLOCKDIAGONAL, &ksp, &pc); /* reads the blocks by entries */
  assert_ok(PCSetUp(pc));
  assert_ok(KSPDestroy(&ksp));
  assert_ok(MatDestroy(&B));
  assert_ok(MatCreateVecs(A, &x, &b));
  assert_ok(VecSet(b, 1.0));
  assert_ok(mat_block3_values(A, &value));
  for (int t = 0; t < 2; ++t) { /* NaN in the values fails the solve, politely; and is forgotten when they are repaired */
    const double good = value[0];
    solver_for(A, types[t], &ksp, &pc);
    value[0] = NAN;
    touch(A);
    assert_ok(KSPSolve(ksp, b, x));
    assert_ok(KSPGetConvergedReason(ksp, &reason));
    assert_int_equal(reason, KSP_DIVERGED_PC_FAILED);
    value[0] = good;
    assert_ok(KSPSetOperators(ksp, A, A)); /* without it PETSc never asks a failed PC again */
    touch(A);
    assert_ok(KSPSolve(ksp, b, x));
    assert_ok(KSPGetConvergedReason(ksp, &reason));
    assert_int_equal(reason, KSP_CONVERGED_RTOL);
    assert_ok(KSPDestroy(&ksp));
  }
  assert_ok(VecDestroy(&x));
  assert_ok(VecDestroy(&b));
  assert_ok(MatDestroy(&A));
  assert_no_leak();
}

static void registers(void **state)
{
  (void)state;
  void (*create)(void) = NULL;
  assert_ok(PetscFunctionListFind(PCList, PCMETISSCHWARZ, &create));
  assert_true(create == NULL);
  assert_ok(optim_register_all());
  assert_ok(PetscFunctionListFind(PCList, PCMETISSCHWARZ, &create));
  assert_true(create != NULL);
}

TEST_MAIN(cmocka_unit_test(registers), cmocka_unit_test(inverse_of_blocks), cmocka_unit_test(same_bits_on_any_team),
          cmocka_unit_test(exact_without_fill), cmocka_unit_test(schwarz_beats_block_diagonal), cmocka_unit_test(works_with_petsc_solvers),
          cmocka_unit_test(refuses_and_reports))
