/* Momentum that bodies of nodes lose where their boundary's motion is prescribed and the forces that takes are nobody's, and its
 * restoration [hybrid, sec. 5, R5]: rigid velocity fields on whole bodies, which leave positions alone. */
#ifndef SS_SIM_HYBRID_MOMENTUM_H
#define SS_SIM_HYBRID_MOMENTUM_H
#include "sim/hybrid/hybrid_boundary.h"

typedef struct {
  int n;                   /* bodies of the scene */
  double (*P)[3], (*L)[3]; /* [n] what each should have at the end without contact; L about the origin */
} hybrid_momentum;

/* *m, zeros, is filled in place; destroy copes with failures. */
PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m);
void           hybrid_momentum_destroy(hybrid_momentum *m);
/* After free motion, l->v: linear momentum is that of free motion, angular momentum that of the start and of what gravity adds. */
void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l);
/* The step has become permanent: with what contact has given the boundary, which is b->v - b->v_free. fix: HYBRID_FIX_... */
void hybrid_momentum_restore(const hybrid_momentum *m, int fix, const hybrid_boundary *b, const step_layout *l);
#endif
