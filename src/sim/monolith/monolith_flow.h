/* The coupled problem of a step of `monolith` (optim/granular), built from the grid operators, the solids in the grid and the
 * contacts between bodies; and the forces that follow from its solution. Used by monolith.c. */
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

/* Report contact laws that a single grid cannot distinguish. */
PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d);
PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out); /* fills in *out */
void           monolith_solids_destroy(monolith_solids *s);
/* Set current positions and velocities; frames are indexed by scene_body.frame. */
void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames);

/* Coupling with the unknown bodies. */
typedef struct {
  granular_coupling view; /* borrows from the other members */
  int32_t          *sample, *body;
  double (*wrench)[6];
} monolith_coupling;

typedef struct {
  const mac_system *system; /* borrowed; without cells and faces if there is no continuum */
  monolith_coupling F_p, F_s;
  double           *p_known, *s_known; /* contribution of solids with prescribed motion to volume and shear rates [m^3/s] */
  double           *alpha;             /* [n_cells] sqrt(2) M */
  granular_problem  problem;           /* borrows from all of these */
  granular_state    x;                 /* owned */
} monolith_flow;

/* Fill in *f, which is zero. Borrows the system, the contacts and the bodies; the solution modifies the v_free of the bodies. */
PetscErrorCode monolith_flow_set_up(monolith_flow *f, const mac_system *system, const step_layout *l, monolith_bodies *bodies,
                                    const monolith_contacts *contacts, const monolith_solids *solids);
void           monolith_flow_destroy(monolith_flow *f); /* accepts zeros */
/* wrench [n_bodies][6] on the unknown bodies, from contacts and continuum. */
void monolith_flow_wrench(const monolith_flow *f, const monolith_contacts *contacts, double (*wrench)[6]);

/* Add the forces between bodies of kind mac and solids to `forces`, which contains those of the contacts. If several such bodies
 * share a cell, forces are divided by their masses there. */
PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids,
                                      contact_forces *forces);
/* Add the impulses [solids->n][6] of grains colliding with solids in a step of length dt, about the origins of their frames, as
 * forces of the first such body that may touch the solid. */
PetscErrorCode monolith_record_hits(const scene *s, const monolith_solids *solids, double dt, const double (*impulse)[6],
                                    contact_forces *forces);
/* Fill in the report; to be called before the state is overwritten. */
void monolith_record_report(const monolith_flow *f, const mac_state *state, const granular_report *flow, step_report *out);
#endif
