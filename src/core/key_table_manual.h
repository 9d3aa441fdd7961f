/* Texts derived from key tables: the manual (Markdown and man page), the JSON Schema of job files, and the outline for shell completion. */
#ifndef SS_CORE_KEY_TABLE_MANUAL_H
#define SS_CORE_KEY_TABLE_MANUAL_H
#include "core/key_table.h"

/* Manual and schema, from the same tables. memory_free(*text). */
PetscErrorCode key_table_manual_markdown(const key_table *root, char **text); /* without tables below keys of type KEY_PART */
PetscErrorCode key_table_manual_expert(const key_table *root, char **text);   /* only these, for the page expert.md */
PetscErrorCode key_table_json_schema(const key_table *root, char **text);
PetscErrorCode key_table_man_page(const key_table *root, char **text); /* troff section body, to be embedded in stickslip.1/-job.5 */
/* Outline for shell completion: one line per table, "NUMBER ENTRY ...", the root is 0. An entry is a key and the kind of its value: "name=" a value,
 * "name=a,b" one of these choices, "name.3" a mapping of table 3, "name@3" a mapping from user-defined names to mappings of table 3, "name#3" a list of
 * such mappings, "name." any mapping. The keys of all variants of a table are on its line. memory_free(*text). */
PetscErrorCode key_table_outline(const key_table *root, char **text);
#endif
