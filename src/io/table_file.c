/* Tables as CSV or HDF5, see table_file.h. */
#include "io/table_file.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/csv.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/h5.h"
#include "io/sealed_file.h"

static const char KIND[] = "results";

static bool        has_unit(const table_column *c) { return c->unit && *c->unit && strcmp(c->unit, "1") != 0; }
static const char *text_of(const table_column *c, int64_t i) { return c->text[i] ? c->text[i] : ""; }

/* --- CSV ------------------------------------------------------------------------------------------------------------- */

static void put_cell(text_buffer *b, const table_column *c, int64_t i, bool is_first)
{
  char number[KEY_TEXT_REAL] = "";
  if (c->type == TABLE_REAL && isfinite(c->real[i])) key_text_of_real(c->real[i], number);
  if (c->type == TABLE_WHOLE) snprintf(number, sizeof number, "%lld", (long long)c->whole[i]);
  csv_append(b, c->type == TABLE_TEXT ? text_of(c, i) : number, is_first);
}

static void put_csv(text_buffer *b, int64_t n_rows, int n_columns, const table_column *columns)
{
  for (int k = 0; k < n_columns; ++k) {
    char head[512];
    snprintf(head, sizeof head, has_unit(&columns[k]) ? "%s [%s]" : "%s", columns[k].name, columns[k].unit);
    csv_append(b, head, k == 0);
  }
  text_put(b, "\n");
  for (int64_t i = 0; i < n_rows; ++i) {
    for (int k = 0; k < n_columns; ++k) put_cell(b, &columns[k], i, k == 0);
    text_put(b, "\n");
  }
}

PetscErrorCode table_write_csv(const char *path, int64_t n_rows, int n_columns, const table_column *columns)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  put_csv(&b, n_rows, n_columns, columns);
  PetscCall(file_replace_with(path, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- HDF5 ------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode text_type(h5_scope *scope, const char *path, size_t size, hid_t *type)
{
  PetscFunctionBegin;
  H5_CALL(path, *type = h5_keep(scope, H5Tcopy(H5T_C_S1)));
  H5_CALL(path, H5Tset_size(*type, size));
  H5_CALL(path, H5Tset_cset(*type, H5T_CSET_UTF8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [n] texts as rows of fixed length. */
static PetscErrorCode write_texts(const char *path, hid_t location, const char *name, int64_t n, const char *const *texts, hid_t *dataset,
                                  h5_scope *scope)
{
  H5_SCOPE(mine);
  hid_t         type;
  size_t        size                                       = 1;
  const hsize_t dims                                       = (hsize_t)n;
  char         *rows __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  for (int64_t i = 0; i < n; ++i)
    if (texts[i] && strlen(texts[i]) + 1 > size) size = strlen(texts[i]) + 1;
  PetscCall(memory_alloc("table", n, size, &rows));
  for (int64_t i = 0; i < n; ++i)
    if (texts[i]) strcpy(rows + (size_t)i * size, texts[i]);
  PetscCall(text_type(&mine, path, size, &type));
  PetscCall(h5_make_dataset(scope, path, location, name, type, 1, &dims, true, dataset, NULL));
  PetscCall(h5_write_rows(path, *dataset, type, 0, dims, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_reals(const char *path, hid_t dataset, int64_t n, const double *real)
{
  double *clean __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(memory_alloc("table", n, sizeof *clean, &clean));
  for (int64_t i = 0; i < n; ++i) clean[i] = isfinite(real[i]) ? real[i] : NAN;
  PetscCall(h5_write_rows(path, dataset, H5T_NATIVE_DOUBLE, 0, (hsize_t)n, clean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_column(const char *path, hid_t group, const char *name, int64_t n_rows, const table_column *c)
{
  H5_SCOPE(scope);
  hid_t         dataset;
  const hsize_t dims = (hsize_t)n_rows;

  PetscFunctionBegin;
  if (c->type == TABLE_TEXT) {
    PetscCall(write_texts(path, group, name, n_rows, c->text, &dataset, &scope));
  } else {
    PetscCall(h5_make_dataset(&scope, path, group, name, c->type == TABLE_REAL ? H5T_IEEE_F64LE : H5T_STD_I64LE, 1, &dims, false, &dataset,
                              NULL));
    if (c->type == TABLE_REAL) PetscCall(write_reals(path, dataset, n_rows, c->real));
    else PetscCall(h5_write_rows(path, dataset, H5T_NATIVE_INT64, 0, dims, c->whole));
  }
  PetscCall(h5_put_text(path, dataset, "unit", has_unit(c) ? c->unit : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names as HDF5 can have them: [n_columns] into *names, each memory_free, as the array itself. */
static PetscErrorCode h5_names(int n_columns, const table_column *columns, char **names)
{
  PetscFunctionBegin;
  for (int k = 0; k < n_columns; ++k) {
    PetscCall(file_format(&names[k], "%s", columns[k].name));
    for (char *c = names[k]; *c; ++c)
      if (*c == '/') *c = '_';
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_file(const char *path, const char *title, int64_t n_rows, int n_columns, const table_column *columns,
                                 char **names)
{
  H5_SCOPE(scope);
  hid_t file, group, order;
  char  program[64 + VERSION_TEXT];

  PetscFunctionBegin;
  snprintf(program, sizeof program, "stickslip %s", version_text());
  PetscCall(h5_create(&scope, path, SEAL_BYTES, &file));
  PetscCall(h5_put_text(path, file, "kind", KIND));
  PetscCall(h5_put_text(path, file, "program", program));
  PetscCall(h5_put_text(path, file, "title", title));
  PetscCall(h5_names(n_columns, columns, names));
  PetscCall(write_texts(path, file, "columns", n_columns, (const char *const *)names, &order, &scope));
  PetscCall(h5_make_group(&scope, path, file, "results", &group));
  for (int k = 0; k < n_columns; ++k) PetscCall(write_column(path, group, names[k], n_rows, &columns[k]));
  H5_CALL(path, h5_release(&scope, order));
  H5_CALL(path, h5_release(&scope, group));
  H5_CALL(path, h5_release(&scope, file)); /* closing flushes: here a full disk shows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode table_write_h5(const char *path, const char *title, int64_t n_rows, int n_columns, const table_column *columns)
{
  char  *temporary __attribute__((cleanup(memory_free))) = NULL;
  char **names                                           = NULL;

  PetscFunctionBegin;
  PetscCall(file_temporary(path, &temporary));
  PetscErrorCode code = memory_alloc("table", n_columns, sizeof *names, &names);
  if (!code) code = write_file(temporary, title, n_rows, n_columns, columns, names);
  for (int k = 0; names && k < n_columns; ++k) memory_free(&names[k]);
  memory_free(&names);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(sealed_file_publish(temporary, path, KIND, TABLE_FORMAT));
  PetscFunctionReturn(PETSC_SUCCESS);
}
