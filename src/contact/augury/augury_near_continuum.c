#include "contact/augury/augury_near_impl.h"
#include "core/memory.h"

#define MOST_CELLS 1048576.0

/* A box [m] as one of nodes. */
static void nodes_of(const augury_near *a, const double min[3], const double max[3], int64_t low[3], int64_t high[3])
{
  for (int k = 0; k < 3; ++k) {
    low[k]  = (int64_t)ceil(fmax(-MOST_CELLS, fmin(MOST_CELLS, min[k] / a->dx)));
    high[k] = (int64_t)floor(fmax(-MOST_CELLS, fmin(MOST_CELLS, max[k] / a->dx)));
  }
}

static bool is_within(const int32_t node[3], const int64_t low[3], const int64_t high[3])
{
  return node[0] >= low[0] && node[0] <= high[0] && node[1] >= low[1] && node[1] <= high[1] && node[2] >= low[2] && node[2] <= high[2];
}

static uint64_t key_of(const node_set *s, const int32_t node[3])
{
  return node_set_key(s, node_set_block_of(node[0]), node_set_block_of(node[1]), node_set_block_of(node[2]));
}

PetscErrorCode augury_near_gather(augury_near *a)
{
  const augury_continuum *c = &a->continuum;
  double                  min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  int64_t                 low[3], high[3], first[3], last[3], n = 0;
  PetscFunctionBegin;
  a->nodes.n = a->nodes.n_blocks = 0;
  if (c->n == 0 || a->b.n_elements == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t e = 0; e < a->b.n_elements; ++e)
    for (int k = 0; k < 3; ++k) min[k] = fmin(min[k], a->box[k][e]), max[k] = fmax(max[k], a->box[3 + k][e]);
  nodes_of(a, min, max, low, high);
  for (int k = 0; k < 3; ++k) first[k] = node_set_block_of(low[k]), last[k] = node_set_block_of(high[k]);
  node_set_reset(&a->nodes, first, last);
  PetscCall(memory_reserve("nodes of a continuum", c->n, sizeof *a->keys, &a->keys_capacity, &a->keys));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high)) a->keys[n++] = key_of(&a->nodes, c->node[i]);
  PetscCall(node_set_blocks(&a->nodes, n, a->keys));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high))
      a->nodes.mask[node_set_find_block(&a->nodes, key_of(&a->nodes, c->node[i]))] |= (uint64_t)1
                                                                                     << node_set_bit(c->node[i][0], c->node[i][1], c->node[i][2]);
  node_set_count(&a->nodes);
  PetscCall(memory_reserve("nodes of a continuum", a->nodes.n, sizeof *a->which, &a->which_capacity, &a->which));
  for (int64_t i = 0; i < c->n; ++i)
    if (is_within(c->node[i], low, high)) a->which[node_set_find(&a->nodes, c->node[i])] = (int32_t)i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void node_walk_begin(node_walk *w, const augury_near *a, const double min[3], const double max[3])
{
  *w = (node_walk){.a = a};
  nodes_of(a, min, max, w->low, w->high);
  for (int k = 0; k < 3; ++k) { /* no farther than the set goes */
    const int64_t first = NODE_SET_SIDE * a->nodes.low[k], last = first + NODE_SET_SIDE * a->nodes.side[k] - 1;
    if (w->low[k] < first) w->low[k] = first;
    if (w->high[k] > last) w->high[k] = last;
    w->block[k] = node_set_block_of(w->low[k]);
  }
  --w->block[2];
}

static bool next_block(node_walk *w)
{
  for (int k = 2; k >= 0; --k) {
    if (++w->block[k] <= node_set_block_of(w->high[k])) return true;
    w->block[k] = node_set_block_of(w->low[k]);
  }
  return false;
}

int64_t node_walk_next(node_walk *w)
{
  const node_set *s = &w->a->nodes;
  if (s->n == 0 || w->low[0] > w->high[0] || w->low[1] > w->high[1] || w->low[2] > w->high[2]) return -1;
  for (;;) {
    while (w->left == 0) {
      if (!next_block(w)) return -1;
      w->at   = node_set_find_block(s, node_set_key(s, w->block[0], w->block[1], w->block[2]));
      w->left = w->at < 0 ? 0 : s->mask[w->at];
    }
    const int bit = __builtin_ctzll(w->left);
    w->left &= w->left - 1;
    const int32_t i = w->a->which[node_set_number(s, w->at, bit)];
    if (is_within(w->a->continuum.node[i], w->low, w->high)) return i;
  }
}
