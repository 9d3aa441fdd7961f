/* Writing and reading of comma-separated tables (RFC 4180): cells with a comma, a quote or a line break are quoted, quotes inside are doubled. */
#ifndef SS_CORE_CSV_H
#define SS_CORE_CSV_H
#include "core/text.h"

/* Append `cell`; a comma is written before it unless `is_first`. The caller appends "\n" after the last cell of a row. */
void csv_append(text_buffer *b, const char *cell, bool is_first);

typedef struct {
  int64_t      n_rows; /* including the header */
  int          n_columns;
  const char **cell; /* [n_rows][n_columns], unquoted; pointers into `text` */
  char        *text; /* owned copy of the text */
} csv_table;

/* Read a table. A row whose number of cells differs from that of the first row is PETSC_ERR_FILE_READ. A last row without line break is ignored: its
 * writer was killed. `name` is the name of the file in messages. Free *out with csv_clear. */
PetscErrorCode csv_read(const char *name, const char *text, csv_table *out);
void           csv_clear(csv_table *table);
#endif
