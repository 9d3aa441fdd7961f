/* Extrapolation of face velocities from known faces to faces near them, and its transpose for mass and momentum. Used by mac_system.c. */
#ifndef SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#define SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#include "discretize/mac/mac_grid.h"

enum { MAC_LAYERS = 2, MAC_NO_LAYER = 255 };

/* Compute layer[axis][slot]. In: 0 for known faces, any other value for the others. Out: 1 ... MAC_LAYERS for faces in the layers around
 * known faces, MAC_NO_LAYER for the others. The sources of a face in layer l are those of its six neighbours of the same axis that are in
 * layer l - 1. The three functions give the same bits on any number of threads. */
PetscErrorCode mac_velocity_layers(const mac_grid *g, uint8_t *const layer[3]);
/* Set u[axis][slot] of each face in a layer to the mean of its sources. Faces in no layer keep their velocity. */
void mac_velocity_extrapolate(const mac_grid *g, uint8_t *const layer[3], double *const u[3]);
/* The transpose of mac_velocity_extrapolate: distribute the mass of each face in a layer, and its momentum mass u, equally to its sources,
 * from the outermost layer inwards. mass[axis][slot] >= 0 [kg]. The total momentum sum of mass u does not change; it is then that of the
 * known faces and of the faces in no layer. If velocities are extrapolated afterwards, the sum of (original mass) u over all faces equals
 * the sum of (new mass) u. Therefore extrapolated faces do not change the total momentum, for any known velocities. */
PetscErrorCode mac_velocity_transfer_mass(const mac_grid *g, uint8_t *const layer[3], double *const mass[3], double *const u[3]);
#endif
