/* The problem of one step of `monolith`, from the operators of the grid, the solids in it and the contacts among bodies; its
 * solution; and what that does to everybody. */
#ifndef SS_SIM_MONOLITH_MONOLITH_FLOW_H
#define SS_SIM_MONOLITH_MONOLITH_FLOW_H
#include "discretize/mac/mac_solid.h"
#include "discretize/mac/mac_system.h"
#include "sim/monolith/monolith_contacts.h"
#include "sim/scene/scene.h"

/* What displaces the continuum in a scene: rigid bodies and obstacles with level sets, as the staggered grid wants them, step by
 * step. Those that may not touch any body of kind mac are left out. */
typedef struct {
  int        n;
  mac_solid *solid;   /* [n] in the order of the scene's bodies */
  int32_t   *unknown; /* [n] which of the bodies that are solved for, -1: none */
} monolith_solids;

/* Complaints about laws that one grid cannot keep apart. */
PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d);
PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out); /* in place */
void           monolith_solids_destroy(monolith_solids *s);
/* Where they are now, and how fast: frames by scene_body.frame. */
void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames);

/* Couplings with bodies that are solved for. */
typedef struct {
  flow_coupling view; /* borrows from the rest */
  int32_t      *sample, *body;
  double      (*wrench)[6];
} monolith_coupling;

typedef struct {
  const mac_system *system; /* borrowed; no cells and no faces where there is no continuum */
  monolith_coupling F_p, F_s;
  double           *p_known, *s_known; /* what solids that move as prescribed do to volume and shape [m^3/s] */
  double           *alpha;             /* [n_cells] sqrt(2) M */
  flow_problem      problem;           /* borrows from all of this */
  flow_state        x;                 /* owned */
} monolith_flow;

/* In place, zeros before. Borrows the system and what contacts and bodies hold, whose v_free its solution moves. */
PetscErrorCode monolith_flow_set_up(monolith_flow *f, const mac_system *system, const step_layout *l, monolith_bodies *bodies, const monolith_contacts *contacts,
                                    const monolith_solids *solids);
void           monolith_flow_destroy(monolith_flow *f); /* copes with zeros */
/* wrench [n_bodies][6] of bodies that are solved for: contacts and continuum. */
void monolith_flow_wrench(const monolith_flow *f, const monolith_contacts *contacts, double (*wrench)[6]);

/* What a step of `monolith` leaves behind of its continuum: forces on what it touches, and the report. */
/* Add what bodies of kind mac and solids exert on each other to `forces`, where those of the contacts are. Where several such
 * bodies share a cell, each has a part as large as its part of the mass there. */
PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids, contact_forces *forces);
/* And the impulses [solids->n][6] of a step that lasted dt with which grains hit solids, about the origins of their frames, as
 * forces of the first such body that may touch the solid. */
PetscErrorCode monolith_record_hits(const scene *s, const monolith_solids *solids, double dt, const double (*impulse)[6], contact_forces *forces);
/* Before the state is written back or gone. */
void monolith_record_report(const monolith_flow *f, const mac_state *state, const flow_report *flow, step_report *out);
#endif
