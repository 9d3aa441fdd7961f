/* Implementation: a spatial hash of the kept points. */
#include "geometry/primitive/vertex_merge.h"
#include "core/memory.h"

static uint64_t cell_hash(const int64_t *c)
{
  uint64_t h = (uint64_t)c[0] * 0x9e3779b97f4a7c15ULL ^ (uint64_t)c[1] * 0xc2b2ae3d27d4eb4fULL ^ (uint64_t)c[2] * 0x165667b19e3779f9ULL;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ULL;
  return h ^ h >> 32;
}

/* Spatial hash of the kept points. Cells are twice as large as the tolerance, and only cells that overlap the tolerance box are
 * searched. */
typedef struct {
  uint64_t      mask;
  int32_t      *head;  /* [mask + 1] last kept point of a slot, -1: none */
  int32_t      *next;  /* [kept points] */
  int32_t      *which; /* [kept points] its index in x */
  const double *x;
  double        tolerance;
} merge_hash;

static int32_t find_near(const merge_hash *h, const double *x)
{
  int64_t lo[3], hi[3], c[3];
  int32_t found = -1;
  for (int k = 0; k < 3; ++k) {
    lo[k] = (int64_t)floor((x[k] - h->tolerance) / (2.0 * h->tolerance));
    hi[k] = (int64_t)floor((x[k] + h->tolerance) / (2.0 * h->tolerance));
  }
  for (c[0] = lo[0]; c[0] <= hi[0]; ++c[0])
    for (c[1] = lo[1]; c[1] <= hi[1]; ++c[1])
      for (c[2] = lo[2]; c[2] <= hi[2]; ++c[2])
        for (int32_t j = h->head[cell_hash(c) & h->mask]; j >= 0; j = h->next[j]) {
          const double *y = &h->x[3 * (int64_t)h->which[j]];
          if (fabs(x[0] - y[0]) <= h->tolerance && fabs(x[1] - y[1]) <= h->tolerance && fabs(x[2] - y[2]) <= h->tolerance &&
              (found < 0 || j < found))
            found = j;
        }
  return found;
}

PetscErrorCode vertex_merge(int64_t n, const double *x, double tolerance, int32_t *kept, int64_t *n_kept)
{
  merge_hash h       = {.x = x, .tolerance = tolerance};
  int64_t    n_slots = 16, count = 0;
  PetscFunctionBegin;
  while (n_slots < n) n_slots *= 2;
  h.mask = (uint64_t)(n_slots - 1);
  PetscCall(MEMORY_ALLOC("mesh merging", ARRAY(h.head, n_slots), ARRAY(h.next, n), ARRAY(h.which, n)));
  for (int64_t i = 0; i < n_slots; ++i) h.head[i] = -1;
  for (int64_t i = 0; i < n; ++i) {
    int32_t found = find_near(&h, &x[3 * i]);
    if (found < 0) {
      int64_t own[3];
      for (int k = 0; k < 3; ++k) own[k] = (int64_t)floor(x[3 * i + k] / (2.0 * tolerance));
      const uint64_t slot = cell_hash(own) & h.mask;
      found               = (int32_t)count++;
      h.which[found]      = (int32_t)i;
      h.next[found]       = h.head[slot];
      h.head[slot]        = found;
    }
    kept[i] = found;
  }
  *n_kept = count;
  MEMORY_FREE(&h.head, &h.next, &h.which);
  PetscFunctionReturn(PETSC_SUCCESS);
}
