/* The coupled problem of a step of formulation monolith (optim/granular), built from grid operators, solids in the grid and contacts
 * between bodies; and the forces that follow from its solution. An unknown body is a rigid body without prescribed motion. Used by
 * monolith.c. */
#ifndef SS_SIM_MONOLITH_MONOLITH_FLOW_H
#define SS_SIM_MONOLITH_MONOLITH_FLOW_H
#include "discretize/mac/mac_solid.h"
#include "discretize/mac/mac_system.h"
#include "sim/monolith/monolith_contacts.h"
#include "sim/scene/scene.h"

/* Solids that displace the continuum: rigid bodies and obstacles with level sets, in the form of the staggered grid. Solids
 * without contact with any body of kind mac are not included. */
typedef struct {
  int        n;
  mac_solid *solid;   /* [n] in the order of the scene's bodies */
  int32_t   *unknown; /* [n] index of the unknown body; -1: prescribed motion */
} monolith_solids;

/* Add an entry to `d` for each solid whose contact laws with several bodies of kind mac differ: their common grid allows only one. */
PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d);
PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out); /* fills in *out */
void           monolith_solids_destroy(monolith_solids *s);
/* Set current positions and velocities; frames are indexed by scene_body.frame. */
void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames);

/* Coupling of pressures or stresses with the unknown bodies: entry k couples sample[k] with body[k] by wrench[k]. */
typedef struct {
  granular_coupling view; /* borrows from the other members */
  int32_t          *sample, *body;
  double (*wrench)[6];
} monolith_coupling;

typedef struct {
  const mac_system *system; /* borrowed; without cells and faces if there is no continuum */
  monolith_coupling F_p, F_s;
  double           *p_known, *s_known; /* volume and shear rates [m^3/s] that solids with prescribed motion cause */
  double           *alpha;             /* [n_cells] sqrt(2) M, see monolith_rheology.h */
  granular_problem  problem;           /* borrows from all of these */
  granular_state    x;                 /* owned */
} monolith_flow;

/* *f must be zero. Borrows the system, the contacts and the bodies; the solver updates bodies->v_free (relinearize). */
PetscErrorCode monolith_flow_set_up(monolith_flow *f, const mac_system *system, const step_layout *l, monolith_bodies *bodies,
                                    const monolith_contacts *contacts, const monolith_solids *solids);
void           monolith_flow_destroy(monolith_flow *f); /* accepts zeros */
/* wrench [n_bodies][6] N, N m: forces and moments of contacts and continuum on the unknown bodies. */
void monolith_flow_wrench(const monolith_flow *f, const monolith_contacts *contacts, double (*wrench)[6]);

/* Add the forces between bodies of kind mac and solids to `forces`, which contains those of the contacts. If several such
 * bodies share a cell, the force is distributed in proportion to their masses in the cell. */
PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids,
                                      contact_forces *forces);
/* Add the impulses of grains that were moved out of solids, as forces impulse / dt of the first body of kind mac that may touch the
 * solid. impulse [solids->n][6]: N s and N m s about the origins of the solids' frames. */
PetscErrorCode monolith_record_hits(const scene *s, const monolith_solids *solids, double dt, const double (*impulse)[6],
                                    contact_forces *forces);
/* Fill in the report; to be called before the state is overwritten. */
void monolith_record_report(const monolith_flow *f, const mac_state *state, const granular_report *flow, step_report *out);
#endif
