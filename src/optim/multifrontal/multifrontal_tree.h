/* Symbolic analysis of the multifrontal factor (multifrontal.h): an elimination order, and the tree of dense fronts that follows from
 * it. A "place" is a position in the elimination order. */
#ifndef SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_TREE_H
#define SS_OPTIM_MULTIFRONTAL_MULTIFRONTAL_TREE_H
#include "core/sparse_rows.h"

/* The matrices J_a of n terms by columns: columns of J_a are the entries start[a] ... start[a + 1] - 1. All arrays are borrowed. */
typedef struct {
  int64_t        n;      /* terms */
  const int64_t *start;  /* [n + 1] */
  const int32_t *column; /* [start[n]] unknown, ascending within a term */
  const double  *value;  /* [start[n]][3] the three coefficients of the unknown */
} multifrontal_terms;

/* One dense front: the columns that it eliminates, and the later rows that couple with these columns. */
typedef struct {
  int64_t first, n_columns; /* places first ... first + n_columns - 1 are eliminated */
  int64_t row, n_rows;      /* later rows: entries row ... row + n_rows - 1 of multifrontal_tree.row */
  int32_t parent;           /* front; -1: root */
  bool    is_late;          /* its unknowns are late (multifrontal.h) */
} frontal_matrix;

typedef struct {
  int64_t         n, n_fronts;
  int32_t        *unknown, *place; /* [n] unknown at each place; place of each unknown */
  frontal_matrix *front;           /* [n_fronts] children before parents */
  int32_t        *row;             /* places of the later rows of all fronts, ascending within a front */
  int32_t        *into;            /* index of each of these rows in the parent's front */
  int64_t        *child_start;     /* [n_fronts + 1] range of each front in `child` */
  int32_t        *child;
  int64_t        *term_start; /* [n_fronts + 1] range of each front in `term`: the terms that are added to it, ascending */
  int32_t        *term;
  int32_t        *local;                               /* for each entry of a term: index of its column in that front */
  double work_once, work_again, entries, entries_late; /* multiplications of A, of late fronts; entries of the factors of A and S */
} multifrontal_tree;

/* Analyse the patterns of the terms and of A (symmetric, with diagonal). The elimination order minimises the work of one factorisation
 * of A and about n_again factorisations of A + terms. t NULL: no terms, so no unknown is late. */
PetscErrorCode multifrontal_tree_create(const sparse_rows *A, const multifrontal_terms *t, double n_again, multifrontal_tree **out);
void           multifrontal_tree_destroy(multifrontal_tree **t);
/* Number of multiplications of one factorisation of A (work_once). */
double multifrontal_tree_work(const multifrontal_tree *t);
/* is_late [n]: true for late unknowns. */
void multifrontal_tree_late(const multifrontal_tree *t, bool *is_late);
#endif
