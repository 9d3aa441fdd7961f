/* What is derived from parameters: `let`, `where` and `set`. */
#include <math.h>
#include <string.h>
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"
#include "app/job/job.h"
#include "app/sweep/sweep_build.h"

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

/* "unknown name" with the name, and what may have been meant. */
static void complain(sweep_build *b, const document_node *node, const char *path, int place, const char *message)
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
  if (found >= 0) diagnostics_add(b->d, mark, path, "\"%s\": %s is not a number in every case, so it cannot be reckoned with", node->text, word);
  else
    diagnostics_add(b->d, mark, path, "\"%s\": there is no parameter \"%s\"%s%s%s", node->text, word, nearest ? "; did you mean \"" : "",
                    nearest ? nearest : "", nearest ? "\"?" : "");
}

/* ---- let ---- */

static PetscErrorCode compile(sweep_build *b, const document_node *node, const char *path, expression **out)
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
  if (!*out) complain(b, node, path, place, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Depth first: what a derived parameter needs comes before it. state: 0 new, 1 on the way, 2 done. `chain` names who asked. */
static bool order_let(sweep_build *b, int i, char *state, int *n, const char **chain, int depth)
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
    diagnostics_add(b->d, b->parameter[b->n_varied + i].mark, "let", "goes in a circle: %s", words);
    return false;
  }
  state[i] = 1;
  for (int j = 0; j < n_derived; ++j)
    if (b->let[i] && expression_uses(b->let[i], b->n_varied + j) && !order_let(b, j, state, n, chain, depth + 1)) return false;
  state[i]            = 2;
  b->let_order[(*n)++] = i;
  return true;
}

static PetscErrorCode read_lets(sweep_build *b)
{
  const document_node *let = b->file->let;
  const document_node *of[SWEEP_MAX_NAMES] = {0};
  char                 state[SWEEP_MAX_NAMES] = {0}, path[300];
  const char          *chain[SWEEP_MAX_NAMES + 1];
  int                  n = 0;

  PetscFunctionBegin;
  for (int i = 0; let && i < let->n; ++i) {
    const int before = b->n_parameters;
    if (sweep_build_is_job_key(let->key[i]))
      diagnostics_add(b->d, let->key_mark[i], let->key[i], "is a key of the job: it belongs under \"set\"; \"let\" derives parameters of the sweep");
    else if (sweep_build_add_parameter(b, let->key[i], let->key_mark[i]) >= 0) of[before - b->n_varied] = let->value[i];
  }
  list_numeric(b);
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i) {
    (void)snprintf(path, sizeof path, "let.%.200s", b->parameter[b->n_varied + i].name);
    if (of[i]) PetscCall(compile(b, of[i], path, &b->let[i]));
  }
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i)
    if (!order_let(b, i, state, &n, chain, 0)) break;
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
    PetscCall(compile(b, b->file->where.item[i].node, path, &b->where[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set ---- */

/* "a column of {aspect}": are all names in braces parameters? */
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
    diagnostics_add(b->d, node->mark, path, "there is no parameter \"%s\" to write into this text%s%s%s", word, nearest ? "; did you mean \"" : "",
                    nearest ? nearest : "", nearest ? "\"?" : "");
  }
  return found;
}

static void mark_used(sweep_build *b, const expression *e)
{
  for (int i = 0; e && i < b->n_parameters; ++i)
    if (expression_uses(e, i)) b->parameter[i].is_used = true;
}

static PetscErrorCode read_scalar(sweep_build *b, const document_node *node, const char *path, build_formula *f)
{
  double     x;
  char       message[200];
  int        place;
  bool       has_parameter = false;

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
  if (f->e && node->is_quoted && !has_parameter) expression_destroy(&f->e); /* "e" is a text */
  mark_used(b, f->e);
  if (f->e) PetscFunctionReturn(PETSC_SUCCESS);
  f->is_template = is_template(b, node, path);
  /* what can hardly be meant as a text is a mistake in an expression; the job's own tables find the others */
  if (!f->is_template && !node->is_quoted && strpbrk(node->text, "*^(")) complain(b, node, path, place, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_tree(sweep_build *b, const document_node *node, const char *path)
{
  PetscFunctionBegin;
  if (node->kind == DOCUMENT_SCALAR) {
    if (b->n_formulas == b->formula_capacity) {
      b->formula_capacity = b->formula_capacity ? 2 * b->formula_capacity : 32;
      PetscCall(memory_resize("sweep", b->formula_capacity, sizeof *b->formula, &b->formula));
    }
    build_formula f;
    PetscCall(read_scalar(b, node, path, &f));
    b->formula[b->n_formulas++] = f;
  }
  for (int i = 0; i < node->n; ++i) PetscCall(read_tree(b, node->value[i], path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does one of the two keys lie within the other, or are they the same? */
static bool overlaps(const char *a, const char *b)
{
  const size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
  const char   next = strlen(a) < strlen(b) ? b[n] : a[n];
  return !strncmp(a, b, n) && (next == 0 || next == '.' || next == '[');
}

static void add_setting(sweep_build *b, build_setting s)
{
  for (int i = 0; i < b->n_settings; ++i)
    if (overlaps(b->setting[i].key, s.key)) {
      diagnostics_add(b->d, s.mark, s.key, "is set twice: see %s in line %d", b->setting[i].key, b->setting[i].mark.line);
      return;
    }
  if (b->n_settings == SWEEP_MAX_NAMES) diagnostics_add(b->d, s.mark, s.key, "more than %d keys are set", SWEEP_MAX_NAMES);
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
    if (!sweep_build_is_job_key(b->file->repeat->seed)) diagnostics_add(b->d, seed->mark, "repeat.seed", "expected a key of the job, such as bodies.bed.seed");
    else add_setting(b, (build_setting){.key = b->file->repeat->seed, .mark = seed->mark, .parameter = i});
  }
  for (int i = 0; set && i < set->n; ++i) {
    build_setting s = {.key = set->key[i], .mark = set->key_mark[i], .parameter = -1, .tree = set->value[i], .first_formula = b->n_formulas};
    (void)snprintf(path, sizeof path, "set.%.200s", set->key[i]);
    if (!sweep_build_is_job_key(s.key)) diagnostics_add(b->d, s.mark, path, "expected a key of the job, such as time.end; \"let\" derives parameters");
    PetscCall(read_tree(b, s.tree, path));
    s.n_formulas = b->n_formulas - s.first_formula;
    add_setting(b, s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is used by something used is used; whoever is left says nothing to any case. */
static void check_used(sweep_build *b)
{
  const char *top[64];
  int         n_top = 0;
  for (const key_spec *k = job_table.keys; k->name && n_top < 64; ++k) top[n_top++] = k->name;
  for (int i = 0; i < b->n_where; ++i) mark_used(b, b->where[i]);
  for (int i = b->n_parameters - b->n_varied - 1; i >= 0; --i) /* from the last that could be evaluated to the first */
    if (b->parameter[b->n_varied + b->let_order[i]].is_used) mark_used(b, b->let[b->let_order[i]]);
  for (int i = 0; i < b->n_varied; ++i) {
    const build_parameter *p = &b->parameter[i];
    if (p->is_used) continue;
    const char *nearest = diagnostics_nearest(p->name, n_top, top);
    if (!strcmp(p->name, "repeat"))
      diagnostics_add(b->d, p->mark, "repeat", "nothing uses it, so all repeats would be the same: give the key of a seed (seed: bodies.bed.seed), or use \"repeat\" under \"set\"");
    else
      diagnostics_add(b->d, p->mark, p->name, "varies, but nothing uses it: give it the name of a job key (materials.sand.density), or use it under \"set\" or \"where\"%s%s%s",
                      nearest ? "; or is the job's key \"" : "", nearest ? nearest : "", nearest ? "\" meant?" : "");
  }
}

PetscErrorCode sweep_formulas_read(sweep_build *b)
{
  PetscFunctionBegin;
  PetscCall(read_lets(b));
  PetscCall(read_where(b));
  PetscCall(read_settings(b));
  if (diagnostics_count(b->d) == 0) check_used(b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- values of a case ---- */

void sweep_formulas_derive(const sweep_build *b, double *vars)
{
  for (int i = 0; i < b->n_parameters - b->n_varied; ++i) vars[b->n_varied + b->let_order[i]] = expression_value(b->let[b->let_order[i]], vars);
}

bool sweep_formulas_pass(const sweep_build *b, const double *vars, int *bad)
{
  *bad = -1;
  for (int i = 0; i < b->n_where; ++i) {
    const double x = expression_value(b->where[i], vars);
    if (x == 0.0) return false;
    if (isnan(x)) *bad = i;
  }
  return true;
}

/* The value of a parameter in a case, new in `doc`. */
static PetscErrorCode parameter_node(const sweep_build *b, int i, const int64_t *row, const double *vars, document_mark mark, document *doc,
                                     document_node **out)
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

static PetscErrorCode fill_template(const sweep_build *b, const char *text, const int64_t *row, const double *vars, text_buffer *out)
{
  PetscFunctionBegin;
  for (const char *p = text; *p;) {
    const size_t n = *p == '{' ? strcspn(p + 1, "{}") : 0;
    const int    i = n && p[1 + n] == '}' ? find_parameter(b, p + 1, n) : -1;
    if (i < 0) {
      PetscCall(text_append(out, p++, 1));
      continue;
    }
    char text_of[KEY_TEXT_REAL];
    if (i >= b->n_varied) PetscCall(text_printf(out, "%s", key_text_of_real(vars[i], text_of)));
    for (int k = 0; k < b->n_dimensions; ++k) {
      const build_dimension *d = &b->dimension[k];
      if (i < d->first || i >= d->first + d->n_names) continue;
      const int64_t        at = row[k] * d->n_names + i - d->first;
      const document_node *v  = d->value[at];
      PetscCall(text_printf(out, "%s", v->kind == DOCUMENT_SCALAR ? v->text : d->text[at]));
    }
    p += n + 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *next: the formula of the next scalar. */
static PetscErrorCode tree_node(const sweep_build *b, const document_node *node, int *next, const int64_t *row, const double *vars, document *doc,
                                document_node **out)
{
  char        text[KEY_TEXT_REAL];
  text_buffer filled = {0};

  PetscFunctionBegin;
  if (node->kind != DOCUMENT_SCALAR) {
    PetscCall(document_add_node(doc, node->kind, node->mark, NULL, out));
    for (int i = 0; i < node->n; ++i) {
      const bool     has_key = node->kind == DOCUMENT_MAPPING;
      document_node *child;
      PetscCall(tree_node(b, node->value[i], next, row, vars, doc, &child));
      PetscCall(document_append(doc, *out, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const build_formula *f = &b->formula[(*next)++];
  if (f->parameter >= 0) {
    PetscCall(parameter_node(b, f->parameter, row, vars, node->mark, doc, out));
  } else if (f->e) {
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, key_text_of_real(expression_value(f->e, vars), text), out));
  } else if (f->is_template) {
    PetscCall(fill_template(b, node->text, row, vars, &filled));
    document_node *quoted;
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, node->mark, filled.data, &quoted));
    memory_free(&filled.data);
    quoted->is_quoted = true;
    PetscCall(sweep_value_canonical(doc, quoted, out));
  } else {
    PetscCall(sweep_value_canonical(doc, node, out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_formulas_setting(const sweep_build *b, const build_setting *s, const int64_t *row, const double *vars, document *doc,
                                      document_node **out)
{
  int next = s->first_formula;

  PetscFunctionBegin;
  if (s->parameter >= 0) PetscCall(parameter_node(b, s->parameter, row, vars, s->mark, doc, out));
  else PetscCall(tree_node(b, s->tree, &next, row, vars, doc, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
