/* Materials without elasticity: granular matter and liquids. They are incompressible under pressure and have no stress function: the
 * granular solver (optim/granular) computes friction stress s and pressure p together [TakahashiBatty2021]. Used by bodies of kind mac.
 *
 * The friction M is the ratio of shear stress to pressure in simple shear: |s|_F <= sqrt(2) M (p + tension), M = sin(friction angle). With
 * `inertial` constants it increases with the inertial number I = |rate| d sqrt(rho_s/p) [JopForterrePouliquen2006]:
 *   M(I) = M + (M_2 - M)/(I_0/I + 1),   |rate| = sqrt(2 e:e) for the deviatoric strain rate e. */
#ifndef SS_DISCRETIZE_MATERIAL_FLOW_H
#define SS_DISCRETIZE_MATERIAL_FLOW_H
#include "core/error.h"
#include "core/key_table.h"
#include <math.h>

enum { FLOW_FAST, FLOW_INERTIAL, FLOW_GRAIN_DIAMETER, FLOW_GRAIN_DENSITY, FLOW_N_INERTIAL }; /* M_2 - M, I_0, d [m], rho_s [kg/m^3] */
typedef struct {
  bool   is_liquid, is_inertial;
  double friction, tension;         /* M, 0 for liquids; p >= -tension [Pa] */
  double inertial[FLOW_N_INERTIAL]; /* without such constants: 0, 1, 0, 0, so that friction is M at any rate */
} material_flow;

/* Set *out from the parameters of a material of model granular or liquid. PETSC_ERR_USER_INPUT for inconsistent keys. */
PetscErrorCode material_flow_create(bool is_liquid, const void *parameters, material_flow *out);
/* Returns M at a shear rate [1/s] and a pressure [Pa]; friction: M at rest. */
static inline double material_flow_friction(double friction, const double inertial[FLOW_N_INERTIAL], double rate, double pressure)
{
  const double number = rate * inertial[FLOW_GRAIN_DIAMETER] * sqrt(inertial[FLOW_GRAIN_DENSITY] / fmax(pressure, 1e-300));
  return number > 0.0 ? friction + inertial[FLOW_FAST] / (inertial[FLOW_INERTIAL] / number + 1.0) : friction;
}
extern const key_table material_keys_granular, material_keys_liquid; /* structs start with `double density` */
#endif
