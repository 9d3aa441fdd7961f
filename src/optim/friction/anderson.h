/* Anderson's acceleration of a fixed-point iteration x <- g(x): the combination of the last points whose residual, the same
 * combination of f = g(x) - x, is smallest in a diagonal norm [WalkerNi2011]. Serial sums in a fixed order. */
#ifndef SS_OPTIM_FRICTION_ANDERSON_H
#define SS_OPTIM_FRICTION_ANDERSON_H
#include "core/error.h"

typedef struct {
  int64_t n;
  int     memory, n_kept, newest;
  double *f, *g;        /* [n] of the last point */
  double *df, *dg;      /* [memory][n] differences */
  double  gram[16][16]; /* of df */
} anderson;

enum { ANDERSON_MOST = 16 };
PetscErrorCode anderson_create(int64_t n, int memory, anderson *out); /* memory <= ANDERSON_MOST */
void           anderson_destroy(anderson *a);
void           anderson_reset(anderson *a);
/* next <- the accelerated point after x went to g; `weight` [n] > 0 of the squares. next may be x. */
void anderson_step(anderson *a, const double *x, const double *g, const double *weight, double *next);
#endif
