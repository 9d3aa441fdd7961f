/* Field tables: each module registers its state arrays once with name, unit, type, shape and address. Checkpoints, restarts, frames, `diff` and `info`
 * iterate over the table and do not depend on the kinds of bodies. Only data in the table are saved.
 *
 * Fields belong to groups. The arrays of a group have the same number of rows, for example the particles of one body. */
#ifndef SS_CORE_FIELD_TABLE_H
#define SS_CORE_FIELD_TABLE_H
#include "core/error.h"

typedef enum { FIELD_F64, FIELD_I32, FIELD_I64, FIELD_U64, FIELD_U8 } field_type;
enum {
  FIELD_CHECKPOINT = 1,  /* state: saved and restored */
  FIELD_FRAME      = 2,  /* written to frames */
  FIELD_DERIVED    = 4,  /* only in frames; recomputed by the group's refresh() before a frame is written */
  FIELD_ANY_BITS   = 8,  /* infinities and NaN (with their payload bits) are valid; without this flag checkpoints reject them */
  FIELD_RATE       = 16, /* velocity, momentum or other rate: 0 in a state of rest */
  FIELD_CONSTANT =
      32 /* never changes (only in groups with is_fixed): written once per series of frames; in checkpoints only to verify that they belong to this job */
};
enum { FIELD_MAX_COMPONENTS = 9 };

typedef struct {
  char        name[48]; /* "position" */
  const char *unit;     /* "m"; "1": dimensionless */
  const char *help;
  field_type  type;
  int         n_components;                    /* 1 scalar, 3 vector, 9 row-major matrix, ... */
  void      **component[FIELD_MAX_COMPONENTS]; /* address of the pointer to each component's first entry (arrays may move) */
  int         stride;                          /* entries from one row to the next: 1 for structure of arrays, n_components interleaved */
  int         flags;                           /* FIELD_CHECKPOINT, ... */
} field;

/* Geometry of a group in ParaView and in pictures: none; points; a surface of constant triangles; fibres of constant segments; poses of shapes; shapes. The field
 * "position" contains the points or vertices. In pictures the field "radius" is the radius of fibres.
 * A group P/bodies of poses has the fields "position", "orientation", "shape" and "radius". Row i is shape[i] of the group P/shapes, whose field "shape"
 * is the shape of each vertex, ascending; shape -1 is a sphere. P/names has the names of the rows, each followed by a line feed. */
typedef enum {
  FIELD_GROUP_PLAIN,
  FIELD_GROUP_POINTS,
  FIELD_GROUP_SURFACE,
  FIELD_GROUP_FIBRES,
  FIELD_GROUP_POSES,
  FIELD_GROUP_SHAPES
} field_geometry;
/* Vertices per cell. */
static inline int field_geometry_corners(field_geometry g)
{
  return g == FIELD_GROUP_SURFACE || g == FIELD_GROUP_SHAPES ? 3 : g == FIELD_GROUP_FIBRES ? 2 : 1;
}

typedef struct field_group field_group;
struct field_group {
  char           name[96]; /* "bodies/bed"; becomes the HDF5 group */
  field_geometry geometry;
  const int64_t *n_rows;                                   /* owned by the module */
  PetscErrorCode (*resize)(void *context, int64_t n_rows); /* called before a restore with another row count; NULL: the count is fixed */
  PetscErrorCode (*refresh)(void *context);                /* recomputes FIELD_DERIVED arrays; NULL: none */
  PetscErrorCode (*restored)(void *context);               /* called after a restore, to rebuild derived data; NULL: none */
  void          *context;
  const int32_t *triangles; /* surfaces and shapes: [n_triangles][3], borrowed */
  int64_t        n_triangles;
  const int32_t *segments; /* FIELD_GROUP_FIBRES: [n_segments][2], borrowed; consecutive along each fibre */
  int64_t        n_segments;
  bool           is_fixed; /* row count and cells never change: the cells are written once per series of frames */
  /* Checkpoints of format 1 have a group PREFIX/NAME with one row for each row of this group: prefix, and name of a row; NULL: they have this group. */
  const char *old_prefix;
  const char *(*old_name)(const void *context, int64_t row);
  int    n_fields;
  field *fields;
};

typedef struct field_table field_table;
PetscErrorCode             field_table_create(field_table **out);
void                       field_table_destroy(field_table **table);
/* Add a group, owned by the table. The returned pointer stays valid; the caller sets the callbacks through it. */
PetscErrorCode field_table_add_group(field_table *table, const char *name, field_geometry geometry, const int64_t *n_rows, void *context,
                                     field_group **out);
/* Check that `name` can be (part of) the name of a group. `what` begins the error message. */
PetscErrorCode field_table_check_name(const char *what, const char *name);
/* Add an interleaved array [n][n_components] at *array_address. `unit` and `help` are borrowed for the lifetime of the table (string literals).
 * This function and field_table_add_soa reject a name that exists already, or that cannot be stored in a file. */
PetscErrorCode field_table_add(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                               int n_components, void *array_address, int flags, const char *help);
/* Add a field stored as a structure of arrays: `arrays` is the address of an array of n_components pointers, e.g. double *x[3]. */
PetscErrorCode field_table_add_soa(field_table *table, field_group *group, const char *name, const char *unit, field_type type,
                                   int n_components, void *arrays, int flags, const char *help);
int            field_table_n_groups(const field_table *table);
field_group   *field_table_group(const field_table *table, int i);
field_group   *field_table_find_group(const field_table *table, const char *name);
const field   *field_group_find(const field_group *group, const char *name);
size_t         field_type_size(field_type type);
/* Current address of component k of row 0; row i follows i * stride entries later. NULL if the array is not allocated. */
void *field_component(const field *f, int k);

/* Copy in memory of all fields with FIELD_CHECKPOINT. The run loop restores it after a failed step. */
typedef struct field_snapshot field_snapshot;
PetscErrorCode                field_snapshot_create(field_snapshot **out);
/* Copy the state of all groups into *s; an earlier copy is overwritten. */
PetscErrorCode field_snapshot_take(field_snapshot *s, const field_table *table);
/* Restore the state: resize groups whose row count has changed, copy the fields, call restored() of each group. */
PetscErrorCode field_snapshot_restore(const field_snapshot *s, field_table *table);
void           field_snapshot_destroy(field_snapshot **s);
/* Set all fields with FIELD_RATE (FIELD_F64) to 0 and call restored() of their groups. */
PetscErrorCode field_table_stop(field_table *table);
#endif
