/* Inside of the multifrontal factor. Groups are runs of unknowns with the same neighbours and the same terms: symbolic work is
 * done on them. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_IMPL_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_IMPL_H
#include "optim/multifrontal/multifrontal.h"

/* Groups and which of them are neighbours, by the matrix or a term; symmetric, without the diagonal, ascending. */
typedef struct {
  int64_t  n;
  int64_t *first;     /* [n + 1] unknowns of a group: first[g] ... first[g + 1] - 1 */
  int64_t *start;     /* [n + 1] */
  int32_t *neighbour;
  bool    *is_late;   /* [n] a term touches it */
} front_graph;
PetscErrorCode front_graph_create(const sparse_rows *A, const front_terms *t, front_graph *out);
void           front_graph_destroy(front_graph *g);

/* Orders of elimination, [n] groups: nested dissection of all; or first of what no term touches, then of the rest. Groups with far
 * more neighbours than others come last. */
typedef enum { FRONT_ORDER_WHOLE, FRONT_ORDER_LATE_LAST } front_ordering;
PetscErrorCode front_order(const front_graph *g, front_ordering how, int32_t *order);

/* One dense front: columns that are eliminated in it, and rows below that they couple with. */
typedef struct {
  int64_t first, n_columns; /* places */
  int64_t row, n_rows;      /* row[row] ... of the tree */
  int32_t parent;           /* -1: root */
  bool    is_late;
} front;

struct front_tree {
  int64_t  n, n_fronts;
  int32_t *unknown, *place;     /* [n] by place; by unknown */
  front   *front;               /* children before parents */
  int32_t *row;                 /* places, ascending in a front, */
  int32_t *into;                /* and where each stands in the parent's front */
  int64_t *child_start;         /* [n_fronts + 1] */
  int32_t *child;
  int64_t *term_start;          /* [n_fronts + 1] terms by the front that they go into, ascending */
  int32_t *term;
  int32_t *local;               /* for each entry of a term: where its column stands in that front */
  double   work_once, work_again, entries, entries_late;
};
#endif
