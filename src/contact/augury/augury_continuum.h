/* Continuum on the same grid as the boundaries of solids: nodes at dx (i, j, k) with mass and velocity, for example material of the
 * material point method (mpm_domain.h). Used by augury and augury_near. */
#ifndef SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#define SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#include <stdbool.h>
#include <stdint.h>
#include "core/math3.h"

/* All arrays are borrowed. */
typedef struct {
  int64_t n;
  const int32_t (*node)[3];   /* [n] i, j, k; no node occurs twice */
  const double *mass;         /* [n] > 0 [kg] */
  const double (*outward)[3]; /* [n] minus the gradient of the mass at the node [kg/m] */
  double *velocity;           /* [n][3] [m/s]; changed in place at nodes shared with a boundary */
} augury_continuum;

/* Smallest dx |grad m| / m (m: nodal mass) at which the mass gradient gives the outward direction. In a half space of material the ratio
 * is 0.13 one cell below the surface, and 0.03 a quarter of a cell deeper, where irregular particle positions dominate the gradient. */
#define AUGURY_SURE 0.1

/* Outward unit vector n of the continuum at node i. Returns false, with n undefined, if the direction is unknown (AUGURY_SURE). */
static inline bool augury_continuum_outward(const augury_continuum *c, int64_t i, double dx, double n[3])
{
  const double length = v3_norm(c->outward[i]);
  if (!(dx * length >= AUGURY_SURE * c->mass[i])) return false;
  v3_scale(n, 1.0 / length, c->outward[i]);
  return true;
}
#endif
