/* Table of contents of a sealed HDF5 file (checkpoint, frame, or constants of frames), read and validated. All readers of such files use this module.
 *
 * Layout:  /            attributes kind, program, job, formulation, step, time; has_constants (frames with a file of constants)
 *          /job         the resolved job as text (checkpoints)
 *          /fields/G    attributes n_rows, geometry, n_fields; G may be nested: bodies/bed. Attribute has_constants (frames): further fields and
 *                       the topology of G are in the file of constants, which has the same layout
 *          /fields/G/F  dataset [n_rows] or [n_rows][n_components]; attributes unit, help, checksum
 *          /topology/G  int32, [n_rows] vertices, [n_cells][3] triangles or [n_cells][2] segments (frames)
 * Only this layout is accepted: hard links, these types, chunked storage with at most a Fletcher-32 filter (topology: also shuffle and
 * deflate), sizes not larger than the file, correct checksums. Any deviation is PETSC_ERR_FILE_READ with the name of the object. */
#ifndef SS_IO_CATALOG_H
#define SS_IO_CATALOG_H
#include "io/field_store.h"

#define CATALOG_CONSTANTS "constant.h5" /* name of the file of constants, in the folder of the frames */

typedef struct {
  char       name[48], unit[32];
  store_type type;
  int        n_components;
  uint64_t   checksum[4];
  bool       is_constant; /* stored in catalog.constants */
} catalog_field;

typedef struct {
  char           name[96];
  field_geometry geometry;
  int64_t        n_rows, n_cells; /* n_cells: number of triangles or segments */
  bool           has_constants;   /* constant fields and the topology are stored in catalog.constants */
  int            n_fields;
  catalog_field *fields;
} catalog_group;

typedef struct catalog catalog;
struct catalog {
  char          *path, *job_text; /* job_text: "" if there is none */
  char           program[96], job_name[128], formulation[32];
  int64_t        step, bytes; /* bytes: size of the file */
  double         time;        /* [s] */
  int            n_groups;
  int64_t        capacity;
  catalog_group *groups;          /* sorted by name */
  bool           needs_constants; /* a frame that is incomplete without them */
  const catalog *constants;       /* borrowed; NULL: not attached */
  h5_scope       scope;
  hid_t          file;
};

/* Check the seal (`is_quick`: without the checksum of the complete file), open the file, read and check everything except the data of fields. */
PetscErrorCode catalog_open(const char *path, const char *kind, int newest_format, bool is_quick, catalog **out);
void           catalog_close(catalog **c);
/* Add the groups, fields and topologies of the file of constants to c, whose readers below then return them, too. Row counts must agree. `constants` is
 * borrowed until c is closed. */
PetscErrorCode catalog_attach(catalog *c, const catalog *constants);
/* Close the HDF5 file, but keep the table of contents. */
void catalog_close_file(catalog *c);
/* Indices by name, -1 if missing. */
int catalog_find_group(const catalog *c, const char *name);
int catalog_find_field(const catalog_group *group, const char *name);
/* Read a field in the type of the file: *rows [n_rows][n_components], memory_free(*rows). The checksum of the data is verified. */
PetscErrorCode catalog_read(const catalog *c, int i_group, int i_field, void **rows);
/* As catalog_read, converted to double; 64-bit integers beyond 2^53 are rounded. */
PetscErrorCode catalog_read_f64(const catalog *c, int i_group, int i_field, double **rows);
/* Read the topology [n_cells][corners]; each vertex is checked to be less than n_rows. memory_free(*cells). */
PetscErrorCode catalog_read_cells(const catalog *c, int i_group, int32_t **cells);
/* Write the root attributes and the job text (NULL: none) of a new file; `path` is its name in messages. */
PetscErrorCode catalog_write_head(const char *path, hid_t file, const char *kind, const char *job_name, const char *formulation,
                                  const char *job_text, int64_t step, double time);
#endif
