/* The plan of a sweep: the table of cases to which a sweep file (sweep_keys.h) expands. The cases are the product of the
 * dimensions of `vary` and `repeat`, without those that a filter of `where` omits. Each case is a list of overrides of the base
 * job. Reads the sweep file and the base job; writes no files. Called by the command sweep and by sweep_folder. */
#ifndef SS_APP_SWEEP_SWEEP_PLAN_H
#define SS_APP_SWEEP_SWEEP_PLAN_H
#include <stdio.h>
#include "core/diagnostics.h"
#include "app/sweep/sweep_keys.h"

enum { SWEEP_MAX_CASES = 100000, SWEEP_MAX_COMBINATIONS = 4000000, SWEEP_MAX_NAMES = 200, SWEEP_ID = 17 };

typedef struct {
  int64_t      number;      /* counted from 1; never changes after the case has been added to a sweep folder */
  const char  *id;          /* 16 hex digits of a hash of the names and values of the varied parameters; identifies the case */
  const char **value;       /* [n_parameters] as text in the form that the job reads; paths absolute */
  int          n_overrides; /* = n_settings of the plan */
  const char **overrides;   /* "key.path=value", as for --set */
} sweep_case;

typedef struct {
  const char     *name;
  const char     *base;      /* absolute path of the base job, or of the sweep file if it contains the job */
  const char     *base_text; /* the base job with included files inserted and absolute paths */
  const char     *text;      /* the text of the sweep file */
  int             n_varied;  /* varied parameters, `repeat` last; the other parameters are derived (`let`) */
  int             n_parameters;
  const char    **parameter; /* [n_parameters] names in the order of the file */
  int             n_settings;
  const char    **setting;             /* [n_settings] job keys that every case sets */
  int64_t         n_cases, n_filtered; /* n_filtered: omitted by `where` */
  sweep_case     *cases;
  sweep_resources resources;
  document       *owner; /* owns all data above */
} sweep_plan;

/* Reads and expands a sweep file. Errors are added to `d`, including errors in the jobs of single cases, which are all read;
 * then *out is NULL. `overrides` ("key.path=value") change the base job. */
PetscErrorCode sweep_plan_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, sweep_plan **out);
void           sweep_plan_destroy(sweep_plan **plan);
/* The varied parameters of a case for messages, "aspect=0.5 mu=0.1"; truncated to `size`. Returns `words`. */
const char *sweep_case_text(const sweep_plan *plan, const sweep_case *c, size_t size, char *words);
/* Reads only the parameters and settings of the sweep file that is stored in a sweep folder: a plan without cases. Its path of
 * the base job is ignored. Errors are added to `d`; then *out is NULL. */
PetscErrorCode sweep_plan_read_names(const char *path, diagnostics *d, sweep_plan **out);
/* Prints the settings that are equal in all cases, then one line per case: number, parameters and other settings. */
PetscErrorCode sweep_plan_print(const sweep_plan *plan, FILE *out);
#endif
