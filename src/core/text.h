/* Text buffer that grows as text is appended, for writers of documents, manuals and messages. */
#ifndef SS_CORE_TEXT_H
#define SS_CORE_TEXT_H
#include "core/error.h"

/* Initialise with zeros; free with text_clear. data is NULL before the first append; afterwards data[n] is 0.
 *
 * Functions that append return nothing, so that their callers need no error handling. If memory is exhausted, `code` stores the error, and later calls
 * have no effect. Before the owner of the buffer uses the text, it must call PetscCall(b.code), text_take or file_replace_with (io/file.h). */
typedef struct {
  char          *data;
  int64_t        n, capacity;
  PetscErrorCode code; /* first error, or PETSC_SUCCESS */
} text_buffer;

void text_append(text_buffer *b, const char *s, int64_t n);
void text_put(text_buffer *b, const char *s); /* appends up to the final 0 of `s` */
void text_printf(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append `s` with every occurrence of `character` replaced by `text`. */
void text_escape(text_buffer *b, const char *s, char character, const char *text);
/* Append the text of another buffer; an error of `other` becomes the error of `b`. */
void text_join(text_buffer *b, const text_buffer *other);
/* Append `s` escaped for a man page: control characters of troff are escaped, a hyphen becomes a minus that can be copied, line ends become spaces. */
void text_troff(text_buffer *b, const char *s);

/* Move the text to *text (NULL: nothing was appended); the caller calls memory_free. After an error *text is NULL and the error is returned. */
PetscErrorCode text_take(text_buffer *b, char **text);
/* Free the text; the buffer can be used again. */
void text_clear(text_buffer *b);
#endif
