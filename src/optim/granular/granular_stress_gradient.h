/* Stress solver `projected_gradient` of the granular problem: accelerated projected gradient on all five components with exact
 * projection on the cone (formula in the .c file). Called by granular.c through granular_stress_gradient. The struct and the step for
 * staggered samples are public for tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_STRESS_GRADIENT_H
#define SS_OPTIM_GRANULAR_GRANULAR_STRESS_GRADIENT_H
#include "optim/granular/granular_component.h"

typedef struct granular_gradient {
  double *next, *s, *old;            /* [n_stress] next, current and previous iterate; the gradient is taken at y = s + beta (s - old) */
  double *u_next, *u, *u_old, *base; /* [n_faces] velocities at these iterates, and without stress */
  double *wu;                        /* [n_faces] weight * velocity at y */
  double *inertia;                   /* [n_faces] weight/mobility */
  double *extra;                     /* [n_stress] contribution of the bodies to the gradient */
  double *force_next, *force, *force_old; /* [n_bodies][6] of next, s, old */
  double *v_base, *v_y;                   /* [n_bodies][6] */
  double *metric;                         /* [n_cells] d_c > 0, common to the five components of a cell; staggered: [n_stress] */
  double (*sums)[4];                      /* [chunks] */
  double              L, beta;
  granular_component *part;              /* [5] staggered only: interpolation to cells */
  double             *at_cells, *shrink; /* [n_cells][5], [n_cells] staggered only */
} granular_gradient;

typedef struct {
  double uphill;  /* (y - s_next) . (s_next - s), in the metric */
  double size2;   /* |s_next - y|^2, in the metric */
  double largest; /* |s_next - y|_F of a cell */
} granular_step_sums;

/* Scale s [n_stress] towards the cones of radius S->radius. */
void granular_gradient_staggered_shorten(granular_solver *S, granular_gradient *w, double *s);
/* One step from y to w->next. is_again: reuse the gradient S->g_s of the last call (only L has changed). */
granular_step_sums                  granular_gradient_staggered_step(granular_solver *S, granular_gradient *w, bool is_again);
extern const granular_stress_solver granular_stress_gradient;
#endif
