/* Texts derived from key tables: the manual (Markdown and man page), the JSON Schema of job files, and the outline for shell completion. */
#ifndef SS_CORE_KEY_TABLE_MANUAL_H
#define SS_CORE_KEY_TABLE_MANUAL_H
#include "core/key_table.h"

/* Manual and schema, from the same tables. memory_free(*text). */
PetscErrorCode key_table_manual_markdown(const key_table *root, char **text);
PetscErrorCode key_table_json_schema(const key_table *root, char **text);
PetscErrorCode key_table_man_page(const key_table *root, char **text); /* troff section body, to be embedded in stickslip.1/-job.5 */
/* Where keys lead, for shell completion: a line a table, "NUMBER ENTRY ...", the root is 0. An entry is a key and what it holds:
 * "name=" a value, "name=a,b" one of those, "name.3" the keys of table 3, "name@3" the same under names of the user's, "name#3" a list
 * of such mappings, "name." anything. All variants of a table stand together. memory_free(*text). */
PetscErrorCode key_table_outline(const key_table *root, char **text);
#endif
