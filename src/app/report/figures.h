/* Diagrams of a page, with their titles and legends, in sections. */
#ifndef SS_APP_REPORT_FIGURES_H
#define SS_APP_REPORT_FIGURES_H
#include "core/text.h"
#include "io/plot_sheet.h"

/* Colours of the page's style sheet, see page.c: 1 to 8 tell series apart, 20 to 27 are a ramp. */
enum { FIGURE_TOTAL = 5, FIGURE_FAILED = 9, FIGURE_RAMP = 20, FIGURE_RAMP_LENGTH = 8 };

typedef struct figures figures;
PetscErrorCode figures_create(figures **out);
void           figures_destroy(figures **f);

/* section: a literal, by which figures_put finds it. Texts are copied. */
PetscErrorCode figures_begin(figures *f, const char *section, const char *title, const plot_axes *axes);
/* A curve or points; values that a logarithmic axis has no place for are left out, points that stand alone in a curve are marked. What
 * has nothing to show is left out. label NULL: none in the legend. */
PetscErrorCode figures_curve(figures *f, const char *label, plot_style style, int colour, int64_t n, const double *x, const double *y);
void           figures_bar_width(figures *f, double width);
/* Leaves the figure out if there is nothing in it. */
PetscErrorCode figures_end(figures *f);

/* Once, after all figures and before the first is put. */
PetscErrorCode figures_draw(figures *f);
int            figures_count(const figures *f, const char *section);
PetscErrorCode figures_put(figures *f, const char *section, text_buffer *page);
/* The first figure of a section as an SVG file that stands alone, title and legend in it. Replaced as a whole. */
PetscErrorCode figures_write_svg(figures *f, const char *section, const char *path);
#endif
