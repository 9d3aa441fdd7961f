/* The files in YAML that people and programs write or read, each with the table that reads it: for `schema` and the man pages. */
#ifndef SS_APP_COMMAND_COMMAND_FILE_H
#define SS_APP_COMMAND_COMMAND_FILE_H
#include "core/key_table.h"

typedef struct {
  const char      *name;    /* "job" */
  const char      *summary; /* a line */
  const char      *help;    /* a paragraph */
  const key_table *table;
} command_file;

extern const command_file command_files[];              /* ends with name == NULL */
const command_file       *command_file_find(const char *name); /* NULL: there is none */
#endif
