/* Tables as CSV, see csv.h. The reader copies the text once and removes the quotes inside this copy. */
#include "core/csv.h"
#include "core/memory.h"
#include <string.h>

void csv_append(text_buffer *b, const char *cell, bool is_first)
{
  if (!is_first) text_put(b, ",");
  if (!cell[strcspn(cell, ",\"\r\n")]) {
    text_put(b, cell);
    return;
  }
  text_put(b, "\"");
  text_escape(b, cell, '"', "\"\"");
  text_put(b, "\"");
}

/* Unquote the cell at `p` in place; returns the position of its end (a comma, a line break or the end of the text). NULL: a quote is not closed. */
static char *unquote_cell(char *p, const char **cell)
{
  char *to = p;
  *cell    = p;
  if (*p != '"') {
    p += strcspn(p, ",\n");
    return p;
  }
  for (++p; *p && !(p[0] == '"' && p[1] != '"'); ++p) {
    if (*p == '"') ++p;
    *to++ = *p;
  }
  if (!*p) return NULL;
  *to = 0;
  return p + 1;
}

PetscErrorCode csv_read(const char *name, const char *text, csv_table *out)
{
  int64_t capacity = 0, n = 0;
  int     n_here = 0;
  char   *p;

  PetscFunctionBegin;
  *out = (csv_table){0};
  PetscCall(memory_alloc("table", (int64_t)strlen(text) + 1, 1, &out->text));
  p = strcpy(out->text, text);
  while (*p) {
    PetscErrorCode code = memory_reserve("table", n + 1, sizeof *out->cell, &capacity, &out->cell);
    char          *end  = code ? NULL : unquote_cell(p, &out->cell[n]);
    if (code) csv_clear(out);
    PetscCall(code);
    if (!end || !*end) break; /* incomplete row */
    ++n, ++n_here;
    const bool is_end = *end == '\n', is_good = is_end || *end == ',';
    *end = 0;
    p    = end + 1;
    if (is_end && out->n_rows == 0) out->n_columns = n_here;
    if (!is_good || (is_end && n_here != out->n_columns)) {
      const int64_t row       = out->n_rows + 1;
      const int     n_columns = out->n_columns;
      csv_clear(out);
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: row %lld is damaged: expected %d columns, found %d", name, (long long)row,
              n_columns, n_here);
    }
    if (is_end) ++out->n_rows, n_here = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void csv_clear(csv_table *table)
{
  MEMORY_FREE(&table->cell, &table->text);
  *table = (csv_table){0};
}
