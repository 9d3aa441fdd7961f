/* History table of a run, see history.h. */
#include "io/history.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/key_text.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "io/file.h"
#include "io/sealed_file.h"

struct history {
  char   *path;
  FILE   *out;
  int     n_columns;
  int64_t last_step; /* last step in the table when it was opened; -1: none */
};

static PetscErrorCode header_text(int n, const char *const *names, const char *const *units, char **text)
{
  PetscFunctionBegin;
  PetscCall(file_format(text, "%s", ""));
  for (int i = 0; i < n; ++i) {
    char      *was    = *text;
    const bool united = units[i] && *units[i] && strcmp(units[i], "1");
    PetscCheck(names[i] && *names[i] && !strpbrk(names[i], ",\n\"") && !(united && strpbrk(units[i], ",\n\"")), PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONG, "history column %d cannot be named \"%s\"", i, names[i] ? names[i] : "");
    PetscCall(
        file_format(text, "%s%s%s%s%s%s", was, i ? "," : "", names[i], united ? " [" : "", united ? units[i] : "", united ? "]" : ""));
    memory_free(&was);
  }
  char *was = *text;
  PetscCall(file_format(text, "%s\n", was));
  memory_free(&was);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parse one row of n numbers or empty cells (NaN) ending in a newline; the next row, or NULL if this is not one. */
static char *parse_row(char *row, int n, double *values)
{
  for (int i = 0; i < n; ++i) {
    const char after = i + 1 < n ? ',' : '\n';
    char      *end   = row;
    values[i]        = NAN;
    if (i == 0 || *row != after) {
      values[i] = strtod(row, &end);
      if (isspace((unsigned char)*row) || end == row) return NULL; /* strtod would skip to the next line */
    }
    if (*end != after) return NULL;
    row = end + 1;
  }
  return row;
}

/* Result of a resume: `text` becomes the header and the good rows up to resume_step, *n_keep bytes of it. An unfinished last row
 * is dropped silently, because a killed writer leaves it. Other lines that are no rows, or go back in time, are counted and
 * omitted. */
typedef struct {
  size_t  n_keep;
  int64_t last_step, n_bad, first_bad; /* last_step -1: no rows; first_bad: a line, from 1 */
} history_past;

static PetscErrorCode keep_until(const char *path, char *text, size_t n, const char *header, int n_columns, int64_t resume_step,
                                 history_past *past)
{
  const size_t n_header                                     = strlen(header);
  int64_t      line                                         = 1;
  double      *values __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  if (n < n_header && !memcmp(text, header, n)) PetscFunctionReturn(PETSC_SUCCESS); /* killed within the header */
  PetscCheck(n >= n_header && !memcmp(text, header, n_header), PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s:1: the columns differ from those of this run; move the file away, and a new table is started", path);
  PetscCall(memory_alloc("history", n_columns, sizeof *values, &values));
  past->n_keep = n_header;
  for (char *row = text + n_header, *end; (end = memchr(row, '\n', n - (size_t)(row - text))); row = end + 1) {
    const size_t length = (size_t)(end - row) + 1;
    ++line;
    if (parse_row(row, n_columns, values) != end + 1 || !(values[0] > (double)past->last_step)) {
      if (!past->n_bad++) past->first_bad = line;
      continue;
    }
    if (values[0] > (double)resume_step) break;
    past->last_step = (int64_t)values[0];
    memmove(text + past->n_keep, row, length);
    past->n_keep += length;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Save a copy under an unused name in the same folder. */
static PetscErrorCode keep_damaged(const char *path, size_t n, const char *text)
{
  char *aside __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(file_format(&aside, "%s.damaged", path));
  for (int i = 2; !access(aside, F_OK); ++i) {
    memory_free(&aside);
    PetscCall(file_format(&aside, "%s.damaged-%d", path, i));
  }
  PetscCall(file_replace_text(aside, n, text));
  log_warn("the original %s is stored as %s", path, aside);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table up to resume_step, in place. Never cut in place: a kill in between must not cost the rows before. */
static PetscErrorCode resume_table(const char *path, const char *header, int n_columns, int64_t resume_step, int64_t *last_step)
{
  size_t       n                                              = 0;
  history_past past                                           = {.last_step = -1};
  char        *text __attribute__((cleanup(memory_free)))     = NULL;
  char        *original __attribute__((cleanup(memory_free))) = NULL;
  char        *leftover __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(file_temporary(path, &leftover));
  unlink(leftover); /* of a killed writer */
  if (resume_step >= 0) PetscCall(file_read_text(path, &text, &n));
  if (text) {
    PetscCall(memory_alloc("history", (int64_t)n + 1, 1, &original));
    memcpy(original, text, n);
    PetscCall(keep_until(path, text, n, header, n_columns, resume_step, &past));
  }
  if (past.n_bad) {
    log_warn("%s:%lld: not a row of %d numbers with increasing time%s; omitted", path, (long long)past.first_bad, n_columns,
             past.n_bad > 1 ? " (nor are further rows)" : "");
    PetscCall(keep_damaged(path, n, original));
  }
  if (past.n_keep == 0) PetscCall(file_replace_text(path, strlen(header), header));
  else if (past.n_keep < n) PetscCall(file_replace_text(path, past.n_keep, text));
  *last_step = past.last_step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_open(const char *path, int n_columns, const char *const *names, const char *const *units, int64_t resume_step,
                            history **out)
{
  int64_t     last_step = -1;
  const char *why;
  char       *header __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(n_columns > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a history needs columns");
  PetscCall(header_text(n_columns, names, units, &header));
  PetscCall(resume_table(path, header, n_columns, resume_step, &last_step));
  PetscCall(memory_alloc("history", 1, sizeof **out, out));
  (*out)->n_columns   = n_columns;
  (*out)->last_step   = last_step;
  (*out)->out         = regular_file_stream(path, "a", &why);
  PetscErrorCode code = file_format(&(*out)->path, "%s", path);
  if (!(*out)->out || code) {
    const int error = errno;
    (void)history_close(out);
    PetscCall(code);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(error));
  }
  setvbuf((*out)->out, NULL, _IOLBF, 1 << 14);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool history_is_whole(const history *h, int64_t resume_step, int64_t every)
{
  if (h->last_step + every > resume_step) return true;
  log_warn("%s: rows between steps %lld and %lld are missing; the table continues without them", h->path,
           (long long)(h->last_step < 0 ? 0 : h->last_step), (long long)resume_step);
  return false;
}

PetscErrorCode history_row(history *h, const double *values)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  for (int i = 0; i < h->n_columns; ++i) {
    if (i) fputc(',', h->out);
    if (values[i] != HISTORY_EMPTY) fputs(key_text_of_real(values[i], text), h->out);
  }
  fputc('\n', h->out);
  PetscCheck(!ferror(h->out), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", h->path, strerror(errno), file_advice(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_flush(history *h)
{
  PetscFunctionBegin;
  const bool waits = flush_is_deferred();
  PetscCheck(!fflush(h->out) && !(!waits && fsync(fileno(h->out))), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot flush %s: %s%s", h->path,
             strerror(errno), file_advice(errno));
  if (waits) PetscCall(flush_later(h->path, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_close(history **h)
{
  PetscFunctionBegin;
  if (!*h) PetscFunctionReturn(PETSC_SUCCESS);
  const int failed = (*h)->out ? fclose((*h)->out) : 0, error = errno;
  MEMORY_FREE(&(*h)->path, h);
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot finish the history table: %s", strerror(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_read(const char *path, int *n_columns, int64_t *n_rows, double **values)
{
  int64_t         capacity                                         = 0;
  bool            is_row                                           = true;
  double         *v __attribute__((cleanup(memory_free)))          = NULL;
  history_reader *r __attribute__((cleanup(history_reader_close))) = NULL;

  PetscFunctionBegin;
  *n_columns = 1, *n_rows = 0, *values = NULL;
  PetscCall(history_reader_open(path, &r));
  PetscCheck(r, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: there is no such file", path);
  *n_columns = history_reader_columns(r);
  for (; is_row; *n_rows += is_row) {
    PetscCall(memory_reserve("history", *n_rows + 1, sizeof *v * (size_t)*n_columns, &capacity, &v));
    PetscCall(history_reader_next(r, v + *n_rows * *n_columns, &is_row));
  }
  *values = v;
  v       = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCheck(n > 0 && r->line[n - 1] == '\n' && (ssize_t)strlen(r->line) == n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s:1: no header; is it a history table?", r->path);
  r->line[n - 1] = '\0';
  r->n_columns   = 1;
  for (const char *c = r->line; *c; ++c) r->n_columns += *c == ',';
  PetscCall(file_format(&r->header, "%s", r->line));
  PetscCall(MEMORY_ALLOC("history columns", ARRAY(r->name, r->n_columns), ARRAY(r->unit, r->n_columns)));
  split_header(r, r->header);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode history_reader_open(const char *path, history_reader **out)
{
  const char *why;
  FILE       *in = regular_file_stream(path, "r", &why);
  PetscFunctionBegin;
  *out = NULL;
  if (!in && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(in, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, why);
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
  MEMORY_FREE(&(*r)->path, &(*r)->header, &(*r)->name, &(*r)->unit, r);
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
  const ssize_t n = getline(&r->line, &r->room, r->in);
  PetscFunctionBegin;
  *is_row = false;
  PetscCheck(n >= 0 || !ferror(r->in), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read %s: %s", r->path, strerror(errno));
  if (n <= 0 || r->line[n - 1] != '\n') PetscFunctionReturn(PETSC_SUCCESS);
  ++r->n_lines;
  PetscCheck(parse_row(r->line, r->n_columns, values), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s:%lld: not a row of %d numbers", r->path,
             (long long)r->n_lines, r->n_columns);
  *is_row = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}
