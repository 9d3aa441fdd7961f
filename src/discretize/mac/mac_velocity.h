/* Velocities of faces that nobody computed, from those around; and their mass, to those around. */
#ifndef SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#define SS_DISCRETIZE_MAC_MAC_VELOCITY_H
#include "discretize/mac/mac_grid.h"

enum { MAC_LAYERS = 2, MAC_NO_LAYER = 255 };

/* layer[axis][slot]: in, 0 where a face is known, anything else where it is not; out, 1 ... MAC_LAYERS for those of the layers next
 * to them, MAC_NO_LAYER for the others. A face has the sources that its velocity comes from: its neighbours (of six, same axis) one
 * layer further in. The three functions give the same bits on any number of threads. */
PetscErrorCode mac_velocity_layers(const mac_grid *g, uint8_t *const layer[3]);
/* u[axis][slot] of a face in a layer becomes the mean of its sources. Faces in no layer keep theirs. */
void mac_velocity_extrapolate(const mac_grid *g, uint8_t *const layer[3], double *const u[3]);
/* The transpose: the mass of each face in a layer, and its momentum mass u, goes to its sources in equal parts, from the outermost
 * layer inwards; what arrives is mixed in. Then sum of (mass u) over the faces known and in no layer is what it was over all, and
 * after mac_velocity_extrapolate the sum over all faces of (mass as it was) u is that over the former of mass u: whatever changes
 * the known velocities, faces that go along with them take no momentum from nowhere. mass[axis][slot] >= 0. */
PetscErrorCode mac_velocity_carry(const mac_grid *g, uint8_t *const layer[3], double *const mass[3], double *const u[3]);
#endif
