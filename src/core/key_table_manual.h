/* Texts derived from key tables: the manual (Markdown and man page), the JSON Schema of job files, and the outline for shell completion. */
#ifndef SS_CORE_KEY_TABLE_MANUAL_H
#define SS_CORE_KEY_TABLE_MANUAL_H
#include "core/key_table.h"

/* Manual and schema of all tables below `root`. memory_free(*text). */
PetscErrorCode key_table_manual_markdown(const key_table *root, char **text); /* without tables below keys of type KEY_PART */
PetscErrorCode key_table_manual_expert(const key_table *root, char **text);   /* only tables below keys of type KEY_PART (expert.md) */
PetscErrorCode key_table_json_schema(const key_table *root, char **text);
PetscErrorCode key_table_man_page(const key_table *root, char **text); /* body of a troff section, for the man page of job files */
/* Outline for shell completion: one line "NUMBER ENTRY ..." per table; the root has number 0. An entry is a key and the kind of its value: "name=" a
 * value, "name=a,b" one of these choices, "name.3" a mapping of table 3, "name@3" a mapping from user-defined names to mappings of table 3, "name#3" a
 * list of such mappings, "name." any mapping. The line of a table contains the keys of all its variants. memory_free(*text). */
PetscErrorCode key_table_outline(const key_table *root, char **text);
#endif
