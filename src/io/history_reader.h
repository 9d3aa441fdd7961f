/* A history table (history.h) row by row: for tables that are too long to hold. */
#ifndef SS_IO_HISTORY_READER_H
#define SS_IO_HISTORY_READER_H
#include "core/error.h"

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
