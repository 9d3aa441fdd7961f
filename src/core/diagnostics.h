/* The user's mistakes, collected so that one run reports them all, each with its place. */
#ifndef SS_CORE_DIAGNOSTICS_H
#define SS_CORE_DIAGNOSTICS_H
#include "core/document.h"

typedef struct diagnostics diagnostics;
PetscErrorCode diagnostics_create(diagnostics **out);
void           diagnostics_destroy(diagnostics **d);
/* "file:line:column: path.to.key: message"; mark.line 0 leaves the place out, path NULL leaves the path out. */
void diagnostics_add(diagnostics *d, document_mark mark, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same about what stands under `key` ("mesh.path") in `node`: at its place or, where it is not written, at that of what is
 * written above it; the path reads `path`.`key`. key NULL: about the node itself. */
void diagnostics_add_under(diagnostics *d, const document_node *node, const char *path, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* If `code` is a mistake of the user's (bad input, a file that cannot be read), its message becomes such a complaint, the error
 * is cleared, and the answer is true. */
bool diagnostics_take(diagnostics *d, const document_node *node, const char *path, const char *key, PetscErrorCode code);
int         diagnostics_count(const diagnostics *d);
const char *diagnostics_text(const diagnostics *d, int i); /* sorted by file, line, column after diagnostics_sort */
void        diagnostics_sort(diagnostics *d);
/* Nothing if empty; else sorts, prints every line to `out` and returns PETSC_ERR_USER_INPUT (already reported). */
PetscErrorCode diagnostics_close(diagnostics *d, FILE *out);
/* The nearest of n names within a sensible edit distance, or NULL: for "did you mean". */
const char *diagnostics_nearest(const char *word, int n, const char *const *names);

/* A text file that a job names, as a whole. */

/* *text [*n + 1], the last byte 0, to be freed with memory_free. NULL after a complaint, which is about `key` of `node` under `path`: what cannot be
 * read, is no file, or has more than 64 MiB. */
PetscErrorCode text_file_read(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d, char **text,
                              int *n);
#endif
