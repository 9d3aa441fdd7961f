/* A sweep as a table of cases: what a sweep file (sweep_keys.h) expands to. Pure: reads the file and its base job, writes nothing. */
#ifndef SS_APP_SWEEP_SWEEP_PLAN_H
#define SS_APP_SWEEP_SWEEP_PLAN_H
#include <stdio.h>
#include "core/diagnostics.h"
#include "app/sweep/sweep_keys.h"

enum { SWEEP_MAX_CASES = 100000, SWEEP_MAX_COMBINATIONS = 4000000, SWEEP_MAX_NAMES = 200, SWEEP_ID = 17 };

typedef struct {
  int64_t      number;      /* from 1; never changes once the case has been in a sweep folder */
  const char  *id;          /* 16 hex digits of a hash of its varied parameters' names and values: the same values are the same case */
  const char **value;       /* [n_parameters] as text, in the form the job reads; paths absolute */
  int          n_overrides; /* = n_settings of the plan */
  const char **overrides;   /* "key.path=value", as for --set */
} sweep_case;

typedef struct {
  const char     *name;
  const char     *base;          /* absolute path of the base job; of the sweep file if the job stands in it */
  const char     *base_text;     /* the base job with its includes written out and its paths absolute */
  const char     *text;          /* the sweep file, as it is */
  int             n_varied;      /* parameters that vary, `repeat` being the last of them; the others are derived (`let`) */
  int             n_parameters;
  const char    **parameter;     /* names, in the order of the file */
  int             n_settings;
  const char    **setting;       /* job keys that every case sets */
  int64_t         n_cases, n_filtered; /* filtered: left out by `where` */
  sweep_case     *cases;
  sweep_resources resources;
  document       *owner;         /* of everything above */
} sweep_plan;

/* Complaints go to `d` (also what single cases would be refused for: each case's job is read); *out NULL if there are any.
 * `overrides` ("key.path=value") change the base job. */
PetscErrorCode sweep_plan_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, sweep_plan **out);
void           sweep_plan_destroy(sweep_plan **plan);
/* Build the scenes of the first n cases as well, and say what is wrong with them. */
PetscErrorCode sweep_plan_check_scenes(const sweep_plan *plan, int64_t n, diagnostics *d);
/* "aspect=0.5 mu=0.1": the varied parameters of a case, for messages; cut if long. */
const char *sweep_case_words(const sweep_plan *plan, const sweep_case *c, size_t size, char *words);
/* The parameters and settings of the copy of a sweep file in a sweep's folder: a plan without cases. Its path of the base job is not
 * looked at. Complaints go to `d`; *out NULL if there are any. */
PetscErrorCode sweep_plan_read_names(const char *path, diagnostics *d, sweep_plan **out);
/* A line per case: number, parameters, and what is set besides them; before it what is the same for all. */
PetscErrorCode sweep_plan_print(const sweep_plan *plan, FILE *out);
#endif
