/* Restoration of the momentum that bodies made of nodes lose when the motion of their boundary is prescribed, because the
 * constraint forces have no reaction. It adds rigid velocity fields and does not change positions.
 *
 * The momentum that part 2 of a step gives to boundaries differs from the momentum that contact gives to the bodies. In the free
 * motion of part 1, compressed surfaces expand only as far as sound travels in a step, and part 2 removes only the momentum of
 * this layer. Constraining the boundary during part 3 may take several times as much, and this compresses the bodies. Therefore
 * each body keeps the momentum of part 3. Action and reaction are restored by the smallest velocity change in the norm of
 * kinetic energy: one common rigid field for each group of bodies in contact (heap), which does not change the energy of motion
 * relative to the common centre. (The momenta of part 2, body by body, have the same sum, but a ball pressed on a plane would
 * gain part of the impulse of its compression as kinetic energy.)
 *
 * Constrained and static bodies take up any momentum: heaps in contact with them are not corrected, except tangentially to
 * half-spaces without friction. Bodies in contact with a continuum get the momentum of part 2 individually, because only that is
 * known to the continuum. */
#ifndef SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#define SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#include "sim/hybrid/hybrid_contact.h"

typedef struct hybrid_heap hybrid_heap;
typedef struct {
  int n;                   /* number of bodies of the scene */
  double (*P)[3], (*L)[3]; /* [n] momenta that each body would have at the end of the step without contact; L about the
                                     * origin */
  double (*gained)[3];     /* [n] momentum gained from contact by bodies made of nodes, at the end of the step [N s] */
  int32_t     *heap_of;    /* [n] index of its heap */
  hybrid_heap *heap;       /* [n] */
} hybrid_momentum;

/* Fill in *m, which is zero; destroy accepts a partly created struct. */
PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m);
void           hybrid_momentum_destroy(hybrid_momentum *m);
/* To be called after free motion with l->v: linear momentum is that of free motion; angular momentum is that of the start plus
 * the contribution of gravity. */
void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l);
/* To be called when the step is permanent, with the velocity changes of boundaries by contact, c->boundary.v - v_free, and the
 * pairs in contact. fix: HYBRID_CORRECTION_...; rigid also rotates heaps without constrained bodies. */
void hybrid_momentum_restore(hybrid_momentum *m, int fix, const hybrid_contact *c, const contact_forces *met, step_layout *l);
/* Evaluate m->gained from the current velocities. */
void hybrid_momentum_evaluate(hybrid_momentum *m, const step_layout *l);
#endif
