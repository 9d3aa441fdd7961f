/* Tables of named columns with units, written as CSV or as sealed HDF5: results of sweeps and campaigns. Files are replaced atomically. */
#ifndef SS_IO_TABLE_FILE_H
#define SS_IO_TABLE_FILE_H
#include "core/error.h"

enum { TABLE_FORMAT = 1 };

typedef enum { TABLE_REAL, TABLE_WHOLE, TABLE_TEXT } table_type;
/* One column. Only the array of its type is set. All pointers are borrowed. */
typedef struct {
  const char        *name, *unit; /* unit "" or "1": none */
  table_type         type;
  const double      *real;  /* [n_rows]; a value that is not finite is missing */
  const int64_t     *whole; /* [n_rows] */
  const char *const *text;  /* [n_rows]; NULL: "" */
} table_column;

/* CSV: first line "name [unit],...", then one line per row. Cells of missing values are empty. Reals have the fewest digits that give the same bits
 * when they are read. Texts with commas, quotes or line ends are quoted (RFC 4180). */
PetscErrorCode table_write_csv(const char *path, int64_t n_rows, int n_columns, const table_column *columns);
/* HDF5: a group /results with one dataset per column: float64 (missing: NaN), int64, or UTF-8 text of fixed length, each with an attribute "unit".
 * The dataset /columns lists the names in the order of `columns`. Attributes of the file: kind, program, title. A slash in a name is replaced by _. */
PetscErrorCode table_write_h5(const char *path, const char *title, int64_t n_rows, int n_columns, const table_column *columns);
#endif
