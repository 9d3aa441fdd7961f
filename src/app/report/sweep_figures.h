/* Diagrams of a sweep: every measure against every parameter. */
#ifndef SS_APP_REPORT_SWEEP_FIGURES_H
#define SS_APP_REPORT_SWEEP_FIGURES_H
#include "app/report/figures.h"
#include "app/report/sweep_view.h"

/* A section for each measure, by the measure's name: against each numeric parameter that varies, lines where cases differ in that
 * parameter alone (repeats: through their mean, with every one as a point), else points; colours tell a second parameter, small
 * multiples a third. And the section "case time". *n_left_out: diagrams there would be beyond a sensible number; `notes` names, as
 * HTML, those that have no finished case to show. */
PetscErrorCode sweep_figures_add(const sweep_view *v, figures *f, int *n_left_out, text_buffer *notes);
/* The colour of a level, on the ramp if the parameter is numeric. */
int sweep_figures_colour(const sweep_parameter *p, int level);
#endif
