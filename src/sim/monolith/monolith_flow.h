/* The problem of one step of `monolith`, from the operators of the grid, the solids in it and the contacts among bodies; its
 * solution; and what that does to everybody. */
#ifndef SS_SIM_MONOLITH_MONOLITH_FLOW_H
#define SS_SIM_MONOLITH_MONOLITH_FLOW_H
#include "discretize/mac/mac_system.h"
#include "sim/monolith/monolith_contacts.h"
#include "sim/monolith/monolith_solids.h"

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
#endif
