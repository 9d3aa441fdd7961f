#include "io/checkpoint.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/catalog.h"
#include "io/sealed_file.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char KIND[] = "checkpoint";

/* ---- The folder ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode path_of(const char *directory, int64_t step, char **path)
{
  PetscFunctionBegin;
  PetscCall(file_format(path, "%s/checkpoint_%09lld.h5", directory, (long long)step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step in a file name of ours, else -1. Only names we would give ourselves count. */
static int64_t step_of(const char *name)
{
  long long step = -1;
  char      again[64];

  if (sscanf(name, "checkpoint_%18lld.h5", &step) != 1 || step < 0) return -1;
  snprintf(again, sizeof again, "checkpoint_%09lld.h5", step);
  return strcmp(again, name) ? -1 : (int64_t)step;
}

bool checkpoint_is_good(const char *path, bool is_quick, char why[SEALED_WHY])
{
  return sealed_file_check(path, KIND, CHECKPOINT_FORMAT, is_quick, why);
}

static int newest_first(const void *a, const void *b)
{
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

/* The steps of all checkpoints in the folder, newest first; none if there is no folder. What killed writers left is removed on request. */
static PetscErrorCode list_steps(const char *directory, bool remove_leftovers, int64_t *n, int64_t **steps)
{
  const struct dirent *entry;
  int64_t              capacity = 0;

  PetscFunctionBegin;
  *n = 0, *steps = NULL;
  DIR *folder = opendir(directory);
  PetscCheck(folder || errno == ENOENT, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot look into %s: %s", directory,
             strerror(errno));
  PetscErrorCode code = PETSC_SUCCESS;
  while (folder && !code && (entry = readdir(folder))) {
    const size_t  length = strlen(entry->d_name);
    const int64_t step   = step_of(entry->d_name);
    if (remove_leftovers && !strncmp(entry->d_name, ".checkpoint_", 12) && length > 4 &&
        !strcmp(entry->d_name + length - 4, ".tmp"))
      unlinkat(dirfd(folder), entry->d_name, 0);
    if (step < 0) continue;
    code = memory_reserve("checkpoints", *n + 1, sizeof **steps, &capacity, steps);
    if (!code) (*steps)[(*n)++] = step;
  }
  if (folder) closedir(folder);
  if (code) memory_free(steps);
  PetscCall(code);
  if (*n) qsort(*steps, (size_t)*n, sizeof **steps, newest_first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode remove_leftovers(const char *directory)
{
  int64_t n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(list_steps(directory, true, &n, &steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_newest(const char *directory, char **path)
{
  int64_t n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  *path = NULL;
  PetscCall(list_steps(directory, false, &n, &steps));
  for (int64_t i = 0; i < n; ++i) {
    char *candidate __attribute__((cleanup(memory_free))) = NULL;
    char  why[SEALED_WHY];
    PetscCall(path_of(directory, steps[i], &candidate));
    const sealed_state state = sealed_file_state(candidate, KIND, CHECKPOINT_FORMAT, false, why);
    if (state == SEALED_GOOD) {
      *path     = candidate;
      candidate = NULL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(state == SEALED_DAMAGED, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s %s; to go on from an older one, move it away",
               candidate, why);
    log_warn("%s %s; looking for an older one", candidate, why);
  }
  PetscCheck(!n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
             "%s: all %lld checkpoints are damaged, see above; put a copy of one there, or start the run over with --force",
             directory, (long long)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keep the newest `keep` good ones up to `step`; of these the one just written is the first, so one good one always stays. */
static PetscErrorCode drop_old(const char *directory, int64_t step, int keep)
{
  int64_t n;
  int     n_good                                       = 0;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(list_steps(directory, false, &n, &steps));
  for (int64_t i = 0; i < n && keep > 0; ++i) {
    char *path __attribute__((cleanup(memory_free))) = NULL;
    char  why[SEALED_WHY];
    if (steps[i] > step) continue;
    PetscCall(path_of(directory, steps[i], &path));
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
  int64_t n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(list_steps(directory, true, &n, &steps));
  for (int64_t i = 0; i < n; ++i) {
    char *path __attribute__((cleanup(memory_free))) = NULL;
    PetscCall(path_of(directory, steps[i], &path));
    PetscCheck(!unlink(path), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot remove %s: %s%s", path, strerror(errno),
               file_advice(errno));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_continue_from(const char *directory, int64_t step)
{
  int64_t n;
  int64_t *steps __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  PetscCall(list_steps(directory, true, &n, &steps));
  for (int64_t i = 0; i < n && steps[i] > step; ++i) {
    char *path __attribute__((cleanup(memory_free))) = NULL, *aside __attribute__((cleanup(memory_free))) = NULL;
    PetscCall(path_of(directory, steps[i], &path));
    PetscCall(file_format(&aside, "%s.damaged", path));
    PetscCheck(!rename(path, aside), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot put %s aside: %s%s", path, strerror(errno),
               file_advice(errno));
    log_warn("%s is kept as %s", path, aside);
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
  PetscCall(catalog_write_head(path, file, KIND, head->job_name, head->formulation, head->job_text ? head->job_text : "",
                               head->step, head->time));
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
  PetscCheck(!head->job_name || strlen(head->job_name) < sizeof ((catalog *)0)->job_name, PETSC_COMM_SELF,
             PETSC_ERR_ARG_SIZ, "job name \"%s\" is too long for a checkpoint", head->job_name);
  PetscCall(file_make_directory(directory));
  PetscCall(path_of(directory, head->step, &path));
  PetscCall(sealed_file_temporary(path, &temporary));
  PetscCall(remove_leftovers(directory)); /* they may be what fills the disk */
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
  memory_free(&origin->job_name);
  memory_free(&origin->formulation);
  memory_free(&origin->job_text);
  memory_free(&origin->program);
}

/* All that is to be restored, read and checked, waiting to be copied. */
typedef struct {
  int64_t n;
  void  **rows;
} stage;

static void stage_free(stage *s)
{
  for (int64_t i = 0; i < s->n; ++i) memory_free(&s->rows[i]);
  memory_free(&s->rows);
}

#define MISFIT(...) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, __VA_ARGS__)

static PetscErrorCode match_field(const catalog *c, int i_group, const field_group *group, const field *f, int *i_field)
{
  const catalog_group *stored = &c->groups[i_group];

  PetscFunctionBegin;
  *i_field = catalog_find_field(stored, f->name);
  if (*i_field < 0)
    MISFIT("%s: field %s/%s is missing: the checkpoint is of another job or version; resume with the stickslip that wrote it (%s)",
           c->path, group->name, f->name, c->program);
  const catalog_field *s = &stored->fields[*i_field];
  if (s->type != (store_type)f->type || s->n_components != f->n_components)
    MISFIT("%s: field %s/%s is %s with %d components, this job needs %s with %d; resume with the job that wrote it", c->path,
           group->name, f->name, store_name(s->type), s->n_components, store_name((store_type)f->type), f->n_components);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode match_group(const catalog *c, const field_group *group, stage *s)
{
  const int i_group = catalog_find_group(c, group->name);

  PetscFunctionBegin;
  if (i_group < 0)
    MISFIT(
        "%s: group %s is missing: the checkpoint is of another job or version; resume with the job and program that wrote it (%s)",
        c->path, group->name, c->program);
  const catalog_group *stored = &c->groups[i_group];
  for (int i = 0; i < stored->n_fields; ++i) {
    const field *f = field_group_find(group, stored->fields[i].name);
    if (!f || !(f->flags & FIELD_CHECKPOINT))
      MISFIT("%s: field %s/%s is unknown to this job; resume with the job and program that wrote it (%s)", c->path, group->name,
             stored->fields[i].name, c->program);
  }
  if (stored->n_rows != *group->n_rows && !group->resize)
    MISFIT("%s: group %s has %lld rows, this job has %lld and cannot change that; resume with the job that wrote it", c->path,
           group->name, (long long)stored->n_rows, (long long)*group->n_rows);
  for (int i = 0; i < group->n_fields; ++i) {
    const field *f = &group->fields[i];
    int          i_field;
    if (!(f->flags & FIELD_CHECKPOINT)) continue;
    PetscCall(match_field(c, i_group, group, f, &i_field));
    PetscCall(memory_resize("restore", s->n + 1, sizeof *s->rows, &s->rows));
    s->rows[s->n++] = NULL;
    PetscCall(catalog_read(c, i_group, i_field, &s->rows[s->n - 1]));
    const int64_t n_entries = stored->n_rows * f->n_components;
    if (f->type != FIELD_F64 || f->flags & FIELD_ANY_BITS) continue;
    const int64_t bad = store_first_not_finite(n_entries, s->rows[s->n - 1]);
    if (bad < n_entries)
      MISFIT("%s: field %s/%s is not finite in row %lld; resume from an older checkpoint", c->path, group->name, f->name,
             (long long)(bad / f->n_components));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode match_all(const catalog *c, const char *job_name, const field_table *table, stage *s)
{
  PetscFunctionBegin;
  if (job_name && strcmp(job_name, c->job_name))
    MISFIT("%s: belongs to the job \"%s\", not to \"%s\"; choose another --out, or resume the job it belongs to", c->path,
           c->job_name, job_name);
  for (int i = 0; i < c->n_groups; ++i) {
    const field_group *group = field_table_find_group(table, c->groups[i].name);
    if (!group || !count_state(group))
      MISFIT("%s: group %s is unknown to this job; resume with the job and program that wrote it (%s)", c->path,
             c->groups[i].name, c->program);
  }
  for (int i = 0; i < field_table_n_groups(table); ++i)
    if (count_state(field_table_group(table, i))) PetscCall(match_group(c, field_table_group(table, i), s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From here on only memory can fail, and it does before anything of a group is overwritten. */
static PetscErrorCode resize_all(const catalog *c, field_table *table)
{
  PetscFunctionBegin;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *group = field_table_group(table, i);
    if (!count_state(group)) continue;
    const int64_t n = c->groups[catalog_find_group(c, group->name)].n_rows;
    if (n != *group->n_rows) PetscCall(group->resize(group->context, n));
    PetscCheck(n == *group->n_rows, PETSC_COMM_SELF, PETSC_ERR_PLIB, "group %s did not resize to %lld rows", group->name,
               (long long)n);
    for (int j = 0; j < group->n_fields; ++j)
      for (int k = 0; k < group->fields[j].n_components && n && group->fields[j].flags & FIELD_CHECKPOINT; ++k)
        PetscCheck(field_component(&group->fields[j], k), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s/%s has %lld rows but no memory",
                   group->name, group->fields[j].name, (long long)n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode checkpoint_read(const char *path, const char *job_name, field_table *table, int64_t *step, double *time)
{
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;
  stage s __attribute__((cleanup(stage_free)))       = {0, NULL};
  int64_t i_row                                      = 0;

  PetscFunctionBegin;
  PetscCall(catalog_open(path, KIND, CHECKPOINT_FORMAT, false, &c));
  PetscCall(match_all(c, job_name, table, &s));
  PetscCall(resize_all(c, table));
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *group = field_table_group(table, i);
    for (int j = 0; j < group->n_fields; ++j)
      /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): match_all counted these fields */
      if (group->fields[j].flags & FIELD_CHECKPOINT) field_store_scatter(&group->fields[j], *group->n_rows, s.rows[i_row++]);
  }
  if (step) *step = c->step;
  if (time) *time = c->time;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *group = field_table_group(table, i);
    if (group->restored) PetscCall(group->restored(group->context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
