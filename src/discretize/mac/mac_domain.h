/* All bodies of kind mac of a scene: particles on one staggered grid. Source: [TakahashiBatty2021], [Jiang2015]; theory:
 * frictional-monolith, sections 3.2, 12, 13.
 *
 * The domain is one `body` system with no blocks of the global vector: its unknown face velocities are solved by the formulation,
 * between
 *   begin_step  sorts particles, makes the grid, and brings mass and momentum to faces and density to centres; refuses (STEP_CFL)
 *   a dt in
 *               which a particle would cross more than `cfl` cells;
 *   end_step    brings velocities of faces back, and moves the particles through them; refuses likewise, before anything has
 *   changed.
 * In between, mac_domain_state is that of the step, and u is to become what the step makes of it (gravity is nobody's but the
 * formulation's). Each mac body offers a facade with particles, totals, fields and a source, but no unknowns and no contact points
 * of its own. */
#ifndef SS_DISCRETIZE_MAC_MAC_DOMAIN_H
#define SS_DISCRETIZE_MAC_MAC_DOMAIN_H
#include "discretize/body/body.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mac/mac_solid.h"
#include "discretize/mac/mac_grid.h"
#include "discretize/material/material.h"

typedef struct mac_domain mac_domain;

PetscErrorCode mac_domain_create(const mac_options *o, const double gravity[3], mac_domain **out);
/* Destroys the facades too. */
void           mac_domain_destroy(mac_domain **d);
/* `name` and `m` (which flows) are borrowed and must outlive the domain; *index in order of adding. */
PetscErrorCode mac_domain_add_body(mac_domain *d, const char *name, const material *m, const particle_seed *seed, int *index);
/* See particle_source.h; takes *spout. */
PetscErrorCode mac_domain_set_source(mac_domain *d, int index, const particle_seed *seed, const particle_pour *schedule, level_set **spout);
bool           mac_domain_has_source(const mac_domain *d);

extern const body_ops mac_facade_ops; /* of each mac body */
body       *mac_domain_facade(mac_domain *d, int index);
particles  *mac_domain_particles(mac_domain *d, int index);
/* The domain behind its body or one of its facades; NULL for any other body. */
mac_domain *mac_domain_of(body *b);
/* Of the step in progress, or of the last one, as it left it: its pressure is read between steps. n_blocks is 0 before the first.
 * */
mac_state         *mac_domain_state(mac_domain *d);

/* After end_step: particles inside solids (where their frames are now) go to the nearest surface or, where the solid is thin, back to
 * the one they came through in this step, and do not go on into it: impulse [n][6] (NULL: not wanted) is what they hit each solid with,
 * N s and, about the origin of its frame, N m s. At the end of a frame those too close to each other are moved apart; that changes no
 * velocity but of those it moves into solids. */
PetscErrorCode mac_domain_settle(mac_domain *d, int n, const mac_solid *solids, bool is_frame_end, double (*impulse)[6]);
/* Sums of the whole domain. */
PetscErrorCode mac_domain_totals(const mac_domain *d, const double gravity[3], body_totals *out);
#endif
