/* What became of a run, for programs: DIR/result.yaml, written when it starts, at every checkpoint and when it ends; replaced as a
 * whole, so that a reader never sees half of it, with a checksum of its text as the last line. `sweep gather`, `sweep status` and
 * `report` read nothing else to know how a run went. Killed runs still say "running": nobody holds their lock. */
#ifndef SS_APP_RUN_RUN_RESULT_H
#define SS_APP_RUN_RUN_RESULT_H
#include "core/document.h"
#include "core/error.h"
#include "core/key_table.h"
#include "core/timer.h"

enum { RUN_RESULT_FORMAT = 1 };

/* running: begun and not ended; finished: at time.end or by `until`; stopped: by a signal or --steps, to be resumed; failed: see
 * reason. */
#define RUN_STATUS_TABLE(X) X(RUN_RUNNING, "running") X(RUN_FINISHED, "finished") X(RUN_STOPPED, "stopped") X(RUN_FAILED, "failed")
typedef enum {
#define X(name, text) name,
  RUN_STATUS_TABLE(X)
#undef X
} run_status;
extern const char *const run_status_names[]; /* NULL-terminated */

/* One measure over the whole run, resumes included. NaN where nothing was recorded. */
typedef struct {
  const char *unit;
  int64_t     n;                        /* records that are finite: of these min, max and mean are taken */
  double      last;                     /* NaN also if the last record was not finite */
  double      min, max, mean;
  double      time_of_min, time_of_max; /* [s], first time it was reached */
} run_result_measure;

typedef struct {
  int64_t     result;          /* RUN_RESULT_FORMAT */
  int         status;          /* run_status */
  const char *job;             /* its name */
  const char *reason;          /* "end of time", "until: kinetic_energy < 1e-6", "signal 10", the message of a failure; "" while running */
  int64_t     exit_code;       /* -1 while running */
  const char *program;         /* version and source revision of the last start */
  const char *host;            /* of the last start */
  int64_t     threads, starts; /* starts: 1 + number of resumes */
  const char *begun, *updated; /* "2026-01-31T23:59:59Z": first start, this writing */
  int64_t     step, retries;
  double      time;            /* [s] simulated */
  double      seconds;         /* [s] on the clock over all starts; of those that were killed, up to their last checkpoint */
  double      user_seconds;    /* [s] CPU, likewise */
  double      peak_memory;     /* [byte] resident, the largest of its starts */
  int64_t     newton, linear;  /* iterations up to `step`, those of steps that were lost and repeated counted once */
  int64_t     contacts;        /* after the last step */
  double      max_penetration; /* [m] of all steps */
  key_list    measures;        /* name -> run_result_measure */
} run_result;

extern const key_table run_result_table;
/* Replace DIR/result.yaml. Every real is written with all its digits; those that are not finite are left out. */
PetscErrorCode run_result_write(const char *dir, const run_result *r);
/* *out lives in *owner (document_destroy). A missing file: *out = *owner = NULL, no error. A damaged one, or one of a newer format:
 * PETSC_ERR_FILE_READ that names it. */
PetscErrorCode run_result_read(const char *dir, document **owner, const run_result **out);
/* The measure of this name, or NULL. */
const run_result_measure *run_result_find(const run_result *r, const char *measure);

/* DIR/machine.yaml: with what and where a run was last started, beyond what result.yaml says. */

typedef struct {
  const char *built;              /* version_describe() */
  const char *libraries;          /* library_versions() */
  const char *system, *processor; /* see core/machine.h */
  int64_t     processors;
  double      memory;             /* [byte] */
} run_machine;

/* At the start of a run, with what this process finds. */
PetscErrorCode run_machine_write(const char *dir);
/* *out lives in *owner (document_destroy); both NULL if there is no such file, or nothing that can be understood. */
PetscErrorCode run_machine_read(const char *dir, document **owner, const run_machine **out);

/* DIR/stages.csv: where the time of a run went, over all its starts: a line for each stage of core/timer.h that was entered, with
 * seconds, calls, bytes moved and operations done (0 where they are not counted). Of starts that were killed: up to their last
 * checkpoint. summary.txt says the same of the last start alone, from the same timers. */

enum { RUN_STAGES_MAX = 64 };
typedef struct {
  char         name[48];
  timer_record record;
} run_stage;
typedef struct {
  int       n;
  run_stage stage[RUN_STAGES_MAX];
} run_stages;

/* What the file says, in its order; n = 0 if there is none, or nothing that can be read. */
PetscErrorCode run_stages_read(const char *dir, run_stages *out);
/* Replace the file: `past` (earlier starts) and what the timers say now. */
PetscErrorCode run_stages_write(const char *dir, const run_stages *past);
/* Sum into `to` by name. */
void run_stages_add(run_stages *to, const char *name, const timer_record *record);
#endif
