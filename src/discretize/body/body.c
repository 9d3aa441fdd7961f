/* Implementation of body.h: block matrix patterns from index pairs, and the error norm of nodes against a vector field. */
#include "discretize/body/body.h"
#include "core/memory.h"
#include "discretize/body/vector_field.h"
#include <stdlib.h>
#include <string.h>

static int compare_pairs(const void *a, const void *b)
{
  const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
  return (p > q) - (p < q);
}

PetscErrorCode block_matrix_create(int64_t n, int64_t n_pairs, uint64_t *pair, int64_t **row_start, int32_t **col, int32_t **transposed,
                                   double **value)
{
  int64_t m = 0;
  PetscFunctionBegin;
  qsort(pair, (size_t)n_pairs, sizeof *pair, compare_pairs);
  for (int64_t i = 0; i < n_pairs; ++i)
    if (m == 0 || pair[i] != pair[m - 1]) pair[m++] = pair[i];
  PetscCheck(m <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld matrix blocks; at most 2^31 - 1 are supported", (long long)m);
  PetscCall(MEMORY_ALLOC("body", ARRAY(*row_start, n + 1), ARRAY(*col, m), ARRAY(*transposed, m), ARRAY(*value, 9 * m)));
  for (int64_t i = 0; i < m; ++i) {
    (*col)[i] = (int32_t)(pair[i] & UINT32_MAX);
    ++(*row_start)[(pair[i] >> 32) + 1];
  }
  for (int64_t i = 0; i < n; ++i) (*row_start)[i + 1] += (*row_start)[i];
  /* The pattern is symmetric, so a pass over the rows in order visits the entries of each column in order. */
  int64_t *next;
  PetscCall(memory_alloc("matrix transposition", n, sizeof *next, &next));
  memcpy(next, *row_start, (size_t)n * sizeof *next);
  for (int64_t i = 0; i < m; ++i) (*transposed)[i] = (int32_t)next[(*col)[i]]++;
  memory_free(&next);
  PetscFunctionReturn(PETSC_SUCCESS);
}

double body_nodes_error(const body *b, const vector_field *f, double t, bool is_velocity)
{
  body_nodes n;
  double     mass = 0.0, sum = 0.0;
  b->ops->nodes(b, &n);
  for (int64_t i = 0; i < n.n; ++i) {
    double e[3], expected[3];
    vector_field_at(f, n.rest + 3 * i, n.x + 3 * i, t, expected);
    if (is_velocity) v3_copy(e, n.v + 3 * i);
    else v3_sub(e, n.x + 3 * i, n.rest + 3 * i);
    v3_axpy(e, -1.0, expected);
    sum += n.mass[i] * v3_dot(e, e);
    mass += n.mass[i];
  }
  return sqrt(sum / mass);
}
