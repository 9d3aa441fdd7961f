/* Test matrices: a cubic lattice of nodes joined by springs to their 26 neighbours, plus mass: the pattern and the spectrum
 * of trilinear elements. */
#ifndef SS_TESTS_OPTIM_LATTICE_H
#define SS_TESTS_OPTIM_LATTICE_H
#include "core/random.h"
#include "core/team.h"
#include "optim/linear/mat_block3.h"
#include "optim/optim.h"
#include "test.h"

/* nx ny nz nodes; spring blocks -(d d^T + shear I)/|offset|^2; `mass` on the diagonal; `skew` > 0 adds to every off-diagonal
 * block a random matrix of that size and makes A asymmetric. */
static inline PetscErrorCode lattice_create(int nx, int ny, int nz, double mass, double shear, double skew, Mat *A)
{
  const int64_t n = (int64_t)nx * ny * nz;
  int32_t      *row, *col;
  int64_t      *row_start, *slot, k = 0;
  int32_t      *block_col;
  double       *value;
  PetscFunctionBegin;
  PetscCall(memory_alloc("lattice", 27 * n, sizeof *row, &row));
  PetscCall(memory_alloc("lattice", 27 * n, sizeof *col, &col));
  PetscCall(memory_alloc("lattice", 27 * n, sizeof *slot, &slot));
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        for (int o = 0; o < 27; ++o) {
          const int x1 = x + o % 3 - 1, y1 = y + o / 3 % 3 - 1, z1 = z + o / 9 - 1;
          if (o == 13 || x1 < 0 || y1 < 0 || z1 < 0 || x1 >= nx || y1 >= ny || z1 >= nz) continue;
          row[k]   = (z * ny + y) * nx + x;
          col[k++] = (z1 * ny + y1) * nx + x1;
        }
  PetscCall(mat_block3_pattern(n, k, row, col, &row_start, &block_col, slot));
  PetscCall(mat_block3_create(PETSC_COMM_SELF, n, row_start, block_col, NULL, false, A));
  block3_view v;
  PetscCall(mat_block3_get(*A, &v));
  value = v.value;
  for (int64_t p = 0; p < k; ++p) {
    const int    d[3] = {col[p] % nx - row[p] % nx, col[p] / nx % ny - row[p] / nx % ny, col[p] / (nx * ny) - row[p] / (nx * ny)};
    const double q    = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    for (int e = 0; e < 9; ++e) {
      const double spring = (d[e / 3] * d[e % 3] / q + (e / 3 == e % 3 ? shear : 0.0)) / q;
      value[9 * slot[p] + e] -= spring - skew * random_range(1, (uint64_t)(9 * p + e), 0, -1.0, 1.0);
      value[9 * v.diagonal[row[p]] + e] += spring;
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int e = 0; e < 3; ++e) value[9 * v.diagonal[i] + 4 * e] += mass;
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  memory_free(&row), memory_free(&col), memory_free(&slot), memory_free(&row_start), memory_free(&block_col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform in [-1, 1), by entry and seed alone. */
static inline PetscErrorCode lattice_random(Vec v, uint64_t seed)
{
  PetscScalar *a;
  PetscInt     n;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n; ++i) a[i] = random_range(seed, (uint64_t)i, 7, -1.0, 1.0);
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
