/* A job: the contents of a YAML job file, read by key tables and checked as a whole. All values are in SI units. */
#ifndef SS_APP_JOB_JOB_H
#define SS_APP_JOB_JOB_H
#include "core/key_table.h"
#include "optim/friction/friction.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mpm/mpm_body.h"
#include "optim/granular/granular.h"
#include "sim/convex/convex_keys.h"
#include "sim/hybrid/hybrid_keys.h"
#include "sim/scene/scene_options.h"
#include "sim/step/solver_options.h"

enum { JOB_FORMAT = 1 }; /* `stickslip:` at the top of a job */

typedef struct {
  double   checkpoint;            /* simulated time between checkpoints [s]; 0: only at the end and on signals */
  double   checkpoint_wall;       /* wall time between checkpoints [s]; 0: off */
  int      checkpoint_background; /* job_checkpoint_child */
  int64_t  keep;
  key_list fields; /* fields in frames; empty: all */
  int      precision;
  int64_t  history_every;
  int64_t  fclib; /* steps between contact problems written as FCLIB files; 0: none */
} job_output;
/* Use of a child process that writes checkpoints while the computation continues. */
typedef enum { JOB_CHECKPOINT_CHILD_AUTO, JOB_CHECKPOINT_CHILD_ALWAYS, JOB_CHECKPOINT_CHILD_NEVER } job_checkpoint_child;

/* Exit code of a run that finished with a bad entry in its quality block: 0 or 5. */
enum { JOB_QUALITY_REPORT, JOB_QUALITY_STRICT };

/* picture: the default view of `stickslip render`. */
typedef struct {
  double      eye[3], target[3]; /* NaN: chosen from the bounds of the scene */
  const char *field;             /* particle field that gives the colour; "": chosen */
  double      range[2];
  key_list    transparent; /* const char *: names of bodies drawn transparent */
  int64_t     width, height;
} job_picture;

typedef struct job {
  int64_t            stickslip;
  const char        *description;
  int                formulation; /* index of formulations[], sim/formulations.h */
  scene_options      scene;
  key_list           measure, until;
  const job_output  *output;
  const job_picture *picture;
  int                quality; /* JOB_QUALITY_... */
  /* Not read from keys: */
  document            *document; /* owns all data above */
  const document_node *tree;     /* the job with all defaults written out; positions are those of the given keys */
  char                *resolved; /* the same as YAML text; owned */
  diagnostics         *notices;  /* keys that the formulation does not use, if this is no error; owned */
} job;

/* The root of all key tables. The reference manual and the schema are generated from it. */
extern const key_table job_table;

/* Read the file `path`, apply the overrides "key.path=value" in order, and validate. All errors go to `d`; *out is NULL if
 * any of them makes the job unusable. Writes nothing. */
PetscErrorCode job_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from text, for the job stored in a checkpoint. `name` is the file name in messages. */
PetscErrorCode job_read_text(const char *name, const char *text, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from a parsed document; takes ownership of *doc. Used by sweeps for the jobs of their cases. */
PetscErrorCode job_read_document(document **doc, diagnostics *d, job **out);
/* Apply one override, "key.path=value", to a document before job_read_document. */
PetscErrorCode job_override(document *doc, const char *text, diagnostics *d);
/* Write the values of `stiffness: auto` (scene.auto_stiffness) into j->tree and j->resolved, so that a resumed run uses the same numbers. */
PetscErrorCode job_store_stiffness(job *j, const double *stiffness);
void           job_destroy(job **j);
void           job_log_notices(const job *j); /* one line per notice */
/* True if a run can have this name. It becomes a folder name: no path separators, no leading dot, no characters special to
 * shells. */
bool job_name_is_valid(const char *name);
#define JOB_NAME_EXPECTED "1 to 100 letters, digits, or any of _ - + . (it names a folder)"

/* Compare the job with which a run was started, `before`, and the current job file, `after`. Each key that differs is reported with
 * both values. A change of a key with may_change (core/key_table.h: duration, accuracy, output) is accepted and logged. A change of
 * another key, which defines the simulated problem, is an error in `d`. accept_all: accept every change. dir: run directory, for
 * messages. *n_changes: number of differences. */
PetscErrorCode job_compare(const job *before, const job *after, const char *dir, bool accept_all, diagnostics *d, int *n_changes);
#endif
