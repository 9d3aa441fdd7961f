/* Field tables, see field_table.h. Groups are allocated one by one, so that pointers to them remain valid. A hash table finds them by name. */
#include "core/field_table.h"
#include <ctype.h>
#include <string.h>
#include "core/memory.h"

struct field_table {
  int           n_groups, capacity, n_slots; /* n_slots: a power of two, more than twice n_groups */
  field_group **groups;
  int          *slot; /* [n_slots] 1 + number of a group, 0: free; open addressing */
};

size_t field_type_size(field_type type)
{
  switch (type) {
  case FIELD_F64:
  case FIELD_I64:
  case FIELD_U64: return 8;
  case FIELD_I32: return 4;
  case FIELD_U8: return 1;
  }
  return 0;
}

void *field_component(const field *f, int k)
{
  char *first = *f->component[k];
  if (!first) return NULL;
  /* Interleaved components share one pointer; component k starts k entries into the row. */
  return f->stride > 1 ? first + (size_t)k * field_type_size(f->type) : first;
}

PetscErrorCode field_table_create(field_table **out) { return memory_alloc("field table", 1, sizeof **out, out); }

void field_table_destroy(field_table **table)
{
  if (!*table) return;
  for (int i = 0; i < (*table)->n_groups; ++i) MEMORY_FREE(&(*table)->groups[i]->fields, &(*table)->groups[i]);
  MEMORY_FREE(&(*table)->groups, &(*table)->slot, table);
}

/* Names become HDF5 paths and text of XDMF files. Parts consist of printable characters that XML does not escape, and are joined by
 * single slashes if `may_nest`. No part is "." or "..". */
static PetscErrorCode name_check(const char *what, const char *name, size_t room, bool may_nest)
{
  const char *part = name;

  PetscFunctionBegin;
  PetscCheck(name && name[0] && strlen(name) < room, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s name \"%s\" must have 1 to %d characters",
             what, name ? name : "(null)", (int)room - 1);
  for (const char *c = name;; ++c) {
    if (*c && *c != '/') {
      PetscCheck(isprint((unsigned char)*c) && !strchr("<>&\"'\\", *c), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                 "%s name \"%s\" contains a control character or one of < > & \" ' \\, which files do not allow", what, name);
      continue;
    }
    const size_t length = (size_t)(c - part);
    PetscCheck(length > 0 && !(part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'))), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s name \"%s\" has an empty part, \".\" or \"..\" between slashes", what, name);
    if (!*c) break;
    PetscCheck(may_nest, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s name \"%s\" must not contain a slash", what, name);
    part = c + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_table_check_name(const char *what, const char *name)
{
  PetscFunctionBegin;
  PetscCall(name_check(what, name, sizeof((field_group *)NULL)->name, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slot of `name`, or the free one where it belongs. */
static int *find_slot(const field_table *table, const char *name)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (const char *c = name; *c; ++c) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  int at = (int)(hash & (uint64_t)(table->n_slots - 1));
  while (table->slot[at] && strcmp(table->groups[table->slot[at] - 1]->name, name) != 0) at = (at + 1) & (table->n_slots - 1);
  return &table->slot[at];
}

static PetscErrorCode grow_table(field_table *table)
{
  PetscFunctionBegin;
  const int capacity = table->capacity ? 2 * table->capacity : 8;
  int      *slot     = NULL;
  PetscCall(memory_resize("field table", capacity, sizeof *table->groups, &table->groups));
  PetscCall(memory_alloc("field table", 4 * (int64_t)capacity, sizeof *slot, &slot));
  memory_free(&table->slot);
  table->slot = slot, table->n_slots = 4 * capacity, table->capacity = capacity;
  for (int i = 0; i < table->n_groups; ++i) *find_slot(table, table->groups[i]->name) = 1 + i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_table_add_group(field_table *table, const char *name, field_geometry geometry, const int64_t *n_rows, void *context,
                                     field_group **out)
{
  field_group *group = NULL;

  PetscFunctionBegin;
  if (out) *out = NULL;
  PetscCall(field_table_check_name("group", name));
  PetscCheck(n_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "group \"%s\" has no row count", name);
  PetscCheck(!field_table_find_group(table, name), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "group \"%s\" is registered twice", name);
  if (table->n_groups == table->capacity) PetscCall(grow_table(table));
  PetscCall(memory_alloc("field group", 1, sizeof *group, &group));
  strcpy(group->name, name);
  group->geometry                  = geometry;
  group->n_rows                    = n_rows;
  group->context                   = context;
  table->groups[table->n_groups++] = group;
  *find_slot(table, name)          = table->n_groups;
  if (out) *out = group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append a checked field whose addresses the caller fills in; it counts only once *out is complete. */
static PetscErrorCode field_append(field_group *group, const char *name, const char *unit, field_type type, int n_components, int flags,
                                   const char *help, field **out)
{
  PetscFunctionBegin;
  PetscCall(name_check("field", name, sizeof(*out)->name, false));
  PetscCheck(n_components >= 1 && n_components <= FIELD_MAX_COMPONENTS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "field \"%s/%s\" has %d components; 1 to %d are possible", group->name, name, n_components, FIELD_MAX_COMPONENTS);
  PetscCheck(field_type_size(type), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "field \"%s/%s\" has unknown type %d", group->name, name,
             (int)type);
  PetscCheck(!(flags & FIELD_DERIVED) || !(flags & FIELD_CHECKPOINT), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "field \"%s/%s\" is both derived and state", group->name, name);
  PetscCheck(!field_group_find(group, name), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "field \"%s/%s\" is registered twice", group->name,
             name);
  PetscCall(memory_resize("field group", group->n_fields + 1, sizeof *group->fields, &group->fields));
  field *f = &group->fields[group->n_fields];
  memset(f, 0, sizeof *f);
  strcpy(f->name, name);
  f->unit         = unit ? unit : "1";
  f->help         = help ? help : "";
  f->type         = type;
  f->n_components = n_components;
  f->flags        = flags;
  *out            = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_table_add(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                               int n_components, void *array_address, int flags, const char *help)
{
  field *f = NULL;

  PetscFunctionBegin;
  (void)table;
  PetscCheck(array_address, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "field \"%s/%s\" has no array", group->name, name);
  PetscCall(field_append(group, name, unit, type, n_components, flags, help, &f));
  f->stride = n_components;
  for (int k = 0; k < n_components; ++k) f->component[k] = array_address;
  ++group->n_fields;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_table_add_soa(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                                   int n_components, void *arrays, int flags, const char *help)
{
  PetscFunctionBegin;
  PetscCall(field_table_add(table, group, name, unit, type, n_components, arrays, flags, help));
  field *f  = &group->fields[group->n_fields - 1];
  f->stride = 1;
  for (int k = 0; k < n_components; ++k) f->component[k] = (void **)arrays + k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int field_table_n_groups(const field_table *table) { return table->n_groups; }

field_group *field_table_group(const field_table *table, int i) { return i >= 0 && i < table->n_groups ? table->groups[i] : NULL; }

field_group *field_table_find_group(const field_table *table, const char *name)
{
  const int *slot = table->n_slots ? find_slot(table, name) : NULL;
  return slot && *slot ? table->groups[*slot - 1] : NULL;
}

const field *field_group_find(const field_group *group, const char *name)
{
  for (int i = 0; i < group->n_fields; ++i)
    if (!strcmp(group->fields[i].name, name)) return &group->fields[i];
  return NULL;
}

struct field_snapshot {
  char    *bytes;
  int64_t  capacity, used;
  int64_t *n_rows; /* per group */
  int      n_groups;
};

PetscErrorCode field_snapshot_create(field_snapshot **out) { return memory_alloc("snapshot", 1, sizeof(field_snapshot), out); }

void field_snapshot_destroy(field_snapshot **s)
{
  if (!*s) return;
  MEMORY_FREE(&(*s)->bytes, &(*s)->n_rows, s);
}

/* Bytes of one component of a field, gaps of the stride included: interleaved fields are copied once, as a whole. */
static size_t field_bytes(const field *f, int64_t n_rows)
{
  return (size_t)n_rows * field_type_size(f->type) * (size_t)(f->stride > 1 ? f->stride : 1);
}
static int field_copies(const field *f) { return f->stride > 1 ? 1 : f->n_components; }

/* State that changes. */
static bool is_copied(const field *f) { return (f->flags & (FIELD_CHECKPOINT | FIELD_CONSTANT)) == FIELD_CHECKPOINT; }

static int64_t state_bytes(const field_table *table)
{
  int64_t sum = 0;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    const field_group *g = field_table_group(table, i);
    for (int k = 0; k < g->n_fields; ++k)
      if (is_copied(&g->fields[k])) sum += field_copies(&g->fields[k]) * (int64_t)field_bytes(&g->fields[k], *g->n_rows);
  }
  return sum;
}

PetscErrorCode field_snapshot_take(field_snapshot *s, const field_table *table)
{
  PetscFunctionBegin;
  const int64_t need = state_bytes(table);
  s->n_groups        = field_table_n_groups(table);
  PetscCall(memory_resize("snapshot", s->n_groups, sizeof(int64_t), &s->n_rows));
  if (need > s->capacity) {
    PetscCall(memory_resize("snapshot", need, 1, &s->bytes));
    s->capacity = need;
  }
  char *to = s->bytes;
  for (int i = 0; i < s->n_groups; ++i) {
    const field_group *g = field_table_group(table, i);
    s->n_rows[i]         = *g->n_rows;
    for (int k = 0; k < g->n_fields; ++k) {
      const field *f = &g->fields[k];
      if (!is_copied(f)) continue;
      for (int c = 0; c < field_copies(f); ++c) {
        const size_t bytes = field_bytes(f, *g->n_rows);
        if (bytes) memcpy(to, *f->component[c], bytes);
        to += bytes;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_snapshot_restore(const field_snapshot *s, field_table *table)
{
  PetscFunctionBegin;
  const char *from = s->bytes;
  for (int i = 0; i < s->n_groups; ++i) {
    field_group *g = field_table_group(table, i);
    if (*g->n_rows != s->n_rows[i] && g->resize) PetscCall(g->resize(g->context, s->n_rows[i]));
    for (int k = 0; k < g->n_fields; ++k) {
      const field *f = &g->fields[k];
      if (!is_copied(f)) continue;
      for (int c = 0; c < field_copies(f); ++c) {
        const size_t bytes = field_bytes(f, s->n_rows[i]);
        if (bytes) memcpy(*f->component[c], from, bytes);
        from += bytes;
      }
    }
    if (g->restored) PetscCall(g->restored(g->context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode field_table_stop(field_table *table)
{
  PetscFunctionBegin;
  for (int i = 0; i < field_table_n_groups(table); ++i) {
    field_group *g       = field_table_group(table, i);
    bool         is_rate = false;
    for (int k = 0; k < g->n_fields; ++k) {
      const field *f = &g->fields[k];
      if (!(f->flags & FIELD_RATE)) continue;
      SS_ASSERT(f->type == FIELD_F64);
      is_rate = true;
      for (int c = 0; c < field_copies(f); ++c)
        if (*g->n_rows > 0) memset(*f->component[c], 0, field_bytes(f, *g->n_rows));
    }
    if (is_rate && g->restored) PetscCall(g->restored(g->context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
