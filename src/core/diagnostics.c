/* List of errors in user input, see diagnostics.h. */
#include "core/diagnostics.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/memory.h"
#include "core/regular_file.h"

/* Largest number of entries printed: a damaged file can have 100,000 errors. */
enum { MAX_PRINTED = 100, MAX_LINE = 2048, FIRST_CAPACITY = 16 };

typedef struct {
  char *text; /* the whole line */
  char *file; /* NULL: no place */
  int   line, column, order;
} diagnostic;

struct diagnostics {
  int         n, capacity;
  diagnostic *item;
};

PetscErrorCode diagnostics_create(diagnostics **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("diagnostics", 1, sizeof **out, out));
  /* from the start, so that the first error is counted even when memory has run out */
  PetscCall(memory_alloc("diagnostics", FIRST_CAPACITY, sizeof *(*out)->item, &(*out)->item));
  (*out)->capacity = FIRST_CAPACITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void diagnostics_destroy(diagnostics **d)
{
  if (!*d) return;
  for (int i = 0; i < (*d)->n; ++i) MEMORY_FREE(&(*d)->item[i].text, &(*d)->item[i].file);
  MEMORY_FREE(&(*d)->item, d);
}

static char *copy_text(const char *s)
{
  char *copy = NULL;
  if (s && !memory_alloc("diagnostics", (int64_t)strlen(s) + 1, 1, &copy)) strcpy(copy, s);
  return copy;
}

/* Append a complete line. */
static void append_line(diagnostics *d, document_mark mark, const char *line)
{
  if (d->n == d->capacity) {
    const int capacity = 2 * d->capacity;
    if (memory_resize("diagnostics", capacity, sizeof *d->item, &d->item)) {
      fprintf(stderr, "%s\n", line); /* out of memory: the error must not be lost, and the count is > 0 by now */
      return;
    }
    d->capacity = capacity;
  }
  d->item[d->n] = (diagnostic){copy_text(line), mark.line > 0 ? copy_text(mark.file) : NULL, mark.line, mark.column, d->n};
  ++d->n;
}

static void diagnostics_add_entry(diagnostics *d, document_mark mark, const char *path, const char *format, va_list arguments)
{
  char line[MAX_LINE];
  int  n = 0;

  if (mark.line > 0) n = snprintf(line, sizeof line, "%.500s:%d:%d: ", mark.file ? mark.file : "", mark.line, mark.column);
  if (path && *path) n += snprintf(line + n, sizeof line - (size_t)n, "%.500s: ", path);
  (void)vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
  /* the text may quote the user's file: keep it to one line and away from the terminal's control codes */
  for (unsigned char *c = (unsigned char *)line; *c; ++c)
    if (*c < 0x20 || *c == 0x7f) *c = *c == '\n' || *c == '\t' ? ' ' : '?';
  append_line(d, mark, line);
}

void diagnostics_add(diagnostics *d, document_mark mark, const char *path, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  diagnostics_add_entry(d, mark, path, format, arguments);
  va_end(arguments);
}

/* The deepest existing node along dotted keys; NULL if there is none at all. */
static const document_node *descend(const document_node *node, const char *key)
{
  char name[128];
  while (node && key && *key) {
    const size_t n = strcspn(key, ".");
    if (n >= sizeof name) return node;
    memcpy(name, key, n);
    name[n]                    = '\0';
    const document_node *child = document_find(node, name);
    if (!child) return node;
    node = child;
    key += n + (key[n] == '.');
  }
  return node;
}

void diagnostics_add_under(diagnostics *d, const document_node *node, const char *path, const char *key, const char *format, ...)
{
  const document_mark  none  = {0};
  const document_node *place = descend(node, key);
  char                 full[512];
  va_list              arguments;
  (void)snprintf(full, sizeof full, "%.300s%s%.200s", path, key ? "." : "", key ? key : "");
  va_start(arguments, format);
  diagnostics_add_entry(d, place ? place->mark : none, full, format, arguments);
  va_end(arguments);
}

bool diagnostics_take(diagnostics *d, const document_node *node, const char *path, const char *key, PetscErrorCode code)
{
  if (code != PETSC_ERR_USER_INPUT && code != PETSC_ERR_FILE_OPEN && code != PETSC_ERR_FILE_READ) return false;
  diagnostics_add_under(d, node, path, key, "%s", error_message());
  error_clear();
  return true;
}

int diagnostics_count(const diagnostics *d) { return d->n; }

const char *diagnostics_text(const diagnostics *d, int i)
{
  SS_ASSERT(i >= 0 && i < d->n);
  return d->item[i].text ? d->item[i].text : "(no memory left for this message)";
}

document_mark diagnostics_mark(const diagnostics *d, int i) { return (document_mark){d->item[i].file, d->item[i].line, d->item[i].column}; }

static bool has_text(const diagnostics *d, const char *text)
{
  for (int i = 0; i < d->n; ++i)
    if (strcmp(diagnostics_text(d, i), text) == 0) return true;
  return false;
}

void diagnostics_merge(diagnostics *d, const diagnostics *from)
{
  for (int i = 0; i < from->n; ++i)
    if (!has_text(d, diagnostics_text(from, i))) append_line(d, diagnostics_mark(from, i), diagnostics_text(from, i));
}

static int diagnostics_compare(const void *a, const void *b)
{
  const diagnostic *x = a, *y = b;
  const int         by_file = strcmp(x->file ? x->file : "", y->file ? y->file : "");
  if (by_file) return by_file;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return x->order - y->order;
}

void diagnostics_sort(diagnostics *d)
{
  if (d->n > 1) qsort(d->item, (size_t)d->n, sizeof *d->item, diagnostics_compare);
}

PetscErrorCode diagnostics_close(diagnostics *d, FILE *out)
{
  if (d->n == 0) return PETSC_SUCCESS;
  diagnostics_sort(d);
  for (int i = 0; i < d->n && i < MAX_PRINTED; ++i) fprintf(out, "%s\n", diagnostics_text(d, i));
  if (d->n > MAX_PRINTED) fprintf(out, "... and %d more\n", d->n - MAX_PRINTED);
  return PETSC_ERR_USER_INPUT;
}

/* ---- did you mean ---- */

enum { MAX_WORD = 64 };

/* '-' and '_' and the case of letters are slips of the finger, not of the mind */
static char fold(char c) { return c == '-' ? '_' : (char)tolower((unsigned char)c); }

/* Edit distance with transpositions of neighbours (optimal string alignment). */
static int diagnostics_distance(const char *a, int n, const char *b, int m)
{
  int row[3][MAX_WORD + 1];
  for (int j = 0; j <= m; ++j) row[0][j] = j;
  for (int i = 1; i <= n; ++i) {
    int       *now  = row[i % 3];
    const int *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= m; ++j) {
      const int differs = fold(a[i - 1]) != fold(b[j - 1]);
      int       best    = last[j - 1] + differs;
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]) && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

/* One of the two is the beginning of the other: "youngs" for "youngs_modulus". */
static bool is_beginning(const char *a, int n, const char *b, int m)
{
  const int shorter = n < m ? n : m;
  for (int i = 0; i < shorter; ++i)
    if (fold(a[i]) != fold(b[i])) return false;
  return shorter >= 3;
}

const char *diagnostics_nearest(const char *word, int n, const char *const *names)
{
  const char *best    = NULL;
  const int   n_word  = (int)strnlen(word, MAX_WORD + 1);
  const int   allowed = n_word <= 2 ? 0 : n_word <= 5 ? 1 : n_word <= 8 ? 2 : 3;
  /* nearer is better; a common beginning comes behind every near name, the longest first */
  int best_score = INT_MAX;

  if (n_word > MAX_WORD) return NULL;
  for (int i = 0; i < n; ++i) {
    const int n_name = (int)strnlen(names[i], MAX_WORD + 1);
    if (n_name > MAX_WORD) continue;
    int score = diagnostics_distance(word, n_word, names[i], n_name);
    if (score > allowed) {
      if (!is_beginning(word, n_word, names[i], n_name)) continue;
      score += MAX_WORD;
    }
    if (score < best_score) best_score = score, best = names[i];
  }
  return best;
}

enum { LARGEST = 64 << 20 };

PetscErrorCode diagnostics_read_file(const char *file, const document_node *node, const char *path, const char *key, diagnostics *d,
                                     char **text, int *n)
{
  PetscFunctionBegin;
  const char *why;
  *text   = NULL;
  FILE *f = regular_file_stream(file, "r", &why);
  if (!f) {
    diagnostics_add_under(d, node, path, key, "cannot read %s: %s", file, why);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  struct stat    about;
  const bool     is_file = fstat(fileno(f), &about) == 0, is_large = is_file && about.st_size > LARGEST;
  const size_t   size   = is_file && !is_large ? (size_t)about.st_size : 0;
  PetscErrorCode code   = memory_alloc("text of a file", (int64_t)size + 1, 1, text);
  const bool     is_bad = !is_file || (!code && (fread(*text, 1, size, f) != size || ferror(f)));
  (void)fclose(f);
  PetscCall(code);
  if (is_bad || is_large) {
    diagnostics_add_under(d, node, path, key, "cannot read %s: %s", file, is_large ? "it has more than 64 MiB" : "a read error occurred");
    memory_free(text);
  }
  *n = (int)size;
  PetscFunctionReturn(PETSC_SUCCESS);
}
