/* What a sweep file says, read by key tables; sweep_plan.h makes cases of it. The user's side is docs/guide/sweep.md. */
#ifndef SS_APP_SWEEP_SWEEP_KEYS_H
#define SS_APP_SWEEP_SWEEP_KEYS_H
#include "core/key_table.h"

enum { SWEEP_FORMAT = 1 }; /* `sweep:` at the top of the file */

/* From one bound to the other. */
typedef struct {
  double from, to;
} sweep_bounds;
typedef struct {
  sweep_bounds bounds;
  double       step;  /* NaN: count is given */
  int64_t      count; /* KEY_INT_ABSENT: step is given */
} sweep_range;
typedef struct {
  sweep_bounds bounds;
  int64_t      count;
} sweep_log;
/* A point of the unit cube per row, stretched to the bounds of each name. */
typedef struct {
  int64_t              count, seed; /* seed KEY_INT_ABSENT: none */
  const document_node *of;          /* name -> [from, to] or sweep_interval */
} sweep_samples;
typedef struct {
  sweep_bounds bounds;
  bool         is_log;
} sweep_interval;

/* One entry of `vary`: exactly one of these is there. */
typedef struct {
  const sweep_range   *range;
  const sweep_log     *log;
  const document_node *zip;
  const sweep_samples *latin_hypercube, *sobol;
} sweep_entry;

typedef struct {
  int64_t     count, first;
  const char *seed; /* job key, or NULL */
} sweep_repeat;

/* What a case may use, and how SLURM is to be asked for it. NULL or 0: not given. */
typedef struct {
  int64_t     cores;          /* per case */
  int64_t     concurrent;     /* cases at a time */
  int64_t     cases_per_task;
  const char *memory, *time, *partition, *account; /* as sbatch takes them */
  int64_t     retries;        /* of a case that was killed or ran out of time: 0 means by `retry` alone */
} sweep_resources;

typedef struct {
  int64_t                sweep;
  const char            *name, *description;
  const char            *base; /* path of a job, or NULL: it is in `job` */
  const document_node   *job, *vary, *let, *set;
  key_list               where;
  const sweep_repeat    *repeat; /* NULL: none */
  const sweep_resources *resources;
} sweep_file;

extern const key_table sweep_file_table, sweep_entry_table, sweep_interval_table;
#endif
