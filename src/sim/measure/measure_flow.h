/* State of the quantity flow_rate: the side of the plane on which every particle was after the previous step, and the mass that has
 * crossed the plane since the last record. Used by measure.c.
 *
 * The record is exact: the sum of recorded rates times the time between records equals the gain of mass_beyond, minus the mass that
 * sources released beyond the plane. */
#ifndef SS_SIM_MEASURE_MEASURE_FLOW_H
#define SS_SIM_MEASURE_MEASURE_FLOW_H
#include "sim/measure/measure_quantity.h"
#include "sim/measure/named_state.h"

/* Initialise the sides. Call it after the state has been set or restored; m contains the crossed mass of a resumed run. */
PetscErrorCode measure_flow_open(const measure_moment *now, const named_state *m, measure *k);
/* Add the mass that crossed in this step. Call it after every step. */
PetscErrorCode measure_flow_step(const measure_moment *now, measure *k);
/* Store the crossed mass in m for a resumed run. Call it after every step and its record. */
PetscErrorCode measure_flow_keep(const measure *k, named_state *m);
void           measure_flow_close(measure *k);
#endif
