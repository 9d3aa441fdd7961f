/* Checkpoints: the whole state of a run in one sealed HDF5 file, DIR/checkpoint_000000012.h5 for step 12.
 *
 * A checkpoint is written beside, sealed, flushed and renamed: at every instant, also after kill -9 or a power cut, the folder
 * holds the last complete one. What is in it comes from the field table; what is not there does not survive. Layout: catalog.h. */
#ifndef SS_IO_CHECKPOINT_H
#define SS_IO_CHECKPOINT_H
#include "core/field_table.h"
#include "io/sealed_file.h"

enum { CHECKPOINT_FORMAT = 1 };

/* What a checkpoint says about its run. Writing borrows the texts. */
typedef struct {
  const char *job_name;    /* at most 127 bytes; resume refuses another job's */
  const char *formulation; /* at most 31 bytes, or NULL */
  const char *job_text;    /* the resolved job as YAML, or NULL */
  int64_t     step;        /* steps done, >= 0 */
  double      time;        /* [s]; every bit is kept */
} checkpoint_head;

/* Write step `head->step` into `directory` (made if missing) and remove the older ones beyond the newest `keep` good ones
 * (keep <= 0: keep all). A state with infinities or NaN is refused by field and row (PETSC_ERR_FP), unless the field has
 * FIELD_ANY_BITS. On any failure what was there before is still there. The caller holds the run's lock. */
PetscErrorCode checkpoint_write(const char *directory, const checkpoint_head *head, const field_table *table, int keep);

/* The newest unharmed checkpoint; *path = NULL if there are none at all (or no folder). Damaged ones are named by log_warn and skipped. It is
 * an error (PETSC_ERR_FILE_READ) if all are damaged; if the newest can only be read by a newer program, whose work would be thrown away by going
 * on from an older one; and if one cannot be opened for a reason that is not its own (permissions, memory). memory_free(*path). */
PetscErrorCode checkpoint_newest(const char *directory, char **path);
/* Remove them all, to start over. */
PetscErrorCode checkpoint_drop_all(const char *directory);
/* To go on from `step`: what claims to be of a later one, damaged as checkpoint_newest found it, is put aside as NAME.damaged, or it would
 * stand in the way of what is to come. Removes what killed writers have left. */
PetscErrorCode checkpoint_continue_from(const char *directory, int64_t step);

/* Only the head, after checking the file: to rebuild the scene from the job text before the table exists. */
typedef struct {
  char   *job_name, *formulation, *job_text, *program; /* owned: checkpoint_origin_destroy */
  int64_t step;
  double  time;
} checkpoint_origin;
PetscErrorCode checkpoint_read_head(const char *path, checkpoint_origin *out);
void           checkpoint_origin_destroy(checkpoint_origin *origin);

/* Restore. Everything is read and checked first: groups, fields, types, shapes, counts, checksums, finiteness, and that it is
 * `job_name`'s (NULL: anyone's); any mismatch is PETSC_ERR_FILE_READ with what, where and what to do, and the state is
 * untouched. Then groups with another row count are resized, arrays filled, and restored() called in table order. */
PetscErrorCode checkpoint_read(const char *path, const char *job_name, field_table *table, int64_t *step, double *time);

/* Is the file an unharmed checkpoint that this program reads? If not, `why` completes "PATH ..."; is_quick: as sealed_file_state. */
bool checkpoint_is_good(const char *path, bool is_quick, char why[SEALED_WHY]);
/* For people: what is in it. */
PetscErrorCode checkpoint_info(const char *path, FILE *out);
/* Which fields differ, by how much: largest absolute and relative difference, first row, count. Entries differ when
 * |a - b| > tolerance * max(|a|, |b|); with tolerance 0, when their bits differ. *n_different counts fields (also missing ones and
 * other shapes), step and time; differences of the job texts are shown but not counted. */
PetscErrorCode checkpoint_diff(const char *path_a, const char *path_b, double tolerance, FILE *out, int *n_different);
#endif
