/* Newton's method on the function of Alart and Curnier [BertailsEtAl2011], the keys of its options. */
#ifndef SS_OPTIM_FRICTION_NEWTON_H
#define SS_OPTIM_FRICTION_NEWTON_H
#include "core/key_table.h"
#include "optim/friction/alart_curnier.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/newton_matrix.h"

typedef enum { NEWTON_FULL, NEWTON_ARMIJO, NEWTON_GOLDSTEIN_PRICE, NEWTON_NONMONOTONE } newton_line_search;
typedef struct friction_newton_options {
  int    line_search; /* newton_line_search */
  double merit;       /* 1/2 |f|^2 at which to stop, 0: by the error alone */
} friction_newton_options;
extern const key_table friction_newton_table;
/* A friction_solve_function. */
PetscErrorCode friction_solve_newton(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out);

/* The arrays that Newton's methods on the function of Alart and Curnier share, and the best impulses so far. */
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
