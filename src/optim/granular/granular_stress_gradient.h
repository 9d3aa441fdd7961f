/* Stress solver `projected_gradient` of the granular problem: accelerated projected gradient on all five components with exact projection on the
 * cone. Called by granular.c through granular_stress_gradient. The struct and the step for staggered samples are public for tests. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_STRESS_GRADIENT_H
#define SS_OPTIM_GRANULAR_GRANULAR_STRESS_GRADIENT_H
#include "optim/granular/granular_component.h"

typedef struct granular_gradient {
  double *next, *s, *old; /* [n_stress] next, current and previous iterate; the gradient is evaluated at y = s + beta (s - old) */
  double *u_next, *u, *u_old, *base;      /* [n_faces] velocities at these three iterates, and without stress */
  double *wu;                             /* [n_faces] weight * velocity at y */
  double *inertia;                        /* [n_faces] weight/mobility */
  double *extra;                          /* [n_stress] contribution of the bodies to the gradient */
  double *force_next, *force, *force_old; /* [n_bodies][6] wrenches on bodies by next, s, old */
  double *v_base, *v_y;                   /* [n_bodies][6] body velocities without stress, and at y */
  double *metric;                         /* [n_cells] d_c > 0, common to the five components of a cell; staggered: [n_stress] */
  double (*sums)[4];                      /* [chunks] partial sums */
  double              L, beta;            /* inverse step length relative to the metric; momentum factor */
  granular_component *part;               /* [5] staggered only: interpolation to cells */
  double *at_cells, *shrink; /* staggered only: [n_cells][5] stress at cells, [n_cells] factor <= 1 that moves it into the cone */
} granular_gradient;

/* Sums over one step from y to s_next. */
typedef struct {
  double uphill;  /* (y - s_next) . (s_next - s), in the metric; > 0: the momentum is reset */
  double size2;   /* |s_next - y|^2, in the metric */
  double largest; /* largest |s_next - y|_F of a cell [Pa] */
} granular_step_sums;

/* Multiply each sample of s [n_stress] by the mean factor `shrink` of its cells. This moves the stress at cells towards the cones of radius
 * S->radius. */
void granular_gradient_staggered_shorten(granular_solver *S, granular_gradient *w, double *s);
/* Do one step from y to w->next. is_again: only L has changed since the last call, so its gradient S->g_s is reused. */
granular_step_sums                  granular_gradient_staggered_step(granular_solver *S, granular_gradient *w, bool is_again);
extern const granular_stress_solver granular_stress_gradient;
#endif
