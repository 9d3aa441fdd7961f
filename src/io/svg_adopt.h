/* A drawing of gnuplot's (`set term svg`) made fit to stand in an HTML page beside others. */
#ifndef SS_IO_SVG_ADOPT_H
#define SS_IO_SVG_ADOPT_H
#include "core/text.h"

/* Append the <svg> element in text [n] to `out`, with
 *   - every id, and every reference to one, begun with `prefix`, as ids of different drawings are the same;
 *   - colours that the page's style sheet decides: black and white become currentColor and none, rgb(1,1,K) the variable --cK;
 *   - fonts left to the page, and without what draws nothing: prolog, titles, empty groups, marks that are not used.
 * `label` (escaped) says what the drawing shows, for who cannot see it. PETSC_ERR_LIB if there is no <svg> in it. */
PetscErrorCode svg_adopt(const char *text, size_t n, const char *prefix, const char *label, text_buffer *out);
#endif
