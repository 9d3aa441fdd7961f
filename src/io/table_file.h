/* A table of named columns with units, for people, spreadsheets and programs: as CSV and as sealed HDF5. Both are replaced as a whole. */
#ifndef SS_IO_TABLE_FILE_H
#define SS_IO_TABLE_FILE_H
#include "core/error.h"

enum { TABLE_FORMAT = 1 };

typedef enum { TABLE_REAL, TABLE_WHOLE, TABLE_TEXT } table_type;
/* One column; exactly the array of its type is given. Everything is borrowed. */
typedef struct {
  const char        *name, *unit; /* unit "" or "1": none */
  table_type         type;
  const double      *real;        /* [n_rows]; not finite: missing */
  const int64_t     *whole;       /* [n_rows] */
  const char *const *text;        /* [n_rows]; NULL: "" */
} table_column;

/* First line "name [unit],...", then a line a row; what is missing is empty, reals are written with the fewest digits that read back to the
 * same bits, texts with commas, quotes or line ends stand in quotes (RFC 4180). */
PetscErrorCode table_write_csv(const char *path, int64_t n_rows, int n_columns, const table_column *columns);
/* A group /results with a dataset per column: float64 (missing: NaN), int64, or UTF-8 text of fixed length, each with an attribute "unit";
 * the dataset /columns names them in order; `title` is an attribute of the file beside kind and program. A slash in a name becomes _. */
PetscErrorCode table_write_h5(const char *path, const char *title, int64_t n_rows, int n_columns, const table_column *columns);
#endif
