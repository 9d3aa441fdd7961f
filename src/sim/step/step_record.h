/* What a step with rigid contact leaves behind: impulses that the next one starts from, which are state; the contacts that pushed,
 * and the forces between bodies. */
#ifndef SS_SIM_STEP_STEP_RECORD_H
#define SS_SIM_STEP_STEP_RECORD_H
#include "sim/step/formulation.h"
#include "sim/step/step_impulses.h"

typedef struct {
  step_impulses  known;
  contact_points points;
  contact_forces forces;
} step_record;

void step_record_destroy(step_record *r); /* copes with zeros */
/* Where f has them from now on. */
void step_record_attach(const step_record *r, formulation *f);
/* `r` must stay where it is as long as the table. */
PetscErrorCode step_record_fields(step_record *r, field_table *table);
#endif
