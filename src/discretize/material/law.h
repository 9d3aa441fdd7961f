/* What the constitutive laws share; for the files of this folder. */
#ifndef SS_DISCRETIZE_MATERIAL_LAW_H
#define SS_DISCRETIZE_MATERIAL_LAW_H
#include "core/lane_math.h"
#include "discretize/material/material.h"

/* All laws, by the name of their file: material_law_NAME and its keys material_keys_NAME. */
#define MATERIAL_LAW_TABLE(X)                                                                                                      \
  X(fixed_corotated) X(linear_corotated) X(neo_hookean) X(snow) X(drucker_prager) X(von_mises) X(tait_liquid)
#define X(name)                                                                                                                    \
  extern const material_law material_law_##name;                                                                                   \
  extern const key_table    material_keys_##name;
MATERIAL_LAW_TABLE(X)
#undef X

/* First members of every law's parameters. */
typedef struct {
  double density, youngs_modulus, poisson_ratio;
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
   .is_open = true, .help = "sideways contraction per stretch"}
/* clang-format on */

extern const key_spec elastic_keys[]; /* these and no others: laws without further parameters */

/* First members of every law's constants. [Pa] */
typedef struct {
  double mu, lambda; /* Lame's */
} elastic_constants;

static inline elastic_constants elastic_lame(const elastic_parameters *e)
{
  const double E = e->youngs_modulus, nu = e->poisson_ratio;
  return (elastic_constants){.mu = E / (2.0 * (1.0 + nu)), .lambda = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))};
}

/* material_law.prepare of laws with these constants alone; their parameters start with elastic_parameters. */
PetscErrorCode elastic_prepare(const void *parameters, void **constants);
/* material_law.wave_speed of every law: its constants start with elastic_constants. */
double elastic_wave_speed(const void *constants, double density);

/* The linear corotated law about the rotation R0 of the gradient that the step started from (lagged.c), with elastic_constants. */
void lagged_rotation(int64_t n, const material_row *F, material_row *R); /* of F's polar decomposition */
void lagged_stress(const void *constants, int64_t n, const material_row *start, const material_row *F, const material_row *state,
                   material_row *P, material_row *U, material_row *dp, material_row *a, material_row *b);
void lagged_chord(int64_t n, const material_row *R, const material_row *R0, double *chord); /* |R - R0|_F */
/* material_law.energy of linear_corotated, in the stretches: mu |sigma - 1|^2 + lambda/2 (sum (sigma - 1))^2. */
void linear_corotated_energy(const void *constants, int64_t n, const material_row *sigma, const material_row *state, double *psi);

/* Where a law's derivative divides by sigma_i + sigma_j, which may vanish for inverted stretches: the rotation is not
 * differentiable there. Keeps the sign and a distance from zero. */
#define ELASTIC_LEAST_SUM 1e-6
LANE double elastic_safe_sum(double a, double b)
{
  const double sum = a + b;
  return fabs(sum) < ELASTIC_LEAST_SUM ? copysign(ELASTIC_LEAST_SUM, sum) : sum;
}
#endif
