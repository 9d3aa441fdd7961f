/* Diagrams as SVG for HTML pages, all drawn by one gnuplot process. The HTML page supplies titles, legends and colours: a series with colour number K
 * has the colour var(--cK) of the style sheet of the page. Called by the report writers.
 *
 *   plot_sheet_begin, plot_sheet_series ..., plot_sheet_end    for each diagram
 *   plot_sheet_draw                                            once
 *   plot_sheet_svg                                             for each diagram                                               */
#ifndef SS_IO_PLOT_SHEET_H
#define SS_IO_PLOT_SHEET_H
#include "core/error.h"
#include "core/text.h"

typedef enum { PLOT_LINE, PLOT_THIN, PLOT_POINTS, PLOT_LINE_POINTS, PLOT_BARS, PLOT_CROSSES } plot_style;

/* Axes of a diagram. Labels may be arbitrary text; they are escaped. */
typedef struct {
  const char *x_label, *y_label;  /* NULL: none */
  bool        is_log_x, is_log_y; /* logarithmic axes; the caller must omit values <= 0 */
  bool        has_zero;           /* the y axis begins at 0 */
  int         width, height;      /* in units of 1/12 of the letter height; 0: 420 x 225 */
} plot_axes;

typedef struct plot_sheet plot_sheet;
PetscErrorCode            plot_sheet_create(plot_sheet **out);
void                      plot_sheet_destroy(plot_sheet **s);
void                      plot_sheet_begin(plot_sheet *s, const plot_axes *axes);
/* Add a series of n points to the diagram that was begun last; NaN in y interrupts the line. PLOT_CROSSES: marks at the bottom, y is not read. */
void plot_sheet_series(plot_sheet *s, plot_style style, int colour, int64_t n, const double *x, const double *y);
/* Set the width of the bars of the diagram that was begun last, in the unit of x. plot_sheet_end returns the index of this diagram. */
void           plot_sheet_bar_width(plot_sheet *s, double width);
PetscErrorCode plot_sheet_end(plot_sheet *s, int *index);
/* Whether gnuplot is installed. */
bool plot_sheet_is_possible(void);
/* Draw all diagrams. PETSC_ERR_FILE_OPEN with the package name if gnuplot is missing; PETSC_ERR_LIB with gnuplot's message if it fails. */
PetscErrorCode plot_sheet_draw(plot_sheet *s);
/* The <svg> element of diagram `index`, converted by svg_prepare_for_page with a unique prefix. *svg is owned by the sheet. */
PetscErrorCode plot_sheet_svg(plot_sheet *s, int index, const char *label, const char **svg);

/* Convert a drawing of gnuplot (`set term svg`) for an HTML page with several drawings: append the <svg> element contained in text [n] to `out`.
 *   - Every id and every reference to it gets `prefix`, because ids of different drawings are the same.
 *   - Colours are set by the page's style sheet: black and white become currentColor and none, rgb(1,1,K) the variable --cK.
 *   - Fonts are those of the page. Invisible parts are removed: prolog, titles, empty groups, unused marks.
 * `label` (escaped) describes the drawing for screen readers. PETSC_ERR_LIB if the text has no <svg> element. */
PetscErrorCode svg_prepare_for_page(const char *text, size_t n, const char *prefix, const char *label, text_buffer *out);
#endif
