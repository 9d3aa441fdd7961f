/* Correction of the momentum of bodies made of nodes. The second solve prescribes the motion of their boundary. The constraint
 * forces have no reaction, so momentum is lost. The correction adds rigid velocity fields; it does not change positions.
 *
 * Parts of a step: 1 free motion, 2 contact, 3 second solve (hybrid.c). Part 2 changes the momentum of a surface layer, whose depth is
 * the distance that sound travels in a step. The boundary constraints of part 3 may change several times this momentum, which
 * compresses the bodies. Therefore each body keeps its momentum of part 3. Action and reaction are restored by the smallest velocity
 * change in the norm of kinetic energy: one common rigid velocity field for each group of bodies in contact (heap). It does not change
 * the energy of motion relative to the common centre. (Setting each body to its momentum of part 2 gives the same sum, but a ball
 * pressed on a plane would gain part of the impulse of its compression as kinetic energy.)
 *
 * The momentum of constrained and static bodies is not an unknown. Heaps in contact with them are not corrected, except tangentially
 * to half-spaces without friction. Bodies in contact with a continuum get their momentum of part 2 one by one, because its negative
 * was applied to the continuum. */
#ifndef SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#define SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#include "sim/hybrid/hybrid_contact.h"

typedef struct hybrid_heap hybrid_heap;
typedef struct {
  int n;                   /* number of bodies of the scene */
  double (*P)[3], (*L)[3]; /* [n] momentum [N s] and angular momentum about the origin [N m s] of each body at the end of a step
                                     * without contact */
  double (*gained)[3];     /* [n] momentum gained from contact by bodies made of nodes, at the end of the step [N s] */
  int32_t     *heap_of;    /* [n] index of its heap */
  hybrid_heap *heap;       /* [n] */
} hybrid_momentum;

/* Fill in *m, which is zero; destroy accepts a partly created struct. */
PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m);
void           hybrid_momentum_destroy(hybrid_momentum *m);
/* Set m->P and m->L; call it after free motion, with l->v. P is the momentum of free motion; L is the angular momentum at the start
 * of the step plus the contribution of gravity. */
void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l);
/* Apply the correction; call it when the step is permanent. c: its boundary.v - boundary.v_free is the velocity change by contact;
 * met: pairs in contact. fix: HYBRID_CORRECTION_...; with RIGID, heaps without constrained bodies also rotate. */
void hybrid_momentum_restore(hybrid_momentum *m, int fix, const hybrid_contact *c, const contact_forces *met, step_layout *l);
/* Evaluate m->gained from the current velocities. */
void hybrid_momentum_evaluate(hybrid_momentum *m, const step_layout *l);
#endif
