/* Import of robots in the Unified Robot Description Format (URDF). */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#include "core/diagnostics.h"

/* Read links and joints of a file as job entries (articulated_model_table). Joints are at zero; the root link is placed at x -> c
 * + R x and carried by a joint `base` of type "fixed" or "free". Positions in messages are those in the file. Errors are reported
 * to `d`; then *out is NULL. `node`, `path`: the key that named the file. *doc owns the entries; it is created even after errors.
 */
PetscErrorCode articulated_urdf_read(const char *file, const double c[3], const double R[9], const char *base, const document_node *node,
                                     const char *path, diagnostics *d, document **doc, document_node **out);
#endif
