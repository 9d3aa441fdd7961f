/* Stress in the exact cone by accelerated projected gradient, all components at once.
 *
 *   s_next = P( y - M^-1 g(y) ),   y = s + beta (s - s_old),   M = L diag(d_c N)
 *
 * N is the matrix of |s|_F, so that P, in the norm of M, is a change of length in each cell. d_c bounds the rows of A_ss of a cell in
 * absolute sum, hence A_ss <= diag(d_c N) and L <= 1 is enough; L follows the curvature that is met. Momentum is dropped where it points
 * uphill [ODonoghueCandes2015]. Each iteration is one pass over faces (D^T, velocities at y) and one over cells (D, step, projection). */
#include "optim/flow/flow_impl.h"

#define GRADIENT_L_SHRINK 0.97
#define GRADIENT_L_MARGIN 1.0

typedef struct {
  double  *s, *old;         /* [n_stress]; old becomes the next */
  double  *u, *u_old, *base; /* [n_faces] at s, at old, without stress */
  double  *wu;              /* [n_faces] weight * velocity at y */
  double  *inertia;         /* [n_faces] weight/mobility */
  double  *extra;           /* [n_stress] part of the gradient that bodies make */
  double  *force, *force_old; /* [n_bodies][6] of s, of old */
  double  *v_base, *v_y;    /* [n_bodies][6] */
  double  *metric;          /* [n_cells] d_c, > 0 */
  double (*part)[4];        /* [chunks] */
  double   L;
} gradient;

/* d_c: with A = D W D^T + F im F^T, the sum over a row of |D| W |D|^T + |F| |im| |F|^T, largest of the cell's five in the basis where N is 1. */
static void fill_metric(flow_solver *S, gradient *w)
{
  const flow_problem *f = S->f;
  const sparse_rows  *D = f->D, *DT = f->DT;
  double             *sum = S->face, *body = S->rate;
  FLOW_FOR(i, f->n_faces) {
    double total = 0.0;
    for (int64_t k = DT->start[i]; k < DT->start[i + 1]; ++k) total += fabs(DT->value[k]);
    sum[i] = S->face_weight[i] * total;
  }
  FLOW_FOR(i, f->n_stress) {
    double total = 0.0;
    for (int64_t k = D->start[i]; k < D->start[i + 1]; ++k) total += fabs(D->value[k]) * sum[D->col[k]];
    w->extra[i] = total;
  }
  memset(S->wrench, 0, (size_t)f->n_bodies * sizeof *S->wrench);
  memset(body, 0, (size_t)(FLOW_BODY * f->n_bodies) * sizeof *body);
  for (int64_t k = 0; k < f->F_s.n; ++k)
    for (int d = 0; d < FLOW_BODY; ++d) S->wrench[f->F_s.body[k]][d] += fabs(f->F_s.wrench[k][d]);
  for (int64_t b = 0; b < f->n_bodies; ++b)
    for (int i = 0; i < FLOW_BODY; ++i)
      for (int j = 0; j < FLOW_BODY; ++j) body[FLOW_BODY * b + i] += fabs(f->inverse_mass[b][FLOW_BODY * i + j]) * S->wrench[b][j];
  for (int64_t k = 0; k < f->F_s.n; ++k)
    for (int d = 0; d < FLOW_BODY; ++d) w->extra[f->F_s.sample[k]] += fabs(f->F_s.wrench[k][d]) * body[FLOW_BODY * f->F_s.body[k] + d];
  for (int64_t c = 0; c < f->n_cells; ++c) {
    double most = 0.0;
    for (int e = 0; e < FLOW_COMPONENTS; ++e) most = fmax(most, w->extra[FLOW_COMPONENTS * c + e]);
    w->metric[c] = most > 0.0 ? most : 1.0; /* N >= 1 in the basis of components, so this is on the safe side there */
  }
}

static PetscErrorCode create(flow_solver *S)
{
  const flow_problem *f = S->f;
  gradient           *w;
  PetscFunctionBegin;
  PetscCall(flow_array(S, "flow gradient", 1, sizeof *w, &w));
  double **const of_stress[] = {&w->s, &w->old, &w->extra}, **const of_faces[] = {&w->u, &w->u_old, &w->base, &w->wu, &w->inertia},
         **const of_bodies[] = {&w->force, &w->force_old, &w->v_base, &w->v_y};
  for (size_t k = 0; k < sizeof of_stress / sizeof *of_stress; ++k) PetscCall(flow_array(S, "flow stress", f->n_stress, sizeof(double), of_stress[k]));
  for (size_t k = 0; k < sizeof of_faces / sizeof *of_faces; ++k) PetscCall(flow_array(S, "flow face velocity", f->n_faces, sizeof(double), of_faces[k]));
  for (size_t k = 0; k < sizeof of_bodies / sizeof *of_bodies; ++k)
    PetscCall(flow_array(S, "flow body velocity", FLOW_BODY * f->n_bodies, sizeof(double), of_bodies[k]));
  PetscCall(flow_array(S, "flow metric", f->n_cells, sizeof(double), &w->metric));
  PetscCall(flow_array(S, "flow parts", (f->n_faces + f->n_cells) / FLOW_CHUNK + 2, sizeof *w->part, &w->part));
  fill_metric(S, w);
  for (int64_t i = 0; i < f->n_faces; ++i) w->inertia[i] = f->weight[i] / f->mobility[i];
  w->L      = 1.0;
  S->stress = w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Velocities of the newest s (in w->s), and from them those at the next y; returns the curvature of the step that led to s from the y before. */
static double faces(flow_solver *S, gradient *w, double beta_before, double beta)
{
  const flow_problem *f = S->f;
  const int64_t       n = f->n_faces, n_chunks = (n + FLOW_CHUNK - 1) / FLOW_CHUNK;
  const sparse_rows  *DT = f->DT;
  const double *restrict s = w->s, *restrict base = w->base, *restrict mobility = f->mobility, *restrict weight = f->weight,
                         *restrict inertia = w->inertia;
  double *restrict u = w->u, *restrict u_old = w->u_old, *restrict wu = w->wu;
  #pragma omp parallel for schedule(static) if (n >= FLOW_PARALLEL)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t last = (chunk + 1) * FLOW_CHUNK < n ? (chunk + 1) * FLOW_CHUNK : n;
    double        sum  = 0.0;
    for (int64_t i = chunk * FLOW_CHUNK; i < last; ++i) {
      const double before = u[i], y_before = before + beta_before * (before - u_old[i]), now = base[i] - mobility[i] * flow_row(DT, i, s),
                   moved = now - y_before;
      sum += inertia[i] * moved * moved;
      wu[i]    = weight[i] * (now + beta * (now - before));
      u_old[i] = before;
      u[i]     = now;
    }
    w->part[chunk][0] = sum;
  }
  double curvature = 0.0;
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) curvature += w->part[chunk][0];
  return curvature;
}

/* The same of bodies: their part of the gradient at y goes to w->extra. */
static double bodies(flow_solver *S, gradient *w, double beta_before, double beta)
{
  const flow_problem *f = S->f;
  const int64_t       n = FLOW_BODY * f->n_bodies;
  double              curvature = 0.0;
  if (S->F_s.n_rows == 0) return 0.0;
  memset(S->wrench, 0, (size_t)f->n_bodies * sizeof *S->wrench);
  flow_coupled_force(&S->F_s, w->s, S->wrench);
  for (int64_t b = 0; b < f->n_bodies; ++b) {
    double step[FLOW_BODY], at_y[FLOW_BODY], moved[FLOW_BODY] = {0.0}, *now = S->wrench[b], *before = w->force + FLOW_BODY * b, *old = w->force_old + FLOW_BODY * b;
    for (int d = 0; d < FLOW_BODY; ++d) {
      step[d] = now[d] - before[d] - beta_before * (before[d] - old[d]);
      at_y[d] = now[d] + beta * (now[d] - before[d]);
    }
    flow_mulv(f->inverse_mass[b], step, moved);
    for (int d = 0; d < FLOW_BODY; ++d) curvature += step[d] * moved[d];
    memcpy(old, before, sizeof step), memcpy(before, now, sizeof step), memcpy(now, at_y, sizeof step);
  }
  memcpy(w->v_y, w->v_base, (size_t)n * sizeof *w->v_y);
  flow_push(f, 1.0, S->wrench, w->v_y);
  for (int64_t row = 0; row < S->F_s.n_rows; ++row) {
    const int32_t sample = S->F_s.c->sample[S->F_s.row_start[row]];
    w->extra[sample]     = f->s_known ? f->s_known[sample] : 0.0;
  }
  flow_coupled_rate(&S->F_s, w->v_y, w->extra);
  return curvature;
}

typedef struct {
  double uphill;  /* (y - s_next) . (s_next - s), in the metric */
  double size2;   /* |s_next - y|^2, in the metric */
  double largest; /* |s_next - y|_F of a cell */
} step_sums;

/* The step of one cell from its gradient; always inlined, once for each basis. */
static inline __attribute__((always_inline)) void cell_step(bool is_orthonormal, const double g[5], double beta, double scale, double metric, double radius,
                                                            double *restrict s, double *restrict old, step_sums *sums)
{
  double raised[5], y[5], next[5], step[5], ahead[5];
  flow_raise(is_orthonormal, g, raised);
  for (int e = 0; e < 5; ++e) y[e] = s[e] + beta * (s[e] - old[e]), next[e] = y[e] - scale * raised[e];
  const double size2 = flow_norm2(is_orthonormal, next), shrink = size2 > radius * radius ? radius / sqrt(size2) : 1.0;
  for (int e = 0; e < 5; ++e) {
    next[e] *= shrink;
    step[e] = next[e] - y[e], ahead[e] = next[e] - s[e];
    old[e]  = next[e];
  }
  double along = 0.0;
  if (is_orthonormal) for (int e = 0; e < 5; ++e) along += step[e] * ahead[e];
  else {
    along = 2.0 * (step[0] * ahead[0] + step[1] * ahead[1]) + step[0] * ahead[1] + step[1] * ahead[0];
    for (int e = 2; e < 5; ++e) along += 2.0 * step[e] * ahead[e];
  }
  const double moved2 = flow_norm2(is_orthonormal, step);
  sums->uphill -= metric * along, sums->size2 += metric * moved2;
  sums->largest = moved2 > sums->largest ? moved2 : sums->largest;
}

static inline __attribute__((always_inline)) void cell_range(flow_solver *S, gradient *w, bool is_orthonormal, double beta, int64_t first, int64_t last, step_sums *sums)
{
  const sparse_rows *D = S->f->D;
  for (int64_t c = first; c < last; ++c) {
    double g[5];
    for (int e = 0; e < 5; ++e) g[e] = w->extra[5 * c + e] - flow_row(D, 5 * c + e, w->wu);
    cell_step(is_orthonormal, g, beta, 1.0 / (w->L * w->metric[c]), w->metric[c], S->radius[c], w->s + 5 * c, w->old + 5 * c, sums);
  }
}

/* One step from y; s and old change places. */
static step_sums cells(flow_solver *S, gradient *w, double beta)
{
  const int64_t n = S->f->n_cells, n_chunks = (n + FLOW_CHUNK - 1) / FLOW_CHUNK;
  #pragma omp parallel for schedule(static) if (n * FLOW_COMPONENTS >= FLOW_PARALLEL)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t first = chunk * FLOW_CHUNK, last = first + FLOW_CHUNK < n ? first + FLOW_CHUNK : n;
    step_sums     sums = {0};
    if (S->f->is_orthonormal) cell_range(S, w, true, beta, first, last, &sums);
    else cell_range(S, w, false, beta, first, last, &sums);
    memcpy(w->part[chunk], &sums, sizeof sums);
  }
  step_sums sums = {0};
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    sums.uphill += w->part[chunk][0], sums.size2 += w->part[chunk][1];
    sums.largest = fmax(sums.largest, w->part[chunk][2]);
  }
  double *swap = w->s;
  w->s = w->old, w->old = swap;
  sums.largest = sqrt(sums.largest);
  return sums;
}

/* Start: the stress at hand, made short enough for the pressure at hand; velocities without stress. */
static void begin(flow_solver *S, gradient *w)
{
  const flow_problem *f = S->f;
  flow_change_s(S, -1.0, S->x->s);
  memcpy(w->base, S->u, (size_t)f->n_faces * sizeof(double));
  if (f->n_bodies > 0) memcpy(w->v_base, S->v, (size_t)(FLOW_BODY * f->n_bodies) * sizeof(double));
  FLOW_FOR(c, f->n_cells) {
    const double *s = S->x->s + FLOW_COMPONENTS * c, size = sqrt(flow_norm2(f->is_orthonormal, s)),
                 shrink = size > S->radius[c] ? S->radius[c] / size : 1.0;
    for (int e = 0; e < FLOW_COMPONENTS; ++e) {
      w->s[FLOW_COMPONENTS * c + e] = w->old[FLOW_COMPONENTS * c + e] = shrink * s[e];
      w->extra[FLOW_COMPONENTS * c + e] = f->s_known ? f->s_known[FLOW_COMPONENTS * c + e] : 0.0;
    }
  }
  memset(w->force, 0, (size_t)(FLOW_BODY * f->n_bodies) * sizeof(double));
  memset(w->force_old, 0, (size_t)(FLOW_BODY * f->n_bodies) * sizeof(double));
}

static PetscErrorCode solve(flow_solver *S, double *undamped)
{
  gradient    *w   = S->stress;
  const double end = S->o->gradient->inner * S->o->tolerance * S->alpha_max * S->p_ref;
  double       momentum = 1.0, beta = 0.0, beta_before = 0.0;
  step_sums    sums = {0};
  PetscFunctionBegin;
  *undamped = 0.0;
  begin(S, w);
  for (int64_t it = 0; it < S->o->gradient->max_iterations; ++it) {
    const double curvature = faces(S, w, beta_before, beta) + bodies(S, w, beta_before, beta);
    if (it > 0 && sums.size2 > 0.0) w->L = fmax(GRADIENT_L_SHRINK * w->L, GRADIENT_L_MARGIN * curvature / sums.size2);
    sums = cells(S, w, beta);
    ++S->r->s_iterations, ++S->r->products;
    if (!(sums.largest > end)) break;
    const double next_momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum));
    beta_before = beta;
    beta        = sums.uphill > 0.0 ? 0.0 : (momentum - 1.0) / next_momentum;
    momentum    = sums.uphill > 0.0 ? 1.0 : next_momentum;
  }
  memcpy(S->x->s, w->s, (size_t)S->f->n_stress * sizeof(double));
  memcpy(S->u, w->base, (size_t)S->f->n_faces * sizeof(double));
  if (S->f->n_bodies > 0) memcpy(S->v, w->v_base, (size_t)(FLOW_BODY * S->f->n_bodies) * sizeof(double));
  flow_change_s(S, 1.0, S->x->s);
  if (!isfinite(sums.largest)) S->r->is_finite = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy(flow_solver *S) { (void)S; } /* all of it is in the arena */

const flow_stress_solver flow_stress_gradient = {create, solve, destroy};
