/* A bounding-volume hierarchy of moving axis-aligned boxes with eight children per node.
 *
 * The leaves are ordered by the Morton code (Z-curve) of the box centres. The tree is stored level by level in arrays without
 * pointers, so that refitting is a loop over arrays. Used by the broad phase, by intersection tests and by the contact detectors
 * for fibres, convex solids and augury. */
#ifndef SS_GEOMETRY_PRIMITIVE_BOX_TREE_H
#define SS_GEOMETRY_PRIMITIVE_BOX_TREE_H
#include "core/error.h"

enum { BOX_TREE_WIDTH = 8, BOX_TREE_LEVELS = 12, BOX_TREE_STACK = (BOX_TREE_WIDTH - 1) * BOX_TREE_LEVELS + 2 };

typedef struct {
  int64_t   n;                          /* number of boxes */
  int       n_levels;                   /* level 0: the boxes; the last level has at most BOX_TREE_WIDTH entries; n_levels = 0 if n = 0 */
  int64_t   start[BOX_TREE_LEVELS + 1]; /* first entry of each level, a multiple of BOX_TREE_WIDTH; gaps are filled with empty boxes */
  int64_t   size[BOX_TREE_LEVELS];      /* number of entries of each level */
  double   *min[3], *max[3];            /* [start[n_levels]] lower and upper corners of the boxes of all levels */
  int32_t  *order;                      /* [n] number of the box at each position of level 0 */
  double   *area;                       /* [start[n_levels]] work space */
  uint64_t *key, *key_scratch;          /* [n] work space */
  int32_t  *order_scratch;              /* [n] work space */
  double    tightest;                   /* smallest total surface area of all nodes since the last sort; INFINITY: not sorted yet */
  int64_t   n_rebuilds;                 /* number of sorts since creation */
} box_tree;

/* Allocate a tree of n boxes; free it with box_tree_clear. t must be zeroed; the first call of box_tree_fit sets the boxes. */
PetscErrorCode box_tree_create(int64_t n, box_tree *t);
void           box_tree_clear(box_tree *t);
/* Set all boxes and refit the nodes in parallel. box[0..2] [n] are the coordinates of the lower corners, box[3..5] [n] those of the upper
 * corners, all finite. The leaves are sorted again if the total surface area of the nodes has grown by half since the last sort. */
void box_tree_fit(box_tree *t, double *const box[6]);

/* Iterator over all boxes that overlap or touch a given box, which may be infinite. */
typedef struct {
  const box_tree *t;
  double          min[3], max[3];
  int             top;
  int32_t         level[BOX_TREE_STACK], group[BOX_TREE_STACK];
} box_walk;
void box_walk_begin(box_walk *w, const box_tree *t, const double min[3], const double max[3]);
/* Write the numbers of the next 1 to BOX_TREE_WIDTH overlapping boxes and return their count; 0 at the end. The order of the boxes
 * depends on the tree. Thread-safe. */
int box_walk_next(box_walk *w, int32_t box[BOX_TREE_WIDTH]);
#endif
