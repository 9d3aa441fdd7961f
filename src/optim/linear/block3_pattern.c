#include "optim/linear/block3_pattern.h"
#include "core/memory.h"
#include "core/sort.h"
#include "optim/linear/mat_block3.h"

enum {
  CHUNK_BLOCKS = 2048,  /* 150 kB of values: long enough to amortise a loop, short enough to balance */
  TILE_BLOCKS  = 16384, /* 1.2 MB: a column is met several times in a tile; its private sums stay in the second-level cache */
};

/* Cut [0, n) where the running number of entries passes multiples of `blocks`. */
static PetscErrorCode cut_chunks(int64_t n, const int64_t *start, int64_t blocks, int64_t *n_chunks, int64_t **chunk)
{
  int64_t count = 0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("block3 chunks", start[n] / blocks + 2, sizeof **chunk, chunk));
  for (int64_t i = 0, next = 0; i < n; ++i)
    if (start[i] >= next) {
      (*chunk)[count++] = i;
      next              = start[i] + blocks;
    }
  (*chunk)[count] = n;
  *n_chunks       = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(int64_t n, const int64_t *row_start, const int32_t *col)
{
  PetscFunctionBegin;
  PetscCheck(n >= 0 && n < INT32_MAX / 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "block3: %lld block rows do not fit 32-bit scalar indices", (long long)n);
  PetscCheck(row_start[0] == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "block3: row_start[0] is not 0");
  for (int64_t i = 0; i < n; ++i) {
    PetscCheck(row_start[i] <= row_start[i + 1], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "block3: row_start falls at block row %lld", (long long)i);
    for (int64_t s = row_start[i]; s < row_start[i + 1]; ++s) {
      PetscCheck(col[s] >= 0 && col[s] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "block3: block row %lld has column %d outside [0, %lld)", (long long)i, (int)col[s], (long long)n);
      PetscCheck(s == row_start[i] || col[s - 1] < col[s], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "block3: columns of block row %lld are not sorted, or repeat %d", (long long)i, (int)col[s]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode block3_pattern_create(int64_t n, const int64_t *row_start, const int32_t *col, block3_pattern **out)
{
  block3_pattern *p;
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(check(n, row_start, col));
  PetscCall(memory_alloc("block3 pattern", 1, sizeof *p, &p));
  *out            = p;
  p->n_references = 1;
  p->n            = n;
  p->nnz          = row_start[n];
  PetscCall(memory_alloc("block3 rows", n + 1, sizeof *p->row_start, &p->row_start));
  PetscCall(memory_alloc("block3 columns", p->nnz, sizeof *p->col, &p->col));
  PetscCall(memory_alloc("block3 diagonal", n, sizeof *p->diagonal, &p->diagonal));
  for (int64_t i = 0; i <= n; ++i) p->row_start[i] = row_start[i];
  for (int64_t s = 0; s < p->nnz; ++s) p->col[s] = col[s];
  for (int64_t i = 0; i < n; ++i) p->diagonal[i] = block3_pattern_find(p, i, (int32_t)i);
  PetscCall(cut_chunks(n, p->row_start, CHUNK_BLOCKS, &p->n_chunks, &p->chunk_row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void block3_pattern_destroy(block3_pattern **p)
{
  if (!*p) return;
  if (--(*p)->n_references == 0) {
    memory_free(&(*p)->row_start);
    memory_free(&(*p)->col);
    memory_free(&(*p)->diagonal);
    memory_free(&(*p)->chunk_row);
    memory_free(&(*p)->tile_row);
    memory_free(&(*p)->tile_start);
    memory_free(&(*p)->tile_col);
    memory_free(&(*p)->entry_start);
    memory_free(&(*p)->entry);
    memory_free(&(*p)->private_sums);
    memory_free(p);
  }
  *p = NULL;
}

/* Number the columns of each tile in the order they are met; list them in column[] (grows). */
static PetscErrorCode number_tiles(block3_pattern *p, int32_t **column)
{
  int32_t *number; /* 1 + private number in the current tile, 0: not met */
  int64_t  n_entries = 0, capacity = p->nnz / 2 + p->n + 1;
  PetscFunctionBegin;
  PetscCall(memory_alloc("block3 tile numbers", p->n, sizeof *number, &number));
  PetscCall(memory_alloc("block3 tile columns", capacity, sizeof **column, column));
  for (int64_t t = 0; t < p->n_tiles; ++t) {
    const int64_t first = n_entries, from = p->row_start[p->tile_row[t]], to = p->row_start[p->tile_row[t + 1]];
    if (n_entries + to - from > capacity) {
      capacity = 2 * (n_entries + to - from);
      PetscCall(memory_resize("block3 tile columns", capacity, sizeof **column, column));
    }
    for (int64_t s = from; s < to; ++s) {
      const int32_t j = p->col[s];
      if (!number[j]) {
        (*column)[n_entries++] = j;
        number[j]              = (int32_t)(n_entries - first);
      }
      p->tile_col[s] = number[j] - 1;
    }
    for (int64_t e = first; e < n_entries; ++e) number[(*column)[e]] = 0;
    p->tile_start[t + 1] = n_entries;
  }
  memory_free(&number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode block3_pattern_need_tiles(block3_pattern *p)
{
  int32_t *column;
  PetscFunctionBegin;
  if (p->entry_start) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(cut_chunks(p->n, p->row_start, TILE_BLOCKS, &p->n_tiles, &p->tile_row));
  PetscCall(memory_alloc("block3 tile starts", p->n_tiles + 1, sizeof *p->tile_start, &p->tile_start));
  PetscCall(memory_alloc("block3 tile columns", p->nnz, sizeof *p->tile_col, &p->tile_col));
  PetscCall(number_tiles(p, &column));
  const int64_t n_entries = p->tile_start[p->n_tiles];
  PetscCall(memory_alloc("block3 private sums", 3 * n_entries, sizeof *p->private_sums, &p->private_sums));
  PetscCall(memory_alloc("block3 tile entries", n_entries, sizeof *p->entry, &p->entry));
  PetscCall(memory_alloc("block3 entry starts", p->n + 2, sizeof *p->entry_start, &p->entry_start));
  /* counting sort: start[j+1] runs from the begin of column j to its end while the entries are placed, tile by tile */
  for (int64_t e = 0; e < n_entries; ++e) ++p->entry_start[column[e] + 2];
  for (int64_t j = 0; j < p->n; ++j) p->entry_start[j + 2] += p->entry_start[j + 1];
  for (int64_t e = 0; e < n_entries; ++e) p->entry[p->entry_start[column[e] + 1]++] = e;
  memory_free(&column);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int64_t block3_pattern_find(const block3_pattern *p, int64_t i, int32_t j)
{
  int64_t lo = p->row_start[i], hi = p->row_start[i + 1];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (p->col[mid] < j) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->row_start[i + 1] && p->col[lo] == j ? lo : -1;
}

static int bits_of(uint64_t x)
{
  int n = 0;
  for (; x; x >>= 1) ++n;
  return n;
}

PetscErrorCode mat_block3_pattern(int64_t n, int64_t n_pairs, const int32_t *row, const int32_t *col, int64_t **row_start,
                                  int32_t **col_out, int64_t *slot)
{
  const int64_t n_key = n_pairs + n; /* the diagonal comes first, so it takes part like any pair */
  const int     shift = bits_of((uint64_t)n);
  uint64_t     *key;
  int32_t      *perm;
  int64_t       n_distinct = 0;
  PetscFunctionBegin;
  *row_start = NULL;
  *col_out   = NULL;
  PetscCheck(n >= 0 && n_key < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "block3 pattern: %lld pairs are more than can be sorted", (long long)n_pairs);
  for (int64_t k = 0; k < n_pairs; ++k)
    PetscCheck(row[k] >= 0 && row[k] < n && col[k] >= 0 && col[k] < n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "block3 pattern: pair %lld = (%d, %d) outside [0, %lld)", (long long)k, (int)row[k], (int)col[k], (long long)n);
  PetscCall(memory_alloc("block3 sort keys", n_key, sizeof *key, &key));
  PetscCall(memory_alloc("block3 sort order", n_key, sizeof *perm, &perm));
  for (int64_t i = 0; i < n; ++i) key[i] = (uint64_t)i << shift | (uint64_t)i;
  for (int64_t k = 0; k < n_pairs; ++k) key[n + k] = (uint64_t)row[k] << shift | (uint64_t)col[k];
  PetscCall(sort_keys(n_key, 2 * shift, key, perm));
  for (int64_t k = 0; k < n_key; ++k) n_distinct += k == 0 || key[k] != key[k - 1];
  PetscCall(memory_alloc("block3 row starts", n + 1, sizeof **row_start, row_start));
  PetscCall(memory_alloc("block3 columns", n_distinct, sizeof **col_out, col_out));
  for (int64_t k = 0, s = -1; k < n_key; ++k) {
    if (k == 0 || key[k] != key[k - 1]) {
      (*col_out)[++s] = (int32_t)(key[k] & (((uint64_t)1 << shift) - 1));
      ++(*row_start)[(key[k] >> shift) + 1];
    }
    if (slot && perm[k] >= n) slot[perm[k] - n] = s;
  }
  for (int64_t i = 0; i < n; ++i) (*row_start)[i + 1] += (*row_start)[i];
  memory_free(&key);
  memory_free(&perm);
  PetscFunctionReturn(PETSC_SUCCESS);
}
