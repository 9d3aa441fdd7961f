/* The arrays that Newton's methods on the function of Alart and Curnier share, and the best impulses so far. */
#ifndef SS_OPTIM_FRICTION_NEWTON_WORK_H
#define SS_OPTIM_FRICTION_NEWTON_WORK_H
#include "optim/friction/alart_curnier.h"
#include "optim/friction/newton_matrix.h"

typedef struct {
  double *rho;                             /* [n][2] */
  double *u, *f, *d, *Wd;                  /* [n][3] */
  double *trial_r, *trial_u, *trial_f;     /* [n][3] */
  double *A, *B;                           /* [n][9] */
  bool   *is_active;                       /* [n] */
  double *best_r, *best_u, best_error;     /* [n][3] */
} newton_work;

PetscErrorCode newton_work_create(const friction_problem *p, newton_work **out); /* rho set, best_error infinite */
void           newton_work_destroy(newton_work **k);
/* u = W r + q */
void newton_work_velocity(newton_work *k, const friction_problem *p, const double *r);
/* Keep (r, u) if its error, of the kind asked for, is the smallest so far: true if so. What would end the search is brought into
 * its cones first, and has to be good enough there. */
bool newton_work_keep_best(newton_work *k, const friction_problem *p, const friction_options *o, const double *r);
/* The best impulses, inside their cones, and u = W r + q; zero if none was finite. */
void newton_work_take_best(newton_work *k, const friction_problem *p, const friction_options *o, double *r, double *u);
#endif
