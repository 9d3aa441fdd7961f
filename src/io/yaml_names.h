/* A set of names with an index each: duplicate keys and merges in linear time, however large a hostile mapping is. */
#ifndef SS_IO_YAML_NAMES_H
#define SS_IO_YAML_NAMES_H
#include "core/error.h"

/* Zero-initialise, end with yaml_names_clear. Names are borrowed. */
typedef struct {
  int          n, capacity;
  const char **name; /* [capacity], open addressing */
  int         *index;
} yaml_names;

/* Put name -> index unless the name is there; *found is the index that was there, or -1. */
PetscErrorCode yaml_names_put(yaml_names *set, const char *name, int index, int *found);
int            yaml_names_find(const yaml_names *set, const char *name); /* -1: none */
void           yaml_names_clear(yaml_names *set);
#endif
