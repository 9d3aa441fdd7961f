/* Implementation: recomputes velocities, gradients and diagonals of the Hessian, then the residual of each unknown. */
#include "optim/granular/granular_kkt.h"
#include "optim/granular/granular_state.h"

typedef struct {
  const granular_problem *f;
  const granular_state   *x;
  double                 *u, *v, *force;     /* [n_faces], [n_bodies][6] velocities, [n_bodies][6] wrenches that changed v from v_star */
  double                 *gp, *gs, *dp, *ds; /* gradients and diagonals of the Hessian */
  double                 *at_cells, *count;  /* [n_cells][5] mean stress of the samples around each cell, and their number */
} kkt;

static void add_rows(const sparse_rows *rows, const double *x, const double *mobility, double *u)
{
  for (int64_t i = 0; i < rows->n_rows; ++i)
    for (int64_t k = rows->start[i]; k < rows->start[i + 1]; ++k) u[rows->col[k]] -= mobility[rows->col[k]] * rows->value[k] * x[i];
}
static void add_forces(const granular_coupling *c, const double *x, double *force)
{
  for (int64_t k = 0; k < c->n; ++k)
    for (int d = 0; d < GRANULAR_BODY; ++d) force[GRANULAR_BODY * c->body[k] + d] += c->wrench[k][d] * x[c->sample[k]];
}

static void fill_velocities(kkt *w)
{
  const granular_problem *f = w->f;
  granular_copy(w->u, f->u_star, f->n_faces);
  add_rows(f->G, w->x->p, f->mobility, w->u);
  if (f->n_stress > 0) add_rows(f->D, w->x->s, f->mobility, w->u);
  add_forces(&f->F_p, w->x->p, w->force);
  add_forces(&f->F_s, w->x->s, w->force);
  granular_contact_force(f, w->x->lambda, w->x->z, (double(*)[GRANULAR_BODY])w->force);
  granular_copy(w->v, f->v_star, GRANULAR_BODY * f->n_bodies);
  granular_apply_wrench(f, 1.0, (double(*)[GRANULAR_BODY])w->force, w->v);
}

static void fill_gradient(const kkt *w, const sparse_rows *rows, const granular_coupling *c, const double *known, double *g, double *d)
{
  const granular_problem *f = w->f;
  GRANULAR_FOR(i, rows->n_rows)
  {
    g[i] = known ? known[i] : 0.0, d[i] = 0.0;
    for (int64_t k = rows->start[i]; k < rows->start[i + 1]; ++k) {
      const int32_t face = rows->col[k];
      g[i] -= rows->value[k] * f->weight[face] * w->u[face];
      d[i] += rows->value[k] * rows->value[k] * f->weight[face] * f->mobility[face];
    }
  }
  for (int64_t k = 0; k < c->n; ++k) {
    double moved[GRANULAR_BODY] = {0.0};
    granular_add_matrix_product(f->inverse_mass[c->body[k]], c->wrench[k], moved);
    for (int i = 0; i < GRANULAR_BODY; ++i)
      g[c->sample[k]] += c->wrench[k][i] * w->v[GRANULAR_BODY * c->body[k] + i], d[c->sample[k]] += c->wrench[k][i] * moved[i];
  }
}

/* J(x) - J(0) = 1/2 (g(x) + g(0)) . x, because J is quadratic. Evaluated with the forces on faces and bodies, not by products with x. */
static double energy_change(const kkt *w)
{
  const granular_problem *f   = w->f;
  double                  sum = 0.0;
  for (int64_t i = 0; i < f->n_faces; ++i) sum += 0.5 * f->weight[i] / f->mobility[i] * (w->u[i] - f->u_star[i]) * (w->u[i] + f->u_star[i]);
  for (int64_t i = 0; i < GRANULAR_BODY * f->n_bodies; ++i) sum += 0.5 * w->force[i] * (w->v[i] + f->v_star[i]);
  if (f->p_known)
    for (int64_t i = 0; i < f->n_cells; ++i) sum += f->p_known[i] * w->x->p[i];
  if (f->s_known)
    for (int64_t i = 0; i < f->n_stress; ++i) sum += f->s_known[i] * w->x->s[i];
  for (int64_t j = 0; j < f->n_contacts; ++j)
    sum += f->contact[j].known[0] * w->x->lambda[j] + f->contact[j].known[1] * w->x->z[2 * j] + f->contact[j].known[2] * w->x->z[2 * j + 1];
  return sum;
}

static double max_or_nan(double most, double value) { return value > most || value != value ? value : most; }

static void evaluate_pressure_residual(const kkt *w, double p_ref, granular_kkt_report *r)
{
  const granular_problem *f = w->f;
  for (int64_t c = 0; c < f->n_cells; ++c) {
    const double lo = -granular_cohesion(f, c), p = w->x->p[c], g = w->gp[c];
    if (w->dp[c] > 0.0) r->p = max_or_nan(r->p, fabs(p - fmax(lo, p - g / w->dp[c])) / p_ref);
    r->complementarity += fabs((p - lo) * g);
    r->volume_rate += fmax(0.0, -g);
  }
}

/* Residual |s - P(s - (d N)^-1 g)|_F of one cell; P projects on the cone, d is the cell's largest diagonal entry. */
static double cone_residual(const granular_problem *f, const double *s, const double *g, const double *diagonal, double radius)
{
  double d = 0.0, raised[5], next[5];
  for (int e = 0; e < 5; ++e) d = diagonal[e] > d ? diagonal[e] : d;
  if (!(d > 0.0)) return 0.0;
  granular_apply_norm_inverse(f->is_orthonormal, g, raised);
  for (int e = 0; e < 5; ++e) next[e] = s[e] - raised[e] / d;
  const double size = sqrt(granular_norm2(f->is_orthonormal, next)), shrink = size > radius ? radius / size : 1.0;
  for (int e = 0; e < 5; ++e) next[e] = next[e] * shrink - s[e];
  return sqrt(granular_norm2(f->is_orthonormal, next));
}

static void average_stress_at_cells(const kkt *w)
{
  const granular_problem *f = w->f;
  for (int64_t i = 0; i < f->n_stress; ++i)
    for (int q = 0; q < 4; ++q) {
      const int64_t cell = f->is_staggered ? f->sample_cells[i][q]
                           : q == 0        ? i / 5
                                           : -1,
                    at   = 5 * cell + (f->is_staggered ? f->component[i] : i % 5);
      if (cell >= 0) w->at_cells[at] += w->x->s[i], w->count[at] += 1.0;
    }
  for (int64_t i = 0; i < 5 * f->n_cells; ++i) w->at_cells[i] /= fmax(w->count[i], 1.0);
}

static void evaluate_stress_residual(const kkt *w, double p_ref, double p_max, granular_kkt_report *r)
{
  const granular_problem *f         = w->f;
  double                  alpha_max = 0.0;
  for (int64_t c = 0; c < f->n_cells; ++c) alpha_max = fmax(alpha_max, f->alpha[c]);
  average_stress_at_cells(w);
  for (int64_t c = 0; c < f->n_cells && alpha_max > 0.0; ++c) {
    const double *s = w->at_cells + 5 * c, support = w->x->p[c] + granular_cohesion(f, c),
                 radius = support > GRANULAR_P_MIN * f->pressure_scale ? f->alpha[c] * support : 0.0;
    if (!f->is_staggered) r->s = max_or_nan(r->s, cone_residual(f, s, w->gs + 5 * c, w->ds + 5 * c, radius) / (alpha_max * p_ref));
    if (w->x->p[c] > GRANULAR_YIELD_PRESSURE * p_max && radius > 0.0)
      r->yield = max_or_nan(r->yield, sqrt(granular_norm2(f->is_orthonormal, s)) / radius);
  }
}

static void evaluate_contact_residual(const kkt *w, granular_kkt_report *r)
{
  const granular_problem *f          = w->f;
  double                  lambda_ref = f->contact_scale, mu_max = 0.0;
  for (int64_t j = 0; j < f->n_contacts; ++j) lambda_ref = fmax(lambda_ref, w->x->lambda[j]), mu_max = fmax(mu_max, f->contact[j].mu);
  for (int64_t j = 0; j < f->n_contacts; ++j) {
    const granular_contact *c       = &f->contact[j];
    double                  rate[3] = {c->known[0], c->known[1], c->known[2]}, d[3] = {0.0};
    for (int side = 0; side < 2; ++side)
      for (int k = 0; k < 3 && c->body[side] >= 0; ++k) {
        double moved[GRANULAR_BODY] = {0.0};
        granular_add_matrix_product(f->inverse_mass[c->body[side]], c->row[k][side], moved);
        for (int i = 0; i < GRANULAR_BODY; ++i)
          rate[k] += c->row[k][side][i] * w->v[GRANULAR_BODY * c->body[side] + i], d[k] += c->row[k][side][i] * moved[i];
      }
    const double lambda = w->x->lambda[j], *z = w->x->z + 2 * j,
                 step = lambda_ref > 0.0 ? fabs(lambda - fmax(0.0, lambda - rate[0] / d[0])) : 0.0;
    if (lambda_ref > 0.0) r->lambda = max_or_nan(r->lambda, step / lambda_ref);
    r->contact_complementarity += fabs(lambda * rate[0]);
    const double dt = fmax(d[1], d[2]), radius = c->mu * fmax(lambda, 0.0);
    if (!(dt > 0.0) || !(mu_max * lambda_ref > 0.0)) continue;
    const double y[2] = {z[0] - rate[1] / dt, z[1] - rate[2] / dt}, size = hypot(y[0], y[1]), shrink = size > radius ? radius / size : 1.0;
    r->z = max_or_nan(r->z, hypot(shrink * y[0] - z[0], shrink * y[1] - z[1]) / (mu_max * lambda_ref));
  }
}

static void evaluate_residual(kkt *w, granular_kkt_report *r)
{
  const granular_problem *f     = w->f;
  double                  p_max = 0.0;
  for (int64_t c = 0; c < f->n_cells; ++c) p_max = fmax(p_max, w->x->p[c]);
  const double p_ref = fmax(f->pressure_scale, p_max);
  fill_velocities(w);
  fill_gradient(w, f->G, &f->F_p, f->p_known, w->gp, w->dp);
  if (p_ref > 0.0) evaluate_pressure_residual(w, p_ref, r);
  if (f->n_stress > 0) {
    fill_gradient(w, f->D, &f->F_s, f->s_known, w->gs, w->ds);
    if (p_ref > 0.0) evaluate_stress_residual(w, p_ref, p_max, r);
  }
  evaluate_contact_residual(w, r);
  r->kkt    = max_or_nan(max_or_nan(max_or_nan(r->p, r->s), r->lambda), r->z);
  r->energy = energy_change(w);
}

PetscErrorCode granular_kkt(const granular_problem *f, const granular_state *x, granular_kkt_report *r)
{
  kkt w = {.f = f, .x = x};
  const struct {
    double **array;
    int64_t  n;
  } wanted[]          = {{&w.u, f->n_faces},
                         {&w.v, GRANULAR_BODY * f->n_bodies},
                         {&w.force, GRANULAR_BODY * f->n_bodies},
                         {&w.gp, f->n_cells},
                         {&w.dp, f->n_cells},
                         {&w.gs, f->n_stress},
                         {&w.ds, f->n_stress},
                         {&w.at_cells, f->n_stress > 0 ? 5 * f->n_cells : 0},
                         {&w.count, f->n_stress > 0 ? 5 * f->n_cells : 0}};
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  *r = (granular_kkt_report){0};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted && !code; ++k)
    code = memory_alloc("granular residual", wanted[k].n, sizeof(double), wanted[k].array);
  if (!code) evaluate_residual(&w, r);
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k) memory_free(wanted[k].array);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
