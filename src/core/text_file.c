#include "core/text_file.h"
#include "core/memory.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum { LARGEST = 64 << 20 };

PetscErrorCode text_file_read(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d,
                            char **text, int *n)
{
  PetscFunctionBegin;
  *text   = NULL;
  FILE *f = fopen(file, "rb");
  if (!f) {
    diagnostics_add_under(d, node, path, key, "cannot read %s: %s", file, strerror(errno));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  struct stat about;
  const bool  is_file = fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode), is_large = is_file && about.st_size > LARGEST;
  const size_t   size = is_file && !is_large ? (size_t)about.st_size : 0;
  PetscErrorCode code = memory_alloc("text of a file", (int64_t)size + 1, 1, text);
  const bool     is_bad = !is_file || (!code && (fread(*text, 1, size, f) != size || ferror(f)));
  (void)fclose(f);
  PetscCall(code);
  if (is_bad || is_large) {
    diagnostics_add_under(d, node, path, key, "cannot read %s: %s", file,
                          is_large   ? "it has more than 64 MiB"
                          : !is_file ? "it is no file"
                                     : "the disk or the folder refuses");
    memory_free(text);
  }
  *n = (int)size;
  PetscFunctionReturn(PETSC_SUCCESS);
}
