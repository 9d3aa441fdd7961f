/* Extrapolation of face velocities to faces without own velocity, and its transpose for mass and momentum. */
#ifndef SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#define SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#include "discretize/mac/mac_grid.h"

enum { MAC_LAYERS = 2, MAC_NO_LAYER = 255 };

/* layer[axis][slot]. Input: 0 where a face is known, any other value where it is not. Output: 1 ... MAC_LAYERS for faces in the
 * layers next to known ones, MAC_NO_LAYER for the others. The sources of a face are its neighbours (of six, same axis) one layer
 * further in. The three functions give the same bits on any number of threads. */
PetscErrorCode mac_velocity_layers(const mac_grid *g, uint8_t *const layer[3]);
/* Set u[axis][slot] of each face in a layer to the mean of its sources. Faces in no layer keep their velocity. */
void mac_velocity_extrapolate(const mac_grid *g, uint8_t *const layer[3], double *const u[3]);
/* The transpose: the mass of each face in a layer, and its momentum mass u, is distributed equally to its sources, from the
 * outermost layer inwards. Then the sum of mass u over the known faces and the faces in no layer equals the previous sum over all
 * faces. After mac_velocity_extrapolate, the sum of (original mass) u over all faces equals the sum of mass u over these faces.
 * Extrapolated faces therefore do not change the total momentum, for any change of the known velocities. mass[axis][slot] >= 0. */
PetscErrorCode mac_velocity_transfer_mass(const mac_grid *g, uint8_t *const layer[3], double *const mass[3], double *const u[3]);
#endif
