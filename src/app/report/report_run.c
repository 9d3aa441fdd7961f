/* The page of a run: references, diagrams of history.csv and measure/, pictures, warnings, tables of measures and times, machine
 * and files. */
#include "app/report/report_run.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/envelope.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/checkpoint.h"
#include "io/history.h"
#include "io/html.h"
#include "io/sealed_file.h"
#include "discretize/material/material_registry.h"
#include "sim/penalty/penalty_keys.h"
#include "sim/step/formulation.h"
#include "sim/formulations.h"
#include "app/render/render.h"
#include "app/report/figures.h"
#include "app/report/page.h"
#include "app/run/run_history.h"
#include "app/run/run_result.h"

/* Papers of formulations and materials; `key`: entry in docs/references.bib. */
/* clang-format off */
static const struct {
  const char *used, *key, *text;
} papers[] = {
  {"penalty", "DingSchroeder2020", "O. Ding, C. Schroeder: Penalty Force for Coupling Materials with Coulomb Friction. IEEE Transactions on Visualization and Computer Graphics 26(7), 2020"},
  {"monolith", "TakahashiBatty2021", "T. Takahashi, C. Batty: FrictionalMonolith: A Monolithic Optimization-based Approach for Granular Flow with Contact-Aware Rigid-Body Coupling. ACM Transactions on Graphics 40(6), 2021"},
  {"drucker_prager", "Klar2016", "G. Kl\xc3\xa1r, T. Gast, A. Pradhana, C. Fu, C. Schroeder, C. Jiang, J. Teran: Drucker-Prager Elastoplasticity for Sand Animation. ACM Transactions on Graphics 35(4), 2016"},
  {"snow", "Stomakhin2013", "A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle: A Material Point Method for Snow Simulation. ACM Transactions on Graphics 32(4), 2013"},
  {"fixed_corotated", "Stomakhin2012", "A. Stomakhin, R. Howes, C. Schroeder, J. Teran: Energetically Consistent Invertible Elasticity. Symposium on Computer Animation, 2012"},
  {"linear_corotated", "MullerGross2004", "M. M\xc3\xbcller, M. Gross: Interactive Virtual Materials. Graphics Interface, 2004, pp. 239-246"},
  {"von_mises", "ZongJiangHan2024", "Z. Zong, C. Jiang, X. Han: A convex formulation of frictional contact for the material point method and rigid bodies. arXiv preprint, 2024"},
};
/* clang-format on */

static bool job_uses(const job *j, const char *what)
{
  if (strcmp(formulation_names[j->formulation], what) == 0) return true;
  for (int i = 0; i < j->scene.materials.n; ++i)
    if (strcmp(material_table.variants[j->scene.materials.item[i].variant].name, what) == 0) return true;
  return false;
}

/* Appends an HTML list of what to cite: the program and the papers of the methods that the job uses. j NULL: the program only. */
static void put_references(const job *j, text_buffer *page)
{
  html_put(page, "<ul>\n<li>The stickslip authors: stickslip, a batch solver for frictional contact, version %s (CITATION.cff)</li>\n",
           version_text());
  for (size_t i = 0; j && i < sizeof papers / sizeof *papers; ++i)
    if (job_uses(j, papers[i].used)) html_put(page, "<li>%s: %s [%s]</li>\n", papers[i].used, papers[i].text, papers[i].key);
  html_put(page, "</ul>\n");
}

/* --- history.csv and measure/ as figures -------------------------------------------------------------------------- */

/* Totals of history.csv. */
typedef struct {
  int64_t     n_rows, n_retried, n_retries; /* number of rows; of rows with retries; sum of the column */
  double      step, time;                   /* of the last row; NaN without rows */
  double      first_retry;                  /* [s], NaN if none */
  double      max_residual;                 /* largest residual; NaN: no such column */
  double      seconds;                      /* sum over rows */
  bool        is_finite;                    /* all numbers are finite */
  text_buffer columns;                      /* HTML rows of the table of columns; text_clear */
  text_buffer fallbacks;                    /* HTML list of fallbacks with their numbers; text_clear */
} report_history;

enum { BINS = 420, MAX_CURVES = 6 }; /* a figure is 420 units wide */

/* Columns of history.csv that share a diagram. "total_energy" is computed here. Other columns get their own diagram. */
typedef struct {
  const char *section, *title;
  bool        is_log, has_zero;
  struct {
    const char *column, *label;
    int         colour;
  } curve[MAX_CURVES];
} history_figure;

/* clang-format off */
static const history_figure history_figures[] = {
  {"energy", "Energy", false, false, {{"kinetic_energy", "kinetic", 2}, {"elastic_energy", "elastic", 3}, {"potential_energy", "gravitational", 1},
                                      {"contact_energy", "contact springs", 4}, {"friction_work", "work of friction", 6}, {"total_energy", "total", FIGURE_TOTAL}}},
  {"energy", "Momentum", false, false, {{"momentum_x", "x", 1}, {"momentum_y", "y", 2}, {"momentum_z", "z", 3}}},
  {"energy", "Angular momentum about the origin", false, false, {{"angular_momentum_x", "x", 1}, {"angular_momentum_y", "y", 2}, {"angular_momentum_z", "z", 3}}},
  {"contact", "Contacts", false, true, {{"contacts", "active", 1}, {"sliding", "sliding", 2}}},
  {"contact", "Largest penetration", false, true, {{"penetration", NULL, 1}}},
  {"contact", "Errors of the friction cone and the contact law", true, false, {{"cone_violation", "cone", 1}, {"contact_law_error", "contact law", 2}, {"contact_law_error_curved", "contact law, curved surfaces", 4}}},
  {"contact", "Error of the friction direction", true, false, {{"friction_angle_error", "to the sliding velocity", 1}, {"slip_angle_error", "to the slip of the step", 2}, {"friction_angle_rms", "root mean square so far, weighted by work", 4}}},
  {"contact", "Relaxations on deforming surfaces", false, true, {{"relaxations", "all", 1}, {"relaxations_moved", "ended on another feature", 2}, {"relaxation_max_features", "most features visited", 4}}},
  {"solver", "Outer iterations per step (Newton or coupling)", false, true, {{"newton_iterations", "iterations", 1}, {"evaluations", "evaluations of the residual", 7}}},
  {"solver", "Inner iterations per step", false, true, {{"linear_iterations", "linear solver, pressure", 1}, {"stress_iterations", "stress", 2}, {"contact_iterations", "contacts", 4}}},
  {"solver", "Unknowns of the continuum", false, true, {{"pressure_unknowns", "pressures", 1}, {"stress_unknowns", "stresses", 2}}},
  {"solver", "Natural map of the coupled problem", true, false, {{"coupling_error", NULL, 1}}},
  {"contact", "Stress relative to the yield cone", false, true, {{"yield_ratio", NULL, 1}}},
  {"contact", "Complementarity", true, false, {{"complementarity", "pressure and volume", 1}, {"contact_complementarity", "contacts", 2}}},
  {"contact", "Remaining rate of volume loss", true, false, {{"volume_rate", NULL, 1}}},
  {"contact", "Volume of the continuum", false, false, {{"volume", NULL, 1}}},
  {"contact", "Fraction of the mass above the rest density", false, true, {{"excess_mass_fraction", NULL, 1}}},
  {"solver", "Residual after the step", true, false, {{"residual", "residual", 1}, {"gradient", "gradient of its square", 2}}},
  {"solver", "Time step", false, true, {{"dt", NULL, 1}}},
  {"solver", "Retries per step", false, true, {{"retries", NULL, FIGURE_FAILED}}},
  {"time", "Seconds per step", false, true, {{"seconds", NULL, 1}}},
};
/* clang-format on */
enum { N_FIGURES = sizeof history_figures / sizeof *history_figures };

/* A CSV table reduced to envelopes for plotting; column 0 is the step. */
typedef struct {
  history_reader *reader;
  envelope       *envelope;
  int             n_columns, i_time, total_of[4]; /* n_columns: columns of the file; the total energy, if any, follows them */
  bool            has_total;
  double         *x, *y; /* buffers of one curve */
} history_table;

static void history_table_close(history_table *t)
{
  history_reader_close(&t->reader);
  envelope_destroy(&t->envelope);
  MEMORY_FREE(&t->x, &t->y);
}

static const char *column_name(const history_table *t, int column)
{
  return column < t->n_columns ? history_reader_name(t->reader, column) : "total_energy";
}
static const char *column_unit(const history_table *t, int column)
{
  return history_reader_unit(t->reader, column < t->n_columns ? column : t->total_of[0]);
}

static int find_history_column(const history_table *t, const char *name)
{
  if (t->has_total && strcmp(name, "total_energy") == 0) return t->n_columns;
  return history_reader_find(t->reader, name);
}

static void add_damage_warning(text_buffer *warnings)
{
  char message[1024];
  snprintf(message, sizeof message, "%s", error_message());
  error_clear();
  html_put(warnings, "<li>%s; only the rows before the damage are shown</li>\n", message);
}

/* Reads the whole table; t->reader is NULL if the file does not exist. Calls `watch` for each row. */
static PetscErrorCode history_table_read(const char *path, history_table *t, text_buffer *warnings,
                                         void (*watch)(const history_table *, const double *, void *), void *context)
{
  static const char *const parts[4] = {"kinetic_energy", "elastic_energy", "potential_energy", "contact_energy"};
  double                  *row __attribute__((cleanup(memory_free))) = NULL;
  bool                     is_row;
  PetscFunctionBegin;
  memset(t, 0, sizeof *t);
  if (history_reader_open(path, &t->reader)) add_damage_warning(warnings);
  if (!t->reader) PetscFunctionReturn(PETSC_SUCCESS);
  t->n_columns = history_reader_columns(t->reader);
  t->i_time    = history_reader_find(t->reader, "time");
  t->has_total = true;
  for (int k = 0; k < 4; ++k) {
    t->total_of[k] = history_reader_find(t->reader, parts[k]);
    t->has_total &= k == 3 || t->total_of[k] >= 0; /* only penalty has contact_energy */
  }
  PetscCall(envelope_create(t->n_columns + 1, BINS, &t->envelope));
  PetscCall(memory_alloc("row", t->n_columns + 1, sizeof *row, &row));
  for (;;) {
    if (history_reader_next(t->reader, row, &is_row)) add_damage_warning(warnings);
    if (!is_row) break;
    row[t->n_columns] = NAN;
    if (t->has_total)
      row[t->n_columns] =
          row[t->total_of[0]] + row[t->total_of[1]] + row[t->total_of[2]] + (t->total_of[3] >= 0 ? row[t->total_of[3]] : 0.0);
    envelope_add(t->envelope, row[t->i_time >= 0 ? t->i_time : 0], row);
    if (watch) watch(t, row, context);
  }
  PetscCall(MEMORY_ALLOC("curve", ARRAY(t->x, envelope_room(t->envelope)), ARRAY(t->y, envelope_room(t->envelope))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_curve(const history_table *t, int column, const char *label, int colour, figures *f)
{
  int64_t n;
  PetscFunctionBegin;
  envelope_curve(t->envelope, column, &n, t->x, t->y);
  PetscCall(figures_curve(f, label, PLOT_LINE, colour, n, t->x, t->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- history.csv ------------------------------------------------------------------------------------------------------ */

static bool is_constant_column(const history_table *t, int column)
{
  const envelope_range r = envelope_range_of(t->envelope, column);
  return isnan(r.min) || r.min == r.max;
}

/* Adds a row to the table of columns: name, unit, minimum, maximum, sum or last value, meaning. Fallbacks are also listed alone. */
static void add_column(const history_table *t, int column, report_history *h)
{
  const report_quantity *q         = history_find(column_name(t, column));
  const envelope_range   r         = envelope_range_of(t->envelope, column);
  const bool             is_sum    = q && (q->rule == REPORT_SUM || q->rule == REPORT_FALLBACK);
  const double           values[3] = {r.min, r.max, is_sum ? r.sum : r.last};
  html_put(&h->columns, "<tr><td>%s</td><td>%s</td>", column_name(t, column), column_unit(t, column));
  for (int k = 0; k < 3; ++k) {
    char text[60];
    page_number(values[k], sizeof text, text);
    html_put(&h->columns, "<td class=\"n\">%s%s</td>", k == 2 && is_sum ? "sum " : "", isnan(values[k]) ? "" : text);
  }
  html_put(&h->columns, "<td>%s</td></tr>\n", q ? q->help : "");
  if (q && q->rule == REPORT_FALLBACK && r.sum > 0) html_put(&h->fallbacks, "<li>%.0f %s</li>\n", r.sum, q->help);
}

static PetscErrorCode put_history_figure(const history_table *t, const history_figure *g, figures *f)
{
  bool      is_flat = true;
  int       first   = -1;
  plot_axes axes    = {.x_label = "time [s]", .is_log_y = g->is_log, .has_zero = g->has_zero && !g->is_log};
  PetscFunctionBegin;
  for (int k = 0; k < MAX_CURVES && g->curve[k].column; ++k) {
    const int column = find_history_column(t, g->curve[k].column);
    if (column >= 0 && first < 0) first = column;
    if (column >= 0 && !is_constant_column(t, column)) is_flat = false;
  }
  if (first < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (is_flat) PetscFunctionReturn(PETSC_SUCCESS); /* constant: only in the table */
  axes.y_label = column_unit(t, first);
  PetscCall(figures_begin(f, g->section, g->title, &axes));
  for (int k = 0; k < MAX_CURVES && g->curve[k].column; ++k) {
    const int column = find_history_column(t, g->curve[k].column);
    if (column < 0) continue;
    if (!is_constant_column(t, column) || envelope_range_of(t->envelope, column).max != 0) /* constant zeros are only in the table */
      PetscCall(put_curve(t, column, g->curve[k].label, g->curve[k].colour, f));
  }
  PetscCall(figures_end(f));
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

/* Columns with the index of a body or method are empty in rows without one. */
static bool may_be_empty(const history_table *t, int column)
{
  const report_quantity *q = history_find(history_reader_name(t->reader, column));
  return q && q->is_index;
}

static void add_history_row(const history_table *t, const double *row, void *context)
{
  report_history *h          = context;
  const int       i_retries  = history_reader_find(t->reader, "retries");
  const int       i_residual = history_reader_find(t->reader, "residual");
  if (i_residual >= 0) h->max_residual = fmax(h->max_residual, row[i_residual]);
  for (int c = 0; c < t->n_columns; ++c) h->is_finite &= isfinite(row[c]) || may_be_empty(t, c);
  if (i_retries >= 0 && row[i_retries] > 0) {
    if (h->n_retried++ == 0) h->first_retry = t->i_time >= 0 ? row[t->i_time] : NAN;
    h->n_retries += (int64_t)row[i_retries];
  }
}

static PetscErrorCode put_history(const history_table *t, figures *f, report_history *h)
{
  const int i_seconds = history_reader_find(t->reader, "seconds");
  PetscFunctionBegin;
  h->n_rows  = envelope_rows(t->envelope);
  h->step    = envelope_range_of(t->envelope, 0).last;
  h->time    = t->i_time >= 0 ? envelope_range_of(t->envelope, t->i_time).last : NAN;
  h->seconds = i_seconds >= 0 ? envelope_range_of(t->envelope, i_seconds).sum : 0;
  if (h->n_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < N_FIGURES; ++i) PetscCall(put_history_figure(t, &history_figures[i], f));
  for (int c = 0; c < t->n_columns; ++c) {
    const char *name = history_reader_name(t->reader, c);
    if (!has_figure(name)) PetscCall(put_history_figure(t, &(history_figure){"solver", name, false, false, {{name, NULL, 1}}}, f));
    add_column(t, c, h);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads DIR/history.csv: totals, and diagrams in the sections "energy", "contact", "solver" and "time". Without the file *h is
 * empty. If it is damaged, the rows before the damage are used and `warnings` gets an <li>. */
static PetscErrorCode report_history_read(const char *dir, figures *f, report_history *h, text_buffer *warnings)
{
  char          path[4300];
  history_table t __attribute__((cleanup(history_table_close))) = {0};
  PetscFunctionBegin;
  *h = (report_history){.step = NAN, .time = NAN, .first_retry = NAN, .max_residual = NAN, .is_finite = true};
  snprintf(path, sizeof path, "%s/history.csv", dir);
  PetscCall(history_table_read(path, &t, warnings, add_history_row, h));
  if (t.reader) PetscCall(put_history(&t, f, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- measure/NAME.csv ------------------------------------------------------------------------------------------------- */

static PetscErrorCode put_measure(const history_table *t, figures *f)
{
  const int column = 2; /* after step and time; tensors and profiles have further columns */
  PetscFunctionBegin;
  if (t->n_columns < 3 || envelope_rows(t->envelope) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const plot_axes axes = {.x_label = "time [s]", .y_label = column_unit(t, column)};
  PetscCall(figures_begin(f, "measures", column_name(t, column), &axes));
  PetscCall(put_curve(t, column, NULL, 1, f));
  PetscCall(figures_end(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int is_csv_file(const struct dirent *entry)
{
  const size_t n = strlen(entry->d_name);
  return entry->d_name[0] != '.' && n > 4 && strcmp(entry->d_name + n - 4, ".csv") == 0;
}

/* Diagrams of DIR/measure/NAME.csv in the section "measures". */
static PetscErrorCode report_measures_read(const char *dir, figures *f, text_buffer *warnings)
{
  char            path[4600];
  struct dirent **names = NULL;
  PetscErrorCode  code  = PETSC_SUCCESS;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/measure", dir);
  const int n = scandir(path, &names, is_csv_file, alphasort);
  for (int i = 0; i < n; ++i) {
    history_table t = {0};
    snprintf(path, sizeof path, "%s/measure/%s", dir, names[i]->d_name);
    if (!code) code = history_table_read(path, &t, warnings, NULL, NULL);
    if (!code && t.reader) code = put_measure(&t, f);
    history_table_close(&t);
    free(names[i]);
  }
  free(names);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- all that a page is made of ----------------------------------------------------------------------------------- */

enum { N_STILLS = 3, STILL_WIDTH = 560 };

/* The data of the page. */
typedef struct {
  const char        *dir;
  char              *base;     /* prefix of links */
  char              *job_text; /* job.yaml; NULL: missing */
  job               *job;      /* NULL: cannot be read by this program */
  const run_result  *result;   /* NULL: missing */
  const run_machine *machine;  /* NULL: missing */
  document          *result_owner, *machine_owner;
  run_stages         stages;
  report_history     history;
  figures           *figures;
  int                n_stills;
  int                still_height;
  render_picture     still[N_STILLS];
  text_buffer        warnings, page; /* warnings: <li> elements */
} run_page;

static void run_page_destroy(run_page *p)
{
  MEMORY_FREE(&p->base, &p->job_text);
  if (p->job) job_destroy(&p->job);
  document_destroy(&p->result_owner);
  document_destroy(&p->machine_owner);
  text_clear(&p->history.columns);
  text_clear(&p->history.fallbacks);
  figures_destroy(&p->figures);
  for (int i = 0; i < N_STILLS; ++i) memory_free(&p->still[i].bytes);
  text_clear(&p->warnings);
  text_clear(&p->page);
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

/* Converts the current error to a warning on the page. */
static void add_error_warning(run_page *p, const char *what)
{
  char message[1024];
  snprintf(message, sizeof message, "%s", error_message());
  error_clear();
  html_put(&p->warnings, "<li>%s: %s</li>\n", what, message);
}

static PetscErrorCode read_run_job(run_page *p)
{
  char         path[4300];
  size_t       n;
  diagnostics *d __attribute__((cleanup(diagnostics_destroy))) = NULL;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/job.yaml", p->dir);
  PetscCall(file_read_text(path, &p->job_text, &n));
  PetscCheck(p->job_text, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: not a run directory: job.yaml is missing", p->dir);
  PetscCall(diagnostics_create(&d));
  PetscCall(job_read(path, 0, NULL, d, &p->job));
  if (diagnostics_count(d))
    html_put(&p->warnings, "<li>This program cannot read the job, so there are no pictures: %s</li>\n", diagnostics_text(d, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode draw_stills(run_page *p)
{
  render_view view;
  PetscFunctionBegin;
  if (!p->job) PetscFunctionReturn(PETSC_SUCCESS);
  render_view_of_job(p->job, &view);
  view.height     = (int)lround((double)view.height * STILL_WIDTH / view.width);
  view.height     = view.height < 64 ? 64 : view.height > 1200 ? 1200 : view.height;
  view.width      = STILL_WIDTH;
  p->still_height = view.height;
  if (render_sequence(p->dir, &view, N_STILLS, &p->n_stills, p->still)) {
    p->n_stills = 0;
    add_error_warning(p, "No pictures");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int is_checkpoint(const struct dirent *entry) { return strncmp(entry->d_name, "checkpoint_", 11) == 0; }

static void check_checkpoint(run_page *p, const char *name, bool is_quick)
{
  char         path[4700], why[SEALED_WHY];
  const size_t n = strlen(name);
  snprintf(path, sizeof path, "%s/checkpoints/%s", p->dir, name);
  if (n > 8 && strcmp(name + n - 8, ".damaged") == 0)
    html_put(&p->warnings, "<li>checkpoints/%s: was damaged and has been renamed</li>\n", name);
  else if (n > 3 && strcmp(name + n - 3, ".h5") == 0 && !checkpoint_is_good(path, is_quick, why))
    html_put(&p->warnings, "<li>checkpoints/%s %s</li>\n", name, why);
}

static void check_checkpoints(run_page *p, bool is_quick)
{
  char            path[4300];
  struct dirent **names = NULL;
  snprintf(path, sizeof path, "%s/checkpoints", p->dir);
  const int n = scandir(path, &names, is_checkpoint, alphasort);
  for (int i = 0; i < n; ++i) {
    check_checkpoint(p, names[i]->d_name, is_quick);
    free(names[i]);
  }
  free(names);
}

/* Warnings of the run: failure, retries, unconverged steps, fallbacks, numbers that are not finite, several starts. */
static PetscErrorCode collect_warnings(run_page *p)
{
  char                  path[4300];
  char                 *failure __attribute__((cleanup(memory_free))) = NULL;
  size_t                n;
  const report_history *h = &p->history;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/failure.txt", p->dir);
  PetscCall(file_read_text(path, &failure, &n));
  if (failure && (!p->result || p->result->status == RUN_FAILED))
    html_put(&p->warnings, "<li>The run failed:<pre>%s</pre></li>\n", failure);
  if (p->result && p->result->quality)
    for (int i = 0; i < p->result->quality->bad.n; ++i)
      html_put(&p->warnings, "<li>Quality: %s</li>\n", (const char *)p->result->quality->bad.item[i].value);
  if (h->n_retried > 0)
    html_put(&p->warnings, "<li>%lld steps were done in substeps after %lld failed attempts, the first at t = %.4g s</li>\n",
             (long long)h->n_retried, (long long)h->n_retries, h->first_retry);
  if (p->job && strcmp(formulation_names[p->job->formulation], "monolith") != 0 &&
      h->max_residual > p->job->scene.solver->newton->tolerance)
    html_put(&p->warnings, "<li>Steps were accepted although their residual exceeds solver.newton.tolerance, %.3g: up to %.3g %s</li>\n",
             p->job->scene.solver->newton->tolerance, h->max_residual, penalty_norm_unit(p->job->scene.solver->penalty));
  if (h->fallbacks.n > 0) text_join(&p->warnings, &h->fallbacks);
  if (!h->is_finite) html_put(&p->warnings, "<li>history.csv contains numbers that are not finite</li>\n");
  if (p->result && p->result->starts > 1)
    html_put(&p->warnings, "<li>The run was started %lld times; times are sums over all starts</li>\n", (long long)p->result->starts);
  if (!p->result) html_put(&p->warnings, "<li>result.yaml is missing, so the outcome of the run is unknown</li>\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_run(run_page *p, bool is_quick)
{
  PetscFunctionBegin;
  PetscCall(read_run_job(p));
  if (run_result_read(p->dir, &p->result_owner, &p->result)) add_error_warning(p, "The outcome of the run is unknown");
  PetscCall(run_machine_read(p->dir, &p->machine_owner, &p->machine));
  PetscCall(run_stages_read(p->dir, &p->stages));
  PetscCall(figures_create(&p->figures));
  PetscCall(report_history_read(p->dir, p->figures, &p->history, &p->warnings));
  PetscCall(report_measures_read(p->dir, p->figures, &p->warnings));
  PetscCall(figures_draw(p->figures));
  PetscCall(draw_stills(p));
  PetscCall(collect_warnings(p));
  check_checkpoints(p, is_quick);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

static void put_run_head(run_page *p)
{
  const run_result *r      = p->result;
  const char       *status = r ? run_status_names[r->status] : "unknown", *style = r ? run_status_styles[r->status] : "unknown";
  const char       *name = p->job ? p->job->scene.name : r ? r->job : p->dir;
  page_begin(&p->page, name);
  html_put(&p->page, "<header>\n<h1>%s</h1>\n<span class=\"status %s\">%s</span>\n<span class=\"soft\">%s</span>\n", name, style, status,
           r ? r->reason : "");
  if (p->job && p->job->description && *p->job->description) html_put(&p->page, "<p>%s</p>\n", p->job->description);
  html_put(&p->page, "</header>\n");
}

static void put_run_tiles(run_page *p)
{
  const run_result *r = p->result;
  text_buffer      *b = &p->page;
  char              text[80], end[80] = "s";
  page_tiles_begin(b);
  page_number(r ? r->time : p->history.time, sizeof text, text);
  if (p->job) snprintf(end, sizeof end, "of %.4g s", p->job->scene.time->end);
  page_tile(b, text, end, "simulated time");
  page_number(r ? (double)r->step : p->history.step, sizeof text, text);
  if (p->job) snprintf(end, sizeof end, "of %.4g s", p->job->scene.time->step);
  page_tile(b, text, p->job ? end : "", "steps");
  if (r) {
    page_duration(r->seconds, sizeof text, text);
    page_tile(b, text, "", "wall time");
    page_duration(r->user_seconds, sizeof text, text);
    snprintf(end, sizeof end, "CPU time, %lld thread%s", (long long)r->threads, r->threads == 1 ? "" : "s");
    page_tile(b, text, "", end);
    page_bytes(r->peak_resident_memory, sizeof text, text);
    page_tile(b, text, "", "peak resident memory");
    snprintf(text, sizeof text, "%.3g", r->step > 0 ? (double)r->newton / (double)r->step : 0.0);
    page_tile(b, text, "", "outer iterations per step");
    snprintf(text, sizeof text, "%.3g", r->step > 0 ? (double)r->linear / (double)r->step : 0.0);
    page_tile(b, text, "", "linear iterations per step");
    page_number((double)r->retries, sizeof text, text);
    page_tile(b, text, "", "retries");
    page_number((double)r->contacts, sizeof text, text);
    page_tile(b, text, "", "contacts at the end");
    page_number(r->max_penetration, sizeof text, text);
    page_tile(b, text, "m", "largest penetration");
  }
  page_tiles_end(b);
}

static void put_stills(run_page *p)
{
  char alt[120];
  if (p->n_stills == 0) return;
  html_put(&p->page, "<div class=\"stills\">\n");
  for (int i = 0; i < p->n_stills; ++i) {
    snprintf(alt, sizeof alt, "The scene at %.4g s", p->still[i].time);
    html_put(&p->page, "<figure>");
    html_put_png(&p->page, STILL_WIDTH, p->still_height, alt, p->still[i].n, p->still[i].bytes);
    html_put(&p->page, "<figcaption>t = %.4g s, frame %lld</figcaption></figure>\n", p->still[i].time, (long long)p->still[i].index);
  }
  html_put(&p->page, "</div>\n");
}

static PetscErrorCode put_section(run_page *p, const char *section, const char *title)
{
  PetscFunctionBegin;
  if (figures_count(p->figures, section) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  html_put(&p->page, "<h2>%s</h2>\n", title);
  PetscCall(figures_put(p->figures, section, &p->page));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Table of the statistics of all measures. */
static void put_measure_table(run_page *p)
{
  const run_result *r = p->result;
  if (!r || r->measures.n == 0) return;
  html_put(&p->page, "<div class=\"scroll\"><table>\n<thead><tr><th>measure</th><th>unit</th><th class=\"n\">last</th><th "
                     "class=\"n\">minimum</th><th class=\"n\">at [s]</th>"
                     "<th class=\"n\">maximum</th><th class=\"n\">at [s]</th><th class=\"n\">mean</th><th "
                     "class=\"n\">records</th></tr></thead>\n<tbody>\n");
  for (int i = 0; i < r->measures.n; ++i) {
    const run_result_measure *m         = r->measures.item[i].value;
    const double              values[6] = {m->last, m->min, m->time_of_min, m->max, m->time_of_max, m->mean};
    html_put(&p->page, "<tr><td>%s</td><td>%s</td>", r->measures.item[i].name, m->unit ? m->unit : "");
    for (int k = 0; k < 6; ++k) {
      char text[60];
      page_number(values[k], sizeof text, text);
      html_put(&p->page, "<td class=\"n\">%s</td>", text);
    }
    html_put(&p->page, "<td class=\"n\">%lld</td></tr>\n", (long long)m->n);
  }
  html_put(&p->page, "</tbody>\n</table></div>\n");
}

static void put_rate(run_page *p, double work, double seconds)
{
  if (work > 0 && seconds > 0) html_put(&p->page, "<td class=\"n\">%.2f</td>", 1e-9 * work / seconds);
  else html_put(&p->page, "<td class=\"n soft\">-</td>");
}

static void put_stages(run_page *p)
{
  double total = 0, most = 0;
  for (int i = 0; i < p->stages.n; ++i) total += p->stages.stage[i].record.seconds, most = fmax(most, p->stages.stage[i].record.seconds);
  if (!(total > 0)) return;
  html_put(&p->page, "<div class=\"scroll\"><table id=\"stages\">\n<thead><tr><th>stage</th><th class=\"bar\"></th><th "
                     "class=\"n\">share</th><th class=\"n\">seconds</th><th class=\"n\">calls</th>"
                     "<th class=\"n\">GB/s</th><th class=\"n\">GFLOP/s</th></tr></thead>\n<tbody>\n");
  for (int i = 0; i < p->stages.n; ++i) {
    const timer_record *r = &p->stages.stage[i].record;
    html_put(&p->page,
             "<tr><td>%s</td><td class=\"bar\"><i style=\"width:%.1f%%\"></i></td><td class=\"n\">%.1f %%</td><td "
             "class=\"n\">%.3f</td><td class=\"n\">",
             p->stages.stage[i].name, 100 * r->seconds / most, 100 * r->seconds / total, r->seconds);
    if (r->n_calls > 0) html_put(&p->page, "%lld</td>", (long long)r->n_calls);
    else html_put(&p->page, "-</td>");
    put_rate(p, r->bytes, r->seconds);
    put_rate(p, r->flops, r->seconds);
    html_put(&p->page, "</tr>\n");
  }
  html_put(&p->page,
           "</tbody>\n<tfoot><tr><td>total</td><td></td><td class=\"n\">100.0 %%</td><td "
           "class=\"n\">%.3f</td><td></td><td></td><td></td></tr></tfoot>\n</table></div>\n",
           total);
}

static void put_machine(run_page *p)
{
  const run_result  *r = p->result;
  const run_machine *m = p->machine;
  text_buffer       *b = &p->page;
  char               text[400];
  html_put(b, "<h2>Program and machine</h2>\n<table class=\"pairs\">\n");
  if (r) {
    page_row(b, "program", r->program);
    page_row(b, "started", r->begun);
    page_row(b, "last written", r->updated);
    page_row(b, "host", r->host);
    snprintf(text, sizeof text, "%lld", (long long)r->threads);
    page_row(b, "threads", text);
  }
  if (m) {
    snprintf(text, sizeof text, "%s, %lld usable", m->processor, (long long)m->processors);
    page_row(b, "processors", text);
    page_bytes(m->memory, sizeof text, text);
    page_row(b, "memory", m->memory > 0 ? text : "");
    page_row(b, "system", m->system);
    page_row(b, "built", m->built);
    page_row(b, "libraries", m->libraries);
  }
  html_put(b, "</table>\n");
}

static void put_files(run_page *p)
{
  struct stat status;
  html_put(&p->page, "<h2>Files</h2>\n<table class=\"pairs\">\n");
  for (const run_file *f = run_files; f->name; ++f) {
    char name[80], path[4300];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(f->name, "/"), f->name); /* the folder of measure/NAME.csv */
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    if (stat(path, &status) != 0) continue;
    html_put(&p->page, "<tr><th>");
    page_link(&p->page, p->base, name, name);
    html_put(&p->page, "</th><td>%s</td></tr>\n", f->content);
  }
  html_put(&p->page, "</table>\n");
}

/* The quality block; the sentences about bad entries are also among the warnings. */
static void put_quality(run_page *p)
{
  if (!p->result || !p->result->quality) return;
  html_put(&p->page, "<h2>Quality</h2>\n<table class=\"pairs\" id=\"quality\">\n");
  run_quality_html(p->result->quality, &p->page);
  html_put(&p->page, "</table>\n");
}

static PetscErrorCode write_run_page(run_page *p)
{
  text_buffer *b = &p->page;
  PetscFunctionBegin;
  put_run_head(p);
  put_run_tiles(p);
  if (p->warnings.n > 0) {
    html_put(b, "<div class=\"warnings\"><b>Warnings</b><ul>\n");
    text_join(b, &p->warnings);
    html_put(b, "</ul></div>\n");
  }
  put_stills(p);
  put_quality(p);
  if (figures_count(p->figures, "measures") > 0) PetscCall(put_section(p, "measures", "Measures"));
  put_measure_table(p);
  PetscCall(put_section(p, "energy", "Energy and momentum"));
  PetscCall(put_section(p, "contact", "Contact"));
  PetscCall(put_section(p, "solver", "Solver"));
  if (p->history.columns.n > 0) {
    html_put(b, "<h2>Columns of history.csv</h2>\n<details><summary>minimum, maximum and sum or last value of each "
                "column</summary>\n<div class=\"scroll\"><table id=\"columns\">\n"
                "<thead><tr><th>column</th><th>unit</th><th class=\"n\">minimum</th><th class=\"n\">maximum</th><th "
                "class=\"n\">last, or sum</th><th>meaning</th></tr></thead>\n<tbody>\n");
    text_join(b, &p->history.columns);
    html_put(b, "</tbody>\n</table></div></details>\n");
  }
  html_put(b, "<h2>Time</h2>\n<div class=\"beside\">\n");
  put_stages(p);
  PetscCall(figures_put(p->figures, "time", b));
  html_put(b, "</div>\n");
  html_put(b, "<h2>Job</h2>\n<details><summary>job.yaml with all defaults written out</summary>\n<pre class=\"job\">%s</pre></details>\n",
           p->job_text);
  put_machine(p);
  put_files(p);
  html_put(b, "<h2>How to cite</h2>\n");
  put_references(p->job, b);
  page_end(b);
  PetscCall(p->warnings.code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode report_run(const char *dir, const char *path, bool is_quick)
{
  run_page p __attribute__((cleanup(run_page_destroy))) = {.dir = dir};
  char     default_path[4300];
  PetscFunctionBegin;
  snprintf(default_path, sizeof default_path, "%s/report.html", dir);
  if (!path) path = default_path;
  PetscCall(page_base(dir, path, &p.base));
  PetscCall(read_run(&p, is_quick));
  PetscCall(write_run_page(&p));
  PetscCall(file_replace_with(path, &p.page));
  PetscFunctionReturn(PETSC_SUCCESS);
}
