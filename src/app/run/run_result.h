/* Files of a run directory: the list of all files, and the files that other commands read: result.yaml, machine.yaml and stages.csv.
 *
 * result.yaml contains the status, the totals and the statistics of the measures of a run. It is written when the run starts, at
 * every checkpoint and when the run ends. The file is replaced as a whole, and its last line is a checksum of the text before
 * it, so that a reader never uses an incomplete file. `sweep gather`, `sweep status` and `report` read the outcome of a run only from
 * this file. After a killed run the status is still "running", but its directory is not locked by any process. */
#ifndef SS_APP_RUN_RUN_RESULT_H
#define SS_APP_RUN_RUN_RESULT_H
#include "core/document.h"
#include "core/error.h"
#include "core/key_table.h"
#include "core/timer.h"
#include "app/run/run_quality.h"

/* Timer stages of the run's output (core/timer.h), after those of the step. */
#define TIMER_CHECKPOINT timer_register("checkpoint", 200)
#define TIMER_FRAME timer_register("frames and history", 210)

enum { RUN_RESULT_FORMAT = 1, RUN_DATE = 24 };

/* All files of a run directory, for the manual, the report page and docs/reference/files.md. */
typedef struct {
  const char *name;    /* "measure/NAME.csv"; a folder ends with "/" */
  const char *content; /* one line */
  const char *written; /* time of writing, for readers: "every step" */
} run_file;
extern const run_file run_files[]; /* the last one has name NULL */

/* running: started and not ended; finished: at time.end or by a condition of until:; see quality: likewise, but an entry of the quality block is
 * bad; stopped: by a signal or --steps, can be resumed; failed: see reason. Columns: name, text, class in the style sheet of pages. */
/* clang-format off */
#define RUN_STATUS_TABLE(X)                                                                                               \
  X(RUN_RUNNING, "running", "running") X(RUN_FINISHED, "finished", "finished") X(RUN_STOPPED, "stopped", "stopped")        \
  X(RUN_FAILED, "failed", "failed") X(RUN_SEE_QUALITY, "finished, see quality", "see-quality")
/* clang-format on */
typedef enum {
#define X(name, text, style) name,
  RUN_STATUS_TABLE(X)
#undef X
} run_status;
extern const char *const run_status_names[]; /* NULL-terminated */
extern const char *const run_status_styles[];
bool                     run_status_is_finished(int status);

/* Statistics of one measure over the whole run including resumes. NaN if nothing was recorded. */
typedef struct {
  const char *unit;
  int64_t     n;    /* number of finite records; min, max and mean refer to these */
  double      last; /* NaN if the last record was not finite */
  double      min, max, mean;
  double      time_of_min, time_of_max; /* [s], when the value was first reached */
} run_result_measure;

typedef struct {
  int64_t            result;          /* RUN_RESULT_FORMAT */
  int                status;          /* run_status */
  const char        *job;             /* name of the job */
  const char        *reason;          /* "end of time", "until: speed < 1e-6", "signal 10", or the error message; "" while running */
  int64_t            exit_code;       /* -1 while running */
  const char        *program;         /* version and source revision of the last start */
  const char        *host;            /* of the last start */
  int64_t            threads, starts; /* starts: 1 + number of resumes */
  const char        *begun, *updated; /* UTC, "2026-01-31T23:59:59Z": first start; time of writing this file */
  int64_t            step, retries;
  double             time;                 /* [s] simulated */
  double             seconds;              /* [s] wall time of all starts; of killed starts, up to their last checkpoint */
  double             user_seconds;         /* [s] CPU time of all starts, likewise */
  double             peak_resident_memory; /* [byte] largest resident memory of all starts */
  int64_t            newton, linear;       /* iterations up to `step`; steps repeated after a resume count once */
  int64_t            contacts;             /* after the last step */
  double             max_penetration;      /* [m] maximum over all steps */
  const run_quality *quality;              /* NULL: written by an earlier version, or the run ended before its first step */
  key_list           measures;             /* name -> run_result_measure */
} run_result;

extern const key_table run_result_table, run_machine_table;
/* Replaces DIR/result.yaml. Real numbers are written with all digits; numbers that are not finite are omitted. */
PetscErrorCode run_result_write(const char *dir, const run_result *r);
/* The time now as in `begun` and `updated`: 2026-11-23T19:18:54Z. */
void run_result_now(char text[RUN_DATE]);
/* Reads DIR/result.yaml. *out is valid until document_destroy(owner). If the file is missing: *out = *owner = NULL and no error.
 * If it is damaged or has a newer format: PETSC_ERR_FILE_READ with the path. */
PetscErrorCode run_result_read(const char *dir, document **owner, const run_result **out);
/* The result of the measure with this name, or NULL. */
const run_result_measure *run_result_find(const run_result *r, const char *measure);

/* DIR/machine.yaml: program, libraries and machine of the last start, in addition to result.yaml. */

typedef struct {
  const char *built;              /* version_describe() */
  const char *libraries;          /* library_versions() */
  const char *system, *processor; /* see core/machine.h */
  int64_t     processors;
  double      memory; /* [byte] */
} run_machine;

/* Writes the file with the data of this process; called at the start of a run. */
PetscErrorCode run_machine_write(const char *dir);
/* *out is valid until document_destroy(owner). Both are NULL if the file is missing or cannot be parsed. */
PetscErrorCode run_machine_read(const char *dir, document **owner, const run_machine **out);

/* DIR/stages.csv: time of all starts of a run by stage. One line for each stage of core/timer.h that was entered: seconds,
 * calls, bytes moved and floating-point operations (0 if not counted); of killed starts, up to their last checkpoint.
 * summary.txt lists the same timers for the last start only. */

enum { RUN_STAGES_MAX = 64 };
typedef struct {
  char         name[48];
  timer_record record;
} run_stage;
typedef struct {
  int       n;
  run_stage stage[RUN_STAGES_MAX];
} run_stages;

/* The stages in the order of the file; n = 0 if the file is missing or cannot be parsed. */
PetscErrorCode run_stages_read(const char *dir, run_stages *out);
/* Replaces the file by the sums of `past` (earlier starts) and the current timers. */
PetscErrorCode run_stages_write(const char *dir, const run_stages *past);
/* Adds `record` to the stage `name` of `to`. */
void run_stages_add(run_stages *to, const char *name, const timer_record *record);
#endif
