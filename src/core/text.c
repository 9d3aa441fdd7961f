/* The capacity doubles; text_printf formats twice, the first time to determine the length. */
#include "core/text.h"
#include "core/memory.h"
#include <stdarg.h>
#include <string.h>

static PetscErrorCode text_reserve(text_buffer *b, int64_t more)
{
  PetscFunctionBegin;
  if (b->n + more + 1 > b->capacity) {
    const int64_t wanted = b->n + more + 1, twice = 2 * b->capacity;
    const int64_t capacity = wanted > twice ? (wanted < 256 ? 256 : wanted) : twice;
    PetscCall(memory_resize("text", capacity, 1, &b->data));
    b->capacity = capacity;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode text_append(text_buffer *b, const char *s, int64_t n)
{
  PetscFunctionBegin;
  PetscCall(text_reserve(b, n));
  if (n > 0) memcpy(b->data + b->n, s, (size_t)n);
  b->n += n;
  b->data[b->n] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode text_printf(text_buffer *b, const char *format, ...)
{
  va_list arguments;

  PetscFunctionBegin;
  va_start(arguments, format);
  const int n = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "vsnprintf rejected the format \"%s\"", format);
  PetscCall(text_reserve(b, n));
  va_start(arguments, format);
  (void)vsnprintf(b->data + b->n, (size_t)n + 1, format, arguments);
  va_end(arguments);
  b->n += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode text_troff(text_buffer *b, const char *s)
{
  PetscFunctionBegin;
  if (*s == '.' || *s == '\'') PetscCall(text_append(b, "\\&", 2));
  for (; *s; ++s) {
    if (*s == '\\') PetscCall(text_append(b, "\\e", 2));
    else if (*s == '-') PetscCall(text_append(b, "\\-", 2));
    else if (*s == '\'') PetscCall(text_append(b, "\\(aq", 4));
    else if (*s == '`') PetscCall(text_append(b, "\\(ga", 4));
    else if (*s == '"') PetscCall(text_append(b, "\\(dq", 4));
    else if (*s == '\n') PetscCall(text_append(b, " ", 1));
    else PetscCall(text_append(b, s, 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
