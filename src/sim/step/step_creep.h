/* Creep that the friction solver may leave in a scene without deformable bodies: the tolerance of formulation exact as a velocity.
 *
 * Impulses inside the cones and velocities that follow from them conserve momentum for any tolerance. What remains of an unconverged solution is a
 * relative velocity at the contacts: creep where they stick, approach where they are closed or overlooked. A step therefore overlaps by at most
 * this speed times dt. The accepted speed of a contact is, with L the size of the smaller body and v_rms the rms relative velocity of the contacts of
 * its island (bodies that are connected by contacts) at the start of the step,
 *
 *    max_creep if given; otherwise  max(CREEP L, RELATIVE v_rms)
 *
 * and never more than 1 % of the contact's impulse over its mass (friction_speed_limit). Each step makes some sweeps even if the impulses of the last
 * step are accepted, so that a scene at rest converges further with time. */
#ifndef SS_SIM_STEP_STEP_CREEP_H
#define SS_SIM_STEP_STEP_CREEP_H
#include "optim/friction/friction.h"
#include "sim/step/step_contacts.h"

typedef struct {
  double  max_creep; /* [m/s]; NaN: not given */
  double *size;      /* [n_bodies] scene_body_size [m] */
} step_creep;

/* Steps with this number of contacts or fewer are solved to the tolerances of the formulation instead: that costs a few milliseconds. */
enum { STEP_CREEP_FEW = 128 };

/* True if all bodies with unknowns are rigid or articulated. */
bool step_creep_is_rigid(const scene *s);
/* True if the accepted creep decides when friction is solved: no deformable bodies, and max_creep > 0, or neither max_creep nor a
 * tolerance nor an error norm is given. */
bool           step_creep_applies(const scene *s, double max_creep, const friction_options *o);
PetscErrorCode step_creep_create(const scene *s, double max_creep, step_creep *c);
void           step_creep_destroy(step_creep *c); /* accepts zeros */
/* *limit [n] accepted speed of each contact [m/s], memory_free(*limit). l: layout at the start of the step. *moves (may be NULL): false if all bodies are at rest or
 * settle: the rms relative velocity of the contacts of every island is below 5 % of the speed that gravity adds in the step. */
PetscErrorCode step_creep_limits(const step_creep *c, const step_contacts *contacts, const step_layout *l, double **limit, bool *moves);
/* Treat contacts that carried load in the last step (guess [n][3], guess_N > 0) and would close or overlap by less than the slack as closed: their shifts are
 * moved towards 0 by at most the smaller of their limit and CREEP L. Otherwise gaps that are within the tolerance would open and close contacts that carry load, so that their forces jump. */
void step_creep_add_slack(const step_creep *c, const double *limit, const double *guess, step_contacts *contacts);
/* *of_unknown [u->n] number of the system of each unknown, memory_free(*of_unknown); see delassus_set_bodies. */
PetscErrorCode step_creep_bodies(const step_unknowns *u, const step_layout *l, int32_t **of_unknown);
/* friction_options.least_work: 500 sweeps of 100 contacts, about 1 ms, 5 of 1000. So small scenes are solved accurately. */
enum { STEP_CREEP_WORK = 5000000 };
#endif
