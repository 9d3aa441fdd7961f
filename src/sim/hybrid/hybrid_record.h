/* Forces of contact, as measures and frames see them: what impulses did pair by pair, and what the grid did vertex by vertex.
 *
 * The grid knows no pairs: what it does to a vertex is put down to the body that is nearest, then forces between bodies are
 * balanced so that what each body felt in all, which is known, is right to rounding (hybrid_balance.h). Points show what
 * vertices felt, of both sides. */
#ifndef SS_SIM_HYBRID_HYBRID_RECORD_H
#define SS_SIM_HYBRID_HYBRID_RECORD_H
#include "sim/hybrid/hybrid_contact.h"

/* After the grid: c->boundary.v against c->v_old, before what is held is restored. */
PetscErrorCode hybrid_record_note(hybrid_contact *c);
/* The step is permanent: points, and pairs that met with forces as far as they are known pair by pair; and report->contact. */
PetscErrorCode hybrid_record_take(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report);
/* Those forces, balanced with what bodies felt. v_free: the global vector before contact; gained [n_bodies][3]: what bodies made of
 * nodes have from contact [N s]. */
PetscErrorCode hybrid_record_balance(hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                     step_record *record);
#endif
