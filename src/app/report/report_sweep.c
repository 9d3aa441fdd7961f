#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "io/html.h"
#include "io/sealed_file.h"
#include "app/report/page.h"
#include "app/report/report.h"
#include "app/report/sweep_figures.h"
#include "app/report/sweep_heat.h"

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
  memory_free(&p->page.data);
  memory_free(&p->notes.data);
}

static PetscErrorCode put_head(sweep_page *p)
{
  const sweep_results *r = p->view->results;
  PetscFunctionBegin;
  PetscCall(page_begin(&p->page, r->plan->name));
  PetscCall(html_put(&p->page, "<header>\n<h1>%s</h1>\n", r->plan->name));
  for (int s = CASE_FINISHED; s >= CASE_WAITING; --s)
    if (r->n_state[s] > 0) PetscCall(html_put(&p->page, "<span class=\"status %s\">%lld %s</span>\n", case_state_names[s], (long long)r->n_state[s], case_state_names[s]));
  PetscCall(html_put(&p->page, "<p class=\"soft\">A sweep of %lld cases over", (long long)p->view->n_cases));
  for (int k = 0; k < p->view->n_varied; ++k) PetscCall(html_put(&p->page, "%s %s (%d)", k ? "," : "", p->view->parameter[k].name, p->view->parameter[k].n_levels));
  PetscCall(html_put(&p->page, "</p>\n</header>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_tiles(sweep_page *p)
{
  const sweep_results *r = p->view->results;
  double               clock = 0, user = 0, longest = NAN, memory = 0;
  int64_t              n = 0, steps = 0;
  char                 text[80];
  PetscFunctionBegin;
  for (int64_t i = 0; i < p->view->n_cases; ++i) {
    if (!r->result[i]) continue;
    clock += r->result[i]->seconds, user += r->result[i]->user_seconds, steps += r->result[i]->step, ++n;
    longest = fmax(longest, r->result[i]->seconds), memory = fmax(memory, r->result[i]->peak_memory);
  }
  PetscCall(page_tiles_begin(&p->page));
  page_duration(clock, sizeof text, text);
  PetscCall(page_tile(&p->page, text, "", "on the clock, sum of cases"));
  page_duration(user, sizeof text, text);
  PetscCall(page_tile(&p->page, text, "", "CPU time, sum of cases"));
  page_duration(n > 0 ? clock / (double)n : NAN, sizeof text, text);
  PetscCall(page_tile(&p->page, text, "", "a case"));
  page_duration(longest, sizeof text, text);
  PetscCall(page_tile(&p->page, text, "", "longest case"));
  page_bytes(memory, sizeof text, text);
  PetscCall(page_tile(&p->page, text, "", "most memory of a case"));
  PetscCall(page_tiles_end(&p->page));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A link to what there is of a case. */
static PetscErrorCode put_case_link(sweep_page *p, int64_t number)
{
  char folder[4300], report[4400], name[60], text[24];
  PetscFunctionBegin;
  sweep_folder_case(p->dir, number, sizeof folder, folder);
  snprintf(report, sizeof report, "%s/report.html", folder);
  snprintf(name, sizeof name, "%.40s%s", strlen(folder) > strlen(p->dir) ? folder + strlen(p->dir) + 1 : "", access(report, F_OK) == 0 ? "/report.html" : "/");
  snprintf(text, sizeof text, "%lld", (long long)number);
  if (access(folder, F_OK) == 0) PetscCall(page_link(&p->page, p->base, name, text));
  else PetscCall(html_put(&p->page, "%s", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Has a case before this one failed for the same reason? */
static bool is_repeated(const sweep_results *r, int64_t i)
{
  for (int64_t j = 0; j < i; ++j)
    if (r->state[j] == CASE_FAILED && strcmp(r->why[j], r->why[i]) == 0) return true;
  return false;
}

/* A reason, and the cases that failed for it. */
static PetscErrorCode put_reason(sweep_page *p, int64_t first)
{
  const sweep_results *r = p->view->results;
  int64_t              n = 0;
  char                 words[200];
  PetscFunctionBegin;
  PetscCall(html_put(&p->page, "<li>%s<br/><span class=\"soft\">", r->why[first]));
  for (int64_t i = first; i < p->view->n_cases; ++i) {
    if (r->state[i] != CASE_FAILED || strcmp(r->why[i], r->why[first]) != 0 || ++n > MAX_FAILED) continue;
    PetscCall(html_put(&p->page, "%s<span title=\"%s\">", n == 1 ? "case " : ", ", sweep_case_words(r->plan, &r->plan->cases[i], sizeof words, words)));
    PetscCall(put_case_link(p, r->plan->cases[i].number));
    PetscCall(html_put(&p->page, "</span>"));
  }
  if (n > MAX_FAILED) PetscCall(html_put(&p->page, " and %lld more", (long long)(n - MAX_FAILED)));
  PetscCall(html_put(&p->page, "</span></li>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_failed(sweep_page *p)
{
  const sweep_results *r = p->view->results;
  int                  n = 0;
  PetscFunctionBegin;
  if (r->n_state[CASE_FAILED] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<div class=\"warnings\"><b>%lld case%s failed</b><ul>\n", (long long)r->n_state[CASE_FAILED], r->n_state[CASE_FAILED] == 1 ? "" : "s"));
  for (int64_t i = 0; i < p->view->n_cases && n < MAX_REASONS; ++i)
    if (r->state[i] == CASE_FAILED && !is_repeated(r, i)) {
      PetscCall(put_reason(p, i));
      if (++n == MAX_REASONS) PetscCall(html_put(&p->page, "<li>For more reasons see the table of cases.</li>\n"));
    }
  PetscCall(html_put(&p->page, "</ul></div>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_number_cell(text_buffer *b, double x)
{
  char text[60];
  if (!isfinite(x)) return html_put(b, "<td class=\"n\" data-v=\"\"></td>");
  page_number(x, sizeof text, text);
  return html_put(b, "<td class=\"n\" data-v=\"%.17g\">%s</td>", x, text);
}

static PetscErrorCode put_case(sweep_page *p, int64_t i)
{
  const sweep_view    *v = p->view;
  const sweep_results *r = v->results;
  text_buffer         *b = &p->page;
  PetscFunctionBegin;
  PetscCall(html_put(b, "<tr><td class=\"n\">"));
  PetscCall(put_case_link(p, r->plan->cases[i].number));
  PetscCall(html_put(b, "</td><td class=\"%s\">%s</td>", case_state_names[r->state[i]], case_state_names[r->state[i]]));
  for (int k = 0; k < v->n_parameters; ++k) {
    const sweep_parameter *q = &v->parameter[k];
    if (q->is_numeric) PetscCall(put_number_cell(b, q->number[q->level[i]]));
    else PetscCall(html_put(b, "<td>%s</td>", q->text[q->level[i]]));
  }
  for (int m = 0; m < v->n_measures; ++m) {
    const run_result_measure *one = r->result[i] ? run_result_find(r->result[i], v->measure[m].name) : NULL;
    PetscCall(put_number_cell(b, one ? one->last : NAN));
  }
  PetscCall(put_number_cell(b, v->seconds[i]));
  PetscCall(html_put(b, "<td>%s</td></tr>\n", *r->why[i] ? r->why[i] : r->result[i] ? r->result[i]->reason : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_case_head(sweep_page *p)
{
  const sweep_view *v = p->view;
  PetscFunctionBegin;
  PetscCall(html_put(&p->page, "<div class=\"scroll tall\"><table class=\"sortable\" id=\"cases\">\n<thead><tr><th class=\"n\">case</th><th>status</th>"));
  for (int k = 0; k < v->n_parameters; ++k) PetscCall(html_put(&p->page, v->parameter[k].is_numeric ? "<th class=\"n\">%s</th>" : "<th>%s</th>", v->parameter[k].name));
  for (int m = 0; m < v->n_measures; ++m)
    PetscCall(html_put(&p->page, "<th class=\"n\">%s%s%s%s</th>", v->measure[m].name, *v->measure[m].unit ? " [" : "", v->measure[m].unit, *v->measure[m].unit ? "]" : ""));
  PetscCall(html_put(&p->page, "<th class=\"n\">seconds</th><th>why</th></tr></thead>\n<tbody>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorting by a click on a column's head; without scripts the table just stays in order. No < and no & in it: the page is XML, too. */
static const char sort_script[] =
  "<script>document.querySelectorAll('table.sortable').forEach(function(t){var heads=Array.from(t.tHead.rows[0].cells);heads.forEach(function(h,k){h.tabIndex=0;"
  "var sort=function(){var up=h.getAttribute('aria-sort')!=='ascending';heads.forEach(function(o){o.removeAttribute('aria-sort')});h.setAttribute('aria-sort',up?'ascending':'descending');"
  "var key=function(r){var v=r.cells[k].dataset.v;return v===undefined?r.cells[k].textContent:v};var rows=Array.from(t.tBodies[0].rows);"
  "rows.sort(function(a,b){var x=key(a),y=key(b),n=Number(x)-Number(y);if(x===y)return 0;if(x==='')return 1;if(y==='')return -1;var c=Number.isNaN(n)?x.localeCompare(y):n;return up?c:-c});"
  "rows.forEach(function(r){t.tBodies[0].appendChild(r)})};h.addEventListener('click',sort);h.addEventListener('keydown',function(e){if(e.key==='Enter')sort()})})})</script>\n";

static PetscErrorCode put_cases(sweep_page *p)
{
  const int64_t n = p->view->n_cases < MAX_ROWS ? p->view->n_cases : MAX_ROWS;
  PetscFunctionBegin;
  PetscCall(html_put(&p->page, "<h2>Cases</h2>\n<p class=\"soft\">Measures at the end of each case; a click on a column sorts.%s</p>\n",
                     n < p->view->n_cases ? " These are the first 2000: results.csv has them all." : ""));
  PetscCall(put_case_head(p));
  for (int64_t i = 0; i < n; ++i) PetscCall(put_case(p, i));
  PetscCall(html_put(&p->page, "</tbody>\n</table></div>\n"));
  PetscCall(html_put_markup(&p->page, sort_script));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_measures(sweep_page *p)
{
  const sweep_view *v = p->view;
  int               row, column;
  PetscFunctionBegin;
  for (int m = 0; m < v->n_measures; ++m) {
    if (figures_count(p->figures, v->measure[m].name) == 0) continue;
    PetscCall(html_put(&p->page, "<h2>%s</h2>\n", v->measure[m].name));
    PetscCall(figures_put(p->figures, v->measure[m].name, &p->page));
  }
  if (p->notes.n > 0) {
    PetscCall(html_put(&p->page, "<p class=\"soft\">No finished case to show: "));
    PetscCall(html_put_markup(&p->page, p->notes.data));
    PetscCall(html_put(&p->page, ".</p>\n"));
  }
  if (p->n_left_out > 0) PetscCall(html_put(&p->page, "<p class=\"soft\">%d more diagrams would be too many for a page: results.csv has all the numbers.</p>\n", p->n_left_out));
  if (!sweep_heat_is_possible(v, &row, &column) || v->n_measures == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(html_put(&p->page, "<h2>%s and %s</h2>\n<div class=\"figures wide\">\n", v->parameter[row].name, v->parameter[column].name));
  for (int m = 0; m < v->n_measures; ++m) PetscCall(sweep_heat_put(v, &v->measure[m], &p->page));
  PetscCall(html_put(&p->page, "</div>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_foot(sweep_page *p)
{
  static const char *const files[] = {"results.csv", "results.h5", "cases.csv", "sweep.yaml", "base.yaml"};
  const sweep_plan        *plan    = p->view->results->plan;
  PetscFunctionBegin;
  PetscCall(html_put(&p->page, "<h2>Sweep and job</h2>\n"));
  if (plan->text) PetscCall(html_put(&p->page, "<details open=\"open\"><summary>sweep.yaml</summary>\n<pre class=\"job\">%s</pre></details>\n", plan->text));
  if (plan->base_text) PetscCall(html_put(&p->page, "<details><summary>the base job</summary>\n<pre class=\"job\">%s</pre></details>\n", plan->base_text));
  PetscCall(html_put(&p->page, "<p>Files:"));
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", p->dir, files[i]);
    if (access(path, F_OK) != 0) continue;
    PetscCall(html_put(&p->page, " "));
    PetscCall(page_link(&p->page, p->base, files[i], files[i]));
  }
  PetscCall(html_put(&p->page, "</p>\n"));
  PetscCall(page_end(&p->page));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_page(sweep_page *p)
{
  PetscFunctionBegin;
  PetscCall(sweep_view_create(p->dir, &p->view));
  PetscCall(figures_create(&p->figures));
  PetscCall(sweep_figures_add(p->view, p->figures, &p->n_left_out, &p->notes));
  PetscCall(figures_draw(p->figures));
  PetscCall(put_head(p));
  PetscCall(put_tiles(p));
  PetscCall(put_failed(p));
  PetscCall(put_measures(p));
  if (figures_count(p->figures, "case time") > 0) {
    PetscCall(html_put(&p->page, "<h2>Time</h2>\n"));
    PetscCall(figures_put(p->figures, "case time", &p->page));
  }
  PetscCall(put_cases(p));
  PetscCall(put_foot(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode report_sweep(const char *dir, const char *path)
{
  sweep_page p = {.dir = dir};
  char       default_path[4300];
  PetscFunctionBegin;
  snprintf(default_path, sizeof default_path, "%s/report.html", dir);
  if (!path) path = default_path;
  PetscErrorCode code = page_base(dir, path, &p.base);
  if (!code) code = write_page(&p);
  if (!code) code = file_replace_text(path, (size_t)p.page.n, p.page.data);
  sweep_page_destroy(&p);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
