/* Frames for ParaView and the renderer (picture.h): one sealed HDF5 file per frame, DIR/frames/frame_000012.h5, and DIR/frames.xmf, which
 * ParaView opens as a time series with simulated times. Both are written to temporary files and renamed, so that a viewer may have them open meanwhile.
 * Fields with FIELD_CONSTANT and the cells of groups with is_fixed are written once, to DIR/frames/constant.h5.
 *
 * A frame contains the fields with FIELD_FRAME and, for groups with a geometry, the field "position". In the XDMF file each group is a block of
 * a spatial collection. Points and poses are a Polyvertex with one node per element and explicit indices, without which ParaView omits the points.
 * Surfaces are triangles, fibres are polylines of two nodes. Slashes in block names are replaced by dots. File layout: catalog.h. */
#ifndef SS_IO_FRAMES_H
#define SS_IO_FRAMES_H
#include "core/field_table.h"

/* ---- Writing ---- */
typedef struct {
  const char        *job_name;  /* or NULL */
  bool               is_double; /* store reals with 64 bits; default 32 */
  int                n_names;   /* number of names; 0: write all fields, otherwise only the named ones and "position" */
  const char *const *names;     /* borrowed while the frames are open */
  const field_table *table;     /* its constants are written when the series is opened; NULL: with the first frame */
} frames_options;

typedef struct frames frames;
/* Open for writing; next_index 0 starts a new series. Frames with an index below `next_index` remain in the time series, later ones are deleted. Of the
 * remaining frames, the last one and those without an entry in the XDMF file are checked completely; damaged ones are reported by log_warn and omitted
 * from the series. For the other frames the entries of the XDMF file are copied, and the frames are not opened. The time to resume therefore depends on
 * their number only through the size of the XDMF file.
 * `options` NULL: defaults. The caller must have locked the run (run_lock.h). */
PetscErrorCode frames_open(const char *directory, int64_t next_index, const frames_options *options, frames **out);
/* Call refresh() of all groups, write frame `index` at simulated time `time` [s] and update the XDMF file. */
PetscErrorCode frames_write(frames *f, int64_t index, int64_t step, double time, field_table *table);
void           frames_close(frames **f);

/* ---- Reading ---- */
PetscErrorCode frames_path(const char *directory, int64_t index, char **path); /* memory_free(*path) */
/* Indices of the frames in DIR/frames, ascending; memory_free(*indices). */
PetscErrorCode frames_list(const char *directory, int64_t *n, int64_t **indices);

typedef struct frame frame;
PetscErrorCode       frame_open(const char *path, frame **out); /* checks the seal of the complete file first */
void                 frame_close(frame **f);
double               frame_time(const frame *f);
const char          *frame_job_name(const frame *f);
int                  frame_n_groups(const frame *f); /* groups are sorted by name */
const char          *frame_group_name(const frame *f, int i_group);
field_geometry       frame_group_geometry(const frame *f, int i_group);
int64_t              frame_group_rows(const frame *f, int i_group);
int                  frame_n_fields(const frame *f, int i_group);
const char          *frame_field_name(const frame *f, int i_group, int i_field);
const char          *frame_field_unit(const frame *f, int i_group, int i_field);
/* Read a field by name as double: *values [n_rows][*n_components], memory_free. *values = NULL and *n_components = 0 if the group does not contain it. */
PetscErrorCode frame_read(const frame *f, int i_group, const char *name, int *n_components, double **values);
/* Read the triangles of a surface: *triangles [*n_triangles][3], memory_free. All indices are less than the number of rows. Other geometries: none. */
PetscErrorCode frame_read_triangles(const frame *f, int i_group, int64_t *n_triangles, int32_t **triangles);
/* Read the segments of fibres: *segments [*n_segments][2], as frame_read_triangles. */
PetscErrorCode frame_read_segments(const frame *f, int i_group, int64_t *n_segments, int32_t **segments);
/* Poses of shapes: rows of a group of geometry FIELD_GROUP_POSES. Row i is the shape shape[i] at x[i], with orientation q[i] (w, x, y, z). Shape s has the
 * vertices first_vertex[s] ... first_vertex[s + 1] - 1 and the triangles first_triangle[s] ... first_triangle[s + 1] - 1, whose indices count from
 * first_vertex[s]. Shape -1 is a sphere of radius[i]. */
typedef struct {
  int64_t  n;
  double  *x, *q, *radius; /* [n][3], [n][4], [n] */
  int32_t *shape;          /* [n] */
  char    *names;          /* with 0 at the end of each */
  char   **name;           /* [n] */
  int      n_shapes;
  int64_t *first_vertex, *first_triangle; /* [n_shapes + 1] */
  double  *vertex;                        /* [first_vertex[n_shapes]][3] */
  int32_t *triangle;                      /* [first_triangle[n_shapes]][3] */
} frame_poses;
/* Read and check a group of poses with its shapes and names; frame_poses_free. */
PetscErrorCode frame_read_poses(const frame *f, int i_group, frame_poses *out);
void           frame_poses_free(frame_poses *p);
/* The group of poses P/bodies to which this group (P/shapes, P/names or P/surfaces) belongs; -1: none. */
int frame_poses_of(const frame *f, int i_group);
#endif
