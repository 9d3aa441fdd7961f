/* What is on the staggered grid during a step, between particles -> grid and grid -> particles. Arrays over slots of the grid; the
 * owner
 * (mac_domain) allocates and fills them, the operators of mac_system read them. */
#ifndef SS_DISCRETIZE_MAC_MAC_STATE_H
#define SS_DISCRETIZE_MAC_MAC_STATE_H
#include "discretize/mac/mac_grid.h"

enum { MAC_MU_I_CONSTANTS = 4 }; /* friction_2 - friction, I_0, grain diameter [m], grain density [kg/m^3]; as in material/flow.h */

typedef struct mac_state {
  mac_grid grid;
  /* particles on it: n[s] at x[s][axis] of set s */
  int                   n_sets;
  const int64_t        *n;
  const double *const (*x)[3];
  /* lower faces */
  double *mass[3];     /* kg */
  double *u[3];        /* m/s: u* in, u^{n+1} out; of faces without mass: 0, then extrapolated */
  double *old_u[3];    /* m/s: from the particles, for FLIP; NULL: not wanted */
  /* cells: mass in a hat kernel over h^3, and means of the particles' constants weighted with it, 0 where there is no mass */
  double *rho;          /* kg/m^3 */
  double *rest_density; /* kg/m^3 */
  double *friction;     /* M = |s|_F / (sqrt(2) p) at yield; 0: a liquid */
  double *cohesion;     /* Pa: p >= -cohesion */
  double *mu_i[MAC_MU_I_CONSTANTS]; /* NULL: M does not depend on the rate */
  double *pressure;     /* Pa, for frames: 0 until the formulation writes what it found */
} mac_state;
#endif
