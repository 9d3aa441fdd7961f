#include "discretize/articulated/articulated_urdf.h"
PetscErrorCode articulated_urdf_read(const char *file, const double c[3], const double R[9], const char *base, const document_node *node,
                                     const char *path, diagnostics *d, document **doc, document_node **out)
{
  (void)file, (void)c, (void)R, (void)base, (void)doc;
  diagnostics_add_under(d, node, path, "urdf", "cannot be read yet: write links and joints");
  *out = NULL;
  return PETSC_SUCCESS;
}
