/* Frames for ParaView and our renderer: DIR/frames/frame_000012.h5, one sealed HDF5 file each, and DIR/frames.xmf, which ParaView
 * opens as a time series with real times. Both are written beside and renamed, so they may be open in a viewer meanwhile.
 *
 * A frame holds the fields with FIELD_FRAME, and for groups with a geometry their "position". In the XDMF each group is a block of
 * a spatial collection: points as a Polyvertex of one node per element with an explicit index (ParaView drops points without
 * one), surfaces as triangles, fibres as polylines of two nodes; block names have dots for slashes. Layout of the files: catalog.h. */
#ifndef SS_IO_FRAMES_H
#define SS_IO_FRAMES_H
#include "core/field_table.h"

/* ---- Writing ---- */
typedef struct {
  const char        *job_name; /* or NULL */
  bool               is_double; /* reals with 64 bits; default 32 */
  int                n_names;   /* only these fields (and positions); 0: all */
  const char *const *names;     /* borrowed while the frames are open */
} frames_options;

typedef struct frames frames;
/* Frames below `next_index` stay and go on in the XDMF; later ones are dropped. The last to stay is checked as a whole, named by log_warn
 * and left out if it is damaged; so are all of which the XDMF knows nothing. The others are taken over from it unopened: resuming costs
 * the same however many there are, but for reading that text.
 * 0 starts anew. `options` NULL: defaults. The caller holds the run's lock. */
PetscErrorCode frames_open(const char *directory, int64_t next_index, const frames_options *options, frames **out);
/* Call refresh() of all groups, write frame `index` and the XDMF. */
PetscErrorCode frames_write(frames *f, int64_t index, int64_t step, double time, field_table *table);
void           frames_close(frames **f);

/* ---- Reading ---- */
PetscErrorCode frames_path(const char *directory, int64_t index, char **path); /* memory_free(*path) */
/* Indices of the frames in DIR/frames, ascending; memory_free(*indices). */
PetscErrorCode frames_list(const char *directory, int64_t *n, int64_t **indices);

typedef struct frame frame;
PetscErrorCode frame_open(const char *path, frame **out); /* checks the whole file first */
void           frame_close(frame **f);
double         frame_time(const frame *f);
const char    *frame_job_name(const frame *f);
int            frame_n_groups(const frame *f); /* sorted by name */
const char    *frame_group_name(const frame *f, int i_group);
field_geometry frame_group_geometry(const frame *f, int i_group);
int64_t        frame_group_rows(const frame *f, int i_group);
int            frame_n_fields(const frame *f, int i_group);
const char    *frame_field_name(const frame *f, int i_group, int i_field);
const char    *frame_field_unit(const frame *f, int i_group, int i_field);
/* [n_rows][*n_components] of a field by name; *values = NULL and *n_components = 0 if the group has none. memory_free(*values). */
PetscErrorCode frame_read(const frame *f, int i_group, const char *name, int *n_components, double **values);
/* [n_triangles][3], every vertex checked to be below the group's rows; none unless it is a surface. memory_free. */
PetscErrorCode frame_read_triangles(const frame *f, int i_group, int64_t *n_triangles, int32_t **triangles);
/* The same of fibres: [n_segments][2]. */
PetscErrorCode frame_read_segments(const frame *f, int i_group, int64_t *n_segments, int32_t **segments);
#endif
