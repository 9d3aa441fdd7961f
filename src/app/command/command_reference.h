/* The YAML files that users write or programs read, each with its key table, for the commands schema and manual. */
#ifndef SS_APP_COMMAND_COMMAND_REFERENCE_H
#define SS_APP_COMMAND_COMMAND_REFERENCE_H
#include "core/key_table.h"

typedef struct {
  const char      *name;    /* "job" */
  const char      *summary; /* one line */
  const char      *help;    /* one paragraph */
  const key_table *table;
} command_file;

extern const command_file command_files[];                     /* the last one has name NULL */
const command_file       *command_file_find(const char *name); /* NULL: there is none */
#endif
