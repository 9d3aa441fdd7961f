/* A tree of boxes that move: eight children a node, over the boxes in the order of their middles along a Z-curve. It is stored
 * level by level without pointers, so that refitting is a loop over arrays.                                              */
#ifndef SS_GEOMETRY_PRIMITIVE_BOX_TREE_H
#define SS_GEOMETRY_PRIMITIVE_BOX_TREE_H
#include "core/error.h"

enum { BOX_TREE_WIDTH = 8, BOX_TREE_LEVELS = 12, BOX_TREE_STACK = (BOX_TREE_WIDTH - 1) * BOX_TREE_LEVELS + 2 };

typedef struct {
  int64_t   n;                          /* boxes */
  int       n_levels;                   /* 0: the boxes themselves; the last: at most BOX_TREE_WIDTH entries; 0 if n = 0 */
  int64_t   start[BOX_TREE_LEVELS + 1]; /* of each level, a multiple of BOX_TREE_WIDTH; what is beyond its end is empty boxes */
  int64_t   size[BOX_TREE_LEVELS];
  double   *min[3], *max[3];   /* [start[n_levels]] */
  int32_t  *order;             /* [n] box at each place of level 0 */
  double   *area;              /* [start[n_levels]] work space */
  uint64_t *key, *key_scratch; /* [n] work space */
  int32_t  *order_scratch;     /* [n] work space */
  double    tightest;          /* sum of the surfaces of all nodes since sorting, at its smallest; INFINITY: unsorted */
  int64_t   n_rebuilds;
} box_tree;

/* Zeroed t in; boxes come with the first fit. */
PetscErrorCode box_tree_create(int64_t n, box_tree *t);
void           box_tree_clear(box_tree *t);
/* Boxes box[0..2] [n] from, box[3..5] [n] to, finite. Refits the nodes in parallel, and sorts anew before that when they have
 * grown by half since they were sorted. */
void box_tree_fit(box_tree *t, double *const box[6]);

/* A walk over all boxes that overlap or touch a given one. */
typedef struct {
  const box_tree *t;
  double          min[3], max[3];
  int             top;
  int32_t         level[BOX_TREE_STACK], group[BOX_TREE_STACK];
} box_walk;
void box_walk_begin(box_walk *w, const box_tree *t, const double min[3], const double max[3]);
/* Some more of them, 1 to BOX_TREE_WIDTH, in an order that depends on the tree; 0 at the end. Thread-safe. */
int box_walk_next(box_walk *w, int32_t box[BOX_TREE_WIDTH]);
#endif
