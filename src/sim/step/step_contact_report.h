/* What a step with rigid contact leaves behind of its contacts. */
#ifndef SS_SIM_STEP_STEP_CONTACT_REPORT_H
#define SS_SIM_STEP_STEP_CONTACT_REPORT_H
#include "sim/step/step_contacts.h"
#include "sim/step/step_record.h"

/* What a law made of the contacts of a step, each [n][...]. */
typedef struct {
  const double *r, *u; /* [3] impulses; velocities, c->shift included */
  const double *x;     /* [3] what the law has complement r: in the dual cone, r . x = 0; NULL: Coulomb's own, u + (mu |u_T|, 0, 0).
                        * A contact slides where x_T is not 0 */
  const double *scale; /* [9] blocks of W, or what stands for them: of the natural map, |r - P(r - rho x)| over the largest r_N,
                        * rho = 3/trace */
} step_outcome;

/* The contacts that push, the forces between bodies, the memory, and the summary. With l->v and l->frames those of the end. */
PetscErrorCode step_contact_report(const step_contacts *c, const step_layout *l, const step_outcome *law, step_record *record,
                                   contact_summary *out);
#endif
