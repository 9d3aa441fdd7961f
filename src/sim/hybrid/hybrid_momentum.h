/* Momentum that bodies of nodes lose where their boundary's motion is prescribed and the forces that takes are nobody's, and its
 * restoration [hybrid, sec. 5, R5]: rigid velocity fields, which leave positions alone.
 *
 * What part 2 of a step gave to boundaries is not what contact gave to the bodies: pressed surfaces come loose in the free motion of
 * part 1 only as far as sound goes in a step, and stopping them takes that much momentum; what it takes to hold them through part 3
 * may be several times as much, and it is this that compresses the bodies. So each body keeps what part 3 gave it, and action and
 * reaction are restored by the least change of velocities, in the norm of kinetic energy, that does: of all that meet, a heap, one
 * common rigid field, which changes the energy of no motion relative to their common centre. (Momenta of part 2, body by body, have
 * the same sum, but a ball that is pressed on a plane gets a part of the impulse that compressing it took, and gains the difference
 * as energy.)
 * What is held and what never moves takes any momentum: heaps with such bodies keep theirs, but across the normals of half-spaces
 * without friction. Bodies that meet a continuum get, each, what part 2 gave them, as that is all that the continuum knows. */
#ifndef SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#define SS_SIM_HYBRID_HYBRID_MOMENTUM_H
#include "sim/hybrid/hybrid_contact.h"

typedef struct hybrid_heap hybrid_heap;
typedef struct {
  int          n;                   /* bodies of the scene */
  double     (*P)[3], (*L)[3];      /* [n] what each should have at the end without contact; L about the origin */
  double     (*gained)[3];          /* [n] N s, of what is made of nodes: from contact, as the step ended */
  int32_t     *heap_of;             /* [n] its entry of heap */
  hybrid_heap *heap;                /* [n] */
} hybrid_momentum;

/* *m, zeros, is filled in place; destroy copes with failures. */
PetscErrorCode hybrid_momentum_create(const scene *s, hybrid_momentum *m);
void           hybrid_momentum_destroy(hybrid_momentum *m);
/* After free motion, l->v: linear momentum is that of free motion, angular momentum that of the start and of what gravity adds. */
void hybrid_momentum_begin(hybrid_momentum *m, const step_layout *l);
/* The step has become permanent: with what contact has given boundaries, c->boundary.v - v_free, and the pairs that met. fix:
 * HYBRID_FIX_... ; rigid turns heaps that nothing holds, too. */
void hybrid_momentum_restore(hybrid_momentum *m, int fix, const hybrid_contact *c, const contact_forces *met, const step_layout *l);
/* m->gained as things are now. */
void hybrid_momentum_measure(hybrid_momentum *m, const step_layout *l);
#endif
