/* Mirrors on the MPM grid: walls for validation against closed forms.
 *
 * The region behind a plane is the mirror image of the region in front of it. A node behind it moves as its image does, with the
 * normal component reversed (slip) or all of them (stick); nodes on the plane keep these components zero. So linear fields are exact
 * up to the plane, and the error stays second order. With R the map from free nodes to all nodes, forces become R^T f,
 * masses m_i + m_image, and H = R^T H R, symmetric if H was. Mirrored and constrained rows are decoupled: g = m v, H = m I.
 * A plane must pass through nodes or halfway between them; nodes behind any other plane are constrained instead, to first order.
 * Two periodic planes on one axis, whole cells apart, are identified: material that leaves through one enters through the other, and
 * nodes beyond move as their copies inside, without change of sign. Caller: mpm_domain.c. */
#ifndef SS_DISCRETIZE_MPM_MPM_WALL_H
#define SS_DISCRETIZE_MPM_MPM_WALL_H
#include "discretize/mpm/mpm_grid.h"

typedef enum { MPM_WALL_STICK, MPM_WALL_SLIP, MPM_WALL_PERIODIC } mpm_wall_kind;

typedef struct {
  int           axis, side; /* side -1: the wall fills coordinates below, 1: above */
  double        coordinate; /* m */
  mpm_wall_kind kind;
} mpm_wall;

typedef struct {
  int32_t dof, image;
  double  sign[3];
} mpm_ghost;

typedef struct {
  int        n_walls;
  mpm_wall  *wall;
  uint8_t   *held; /* [n_dofs] bit d: row d reads m v = 0 (on a plane, or mirrored) */
  int64_t    n_ghosts, held_capacity, ghosts_capacity;
  mpm_ghost *ghost; /* by dof */
} mpm_walls;

void mpm_walls_free(mpm_walls *w);
/* Find the constrained and mirrored dofs of this step. */
PetscErrorCode mpm_walls_find(mpm_walls *w, const mpm_grid *g);
/* full [n_dofs][3] = R x */
void mpm_walls_expand(const mpm_walls *w, const mpm_grid *g, const double *x, double *full);
/* f [n_dofs][3] = R^T f, zero where constrained. */
void mpm_walls_fold(const mpm_walls *w, const mpm_grid *g, double *f);
/* Masses and velocities of the grid as seen by free nodes; mirrored nodes get the velocity of their image. */
void mpm_walls_fold_grid(const mpm_walls *w, mpm_grid *g);
/* Put particles that left through a periodic plane back in on the other side. */
void mpm_walls_wrap(const mpm_walls *w, particles *p);
/* Is component k of dof i constrained or mirrored? */
static inline bool mpm_walls_held(const mpm_walls *w, int64_t i, int k) { return w->n_walls > 0 && (w->held[i] >> k & 1); }
#endif
