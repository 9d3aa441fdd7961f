/* Isotropic elasticity, common to the constitutive laws: the keys density, youngs_modulus and poisson_ratio, Lame's constants for small
 * strains, and the speed of pressure waves. The struct of parameters of every law begins with elastic_parameters, and that of its
 * constants with elastic_constants. Exception: tait_liquid, which has other parameters. */
#ifndef SS_DISCRETIZE_MATERIAL_ELASTIC_H
#define SS_DISCRETIZE_MATERIAL_ELASTIC_H
#include "core/error.h"
#include "core/key_table.h"
#include "core/lane_math.h"

/* First members of every law's parameters. */
typedef struct {
  double density, youngs_modulus, poisson_ratio; /* [kg/m^3], [Pa], [-] */
} elastic_parameters;

/* clang-format off */
#define ELASTIC_KEYS                                                                                                             \
  {.name = "density", .type = KEY_REAL, .offset = offsetof(elastic_parameters, density), .unit = "kg/m^3", .max = INFINITY,      \
   .is_open = true, .help = "mass per undeformed volume"},                                                                       \
  {.name = "youngs_modulus", .type = KEY_REAL, .offset = offsetof(elastic_parameters, youngs_modulus), .unit = "Pa",         \
   .max = INFINITY,                                                                                                              \
   .is_open = true, .help = "stiffness in uniaxial tension at small strain"},                                                    \
  {.name = "poisson_ratio", .type = KEY_REAL, .offset = offsetof(elastic_parameters, poisson_ratio), .unit = "1", .min = -1.0, \
   .max = 0.5,                                                                                                                   \
   .is_open = true, .help = "lateral contraction over axial extension in uniaxial tension"}
/* clang-format on */

extern const key_spec elastic_keys[]; /* only these keys: for laws without further parameters */

/* First members of the constants of every law. */
typedef struct {
  double mu, lambda; /* Lame's constants [Pa] */
} elastic_constants;

/* Lame's constants from Young's modulus and Poisson's ratio. */
static inline elastic_constants elastic_lame(const elastic_parameters *e)
{
  const double E = e->youngs_modulus, nu = e->poisson_ratio;
  return (elastic_constants){.mu = E / (2.0 * (1.0 + nu)), .lambda = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))};
}

/* Function material_law.prepare of laws whose constants are elastic_constants only. */
PetscErrorCode elastic_prepare(const void *parameters, void **constants);
/* Function material_law.wave_speed of laws whose constants start with elastic_constants [m/s]. */
double elastic_wave_speed(const void *constants, double density);

/* Returns a replacement for the divisor a + b = sigma_i + sigma_j of a derivative, with the same sign and a magnitude of at least
 * ELASTIC_LEAST_SUM. The divisor vanishes for some inverted stretches, where the rotation is not differentiable. */
#define ELASTIC_LEAST_SUM 1e-6
LANE double elastic_safe_sum(double a, double b)
{
  const double sum = a + b;
  return fabs(sum) < ELASTIC_LEAST_SUM ? copysign(ELASTIC_LEAST_SUM, sum) : sum;
}
#endif
