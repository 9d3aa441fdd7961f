/* What a step with rigid contact leaves behind of its contacts. */
#ifndef SS_SIM_STEP_CONTACT_REPORT_H
#define SS_SIM_STEP_CONTACT_REPORT_H
#include "sim/step/step_contacts.h"
#include "sim/step/step_record.h"

/* The contacts that push, the forces between bodies, the memory, and the summary, for impulses r [n][3] and the velocities u [n][3]
 * that the law is put on (shift included). W_diagonal [n][9]: for the natural map, |r - P(r - rho u~)| over the largest r_N, rho =
 * 3/trace(W_aa). Before the bodies' end_step, with l->v and l->frames those of the end. */
PetscErrorCode step_contact_report(const step_contacts *c, const step_layout *l, const double *r, const double *u,
                            const double *W_diagonal, step_record *record, contact_summary *out);
#endif
