/* Documents into structs. Whatever is wrong is said and replaced by its default, so that one pass finds everything. */
#include "core/key_table_internal.h"
#include "core/key_text.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MANY = 200 }; /* from here on a hostile job gets no more guesses at what was meant: they cost time */

typedef struct {
  document    *doc;
  diagnostics *d; /* NULL: quiet */
  int          depth;
} reader;

/* Where in the tree we are: a chain on the stack, put into words only when there is something to complain about. */
typedef struct path path;
struct path {
  const path *up;
  const char *key; /* NULL: an entry of a list */
  int         index;
};

static PetscErrorCode read_table(reader *r, const key_table *table, const document_node *node, const path *at, int *variant,
                                 const void **out);
static PetscErrorCode read_value(reader *r, const key_spec *spec, const document_node *node, const path *at, void *member, bool *ok);

static size_t path_words(const path *p, char *out, size_t size)
{
  const size_t n = p->up ? path_words(p->up, out, size) : 0;
  if (n + 1 >= size) return n;
  const int more = p->key ? snprintf(out + n, size - n, "%s%.100s", n && *p->key ? "." : "", p->key) : snprintf(out + n, size - n, "[%d]", p->index);
  return more < 0 ? n : n + (size_t)more < size ? n + (size_t)more : size - 1;
}

static void __attribute__((format(printf, 4, 5))) complain(reader *r, document_mark mark, const path *at, const char *format, ...)
{
  char    words[600], message[1200];
  va_list arguments;
  if (!r->d) return;
  words[0] = 0;
  path_words(at, words, sizeof words);
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  diagnostics_add(r->d, mark, words, "%s", message);
}

/* What stands there, for "expected ..., got ...". */
static const char *got(const document_node *node, char *out, size_t size)
{
  switch (node->kind) {
  case DOCUMENT_NULL: return "nothing";
  case DOCUMENT_SEQUENCE: return "a list";
  case DOCUMENT_MAPPING: return "a mapping";
  case DOCUMENT_SCALAR: break;
  }
  (void)snprintf(out, size, strlen(node->text) > 48 ? "\"%.45s...\"" : "\"%s\"", node->text);
  return out;
}
#define GOT(node) got(node, (char[64]){0}, 64)

static void expected(reader *r, const key_spec *spec, const document_node *node, const path *at)
{
  char words[KEY_WORDS];
  key_spec_words(spec, words, sizeof words);
  if (node->kind == DOCUMENT_NULL && spec->fallback)
    complain(r, node->mark, at, "expected %s, got nothing; leave the key out for the default %s", words, spec->fallback);
  else complain(r, node->mark, at, "expected %s, got %s", words, GOT(node));
}

/* ---- scalars ---- */

/* `words` names one number; a list's entries are read by it too. */
static bool read_number(reader *r, const key_spec *spec, const document_node *node, const path *at, double *real, int64_t *whole)
{
  key_spec         one = *spec;
  char             words[KEY_WORDS], hint[120];
  key_text_verdict verdict;

  one.type = spec->type == KEY_REALS ? KEY_REAL : spec->type;
  key_spec_words(&one, words, sizeof words);
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), false;
  verdict = whole ? key_text_int(node->text, whole) : key_text_real(node->text, real);
  if (node->is_quoted) {
    complain(r, node->mark, at, "expected %s, got the text %s%s", words, GOT(node), verdict == KEY_TEXT_OK ? "; leave out the quotes" : "");
    return false;
  }
  key_text_unit_hint(node->text, hint, sizeof hint);
  switch (verdict) {
  case KEY_TEXT_NOT_FINITE: complain(r, node->mark, at, "expected %s, got %s: it must be finite", words, GOT(node)); return false;
  case KEY_TEXT_TOO_LARGE: complain(r, node->mark, at, "expected %s, but %s is too large", words, GOT(node)); return false;
  case KEY_TEXT_NOT_WHOLE: complain(r, node->mark, at, "expected %s, got %s: it has a fraction", words, GOT(node)); return false;
  case KEY_TEXT_NOT_A_NUMBER:
    if (hint[0]) complain(r, node->mark, at, "expected %s, got %s: write the bare number in SI units (%s)", words, GOT(node), hint);
    else if (strspn(node->text, "+-0123456789") && strchr(node->text, ',') && !strchr(node->text, '.'))
      complain(r, node->mark, at, "expected %s, got %s: the decimal mark is a point", words, GOT(node));
    else complain(r, node->mark, at, "expected %s, got %s", words, GOT(node));
    return false;
  case KEY_TEXT_OK: break;
  }
  const key_range range = key_spec_range(spec);
  if (!key_range_has(range, whole ? (double)*whole : *real)) {
    char bounds[100];
    key_range_words(range, bounds, sizeof bounds);
    complain(r, node->mark, at, "%.48s is out of range: must be %s%s%s", node->text, bounds, *key_spec_unit(spec) ? " " : "",
             key_spec_unit(spec));
    return false;
  }
  return true;
}

static bool read_bool(reader *r, const key_spec *spec, const document_node *node, const path *at, bool *out)
{
  static const char *const like_true[] = {"yes", "on", "True", "TRUE", "y", "1"}, *const like_false[] = {"no", "off", "False", "FALSE", "n", "0"};
  if (node->kind == DOCUMENT_SCALAR && !node->is_quoted) {
    *out = !strcmp(node->text, "true");
    if (*out || !strcmp(node->text, "false")) return true;
    for (size_t i = 0; i < sizeof like_true / sizeof *like_true; ++i) {
      const bool is_true = !strcasecmp(node->text, like_true[i]);
      if (is_true || !strcasecmp(node->text, like_false[i])) {
        complain(r, node->mark, at, "expected true or false, got %s; write %s", GOT(node), is_true ? "true" : "false");
        return false;
      }
    }
  }
  expected(r, spec, node, at);
  return false;
}

/* The index of a choice, or -1 with a complaint. */
static int read_choice(reader *r, const key_spec *spec, const document_node *node, const path *at)
{
  key_spec one = *spec;
  char     words[KEY_WORDS];
  int      n = 0;
  one.type   = KEY_ENUM;
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), -1;
  for (; spec->choices[n]; ++n)
    if (!strcmp(spec->choices[n], node->text)) return n;
  const char *nearest = diagnostics_nearest(node->text, n, spec->choices);
  key_spec_words(&one, words, sizeof words);
  if (nearest) complain(r, node->mark, at, "expected %s, got %s; did you mean \"%s\"?", words, GOT(node), nearest);
  else complain(r, node->mark, at, "expected %s, got %s", words, GOT(node));
  return -1;
}

static bool read_text(reader *r, const key_spec *spec, const document_node *node, const path *at, const char **out)
{
  key_spec one = *spec;
  one.type     = spec->type == KEY_STRINGS ? KEY_STRING : spec->type;
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), false;
  if (spec->type == KEY_STRINGS && spec->choices && read_choice(r, spec, node, at) < 0) return false;
  *out = node->text;
  return true;
}

static PetscErrorCode read_path(reader *r, const key_spec *spec, const document_node *node, const path *at, const char **out, bool *ok)
{
  const char *problem;

  PetscFunctionBegin;
  *ok = node->kind == DOCUMENT_SCALAR;
  if (!*ok) {
    expected(r, spec, node, at);
  } else {
    PetscCall(key_text_path(r->doc, node->text, node->mark, out, &problem));
    *ok = !problem;
    if (problem) complain(r, node->mark, at, "%s: %s", GOT(node), problem);
    else if (spec->is_input && access(*out, R_OK)) complain(r, node->mark, at, "cannot read the file %.400s", *out);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lists ---- */

static bool check_length(reader *r, const key_spec *spec, const document_node *node, const path *at)
{
  char bounds[100];
  if (spec->count) {
    char words[KEY_WORDS];
    if (node->n == spec->count) return true;
    key_spec_words(spec, words, sizeof words);
    complain(r, node->mark, at, "expected %s, got %d", words, node->n);
    return false;
  }
  const key_range range = key_spec_range(spec);
  if (key_range_has(range, node->n)) return true;
  key_range_words(range, bounds, sizeof bounds);
  complain(r, node->mark, at, "has %d %s: must be %s", node->n, node->n == 1 ? "entry" : "entries", bounds);
  return false;
}

static bool read_reals(reader *r, const key_spec *spec, const document_node *node, const path *at, double *out)
{
  bool ok = true;
  if (node->kind != DOCUMENT_SEQUENCE) return expected(r, spec, node, at), false;
  if (!check_length(r, spec, node, at)) return false;
  for (int i = 0; i < node->n; ++i)
    if (!read_number(r, spec, node->value[i], &(path){at, NULL, i}, &out[i], NULL)) ok = false;
  return ok;
}

/* KEY_NAMED, KEY_LIST, KEY_STRINGS: entries that are wrong stay, filled with defaults, so that indices mean the same. */
static PetscErrorCode read_list(reader *r, const key_spec *spec, const document_node *node, const path *at, key_list *list, bool *ok)
{
  const document_kind kind = spec->type == KEY_NAMED ? DOCUMENT_MAPPING : DOCUMENT_SEQUENCE;

  PetscFunctionBegin;
  *ok = false;
  PetscCall(key_spec_expand(spec, r->doc, &node));
  if (node->kind != kind && !(node->kind == DOCUMENT_NULL && !spec->fallback)) {
    expected(r, spec, node, at);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *ok = true; /* what is wrong inside is said there; defaults would not be better */
  (void)check_length(r, spec, node, at);
  list->n = node->n < spec->count ? spec->count : node->n; /* padded, so that nobody reads beyond a list that is too short */
  PetscCall(document_alloc(r->doc, (size_t)list->n * sizeof *list->item, &list->item));
  for (int i = node->n; i < list->n; ++i) {
    list->item[i] = (key_item){.value = "", .node = node};
    if (spec->table) PetscCall(read_table(r, spec->table, NULL, at, &list->item[i].variant, &list->item[i].value));
  }
  for (int i = 0; i < node->n; ++i) {
    key_item  *item = &list->item[i];
    const path here = {at, spec->type == KEY_NAMED ? node->key[i] : NULL, i};
    item->node      = node->value[i];
    item->name      = here.key;
    if (spec->type == KEY_STRINGS) {
      const char *text = "";
      (void)read_text(r, spec, node->value[i], &here, &text);
      item->value = text;
    } else {
      PetscCall(read_table(r, spec->table, node->value[i], &here, &item->variant, &item->value));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one key ---- */

static PetscErrorCode read_member_table(reader *r, const key_spec *spec, const document_node *node, const path *at, void *member)
{
  const void *value = NULL;
  int         variant = 0;

  PetscFunctionBegin;
  PetscCall(read_table(r, spec->table, node, at, &variant, &value));
  if (spec->table->variant_key) *(key_item *)member = (key_item){.value = value, .variant = variant, .node = node};
  else *(const void **)member = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_value(reader *r, const key_spec *spec, const document_node *node, const path *at, void *member, bool *ok)
{
  int64_t whole;
  int     choice;

  PetscFunctionBegin;
  *ok = true;
  switch (spec->type) {
  case KEY_BOOL: *ok = read_bool(r, spec, node, at, (bool *)member); break;
  case KEY_INT:
    *ok = read_number(r, spec, node, at, NULL, &whole);
    if (*ok) *(int64_t *)member = whole;
    break;
  case KEY_REAL: *ok = read_number(r, spec, node, at, (double *)member, NULL); break;
  case KEY_REALS: *ok = read_reals(r, spec, node, at, (double *)member); break;
  case KEY_STRING: *ok = read_text(r, spec, node, at, (const char **)member); break;
  case KEY_PATH: PetscCall(read_path(r, spec, node, at, (const char **)member, ok)); break;
  case KEY_ENUM:
    choice = read_choice(r, spec, node, at);
    *ok    = choice >= 0;
    if (*ok) *(int *)member = choice;
    break;
  case KEY_TABLE: PetscCall(read_member_table(r, spec, node, at, member)); break;
  case KEY_NAMED:
  case KEY_LIST:
  case KEY_STRINGS: PetscCall(read_list(r, spec, node, at, (key_list *)member, ok)); break;
  case KEY_TREE:
    *ok = node->kind == DOCUMENT_MAPPING || node->kind == DOCUMENT_NULL;
    if (*ok) *(const document_node **)member = node;
    else expected(r, spec, node, at);
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What "not there" looks like; `is_safe` for a required key, whose value may be looked at without asking. */
static PetscErrorCode fill_absent(reader *r, const key_spec *spec, bool is_safe, const path *at, void *member)
{
  diagnostics *const d = r->d;

  PetscFunctionBegin;
  switch (spec->type) {
  case KEY_BOOL: *(bool *)member = false; break;
  case KEY_INT: *(int64_t *)member = is_safe ? 0 : KEY_INT_ABSENT; break;
  case KEY_REAL: *(double *)member = NAN; break;
  case KEY_REALS:
    for (int i = 0; i < spec->count; ++i) ((double *)member)[i] = NAN;
    break;
  case KEY_STRING:
  case KEY_PATH: *(const char **)member = is_safe ? "" : NULL; break;
  case KEY_ENUM: *(int *)member = is_safe ? 0 : -1; break;
  case KEY_TABLE:
    r->d = NULL;
    if (is_safe) PetscCall(read_member_table(r, spec, NULL, at, member));
    r->d = d;
    break;
  case KEY_NAMED:
  case KEY_LIST:
  case KEY_STRINGS:
  case KEY_TREE: break; /* zero already */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_default(reader *r, const key_spec *spec, document_mark mark, const path *at, void *member)
{
  document_node *node;
  bool           ok;

  PetscFunctionBegin;
  PetscCall(document_read_flow(r->doc, spec->fallback, mark, &node));
  PetscCall(read_value(r, spec, node, at, member, &ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one mapping ---- */

/* Does an unknown key of the mapping look like this one? Then the misspelling has been said, and "missing" is noise. */
static bool is_misspelt(const key_table *table, int variant, const document_node *node, const char *name)
{
  const char *names[KEY_MAX_NAMES];
  const int   n = key_table_names(table, variant, names);
  for (int i = 0; i < node->n && i < MANY; ++i) {
    bool is_known = false;
    for (int k = 0; k < n && !is_known; ++k) is_known = !strcmp(names[k], node->key[i]);
    if (is_known) continue;
    const char *nearest = diagnostics_nearest(node->key[i], n, names);
    if (nearest && !strcmp(nearest, name)) return true;
  }
  return false;
}

static PetscErrorCode read_keys(reader *r, const key_table *whole, int variant, const key_table *table, const document_node *node,
                                const path *at, char *base)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    const document_node *value  = document_find(node, k->name);
    const path           here   = {at, k->name, 0};
    void                *member = base + k->offset;
    bool                 ok     = false;
    if (value) PetscCall(read_value(r, k, value, &here, member, &ok));
    if (ok) continue;
    if (k->fallback) {
      PetscCall(fill_default(r, k, node ? node->mark : (document_mark){0}, &here, member));
    } else {
      if (!value && !k->is_optional && node && !is_misspelt(whole, variant, node, k->name)) {
        char words[KEY_WORDS];
        key_spec_words(k, words, sizeof words);
        complain(r, node->mark, at, "missing required key \"%s\" (%s)", k->name, words);
      }
      PetscCall(fill_absent(r, k, !k->is_optional, &here, member));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_one_of(reader *r, const key_table *table, const document_node *node, const path *at, char *base)
{
  const char     *names[KEY_MAX_NAMES], *given = NULL;
  const int       n = key_table_names(table, -1, names);
  char            words[KEY_WORDS];

  PetscFunctionBegin;
  key_words_join(words, sizeof words, n, names, " or ");
  for (const key_spec *k = table->keys; k->name; ++k) PetscCall(fill_absent(r, k, false, at, base + k->offset));
  for (int i = 0; node && i < node->n; ++i) {
    const key_spec *k = key_table_find(table, node->key[i]);
    const path      here = {at, node->key[i], 0};
    bool            ok;
    if (!k) continue;
    if (given) {
      complain(r, node->key_mark[i], at, "only one of %s may be given, but \"%s\" stands beside \"%s\"", words, k->name, given);
      continue;
    }
    given = k->name;
    PetscCall(read_value(r, k, node->value[i], &here, base + k->offset, &ok));
  }
  if (node && !given && (node->n == 0 || node->n > 1 || !diagnostics_nearest(node->key[0], n, names)))
    complain(r, node->mark, at, "exactly one of %s must be given", words);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `variant` -1: not known, so keys of all variants pass. */
static void check_unknown(reader *r, const key_table *table, int variant, const document_node *node, const path *at)
{
  const char *names[KEY_MAX_NAMES];
  const int   n = key_table_names(table, variant, names);
  for (int i = 0; node && i < node->n; ++i) {
    const char *key = node->key[i], *owner = NULL;
    const path  here = {at, key, 0};
    bool        is_known = false;
    for (int k = 0; k < n && !is_known; ++k) is_known = !strcmp(names[k], key);
    if (is_known) continue;
    for (int v = 0; v < key_table_n_variants(table) && !owner; ++v)
      if (key_table_find(table->variants[v].table, key)) owner = table->variants[v].name;
    const char *nearest = r->d && diagnostics_count(r->d) < MANY ? diagnostics_nearest(key, n, names) : NULL;
    if (owner)
      complain(r, node->key_mark[i], &here, "%s \"%s\" has no such key; %s \"%s\" has", table->variant_key,
               table->variants[variant].name, table->variant_key, owner);
    else if (nearest) complain(r, node->key_mark[i], &here, "unknown key; did you mean \"%s\"?", nearest);
    else if (n <= 12) {
      char words[KEY_WORDS];
      key_words_join(words, sizeof words, n, names, " and ");
      complain(r, node->key_mark[i], &here, n ? "unknown key; known here: %s" : "unknown key; no keys are known here%s", words);
    } else complain(r, node->key_mark[i], &here, "unknown key");
  }
}

/* The variant asked for, or the one probably meant, or -1. */
static int pick_variant(reader *r, const key_table *table, const document_node *node, const path *at)
{
  const document_node *value = document_find(node, table->variant_key);
  const int            n = key_table_n_variants(table), exact = key_table_variant(table, node);
  const char          *names[KEY_MAX_NAMES];
  char                 words[KEY_WORDS];
  const path           here = {at, table->variant_key, 0};

  if (exact >= 0 || !node) return exact;
  for (int i = 0; i < n; ++i) names[i] = table->variants[i].name;
  key_words_join(words, sizeof words, n, names, " or ");
  if (!value) {
    if (!is_misspelt(table, -1, node, table->variant_key))
      complain(r, node->mark, at, "missing required key \"%s\" (%s)", table->variant_key, words);
    return -1;
  }
  const char *nearest = value->kind == DOCUMENT_SCALAR ? diagnostics_nearest(value->text, n, names) : NULL;
  if (nearest) complain(r, value->mark, &here, "expected %s, got %s; did you mean \"%s\"?", words, GOT(value), nearest);
  else complain(r, value->mark, &here, "expected %s, got %s", words, GOT(value));
  for (int i = 0; i < n; ++i)
    if (names[i] == nearest) return i;
  return -1;
}

static PetscErrorCode read_table(reader *r, const key_table *table, const document_node *node, const path *at, int *variant,
                                 const void **out)
{
  diagnostics *const d = r->d;
  const key_table   *extra = NULL;
  int                picked = -1;
  char              *base;

  PetscFunctionBegin;
  *variant = 0;
  *out     = NULL;
  if (r->depth >= KEY_MAX_DEPTH) { /* a table that requires itself; documents are not that deep */
    if (node) complain(r, node->mark, at, "nested too deeply");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(key_table_expand(table, r->doc, &node));
  if (node && node->kind != DOCUMENT_MAPPING && node->kind != DOCUMENT_NULL) {
    complain(r, node->mark, at, "expected a mapping of keys to values, got %s", GOT(node));
    node = NULL;
  }
  if (!node) r->d = NULL;
  ++r->depth;
  if (table->variant_key) {
    picked   = pick_variant(r, table, node, at);
    *variant = picked < 0 ? 0 : picked;
    extra    = table->variants[*variant].table;
  }
  const size_t size = extra && extra->size > table->size ? extra->size : table->size;
  PetscCall(document_alloc(r->doc, size ? size : 1, &base));
  check_unknown(r, table, picked, node, at);
  if (table->is_one_of) PetscCall(read_one_of(r, table, node, at, base));
  else PetscCall(read_keys(r, table, picked, table, node, at, base));
  if (extra) {
    if (picked < 0) r->d = NULL; /* which keys are missing depends on the variant */
    PetscCall(read_keys(r, table, picked, extra, picked < 0 ? NULL : node, at, base));
  }
  --r->depth;
  r->d = d;
  *out = base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_read(const key_table *table, document *owner, const document_node *mapping, const char *where, diagnostics *d,
                              const void **out)
{
  reader     r    = {.doc = owner, .d = d};
  const path root = {NULL, where ? where : "", 0};
  int        variant;

  PetscFunctionBegin;
  PetscCall(read_table(&r, table, mapping, &root, &variant, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
