/* Diagrams as SVG for HTML pages, all drawn by one gnuplot. Titles and legends are the page's business, and colours are its style
 * sheet's: a series has a number K, drawn in var(--cK).
 *
 *   plot_sheet_begin, plot_sheet_series ..., plot_sheet_end    for each diagram
 *   plot_sheet_draw                                            once
 *   plot_sheet_svg                                             for each diagram                                               */
#ifndef SS_IO_PLOT_SHEET_H
#define SS_IO_PLOT_SHEET_H
#include "core/error.h"
#include "core/text.h"

typedef enum { PLOT_LINE, PLOT_THIN, PLOT_POINTS, PLOT_LINE_POINTS, PLOT_BARS, PLOT_CROSSES } plot_style;

/* Labels are texts of anyone's. */
typedef struct {
  const char *x_label, *y_label; /* NULL: none */
  bool        is_log_x, is_log_y; /* the caller leaves out what is not positive */
  bool        has_zero;          /* the y axis begins at 0 */
  int         width, height;     /* in units of which the letters are 12 high; 0: 420 x 225 */
} plot_axes;

typedef struct plot_sheet plot_sheet;
PetscErrorCode plot_sheet_create(plot_sheet **out);
void           plot_sheet_destroy(plot_sheet **s);
PetscErrorCode plot_sheet_begin(plot_sheet *s, const plot_axes *axes);
/* n points; NaN in y breaks the line. PLOT_CROSSES: marks at the foot of the diagram, y is not read. */
PetscErrorCode plot_sheet_series(plot_sheet *s, plot_style style, int colour, int64_t n, const double *x, const double *y);
/* Bars of the diagram that is open are so wide, in the unit of x. */
void           plot_sheet_bar_width(plot_sheet *s, double width);
PetscErrorCode plot_sheet_end(plot_sheet *s, int *index);
/* Is there a gnuplot to draw with? */
bool           plot_sheet_is_possible(void);
/* PETSC_ERR_FILE_OPEN, naming the package, where gnuplot is missing; PETSC_ERR_LIB with its words if it fails. */
PetscErrorCode plot_sheet_draw(plot_sheet *s);
/* The <svg> element of a diagram, as svg_adopt makes it, with ids of its own. Borrowed until the sheet is destroyed. */
PetscErrorCode plot_sheet_svg(plot_sheet *s, int index, const char *label, const char **svg);

/* A drawing of gnuplot's (`set term svg`) made fit to stand in an HTML page beside others. */

/* Append the <svg> element in text [n] to `out`, with
 *   - every id, and every reference to one, begun with `prefix`, as ids of different drawings are the same;
 *   - colours that the page's style sheet decides: black and white become currentColor and none, rgb(1,1,K) the variable --cK;
 *   - fonts left to the page, and without what draws nothing: prolog, titles, empty groups, marks that are not used.
 * `label` (escaped) says what the drawing shows, for who cannot see it. PETSC_ERR_LIB if there is no <svg> in it. */
PetscErrorCode svg_adopt(const char *text, size_t n, const char *prefix, const char *label, text_buffer *out);
#endif
