#include "app/sweep/sweep_plan.h"
#include <math.h>
#include <string.h>
#include "core/key_text.h"
#include "core/memory.h"
#include "io/sealed_file.h"
#include "app/sweep/sweep_build.h"

/* Which combinations are cases: a row of each dimension, and the numbers of all parameters. */
typedef struct {
  int64_t  n, n_filtered, n_combinations, row_capacity, vars_capacity;
  int64_t *row;  /* [n][n_dimensions] */
  double  *vars; /* [n][n_parameters] */
} selection;

static void selection_clear(selection *s)
{
  memory_free(&s->row);
  memory_free(&s->vars);
}

/* The product of all dimensions, or -1 with a complaint. */
static int64_t count_combinations(const sweep_build *b)
{
  double product = 1;
  for (int i = 0; i < b->n_dimensions; ++i) product *= (double)b->dimension[i].n_rows;
  if (product <= SWEEP_MAX_COMBINATIONS) return (int64_t)product;
  const document_node *vary = document_find(b->root, "vary");
  diagnostics_add(b->d, vary ? vary->mark : b->root->mark, "vary", "gives %.4g combinations; at most %d can be looked at, and %d can be cases: sample (latin_hypercube, sobol) instead",
                  product, SWEEP_MAX_COMBINATIONS, SWEEP_MAX_CASES);
  return -1;
}

/* The numbers of combination c, the last dimension counting fastest. */
static void combination(const sweep_build *b, int64_t c, int64_t *row, double *vars)
{
  for (int k = b->n_dimensions - 1; k >= 0; --k) {
    const build_dimension *d = &b->dimension[k];
    row[k] = c % d->n_rows;
    c /= d->n_rows;
    for (int j = 0; j < d->n_names; ++j) vars[d->first + j] = d->number[row[k] * d->n_names + j];
  }
  sweep_formulas_derive(b, vars);
}

/* Numbers that are none; said once, with the values that led there. */
static void check_numbers(const sweep_build *b, const double *vars, int bad_filter, bool *is_said)
{
  char   words[300];
  size_t used = 0;
  int    bad  = -1;
  for (int i = b->n_parameters - 1; i >= b->n_varied; --i)
    if (!isfinite(vars[i])) bad = i;
  if ((bad < 0 && bad_filter < 0) || *is_said) return;
  *is_said = true;
  words[0] = 0;
  for (int i = 0; i < b->n_varied && used + 1 < sizeof words; ++i)
    if (b->parameter[i].is_numeric) used += (size_t)snprintf(words + used, sizeof words - used, "%s%s=%.9g", used ? " " : "", b->parameter[i].name, vars[i]);
  if (bad >= 0)
    diagnostics_add(b->d, b->parameter[bad].mark, "let", "%s is %s for %s; leave such cases out with \"where\"", b->parameter[bad].name,
                    isnan(vars[bad]) ? "not a number" : "infinite", words);
  else diagnostics_add(b->d, b->file->where.item[bad_filter].node->mark, "where", "is not a number for %s", words);
}

static PetscErrorCode select_cases(const sweep_build *b, selection *s)
{
  bool is_said = false;

  PetscFunctionBegin;
  s->n_combinations = count_combinations(b);
  for (int64_t c = 0; c < s->n_combinations; ++c) {
    int bad;
    PetscCall(memory_reserve("sweep", (s->n + 1) * b->n_dimensions, sizeof *s->row, &s->row_capacity, &s->row));
    PetscCall(memory_reserve("sweep", (s->n + 1) * b->n_parameters, sizeof *s->vars, &s->vars_capacity, &s->vars));
    combination(b, c, s->row + s->n * b->n_dimensions, s->vars + s->n * b->n_parameters);
    if (!sweep_formulas_pass(b, s->vars + s->n * b->n_parameters, &bad)) {
      ++s->n_filtered;
      continue;
    }
    check_numbers(b, s->vars + s->n * b->n_parameters, bad, &is_said);
    if (++s->n > SWEEP_MAX_CASES) {
      const document_node *vary = document_find(b->root, "vary");
      diagnostics_add(b->d, vary ? vary->mark : b->root->mark, "vary", "gives more than %d cases", SWEEP_MAX_CASES);
      break;
    }
  }
  if (s->n == 0 && s->n_combinations > 0)
    diagnostics_add(b->d, document_find(b->root, "where")->mark, "where", "leaves no case: all %lld combinations are filtered out", (long long)s->n_combinations);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- identity ---- */

/* FNV-1a over "name=value" lines in the order of the names, its bits mixed at the end; so it is the same in any order of the file. */
static PetscErrorCode name_case(document *owner, int n, const char *const *names, const int *order, const char *const *values, const char **id)
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

/* ---- the plan ---- */

/* The file as it is, or written out if it includes others, which would not be found from the sweep's folder. */
static PetscErrorCode sweep_text(const sweep_build *b, char **text)
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
  PetscCall(sweep_text(b, &text));
  plan->text = text ? document_intern(plan->owner, text) : NULL;
  memory_free(&text);
  plan->base = b->file->base ? b->file->base : b->path;
  if (base) {
    PetscCall(document_write(document_root(base), &text));
    plan->base_text = document_intern(plan->owner, text);
    memory_free(&text);
  }
  PetscCheck(plan->text && (plan->base_text || !base), PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a sweep");
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
      PetscCheck(c->value[k], PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the cases of a sweep");
    }
    PetscCall(name_case(plan->owner, b->n_varied, plan->parameter, order, c->value, &c->id));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan takes the build's document over. */
PetscErrorCode sweep_plan_of_build(sweep_build *b, const document *base, sweep_plan **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep plan", 1, sizeof **out, out));
  (*out)->owner = b->doc;
  PetscCall(fill_head(b, base, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode expand(sweep_build *b, const document *base, selection *s, sweep_plan **out)
{
  PetscFunctionBegin;
  PetscCall(select_cases(b, s));
  if (diagnostics_count(b->d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sweep_plan_of_build(b, base, out));
  PetscCall(fill_cases(b, s, *out));
  PetscCall(sweep_check_cases(b, base, *out, s->row, s->vars));
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
  if (!code && base && diagnostics_count(d) == 0) code = expand(b, base, &s, out);
  document_destroy(&base);
  selection_clear(&s);
  if (*out) b->doc = NULL; /* the plan's now */
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

const char *sweep_case_words(const sweep_plan *plan, const sweep_case *c, size_t size, char *words)
{
  size_t used = 0;
  words[0]    = 0;
  for (int i = 0; i < plan->n_varied && used + 1 < size; ++i)
    used += (size_t)snprintf(words + used, size - used, "%s%s=%s", i ? " " : "", plan->parameter[i], c->value[i]);
  return words;
}
