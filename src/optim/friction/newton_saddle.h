/* Newton systems of friction solvers without W, for many contacts on few bodies of many degrees of freedom:
 *
 *   [ M           -H^T          ] [dv]   [ 0 ]
 *   [ A H     B + alpha A       ] [dr] = [ g ]
 *
 * rows and columns of contacts: the active ones. Sparse LU with pivoting; the ordering is kept while the active contacts are the
 * same. */
#ifndef SS_OPTIM_FRICTION_NEWTON_SADDLE_H
#define SS_OPTIM_FRICTION_NEWTON_SADDLE_H
#include "optim/friction/friction.h"

typedef struct newton_saddle newton_saddle;

PetscErrorCode newton_saddle_create(const friction_problem *p, newton_saddle **out); /* p->W a system; borrows p */
void           newton_saddle_destroy(newton_saddle **s);
/* A, B [n][9]. *is_solved false: singular. */
PetscErrorCode newton_saddle_factor(newton_saddle *s, double alpha, const double *A, const double *B, const bool *is_active,
                                    bool *is_solved);
/* g, d [n][3], read and written where contacts are active. g == d is fine. */
PetscErrorCode newton_saddle_solve(newton_saddle *s, const double *g, double *d);
#endif
