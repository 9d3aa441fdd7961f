/* The job of every case: what it sets as overrides, and what its tables say about it. */
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "io/yaml.h"
#include "app/job/job.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"
#include "app/sweep/sweep_build.h"

enum { MAX_COMPLAINTS = 40 };

/* ---- one complaint for many cases ---- */

typedef struct {
  int     n;
  int64_t first[MAX_COMPLAINTS], n_cases[MAX_COMPLAINTS];
  char   *text[MAX_COMPLAINTS];
} complaints;

/* What `from` says about case i is counted if it was said before. */
static PetscErrorCode gather(complaints *c, const diagnostics *from, int64_t i)
{
  PetscFunctionBegin;
  for (int k = 0; k < diagnostics_count(from); ++k) {
    const char *text = diagnostics_text(from, k);
    int         at   = 0;
    while (at < c->n && strcmp(c->text[at], text)) ++at;
    if (at == MAX_COMPLAINTS) continue;
    if (at == c->n) {
      PetscCall(memory_alloc("sweep complaints", (int64_t)strlen(text) + 1, 1, &c->text[at]));
      strcpy(c->text[at], text);
      c->first[at] = i;
      ++c->n;
    }
    ++c->n_cases[at];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void pass_on(complaints *c, const sweep_plan *plan, diagnostics *d)
{
  char words[200];
  for (int k = 0; k < c->n; ++k) {
    const int64_t others = c->n_cases[k] - 1;
    sweep_case_words(plan, &plan->cases[c->first[k]], sizeof words, words);
    if (others + 1 == plan->n_cases) diagnostics_add(d, (document_mark){0}, NULL, "%s%s", c->text[k], plan->n_cases > 1 ? " (in every case)" : "");
    else if (others == 0) diagnostics_add(d, (document_mark){0}, NULL, "%s (case %lld: %s)", c->text[k], (long long)c->first[k] + 1, words);
    else
      diagnostics_add(d, (document_mark){0}, NULL, "%s (%lld cases, the first of them %lld: %s)", c->text[k], (long long)others + 1,
                      (long long)c->first[k] + 1, words);
    memory_free(&c->text[k]);
  }
  if (c->n == MAX_COMPLAINTS) diagnostics_add(d, (document_mark){0}, NULL, "... and perhaps more of the kind");
}

/* ---- the base job ---- */

/* --set must not be undone silently by what the sweep sets. */
static void check_overrides(const sweep_build *b, int n_overrides, const char *const *overrides)
{
  for (int i = 0; i < n_overrides; ++i) {
    const size_t n = strcspn(overrides[i], "=");
    for (int k = 0; k < b->n_settings; ++k)
      if (strlen(b->setting[k].key) == n && !strncmp(b->setting[k].key, overrides[i], n))
        diagnostics_add(b->d, b->setting[k].mark, b->setting[k].key, "is set by every case, so --set %s would have no effect", overrides[i]);
  }
}

PetscErrorCode sweep_check_base(const sweep_build *b, int n_overrides, const char *const *overrides, document **base)
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
  if (root && root->kind != DOCUMENT_MAPPING) diagnostics_add(b->d, root->mark, NULL, "expected a job, a mapping of keys to values");
  if (!root || diagnostics_count(b->d) > before) document_destroy(base);
  else PetscCall(key_table_absolute_paths(&job_table, *base, root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cases ---- */

/* Put one setting into the job; a path that cannot be walked is the user's mistake. */
static PetscErrorCode apply(const build_setting *s, document *doc, document_node *value, diagnostics *d)
{
  const document_mark mark = value->mark;

  PetscFunctionBegin;
  value->mark               = s->mark; /* an unknown key is named where it is written, not where its value is */
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
    /* a path was made absolute: the value is what the job gets, while the case is still known by what the file says */
    const int of = b->setting[k].parameter;
    if (of >= 0 && b->parameter[of].is_key) c->value[of] = whole + n_key + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_case(const sweep_build *b, const document *base, sweep_plan *plan, int64_t i, const int64_t *row, const double *vars,
                                 diagnostics *d)
{
  document      *doc;
  document_node *root, *value[SWEEP_MAX_NAMES];
  job           *j = NULL;

  PetscFunctionBegin;
  PetscCall(document_create(&doc));
  PetscCall(document_copy(doc, document_root(base), &root));
  document_set_root(doc, root);
  for (int k = 0; k < b->n_settings; ++k) {
    PetscCall(sweep_formulas_setting(b, &b->setting[k], row, vars, doc, &value[k]));
    PetscCall(apply(&b->setting[k], doc, value[k], d));
  }
  PetscCall(key_table_absolute_paths(&job_table, doc, document_root(doc)));
  PetscCall(write_overrides(b, value, plan, &plan->cases[i]));
  PetscCall(job_read_document(&doc, d, &j));
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_check_cases(const sweep_build *b, const document *base, sweep_plan *plan, const int64_t *row, const double *vars)
{
  complaints     c    = {0};
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int64_t i = 0; i < plan->n_cases && !code; ++i) {
    diagnostics *d;
    PetscCall(diagnostics_create(&d));
    code = check_case(b, base, plan, i, row + i * b->n_dimensions, vars + i * b->n_parameters, d);
    if (!code) code = gather(&c, d, i);
    diagnostics_destroy(&d);
  }
  pass_on(&c, plan, b->d);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_scene(const sweep_plan *plan, int64_t i, diagnostics *d)
{
  const sweep_case *c = &plan->cases[i];
  job              *j;
  scene            *s = NULL;

  PetscFunctionBegin;
  PetscCall(job_read_text(plan->base, plan->base_text, c->n_overrides, c->overrides, d, &j));
  if (j) PetscCall(scene_create(PETSC_COMM_SELF, &j->scene, d, &s));
  if (s) PetscCall(measures_check(s, &j->measure, d));
  scene_destroy(&s);
  job_destroy(&j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_plan_check_scenes(const sweep_plan *plan, int64_t n, diagnostics *d)
{
  complaints     c    = {0};
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int64_t i = 0; i < n && i < plan->n_cases && !code; ++i) {
    diagnostics *one;
    PetscCall(diagnostics_create(&one));
    code = check_scene(plan, i, one);
    if (!code) code = gather(&c, one, i);
    diagnostics_destroy(&one);
  }
  pass_on(&c, plan, d);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
