/* Import of robots in the Unified Robot Description Format (URDF). */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_H
#include "core/diagnostics.h"

/* Read links and joints of a file and translate them to job entries *out (articulated_model_table), with all joints at zero. A point x of the URDF
 * is placed at c + R x. The root link gets a joint of type `base`, "fixed" or "free". Errors are reported to `d` with positions in the file; *out
 * is then NULL. node, path: the job key that contains the file name. *doc owns the entries; it is created even after errors. */
PetscErrorCode articulated_urdf_read(const char *file, const double c[3], const double R[9], const char *base, const document_node *node,
                                     const char *path, diagnostics *d, document **doc, document_node **out);
#endif
