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
/* Add an entry with the position `mark` and the key path `path`. mark.line 0: without position. path NULL: without key path. */
void diagnostics_add(diagnostics *d, document_mark mark, const char *path, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Add an entry for the value of `key` (for example "mesh.path") below `node`. The position is that of the value; for a value that is not in the file it
 * is that of the nearest ancestor in the file. The printed path is `path`.`key`. key NULL: the entry is for `node` itself. */
void diagnostics_add_under(diagnostics *d, const document_node *node, const char *path, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Convert an error into an entry. If `code` is PETSC_ERR_USER_INPUT, PETSC_ERR_FILE_OPEN or PETSC_ERR_FILE_READ: add its message as diagnostics_add_under
 * does, clear the error and return true. Otherwise return false. */
bool        diagnostics_take(diagnostics *d, const document_node *node, const char *path, const char *key, PetscErrorCode code);
int         diagnostics_count(const diagnostics *d);
const char *diagnostics_text(const diagnostics *d, int i); /* entry i, 0 <= i < diagnostics_count; owned by the list */
/* Position of entry i; line 0: none. The file name is owned by the list. */
document_mark diagnostics_mark(const diagnostics *d, int i);
/* Copy the entries of `from` that `d` does not contain, compared by their whole text. */
void diagnostics_merge(diagnostics *d, const diagnostics *from);
void diagnostics_sort(diagnostics *d); /* by file, line and column */
/* If the list is not empty: sort it, print its entries to `out` and return PETSC_ERR_USER_INPUT. This error has no message, as the list is printed. */
PetscErrorCode diagnostics_close(diagnostics *d, FILE *out);
/* The name most similar to `word` among n names, for "did you mean". NULL if no name is similar (edit distance, common beginning). */
const char *diagnostics_nearest(const char *word, int n, const char *const *names);

/* Read a text file named by a job key: *text [*n + 1] with a final 0; memory_free(*text). If the file cannot be read, is not a regular file or has
 * more than 64 MiB: add an entry for `key` of `node` as diagnostics_add_under does, and set *text = NULL. */
PetscErrorCode diagnostics_read_file(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d,
                                     char **text, int *n);
#endif
