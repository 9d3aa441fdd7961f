/* What a step with rigid contact leaves behind: impulses that the next one starts from, which are state; the contacts that pushed,
 * and the forces between bodies. */
#ifndef SS_SIM_STEP_STEP_RECORD_H
#define SS_SIM_STEP_STEP_RECORD_H
#include "contact/rows/contact_jacobian.h"
#include "core/field_table.h"
#include "sim/step/formulation.h"
#include "sim/step/step_contacts.h"

/* What contacts pushed with in the last accepted step, by their keys: where the next one starts from, and state, since a solution
 * may depend on the guess. Kept as forces in world axes: frames of contacts turn, steps change. */
typedef struct {
  int64_t   n, capacity;
  uint64_t *key;   /* [n][2] ascending, as in contact sets */
  double   *force; /* [n][3] N */
} step_impulses;

/* r [n][3]: impulses [N s] of contacts sorted by key, in the frames of `j`; 0 for those not known. */
void step_impulses_guess(const step_impulses *m, const contact_jacobian *j, const contact_spot *spots, double dt, double *r);

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

/* What a step with rigid contact leaves behind of its contacts. */
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
