#include "app/report/sweep_figures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "io/html.h"

enum { MAX_COLOURS = 8, MAX_PANELS = 12, MAX_FIGURES = 120, N_BARS = 16 };

int sweep_figures_colour(const sweep_parameter *p, int level)
{
  if (p->is_numeric && p->n_levels > 1) return FIGURE_RAMP + level * (FIGURE_RAMP_LENGTH - 1) / (p->n_levels - 1);
  return 1 + level % MAX_COLOURS;
}

/* One diagram to be: a measure against a parameter; what tells colours and panels apart (-1: nothing). */
typedef struct {
  const sweep_view    *view;
  const sweep_measure *measure;
  int                  x, colour, panel, i_panel;
  bool                 has_lines;
  const int           *group;
  int                  n_groups;
  double              *px, *py; /* [n_cases] */
} plan;

static bool is_in(const plan *p, int64_t i)
{
  return p->panel < 0 || p->view->parameter[p->panel].level[i] == p->i_panel;
}

static double x_of(const plan *p, int64_t i)
{
  const sweep_parameter *x = &p->view->parameter[p->x];
  return x->number[x->level[i]];
}

/* The line of a group: mean over repeats at each level of x, where there is one. */
static int64_t line_of_group(const plan *p, int group)
{
  const sweep_parameter *x = &p->view->parameter[p->x];
  int64_t                n = 0;
  double *count = p->py + p->view->n_cases; /* behind it: see sweep_figures_add */
  for (int l = 0; l < x->n_levels; ++l) p->py[l] = count[l] = 0;
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (p->group[i] == group && is_in(p, i) && isfinite(p->measure->value[i])) p->py[x->level[i]] += p->measure->value[i], ++count[x->level[i]];
  for (int l = 0; l < x->n_levels; ++l)
    if (count[l] > 0) p->py[n] = p->py[l] / count[l], p->px[n++] = x->number[l];
  return n;
}

static PetscErrorCode put_lines(const plan *p, figures *f)
{
  bool is_named[64] = {false};
  PetscFunctionBegin;
  for (int g = 0; g < p->n_groups; ++g) {
    int64_t first = 0;
    while (p->group[first] != g) ++first;
    if (!is_in(p, first)) continue;
    const sweep_parameter *c     = p->colour >= 0 ? &p->view->parameter[p->colour] : NULL;
    const int              level = c ? c->level[first] : 0;
    char                   label[96], text[40];
    const int64_t          n     = line_of_group(p, g);
    /* a legend for few levels, of many the ends alone */
    const bool is_end = c && (level == 0 || level == c->n_levels - 1), has_label = c && level < 64 && !is_named[level] && (c->n_levels <= MAX_COLOURS || is_end);
    if (c) snprintf(label, sizeof label, "%.40s = %s", c->name, sweep_level_text(c, level, sizeof text, text));
    PetscCall(figures_curve(f, has_label && n > 0 ? label : NULL, p->n_groups > 2 * MAX_COLOURS ? PLOT_THIN : PLOT_LINE_POINTS, c ? sweep_figures_colour(c, level) : 1, n, p->px, p->py));
    if (has_label && n > 0) is_named[level] = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All cases of a level of the colour's parameter. */
static int64_t points_of_level(const plan *p, int level)
{
  int64_t n = 0;
  for (int64_t i = 0; i < p->view->n_cases; ++i) {
    if (!is_in(p, i) || !isfinite(p->measure->value[i]) || (p->colour >= 0 && p->view->parameter[p->colour].level[i] != level)) continue;
    p->px[n] = x_of(p, i), p->py[n++] = p->measure->value[i];
  }
  return n;
}

static PetscErrorCode put_points(const plan *p, bool has_labels, figures *f)
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

static PetscErrorCode put_failed(const plan *p, figures *f)
{
  int64_t n = 0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (is_in(p, i) && p->view->results->state[i] == CASE_FAILED) p->px[n++] = x_of(p, i);
  if (n > 0) PetscCall(figures_curve(f, "failed", PLOT_CROSSES, FIGURE_FAILED, n, p->px, p->px));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_repeats(const sweep_view *v)
{
  for (int k = 0; k < v->n_varied; ++k)
    if (v->parameter[k].is_repeat && v->parameter[k].n_levels > 1) return true;
  return false;
}

static PetscErrorCode put_diagram(const plan *p, figures *f)
{
  const sweep_parameter *x = &p->view->parameter[p->x];
  char                   title[160], text[40];
  const plot_axes        axes = {.x_label = x->name, .y_label = p->measure->unit, .is_log_x = sweep_view_wants_log(x->n_levels, x->number, 1.7),
                                 .is_log_y = sweep_view_wants_log(p->view->n_cases, p->measure->value, 3)};
  PetscFunctionBegin;
  snprintf(title, sizeof title, "%s against %s", p->measure->name, x->name);
  if (p->panel >= 0) snprintf(title, sizeof title, "%s against %s, %s = %s", p->measure->name, x->name, p->view->parameter[p->panel].name,
                              sweep_level_text(&p->view->parameter[p->panel], p->i_panel, sizeof text, text));
  PetscCall(figures_begin(f, p->measure->name, title, &axes));
  if (p->has_lines) PetscCall(put_lines(p, f));
  if (!p->has_lines || has_repeats(p->view)) PetscCall(put_points(p, !p->has_lines, f));
  PetscCall(put_failed(p, f));
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_empty(const plan *p)
{
  for (int64_t i = 0; i < p->view->n_cases; ++i)
    if (is_in(p, i) && isfinite(p->measure->value[i])) return false;
  return true;
}

/* "slide against mu, iterations = 1": why it is not there. */
static PetscErrorCode note_empty(const plan *p, text_buffer *notes)
{
  const sweep_parameter *panel = p->panel >= 0 ? &p->view->parameter[p->panel] : NULL;
  char                   text[40];
  PetscFunctionBegin;
  PetscCall(html_put(notes, "%s%s against %s", notes->n ? "; " : "", p->measure->name, p->view->parameter[p->x].name));
  if (panel) PetscCall(html_put(notes, " with %s = %s", panel->name, sweep_level_text(panel, p->i_panel, sizeof text, text)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the parameters beside x, the one with the fewest levels but more than one; -1: none, or all beyond `most`. */
static int fewest_levels(const sweep_view *v, int x, int not_this, int most)
{
  int best = -1;
  for (int k = 0; k < v->n_varied; ++k) {
    const sweep_parameter *p = &v->parameter[k];
    if (k == x || k == not_this || p->is_repeat || p->n_levels < 2 || p->n_levels > most) continue;
    if (best < 0 || p->n_levels < v->parameter[best].n_levels) best = k;
  }
  return best;
}

/* Lines, if cases differ in x alone from others: at least two to a line, on average. Panels only for lines, of the parameter with the fewest
 * levels; colours for the next. */
static PetscErrorCode plan_diagrams(plan *p, int *group)
{
  PetscFunctionBegin;
  PetscCall(sweep_view_groups(p->view, p->x, -1, &p->n_groups, group));
  p->group     = group;
  p->has_lines = 2 * (int64_t)p->n_groups <= p->view->n_cases;
  p->panel     = -1;
  p->colour    = fewest_levels(p->view, p->x, -1, p->has_lines ? 64 : MAX_COLOURS);
  if (p->has_lines && p->colour >= 0) {
    const int next = fewest_levels(p->view, p->x, p->colour, 64);
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
  PetscCall(figures_begin(f, "case time", "Finished cases by their time", &(plot_axes){.x_label = "time [s]", .y_label = "cases", .has_zero = true}));
  PetscCall(figures_curve(f, NULL, PLOT_BARS, 1, N_BARS, x, y));
  figures_bar_width(f, 0.9 * width);
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_figures_add(const sweep_view *v, figures *f, int *n_left_out, text_buffer *notes)
{
  int     n_figures = 0;
  int    *group __attribute__((cleanup(memory_free))) = NULL;
  double *px __attribute__((cleanup(memory_free)))    = NULL, *py __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  *n_left_out = 0;
  PetscCall(memory_alloc("sweep groups", v->n_cases, sizeof *group, &group));
  PetscCall(memory_alloc("sweep curve", v->n_cases, sizeof *px, &px));
  PetscCall(memory_alloc("sweep curve", 2 * v->n_cases, sizeof *py, &py)); /* and the counts of a line */
  for (int m = 0; m < v->n_measures; ++m)
    for (int k = 0; k < v->n_varied; ++k) {
      plan p = {.view = v, .measure = &v->measure[m], .x = k, .px = px, .py = py};
      if (!v->parameter[k].is_numeric || v->parameter[k].is_repeat || v->parameter[k].n_levels < 2) continue;
      PetscCall(plan_diagrams(&p, group));
      for (p.i_panel = 0; p.i_panel < (p.panel >= 0 ? v->parameter[p.panel].n_levels : 1); ++p.i_panel) {
        if (is_empty(&p)) PetscCall(note_empty(&p, notes));
        else if (++n_figures > MAX_FIGURES) ++*n_left_out;
        else PetscCall(put_diagram(&p, f));
      }
    }
  PetscCall(put_histogram(v, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
