/* Checkpoints: the complete state of a run in one sealed HDF5 file, DIR/checkpoint_000000012.h5 for step 12.
 *
 * A checkpoint is written to a temporary file, sealed, flushed to the disk and renamed. The folder therefore always contains the last complete
 * checkpoint, also after kill -9 or a power cut. A checkpoint contains the fields of the field table with FIELD_CHECKPOINT and no other data.
 * File layout: catalog.h. Called by the time loop and by the commands that resume, list and compare checkpoints. */
#ifndef SS_IO_CHECKPOINT_H
#define SS_IO_CHECKPOINT_H
#include "core/field_table.h"
#include "io/sealed_file.h"

enum { CHECKPOINT_FORMAT = 2 }; /* 1: a group with one row for each rigid body, see field_group.old_prefix */

/* Description of the run, stored in each checkpoint. The texts are borrowed for the call that writes. */
typedef struct {
  const char *job_name;    /* at most 127 bytes; a checkpoint of a job with another name cannot be resumed */
  const char *formulation; /* at most 31 bytes, or NULL */
  const char *job_text;    /* the resolved job as YAML, or NULL */
  int64_t     step;        /* number of completed steps, >= 0 */
  double      time;        /* simulated time [s]; stored without rounding */
} checkpoint_head;

/* Write the checkpoint of step `head->step` into `directory` (created if missing). Older checkpoints are removed except the newest `keep`
 * undamaged ones (keep <= 0: all remain). An infinity or NaN in a field without FIELD_ANY_BITS is PETSC_ERR_FP with field and row.
 * After any failure the previous checkpoints are unchanged. The caller must have locked the run (run_lock.h). */
PetscErrorCode checkpoint_write(const char *directory, const checkpoint_head *head, const field_table *table, int keep);

/* Path of the newest undamaged checkpoint; *path = NULL if the folder is missing or has no checkpoint. Damaged checkpoints are reported by
 * log_warn and skipped. PETSC_ERR_FILE_READ in three cases: all are damaged; the newest one needs a newer program (resuming from an older
 * checkpoint would discard steps); one cannot be opened although it may be undamaged (permissions, memory). memory_free(*path). */
PetscErrorCode checkpoint_newest(const char *directory, char **path);
/* Remove all checkpoints, before the run is restarted from step 0. */
PetscErrorCode checkpoint_drop_all(const char *directory);
/* Prepare the folder for resuming from `step`. Checkpoints of later steps are damaged (see checkpoint_newest); they are renamed to NAME.damaged,
 * so that they do not conflict with new checkpoints. Temporary files of killed writers are removed. */
PetscErrorCode checkpoint_continue_from(const char *directory, int64_t step);

/* Check the file and read only the description of the run. The resume command creates the scene, and with it the field table, from the job text. */
typedef struct {
  char   *job_name, *formulation, *job_text, *program; /* owned: checkpoint_origin_destroy */
  int64_t step;
  double  time;
} checkpoint_origin;
PetscErrorCode checkpoint_read_head(const char *path, checkpoint_origin *out);
void           checkpoint_origin_destroy(checkpoint_origin *origin);

/* Restore the state. First everything is read and checked: groups, fields, types, shapes, counts, checksums, finite values, and whether the name of
 * the job is `job_name` (NULL: any job). A mismatch is PETSC_ERR_FILE_READ with place and remedy, and the state is unchanged.
 * Fields with FIELD_CONSTANT must be equal to those of the table.
 * Then groups with another row count are resized, the arrays are filled, and restored() is called in table order. */
PetscErrorCode checkpoint_read(const char *path, const char *job_name, field_table *table, int64_t *step, double *time);

/* Whether the file is an undamaged checkpoint that this program can read. If not, `why` is the predicate of a sentence "PATH ...", for example "is
 * empty". `is_quick`: as in sealed_file_state. */
bool checkpoint_is_good(const char *path, bool is_quick, char why[SEALED_WHY]);
/* Print the contents (fields, units, ranges of values) as text. */
PetscErrorCode checkpoint_info(const char *path, FILE *out);
/* Compare two checkpoints. For each field that differs, print the largest absolute and relative difference, the first row that differs and the number of
 * entries that differ. Entries differ if |a - b| > tolerance * max(|a|, |b|); with tolerance 0, if their bits differ. *n_different counts differing
 * fields (also fields that are missing or have another shape), step and time. Differences of the job texts are printed but not counted.
 *   diagnostic  a group, with the groups below it, whose numbers may be rounding errors, such as residuals; NULL: none. With a positive tolerance its
 *               differences are printed but not counted. */
PetscErrorCode checkpoint_diff(const char *path_a, const char *path_b, double tolerance, const char *diagnostic, FILE *out,
                               int *n_different);
#endif
