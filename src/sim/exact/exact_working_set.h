/* The contacts that the problems of a step are solved for. Where strands lie close, three of four contacts that may act do not.
 * Those without an impulse in the last step whose bodies do not come to touch as they move are left out, looked at when a problem
 * is solved, and join if they would be passed. What stays out has no impulse and does not overlap: Coulomb's law holds for all. */
#ifndef SS_SIM_EXACT_EXACT_WORKING_SET_H
#define SS_SIM_EXACT_EXACT_WORKING_SET_H
#include "sim/step/step_contacts.h"

enum { EXACT_FEW = 128 }; /* contacts that are all in, and solved for as well as can be from the first */

typedef struct {
  int64_t          n, n_all;
  int32_t         *contact;    /* [n] which of the step's, ascending */
  bool            *is_in;      /* [n_all] */
  contact_jacobian rows;       /* [n] start, block, value, known */
  double          *shift, *mu; /* [n] */
  double          *r, *u, *q;  /* [n][3] */
  double          *r_all;      /* [n_all][3] the guess, before anything is solved */
} exact_working_set;

/* Fill s, of zeros, for the contacts of a step: r_all [n_all][3] is the guess, v [n_blocks][3] how things move at its start. */
PetscErrorCode exact_working_set_create(const step_contacts *c, const double *v, const double *r_all,
                                        exact_working_set *s);
void           exact_working_set_destroy(exact_working_set *s);
/* Those left out that velocities v would bring closer than touching, by more than `speed`, join; r stays, theirs is zero. */
PetscErrorCode exact_working_set_join(exact_working_set *s, const step_contacts *c, const double *v, double speed,
                                      int64_t *n_joined);
/* The step's contacts have become more, and are numbered anew: key [n_old][2] are those of the old ones, in their order. New ones
 * are in. */
PetscErrorCode exact_working_set_extend(exact_working_set *s, const step_contacts *c, int64_t n_old, const uint64_t *key);
/* Impulses r and velocities u (shift included) of all contacts [n_all][3] at velocities v. */
void exact_working_set_spread(const exact_working_set *s, const step_contacts *c, const double *v, double *r, double *u);
#endif
