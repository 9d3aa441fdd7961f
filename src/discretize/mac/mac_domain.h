/* The domain of all bodies of kind mac of a scene: particles on one staggered (marker-and-cell) grid. Sources: [TakahashiBatty2021] for
 * the solver, [Jiang2015] for the transfer.
 *
 * The domain is one `body` without blocks in the global vector. The formulation `monolith` solves for its face velocities between two
 * calls of body_ops:
 *    begin_step  sorts the particles, builds the grid, and transfers mass and momentum to faces and density to cell centres.
 *                It rejects (STEP_CFL_VIOLATED) a dt in which a particle would cross more than `cfl` cells.
 *    end_step    transfers face velocities to the particles and moves the particles through the grid.
 *                It rejects the step by the same criterion, before any change.
 * Between these calls, mac_domain_state returns the grid data of the step, and the formulation writes the new face velocities to its u.
 * The formulation also applies gravity. For each mac body there is an adapter: a `body` with particles, totals, fields and a source, but
 * without unknowns and contact points. */
#ifndef SS_DISCRETIZE_MAC_MAC_DOMAIN_H
#define SS_DISCRETIZE_MAC_MAC_DOMAIN_H
#include "discretize/body/body.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mac/mac_solid.h"
#include "discretize/mac/mac_grid.h"
#include "discretize/material/material.h"

typedef struct mac_domain mac_domain;

/* Create a domain without bodies; o is borrowed. */
PetscErrorCode mac_domain_create(const mac_options *o, const double gravity[3], mac_domain **out);
/* Destroys the adapters of the bodies as well. */
void mac_domain_destroy(mac_domain **d);
/* Add a body with particles from `seed`; *index counts the bodies in the order of the calls. `name` and `m` (a granular or liquid material)
 * are borrowed and must outlive the domain. */
PetscErrorCode        mac_domain_add_body(mac_domain *d, const char *name, const material *m, const particle_seed *seed, int *index);
extern const body_ops mac_body_ops; /* operations of the adapter of one mac body */
/* Returns the domain of b, which may be a domain or an adapter of a mac body; NULL for any other body. */
mac_domain *mac_domain_of(body *b);
/* Returns the grid data of the current step, or between steps those of the last step. n_blocks is 0 before the first step. */
mac_state *mac_domain_state(mac_domain *d);

/* Called after end_step. Move particles that are inside one of the n solids (at their current frames) to the nearest surface; in a thin solid, to
 * the surface that they crossed in this step. The component of their velocity into the solid is removed. impulse [n][6] (may be NULL): impulse [N
 * s] of the particles on each solid and angular impulse [N m s] about the origin of its frame. is_frame_end: also move particles apart that are too
 * close to each other (mac_correction.h). This changes velocities only of particles that it moves into solids. */
PetscErrorCode mac_domain_correct_positions(mac_domain *d, int n, const mac_solid *solids, bool is_frame_end, double (*impulse)[6]);
#endif
