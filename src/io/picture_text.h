/* Lettering for pictures (a stroke font for printable ASCII, anti-aliased at any size) and the colour map. */
#ifndef SS_IO_PICTURE_TEXT_H
#define SS_IO_PICTURE_TEXT_H
#include <stdint.h>

/* Draw `text` into rgb [height][width][3]. (x, y) is the left end of the baseline in pixels, `size` the height of capitals in pixels. Each character
 * outside printable ASCII appears as one '?'. Parts outside the picture are not drawn. picture_text_width: width of `text` in pixels. */
void   picture_text_draw(int width, int height, uint8_t *rgb, double x, double y, double size, const uint8_t colour[3], const char *text);
double picture_text_width(double size, const char *text);

/* Colour for t in [0, 1] (clamped; NaN: grey) of Viridis, the perceptually uniform colour map of van der Walt and Smith (2015). */
void picture_colour_map(double t, uint8_t rgb[3]);
#endif
