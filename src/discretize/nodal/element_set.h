/* Sets of elements (tetrahedra, springs, hinges, loaded faces) of one body, and parallel assembly of their forces and tangents. Used by
 * nodal_body.c.
 *
 * A kind of element (element_ops) computes the forces of a batch of elements; this module adds them to the arrays of the body. Consecutive
 * elements of the caller's list, which are mostly neighbours, form groups, so that the entries to which they add remain in the cache.
 * Groups are coloured: two groups of one colour have no common node. All threads add the groups of one colour without atomics. The order
 * of every sum is that of the colours, independent of the number of threads. Arrays of a batch are row[component][element]. */
#ifndef SS_DISCRETIZE_NODAL_ELEMENT_SET_H
#define SS_DISCRETIZE_NODAL_ELEMENT_SET_H
#include "core/error.h"

enum { ELEMENT_BATCH = 32, ELEMENT_MAX_NODES = 4 };
typedef double element_row[ELEMENT_BATCH];

/* Functions of one kind of element. evaluate and energy process n <= ELEMENT_BATCH elements from `first` on, in the order of the set (see
 * element_set.original). */
typedef struct {
  const char *name;    /* e.g. "tetrahedra" */
  int         n_nodes; /* nodes of one element */
  /* Called before the first evaluation of a step: compute data that are constant during the step. x, v: positions and velocities of all
   * nodes at its start. NULL: no such data. */
  void (*begin_step)(void *context, int64_t n_elements, const int32_t *node, const double *x, const double *v);
  /* Forces f [3 n_nodes] [N] at positions x [3 n_nodes] and velocities v [3 n_nodes]; rows S [9 n_nodes^2], unless NULL: block (a,
   * b) is S[9 (n_nodes a + b) + 3 i + j] = -(dt^2 df_ai/dx_bj + dt df_ai/dv_bj). Returns the smallest index in the batch for which the
   * forces are not defined, or n. */
  int64_t (*evaluate)(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v, element_row *f,
                      element_row *S);
  /* Energy stored in each element [J]; NULL: none. */
  void (*energy)(const void *context, int64_t first, int64_t n, const element_row *x, double *energy);
  void (*destroy)(void **context);
  /* Select S of all following evaluations: symmetric and positive semi-definite (is_wanted), or exact (initial setting); see
   * body_ops.set_definite. NULL: S is always symmetric and positive semi-definite. */
  void (*set_definite)(void *context, bool is_wanted);
  /* body_ops.relinearise at node positions x. */
  bool (*relinearise)(void *context, int64_t n_elements, const int32_t *node, const double *x);
} element_ops;

typedef struct {
  const element_ops *ops;
  void              *context;  /* owned */
  int64_t            n;        /* elements */
  int32_t           *node;     /* [n][n_nodes] */
  int32_t           *original; /* [n] number in the caller's list */
  int                n_colors;
  int64_t           *color_start; /* [n_colors + 1] first group of each colour */
  int64_t           *group_start; /* [color_start[n_colors] + 1] first element of each group */
  double            *energy;      /* [groups] scratch */
  int32_t           *slot;        /* [n][n_nodes^2] index of each block in the matrix; see element_set_locate */
} element_set;

/* Create a set of n elements node [n][n_nodes] of a body with n_all nodes: group and colour them. The caller then sorts its own data in the
 * order of set->original and assigns them to set->context, which the set owns. */
PetscErrorCode element_set_create(const element_ops *ops, int64_t n, const int32_t *node, int64_t n_all, element_set *set);
void           element_set_destroy(element_set *set);
/* Fill set->slot for a matrix with these rows [n_all + 1] and ascending columns, which must contain every block. */
PetscErrorCode element_set_locate(element_set *set, const int64_t *row_start, const int32_t *col);
/* g [n_all][3] [N s] -= dt f, and value [blocks][9] += S unless NULL, at x, v [n_all][3]. Returns -1, or the smallest number (in the
 * caller's list) of an element whose forces are not defined; g and value are then undefined. */
int64_t element_set_add(const element_set *set, double dt, const double *x, const double *v, double *g, double *value);
/* For translation-invariant elements: compute the force on node 0 and all blocks of node 0 from those of the other nodes, so that
 * forces, rows and columns sum to zero. S may be NULL. */
void   element_balance(int n_nodes, int64_t n, element_row *f, element_row *S);
double element_set_energy(const element_set *set, const double *x); /* energy stored at positions x [n_all][3] [J] */
#endif
