/* What varies: lists, ranges, zips and samples as rows of values. */
#include <math.h>
#include <string.h>
#include "core/key_text.h"
#include "core/memory.h"
#include "core/samples.h"
#include "app/sweep/sweep_build.h"

/* ---- values ---- */

static PetscErrorCode canonical_scalar(document *doc, const document_node *node, document_node **out)
{
  char    text[KEY_TEXT_REAL];
  double  real;
  int64_t whole;

  PetscFunctionBegin;
  const bool is_number = !node->is_quoted && key_text_real(node->text, &real) == KEY_TEXT_OK;
  const bool is_whole  = is_number && real != 0.0 && key_text_int(node->text, &whole) == KEY_TEXT_OK;
  if (is_whole) (void)snprintf(text, sizeof text, "%lld", (long long)whole); /* all digits, also beyond 2^53: seeds */
  else if (is_number) key_text_of_real(real, text);
  PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, is_number ? text : node->text, out));
  /* quotes stay where they matter, so that "sand" and sand are the same value and "3" and 3 are not */
  const bool is_word = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/", *node->text) && strcmp(node->text, "true") &&
                       strcmp(node->text, "false") && *node->text;
  (*out)->is_quoted  = node->is_quoted && !is_word;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_value_canonical(document *doc, const document_node *node, document_node **out)
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

/* 15 significant digits: 0.3, not 0.30000000000000004. */
static PetscErrorCode number_node(sweep_build *b, double x, document_mark mark, document_node **out)
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

/* ---- dimensions ---- */

/* Parameters `names` with n_rows rows still to be filled; NULL with a complaint said. */
static PetscErrorCode add_dimension(sweep_build *b, int n_names, const char *const *names, const document_mark *marks, document_mark mark,
                                    int64_t n_rows, build_dimension **out)
{
  bool good = true;

  PetscFunctionBegin;
  *out = NULL;
  const int first = b->n_parameters;
  for (int i = 0; i < n_names; ++i) good = sweep_build_add_parameter(b, names[i], marks[i]) >= 0 && good;
  if (!good || n_rows <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  build_dimension *d = &b->dimension[b->n_dimensions]; /* no more of them than parameters */
  *d                 = (build_dimension){.mark = mark, .first = first, .n_names = n_names, .n_rows = n_rows};
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->value, &d->value));
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->text, &d->text));
  PetscCall(document_alloc(b->doc, (size_t)(n_rows * n_names) * sizeof *d->number, &d->number));
  ++b->n_dimensions;
  *out = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool same_row(const build_dimension *d, int64_t i, int64_t j)
{
  for (int k = 0; k < d->n_names; ++k)
    if (strcmp(d->text[i * d->n_names + k], d->text[j * d->n_names + k])) return false;
  return true;
}

/* Rows that say the same would be the same cases. Hashed, since a list may be long. */
static PetscErrorCode check_rows(sweep_build *b, const build_dimension *d)
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
    while (slot[at] && !same_row(d, slot[at] - 1, i)) at = (at + 1) & (capacity - 1);
    if (slot[at])
      diagnostics_add(b->d, d->value[i * d->n_names]->mark, b->parameter[d->first].name,
                      "entry %lld is the same as entry %lld (%s): its cases would be there twice; use repeat for repeats", (long long)i + 1,
                      (long long)slot[at], d->text[i * d->n_names]);
    else slot[at] = i + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Texts and numbers of the values, once these are in place. */
static PetscErrorCode finish_dimension(sweep_build *b, build_dimension *d)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < d->n_rows * d->n_names; ++i) {
    char *text;
    PetscCall(document_write_flow(d->value[i], &text));
    d->text[i] = document_intern(b->doc, text);
    memory_free(&text);
    PetscCheck(d->text[i], PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the values of a sweep");
    const document_node *v = d->value[i];
    if (v->kind != DOCUMENT_SCALAR || v->is_quoted || key_text_real(v->text, &d->number[i]) != KEY_TEXT_OK) {
      d->number[i]                                        = NAN;
      b->parameter[d->first + i % d->n_names].is_numeric = false;
    }
  }
  PetscCall(check_rows(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_values(sweep_build *b, const char *name, document_mark mark, const document_node *list)
{
  build_dimension *d;

  PetscFunctionBegin;
  if (list->n == 0) diagnostics_add(b->d, list->mark, name, "has no values");
  PetscCall(add_dimension(b, 1, &name, &mark, mark, list->n, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < list->n; ++i) PetscCall(sweep_value_canonical(b->doc, list->value[i], &d->value[i]));
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- range and log ---- */

/* How many values from..to by step has; 0 with a complaint. */
static int64_t steps_of(sweep_build *b, const char *name, const document_node *node, const sweep_range *r)
{
  const double span = (r->bounds.to - r->bounds.from) / r->step;
  if (!(r->step != 0.0) || !(span >= 0.0)) {
    diagnostics_add_under(b->d, node, name, "range.step", "%g never leads from %g to %g", r->step, r->bounds.from, r->bounds.to);
    return 0;
  }
  const double n = floor(span * (1 + 1e-12) + 1e-12) + 1;
  if (n > SWEEP_MAX_CASES) {
    diagnostics_add_under(b->d, node, name, "range.step", "gives %.0f values; a sweep has at most %d cases", n, SWEEP_MAX_CASES);
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
  else if (r->bounds.from == r->bounds.to) diagnostics_add_under(b->d, node, name, "range.to", "is the same as from");
  else if (has_step) n = steps_of(b, name, node, r);
  PetscCall(add_dimension(b, 1, &name, &mark, mark, n, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < n; ++i) {
    const double t = (double)i, m = (double)(n - 1);
    const double x = has_step ? r->bounds.from + t * r->step : (r->bounds.from * (m - t) + r->bounds.to * t) / m;
    PetscCall(number_node(b, fabs(x) < 1e-14 * fmax(fabs(r->bounds.from), fabs(r->bounds.to)) ? 0.0 : x, node->mark, &d->value[i]));
  }
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_log(sweep_build *b, const char *name, document_mark mark, const document_node *node, const sweep_log *l)
{
  build_dimension *d;

  PetscFunctionBegin;
  if (l->bounds.from == l->bounds.to) diagnostics_add_under(b->d, node, name, "log.to", "is the same as from");
  PetscCall(add_dimension(b, 1, &name, &mark, mark, l->count, &d));
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < l->count; ++i) {
    const double t = (double)i / (double)(l->count - 1);
    PetscCall(number_node(b, i + 1 == l->count ? l->bounds.to : l->bounds.from * pow(l->bounds.to / l->bounds.from, t), node->mark, &d->value[i]));
  }
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- several names at once ---- */

static PetscErrorCode read_zip(sweep_build *b, const char *name, document_mark mark, const document_node *zip)
{
  build_dimension *d;
  bool             good = zip->kind == DOCUMENT_MAPPING && zip->n > 0;

  PetscFunctionBegin;
  if (!good) diagnostics_add(b->d, zip->mark, name, "zip: expected names with a list each");
  for (int i = 0; good && i < zip->n; ++i) {
    const document_node *v = zip->value[i], *first = zip->value[0];
    const bool           is_list = v->kind == DOCUMENT_SEQUENCE && v->n > 0;
    if (!is_list) diagnostics_add(b->d, v->mark, name, "zip: %s: expected a list of values", zip->key[i]);
    else if (first->kind == DOCUMENT_SEQUENCE && first->n > 0 && v->n != first->n)
      diagnostics_add(b->d, v->mark, name, "zip: %s has %d entries, but %s has %d: they go together, one by one", zip->key[i], v->n, zip->key[0], first->n);
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

/* [from, to] or the mapping. */
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
  if (*good && out->is_log && !(out->bounds.from > 0)) diagnostics_add(b->d, node->mark, where, "a logarithm needs from > 0");
  *good = diagnostics_count(b->d) == before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_samples(sweep_build *b, const char *name, document_mark mark, const sweep_samples *s, bool is_sobol)
{
  sweep_interval   of[SWEEP_MAX_NAMES];
  char             where[300];
  bool             good = s->of && s->of->kind == DOCUMENT_MAPPING && s->of->n > 0;
  const int        limit = is_sobol ? SAMPLES_SOBOL_MAX : SWEEP_MAX_NAMES;
  build_dimension *d;
  double          *u;

  PetscFunctionBegin;
  if (!good) {
    if (s->of) diagnostics_add(b->d, s->of->mark, name, "of: expected names with an interval each: {mu: [0.1, 0.5]}");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->of->n > limit) {
    diagnostics_add(b->d, s->of->mark, name, "samples at most %d parameters at once, got %d", limit, s->of->n);
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
  PetscErrorCode code = PETSC_SUCCESS;
  if (is_sobol) samples_sobol(s->seed == KEY_INT_ABSENT ? -1 : s->seed, s->count, s->of->n, u);
  else code = samples_latin_hypercube((uint64_t)s->seed, s->count, s->of->n, u);
  for (int64_t i = 0; i < s->count * s->of->n && !code; ++i) {
    const sweep_interval *r = &of[i % s->of->n];
    const double          x = r->is_log ? r->bounds.from * pow(r->bounds.to / r->bounds.from, u[i]) : r->bounds.from + (r->bounds.to - r->bounds.from) * u[i];
    code = number_node(b, x, s->of->value[i % s->of->n]->mark, &d->value[i]);
  }
  memory_free(&u);
  PetscCall(code);
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all ---- */

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
    diagnostics_add(b->d, node->mark, where, "expected a list of values, or one of range, log, zip, latin_hypercube or sobol; what does not vary stands under \"set\"");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(key_table_read(&sweep_entry_table, b->doc, node, where, b->d, &read));
  const sweep_entry *e = read;
  if (diagnostics_count(b->d) > before) { /* its name is there all the same: no complaints about those who use it */
    if (!e->zip && !e->latin_hypercube && !e->sobol) (void)sweep_build_add_parameter(b, name, mark);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (e->range) PetscCall(read_range(b, name, mark, node, e->range));
  if (e->log) PetscCall(read_log(b, name, mark, node, e->log));
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
  for (int64_t i = 0; i < r->count; ++i) PetscCall(number_node(b, (double)(r->first + i), node->mark, &d->value[i]));
  PetscCall(finish_dimension(b, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_dimensions_read(sweep_build *b)
{
  const document_node *vary = b->file->vary;

  PetscFunctionBegin;
  for (int i = 0; vary && vary->kind == DOCUMENT_MAPPING && i < vary->n; ++i)
    PetscCall(read_entry(b, vary->key[i], vary->key_mark[i], vary->value[i]));
  if (b->file->repeat) PetscCall(read_repeat(b, b->file->repeat));
  b->n_varied = b->n_parameters;
  PetscFunctionReturn(PETSC_SUCCESS);
}
