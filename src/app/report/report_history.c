#include "app/report/report_history.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/envelope.h"
#include "core/memory.h"
#include "io/history.h"
#include "io/html.h"
#include "app/report/page.h"

enum { BINS = 420, MAX_CURVES = 6 }; /* a figure is 420 units wide */

/* Which columns of history.csv stand together. "total_energy" is added here. Columns that no figure has get one of their own. */
typedef struct {
  const char *section, *title;
  bool        is_log, has_zero;
  struct {
    const char *column, *label;
    int         colour;
  } curve[MAX_CURVES];
} history_figure;

static const history_figure history_figures[] = {
  {"energy", "Energy", false, false, {{"kinetic_energy", "kinetic", 2}, {"elastic_energy", "elastic", 3}, {"potential_energy", "gravitational", 1},
                                      {"contact_energy", "contact springs", 4}, {"friction_work", "work of friction", 6}, {"total_energy", "total", FIGURE_TOTAL}}},
  {"energy", "Momentum", false, false, {{"momentum_x", "x", 1}, {"momentum_y", "y", 2}, {"momentum_z", "z", 3}}},
  {"energy", "Angular momentum about the origin", false, false, {{"angular_momentum_x", "x", 1}, {"angular_momentum_y", "y", 2}, {"angular_momentum_z", "z", 3}}},
  {"contact", "Contacts", false, true, {{"contacts", "active", 1}, {"sliding", "sliding", 2}}},
  {"contact", "Deepest penetration", false, true, {{"penetration", NULL, 1}}},
  {"contact", "Violation of the friction cone", true, false, {{"cone_violation", "cone", 1}, {"natural_map", "natural map", 2}, {"natural_map_curved", "natural map, curved surfaces", 4}}},
  {"contact", "Error of the friction's direction", true, false, {{"friction_angle_error", "against power loss", 1}, {"slip_angle_error", "against slip", 2}, {"friction_astray", "against slip, by work, so far", 4}}},
  {"contact", "Relaxations on deforming surfaces", false, true, {{"relaxations", "all", 1}, {"relaxations_moved_on", "moved on", 2}, {"relaxation_places", "most places", 4}}},
  {"solver", "Outer iterations per step: of Newton's method, of the coupling", false, true, {{"newton_iterations", "iterations", 1}, {"evaluations", "evaluations of the forces", 7}, {"fallbacks", "fallbacks", FIGURE_FAILED}}},
  {"solver", "Inner iterations per step", false, true, {{"linear_iterations", "linear solver, pressure", 1}, {"stress_iterations", "stress", 2}, {"contact_iterations", "contacts", 4}}},
  {"solver", "Unknowns of the continuum", false, true, {{"pressures", "pressures", 1}, {"stresses", "stresses", 2}}},
  {"solver", "Natural map of the coupled problem", true, false, {{"coupling_error", NULL, 1}}},
  {"contact", "Stress over the cone", false, true, {{"yield", NULL, 1}}},
  {"contact", "Complementarity", true, false, {{"complementarity", "pressure and volume", 1}, {"contact_complementarity", "contacts", 2}}},
  {"contact", "Volume that is still lost", true, false, {{"volume_rate", NULL, 1}}},
  {"contact", "Volume of the continuum", false, false, {{"volume", NULL, 1}}},
  {"contact", "Mass above the density at rest, of all", false, true, {{"excess", NULL, 1}}},
  {"solver", "Residual after the step", true, false, {{"residual", "residual", 1}, {"gradient", "gradient of its square", 2}}},
  {"solver", "Time step", false, true, {{"dt", NULL, 1}}},
  {"solver", "Retries per step", false, true, {{"retries", NULL, FIGURE_FAILED}}},
  {"time", "Seconds per step", false, true, {{"seconds", NULL, 1}}},
};
enum { N_FIGURES = sizeof history_figures / sizeof *history_figures };

/* A table as envelopes; column 0 is the step, which is no curve. */
typedef struct {
  history_reader *reader;
  envelope       *envelope;
  int             n_columns, i_time, total_of[4]; /* n_columns: of the table; the total, where there is one, comes after them */
  bool            has_total;
  double         *x, *y; /* of one curve */
} table;

static void table_close(table *t)
{
  history_reader_close(&t->reader);
  envelope_destroy(&t->envelope);
  memory_free(&t->x);
  memory_free(&t->y);
}

static const char *column_name(const table *t, int column) { return column < t->n_columns ? history_reader_name(t->reader, column) : "total_energy"; }
static const char *column_unit(const table *t, int column) { return history_reader_unit(t->reader, column < t->n_columns ? column : t->total_of[0]); }

static int find_column(const table *t, const char *name)
{
  if (t->has_total && strcmp(name, "total_energy") == 0) return t->n_columns;
  return history_reader_find(t->reader, name);
}

static PetscErrorCode warn_of_damage(text_buffer *warnings)
{
  char message[1024];
  snprintf(message, sizeof message, "%s", error_message());
  error_clear();
  return html_put(warnings, "<li>%s; shown is what stands before it</li>\n", message);
}

/* reader NULL if there is no such table. Every row also goes to `watch`. */
static PetscErrorCode table_read(const char *path, table *t, text_buffer *warnings, void (*watch)(const table *, const double *, void *), void *context)
{
  static const char *const parts[4] = {"kinetic_energy", "elastic_energy", "potential_energy", "contact_energy"};
  double *row __attribute__((cleanup(memory_free))) = NULL;
  bool    is_row;
  PetscFunctionBegin;
  memset(t, 0, sizeof *t);
  if (history_reader_open(path, &t->reader)) PetscCall(warn_of_damage(warnings));
  if (!t->reader) PetscFunctionReturn(PETSC_SUCCESS);
  t->n_columns = history_reader_columns(t->reader);
  t->i_time    = history_reader_find(t->reader, "time");
  t->has_total = true;
  for (int k = 0; k < 4; ++k) {
    t->total_of[k] = history_reader_find(t->reader, parts[k]);
    t->has_total &= t->total_of[k] >= 0;
  }
  PetscCall(envelope_create(t->n_columns + 1, BINS, &t->envelope));
  PetscCall(memory_alloc("row", t->n_columns + 1, sizeof *row, &row));
  for (;;) {
    if (history_reader_next(t->reader, row, &is_row)) PetscCall(warn_of_damage(warnings));
    if (!is_row) break;
    row[t->n_columns] = NAN;
    if (t->has_total) row[t->n_columns] = row[t->total_of[0]] + row[t->total_of[1]] + row[t->total_of[2]] + row[t->total_of[3]];
    envelope_add(t->envelope, row[t->i_time >= 0 ? t->i_time : 0], row);
    if (watch) watch(t, row, context);
  }
  PetscCall(memory_alloc("curve", envelope_room(t->envelope), sizeof *t->x, &t->x));
  PetscCall(memory_alloc("curve", envelope_room(t->envelope), sizeof *t->y, &t->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_curve(const table *t, int column, const char *label, int colour, figures *f)
{
  int64_t n;
  PetscFunctionBegin;
  envelope_curve(t->envelope, column, &n, t->x, t->y);
  PetscCall(figures_curve(f, label, PLOT_LINE, colour, n, t->x, t->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- history.csv ------------------------------------------------------------------------------------------------------ */

static bool is_constant(const table *t, int column)
{
  const envelope_range r = envelope_range_of(t->envelope, column);
  return isnan(r.min) || r.min == r.max;
}

/* "sliding 0", for the list of what is not drawn. */
static PetscErrorCode name_constant(const table *t, int column, report_history *h)
{
  char                 value[40], name[80];
  const envelope_range r = envelope_range_of(t->envelope, column);
  PetscFunctionBegin;
  if (isnan(r.min)) PetscFunctionReturn(PETSC_SUCCESS);
  page_number(r.min, sizeof value, value);
  snprintf(name, sizeof name, "%s", column_name(t, column));
  for (char *c = name; *c; ++c)
    if (*c == '_') *c = ' ';
  PetscCall(html_put(&h->constants, "%s%s %s%s%s", h->constants.n ? ", " : "", name, value, *column_unit(t, column) ? " " : "", column_unit(t, column)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_history_figure(const table *t, const history_figure *g, figures *f, report_history *h)
{
  bool            is_flat = true;
  int             first   = -1;
  plot_axes       axes    = {.x_label = "time [s]", .is_log_y = g->is_log, .has_zero = g->has_zero && !g->is_log};
  PetscFunctionBegin;
  for (int k = 0; k < MAX_CURVES && g->curve[k].column; ++k) {
    const int column = find_column(t, g->curve[k].column);
    if (column >= 0 && first < 0) first = column;
    if (column >= 0 && !is_constant(t, column)) is_flat = false;
  }
  if (first < 0) PetscFunctionReturn(PETSC_SUCCESS);
  axes.y_label = column_unit(t, first);
  if (!is_flat) PetscCall(figures_begin(f, g->section, g->title, &axes));
  for (int k = 0; k < MAX_CURVES && g->curve[k].column; ++k) {
    const int column = find_column(t, g->curve[k].column);
    if (column < 0) continue;
    /* a line at zero says nothing that the list does not */
    if (is_flat || (is_constant(t, column) && envelope_range_of(t->envelope, column).max == 0)) PetscCall(name_constant(t, column, h));
    else PetscCall(put_curve(t, column, g->curve[k].label, g->curve[k].colour, f));
  }
  if (!is_flat) PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool has_figure(const char *column)
{
  if (strcmp(column, "step") == 0 || strcmp(column, "time") == 0) return true;
  for (int i = 0; i < N_FIGURES; ++i)
    for (int k = 0; k < MAX_CURVES && history_figures[i].curve[k].column; ++k)
      if (strcmp(column, history_figures[i].curve[k].column) == 0) return true;
  return false;
}

static void watch_history(const table *t, const double *row, void *context)
{
  report_history *h         = context;
  const int       i_retries = history_reader_find(t->reader, "retries"), i_fallbacks = history_reader_find(t->reader, "fallbacks");
  const int i_residual = history_reader_find(t->reader, "residual");
  if (i_residual >= 0) h->most_left = fmax(h->most_left, row[i_residual]);
  for (int c = 0; c < t->n_columns; ++c) h->is_finite &= isfinite(row[c]) != 0;
  if (i_retries >= 0 && row[i_retries] > 0) {
    if (h->n_retried++ == 0) h->first_retry = t->i_time >= 0 ? row[t->i_time] : NAN;
    h->n_retries += (int64_t)row[i_retries];
  }
  if (i_fallbacks >= 0) h->n_fallbacks += (int64_t)row[i_fallbacks];
}

static PetscErrorCode put_history(const table *t, figures *f, report_history *h)
{
  const int i_seconds = history_reader_find(t->reader, "seconds");
  PetscFunctionBegin;
  h->n_rows  = envelope_rows(t->envelope);
  h->step    = envelope_range_of(t->envelope, 0).last;
  h->time    = t->i_time >= 0 ? envelope_range_of(t->envelope, t->i_time).last : NAN;
  h->seconds = i_seconds >= 0 ? envelope_range_of(t->envelope, i_seconds).sum : 0;
  if (h->n_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < N_FIGURES; ++i) PetscCall(put_history_figure(t, &history_figures[i], f, h));
  for (int c = 0; c < t->n_columns; ++c) {
    const char *name = history_reader_name(t->reader, c);
    if (!has_figure(name)) PetscCall(put_history_figure(t, &(history_figure){"solver", name, false, false, {{name, NULL, 1}}}, f, h));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode report_history_read(const char *dir, figures *f, report_history *h, text_buffer *warnings)
{
  char  path[4300];
  table t;
  PetscFunctionBegin;
  *h = (report_history){.step = NAN, .time = NAN, .first_retry = NAN, .most_left = NAN, .is_finite = true};
  snprintf(path, sizeof path, "%s/history.csv", dir);
  PetscErrorCode code = table_read(path, &t, warnings, watch_history, h);
  if (!code && t.reader) code = put_history(&t, f, h);
  table_close(&t);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- measure/NAME.csv ------------------------------------------------------------------------------------------------- */

static PetscErrorCode put_measure(const table *t, figures *f)
{
  const int column = t->n_columns - 1; /* after step and time */
  PetscFunctionBegin;
  if (t->n_columns < 3 || envelope_rows(t->envelope) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const plot_axes axes = {.x_label = "time [s]", .y_label = column_unit(t, column)};
  PetscCall(figures_begin(f, "measures", column_name(t, column), &axes));
  PetscCall(put_curve(t, column, NULL, 1, f));
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int is_table(const struct dirent *entry)
{
  const size_t n = strlen(entry->d_name);
  return entry->d_name[0] != '.' && n > 4 && strcmp(entry->d_name + n - 4, ".csv") == 0;
}

PetscErrorCode report_measures_read(const char *dir, figures *f, text_buffer *warnings)
{
  char            path[4600];
  struct dirent **names = NULL;
  PetscErrorCode  code  = PETSC_SUCCESS;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/measure", dir);
  const int n = scandir(path, &names, is_table, alphasort);
  for (int i = 0; i < n; ++i) {
    table t = {0};
    snprintf(path, sizeof path, "%s/measure/%s", dir, names[i]->d_name);
    if (!code) code = table_read(path, &t, warnings, NULL, NULL);
    if (!code && t.reader) code = put_measure(&t, f);
    table_close(&t);
    free(names[i]);
  }
  free(names);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
