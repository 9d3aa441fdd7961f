/* Checkpoints for people: info and diff. They walk the file alone and need no scene. */
#include "core/memory.h"
#include "io/catalog.h"
#include "io/checkpoint.h"
#include <math.h>
#include <string.h>

static const char KIND[] = "checkpoint";

/* ---- info ------------------------------------------------------------------------------------------------------------ */

static PetscErrorCode field_info(const catalog *c, int i_group, int i_field, FILE *out)
{
  const catalog_field *f = &c->groups[i_group].fields[i_field];
  const int64_t        n = c->groups[i_group].n_rows * f->n_components;
  double               low = INFINITY, high = -INFINITY;
  int64_t              n_bad                      = 0;
  double *x __attribute__((cleanup(memory_free))) = NULL;

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
  int n_lines                                        = 0;
  catalog *c __attribute__((cleanup(catalog_close))) = NULL;

  PetscFunctionBegin;
  PetscCall(catalog_open(path, KIND, CHECKPOINT_FORMAT, false, &c));
  for (const char *t = c->job_text; *t; ++t) n_lines += *t == '\n';
  fprintf(out, "%s\njob %s%s%s, step %lld, time %.17g s\nwritten by %s, format %d, %.1f MB, checksum good\njob text: %d lines\n",
          path, c->job_name, *c->formulation ? ", " : "", c->formulation, (long long)c->step, c->time, c->program,
          CHECKPOINT_FORMAT, 1e-6 * (double)c->bytes, n_lines);
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

static PetscErrorCode field_diff(const catalog *a, const catalog *b, const int group[2], const int at[2], double tolerance,
                                 difference *d)
{
  const catalog_group *g = &a->groups[group[0]];
  const catalog_field *f = &g->fields[at[0]];
  const size_t         size                       = store_size(f->type);
  double *x __attribute__((cleanup(memory_free))) = NULL;
  double *y __attribute__((cleanup(memory_free))) = NULL;
  void *p __attribute__((cleanup(memory_free)))   = NULL;
  void *q __attribute__((cleanup(memory_free)))   = NULL;

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

static PetscErrorCode group_diff(const catalog *a, const catalog *b, const int group[2], double tolerance, FILE *out,
                                 int *n_different)
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
      fprintf(out, "%s/%s: %s x %d against %s x %d\n", g->name, f->name, store_name(f->type), f->n_components,
              store_name(s->type), s->n_components);
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

/* Does `line` stand anywhere in `text`? Jobs are small, so the plain search will do. */
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

PetscErrorCode checkpoint_diff(const char *path_a, const char *path_b, double tolerance, FILE *out, int *n_different)
{
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
      PetscCall(group_diff(a, b, group, tolerance, out, n_different));
    }
  }
  for (int i = 0; i < b->n_groups; ++i)
    if (catalog_find_group(a, b->groups[i].name) < 0) {
      fprintf(out, "%s: only in the second\n", b->groups[i].name);
      ++*n_different;
    }
  fprintf(out, "%d differences\n", *n_different);
  PetscFunctionReturn(PETSC_SUCCESS);
}
