/* Forces of contact, as measures and frames see them: what impulses did pair by pair, and what the grid did vertex by vertex.
 *
 * The grid knows no pairs: what it does to a vertex is put down to the body that is nearest. Both sides of a contact tell of it, each of its own
 * vertices; each counts half, so that the force between two bodies that meet no third is right to rounding, as what one gains the other loses. */
#ifndef SS_SIM_HYBRID_RECORD_H
#define SS_SIM_HYBRID_RECORD_H
#include "sim/hybrid/hybrid_contact.h"

/* After the grid: c->boundary.v against c->v_old, before what is held is restored. */
PetscErrorCode hybrid_record_note(hybrid_contact *c);
/* The step is permanent: record and report->contact. */
PetscErrorCode hybrid_record_take(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report);
#endif
