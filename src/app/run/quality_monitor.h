/* Observes the steps of a run for its quality block: residuals, overlaps, energy, halvings and warnings.
 *
 * The state is in the field table (group "quality"), so that a resumed run continues it. Called by run.c.
 *
 * Energy. B = kinetic + elastic + potential energy + energy of contact springs + energy dissipated by friction - work of the
 * correction of overlaps that the job permits at the start (their springs get shorter rest depths, which lifts bodies). Without external work B cannot
 * increase. The increase is the largest difference between B and an earlier minimum of B. The energy exchanged by the motion is the larger one
 * of the largest kinetic + elastic + contact energy and the range of the potential energy, at least m (g0 dt)^2: the energy that gravity
 * supplies in one step, below which results depend on rounding and tolerances. The initial state includes the energy of springs that are
 * compressed at the start. */
#ifndef SS_APP_RUN_QUALITY_MONITOR_H
#define SS_APP_RUN_QUALITY_MONITOR_H
#include "app/run/run_quality.h"
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

#define QUALITY_GROUP "quality"
typedef struct quality_monitor quality_monitor;
/* Borrows scene and formulation, and registers the state in `table`. */
PetscErrorCode quality_monitor_create(scene *s, const formulation *f, field_table *table, quality_monitor **out);
void           quality_monitor_destroy(quality_monitor **m); /* accepts NULL */
/* Store the result of the search for the initial equilibrium; true if it has been stored, by this or an earlier start. */
void quality_monitor_equilibrium(quality_monitor *m, int64_t n_steps, double velocity);
bool quality_monitor_has_equilibrium(const quality_monitor *m);
/* Call before the first step of a new run: stores the initial energy. */
PetscErrorCode quality_monitor_start(quality_monitor *m);
/* Call at the start of every step, after every accepted substep (report: of the substep), and after the accepted step (report: of the step;
 * n_halvings: failed attempts). Substeps of a rejected step are discarded. */
void           quality_monitor_begin_step(quality_monitor *m);
void           quality_monitor_substep(quality_monitor *m, const step_report *report);
PetscErrorCode quality_monitor_end_step(quality_monitor *m, double dt, const step_report *report, const body_totals *sum,
                                        int64_t n_halvings);
/* Add new warnings of the scene to the stored state. Call before a checkpoint; the functions above call it, too. */
PetscErrorCode quality_monitor_store_warnings(quality_monitor *m);
/* Text of the list of entries and of the bodies, valid as long as this struct. */
typedef struct {
  char                  overlap[300], ratio[300];
  run_quality_sentences bad;
  key_item             *warning; /* memory_free */
} quality_texts;
/* The entries after n_steps steps. The texts are borrowed from the scene and from *t. */
PetscErrorCode quality_monitor_result(const quality_monitor *m, int64_t n_steps, quality_texts *t, run_quality *out);
/* Reason why the energy is not checked, a key of the job such as "bodies.plate.motion"; "" if it is. */
const char *quality_monitor_external_work(const quality_monitor *m);
#endif
