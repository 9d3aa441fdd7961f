/* Field tables: each module registers its state arrays once; checkpoint, restart, frames, diff and info walk the table and
 * know no body. What is not in the table does not survive.
 *
 * Fields belong to groups; a group is a set of arrays with the same number of rows (one body's particles, say). */
#ifndef SS_CORE_FIELD_TABLE_H
#define SS_CORE_FIELD_TABLE_H
#include "core/error.h"

typedef enum { FIELD_F64, FIELD_I32, FIELD_I64, FIELD_U64, FIELD_U8 } field_type;
enum {
  FIELD_CHECKPOINT = 1, /* state: saved and restored */
  FIELD_FRAME      = 2, /* written to frames */
  FIELD_DERIVED    = 4, /* frame only, recomputed by the group's refresh() before a frame is written */
  FIELD_ANY_BITS   = 8  /* infinities and NaN (with their payload) are legal state; without it checkpoints refuse them */
};
enum { FIELD_MAX_COMPONENTS = 9 };

typedef struct {
  char        name[48]; /* "position" */
  const char *unit;     /* "m"; "1" for none */
  const char *help;
  field_type  type;
  int         n_components;                /* 1 scalar, 3 vector, 9 row-major matrix, ... */
  void      **component[FIELD_MAX_COMPONENTS]; /* address of the pointer to each component's first entry (arrays may move) */
  int         stride;                      /* entries from one row to the next: 1 for SoA, n_components interleaved */
  int         flags;
} field;

/* What ParaView sees: nothing; vertices at "position"; a surface whose group has "position" and constant triangles; or fibres, with constant
 * segments. Pictures take the thickness of fibres from "radius". */
typedef enum { FIELD_GROUP_PLAIN, FIELD_GROUP_POINTS, FIELD_GROUP_SURFACE, FIELD_GROUP_FIBRES } field_geometry;
/* Vertices of one of its cells. */
static inline int field_geometry_corners(field_geometry g) { return g == FIELD_GROUP_SURFACE ? 3 : g == FIELD_GROUP_FIBRES ? 2 : 1; }

typedef struct field_group field_group;
struct field_group {
  char           name[96]; /* "bodies/bed"; becomes the HDF5 group */
  field_geometry geometry;
  const int64_t *n_rows;   /* lives with the module */
  PetscErrorCode (*resize)(void *context, int64_t n_rows); /* before a restore with another count; NULL: count is fixed */
  PetscErrorCode (*refresh)(void *context);                /* recompute FIELD_DERIVED arrays; NULL: none */
  PetscErrorCode (*restored)(void *context);               /* after a restore, to rebuild what is derived; NULL: none */
  void          *context;
  const int32_t *triangles;   /* FIELD_GROUP_SURFACE: [n_triangles][3], borrowed */
  int64_t        n_triangles;
  const int32_t *segments;    /* FIELD_GROUP_FIBRES: [n_segments][2], borrowed; one after another along each fibre */
  int64_t        n_segments;
  int            n_fields;
  field         *fields;
};

typedef struct field_table field_table;
PetscErrorCode field_table_create(field_table **out);
void           field_table_destroy(field_table **table);
/* The group stays owned by the table; fill in the callbacks through the returned pointer (stable). */
PetscErrorCode field_table_add_group(field_table *table, const char *name, field_geometry geometry, const int64_t *n_rows,
                                     void *context, field_group **out);
/* Interleaved [n][n_components] at *array (pass &array as void **), or n_components == 1. `unit` and `help` are borrowed for
 * the table's life (string literals). Both adders refuse names used before, or that a file cannot carry. */
PetscErrorCode field_table_add(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                               int n_components, void *array_address, int flags, const char *help);
/* Structure of arrays: `arrays` is the address of an array of n_components pointers, e.g. double *x[3]. */
PetscErrorCode field_table_add_soa(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                                   int n_components, void *arrays, int flags, const char *help);
int            field_table_n_groups(const field_table *table);
field_group   *field_table_group(const field_table *table, int i);
field_group   *field_table_find_group(const field_table *table, const char *name);
const field   *field_group_find(const field_group *group, const char *name);
size_t         field_type_size(field_type type);
/* First entry of component k now (arrays may have moved since); row i lies i * stride entries on. NULL while unallocated. */
void          *field_component(const field *f, int k);

/* A copy in memory of all checkpoint fields, to return to: what a checkpoint is on disk, without the disk. */

typedef struct field_snapshot field_snapshot;
PetscErrorCode field_snapshot_create(field_snapshot **out);
/* Copy the state; the buffer is kept and reused by the next take. */
PetscErrorCode field_snapshot_take(field_snapshot *s, const field_table *table);
/* Put it back, resizing groups whose row count has changed, and call their restored(). */
PetscErrorCode field_snapshot_restore(const field_snapshot *s, field_table *table);
void           field_snapshot_destroy(field_snapshot **s);
#endif
