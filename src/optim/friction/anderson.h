/* Anderson's acceleration of a fixed-point iteration x <- g(x) [WalkerNi2011]. The next x is the linear combination of the last values
 * g(x) for which the same combination of the residuals f = g(x) - x has the smallest norm. Threaded; the same bits on any number of
 * threads. Used by splitting.c and by the granular solver. */
#ifndef SS_OPTIM_FRICTION_ANDERSON_H
#define SS_OPTIM_FRICTION_ANDERSON_H
#include "core/error.h"

typedef struct {
  int64_t n;
  int     memory, n_kept, newest; /* largest number of differences; stored number, -1: no point yet; index of the newest one */
  double *f, *g;                  /* [n] of the last point */
  double *df, *dg;                /* [memory][n] differences of f and g between successive points */
  double  gram[16][16];           /* weighted products of all pairs of df */
} anderson;

enum { ANDERSON_MOST = 16 };
PetscErrorCode anderson_create(int64_t n, int memory, anderson *out); /* memory: number of differences, <= ANDERSON_MOST */
void           anderson_destroy(anderson *a);
void           anderson_reset(anderson *a); /* discard all points */
/* Set next [n] to the accelerated point, given x [n] and g(x) [n]. weight [n] > 0: weights of the squared residuals in the norm. next may be x. */
void anderson_step(anderson *a, const double *x, const double *g, const double *weight, double *next);
#endif
