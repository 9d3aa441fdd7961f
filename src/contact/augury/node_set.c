/* Sparse set of grid nodes, see node_set.h: hash of blocks, bits within blocks, numbering by counting. */
#include "contact/augury/node_set.h"
#include "core/memory.h"
#include "core/sort.h"

void node_set_reset(node_set *s, const int64_t low[3], const int64_t high[3])
{
  for (int d = 0; d < 3; ++d) s->low[d] = low[d], s->side[d] = high[d] - low[d] + 1;
  s->n_blocks = s->n = 0;
}

PetscErrorCode node_set_blocks(node_set *s, int64_t n, uint64_t *key)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("order of blocks", n, sizeof *s->order, &s->orders_capacity, &s->order));
  PetscCall(sort_keys(n, 64, key, s->order));
  s->n_blocks = 0;
  for (int64_t i = 0; i < n; ++i)
    if (i == 0 || key[i] != key[i - 1]) key[s->n_blocks++] = key[i];
  PetscCall(MEMORY_RESERVE("blocks of nodes", s->n_blocks + 1, &s->capacity, ARRAY(s->key, 1), ARRAY(s->mask, 1), ARRAY(s->first, 1)));
  for (int64_t b = 0; b < s->n_blocks; ++b) s->key[b] = key[b], s->mask[b] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void node_set_count(node_set *s)
{
  int32_t n = 0;
  for (int64_t b = 0; b < s->n_blocks; ++b) {
    s->first[b] = n;
    n += __builtin_popcountll(s->mask[b]);
  }
  if (s->n_blocks > 0) s->first[s->n_blocks] = n;
  s->n = n;
}

int64_t node_set_find_block(const node_set *s, uint64_t key)
{
  int64_t lo = 0, hi = s->n_blocks;
  while (lo < hi) {
    const int64_t mid = (lo + hi) / 2;
    if (s->key[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo == s->n_blocks || s->key[lo] != key ? -1 : lo;
}

int32_t node_set_find(const node_set *s, const int32_t node[3])
{
  int64_t at[3];
  for (int d = 0; d < 3; ++d) {
    at[d] = node_set_block_of(node[d]);
    if (at[d] < s->low[d] || at[d] >= s->low[d] + s->side[d]) return -1;
  }
  const int64_t b   = node_set_find_block(s, node_set_key(s, at[0], at[1], at[2]));
  const int     bit = node_set_bit(node[0], node[1], node[2]);
  return b < 0 || !(s->mask[b] >> bit & 1) ? -1 : node_set_number(s, b, bit);
}

void node_set_clear(node_set *s)
{
  MEMORY_FREE(&s->key, &s->mask, &s->first, &s->order);
  *s = (node_set){0};
}
