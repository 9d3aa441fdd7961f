/* All selected parts are searched at once: each trial point needs one evaluation of the residual of the scene. */
#include "sim/step/step_line_search.h"
#include "core/memory.h"
#include <math.h>
#include <string.h>

enum { SMALL = 6 }; /* unknowns; components of rigid bodies are not larger */

void step_line_search_destroy(step_line_search *w)
{
  MEMORY_FREE(&w->part, &w->first, &w->slope, &w->residual, &w->share, &w->low, &w->at_low, &w->high, &w->at_high, &w->is_selected);
  *w = (step_line_search){0};
}

/* Arrays of w->n_parts parts. */
static PetscErrorCode allocate_parts(step_line_search *w)
{
  double **arrays[] = {&w->first, &w->slope, &w->residual, &w->share, &w->low, &w->at_low, &w->high, &w->at_high};
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    PetscCall(memory_alloc("parts of a scene", w->n_parts, sizeof(double), arrays[k]));
  PetscCall(memory_alloc("parts of a scene", w->n_parts, sizeof *w->is_selected, &w->is_selected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t part_of(const step_line_search *w, int64_t i) { return w->part ? w->part[i] : 0; }

PetscErrorCode step_line_search_create(int64_t n, step_line_search *w)
{
  PetscFunctionBegin;
  *w = (step_line_search){.n = n, .n_parts = 1};
  PetscCall(allocate_parts(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_line_search_create_parts(const delassus *W, step_line_search *w)
{
  const mass_factor *f     = delassus_factor(W);
  const int64_t     *start = mass_factor_start(f), n_components = mass_factor_n_components(f);
  const int32_t     *dof          = mass_factor_dof(f);
  int64_t            n_large      = 0;
  bool               is_any_small = false;
  PetscFunctionBegin;
  *w = (step_line_search){.n = delassus_n_dof(W)};
  PetscCall(memory_alloc("parts of a scene", w->n, sizeof *w->part, &w->part));
  for (int64_t c = 0; c < n_components; ++c) {
    const bool is_large = start[c + 1] - start[c] > SMALL;
    is_any_small |= !is_large;
    n_large += is_large;
    for (int64_t at = start[c]; at < start[c + 1]; ++at) w->part[dof[at]] = (int32_t)(is_large ? n_large : 0);
  }
  w->n_parts = n_large + is_any_small;
  for (int64_t i = 0; i < w->n && !is_any_small; ++i) --w->part[i];
  PetscCall(allocate_parts(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_slopes(const step_line_search *w, const double *dy, const double *gradient, double *slope)
{
  memset(slope, 0, (size_t)w->n_parts * sizeof *slope);
  for (int64_t i = 0; i < w->n; ++i) slope[part_of(w, i)] += dy[i] * gradient[i];
}

void step_line_search_start(step_line_search *w, const double *dy, const double *gradient) { add_slopes(w, dy, gradient, w->first); }

static void bracket(step_line_search *w, int64_t p)
{
  if (w->slope[p] < 0.0) w->low[p] = w->share[p], w->at_low[p] = w->slope[p];
  else w->high[p] = w->share[p], w->at_high[p] = w->slope[p];
}

static bool is_too_far(const step_line_search *w, int64_t p) { return w->slope[p] > -STEP_SLOPE_FRACTION * w->first[p]; }

int64_t step_line_search_select(step_line_search *w, const double *dy, const double *gradient, const double *scale)
{
  double all    = 0.0;
  w->n_selected = 0;
  if (gradient) add_slopes(w, dy, gradient, w->slope);
  memset(w->residual, 0, (size_t)w->n_parts * sizeof *w->residual);
  for (int64_t i = 0; i < w->n && w->part && gradient; ++i) w->residual[w->part[i]] += gradient[i] * scale[i] * gradient[i] * scale[i];
  for (int64_t p = 0; p < w->n_parts; ++p) all += w->residual[p];
  for (int64_t p = 0; p < w->n_parts; ++p) {
    w->share[p] = 1.0;
    if (!gradient) w->slope[p] = INFINITY;
    w->is_selected[p] = (double)w->n_parts * w->residual[p] >= all && is_too_far(w, p);
    if (!w->is_selected[p]) continue;
    ++w->n_selected;
    w->low[p] = 0.0, w->at_low[p] = w->first[p];
    bracket(w, p);
  }
  return w->n_selected;
}

/* Step length between one that is too short and one that is too long. */
static double next_share(const step_line_search *w, int64_t p, int step)
{
  const double low = w->low[p], high = w->high[p], width = high - low;
  if (isinf(w->at_high[p])) return low + 0.5 * width;
  const double straight = low + width * w->at_low[p] / (w->at_low[p] - w->at_high[p]);
  if (step % 3 == 2 || !(straight > low)) return low + 0.5 * width;
  return fmin(fmax(straight, low + 0.1 * width), high - 0.1 * width);
}

void step_line_search_next(step_line_search *w, int step)
{
  for (int64_t p = 0; p < w->n_parts; ++p)
    if (w->is_selected[p]) w->share[p] = next_share(w, p, step);
}

int64_t step_line_search_update(step_line_search *w, const double *dy, const double *gradient)
{
  if (gradient) add_slopes(w, dy, gradient, w->slope);
  for (int64_t p = 0; p < w->n_parts; ++p) {
    if (!w->is_selected[p]) continue;
    if (!gradient) w->slope[p] = INFINITY;
    bracket(w, p);
    if (fabs(w->slope[p]) <= -STEP_SLOPE_FRACTION * w->first[p]) w->is_selected[p] = false, --w->n_selected;
  }
  return w->n_selected;
}

void step_line_search_point(const step_line_search *w, const double *start, const double *dy, double *y)
{
  for (int64_t i = 0; i < w->n; ++i) y[i] = start[i] + w->share[part_of(w, i)] * dy[i];
}
