#include "optim/sap/sap.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "optim/sap/sap_hessian.h"
#include "optim/sap/sap_search.h"
#include <float.h>
#include <string.h>

const char *const sap_searches[]    = {[SAP_SEARCH_EXACT] = "exact", [SAP_SEARCH_BACKTRACKING] = "backtracking", NULL};
const char *const sap_search_help[] = {"to where the cost is least",
                                       "to the first of 1.25, 1, 0.8 ... behind which it is not lower"};

const char *sap_verdict_text(sap_verdict v)
{
  static const char *const text[] = {
#define X(name, words) words,
      SAP_VERDICT_TABLE(X)
#undef X
  };
  return text[v];
}

static const double LEAST_ERROR = 1e-14;    /* sqrt(J): nothing moves */
static const double LEAST_GAIN = 1e-12;     /* of the cost, relative: the error, its square root, may go on falling, */
enum { IDLE = 3 };                          /* or not be halved in so many iterations: rounding is all that is left */

/* Everything of one solve, in the unknowns that take part. */
typedef struct {
  const sap_problem *p;
  const sap_options *o;
  sap_system         s;
  sap_hessian        h;
  double            *v, *dv, *gradient, *product; /* [n]; product: S (v - v_free), S v or S dv */
  double            *u, *du;                      /* [m][3] */
  double            *r, *G, *cost;                /* [m][3], [m][9], [m] */
  double            *trial, *trial_r;             /* [m][3] */
  double             momentum, least;             /* |D S v| or |D J^T r|; the cost */
} sap_work;

static void work_destroy(sap_work *w)
{
  void *arrays[] = {&w->v, &w->dv, &w->gradient, &w->product, &w->u, &w->du, &w->r, &w->G, &w->cost, &w->trial, &w->trial_r};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
  sap_hessian_destroy(&w->h);
  sap_system_destroy(&w->s);
}

static PetscErrorCode work_create(sap_work *w, const double *v)
{
  PetscFunctionBegin;
  PetscCall(sap_system_create(w->p, &w->s));
  const int64_t n = w->s.n, m = w->p->n_contacts;
  double **of_unknowns[] = {&w->v, &w->dv, &w->gradient, &w->product},
         **of_contacts[] = {&w->u, &w->du, &w->r, &w->trial, &w->trial_r};
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("velocities in contact", n, sizeof(double), of_unknowns[k]));
  for (int k = 0; k < 5; ++k) PetscCall(memory_alloc("velocities of contacts", 3 * m, sizeof(double), of_contacts[k]));
  PetscCall(memory_alloc("derivatives of contacts", 9 * m, sizeof *w->G, &w->G));
  PetscCall(memory_alloc("costs of contacts", m, sizeof *w->cost, &w->cost));
  PetscCall(sap_hessian_create(&w->s, &w->h));
  for (int64_t i = 0; i < n; ++i) w->v[i] = v[w->s.own[i]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double scaled_norm(const sap_work *w, const double *x, double *scaled)
{
  for (int64_t i = 0; i < w->s.n; ++i) scaled[i] = w->s.inverse[i] * x[i];
  return sqrt(team_dot(w->s.n, scaled, scaled));
}

/* Gradient, impulses and their derivatives at w->v; the error that the tolerance is asked of. Uses dv. */
static double evaluate(sap_work *w)
{
  const int64_t n = w->s.n, m = w->p->n_contacts;
  sap_system_velocity(&w->s, w->v, w->u);
  for (int64_t i = 0; i < 3 * m; ++i) w->u[i] += w->p->known[i];
  sap_laws(w->p->model, m, w->p->contact, w->u, w->cost, w->r, w->G);
  sparse_rows_apply(&w->s.S, w->v, w->product);
  const double momentum = scaled_norm(w, w->product, w->dv);
  sap_system_impulse(&w->s, w->r, w->gradient);
  const double impulse = scaled_norm(w, w->gradient, w->dv);
  for (int64_t i = 0; i < n; ++i) w->dv[i] = w->v[i] - w->s.v_free[i];
  sparse_rows_apply(&w->s.S, w->dv, w->product);
  w->least = 0.5 * team_dot(n, w->dv, w->product) + team_sum(m, w->cost);
  for (int64_t i = 0; i < n; ++i) w->gradient[i] = w->product[i] - w->gradient[i];
  w->momentum = fmax(momentum, impulse);
  const double norm = scaled_norm(w, w->gradient, w->dv);
  return norm <= LEAST_ERROR ? 0.0 : norm / w->momentum;
}

/* Newton's direction to w->dv and du; *slope of the cost along it. */
static PetscErrorCode direction(sap_work *w, sap_ray *ray, double *slope, bool *is_definite)
{
  const int64_t n = w->s.n;
  PetscFunctionBegin;
  PetscCall(sap_hessian_factor(&w->h, w->G, is_definite));
  if (!*is_definite) PetscFunctionReturn(PETSC_SUCCESS);
  sap_hessian_solve(&w->h, w->gradient, w->dv);
  for (int64_t i = 0; i < n; ++i) w->dv[i] = -w->dv[i];
  *slope = team_dot(n, w->gradient, w->dv);
  sap_system_velocity(&w->s, w->dv, w->du);
  ray->slope = team_dot(n, w->dv, w->product);
  sparse_rows_apply(&w->s.S, w->dv, w->product);
  ray->curve = team_dot(n, w->dv, w->product);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode minimise(sap_work *w, sap_result *out)
{
  sap_ray ray = {.model = w->p->model, .n = w->p->n_contacts, .contact = w->p->contact, .u = w->u, .du = w->du, .trial = w->trial,
                 .r = w->trial_r, .G = w->G, .cost = w->cost};
  double  slope = 0.0, best;
  int     n_idle = 0;
  bool    is_definite;
  PetscFunctionBegin;
  out->error = best = evaluate(w);
  for (out->verdict = SAP_ITERATIONS; out->error <= w->o->tolerance || out->iterations < w->o->max_iterations; ++out->iterations) {
    if (out->error <= w->o->tolerance) {
      out->verdict = SAP_OK;
      break;
    }
    if (stop_is_urgent()) {
      out->verdict = SAP_STOPPED;
      break;
    }
    PetscCall(direction(w, &ray, &slope, &is_definite));
    if (!is_definite || !(slope < 0.0)) {
      out->verdict = SAP_ILL_CONDITIONED;
      break;
    }
    const double a = w->o->search == SAP_SEARCH_EXACT ? sap_search_exact(&ray, slope) : sap_search_backtracking(&ray, slope);
    for (int64_t i = 0; i < w->s.n; ++i) w->v[i] += a * w->dv[i];
    out->error = evaluate(w);
    n_idle     = -slope <= LEAST_GAIN * fabs(w->least) && !(out->error < 0.5 * best) ? n_idle + 1 : 0;
    best       = fmin(best, out->error);
    if (n_idle == IDLE && out->error > w->o->tolerance) {
      out->verdict = SAP_ROUND_OFF;
      ++out->iterations;
      break;
    }
  }
  out->searches = ray.n_evaluations;
  out->cost     = w->least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = v_free + A^-1 J^T r for all unknowns. */
static PetscErrorCode put_back(const sap_work *w, double *v)
{
  const sap_problem *p   = w->p;
  const int32_t     *dof = mass_factor_dof(p->factor);
  double            *x;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", p->A->n_rows, sizeof *x, &x));
  sap_system_impulse(&w->s, w->r, w->dv);
  for (int64_t i = 0; i < w->s.n; ++i) x[mass_factor_place(p->factor)[w->s.own[i]]] = w->dv[i];
  mass_factor_solve_places(p->factor, x);
  for (int64_t at = 0; at < p->A->n_rows; ++at) v[dof[at]] = p->v_free[dof[at]] + x[at];
  memory_free(&x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sap_solve(const sap_problem *p, const sap_options *o, double *v, double *r, double *u, sap_result *out)
{
  sap_work w = {.p = p, .o = o};
  PetscFunctionBegin;
  *out                = (sap_result){.verdict = SAP_OK};
  PetscErrorCode code = work_create(&w, v);
  out->n_unknowns     = w.s.n;
  if (!code) code = minimise(&w, out);
  if (!code) code = put_back(&w, v);
  if (!code) {
    sparse_rows_apply(p->J, v, u);
    for (int64_t i = 0; i < 3 * p->n_contacts; ++i) r[i] = w.r[i], u[i] += p->known[i];
  }
  work_destroy(&w);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- judged apart ---- */

PetscErrorCode sap_error(const sap_problem *p, const double *v, const double *r, double *error)
{
  const sparse_rows *A = p->A, *J = p->J;
  double            *push, miss = 0.0, momentum = 0.0, impulse = 0.0, law = 0.0, size = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_alloc("impulses of unknowns", A->n_rows, sizeof *push, &push));
  for (int64_t i = 0; i < J->n_rows; ++i)
    for (int64_t k = J->start[i]; k < J->start[i + 1]; ++k) push[J->col[k]] += J->value[k] * r[i];
  for (int64_t i = 0; i < A->n_rows; ++i) {
    double change = 0.0, all = 0.0, diagonal = 0.0;
    for (int64_t k = A->start[i]; k < A->start[i + 1]; ++k) {
      change += A->value[k] * (v[A->col[k]] - p->v_free[A->col[k]]);
      all += A->value[k] * v[A->col[k]];
      if (A->col[k] == i) diagonal = A->value[k];
    }
    miss += (change - push[i]) * (change - push[i]) / diagonal;
    momentum += all * all / diagonal, impulse += push[i] * push[i] / diagonal;
  }
  memory_free(&push);
  for (int64_t a = 0; a < p->n_contacts && p->model == SAP_REGULARISED; ++a) {
    const sap_contact *c = p->contact + a;
    double             u[3], says[3];
    for (int i = 0; i < 3; ++i) {
      u[i] = p->known[3 * a + i];
      for (int64_t k = J->start[3 * a + i]; k < J->start[3 * a + i + 1]; ++k) u[i] += J->value[k] * v[J->col[k]];
    }
    sap_law_regularised(c, u, says, NULL);
    for (int i = 0; i < 3; ++i) {
      const double R = i ? c->R_t : c->R_n, d = says[i] - r[3 * a + i];
      law += R * d * d, size += R * r[3 * a + i] * r[3 * a + i];
    }
  }
  *error = sqrt(miss) <= LEAST_ERROR ? 0.0 : sqrt(miss / fmax(momentum, impulse));
  if (law > 0.0) *error = fmax(*error, sqrt(law / fmax(size, DBL_MIN)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
