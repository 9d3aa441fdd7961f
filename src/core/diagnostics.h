/* List of errors in user input (job file, command line, imported files), so that one run reports all of them with their positions.
 *
 * Readers of YAML, key tables and scene checks add entries; the command that validates a job prints the list with diagnostics_close and exits
 * with PETSC_ERR_USER_INPUT. An entry reads "file:line:column: path.to.key: message". */
#ifndef SS_CORE_DIAGNOSTICS_H
#define SS_CORE_DIAGNOSTICS_H
#include "core/document.h"

typedef struct diagnostics diagnostics;
PetscErrorCode             diagnostics_create(diagnostics **out);
void                       diagnostics_destroy(diagnostics **d);
/* Add "file:line:column: path.to.key: message". With mark.line 0 the position is omitted, with path NULL the path. */
void diagnostics_add(diagnostics *d, document_mark mark, const char *path, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Add an entry on the value of `key` ("mesh.path") below `node`. Its position is that of the value or, where the value is not in the file, of the
 * nearest ancestor that is. The printed path is `path`.`key`. key NULL: the entry concerns the node itself. */
void diagnostics_add_under(diagnostics *d, const document_node *node, const char *path, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Convert an error into an entry: if `code` means bad user input or a file that cannot be read, add its message as above, clear the error and
 * return true. Otherwise return false. */
bool        diagnostics_take(diagnostics *d, const document_node *node, const char *path, const char *key, PetscErrorCode code);
int         diagnostics_count(const diagnostics *d);
const char *diagnostics_text(const diagnostics *d, int i); /* sorted by file, line, column after diagnostics_sort */
void        diagnostics_sort(diagnostics *d);
/* If the list is not empty: sort it, print every entry to `out` and return PETSC_ERR_USER_INPUT (without a message, as it has been reported). */
PetscErrorCode diagnostics_close(diagnostics *d, FILE *out);
/* The name most similar to `word` among n names, for "did you mean"; NULL if the edit distance of all of them is too large. */
const char *diagnostics_nearest(const char *word, int n, const char *const *names);

/* Read a text file named by a job key: *text [*n + 1] with a final 0; memory_free(*text). If the file cannot be read, is not a regular file or has
 * more than 64 MiB, add an entry on `key` of `node` (as diagnostics_add_under) and set *text = NULL. */
PetscErrorCode diagnostics_read_file(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d,
                                     char **text, int *n);
#endif
