/* Reader of YAML files: builds a document (core/document.h) whose nodes have positions, and collects all errors. Reads job files and values of --set.
 *
 * Rules in addition to YAML 1.1 as parsed by libyaml: a key that occurs twice in a mapping is an error. `<<` merges a mapping or a list of
 * mappings; explicit keys have priority, then earlier entries of the list. `!include file` inserts the root of another file, relative to the
 * including file. A second document in a file is an error. Tags other than !include and the standard tags are errors. Scalars are stored as
 * texts; the key table determines their types. null, ~ and empty values are DOCUMENT_NULL.
 *
 * Files are not trusted: size, number of nodes (after expansion of aliases), depth, key lengths and number of includes are limited. */
#ifndef SS_IO_YAML_H
#define SS_IO_YAML_H
#include "core/diagnostics.h"

enum {
  YAML_MAX_BYTES    = 256 << 20, /* of a file and its included files; a resolved job has 600 bytes per rigid body */
  YAML_MAX_NODES    = 1 << 18,   /* in addition to one for each byte, after aliases and merges have been expanded */
  YAML_MAX_DEPTH    = 48,        /* of nesting, across included files */
  YAML_MAX_KEY      = 200,       /* bytes of a key */
  YAML_MAX_INCLUDES = 64
};

/* Read a file and set the root of the document; errors in the file are added to `d`. The root is NULL if the file cannot be parsed as YAML
 * (key tables then add no errors). After other errors the root contains the valid part. Fails only if memory is exhausted. */
PetscErrorCode yaml_read_file(const char *path, document *doc, diagnostics *d);
/* As yaml_read_file, for a text of n bytes. `name` is the file name in messages; included files are relative to the folder of `name`. */
PetscErrorCode yaml_read_text(const char *name, const char *text, size_t n, document *doc, diagnostics *d);
/* As yaml_read_text, for a value to be inserted into `doc` (--set). The root of `doc` is unchanged. *value is NULL if the text cannot be parsed. */
PetscErrorCode yaml_read_text_into(const char *name, const char *text, size_t n, document *doc, diagnostics *d, document_node **value);
#endif
