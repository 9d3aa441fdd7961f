/* The reference manual of a job, in Markdown and as a man page: one section a table, one row a key. */
#include "core/key_table_manual.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "core/key_text.h"
#include "core/memory.h"
#include "core/text.h"

static const char MAY_CHANGE[] = "; may change when a run is continued";

static const char *default_words(const key_spec *k, bool is_one_of)
{
  if (is_one_of) return "";
  if (k->fallback) return *k->fallback ? k->fallback : "\"\"";
  return k->is_optional ? "" : "required";
}

/* Also gives the permitted numbers of entries of a list. */
static void range_words(const key_spec *k, char *out, size_t size)
{
  char bounds[120];
  key_range_words(key_spec_range(k), bounds, sizeof bounds);
  if (*bounds && !key_spec_is_number(k)) (void)snprintf(out, size, "%s entries", bounds);
  else (void)snprintf(out, size, "%s", bounds);
}

static bool is_on_main_page(const key_table *root, const key_table *table)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect_main(root, tables);
  for (int i = 0; i < n; ++i)
    if (tables[i] == table) return true;
  return false;
}

typedef PetscErrorCode (*section_writer)(text_buffer *b, const key_table *root, const key_table *table);
enum { PAGE_ALL, PAGE_MAIN, PAGE_EXPERT };

static PetscErrorCode all_sections(const key_table *root, int page, section_writer section, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = page == PAGE_MAIN ? key_table_collect_main(root, tables) : key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i)
    if (page != PAGE_EXPERT || !is_on_main_page(root, tables[i])) PetscCall(section(&b, root, tables[i]));
  *text = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Markdown ---- */

/* Text inside a table's cell. */
static PetscErrorCode markdown_cell(text_buffer *b, const char *s)
{
  PetscFunctionBegin;
  for (; *s; ++s) PetscCall(strchr("|<>*_", *s) ? text_printf(b, "\\%c", *s) : text_append(b, s, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A link to a table's section; anchors as GitHub and pandoc make them from its heading. */
static PetscErrorCode markdown_link(text_buffer *b, const char *page, const key_table *table)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, "[%s](%s#", table->name, page));
  for (const char *c = table->name; *c; ++c) {
    const char low = (char)tolower((unsigned char)*c);
    if (isalnum((unsigned char)low) || low == '_' || low == '-') PetscCall(text_append(b, &low, 1));
    else if (low == ' ') PetscCall(text_append(b, "-", 1));
  }
  PetscCall(text_append(b, ")", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

/* The same declaration of a key in two variants. */
static bool is_same_key(const key_spec *a, const key_spec *b)
{
  return !strcmp(a->name, b->name) && a->type == b->type && is_same_text(key_spec_unit(a), key_spec_unit(b)) &&
         is_same_text(a->fallback, b->fallback) && a->is_optional == b->is_optional && a->min == b->min && a->max == b->max &&
         a->is_open == b->is_open && a->choices == b->choices && a->count == b->count && a->table == b->table &&
         is_same_text(a->help, b->help) && is_same_text(a->only_if.key, b->only_if.key);
}

/* The variants of `table` that have the key: their number, the first, and their names. */
static int find_variants_with(const key_table *table, const key_spec *k, int *first, char *names, size_t size)
{
  const char *name[KEY_MAX_NAMES];
  int         n = 0;
  for (int v = key_table_n_variants(table) - 1; v >= 0; --v)
    for (const key_spec *other = table->variants[v].table->keys; other && other->name; ++other)
      if (is_same_key(k, other)) *first = v, name[n++] = table->variants[v].name;
  for (int i = 0; i < n / 2; ++i) {
    const char *swap = name[i];
    name[i] = name[n - 1 - i], name[n - 1 - i] = swap;
  }
  key_words_join(names, size, n, name, " and ");
  return n;
}

/* The table that `table` is a variant of, NULL: none. */
static const key_table *find_parent(const key_table *root, const key_table *table)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect(root, tables);
  for (int i = 0; i < n; ++i)
    for (int v = 0; v < key_table_n_variants(tables[i]); ++v)
      if (tables[i]->variants[v].table == table) return tables[i];
  return NULL;
}

/* `kinds`: NULL, or the variants that have the key. `page`: file with the section of the key's table; "": this one. */
static PetscErrorCode markdown_row(text_buffer *b, const key_spec *k, bool is_one_of, const char *kinds, const char *page)
{
  char        type[KEY_WORDS], range[140], condition[300];
  const char *fallback = default_words(k, is_one_of);
  const bool  is_code  = k->fallback && *fallback;

  PetscFunctionBegin;
  key_spec_type_words(k, "`", type, sizeof type);
  range_words(k, range, sizeof range);
  PetscCall(text_printf(b, "| `%s` | %s", k->name, type));
  if (k->table) {
    PetscCall(text_append(b, ": ", 2));
    PetscCall(markdown_link(b, page, k->table));
  }
  PetscCall(text_append(b, " | ", 3));
  PetscCall(markdown_cell(b, key_spec_unit(k)));
  PetscCall(text_printf(b, is_code ? " | `%s` | " : *fallback ? " | *%s* | " : " | %s | ", fallback));
  PetscCall(markdown_cell(b, range));
  PetscCall(text_append(b, " | ", 3));
  PetscCall(markdown_cell(b, k->help ? k->help : ""));
  key_condition_words(&k->only_if, condition, sizeof condition);
  PetscCall(markdown_cell(b, condition));
  if (kinds) {
    PetscCall(text_printf(b, "; for "));
    PetscCall(markdown_cell(b, kinds));
  }
  PetscCall(text_printf(b, "%s", k->may_change ? MAY_CHANGE : ""));
  PetscCall(text_append(b, " |\n", 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode markdown_choices(text_buffer *b, const key_spec *k)
{
  PetscFunctionBegin;
  if (!k->choice_help) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(text_printf(b, "\n| `%s` | meaning |\n|---|---|\n", k->name));
  for (int i = 0; k->choices[i]; ++i) {
    PetscCall(text_printf(b, "| `%s` | ", k->choices[i]));
    PetscCall(markdown_cell(b, k->choice_help[i]));
    PetscCall(text_append(b, " |\n", 3));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys that several variants share are documented once, in the section of `table`. */
static PetscErrorCode markdown_shared_rows(text_buffer *b, const key_table *table)
{
  char kinds[KEY_WORDS];
  int  first = 0;

  PetscFunctionBegin;
  for (int v = 0; v < key_table_n_variants(table); ++v)
    for (const key_spec *k = table->variants[v].table->keys; k && k->name; ++k)
      if (find_variants_with(table, k, &first, kinds, sizeof kinds) > 1 && first == v) PetscCall(markdown_row(b, k, false, kinds, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode markdown_section(text_buffer *b, const key_table *root, const key_table *table)
{
  const key_table *parent           = find_parent(root, table);
  const bool       is_variant_table = table->variant_key;
  char             kinds[KEY_WORDS];
  bool             has_rows = is_variant_table, has_shared = false;
  int              first;

  PetscFunctionBegin;
#define IS_SHARED(k) (parent && find_variants_with(parent, k, &first, kinds, sizeof kinds) > 1)
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    has_shared |= IS_SHARED(k);
    has_rows |= k->type != KEY_PART && !IS_SHARED(k);
  }
  PetscCall(text_printf(b, "## %s\n\n%s%s", table->name, table->help ? table->help : "", table->help ? "\n\n" : ""));
  if (table->is_one_of) PetscCall(text_printf(b, "Exactly one of these keys:\n\n"));
  if (table->shorthand) PetscCall(text_printf(b, "A bare value sets `%s`; a single entry is a list of one.\n\n", table->shorthand));
  if (has_shared) {
    PetscCall(text_printf(b, "Keys that it shares with others: "));
    PetscCall(markdown_link(b, "", parent));
    PetscCall(text_printf(b, ".\n\n"));
  }
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    if (k->type != KEY_PART) continue;
    PetscCall(text_printf(b, "Keys for experts: "));
    PetscCall(markdown_link(b, "expert.md", k->table));
    PetscCall(text_printf(b, ".\n\n"));
  }
  if (has_rows) PetscCall(text_printf(b, "| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n"));
  if (is_variant_table) {
    PetscCall(text_printf(b, "| `%s` | one of ", table->variant_key));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(text_printf(b, "%s`%s`", v ? ", " : "", table->variants[v].name));
    PetscCall(text_printf(b, " | | *required* | | selects the other keys: "));
    for (int v = 0; v < key_table_n_variants(table); ++v) {
      PetscCall(text_printf(b, "%s", v ? ", " : ""));
      PetscCall(markdown_link(b, "", table->variants[v].table));
    }
    PetscCall(text_printf(b, " |\n"));
  }
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (k->type != KEY_PART && !IS_SHARED(k))
      PetscCall(
          markdown_row(b, k, table->is_one_of, NULL, !is_on_main_page(root, table) && is_on_main_page(root, k->table) ? "job.md" : ""));
  if (is_variant_table) PetscCall(markdown_shared_rows(b, table));
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (!IS_SHARED(k)) PetscCall(markdown_choices(b, k));
  PetscCall(text_append(b, "\n", has_rows));
#undef IS_SHARED
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_manual_markdown(const key_table *root, char **text)
{
  return all_sections(root, PAGE_MAIN, markdown_section, text);
}
PetscErrorCode key_table_manual_expert(const key_table *root, char **text)
{
  return all_sections(root, PAGE_EXPERT, markdown_section, text);
}

/* ---- man page ---- */

static PetscErrorCode troff_row(text_buffer *b, const key_spec *k, bool is_one_of)
{
  char        type[KEY_WORDS], range[140], condition[300];
  const char *fallback = default_words(k, is_one_of);

  PetscFunctionBegin;
  key_spec_type_words(k, "", type, sizeof type);
  range_words(k, range, sizeof range);
  PetscCall(text_printf(b, ".TP\n\\fB%s\\fR (", k->name));
  PetscCall(text_troff(b, type));
  if (k->table) {
    PetscCall(text_printf(b, ": \\fI"));
    PetscCall(text_troff(b, k->table->name));
    PetscCall(text_printf(b, "\\fR"));
  }
  if (*key_spec_unit(k)) {
    PetscCall(text_append(b, " in ", 4));
    PetscCall(text_troff(b, key_spec_unit(k)));
  }
  if (*range) {
    PetscCall(text_append(b, ", ", 2));
    PetscCall(text_troff(b, range));
  }
  if (*fallback) {
    PetscCall(text_printf(b, ", %s", k->fallback ? "default " : ""));
    PetscCall(text_troff(b, fallback));
  }
  PetscCall(text_append(b, ")\n", 2));
  PetscCall(text_troff(b, k->help ? k->help : ""));
  key_condition_words(&k->only_if, condition, sizeof condition);
  PetscCall(text_troff(b, condition));
  PetscCall(text_printf(b, "%s\n", k->may_change ? MAY_CHANGE : ""));
  for (int i = 0; k->choice_help && k->choices[i]; ++i) {
    PetscCall(text_printf(b, ".br\n\\fB%s\\fR: ", k->choices[i]));
    PetscCall(text_troff(b, k->choice_help[i]));
    PetscCall(text_append(b, "\n", 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode troff_section(text_buffer *b, const key_table *root, const key_table *table)
{
  (void)root;
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".SS "));
  PetscCall(text_troff(b, table->name));
  PetscCall(text_append(b, "\n", 1));
  PetscCall(text_troff(b, table->help ? table->help : ""));
  PetscCall(text_append(b, "\n", 1));
  if (table->is_one_of) PetscCall(text_printf(b, "Exactly one of these keys:\n"));
  if (table->shorthand) PetscCall(text_printf(b, "A bare value sets \\fB%s\\fR; a single entry is a list of one.\n", table->shorthand));
  if (table->variant_key) {
    PetscCall(text_printf(b, ".TP\n\\fB%s\\fR (required)\n", table->variant_key));
    PetscCall(text_printf(b, "selects the other keys:"));
    for (int v = 0; v < key_table_n_variants(table); ++v) {
      PetscCall(text_printf(b, "%s \\fB", v ? "," : ""));
      PetscCall(text_troff(b, table->variants[v].name));
      PetscCall(text_printf(b, "\\fR"));
    }
    PetscCall(text_append(b, "\n", 1));
  }
  for (const key_spec *k = table->keys; k && k->name; ++k) PetscCall(troff_row(b, k, table->is_one_of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_man_page(const key_table *root, char **text) { return all_sections(root, PAGE_ALL, troff_section, text); }

/* Key tables as JSON Schema (draft 2020-12), for the completion and checks of editors. A table becomes an entry of $defs,
 * so that tables may refer to themselves. What the schema cannot say (units, environment, !include) stays with the reader. */

typedef struct {
  text_buffer b;
  document   *scratch; /* parses defaults */
} writer;

static PetscErrorCode json_string(writer *w, const char *s)
{
  PetscFunctionBegin;
  PetscCall(text_append(&w->b, "\"", 1));
  for (; *s; ++s) {
    if (*s == '"' || *s == '\\') PetscCall(text_printf(&w->b, "\\%c", *s));
    else if ((unsigned char)*s < 0x20) PetscCall(text_printf(&w->b, "\\u%04x", *s));
    else PetscCall(text_append(&w->b, s, 1));
  }
  PetscCall(text_append(&w->b, "\"", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_number(writer *w, double x)
{
  char text[KEY_TEXT_REAL];

  PetscFunctionBegin;
  PetscCall(text_printf(&w->b, "%s", key_text_of_real(x, text)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A default as JSON; scalars by the key's type, inside mappings as texts (keys of other tables). */
static PetscErrorCode json_value(writer *w, const key_spec *k, const document_node *node)
{
  double x;

  PetscFunctionBegin;
  if (node->kind == DOCUMENT_SEQUENCE || node->kind == DOCUMENT_MAPPING) {
    const bool is_mapping = node->kind == DOCUMENT_MAPPING;
    PetscCall(text_append(&w->b, is_mapping ? "{" : "[", 1));
    for (int i = 0; i < node->n; ++i) {
      if (i) PetscCall(text_append(&w->b, ", ", 2));
      if (is_mapping) {
        const key_spec *inner = k->table ? key_table_find(k->table, node->key[i]) : NULL;
        PetscCall(json_string(w, node->key[i]));
        PetscCall(text_append(&w->b, ": ", 2));
        PetscCall(json_value(w, inner ? inner : k, node->value[i]));
      } else {
        PetscCall(json_value(w, k, node->value[i]));
      }
    }
    PetscCall(text_append(&w->b, is_mapping ? "}" : "]", 1));
  } else if (node->kind == DOCUMENT_NULL) {
    PetscCall(text_append(&w->b, "null", 4));
  } else if (key_spec_is_number(k) && key_text_real(node->text, &x) == KEY_TEXT_OK) {
    PetscCall(json_number(w, x));
  } else if (k->type == KEY_BOOL) {
    PetscCall(text_printf(&w->b, "%s", node->text));
  } else {
    PetscCall(json_string(w, node->text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_bounds(writer *w, const key_spec *k)
{
  const key_range r = key_spec_range(k);

  PetscFunctionBegin;
  if (isfinite(r.min)) {
    PetscCall(text_printf(&w->b, ", \"%s\": ", r.is_open ? "exclusiveMinimum" : "minimum"));
    PetscCall(json_number(w, r.min));
  }
  if (isfinite(r.max)) {
    PetscCall(text_printf(&w->b, ", \"%s\": ", r.is_open ? "exclusiveMaximum" : "maximum"));
    PetscCall(json_number(w, r.max));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds on the number of entries: `what` is Items or Properties. */
static PetscErrorCode json_lengths(writer *w, const key_spec *k, const char *what)
{
  const key_range r   = key_spec_range(k);
  const double    min = k->count    ? k->count
                        : r.is_open ? floor(r.min) + 1
                                    : ceil(r.min),
               max    = k->count    ? k->count
                        : r.is_open ? ceil(r.max) - 1
                                    : floor(r.max);

  PetscFunctionBegin;
  if (isfinite(min) && min > 0) PetscCall(text_printf(&w->b, ", \"min%s\": %.0f", what, min));
  if (isfinite(max)) PetscCall(text_printf(&w->b, ", \"max%s\": %.0f", what, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_ref(writer *w, const key_table *table)
{
  PetscFunctionBegin;
  if (table->shorthand) PetscCall(text_printf(&w->b, "{\"anyOf\": [{\"type\": [\"string\", \"number\"]}, "));
  PetscCall(text_printf(&w->b, "{\"$ref\": \"#/$defs/%s\"}", table->name));
  if (table->shorthand) PetscCall(text_printf(&w->b, "]}"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_choices(writer *w, const key_spec *k)
{
  PetscFunctionBegin;
  PetscCall(text_printf(&w->b, "\"enum\": ["));
  for (int i = 0; k->choices[i]; ++i) {
    if (i) PetscCall(text_append(&w->b, ", ", 2));
    PetscCall(json_string(w, k->choices[i]));
  }
  PetscCall(text_append(&w->b, "]", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_type(writer *w, const key_spec *k)
{
  text_buffer *b = &w->b;

  PetscFunctionBegin;
  switch (k->type) {
  case KEY_BOOL: PetscCall(text_printf(b, "\"type\": \"boolean\"")); break;
  case KEY_INT:
  case KEY_REAL:
    PetscCall(text_printf(b, "\"type\": \"%s\"", k->type == KEY_INT ? "integer" : "number"));
    PetscCall(json_bounds(w, k));
    break;
  case KEY_REALS:
    PetscCall(
        text_printf(b, "\"type\": \"array\", \"minItems\": %d, \"maxItems\": %d, \"items\": {\"type\": \"number\"", k->count, k->count));
    PetscCall(json_bounds(w, k));
    PetscCall(text_append(b, "}", 1));
    break;
  case KEY_STRING: /* a number or a date without quotes is a text here, too */
    PetscCall(text_printf(b, "\"type\": [\"string\", \"number\", \"boolean\"]"));
    break;
  case KEY_PATH: PetscCall(text_printf(b, "\"type\": \"string\"")); break;
  case KEY_ENUM: PetscCall(json_choices(w, k)); break;
  case KEY_PART:
  case KEY_TABLE:
    PetscCall(text_printf(b, "\"allOf\": ["));
    PetscCall(json_ref(w, k->table));
    PetscCall(text_append(b, "]", 1));
    break;
  case KEY_NAMED:
    PetscCall(text_printf(b, "\"type\": \"object\""));
    PetscCall(json_lengths(w, k, "Properties"));
    PetscCall(text_printf(b, ", \"additionalProperties\": "));
    PetscCall(json_ref(w, k->table));
    break;
  case KEY_LIST:
    if (k->table->shorthand) {
      PetscCall(text_printf(b, "\"anyOf\": ["));
      PetscCall(json_ref(w, k->table));
      PetscCall(text_printf(b, ", {"));
    }
    PetscCall(text_printf(b, "\"type\": \"array\""));
    PetscCall(json_lengths(w, k, "Items"));
    PetscCall(text_printf(b, ", \"items\": "));
    PetscCall(json_ref(w, k->table));
    if (k->table->shorthand) PetscCall(text_printf(b, "}]"));
    break;
  case KEY_STRINGS:
    PetscCall(text_printf(b, "\"type\": \"array\""));
    PetscCall(json_lengths(w, k, "Items"));
    PetscCall(text_printf(b, ", \"items\": {"));
    if (k->choices) PetscCall(json_choices(w, k));
    else PetscCall(text_printf(b, "\"type\": [\"string\", \"number\", \"boolean\"]"));
    PetscCall(text_append(b, "}", 1));
    break;
  case KEY_TREE:
    PetscCall(text_printf(b, "\"type\": [\"object\", \"null\"]"));
    if (!k->table) break;
    PetscCall(text_printf(b, ", \"additionalProperties\": {\"anyOf\": [{\"type\": \"array\"}, "));
    PetscCall(json_ref(w, k->table));
    PetscCall(text_append(b, "]}", 2));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_property(writer *w, const key_spec *k, const char *indent, bool is_first)
{
  char help[600];

  PetscFunctionBegin;
  PetscCall(text_printf(&w->b, "%s\n%s", is_first ? "" : ",", indent));
  PetscCall(json_string(w, k->name));
  PetscCall(text_append(&w->b, ": {", 3));
  PetscCall(json_type(w, k));
  if (k->fallback) {
    document_node *node;
    PetscCall(document_read_flow(w->scratch, k->fallback, (document_mark){0}, &node));
    PetscCall(text_printf(&w->b, ", \"default\": "));
    PetscCall(json_value(w, k, node));
  }
  const char *unit = key_spec_unit(k);
  (void)snprintf(help, sizeof help, "%s%s%s%s", k->help ? k->help : "", *unit ? " [" : "", unit, *unit ? "]" : "");
  PetscCall(text_printf(&w->b, ", \"description\": "));
  PetscCall(json_string(w, help));
  PetscCall(text_append(&w->b, "}", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An object with the keys of `table`, and those of `variant` (-1: none) with its name. */
static PetscErrorCode json_object(writer *w, const key_table *table, int variant, const char *indent)
{
  const key_table *extra = variant < 0 ? NULL : table->variants[variant].table;
  char             deeper[32];
  bool             is_first   = true;
  int              n_required = 0;

  PetscFunctionBegin;
  (void)snprintf(deeper, sizeof deeper, "%s  ", indent);
  PetscCall(text_printf(&w->b, "\"type\": \"object\", \"additionalProperties\": false,\n%s\"properties\": {", indent));
  if (extra) {
    PetscCall(
        text_printf(&w->b, "\n%s\"%s\": {\"const\": \"%s\", \"description\": ", deeper, table->variant_key, table->variants[variant].name));
    PetscCall(json_string(w, extra->help ? extra->help : ""));
    PetscCall(text_append(&w->b, "}", 1));
    is_first = false;
  }
  for (const key_spec *k = table->keys; k && k->name; ++k, is_first = false) PetscCall(json_property(w, k, deeper, is_first));
  for (const key_spec *k = extra ? extra->keys : NULL; k && k->name; ++k, is_first = false)
    PetscCall(json_property(w, k, deeper, is_first));
  PetscCall(text_append(&w->b, "}", 1));
  if (table->is_one_of) PetscCall(text_printf(&w->b, ", \"minProperties\": 1, \"maxProperties\": 1"));
  else {
    const key_spec *sets[2] = {table->keys, extra ? extra->keys : NULL};
    PetscCall(text_printf(&w->b, ",\n%s\"required\": [", indent));
    if (extra) {
      PetscCall(json_string(w, table->variant_key));
      ++n_required;
    }
    for (int s = 0; s < 2; ++s)
      for (const key_spec *k = sets[s]; k && k->name; ++k) {
        if (k->fallback || k->is_optional) continue;
        if (n_required++) PetscCall(text_append(&w->b, ", ", 2));
        PetscCall(json_string(w, k->name));
      }
    PetscCall(text_append(&w->b, "]", 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_definition(writer *w, const key_table *table)
{
  const int n = key_table_n_variants(table);

  PetscFunctionBegin;
  PetscCall(text_printf(&w->b, "    "));
  PetscCall(json_string(w, table->name));
  PetscCall(text_printf(&w->b, ": {\"description\": "));
  PetscCall(json_string(w, table->help ? table->help : ""));
  PetscCall(text_append(&w->b, ", ", 2));
  if (table->variant_key) {
    PetscCall(text_printf(&w->b, "\"type\": \"object\", \"required\": [\"%s\"],\n      \"properties\": {\"%s\": {\"enum\": [",
                          table->variant_key, table->variant_key));
    for (int v = 0; v < n; ++v) PetscCall(text_printf(&w->b, "%s\"%s\"", v ? ", " : "", table->variants[v].name));
    PetscCall(text_printf(&w->b, "]}},\n      \"oneOf\": ["));
    for (int v = 0; v < n; ++v) {
      PetscCall(text_printf(&w->b, "%s\n        {", v ? "," : ""));
      PetscCall(json_object(w, table, v, "         "));
      PetscCall(text_append(&w->b, "}", 1));
    }
    PetscCall(text_append(&w->b, "]", 1));
  } else {
    PetscCall(json_object(w, table, -1, "      "));
  }
  PetscCall(text_append(&w->b, "}", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_variant_only(const key_table *table, const key_table *const *tables, int n)
{
  bool is_variant = false;
  for (int i = 0; i < n; ++i) {
    for (int v = 0; v < key_table_n_variants(tables[i]); ++v) is_variant |= tables[i]->variants[v].table == table;
    for (const key_spec *k = tables[i]->keys; k && k->name; ++k)
      if (k->table == table) return false;
  }
  return is_variant;
}

PetscErrorCode key_table_json_schema(const key_table *root, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n        = key_table_collect(root, tables);
  bool             is_first = true;
  writer           w        = {0};

  PetscFunctionBegin;
  PetscCall(document_create(&w.scratch));
  PetscCall(text_printf(&w.b, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": "));
  PetscCall(json_string(&w, root->name));
  PetscCall(text_printf(&w.b, ",\n  \"$ref\": \"#/$defs/%s\",\n  \"$defs\": {\n", root->name));
  for (int i = 0; i < n; ++i) {
    if (i && is_variant_only(tables[i], tables, n)) continue;
    if (!is_first) PetscCall(text_append(&w.b, ",\n", 2));
    is_first = false;
    PetscCall(json_definition(&w, tables[i]));
  }
  PetscCall(text_printf(&w.b, "\n  }\n}\n"));
  document_destroy(&w.scratch);
  *text = w.b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Key tables for shell completion: the keys of each table and the tables of their values. */

static int table_number(const key_table *table, int n, const key_table *const *tables)
{
  for (int i = 0; i < n; ++i)
    if (tables[i] == table) return i;
  return -1;
}

static PetscErrorCode choices(text_buffer *b, const char *const *names)
{
  PetscFunctionBegin;
  for (const char *const *name = names; name && *name; ++name) PetscCall(text_printf(b, "%s%s", name == names ? "" : ",", *name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode key_table_manual_entry(text_buffer *b, const key_spec *k, int table)
{
  static const char *const booleans[] = {"true", "false", NULL};

  PetscFunctionBegin;
  switch (k->type) {
  case KEY_PART:
  case KEY_TABLE: PetscCall(text_printf(b, "%s.%d", k->name, table)); break;
  case KEY_NAMED: PetscCall(text_printf(b, "%s@%d", k->name, table)); break;
  case KEY_LIST: PetscCall(text_printf(b, "%s#%d", k->name, table)); break;
  case KEY_TREE: PetscCall(text_printf(b, "%s.", k->name)); break;
  default:
    PetscCall(text_printf(b, "%s=", k->name));
    if (k->type == KEY_BOOL || k->type == KEY_ENUM) PetscCall(choices(b, k->type == KEY_BOOL ? booleans : k->choices));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is `word` one of the words from `start` on? Keys that several variants share are listed once. */
static bool has_word(const text_buffer *b, int64_t start, const char *word, size_t length)
{
  for (const char *at = b->data + start; (at = strstr(at, word)); at += length)
    if (at[-1] == ' ' && (at[length] == ' ' || !at[length])) return true;
  return false;
}

static PetscErrorCode keys(text_buffer *b, int64_t start, const key_table *table, int n, const key_table *const *tables)
{
  text_buffer word = {0};

  PetscFunctionBegin;
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    word.n = 0;
    PetscCall(key_table_manual_entry(&word, k, table_number(k->table, n, tables)));
    if (!has_word(b, start, word.data, (size_t)word.n)) PetscCall(text_printf(b, " %s", word.data));
  }
  memory_free(&word.data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_outline(const key_table *root, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) {
    const key_table *table = tables[i];
    PetscCall(text_printf(&b, "%d", i));
    const int64_t start = b.n;
    if (table->variant_key) PetscCall(text_printf(&b, " %s=", table->variant_key));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(text_printf(&b, "%s%s", v ? "," : "", table->variants[v].name));
    PetscCall(keys(&b, start, table, n, tables));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(keys(&b, start, table->variants[v].table, n, tables));
    PetscCall(text_append(&b, "\n", 1));
  }
  *text = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}
