/* Expansion of a sweep file: parameters and dimensions (vary, repeat), expressions (let, where, set), selection of the cases,
 * and the jobs of the cases with their errors. sweep_build holds the parsed file until the plan is complete. */
#include "app/sweep/sweep_plan.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/expression.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/samples.h"
#include "core/text.h"
#include "io/sealed_file.h"
#include "io/yaml.h"
#include "app/job/job.h"
#include "app/run/run_errors.h"
#include "app/sweep/sweep_errors.h"

typedef struct {
  const char   *name;
  document_mark mark;
  bool          is_key;     /* its name is a job key, which it sets */
  bool          is_numeric; /* a number in every case: may be used in expressions */
  bool          is_used;    /* used by a setting, directly or through derived parameters, or by a filter */
} build_parameter;

/* One dimension of the sweep: parameters that vary together. */
typedef struct {
  document_mark   mark;
  int             first, n_names; /* indices of its parameters */
  int64_t         n_rows;
  document_node **value;  /* [n_rows][n_names] values, numbers in their shortest form */
  const char    **text;   /* the values as YAML flow text */
  double         *number; /* the values as numbers; NaN if a value is not a number */
} build_dimension;

/* A scalar under `set`: a parameter, an expression, a text with {parameters}, or (none of them) a constant. */
typedef struct {
  const document_node *node;
  int                  parameter; /* -1 */
  expression          *e;         /* NULL */
  bool                 is_template;
} build_formula;

typedef struct {
  const char          *key;
  document_mark        mark;      /* of the key */
  int                  parameter; /* the parameter that gives the value; -1: the value is `tree`, its scalars are the formulas */
  const document_node *tree;
  int                  first_formula, n_formulas;
} build_setting;

typedef struct {
  document            *doc; /* owns all data; the plan takes it over */
  diagnostics         *d;
  const char          *path;
  const document_node *root;
  const sweep_file    *file;
  int                  n_varied, n_parameters; /* derived parameters follow the varied ones */
  build_parameter      parameter[SWEEP_MAX_NAMES];
  const char          *numeric[SWEEP_MAX_NAMES]; /* names for expressions; "\1" if not a number */
  int                  n_dimensions;
  build_dimension      dimension[SWEEP_MAX_NAMES];
  expression          *let[SWEEP_MAX_NAMES];       /* [n_parameters - n_varied] */
  int                  let_order[SWEEP_MAX_NAMES]; /* order of evaluation */
  int                  n_where;
  expression         **where;
  int                  n_formulas, formula_capacity;
  build_formula       *formula;
  int                  n_settings;
  build_setting        setting[SWEEP_MAX_NAMES];
} sweep_build;

/* --- parameters --------------------------------------------------------------------------------------------------- */

static bool is_job_key_path(const char *name)
{
  if (strpbrk(name, ".[")) return true;
  for (const key_spec *k = job_table.keys; k->name; ++k)
    if (!strcmp(k->name, name)) return true;
  return false;
}

/* Whether the name can be used with --set: it has a dot or an index, or is a top-level key of jobs. Characters that would make
 * "key=value" or the header of a table ambiguous are not allowed. */
static bool sweep_build_is_job_key(const char *name)
{
  return is_job_key_path(name) && !name[strcspn(name, "=,\"\t\r\n")] && strlen(name) <= 200;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static bool is_parameter_name(const char *name)
{
  return sweep_build_is_job_key(name) ||
         (*name && strchr(LETTERS, *name) && strlen(name) <= 64 && !name[strspn(name, LETTERS "0123456789")]);
}

/* Adds a parameter and returns its index; -1 with a diagnostic if the name is in use or malformed, or if the limit is exceeded. */
static int sweep_build_add_parameter(sweep_build *b, const char *name, document_mark mark)
{
  static const char *const reserved[] = {"number", "id"};
  if (!is_parameter_name(name)) {
    diagnostics_add(b->d, mark, name,
                    "expected a name of letters, digits and _, or a key of the job such as time.end or contact.pairs[0].friction");
    return -1;
  }
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; ++i)
    if (!strcmp(name, reserved[i])) {
      diagnostics_add(b->d, mark, name, "this name is reserved: every table of cases has a column \"%s\"; choose another name", name);
      return -1;
    }
  for (int i = 0; i < b->n_parameters; ++i)
    if (!strcmp(name, b->parameter[i].name)) {
      diagnostics_add(b->d, mark, name, "duplicate parameter; first defined in line %d", b->parameter[i].mark.line);
      return -1;
    }
  if (b->n_parameters == SWEEP_MAX_NAMES) {
    diagnostics_add(b->d, mark, name, "more than %d parameters; remove some of them", SWEEP_MAX_NAMES);
    return -1;
  }
  b->parameter[b->n_parameters] = (build_parameter){.name = name, .mark = mark, .is_key = sweep_build_is_job_key(name), .is_numeric = true};
  return b->n_parameters++;
}

/* --- what varies -------------------------------------------------------------------------------------------------- */

/* Values of parameters. */

static PetscErrorCode canonical_scalar(document *doc, const document_node *node, document_node **out)
{
  char    text[KEY_TEXT_REAL];
  double  real;
  int64_t whole;

  PetscFunctionBegin;
  const bool is_number = !node->is_quoted && key_text_real(node->text, &real) == KEY_TEXT_OK;
  const bool is_whole  = is_number && real != 0.0 && key_text_int(node->text, &whole) == KEY_TEXT_OK;
  if (is_whole) (void)snprintf(text, sizeof text, "%lld", (long long)whole); /* keep all digits of integers beyond 2^53: seeds */
  else if (is_number) key_text_of_real(real, text);
  PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, is_number ? text : node->text, out));
  /* keep quotes only if they matter: "sand" equals sand, "3" does not equal 3 */
  const bool is_word = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/", *node->text) && strcmp(node->text, "true") &&
                       strcmp(node->text, "false") && *node->text;
  (*out)->is_quoted = node->is_quoted && !is_word;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies a scalar, list or mapping with numbers in their shortest form. */
static PetscErrorCode sweep_value_canonical(document *doc, const document_node *node, document_node **out)
{
  PetscFunctionBegin;
  if (node->kind == DOCUMENT_SCALAR) {
    PetscCall(canonical_scalar(doc, node, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(document_add_node(doc, node->kind, node->mark, NULL, out));
  for (int i = 0; i < node->n; ++i) {
    const bool     has_key = node->kind == DOCUMENT_MAPPING;
    document_node *child;
    PetscCall(sweep_value_canonical(doc, node->value[i], &child));
    PetscCall(document_append(doc, *out, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number rounded to 15 significant digits: 0.3, not 0.30000000000000004. */
static PetscErrorCode add_number_node(sweep_build *b, double x, document_mark mark, document_node **out)
{
  char        text[KEY_TEXT_REAL];
  const char *end;

  PetscFunctionBegin;
  (void)snprintf(text, sizeof text, "%.15g", x);
  for (char *c = text; *c; ++c) *c = *c == ',' ? '.' : *c;
  key_text_of_real(key_text_strtod(text, &end), text);
  PetscCall(document_add_node(b->doc, DOCUMENT_SCALAR, mark, text, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dimensions. */

/* Adds a dimension with the parameters `names` and n_rows empty rows. *out is NULL after a diagnostic. */
static PetscErrorCode add_dimension(sweep_build *b, int n_names, const char *const *names, const document_mark *marks, document_mark mark,
                                    int64_t n_rows, build_dimension **out)
{
  bool good = true;

  PetscFunctionBegin;
  *out            = NULL;
  const int first = b->n_parameters;
  for (int i = 0; i < n_names; ++i) good = sweep_build_add_parameter(b, names[i], marks[i]) >= 0 && good;
  if (!good || n_rows <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  build_dimension *d = &b->dimension[b->n_dimensions]; /* there are at most as many dimensions as parameters */
  *d                 = (build_dimension){.mark = mark, .first = first, .n_names = n_names, .n_rows = n_rows};
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->value, &d->value));
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->text, &d->text));
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->number, &d->number));
  ++b->n_dimensions;
  *out = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool rows_are_equal(const build_dimension *d, int64_t i, int64_t j)
{
  for (int k = 0; k < d->n_names; ++k)
    if (strcmp(d->text[i * d->n_names + k], d->text[j * d->n_names + k])) return false;
  return true;
}

/* Reports equal rows, which would give duplicate cases. Uses a hash table because lists may be long. */
static PetscErrorCode check_duplicate_rows(sweep_build *b, const build_dimension *d)
{
  int64_t  capacity = 16;
  int64_t *slot;

  PetscFunctionBegin;
  while (capacity < 2 * d->n_rows) capacity *= 2;
  PetscCall(document_alloc(b->doc, (size_t)capacity * sizeof *slot, &slot));
  for (int64_t i = 0; i < d->n_rows; ++i) {
    uint64_t h = 14695981039346656037u;
    for (int k = 0; k < d->n_names; ++k)
      for (const char *c = d->text[i * d->n_names + k]; *c; ++c) h = (h ^ (unsigned char)*c) * 1099511628211u;
    int64_t at = (int64_t)((h ^ h >> 29) & (uint64_t)(capacity - 1));
    while (slot[at] && !rows_are_equal(d, slot[at] - 1, i)) at = (at + 1) & (capacity - 1);
    if (slot[at])
      diagnostics_add(b->d, d->value[i * d->n_names]->mark, b->parameter[d->first].name,
                      "entry %lld is equal to entry %lld (%s) and would give duplicate cases; use repeat for repetitions", (long long)i + 1,
                      (long long)slot[at], d->text[i * d->n_names]);
    else slot[at] = i + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets texts and numbers of the values. */
static PetscErrorCode finish_dimension(sweep_build *b, build_dimension *d)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < d->n_rows * d->n_names; ++i) {
    char *text;
    PetscCall(document_write_flow(d->value[i], &text));
    d->text[i] = document_intern(b->doc, text);
    memory_free(&text);
    PetscCheck(d->text[i], PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: no space for the values of a sweep; use a smaller scene or a larger machine");
    const document_node *v = d->value[i];
    if (v->kind != DOCUMENT_SCALAR || v->is_quoted || key_text_real(v->text, &d->number[i]) != KEY_TEXT_OK) {
      d->number[i]                                       = NAN;
      b->parameter[d->first + i % d->n_names].is_numeric = false;
    }
  }
  PetscCall(check_duplicate_rows(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_values(sweep_build *b, const char *name, document_mark mark, const document_node *list)
{
  build_dimension *d;

  PetscFunctionBegin;
  if (list->n == 0) diagnostics_add(b->d, list->mark, name, "has no values; give at least one");
  PetscCall(add_dimension(b, 1, &name, &mark, mark, list->n, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < list->n; ++i) PetscCall(sweep_value_canonical(b->doc, list->value[i], &d->value[i]));
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys range and log. */

/* Number of values of a range with `step`; 0 after a diagnostic. */
static int64_t count_range_values(sweep_build *b, const char *name, const document_node *node, const sweep_range *r)
{
  const double span = (r->bounds.to - r->bounds.from) / r->step;
  if (!(r->step != 0.0) || !(span >= 0.0)) {
    diagnostics_add_under(b->d, node, name, "range.step", "steps of %g from %g never reach %g; choose another step", r->step,
                          r->bounds.from, r->bounds.to);
    return 0;
  }
  const double n = floor(span * (1 + 1e-12) + 1e-12) + 1;
  if (n > SWEEP_MAX_CASES) {
    diagnostics_add_under(b->d, node, name, "range.step", "gives %.0f values; a sweep may have at most %d cases; increase the step", n,
                          SWEEP_MAX_CASES);
    return 0;
  }
  return (int64_t)n;
}

static PetscErrorCode read_range(sweep_build *b, const char *name, document_mark mark, const document_node *node, const sweep_range *r)
{
  const bool       has_step = !isnan(r->step), has_count = r->count != KEY_INT_ABSENT;
  build_dimension *d;
  int64_t          n = has_count ? r->count : 0;

  PetscFunctionBegin;
  if (has_step == has_count) diagnostics_add_under(b->d, node, name, "range", "expected either count or step");
  else if (r->bounds.from == r->bounds.to)
    diagnostics_add_under(b->d, node, name, "range.to", "is equal to range.from, %g; give two different limits", r->bounds.from);
  else if (has_step) n = count_range_values(b, name, node, r);
  PetscCall(add_dimension(b, 1, &name, &mark, mark, n, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < n; ++i) {
    const double t = (double)i, m = (double)(n - 1);
    const double x = has_step ? r->bounds.from + t * r->step : (r->bounds.from * (m - t) + r->bounds.to * t) / m;
    PetscCall(add_number_node(b, fabs(x) < 1e-14 * fmax(fabs(r->bounds.from), fabs(r->bounds.to)) ? 0.0 : x, node->mark, &d->value[i]));
  }
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_log_range(sweep_build *b, const char *name, document_mark mark, const document_node *node, const sweep_log *l)
{
  build_dimension *d;

  PetscFunctionBegin;
  if (l->bounds.from == l->bounds.to)
    diagnostics_add_under(b->d, node, name, "log.to", "is equal to log.from, %g; give two different limits", l->bounds.from);
  PetscCall(add_dimension(b, 1, &name, &mark, mark, l->count, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < l->count; ++i) {
    const double t = (double)i / (double)(l->count - 1);
    PetscCall(add_number_node(b, i + 1 == l->count ? l->bounds.to : l->bounds.from * pow(l->bounds.to / l->bounds.from, t), node->mark,
                              &d->value[i]));
  }
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys zip, latin_hypercube and sobol: several parameters at once. */

static PetscErrorCode read_zip(sweep_build *b, const char *name, document_mark mark, const document_node *zip)
{
  build_dimension *d;
  bool             good = zip->kind == DOCUMENT_MAPPING && zip->n > 0;

  PetscFunctionBegin;
  if (!good) diagnostics_add(b->d, zip->mark, name, "zip: expected a mapping of names to lists");
  for (int i = 0; good && i < zip->n; ++i) {
    const document_node *v = zip->value[i], *first = zip->value[0];
    const bool           is_list = v->kind == DOCUMENT_SEQUENCE && v->n > 0;
    if (!is_list) diagnostics_add(b->d, v->mark, name, "zip: %s: expected a list of values", zip->key[i]);
    else if (first->kind == DOCUMENT_SEQUENCE && first->n > 0 && v->n != first->n)
      diagnostics_add(b->d, v->mark, name, "zip: %s has %d entries, but %s has %d; the lists must have equal lengths", zip->key[i], v->n,
                      zip->key[0], first->n);
    else continue;
    good = false;
  }
  if (!good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(add_dimension(b, zip->n, zip->key, zip->key_mark, mark, zip->value[0]->n, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < d->n_rows; ++i)
    for (int k = 0; k < d->n_names; ++k) PetscCall(sweep_value_canonical(b->doc, zip->value[k]->value[i], &d->value[i * d->n_names + k]));
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads an interval given as [from, to] or as a mapping. */
static PetscErrorCode read_interval(sweep_build *b, const char *where, const document_node *node, sweep_interval *out, bool *good)
{
  const int   before = diagnostics_count(b->d);
  const void *read;

  PetscFunctionBegin;
  if (node->kind == DOCUMENT_SEQUENCE) {
    *out  = (sweep_interval){0};
    *good = node->n == 2;
    for (int i = 0; i < 2 && *good; ++i) {
      const document_node *v = node->value[i];
      *good = v->kind == DOCUMENT_SCALAR && !v->is_quoted && key_text_real(v->text, i ? &out->bounds.to : &out->bounds.from) == KEY_TEXT_OK;
    }
    if (!*good) diagnostics_add(b->d, node->mark, where, "expected two numbers, [from, to], or {from: ..., to: ..., log: true}");
  } else {
    PetscCall(key_table_read(&sweep_interval_table, b->doc, node, where, b->d, &read));
    *out = *(const sweep_interval *)read;
  }
  *good = diagnostics_count(b->d) == before;
  if (*good && !(out->bounds.from < out->bounds.to)) diagnostics_add(b->d, node->mark, where, "from must be less than to");
  if (*good && out->is_log && !(out->bounds.from > 0)) diagnostics_add(b->d, node->mark, where, "log: true requires from > 0");
  *good = diagnostics_count(b->d) == before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_samples(sweep_build *b, const char *name, document_mark mark, const sweep_samples *s, bool is_sobol)
{
  sweep_interval   of[SWEEP_MAX_NAMES];
  char             where[300];
  bool             good  = s->of && s->of->kind == DOCUMENT_MAPPING && s->of->n > 0;
  const int        limit = is_sobol ? SAMPLES_SOBOL_MAX : SWEEP_MAX_NAMES;
  build_dimension *d;
  double          *u __attribute__((cleanup(memory_free))) = NULL;

  PetscFunctionBegin;
  if (!good) {
    if (s->of) diagnostics_add(b->d, s->of->mark, name, "of: expected a mapping of names to intervals: {mu: [0.1, 0.5]}");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->of->n > limit) {
    diagnostics_add(b->d, s->of->mark, name, "expected at most %d sampled parameters, got %d", limit, s->of->n);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < s->of->n; ++k) {
    bool is_one_good = false;
    (void)snprintf(where, sizeof where, "vary.%.90s.of.%.90s", name, s->of->key[k]);
    PetscCall(read_interval(b, where, s->of->value[k], &of[k], &is_one_good));
    good = good && is_one_good;
  }
  PetscCall(add_dimension(b, s->of->n, s->of->key, s->of->key_mark, mark, good ? s->count : 0, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("samples", s->count * s->of->n, sizeof *u, &u));
  if (is_sobol) samples_sobol(s->seed == KEY_INT_ABSENT ? -1 : s->seed, s->count, s->of->n, u);
  else PetscCall(samples_latin_hypercube((uint64_t)s->seed, s->count, s->of->n, u));
  for (int64_t i = 0; i < s->count * s->of->n; ++i) {
    const sweep_interval *r = &of[i % s->of->n];
    const double          x =
        r->is_log ? r->bounds.from * pow(r->bounds.to / r->bounds.from, u[i]) : r->bounds.from + (r->bounds.to - r->bounds.from) * u[i];
    PetscCall(add_number_node(b, x, s->of->value[i % s->of->n]->mark, &d->value[i]));
  }
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_entry(sweep_build *b, const char *name, document_mark mark, const document_node *node)
{
  char        where[300];
  const int   before = diagnostics_count(b->d);
  const void *read;

  PetscFunctionBegin;
  (void)snprintf(where, sizeof where, "vary.%.200s", name);
  if (node->kind == DOCUMENT_SEQUENCE) {
    PetscCall(read_values(b, name, mark, node));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (node->kind != DOCUMENT_MAPPING) {
    diagnostics_add(
        b->d, node->mark, where,
        "expected a list of values, or one of range, log, zip, latin_hypercube or sobol; constant settings belong under \"set\"");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(key_table_read(&sweep_entry_table, b->doc, node, where, b->d, &read));
  const sweep_entry *e = read;
  if (diagnostics_count(b->d) > before) { /* add the name nevertheless, to avoid further errors where it is used */
    if (!e->zip && !e->latin_hypercube && !e->sobol) (void)sweep_build_add_parameter(b, name, mark);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (e->range) PetscCall(read_range(b, name, mark, node, e->range));
  if (e->log) PetscCall(read_log_range(b, name, mark, node, e->log));
  if (e->zip) PetscCall(read_zip(b, name, mark, e->zip));
  if (e->latin_hypercube) PetscCall(read_samples(b, name, mark, e->latin_hypercube, false));
  if (e->sobol) PetscCall(read_samples(b, name, mark, e->sobol, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_repeat(sweep_build *b, const sweep_repeat *r)
{
  static const char *const name = "repeat";
  const document_node     *node = document_find(b->root, name);
  build_dimension         *d;

  PetscFunctionBegin;
  PetscCall(add_dimension(b, 1, &name, &node->mark, node->mark, r->count, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < r->count; ++i) PetscCall(add_number_node(b, (double)(r->first + i), node->mark, &d->value[i]));
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads `vary` and `repeat`. */
static PetscErrorCode sweep_dimensions_read(sweep_build *b)
{
  const document_node *vary = b->file->vary;

  PetscFunctionBegin;
  for (int i = 0; vary && vary->kind == DOCUMENT_MAPPING && i < vary->n; ++i)
    PetscCall(read_entry(b, vary->key[i], vary->key_mark[i], vary->value[i]));
  if (b->file->repeat) PetscCall(read_repeat(b, b->file->repeat));
  b->n_varied = b->n_parameters;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- let, where, set ---------------------------------------------------------------------------------------------- */

static int find_parameter(const sweep_build *b, const char *name, size_t n)
{
  for (int i = 0; i < b->n_parameters; ++i)
    if (!strncmp(b->parameter[i].name, name, n) && !b->parameter[i].name[n]) return i;
  return -1;
}

static const char *nearest_parameter(const sweep_build *b, const char *name)
{
  const char *names[SWEEP_MAX_NAMES];
  for (int i = 0; i < b->n_parameters; ++i) names[i] = b->parameter[i].name;
  return diagnostics_nearest(name, b->n_parameters, names);
}

static void list_numeric(sweep_build *b)
{
  for (int i = 0; i < b->n_parameters; ++i) b->numeric[i] = b->parameter[i].is_numeric ? b->parameter[i].name : "\1";
}

/* Adds the error of an expression at its place. For an unknown name also the most similar parameter. */
static void add_expression_error(sweep_build *b, const document_node *node, const char *path, int place, const char *message)
{
  document_mark mark = node->mark;
  char          word[80];
  mark.column += place + node->is_quoted;
  if (strcmp(message, "unknown name")) {
    diagnostics_add(b->d, mark, path, "\"%s\": %s", node->text, message);
    return;
  }
  const char *start = node->text + place;
  (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(start, " \t\n+-*/^()<>=!?:,"), start);
  const char *nearest = nearest_parameter(b, word);
  const int   found   = find_parameter(b, word, strlen(word));
  if (found >= 0)
    diagnostics_add(b->d, mark, path, "\"%s\": %s is not a number in every case, so expressions cannot use it", node->text, word);
  else
    diagnostics_add(b->d, mark, path, "\"%s\": unknown parameter \"%s\"%s%s%s", node->text, word, nearest ? "; did you mean \"" : "",
                    nearest ? nearest : "", nearest ? "\"?" : "");
}

/* Keys let and where. */

static PetscErrorCode compile_expression(sweep_build *b, const document_node *node, const char *path, expression **out)
{
  char message[200];
  int  place;

  PetscFunctionBegin;
  *out = NULL;
  if (node->kind != DOCUMENT_SCALAR) {
    diagnostics_add(b->d, node->mark, path, "expected an expression");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(expression_compile(node->text, b->n_parameters, b->numeric, out, &place, message, sizeof message));
  if (!*out) add_expression_error(b, node, path, place, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Depth-first topological sort of derived parameters. state: 0 not visited, 1 being visited, 2 done. `chain`: the names being
 * visited. False with a diagnostic if the definitions are circular. */
static bool sort_derived(sweep_build *b, int i, char *state, int *n, const char **chain, int depth)
{
  const int n_derived = b->n_parameters - b->n_varied;
  chain[depth]        = b->parameter[b->n_varied + i].name;
  if (state[i] == 2) return true;
  if (state[i] == 1) {
    char   words[400];
    size_t used = 0;
    int    from = 0;
    while (chain[from] != chain[depth]) ++from;
    for (int k = from; k <= depth && used < sizeof words; ++k)
      used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", k > from ? " -> " : "", chain[k]);
    diagnostics_add(b->d, b->parameter[b->n_varied + i].mark, "let", "circular definition: %s; remove one of these references", words);
    return false;
  }
  state[i] = 1;
  for (int j = 0; j < n_derived; ++j)
    if (b->let[i] && expression_uses(b->let[i], b->n_varied + j) && !sort_derived(b, j, state, n, chain, depth + 1)) return false;
  state[i]             = 2;
  b->let_order[(*n)++] = i;
  return true;
}

static PetscErrorCode read_lets(sweep_build *b)
{
  const document_node *let                    = b->file->let;
  const document_node *of[SWEEP_MAX_NAMES]    = {0};
  char                 state[SWEEP_MAX_NAMES] = {0}, path[300];
  const char          *chain[SWEEP_MAX_NAMES + 1];
  int                  n = 0;

  PetscFunctionBegin;
  for (int i = 0; let && i < let->n; ++i) {
    const int before = b->n_parameters;
    if (sweep_build_is_job_key(let->key[i]))
      diagnostics_add(b->d, let->key_mark[i], let->key[i],
                      "is a job key, which belongs under \"set\"; \"let\" defines parameters of the sweep");
    else if (sweep_build_add_parameter(b, let->key[i], let->key_mark[i]) >= 0) of[before - b->n_varied] = let->value[i];
  }
  list_numeric(b);
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i) {
    (void)snprintf(path, sizeof path, "let.%.200s", b->parameter[b->n_varied + i].name);
    if (of[i]) PetscCall(compile_expression(b, of[i], path, &b->let[i]));
  }
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i)
    if (!sort_derived(b, i, state, &n, chain, 0)) break;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_where(sweep_build *b)
{
  char path[40];

  PetscFunctionBegin;
  b->n_where = b->file->where.n;
  PetscCall(document_alloc(b->doc, (size_t)(b->n_where + 1) * sizeof *b->where, &b->where));
  for (int i = 0; i < b->n_where; ++i) {
    (void)snprintf(path, sizeof path, "where[%d]", i);
    PetscCall(compile_expression(b, b->file->where.item[i].node, path, &b->where[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Key set. */

/* Whether a text such as "a column of {aspect}" contains names of parameters in braces. Reports unknown names. */
static bool is_template(sweep_build *b, const document_node *node, const char *path)
{
  bool found = false;
  for (const char *p = strchr(node->text, '{'); p; p = strchr(p + 1, '{')) {
    const size_t n = strcspn(p + 1, "{}");
    char         word[80];
    if (p[1 + n] != '}' || n == 0) continue;
    const int i = find_parameter(b, p + 1, n);
    if (i >= 0) {
      b->parameter[i].is_used = found = true;
      continue;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)n, p + 1);
    const char *nearest = nearest_parameter(b, word);
    diagnostics_add(b->d, node->mark, path, "unknown parameter \"%s\" in this text%s%s%s", word, nearest ? "; did you mean \"" : "",
                    nearest ? nearest : "", nearest ? "\"?" : "");
  }
  return found;
}

static void mark_used(sweep_build *b, const expression *e)
{
  for (int i = 0; e && i < b->n_parameters; ++i)
    if (expression_uses(e, i)) b->parameter[i].is_used = true;
}

static PetscErrorCode read_set_scalar(sweep_build *b, const document_node *node, const char *path, build_formula *f)
{
  double x;
  char   message[200];
  int    place;
  bool   has_parameter = false;

  PetscFunctionBegin;
  *f = (build_formula){.node = node, .parameter = -1};
  if (!node->is_quoted && key_text_real(node->text, &x) == KEY_TEXT_OK) PetscFunctionReturn(PETSC_SUCCESS);
  f->parameter = find_parameter(b, node->text, strlen(node->text));
  if (f->parameter >= 0) {
    b->parameter[f->parameter].is_used = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(expression_compile(node->text, b->n_parameters, b->numeric, &f->e, &place, message, sizeof message));
  for (int i = 0; f->e && i < b->n_parameters; ++i) has_parameter = has_parameter || expression_uses(f->e, i);
  if (f->e && node->is_quoted && !has_parameter) expression_destroy(&f->e); /* a quoted text such as "e" is not an expression */
  mark_used(b, f->e);
  if (f->e) PetscFunctionReturn(PETSC_SUCCESS);
  f->is_template = is_template(b, node, path);
  /* a text with these characters is probably a wrong expression; the job's key tables find other errors */
  if (!f->is_template && !node->is_quoted && strpbrk(node->text, "*^(")) add_expression_error(b, node, path, place, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_set_value(sweep_build *b, const document_node *node, const char *path)
{
  PetscFunctionBegin;
  if (node->kind == DOCUMENT_SCALAR) {
    if (b->n_formulas == b->formula_capacity) {
      b->formula_capacity = b->formula_capacity ? 2 * b->formula_capacity : 32;
      PetscCall(memory_resize("sweep", b->formula_capacity, sizeof *b->formula, &b->formula));
    }
    build_formula f;
    PetscCall(read_set_scalar(b, node, path, &f));
    b->formula[b->n_formulas++] = f;
  }
  for (int i = 0; i < node->n; ++i) PetscCall(read_set_value(b, node->value[i], path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two keys are equal or one contains the other. */
static bool keys_overlap(const char *a, const char *b)
{
  const size_t n    = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
  const char   next = strlen(a) < strlen(b) ? b[n] : a[n];
  return !strncmp(a, b, n) && (next == 0 || next == '.' || next == '[');
}

static void add_setting(sweep_build *b, build_setting s)
{
  for (int i = 0; i < b->n_settings; ++i)
    if (keys_overlap(b->setting[i].key, s.key)) {
      diagnostics_add(b->d, s.mark, s.key, "is set twice, first by %s in line %d", b->setting[i].key, b->setting[i].mark.line);
      return;
    }
  if (b->n_settings == SWEEP_MAX_NAMES)
    diagnostics_add(b->d, s.mark, s.key, "more than %d keys are set; remove some of them", SWEEP_MAX_NAMES);
  else b->setting[b->n_settings++] = s;
}

static PetscErrorCode read_settings(sweep_build *b)
{
  const document_node *set = b->file->set, *repeat = document_find(b->root, "repeat"), *seed = document_find(repeat, "seed");
  char                 path[300];

  PetscFunctionBegin;
  for (int i = 0; i < b->n_parameters; ++i) {
    if (!b->parameter[i].is_key) continue;
    b->parameter[i].is_used = true;
    add_setting(b, (build_setting){.key = b->parameter[i].name, .mark = b->parameter[i].mark, .parameter = i});
  }
  if (seed && b->file->repeat && b->file->repeat->seed) {
    const int i = find_parameter(b, "repeat", 6);
    if (i >= 0) b->parameter[i].is_used = true;
    if (!sweep_build_is_job_key(b->file->repeat->seed))
      diagnostics_add(b->d, seed->mark, "repeat.seed", "expected a job key such as bodies.bed.seed");
    else add_setting(b, (build_setting){.key = b->file->repeat->seed, .mark = seed->mark, .parameter = i});
  }
  for (int i = 0; set && i < set->n; ++i) {
    build_setting s = {
        .key = set->key[i], .mark = set->key_mark[i], .parameter = -1, .tree = set->value[i], .first_formula = b->n_formulas};
    (void)snprintf(path, sizeof path, "set.%.200s", set->key[i]);
    if (!sweep_build_is_job_key(s.key))
      diagnostics_add(b->d, s.mark, path, "expected a job key such as time.end; \"let\" defines derived parameters");
    PetscCall(read_set_value(b, s.tree, path));
    s.n_formulas = b->n_formulas - s.first_formula;
    add_setting(b, s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks parameters that used derived parameters depend on, and reports varied parameters without any effect. */
static void check_unused_parameters(sweep_build *b)
{
  const char *top[64];
  int         n_top = 0;
  for (const key_spec *k = job_table.keys; k->name && n_top < 64; ++k) top[n_top++] = k->name;
  for (int i = 0; i < b->n_where; ++i) mark_used(b, b->where[i]);
  for (int i = b->n_parameters - b->n_varied - 1; i >= 0; --i) /* in reverse order of evaluation */
    if (b->parameter[b->n_varied + b->let_order[i]].is_used) mark_used(b, b->let[b->let_order[i]]);
  for (int i = 0; i < b->n_varied; ++i) {
    const build_parameter *p = &b->parameter[i];
    if (p->is_used) continue;
    const char *nearest = diagnostics_nearest(p->name, n_top, top);
    if (!strcmp(p->name, "repeat"))
      diagnostics_add(b->d, p->mark, "repeat",
                      "has no effect, so all repetitions would be equal: give the key of a seed (seed: bodies.bed.seed), or use \"repeat\" "
                      "under \"set\"");
    else
      diagnostics_add(
          b->d, p->mark, p->name,
          "varies, but has no effect: use a job key as its name (materials.sand.density), or use it under \"set\" or \"where\"%s%s%s",
          nearest ? "; did you mean the job key \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  }
}

/* Compiles `let`, `where` and `set`. */
static PetscErrorCode sweep_formulas_read(sweep_build *b)
{
  PetscFunctionBegin;
  PetscCall(read_lets(b));
  PetscCall(read_where(b));
  PetscCall(read_settings(b));
  if (diagnostics_count(b->d) == 0) check_unused_parameters(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of a case. */

/* Computes the derived parameters in vars [n_parameters]. */
static void sweep_formulas_derive(const sweep_build *b, double *vars)
{
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i)
    vars[b->n_varied + b->let_order[i]] = expression_value(b->let[b->let_order[i]], vars);
}

/* Whether the case passes all filters. *bad: index of a filter that is not a number, or -1. */
static bool sweep_formulas_pass(const sweep_build *b, const double *vars, int *bad)
{
  *bad = -1;
  for (int i = 0; i < b->n_where; ++i) {
    const double x = expression_value(b->where[i], vars);
    if (x == 0.0) return false;
    if (isnan(x)) *bad = i;
  }
  return true;
}

/* Creates a node in `doc` with the value of a parameter in a case. */
static PetscErrorCode add_parameter_node(const sweep_build *b, int i, const int64_t *row, const double *vars, document_mark mark,
                                         document *doc, document_node **out)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  *out = NULL;
  if (i >= b->n_varied) {
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, mark, key_text_of_real(vars[i], text), out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < b->n_dimensions; ++k) {
    const build_dimension *d = &b->dimension[k];
    if (i >= d->first && i < d->first + d->n_names) PetscCall(document_copy(doc, d->value[row[k] * d->n_names + i - d->first], out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void fill_template(const sweep_build *b, const char *text, const int64_t *row, const double *vars, text_buffer *out)
{
  for (const char *p = text; *p;) {
    const size_t n = *p == '{' ? strcspn(p + 1, "{}") : 0;
    const int    i = n && p[1 + n] == '}' ? find_parameter(b, p + 1, n) : -1;
    if (i < 0) {
      text_append(out, p++, 1);
      continue;
    }
    char text_of[KEY_TEXT_REAL];
    if (i >= b->n_varied) text_printf(out, "%s", key_text_of_real(vars[i], text_of));
    for (int k = 0; k < b->n_dimensions; ++k) {
      const build_dimension *d = &b->dimension[k];
      if (i < d->first || i >= d->first + d->n_names) continue;
      const int64_t        at = row[k] * d->n_names + i - d->first;
      const document_node *v  = d->value[at];
      text_printf(out, "%s", v->kind == DOCUMENT_SCALAR ? v->text : d->text[at]);
    }
    p += n + 2;
  }
}

/* Creates a node in `doc` with a value of `set`, its formulas evaluated. *next: index of the formula of the next scalar. */
static PetscErrorCode add_evaluated_node(const sweep_build *b, const document_node *node, int *next, const int64_t *row, const double *vars,
                                         document *doc, document_node **out)
{
  char        text[KEY_TEXT_REAL];
  text_buffer filled = {0};

  PetscFunctionBegin;
  if (node->kind != DOCUMENT_SCALAR) {
    PetscCall(document_add_node(doc, node->kind, node->mark, NULL, out));
    for (int i = 0; i < node->n; ++i) {
      const bool     has_key = node->kind == DOCUMENT_MAPPING;
      document_node *child;
      PetscCall(add_evaluated_node(b, node->value[i], next, row, vars, doc, &child));
      PetscCall(document_append(doc, *out, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const build_formula *f = &b->formula[(*next)++];
  if (f->parameter >= 0) {
    PetscCall(add_parameter_node(b, f->parameter, row, vars, node->mark, doc, out));
  } else if (f->e) {
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, key_text_of_real(expression_value(f->e, vars), text), out));
  } else if (f->is_template) {
    fill_template(b, node->text, row, vars, &filled);
    PetscCall(filled.code);
    document_node *quoted;
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, filled.data, &quoted));
    text_clear(&filled);
    quoted->is_quoted = true;
    PetscCall(sweep_value_canonical(doc, quoted, out));
  } else {
    PetscCall(sweep_value_canonical(doc, node, out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a node in `doc` with the value of setting `s` in a case; row [n_dimensions]: index of the row of each dimension. */
static PetscErrorCode sweep_formulas_setting(const sweep_build *b, const build_setting *s, const int64_t *row, const double *vars,
                                             document *doc, document_node **out)
{
  int next = s->first_formula;

  PetscFunctionBegin;
  if (s->parameter >= 0) PetscCall(add_parameter_node(b, s->parameter, row, vars, s->mark, doc, out));
  else PetscCall(add_evaluated_node(b, s->tree, &next, row, vars, doc, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the sweep file ----------------------------------------------------------------------------------------------- */

/* Checks texts that are passed to sbatch: reports malformed values and characters that a shell would interpret. */
static void check_resources(sweep_build *b)
{
  const document_node   *node        = document_find(b->root, "resources");
  const sweep_resources *r           = b->file->resources;
  const char            *names[2][2] = {{"partition", r->partition}, {"account", r->account}};
  if (r->memory) {
    const size_t n = strspn(r->memory, "0123456789");
    if (n == 0 || n > 9 || (r->memory[n] && (!strchr("KMGT", r->memory[n]) || r->memory[n + 1])))
      diagnostics_add_under(b->d, node, "resources", "memory", "expected megabytes, or a number with K, M, G or T, such as 2G; got \"%s\"",
                            r->memory);
  }
  if (r->time && (!*r->time || r->time[strspn(r->time, "0123456789:-")] || strlen(r->time) > 20))
    diagnostics_add_under(b->d, node, "resources", "time",
                          "expected minutes, hours:minutes:seconds or days-hours:minutes:seconds, got \"%s\"", r->time);
  for (int i = 0; i < 2; ++i)
    if (names[i][1] && (!*names[i][1] || names[i][1][strspn(names[i][1], LETTERS "0123456789-.,@")]))
      diagnostics_add_under(b->d, node, "resources", names[i][0], "expected a name of letters, digits and _ - . , @, got \"%s\"",
                            names[i][1]);
}

static void check_head(sweep_build *b)
{
  const sweep_file    *f    = b->file;
  const document_node *name = document_find(b->root, "name"), *base = document_find(b->root, "base");
  if (name && f->name && !job_name_is_valid(f->name))
    diagnostics_add(b->d, name->mark, "name", "expected " JOB_NAME_EXPECTED ", got \"%s\"", f->name);
  if (f->base && f->job) diagnostics_add(b->d, base->mark, "base", "\"base\" and \"job\" are both given; give one of them");
  if (!document_find(b->root, "base") && !document_find(b->root, "job"))
    diagnostics_add(b->d, b->root->mark, "base", "missing: path of the base job (or give the job itself under \"job\")");
  if (!f->vary && !f->repeat) diagnostics_add(b->d, b->root->mark, "vary", "missing: give \"vary\" or \"repeat\"");
}

/* Reads the sweep file; adds errors to `d`. The base job is not read yet. *out is created also if there are errors. is_copy: the
 * file in a sweep folder, whose base job is DIR/base.yaml. */
static PetscErrorCode sweep_build_read(const char *path, bool is_copy, diagnostics *d, sweep_build **out)
{
  const void *file;

  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep", 1, sizeof **out, out));
  sweep_build *b = *out;
  b->d           = d;
  PetscCall(document_create(&b->doc));
  PetscCall(yaml_read_file(path, b->doc, d));
  b->root = document_root(b->doc);
  b->path = document_intern(b->doc, path);
  PetscCheck(b->path, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for a path; use a smaller scene or a larger machine");
  document_node *base = (document_node *)document_find(b->root, "base");
  if (is_copy && base && base->kind == DOCUMENT_SCALAR) base->text = "base.yaml"; /* the original path may be invalid here */
  PetscCall(key_table_read(&sweep_file_table, b->doc, b->root, "", d, &file));
  b->file = file;
  if (!b->root || b->root->kind != DOCUMENT_MAPPING) PetscFunctionReturn(PETSC_SUCCESS);
  check_head(b);
  check_resources(b);
  PetscCall(sweep_dimensions_read(b));
  PetscCall(sweep_formulas_read(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sweep_build_destroy(sweep_build **b)
{
  if (!*b) return;
  for (int i = 0; i < SWEEP_MAX_NAMES; ++i) expression_destroy(&(*b)->let[i]);
  for (int i = 0; i < (*b)->n_where; ++i) expression_destroy(&(*b)->where[i]);
  for (int i = 0; i < (*b)->n_formulas; ++i) expression_destroy(&(*b)->formula[i].e);
  memory_free(&(*b)->formula);
  document_destroy(&(*b)->doc);
  memory_free(b);
}

/* --- the jobs of the cases ---------------------------------------------------------------------------------------- */

const char *sweep_case_text(const sweep_plan *plan, const sweep_case *c, size_t size, char *words)
{
  size_t used = 0;
  words[0]    = 0;
  for (int i = 0; i < plan->n_varied && used + 1 < size; ++i)
    used += (size_t)snprintf(words + used, size - used, "%s%s=%s", i ? " " : "", plan->parameter[i], c->value[i]);
  return words;
}

enum { MAX_DEEP_CASES = 10 };

/* The base job. */

/* Reports options --set of keys that the sweep sets in every case. */
static void check_overrides(sweep_build *b, int n_overrides, const char *const *overrides)
{
  for (int i = 0; i < n_overrides; ++i) {
    const size_t n = strcspn(overrides[i], "=");
    for (int k = 0; k < b->n_settings; ++k)
      if (strlen(b->setting[k].key) == n && !strncmp(b->setting[k].key, overrides[i], n))
        diagnostics_add(b->d, b->setting[k].mark, b->setting[k].key, "is set by every case, so --set %s would have no effect",
                        overrides[i]);
  }
}

/* Reads the base job, applies `overrides` and makes its paths absolute. *base is NULL after errors. */
static PetscErrorCode sweep_check_base(sweep_build *b, int n_overrides, const char *const *overrides, document **base)
{
  const document_node *node   = document_find(b->root, b->file->base ? "base" : "job");
  const int            before = diagnostics_count(b->d);
  document_node       *copy;

  PetscFunctionBegin;
  PetscCall(document_create(base));
  if (b->file->base && access(b->file->base, R_OK)) diagnostics_add(b->d, node->mark, "base", "cannot read the job %s", b->file->base);
  else if (b->file->base) PetscCall(yaml_read_file(b->file->base, *base, b->d));
  else if (b->file->job) {
    PetscCall(document_copy(*base, b->file->job, &copy));
    document_set_root(*base, copy);
  }
  check_overrides(b, n_overrides, overrides);
  for (int i = 0; i < n_overrides && diagnostics_count(b->d) == before; ++i) PetscCall(job_override(*base, overrides[i], b->d));
  document_node *root = document_root(*base);
  if (root && root->kind != DOCUMENT_MAPPING) diagnostics_add(b->d, root->mark, NULL, "expected a job: a mapping of keys to values");
  if (!root || diagnostics_count(b->d) > before) document_destroy(base);
  else PetscCall(key_table_absolute_paths(&job_table, *base, root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cases. */

/* Sets one key of the job. A key path that does not exist is reported as an error of the sweep file. */
static PetscErrorCode apply_setting(const build_setting *s, document *doc, document_node *value, diagnostics *d)
{
  const document_mark mark = value->mark;

  PetscFunctionBegin;
  value->mark               = s->mark; /* errors refer to the place of the key, not of the value */
  const PetscErrorCode code = document_override(doc, s->key, value);
  value->mark               = mark;
  if (code == PETSC_ERR_USER_INPUT) {
    const char *message = error_message();
    diagnostics_add(d, s->mark, NULL, "%s", strncmp(message, "--set ", 6) ? message : message + 6);
    error_clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_overrides(const sweep_build *b, document_node *const *value, sweep_plan *plan, sweep_case *c)
{
  PetscFunctionBegin;
  c->n_overrides = b->n_settings;
  PetscCall(document_alloc(plan->owner, (size_t)b->n_settings * sizeof *c->overrides, &c->overrides));
  for (int k = 0; k < b->n_settings; ++k) {
    char        *text, *whole;
    const size_t n_key = strlen(b->setting[k].key);
    PetscCall(document_write_flow(value[k], &text));
    const PetscErrorCode code = document_alloc(plan->owner, n_key + strlen(text) + 2, &whole);
    if (!code) (void)sprintf(whole, "%s=%s", b->setting[k].key, text);
    memory_free(&text);
    PetscCall(code);
    c->overrides[k] = whole;
    /* the value of a path is absolute here; the id of the case was computed from the text in the file */
    const int of = b->setting[k].parameter;
    if (of >= 0 && b->parameter[of].is_key) c->value[of] = whole + n_key + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *n_deep: in how many more cases with errors all further errors are searched, which requires scenes. */
static PetscErrorCode check_case(const sweep_build *b, const document *base, sweep_plan *plan, int64_t i, const int64_t *row,
                                 const double *vars, int *n_deep, diagnostics *d)
{
  document      *doc, *copy __attribute__((cleanup(document_destroy))) = NULL;
  document_node *root, *value[SWEEP_MAX_NAMES];
  job           *j = NULL;

  PetscFunctionBegin;
  PetscCall(document_create(&doc));
  PetscCall(document_copy(doc, document_root(base), &root));
  document_set_root(doc, root);
  for (int k = 0; k < b->n_settings; ++k) {
    PetscCall(sweep_formulas_setting(b, &b->setting[k], row, vars, doc, &value[k]));
    PetscCall(apply_setting(&b->setting[k], doc, value[k], d));
  }
  PetscCall(key_table_absolute_paths(&job_table, doc, document_root(doc)));
  PetscCall(write_overrides(b, value, plan, &plan->cases[i]));
  document_node *given = NULL;
  PetscCall(document_create(&copy));
  if (*n_deep > 0) PetscCall(document_copy(copy, document_root(doc), &given));
  PetscCall(job_read_document(&doc, d, &j));
  job_destroy(&j);
  if (given && diagnostics_count(d)) {
    --*n_deep;
    PetscCall(run_find_errors(PETSC_COMM_SELF, given, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the overrides of all cases and reads their jobs. row [n_cases][n_dimensions], vars [n_cases][n_parameters]. */
static PetscErrorCode sweep_check_cases(sweep_build *b, const document *base, sweep_plan *plan, const int64_t *row, const double *vars)
{
  sweep_errors   c      = {0};
  PetscErrorCode code   = PETSC_SUCCESS;
  int            n_deep = MAX_DEEP_CASES;
  char           words[SWEEP_WORDS];

  PetscFunctionBegin;
  for (int64_t i = 0; i < plan->n_cases && !code; ++i) {
    diagnostics *d;
    PetscCall(diagnostics_create(&d));
    code = check_case(b, base, plan, i, row + i * b->n_dimensions, vars + i * b->n_parameters, &n_deep, d);
    if (!code) code = sweep_errors_collect(&c, d, i, sweep_case_text(plan, &plan->cases[i], sizeof words, words));
    diagnostics_destroy(&d);
  }
  sweep_errors_report(&c, plan->n_cases, b->d);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

/* The selected combinations: a row of each dimension and the numbers of all parameters. */
typedef struct {
  int64_t  n, n_filtered, n_combinations, row_capacity, vars_capacity;
  int64_t *row;  /* [n][n_dimensions] */
  double  *vars; /* [n][n_parameters] */
} selection;

static void selection_clear(selection *s) { MEMORY_FREE(&s->row, &s->vars); }

/* The number of combinations; -1 with a diagnostic if it exceeds the limit. */
static int64_t count_combinations(sweep_build *b)
{
  double product = 1;
  for (int i = 0; i < b->n_dimensions; ++i) product *= (double)b->dimension[i].n_rows;
  if (product <= SWEEP_MAX_COMBINATIONS) return (int64_t)product;
  const document_node *vary = document_find(b->root, "vary");
  diagnostics_add(b->d, vary ? vary->mark : b->root->mark, "vary",
                  "gives %.4g combinations; at most %d combinations and %d cases are possible; use samples (latin_hypercube, sobol)",
                  product, SWEEP_MAX_COMBINATIONS, SWEEP_MAX_CASES);
  return -1;
}

/* Rows and parameters of combination c; the last dimension varies fastest. */
static void evaluate_combination(const sweep_build *b, int64_t c, int64_t *row, double *vars)
{
  for (int k = b->n_dimensions - 1; k >= 0; --k) {
    const build_dimension *d = &b->dimension[k];
    row[k]                   = c % d->n_rows;
    c /= d->n_rows;
    for (int j = 0; j < d->n_names; ++j) vars[d->first + j] = d->number[row[k] * d->n_names + j];
  }
  sweep_formulas_derive(b, vars);
}

/* Reports the first derived parameter or filter that is not a finite number, with the values of the varied parameters. */
static void check_numbers(sweep_build *b, const double *vars, int bad_filter, bool *is_reported)
{
  char   words[300];
  size_t used = 0;
  int    bad  = -1;
  for (int i = b->n_parameters - 1; i >= b->n_varied; --i)
    if (!isfinite(vars[i])) bad = i;
  if ((bad < 0 && bad_filter < 0) || *is_reported) return;
  *is_reported = true;
  words[0]     = 0;
  for (int i = 0; i < b->n_varied && used + 1 < sizeof words; ++i)
    if (b->parameter[i].is_numeric)
      used += (size_t)snprintf(words + used, sizeof words - used, "%s%s=%.9g", used ? " " : "", b->parameter[i].name, vars[i]);
  if (bad >= 0)
    diagnostics_add(b->d, b->parameter[bad].mark, "let", "%s is %s for %s; omit such cases with \"where\"", b->parameter[bad].name,
                    isnan(vars[bad]) ? "not a number" : "infinite", words);
  else diagnostics_add(b->d, b->file->where.item[bad_filter].node->mark, "where", "is not a number for %s", words);
}

static PetscErrorCode select_cases(sweep_build *b, selection *s)
{
  bool is_reported = false;

  PetscFunctionBegin;
  s->n_combinations = count_combinations(b);
  for (int64_t c = 0; c < s->n_combinations; ++c) {
    int bad;
    PetscCall(memory_reserve("sweep", (s->n + 1) * b->n_dimensions, sizeof *s->row, &s->row_capacity, &s->row));
    PetscCall(memory_reserve("sweep", (s->n + 1) * b->n_parameters, sizeof *s->vars, &s->vars_capacity, &s->vars));
    evaluate_combination(b, c, s->row + s->n * b->n_dimensions, s->vars + s->n * b->n_parameters);
    if (!sweep_formulas_pass(b, s->vars + s->n * b->n_parameters, &bad)) {
      ++s->n_filtered;
      continue;
    }
    check_numbers(b, s->vars + s->n * b->n_parameters, bad, &is_reported);
    if (++s->n > SWEEP_MAX_CASES) {
      const document_node *vary = document_find(b->root, "vary");
      diagnostics_add(b->d, vary ? vary->mark : b->root->mark, "vary", "gives more than %d cases", SWEEP_MAX_CASES);
      break;
    }
  }
  if (s->n == 0 && s->n_combinations > 0)
    diagnostics_add(b->d, document_find(b->root, "where")->mark, "where", "omits all %lld combinations; no case remains",
                    (long long)s->n_combinations);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Identity of a case. */

/* The id of a case: FNV-1a hash of lines "name=value" in alphabetical order, followed by bit mixing. It does not depend on the
 * order of the parameters in the file. */
static PetscErrorCode compute_case_id(document *owner, int n, const char *const *names, const int *order, const char *const *values,
                                      const char **id)
{
  uint64_t h = 14695981039346656037u;
  char    *text;

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) {
    const char *const part[4] = {names[order[i]], "=", values[order[i]], "\n"};
    for (int k = 0; k < 4; ++k)
      for (const char *c = part[k]; *c; ++c) h = (h ^ (unsigned char)*c) * 1099511628211u;
  }
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  PetscCall(document_alloc(owner, SWEEP_ID, &text));
  (void)snprintf(text, SWEEP_ID, "%016llx", (unsigned long long)(h ^ h >> 31));
  *id = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sort_names(int n, const char *const *names, int *order)
{
  for (int i = 0; i < n; ++i) {
    int k = i;
    for (; k > 0 && strcmp(names[order[k - 1]], names[i]) > 0; --k) order[k] = order[k - 1];
    order[k] = i;
  }
}

/* The text of the sweep file. If it includes other files, they are inserted, because their paths are not valid in the sweep
 * folder. */
static PetscErrorCode read_sweep_text(const sweep_build *b, char **text)
{
  size_t n;

  PetscFunctionBegin;
  PetscCall(file_read_text(b->path, text, &n));
  if (*text && !strstr(*text, "!include")) PetscFunctionReturn(PETSC_SUCCESS);
  memory_free(text);
  PetscCall(document_write(b->root, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_head(const sweep_build *b, const document *base, sweep_plan *plan)
{
  char *text;

  PetscFunctionBegin;
  plan->name         = b->file->name;
  plan->n_varied     = b->n_varied;
  plan->n_parameters = b->n_parameters;
  plan->n_settings   = b->n_settings;
  plan->resources    = *b->file->resources;
  PetscCall(document_alloc(plan->owner, (size_t)(b->n_parameters + 1) * sizeof *plan->parameter, &plan->parameter));
  PetscCall(document_alloc(plan->owner, (size_t)(b->n_settings + 1) * sizeof *plan->setting, &plan->setting));
  for (int i = 0; i < b->n_parameters; ++i) plan->parameter[i] = b->parameter[i].name;
  for (int i = 0; i < b->n_settings; ++i) plan->setting[i] = b->setting[i].key;
  PetscCall(read_sweep_text(b, &text));
  plan->text = text ? document_intern(plan->owner, text) : NULL;
  memory_free(&text);
  plan->base = b->file->base ? b->file->base : b->path;
  if (base) {
    PetscCall(document_write(document_root(base), &text));
    plan->base_text = document_intern(plan->owner, text);
    memory_free(&text);
  }
  PetscCheck(plan->text && (plan->base_text || !base), PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a sweep; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_cases(const sweep_build *b, const selection *s, sweep_plan *plan)
{
  int  order[SWEEP_MAX_NAMES];
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  sort_names(b->n_varied, plan->parameter, order);
  plan->n_cases    = s->n;
  plan->n_filtered = s->n_filtered;
  PetscCall(document_alloc(plan->owner, (size_t)s->n * sizeof *plan->cases, &plan->cases));
  for (int64_t i = 0; i < s->n; ++i) {
    sweep_case *c = &plan->cases[i];
    c->number     = i + 1;
    PetscCall(document_alloc(plan->owner, (size_t)b->n_parameters * sizeof *c->value, &c->value));
    for (int k = 0; k < b->n_dimensions; ++k) {
      const build_dimension *d = &b->dimension[k];
      for (int j = 0; j < d->n_names; ++j) c->value[d->first + j] = d->text[s->row[i * b->n_dimensions + k] * d->n_names + j];
    }
    for (int k = b->n_varied; k < b->n_parameters; ++k) {
      c->value[k] = document_intern(plan->owner, key_text_of_real(s->vars[i * b->n_parameters + k], text));
      PetscCheck(c->value[k], PETSC_COMM_SELF, PETSC_ERR_MEM,
                 "out of memory: no space for the cases of a sweep; use a smaller scene or a larger machine");
    }
    PetscCall(compute_case_id(plan->owner, b->n_varied, plan->parameter, order, c->value, &c->id));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a plan without cases. It takes over b->doc; the caller must then set b->doc = NULL. base NULL: base_text stays NULL. */
static PetscErrorCode sweep_plan_of_build(sweep_build *b, const document *base, sweep_plan **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep plan", 1, sizeof **out, out));
  (*out)->owner = b->doc;
  PetscCall(fill_head(b, base, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode expand_cases(sweep_build *b, const document *base, selection *s, sweep_plan **out)
{
  PetscFunctionBegin;
  PetscCall(select_cases(b, s));
  if (diagnostics_count(b->d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sweep_plan_of_build(b, base, out));
  PetscCall(fill_cases(b, s, *out));
  PetscCall(sweep_check_cases(b, base, *out, s->row, s->vars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors of the base job, if the sweep file has errors itself. Missing keys may be set by the cases and are not reported. */
static PetscErrorCode add_base_errors(const document *base, diagnostics *d)
{
  diagnostics *found __attribute__((cleanup(diagnostics_destroy))) = NULL;
  PetscFunctionBegin;
  PetscCall(diagnostics_create(&found));
  PetscCall(run_find_errors(PETSC_COMM_SELF, document_root(base), found));
  for (int i = 0; i < diagnostics_count(found); ++i)
    if (!strstr(diagnostics_text(found, i), "missing")) diagnostics_add(d, (document_mark){0}, NULL, "%s", diagnostics_text(found, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_plan_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, sweep_plan **out)
{
  sweep_build *b;
  document    *base = NULL;
  selection    s    = {0};

  PetscFunctionBegin;
  *out = NULL;
  PetscCall(sweep_build_read(path, false, d, &b));
  PetscErrorCode code = PETSC_SUCCESS;
  if (b->root && b->root->kind == DOCUMENT_MAPPING) code = sweep_check_base(b, n_overrides, overrides, &base);
  if (!code && base && diagnostics_count(d) == 0) code = expand_cases(b, base, &s, out);
  else if (!code && base) code = add_base_errors(base, d);
  document_destroy(&base);
  selection_clear(&s);
  if (*out) b->doc = NULL; /* now owned by the plan */
  sweep_build_destroy(&b);
  if (code || diagnostics_count(d)) sweep_plan_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sweep_plan_destroy(sweep_plan **plan)
{
  if (!*plan) return;
  document_destroy(&(*plan)->owner);
  memory_free(plan);
}

PetscErrorCode sweep_plan_read_names(const char *path, diagnostics *d, sweep_plan **out)
{
  sweep_build *b;

  PetscFunctionBegin;
  *out = NULL;
  PetscCall(sweep_build_read(path, true, d, &b));
  const PetscErrorCode code = diagnostics_count(d) ? PETSC_SUCCESS : sweep_plan_of_build(b, NULL, out);
  if (*out) b->doc = NULL; /* now owned by the plan */
  sweep_build_destroy(&b);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the table of cases ------------------------------------------------------------------------------------------- */

enum { MAX_WIDTH = 40 };

/* A column of the printed table: a parameter, or a setting that is not a parameter. */
typedef struct {
  const char *name;
  int         parameter, setting; /* one of them -1 */
  int         width;
} column;

static const char *get_column_text(const sweep_plan *plan, const column *c, int64_t i)
{
  const sweep_case *one = &plan->cases[i];
  return c->parameter >= 0 ? one->value[c->parameter] : one->overrides[c->setting] + strlen(plan->setting[c->setting]) + 1;
}

/* Width in characters (UTF-8), at most MAX_WIDTH. */
static int count_characters(const char *s)
{
  int n = 0;
  for (; *s; ++s) n += (*s & 0xc0) != 0x80;
  return n < MAX_WIDTH ? n : MAX_WIDTH;
}

/* Prints a right-aligned cell; longer texts are truncated and end with "...". */
static void print_plan_cell(FILE *out, const char *s, int width)
{
  const int show = strlen(s) > MAX_WIDTH && count_characters(s) == MAX_WIDTH ? MAX_WIDTH - 3 : MAX_WIDTH;
  int       n    = 0;
  fprintf(out, "  %*s", width - count_characters(s), "");
  for (; *s && (n < show || (*s & 0xc0) == 0x80); ++s) {
    n += (*s & 0xc0) != 0x80;
    fputc(*s, out);
  }
  if (*s) fprintf(out, "...");
}

static bool is_constant_setting(const sweep_plan *plan, const column *c)
{
  for (int64_t i = 1; i < plan->n_cases; ++i)
    if (strcmp(get_column_text(plan, c, 0), get_column_text(plan, c, i))) return false;
  return true;
}

/* The parameter that is equal to a setting in every case, or NULL. */
static const char *same_parameter(const sweep_plan *plan, const column *c)
{
  for (int k = 0; k < plan->n_parameters; ++k) {
    const column parameter = {plan->parameter[k], k, -1, 0};
    int64_t      i         = 0;
    while (i < plan->n_cases && !strcmp(get_column_text(plan, c, i), get_column_text(plan, &parameter, i))) ++i;
    if (i == plan->n_cases) return plan->parameter[k];
  }
  return NULL;
}

PetscErrorCode sweep_plan_print(const sweep_plan *plan, FILE *out)
{
  column *columns;
  int     n = 0;

  PetscFunctionBegin;
  PetscCall(memory_alloc("table", plan->n_parameters + plan->n_settings + 1, sizeof *columns, &columns));
  fprintf(out, "%s: %lld case%s of %s", plan->name, (long long)plan->n_cases, plan->n_cases == 1 ? "" : "s", plan->base);
  if (plan->n_filtered) fprintf(out, ", %lld omitted by \"where\"", (long long)plan->n_filtered);
  fprintf(out, "\n");
  for (int i = 0; i < plan->n_parameters; ++i) columns[n++] = (column){plan->parameter[i], i, -1, 0};
  for (int i = 0; i < plan->n_settings; ++i) {
    bool is_parameter = false;
    for (int k = 0; k < plan->n_parameters; ++k) is_parameter = is_parameter || !strcmp(plan->setting[i], plan->parameter[k]);
    columns[n] = (column){plan->setting[i], -1, i, 0};
    if (is_parameter) continue;
    const char *same = plan->n_cases < 2                        ? NULL
                       : is_constant_setting(plan, &columns[n]) ? get_column_text(plan, &columns[n], 0)
                                                                : same_parameter(plan, &columns[n]);
    if (same) fprintf(out, "in every case: %s = %s\n", plan->setting[i], same);
    else ++n;
  }
  fprintf(out, "\nnumber");
  for (int k = 0; k < n; ++k) {
    columns[k].width = count_characters(columns[k].name);
    for (int64_t i = 0; i < plan->n_cases; ++i) {
      const int width = count_characters(get_column_text(plan, &columns[k], i));
      if (width > columns[k].width) columns[k].width = width;
    }
    print_plan_cell(out, columns[k].name, columns[k].width);
  }
  fprintf(out, "\n");
  for (int64_t i = 0; i < plan->n_cases; ++i) {
    fprintf(out, "%6lld", (long long)plan->cases[i].number);
    for (int k = 0; k < n; ++k) print_plan_cell(out, get_column_text(plan, &columns[k], i), columns[k].width);
    fprintf(out, "\n");
  }
  memory_free(&columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}
