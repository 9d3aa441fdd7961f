/* Comma-separated tables as text (RFC 4180): cells with a comma, a quote or a line break stand in quotes, quotes are doubled. */
#ifndef SS_CORE_CSV_H
#define SS_CORE_CSV_H
#include "core/text.h"

/* One cell more; `is_first` in its row. The writer ends a row with "\n". */
PetscErrorCode csv_append(text_buffer *b, const char *cell, bool is_first);

typedef struct {
  int64_t      n_rows;    /* the header counted in */
  int          n_columns;
  const char **cell;      /* [n_rows][n_columns] */
  char        *text;      /* what cells point into */
} csv_table;

/* Read a table, whose rows must all be as long as the first; an unfinished last row (without its line break, as a killed writer leaves
 * it) is left out. `name` stands for the file in messages; PETSC_ERR_FILE_READ. */
PetscErrorCode csv_read(const char *name, const char *text, csv_table *out);
void           csv_clear(csv_table *table);
#endif
