/* Implementation: the step for staggered samples, then the step for samples at cells and the iteration. */
#include "optim/granular/granular_stress_gradient.h"
#include <float.h>

enum { ROUNDS = 3 };

/* Staggered stress samples take the same step, but shear enters a cell by its mean around the cell. Each sample is scaled by the mean of the
 * factors of its cells, ROUNDS times. That is not a projection: the bounds are satisfied up to interpolation [TakahashiBatty2021, sec. 5.2.2]. */
static PetscErrorCode granular_gradient_staggered_create(granular_solver *S, granular_gradient *w)
{
  PetscFunctionBegin;
  PetscCall(ARENA_ALLOC(S->memory, "granular stress gradient", ARRAY(w->part, GRANULAR_COMPONENTS),
                        ARRAY(w->at_cells, GRANULAR_COMPONENTS * S->f->n_cells), ARRAY(w->shrink, S->f->n_cells)));
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) PetscCall(granular_component_create(S, e, &w->part[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static void granular_gradient_staggered_destroy(granular_gradient *w)
{
  for (int e = 0; e < GRANULAR_COMPONENTS && w->part; ++e) granular_component_destroy(&w->part[e]);
}

/* Scale each sample by the mean of the factors that bring its cells into their cones. The smallest factor would bound an edge by the
 * pressure of the cell nearest to the surface, which is too low by half a cell. */
static void scale_into_cones_once(granular_solver *S, granular_gradient *w, double *s)
{
  const granular_problem *f = S->f;
  for (int e = 0; e < GRANULAR_COMPONENTS; ++e) {
    granular_component *k         = &w->part[e];
    GRANULAR_FOR(i, k->n) k->x[i] = s[k->sample[i]];
    granular_component_to_cells(k, k->x, k->cells);
    GRANULAR_FOR(c, f->n_cells) w->at_cells[GRANULAR_COMPONENTS * c + e] = k->cells[c];
  }
  GRANULAR_FOR(c, f->n_cells)
  {
    const double size = sqrt(granular_norm2(f->is_orthonormal, w->at_cells + GRANULAR_COMPONENTS * c));
    w->shrink[c]      = size > S->radius[c] ? S->radius[c] / size : 1.0;
  }
  GRANULAR_FOR(i, f->n_stress)
  {
    double sum = 0.0;
    int    n   = 0;
    for (int q = 0; q < 4; ++q)
      if (f->sample_cells[i][q] >= 0) sum += w->shrink[f->sample_cells[i][q]], ++n;
    if (n > 0) s[i] *= sum / n;
  }
}

void granular_gradient_staggered_shorten(granular_solver *S, granular_gradient *w, double *s)
{
  for (int round = 0; round < ROUNDS; ++round) scale_into_cones_once(S, w, s);
}

granular_step_sums granular_gradient_staggered_step(granular_solver *S, granular_gradient *w, bool is_again)
{
  const granular_problem *f    = S->f;
  granular_step_sums      sums = {0};
  GRANULAR_FOR(i, f->n_stress)
  {
    if (!is_again) S->g_s[i] = w->extra[i] - granular_row(f->D, i, w->wu);
    w->next[i] = w->s[i] + w->beta * (w->s[i] - w->old[i]) - S->g_s[i] / (w->L * w->metric[i]);
  }
  granular_gradient_staggered_shorten(S, w, w->next);
  for (int64_t i = 0; i < f->n_stress; ++i) {
    const double step = w->next[i] - w->s[i] - w->beta * (w->s[i] - w->old[i]);
    sums.uphill -= w->metric[i] * step * (w->next[i] - w->s[i]);
    sums.size2 += w->metric[i] * step * step;
    sums.largest = fmax(sums.largest, fabs(step));
  }
  return sums;
}

/* Stress in the exact cone by accelerated projected gradient, all components at once.
 *
 *   s_next = P( y - M^-1 g(y) ),   y = s + beta (s - s_old),   M = L diag(d_c N)
 *
 * N is the matrix of |s|_F. So the projection P in the norm of M scales the stress of each cell. d_c bounds the absolute row sums of
 * A_ss of a cell; hence A_ss <= diag(d_c N), and L = 1 always suffices. A smaller L follows the curvature measured along the steps,
 * which costs no product. The momentum is reset when it points uphill [ODonoghueCandes2015]. An iteration is one pass over faces
 * (D^T, velocities, weights) and one over cells (D, step, projection). */
#define GRADIENT_L_SHRINK 0.97 /* factor of L per iteration: the current curvature is usually smaller than the largest one */
#define GRADIENT_L_GROW 1.3    /* smallest factor by which a rejected step increases L */
#define GRADIENT_ROUNDING 1e-9 /* relative tolerance of the curvature test: steps of the size of rounding errors are accepted */

/* Set metric to d_c. With A = D W D^T + F im F^T (im: inverse mass) it is the row sum of |D| W |D|^T + |F| |im| |F|^T, the largest
 * of the cell's five in the basis where N is 1. */
static void fill_metric(granular_solver *S, granular_gradient *w)
{
  const granular_problem *f = S->f;
  const sparse_rows      *D = f->D, *DT = f->DT;
  double                 *sum = S->face, *body = S->rate;
  GRANULAR_FOR(i, f->n_faces)
  {
    double total = 0.0;
    for (int64_t k = DT->start[i]; k < DT->start[i + 1]; ++k) total += fabs(DT->value[k]);
    sum[i] = S->face_weight[i] * total;
  }
  GRANULAR_FOR(i, f->n_stress)
  {
    double total = 0.0;
    for (int64_t k = D->start[i]; k < D->start[i + 1]; ++k) total += fabs(D->value[k]) * sum[D->col[k]];
    w->extra[i] = total;
  }
  granular_clear_bodies(S);
  for (int64_t k = 0; k < f->F_s.n; ++k)
    for (int d = 0; d < GRANULAR_BODY; ++d) S->wrench[f->F_s.body[k]][d] += fabs(f->F_s.wrench[k][d]);
  for (int64_t b = 0; b < f->n_bodies; ++b)
    for (int i = 0; i < GRANULAR_BODY; ++i)
      for (int j = 0; j < GRANULAR_BODY; ++j)
        body[GRANULAR_BODY * b + i] += fabs(f->inverse_mass[b][GRANULAR_BODY * i + j]) * S->wrench[b][j];
  for (int64_t k = 0; k < f->F_s.n; ++k)
    for (int d = 0; d < GRANULAR_BODY; ++d)
      w->extra[f->F_s.sample[k]] += fabs(f->F_s.wrench[k][d]) * body[GRANULAR_BODY * f->F_s.body[k] + d];
  if (f->is_staggered) {
    for (int64_t i = 0; i < f->n_stress; ++i) w->metric[i] = w->extra[i] > 0.0 ? w->extra[i] : 1.0;
    return;
  }
  for (int64_t c = 0; c < f->n_cells; ++c) {
    double most = 0.0;
    for (int e = 0; e < GRANULAR_COMPONENTS; ++e) most = fmax(most, w->extra[GRANULAR_COMPONENTS * c + e]);
    w->metric[c] = most > 0.0 ? most : 1.0; /* in the basis sxx ... syz N >= 1, so d_c is an upper bound there, too */
  }
}

static PetscErrorCode create_gradient(granular_solver *S)
{
  const granular_problem *f = S->f;
  granular_gradient      *w;
  PetscFunctionBegin;
  PetscCall(arena_alloc(S->memory, "granular gradient", 1, sizeof *w, &w));
  double **const         of_stress[] = {&w->next, &w->s, &w->old, &w->extra},
                 **const of_faces[]  = {&w->u_next, &w->u, &w->u_old, &w->base, &w->wu, &w->inertia},
                 **const of_bodies[] = {&w->force_next, &w->force, &w->force_old, &w->v_base, &w->v_y};
  for (size_t k = 0; k < sizeof of_stress / sizeof *of_stress; ++k)
    PetscCall(arena_alloc(S->memory, "granular stress", f->n_stress, sizeof(double), of_stress[k]));
  for (size_t k = 0; k < sizeof of_faces / sizeof *of_faces; ++k)
    PetscCall(arena_alloc(S->memory, "granular face velocity", f->n_faces, sizeof(double), of_faces[k]));
  for (size_t k = 0; k < sizeof of_bodies / sizeof *of_bodies; ++k)
    PetscCall(arena_alloc(S->memory, "granular body velocity", GRANULAR_BODY * f->n_bodies, sizeof(double), of_bodies[k]));
  PetscCall(ARENA_ALLOC(S->memory, "granular stress gradient", ARRAY(w->metric, f->is_staggered ? f->n_stress : f->n_cells),
                        ARRAY(w->sums, (f->n_faces + f->n_cells) / GRANULAR_CHUNK + 2)));
  fill_metric(S, w);
  for (int64_t i = 0; i < f->n_faces; ++i) w->inertia[i] = f->weight[i] / f->mobility[i];
  w->L      = 1.0;
  S->stress = w;
  if (f->is_staggered) PetscCall(granular_gradient_staggered_create(S, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set u_next to the face velocities at next, and wu to weight times the velocities at the following y (momentum beta). Returns the
 * contribution of the faces to the curvature of the step from y to next. */
static double update_faces(granular_solver *S, granular_gradient *w, double beta)
{
  const granular_problem *f = S->f;
  const int64_t           n = f->n_faces, n_chunks = (n + GRANULAR_CHUNK - 1) / GRANULAR_CHUNK;
  const sparse_rows      *DT  = f->DT;
  const double *restrict next = w->next, *restrict base = w->base, *restrict mobility = f->mobility, *restrict weight = f->weight,
                         *restrict inertia = w->inertia, *restrict u = w->u, *restrict u_old = w->u_old, before_beta = w->beta;
  double *restrict u_next = w->u_next, *restrict wu = w->wu;
#pragma omp parallel for schedule(static) if (n >= GRANULAR_PARALLEL)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t last = (chunk + 1) * GRANULAR_CHUNK < n ? (chunk + 1) * GRANULAR_CHUNK : n;
    double        sum  = 0.0;
    for (int64_t i = chunk * GRANULAR_CHUNK; i < last; ++i) {
      const double now = base[i] - mobility[i] * granular_row(DT, i, next), moved = now - u[i] - before_beta * (u[i] - u_old[i]);
      sum += inertia[i] * moved * moved;
      wu[i]     = weight[i] * (now + beta * (now - u[i]));
      u_next[i] = now;
    }
    w->sums[chunk][0] = sum;
  }
  double curvature = 0.0;
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) curvature += w->sums[chunk][0];
  return curvature;
}

/* The same for bodies: force_next at next, and in w->extra their contribution to the gradient at the following y. Returns their
 * contribution to the curvature. */
static double update_bodies(granular_solver *S, granular_gradient *w, double beta)
{
  const granular_problem *f         = S->f;
  double                  curvature = 0.0;
  if (S->F_s.n_rows == 0) return 0.0;
  granular_clear_bodies(S);
  granular_coupled_force(&S->F_s, w->next, S->wrench);
  for (int64_t b = 0; b < f->n_bodies; ++b) {
    const double *force = w->force + GRANULAR_BODY * b, *old = w->force_old + GRANULAR_BODY * b;
    double       *now = S->wrench[b], step[GRANULAR_BODY], moved[GRANULAR_BODY] = {0.0};
    memcpy(w->force_next + GRANULAR_BODY * b, now, sizeof step);
    for (int d = 0; d < GRANULAR_BODY; ++d) {
      step[d] = now[d] - force[d] - w->beta * (force[d] - old[d]);
      now[d] += beta * (now[d] - force[d]);
    }
    granular_add_matrix_product(f->inverse_mass[b], step, moved);
    for (int d = 0; d < GRANULAR_BODY; ++d) curvature += step[d] * moved[d];
  }
  memcpy(w->v_y, w->v_base, (size_t)(GRANULAR_BODY * f->n_bodies) * sizeof *w->v_y);
  granular_apply_wrench(f, 1.0, S->wrench, w->v_y);
  for (int64_t row = 0; row < S->F_s.n_rows; ++row) {
    const int32_t sample = S->F_s.c->sample[S->F_s.row_start[row]];
    w->extra[sample]     = f->s_known ? f->s_known[sample] : 0.0;
  }
  granular_coupled_rate(&S->F_s, w->v_y, w->extra);
  return curvature;
}

/* next = P(y - (L metric N)^-1 g) in one cell, and the sums of the step. Always inlined, once for each basis. */
static inline __attribute__((always_inline)) void step_cell(bool is_orthonormal, const double g[5], double beta, double L, double metric,
                                                            double radius, const double *restrict s, const double *restrict old,
                                                            double *restrict next, granular_step_sums *sums)
{
  const double scale = 1.0 / (L * metric);
  double       raised[5], y[5], step[5], ahead[5], along = 0.0;
  granular_apply_norm_inverse(is_orthonormal, g, raised);
  for (int e = 0; e < 5; ++e) y[e] = s[e] + beta * (s[e] - old[e]), next[e] = y[e] - scale * raised[e];
  /* No branch: it would be mispredicted at the boundary of the yielding region. DBL_MIN: 0/0 becomes 0. */
  const double size = sqrt(granular_norm2(is_orthonormal, next) + DBL_MIN), shrink = radius / (size > radius ? size : radius);
  for (int e = 0; e < 5; ++e) next[e] *= shrink, step[e] = next[e] - y[e], ahead[e] = next[e] - s[e];
  if (is_orthonormal)
    for (int e = 0; e < 5; ++e) along += step[e] * ahead[e];
  else {
    along = 2.0 * (step[0] * ahead[0] + step[1] * ahead[1]) + step[0] * ahead[1] + step[1] * ahead[0];
    for (int e = 2; e < 5; ++e) along += 2.0 * step[e] * ahead[e];
  }
  const double moved2 = granular_norm2(is_orthonormal, step);
  sums->uphill -= metric * along, sums->size2 += metric * moved2;
  sums->largest = moved2 > sums->largest ? moved2 : sums->largest;
}

static inline __attribute__((always_inline)) granular_step_sums
step_cell_range(granular_solver *S, const granular_gradient *w, bool is_orthonormal, bool is_again, int64_t first, int64_t last)
{
  const sparse_rows *D    = S->f->D;
  granular_step_sums sums = {0};
  /* Two loops: vector loads right after scalar stores of the same data stall (a quarter of the time; Zen 4, 2026-11). */
  for (int64_t i = 5 * first; i < 5 * last && !is_again; ++i) S->g_s[i] = w->extra[i] - granular_row(D, i, w->wu);
  for (int64_t c = first; c < last; ++c)
    step_cell(is_orthonormal, S->g_s + 5 * c, w->beta, w->L, w->metric[c], S->radius[c], w->s + 5 * c, w->old + 5 * c, w->next + 5 * c,
              &sums);
  return sums;
}

/* The step of all cells from y to next. The gradient at y is computed from w->wu, or reused if is_again. */
static granular_step_sums step_cells(granular_solver *S, granular_gradient *w, bool is_again)
{
  const int64_t n = S->f->n_cells, n_chunks = (n + GRANULAR_CHUNK - 1) / GRANULAR_CHUNK;
  if (S->f->is_staggered) return granular_gradient_staggered_step(S, w, is_again);
#pragma omp parallel for schedule(static) if (n * GRANULAR_COMPONENTS >= GRANULAR_PARALLEL)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t            first = chunk * GRANULAR_CHUNK, last = first + GRANULAR_CHUNK < n ? first + GRANULAR_CHUNK : n;
    const granular_step_sums sums =
        S->f->is_orthonormal ? is_again ? step_cell_range(S, w, true, true, first, last) : step_cell_range(S, w, true, false, first, last)
        : is_again ? step_cell_range(S, w, false, true, first, last)
                             : step_cell_range(S, w, false, false, first, last);
    memcpy(w->sums[chunk], &sums, sizeof sums);
  }
  granular_step_sums sums = {0};
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    sums.uphill += w->sums[chunk][0], sums.size2 += w->sums[chunk][1];
    sums.largest = fmax(sums.largest, w->sums[chunk][2]);
  }
  sums.largest = sqrt(sums.largest);
  return sums;
}

static inline void rotate_iterates(double **next, double **now, double **old)
{
  double *spare = *old;
  *old = *now, *now = *next, *next = spare;
}

/* Velocities and gradient at the initial s; no momentum. */
static void compute_first_gradient(granular_solver *S, granular_gradient *w)
{
  w->beta = 0.0;
  granular_copy(w->next, w->s, S->f->n_stress);
  update_faces(S, w, 0.0), update_bodies(S, w, 0.0);
  rotate_iterates(&w->u_next, &w->u, &w->u_old), rotate_iterates(&w->force_next, &w->force, &w->force_old);
}

/* One iteration: repeat the step with larger L until L exceeds the curvature along the step, then update momentum and iterates.
 * Returns the largest |step|_F of a cell, infinite if a value is not finite. */
static double take_accelerated_step(granular_solver *S, granular_gradient *w, double *momentum)
{
  double             curvature, beta, next_momentum;
  granular_step_sums sums = step_cells(S, w, false);
  for (;;) {
    next_momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * *momentum * *momentum));
    beta          = sums.uphill > 0.0 ? 0.0 : (*momentum - 1.0) / next_momentum;
    curvature     = update_faces(S, w, beta) + update_bodies(S, w, beta);
    ++S->r->products;
    if (!(curvature > w->L * sums.size2 * (1.0 + GRADIENT_ROUNDING)) || w->L >= 1.0) break;
    w->L = fmin(1.0, fmax(GRADIENT_L_GROW * w->L, curvature / sums.size2));
    sums = step_cells(S, w, true);
  }
  *momentum = sums.uphill > 0.0 ? 1.0 : next_momentum;
  w->beta   = beta;
  w->L *= GRADIENT_L_SHRINK;
  rotate_iterates(&w->next, &w->s, &w->old), rotate_iterates(&w->u_next, &w->u, &w->u_old),
      rotate_iterates(&w->force_next, &w->force, &w->force_old);
  ++S->r->s_iterations;
  return isfinite(sums.size2) ? sums.largest : INFINITY; /* the maximum ignores NaN */
}

/* Initial guess: the current stress, scaled into the cones of the current radii. Also sets the velocities without stress. */
static void start_iterations(granular_solver *S, granular_gradient *w)
{
  const granular_problem *f = S->f;
  granular_change_s(S, -1.0, S->x->s);
  granular_copy(w->base, S->u, f->n_faces);
  granular_copy(w->v_base, S->v, GRANULAR_BODY * f->n_bodies);
  GRANULAR_FOR(i, f->n_stress)
  {
    w->s[i]     = S->x->s[i];
    w->extra[i] = f->s_known ? f->s_known[i] : 0.0;
  }
  if (f->is_staggered) granular_gradient_staggered_shorten(S, w, w->s);
  else GRANULAR_FOR(c, f->n_cells)
    {
      double      *s    = w->s + GRANULAR_COMPONENTS * c;
      const double size = sqrt(granular_norm2(f->is_orthonormal, s)), shrink = size > S->radius[c] ? S->radius[c] / size : 1.0;
      for (int e = 0; e < GRANULAR_COMPONENTS; ++e) s[e] *= shrink;
    }
  granular_copy(w->old, w->s, f->n_stress);
  compute_first_gradient(S, w);
}

/* Tolerance of one stress solve over the outer tolerance. */
#define STRESS_INNER 0.4

static PetscErrorCode solve_stress_by_gradient(granular_solver *S, double *undamped)
{
  granular_gradient *w        = S->stress;
  const double       end      = STRESS_INNER * S->o->tolerance * S->alpha_max * S->p_ref;
  double             momentum = 1.0, step = INFINITY;
  PetscFunctionBegin;
  *undamped = 0.0;
  start_iterations(S, w);
  for (int64_t it = 0; it < S->o->gradient->max_iterations && step > end; ++it) {
    step = take_accelerated_step(S, w, &momentum);
    if (!isfinite(step)) break;
  }
  granular_copy(S->x->s, w->s, S->f->n_stress);
  granular_copy(S->u, w->u, S->f->n_faces);
  if (S->f->n_bodies > 0) {
    memcpy(S->v, w->v_base, (size_t)(GRANULAR_BODY * S->f->n_bodies) * sizeof(double));
    granular_apply_wrench(S->f, 1.0, (double(*)[GRANULAR_BODY])w->force, S->v);
  }
  if (!isfinite(step)) S->r->is_finite = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_gradient(granular_solver *S)
{
  if (S->stress) granular_gradient_staggered_destroy(S->stress);
}

const granular_stress_solver granular_stress_gradient = {create_gradient, solve_stress_by_gradient, destroy_gradient, true};
