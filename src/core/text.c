/* Text buffer, see text.h. The capacity doubles when it is exceeded. text_printf formats twice: first to determine the length. */
#include "core/text.h"
#include "core/memory.h"
#include <stdarg.h>
#include <string.h>

static PetscErrorCode grow(text_buffer *b, int64_t more)
{
  PetscFunctionBegin;
  PetscCheck(more >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "vsnprintf rejected the format of a text");
  if (b->n + more + 1 > b->capacity) {
    const int64_t wanted = b->n + more + 1, twice = 2 * b->capacity;
    const int64_t capacity = wanted > twice ? (wanted < 256 ? 256 : wanted) : twice;
    PetscCall(memory_resize("text", capacity, 1, &b->data));
    b->capacity = capacity;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* False after an error, of this or of an earlier call. */
static bool text_reserve(text_buffer *b, int64_t more)
{
  if (!b->code) b->code = grow(b, more);
  return !b->code;
}

void text_append(text_buffer *b, const char *s, int64_t n)
{
  if (!text_reserve(b, n)) return;
  if (n > 0) memcpy(b->data + b->n, s, (size_t)n);
  b->n += n;
  b->data[b->n] = 0;
}

void text_put(text_buffer *b, const char *s) { text_append(b, s, (int64_t)strlen(s)); }

void text_printf(text_buffer *b, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (!text_reserve(b, n)) return;
  va_start(arguments, format);
  (void)vsnprintf(b->data + b->n, (size_t)n + 1, format, arguments);
  va_end(arguments);
  b->n += n;
}

void text_escape(text_buffer *b, const char *s, char character, const char *text)
{
  for (; *s; ++s) {
    if (*s == character) text_put(b, text);
    else text_append(b, s, 1);
  }
}

void text_join(text_buffer *b, const text_buffer *other)
{
  if (!b->code) b->code = other->code;
  text_append(b, other->data, other->n);
}

void text_troff(text_buffer *b, const char *s)
{
  if (*s == '.' || *s == '\'') text_put(b, "\\&");
  for (; *s; ++s) {
    if (*s == '\\') text_put(b, "\\e");
    else if (*s == '-') text_put(b, "\\-");
    else if (*s == '\'') text_put(b, "\\(aq");
    else if (*s == '`') text_put(b, "\\(ga");
    else if (*s == '"') text_put(b, "\\(dq");
    else text_append(b, *s == '\n' ? " " : s, 1);
  }
}

PetscErrorCode text_take(text_buffer *b, char **text)
{
  PetscFunctionBegin;
  const PetscErrorCode code = b->code;
  if (code) text_clear(b);
  *text   = b->data;
  b->data = NULL;
  text_clear(b);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void text_clear(text_buffer *b)
{
  memory_free(&b->data);
  *b = (text_buffer){0};
}
