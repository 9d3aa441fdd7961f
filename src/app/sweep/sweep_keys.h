/* The sweep file: structures and key tables that read it. sweep_plan.h expands it to cases. User documentation: docs/guide/sweep.md. */
#ifndef SS_APP_SWEEP_SWEEP_KEYS_H
#define SS_APP_SWEEP_SWEEP_KEYS_H
#include "core/key_table.h"

enum { SWEEP_FORMAT = 1 }; /* `sweep:` at the top of the file */

/* An interval. */
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
/* `count` points of the unit cube, scaled to the interval of each name. */
typedef struct {
  int64_t              count, seed; /* seed KEY_INT_ABSENT: none */
  const document_node *of;          /* mapping of names to [from, to] or sweep_interval */
} sweep_samples;
typedef struct {
  sweep_bounds bounds;
  bool         is_log;
} sweep_interval;

/* One entry of `vary`: exactly one member is not NULL. */
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

/* Resources of a case, for local runs and for SLURM. NULL or 0: not given. */
typedef struct {
  int64_t     cores;      /* threads per case */
  int64_t     concurrent; /* number of simultaneous cases */
  int64_t     cases_per_task;
  const char *memory, *time, *partition, *account; /* in the format of sbatch */
  int64_t     retries; /* automatic restarts of a case that was killed or reached its time limit; 0: only by `sweep retry` */
} sweep_resources;

typedef struct {
  int64_t                sweep;
  const char            *name, *description;
  const char            *base; /* path of the base job; NULL: the base job is in `job` */
  const document_node   *job, *vary, *let, *set;
  key_list               where;
  const sweep_repeat    *repeat; /* NULL: not given */
  const sweep_resources *resources;
} sweep_file;

extern const key_table sweep_file_table, sweep_entry_table, sweep_interval_table;
#endif
