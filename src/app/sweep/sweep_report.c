/* The data of all cases (sweep_view), diagrams, coloured tables and the page. Diagrams show each measure against each numeric
 * parameter that varies: lines for cases that differ only in that parameter (through the mean of repetitions), otherwise points.
 * Colours show a second parameter, small multiples a third. */
#include "app/sweep/sweep_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "io/html.h"
#include "io/picture_text.h"
#include "io/sealed_file.h"
#include "app/report/figures.h"
#include "app/report/page.h"
#include "app/sweep/sweep_results.h"

/* --- parameters and measures of all cases ------------------------------------------------------------------------- */

typedef struct {
  const char  *name;
  bool         is_numeric; /* all values are numbers */
  bool         is_repeat;  /* the parameter `repeat`: same case with a different seed */
  int          n_levels;   /* number of different values */
  const char **text;       /* [n_levels] text of each value; sorted by number if numeric, otherwise alphabetically */
  double      *number;     /* [n_levels] if numeric */
  int         *level;      /* [n_cases] level of each case */
} sweep_parameter;

typedef struct {
  const char *name, *unit;
  double     *value; /* [n_cases] last value; NaN unless the case has finished */
} sweep_measure;

typedef struct {
  sweep_results   *results;
  int64_t          n_cases;
  int              n_parameters, n_varied, n_measures; /* varied parameters come first */
  sweep_parameter *parameter;
  sweep_measure   *measure;
  double          *seconds; /* [n_cases] wall time; NaN without a result */
} sweep_view;

static void sweep_view_destroy(sweep_view **v);

/* --- parameters ------------------------------------------------------------------------------------------------------- */

static bool parse_number(const char *text, double *x)
{
  char *end;
  *x = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*x);
}

typedef struct {
  double      number;
  const char *text;
  int64_t     i_case;
} level_entry;

static int by_number(const void *a, const void *b)
{
  const level_entry *p = a, *q = b;
  if (p->number != q->number) return p->number < q->number ? -1 : 1;
  return (p->i_case > q->i_case) - (p->i_case < q->i_case);
}

static int by_text(const void *a, const void *b)
{
  const level_entry *p = a, *q = b;
  const int          order = strcmp(p->text, q->text);
  return order ? order : (p->i_case > q->i_case) - (p->i_case < q->i_case);
}

/* Makes levels of sorted entries; equal entries share a level. */
static void levels_of_sorted(sweep_parameter *p, int64_t n, const level_entry *entry)
{
  for (int64_t i = 0; i < n; ++i) {
    const bool is_new = i == 0 || (p->is_numeric ? entry[i].number != entry[i - 1].number : strcmp(entry[i].text, entry[i - 1].text) != 0);
    if (is_new) {
      p->text[p->n_levels]     = entry[i].text;
      p->number[p->n_levels++] = entry[i].number;
    }
    p->level[entry[i].i_case] = p->n_levels - 1;
  }
}

static PetscErrorCode read_parameter(sweep_view *v, int k)
{
  sweep_parameter  *p                                           = &v->parameter[k];
  const sweep_plan *plan                                        = v->results->plan;
  level_entry      *entry __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  p->name       = plan->parameter[k];
  p->is_numeric = true;
  p->is_repeat  = k < plan->n_varied && strcmp(p->name, "repeat") == 0;
  PetscCall(MEMORY_ALLOC("sweep levels", ARRAY(entry, v->n_cases), ARRAY(p->text, v->n_cases), ARRAY(p->number, v->n_cases),
                         ARRAY(p->level, v->n_cases)));
  for (int64_t i = 0; i < v->n_cases; ++i) {
    entry[i] = (level_entry){0.0, plan->cases[i].value[k], i};
    p->is_numeric &= parse_number(entry[i].text, &entry[i].number);
  }
  qsort(entry, (size_t)v->n_cases, sizeof *entry, p->is_numeric ? by_number : by_text);
  levels_of_sorted(p, v->n_cases, entry);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- measures --------------------------------------------------------------------------------------------------------- */

static int find_measure(const sweep_view *v, const char *name)
{
  int k = 0;
  while (k < v->n_measures && strcmp(v->measure[k].name, name) != 0) ++k;
  return k;
}

static PetscErrorCode read_measures(sweep_view *v)
{
  int64_t capacity = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < v->n_cases; ++i) {
    const run_result *r = v->results->result[i];
    v->seconds[i]       = r ? r->seconds : NAN;
    for (int m = 0; r && m < r->measures.n; ++m) {
      const run_result_measure *value = r->measures.item[m].value;
      const int                 k     = find_measure(v, r->measures.item[m].name);
      if (k == v->n_measures) {
        PetscCall(memory_reserve("sweep measures", k + 1, sizeof *v->measure, &capacity, &v->measure));
        v->measure[k] = (sweep_measure){r->measures.item[m].name, value->unit ? value->unit : "", NULL};
        ++v->n_measures;
        PetscCall(memory_alloc("sweep measures", v->n_cases, sizeof(double), &v->measure[k].value));
        for (int64_t j = 0; j < v->n_cases; ++j) v->measure[k].value[j] = NAN;
      }
      if (v->results->state[i] == CASE_FINISHED) v->measure[k].value[i] = value->last;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_view(const char *dir, sweep_view *v)
{
  PetscFunctionBegin;
  PetscCall(sweep_results_read(dir, &v->results));
  v->n_cases      = v->results->plan->n_cases;
  v->n_parameters = v->results->plan->n_parameters;
  v->n_varied     = v->results->plan->n_varied;
  PetscCall(memory_alloc("sweep parameters", v->n_parameters, sizeof *v->parameter, &v->parameter));
  for (int k = 0; k < v->n_parameters; ++k) PetscCall(read_parameter(v, k));
  PetscCall(memory_alloc("sweep seconds", v->n_cases, sizeof *v->seconds, &v->seconds));
  PetscCall(read_measures(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sweep_view_create(const char *dir, sweep_view **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("sweep view", 1, sizeof **out, out));
  const PetscErrorCode code = read_view(dir, *out);
  if (code) sweep_view_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sweep_view_destroy(sweep_view **v)
{
  if (!*v) return;
  for (int k = 0; (*v)->parameter && k < (*v)->n_parameters; ++k) {
    MEMORY_FREE(&(*v)->parameter[k].text, &(*v)->parameter[k].number, &(*v)->parameter[k].level);
  }
  for (int k = 0; k < (*v)->n_measures; ++k) memory_free(&(*v)->measure[k].value);
  MEMORY_FREE(&(*v)->parameter, &(*v)->measure, &(*v)->seconds);
  sweep_results_destroy(&(*v)->results);
  memory_free(v);
}

/* --- groups ----------------------------------------------------------------------------------------------------------- */

/* For sorting cases by their other parameters; equal cases form a group. */
typedef struct {
  const sweep_view *view;
  int64_t           i_case;
  int               parameter, other;
} group_entry;

static int by_others(const void *a, const void *b)
{
  const group_entry *p = a, *q = b;
  for (int k = 0; k < p->view->n_varied; ++k) {
    const sweep_parameter *x = &p->view->parameter[k];
    if (k == p->parameter || k == p->other || x->is_repeat) continue;
    if (x->level[p->i_case] != x->level[q->i_case]) return x->level[p->i_case] < x->level[q->i_case] ? -1 : 1;
  }
  return 0;
}

/* Groups cases that differ only in `parameter`, in `other` (-1: none) and in repetitions. group [n_cases]; groups are in the
 * order of their levels. */
static PetscErrorCode sweep_view_groups(const sweep_view *v, int parameter, int other, int *n_groups, int *group)
{
  group_entry *entry __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *n_groups = 0;
  PetscCall(memory_alloc("sweep groups", v->n_cases, sizeof *entry, &entry));
  for (int64_t i = 0; i < v->n_cases; ++i) entry[i] = (group_entry){v, i, parameter, other};
  qsort(entry, (size_t)v->n_cases, sizeof *entry, by_others);
  for (int64_t i = 0; i < v->n_cases; ++i) {
    if (i == 0 || by_others(&entry[i - 1], &entry[i]) != 0) ++*n_groups;
    group[entry[i].i_case] = *n_groups - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether an axis for these values should be logarithmic: all positive, over at least `decades`. */
static bool sweep_view_is_log(int64_t n, const double *x, double decades)
{
  double lo = INFINITY, hi = -INFINITY;
  for (int64_t i = 0; i < n; ++i)
    if (isfinite(x[i])) lo = fmin(lo, x[i]), hi = fmax(hi, x[i]);
  return lo > 0 && isfinite(hi) && log10(hi / lo) >= decades;
}

/* The text of a level: numbers with a few digits. */
static const char *sweep_level_text(const sweep_parameter *p, int level, size_t size, char *text)
{
  if (p->is_numeric) page_number(p->number[level], size, text);
  else snprintf(text, size, "%s", p->text[level]);
  return text;
}

/* --- diagrams ----------------------------------------------------------------------------------------------------- */

enum { MAX_COLOURS = 8, MAX_PANELS = 12, MAX_FIGURES = 120, N_BARS = 16 };

/* The colour of a level: on the ramp for numeric parameters. */
static int sweep_figures_colour(const sweep_parameter *p, int level)
{
  if (p->is_numeric && p->n_levels > 1) return FIGURE_RAMP + level * (FIGURE_RAMP_LENGTH - 1) / (p->n_levels - 1);
  return 1 + level % MAX_COLOURS;
}

/* A diagram of a measure against parameter `x`; parameters shown by colours and panels, -1: none. */
typedef struct {
  const sweep_view    *view;
  const sweep_measure *measure;
  int                  x, colour, panel, i_panel;
  bool                 has_lines;
  const int           *group;
  int                  n_groups;
  double              *px, *py; /* work arrays of curves: px [n_cases], py [2 n_cases] */
} diagram;

static bool is_in_panel(const diagram *p, int64_t i) { return p->panel < 0 || p->view->parameter[p->panel].level[i] == p->i_panel; }

static double get_x(const diagram *p, int64_t i)
{
  const sweep_parameter *x = &p->view->parameter[p->x];
  return x->number[x->level[i]];
}

/* The line of a group: mean over repetitions at each level of x that has values. Returns the number of points. */
static int64_t line_of_group(diagram *p, int group)
{
  const sweep_parameter *x     = &p->view->parameter[p->x];
  int64_t                n     = 0;
  double                *count = p->py + p->view->n_cases; /* second half of the array; see sweep_figures_add */
  for (int l = 0; l < x->n_levels; ++l) p->py[l] = count[l] = 0;
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (p->group[i] == group && is_in_panel(p, i) && isfinite(p->measure->value[i]))
      p->py[x->level[i]] += p->measure->value[i], ++count[x->level[i]];
  for (int l = 0; l < x->n_levels; ++l)
    if (count[l] > 0) p->py[n] = p->py[l] / count[l], p->px[n++] = x->number[l];
  return n;
}

static PetscErrorCode put_lines(diagram *p, figures *f)
{
  bool is_named[64] = {false};
  PetscFunctionBegin;
  for (int g = 0; g < p->n_groups; ++g) {
    int64_t first = 0;
    while (p->group[first] != g) ++first;
    if (!is_in_panel(p, first)) continue;
    const sweep_parameter *c     = p->colour >= 0 ? &p->view->parameter[p->colour] : NULL;
    const int              level = c ? c->level[first] : 0;
    char                   label[96], text[40];
    const int64_t          n = line_of_group(p, g);
    /* legend: all levels if they are few, otherwise the first and the last */
    const bool is_end    = c && (level == 0 || level == c->n_levels - 1),
               has_label = c && level < 64 && !is_named[level] && (c->n_levels <= MAX_COLOURS || is_end);
    if (c) snprintf(label, sizeof label, "%.40s = %s", c->name, sweep_level_text(c, level, sizeof text, text));
    PetscCall(figures_curve(f, has_label && n > 0 ? label : NULL, p->n_groups > 2 * MAX_COLOURS ? PLOT_THIN : PLOT_LINE_POINTS,
                            c ? sweep_figures_colour(c, level) : 1, n, p->px, p->py));
    if (has_label && n > 0) is_named[level] = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All cases with a level of the colour parameter. Returns their number. */
static int64_t points_of_level(diagram *p, int level)
{
  int64_t n = 0;
  for (int64_t i = 0; i < p->view->n_cases; ++i) {
    if (!is_in_panel(p, i) || !isfinite(p->measure->value[i]) || (p->colour >= 0 && p->view->parameter[p->colour].level[i] != level))
      continue;
    p->px[n] = get_x(p, i), p->py[n++] = p->measure->value[i];
  }
  return n;
}

static PetscErrorCode put_points(diagram *p, bool has_labels, figures *f)
{
  const sweep_parameter *c = p->colour >= 0 ? &p->view->parameter[p->colour] : NULL;
  PetscFunctionBegin;
  for (int level = 0; level < (c ? c->n_levels : 1); ++level) {
    char          label[96], text[40];
    const int64_t n = points_of_level(p, level);
    if (c) snprintf(label, sizeof label, "%.40s = %s", c->name, sweep_level_text(c, level, sizeof text, text));
    const bool is_shown = c && has_labels && (c->n_levels <= MAX_COLOURS || level == 0 || level == c->n_levels - 1);
    PetscCall(figures_curve(f, is_shown ? label : NULL, PLOT_POINTS, c ? sweep_figures_colour(c, level) : 1, n, p->px, p->py));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_failed_crosses(diagram *p, figures *f)
{
  int64_t n = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (is_in_panel(p, i) && p->view->results->state[i] == CASE_FAILED) p->px[n++] = get_x(p, i);
  if (n > 0) PetscCall(figures_curve(f, "failed", PLOT_CROSSES, FIGURE_FAILED, n, p->px, p->px));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_repeats(const sweep_view *v)
{
  for (int k = 0; k < v->n_varied; ++k)
    if (v->parameter[k].is_repeat && v->parameter[k].n_levels > 1) return true;
  return false;
}

static PetscErrorCode put_diagram(diagram *p, figures *f)
{
  const sweep_parameter *x = &p->view->parameter[p->x];
  char                   title[160], text[40];
  const plot_axes        axes = {.x_label  = x->name,
                                 .y_label  = p->measure->unit,
                                 .is_log_x = sweep_view_is_log(x->n_levels, x->number, 1.7),
                                 .is_log_y = sweep_view_is_log(p->view->n_cases, p->measure->value, 3)};
  PetscFunctionBegin;
  snprintf(title, sizeof title, "%s against %s", p->measure->name, x->name);
  if (p->panel >= 0)
    snprintf(title, sizeof title, "%s against %s, %s = %s", p->measure->name, x->name, p->view->parameter[p->panel].name,
             sweep_level_text(&p->view->parameter[p->panel], p->i_panel, sizeof text, text));
  PetscCall(figures_begin(f, p->measure->name, title, &axes));
  if (p->has_lines) PetscCall(put_lines(p, f));
  if (!p->has_lines || has_repeats(p->view)) PetscCall(put_points(p, !p->has_lines, f));
  PetscCall(put_failed_crosses(p, f));
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_empty_diagram(const diagram *p)
{
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (is_in_panel(p, i) && isfinite(p->measure->value[i])) return false;
  return true;
}

/* Adds the name of a diagram without finished cases to the notes. */
static void add_empty_note(const diagram *p, text_buffer *notes)
{
  const sweep_parameter *panel = p->panel >= 0 ? &p->view->parameter[p->panel] : NULL;
  char                   text[40];
  html_put(notes, "%s%s against %s", notes->n ? "; " : "", p->measure->name, p->view->parameter[p->x].name);
  if (panel) html_put(notes, " with %s = %s", panel->name, sweep_level_text(panel, p->i_panel, sizeof text, text));
}

/* The parameter other than x with the smallest number of levels, 2 to `most`; -1: none. */
static int find_fewest_levels(const sweep_view *v, int x, int not_this, int most)
{
  int best = -1;
  for (int k = 0; k < v->n_varied; ++k) {
    const sweep_parameter *p = &v->parameter[k];
    if (k == x || k == not_this || p->is_repeat || p->n_levels < 2 || p->n_levels > most) continue;
    if (best < 0 || p->n_levels < v->parameter[best].n_levels) best = k;
  }
  return best;
}

/* Uses lines if they have at least two cases on average. With lines, the parameter with the fewest levels selects panels and the
 * next one colours; with points, it selects colours. */
static PetscErrorCode plan_diagrams(diagram *p, int *group)
{
  PetscFunctionBegin;
  PetscCall(sweep_view_groups(p->view, p->x, -1, &p->n_groups, group));
  p->group     = group;
  p->has_lines = 2 * (int64_t)p->n_groups <= p->view->n_cases;
  p->panel     = -1;
  p->colour    = find_fewest_levels(p->view, p->x, -1, p->has_lines ? 64 : MAX_COLOURS);
  if (p->has_lines && p->colour >= 0) {
    const int next = find_fewest_levels(p->view, p->x, p->colour, 64);
    if (next >= 0 && p->view->parameter[p->colour].n_levels <= MAX_PANELS) p->panel = p->colour, p->colour = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_histogram(const sweep_view *v, figures *f)
{
  double lo = INFINITY, hi = -INFINITY, x[N_BARS], y[N_BARS] = {0};
  PetscFunctionBegin;
  for (int64_t i = 0; i < v->n_cases; ++i)
    if (v->results->state[i] == CASE_FINISHED && isfinite(v->seconds[i])) lo = fmin(lo, v->seconds[i]), hi = fmax(hi, v->seconds[i]);
  if (!(hi > lo)) PetscFunctionReturn(PETSC_SUCCESS);
  const double width = (hi - lo) / N_BARS;
  for (int b = 0; b < N_BARS; ++b) x[b] = lo + (b + 0.5) * width;
  for (int64_t i = 0; i < v->n_cases; ++i) {
    if (v->results->state[i] != CASE_FINISHED || !isfinite(v->seconds[i])) continue;
    const int b = (int)((v->seconds[i] - lo) / width);
    ++y[b < N_BARS ? b : N_BARS - 1];
  }
  PetscCall(figures_begin(f, "case time", "Finished cases by their time",
                          &(plot_axes){.x_label = "time [s]", .y_label = "cases", .has_zero = true}));
  PetscCall(figures_curve(f, NULL, PLOT_BARS, 1, N_BARS, x, y));
  figures_bar_width(f, 0.9 * width);
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the diagrams of all measures, in sections with the names of the measures, and the section "case time". *n_left_out:
 * number of diagrams beyond MAX_FIGURES. `notes`: HTML list of diagrams without finished cases. */
static PetscErrorCode sweep_figures_add(const sweep_view *v, figures *f, int *n_left_out, text_buffer *notes)
{
  int     n_figures                                   = 0;
  int    *group __attribute__((cleanup(memory_free))) = NULL;
  double *px __attribute__((cleanup(memory_free))) = NULL, *py __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *n_left_out = 0;
  PetscCall(MEMORY_ALLOC("sweep report", ARRAY(group, v->n_cases), ARRAY(px, v->n_cases)));
  PetscCall(memory_alloc("sweep curve", 2 * v->n_cases, sizeof *py, &py)); /* second half: counts of a line */
  for (int m = 0; m < v->n_measures; ++m)
    for (int k = 0; k < v->n_varied; ++k) {
      diagram p = {.view = v, .measure = &v->measure[m], .x = k, .px = px, .py = py};
      if (!v->parameter[k].is_numeric || v->parameter[k].is_repeat || v->parameter[k].n_levels < 2) continue;
      PetscCall(plan_diagrams(&p, group));
      for (p.i_panel = 0; p.i_panel < (p.panel >= 0 ? v->parameter[p.panel].n_levels : 1); ++p.i_panel) {
        if (is_empty_diagram(&p)) add_empty_note(&p, notes);
        else if (++n_figures > MAX_FIGURES) ++*n_left_out;
        else PetscCall(put_diagram(&p, f));
      }
    }
  PetscCall(put_histogram(v, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- coloured tables ---------------------------------------------------------------------------------------------- */

enum { MAX_SIDE = 20 };

/* Whether the sweep varies exactly two parameters with at most MAX_SIDE levels, on a mostly complete grid; if so, which. */
static bool sweep_heat_is_possible(const sweep_view *v, int *row, int *column)
{
  int n = 0, found[2] = {-1, -1};
  for (int k = 0; k < v->n_varied; ++k) {
    if (v->parameter[k].is_repeat || v->parameter[k].n_levels < 2) continue;
    if (n == 2 || v->parameter[k].n_levels > MAX_SIDE) return false;
    found[n++] = k;
  }
  *row = found[0], *column = found[1];
  return n == 2 && 2 * v->n_cases > (int64_t)v->parameter[found[0]].n_levels * v->parameter[found[1]].n_levels;
}

/* The cases of one cell; finished cases are averaged. */
typedef struct {
  double  sum;
  int64_t n, n_failed, n_other;
} cell;

static void gather_cells(const sweep_view *v, const sweep_measure *m, int row, int column, cell *cells)
{
  for (int64_t i = 0; i < v->n_cases; ++i) {
    cell *c = &cells[v->parameter[row].level[i] * v->parameter[column].n_levels + v->parameter[column].level[i]];
    if (isfinite(m->value[i])) c->sum += m->value[i], ++c->n;
    else if (v->results->state[i] == CASE_FAILED) ++c->n_failed;
    else ++c->n_other;
  }
}

static void put_heat_cell(const cell *c, double lo, double hi, text_buffer *page)
{
  uint8_t rgb[3];
  char    text[40];
  if (c->n == 0) {
    html_put(page, c->n_failed > 0  ? "<td class=\"failed\" title=\"failed\">\xc3\x97</td>"
                   : c->n_other > 0 ? "<td class=\"soft\" title=\"not finished\">\xc2\xb7</td>"
                                    : "<td></td>");
    return;
  }
  const double value = c->sum / (double)c->n;
  picture_colour_map(hi > lo ? (value - lo) / (hi - lo) : 0.5, rgb);
  const bool is_dark = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 125;
  snprintf(text, sizeof text, "%.3g", value);
  html_put(page, "<td style=\"background:rgb(%d,%d,%d);color:%s\">%s%s</td>", rgb[0], rgb[1], rgb[2], is_dark ? "#fff" : "#000", text,
           c->n_failed > 0 ? " \xc3\x97" : "");
}

static void put_table(const sweep_view *v, const sweep_measure *m, const cell *cells, text_buffer *page)
{
  int    row, column;
  char   text[60];
  double lo = INFINITY, hi = -INFINITY;
  (void)sweep_heat_is_possible(v, &row, &column);
  const sweep_parameter *r = &v->parameter[row], *k = &v->parameter[column];
  for (int i = 0; i < r->n_levels * k->n_levels; ++i)
    if (cells[i].n > 0) lo = fmin(lo, cells[i].sum / (double)cells[i].n), hi = fmax(hi, cells[i].sum / (double)cells[i].n);
  html_put(page, "<figure><figcaption><b>%s%s%s%s</b></figcaption><div class=\"scroll\"><table class=\"heat\">\n<tr><th>%s \\ %s</th>",
           m->name, *m->unit ? " [" : "", m->unit, *m->unit ? "]" : "", r->name, k->name);
  for (int j = 0; j < k->n_levels; ++j) html_put(page, "<th>%s</th>", sweep_level_text(k, j, sizeof text, text));
  html_put(page, "</tr>\n");
  for (int i = r->n_levels - 1; i >= 0; --i) { /* row axis upwards, as in a diagram */
    html_put(page, "<tr><th>%s</th>", sweep_level_text(r, i, sizeof text, text));
    for (int j = 0; j < k->n_levels; ++j) put_heat_cell(&cells[i * k->n_levels + j], lo, hi, page);
    html_put(page, "</tr>\n");
  }
  html_put(page, "</table></div></figure>\n");
}

/* Appends a table of two parameters whose cells are coloured by the measure. */
static PetscErrorCode sweep_heat_put(const sweep_view *v, const sweep_measure *m, text_buffer *page)
{
  int   row, column;
  cell *cells __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  if (!sweep_heat_is_possible(v, &row, &column)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("heat map", (int64_t)v->parameter[row].n_levels * v->parameter[column].n_levels, sizeof *cells, &cells));
  gather_cells(v, m, row, column, cells);
  put_table(v, m, cells, page);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

enum { MAX_ROWS = 2000, MAX_FAILED = 24, MAX_REASONS = 8 };

typedef struct {
  const char *dir;
  char       *base;
  sweep_view *view;
  figures    *figures;
  int         n_left_out;
  text_buffer page, notes;
} sweep_page;

static void sweep_page_destroy(sweep_page *p)
{
  memory_free(&p->base);
  sweep_view_destroy(&p->view);
  figures_destroy(&p->figures);
  text_clear(&p->page);
  text_clear(&p->notes);
}

static void put_sweep_head(sweep_page *p)
{
  const sweep_results *r = p->view->results;
  page_begin(&p->page, r->plan->name);
  html_put(&p->page, "<header>\n<h1>%s</h1>\n", r->plan->name);
  for (int s = CASE_FINISHED; s >= CASE_WAITING; --s)
    if (r->n_state[s] > 0)
      html_put(&p->page, "<span class=\"status %s\">%lld %s</span>\n", case_state_names[s], (long long)r->n_state[s], case_state_names[s]);
  int64_t n_bad = 0;
  for (int64_t i = 0; i < p->view->n_cases; ++i) n_bad += sweep_results_has_bad_quality(r, i);
  if (n_bad > 0)
    html_put(&p->page, "<span class=\"status %s\">%lld %s</span>\n", run_status_styles[RUN_SEE_QUALITY], (long long)n_bad,
             run_status_names[RUN_SEE_QUALITY]);
  html_put(&p->page, "<p class=\"soft\">A sweep of %lld cases over", (long long)p->view->n_cases);
  for (int k = 0; k < p->view->n_varied; ++k)
    html_put(&p->page, "%s %s (%d)", k ? "," : "", p->view->parameter[k].name, p->view->parameter[k].n_levels);
  html_put(&p->page, "</p>\n</header>\n");
}

static void put_sweep_tiles(sweep_page *p)
{
  const sweep_results *r     = p->view->results;
  double               clock = 0, user = 0, longest = NAN, memory = 0;
  int64_t              n = 0, steps = 0;
  char                 text[80];
  for (int64_t i = 0; i < p->view->n_cases; ++i) {
    if (!r->result[i]) continue;
    clock += r->result[i]->seconds, user += r->result[i]->user_seconds, steps += r->result[i]->step, ++n;
    longest = fmax(longest, r->result[i]->seconds), memory = fmax(memory, r->result[i]->peak_resident_memory);
  }
  page_tiles_begin(&p->page);
  page_duration(clock, sizeof text, text);
  page_tile(&p->page, text, "", "wall time, sum of cases");
  page_duration(user, sizeof text, text);
  page_tile(&p->page, text, "", "CPU time, sum of cases");
  page_duration(n > 0 ? clock / (double)n : NAN, sizeof text, text);
  page_tile(&p->page, text, "", "mean wall time per case");
  page_duration(longest, sizeof text, text);
  page_tile(&p->page, text, "", "longest case");
  page_bytes(memory, sizeof text, text);
  page_tile(&p->page, text, "", "largest memory of a case");
  page_tiles_end(&p->page);
}

/* A link to the report or folder of a case, if it exists. */
static void put_case_link(sweep_page *p, int64_t number)
{
  char folder[4300], report[4400], name[60], text[24];
  sweep_folder_case(p->dir, number, sizeof folder, folder);
  snprintf(report, sizeof report, "%s/report.html", folder);
  snprintf(name, sizeof name, "%.40s%s", strlen(folder) > strlen(p->dir) ? folder + strlen(p->dir) + 1 : "",
           access(report, F_OK) == 0 ? "/report.html" : "/");
  snprintf(text, sizeof text, "%lld", (long long)number);
  if (access(folder, F_OK) == 0) page_link(&p->page, p->base, name, text);
  else html_put(&p->page, "%s", text);
}

/* Whether an earlier case failed for the same reason. */
static bool is_repeated(const sweep_results *r, int64_t i)
{
  for (int64_t j = 0; j < i; ++j)
    if (r->state[j] == CASE_FAILED && strcmp(r->why[j], r->why[i]) == 0) return true;
  return false;
}

/* A reason and the cases that failed for it. */
static void put_reason(sweep_page *p, int64_t first)
{
  const sweep_results *r = p->view->results;
  int64_t              n = 0;
  char                 words[200];
  html_put(&p->page, "<li>%s<br/><span class=\"soft\">", r->why[first]);
  for (int64_t i = first; i < p->view->n_cases; ++i) {
    if (r->state[i] != CASE_FAILED || strcmp(r->why[i], r->why[first]) != 0 || ++n > MAX_FAILED) continue;
    html_put(&p->page, "%s<span title=\"%s\">", n == 1 ? "case " : ", ", sweep_case_text(r->plan, &r->plan->cases[i], sizeof words, words));
    put_case_link(p, r->plan->cases[i].number);
    html_put(&p->page, "</span>");
  }
  if (n > MAX_FAILED) html_put(&p->page, " and %lld more", (long long)(n - MAX_FAILED));
  html_put(&p->page, "</span></li>\n");
}

static void put_failed(sweep_page *p)
{
  const sweep_results *r = p->view->results;
  int                  n = 0;
  if (r->n_state[CASE_FAILED] == 0) return;
  html_put(&p->page, "<div class=\"warnings\"><b>%lld case%s failed</b><ul>\n", (long long)r->n_state[CASE_FAILED],
           r->n_state[CASE_FAILED] == 1 ? "" : "s");
  for (int64_t i = 0; i < p->view->n_cases && n < MAX_REASONS; ++i)
    if (r->state[i] == CASE_FAILED && !is_repeated(r, i)) {
      put_reason(p, i);
      if (++n == MAX_REASONS) html_put(&p->page, "<li>More reasons are listed in the table of cases.</li>\n");
    }
  html_put(&p->page, "</ul></div>\n");
}

static void put_number_cell(text_buffer *b, double x)
{
  char text[60];
  page_number(x, sizeof text, text);
  if (!isfinite(x)) html_put(b, "<td class=\"n\" data-v=\"\"></td>");
  else html_put(b, "<td class=\"n\" data-v=\"%.17g\">%s</td>", x, text);
}

static void put_case_row(sweep_page *p, int64_t i)
{
  const sweep_view    *v = p->view;
  const sweep_results *r = v->results;
  text_buffer         *b = &p->page;
  html_put(b, "<tr><td class=\"n\">");
  put_case_link(p, r->plan->cases[i].number);
  html_put(b, "</td><td class=\"%s\">%s</td>",
           sweep_results_has_bad_quality(r, i) ? run_status_styles[RUN_SEE_QUALITY] : case_state_names[r->state[i]],
           sweep_results_status(r, i));
  for (int k = 0; k < v->n_parameters; ++k) {
    const sweep_parameter *q = &v->parameter[k];
    if (q->is_numeric) put_number_cell(b, q->number[q->level[i]]);
    else html_put(b, "<td>%s</td>", q->text[q->level[i]]);
  }
  for (int m = 0; m < v->n_measures; ++m) {
    const run_result_measure *one = r->result[i] ? run_result_find(r->result[i], v->measure[m].name) : NULL;
    put_number_cell(b, one ? one->last : NAN);
  }
  put_number_cell(b, v->seconds[i]);
  html_put(b, "<td>%s</td></tr>\n", *r->why[i] ? r->why[i] : r->result[i] ? r->result[i]->reason : "");
}

static void put_case_head(sweep_page *p)
{
  const sweep_view *v = p->view;
  html_put(&p->page,
           "<div class=\"scroll tall\"><table class=\"sortable\" id=\"cases\">\n<thead><tr><th class=\"n\">case</th><th>status</th>");
  for (int k = 0; k < v->n_parameters; ++k)
    html_put(&p->page, v->parameter[k].is_numeric ? "<th class=\"n\">%s</th>" : "<th>%s</th>", v->parameter[k].name);
  for (int m = 0; m < v->n_measures; ++m)
    html_put(&p->page, "<th class=\"n\">%s%s%s%s</th>", v->measure[m].name, *v->measure[m].unit ? " [" : "", v->measure[m].unit,
             *v->measure[m].unit ? "]" : "");
  html_put(&p->page, "<th class=\"n\">seconds</th><th>reason</th></tr></thead>\n<tbody>\n");
}

/* Sorts the table when a column header is clicked; without scripts the table keeps its order. Contains no < and &, because the
 * page is also valid XML. */
static const char sort_script[] =
    "<script>document.querySelectorAll('table.sortable').forEach(function(t){var "
    "heads=Array.from(t.tHead.rows[0].cells);heads.forEach(function(h,k){h.tabIndex=0;"
    "var sort=function(){var "
    "up=h.getAttribute('aria-sort')!=='ascending';heads.forEach(function(o){o.removeAttribute('aria-sort')});h.setAttribute('aria-sort',up?"
    "'ascending':'descending');"
    "var key=function(r){var v=r.cells[k].dataset.v;return v===undefined?r.cells[k].textContent:v};var rows=Array.from(t.tBodies[0].rows);"
    "rows.sort(function(a,b){var x=key(a),y=key(b),n=Number(x)-Number(y);if(x===y)return 0;if(x==='')return 1;if(y==='')return -1;var "
    "c=Number.isNaN(n)?x.localeCompare(y):n;return up?c:-c});"
    "rows.forEach(function(r){t.tBodies[0].appendChild(r)})};h.addEventListener('click',sort);h.addEventListener('keydown',function(e){if("
    "e.key==='Enter')sort()})})})</script>\n";

static void put_cases(sweep_page *p)
{
  const int64_t n = p->view->n_cases < MAX_ROWS ? p->view->n_cases : MAX_ROWS;
  html_put(&p->page, "<h2>Cases</h2>\n<p class=\"soft\">Measures at the end of each case. Click on a column header to sort.%s</p>\n",
           n < p->view->n_cases ? " Only the first 2000 cases are shown; results.csv contains all." : "");
  put_case_head(p);
  for (int64_t i = 0; i < n; ++i) put_case_row(p, i);
  html_put(&p->page, "</tbody>\n</table></div>\n");
  html_put_markup(&p->page, sort_script);
}

static PetscErrorCode put_measures(sweep_page *p)
{
  const sweep_view *v = p->view;
  int               row, column;
  PetscFunctionBegin;
  for (int m = 0; m < v->n_measures; ++m) {
    if (figures_count(p->figures, v->measure[m].name) == 0) continue;
    html_put(&p->page, "<h2>%s</h2>\n", v->measure[m].name);
    PetscCall(figures_put(p->figures, v->measure[m].name, &p->page));
  }
  if (p->notes.n > 0) {
    html_put(&p->page, "<p class=\"soft\">Diagrams without finished cases: ");
    text_join(&p->page, &p->notes);
    html_put(&p->page, ".</p>\n");
  }
  if (p->n_left_out > 0)
    html_put(&p->page, "<p class=\"soft\">%d more diagrams are not shown; results.csv contains all numbers.</p>\n", p->n_left_out);
  if (!sweep_heat_is_possible(v, &row, &column) || v->n_measures == 0) PetscFunctionReturn(PETSC_SUCCESS);
  html_put(&p->page, "<h2>%s and %s</h2>\n<div class=\"figures wide\">\n", v->parameter[row].name, v->parameter[column].name);
  for (int m = 0; m < v->n_measures; ++m) PetscCall(sweep_heat_put(v, &v->measure[m], &p->page));
  html_put(&p->page, "</div>\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void put_sweep_foot(sweep_page *p)
{
  static const char *const files[] = {"results.csv", "results.h5", "cases.csv", "sweep.yaml", "base.yaml"};
  const sweep_plan        *plan    = p->view->results->plan;
  html_put(&p->page, "<h2>Sweep and job</h2>\n");
  if (plan->text)
    html_put(&p->page, "<details open=\"open\"><summary>sweep.yaml</summary>\n<pre class=\"job\">%s</pre></details>\n", plan->text);
  if (plan->base_text)
    html_put(&p->page, "<details><summary>the base job</summary>\n<pre class=\"job\">%s</pre></details>\n", plan->base_text);
  html_put(&p->page, "<p>Files:");
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", p->dir, files[i]);
    if (access(path, F_OK) != 0) continue;
    html_put(&p->page, " ");
    page_link(&p->page, p->base, files[i], files[i]);
  }
  html_put(&p->page, "</p>\n");
  page_end(&p->page);
}

static PetscErrorCode write_sweep_page(sweep_page *p)
{
  PetscFunctionBegin;
  PetscCall(sweep_view_create(p->dir, &p->view));
  PetscCall(figures_create(&p->figures));
  PetscCall(sweep_figures_add(p->view, p->figures, &p->n_left_out, &p->notes));
  PetscCall(figures_draw(p->figures));
  put_sweep_head(p);
  put_sweep_tiles(p);
  put_failed(p);
  PetscCall(put_measures(p));
  if (figures_count(p->figures, "case time") > 0) {
    html_put(&p->page, "<h2>Time</h2>\n");
    PetscCall(figures_put(p->figures, "case time", &p->page));
  }
  put_cases(p);
  put_sweep_foot(p);
  PetscCall(p->notes.code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_report(const char *dir, const char *path)
{
  sweep_page p __attribute__((cleanup(sweep_page_destroy))) = {.dir = dir};
  char       default_path[4300];
  PetscFunctionBegin;
  snprintf(default_path, sizeof default_path, "%s/report.html", dir);
  if (!path) path = default_path;
  PetscCall(page_base(dir, path, &p.base));
  PetscCall(write_sweep_page(&p));
  PetscCall(file_replace_with(path, &p.page));
  PetscFunctionReturn(PETSC_SUCCESS);
}
