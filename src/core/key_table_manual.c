/* The reference manual of a job, in Markdown and as a man page: one section a table, one row a key. */
#include "core/key_table_internal.h"
#include "core/memory.h"
#include "core/text.h"
#include <ctype.h>
#include <string.h>

static const char MAY_CHANGE[] = "; may change when a run is continued";

static const char *default_words(const key_spec *k, bool is_one_of)
{
  if (is_one_of) return "";
  if (k->fallback) return *k->fallback ? k->fallback : "\"\"";
  return k->is_optional ? "" : "required";
}

/* Also says which numbers of entries a list may have. */
static void range_words(const key_spec *k, char *out, size_t size)
{
  char bounds[120];
  key_range_words(key_spec_range(k), bounds, sizeof bounds);
  if (*bounds && !key_spec_is_number(k)) (void)snprintf(out, size, "%s entries", bounds);
  else (void)snprintf(out, size, "%s", bounds);
}

static PetscErrorCode all_sections(const key_table *root, PetscErrorCode (*section)(text_buffer *b, const key_table *table), char **text)
{
  const key_table *tables[KEY_MAX_NAMES];
  const int        n = key_table_collect(root, tables);
  text_buffer      b = {0};

  PetscFunctionBegin;
  for (int i = 0; i < n; ++i) PetscCall(section(&b, tables[i]));
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
static PetscErrorCode markdown_link(text_buffer *b, const key_table *table)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, "[%s](#", table->name));
  for (const char *c = table->name; *c; ++c) {
    const char low = (char)tolower((unsigned char)*c);
    if (isalnum((unsigned char)low) || low == '_' || low == '-') PetscCall(text_append(b, &low, 1));
    else if (low == ' ') PetscCall(text_append(b, "-", 1));
  }
  PetscCall(text_append(b, ")", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode markdown_row(text_buffer *b, const key_spec *k, bool is_one_of)
{
  char        type[KEY_WORDS], range[140];
  const char *fallback = default_words(k, is_one_of);
  const bool  is_code = k->fallback && *fallback;

  PetscFunctionBegin;
  key_spec_type_words(k, "`", type, sizeof type);
  range_words(k, range, sizeof range);
  PetscCall(text_printf(b, "| `%s` | %s", k->name, type));
  if (k->table) {
    PetscCall(text_append(b, ": ", 2));
    PetscCall(markdown_link(b, k->table));
  }
  PetscCall(text_append(b, " | ", 3));
  PetscCall(markdown_cell(b, key_spec_unit(k)));
  PetscCall(text_printf(b, is_code ? " | `%s` | " : *fallback ? " | *%s* | " : " | %s | ", fallback));
  PetscCall(markdown_cell(b, range));
  PetscCall(text_append(b, " | ", 3));
  PetscCall(markdown_cell(b, k->help ? k->help : ""));
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

static PetscErrorCode markdown_section(text_buffer *b, const key_table *table)
{
  const bool has_rows = table->variant_key || (table->keys && table->keys->name);

  PetscFunctionBegin;
  PetscCall(text_printf(b, "## %s\n\n%s%s", table->name, table->help ? table->help : "", table->help ? "\n\n" : ""));
  if (table->is_one_of) PetscCall(text_printf(b, "Exactly one of these keys:\n\n"));
  if (table->shorthand) PetscCall(text_printf(b, "A bare value stands for its `%s`, and one entry for a list of one.\n\n", table->shorthand));
  if (has_rows) PetscCall(text_printf(b, "| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n"));
  if (table->variant_key) {
    PetscCall(text_printf(b, "| `%s` | one of ", table->variant_key));
    for (int v = 0; v < key_table_n_variants(table); ++v) PetscCall(text_printf(b, "%s`%s`", v ? ", " : "", table->variants[v].name));
    PetscCall(text_printf(b, " | | *required* | | picks the keys beside it: "));
    for (int v = 0; v < key_table_n_variants(table); ++v) {
      PetscCall(text_printf(b, "%s", v ? ", " : ""));
      PetscCall(markdown_link(b, table->variants[v].table));
    }
    PetscCall(text_printf(b, " |\n"));
  }
  for (const key_spec *k = table->keys; k && k->name; ++k) PetscCall(markdown_row(b, k, table->is_one_of));
  for (const key_spec *k = table->keys; k && k->name; ++k) PetscCall(markdown_choices(b, k));
  PetscCall(text_append(b, "\n", has_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode key_table_manual_markdown(const key_table *root, char **text) { return all_sections(root, markdown_section, text); }

/* ---- man page ---- */

static PetscErrorCode troff_row(text_buffer *b, const key_spec *k, bool is_one_of)
{
  char        type[KEY_WORDS], range[140];
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
  PetscCall(text_printf(b, "%s\n", k->may_change ? MAY_CHANGE : ""));
  for (int i = 0; k->choice_help && k->choices[i]; ++i) {
    PetscCall(text_printf(b, ".br\n\\fB%s\\fR: ", k->choices[i]));
    PetscCall(text_troff(b, k->choice_help[i]));
    PetscCall(text_append(b, "\n", 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode troff_section(text_buffer *b, const key_table *table)
{
  PetscFunctionBegin;
  PetscCall(text_printf(b, ".SS "));
  PetscCall(text_troff(b, table->name));
  PetscCall(text_append(b, "\n", 1));
  PetscCall(text_troff(b, table->help ? table->help : ""));
  PetscCall(text_append(b, "\n", 1));
  if (table->is_one_of) PetscCall(text_printf(b, "Exactly one of these keys:\n"));
  if (table->shorthand) PetscCall(text_printf(b, "A bare value stands for its \\fB%s\\fR, and one entry for a list of one.\n", table->shorthand));
  if (table->variant_key) {
    PetscCall(text_printf(b, ".TP\n\\fB%s\\fR (required)\n", table->variant_key));
    PetscCall(text_printf(b, "picks the keys beside it:"));
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

PetscErrorCode key_table_man_page(const key_table *root, char **text) { return all_sections(root, troff_section, text); }
