/* The history of a run: one CSV row per step, readable while the run goes on.
 *
 * The header names each column with its unit, "energy [J]" ("1" or "" for none); column 0 is the step. Reals are written with the
 * fewest digits that read back to the same bits, whole numbers as integers. */
#ifndef SS_IO_HISTORY_H
#define SS_IO_HISTORY_H
#include "core/error.h"

typedef struct history history;
/* resume_step < 0: a new table (an old one is replaced). Otherwise rows after that step are cut off, and a row that a killed
 * writer left unfinished; the columns must be the same ones. Lines that are no rows, or go back in time, are named by log_warn and left
 * out, and the table as it was is kept as PATH.damaged: the state does not depend on it. Names, units and path are borrowed for the call. */
PetscErrorCode history_open(const char *path, int n_columns, const char *const *names, const char *const *units,
                            int64_t resume_step, history **out);
/* Were rows there up to the step that is resumed, one in `every` steps? If not, log_warn says which are missing. */
bool history_is_whole(const history *h, int64_t resume_step, int64_t every);
/* [n_columns] values, the step first. */
PetscErrorCode history_row(history *h, const double *values);
/* Onto the disk: before a checkpoint that relies on these rows. */
PetscErrorCode history_flush(history *h);
PetscErrorCode history_close(history **h);
/* Read a table back: *values [n_rows][n_columns], memory_free. For reports and tests. */
PetscErrorCode history_read(const char *path, int *n_columns, int64_t *n_rows, double **values);

/* A history table (history.h) row by row: for tables that are too long to hold. */

typedef struct history_reader history_reader;
/* *out = NULL, and no error, if there is no such file. PETSC_ERR_FILE_READ if it has no header. */
PetscErrorCode history_reader_open(const char *path, history_reader **out);
void           history_reader_close(history_reader **r);
int            history_reader_columns(const history_reader *r);
const char    *history_reader_name(const history_reader *r, int column); /* "energy" */
const char    *history_reader_unit(const history_reader *r, int column); /* "J"; "" if it has none */
int            history_reader_find(const history_reader *r, const char *name); /* -1: no such column */
/* The next row into values [columns]; *is_row is false at the end, and at a last row that is not finished yet. PETSC_ERR_FILE_READ,
 * with its line, for anything but a row of numbers. */
PetscErrorCode history_reader_next(history_reader *r, double *values, bool *is_row);
#endif
