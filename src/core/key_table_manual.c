/* Texts derived from key tables, see key_table_manual.h. The manual has one section per table and one row per key. */
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

typedef void (*section_writer)(text_buffer *b, const key_table *root, const key_table *table);
enum { PAGE_ALL, PAGE_MAIN, PAGE_EXPERT };

static PetscErrorCode all_sections(const key_table *root, int page, section_writer section, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = page == PAGE_MAIN ? key_table_collect_main(root, tables) : key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i)
    if (page != PAGE_EXPERT || !is_on_main_page(root, tables[i])) section(&b, root, tables[i]);
  PetscCall(text_take(&b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Markdown ---- */

/* Text inside a table's cell. */
static void markdown_cell(text_buffer *b, const char *s)
{
  for (; *s; ++s) text_printf(b, "%s%c", strchr("|<>*_", *s) ? "\\" : "", *s);
}

/* A link to a table's section; anchors as GitHub and pandoc make them from its heading. */
static void markdown_link(text_buffer *b, const char *page, const key_table *table)
{
  text_printf(b, "[%s](%s#", table->name, page);
  for (const char *c = table->name; *c; ++c) {
    const char low = (char)tolower((unsigned char)*c);
    if (isalnum((unsigned char)low) || low == '_' || low == '-') text_append(b, &low, 1);
    else if (low == ' ') text_put(b, "-");
  }
  text_put(b, ")");
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
static void markdown_row(text_buffer *b, const key_spec *k, bool is_one_of, const char *kinds, const char *page)
{
  char        type[KEY_WORDS], range[140], condition[300];
  const char *fallback = default_words(k, is_one_of);
  const bool  is_code  = k->fallback && *fallback;
  key_spec_type_words(k, "`", type, sizeof type);
  range_words(k, range, sizeof range);
  text_printf(b, "| `%s` | %s", k->name, type);
  if (k->table) {
    text_put(b, ": ");
    markdown_link(b, page, k->table);
  }
  text_put(b, " | ");
  markdown_cell(b, key_spec_unit(k));
  text_printf(b, is_code ? " | `%s` | " : *fallback ? " | *%s* | " : " | %s | ", fallback);
  markdown_cell(b, range);
  text_put(b, " | ");
  markdown_cell(b, k->help ? k->help : "");
  key_condition_words(&k->only_if, condition, sizeof condition);
  markdown_cell(b, condition);
  if (kinds) {
    text_printf(b, "; for ");
    markdown_cell(b, kinds);
  }
  text_printf(b, "%s", k->may_change ? MAY_CHANGE : "");
  text_put(b, " |\n");
}

static void markdown_choices(text_buffer *b, const key_spec *k)
{
  if (!k->choice_help) return;
  text_printf(b, "\n| `%s` | meaning |\n|---|---|\n", k->name);
  for (int i = 0; k->choices[i]; ++i) {
    text_printf(b, "| `%s` | ", k->choices[i]);
    markdown_cell(b, k->choice_help[i]);
    text_put(b, " |\n");
  }
}

/* Keys that several variants share are documented once, in the section of `table`. */
static void markdown_shared_rows(text_buffer *b, const key_table *table)
{
  char kinds[KEY_WORDS];
  int  first = 0;
  for (int v = 0; v < key_table_n_variants(table); ++v)
    for (const key_spec *k = table->variants[v].table->keys; k && k->name; ++k)
      if (find_variants_with(table, k, &first, kinds, sizeof kinds) > 1 && first == v) markdown_row(b, k, false, kinds, "");
}

static void markdown_section(text_buffer *b, const key_table *root, const key_table *table)
{
  const key_table *parent           = find_parent(root, table);
  const bool       is_variant_table = table->variant_key;
  char             kinds[KEY_WORDS];
  bool             has_rows = is_variant_table, has_shared = false;
  int              first;
#define IS_SHARED(k) (parent && find_variants_with(parent, k, &first, kinds, sizeof kinds) > 1)
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    has_shared |= IS_SHARED(k);
    has_rows |= k->type != KEY_PART && !IS_SHARED(k);
  }
  text_printf(b, "## %s\n\n%s%s", table->name, table->help ? table->help : "", table->help ? "\n\n" : "");
  if (table->is_one_of) text_printf(b, "Exactly one of these keys:\n\n");
  if (table->shorthand) text_printf(b, "A bare value sets `%s`; a single entry is a list of one.\n\n", table->shorthand);
  if (has_shared) {
    text_printf(b, "Keys that it shares with others: ");
    markdown_link(b, "", parent);
    text_printf(b, ".\n\n");
  }
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    if (k->type != KEY_PART) continue;
    text_printf(b, "Keys for experts: ");
    markdown_link(b, "expert.md", k->table);
    text_printf(b, ".\n\n");
  }
  if (has_rows) text_printf(b, "| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n");
  if (is_variant_table) {
    text_printf(b, "| `%s` | one of ", table->variant_key);
    for (int v = 0; v < key_table_n_variants(table); ++v) text_printf(b, "%s`%s`", v ? ", " : "", table->variants[v].name);
    text_printf(b, " | | *required* | | selects the other keys: ");
    for (int v = 0; v < key_table_n_variants(table); ++v) {
      text_printf(b, "%s", v ? ", " : "");
      markdown_link(b, "", table->variants[v].table);
    }
    text_printf(b, " |\n");
  }
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (k->type != KEY_PART && !IS_SHARED(k))
      markdown_row(b, k, table->is_one_of, NULL, !is_on_main_page(root, table) && is_on_main_page(root, k->table) ? "job.md" : "");
  if (is_variant_table) markdown_shared_rows(b, table);
  for (const key_spec *k = table->keys; k && k->name; ++k)
    if (!IS_SHARED(k)) markdown_choices(b, k);
  text_append(b, "\n", has_rows);
#undef IS_SHARED
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

static void troff_row(text_buffer *b, const key_spec *k, bool is_one_of)
{
  char        type[KEY_WORDS], range[140], condition[300];
  const char *fallback = default_words(k, is_one_of);
  key_spec_type_words(k, "", type, sizeof type);
  range_words(k, range, sizeof range);
  text_printf(b, ".TP\n\\fB%s\\fR (", k->name);
  text_troff(b, type);
  if (k->table) {
    text_printf(b, ": \\fI");
    text_troff(b, k->table->name);
    text_printf(b, "\\fR");
  }
  if (*key_spec_unit(k)) {
    text_put(b, " in ");
    text_troff(b, key_spec_unit(k));
  }
  if (*range) {
    text_put(b, ", ");
    text_troff(b, range);
  }
  if (*fallback) {
    text_printf(b, ", %s", k->fallback ? "default " : "");
    text_troff(b, fallback);
  }
  text_put(b, ")\n");
  text_troff(b, k->help ? k->help : "");
  key_condition_words(&k->only_if, condition, sizeof condition);
  text_troff(b, condition);
  text_printf(b, "%s\n", k->may_change ? MAY_CHANGE : "");
  for (int i = 0; k->choice_help && k->choices[i]; ++i) {
    text_printf(b, ".br\n\\fB%s\\fR: ", k->choices[i]);
    text_troff(b, k->choice_help[i]);
    text_put(b, "\n");
  }
}

static void troff_section(text_buffer *b, const key_table *root, const key_table *table)
{
  (void)root;
  text_printf(b, ".SS ");
  text_troff(b, table->name);
  text_put(b, "\n");
  text_troff(b, table->help ? table->help : "");
  text_put(b, "\n");
  if (table->is_one_of) text_printf(b, "Exactly one of these keys:\n");
  if (table->shorthand) text_printf(b, "A bare value sets \\fB%s\\fR; a single entry is a list of one.\n", table->shorthand);
  if (table->variant_key) {
    text_printf(b, ".TP\n\\fB%s\\fR (required)\n", table->variant_key);
    text_printf(b, "selects the other keys:");
    for (int v = 0; v < key_table_n_variants(table); ++v) {
      text_printf(b, "%s \\fB", v ? "," : "");
      text_troff(b, table->variants[v].name);
      text_printf(b, "\\fR");
    }
    text_put(b, "\n");
  }
  for (const key_spec *k = table->keys; k && k->name; ++k) troff_row(b, k, table->is_one_of);
}

PetscErrorCode key_table_man_page(const key_table *root, char **text) { return all_sections(root, PAGE_ALL, troff_section, text); }

/* Key tables as JSON Schema (draft 2020-12), for the completion and checks of editors. A table becomes an entry of $defs,
 * so that tables may refer to themselves. What the schema cannot say (units, environment, !include) stays with the reader. */

typedef struct {
  text_buffer b;
  document   *scratch; /* parses defaults */
} writer;

static void json_string(writer *w, const char *s)
{
  text_put(&w->b, "\"");
  for (; *s; ++s) {
    if (*s == '"' || *s == '\\') text_printf(&w->b, "\\%c", *s);
    else if ((unsigned char)*s < 0x20) text_printf(&w->b, "\\u%04x", *s);
    else text_append(&w->b, s, 1);
  }
  text_put(&w->b, "\"");
}

static void json_number(writer *w, double x)
{
  char text[KEY_TEXT_REAL];
  text_printf(&w->b, "%s", key_text_of_real(x, text));
}

/* A default as JSON; scalars by the key's type, inside mappings as texts (keys of other tables). */
static void json_value(writer *w, const key_spec *k, const document_node *node)
{
  double x;
  if (node->kind == DOCUMENT_SEQUENCE || node->kind == DOCUMENT_MAPPING) {
    const bool is_mapping = node->kind == DOCUMENT_MAPPING;
    text_append(&w->b, is_mapping ? "{" : "[", 1);
    for (int i = 0; i < node->n; ++i) {
      if (i) text_put(&w->b, ", ");
      if (is_mapping) {
        const key_spec *inner = k->table ? key_table_find(k->table, node->key[i]) : NULL;
        json_string(w, node->key[i]);
        text_put(&w->b, ": ");
        json_value(w, inner ? inner : k, node->value[i]);
      } else {
        json_value(w, k, node->value[i]);
      }
    }
    text_append(&w->b, is_mapping ? "}" : "]", 1);
  } else if (node->kind == DOCUMENT_NULL) {
    text_put(&w->b, "null");
  } else if (key_spec_is_number(k) && key_text_real(node->text, &x) == KEY_TEXT_OK) {
    json_number(w, x);
  } else if (k->type == KEY_BOOL) {
    text_printf(&w->b, "%s", node->text);
  } else {
    json_string(w, node->text);
  }
}

static void json_bounds(writer *w, const key_spec *k)
{
  const key_range r = key_spec_range(k);
  if (isfinite(r.min)) {
    text_printf(&w->b, ", \"%s\": ", r.is_open ? "exclusiveMinimum" : "minimum");
    json_number(w, r.min);
  }
  if (isfinite(r.max)) {
    text_printf(&w->b, ", \"%s\": ", r.is_open ? "exclusiveMaximum" : "maximum");
    json_number(w, r.max);
  }
}

/* Bounds on the number of entries: `what` is Items or Properties. */
static void json_lengths(writer *w, const key_spec *k, const char *what)
{
  const key_range r   = key_spec_range(k);
  const double    min = k->count    ? k->count
                        : r.is_open ? floor(r.min) + 1
                                    : ceil(r.min),
               max    = k->count    ? k->count
                        : r.is_open ? ceil(r.max) - 1
                                    : floor(r.max);
  if (isfinite(min) && min > 0) text_printf(&w->b, ", \"min%s\": %.0f", what, min);
  if (isfinite(max)) text_printf(&w->b, ", \"max%s\": %.0f", what, max);
}

static void json_ref(writer *w, const key_table *table)
{
  if (table->shorthand) text_printf(&w->b, "{\"anyOf\": [{\"type\": [\"string\", \"number\"]}, ");
  text_printf(&w->b, "{\"$ref\": \"#/$defs/%s\"}", table->name);
  if (table->shorthand) text_printf(&w->b, "]}");
}

static void json_choices(writer *w, const key_spec *k)
{
  text_printf(&w->b, "\"enum\": [");
  for (int i = 0; k->choices[i]; ++i) {
    if (i) text_put(&w->b, ", ");
    json_string(w, k->choices[i]);
  }
  text_put(&w->b, "]");
}

static void json_type(writer *w, const key_spec *k)
{
  text_buffer *b = &w->b;
  switch (k->type) {
  case KEY_BOOL: text_printf(b, "\"type\": \"boolean\""); break;
  case KEY_INT:
  case KEY_REAL:
    if (k->word) text_printf(b, "\"anyOf\": [{\"const\": \"%s\"}, {", k->word);
    text_printf(b, "\"type\": \"%s\"", k->type == KEY_INT ? "integer" : "number");
    json_bounds(w, k);
    if (k->word) text_put(b, "}]");
    break;
  case KEY_REALS:
    text_printf(b, "\"type\": \"array\", \"minItems\": %d, \"maxItems\": %d, \"items\": {\"type\": \"number\"", k->count, k->count);
    json_bounds(w, k);
    text_put(b, "}");
    break;
  case KEY_STRING: /* a number or a date without quotes is a text here, too */
    text_printf(b, "\"type\": [\"string\", \"number\", \"boolean\"]");
    break;
  case KEY_PATH: text_printf(b, "\"type\": \"string\""); break;
  case KEY_ENUM: json_choices(w, k); break;
  case KEY_PART:
  case KEY_TABLE:
    text_printf(b, "\"allOf\": [");
    json_ref(w, k->table);
    text_put(b, "]");
    break;
  case KEY_NAMED:
    text_printf(b, "\"type\": \"object\"");
    json_lengths(w, k, "Properties");
    text_printf(b, ", \"additionalProperties\": ");
    json_ref(w, k->table);
    break;
  case KEY_LIST:
    if (k->table->shorthand) {
      text_printf(b, "\"anyOf\": [");
      json_ref(w, k->table);
      text_printf(b, ", {");
    }
    text_printf(b, "\"type\": \"array\"");
    json_lengths(w, k, "Items");
    text_printf(b, ", \"items\": ");
    json_ref(w, k->table);
    if (k->table->shorthand) text_printf(b, "}]");
    break;
  case KEY_STRINGS:
    text_printf(b, "\"type\": \"array\"");
    json_lengths(w, k, "Items");
    text_printf(b, ", \"items\": {");
    if (k->choices) json_choices(w, k);
    else text_printf(b, "\"type\": [\"string\", \"number\", \"boolean\"]");
    text_put(b, "}");
    break;
  case KEY_TREE:
    text_printf(b, "\"type\": [\"object\", \"null\"]");
    if (!k->table) break;
    text_printf(b, ", \"additionalProperties\": {\"anyOf\": [{\"type\": \"array\"}, ");
    json_ref(w, k->table);
    text_put(b, "]}");
    break;
  }
}

static PetscErrorCode json_property(writer *w, const key_spec *k, const char *indent, bool is_first)
{
  char help[600];

  PetscFunctionBegin;
  text_printf(&w->b, "%s\n%s", is_first ? "" : ",", indent);
  json_string(w, k->name);
  text_put(&w->b, ": {");
  json_type(w, k);
  if (k->fallback) {
    document_node *node;
    PetscCall(document_read_flow(w->scratch, k->fallback, (document_mark){0}, &node));
    text_printf(&w->b, ", \"default\": ");
    json_value(w, k, node);
  }
  const char *unit = key_spec_unit(k);
  (void)snprintf(help, sizeof help, "%s%s%s%s", k->help ? k->help : "", *unit ? " [" : "", unit, *unit ? "]" : "");
  text_printf(&w->b, ", \"description\": ");
  json_string(w, help);
  text_put(&w->b, "}");
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
  text_printf(&w->b, "\"type\": \"object\", \"additionalProperties\": false,\n%s\"properties\": {", indent);
  if (extra) {
    text_printf(&w->b, "\n%s\"%s\": {\"const\": \"%s\", \"description\": ", deeper, table->variant_key, table->variants[variant].name);
    json_string(w, extra->help ? extra->help : "");
    text_put(&w->b, "}");
    is_first = false;
  }
  for (const key_spec *k = table->keys; k && k->name; ++k, is_first = false) PetscCall(json_property(w, k, deeper, is_first));
  for (const key_spec *k = extra ? extra->keys : NULL; k && k->name; ++k, is_first = false)
    PetscCall(json_property(w, k, deeper, is_first));
  text_put(&w->b, "}");
  if (table->is_one_of) text_printf(&w->b, ", \"minProperties\": 1, \"maxProperties\": 1");
  else {
    const key_spec *sets[2] = {table->keys, extra ? extra->keys : NULL};
    text_printf(&w->b, ",\n%s\"required\": [", indent);
    if (extra) {
      json_string(w, table->variant_key);
      ++n_required;
    }
    for (int s = 0; s < 2; ++s)
      for (const key_spec *k = sets[s]; k && k->name; ++k) {
        if (k->fallback || k->is_optional) continue;
        if (n_required++) text_put(&w->b, ", ");
        json_string(w, k->name);
      }
    text_put(&w->b, "]");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode json_definition(writer *w, const key_table *table)
{
  const int n = key_table_n_variants(table);

  PetscFunctionBegin;
  text_printf(&w->b, "    ");
  json_string(w, table->name);
  text_printf(&w->b, ": {\"description\": ");
  json_string(w, table->help ? table->help : "");
  text_put(&w->b, ", ");
  if (table->variant_key) {
    text_printf(&w->b, "\"type\": \"object\", \"required\": [\"%s\"],\n      \"properties\": {\"%s\": {\"enum\": [", table->variant_key,
                table->variant_key);
    for (int v = 0; v < n; ++v) text_printf(&w->b, "%s\"%s\"", v ? ", " : "", table->variants[v].name);
    text_printf(&w->b, "]}},\n      \"oneOf\": [");
    for (int v = 0; v < n; ++v) {
      text_printf(&w->b, "%s\n        {", v ? "," : "");
      PetscCall(json_object(w, table, v, "         "));
      text_put(&w->b, "}");
    }
    text_put(&w->b, "]");
  } else {
    PetscCall(json_object(w, table, -1, "      "));
  }
  text_put(&w->b, "}");
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
  text_printf(&w.b, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": ");
  json_string(&w, root->name);
  text_printf(&w.b, ",\n  \"$ref\": \"#/$defs/%s\",\n  \"$defs\": {\n", root->name);
  for (int i = 0; i < n; ++i) {
    if (i && is_variant_only(tables[i], tables, n)) continue;
    if (!is_first) text_put(&w.b, ",\n");
    is_first = false;
    PetscCall(json_definition(&w, tables[i]));
  }
  text_printf(&w.b, "\n  }\n}\n");
  document_destroy(&w.scratch);
  PetscCall(text_take(&w.b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Key tables for shell completion: the keys of each table and the tables of their values. */

static int table_number(const key_table *table, int n, const key_table *const *tables)
{
  for (int i = 0; i < n; ++i)
    if (tables[i] == table) return i;
  return -1;
}

static void choices(text_buffer *b, const char *const *names)
{
  for (const char *const *name = names; name && *name; ++name) text_printf(b, "%s%s", name == names ? "" : ",", *name);
}

static void key_table_manual_entry(text_buffer *b, const key_spec *k, int table)
{
  static const char *const booleans[] = {"true", "false", NULL};
  switch (k->type) {
  case KEY_PART:
  case KEY_TABLE: text_printf(b, "%s.%d", k->name, table); break;
  case KEY_NAMED: text_printf(b, "%s@%d", k->name, table); break;
  case KEY_LIST: text_printf(b, "%s#%d", k->name, table); break;
  case KEY_TREE: text_printf(b, "%s.", k->name); break;
  default:
    text_printf(b, "%s=", k->name);
    if (k->type == KEY_BOOL || k->type == KEY_ENUM) choices(b, k->type == KEY_BOOL ? booleans : k->choices);
  }
}

/* Is `word` one of the words from `start` on? Keys that several variants share are listed once. */
static bool has_word(const text_buffer *b, int64_t start, const char *word, size_t length)
{
  for (const char *at = b->data + start; (at = strstr(at, word)); at += length)
    if (at[-1] == ' ' && (at[length] == ' ' || !at[length])) return true;
  return false;
}

static void keys(text_buffer *b, int64_t start, const key_table *table, int n, const key_table *const *tables)
{
  text_buffer word = {0};
  for (const key_spec *k = table->keys; k && k->name; ++k) {
    word.n = 0;
    key_table_manual_entry(&word, k, table_number(k->table, n, tables));
    if (b->code || word.code || has_word(b, start, word.data, (size_t)word.n)) continue;
    text_put(b, " ");
    text_join(b, &word);
  }
  if (!b->code) b->code = word.code;
  text_clear(&word);
}

PetscErrorCode key_table_outline(const key_table *root, char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) {
    const key_table *table = tables[i];
    text_printf(&b, "%d", i);
    const int64_t start = b.n;
    if (table->variant_key) text_printf(&b, " %s=", table->variant_key);
    for (int v = 0; v < key_table_n_variants(table); ++v) text_printf(&b, "%s%s", v ? "," : "", table->variants[v].name);
    keys(&b, start, table, n, tables);
    for (int v = 0; v < key_table_n_variants(table); ++v) keys(&b, start, table->variants[v].table, n, tables);
    text_put(&b, "\n");
  }
  PetscCall(text_take(&b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
