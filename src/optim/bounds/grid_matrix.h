/* Symmetric seven-point matrices on an arbitrary set of cells of a regular grid, e.g. of pressures. The preconditioners of
 * bounds_sweeps.h and bounds_levels.h are built from them. */
#ifndef SS_OPTIM_BOUNDS_GRID_MATRIX_H
#define SS_OPTIM_BOUNDS_GRID_MATRIX_H
#include "core/sparse_rows.h"

struct grid_levels;
/* a_ii = diagonal[i], a_ij = off[i][k] for j = neighbor[i][k]. a_ij and a_ji are both stored, with the same bits. On a periodic axis of two
 * cells both neighbours are the same cell, and the coefficients add. */
typedef struct grid_matrix {
  int64_t n;
  int32_t (*ijk)[3];      /* [n] grid indices of each cell */
  int32_t (*neighbor)[6]; /* [n] -x +x -y +y -z +z; -1: none. Lower neighbours have lower numbers, except across a periodic border */
  double             *diagonal, (*off)[6]; /* [n], > 0; [n] coefficient to that neighbour, <= 0, 0 where there is none */
  struct grid_levels *levels;              /* coarse levels, created by the first multigrid preconditioner of this matrix */
  void (*destroy_levels)(struct grid_levels **levels);
} grid_matrix;

/* Create A = G diag(face_weight) G^T. G has one row per cell and at most two entries per face; GT is its transpose. face_weight [n_faces] >= 0; ijk
 * [n_cells]. Cells that share a face must be neighbours along one axis, or lie at the two ends of a periodic axis. A cell without coefficients gets
 * the diagonal 1. Errors: out of memory; PETSC_ERR_USER_INPUT with the face that violates one of these conditions. *out is then empty. */
PetscErrorCode grid_matrix_create(const sparse_rows *G, const sparse_rows *GT, const double *face_weight, const int32_t (*ijk)[3],
                                  grid_matrix *out);
/* Allocate n cells with zero coefficients and without neighbours, to be filled by the caller. */
PetscErrorCode grid_matrix_allocate(int64_t n, grid_matrix *out);
/* Free all arrays; accepts an empty matrix. */
void grid_matrix_destroy(grid_matrix *a);
/* y = A x, both [n] and not the same array. `context` is a grid_matrix, so that the function can be used as bounds_qp.apply. Threaded over
 * cells; the same bits on any number of threads. */
void grid_matrix_apply(void *context, const double *restrict x, double *restrict y);
#endif
