/* Import of robots in the Unified Robot Description Format (URDF). */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#include "core/diagnostics.h"

/* Links and joints of a file in the words of a job (articulated_model_table), drawn at zero with the root link at x -> c + R x, on
 * a joint `base` of this type, "fixed" or "free". Places are those in the file. Mistakes go to `d`, then *out is NULL; `node`,
 * `path`: the key that named the file. *doc owns it, and is made even then. */
PetscErrorCode articulated_urdf_read(const char *file, const double c[3], const double R[9], const char *base,
                                     const document_node *node, const char *path, diagnostics *d, document **doc,
                                     document_node **out);
#endif
