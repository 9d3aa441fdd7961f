/* A sweep file on its way to a table of cases; private to sweep_*.c of this folder.
 *
 * sweep_build.c reads the file, sweep_dimension.c what varies, sweep_formula.c what is derived, filtered and set, sweep_check.c the jobs
 * that come out; sweep_plan.c goes through the combinations. */
#ifndef SS_APP_SWEEP_SWEEP_BUILD_H
#define SS_APP_SWEEP_SWEEP_BUILD_H
#include "core/expression.h"
#include "app/sweep/sweep_plan.h"

typedef struct {
  const char   *name;
  document_mark mark;
  bool          is_key;     /* it sets the job key of its name */
  bool          is_numeric; /* in every case: it may stand in expressions */
  bool          is_used;    /* by a job key, directly or through others, or by a filter */
} build_parameter;

/* Values that go together: one factor of the product. */
typedef struct {
  document_mark   mark;
  int             first, n_names; /* its parameters */
  int64_t         n_rows;
  document_node **value;          /* [n_rows][n_names], numbers in their shortest form */
  const char    **text;           /* the same as flow text */
  double         *number;         /* the same; NaN if it is none */
} build_dimension;

/* A scalar of `set`: one of the three, or none: then it stands as it is. */
typedef struct {
  const document_node *node;
  int                  parameter; /* -1 */
  expression          *e;         /* NULL */
  bool                 is_template;
} build_formula;

typedef struct {
  const char          *key;
  document_mark        mark;      /* of the key */
  int                  parameter; /* whose value it is, or -1: `tree`, with its scalars in order as formulas */
  const document_node *tree;
  int                  first_formula, n_formulas;
} build_setting;

typedef struct {
  document            *doc; /* holds everything; ends up as the plan's owner */
  diagnostics         *d;
  const char          *path;
  const document_node *root;
  const sweep_file    *file;
  int                  n_varied, n_parameters; /* derived ones behind */
  build_parameter      parameter[SWEEP_MAX_NAMES];
  const char          *numeric[SWEEP_MAX_NAMES]; /* names for expressions; those that are no numbers cannot match */
  int                  n_dimensions;
  build_dimension      dimension[SWEEP_MAX_NAMES];
  expression          *let[SWEEP_MAX_NAMES];     /* [n_parameters - n_varied] */
  int                  let_order[SWEEP_MAX_NAMES]; /* in which they can be evaluated */
  int                  n_where;
  expression         **where;
  int                  n_formulas, formula_capacity;
  build_formula       *formula;
  int                  n_settings;
  build_setting        setting[SWEEP_MAX_NAMES];
} sweep_build;

/* Read the file; complaints to `d`. Nothing depends on the base job yet. `b` is there even when there are complaints. With `is_copy`
 * the file is that of a sweep's folder: its path of the base job is not looked at. */
PetscErrorCode sweep_build_read(const char *path, bool is_copy, diagnostics *d, sweep_build **out);
void           sweep_build_destroy(sweep_build **b);
bool           sweep_build_is_job_key(const char *name); /* has a dot or index, or is a top-level key of jobs */
/* A new parameter, or -1 with a complaint (taken, malformed, too many). */
int sweep_build_add_parameter(sweep_build *b, const char *name, document_mark mark);

/* All of `vary` and `repeat`. */
PetscErrorCode sweep_dimensions_read(sweep_build *b);
/* Numbers of a scalar, list or mapping in their shortest form. */
PetscErrorCode sweep_value_canonical(document *doc, const document_node *node, document_node **out);

/* Compile `let`, `where` and `set`; say which parameters nobody uses. */
PetscErrorCode sweep_formulas_read(sweep_build *b);
/* vars [n_parameters]: fill in the derived ones. */
void sweep_formulas_derive(const sweep_build *b, double *vars);
/* Does every filter let the case pass? *bad: a filter that gives no number, or -1. */
bool sweep_formulas_pass(const sweep_build *b, const double *vars, int *bad);
/* What setting `s` sets; row [n_dimensions] of each dimension. The node is new in `doc`. */
PetscErrorCode sweep_formulas_setting(const sweep_build *b, const build_setting *s, const int64_t *row, const double *vars, document *doc,
                                      document_node **out);

/* The base job, with `overrides`, its paths absolute. *base NULL if it cannot be read. */
PetscErrorCode sweep_check_base(const sweep_build *b, int n_overrides, const char *const *overrides, document **base);
/* A plan without cases that takes over the document of `b`, which its owner must then forget. base NULL: base_text stays NULL. */
PetscErrorCode sweep_plan_of_build(sweep_build *b, const document *base, sweep_plan **out);
/* Fill in the overrides of every case and read its job; row [n_cases][n_dimensions], vars [n_cases][n_parameters]. */
PetscErrorCode sweep_check_cases(const sweep_build *b, const document *base, sweep_plan *plan, const int64_t *row, const double *vars);
#endif
