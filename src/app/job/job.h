/* A job: everything a YAML file says, read by key tables, checked as a whole. Names SI units throughout. */
#ifndef SS_APP_JOB_JOB_H
#define SS_APP_JOB_JOB_H
#include "core/key_table.h"
#include "sim/scene/scene_options.h"
#include "sim/step/solver_options.h"

enum { JOB_FORMAT = 1 }; /* `stickslip:` at the top of a job */

typedef struct {
  double   checkpoint;       /* s of simulated time; 0: only at the end and on signals */
  double   checkpoint_wall;  /* s of wall time between checkpoints; 0: off */
  int      checkpoint_beside; /* job_beside */
  int64_t  keep;
  key_list fields;           /* of frames; empty: all */
  int      precision;
  int64_t  history_every;
  int64_t  fclib; /* steps between contact problems written; 0: none */
} job_output;
/* Checkpoints by a child process beside the computation. */
typedef enum { JOB_BESIDE_AUTO, JOB_BESIDE_ALWAYS, JOB_BESIDE_NEVER } job_beside;

/* picture: how `render` looks at the run by default. */
typedef struct {
  double      eye[3], target[3]; /* NaN: chosen from the bounds */
  const char *field;             /* colour of particles; "" chosen */
  double      range[2];
  key_list    glass;             /* const char *: bodies that are drawn as glass */
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
  /* not read from a key: */
  document          *document;           /* owns everything above */
  const document_node *tree;             /* with every default written out; places are those of what was given */
  char              *resolved;           /* the same as YAML text; owned */
} job;

/* The root of all key tables: the reference manual and the schema are printed from here. */
extern const key_table job_table;

/* Read FILE, apply the overrides "key.path=value" in order, validate. Every complaint goes to `d`; *out is NULL if there were
 * any that make the job unusable. Nothing is written anywhere. */
PetscErrorCode job_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from text: the job embedded in a checkpoint. `name` stands for the file in messages. */
PetscErrorCode job_read_text(const char *name, const char *text, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from a document that has been read: takes it over. A sweep makes the jobs of its cases this way. */
PetscErrorCode job_read_document(document **doc, diagnostics *d, job **out);
/* One override, "key.path=value", onto a document that has not become a job yet. */
PetscErrorCode job_override(document *doc, const char *text, diagnostics *d);
void           job_destroy(job **j);
/* May a run be called so? The name becomes a folder: no path separators, nothing hidden, nothing a shell would mangle. */
bool job_name_is_sound(const char *name);
#define JOB_NAME_WORDS "1 to 100 letters, digits, or any of _ - + . (it names a folder)"

/* Two jobs of one run: the one it was started with, and what a job file says now. */
/* Shows every key that differs, with both values: changes that are taken over in the log, those that are refused as complaints to `d`.
 * Refused are keys without may_change (core/key_table.h): they say what is simulated, not for how long, how exactly, and what is written
 * of it. accept_all: nothing is refused. `dir` is named in messages. *n_changes counts all. */
PetscErrorCode job_compare(const job *before, const job *after, const char *dir, bool accept_all, diagnostics *d, int *n_changes);
#endif
