/* YAML files into documents: every node with its place, every mistake collected.
 *
 * Beyond YAML 1.1 as libyaml reads it: a key twice in one mapping is an error; `<<` merges a mapping or a list of them
 * (what is written wins, then the earlier of the list); `!include file` puts in the root of another file, relative to
 * the file it stands in; a second document in a file is an error. Tags other than !include and the standard ones of
 * scalars are errors, and types are not guessed: that is the key table's business. null, ~ and nothing are DOCUMENT_NULL.
 *
 * Nothing in a file is trusted: size, nodes (aliases count in full), depth, key lengths and includes are limited.      */
#ifndef SS_IO_YAML_H
#define SS_IO_YAML_H
#include "core/diagnostics.h"

enum {
  YAML_MAX_BYTES    = 16 << 20, /* of a file and all it includes */
  YAML_MAX_NODES    = 1 << 18,  /* after aliases and merges have been written out */
  YAML_MAX_DEPTH    = 48,       /* of nesting, includes counted in */
  YAML_MAX_KEY      = 200,      /* bytes of a key */
  YAML_MAX_INCLUDES = 64
};

/* Read a file and set the document's root; complaints go to `d`. The root is NULL if the file cannot be parsed as YAML
 * (then a key table finds nothing to add); with other complaints it is there as far as understood. Fails only when
 * memory does. */
PetscErrorCode yaml_read_file(const char *path, document *doc, diagnostics *d);
/* The same for a text of n bytes; `name` stands for the file in complaints and gives the folder of its includes. */
PetscErrorCode yaml_read_text(const char *name, const char *text, size_t n, document *doc, diagnostics *d);
/* The same, for a value to be put somewhere (--set): the root of `doc` stays. *value is NULL if it cannot be parsed. */
PetscErrorCode yaml_read_text_into(const char *name, const char *text, size_t n, document *doc, diagnostics *d,
                                   document_node **value);
#endif
