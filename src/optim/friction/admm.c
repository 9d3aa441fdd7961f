/* The alternating direction method of multipliers (ADMM) with the penalty matrix R = rho diag(rho_a), rho_a = 3/trace(W_aa). v is the
 * velocity change by the impulses, so that u = H v + q. z is an auxiliary relative velocity, xi the scaled multiplier:
 *
 *   v <- argmin 1/2 v^T M v + 1/2 |H v + q + s - z + xi|_R^2,   z <- P_{K_1/mu}(H v + q + s + xi),   xi <- xi + H v + q + s - z,
 *   s <- mu |u_T| e_N,   r = -R xi, which lies in the cone K_mu
 *
 * Only H v is needed. With b = z - q - s - xi it is
 *   H K^-1 H^T R b,  K = M + H^T R H       if M and H are given
 *   b - R^-1 x,      (W + R^-1) x = b      if blocks of W are stored, or if there are few contacts relative to unknowns
 * Each rho needs one factorisation. rho is doubled or halved if primal and dual residual differ by more than a factor of 10. */
#include "optim/friction/admm.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/cone.h"
#include "optim/friction/friction_problem.h"
#include "optim/friction/sparse_direct.h"
#include <string.h>

enum { ITERATIONS = 20000, CHANGES_MAX = 30 };
enum {
  REBALANCE_EVERY = 10 /* iterations after which rho may change */,
  CHECK_EVERY     = 5 /* iterations between evaluations of the error */
};
static const double UNBALANCED = 10.0, RELAXATION = 1.8; /* over-relaxation */

typedef struct {
  const friction_problem *p;
  const friction_options *o;
  bool                    is_dual;    /* W + R^-1 is factored, not K */
  sparse_rows             HT, square; /* H^T; the matrix that is factored */
  sparse_rows             W;          /* dual: scalar rows of W */
  sparse_direct          *direct;
  double                  rho, *weight;            /* [n] rho_a */
  double                 *z, *xi, *s, *b, *Hv, *x; /* [3n]; x [3n or n_dof] */
  double                 *best;
  double                  best_error, primal, dual;
  int64_t                 n_factors, n_changes;
} admm;

static void admm_free(admm *m)
{
  sparse_rows_destroy(&m->HT), sparse_rows_destroy(&m->square), sparse_rows_destroy(&m->W);
  sparse_direct_destroy(&m->direct);
  MEMORY_FREE(&m->weight, &m->z, &m->xi, &m->s, &m->b, &m->Hv, &m->x, &m->best);
}

/* Blocks as scalar rows. */
static PetscErrorCode scalar_rows(delassus *w, sparse_rows *out)
{
  const int64_t *start, n = delassus_n_contacts(w);
  const int32_t *col;
  const double  *value;
  int64_t       *s = NULL;
  int32_t       *c = NULL;
  double        *v = NULL;
  PetscFunctionBegin;
  PetscCall(delassus_blocks(w, &start, &col, &value));
  PetscErrorCode code = MEMORY_ALLOC("admm", ARRAY(s, 3 * n + 1), ARRAY(c, 9 * start[n]), ARRAY(v, 9 * start[n]));
  int64_t        slot = 0;
  for (int64_t i = 0; !code && i < 3 * n; ++i) {
    for (int64_t k = start[i / 3]; k < start[i / 3 + 1]; ++k)
      for (int j = 0; j < 3; ++j) c[slot] = 3 * col[k] + j, v[slot++] = value[9 * k + 3 * (i % 3) + j];
    s[i + 1] = slot;
  }
  if (!code) code = sparse_rows_create("W", 3 * n, 3 * n, s, c, v, out);
  MEMORY_FREE(&s, &c, &v);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_symmetric(const sparse_rows *a, const sparse_rows *turned)
{
  return a->start[a->n_rows] == turned->start[a->n_rows] && !memcmp(a->start, turned->start, (size_t)(a->n_rows + 1) * sizeof *a->start) &&
         !memcmp(a->col, turned->col, (size_t)a->start[a->n_rows] * sizeof *a->col) &&
         !memcmp(a->value, turned->value, (size_t)a->start[a->n_rows] * sizeof *a->value);
}

/* The matrix for the rho of now, factored. */
static PetscErrorCode factor(admm *m)
{
  sparse_rows scaled = {0}, turned = {0};
  bool        is_regular;
  PetscFunctionBegin;
  sparse_rows_destroy(&m->square);
  if (m->is_dual) {
    PetscCall(sparse_rows_sum(1.0, &m->W, 0.0, &m->W, &m->square));
    for (int64_t i = 0; i < m->square.n_rows; ++i)
      for (int64_t k = m->square.start[i]; k < m->square.start[i + 1]; ++k)
        if (m->square.col[k] == i) m->square.value[k] += 1.0 / (m->rho * m->weight[i / 3]);
    if (!m->direct) PetscCall(sparse_rows_transposed(&m->square, &turned));
  } else {
    PetscCall(sparse_rows_sum(1.0, delassus_jacobian(m->p->W), 0.0, delassus_jacobian(m->p->W), &scaled));
    for (int64_t i = 0; i < scaled.n_rows; ++i)
      for (int64_t k = scaled.start[i]; k < scaled.start[i + 1]; ++k) scaled.value[k] *= m->rho * m->weight[i / 3];
    PetscCall(sparse_rows_product(&m->HT, &scaled, &turned));
    PetscCall(sparse_rows_sum(1.0, delassus_mass(m->p->W), 1.0, &turned, &m->square));
  }
  if (m->direct) PetscCall(sparse_direct_refactor(m->direct, &m->square, &is_regular));
  else
    PetscCall(sparse_direct_create(!m->is_dual || is_symmetric(&m->square, &turned) ? SPARSE_DIRECT_CHOLESKY : SPARSE_DIRECT_LU, &m->square,
                                   &is_regular, &m->direct));
  sparse_rows_destroy(&scaled), sparse_rows_destroy(&turned);
  PetscCheck(is_regular, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
             "the matrix of method admm is singular, which happens if W is not positive semidefinite; use method splitting or newton");
  ++m->n_factors;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode admm_create(admm *m, const double *r)
{
  const int64_t  n = m->p->n, n_dof = delassus_n_dof(m->p->W);
  double **const vectors[] = {&m->z, &m->xi, &m->s, &m->b, &m->Hv, &m->best};
  PetscFunctionBegin;
  m->is_dual = !delassus_mass(m->p->W) || 3 * n < n_dof / 2;
  m->rho = 1.0, m->best_error = INFINITY;
  PetscCall(memory_alloc("ADMM weights", n, sizeof *m->weight, &m->weight));
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) PetscCall(memory_alloc("ADMM vector", 3 * n, sizeof(double), vectors[k]));
  PetscCall(memory_alloc("ADMM unknowns", m->is_dual ? 3 * n : n_dof, sizeof *m->x, &m->x));
  for (int64_t a = 0; a < n; ++a) m->weight[a] = 3.0 / m3_trace(delassus_diagonal(m->p->W) + 9 * a);
  if (m->is_dual) PetscCall(scalar_rows(m->p->W, &m->W));
  else PetscCall(sparse_rows_transposed(delassus_jacobian(m->p->W), &m->HT));
  PetscCall(factor(m));
  /* begin at r: xi = -r/R, u = W r + q, z the dual cone's point next to û */
  delassus_apply(m->p->W, r, m->Hv);
  for (int64_t a = 0; a < n; ++a) {
    double p[3], u[3], to[3];
    cone_project(m->p->mu[a], r + 3 * a, p);
    v3_add(u, m->Hv + 3 * a, m->p->q + 3 * a);
    m->s[3 * a] = m->p->mu[a] * hypot(u[1], u[2]);
    v3_scale(m->xi + 3 * a, -1.0 / (m->rho * m->weight[a]), p);
    v3_add(to, u, m->s + 3 * a);
    cone_project_dual(m->p->mu[a], to, m->z + 3 * a);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hv for b. */
static PetscErrorCode minimise(admm *m)
{
  const int64_t n = m->p->n;
  PetscFunctionBegin;
  if (m->is_dual) {
    PetscCall(sparse_direct_solve_by(delassus_contact_solver(m->p->W), m->direct, &m->square, m->b, m->x));
    for (int64_t i = 0; i < 3 * n; ++i) m->Hv[i] = m->b[i] - m->x[i] / (m->rho * m->weight[i / 3]);
  } else {
    for (int64_t i = 0; i < 3 * n; ++i) m->b[i] *= m->rho * m->weight[i / 3];
    sparse_rows_apply(&m->HT, m->b, m->x);
    PetscCall(sparse_direct_solve_by(delassus_contact_solver(m->p->W), m->direct, &m->square, m->x, m->x));
    sparse_rows_apply(delassus_jacobian(m->p->W), m->x, m->Hv);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One iteration; residuals in the norm of energy. */
static PetscErrorCode iterate(admm *m)
{
  const int64_t n      = m->p->n;
  double        primal = 0.0, dual = 0.0;
  PetscFunctionBegin;
  for (int64_t i = 0; i < 3 * n; ++i) m->b[i] = m->z[i] - m->p->q[i] - m->s[i] - m->xi[i];
  PetscCall(minimise(m));
  for (int64_t a = 0; a < n; ++a) {
    double *z = m->z + 3 * a, *xi = m->xi + 3 * a, *s = m->s + 3 * a, u[3], at[3], to[3], d[3];
    v3_add(u, m->Hv + 3 * a, m->p->q + 3 * a);
    v3_add(at, u, s);
    v3_sub(d, at, z);
    primal += m->weight[a] * v3_dot(d, d);
    for (int i = 0; i < 3; ++i) at[i] = RELAXATION * at[i] + (1.0 - RELAXATION) * z[i], to[i] = at[i] + xi[i];
    cone_project_dual(m->p->mu[a], to, at);
    v3_sub(d, at, z);
    dual += m->weight[a] * v3_dot(d, d);
    v3_copy(z, at);
    v3_sub(xi, to, at);
    s[0] = m->p->mu[a] * hypot(u[1], u[2]);
  }
  m->primal = sqrt(primal), m->dual = sqrt(dual);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rebalance(admm *m)
{
  const double change = m->primal > UNBALANCED * m->dual ? 2.0 : m->dual > UNBALANCED * m->primal ? 0.5 : 1.0;
  PetscFunctionBegin;
  if (change == 1.0 || m->n_changes >= CHANGES_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  ++m->n_changes;
  m->rho *= change;
  for (int64_t i = 0; i < 3 * m->p->n; ++i) m->xi[i] /= change; /* r = -R xi stays */
  PetscCall(factor(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Return the error norm of r, computed from xi. Store r in m->best if its error is the lowest so far. u [3n] out: W r + q. */
static double evaluate_error(admm *m, double *r, double *u)
{
  const int64_t n = m->p->n;
  for (int64_t a = 0; a < n; ++a) {
    v3_scale(r + 3 * a, -m->rho * m->weight[a], m->xi + 3 * a);
    cone_project(m->p->mu[a], r + 3 * a, r + 3 * a); /* round-off */
  }
  friction_velocity(m->p, r, u);
  const double e = friction_error(m->p, m->o->error, r, u);
  if (e < m->best_error) {
    m->best_error = e;
    memcpy(m->best, r, (size_t)(3 * n) * sizeof *r);
  }
  return e;
}

static PetscErrorCode run(admm *m, double *r, double *u, friction_result *out)
{
  const int64_t most = friction_most_iterations(m->o, ITERATIONS);
  const double  end  = m->o->time_limit > 0.0 ? timer_now() + m->o->time_limit : INFINITY;
  PetscFunctionBegin;
  out->status = FRICTION_ITERATIONS;
  for (;; ++out->iterations) {
    if (out->iterations % CHECK_EVERY == 0 || out->iterations >= most) {
      const double e = evaluate_error(m, r, u);
      if (e <= m->o->tolerance) out->status = FRICTION_OK;
      else if (!isfinite(e)) out->status = FRICTION_NOT_FINITE;
      else if (timer_now() > end) out->status = FRICTION_TIME;
      else if (stop_is_urgent()) out->status = FRICTION_STOPPED;
      if (out->status != FRICTION_ITERATIONS || out->iterations >= most) break;
    }
    PetscCall(iterate(m));
    if ((out->iterations + 1) % REBALANCE_EVERY == 0) PetscCall(rebalance(m));
  }
  out->linear_solves = out->iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_admm(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  admm m = {.p = p, .o = o};
  PetscFunctionBegin;
  PetscErrorCode code = admm_create(&m, r);
  if (!code) code = run(&m, r, u, out);
  if (!code) {
    memcpy(r, m.best, (size_t)(3 * p->n) * sizeof *r);
    friction_velocity(p, r, u);
  }
  admm_free(&m);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
