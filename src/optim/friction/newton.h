/* Newton's method on the function of Alart and Curnier as published [BertailsEtAl2011], and the work
 * arrays that all Newton methods of this folder share. */
#ifndef SS_OPTIM_FRICTION_NEWTON_H
#define SS_OPTIM_FRICTION_NEWTON_H
#include "optim/friction/alart_curnier.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/newton_matrix.h"

typedef enum { NEWTON_FULL, NEWTON_GOLDSTEIN_PRICE } newton_line_search;
/* A friction_solve_function. */
PetscErrorCode friction_solve_newton(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* Work arrays, and the best impulses so far. */
typedef struct {
  double *rho;                         /* [n][2] */
  double *u, *f, *d, *Wd;              /* [n][3] */
  double *trial_r, *trial_u;           /* [n][3] work */
  double *A, *B;                       /* [n][9] */
  bool   *is_active;                   /* [n] */
  double *best_r, *best_u, best_error; /* [n][3] */
} newton_work;

PetscErrorCode newton_work_create(const friction_problem *p, newton_work **out); /* rho set, best_error infinite */
void           newton_work_destroy(newton_work **k);
/* Store (r, u) if its error, of the kind o->error, is the smallest so far; returns true if it was stored. Impulses within the
 * tolerance are projected onto the cones first, and the projected impulses must be within the tolerance. */
bool newton_work_store_best(newton_work *k, const friction_problem *p, const friction_options *o, const double *r);
/* Load the best impulses, inside their cones, and u = W r + q; zero if none was finite. */
void newton_work_load_best(newton_work *k, const friction_problem *p, const friction_options *o, double *r, double *u);
#endif
