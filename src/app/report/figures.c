/* Diagrams as SVG: in a page, or as a file with title and legend. */
#include "app/report/figures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "io/html.h"
#include "io/sealed_file.h"
#include "app/report/page.h"

enum { MAX_KEYS = 20 };

typedef struct {
  char label[96];
  int  colour;
  bool is_point, is_thin;
} legend_key;

typedef struct {
  const char *section;
  char        title[160];
  int         plot, n_keys, width, height;
  legend_key  key[MAX_KEYS];
} figure;

struct figures {
  plot_sheet *sheet;
  int64_t     n, capacity;
  figure     *figure;
  plot_axes   axes;
  bool        is_open; /* begun on the sheet, with its first curve */
  char        x_label[160], y_label[160];
};

PetscErrorCode figures_create(figures **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("figures", 1, sizeof **out, out));
  PetscCall(plot_sheet_create(&(*out)->sheet));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void figures_destroy(figures **f)
{
  if (!*f) return;
  plot_sheet_destroy(&(*f)->sheet);
  MEMORY_FREE(&(*f)->figure, f);
}

PetscErrorCode figures_begin(figures *f, const char *section, const char *title, const plot_axes *axes)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("figures", f->n + 1, sizeof *f->figure, &f->capacity, &f->figure));
  figure *g = &f->figure[f->n];
  memset(g, 0, sizeof *g);
  g->section = section;
  snprintf(g->title, sizeof g->title, "%s", title);
  g->width = axes->width ? axes->width : 420, g->height = axes->height ? axes->height : 225;
  f->axes = *axes;
  snprintf(f->x_label, sizeof f->x_label, "%s", axes->x_label ? axes->x_label : "");
  snprintf(f->y_label, sizeof f->y_label, "%s", axes->y_label ? axes->y_label : "");
  f->axes.x_label = f->x_label, f->axes.y_label = f->y_label;
  f->is_open = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool can_show(const figures *f, double x, double y)
{
  return isfinite(x) && isfinite(y) && !(f->axes.is_log_x && !(x > 0)) && !(f->axes.is_log_y && !(y > 0));
}

static void put_series(figures *f, plot_style style, int colour, int64_t n, const double *x, const double *y)
{
  if (!f->is_open) {
    plot_sheet_begin(f->sheet, &f->axes);
    f->is_open = true;
  }
  plot_sheet_series(f->sheet, style, colour, n, x, y);
}

PetscErrorCode figures_curve(figures *f, const char *label, plot_style style, int colour, int64_t n, const double *x, const double *y)
{
  figure *g       = &f->figure[f->n];
  int64_t n_shown = 0, n_alone = 0;
  double *v __attribute__((cleanup(memory_free))) = NULL, *alone __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  if (style == PLOT_CROSSES) {
    if (n > 0 && f->is_open) plot_sheet_series(f->sheet, style, colour, n, x, y);
    n_shown = f->is_open ? n : 0;
  } else {
    PetscCall(MEMORY_ALLOC("curve", ARRAY(v, n), ARRAY(alone, n)));
    for (int64_t i = 0; i < n; ++i) v[i] = can_show(f, x[i], y[i]) ? y[i] : NAN, n_shown += !isnan(v[i]);
    for (int64_t i = 0; i < n; ++i) {
      const bool is_alone = !isnan(v[i]) && (i == 0 || isnan(v[i - 1])) && (i + 1 == n || isnan(v[i + 1]));
      alone[i]            = is_alone ? v[i] : NAN;
      n_alone += is_alone;
    }
    if (n_shown > 0) put_series(f, style, colour, n, x, v);
    if (n_alone > 0 && (style == PLOT_LINE || style == PLOT_THIN)) put_series(f, PLOT_POINTS, colour, n, x, alone);
  }
  if (n_shown > 0 && label && g->n_keys < MAX_KEYS) {
    legend_key *k = &g->key[g->n_keys++];
    snprintf(k->label, sizeof k->label, "%s", label);
    k->colour   = colour;
    k->is_point = style == PLOT_POINTS || style == PLOT_CROSSES;
    k->is_thin  = style == PLOT_THIN;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void figures_bar_width(figures *f, double width) { plot_sheet_bar_width(f->sheet, width); }

PetscErrorCode figures_end(figures *f)
{
  PetscFunctionBegin;
  if (f->is_open) PetscCall(plot_sheet_end(f->sheet, &f->figure[f->n++].plot));
  f->is_open = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode figures_draw(figures *f) { return plot_sheet_draw(f->sheet); }

int figures_count(const figures *f, const char *section)
{
  int count = 0;
  for (int64_t i = 0; i < f->n; ++i) count += strcmp(f->figure[i].section, section) == 0;
  return count;
}

static PetscErrorCode put_figure(figures *f, const figure *g, text_buffer *page)
{
  const char *svg;
  PetscFunctionBegin;
  html_put(page, "<figure>\n<figcaption><b>%s</b>", g->title);
  for (int i = 0; i < g->n_keys; ++i)
    html_put(page, " <span class=\"key\"><i class=\"%s\" style=\"background:var(--c%d)\"></i>%s</span>",
             g->key[i].is_point ? "dot" : "line", g->key[i].colour, g->key[i].label);
  html_put(page, "</figcaption>\n");
  PetscCall(plot_sheet_svg(f->sheet, g->plot, g->title, &svg));
  html_put_markup(page, svg);
  html_put(page, "\n</figure>\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode figures_put(figures *f, const char *section, text_buffer *page)
{
  PetscFunctionBegin;
  html_put(page, "<div class=\"figures\">\n");
  for (int64_t i = 0; i < f->n; ++i)
    if (strcmp(f->figure[i].section, section) == 0) PetscCall(put_figure(f, &f->figure[i], page));
  html_put(page, "</div>\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- SVG files ----------------------------------------------------------------------------------------------- */

/* Replaces the variables of the style sheet by colours, because many SVG programs do not support variables. */
static void put_coloured(text_buffer *b, const char *svg)
{
  char hex[8];
  while (*svg) {
    const size_t n = strcspn(svg, "vc");
    text_append(b, svg, (int64_t)n);
    svg += n;
    if (!strncmp(svg, "var(--c", 7)) {
      page_colour((int)strtol(svg + 7, NULL, 10), hex);
      text_printf(b, "%s", hex);
      svg += strcspn(svg, ")") + 1;
    } else if (!strncmp(svg, "currentColor", 12)) {
      page_colour(5, hex);
      text_printf(b, "%s", hex);
      svg += 12;
    } else if (*svg) text_append(b, svg++, 1);
  }
}

/* The legend below the diagram, three entries per line. */
static void put_keys(const figure *g, text_buffer *b)
{
  char hex[8];
  for (int i = 0; i < g->n_keys; ++i) {
    const int    column = i % 3, line = i / 3;
    const double x = 12.0 + column * (g->width - 20.0) / 3.0, y = 44.0 + g->height + 20.0 * line;
    page_colour(g->key[i].colour, hex);
    if (g->key[i].is_point) html_put(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>", x + 11, y - 4, hex);
    else html_put(b, "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"%d\"/>", x, y - 4, hex, g->key[i].is_thin ? 1 : 3);
    html_put(b, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 28, y, g->key[i].label);
  }
}

static PetscErrorCode put_alone(figures *f, const figure *g, text_buffer *b)
{
  const int   height = g->height + 40 + 20 * ((g->n_keys + 2) / 3);
  const char *svg;
  PetscFunctionBegin;
  PetscCall(plot_sheet_svg(f->sheet, g->plot, g->title, &svg));
  html_put(b,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\" font-size=\"12\" fill=\"#1c2226\">\n",
           g->width, height, g->width, height);
  html_put(b, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n<text x=\"12\" y=\"18\" font-weight=\"bold\">%s</text>\n", g->width,
           height, g->title);
  html_put(b, "<svg y=\"24\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", g->width, g->height, g->width, g->height);
  put_coloured(b, svg);
  html_put(b, "\n</svg>\n");
  put_keys(g, b);
  html_put(b, "</svg>\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode figures_write_svg(figures *f, const char *section, const char *path)
{
  text_buffer b = {0};
  int64_t     i = 0;
  PetscFunctionBegin;
  while (i < f->n && strcmp(f->figure[i].section, section)) ++i;
  PetscCheck(i < f->n, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "%s: the diagram has no curves", path);
  PetscCall(put_alone(f, &f->figure[i], &b));
  PetscCall(file_replace_with(path, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
