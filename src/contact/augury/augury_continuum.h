/* Continuum on the same grid as the boundaries of solids: nodes at dx (i, j, k) with mass and velocity, for example material of the
 * material point method (mpm_domain.h). Used by augury and augury_near. */
#ifndef SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#define SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#include <stdbool.h>
#include <stdint.h>
#include "core/math3.h"

/* All borrowed. */
typedef struct {
  int64_t n;
  const int32_t (*node)[3];   /* [n] i, j, k; none twice */
  const double *mass;         /* [n] > 0 [kg] */
  const double (*outward)[3]; /* [n] minus the gradient of the mass at the node [kg/m] */
  double *velocity;           /* [n][3] [m/s]; changed in place at nodes shared with a boundary */
} augury_continuum;

/* Deeper than slightly more than a cell, the gradient is dominated by the scatter of the particles. For a half space of material
 * dx |grad m| = 0.13 m one cell below its surface, and 0.03 m a quarter of a cell deeper (m: the node's mass). */
#define AUGURY_SURE 0.1

/* Outward direction of the continuum at a node, length 1. Returns false where it is unknown. */
static inline bool augury_continuum_outward(const augury_continuum *c, int64_t i, double dx, double n[3])
{
  const double length = v3_norm(c->outward[i]);
  if (!(dx * length >= AUGURY_SURE * c->mass[i])) return false;
  v3_scale(n, 1.0 / length, c->outward[i]);
  return true;
}
#endif
