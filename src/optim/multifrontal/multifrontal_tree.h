/* Symbolic analysis of the multifrontal factor (multifrontal.h): an elimination order, and the tree of dense fronts that follows from
 * it. A "place" is a position in the elimination order. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_TREE_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_TREE_H
#include "core/sparse_rows.h"

/* J_a [3 x n] by columns: entries start[a] ... start[a + 1] - 1, ascending in `column`. Borrowed. */
typedef struct {
  int64_t        n;
  const int64_t *start; /* [n + 1] */
  const int32_t *column;
  const double  *value; /* [][3] */
} multifrontal_terms;

/* One dense front: columns that are eliminated in it, and rows below that they couple with. */
typedef struct {
  int64_t first, n_columns; /* places */
  int64_t row, n_rows;      /* row[row] ... of the tree */
  int32_t parent;           /* -1: root */
  bool    is_late;
} frontal_matrix;

typedef struct {
  int64_t         n, n_fronts;
  int32_t        *unknown, *place; /* [n] by place; by unknown */
  frontal_matrix *front;           /* children before parents */
  int32_t        *row;             /* places, ascending in a front, */
  int32_t        *into;            /* and the index of each in the parent's front */
  int64_t        *child_start;     /* [n_fronts + 1] */
  int32_t        *child;
  int64_t        *term_start; /* [n_fronts + 1] terms by the front that they go into, ascending */
  int32_t        *term;
  int32_t        *local;                                        /* for each entry of a term: index of its column in that front */
  double          work_once, work_again, entries, entries_late; /* multiplications of A, of A + terms; entries of the factors of A and S */
} multifrontal_tree;

/* Analyse the patterns of A, symmetric with its diagonal, and of the terms, for one factorisation of A and about n_again of
 * A + terms. `t` may be NULL: nothing is late. */
PetscErrorCode multifrontal_tree_create(const sparse_rows *A, const multifrontal_terms *t, double n_again, multifrontal_tree **out);
void           multifrontal_tree_destroy(multifrontal_tree **t);
/* Number of multiplications of one factorisation of A (work_once). */
double multifrontal_tree_work(const multifrontal_tree *t);
/* is_late [n] */
void multifrontal_tree_late(const multifrontal_tree *t, bool *is_late);
#endif
