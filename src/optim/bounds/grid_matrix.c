/* Implementation: assembly from face weights, and the threaded product. */
#include "optim/bounds/grid_matrix.h"
#include "core/memory.h"
#include <inttypes.h>
#include <string.h>

enum { PARALLEL_CELLS = 2048 }; /* smaller loops run serially */

PetscErrorCode grid_matrix_allocate(int64_t n, grid_matrix *out)
{
  PetscFunctionBegin;
  *out = (grid_matrix){.n = n};
  PetscCheck(n >= 0 && n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%" PRId64 " cells are more than 2^31 - 1", n);
  PetscErrorCode code =
      MEMORY_ALLOC("grid matrix", ARRAY(out->ijk, n), ARRAY(out->neighbor, n), ARRAY(out->diagonal, n), ARRAY(out->off, n));
  if (code) grid_matrix_destroy(out);
  PetscCall(code);
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 6; ++k) out->neighbor[i][k] = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void grid_matrix_destroy(grid_matrix *a)
{
  if (a->levels) (*a->destroy_levels)(&a->levels);
  MEMORY_FREE(&a->ijk, &a->neighbor, &a->diagonal, &a->off);
  *a = (grid_matrix){0};
}

/* Side (0 ... 5) of cell i on which cell j lies; -1 if they differ along several axes or none. A distance of more than one cell
 * crosses a periodic border, where the upper neighbour has the lower index. */
static int side_of_neighbor(const int32_t *i, const int32_t *j)
{
  int axis = -1;
  for (int a = 0; a < 3; ++a)
    if (i[a] != j[a]) {
      if (axis >= 0) return -1;
      axis = a;
    }
  if (axis < 0) return -1;
  const int32_t step = j[axis] - i[axis];
  if (step == 1 || step == -1) return 2 * axis + (step > 0);
  return 2 * axis + (step < 0);
}

static bool add_face(grid_matrix *a, int64_t i, int64_t j, double value)
{
  const int side = side_of_neighbor(a->ijk[i], a->ijk[j]);
  if (side < 0) return false;
  if (a->neighbor[i][side] >= 0 && a->neighbor[i][side] != j) return false;
  a->neighbor[i][side] = (int32_t)j;
  a->off[i][side] += value;
  return true;
}

PetscErrorCode grid_matrix_create(const sparse_rows *G, const sparse_rows *GT, const double *face_weight, const int32_t (*ijk)[3],
                                  grid_matrix *out)
{
  int64_t bad = -1;
  PetscFunctionBegin;
  *out = (grid_matrix){0};
  SS_ASSERT(G->n_rows == GT->n_cols && G->n_cols == GT->n_rows);
  PetscCall(grid_matrix_allocate(G->n_rows, out));
  if (out->n > 0) memcpy(out->ijk, ijk, (size_t)out->n * sizeof *ijk);
  for (int64_t f = 0; f < GT->n_rows && bad < 0; ++f) {
    const int64_t first = GT->start[f], count = GT->start[f + 1] - first;
    if (count > 2) bad = f;
    for (int64_t k = first; k < first + count && bad < 0; ++k) out->diagonal[GT->col[k]] += face_weight[f] * GT->value[k] * GT->value[k];
    if (count != 2 || bad >= 0) continue;
    const int64_t i = GT->col[first], j = GT->col[first + 1];
    const double  value = face_weight[f] * (GT->value[first] * GT->value[first + 1]);
    if (value != 0.0 && !(add_face(out, i, j, value) && add_face(out, j, i, value))) bad = f;
  }
  if (bad >= 0) grid_matrix_destroy(out);
  PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "face %" PRId64
             " connects cells that are not neighbours on the grid, or more than two cells; a seven-point matrix cannot represent it",
             bad);
  for (int64_t i = 0; i < out->n; ++i)
    if (!(out->diagonal[i] > 0.0)) out->diagonal[i] = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline double apply_row(const grid_matrix *a, int64_t i, const double *restrict x)
{
  double sum = a->diagonal[i] * x[i];
  for (int k = 0; k < 6; ++k) { /* the coefficient of a missing neighbour is 0, so any value may be read */
    const int64_t j = a->neighbor[i][k] < 0 ? i : a->neighbor[i][k];
    sum += a->off[i][k] * x[j];
  }
  return sum;
}

/* 80 bytes and 13 flops per cell. */
void grid_matrix_apply(void *context, const double *restrict x, double *restrict y)
{
  const grid_matrix *a = context;
  const int64_t      n = a->n;
  if (n < PARALLEL_CELLS) { /* a parallel region calls the operating system, even for one thread */
    for (int64_t i = 0; i < n; ++i) y[i] = apply_row(a, i, x);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i) y[i] = apply_row(a, i, x);
}
