/* The bytes behind a document, and who includes whom; private to yaml*.c. */
#ifndef SS_IO_YAML_FILE_H
#define SS_IO_YAML_FILE_H
#include "core/diagnostics.h"
#include <sys/types.h>

typedef struct yaml_file yaml_file;
struct yaml_file {
  const char      *name;  /* owned by the document, as it stands in complaints */
  char            *bytes; /* memory_free, if loaded */
  size_t           n;
  dev_t            device; /* who it is, to find circles; 0, 0 for a text */
  ino_t            inode;
  const yaml_file *parent; /* who included it */
};

/* Load a whole file of at most `limit` bytes. *problem: NULL or the reason in words (static or owned by doc). Included files
 * must be regular, so that nobody waits for a pipe or reads a device; the first one may be anything. */
PetscErrorCode yaml_file_load(document *doc, const char *name, size_t limit, yaml_file *file, const char **problem);
/* The name of `target` seen from the folder of `from`; NULL if memory is out. */
const char *yaml_file_relative(document *doc, const char *from, const char *target);
#endif
