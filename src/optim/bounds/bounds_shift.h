/* A + diag(shift), what penalties, barriers and proximal terms make of a quadratic program, with preconditioner and linear solver;
 * and what the methods have in common that put these in place of bounds. */
#ifndef SS_OPTIM_BOUNDS_BOUNDS_SHIFT_H
#define SS_OPTIM_BOUNDS_BOUNDS_SHIFT_H
#include "optim/bounds/bounds_cg.h"
#include "optim/bounds/bounds_levels.h"

enum { BOX_SHIFT_OUTER = 100, BOX_SHIFT_INNER = 5000 }; /* the caps of the published comparison */
typedef struct {
  const box_qp *q;
  double       *shift;                /* [n] >= 0; written by the caller before box_shift_solve */
  double       *diagonal, *lo, *hi;   /* [n] of A + shift; bounds, infinite where there are none */
  double       *g, *rest, *y, *step;  /* [n] A x - b; for box_shift_solve; the point that is tried; the direction found */
  uint8_t      *is_free;              /* [n] 0 where lo = hi */
  grid_matrix   grid;                 /* shares all but diagonal and levels */
  box_qp        shifted;
  box_face     *face;
  box_cg_space  space;
} box_shift;
PetscErrorCode box_shift_create(const box_qp *q, int preconditioner, box_shift *out);
void           box_shift_destroy(box_shift *s);
/* step such that (A + shift) step = -rest to `target` in |.|_D, from step = 0; rest [n] is overwritten. */
box_cg_verdict box_shift_solve(box_shift *s, double target, box_result *r);
/* Put into s->y what x and its gradient say the answer is: what x - D^-1 g has beyond a bound goes there, the rest is cut at the
 * bounds. Returns |nu|_D of y, from a product. */
double box_shift_answer(box_shift *s, const double *x, const double *g, box_result *r);
#endif
