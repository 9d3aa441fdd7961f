/* Newton's method on the function f of Alart and Curnier (alart_curnier.h) as published [BertailsEtAl2011], and the work arrays that all
 * Newton methods of this folder share. */
#ifndef SS_OPTIM_FRICTION_NEWTON_H
#define SS_OPTIM_FRICTION_NEWTON_H
#include "optim/friction/alart_curnier.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/newton_matrix.h"

typedef enum { NEWTON_FULL, NEWTON_GOLDSTEIN_PRICE } newton_line_search;
/* A friction_solve_function: arguments and errors as declared in friction_problem.h. */
PetscErrorCode friction_solve_newton(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* Work arrays, and the impulses of the smallest error so far. */
typedef struct {
  double *rho;                         /* [n][2] weights rho_N, rho_T of f */
  double *u, *f, *d, *Wd;              /* [n][3] relative velocity, function value, Newton step of r, W d */
  double *trial_r, *trial_u;           /* [n][3] scratch */
  double *A, *B;                       /* [n][9] df/du, df/dr */
  bool   *is_active;                   /* [n] */
  double *best_r, *best_u, best_error; /* [n][3], [n][3], error of best_r */
} newton_work;

PetscErrorCode newton_work_create(const friction_problem *p, newton_work **out); /* sets rho, and best_error to INFINITY */
void           newton_work_destroy(newton_work **k);
/* Store r [n][3] and k->u = W r + q as best_r, best_u if their error of kind o->error is the smallest so far; returns true if stored.
 * Impulses within the tolerance are projected onto the cones first, and the error of the projected impulses counts. */
bool newton_work_store_best(newton_work *k, const friction_problem *p, const friction_options *o, const double *r);
/* Set r to the best impulses, projected onto the cones, and u = W r + q. r = 0 if no finite impulses were stored. */
void newton_work_load_best(newton_work *k, const friction_problem *p, const friction_options *o, double *r, double *u);
#endif
