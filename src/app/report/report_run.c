#include "app/report/report.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/memory.h"
#include "io/checkpoint.h"
#include "io/html.h"
#include "io/sealed_file.h"
#include "sim/formulations.h"
#include "app/render/render.h"
#include "app/report/cite.h"
#include "app/report/page.h"
#include "app/report/report_history.h"
#include "app/run/run_machine.h"
#include "app/run/run_result.h"
#include "app/run/run_stages.h"

enum { N_STILLS = 3, STILL_WIDTH = 560 };

/* All that a page is made of. */
typedef struct {
  const char        *dir;
  char              *base;       /* where links begin */
  char              *job_text;   /* job.yaml; NULL: missing */
  job               *job;        /* NULL: this program cannot read it */
  const run_result  *result;     /* NULL: missing */
  const run_machine *machine;    /* NULL: missing */
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
  memory_free(&p->base);
  memory_free(&p->job_text);
  if (p->job) job_destroy(&p->job);
  document_destroy(&p->result_owner);
  document_destroy(&p->machine_owner);
  memory_free(&p->history.constants.data);
  figures_destroy(&p->figures);
  for (int i = 0; i < N_STILLS; ++i) memory_free(&p->still[i].bytes);
  memory_free(&p->warnings.data);
  memory_free(&p->page.data);
}

/* --- gathering -------------------------------------------------------------------------------------------------------- */

/* What a part of the run that cannot be read has to say goes among the warnings. */
static PetscErrorCode warn_of_error(run_page *p, const char *what)
{
  char message[1024];
  snprintf(message, sizeof message, "%s", error_message());
  error_clear();
  return html_put(&p->warnings, "<li>%s: %s</li>\n", what, message);
}

static PetscErrorCode read_job(run_page *p)
{
  char         path[4300];
  size_t       n;
  diagnostics *d;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/job.yaml", p->dir);
  PetscCall(file_read_text(path, &p->job_text, &n));
  PetscCheck(p->job_text, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: there is no run here: it has no job.yaml", p->dir);
  PetscCall(diagnostics_create(&d));
  PetscErrorCode code = job_read(path, 0, NULL, d, &p->job);
  if (!code && diagnostics_count(d)) code = html_put(&p->warnings, "<li>This program does not understand the job, so there are no stills: %s</li>\n", diagnostics_text(d, 0));
  diagnostics_destroy(&d);
  PetscCall(code);
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
    PetscCall(warn_of_error(p, "No stills"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int is_checkpoint(const struct dirent *entry) { return strncmp(entry->d_name, "checkpoint_", 11) == 0; }

static PetscErrorCode check_checkpoint(run_page *p, const char *name, bool is_quick)
{
  char         path[4700], why[SEALED_WHY];
  const size_t n = strlen(name);
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/checkpoints/%s", p->dir, name);
  if (n > 8 && strcmp(name + n - 8, ".damaged") == 0) PetscCall(html_put(&p->warnings, "<li>checkpoints/%s: was damaged and has been put aside</li>\n", name));
  else if (n > 3 && strcmp(name + n - 3, ".h5") == 0 && !checkpoint_is_good(path, is_quick, why)) PetscCall(html_put(&p->warnings, "<li>checkpoints/%s %s</li>\n", name, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_checkpoints(run_page *p, bool is_quick)
{
  char            path[4300];
  struct dirent **names = NULL;
  PetscErrorCode  code  = PETSC_SUCCESS;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/checkpoints", p->dir);
  const int n = scandir(path, &names, is_checkpoint, alphasort);
  for (int i = 0; i < n; ++i) {
    if (!code) code = check_checkpoint(p, names[i]->d_name, is_quick);
    free(names[i]);
  }
  free(names);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the run has to say against itself. */
static PetscErrorCode collect_warnings(run_page *p)
{
  char                  path[4300];
  char                 *failure __attribute__((cleanup(memory_free))) = NULL;
  size_t                n;
  const report_history *h = &p->history;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/failure.txt", p->dir);
  PetscCall(file_read_text(path, &failure, &n));
  if (failure && (!p->result || p->result->status == RUN_FAILED)) PetscCall(html_put(&p->warnings, "<li>It failed:<pre>%s</pre></li>\n", failure));
  if (h->n_retried > 0)
    PetscCall(html_put(&p->warnings, "<li>%lld steps were taken in smaller parts after %lld failed attempts, the first at t = %.4g s</li>\n", (long long)h->n_retried,
                       (long long)h->n_retries, h->first_retry));
  if (p->job && strcmp(formulation_names[p->job->formulation], "monolith") != 0 && h->most_left > p->job->scene.solver->newton->tolerance)
    PetscCall(html_put(&p->warnings, "<li>Steps were taken with more left of their equations than solver.newton.tolerance, %.3g: up to %.3g %s</li>\n",
                       p->job->scene.solver->newton->tolerance, h->most_left, newton_norm_unit(p->job->scene.solver->newton)));
  if (h->n_fallbacks > 0) PetscCall(html_put(&p->warnings, "<li>Newton's method fell back to the gradient %lld times</li>\n", (long long)h->n_fallbacks));
  if (!h->is_finite) PetscCall(html_put(&p->warnings, "<li>history.csv holds numbers that are not finite</li>\n"));
  if (p->result && p->result->starts > 1) PetscCall(html_put(&p->warnings, "<li>It was started %lld times; times are sums over all starts</li>\n", (long long)p->result->starts));
  if (!p->result) PetscCall(html_put(&p->warnings, "<li>There is no result.yaml to say how the run ended</li>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode gather(run_page *p, bool is_quick)
{
  PetscFunctionBegin;
  PetscCall(read_job(p));
  if (run_result_read(p->dir, &p->result_owner, &p->result)) PetscCall(warn_of_error(p, "How it ended is not known"));
  PetscCall(run_machine_read(p->dir, &p->machine_owner, &p->machine));
  PetscCall(run_stages_read(p->dir, &p->stages));
  PetscCall(figures_create(&p->figures));
  PetscCall(report_history_read(p->dir, p->figures, &p->history, &p->warnings));
  PetscCall(report_measures_read(p->dir, p->figures, &p->warnings));
  PetscCall(figures_draw(p->figures));
  PetscCall(draw_stills(p));
  PetscCall(collect_warnings(p));
  PetscCall(check_checkpoints(p, is_quick));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

static PetscErrorCode put_head(run_page *p)
{
  const run_result *r      = p->result;
  const char       *status = r ? run_status_names[r->status] : "unknown";
  PetscFunctionBegin;
  const char *name = p->job ? p->job->scene.name : r ? r->job : p->dir;
  PetscCall(page_begin(&p->page, name));
  PetscCall(html_put(&p->page, "<header>\n<h1>%s</h1>\n<span class=\"status %s\">%s</span>\n<span class=\"soft\">%s</span>\n", name, status, status, r ? r->reason : ""));
  if (p->job && p->job->description && *p->job->description) PetscCall(html_put(&p->page, "<p>%s</p>\n", p->job->description));
  PetscCall(html_put(&p->page, "</header>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_tiles(run_page *p)
{
  const run_result *r = p->result;
  text_buffer      *b = &p->page;
  char              text[80], end[80] = "s";
  PetscFunctionBegin;
  PetscCall(page_tiles_begin(b));
  page_number(r ? r->time : p->history.time, sizeof text, text);
  if (p->job) snprintf(end, sizeof end, "of %.4g s", p->job->scene.time->end);
  PetscCall(page_tile(b, text, end, "simulated"));
  page_number(r ? (double)r->step : p->history.step, sizeof text, text);
  if (p->job) snprintf(end, sizeof end, "of %.4g s", p->job->scene.time->step);
  PetscCall(page_tile(b, text, p->job ? end : "", "steps"));
  if (r) {
    page_duration(r->seconds, sizeof text, text);
    PetscCall(page_tile(b, text, "", "on the clock"));
    page_duration(r->user_seconds, sizeof text, text);
    snprintf(end, sizeof end, "CPU time, %lld thread%s", (long long)r->threads, r->threads == 1 ? "" : "s");
    PetscCall(page_tile(b, text, "", end));
    page_bytes(r->peak_memory, sizeof text, text);
    PetscCall(page_tile(b, text, "", "most memory"));
    snprintf(text, sizeof text, "%.3g", r->step > 0 ? (double)r->newton / (double)r->step : 0.0);
    PetscCall(page_tile(b, text, "", "outer iterations a step"));
    snprintf(text, sizeof text, "%.3g", r->step > 0 ? (double)r->linear / (double)r->step : 0.0);
    PetscCall(page_tile(b, text, "", "linear iterations a step"));
    page_number((double)r->retries, sizeof text, text);
    PetscCall(page_tile(b, text, "", "retries"));
    page_number((double)r->contacts, sizeof text, text);
    PetscCall(page_tile(b, text, "", "contacts at the end"));
    page_number(r->max_penetration, sizeof text, text);
    PetscCall(page_tile(b, text, "m", "deepest penetration"));
  }
  PetscCall(page_tiles_end(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_stills(run_page *p)
{
  char alt[120];
  PetscFunctionBegin;
  if (p->n_stills == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<div class=\"stills\">\n"));
  for (int i = 0; i < p->n_stills; ++i) {
    snprintf(alt, sizeof alt, "The scene at %.4g s", p->still[i].time);
    PetscCall(html_put(&p->page, "<figure>"));
    PetscCall(html_put_png(&p->page, STILL_WIDTH, p->still_height, alt, p->still[i].n, p->still[i].bytes));
    PetscCall(html_put(&p->page, "<figcaption>t = %.4g s, frame %lld</figcaption></figure>\n", p->still[i].time, (long long)p->still[i].index));
  }
  PetscCall(html_put(&p->page, "</div>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_section(run_page *p, const char *section, const char *title)
{
  PetscFunctionBegin;
  if (figures_count(p->figures, section) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<h2>%s</h2>\n", title));
  PetscCall(figures_put(p->figures, section, &p->page));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* name, unit, and the numbers of result.yaml about it. */
static PetscErrorCode put_measure_table(run_page *p)
{
  const run_result *r = p->result;
  PetscFunctionBegin;
  if (!r || r->measures.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<div class=\"scroll\"><table>\n<thead><tr><th>measure</th><th>unit</th><th class=\"n\">last</th><th class=\"n\">least</th><th class=\"n\">at [s]</th>"
                               "<th class=\"n\">greatest</th><th class=\"n\">at [s]</th><th class=\"n\">mean</th><th class=\"n\">records</th></tr></thead>\n<tbody>\n"));
  for (int i = 0; i < r->measures.n; ++i) {
    const run_result_measure *m         = r->measures.item[i].value;
    const double              values[6] = {m->last, m->min, m->time_of_min, m->max, m->time_of_max, m->mean};
    PetscCall(html_put(&p->page, "<tr><td>%s</td><td>%s</td>", r->measures.item[i].name, m->unit ? m->unit : ""));
    for (int k = 0; k < 6; ++k) {
      char text[60];
      page_number(values[k], sizeof text, text);
      PetscCall(html_put(&p->page, "<td class=\"n\">%s</td>", text));
    }
    PetscCall(html_put(&p->page, "<td class=\"n\">%lld</td></tr>\n", (long long)m->n));
  }
  PetscCall(html_put(&p->page, "</tbody>\n</table></div>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_rate(run_page *p, double work, double seconds)
{
  if (work > 0 && seconds > 0) return html_put(&p->page, "<td class=\"n\">%.2f</td>", 1e-9 * work / seconds);
  return html_put(&p->page, "<td class=\"n soft\">-</td>");
}

static PetscErrorCode put_stages(run_page *p)
{
  double total = 0, most = 0;
  PetscFunctionBegin;
  for (int i = 0; i < p->stages.n; ++i) total += p->stages.stage[i].record.seconds, most = fmax(most, p->stages.stage[i].record.seconds);
  if (!(total > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<div class=\"scroll\"><table id=\"stages\">\n<thead><tr><th>stage</th><th class=\"bar\"></th><th class=\"n\">share</th><th class=\"n\">seconds</th><th class=\"n\">calls</th>"
                               "<th class=\"n\">GB/s</th><th class=\"n\">GFLOP/s</th></tr></thead>\n<tbody>\n"));
  for (int i = 0; i < p->stages.n; ++i) {
    const timer_record *r = &p->stages.stage[i].record;
    PetscCall(html_put(&p->page, "<tr><td>%s</td><td class=\"bar\"><i style=\"width:%.1f%%\"></i></td><td class=\"n\">%.1f %%</td><td class=\"n\">%.3f</td><td class=\"n\">", p->stages.stage[i].name,
                       100 * r->seconds / most, 100 * r->seconds / total, r->seconds));
    if (r->n_calls > 0) PetscCall(html_put(&p->page, "%lld</td>", (long long)r->n_calls));
    else PetscCall(html_put(&p->page, "-</td>"));
    PetscCall(put_rate(p, r->bytes, r->seconds));
    PetscCall(put_rate(p, r->flops, r->seconds));
    PetscCall(html_put(&p->page, "</tr>\n"));
  }
  PetscCall(html_put(&p->page, "</tbody>\n<tfoot><tr><td>total</td><td></td><td class=\"n\">100.0 %%</td><td class=\"n\">%.3f</td><td></td><td></td><td></td></tr></tfoot>\n</table></div>\n", total));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_machine(run_page *p)
{
  const run_result  *r = p->result;
  const run_machine *m = p->machine;
  text_buffer       *b = &p->page;
  char               text[400];
  PetscFunctionBegin;
  PetscCall(html_put(b, "<h2>Program and machine</h2>\n<table class=\"pairs\">\n"));
  if (r) {
    PetscCall(page_row(b, "program", r->program));
    PetscCall(page_row(b, "begun", r->begun));
    PetscCall(page_row(b, "last written", r->updated));
    PetscCall(page_row(b, "host", r->host));
    snprintf(text, sizeof text, "%lld", (long long)r->threads);
    PetscCall(page_row(b, "threads", text));
  }
  if (m) {
    snprintf(text, sizeof text, "%s, %lld usable", m->processor, (long long)m->processors);
    PetscCall(page_row(b, "processors", text));
    page_bytes(m->memory, sizeof text, text);
    PetscCall(page_row(b, "memory", m->memory > 0 ? text : ""));
    PetscCall(page_row(b, "system", m->system));
    PetscCall(page_row(b, "built", m->built));
    PetscCall(page_row(b, "libraries", m->libraries));
  }
  PetscCall(html_put(b, "</table>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_files(run_page *p)
{
  static const struct {
    const char *name, *what;
  } files[] = {{"frames.xmf", "time series for ParaView"}, {"history.csv", "a row a step"},        {"measure", "a table for each measure"},
               {"still.png", "the last frame"},            {"animation.png", "all frames"},        {"summary.txt", "what the last start took"},
               {"stages.csv", "time by stage"},            {"result.yaml", "how it went, for programs"}, {"job.yaml", "the job"},
               {"checkpoints", "the state, to resume from"}, {"failure.txt", "what failed"},       {"log.txt", "what it printed"}};
  struct stat status;
  PetscFunctionBegin;
  PetscCall(html_put(&p->page, "<h2>Files</h2>\n<table class=\"pairs\">\n"));
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", p->dir, files[i].name);
    if (stat(path, &status) != 0) continue;
    PetscCall(html_put(&p->page, "<tr><th>"));
    PetscCall(page_link(&p->page, p->base, files[i].name, files[i].name));
    PetscCall(html_put(&p->page, "</th><td>%s</td></tr>\n", files[i].what));
  }
  PetscCall(html_put(&p->page, "</table>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_page(run_page *p)
{
  text_buffer *b = &p->page;
  PetscFunctionBegin;
  PetscCall(put_head(p));
  PetscCall(put_tiles(p));
  if (p->warnings.n > 0) {
    PetscCall(html_put(b, "<div class=\"warnings\"><b>To know</b><ul>\n"));
    PetscCall(html_put_markup(b, p->warnings.data));
    PetscCall(html_put(b, "</ul></div>\n"));
  }
  PetscCall(put_stills(p));
  if (figures_count(p->figures, "measures") > 0) PetscCall(put_section(p, "measures", "Measures"));
  PetscCall(put_measure_table(p));
  PetscCall(put_section(p, "energy", "Energy and momentum"));
  PetscCall(put_section(p, "contact", "Contact"));
  PetscCall(put_section(p, "solver", "Solver"));
  if (p->history.constants.n > 0) {
    PetscCall(html_put(b, "<p class=\"soft\">The same throughout: "));
    PetscCall(html_put_markup(b, p->history.constants.data));
    PetscCall(html_put(b, ".</p>\n"));
  }
  PetscCall(html_put(b, "<h2>Time</h2>\n<div class=\"beside\">\n"));
  PetscCall(put_stages(p));
  PetscCall(figures_put(p->figures, "time", b));
  PetscCall(html_put(b, "</div>\n"));
  PetscCall(html_put(b, "<h2>Job</h2>\n<details><summary>job.yaml, with every default written out</summary>\n<pre class=\"job\">%s</pre></details>\n", p->job_text));
  PetscCall(put_machine(p));
  PetscCall(put_files(p));
  PetscCall(html_put(b, "<h2>How to cite</h2>\n"));
  PetscCall(cite_put(p->job, b));
  PetscCall(page_end(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode report_run(const char *dir, const char *path, bool is_quick)
{
  run_page p = {.dir = dir};
  char     default_path[4300];
  PetscFunctionBegin;
  snprintf(default_path, sizeof default_path, "%s/report.html", dir);
  if (!path) path = default_path;
  PetscErrorCode code = page_base(dir, path, &p.base);
  if (!code) code = gather(&p, is_quick);
  if (!code) code = write_page(&p);
  if (!code) code = file_replace_text(path, (size_t)p.page.n, p.page.data);
  run_page_destroy(&p);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
