#include "app/report/sweep_heat.h"
#include <math.h>
#include "core/memory.h"
#include "io/html.h"
#include "io/picture_text.h"
#include "app/report/page.h"

enum { MAX_SIDE = 20 };

bool sweep_heat_is_possible(const sweep_view *v, int *row, int *column)
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

/* What became of the cases of one cell: the mean of those that have finished. */
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

static PetscErrorCode put_cell(const cell *c, double lo, double hi, text_buffer *page)
{
  uint8_t rgb[3];
  char    text[40];
  PetscFunctionBegin;
  if (c->n == 0) {
    PetscCall(html_put(page, c->n_failed > 0 ? "<td class=\"failed\" title=\"failed\">\xc3\x97</td>" : c->n_other > 0 ? "<td class=\"soft\" title=\"not finished\">\xc2\xb7</td>" : "<td></td>"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const double value = c->sum / (double)c->n;
  picture_colour_map(hi > lo ? (value - lo) / (hi - lo) : 0.5, rgb);
  const bool is_dark = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 125;
  snprintf(text, sizeof text, "%.3g", value);
  PetscCall(html_put(page, "<td style=\"background:rgb(%d,%d,%d);color:%s\">%s%s</td>", rgb[0], rgb[1], rgb[2], is_dark ? "#fff" : "#000", text, c->n_failed > 0 ? " \xc3\x97" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_table(const sweep_view *v, const sweep_measure *m, const cell *cells, text_buffer *page)
{
  int    row, column;
  char   text[60];
  double lo = INFINITY, hi = -INFINITY;
  PetscFunctionBegin;
  (void)sweep_heat_is_possible(v, &row, &column);
  const sweep_parameter *r = &v->parameter[row], *k = &v->parameter[column];
  for (int i = 0; i < r->n_levels * k->n_levels; ++i)
    if (cells[i].n > 0) lo = fmin(lo, cells[i].sum / (double)cells[i].n), hi = fmax(hi, cells[i].sum / (double)cells[i].n);
  PetscCall(html_put(page, "<figure><figcaption><b>%s%s%s%s</b></figcaption><div class=\"scroll\"><table class=\"heat\">\n<tr><th>%s \\ %s</th>", m->name, *m->unit ? " [" : "", m->unit, *m->unit ? "]" : "",
                     r->name, k->name));
  for (int j = 0; j < k->n_levels; ++j) PetscCall(html_put(page, "<th>%s</th>", sweep_level_text(k, j, sizeof text, text)));
  PetscCall(html_put(page, "</tr>\n"));
  for (int i = r->n_levels - 1; i >= 0; --i) { /* as in a diagram: upwards */
    PetscCall(html_put(page, "<tr><th>%s</th>", sweep_level_text(r, i, sizeof text, text)));
    for (int j = 0; j < k->n_levels; ++j) PetscCall(put_cell(&cells[i * k->n_levels + j], lo, hi, page));
    PetscCall(html_put(page, "</tr>\n"));
  }
  PetscCall(html_put(page, "</table></div></figure>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweep_heat_put(const sweep_view *v, const sweep_measure *m, text_buffer *page)
{
  int   row, column;
  cell *cells __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  if (!sweep_heat_is_possible(v, &row, &column)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("heat map", (int64_t)v->parameter[row].n_levels * v->parameter[column].n_levels, sizeof *cells, &cells));
  gather_cells(v, m, row, column, cells);
  PetscCall(put_table(v, m, cells, page));
  PetscFunctionReturn(PETSC_SUCCESS);
}
