/* Inside of an MPM domain, shared by mpm_domain.c (making, sums), mpm_step.c (the step),
 * mpm_facade.c (contact points, sources). */
#ifndef SS_DISCRETIZE_MPM_MPM_DOMAIN_IMPL_H
#define SS_DISCRETIZE_MPM_MPM_DOMAIN_IMPL_H
#include "discretize/mpm/mpm_domain.h"
#include "discretize/mpm/mpm_force.h"
#include "discretize/particles/particle_bodies.h"

struct mpm_domain {
  body             base;
  mpm_grid        *grid;
  mpm_transfer     transfer;
  double           gravity[3];
  particle_bodies  bodies;
  double         (*acceleration)[3];
  material_marks  *marks; /* [n_bodies] of the last step */
  mpm_walls        walls;
  double           light_share, rest_speed; /* of sqrt(g h), see mpm_light.h */
  mpm_body_force   body_force;
  void            *body_force_context;
  /* Of the current step. */
  double      dt;
  bool        is_laid_out, has_tangent, has_external, has_last_v;
  mpm_tangent tangent;
  int64_t     work_capacity;
  double     *external; /* [n_dofs][3] N, body forces; with walls gravity too, not yet folded */
  double     *masked;   /* [n_dofs][3] v or x on all nodes, if there are walls */
  double     *internal; /* [n_dofs][3] */
  double     *leading;  /* [n_dofs][3], see mpm_grid.leading */
  double     *last_v;   /* [n_dofs][3]: where the last residual was good */
  int64_t        n_followers, followers_capacity;
  body_follower *follower; /* light nodes of this step */
};

enum { MPM_SUM_ELASTIC = PARTICLE_N_SUMS, MPM_N_SUMS };
extern const body_ops             mpm_domain_ops, mpm_facade_ops;
extern const particle_carrier_ops mpm_carrier_ops;
PetscErrorCode                    mpm_domain_add_totals(const mpm_domain *d, int b, double *sum); /* sum [MPM_N_SUMS] += */
/* All but what only materials know. */
void                              mpm_totals_from(const double *sum, const double gravity[3], body_totals *out);
#endif
