/* Velocities of faces that nobody computed, from those around. */
#ifndef SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#define SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#include "discretize/mac/mac_grid.h"

/* u[axis][slot], known where is_known[axis][slot] is 1: one layer after the other, unknown faces next to known ones become the mean
 * of those and known. Faces that stay unknown become 0. Same bits on any number of threads. */
PetscErrorCode mac_velocity_extrapolate(const mac_grid *g, int n_layers, double *const u[3], uint8_t *const is_known[3]);
#endif
