/* Stencils between a boundary and grid nodes: built once per step, used by all transfers of the step. Quadratic B-splines with nodes at
 * dx (i, j, k), as in the material point method (mpm_kernel.h). Caller: augury.c.
 *
 * A point (boundary node) x_j has a weight N_i(x_j) at each of 27 grid nodes i. A patch is a triangle with sample points of masses m_j,
 * which are fixed to it by barycentric coordinates l_jk, k = 0, 1, 2. Their velocities are interpolated from the velocities v_k and the
 * affine matrices A_k of its corners. Therefore all points of a patch form one stencil: with
 *
 *   s_kl = sum_j m_j N_i(x_j) l_jk l_jl
 *
 * at grid node i, the momentum is sum_kl s_kl (v_k + A_k (x_i - x_l)) and the mass sum_kl s_kl. This stencil has far fewer entries than
 * 27 per point. */
#ifndef SS_CONTACT_AUGURY_AUGURY_STENCIL_H
#define SS_CONTACT_AUGURY_AUGURY_STENCIL_H
#include "contact/augury/boundary_samples.h"
#include "contact/augury/node_set.h"

enum { STENCIL_NODES = 27, PATCH_MOMENTS = 6 };

/* Input of augury_stencil_make. All arrays are borrowed for the call. */
typedef struct {
  double                  dx;      /* cell size [m] */
  const double           *x;       /* [n_nodes][3] positions of boundary nodes [m] */
  const int32_t          *element; /* [n_elements][3] nodes */
  const boundary_samples *samples;
  int64_t                 n_points, n_patches;
  const int32_t          *point; /* [n_points] boundary node of each point */
  const int32_t          *patch; /* [n_patches] element of each patch */
  const double           *mass;  /* [n_elements] total mass of the sample points of each element [kg] */
} stencil_parts;

typedef struct {
  node_set set;
  double (*x)[4]; /* [set.n] positions of grid nodes [m]; the fourth entry is 0 */
  /* Nodes of each point, and points of each node. */
  int32_t (*point_node)[STENCIL_NODES];  /* [n_points] */
  double (*point_weight)[STENCIL_NODES]; /* [n_points] N */
  int64_t *points_start;                 /* [set.n + 1] */
  int32_t *at_point;                     /* [points_start[set.n]] points of each node, ascending */
  double  *at_weight;                    /* the weight N of each of these points */
  /* Nodes of each patch, and patches of each node. */
  int64_t *patch_start;               /* [n_patches + 1] */
  int32_t *patch_node;                /* [patch_start[n_patches]] */
  double  *patch_mass;                /* for each patch_node: sum s_kl [kg] */
  int64_t *patches_start;             /* [set.n + 1] */
  int32_t *at_patch;                  /* [patches_start[set.n]] patches of each node, ascending */
  double (*at_moment)[PATCH_MOMENTS]; /* for each at_patch: s_00, s_11, s_22, s_12, s_02, s_01 [kg] */
  /* Work space. */
  int32_t (*base)[3];                      /* first node of the stencil of each point and each sample point */
  int64_t  *base_start;                    /* [n_points + n_patches + 1] first entry of `base` of each point, then of each patch */
  int64_t  *touch_start, *touch_end;       /* [n_points + n_patches + 1], [n_points + n_patches]: range of touch_key of each */
  uint64_t *touch_key, *touch_mask, *keys; /* blocks (node_set.h) with nodes of a point or patch; bits of these nodes; all keys */
  int32_t  *touch_block, *to;              /* index of each touched block; index in at_patch of each entry of patch_node */
  int64_t   room[12];                      /* capacities of the arrays */
} augury_stencil;

/* Build the stencils in *s, which is zeroed or from an earlier call. All x must be finite and within 2^20 cells of the origin. */
PetscErrorCode augury_stencil_make(const stencil_parts *in, augury_stencil *s);
void           augury_stencil_clear(augury_stencil *s);
#endif
