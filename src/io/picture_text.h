/* Lettering for pictures: a stroke font of our own, printable ASCII, drawn smoothly at any size; and the colour map. */
#ifndef SS_IO_PICTURE_TEXT_H
#define SS_IO_PICTURE_TEXT_H
#include <stdint.h>

/* Draw into rgb [height][width][3]. (x, y) is the left end of the baseline in pixels, `size` the height of capitals in pixels.
 * Bytes outside printable ASCII appear as '?', the bytes that continue a UTF-8 character not at all. Clipped at the rim. */
void   picture_text_draw(int width, int height, uint8_t *rgb, double x, double y, double size, const uint8_t colour[3], const char *text);
double picture_text_width(double size, const char *text);

/* Viridis, the perceptually even map of van der Walt and Smith (2015), for t in [0, 1] (clamped; grey for NaN). */
void picture_colour_map(double t, uint8_t rgb[3]);
#endif
