/* An MPM domain: all MPM bodies of a scene on one sparse grid, as one `body` whose blocks are the grid nodes with mass.
 *
 * Each MPM body has its own particles and one material. The domain has the unknowns but no contact points. For contact and for sums per body,
 * bodies.body[] contains one adapter per MPM body: a `body` with points and totals, which refers to the domain's blocks and has no unknowns of its
 * own. n_clusters() of an adapter copies first_block from the domain; therefore set first_block of the domain before contact detection. The points
 * of an adapter are its particles in sorted order, valid from begin_step to end_step. Particle identities are unique in the whole domain.
 *
 * Walls are mirrors on the grid (mpm_wall.h), for validation against closed forms. Other walls are bodies with contact. Bodies within two
 * cells of a mirror should not be in contact with other bodies. block_diagonal omits the coupling of a node to its image. Caller:
 * mpm_body.c. */
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
  double                light_share, rest_speed; /* see mpm_domain_set_light_nodes */
  mpm_body_force        body_force;
  void                 *body_force_context;
  /* Data of the current step. */
  double                dt;
  bool                  is_laid_out, has_tangent, has_external, has_last_v;
  mpm_tangent           tangent;
  int64_t               work_capacity;
  double               *external; /* [n_dofs][3] body forces [N]; with walls also gravity, before mpm_walls_fold */
  double               *masked;   /* [n_dofs][3] with walls: v or x on all nodes, from mpm_walls_expand */
  double               *internal; /* [n_dofs][3] internal forces times -dt [N s] */
  double               *leading;  /* [n_dofs][3], see mpm_grid.leading */
  double               *last_v;   /* [n_dofs][3] velocities of the last residual with status STEP_OK */
  int64_t               n_followers, followers_capacity;
  body_dependent_block *follower; /* light nodes of this step */
};

extern const body_ops mpm_adapter_ops; /* of each MPM body */

/* Create a domain without bodies on a grid of spacing h [m]. */
PetscErrorCode mpm_domain_create(double h, mpm_kernel kernel, mpm_transfer transfer, const double gravity[3], mpm_domain **out);
/* Destroys the adapters as well. */
void mpm_domain_destroy(mpm_domain **d);

/* Add an MPM body with particles from `seed`; *index counts the bodies in the order of calls. `name` and `m` are borrowed and must outlive
 * the domain. */
PetscErrorCode mpm_domain_add_body(mpm_domain *d, const char *name, const material *m, const particle_seed *seed, int *index);
/* Add a wall that fills the coordinates below (side -1) or above (side 1) `coordinate` [m] along axis 0, 1 or 2. */
PetscErrorCode mpm_domain_add_wall(mpm_domain *d, int axis, int side, double coordinate, mpm_wall_kind kind);
/* Set the rule for light nodes (mpm_light.h) from the next step on. Nodes lighter than `share` times their heaviest neighbour depend on
 * other nodes. These must be slower than rest_speed sqrt(g h), g: magnitude of gravity, and the node itself slower than that plus
 * 2 g dt. rest_speed INFINITY: at any speed. share 0: no node is dependent. */
void mpm_domain_set_light_nodes(mpm_domain *d, double share, double rest_speed);
/* Select the velocity gradient for forces and deformation: that of the affine transfer (is_affine), or that of the splines (default). Both
 * are exact for affine fields. The first is not the derivative of the interpolated field. */
void mpm_domain_set_affine_gradient(mpm_domain *d, bool is_affine);
/* Set an acceleration of particles [m/s^2], evaluated at the positions at the start and the time at the end of a step; NULL: none. */
void mpm_domain_set_body_force(mpm_domain *d, mpm_body_force force, void *context);

/* Returns true if b is a domain with a material whose tangent is changed by body_ops.set_definite. */
bool mpm_domain_has_projected_tangent(const body *b);

/* Get the data of grid nodes between begin_step and end_step, in the order of the domain's n blocks. node [n][3]: integers (i, j, k) of the
 * position h (i, j, k); mass [n] kg; outward [n][3] = sum_p m_p grad w_i(x_p) [kg/m], minus the gradient of the mass with
 * respect to the node's position; at the boundary it points out of the material. With mirrors, mass and gradient include the images. Overwrites the grid's tiles. */
PetscErrorCode mpm_domain_get_nodes(mpm_domain *d, int32_t (*node)[3], double *mass, double (*outward)[3]);
#endif
