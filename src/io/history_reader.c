#include "io/history_reader.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "io/sealed_file.h"

struct history_reader {
  FILE   *in;
  char   *path, *header, *line; /* line: of getline; free() */
  size_t  room;
  int64_t n_lines;
  int     n_columns;
  char  **name, **unit; /* [n_columns], inside header */
};

/* "energy [J]" becomes "energy" and "J". */
static void split_header(history_reader *r, char *at)
{
  for (int i = 0; i < r->n_columns; ++i) {
    const size_t length = strcspn(at, ",");
    char        *next   = at + length + (at[length] == ',');
    at[length]          = '\0';
    r->name[i]          = at;
    r->unit[i]          = at + length;
    char *bracket       = strrchr(at, '[');
    if (bracket && bracket > at && bracket[-1] == ' ' && at[length - 1] == ']') {
      bracket[-1]    = '\0';
      at[length - 1] = '\0';
      r->unit[i]     = bracket + 1;
    }
    at = next;
  }
}

static PetscErrorCode read_header(history_reader *r)
{
  const ssize_t n = getline(&r->line, &r->room, r->in);
  PetscFunctionBegin;
  r->n_lines = 1;
  PetscCheck(n > 0 && r->line[n - 1] == '\n' && (ssize_t)strlen(r->line) == n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s:1: no header; is it a history table?", r->path);
  r->line[n - 1] = '\0';
  r->n_columns   = 1;
  for (const char *c = r->line; *c; ++c) r->n_columns += *c == ',';
  PetscCall(file_format(&r->header, "%s", r->line));
  PetscCall(memory_alloc("history columns", r->n_columns, sizeof(char *), &r->name));
  PetscCall(memory_alloc("history columns", r->n_columns, sizeof(char *), &r->unit));
  split_header(r, r->header);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_reader_open(const char *path, history_reader **out)
{
  FILE *in = fopen(path, "rbe");
  PetscFunctionBegin;
  *out = NULL;
  if (!in && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(in, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
  PetscErrorCode code = memory_alloc("history", 1, sizeof **out, out);
  if (code) fclose(in);
  PetscCall(code);
  (*out)->in = in;
  code       = file_format(&(*out)->path, "%s", path);
  if (!code) code = read_header(*out);
  if (code) history_reader_close(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void history_reader_close(history_reader **r)
{
  if (!*r) return;
  fclose((*r)->in);
  free((*r)->line);
  memory_free(&(*r)->path);
  memory_free(&(*r)->header);
  memory_free(&(*r)->name);
  memory_free(&(*r)->unit);
  memory_free(r);
}

int         history_reader_columns(const history_reader *r) { return r->n_columns; }
const char *history_reader_name(const history_reader *r, int column) { return r->name[column]; }
const char *history_reader_unit(const history_reader *r, int column) { return r->unit[column]; }

int history_reader_find(const history_reader *r, const char *name)
{
  for (int i = 0; i < r->n_columns; ++i)
    if (strcmp(r->name[i], name) == 0) return i;
  return -1;
}

PetscErrorCode history_reader_next(history_reader *r, double *values, bool *is_row)
{
  const ssize_t n   = getline(&r->line, &r->room, r->in);
  char         *row = r->line;
  PetscFunctionBegin;
  *is_row = false;
  PetscCheck(n >= 0 || !ferror(r->in), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read %s: %s", r->path, strerror(errno));
  if (n <= 0 || row[n - 1] != '\n') PetscFunctionReturn(PETSC_SUCCESS);
  ++r->n_lines;
  for (int i = 0; i < r->n_columns; ++i) {
    char *end;
    values[i] = strtod(row, &end);
    PetscCheck(!isspace((unsigned char)*row) && end != row && *end == (i + 1 < r->n_columns ? ',' : '\n'), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
               "%s:%lld: not a row of %d numbers", r->path, (long long)r->n_lines, r->n_columns);
    row = end + 1;
  }
  *is_row = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}
