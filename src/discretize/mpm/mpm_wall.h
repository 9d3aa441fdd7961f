/* Mirrors on the MPM grid: walls for validation against closed forms. Caller: mpm_domain.c.
 *
 * The region behind a plane is the mirror image of the region in front of it. A node behind the plane has the velocity of its image, with
 * the normal component (slip) or all components (stick) reversed. On the plane these components are zero. Therefore linear fields are
 * exact up to the plane, and the error remains of second order. Let R be the linear map from the velocities of free nodes to those of
 * all nodes. Forces become R^T f, masses m_i + m_image, and H becomes R^T H R, which is symmetric if H is. Mirrored and constrained
 * components are decoupled: g = m v, H = m I. A plane must pass through nodes or halfway between them; behind any other plane nodes are
 * constrained, with an error of first order. Two periodic planes on one axis, an integer number of cells apart, are identified: material
 * that leaves through one enters through the other, and nodes outside have the velocities of their copies inside, without change of sign. */
#ifndef SS_DISCRETIZE_MPM_MPM_WALL_H
#define SS_DISCRETIZE_MPM_MPM_WALL_H
#include "discretize/mpm/mpm_grid.h"

typedef enum { MPM_WALL_STICK, MPM_WALL_SLIP, MPM_WALL_PERIODIC } mpm_wall_kind;

typedef struct {
  int           axis, side; /* side -1: the wall fills coordinates below, 1: above */
  double        coordinate; /* m */
  mpm_wall_kind kind;
} mpm_wall;

/* A node behind a wall, and its image: velocity component k of dof is sign[k] times that of image. */
typedef struct {
  int32_t dof, image;
  double  sign[3];
} mpm_ghost;

typedef struct {
  int        n_walls;
  mpm_wall  *wall; /* [n_walls] */
  uint8_t   *held; /* [n_dofs] bit k: component k is constrained or mirrored, its equation is m v = 0 */
  int64_t    n_ghosts, held_capacity, ghosts_capacity;
  mpm_ghost *ghost; /* [n_ghosts] by dof */
} mpm_walls;

void mpm_walls_free(mpm_walls *w);
/* Find the constrained and mirrored dofs of this step: sets held and ghost. */
PetscErrorCode mpm_walls_find(mpm_walls *w, const mpm_grid *g);
/* full [n_dofs][3] = R x, x [n_dofs][3] */
void mpm_walls_expand(const mpm_walls *w, const mpm_grid *g, const double *x, double *full);
/* f [n_dofs][3] <- R^T f; constrained and mirrored components become zero. */
void mpm_walls_fold(const mpm_walls *w, const mpm_grid *g, double *f);
/* Add the masses and momenta of mirrored nodes to their images: changes mass and velocity of g. Mirrored nodes get the velocity of their image. */
void mpm_walls_fold_grid(const mpm_walls *w, mpm_grid *g);
/* Move particles that left through a periodic plane by one period, back into the domain. */
void mpm_walls_wrap(const mpm_walls *w, particles *p);
/* Returns true if component k of dof i is constrained or mirrored. */
static inline bool mpm_walls_held(const mpm_walls *w, int64_t i, int k) { return w->n_walls > 0 && (w->held[i] >> k & 1); }
#endif
