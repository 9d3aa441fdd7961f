/* A sparse set of nodes of a grid: blocks of 4 x 4 x 4 that exist only where nodes are, with a bit for each node. Numbers of nodes
 * follow the order of blocks, and of bits within them, so that they depend on the set alone. */
#ifndef SS_CONTACT_AUGURY_NODE_SET_H
#define SS_CONTACT_AUGURY_NODE_SET_H
#include "core/error.h"

enum { NODE_SET_SIDE = 4 };

typedef struct {
  int64_t   low[3], side[3]; /* box of blocks: the first one, and how many */
  int64_t   n_blocks, n;     /* nodes */
  uint64_t *key;             /* [n_blocks] ascending */
  uint64_t *mask;            /* [n_blocks] bit of node (i, j, k) of the block: 16 i + 4 j + k */
  int32_t  *first;           /* [n_blocks + 1] number of a block's first node */
  int32_t  *order;           /* work space */
  int64_t   capacity, orders_capacity;
} node_set;

static inline int64_t node_set_block_of(int64_t node) { return node >> 2; }
static inline int     node_set_bit(int64_t i, int64_t j, int64_t k) { return (int)((i & 3) << 4 | (j & 3) << 2 | (k & 3)); }
/* Of a block, by its place in units of blocks. */
static inline uint64_t node_set_key(const node_set *s, int64_t i, int64_t j, int64_t k)
{
  return (uint64_t)(((i - s->low[0]) * s->side[1] + (j - s->low[1])) * s->side[2] + (k - s->low[2]));
}
/* Number of a node that is in the set. */
static inline int32_t node_set_number(const node_set *s, int64_t block, int bit)
{
  return s->first[block] + __builtin_popcountll(s->mask[block] & (((uint64_t)1 << bit) - 1));
}

/* Zeroed s in: a box of blocks from `low` to `high` [3], both within. */
void node_set_reset(node_set *s, const int64_t low[3], const int64_t high[3]);
/* Its blocks: n keys in any order, any number of times; `key` is sorted in place. No nodes yet. */
PetscErrorCode node_set_blocks(node_set *s, int64_t n, uint64_t *key);
/* Once masks are there: numbers. */
void node_set_count(node_set *s);
/* A block by its key, or -1. */
int64_t node_set_find_block(const node_set *s, uint64_t key);
/* The number of a node, or -1. */
int32_t node_set_find(const node_set *s, const int32_t node[3]);
void    node_set_clear(node_set *s);
#endif
