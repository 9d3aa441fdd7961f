/* A text that grows: for writers of documents, manuals and messages. */
#ifndef SS_CORE_TEXT_H
#define SS_CORE_TEXT_H
#include "core/error.h"

/* Zero-initialise; free with memory_free(&b.data). data[n] is always 0 once anything was written; NULL before. */
typedef struct {
  char   *data;
  int64_t n, capacity;
} text_buffer;

PetscErrorCode text_append(text_buffer *b, const char *s, int64_t n);
PetscErrorCode text_printf(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `s` for a man page: no control line, no escape, a hyphen that can be copied as a minus, line ends as spaces. */
PetscErrorCode text_troff(text_buffer *b, const char *s);
#endif
