/* A text file that a job names, as a whole. */
#ifndef SS_CORE_TEXT_FILE_H
#define SS_CORE_TEXT_FILE_H
#include "core/diagnostics.h"
#include "core/document.h"

/* *text [*n + 1], the last byte 0, to be freed with memory_free. NULL after a complaint, which is about `key` of `node` under `path`: what cannot be
 * read, is no file, or has more than 64 MiB. */
PetscErrorCode text_file_read(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d, char **text,
                              int *n);
#endif
