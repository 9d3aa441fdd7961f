/* Implementation of material_registry.h: the table of laws and the key table of `materials:`. */
#include "discretize/material/material_registry.h"
#include "core/memory.h"

#define X(name) &material_law_##name,
const material_law *const material_laws[] = {MATERIAL_LAW_TABLE(X) NULL};
#undef X

typedef struct {
  double density;
} rigid_parameters;

/* clang-format off */
static const key_spec  rigid_keys[] = {
  {.name = "density", .type = KEY_REAL, .offset = offsetof(rigid_parameters, density), .unit = "kg/m^3", .max = INFINITY,
   .is_open = true, .help = "mass per volume"},
                                       {0}};
/* clang-format on */
static const key_table rigid_table = {.name = "materials.rigid",
                                      .help = "Rigid material. The mass of a rigid body follows from its shape.",
                                      .size = sizeof(rigid_parameters),
                                      .keys = rigid_keys};

#define X(law) {.name = #law, .table = &material_keys_##law},
static const key_variant variants[] = {MATERIAL_LAW_TABLE(X){.name = "rigid", .table = &rigid_table},
                                       {.name = "granular", .table = &material_keys_granular},
                                       {.name = "liquid", .table = &material_keys_liquid},
                                       {0}};
#undef X

const key_table material_table = {.name        = "materials",
                                  .help        = "Materials of bodies. The key `model` selects the constitutive law.",
                                  .variant_key = "model",
                                  .variants    = variants};

PetscErrorCode material_from_variant(const char *name, int variant, const void *parameters, material **out)
{
  const key_table    *keys    = material_table.variants[variant].table;
  const bool          is_flow = keys == &material_keys_granular || keys == &material_keys_liquid;
  const material_law *law     = is_flow || keys == &rigid_table ? NULL : material_laws[variant];
  PetscFunctionBeginUser;
  if (law && law->choose) law = law->choose(parameters);
  PetscCall(material_create(name, law, parameters, *(const double *)parameters, out));
  if (!is_flow) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = memory_alloc("material", 1, sizeof *(*out)->flow, &(*out)->flow);
  if (!code) code = material_flow_create(keys == &material_keys_liquid, parameters, (*out)->flow);
  if (code) material_destroy(out);
  PetscFunctionReturn(code);
}
