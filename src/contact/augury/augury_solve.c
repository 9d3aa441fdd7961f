/* The augury iteration [TupekEtAl2021; MarquezRazonEtAl2023, sec. 6.4]. */
#include "contact/augury/augury_impl.h"
#include "core/team.h"

/* What of the change dv is to be taken back: all of it where it pulls outwards; else nothing, or its tangential part. Without an outside
 * (side = 0) nothing pulls outwards. */
static void judge(bool accepts_sliding_change, const double normal[3], int side, double dv[3])
{
  const double out = v3_dot(dv, normal);
  if (side * out > 0.0) return;
  if (accepts_sliding_change) v3_set(dv, 0.0, 0.0, 0.0);
  else v3_axpy(dv, -out, normal);
}

static int side_of(const augury_options *o, int64_t i) { return o->side ? o->side[i] : 1; }

/* The way out of the continuum where it is met: its own, or into the boundary there; 0 where neither is known. */
static void find_outward(augury *a, const augury_options *o, const double *normal)
{
  const augury_stencil *s = &a->stencil;
#pragma omp parallel for schedule(static) if (a->n_met > AUGURY_FEW)
  for (int64_t i = 0; i < s->set.n; ++i) {
    const int64_t at = a->met_at[i];
    if (at < 0 || augury_continuum_outward(&a->continuum, a->met[at], a->dx, a->outward[at])) continue;
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t k = s->points_start[i]; k < s->points_start[i + 1]; ++k) {
      const int64_t q = s->at_point[k], p = a->taking[q];
      v3_axpy(sum, -side_of(o, p) * s->at_weight[k] * a->mass[q], normal + 3 * p);
    }
    const double length = v3_norm(sum);
    v3_scale(a->outward[at], length > 0.0 ? 1.0 / length : 0.0, sum);
  }
}

static double largest(int64_t n, const int32_t *which, const double *v)
{
  double most = 0.0;
#pragma omp parallel for schedule(static) reduction(max : most) if (n > AUGURY_FEW)
  for (int64_t q = 0; q < n; ++q)
    for (int k = 0; k < 3; ++k) most = fmax(most, fabs(v[3 * (int64_t)which[q] + k]));
  return most;
}

/* Changes since `before` that are to be taken back: dv of nodes, du of the continuum's. Returns the largest. */
static double judge_all(augury *a, const augury_options *o, const double *normal, const double *v)
{
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_sub(a->dv + 3 * i, v + 3 * i, a->before + 3 * i);
    judge(o->accepts_sliding_change, (o->towards ? o->towards : normal) + 3 * i, side_of(o, i), a->dv + 3 * i);
  }
  for (int64_t k = 0; k < a->n_met; ++k) {
    const bool is_known = v3_dot(a->outward[k], a->outward[k]) > 0.0;
    v3_sub(a->du + 3 * k, a->u + 3 * k, a->u_before + 3 * k);
    if (is_known) judge(o->accepts_sliding_change, a->outward[k], 1, a->du + 3 * k);
    else v3_set(a->du + 3 * k, 0.0, 0.0, 0.0);
  }
  return fmax(largest(a->n_taking, a->taking, a->dv), team_max_abs(3 * a->n_met, a->du));
}

/* (v, A, u) += RSA (dv, 0, du) - (dv, 0, du) */
static void take_back(augury *a, double *v, double *A)
{
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_axpy(v + 3 * i, -1.0, a->dv + 3 * i);
    memset(a->dA + 9 * i, 0, 9 * sizeof *a->dA);
  }
  for (int64_t k = 0; k < 3 * a->n_met; ++k) a->u[k] -= a->du[k];
  augury_transfer(a, a->dv, a->dA, a->du);
#pragma omp parallel for schedule(static) if (a->n_taking > AUGURY_FEW)
  for (int64_t q = 0; q < a->n_taking; ++q) {
    const int64_t i = a->taking[q];
    v3_axpy(v + 3 * i, 1.0, a->dv + 3 * i);
    m3_axpy(A + 9 * i, 1.0, a->dA + 9 * i);
  }
  for (int64_t k = 0; k < 3 * a->n_met; ++k) a->u[k] += a->du[k];
}

PetscErrorCode augury_solve(augury *a, const augury_options *o, const double *normal, double *v, double *A, augury_result *out)
{
  PetscFunctionBegin;
  *out = (augury_result){0, 0.0};
  if (a->n_taking == 0) PetscFunctionReturn(PETSC_SUCCESS);
  find_outward(a, o, normal);
  augury_take_continuum(a, a->u);
  for (int64_t q = 0; q < a->n_taking; ++q) v3_copy(a->before + 3 * (int64_t)a->taking[q], v + 3 * (int64_t)a->taking[q]);
  if (a->n_met > 0) memcpy(a->u_before, a->u, (size_t)(3 * a->n_met) * sizeof *a->u);
  const double enough = o->tolerance * fmax(largest(a->n_taking, a->taking, v), team_max_abs(3 * a->n_met, a->u));
  augury_transfer(a, v, A, a->u);
  for (;; ++out->iterations) {
    out->left = judge_all(a, o, normal, v);
    if (out->left <= enough || out->iterations == o->max_iterations) break;
    take_back(a, v, A);
  }
  augury_give_continuum(a, a->u);
  PetscFunctionReturn(PETSC_SUCCESS);
}
