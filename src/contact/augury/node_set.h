/* A sparse set of grid nodes: only blocks of 4 x 4 x 4 nodes that contain a node exist, with one bit per node. Nodes are numbered in the
 * order of blocks and of bits within a block, so that the numbers depend on the set alone. Callers: the other files of this folder. */
#ifndef SS_CONTACT_AUGURY_NODE_SET_H
#define SS_CONTACT_AUGURY_NODE_SET_H
#include "core/error.h"

enum { NODE_SET_SIDE = 4 };

typedef struct {
  int64_t   low[3], side[3]; /* box of all possible blocks: indices of the first block, and number of blocks, along each axis */
  int64_t   n_blocks, n;     /* number of blocks, number of nodes */
  uint64_t *key;             /* [n_blocks] ascending */
  uint64_t *mask;            /* [n_blocks] bit of node (i, j, k) of the block: 16 i + 4 j + k */
  int32_t  *first;           /* [n_blocks + 1] number of the first node of each block */
  int32_t  *order;           /* work space */
  int64_t   capacity, orders_capacity;
} node_set;

static inline int64_t node_set_block_of(int64_t node) { return node >> 2; }
static inline int     node_set_bit(int64_t i, int64_t j, int64_t k) { return (int)((i & 3) << 4 | (j & 3) << 2 | (k & 3)); }
/* Key of the block with the indices i, j, k, in units of blocks. */
static inline uint64_t node_set_key(const node_set *s, int64_t i, int64_t j, int64_t k)
{
  return (uint64_t)(((i - s->low[0]) * s->side[1] + (j - s->low[1])) * s->side[2] + (k - s->low[2]));
}
/* Number of the node with bit `bit` of block `block`; the set must contain it. */
static inline int32_t node_set_number(const node_set *s, int64_t block, int bit)
{
  return s->first[block] + __builtin_popcountll(s->mask[block] & (((uint64_t)1 << bit) - 1));
}

/* Make the set empty, in the box of blocks from `low` to `high` [3], both included. *s is initialised with zeros before the first call. */
void node_set_reset(node_set *s, const int64_t low[3], const int64_t high[3]);
/* Create the blocks of n keys, which may be unordered and repeated; `key` is sorted in place. All masks are 0. */
PetscErrorCode node_set_blocks(node_set *s, int64_t n, uint64_t *key);
/* Number the nodes: set `first` and n from the masks. */
void node_set_count(node_set *s);
/* Index of the block with this key, or -1. */
int64_t node_set_find_block(const node_set *s, uint64_t key);
/* Number of a node, or -1 if the set does not contain it. */
int32_t node_set_find(const node_set *s, const int32_t node[3]);
void    node_set_clear(node_set *s);
#endif
