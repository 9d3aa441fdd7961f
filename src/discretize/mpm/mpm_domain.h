/* An MPM domain: all MPM bodies of a scene on one sparse grid, as one `body` whose blocks are the grid nodes with mass.
 *
 * Each MPM body has its own particles and one material. The formulation steps the domain, which has no contact points. For contact,
 * and for sums per body, `bodies.body` has one adapter per MPM body: a `body` with points, totals and the domain's blocks, but
 * without unknowns of its own. The adapter's first_block is updated from the domain's whenever its n_clusters() is called; therefore
 * set the domain's first_block before contact detection. The points of an adapter are its particles in sorted order, valid from
 * begin_step to end_step; identities are unique over the whole domain.
 *
 * Walls are mirrors on the grid (mpm_wall.h), for validation against closed forms; real walls are bodies with contact. Bodies within
 * two cells of a mirror should not touch other bodies. block_diagonal omits the coupling of a node to its image. Caller: mpm_body.c. */
#ifndef SS_DISCRETIZE_MPM_MPM_DOMAIN_H
#define SS_DISCRETIZE_MPM_MPM_DOMAIN_H
#include "discretize/body/body.h"
#include "geometry/level_set/level_set.h"
#include "discretize/material/material.h"
#include "discretize/mpm/mpm_force.h"
#include "discretize/mpm/mpm_transfer.h"
#include "discretize/mpm/mpm_wall.h"
#include "discretize/particles/particle_bodies.h"

typedef struct mpm_domain mpm_domain;
struct mpm_domain {
  body                  base;
  mpm_grid             *grid;
  mpm_transfer          transfer;
  double                gravity[3];
  particle_bodies       bodies;
  material_step_maxima *marks; /* [n_bodies] of the last step */
  mpm_walls             walls;
  double                light_share, rest_speed; /* of sqrt(g h), see mpm_light.h */
  mpm_body_force        body_force;
  void                 *body_force_context;
  /* Of the current step. */
  double                dt;
  bool                  is_laid_out, has_tangent, has_external, has_last_v;
  mpm_tangent           tangent;
  int64_t               work_capacity;
  double               *external; /* [n_dofs][3] N, body forces; with walls gravity too, not yet folded */
  double               *masked;   /* [n_dofs][3] v or x on all nodes, if there are walls */
  double               *internal; /* [n_dofs][3] */
  double               *leading;  /* [n_dofs][3], see mpm_grid.leading */
  double               *last_v;   /* [n_dofs][3]: where the last residual was good */
  int64_t               n_followers, followers_capacity;
  body_dependent_block *follower; /* light nodes of this step */
};

extern const body_ops mpm_adapter_ops; /* of each MPM body */

PetscErrorCode mpm_domain_create(double h, mpm_kernel kernel, mpm_transfer transfer, const double gravity[3], mpm_domain **out);
/* Destroys the adapters too. */
void mpm_domain_destroy(mpm_domain **d);

/* Add an MPM body; *index in order of adding. `name` and `m` are borrowed and must outlive the domain. */
PetscErrorCode mpm_domain_add_body(mpm_domain *d, const char *name, const material *m, const particle_seed *seed, int *index);
/* A wall that fills coordinates below (side -1) or above (side 1) a plane [m] across axis 0, 1 or 2. */
PetscErrorCode mpm_domain_add_wall(mpm_domain *d, int axis, int side, double coordinate, mpm_wall_kind kind);
/* From the next step on, nodes lighter than this share of their heaviest neighbour depend on others (mpm_light.h). The others
 * must be slower than rest_speed sqrt(g h), with g of gravity, the node itself slower than that plus 2 g dt; INFINITY: at any
 * speed. share 0: none. */
void mpm_domain_set_light_nodes(mpm_domain *d, double share, double rest_speed);
/* Use the gradient of the affine transfer for forces and deformation. It is exact for affine fields, like that of the splines,
 * but it is not the derivative of the interpolated field. Default: the gradient of the splines. */
void mpm_domain_set_affine_gradient(mpm_domain *d, bool is_affine);
/* Acceleration per particle, evaluated at the positions at the start and the time at the end of a step; NULL: none. */
void mpm_domain_set_body_force(mpm_domain *d, mpm_body_force force, void *context);

/* Is b a domain with a material whose tangent body_ops.set_definite changes? */
bool mpm_domain_has_projected_tangent(const body *b);

/* Between begin_step and end_step, by block of the domain's body: node [n][3], at h (i, j, k), mass [n] kg; and outward [n][3] =
 * sum_p m_p grad w_i(x_p) kg/m, minus the gradient of the mass at the node: out of the material where that ends. Velocities are those of the
 * body. Where walls mirror the domain, mass and gradient are those with the images. Uses the grid's tiles. */
PetscErrorCode mpm_domain_get_nodes(mpm_domain *d, int32_t (*node)[3], double *mass, double (*outward)[3]);
#endif
