/* Checkpoints, see checkpoint.h: writing, finding the newest valid one, restoring fields. */
#include "io/checkpoint.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "io/catalog.h"
#include "io/numbered_files.h"
#include "io/sealed_file.h"

static const char KIND[] = "checkpoint";

/* ---- The folder ------------------------------------------------------------------------------------------------------ */

static const numbered_files FILES = {"", "checkpoint", 9};

bool checkpoint_is_good(const char *path, bool is_quick, char why[SEALED_WHY])
{
  return sealed_file_check(path, KIND, CHECKPOINT_FORMAT, is_quick, why);
}

PetscErrorCode checkpoint_newest(const char *directory, char **path)
{
  int64_t  n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *path = NULL;
  PetscCall(numbered_files_list(&FILES, directory, &n, &steps));
  for (int64_t i = n; i-- > 0;) {
    char *candidate __attribute__((cleanup(memory_free))) = NULL;
    char  why[SEALED_WHY];
    PetscCall(numbered_files_path(&FILES, directory, steps[i], &candidate));
    const sealed_state state = sealed_file_state(candidate, KIND, CHECKPOINT_FORMAT, false, why);
    if (state == SEALED_GOOD) {
      *path     = candidate;
      candidate = NULL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(state == SEALED_DAMAGED, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s %s; move it away to continue from an older checkpoint",
               candidate, why);
    log_warn("%s %s; trying an older checkpoint", candidate, why);
  }
  PetscCheck(!n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: all %lld checkpoints are damaged, see above; restore one from a copy, or start the run again with --force", directory,
             (long long)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keep the newest `keep` good ones up to `step`; of these the one just written is the first, so one good one always stays. */
static PetscErrorCode drop_old(const char *directory, int64_t step, int keep)
{
  int64_t  n;
  int      n_good                                      = 0;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(numbered_files_list(&FILES, directory, &n, &steps));
  for (int64_t i = n; i-- > 0 && keep > 0;) {
    char *path __attribute__((cleanup(memory_free))) = NULL;
    char  why[SEALED_WHY];
    if (steps[i] > step) continue;
    PetscCall(numbered_files_path(&FILES, directory, steps[i], &path));
    if (n_good >= keep) {
      if (unlink(path)) log_warn("cannot remove the old %s: %s", path, strerror(errno));
    } else if (steps[i] == step || sealed_file_check(path, KIND, CHECKPOINT_FORMAT, true, why)) {
      ++n_good;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_drop_all(const char *directory)
{
  int64_t  n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  numbered_files_remove_temporaries(&FILES, directory);
  PetscCall(numbered_files_list(&FILES, directory, &n, &steps));
  for (int64_t i = 0; i < n; ++i) {
    char *path __attribute__((cleanup(memory_free))) = NULL;
    PetscCall(numbered_files_path(&FILES, directory, steps[i], &path));
    PetscCheck(!unlink(path), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot remove %s: %s%s", path, strerror(errno), file_advice(errno));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_continue_from(const char *directory, int64_t step)
{
  int64_t  n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  numbered_files_remove_temporaries(&FILES, directory);
  PetscCall(numbered_files_list(&FILES, directory, &n, &steps));
  for (int64_t i = n; i-- > 0 && steps[i] > step;) {
    char *path __attribute__((cleanup(memory_free))) = NULL, *aside __attribute__((cleanup(memory_free))) = NULL;
    PetscCall(numbered_files_path(&FILES, directory, steps[i], &path));
    PetscCall(file_format(&aside, "%s.damaged", path));
    PetscCheck(!rename(path, aside), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot rename %s: %s%s", path, strerror(errno),
               file_advice(errno));
    log_warn("the damaged %s is renamed to %s", path, aside);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Writing --------------------------------------------------------------------------------------------------------- */

static int count_state(const field_group *group)
{
  int n = 0;

  for (int i = 0; i < group->n_fields; ++i) n += (group->fields[i].flags & FIELD_CHECKPOINT) != 0;
  return n;
}

static bool has_only_constants(const field_group *group)
{
  for (int i = 0; i < group->n_fields; ++i)
    if ((group->fields[i].flags & (FIELD_CHECKPOINT | FIELD_CONSTANT)) == FIELD_CHECKPOINT) return false;
  return true;
}

static PetscErrorCode write_group(const char *path, hid_t fields, const field_group *group)
{
  H5_SCOPE(scope);
  const int32_t geometry = (int32_t)group->geometry, n_fields = count_state(group);
  hid_t         location;

  PetscFunctionBegin;
  if (!n_fields) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(h5_make_group(&scope, path, fields, group->name, &location));
  PetscCall(h5_put_numbers(path, location, "n_rows", H5T_NATIVE_INT64, H5T_STD_I64LE, 1, group->n_rows));
  PetscCall(h5_put_numbers(path, location, "geometry", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &geometry));
  PetscCall(h5_put_numbers(path, location, "n_fields", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, &n_fields));
  for (int i = 0; i < group->n_fields; ++i)
    if (group->fields[i].flags & FIELD_CHECKPOINT)
      PetscCall(field_store_write(path, location, group, &group->fields[i], *group->n_rows, false, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_file(const char *path, const checkpoint_head *head, const field_table *table)
{
  H5_SCOPE(scope);
  hid_t file, fields;

  PetscFunctionBegin;
  PetscCall(h5_create(&scope, path, SEAL_BYTES, &file));
  PetscCall(catalog_write_head(path, file, KIND, head->job_name, head->formulation, head->job_text ? head->job_text : "", head->step,
                               head->time));
  PetscCall(h5_make_group(&scope, path, file, "fields", &fields));
  for (int i = 0; i < field_table_n_groups(table); ++i) PetscCall(write_group(path, fields, field_table_group(table, i)));
  H5_CALL(path, h5_release(&scope, fields));
  H5_CALL(path, h5_release(&scope, file)); /* closing flushes: here a full disk shows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t state_bytes(const field_table *table)
{
  int64_t bytes = 0;

  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *group = field_table_group(table, i);
    for (int j = 0; j < group->n_fields; ++j)
      if (group->fields[j].flags & FIELD_CHECKPOINT)
        bytes += *group->n_rows * group->fields[j].n_components * (int64_t)field_type_size(group->fields[j].type);
  }
  return bytes;
}

PetscErrorCode checkpoint_write(const char *directory, const checkpoint_head *head, const field_table *table, int keep)
{
  char *path __attribute__((cleanup(memory_free)))      = NULL;
  char *temporary __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCheck(head->step >= 0 && head->step <= 999999999999999LL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "step %lld cannot be a checkpoint", (long long)head->step);
  PetscCheck(!head->job_name || strlen(head->job_name) < sizeof((catalog *)0)->job_name, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "job name \"%s\" is too long for a checkpoint", head->job_name);
  PetscCall(file_make_directory(directory));
  PetscCall(numbered_files_path(&FILES, directory, head->step, &path));
  PetscCall(file_temporary(path, &temporary));
  numbered_files_remove_temporaries(&FILES, directory); /* they may fill the disk */
  /* HDF5 takes a full disk badly, so the obvious case is caught before: data, 1/256 for checksums and trees, 1 MB for the rest. */
  const int64_t bytes = state_bytes(table);
  PetscCall(file_check_space(directory, bytes + bytes / 256 + (1 << 20) + (int64_t)(head->job_text ? strlen(head->job_text) : 0)));
  const PetscErrorCode code = write_file(temporary, head, table);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(sealed_file_publish(temporary, path, KIND, CHECKPOINT_FORMAT));
  PetscCall(drop_old(directory, head->step, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Reading --------------------------------------------------------------------------------------------------------- */

PetscErrorCode checkpoint_read_head(const char *path, checkpoint_origin *out)
{
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;

  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  PetscCall(catalog_open(path, KIND, CHECKPOINT_FORMAT, false, &c));
  PetscCall(file_format(&out->job_name, "%s", c->job_name));
  PetscCall(file_format(&out->formulation, "%s", c->formulation));
  PetscCall(file_format(&out->program, "%s", c->program));
  out->job_text = c->job_text;
  c->job_text   = NULL;
  out->step     = c->step;
  out->time     = c->time;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void checkpoint_origin_destroy(checkpoint_origin *origin)
{
  MEMORY_FREE(&origin->job_name, &origin->formulation, &origin->job_text, &origin->program);
}

/* All that is to be restored, read and checked, waiting to be copied: one array for each field with FIELD_CHECKPOINT, in the order of the table; NULL for
 * constants. */
typedef struct {
  int64_t n, capacity;
  void  **rows;
  bool   *is_used; /* [n_groups] of the catalog */
} stage;

static void stage_free(stage *s)
{
  for (int64_t i = 0; i < s->n; ++i) memory_free(&s->rows[i]);
  MEMORY_FREE(&s->rows, &s->is_used);
}

#define MISFIT(...) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, __VA_ARGS__)

static PetscErrorCode match_field(const catalog *c, int i_group, const field_group *group, const field *f, int *i_field)
{
  const catalog_group *stored = &c->groups[i_group];

  PetscFunctionBegin;
  *i_field = catalog_find_field(stored, f->name);
  if (*i_field < 0)
    MISFIT("%s: field %s/%s is missing: the checkpoint is of another job or version; resume with the stickslip that wrote it (%s)", c->path,
           group->name, f->name, c->program);
  const catalog_field *s = &stored->fields[*i_field];
  if (s->type != (store_type)f->type || s->n_components != f->n_components)
    MISFIT("%s: field %s/%s is %s with %d components, this job needs %s with %d; resume with the job that wrote it", c->path, group->name,
           f->name, store_name(s->type), s->n_components, store_name((store_type)f->type), f->n_components);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the constant field of the file is that of this job. */
static bool is_same_constant(const field *f, int64_t n_rows, const void *rows)
{
  return n_rows == 0 || memcmp(rows, field_component(f, 0), (size_t)n_rows * (size_t)f->n_components * field_type_size(f->type)) == 0;
}

/* Read one field and check its values. */
static PetscErrorCode read_state(const catalog *c, int i_group, const field_group *group, const field *f, void **rows)
{
  const int64_t n_rows = c->groups[i_group].n_rows, n_entries = n_rows * f->n_components;
  int           i_field;

  PetscFunctionBegin;
  PetscCall(match_field(c, i_group, group, f, &i_field));
  PetscCall(catalog_read(c, i_group, i_field, rows));
  if (f->flags & FIELD_CONSTANT) {
    SS_ASSERT(f->stride == f->n_components);
    if (n_rows != *group->n_rows || !is_same_constant(f, n_rows, *rows))
      MISFIT("%s: %s/%s differs from that of this job: other bodies, or another order; resume with the job that wrote it", c->path,
             group->name, f->name);
    memory_free(rows);
  }
  if (f->type != FIELD_F64 || f->flags & (FIELD_ANY_BITS | FIELD_CONSTANT)) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t bad = store_first_not_finite(n_entries, *rows);
  if (bad < n_entries)
    MISFIT("%s: field %s/%s is not finite in row %lld; resume from an older checkpoint", c->path, group->name, f->name,
           (long long)(bad / f->n_components));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode stage_add(stage *s)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("restore", s->n + 1, sizeof *s->rows, &s->capacity, &s->rows));
  s->rows[s->n++] = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that no field of the file is unknown to the group. */
static PetscErrorCode match_names(const catalog *c, int i_group, const field_group *group)
{
  const catalog_group *stored = &c->groups[i_group];

  PetscFunctionBegin;
  for (int i = 0; i < stored->n_fields; ++i) {
    const field *f = field_group_find(group, stored->fields[i].name);
    if (!f || !(f->flags & FIELD_CHECKPOINT))
      MISFIT("%s: field %s/%s is unknown to this job; resume with the job and program that wrote it (%s)", c->path, stored->name,
             stored->fields[i].name, c->program);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode missing_group(const catalog *c, const char *name)
{
  PetscFunctionBegin;
  MISFIT("%s: group %s is missing: the checkpoint is of another job or version; resume with the job and program that wrote it (%s)",
         c->path, name, c->program);
}

/* Format 1: gather the rows of `group` from groups with one row each, in arrays that stage_add has reserved. */
static PetscErrorCode match_old_group(const catalog *c, const field_group *group, stage *s)
{
  const int64_t n = *group->n_rows;

  PetscFunctionBegin;
  const int64_t first = s->n;
  for (int i = 0; i < group->n_fields; ++i) {
    const field *f = &group->fields[i];
    if (!(f->flags & FIELD_CHECKPOINT)) continue;
    PetscCall(stage_add(s));
    PetscCall(memory_alloc("restore", n * f->n_components, field_type_size(f->type), &s->rows[s->n - 1]));
  }
  for (int64_t row = 0; row < n; ++row) {
    char name[2 * sizeof group->name];
    snprintf(name, sizeof name, "%s%s", group->old_prefix, group->old_name(group->context, row));
    const int i_group = catalog_find_group(c, name);
    if (i_group < 0) PetscCall(missing_group(c, name));
    s->is_used[i_group] = true;
    PetscCall(match_names(c, i_group, group));
    if (c->groups[i_group].n_rows != 1)
      MISFIT("%s: group %s has %lld rows, not 1; resume with the job and program that wrote it (%s)", c->path, name,
             (long long)c->groups[i_group].n_rows, c->program);
    int64_t at = first;
    for (int i = 0; i < group->n_fields; ++i) {
      const field *f                                         = &group->fields[i];
      const size_t bytes                                     = (size_t)f->n_components * field_type_size(f->type);
      void        *one __attribute__((cleanup(memory_free))) = NULL;
      if (!(f->flags & FIELD_CHECKPOINT)) continue;
      PetscCall(read_state(c, i_group, group, f, &one));
      memcpy((char *)s->rows[at++] + (size_t)row * bytes, one, bytes);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the file has the layout of format 1. */
static bool is_old(const catalog *c)
{
  char why[SEALED_WHY];
  return sealed_file_check(c->path, KIND, 1, true, why);
}

static PetscErrorCode match_group(const catalog *c, const field_group *group, stage *s)
{
  const int i_group = catalog_find_group(c, group->name);

  PetscFunctionBegin;
  if (i_group < 0 && group->old_prefix && is_old(c)) {
    PetscCall(match_old_group(c, group, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (i_group < 0 && has_only_constants(group) && is_old(c)) {
    for (int i = 0; i < group->n_fields; ++i)
      if (group->fields[i].flags & FIELD_CHECKPOINT) PetscCall(stage_add(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (i_group < 0) PetscCall(missing_group(c, group->name));
  const catalog_group *stored = &c->groups[i_group];
  s->is_used[i_group]         = true;
  PetscCall(match_names(c, i_group, group));
  if (stored->n_rows != *group->n_rows && !group->resize && !has_only_constants(group))
    MISFIT("%s: group %s has %lld rows, this job has %lld and cannot change that; resume with the job that wrote it", c->path, group->name,
           (long long)stored->n_rows, (long long)*group->n_rows);
  for (int i = 0; i < group->n_fields; ++i) {
    if (!(group->fields[i].flags & FIELD_CHECKPOINT)) continue;
    PetscCall(stage_add(s));
    PetscCall(read_state(c, i_group, group, &group->fields[i], &s->rows[s->n - 1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_is_known(const catalog *c, int i, bool is_known)
{
  PetscFunctionBegin;
  if (!is_known)
    MISFIT("%s: group %s is unknown to this job; resume with the job and program that wrote it (%s)", c->path, c->groups[i].name,
           c->program);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode match_all(const catalog *c, const char *job_name, const field_table *table, stage *s)
{
  PetscFunctionBegin;
  if (job_name && strcmp(job_name, c->job_name))
    MISFIT("%s: belongs to the job \"%s\", not to \"%s\"; choose another --out, or resume the job it belongs to", c->path, c->job_name,
           job_name);
  const bool old = is_old(c);
  for (int i = 0; i < c->n_groups && !old; ++i) {
    const field_group *group = field_table_find_group(table, c->groups[i].name);
    PetscCall(check_is_known(c, i, group && count_state(group)));
  }
  PetscCall(memory_alloc("restore", c->n_groups, sizeof *s->is_used, &s->is_used));
  for (int i = 0; i < field_table_n_groups(table); ++i)
    if (count_state(field_table_group(table, i))) PetscCall(match_group(c, field_table_group(table, i), s));
  for (int i = 0; i < c->n_groups; ++i) PetscCall(check_is_known(c, i, s->is_used[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From here on only memory can fail, and it does before anything of a group is overwritten. */
static PetscErrorCode resize_all(const catalog *c, field_table *table)
{
  PetscFunctionBegin;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *group   = field_table_group(table, i);
    const int    i_group = catalog_find_group(c, group->name);
    if (!count_state(group) || i_group < 0 || has_only_constants(group)) continue; /* i_group < 0: format 1 */
    const int64_t n = c->groups[i_group].n_rows;
    if (n != *group->n_rows) PetscCall(group->resize(group->context, n));
    PetscCheck(n == *group->n_rows, PETSC_COMM_SELF, PETSC_ERR_PLIB, "group %s did not resize to %lld rows", group->name, (long long)n);
    for (int j = 0; j < group->n_fields; ++j)
      for (int k = 0; k < group->fields[j].n_components && n && group->fields[j].flags & FIELD_CHECKPOINT; ++k)
        PetscCheck(field_component(&group->fields[j], k), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s/%s has %lld rows but no memory", group->name,
                   group->fields[j].name, (long long)n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_read(const char *path, const char *job_name, field_table *table, int64_t *step, double *time)
{
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;
  stage    s __attribute__((cleanup(stage_free)))    = {0};
  int64_t  i_row                                     = 0;

  PetscFunctionBegin;
  PetscCall(catalog_open(path, KIND, CHECKPOINT_FORMAT, false, &c));
  PetscCall(match_all(c, job_name, table, &s));
  PetscCall(resize_all(c, table));
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *group = field_table_group(table, i);
    for (int j = 0; j < group->n_fields; ++j) {
      if (!(group->fields[j].flags & FIELD_CHECKPOINT)) continue;
      /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): match_all counted these fields */
      if (!(group->fields[j].flags & FIELD_CONSTANT)) field_store_scatter(&group->fields[j], *group->n_rows, s.rows[i_row]);
      ++i_row;
    }
  }
  if (step) *step = c->step;
  if (time) *time = c->time;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *group = field_table_group(table, i);
    if (group->restored) PetscCall(group->restored(group->context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checkpoints for people: info and diff. They walk the file alone and need no scene. */

/* ---- info ------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode field_info(const catalog *c, int i_group, int i_field, FILE *out)
{
  const catalog_field *f   = &c->groups[i_group].fields[i_field];
  const int64_t        n   = c->groups[i_group].n_rows * f->n_components;
  double               low = INFINITY, high = -INFINITY;
  int64_t              n_bad                                   = 0;
  double              *x __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(catalog_read_f64(c, i_group, i_field, &x));
  for (int64_t i = 0; i < n; ++i) {
    n_bad += !isfinite(x[i]);
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  fprintf(out, "  %-28s %s x %d  %-8s", f->name, store_name(f->type), f->n_components, f->unit);
  if (low <= high) fprintf(out, "  %13.6g ... %-13.6g", low, high);
  if (n_bad) fprintf(out, "  %lld not finite", (long long)n_bad);
  fprintf(out, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_info(const char *path, FILE *out)
{
  int      n_lines                                   = 0;
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;

  PetscFunctionBegin;
  PetscCall(catalog_open(path, KIND, CHECKPOINT_FORMAT, false, &c));
  for (const char *t = c->job_text; *t; ++t) n_lines += *t == '\n';
  fprintf(out, "%s\njob %s%s%s, step %lld, time %.17g s\nwritten by %s, format %d, %.1f MB, checksum good\njob text: %d lines\n", path,
          c->job_name, *c->formulation ? ", " : "", c->formulation, (long long)c->step, c->time, c->program,
          is_old(c) ? 1 : CHECKPOINT_FORMAT, 1e-6 * (double)c->bytes, n_lines);
  for (int i = 0; i < c->n_groups; ++i) {
    fprintf(out, "%s: %lld rows\n", c->groups[i].name, (long long)c->groups[i].n_rows);
    for (int j = 0; j < c->groups[i].n_fields; ++j) PetscCall(field_info(c, i, j, out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- diff ------------------------------------------------------------------------------------------------------------ */

typedef struct {
  int64_t n_entries, first_row;
  double  max_absolute, max_relative;
} difference;

static bool entries_differ(double a, double b, double tolerance)
{
  if (isnan(a) || isnan(b)) return !(isnan(a) && isnan(b));
  if (a == b) return false;
  return !(fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b)));
}

static void difference_add(difference *d, int64_t row, double a, double b)
{
  const double absolute = fabs(a - b), scale = fmax(fabs(a), fabs(b));

  if (!d->n_entries++) d->first_row = row;
  if (isnan(absolute)) { /* NaN against a number is as far apart as can be; NaN against NaN of other bits is no distance */
    if (!isnan(a) || !isnan(b)) d->max_absolute = d->max_relative = INFINITY;
    return;
  }
  if (absolute > d->max_absolute) d->max_absolute = absolute;
  if (scale > 0.0 && absolute / scale > d->max_relative) d->max_relative = absolute / scale;
}

static PetscErrorCode field_diff(const catalog *a, const catalog *b, const int group[2], const int at[2], double tolerance, difference *d)
{
  const catalog_group *g                                       = &a->groups[group[0]];
  const catalog_field *f                                       = &g->fields[at[0]];
  const size_t         size                                    = store_size(f->type);
  double              *x __attribute__((cleanup(memory_free))) = NULL;
  double              *y __attribute__((cleanup(memory_free))) = NULL;
  void                *p __attribute__((cleanup(memory_free))) = NULL;
  void                *q __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  /* Equal checksums of 256 bits: equal data. Reading verifies that they belong to them; a sealed file has been read already. */
  if (!memcmp(f->checksum, b->groups[group[1]].fields[at[1]].checksum, sizeof f->checksum)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(catalog_read_f64(a, group[0], at[0], &x));
  PetscCall(catalog_read_f64(b, group[1], at[1], &y));
  if (tolerance == 0.0) {
    PetscCall(catalog_read(a, group[0], at[0], &p));
    PetscCall(catalog_read(b, group[1], at[1], &q));
  }
  for (int64_t i = 0; i < g->n_rows * f->n_components; ++i) {
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): read above with n_rows rows */
    const bool differs = tolerance == 0.0 ? memcmp((const char *)p + (size_t)i * size, (const char *)q + (size_t)i * size, size) != 0
                                          : entries_differ(x[i], y[i], tolerance);
    if (differs) difference_add(d, i / f->n_components, x[i], y[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode group_diff(const catalog *a, const catalog *b, const int group[2], double tolerance, FILE *out, int *n_different)
{
  const catalog_group *g = &a->groups[group[0]], *h = &b->groups[group[1]];

  PetscFunctionBegin;
  if (g->n_rows != h->n_rows) {
    fprintf(out, "%s: %lld rows against %lld\n", g->name, (long long)g->n_rows, (long long)h->n_rows);
    *n_different += g->n_fields > 0 ? g->n_fields : 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < g->n_fields; ++i) {
    const catalog_field *f     = &g->fields[i];
    const int            at[2] = {i, catalog_find_field(h, f->name)};
    difference           d     = {0, 0, 0.0, 0.0};
    if (at[1] < 0) {
      fprintf(out, "%s/%s: only in the first\n", g->name, f->name);
      ++*n_different;
      continue;
    }
    const catalog_field *s = &h->fields[at[1]];
    if (f->type != s->type || f->n_components != s->n_components) {
      fprintf(out, "%s/%s: %s x %d against %s x %d\n", g->name, f->name, store_name(f->type), f->n_components, store_name(s->type),
              s->n_components);
      ++*n_different;
      continue;
    }
    PetscCall(field_diff(a, b, group, at, tolerance, &d));
    if (!d.n_entries) continue;
    ++*n_different;
    fprintf(out, "%s/%s: %lld of %lld entries differ, from row %lld; at most %.6g %s, relative %.3g\n", g->name, f->name,
            (long long)d.n_entries, (long long)(g->n_rows * f->n_components), (long long)d.first_row, d.max_absolute, f->unit,
            d.max_relative);
  }
  for (int i = 0; i < h->n_fields; ++i)
    if (catalog_find_field(g, h->fields[i].name) < 0) {
      fprintf(out, "%s/%s: only in the second\n", h->name, h->fields[i].name);
      ++*n_different;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t line_length(const char *text) { return strcspn(text, "\n"); }

/* Is `line` a line of `text`? Jobs are small, so plain search is sufficient. */
static bool has_line(const char *text, const char *line, size_t n)
{
  while (*text) {
    const size_t m = line_length(text);
    if (m == n && !memcmp(text, line, n)) return true;
    text += m + (text[m] == '\n');
  }
  return false;
}

static void lines_only_in(const char *text, const char *other, char sign, FILE *out)
{
  int n = 0;

  while (*text) {
    const size_t m = line_length(text);
    if (!has_line(other, text, m) && ++n <= 50) fprintf(out, "  %c %.*s\n", sign, (int)m, text);
    text += m + (text[m] == '\n');
  }
  if (n > 50) fprintf(out, "  %c ... and %d more lines\n", sign, n - 50);
}

static void head_diff(const catalog *a, const catalog *b, double tolerance, FILE *out, int *n_different)
{
  if (a->step != b->step) {
    fprintf(out, "step: %lld against %lld\n", (long long)a->step, (long long)b->step);
    ++*n_different;
  }
  if (entries_differ(a->time, b->time, tolerance)) {
    fprintf(out, "time: %.17g s against %.17g s\n", a->time, b->time);
    ++*n_different;
  }
  if (strcmp(a->job_name, b->job_name)) fprintf(out, "job: %s against %s (not counted)\n", a->job_name, b->job_name);
  if (strcmp(a->job_text, b->job_text)) {
    fprintf(out, "the job texts differ (not counted):\n");
    lines_only_in(a->job_text, b->job_text, '-', out);
    lines_only_in(b->job_text, a->job_text, '+', out);
  }
}

/* Is `name` the group `top`, or below it? */
static bool is_below(const char *name, const char *top)
{
  const size_t n = top ? strlen(top) : 0;
  return n > 0 && strncmp(name, top, n) == 0 && (name[n] == '\0' || name[n] == '/');
}

PetscErrorCode checkpoint_diff(const char *path_a, const char *path_b, double tolerance, const char *diagnostic, FILE *out,
                               int *n_different)
{
  int      n_uncounted                               = 0;
  catalog *a __attribute__((cleanup(catalog_close))) = NULL;
  catalog *b __attribute__((cleanup(catalog_close))) = NULL;

  PetscFunctionBegin;
  *n_different = 0;
  PetscCheck(isfinite(tolerance) && tolerance >= 0.0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the tolerance of a diff must be zero or positive");
  PetscCall(catalog_open(path_a, KIND, CHECKPOINT_FORMAT, false, &a));
  PetscCall(catalog_open(path_b, KIND, CHECKPOINT_FORMAT, false, &b));
  head_diff(a, b, tolerance, out, n_different);
  for (int i = 0; i < a->n_groups; ++i) {
    const int group[2] = {i, catalog_find_group(b, a->groups[i].name)};
    if (group[1] < 0) {
      fprintf(out, "%s: only in the first\n", a->groups[i].name);
      ++*n_different;
    } else {
      const bool is_counted = tolerance == 0.0 || !is_below(a->groups[i].name, diagnostic);
      PetscCall(group_diff(a, b, group, tolerance, out, is_counted ? n_different : &n_uncounted));
    }
  }
  for (int i = 0; i < b->n_groups; ++i)
    if (catalog_find_group(a, b->groups[i].name) < 0) {
      fprintf(out, "%s: only in the second\n", b->groups[i].name);
      ++*n_different;
    }
  if (n_uncounted > 0) fprintf(out, "%s: %d differences of diagnostics (not counted)\n", diagnostic, n_uncounted);
  fprintf(out, "%d differences\n", *n_different);
  PetscFunctionReturn(PETSC_SUCCESS);
}
