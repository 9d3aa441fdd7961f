/* Diagrams drawn by gnuplot, see plot_sheet.h. */
#include "io/plot_sheet.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/memory.h"
#include "core/text.h"
#include "io/html.h"

extern char **environ;

struct plot_sheet {
  text_buffer script, crosses, series; /* crosses, series: of the diagram that is open */
  int         n_plots, n_series, n_blocks, n_crosses;
  double      bar_width, x_min, x_max; /* of the diagram that is open, as is: */
  bool        has_marks, is_log_x;
  char       *drawing; /* output of gnuplot: one <svg> after the other */
  size_t      n_drawing;
  text_buffer svg;
};

PetscErrorCode plot_sheet_create(plot_sheet **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("diagrams", 1, sizeof **out, out));
  /* Texts are tables of the page: small letters, no ornaments. */
  text_printf(&(*out)->script, "set encoding utf8\nset border 1 lw 0.8\nunset key\nset tics scale 0.3\nset xtics out nomirror "
                               "offset 0,0.3\nset ytics nomirror scale 0\n"
                               "set grid ytics lt 1 dt 1 lw 0.6 lc rgb '#010100'\nset samples 2\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

void plot_sheet_destroy(plot_sheet **s)
{
  if (!*s) return;
  text_clear(&(*s)->script);
  text_clear(&(*s)->crosses);
  text_clear(&(*s)->series);
  text_clear(&(*s)->svg);
  MEMORY_FREE(&(*s)->drawing, s);
}

/* 'text' in gnuplot's single quotes, in which nothing but the quote means anything. */
static void put_quoted(text_buffer *b, const char *text)
{
  text_put(b, "'");
  for (const char *c = text; *c; ++c) text_append(b, *c == '\'' ? "''" : (unsigned char)*c < ' ' ? " " : c, *c == '\'' ? 2 : 1);
  text_put(b, "'");
}

static void put_axis(text_buffer *b, char axis, const char *label, bool is_log)
{
  text_printf(b, is_log ? "set logscale %c\nset format %c '10^{%%T}'\n" : "unset logscale %c\nset format %c '%%h'\n", axis, axis);
  text_printf(b, "set %clabel ", axis);
  put_quoted(b, label ? label : "");
  text_printf(b, " noenhanced offset %s\n", axis == 'x' ? "0,0.6" : "0.4,0");
}

void plot_sheet_begin(plot_sheet *s, const plot_axes *axes)
{
  text_buffer *b = &s->script;
  SS_ASSERT(s->n_series == 0);
  text_printf(b, "set term svg size %d,%d dynamic enhanced font 'sans-serif,12'\n", axes->width ? axes->width : 420,
              axes->height ? axes->height : 225);
  put_axis(b, 'x', axes->x_label, axes->is_log_x);
  put_axis(b, 'y', axes->y_label, axes->is_log_y);
  text_printf(b, "set yrange [%s:]\n", axes->has_zero ? "0" : "*");
  s->series.n = s->crosses.n = 0;
  s->x_min = INFINITY, s->x_max = -INFINITY;
  s->has_marks = false;
  s->is_log_x  = axes->is_log_x;
  s->n_crosses = 0;
}

void plot_sheet_bar_width(plot_sheet *s, double width) { s->bar_width = width; }

static void put_crosses(plot_sheet *s, int colour, int64_t n, const double *x)
{
  for (int64_t i = 0; i < n; ++i)
    text_printf(&s->crosses, "set label %d '' at %.9g, graph 0.03 point pt 2 ps 0.8 lw 1.5 lc rgb '#0101%02x'\n", ++s->n_crosses, x[i],
                colour);
}

void plot_sheet_series(plot_sheet *s, plot_style style, int colour, int64_t n, const double *x, const double *y)
{
  static const char *const how[] = {[PLOT_LINE]        = "lines lw 1.6",
                                    [PLOT_THIN]        = "lines lw 1",
                                    [PLOT_POINTS]      = "points pt 7 ps 0.45",
                                    [PLOT_LINE_POINTS] = "linespoints lw 1.6 pt 7 ps 0.45",
                                    [PLOT_BARS]        = "boxes fs solid noborder"};
  for (int64_t i = 0; i < n; ++i)
    if (isfinite(x[i])) s->x_min = fmin(s->x_min, x[i]), s->x_max = fmax(s->x_max, x[i]);
  s->has_marks |= style == PLOT_POINTS || style == PLOT_LINE_POINTS || style == PLOT_CROSSES;
  if (style == PLOT_CROSSES) {
    put_crosses(s, colour, n, x);
    return;
  }
  text_printf(&s->script, "$d%d << EOD\n", s->n_blocks);
  for (int64_t i = 0; i < n; ++i) {
    if (isfinite(x[i]) && isfinite(y[i])) text_printf(&s->script, "%.9g %.9g\n", x[i], y[i]);
    else text_printf(&s->script, "\n");
  }
  text_printf(&s->script, "EOD\n");
  text_printf(&s->series, "%s $d%d using 1:2 with %s lc rgb '#0101%02x'", s->n_series ? "," : "plot", s->n_blocks, how[style], colour);
  ++s->n_series;
  ++s->n_blocks;
}

/* Range from the first to the last value, crosses included; marks and bars keep a distance from the ends. */
static void put_range(plot_sheet *s)
{
  double lo = s->x_min, hi = s->x_max;
  if (s->bar_width > 0) lo -= 0.55 * s->bar_width, hi += 0.55 * s->bar_width;
  if (s->has_marks && s->is_log_x && lo > 0 && hi > lo) {
    const double factor = pow(hi / lo, 0.03);
    lo /= factor, hi *= factor;
  } else if (s->has_marks) {
    const double margin = 0.03 * (hi - lo);
    lo -= margin, hi += margin;
  }
  if (lo < hi) text_printf(&s->script, "set xrange [%.9g:%.9g]\n", lo, hi);
  else text_printf(&s->script, "set xrange [*:*]\n");
}

PetscErrorCode plot_sheet_end(plot_sheet *s, int *index)
{
  PetscFunctionBegin;
  PetscCheck(s->n_series > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "a diagram without a series");
  put_range(s);
  if (s->bar_width > 0) text_printf(&s->script, "set boxwidth %.9g\n", s->bar_width);
  s->bar_width = 0;
  text_put(&s->script, "unset label\n");
  text_join(&s->script, &s->crosses);
  text_join(&s->script, &s->series);
  text_put(&s->script, "\n");
  for (int i = s->n_blocks - s->n_series; i < s->n_blocks; ++i) text_printf(&s->script, "undefine $d%d\n", i);
  s->n_series = 0;
  *index      = s->n_plots++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- drawing ---------------------------------------------------------------------------------------------------------- */

bool plot_sheet_is_possible(void)
{
  const char *path = getenv("PATH");
  char        file[4096];
  while (path && *path) {
    const int n = (int)strcspn(path, ":");
    snprintf(file, sizeof file, "%.*s/gnuplot", n, path);
    if (access(file, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

static PetscErrorCode read_all(FILE *in, char **text, size_t *n)
{
  PetscFunctionBegin;
  PetscCheck(!fseeko(in, 0, SEEK_END), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read what gnuplot wrote: %s", strerror(errno));
  *n = (size_t)ftello(in);
  rewind(in);
  PetscCall(memory_alloc("drawing", (int64_t)*n + 1, 1, text));
  PetscCheck(fread(*text, 1, *n, in) == *n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read what gnuplot wrote: %s", strerror(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The standard streams are unnamed files, so that neither process waits for the other. *status: as of waitpid; -1: it could not
 * be started. */
static void run_gnuplot(FILE *in, FILE *out, FILE *err, int *status)
{
  char                       name[] = "gnuplot", plain[] = "--default-settings";
  char                      *arguments[] = {name, plain, NULL};
  posix_spawn_file_actions_t files;
  pid_t                      child;
  *status = -1;
  if (posix_spawn_file_actions_init(&files)) return;
  bool good = !posix_spawn_file_actions_adddup2(&files, fileno(in), 0) && !posix_spawn_file_actions_adddup2(&files, fileno(out), 1) &&
              !posix_spawn_file_actions_adddup2(&files, fileno(err), 2);
  good = good && !posix_spawnp(&child, name, &files, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (!good) return;
  while (waitpid(child, status, 0) < 0)
    if (errno != EINTR) {
      *status = -1;
      return;
    }
}

static PetscErrorCode draw_with(plot_sheet *s, FILE *in, FILE *out, FILE *err)
{
  int    status;
  char  *words __attribute__((cleanup(memory_free))) = NULL;
  size_t n_words;
  PetscFunctionBegin;
  PetscCall(s->script.code);
  PetscCheck(in && out && err && fwrite(s->script.data, 1, (size_t)s->script.n, in) == (size_t)s->script.n && !fflush(in) &&
                 !fseeko(in, 0, SEEK_SET),
             PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write the input of gnuplot to a temporary file: %s", strerror(errno));
  run_gnuplot(in, out, err, &status);
  PetscCall(read_all(err, &words, &n_words));
  PetscCheck(status == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "gnuplot failed (status %d): %.300s", status, words);
  PetscCall(read_all(out, &s->drawing, &s->n_drawing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode plot_sheet_draw(plot_sheet *s)
{
  PetscFunctionBegin;
  if (s->n_plots == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(plot_sheet_is_possible(), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
             "diagrams require gnuplot, which is not on the PATH; install it: apt-get install --no-install-recommends gnuplot-nox");
  FILE                *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
  const PetscErrorCode code = draw_with(s, in, out, err);
  if (in) fclose(in);
  if (out) fclose(out);
  if (err) fclose(err);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode plot_sheet_svg(plot_sheet *s, int index, const char *label, const char **svg)
{
  char        prefix[32];
  const char *begin = s->drawing, *end = NULL;
  PetscFunctionBegin;
  for (int i = 0; begin && i <= index; ++i) {
    begin = strstr(i ? end : begin, "<svg");
    end   = begin ? strstr(begin, "</svg>") : NULL;
    if (!end) begin = NULL;
    else end += 6;
  }
  PetscCheck(begin, PETSC_COMM_SELF, PETSC_ERR_LIB, "gnuplot did not draw diagram %d of %d", index + 1, s->n_plots);
  snprintf(prefix, sizeof prefix, "d%d-", index);
  s->svg.n = 0;
  PetscCall(svg_prepare_for_page(begin, (size_t)(end - begin), prefix, label, &s->svg));
  PetscCall(s->svg.code);
  *svg = s->svg.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Where the element that begins at s ends, if it has no elements in it: after its /> or </NAME>; NULL if it has some. */
static const char *end_of_simple(const char *s)
{
  const char *close = strchr(s, '>');
  if (!close) return NULL;
  if (close[-1] == '/') return close + 1;
  const char *next = strchr(close + 1, '<');
  if (!next || next[1] != '/') return NULL;
  close = strchr(next, '>');
  return close ? close + 1 : NULL;
}

/* A group with nothing but space in it. */
static const char *end_of_empty_group(const char *s)
{
  if (!begins(s, "<g ")) return NULL;
  const char *at = strchr(s, '>');
  if (!at || at[-1] == '/') return NULL;
  for (++at; isspace((unsigned char)*at);) ++at;
  return begins(at, "</g>") ? at + 4 : NULL;
}

/* A mark (gpPt0, gpDot) or filter of the list of definitions that nothing refers to. */
static const char *end_of_unused(const char *s, const char *whole)
{
  const char *close = s + strcspn(s, ">"), *id = s;
  char        reference[64];
  if (begins(s, "<filter ")) {
    const char *end = strstr(s, "</filter>");
    return end ? end + 9 : NULL;
  }
  while (id < close && !begins(id, " id='gp")) ++id;
  if (id == close) return NULL;
  id += 5;
  const size_t length = strcspn(id, "'");
  if (length + 3 > sizeof reference) return NULL;
  snprintf(reference, sizeof reference, "#%.*s'", (int)length, id);
  return strstr(whole, reference) ? NULL : end_of_simple(s);
}

/* End of a part of gnuplot's output that the page does not need, or NULL. */
static const char *end_of_waste(const char *s, const char *whole)
{
  if (begins(s, "<title>") || begins(s, "<desc>")) return end_of_simple(s);
  const char *end = end_of_empty_group(s);
  return end ? end : end_of_unused(s, whole);
}

/* The colour in quotes at s, as the page names it. */
static void put_colour(text_buffer *out, const char *value, size_t length)
{
  int  red, green, blue;
  char text[40];
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, value, length);
  text[length] = '\0';
  if (strcmp(text, "black") == 0) text_printf(out, "currentColor");
  else if (strcmp(text, "white") == 0) text_printf(out, "none");
  else if (sscanf(text, "rgb(%d,%d,%d)", &red, &green, &blue) == 3 && red == 1 && green == 1) text_printf(out, "var(--c%d)", blue);
  else text_append(out, text, (int64_t)length);
}

static bool is_named(const char *s, size_t length, const char *name) { return strlen(name) == length && strncmp(s, name, length) == 0; }

/* One attribute, NAME=QUOTE value QUOTE, perhaps with spaces around the =, at s: its end in *end. */
static PetscErrorCode put_attribute(text_buffer *out, const char *s, const char *prefix, bool is_group, const char **end)
{
  const size_t name  = strcspn(s, " =");
  const char  *at    = s + name + strspn(s + name, " =");
  const char   quote = *at == '"' || *at == '\'' ? *at : '\0', *value = at + (quote != '\0');
  const size_t length = strcspn(value, quote == '"' ? "\"" : quote ? "'" : " >");
  const bool   is_id = is_named(s, name, "id"), is_reference = is_named(s, name, "xlink:href") && *value == '#';
  PetscFunctionBegin;
  PetscCheck(quote && value[length], PETSC_COMM_SELF, PETSC_ERR_LIB, "gnuplot drew nothing that could be read");
  *end = value + length + 1;
  if (is_named(s, name, "font-family") || (is_group && is_named(s, name, "color"))) PetscFunctionReturn(PETSC_SUCCESS);
  text_printf(out, " ");
  if (is_reference) text_printf(out, "href=%c#%s%.*s%c", quote, prefix, (int)length - 1, value + 1, quote);
  else if (is_id) text_printf(out, "id=%c%s%.*s%c", quote, prefix, (int)length, value, quote);
  else if (length > 5 && begins(value, "url(#"))
    text_printf(out, "%.*s=%curl(#%s%.*s%c", (int)name, s, quote, prefix, (int)length - 5, value + 5, quote);
  else if (is_named(s, name, "stroke") || is_named(s, name, "fill") || is_named(s, name, "color")) {
    text_printf(out, "%.*s=%c", (int)name, s, quote);
    put_colour(out, value, length);
    text_append(out, &quote, 1);
  } else text_printf(out, "%.*s=%.*s", (int)name, s, (int)(*end - at), at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tag with its attributes, from < to >. */
static PetscErrorCode put_tag(text_buffer *out, const char *s, const char *prefix, const char **end)
{
  const bool is_group = begins(s, "<g ");
  size_t     n        = strcspn(s, " \t\n>");
  PetscFunctionBegin;
  if (n > 1 && s[n - 1] == '/') --n; /* <x/> */
  text_append(out, s, (int64_t)n);
  for (s += n; *s && *s != '>';) {
    if (isspace((unsigned char)*s)) ++s;
    else if (*s == '/') text_append(out, s++, 1);
    else if (s[strcspn(s, "=>")] == '=') PetscCall(put_attribute(out, s, prefix, is_group, &s));
    else break;
  }
  *end = *s ? s + 1 : s;
  text_put(out, ">");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_content(text_buffer *out, const char *s, const char *whole, const char *prefix)
{
  PetscFunctionBegin;
  while (*s) {
    const char  *waste = *s == '<' ? end_of_waste(s, whole) : NULL;
    const size_t space = strspn(s, " \t\n\r");
    if (waste) s = waste + strspn(waste, " \t\n\r");
    else if (*s == '<') PetscCall(put_tag(out, s, prefix, &s));
    else if (space > 1 || (space == 1 && *s != ' ')) {
      text_put(out, "\n");
      s += space;
    } else {
      const size_t n = 1 + strcspn(s + 1, "< \t\n\r");
      text_append(out, s, (int64_t)n);
      s += n;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode svg_prepare_for_page(const char *text, size_t n, const char *prefix, const char *label, text_buffer *out)
{
  char *copy __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("drawing", (int64_t)n + 1, 1, &copy));
  memcpy(copy, text, n);
  const char *root = strstr(copy, "<svg"), *box = root ? strstr(root, "viewBox=\"") : NULL, *content = root ? strchr(root, '>') : NULL;
  PetscCheck(root && content && box && box < content && strstr(content, "</svg>"), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "gnuplot drew nothing that could be read");
  html_put(out, "<svg class=\"plot\" role=\"img\" aria-label=\"%s\" ", label);
  text_printf(out, "%.*s\" xmlns=\"http://www.w3.org/2000/svg\">", (int)(9 + strcspn(box + 9, "\"")), box);
  PetscCall(put_content(out, content + 1, copy, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}
