/* Two parameters and nothing else: each measure as a table whose cells are coloured by its value. */
#ifndef SS_APP_REPORT_SWEEP_HEAT_H
#define SS_APP_REPORT_SWEEP_HEAT_H
#include "core/text.h"
#include "app/report/sweep_view.h"

/* Does the sweep have such tables? If so, of which parameters. */
bool           sweep_heat_is_possible(const sweep_view *v, int *row, int *column);
PetscErrorCode sweep_heat_put(const sweep_view *v, const sweep_measure *m, text_buffer *page);
#endif
