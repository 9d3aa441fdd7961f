/* The registry of materials: all values of `model:` under `materials:` in a job. A new constitutive law has a file with its functions
 * material_law_NAME and its key table material_keys_NAME, and one entry in MATERIAL_LAW_TABLE. Used by the job reader and the scene. */
#ifndef SS_DISCRETIZE_MATERIAL_MATERIAL_REGISTRY_H
#define SS_DISCRETIZE_MATERIAL_MATERIAL_REGISTRY_H
#include "discretize/material/material.h"

/* All laws; the name is that of the file. */
/* clang-format off */
#define MATERIAL_LAW_TABLE(X)                                                                                                      \
  X(fixed_corotated) X(linear_corotated) X(neo_hookean) X(snow) X(drucker_prager) X(von_mises) X(tait_liquid)
#define X(name)                                                                                                                    \
  extern const material_law material_law_##name;                                                                                   \
  extern const key_table    material_keys_##name;
/* clang-format on */
MATERIAL_LAW_TABLE(X)
#undef X

/* All laws in the order of the table, NULL-terminated. */
extern const material_law *const material_laws[];
/* Key table of `materials:`. Variants of `model:` are the laws in the order of material_laws, then "rigid" with only density, then granular
 * and liquid (flow.h). The struct of every variant starts with `double density`. */
extern const key_table material_table;
/* Create a material from its parameters; variant: index of its model in material_table. Errors as material_create. */
PetscErrorCode material_from_variant(const char *name, int variant, const void *parameters, material **out);
#endif
