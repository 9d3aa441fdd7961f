/* Stencils between a boundary and grid nodes: built once, used by all transfers of a step. Quadratic B-splines, nodes at
 * dx (i, j, k), as in the material point method (mpm_kernel.h). Caller: augury.c.
 *
 * Points have a weight N at each of 27 nodes. A patch is a triangle with the points that are fixed to it by barycentric
 * coordinates l. Their velocities are interpolated from its corners, so all of them together form one stencil: with
 *
 *   s_kl = sum_j m_j N_i(x_j) l_jk l_jl
 *
 * at a node i, they contribute the momentum sum_kl s_kl (v_k + A_k (x_i - x_l)), and their mass sum_kl s_kl. A patch has far fewer
 * nodes than 27 per point. */
#ifndef SS_CONTACT_AUGURY_AUGURY_STENCIL_H
#define SS_CONTACT_AUGURY_AUGURY_STENCIL_H
#include "contact/augury/boundary_samples.h"
#include "contact/augury/node_set.h"

enum { STENCIL_NODES = 27, PATCH_MOMENTS = 6 };

/* Borrowed for the making. */
typedef struct {
  double                  dx;
  const double           *x;       /* nodes of the boundary [][3] */
  const int32_t          *element; /* [][3] */
  const boundary_samples *samples;
  int64_t                 n_points, n_patches;
  const int32_t          *point; /* [n_points] nodes of the boundary */
  const int32_t          *patch; /* [n_patches] elements */
  const double           *mass;  /* [all elements] of their points */
} stencil_parts;

typedef struct {
  node_set set;
  double (*x)[4]; /* [set.n] where nodes are [m], and 0 */
  /* From points to nodes, and back. */
  int32_t (*point_node)[STENCIL_NODES];
  double (*point_weight)[STENCIL_NODES];
  int64_t *points_start; /* [set.n + 1] */
  int32_t *at_point;     /* points at a node, ascending, and ... */
  double  *at_weight;
  /* From patches to nodes, and back. */
  int64_t *patch_start; /* [n_patches + 1] */
  int32_t *patch_node;
  double  *patch_mass;                /* sum s_kl [kg] */
  int64_t *patches_start;             /* [set.n + 1] */
  int32_t *at_patch;                  /* patches at a node, ascending, and ... */
  double (*at_moment)[PATCH_MOMENTS]; /* s_00, s_11, s_22, s_12, s_02, s_01 [kg] */
  /* Work space. */
  int32_t (*base)[3];                      /* first node of the stencils of all points */
  int64_t  *base_start;                    /* [n_points + n_patches + 1] of a point, or of a patch's points */
  int64_t  *touch_start, *touch_end;       /* [n_points + n_patches + 1], [n_points + n_patches] */
  uint64_t *touch_key, *touch_mask, *keys; /* blocks of nodes that each touches, and nodes of these */
  int32_t  *touch_block, *to;              /* place of a patch's entry among those of nodes */
  int64_t   room[12];                      /* capacities */
} augury_stencil;

/* Zeroed s in, or one made before. All x finite and within 2^20 cells of the origin. */
PetscErrorCode augury_stencil_make(const stencil_parts *in, augury_stencil *s);
void           augury_stencil_clear(augury_stencil *s);
#endif
