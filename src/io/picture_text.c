/* Stroke font and colour map, see picture_text.h. */
#include "io/picture_text.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A glyph is a list of strokes, separated by blanks. A stroke is a type (-, ~ or o) and points of two base-36 digits, x and y. y is upwards: 0 lowest
 * descender, 4 baseline, c (12) top of small letters, g (16) top of capitals.
 *   -  straight lines through the points
 *   ~  quadratic B-spline with the points as control polygon, from the first to the last point;  o  the same, closed */
/* clang-format off */
static const char *const glyph[95] = {
  /* space */ "",
  /* ! */ "-1g18 -1514", /* " */ "-0g0d -3g3d", /* # */ "-3g14 -7g54 -0c8c -0878", /* $ */ "~8d8g4g0g0a4a8a84440407 -4i42",
  /* % */ "-8g04 o0g3g3c0c o58888454", /* & */ "~841d1g3g6g6c0a0434648a", /* ' */ "-0g0d", /* ( */ "~3h0d0733",
  /* ) */ "~0h3d3703", /* * */ "-3f39 -0d6b -6d0b", /* + */ "-4e46 -0a8a", /* , */ "-1502", /* - */ "-0a5a", /* . */ "-0504",
  /* / */ "-036h",
  /* 0 */ "o0g4g7g7a7444040a", /* 1 */ "-1d4g44 -1474", /* 2 */ "~0d0g4g8g8b4804 -0484", /* 3 */ "~0e0g4g7g7a3a ~3a4a8a84440406",
  /* 4 */ "-646g0888", /* 5 */ "-7g1g0a ~0a2c4c8c84440406", /* 6 */ "~7e7g4g0g0a07 o0b4b8b8884440408", /* 7 */ "-0g8g34",
  /* 8 */ "o1g4g7g7d7a4a1a1d o0a4a8a8784440407", /* 9 */ "~161444848a8d o8949090c0g4g8g8c",
  /* : */ "-0504 -0c0b", /* ; */ "-1502 -1c1b", /* < */ "-7e0a76", /* = */ "-0c7c -0878", /* > */ "-0e7a06",
  /* ? */ "~0d0g3g7g7b3b37 -3534", /* @ */ "o4c7c7747 ~7c77a7ag0g030393",
  /* A */ "-044g84 -1777", /* B */ "-040g ~0g4g7g7a4a0a ~0a4a8a844404", /* C */ "~8d8g4g0g0a04448487",
  /* D */ "-040g ~0g3g8g8a843404", /* E */ "-8g0g0484 -0a6a", /* F */ "-8g0g04 -0a6a", /* G */ "~8d8g4g0g0a0444848a -8a5a",
  /* H */ "-040g -848g -0a8a", /* I */ "-2g24 -0g4g -0444", /* J */ "~6g6864340408", /* K */ "-040g -8g08 -3b84", /* L */ "-0g0484",
  /* M */ "-040g498g84", /* N */ "-040g848g", /* O */ "o0g4g8g8a8444040a", /* P */ "-040g ~0g4g8g894909",
  /* Q */ "o0g4g8g8a8444040a -5883", /* R */ "-040g ~0g4g8g894909 -4984", /* S */ "~8d8g4g0g0a4a8a84440407", /* T */ "-0g8g -4g44",
  /* U */ "~0g0a0444848a8g", /* V */ "-0g448g", /* W */ "-0g346d94cg", /* X */ "-0g84 -8g04", /* Y */ "-0g4a8g -4a44",
  /* Z */ "-0g8g0484",
  /* [ */ "-3h0h0333", /* \ */ "-0h63", /* ] */ "-0h3h3303", /* ^ */ "-0c3g6c", /* _ */ "-0282", /* ` */ "-0g2d",
  /* a */ "o0c3c7c7874340408 -7c74", /* b */ "-0g04 o0c4c7c7874440408", /* c */ "~7a7c4c0c0804447476",
  /* d */ "-7g74 o0c3c7c7874340408", /* e */ "-0878 ~787c4c0c0804447476", /* f */ "~6g3g3d34 -0c6c",
  /* g */ "o0c3c7c7874340408 ~7c7470300002", /* h */ "-0g04 ~080c4c7c7874", /* i */ "-0c04 -0g0f", /* j */ "~3c343000 -3g3f",
  /* k */ "-0g04 -7c07 -3974", /* l */ "~0g060424", /* m */ "-0c04 ~080c3c5c5854 ~585c8caca8a4", /* n */ "-0c04 ~080c4c7c7874",
  /* o */ "o0c4c7c7874440408", /* p */ "-0c00 o0c4c7c7874440408", /* q */ "-7c70 o0c3c7c7874340408", /* r */ "-0c04 ~080c3c5c",
  /* s */ "~7a7c3c0c08387874340406", /* t */ "~2g272454 -0c5c", /* u */ "~0c0804347478 -7c74", /* v */ "-0c346c",
  /* w */ "-0c245a84ac", /* x */ "-0c64 -6c04", /* y */ "-0c34 -6c3410", /* z */ "-0c6c0464",
  /* { */ "~4h2h2a0a ~0a2a2343", /* | */ "-0h02", /* } */ "~0h2h2a4a ~4a2a2303", /* ~ */ "~091c4a788b",
};
/* clang-format on */
enum { BASELINE = 4, CAPITAL = 16, GAP = 4, BLANK = 3, MAX_POINTS = 32, MAX_SEGMENTS = 256, SPLINE_STEPS = 6 };
static const double STROKE = 1.7; /* width in font units: 14 % of a capital's height */

typedef struct {
  int    n;
  double x[MAX_SEGMENTS][2][2]; /* in font units */
  double right;                 /* of the outline */
} outline;

static int digit(char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; }

static void add_segment(outline *o, const double a[2], const double b[2])
{
  if (o->n == MAX_SEGMENTS) return;
  memcpy(o->x[o->n][0], a, 2 * sizeof *a);
  memcpy(o->x[o->n++][1], b, 2 * sizeof *b);
  o->right = fmax(o->right, fmax(a[0], b[0]));
}

static void add_parabola(outline *o, const double a[2], const double control[2], const double b[2])
{
  double from[2] = {a[0], a[1]};
  for (int i = 1; i <= SPLINE_STEPS; ++i) {
    const double t = (double)i / SPLINE_STEPS, s = 1.0 - t;
    const double to[2] = {s * s * a[0] + 2 * s * t * control[0] + t * t * b[0], s * s * a[1] + 2 * s * t * control[1] + t * t * b[1]};
    add_segment(o, from, to);
    memcpy(from, to, sizeof from);
  }
}

static void add_stroke(outline *o, char kind, int n, double (*p)[2])
{
  if (kind == '-') {
    for (int i = 0; i + 1 < n; ++i) add_segment(o, p[i], p[i + 1]);
    return;
  }
  /* a quadratic B-spline is a chain of parabolas between the middles of its control polygon */
  const int first = kind == 'o' ? 0 : 1, last = kind == 'o' ? n - 1 : n - 2;
  for (int i = first; i <= last; ++i) {
    const double *before = p[(i + n - 1) % n], *after = p[(i + 1) % n];
    const bool    is_start = kind == '~' && i == 1, is_end = kind == '~' && i == n - 2;
    double        a[2], b[2];
    for (int k = 0; k < 2; ++k) {
      a[k] = is_start ? before[k] : 0.5 * (before[k] + p[i][k]);
      b[k] = is_end ? after[k] : 0.5 * (after[k] + p[i][k]);
    }
    add_parabola(o, a, p[i], b);
  }
}

static void glyph_outline(unsigned char c, outline *o)
{
  double      p[MAX_POINTS][2];
  const char *s = glyph[c >= 32 && c < 127 ? c - 32 : '?' - 32];
  o->n          = 0;
  o->right      = *s ? 0.0 : BLANK;
  while (*s) {
    const char kind = *s++;
    int        n    = 0;
    for (; *s && *s != ' ' && n < MAX_POINTS; s += 2, ++n) p[n][0] = digit(s[0]), p[n][1] = digit(s[1]);
    if (*s == ' ') ++s;
    add_stroke(o, kind, n, p);
  }
}

static double distance_squared(const double a[2], const double b[2], double x, double y)
{
  const double dx = b[0] - a[0], dy = b[1] - a[1], px = x - a[0], py = y - a[1], length = dx * dx + dy * dy;
  const double t = length > 0.0 ? fmin(fmax((px * dx + py * dy) / length, 0.0), 1.0) : 0.0;
  return (px - t * dx) * (px - t * dx) + (py - t * dy) * (py - t * dy);
}

static void draw_outline(int width, int height, uint8_t *rgb, double x, double y, double unit, const uint8_t colour[3], const outline *o)
{
  const double half = fmax(0.5 * STROKE * unit, 0.45), reach = half + 1.0;
  const int    x0 = (int)fmax(floor(x - reach), 0), x1 = (int)fmin(ceil(x + o->right * unit + reach), width - 1);
  const int    y0 = (int)fmax(floor(y - 15 * unit - reach), 0), y1 = (int)fmin(ceil(y + 5 * unit + reach), height - 1);
  for (int py = y0; py <= y1; ++py)
    for (int px = x0; px <= x1; ++px) {
      const double u = (px + 0.5 - x) / unit, v = BASELINE - (py + 0.5 - y) / unit;
      double       d2 = 1e30;
      for (int i = 0; i < o->n; ++i) d2 = fmin(d2, distance_squared(o->x[i][0], o->x[i][1], u, v));
      const double cover = fmin(fmax(half + 0.5 - sqrt(d2) * unit, 0.0), 1.0);
      uint8_t     *pixel = rgb + 3 * ((size_t)py * (size_t)width + (size_t)px);
      for (int k = 0; k < 3; ++k) pixel[k] = (uint8_t)lround(pixel[k] + cover * (colour[k] - pixel[k]));
    }
}

static bool is_continuation(unsigned char c) { return (c & 0xc0) == 0x80; }

void picture_text_draw(int width, int height, uint8_t *rgb, double x, double y, double size, const uint8_t colour[3], const char *text)
{
  const double unit = size / (CAPITAL - BASELINE);
  for (; *text; ++text) {
    outline o;
    if (is_continuation((unsigned char)*text)) continue;
    glyph_outline((unsigned char)*text, &o);
    draw_outline(width, height, rgb, x, y, unit, colour, &o);
    x += (o.right + GAP) * unit;
  }
}

double picture_text_width(double size, const char *text)
{
  double width = 0.0;
  for (; *text; ++text) {
    outline o;
    if (is_continuation((unsigned char)*text)) continue;
    glyph_outline((unsigned char)*text, &o);
    width += (width > 0.0 ? GAP : 0.0) + o.right;
  }
  return width * size / (CAPITAL - BASELINE);
}

void picture_colour_map(double t, uint8_t rgb[3])
{
  /* the map at t = 0, 0.1, ..., 1; between them a Catmull-Rom spline */
  static const uint8_t knot[11][3] = {{68, 1, 84},    {72, 36, 117},  {65, 68, 135},  {53, 95, 141},  {42, 120, 142}, {33, 145, 140},
                                      {34, 168, 132}, {68, 191, 112}, {122, 209, 81}, {189, 223, 38}, {253, 231, 37}};
  if (isnan(t)) {
    memset(rgb, 128, 3);
    return;
  }
  const double s = 10.0 * fmin(fmax(t, 0.0), 1.0);
  const int    i = s >= 10.0 ? 9 : (int)s;
  const double u = s - i;
  for (int k = 0; k < 3; ++k) {
    const double b = knot[i][k], c = knot[i + 1][k];
    const double a = i > 0 ? knot[i - 1][k] : 2 * b - c, d = i < 9 ? knot[i + 2][k] : 2 * c - b;
    const double v = b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)));
    rgb[k]         = (uint8_t)lround(fmin(fmax(v, 0.0), 255.0));
  }
}
