/* Implementation of flow.h: job keys and constants of granular matter and liquids. */
#include "discretize/material/flow.h"

typedef struct {
  double mu_2, i_0, grain_diameter, grain_density;
} inertial_parameters;

typedef struct {
  double                     density, friction_angle_deg, shear_friction, cohesion;
  const inertial_parameters *inertial;
} granular_parameters;

typedef struct {
  double density;
} liquid_parameters;

#define POSITIVE .max = INFINITY, .is_open = true
/* clang-format off */
static const key_spec inertial_keys[] = {
  {.name = "mu_2", .type = KEY_REAL, .offset = offsetof(inertial_parameters, mu_2), .unit = "1", POSITIVE,
   .help = "shear stress over pressure in fast flow; larger than in slow flow"},
  {.name = "i_0", .type = KEY_REAL, .offset = offsetof(inertial_parameters, i_0), .unit = "1", POSITIVE, .help = "inertial number at which friction is the mean of slow and fast flow"},
  {.name = "grain_diameter", .type = KEY_REAL, .offset = offsetof(inertial_parameters, grain_diameter), .unit = "m", POSITIVE, .help = "diameter of a grain"},
  {.name = "grain_density", .type = KEY_REAL, .offset = offsetof(inertial_parameters, grain_density), .unit = "kg/m^3", POSITIVE,
   .help = "density of a grain, without voids"},
  {.name = NULL}};
static const key_table inertial_table = {.name = "materials.granular.inertial",
  .help = "Friction increases with the shear rate: mu(I) = mu + (mu_2 - mu)/(i_0/I + 1), with the inertial number I = rate grain_diameter sqrt(grain_density/p).",
  .size = sizeof(inertial_parameters), .keys = inertial_keys};

static const key_spec granular_keys[] = {
  {.name = "density", .type = KEY_REAL, .offset = offsetof(granular_parameters, density), .unit = "kg/m^3", POSITIVE, .help = "bulk density: mass per volume of packed grains and voids"},
  {.name = "friction_angle_deg", .type = KEY_REAL, .offset = offsetof(granular_parameters, friction_angle_deg), .unit = "degrees", .max = 90.0, .is_optional = true,
   .help = "friction angle: its sine is the ratio of shear stress to pressure, and the tangent of the slope at which the material flows"},
  {.name = "shear_friction", .type = KEY_REAL, .offset = offsetof(granular_parameters, shear_friction), .unit = "1", .max = INFINITY, .is_optional = true,
   .help = "instead of the angle: shear stress over pressure in slow steady simple shear"},
  {.name = "cohesion", .type = KEY_REAL, .offset = offsetof(granular_parameters, cohesion), .unit = "Pa", .fallback = "0", .max = INFINITY,
   .help = "shear strength without pressure"},
  {.name = "inertial", .type = KEY_TABLE, .offset = offsetof(granular_parameters, inertial), .table = &inertial_table, .is_optional = true,
   .help = "friction that depends on the shear rate"},
  {.name = NULL}};
const key_table material_keys_granular = {.name = "materials.granular",
  .help = "Grains that resist compression and, by friction, shear, without elasticity. For bodies of kind mac.",
  .size = sizeof(granular_parameters), .keys = granular_keys};

static const key_spec liquid_keys[] = {
  {.name = "density", .type = KEY_REAL, .offset = offsetof(liquid_parameters, density), .unit = "kg/m^3", POSITIVE, .help = "mass per volume"}, {.name = NULL}};
/* clang-format on */
const key_table material_keys_liquid = {
    .name = "materials.liquid",
    .help = "Liquid that resists compression only, and separates from walls without resistance. For bodies of kind mac.",
    .size = sizeof(liquid_parameters),
    .keys = liquid_keys};

PetscErrorCode material_flow_create(bool is_liquid, const void *parameters, material_flow *out)
{
  const granular_parameters *g = parameters;

  PetscFunctionBeginUser;
  *out = (material_flow){.is_liquid = is_liquid, .inertial = {[FLOW_INERTIAL] = 1.0}};
  if (is_liquid) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(isfinite(g->friction_angle_deg) != isfinite(g->shear_friction), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "give exactly one of friction_angle_deg and shear_friction (%s)",
             isfinite(g->shear_friction) ? "both are given" : "none is given");
  out->friction = isfinite(g->shear_friction) ? g->shear_friction : sin(g->friction_angle_deg * M_PI / 180.0);
  PetscCheck(
      g->cohesion == 0.0 || out->friction > 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
      "cohesion > 0 needs friction, but the friction coefficient is 0; increase friction_angle_deg or shear_friction, or set cohesion: 0");
  out->tension = g->cohesion > 0.0 ? g->cohesion / out->friction : 0.0;
  if (!g->inertial) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(g->inertial->mu_2 >= out->friction, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "inertial.mu_2 = %g is less than the friction coefficient %g of slow flow; increase mu_2, or decrease friction_angle_deg or "
             "shear_friction",
             g->inertial->mu_2, out->friction);
  out->is_inertial                   = true;
  out->inertial[FLOW_FAST]           = g->inertial->mu_2 - out->friction;
  out->inertial[FLOW_INERTIAL]       = g->inertial->i_0;
  out->inertial[FLOW_GRAIN_DIAMETER] = g->inertial->grain_diameter;
  out->inertial[FLOW_GRAIN_DENSITY]  = g->inertial->grain_density;
  PetscFunctionReturn(PETSC_SUCCESS);
}
