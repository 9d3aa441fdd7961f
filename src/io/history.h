/* History table of a run: a CSV file with one row per recorded step, readable while the run continues.
 *
 * The header line names each column with its unit, "energy [J]" (unit "1" or "" for none). Column 0 is the step. Real numbers are written with
 * the fewest digits that read back to the same bits. A cell is empty if its quantity has no value in this row; it is read as NaN.
 * Written by the time loop, read by reports and by the commands that evaluate runs. */
#ifndef SS_IO_HISTORY_H
#define SS_IO_HISTORY_H
#include "core/error.h"

typedef struct history history;
/* Open for writing. resume_step < 0: start a new table, which replaces an existing one. Otherwise rows after resume_step and an unfinished last row are
 * removed; the columns must be those of the file. Lines that are not rows, or whose step does not increase, are reported by log_warn and
 * removed, and the original table is saved as PATH.damaged. Arguments are borrowed. */
PetscErrorCode history_open(const char *path, int n_columns, const char *const *names, const char *const *units, int64_t resume_step,
                            history **out);
/* Whether the table, when it was opened, had one row per `every` steps up to `resume_step`. If not, log_warn reports the missing steps. */
bool history_is_whole(const history *h, int64_t resume_step, int64_t every);
#define HISTORY_EMPTY (-1.7976931348623157e308) /* a value that is written as an empty cell; not in column 0 */
/* Append a row: values [n_columns], values[0] is the step. */
PetscErrorCode history_row(history *h, const double *values);
/* Flush the rows to the disk. Called before a checkpoint is written, so that the table contains all rows up to the step of the checkpoint. */
PetscErrorCode history_flush(history *h);
PetscErrorCode history_close(history **h);
/* Read a complete table: *values [*n_rows][*n_columns], memory_free(*values). For reports and tests. */
PetscErrorCode history_read(const char *path, int *n_columns, int64_t *n_rows, double **values);

/* Reader of a history table row by row, for tables larger than the memory. */

typedef struct history_reader history_reader;
/* *out = NULL, without error, if the file does not exist. PETSC_ERR_FILE_READ if it has no header. */
PetscErrorCode history_reader_open(const char *path, history_reader **out);
void           history_reader_close(history_reader **r);
int            history_reader_columns(const history_reader *r);
const char    *history_reader_name(const history_reader *r, int column);       /* "energy" */
const char    *history_reader_unit(const history_reader *r, int column);       /* "J"; "" if it has none */
int            history_reader_find(const history_reader *r, const char *name); /* -1: no such column */
/* Read the next row into values [history_reader_columns]. *is_row is false at the end of the file and at an unfinished last row. Any other line that is
 * not a row of numbers is PETSC_ERR_FILE_READ with the line number. */
PetscErrorCode history_reader_next(history_reader *r, double *values, bool *is_row);
#endif
