/* Text buffer that grows as text is appended, for writers of documents, manuals and messages. */
#ifndef SS_CORE_TEXT_H
#define SS_CORE_TEXT_H
#include "core/error.h"

/* Initialise with zeros; free with memory_free(&b.data). data is NULL before the first append; afterwards data[n] is 0. */
typedef struct {
  char   *data;
  int64_t n, capacity;
} text_buffer;

PetscErrorCode text_append(text_buffer *b, const char *s, int64_t n);
PetscErrorCode text_printf(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append `s` escaped for a man page: control characters of troff are escaped, a hyphen becomes a minus that can be copied, line ends become spaces. */
PetscErrorCode text_troff(text_buffer *b, const char *s);
#endif
