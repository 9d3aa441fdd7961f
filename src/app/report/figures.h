/* Diagrams of a report page with titles and legends, grouped in sections. All diagrams are drawn by one call of gnuplot
 * (io/plot_sheet.h). Used by the reports of runs and sweeps and by the performance profiles of friction solvers. */
#ifndef SS_APP_REPORT_FIGURES_H
#define SS_APP_REPORT_FIGURES_H
#include "core/text.h"
#include "io/plot_sheet.h"

/* Colours of the style sheet in page.c: 1 to 8 for curves, 20 to 27 for a ramp. */
enum { FIGURE_TOTAL = 5, FIGURE_FAILED = 9, FIGURE_RAMP = 20, FIGURE_RAMP_LENGTH = 8 };

typedef struct figures figures;
PetscErrorCode         figures_create(figures **out);
void                   figures_destroy(figures **f);

/* Begins a diagram. section: name of the group that figures_put selects, borrowed until figures_destroy. Other texts are copied. */
PetscErrorCode figures_begin(figures *f, const char *section, const char *title, const plot_axes *axes);
/* Adds a curve or points. Values <= 0 on a logarithmic axis are omitted; isolated points of a curve are marked. Curves
 * without values are omitted. label NULL: no entry in the legend. */
PetscErrorCode figures_curve(figures *f, const char *label, plot_style style, int colour, int64_t n, const double *x, const double *y);
void           figures_bar_width(figures *f, double width);
/* Ends the diagram; a diagram without curves is omitted. */
PetscErrorCode figures_end(figures *f);

/* Draws all diagrams. Call once, before the first figures_put. Error: gnuplot is missing or fails. */
PetscErrorCode figures_draw(figures *f);
int            figures_count(const figures *f, const char *section);
PetscErrorCode figures_put(figures *f, const char *section, text_buffer *page);
/* Writes the first diagram of a section as an SVG file with title and legend; the file is replaced as a whole. */
PetscErrorCode figures_write_svg(figures *f, const char *section, const char *path);
#endif
