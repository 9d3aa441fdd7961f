/* Functions of the nonlinear driver for free motion. Linear systems are solved by a simple factor, a multifrontal factor, or
 * conjugate gradients on products; the choice is made once per step. */
#include "sim/step/step_motion.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "core/timer.h"
#include "sim/step/nonlinear.h"
#include "sim/step/step_unknowns.h"
#include <string.h>

/* If one linear solve reduces the residual by this factor, the system is linear and its tangent is the same everywhere. */
static const double LINEAR = 1e-9;
/* The residual after a full Newton step is the change of the tangent along the step. If it is at most this fraction of the
 * residual before, and the step is solved, the tangent is accurate enough. The step of the contact problem moves farther than
 * that. */
static const double KNOWN = 1e-4;
/* Exact tangents are abandoned for the rest of the motion after TRIES iterations, or if a linear system needs SLOW_EXACT.
 * Flowing sand has an unsymmetric tangent: 4 iterations with it, 14 with its symmetric definite part; landing rabbits need 6,
 * and 12 to 15. */
enum { SLOW = 1000, TRIES = 8, SLOW_EXACT = 100 };
/* linear: auto. Matrices with more than DENSE entries per row (MPM grids, not meshes) are solved by conjugate gradients if a
 * factorisation would take more than MOST_WORK multiplications, or if A has more than MOST_ENTRIES entries, for which the work
 * is not even counted. Measured on beds of sand, docs/theory/convex.md. */
static const double DENSE = 150.0, MOST_WORK = 5e9, MOST_ENTRIES = 6e6;
/* Up to RIGID entries per row, A consists of the blocks of rigid bodies, and contact alone couples them: the work is that of A + J^T G J, which
 * a multifrontal factor makes smallest. Other matrices get one if their own factor is wide. 125 balls in a box: 7 times faster than a factor
 * of the assembled matrix, 8 balls: 1.5 times. */
static const double RIGID  = 6.0;
static const double SOLVES = 15.0; /* expected factorisations per step with contact */
/* If a factor is used only once, systems with more unknowns than this are solved by conjugate gradients: steps of blocks and
 * balls of 432 to 9295 nodes took 0.43 to 0.69 of the time. */
enum { MOST_ONCE = 300 };

void step_motion_destroy(step_motion *m)
{
  sparse_rows_destroy(&m->A);
  mass_factor_destroy(&m->factor);
  multifrontal_factor_destroy(&m->front);
  multifrontal_tree_destroy(&m->tree);
  sap_columns_destroy(&m->columns);
  sap_cg_destroy(&m->cg);
  step_operator_destroy(&m->by_products);
  MEMORY_FREE(&m->v, &m->dv, &m->g, &m->full, &m->right);
}

PetscErrorCode step_motion_create(const step_layout *l, const step_unknowns *u, const step_motion_options *o, const sparse_rows *J,
                                  step_motion *m)
{
  double **arrays[] = {&m->v, &m->dv, &m->g, &m->right};
  PetscFunctionBegin;
  m->options = *o;
  for (int k = 0; k < 4; ++k) PetscCall(memory_alloc("velocities", u->n, sizeof(double), arrays[k]));
  PetscCall(memory_alloc("velocities", u->n_full, sizeof *m->full, &m->full));
  step_unknowns_select(u, l->v, m->v);
  if (J) PetscCall(sap_columns_create(J, J->n_rows / 3, &m->columns));
  else PetscCall(memory_alloc("no terms", 1, sizeof *m->columns.start, &m->columns.start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_evaluate(step_motion *m, step_layout *l, const step_unknowns *u, bool with_tangent, step_status *status,
                                    step_report *report)
{
  PetscFunctionBegin;
  m->has_tangent = with_tangent;
  ++report->evaluations;
  step_unknowns_expand(u, m->v, l->v);
  PetscCall(step_layout_update_poses(l));
  PetscCall(step_layout_residual(l, m->full, with_tangent, status));
  if (status->code == STEP_OK) step_unknowns_fold(u, m->full, m->g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode divide_by_fronts(void *context, const double *b, double *x)
{
  const step_motion *m = context;
  memcpy(x, b, (size_t)m->A.n_rows * sizeof *x);
  multifrontal_solve(m->front, x);
  return PETSC_SUCCESS;
}

static PetscErrorCode divide_by_factor(void *context, const double *b, double *x)
{
  step_motion   *m   = context;
  const int32_t *dof = mass_factor_dof(m->factor);
  for (int64_t at = 0; at < m->A.n_rows; ++at) m->right[at] = b[dof[at]];
  mass_factor_solve_places(m->factor, m->right);
  for (int64_t at = 0; at < m->A.n_rows; ++at) x[dof[at]] = m->right[at];
  return PETSC_SUCCESS;
}

/* Multifrontal factor of m->A, to which contact terms can be added. */
static PetscErrorCode factor_fronts(step_motion *m, bool *is_definite)
{
  PetscFunctionBegin;
  if (!m->front) PetscCall(multifrontal_factor_create(m->tree, &m->front));
  PetscCall(multifrontal_factor_set(m->front, &m->A, is_definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepare products and conjugate gradients instead of a factor. */
static PetscErrorCode prepare_products(step_motion *m, const step_layout *l, const step_unknowns *u)
{
  PetscFunctionBegin;
  if (!m->by_products.x) PetscCall(step_operator_create(l, u, m->is_matrix_free ? NULL : &m->A, &m->by_products));
  sap_cg_destroy(&m->cg);
  PetscCall(sap_cg_create(&m->by_products.operator, NULL, m->options.solver, &m->cg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* While exact tangents are in use, A need not be assembled even if the caller needs it at the solution. */
static bool needs_tangent(const step_motion *m) { return m->options.needs_tangent && !m->is_exact; }

/* Choose products without an assembled matrix if the matrix is not needed. */
static void choose_matrix_free(step_motion *m, const step_layout *l)
{
  m->is_matrix_free = !m->was_slow && !needs_tangent(m) && m->options.linear != MOTION_DIRECT && step_operator_exists(l);
  m->is_iterative = m->is_chosen = m->is_matrix_free;
}

/* Abandon matrix-free products; the method for the next system is chosen by size. */
static void abandon_matrix_free(step_motion *m)
{
  m->is_chosen = m->is_iterative = m->is_matrix_free = m->is_part = false;
  step_operator_destroy(&m->by_products);
  sap_cg_destroy(&m->cg);
}

/* Before A is assembled: if products are certain to be used, assemble only the preconditioning part of A. */
static void choose_partial_assembly(step_motion *m, const step_layout *l)
{
  const int requested = m->options.linear;
  if (requested == MOTION_DIRECT || !step_operator_exists(l)) return;
  const double n_entries = requested == MOTION_AUTO ? 9.0 * step_pattern_size(l) : INFINITY;
  m->is_part             = requested == MOTION_ITERATIVE || (n_entries > MOST_ENTRIES && n_entries > DENSE * 3.0 * (double)l->n_blocks);
  if (m->is_part) m->is_iterative = m->is_chosen = true;
}

/* Assemble A, or its preconditioning part: the diagonal and the couplings among the unknowns of the terms. */
static PetscErrorCode assemble(step_motion *m, const step_layout *l, const step_unknowns *u)
{
  bool *is_touched = NULL, *keep = NULL;
  PetscFunctionBegin;
  if (!m->is_part) {
    PetscCall(step_unknowns_mass(u, l, NULL, &m->A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode code = MEMORY_ALLOC("step motion", ARRAY(is_touched, u->n), ARRAY(keep, l->n_blocks));
  for (int64_t e = 0; e < m->columns.start[m->columns.n] && !code; ++e) is_touched[m->columns.column[e]] = true;
  for (int64_t i = 0; i < u->n_full && !code; ++i) {
    if (u->is_all) keep[i / 3] |= is_touched[i];
    for (int64_t k = u->is_all ? 0 : u->P.start[i]; k < (u->is_all ? 0 : u->P.start[i + 1]); ++k) keep[i / 3] |= is_touched[u->P.col[k]];
  }
  if (!code) code = step_unknowns_mass(u, l, keep, &m->A);
  MEMORY_FREE(&is_touched, &keep);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the first linearisation of a step: choose a multifrontal factor (m->tree), products (is_iterative) or a simple factor. */
static PetscErrorCode choose_factorisation(step_motion *m, const step_layout *l)
{
  const int                requested   = m->options.linear;
  const double             n_entries   = (double)m->A.start[m->A.n_rows];
  const multifrontal_terms terms       = sap_columns_view(&m->columns);
  const bool               is_dense    = n_entries > DENSE * (double)m->A.n_rows || !m->options.needs_tangent; /* each factor serves a
                                                                                                       * single solve */
  const bool               may_iterate = requested == MOTION_ITERATIVE || (requested == MOTION_AUTO && is_dense);
  const bool               is_coupled_by_contact = terms.n > 0 && n_entries <= RIGID * (double)m->A.n_rows;
  bool                     is_wide;
  PetscFunctionBegin;
  const bool can = may_iterate && step_operator_exists(l);
  m->is_iterative =
      can && (requested == MOTION_ITERATIVE || n_entries > MOST_ENTRIES || (!m->options.needs_tangent && m->A.n_rows > MOST_ONCE));
  if (m->is_iterative) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mass_factor_needs_package(&m->A, &is_wide));
  if (!is_wide) {
    m->waits_for_contact = is_coupled_by_contact;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(multifrontal_tree_create(&m->A, &terms, SOLVES, &m->tree));
  m->is_iterative = can && multifrontal_tree_work(m->tree) > MOST_WORK;
  if (m->is_iterative) multifrontal_tree_destroy(&m->tree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode factor(step_motion *m, const step_layout *l, const step_unknowns *u, bool *is_definite)
{
  PetscFunctionBegin;
  if (!m->is_chosen) PetscCall(choose_factorisation(m, l));
  m->is_chosen = true;
  if (m->is_iterative) PetscCall(prepare_products(m, l, u));
  else if (m->tree) PetscCall(factor_fronts(m, is_definite));
  else {
    mass_factor_destroy(&m->factor);
    PetscCall(mass_factor_create(&m->A, &m->factor));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_couple(step_motion *m)
{
  const multifrontal_terms terms = sap_columns_view(&m->columns);
  bool                     is_definite;
  PetscFunctionBegin;
  if (!m->waits_for_contact) PetscFunctionReturn(PETSC_SUCCESS);
  timer_begin(TIMER_PRECONDITIONER);
  m->waits_for_contact = false;
  mass_factor_destroy(&m->factor);
  PetscCall(multifrontal_tree_create(&m->A, &terms, SOLVES, &m->tree));
  PetscCall(factor_fronts(m, &is_definite));
  PetscCheck(is_definite, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT,
             "the matrix of the bodies has a factor, but none with the pattern of the contacts");
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_linearise(step_motion *m, const step_layout *l, const step_unknowns *u, bool is_start, step_status *status)
{
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  bool is_definite = true;
  sparse_rows_destroy(&m->A);
  if (!m->is_chosen) choose_matrix_free(m, l);
  if (!m->is_chosen) choose_partial_assembly(m, l);
  if (!m->is_matrix_free) PetscCall(assemble(m, l, u));
  const PetscErrorCode code = factor(m, l, u, &is_definite);
  if (code == PETSC_ERR_MAT_CH_ZRPVT && !is_start) { /* bodies guarantee a definite tangent, so the state is invalid */
    error_clear();
    is_definite = false;
  } else PetscCall(code);
  PetscCheck(is_definite || !is_start, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT,
             "the matrix of the step is not positive definite at the start of the step; check that every body has mass");
  if (!is_definite) *status = (step_status){STEP_NOT_CONVERGED, NULL, -1};
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tolerance in the norm of conjugate gradients that guarantees `norm` in ours: theirs is weighted with the diagonal of A, ours
 * with the mass. */
static double convert_tolerance(const step_layout *l, int64_t n_full, double norm)
{
  double least = INFINITY;
  for (int64_t i = 0; i < n_full; ++i) least = fmin(least, 1.0 / (l->inverse_scale[i] * sqrt(l->scale[i])));
  return norm * least;
}

static PetscErrorCode divide_by_products(step_motion *m, double tolerance, double *x)
{
  enum { MOST = 5000 };
  const int64_t n = m->by_products.u->n;
  double       *b, *Ax;
  int64_t       iterations;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("right side", ARRAY(b, n), ARRAY(Ax, n)));
  memcpy(b, x, (size_t)n * sizeof *b);
  PetscErrorCode code = m->is_exact ? sap_gmres_solve(m->cg, b, tolerance, SLOW_EXACT, x, Ax, &iterations)
                                    : sap_cg_solve(m->cg, b, tolerance, MOST, x, Ax, &iterations);
  m->n_inner += iterations;
  for (int64_t i = 0; i < n; ++i) Ax[i] -= b[i];
  if (!code) code = m->by_products.operator.balance(&m->by_products, Ax, x);
  MEMORY_FREE(&b, &Ax);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_solve_linear(step_motion *m, double tolerance, double *x)
{
  PetscFunctionBegin;
  if (m->is_iterative) {
    PetscCall(
        divide_by_products(m, m->is_matrix_free ? tolerance : convert_tolerance(m->by_products.l, m->by_products.u->n_full, tolerance), x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const linear_system system = {.ksp          = KSPPREONLY,
                                .pc           = m->front ? PCMULTIFRONTAL : PCMASSFACTOR,
                                .n            = m->A.n_rows,
                                .context      = m,
                                .precondition = m->front ? divide_by_fronts : divide_by_factor,
                                .A            = &m->A};
  PetscCall(linear_solver_set(m->options.solver, &system));
  PetscCall(linear_solver_solve(m->options.solver, x, x, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_relinearise(const step_motion *m, step_layout *l, const step_unknowns *u, bool *has_changed)
{
  scene *s = l->scene;
  PetscFunctionBegin;
  *has_changed = false;
  step_unknowns_expand(u, m->v, l->v);
  PetscCall(step_layout_update_poses(l));
  for (int i = 0; i < s->n_systems; ++i) {
    body *b = s->systems[i];
    if (b->ops->relinearise && b->ops->relinearise(b, l->v + 3 * b->first_block)) *has_changed = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m->dv = -A^-1 g, and the slope of work along it. */
static PetscErrorCode newton_direction(step_motion *m, int64_t n, double tolerance, double *slope)
{
  PetscFunctionBegin;
  *slope = 0.0;
  for (int64_t i = 0; i < n; ++i) m->dv[i] = -m->g[i];
  PetscCall(step_motion_solve_linear(m, tolerance, m->dv));
  for (int64_t i = 0; i < n; ++i) *slope += m->dv[i] * m->g[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

void step_motion_set_exact(step_motion *m, const step_layout *l, bool is_exact)
{
  m->is_exact = is_exact;
  for (int i = 0; i < l->scene->n_systems; ++i) {
    body *b = l->scene->systems[i];
    if (b->ops->set_definite) b->ops->set_definite(b, !is_exact || !m->options.tries_exact[i]);
  }
  m->has_tangent = false;
  if (m->options.needs_tangent && m->is_matrix_free) abandon_matrix_free(m);
}

/* Linearise at m->v, where m->g was evaluated. */
static PetscErrorCode linearise_at_state(step_motion *m, step_layout *l, const step_unknowns *u, bool is_start, step_status *status,
                                         step_report *report)
{
  PetscFunctionBegin;
  if (!m->has_tangent) PetscCall(step_motion_evaluate(m, l, u, true, status, report));
  if (status->code == STEP_OK) PetscCall(step_motion_linearise(m, l, u, is_start, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A problem of the nonlinear driver. */
typedef struct {
  step_motion         *m;
  step_layout         *l;
  const step_unknowns *u;
  step_report         *report;
  nonlinear_options    o;
} free_motion;

static PetscErrorCode evaluate_free_motion(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  const free_motion *f = context;
  PetscFunctionBegin;
  (void)now;
  PetscCall(step_motion_evaluate(f->m, f->l, f->u, with_tangent, status, f->report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact tangents are abandoned when they converge badly. */
static PetscErrorCode linearise_free_motion(void *context, const nonlinear_state *now, step_status *status)
{
  const free_motion *f = context;
  PetscFunctionBegin;
  if (f->m->is_exact && (now->k == TRIES || (now->k > 0 && !(now->norm < now->before)))) step_motion_set_exact(f->m, f->l, false);
  PetscCall(linearise_at_state(f->m, f->l, f->u, now->k == 0, status, f->report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Newton step. If an exact tangent gives no descent direction or takes too long, the definite tangent replaces it. */
static PetscErrorCode solve_free_motion(void *context, nonlinear_state *now, step_status *status)
{
  const free_motion *f     = context;
  step_motion       *m     = f->m;
  int64_t            inner = m->n_inner;
  double             slope;
  PetscFunctionBegin;
  PetscCall(newton_direction(m, f->u->n, needs_tangent(m) ? f->o.accurate : now->tolerance, &slope));
  if (m->is_exact && (!(slope < 0.0) || m->n_inner - inner >= SLOW_EXACT)) {
    step_motion_set_exact(m, f->l, false);
    PetscCall(linearise_at_state(m, f->l, f->u, now->k == 0, status, f->report));
    if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
    inner = m->n_inner;
    PetscCall(newton_direction(m, f->u->n, needs_tangent(m) ? f->o.accurate : now->tolerance, &slope));
  }
  if (m->is_matrix_free && m->options.linear == MOTION_AUTO && m->n_inner - inner > SLOW) { /* conjugate gradients take too long */
    m->was_slow = true;
    abandon_matrix_free(m);
  }
  now->expects_tangent = needs_tangent(m) || now->tolerance > f->o.tolerance; /* otherwise this is probably the last iteration */
  for (int64_t i = 0; i < f->u->n; ++i) m->v[i] += m->dv[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_solve(step_motion *m, step_layout *l, const step_unknowns *u, step_status *status, step_report *report)
{
  free_motion             f       = {m, l, u, report, nonlinear_defaults(m->options.newton)};
  const nonlinear_problem problem = {&f,
                                     l,
                                     u,
                                     m->v,
                                     m->dv,
                                     m->g,
                                     m->full,
                                     .evaluate  = evaluate_free_motion,
                                     .linearise = linearise_free_motion,
                                     .solve     = solve_free_motion};
  nonlinear_result        result;
  PetscFunctionBegin;
  f.o.is_smooth = true;
  f.o.linear    = LINEAR;
  /* Tolerance of linear systems if the tangent is not needed at the solution. Forcing 1e-3 takes 0.85 to 1.0 of the CPU time of
   * hybrid scenes, but accepted residuals grow up to five times. Four times `least` takes 0.7 to 0.9 of the iterations of
   * conjugate gradients, with residuals up to three times as large. */
  f.o.forcing = 1e-2;
  f.o.least   = 0.2 * f.o.tolerance;
  if (m->options.tries_exact) step_motion_set_exact(m, l, m->options.linear != MOTION_DIRECT && step_operator_exists(l));
  PetscCall(nonlinear_solve(&problem, &f.o, &result, status));
  report->newton_iterations += result.n_iterations;
  nonlinear_record(&result, f.o.tolerance, report);
  if (status->code != STEP_OK || !m->options.needs_tangent) PetscFunctionReturn(PETSC_SUCCESS);
  /* The contact problem needs a definite A at the solution. */
  const bool is_known = !m->is_exact && result.norm <= (result.norm <= f.o.tolerance ? KNOWN : LINEAR) * result.before;
  if (m->is_exact) step_motion_set_exact(m, l, false);
  if (!is_known) PetscCall(linearise_at_state(m, l, u, false, status, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode step_motion_probe(const char *prefix, int linear)
{
  PetscFunctionBegin;
  if (linear != MOTION_ITERATIVE) {
    PetscCall(linear_solver_probe(prefix, KSPPREONLY, PCMASSFACTOR, true, false));
    PetscCall(linear_solver_probe(prefix, KSPPREONLY, PCMULTIFRONTAL, true, false));
  }
  if (linear == MOTION_DIRECT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(linear_solver_probe(prefix, KSPWEIGHTEDCG, PCSAPBLOCKS, false, false));
  PetscCall(linear_solver_probe(prefix, KSPGMRES, PCSAPBLOCKS, false, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}
