/* The array of all kinds of bodies and the key table of `bodies:`, generated from BODY_KIND_TABLE. */
#include "discretize/body_kinds.h"

#define X(name) &name##_body_kind,
const body_kind *const body_kinds[] = {BODY_KIND_TABLE(X) NULL};
#undef X

#define X(kind) {.name = #kind, .table = &kind##_body_table},
static const key_variant variants[] = {BODY_KIND_TABLE(X){.name = NULL}};
#undef X

const key_table body_table = {.name = "bodies", .help = "Bodies of the scene, by name.", .variant_key = "kind", .variants = variants};
