/* Writing and reading of comma-separated tables (RFC 4180): cells with a comma, a quote or a line break are quoted, quotes inside are doubled. */
#ifndef SS_CORE_CSV_H
#define SS_CORE_CSV_H
#include "core/text.h"

/* Append a cell; `is_first`: it is the first of its row. The caller ends a row with "\n". */
void csv_append(text_buffer *b, const char *cell, bool is_first);

typedef struct {
  int64_t      n_rows; /* including the header */
  int          n_columns;
  const char **cell; /* [n_rows][n_columns] */
  char        *text; /* storage of the cells */
} csv_table;

/* Read a table. All rows must have as many cells as the first, else PETSC_ERR_FILE_READ. A last row without line break, left by a process that was killed
 * while writing, is ignored. `name` is the name of the file in messages. Free with csv_clear. */
PetscErrorCode csv_read(const char *name, const char *text, csv_table *out);
void           csv_clear(csv_table *table);
#endif
