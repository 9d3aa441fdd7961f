/* A sweep as numbers: its parameters by levels, and what its cases measured. */
#ifndef SS_APP_REPORT_SWEEP_VIEW_H
#define SS_APP_REPORT_SWEEP_VIEW_H
#include "app/sweep/sweep_results.h"

typedef struct {
  const char  *name;
  bool         is_numeric; /* all its values are numbers */
  bool         is_repeat;  /* of the same case, with another seed */
  int          n_levels;   /* different values */
  const char **text;       /* [n_levels] as written, of the first case that has it; ascending if numeric, else in order of appearance */
  double      *number;     /* [n_levels] if numeric */
  int         *level;      /* [n_cases] */
} sweep_parameter;

typedef struct {
  const char *name, *unit;
  double     *value; /* [n_cases] at the end of the case; NaN unless it has finished */
} sweep_measure;

typedef struct {
  sweep_results   *results;
  int64_t          n_cases;
  int              n_parameters, n_varied, n_measures; /* the varied ones come first */
  sweep_parameter *parameter;
  sweep_measure   *measure;
  double          *seconds; /* [n_cases] on the clock, NaN if there is no result */
} sweep_view;

PetscErrorCode sweep_view_create(const char *dir, sweep_view **out);
void           sweep_view_destroy(sweep_view **v);
/* The group of each case, [n_cases], when cases count as alike that differ only in `parameter`, in `other` (-1: none) and in repeats;
 * *n_groups of them, in the order of their levels. */
PetscErrorCode sweep_view_groups(const sweep_view *v, int parameter, int other, int *n_groups, int *group);
/* A level for people: texts as they are, numbers with a few digits. */
const char *sweep_level_text(const sweep_parameter *p, int level, size_t size, char *text);
/* May the axis of these values be logarithmic, and should it? All positive, over `decades` or more. */
bool sweep_view_wants_log(int64_t n, const double *x, double decades);
#endif
