/* A continuum on the grid of augury: nodes at dx (i, j, k) with mass and velocity, such as those of the material point method (mpm_nodes.h). */
#ifndef SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#define SS_CONTACT_AUGURY_AUGURY_CONTINUUM_H
#include <stdbool.h>
#include <stdint.h>
#include "core/math3.h"

/* All borrowed. */
typedef struct {
  int64_t n;
  const int32_t (*node)[3];    /* [n] i, j, k; none twice */
  const double *mass;          /* [n] > 0 [kg] */
  const double (*outward)[3];  /* [n] minus the gradient of the mass at the node [kg/m] */
  double       *velocity;      /* [n][3] [m/s]; velocities at shared nodes are changed in place */
} augury_continuum;

/* Least dx |grad m| / m at which the mass gradient gives an outward direction. In the interior the gradient is noise of the particle
 * distribution: a half space of material has dx |grad m| = 0.13 m one cell below its surface, and 0.03 m a quarter of a cell deeper. */
#define AUGURY_SURE 0.1

/* Outward unit direction of the continuum at a node; false where it is not known. */
static inline bool augury_continuum_outward(const augury_continuum *c, int64_t i, double dx, double n[3])
{
  const double length = v3_norm(c->outward[i]);
  if (!(dx * length >= AUGURY_SURE * c->mass[i])) return false;
  v3_scale(n, 1.0 / length, c->outward[i]);
  return true;
}
#endif
