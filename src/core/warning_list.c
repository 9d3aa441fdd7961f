/* List of warnings, see warning_list.h. */
#include "core/warning_list.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/log.h"
#include "core/memory.h"

enum { MAX_WARNING = 1024 };

typedef struct {
  char   *code, *subject, *text;
  int64_t n_repeated;
} warning;

struct warning_list {
  int      n, n_disabled;
  warning *item;     /* [n] */
  char   **disabled; /* [n_disabled] codes */
};

PetscErrorCode warning_list_create(warning_list **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("warnings", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void warning_list_destroy(warning_list **w)
{
  if (!*w) return;
  for (int i = 0; i < (*w)->n; ++i) MEMORY_FREE(&(*w)->item[i].code, &(*w)->item[i].subject, &(*w)->item[i].text);
  for (int i = 0; i < (*w)->n_disabled; ++i) memory_free(&(*w)->disabled[i]);
  MEMORY_FREE(&(*w)->item, &(*w)->disabled, w);
}

static PetscErrorCode copy_text(const char *s, char **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("warnings", (int64_t)strlen(s) + 1, 1, out));
  strcpy(*out, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode warning_list_disable(warning_list *w, const char *code)
{
  PetscFunctionBegin;
  PetscCall(memory_resize("warnings", w->n_disabled + 1, sizeof *w->disabled, &w->disabled));
  PetscCall(copy_text(code, &w->disabled[w->n_disabled]));
  ++w->n_disabled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode append_warning(warning_list *w, const char *code, const char *subject, const char *text)
{
  warning item = {.n_repeated = 1};
  PetscFunctionBegin;
  PetscCall(memory_resize("warnings", w->n + 1, sizeof *w->item, &w->item));
  PetscErrorCode error = copy_text(code, &item.code);
  if (!error) error = copy_text(subject, &item.subject);
  if (!error) error = copy_text(text, &item.text);
  if (error) MEMORY_FREE(&item.code, &item.subject, &item.text);
  else w->item[w->n++] = item;
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void warning_list_add(warning_list *w, const char *code, const char *subject, const char *format, ...)
{
  char    text[MAX_WARNING];
  va_list arguments;
  for (int i = 0; i < w->n_disabled; ++i)
    if (strcmp(w->disabled[i], code) == 0) return;
  for (int i = 0; i < w->n; ++i)
    if (strcmp(w->item[i].code, code) == 0 && strcmp(w->item[i].subject, subject) == 0) {
      ++w->item[i].n_repeated;
      return;
    }
  int n = snprintf(text, sizeof text, "%.300s: ", subject);
  va_start(arguments, format);
  (void)vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
  va_end(arguments);
  n = (int)strlen(text);
  (void)snprintf(text + n, sizeof text - (size_t)n, " [%.60s]", code);
  if (append_warning(w, code, subject, text)) {
    error_clear();
    log_warn("%s", text);
  }
}

int         warning_list_count(const warning_list *w) { return w->n; }
const char *warning_list_code(const warning_list *w, int i) { return w->item[i].code; }
const char *warning_list_subject(const warning_list *w, int i) { return w->item[i].subject; }
const char *warning_list_text(const warning_list *w, int i) { return w->item[i].text; }
int64_t     warning_list_repeated(const warning_list *w, int i) { return w->item[i].n_repeated; }

int warning_list_log(const warning_list *w, int first)
{
  for (int i = first; i < w->n; ++i) log_warn("%s", w->item[i].text);
  return w->n;
}
