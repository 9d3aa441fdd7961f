/* What a step of `monolith` leaves behind of its continuum: forces on what it touches, and the report. */
#ifndef SS_SIM_MONOLITH_MONOLITH_RECORD_H
#define SS_SIM_MONOLITH_MONOLITH_RECORD_H
#include "sim/monolith/monolith_flow.h"

/* Add what bodies of kind mac and solids exert on each other to `forces`, where those of the contacts are. Where several such
 * bodies share a cell, each has a part as large as its part of the mass there. */
PetscErrorCode monolith_record_forces(const monolith_flow *f, const mac_state *state, const scene *s, const monolith_solids *solids, contact_forces *forces);
/* And the impulses [solids->n][6] of a step that lasted dt with which grains hit solids, about the origins of their frames, as
 * forces of the first such body that may touch the solid. */
PetscErrorCode monolith_record_hits(const scene *s, const monolith_solids *solids, double dt, const double (*impulse)[6], contact_forces *forces);
/* Before the state is written back or gone. */
void monolith_record_report(const monolith_flow *f, const mac_state *state, const flow_report *flow, step_report *out);
#endif
