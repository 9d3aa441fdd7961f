/* Key tables, see key_table.h: queries, reading, the resolved job, writing, comparison of two jobs, checks of tables. */
#include "core/key_table.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"

const key_spec *key_table_find(const key_table *table, const char *name)
{
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (!strcmp(k->name, name)) return k;
  return NULL;
}

int key_table_n_variants(const key_table *table)
{
  int n = 0;
  if (table->variant_key)
    while (table->variants[n].name) ++n;
  return n;
}

int key_table_variant(const key_table *table, const document_node *mapping)
{
  const document_node *value = table->variant_key ? document_find(mapping, table->variant_key) : NULL;
  if (value && value->kind == DOCUMENT_SCALAR)
    for (int i = 0; table->variants[i].name; ++i)
      if (!strcmp(table->variants[i].name, value->text)) return i;
  return -1;
}

int key_table_names(const key_table *table, int variant, const char **names)
{
  int n = 0;
  if (table->variant_key) names[n++] = table->variant_key;
  for (const key_spec *k = table->keys; k && k->name && n < KEY_MAX_NAMES; ++k) names[n++] = k->name;
  for (int v = 0; v < key_table_n_variants(table); ++v)
    if (variant < 0 || v == variant) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every variant has a table */
      for (const key_spec *k = table->variants[v].table->keys; k && k->name && n < KEY_MAX_NAMES; ++k) names[n++] = k->name;
  return n;
}

/* Largest magnitude of numbers with a unit. Products of a few of them, such as energies, then do not overflow. */
static const double LARGEST_QUANTITY = 1e30;

key_range key_spec_range(const key_spec *spec)
{
  key_range r = {spec->min, spec->max, spec->is_open};
  if (r.min == 0.0 && r.max == 0.0) r.min = r.is_open ? 0.0 : -INFINITY, r.max = INFINITY;
  if (r.min > r.max) r.max = INFINITY;
  return r;
}

bool key_range_has(key_range r, double x) { return r.is_open ? x > r.min && x < r.max : x >= r.min && x <= r.max; }

void key_range_words(key_range r, char *out, size_t size)
{
  const char *equal = r.is_open ? "" : "=";
  if (r.min == r.max) (void)snprintf(out, size, "%.9g", r.min);
  else if (isfinite(r.min) && isfinite(r.max)) (void)snprintf(out, size, ">%s %.9g and <%s %.9g", equal, r.min, equal, r.max);
  else if (isfinite(r.min)) (void)snprintf(out, size, ">%s %.9g", equal, r.min);
  else if (isfinite(r.max)) (void)snprintf(out, size, "<%s %.9g", equal, r.max);
  else out[0] = 0;
}

const char *key_spec_unit(const key_spec *spec)
{
  return !spec->unit || !strcmp(spec->unit, "1") || !strcmp(spec->unit, "-") ? "" : spec->unit;
}

void key_words_join(char *out, size_t size, int n, const char *const *names, const char *last)
{
  size_t used = 0;
  out[0]      = 0;
  for (int i = 0; i < n; ++i) {
    const char *between = i == 0 ? "" : i == n - 1 ? last : ", ";
    const int   more    = snprintf(out + used, size - used, "%s%s", between, names[i]);
    if (more < 0 || (size_t)more >= size - used) return;
    used += (size_t)more;
  }
}

bool key_spec_is_number(const key_spec *spec) { return spec->type == KEY_REAL || spec->type == KEY_REALS || spec->type == KEY_INT; }

void key_spec_words(const key_spec *spec, char *out, size_t size)
{
  const char *unit = key_spec_unit(spec), *in = *unit ? " in " : "";
  char        names[KEY_WORDS - 50];
  int         n = 0;
  switch (spec->type) {
  case KEY_BOOL: (void)snprintf(out, size, "true or false"); return;
  case KEY_INT: (void)snprintf(out, size, "a whole number%s%s", in, unit); return;
  case KEY_REAL: (void)snprintf(out, size, "a number%s%s%s%s", in, unit, spec->word ? " or " : "", spec->word ? spec->word : ""); return;
  case KEY_REALS: (void)snprintf(out, size, "a list of %d numbers%s%s", spec->count, in, unit); return;
  case KEY_STRING: (void)snprintf(out, size, "a text"); return;
  case KEY_PATH: (void)snprintf(out, size, "the path of a file"); return;
  case KEY_PART:
  case KEY_TABLE: (void)snprintf(out, size, "a mapping of keys to values"); return;
  case KEY_NAMED: (void)snprintf(out, size, "a mapping of names to entries"); return;
  case KEY_TREE: (void)snprintf(out, size, "a mapping"); return;
  case KEY_LIST: (void)snprintf(out, size, spec->count ? "a list of %d entries" : "a list", spec->count); return;
  case KEY_STRINGS: (void)snprintf(out, size, spec->count ? "a list of %d texts" : "a list of texts", spec->count); return;
  case KEY_ENUM:
    while (spec->choices[n]) ++n;
    key_words_join(names, sizeof names, n, spec->choices, " or ");
    (void)snprintf(out, size, n > 1 ? "one of %s" : "%s", names);
    return;
  }
  (void)snprintf(out, size, "something else");
}

void key_spec_type_words(const key_spec *spec, const char *quote, char *out, size_t size)
{
  switch (spec->type) {
  case KEY_BOOL: (void)snprintf(out, size, "%strue%s or %sfalse%s", quote, quote, quote, quote); return;
  case KEY_INT: (void)snprintf(out, size, "whole number"); return;
  case KEY_REAL: (void)snprintf(out, size, spec->word ? "number or %s%s%s" : "number", quote, spec->word, quote); return;
  case KEY_REALS: (void)snprintf(out, size, "%d numbers", spec->count); return;
  case KEY_STRING: (void)snprintf(out, size, "text"); return;
  case KEY_PATH: (void)snprintf(out, size, "path of a file"); return;
  case KEY_PART:
  case KEY_TABLE: (void)snprintf(out, size, "mapping"); return;
  case KEY_NAMED: (void)snprintf(out, size, "names with a mapping each"); return;
  case KEY_TREE: (void)snprintf(out, size, spec->table ? "names with an entry each" : "mapping, passed on"); return;
  case KEY_LIST:
    if (spec->count) (void)snprintf(out, size, "list of %d mappings", spec->count);
    else (void)snprintf(out, size, "list of mappings");
    return;
  case KEY_STRINGS:
  case KEY_ENUM: break;
  }
  size_t n = 0;
  if (spec->choice_help) {
    (void)snprintf(out, size, "one of those below");
    return;
  }
  if (spec->type == KEY_ENUM) n = (size_t)snprintf(out, size, "one of ");
  else if (spec->count) n = (size_t)snprintf(out, size, "list of %d texts%s", spec->count, spec->choices ? " out of " : "");
  else n = (size_t)snprintf(out, size, "list of texts%s", spec->choices ? " out of " : "");
  for (int i = 0; spec->choices && spec->choices[i] && n < size; ++i)
    n += (size_t)snprintf(out + n, size - n, "%s%s%s%s", i ? ", " : "", quote, spec->choices[i], quote);
}

void key_condition_words(const key_condition *condition, char *out, size_t size)
{
  char        values[200] = "";
  const char *key = condition->key, *from = key && !strcmp(condition->values, "*") ? "!none" : condition->values;
  const bool  is_not = key && *from == '!';
  out[0]             = 0;
  if (!key) return;
  size_t n = 0;
  for (const char *c = from + is_not; *c && n + 5 < sizeof values; ++c)
    n += (size_t)snprintf(values + n, sizeof values - n, *c == ' ' ? " or%c" : "%c", *c);
  key += *key == '/' || *key == '^';
  if (!strcmp(values, "none")) (void)snprintf(out, size, "; %s with %s", is_not ? "only" : "not", key);
  else (void)snprintf(out, size, "; %s with %s: %s", is_not ? "not" : "only", key, values);
}

static void key_table_collect_entries(const key_table *table, bool with_parts, const key_table **tables, int *n)
{
  for (int i = 0; i < *n; ++i)
    if (tables[i] == table) return;
  if (*n == KEY_MAX_NAMES) return;
  tables[(*n)++] = table;
  for (int v = 0; v < key_table_n_variants(table); ++v) key_table_collect_entries(table->variants[v].table, with_parts, tables, n);
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (k->table && (with_parts || k->type != KEY_PART)) key_table_collect_entries(k->table, with_parts, tables, n);
}

int key_table_collect(const key_table *root, const key_table **tables)
{
  int n = 0;
  key_table_collect_entries(root, true, tables, &n);
  return n;
}

int key_table_collect_main(const key_table *root, const key_table **tables)
{
  int n = 0;
  key_table_collect_entries(root, false, tables, &n);
  return n;
}

/* ---- shorthand ---- */

PetscErrorCode key_table_expand(const key_table *table, document *owner, const document_node **node)
{
  document_node *whole, *value;

  PetscFunctionBegin;
  if (!table->shorthand || !*node || (*node)->kind != DOCUMENT_SCALAR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(document_copy(owner, *node, &value));
  PetscCall(document_add_node(owner, DOCUMENT_MAPPING, (*node)->mark, NULL, &whole));
  PetscCall(document_append(owner, whole, table->shorthand, (*node)->mark, value));
  *node = whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_spec_expand(const key_spec *spec, document *owner, const document_node **node)
{
  document_node *whole;
  const bool     is_one = (*node)->kind == DOCUMENT_SCALAR || (*node)->kind == DOCUMENT_MAPPING;

  PetscFunctionBegin;
  if (spec->type != KEY_LIST || !spec->table->shorthand || !is_one) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *entry = *node;
  document_node       *copy;
  PetscCall(key_table_expand(spec->table, owner, &entry));
  PetscCall(document_copy(owner, entry, &copy));
  PetscCall(document_add_node(owner, DOCUMENT_SEQUENCE, (*node)->mark, NULL, &whole));
  PetscCall(document_append(owner, whole, NULL, (*node)->mark, copy));
  *node = whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reading a document into structs: a wrong value is reported and replaced by its default, so that one pass finds all errors ---- */

enum { MAX_SUGGESTIONS = 200 }; /* after this many errors no similar names are searched, which limits the time for malicious input */

typedef struct {
  document            *doc;
  diagnostics         *d; /* NULL: quiet */
  int                  depth;
  const document_node *root;    /* of the conditions of keys */
  const key_rename    *renames; /* NULL: none */
  const key_slip      *slips;   /* NULL: none */
} reader;

/* Current position in the tree: a linked list on the stack, converted to text only for an error message. */
typedef struct key_path key_path;
struct key_path {
  const key_path *up;
  const char     *key; /* NULL: an entry of a list */
  int             index;
};

static PetscErrorCode read_table(reader *r, const key_table *table, const document_node *node, const key_path *at, int *variant,
                                 const void **out);
static PetscErrorCode read_value(reader *r, const key_spec *spec, const document_node *node, const key_path *at, void *member, bool *ok);

static size_t path_words(const key_path *p, char *out, size_t size)
{
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every path begins with the root */
  const size_t n = p->up ? path_words(p->up, out, size) : 0;
  if (n + 1 >= size) return n;
  const int more =
      p->key ? snprintf(out + n, size - n, "%s%.100s", n && *p->key ? "." : "", p->key) : snprintf(out + n, size - n, "[%d]", p->index);
  return more < 0 ? n : n + (size_t)more < size ? n + (size_t)more : size - 1;
}

static void __attribute__((format(printf, 4, 5))) report_error(reader *r, document_mark mark, const key_path *at, const char *format, ...)
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

/* Description of a node's value for "expected ..., got ...". */
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

/* Whether the path, without indices of lists, matches the complete `pattern`, whose end is returned; NULL: it does not. */
static const char *match_path(const key_path *p, const char *pattern)
{
  const char *rest = p->up ? match_path(p->up, pattern) : pattern;
  if (!rest || !p->key || !*p->key) return rest;
  if (rest != pattern && *rest++ != '.') return NULL;
  const size_t n = strlen(p->key);
  if (*rest == '*') return rest + 1;
  return strncmp(rest, p->key, n) ? NULL : rest + n;
}

/* The entry for an earlier name of a key, or of its value; NULL: none. */
static const key_rename *find_rename(const reader *r, const key_path *at, const char *value)
{
  for (const key_rename *k = r->renames; k && k->old; ++k) {
    const char *end = match_path(at, k->old);
    if (end && (value ? *end == '=' && !strcmp(end + 1, value) : *end == '\0')) return k;
  }
  return NULL;
}

static void expected(reader *r, const key_spec *spec, const document_node *node, const key_path *at)
{
  char words[KEY_WORDS];
  key_spec_words(spec, words, sizeof words);
  if (node->kind == DOCUMENT_NULL && spec->fallback)
    report_error(r, node->mark, at, "expected %s, got nothing; remove the key to use the default %s", words, spec->fallback);
  else report_error(r, node->mark, at, "expected %s, got %s", words, GOT(node));
}

/* ---- scalars ---- */

/* Read one number, of a scalar key or an entry of a list of numbers. */
static bool read_number(reader *r, const key_spec *spec, const document_node *node, const key_path *at, double *real, int64_t *whole)
{
  key_spec        one = *spec;
  char            words[KEY_WORDS], hint[120];
  key_text_status status;

  one.type = spec->type == KEY_REALS ? KEY_REAL : spec->type;
  key_spec_words(&one, words, sizeof words);
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), false;
  if (one.type == KEY_REAL && spec->word && !strcmp(node->text, spec->word)) return *real = -INFINITY, true;
  status = whole ? key_text_int(node->text, whole) : key_text_real(node->text, real);
  if (node->is_quoted) {
    report_error(r, node->mark, at, "expected %s, got the text %s%s", words, GOT(node), status == KEY_TEXT_OK ? "; remove the quotes" : "");
    return false;
  }
  key_text_unit_hint(node->text, hint, sizeof hint);
  switch (status) {
  case KEY_TEXT_NOT_FINITE: report_error(r, node->mark, at, "expected %s, got %s: it must be finite", words, GOT(node)); return false;
  case KEY_TEXT_TOO_LARGE: report_error(r, node->mark, at, "expected %s, but %s is too large", words, GOT(node)); return false;
  case KEY_TEXT_NOT_WHOLE: report_error(r, node->mark, at, "expected %s, got %s: it has a fraction", words, GOT(node)); return false;
  case KEY_TEXT_NOT_A_NUMBER:
    if (hint[0]) report_error(r, node->mark, at, "expected %s, got %s: write the bare number in SI units (%s)", words, GOT(node), hint);
    else if (strspn(node->text, "+-0123456789") && strchr(node->text, ',') && !strchr(node->text, '.'))
      report_error(r, node->mark, at, "expected %s, got %s: the decimal mark is a point", words, GOT(node));
    else report_error(r, node->mark, at, "expected %s, got %s", words, GOT(node));
    return false;
  case KEY_TEXT_OK: break;
  }
  if (real && *key_spec_unit(spec) && fabs(*real) > LARGEST_QUANTITY) {
    report_error(r, node->mark, at, "%.48s is out of range: quantities must be between %g and %g %s, because their squares must be finite",
                 node->text, -LARGEST_QUANTITY, LARGEST_QUANTITY, key_spec_unit(spec));
    return false;
  }
  const key_range range = key_spec_range(spec);
  if (!key_range_has(range, whole ? (double)*whole : *real)) {
    char bounds[100];
    key_range_words(range, bounds, sizeof bounds);
    report_error(r, node->mark, at, "%.48s is out of range: must be %s%s%s", node->text, bounds, *key_spec_unit(spec) ? " " : "",
                 key_spec_unit(spec));
    return false;
  }
  return true;
}

static bool read_bool(reader *r, const key_spec *spec, const document_node *node, const key_path *at, bool *out)
{
  static const char *const like_true[] = {"yes", "on", "True", "TRUE", "y", "1"}, *const like_false[] = {"no",    "off", "False",
                                                                                                         "FALSE", "n",   "0"};
  if (node->kind == DOCUMENT_SCALAR && !node->is_quoted) {
    *out = !strcmp(node->text, "true");
    if (*out || !strcmp(node->text, "false")) return true;
    for (size_t i = 0; i < sizeof like_true / sizeof *like_true; ++i) {
      const bool is_true = !strcasecmp(node->text, like_true[i]);
      if (is_true || !strcasecmp(node->text, like_false[i])) {
        report_error(r, node->mark, at, "expected true or false, got %s; write %s", GOT(node), is_true ? "true" : "false");
        return false;
      }
    }
  }
  expected(r, spec, node, at);
  return false;
}

/* The index of a choice, or -1 after reporting an error. */
static int read_choice(reader *r, const key_spec *spec, const document_node *node, const key_path *at)
{
  key_spec one = *spec;
  char     words[KEY_WORDS];
  int      n = 0;
  one.type   = KEY_ENUM;
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), -1;
  for (; spec->choices[n]; ++n)
    if (!strcmp(spec->choices[n], node->text)) return n;
  const key_rename *rename  = find_rename(r, at, node->text);
  const char       *nearest = diagnostics_nearest(node->text, n, spec->choices);
  key_spec_words(&one, words, sizeof words);
  if (rename && rename->now) report_error(r, node->mark, at, "%s is now \"%s\"", GOT(node), rename->now);
  else if (rename) report_error(r, node->mark, at, "%s has been removed: %s", GOT(node), rename->reason);
  else if (nearest) report_error(r, node->mark, at, "expected %s, got %s; did you mean \"%s\"?", words, GOT(node), nearest);
  else report_error(r, node->mark, at, "expected %s, got %s", words, GOT(node));
  return -1;
}

static bool read_text(reader *r, const key_spec *spec, const document_node *node, const key_path *at, const char **out)
{
  key_spec one = *spec;
  one.type     = spec->type == KEY_STRINGS ? KEY_STRING : spec->type;
  if (node->kind != DOCUMENT_SCALAR) return expected(r, &one, node, at), false;
  if (spec->type == KEY_STRINGS && spec->choices && read_choice(r, spec, node, at) < 0) return false;
  *out = node->text;
  return true;
}

static PetscErrorCode read_path(reader *r, const key_spec *spec, const document_node *node, const key_path *at, const char **out, bool *ok)
{
  const char *problem;

  PetscFunctionBegin;
  *ok = node->kind == DOCUMENT_SCALAR;
  if (!*ok) {
    expected(r, spec, node, at);
  } else {
    PetscCall(key_text_path(r->doc, node->text, node->mark, out, &problem));
    *ok = !problem;
    if (problem) report_error(r, node->mark, at, "%s: %s", GOT(node), problem);
    else if (spec->is_input && access(*out, R_OK)) report_error(r, node->mark, at, "cannot read the file %.400s", *out);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lists ---- */

/* All entries are texts of digits: parts of numbers with a decimal comma. */
static bool has_whole_numbers(const document_node *node)
{
  for (int i = 0; i < node->n; ++i)
    if (node->value[i]->kind != DOCUMENT_SCALAR || node->value[i]->text[strspn(node->value[i]->text, "+-0123456789")]) return false;
  return node->n > 0;
}

static bool check_length(reader *r, const key_spec *spec, const document_node *node, const key_path *at)
{
  char bounds[100];
  if (spec->count) {
    char words[KEY_WORDS];
    if (node->n == spec->count) return true;
    key_spec_words(spec, words, sizeof words);
    report_error(r, node->mark, at, "expected %s, got %d%s", words, node->n,
                 spec->type == KEY_REALS && node->n > spec->count && has_whole_numbers(node) ? "; the decimal mark is a point: 0.5, not 0,5"
                                                                                             : "");
    return false;
  }
  const key_range range = key_spec_range(spec);
  if (key_range_has(range, node->n)) return true;
  key_range_words(range, bounds, sizeof bounds);
  report_error(r, node->mark, at, "has %d %s: must be %s", node->n, node->n == 1 ? "entry" : "entries", bounds);
  return false;
}

static bool read_reals(reader *r, const key_spec *spec, const document_node *node, const key_path *at, double *out)
{
  bool ok = true;
  if (node->kind != DOCUMENT_SEQUENCE) return expected(r, spec, node, at), false;
  if (!check_length(r, spec, node, at)) return false;
  for (int i = 0; i < node->n; ++i)
    if (!read_number(r, spec, node->value[i], &(key_path){at, NULL, i}, &out[i], NULL)) ok = false;
  return ok;
}

/* KEY_NAMED, KEY_LIST, KEY_STRINGS: wrong entries are kept, filled with defaults, so that indices remain valid. */
static PetscErrorCode read_list(reader *r, const key_spec *spec, const document_node *node, const key_path *at, key_list *list, bool *ok)
{
  const document_kind kind = spec->type == KEY_NAMED ? DOCUMENT_MAPPING : DOCUMENT_SEQUENCE;

  PetscFunctionBegin;
  *ok = false;
  PetscCall(key_spec_expand(spec, r->doc, &node));
  if (node->kind != kind && !(node->kind == DOCUMENT_NULL && !spec->fallback)) {
    expected(r, spec, node, at);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *ok = true; /* errors inside entries are reported there */
  (void)check_length(r, spec, node, at);
  list->n = node->n < spec->count ? spec->count : node->n; /* padded, so that code may rely on `count` entries */
  PetscCall(document_alloc(r->doc, (size_t)list->n * sizeof *list->item, &list->item));
  for (int i = node->n; i < list->n; ++i) {
    list->item[i] = (key_item){.value = "", .node = node};
    if (spec->table) PetscCall(read_table(r, spec->table, NULL, at, &list->item[i].variant, &list->item[i].value));
  }
  for (int i = 0; i < node->n; ++i) {
    key_item      *item = &list->item[i];
    const key_path here = {at, spec->type == KEY_NAMED ? node->key[i] : NULL, i};
    item->node          = node->value[i];
    item->name          = here.key;
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

static PetscErrorCode read_member_table(reader *r, const key_spec *spec, const document_node *node, const key_path *at, void *member)
{
  const void *value   = NULL;
  int         variant = 0;

  PetscFunctionBegin;
  PetscCall(read_table(r, spec->table, node, at, &variant, &value));
  if (spec->table->variant_key) *(key_item *)member = (key_item){.value = value, .variant = variant, .node = node};
  else *(const void **)member = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_keys(reader *r, const key_table *whole, int variant, const key_table *table, const document_node *node,
                                const key_path *at, char *base);
static void           check_unknown(reader *r, const key_table *table, int variant, const document_node *node, const key_path *at);

static PetscErrorCode read_part(reader *r, const key_spec *spec, const document_node *node, const key_path *at, char *base, bool *ok)
{
  PetscFunctionBegin;
  *ok = node->kind == DOCUMENT_MAPPING;
  if (!*ok) expected(r, spec, node, at);
  else check_unknown(r, spec->table, -1, node, at);
  if (*ok) PetscCall(read_keys(r, spec->table, -1, spec->table, node, at, base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_value(reader *r, const key_spec *spec, const document_node *node, const key_path *at, void *member, bool *ok)
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
  case KEY_PART: PetscCall(read_part(r, spec, node, at, member, ok)); break;
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

/* Fill a member with the value for "absent". `is_safe`: for a required key, whose member is used without a check for absence. */
static PetscErrorCode fill_absent(reader *r, const key_spec *spec, bool is_safe, const key_path *at, void *member)
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
  case KEY_PART:
  case KEY_TREE: break; /* zero already */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill_default(reader *r, const key_spec *spec, document_mark mark, const key_path *at, void *member)
{
  document_node *node;
  bool           ok;

  PetscFunctionBegin;
  PetscCall(document_read_flow(r->doc, spec->fallback, mark, &node));
  PetscCall(read_value(r, spec, node, at, member, &ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one mapping ---- */

/* Whether an unknown key of the mapping is similar to this one: then the misspelling is reported, and a missing key is not reported again. */
static bool is_misspelt(const key_table *table, int variant, const document_node *node, const char *name)
{
  const char *names[KEY_MAX_NAMES];
  const int   n = key_table_names(table, variant, names);
  for (int i = 0; i < node->n && i < MAX_SUGGESTIONS; ++i) {
    bool is_known = false;
    for (int k = 0; k < n && !is_known; ++k) is_known = !strcmp(names[k], node->key[i]);
    if (is_known) continue;
    const char *nearest = diagnostics_nearest(node->key[i], n, names);
    if (nearest && !strcmp(nearest, name)) return true;
  }
  return false;
}

static PetscErrorCode read_keys(reader *r, const key_table *whole, int variant, const key_table *table, const document_node *node,
                                const key_path *at, char *base)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    const document_node *value  = document_find(node, k->name);
    const key_path       here   = {at, k->name, 0};
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
        report_error(r, node->mark, at, "missing required key \"%s\" (%s)", k->name, words);
      }
      PetscCall(fill_absent(r, k, !k->is_optional, &here, member));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_one_of(reader *r, const key_table *table, const document_node *node, const key_path *at, char *base)
{
  const char *names[KEY_MAX_NAMES], *given = NULL;
  const int   n = key_table_names(table, -1, names);
  char        words[KEY_WORDS];

  PetscFunctionBegin;
  key_words_join(words, sizeof words, n, names, " or ");
  for (const key_spec *k = table->keys; k->name; ++k) PetscCall(fill_absent(r, k, false, at, base + k->offset));
  for (int i = 0; node && i < node->n; ++i) {
    const key_spec *k    = key_table_find(table, node->key[i]);
    const key_path  here = {at, node->key[i], 0};
    bool            ok;
    if (!k) continue;
    if (given) {
      report_error(r, node->key_mark[i], at, "only one of %s may be given, but both \"%s\" and \"%s\" are given", words, k->name, given);
      continue;
    }
    given = k->name;
    PetscCall(read_value(r, k, node->value[i], &here, base + k->offset, &ok));
  }
  if (node && !given && (node->n == 0 || node->n > 1 || !diagnostics_nearest(node->key[0], n, names)))
    report_error(r, node->mark, at, "exactly one of %s must be given", words);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_name(int n, const char *const *names, const char *name)
{
  for (int k = 0; k < n; ++k)
    if (!strcmp(names[k], name)) return true;
  return false;
}

/* A list of three numbers; false for any other node. */
static bool three_numbers(const document_node *node, double x[3])
{
  if (!node || node->kind != DOCUMENT_SEQUENCE || node->n != 3) return false;
  for (int i = 0; i < 3; ++i)
    if (node->value[i]->kind != DOCUMENT_SCALAR || key_text_real(node->value[i]->text, &x[i]) != KEY_TEXT_OK) return false;
  return true;
}

/* `center` and `size` of a box that has the keys min and max. */
static bool explain_box(const document_node *node, const char *key, int n, const char *const *names, size_t size, char *hint)
{
  double     c[3], s[3];
  const bool is_center = !strcmp(key, "center") || !strcmp(key, "centre"), is_size = !strcmp(key, "size") || !strcmp(key, "half_size");
  if (!(is_center || is_size) || !has_name(n, names, "min") || !has_name(n, names, "max")) return false;
  const document_node *center = document_find(node, "center"), *extent = document_find(node, "size"),
                      *half = document_find(node, "half_size");
  const double factor       = extent ? 0.5 : 1.0;
  if (!center) center = document_find(node, "centre");
  (void)snprintf(hint, size, "a box has min and max: min = center - size/2, max = center + size/2");
  if (three_numbers(center, c) && three_numbers(extent ? extent : half, s))
    (void)snprintf(hint, size, "a box has min and max; write min: [%.9g, %.9g, %.9g], max: [%.9g, %.9g, %.9g]", c[0] - factor * s[0],
                   c[1] - factor * s[1], c[2] - factor * s[2], c[0] + factor * s[0], c[1] + factor * s[1], c[2] + factor * s[2]);
  return true;
}

/* An angle with another unit in its name: K or K_rad for K_deg, K_deg for K in rad. */
static bool explain_angle(const char *key, const document_node *value, int n, const char *const *names, size_t size, char *hint)
{
  static const double degree = 0.017453292519943295;
  char                stem[128], right[140];
  double              x   = 0.0;
  const size_t        m   = strlen(key);
  const bool          rad = m > 4 && !strcmp(key + m - 4, "_rad"), deg = m > 4 && !strcmp(key + m - 4, "_deg");
  if (m >= sizeof stem) return false;
  memcpy(stem, key, m + 1);
  if (rad || deg) stem[m - 4] = 0;
  (void)snprintf(right, sizeof right, "%s%s", stem, deg ? "" : "_deg");
  if (!has_name(n, names, right)) return false;
  const bool is_number = value->kind == DOCUMENT_SCALAR && key_text_real(value->text, &x) == KEY_TEXT_OK;
  if (is_number && (rad || deg))
    (void)snprintf(hint, size, "%s is in %s; write %s: %.6g", right, deg ? "rad" : "degrees", right, rad ? x / degree : x * degree);
  else (void)snprintf(hint, size, "did you mean \"%s\"? It is in %s", right, deg ? "rad" : "degrees");
  return true;
}

/* "end:1" without space is one word in YAML. */
static bool explain_colon(const char *key, int n, const char *const *names, size_t size, char *hint)
{
  char        word[128];
  const char *colon = strchr(key, ':');
  if (!colon || colon == key || (size_t)(colon - key) >= sizeof word) return false;
  memcpy(word, key, (size_t)(colon - key));
  word[colon - key] = 0;
  if (!has_name(n, names, word)) return false;
  (void)snprintf(hint, size, "a space must follow the colon: write \"%s: %.60s\"", word, colon + 1);
  return true;
}

/* Explanation of a common mistake in the name of a key; false: none. */
static bool explain_slip(const reader *r, const document_node *node, int i, int n, const char *const *names, const key_path *here,
                         size_t size, char *hint)
{
  const char *key = node->key[i];
  for (const key_slip *s = r->slips; s && s->given; ++s) {
    const char *end = strchr(s->given, '.') ? match_path(here, s->given) : NULL;
    if (!(strchr(s->given, '.') ? end && !*end : !strcmp(s->given, key)) || (s->key && !has_name(n, names, s->key))) continue;
    (void)snprintf(hint, size, s->now ? "%s" : "write \"%s\"", s->now ? s->now : s->key);
    return true;
  }
  return explain_box(node, key, n, names, size, hint) || explain_angle(key, node->value[i], n, names, size, hint) ||
         explain_colon(key, n, names, size, hint);
}

/* `variant` -1: unknown, so the keys of all variants are accepted. */
static void check_unknown(reader *r, const key_table *table, int variant, const document_node *node, const key_path *at)
{
  const char *names[KEY_MAX_NAMES];
  const int   n = key_table_names(table, variant, names);
  for (int i = 0; node && i < node->n; ++i) {
    const char    *key = node->key[i], *owner = NULL;
    const key_path here     = {at, key, 0};
    bool           is_known = false;
    for (int k = 0; k < n && !is_known; ++k) is_known = !strcmp(names[k], key);
    if (is_known) continue;
    for (int v = 0; v < key_table_n_variants(table) && !owner;
         ++v) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): counted variants exist */
      if (key_table_find(table->variants[v].table, key)) owner = table->variants[v].name;
    const bool        is_searched = r->d && diagnostics_count(r->d) < MAX_SUGGESTIONS;
    const key_rename *rename      = is_searched ? find_rename(r, &here, NULL) : NULL;
    const char       *nearest     = is_searched ? diagnostics_nearest(key, n, names) : NULL;
    char              hint[400];
    if (!rename && is_searched && explain_slip(r, node, i, n, names, &here, sizeof hint, hint))
      report_error(r, node->key_mark[i], &here, "unknown key; %s", hint);
    else if (rename && rename->now) report_error(r, node->key_mark[i], &here, "is now %s", rename->now);
    else if (rename) report_error(r, node->key_mark[i], &here, "has been removed: %s; remove it", rename->reason);
    else if (owner)
      report_error(r, node->key_mark[i], &here, "%s \"%s\" has no such key; %s \"%s\" has", table->variant_key,
                   table->variants[variant].name, table->variant_key, owner);
    else if (nearest) report_error(r, node->key_mark[i], &here, "unknown key; did you mean \"%s\"?", nearest);
    else if (n <= 12) {
      char words[KEY_WORDS];
      key_words_join(words, sizeof words, n, names, " and ");
      report_error(r, node->key_mark[i], &here, n ? "unknown key; allowed keys: %s" : "unknown key; no keys are allowed here%s", words);
    } else report_error(r, node->key_mark[i], &here, "unknown key");
  }
}

/* "friction 0.3" or "friction:0.3" in place of a mapping. */
static void explain_text(const char *text, size_t size, char *hint)
{
  const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (n > 0 && text[n] == ' ')
    (void)snprintf(hint, size, "; a colon must follow the key: \"%.*s:%.60s\"", (int)(n < 60 ? n : 60), text, text + n);
  else if (n > 0 && text[n] == ':')
    (void)snprintf(hint, size, "; a space must follow the colon: \"%.*s: %.60s\"", (int)(n < 60 ? n : 60), text, text + n + 1);
}

/* The variant given, or the one with a similar name, or -1. */
static int pick_variant(reader *r, const key_table *table, const document_node *node, const key_path *at)
{
  const document_node *value = document_find(node, table->variant_key);
  const int            n = key_table_n_variants(table), exact = key_table_variant(table, node);
  const char          *names[KEY_MAX_NAMES];
  char                 words[KEY_WORDS];
  const key_path       here = {at, table->variant_key, 0};

  if (exact >= 0 || !node) return exact;
  for (int i = 0; i < n; ++i) names[i] = table->variants[i].name;
  key_words_join(words, sizeof words, n, names, " or ");
  if (!value) {
    if (!is_misspelt(table, -1, node, table->variant_key))
      report_error(r, node->mark, at, "missing required key \"%s\" (%s)", table->variant_key, words);
    return -1;
  }
  const char *nearest = value->kind == DOCUMENT_SCALAR ? diagnostics_nearest(value->text, n, names) : NULL;
  if (nearest) report_error(r, value->mark, &here, "expected %s, got %s; did you mean \"%s\"?", words, GOT(value), nearest);
  else report_error(r, value->mark, &here, "expected %s, got %s", words, GOT(value));
  for (int i = 0; i < n; ++i)
    if (names[i] == nearest) return i;
  return -1;
}

static PetscErrorCode read_table(reader *r, const key_table *table, const document_node *node, const key_path *at, int *variant,
                                 const void **out)
{
  diagnostics *const d      = r->d;
  const key_table   *extra  = NULL;
  int                picked = -1;
  char              *base;

  PetscFunctionBegin;
  *variant = 0;
  *out     = NULL;
  if (r->depth >= KEY_MAX_DEPTH) { /* a table that requires itself; documents are less deep */
    if (node) report_error(r, node->mark, at, "nested too deeply");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(key_table_expand(table, r->doc, &node));
  if (node && node->kind != DOCUMENT_MAPPING && node->kind != DOCUMENT_NULL) {
    char hint[160] = "";
    if (node->kind == DOCUMENT_SCALAR && !node->is_quoted) explain_text(node->text, sizeof hint, hint);
    report_error(r, node->mark, at, "expected a mapping of keys to values, got %s%s", GOT(node), hint);
    node = NULL;
  }
  if (!node) r->d = NULL;
  ++r->depth;
  if (table->variant_key) { /* NOLINT(clang-analyzer-core.NullDereference): keys of type map and list have a table */
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
  reader         r    = {.doc = owner, .d = d, .renames = table->renames, .slips = table->slips};
  const key_path root = {NULL, where ? where : "", 0};
  int            variant;

  PetscFunctionBegin;
  PetscCall(read_table(&r, table, mapping, &root, &variant, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the resolved job: given values and defaults, in table order ---- */

static PetscErrorCode resolve_table(const key_table *table, document *owner, const document_node *node, int depth, document_node **out);

/* Absolute path with every dollar doubled, because variables are expanded again when the resolved job is read. */
static PetscErrorCode resolve_path(document *owner, const document_node *node, document_node **out)
{
  const char *absolute, *problem;
  text_buffer text = {0};

  PetscFunctionBegin;
  PetscCall(document_copy(owner, node, out));
  if (node->kind != DOCUMENT_SCALAR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(key_text_path(owner, node->text, node->mark, &absolute, &problem));
  if (problem) PetscFunctionReturn(PETSC_SUCCESS);
  text_escape(&text, absolute, '$', "$$");
  PetscCall(text.code);
  (*out)->text = document_intern(owner, text.data);
  text_clear(&text);
  PetscCheck((*out)->text, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for a path; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_value(const key_spec *spec, document *owner, const document_node *node, int depth, document_node **out)
{
  PetscFunctionBegin;
  const bool is_list = spec->type == KEY_LIST || spec->type == KEY_NAMED;
  PetscCall(key_spec_expand(spec, owner, &node));
  if (spec->type == KEY_PATH) {
    PetscCall(resolve_path(owner, node, out));
  } else if (spec->type == KEY_TABLE || spec->type == KEY_PART) {
    PetscCall(resolve_table(spec->table, owner, node, depth + 1, out));
  } else if (is_list && (node->kind == DOCUMENT_MAPPING || node->kind == DOCUMENT_SEQUENCE)) {
    PetscCall(document_add_node(owner, node->kind, node->mark, NULL, out));
    for (int i = 0; i < node->n; ++i) {
      const bool     has_key = node->kind == DOCUMENT_MAPPING;
      document_node *child;
      PetscCall(resolve_table(spec->table, owner, node->value[i], depth + 1, &child));
      PetscCall(document_append(owner, *out, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
    }
  } else {
    PetscCall(document_copy(owner, node, out));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_keys(const key_table *table, bool has_defaults, document *owner, const document_node *node, int depth,
                                   document_node *out)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    const document_node *value = document_find(node, k->name);
    document_node       *child;
    if (!value && k->fallback && has_defaults) {
      PetscCall(document_read_flow(owner, k->fallback, node->mark, &child));
      value = child;
    }
    if (!value) continue;
    PetscCall(resolve_value(k, owner, value, depth, &child));
    PetscCall(document_append(owner, out, k->name, value->mark, child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode resolve_table(const key_table *table, document *owner, const document_node *node, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(key_table_expand(table, owner, &node));
  if ((node->kind != DOCUMENT_MAPPING && node->kind != DOCUMENT_NULL) || depth >= KEY_MAX_DEPTH) {
    PetscCall(document_copy(owner, node, out)); /* wrong type, reported by key_table_read */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const int variant = key_table_variant(table, node);
  PetscCall(document_add_node(owner, DOCUMENT_MAPPING, node->mark, NULL, out));
  if (variant >= 0) {
    const document_node *picked = document_find(node, table->variant_key);
    document_node       *child;
    PetscCall(document_copy(owner, picked, &child));
    PetscCall(document_append(owner, *out, table->variant_key, picked->mark, child));
  }
  PetscCall(resolve_keys(table, !table->is_one_of, owner, node, depth, *out));
  if (variant >= 0) PetscCall(resolve_keys(table->variants[variant].table, true, owner, node, depth, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_resolve(const key_table *table, document *owner, const document_node *mapping, document_node **out)
{
  return resolve_table(table, owner, mapping, 0, out);
}

/* ---- keys without effect ---- */

static bool same_text(const char *a, const char *b);

/* Numbers are compared by value. */
static bool is_listed(const char *list, const char *word)
{
  char one[64];
  for (const char *at = list; *at; at += strspn(at, " ")) {
    const size_t n = strcspn(at, " ");
    (void)snprintf(one, sizeof one, "%.*s", (int)n, at);
    if (same_text(one, word)) return true;
    at += n;
  }
  return false;
}

bool key_condition_is_met(const key_condition *condition, const document_node *root, const document_node *mapping, const char **value)
{
  const char          *values = strcmp(condition->values, "*") ? condition->values : "!none";
  const bool           is_not = *values == '!', is_absolute = *condition->key == '/';
  const document_node *node = is_absolute ? root : mapping;
  const char          *path = condition->key + is_absolute;
  *value                    = NULL;
  for (; node; ++path) {
    char         name[64];
    const size_t n = strcspn(path, ".");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, path);
    if (!strcmp(name, "*")) {
      for (int i = 0; i < node->n; ++i) {
        const key_condition below = {path + n + 1, condition->values};
        if (key_condition_is_met(&below, root, node->value[i], value)) return true;
      }
      return false;
    }
    node = node->kind == DOCUMENT_MAPPING ? document_find(node, name) : NULL;
    path += n;
    if (*path == '\0') break;
  }
  if (node && node->kind != DOCUMENT_NULL) *value = node->text ? node->text : "given";
  return is_listed(values + is_not, *value ? *value : "none") != is_not;
}

static void check_effects(reader *r, const key_table *table, const document_node *given, document_node *node, const document_node *around,
                          const key_path *at);

/* The entry of `given` that corresponds to entry i of `node`; NULL: none, for example because `given` is written in short form. */
static const document_node *given_entry(const document_node *given, const document_node *node, int i)
{
  if (!given || given->kind != node->kind) return NULL;
  return node->kind == DOCUMENT_MAPPING ? document_find(given, node->key[i]) : i < given->n ? given->value[i] : NULL;
}

static void report_of_effect(reader *r, const key_condition *c, const char *value, document_mark mark, const key_path *at)
{
  char other[400];
  if (*c->key == '/') (void)snprintf(other, sizeof other, "%s", c->key + 1);
  else {
    const bool   is_around = *c->key == '^';
    const size_t n         = path_words(is_around ? at->up->up : at->up, other, sizeof other - 100);
    (void)snprintf(other + n, sizeof other - n, "%s%.90s", n ? "." : "", c->key + is_around);
  }
  char *any = strchr(other, '*');
  if (any)
    report_error(r, mark, at, "has no effect, because no %.*sNAME%s is %s; remove it", (int)(any - other), other, any + 1, c->values);
  else if (!value) report_error(r, mark, at, "has no effect without %s; remove it", other);
  else report_error(r, mark, at, "has no effect when %s is %s; remove it", other, value);
}

static void check_effects_of_keys(reader *r, const key_spec *keys, const document_node *given, document_node *node,
                                  const document_node *around, const key_path *at)
{
  bool is_void[KEY_MAX_NAMES] = {false};
  for (const key_spec *k = keys; k && k->name; ++k) {
    const key_path here = {at, k->name, 0};
    int            i    = 0;
    while (i < node->n && strcmp(node->key[i], k->name)) ++i;
    if (i == node->n) continue;
    document_node       *value   = node->value[i];
    const document_node *written = given_entry(given, node, i);
    const char          *other;
    key_condition        condition = k->only_if;
    const bool           is_around = condition.key && *condition.key == '^';
    if (is_around) ++condition.key;
    const bool needs_given =
        condition.key && !strcmp(condition.values, "*"); /* then the default stays: it belongs to that of the other key */
    if (condition.key && !key_condition_is_met(&condition, r->root, is_around ? around : needs_given ? given : node, &other)) {
      if (written) report_of_effect(r, &k->only_if, other, written->mark, &here);
      is_void[k - keys] = !needs_given;
    } else if (k->type == KEY_TABLE || k->type == KEY_PART) {
      check_effects(r, k->table, written, value, node, &here);
    } else if (k->type == KEY_NAMED || k->type == KEY_LIST) {
      for (int e = 0; e < value->n; ++e) {
        const key_path entry = {&here, value->kind == DOCUMENT_MAPPING ? value->key[e] : NULL, e};
        check_effects(r, k->table, given_entry(written, value, e), value->value[e], NULL, &entry);
      }
    }
  }
  for (const key_spec *k = keys; k && k->name; ++k)
    for (int i = node->n - 1; is_void[k - keys] && i >= 0; --i)
      if (!strcmp(node->key[i], k->name)) document_remove(node, i);
}

static void check_effects(reader *r, const key_table *table, const document_node *given, document_node *node, const document_node *around,
                          const key_path *at)
{
  if (node->kind != DOCUMENT_MAPPING || r->depth >= KEY_MAX_DEPTH) return;
  const int variant = key_table_variant(table, node);
  ++r->depth;
  check_effects_of_keys(r, table->keys, given, node, around, at);
  if (variant >= 0) check_effects_of_keys(r, table->variants[variant].table->keys, given, node, around, at);
  --r->depth;
}

void key_table_check_conditions(const key_table *table, const document_node *given, document_node *resolved, diagnostics *d)
{
  reader         r    = {.d = d, .root = resolved};
  const key_path root = {NULL, "", 0};
  check_effects(&r, table, given, resolved, NULL, &root);
}

/* ---- absolute paths ---- */

static PetscErrorCode absolute_table(const key_table *table, document *owner, document_node *node, int depth);

static PetscErrorCode absolute_value(const key_spec *spec, document *owner, document_node *node, int depth)
{
  document_node *absolute;

  PetscFunctionBegin;
  if (spec->type == KEY_PATH) {
    PetscCall(resolve_path(owner, node, &absolute));
    node->text = absolute->text;
  } else if (spec->type == KEY_TABLE || spec->type == KEY_PART) {
    PetscCall(absolute_table(spec->table, owner, node, depth + 1));
  } else if (spec->type == KEY_NAMED || spec->type == KEY_LIST) {
    for (int i = 0; i < node->n; ++i) PetscCall(absolute_table(spec->table, owner, node->value[i], depth + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode absolute_table(const key_table *table, document *owner, document_node *node, int depth)
{
  PetscFunctionBegin;
  if (node->kind != DOCUMENT_MAPPING || depth >= KEY_MAX_DEPTH) PetscFunctionReturn(PETSC_SUCCESS);
  const int variant = key_table_variant(table, node);
  for (int i = 0; i < node->n; ++i) {
    const key_spec *k = key_table_find(table, node->key[i]);
    if (!k && variant >= 0) k = key_table_find(table->variants[variant].table, node->key[i]);
    if (k) PetscCall(absolute_value(k, owner, node->value[i], depth));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_absolute_paths(const key_table *table, document *owner, document_node *mapping)
{
  return absolute_table(table, owner, mapping, 0);
}

/* ---- writing structs to documents ---- */

static const document_mark nowhere = {"", 0, 0};

static PetscErrorCode write_table(const key_table *table, int variant, document *doc, const void *value, int depth, document_node **out);

static PetscErrorCode write_scalar(document *doc, const char *text, document_node **out)
{
  return document_add_node(doc, DOCUMENT_SCALAR, nowhere, text, out);
}

static PetscErrorCode write_reals(document *doc, int n, const double *x, document_node **out)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  PetscCall(document_add_node(doc, DOCUMENT_SEQUENCE, nowhere, NULL, out));
  for (int i = 0; i < n; ++i) {
    document_node *entry;
    PetscCall(write_scalar(doc, key_text_of_real(x[i], text), &entry));
    PetscCall(document_append(doc, *out, NULL, nowhere, entry));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dollars are doubled, because reading expands variables. */
static PetscErrorCode write_path(document *doc, const char *path, document_node **out)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  text_put(&b, "");
  text_escape(&b, path, '$', "$$");
  PetscCall(b.code);
  PetscCall(write_scalar(doc, b.data, out));
  text_clear(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_list(const key_spec *spec, document *doc, const key_list *list, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCall(document_add_node(doc, spec->type == KEY_NAMED ? DOCUMENT_MAPPING : DOCUMENT_SEQUENCE, nowhere, NULL, out));
  for (int i = 0; i < list->n; ++i) {
    const key_item *item = &list->item[i];
    document_node  *entry;
    if (spec->type == KEY_STRINGS) PetscCall(write_scalar(doc, item->value, &entry));
    else PetscCall(write_table(spec->table, item->variant, doc, item->value, depth + 1, &entry));
    PetscCall(document_append(doc, *out, item->name, nowhere, entry));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *out NULL: absent. */
static PetscErrorCode write_member(const key_spec *spec, bool may_be_absent, document *doc, const void *member, int depth,
                                   document_node **out)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  *out = NULL;
  switch (spec->type) {
  case KEY_BOOL: PetscCall(write_scalar(doc, *(const bool *)member ? "true" : "false", out)); break;
  case KEY_INT:
    if (*(const int64_t *)member != KEY_INT_ABSENT) {
      (void)snprintf(text, sizeof text, "%lld", (long long)*(const int64_t *)member);
      PetscCall(write_scalar(doc, text, out));
    }
    break;
  case KEY_REAL:
    if (isfinite(*(const double *)member)) PetscCall(write_scalar(doc, key_text_of_real(*(const double *)member, text), out));
    else if (spec->word && *(const double *)member == -INFINITY) PetscCall(write_scalar(doc, spec->word, out));
    break;
  case KEY_REALS:
    if (isfinite(*(const double *)member)) PetscCall(write_reals(doc, spec->count, member, out));
    break;
  case KEY_ENUM:
    if (*(const int *)member >= 0) PetscCall(write_scalar(doc, spec->choices[*(const int *)member], out));
    break;
  case KEY_STRING:
    if (*(const char *const *)member) PetscCall(write_scalar(doc, *(const char *const *)member, out));
    break;
  case KEY_PATH:
    if (*(const char *const *)member) PetscCall(write_path(doc, *(const char *const *)member, out));
    break;
  case KEY_TREE:
    if (*(const document_node *const *)member) PetscCall(document_copy(doc, *(const document_node *const *)member, out));
    break;
  case KEY_PART: PetscCall(write_table(spec->table, -1, doc, member, depth + 1, out)); break;
  case KEY_TABLE:
    if (spec->table->variant_key) {
      const key_item *item = member;
      if (item->value) PetscCall(write_table(spec->table, item->variant, doc, item->value, depth + 1, out));
    } else if (*(const void *const *)member) {
      PetscCall(write_table(spec->table, -1, doc, *(const void *const *)member, depth + 1, out));
    }
    break;
  case KEY_NAMED:
  case KEY_LIST:
  case KEY_STRINGS:
    /* an empty list is omitted if absence has the same meaning */
    if (((const key_list *)member)->n > 0 || !may_be_absent) PetscCall(write_list(spec, doc, member, depth, out));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_keys(const key_table *table, document *doc, const char *base, int depth, document_node *out)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    document_node *child;
    PetscCall(write_member(k, k->is_optional || table->is_one_of, doc, base + k->offset, depth, &child));
    if (child) PetscCall(document_append(doc, out, k->name, nowhere, child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_table(const key_table *table, int variant, document *doc, const void *value, int depth, document_node **out)
{
  PetscFunctionBegin;
  PetscCheck(depth < KEY_MAX_DEPTH, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "table %s: nested too deeply to be written", table->name);
  PetscCall(document_add_node(doc, DOCUMENT_MAPPING, nowhere, NULL, out));
  if (table->variant_key) {
    document_node *picked;
    PetscCall(write_scalar(doc, table->variants[variant].name, &picked));
    PetscCall(document_append(doc, *out, table->variant_key, nowhere, picked));
  }
  PetscCall(write_keys(table, doc, value, depth, *out));
  if (table->variant_key) PetscCall(write_keys(table->variants[variant].table, doc, value, depth, *out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_write(const key_table *table, document *owner, const void *value, document_node **out)
{
  PetscFunctionBegin;
  SS_ASSERT(!table->variant_key); /* see key_table.h */
  PetscCall(write_table(table, -1, owner, value, 0, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparison of two jobs: numbers are compared by value, everything else by text ---- */

enum { PATH = 1024, VALUE = 200 }; /* longer texts are truncated in the result, but compared completely */

typedef struct {
  key_difference_visit visit;
  void                *context;
  char                 path[PATH];
  int                  depth;
} comparison;

static PetscErrorCode compare_tables(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                     bool may_change);

/* --- values -------------------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
  double x, y;
  if (strcmp(a, b) == 0) return true;
  return key_text_real(a, &x) == KEY_TEXT_OK && key_text_real(b, &y) == KEY_TEXT_OK && x == y;
}

static bool key_table_same(const document_node *a, const document_node *b)
{
  if (a->kind != b->kind || a->n != b->n) return false;
  if (a->kind == DOCUMENT_SCALAR) return same_text(a->text, b->text);
  for (int i = 0; i < a->n; ++i) {
    const document_node *other = a->kind == DOCUMENT_MAPPING ? document_find(b, a->key[i]) : b->value[i];
    if (!other || !key_table_same(a->value[i], other)) return false;
  }
  return true;
}

/* Append a value on one line, in flow style. */
static void append_value(text_buffer *b, const document_node *node)
{
  const bool is_mapping = node->kind == DOCUMENT_MAPPING;
  if (node->kind == DOCUMENT_NULL) text_put(b, "~");
  if (node->kind == DOCUMENT_SCALAR) text_printf(b, "%s", *node->text ? node->text : "\"\"");
  if (!is_mapping && node->kind != DOCUMENT_SEQUENCE) return;
  text_append(b, is_mapping ? "{" : "[", 1);
  for (int i = 0; i < node->n && b->n < VALUE; ++i) {
    if (i) text_put(b, ", ");
    if (is_mapping) text_printf(b, "%s: ", node->key[i]);
    append_value(b, node->value[i]);
  }
  text_append(b, is_mapping ? "}" : "]", 1);
}

static void value_text(const document_node *node, text_buffer *b)
{
  if (!node) return;
  append_value(b, node);
  if (b->n > VALUE) strcpy(b->data + VALUE - 3, "...");
}

/* --- current path -------------------------------------------------------------------------------------------------- */

static PetscErrorCode report_difference(comparison *c, const document_node *before, const document_node *after, bool may_change)
{
  PetscFunctionBegin;
  text_buffer was = {0}, is = {0};
  value_text(before, &was);
  value_text(after, &is);
  PetscCall(was.code);
  PetscCall(is.code);
  const key_difference d = {c->path, was.data, is.data, after ? after->mark : (document_mark){0}, may_change};
  PetscCall(c->visit(&d, c->context));
  text_clear(&was);
  text_clear(&is);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append `name` or an index to the path; returns the previous length, to truncate it again. */
static size_t append_to_path(comparison *c, const char *name, int index)
{
  const size_t n = strlen(c->path);
  if (name) (void)snprintf(c->path + n, PATH - n, "%s%s", n ? "." : "", name);
  else (void)snprintf(c->path + n, PATH - n, "[%d]", index);
  return n;
}

/* --- keys ---------------------------------------------------------------------------------------------------------- */

static bool is_absent(const document_node *node) { return !node || node->kind == DOCUMENT_NULL; }

/* Entries of a list are matched by index, named entries by name. */
static PetscErrorCode compare_entries(comparison *c, const key_spec *k, const document_node *before, const document_node *after,
                                      bool may_change)
{
  PetscFunctionBegin;
  const bool has_names = after->kind == DOCUMENT_MAPPING;
  for (int i = 0; i < after->n; ++i) {
    const document_node *was = has_names ? document_find(before, after->key[i]) : i < before->n ? before->value[i] : NULL;
    const size_t         n   = append_to_path(c, has_names ? after->key[i] : NULL, i);
    if (was) PetscCall(compare_tables(c, k->table, was, after->value[i], may_change));
    else PetscCall(report_difference(c, NULL, after->value[i], may_change));
    c->path[n] = '\0';
  }
  for (int i = has_names ? 0 : after->n; i < before->n; ++i) {
    if (has_names && document_find(after, before->key[i])) continue;
    const size_t n = append_to_path(c, has_names ? before->key[i] : NULL, i);
    PetscCall(report_difference(c, before->value[i], NULL, may_change));
    c->path[n] = '\0';
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_key(comparison *c, const key_spec *k, const document_node *before, const document_node *after,
                                  bool may_change)
{
  PetscFunctionBegin;
  const bool   is_list = k->type == KEY_LIST || k->type == KEY_NAMED;
  const size_t n       = append_to_path(c, k->name, 0);
  if (is_absent(before) && is_absent(after)) { /* absent in both */
  } else if (is_absent(before) || is_absent(after) || before->kind != after->kind) {
    PetscCall(report_difference(c, is_absent(before) ? NULL : before, is_absent(after) ? NULL : after, may_change));
  } else if (k->type == KEY_TABLE || k->type == KEY_PART) {
    PetscCall(compare_tables(c, k->table, before, after, may_change));
  } else if (is_list && before->kind != DOCUMENT_SCALAR) {
    PetscCall(compare_entries(c, k, before, after, may_change));
  } else if (!key_table_same(before, after)) {
    PetscCall(report_difference(c, before, after, may_change));
  }
  c->path[n] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_keys(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                   bool may_change)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k)
    PetscCall(compare_key(c, k, document_find(before, k->name), document_find(after, k->name), may_change || k->may_change));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compare_tables(comparison *c, const key_table *table, const document_node *before, const document_node *after,
                                     bool may_change)
{
  PetscFunctionBegin;
  const int variant = key_table_variant(table, after);
  if (before->kind != DOCUMENT_MAPPING || after->kind != DOCUMENT_MAPPING || c->depth >= KEY_MAX_DEPTH ||
      variant != key_table_variant(table, before)) {
    if (!key_table_same(before, after)) PetscCall(report_difference(c, before, after, may_change));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ++c->depth;
  PetscCall(compare_keys(c, table, before, after, may_change));
  if (variant >= 0) PetscCall(compare_keys(c, table->variants[variant].table, before, after, may_change));
  --c->depth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_compare(const key_table *table, const document_node *before, const document_node *after,
                                 key_difference_visit visit, void *context)
{
  PetscFunctionBegin;
  comparison c = {.visit = visit, .context = context};
  PetscCall(compare_tables(&c, table, before, after, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks of the declarations, called by the tests of modules that declare tables ---- */

typedef struct {
  diagnostics     *d;
  int              n;
  const key_table *seen[KEY_MAX_NAMES]; /* tables may refer to themselves */
} check;

static void check_table(check *c, const key_table *table);

/* clang-format off */
static const size_t SIZE_OF[] = {
  [KEY_BOOL] = sizeof(bool), [KEY_INT] = sizeof(int64_t), [KEY_REAL] = sizeof(double), [KEY_STRING] = sizeof(char *),
  [KEY_ENUM] = sizeof(int), [KEY_REALS] = sizeof(double), [KEY_TABLE] = sizeof(void *), [KEY_NAMED] = sizeof(key_list),
  [KEY_LIST] = sizeof(key_list), [KEY_TREE] = sizeof(void *), [KEY_STRINGS] = sizeof(key_list), [KEY_PATH] = sizeof(char *), [KEY_PART] = 0,
};
/* clang-format on */

/* Whether the table has a key at this dotted path. */
static bool has_path(const key_table *table, const char *path)
{
  char         name[64];
  const size_t n = strcspn(path, ".");
  (void)snprintf(name, sizeof name, "%.*s", (int)n, path);
  const key_spec *k = key_table_find(table, name);
  return k && (!path[n] || (k->table && has_path(k->table, path + n + 1)));
}

static void check_key(check *c, const key_table *table, const key_spec *k, size_t size)
{
  const document_mark none = {0};
  const bool          has_table =
      k->type == KEY_TABLE || k->type == KEY_PART || k->type == KEY_NAMED || k->type == KEY_LIST || (k->type == KEY_TREE && k->table);
  size_t bytes = k->type == KEY_REALS ? SIZE_OF[k->type] * (size_t)k->count : SIZE_OF[k->type];
  if (k->type == KEY_TABLE && k->table && k->table->variant_key) bytes = sizeof(key_item);
#define SAY(text) diagnostics_add(c->d, none, k->name, "key of table %s: " text, table->name)
  if (has_table != (k->table != NULL)) SAY("has a table although its type has none, or no table although its type needs one");
  if (k->type == KEY_ENUM && !k->choices) SAY("has no choices");
  if (k->type == KEY_REALS && k->count <= 0) SAY("has no count");
  if (k->offset + bytes > size) SAY("lies outside the struct");
  if (!k->help || !*k->help) SAY("has no help");
  else if (k->help[strlen(k->help) - 1] == '.' || strchr(k->help, '\n')) SAY("help is one line without a full stop");
  for (int i = 0; k->choices && k->choice_help && k->choices[i]; ++i)
    if (!k->choice_help[i]) SAY("has choices without help");
  if (k->fallback && k->is_optional) SAY("is optional and has a default");
  for (const key_spec *other = table->keys; other != k; ++other)
    if (!strcmp(other->name, k->name)) SAY("is declared twice");
  if (k->only_if.key && !strchr("/^", *k->only_if.key) && !has_path(table, k->only_if.key))
    SAY("has a condition on a key that does not exist");
#undef SAY
  if (k->table) check_table(c, k->table);
}

/* A default is valid if reading an empty mapping with this key alone gives no error. */
static PetscErrorCode check_defaults(const key_table *table, diagnostics *d)
{
  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name && !table->is_one_of; ++k) {
    key_spec       alone[2] = {*k, {0}};
    key_table      one      = {.name = table->name, .keys = alone};
    document      *doc;
    document_node *empty;
    const void    *unused;
    if (!k->fallback || k->type == KEY_PATH) continue; /* paths depend on the environment */
    alone[0].offset = 0;
    one.size        = k->type == KEY_REALS ? sizeof(double) * (size_t)k->count : k->type == KEY_PART ? k->table->size : sizeof(key_item);
    PetscCall(document_create(&doc));
    PetscCall(document_add_node(doc, DOCUMENT_MAPPING, (document_mark){0}, NULL, &empty));
    const PetscErrorCode code = key_table_read(&one, doc, empty, table->name, d, &unused);
    document_destroy(&doc);
    if (code) diagnostics_add(d, (document_mark){0}, k->name, "key of table %s: its default does not parse", table->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void check_table(check *c, const key_table *table)
{
  const document_mark none = {0};
  for (int i = 0; i < c->n; ++i)
    if (c->seen[i] == table) return;
  if (c->n == KEY_MAX_NAMES) return;
  c->seen[c->n++] = table;
  if (!table->name || !*table->name) diagnostics_add(c->d, none, NULL, "a table has no name");
  if (!table->help || !*table->help) diagnostics_add(c->d, none, table->name, "the table has no help");
  for (int i = 0; i + 1 < c->n; ++i)
    if (table->name && c->seen[i]->name && !strcmp(c->seen[i]->name, table->name))
      diagnostics_add(c->d, none, table->name, "two tables have this name");
  for (const key_spec *k = table->keys; k && k->name; ++k) check_key(c, table, k, table->size);
  if (check_defaults(table, c->d)) diagnostics_add(c->d, none, table->name, "the defaults cannot be read");
  if (table->shorthand && (!key_table_find(table, table->shorthand) || table->variant_key || table->is_one_of))
    diagnostics_add(c->d, none, table->name, "its shorthand is no key of a plain table");
  for (int v = 0; v < key_table_n_variants(table); ++v) {
    const key_table *extra = table->variants[v].table;
    if (extra->variant_key || extra->is_one_of)
      diagnostics_add(c->d, none, extra->name, "the table of a variant must not have variants or be one of several alternatives");
    if (key_table_find(extra, table->variant_key))
      diagnostics_add(c->d, none, extra->name, "contains the variant key \"%s\"; only the common table may contain it", table->variant_key);
    for (const key_spec *k = table->keys; k && k->name; ++k)
      if (key_table_find(extra, k->name))
        diagnostics_add(c->d, none, extra->name, "contains %s, which is a key of the common table; remove it from one of them", k->name);
    check_table(c, extra);
  }
}

PetscErrorCode key_table_validate(const key_table *root, diagnostics *d)
{
  check c = {.d = d};

  PetscFunctionBegin;
  check_table(&c, root);
  PetscFunctionReturn(PETSC_SUCCESS);
}
