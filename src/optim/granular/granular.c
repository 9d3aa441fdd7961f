/* Implementation of the outer iteration: staggered projections in the published order, and the weakly coupled schemes. */
#include "optim/granular/granular.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/granular/granular_friction.h"
#include "optim/granular/granular_pressure.h"
#include "optim/granular/granular_settle.h"
#include "optim/granular/granular_stress_gradient.h"
#include "optim/granular/granular_stress_lagrangian.h"
#include "optim/friction/friction.h"

enum { FIRST_CHUNK = 1 << 20 };

struct granular_work {
  arena                  *memory;
  document               *owner; /* of coulomb */
  const friction_options *coulomb;
  granular_solvers        solvers;
};

PetscErrorCode granular_work_create(granular_work **out)
{
  PetscFunctionBegin;
  *out = NULL;
  PetscCall(memory_alloc("granular work", 1, sizeof **out, out));
  PetscErrorCode code = arena_create(FIRST_CHUNK, &(*out)->memory);
  if (!code) code = document_create(&(*out)->owner);
  if (!code) code = friction_options_defaults((*out)->owner, &(*out)->coulomb);
  if (code) granular_work_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
void granular_work_destroy(granular_work **w)
{
  if (!*w) return;
  arena_destroy(&(*w)->memory);
  document_destroy(&(*w)->owner);
  memory_free(w);
}
void granular_work_set_solvers(granular_work *w, const granular_solvers *solvers) { w->solvers = *solvers; }

static arena *granular_work_memory(granular_work *w)
{
  arena_reset(w->memory);
  return w->memory;
}

static const friction_options *granular_work_coulomb(const granular_work *w) { return w->coulomb; }

enum { PRESSURE, STRESS, CONTACT, FRICTION };
#define YIELD_TOLERANCE 2.0  /* max_yield_excess allowed, in outer tolerances; only for stress solvers that end in the cone */
#define SETTLE_ROUNDS 4      /* maximum number of times that contacts are settled and the pressure solved for them */
#define CONE_ROUNDS 12       /* maximum number of final stress solves that bring stress back into the cone */
#define MOST_SWEEPS 4        /* sweeps of p and lambda in one outer iteration */
#define SLOW_CONTRACTION 0.9 /* ratio of the changes of successive sweeps; above it p and lambda are solved together */

/* Unknowns at the start of an iteration; the change of the iteration is measured from here. */
typedef struct {
  double *p, *s, *lambda, *z;
} snapshot;

static PetscErrorCode snapshot_create(granular_solver *S, snapshot *b)
{
  PetscFunctionBegin;
  PetscCall(ARENA_ALLOC(S->memory, "granular", ARRAY(b->p, S->f->n_cells), ARRAY(b->s, S->f->n_stress), ARRAY(b->lambda, S->f->n_contacts),
                        ARRAY(b->z, 2 * S->f->n_contacts)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static void snapshot_store(const granular_solver *S, snapshot *b)
{
  granular_copy(b->p, S->x->p, S->f->n_cells), granular_copy(b->s, S->x->s, S->f->n_stress);
  granular_copy(b->lambda, S->x->lambda, S->f->n_contacts), granular_copy(b->z, S->x->z, 2 * S->f->n_contacts);
}

static double max_nonnegative(int64_t n, const double *x)
{
  double most = 0.0;
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

/* Reference values that normalise changes of the unknowns, from the current unknowns. */
static void update_scales(granular_solver *S)
{
  double mu_max = 0.0;
  S->p_ref      = fmax(S->f->pressure_scale, max_nonnegative(S->f->n_cells, S->x->p));
  S->lambda_ref = fmax(S->f->contact_scale, max_nonnegative(S->f->n_contacts, S->x->lambda));
  S->alpha_max  = max_nonnegative(S->f->n_cells, S->alpha);
  for (int64_t j = 0; j < S->f->n_contacts; ++j) mu_max = fmax(mu_max, S->f->contact[j].mu);
  S->mu_max = mu_max;
}
static double ratio_or_infinity(double a, double b) { return b > 0.0 ? a / b : a > 0.0 ? INFINITY : 0.0; }
static double change_of_pn(const granular_solver *S, const snapshot *b)
{
  return fmax(ratio_or_infinity(team_max_difference(S->f->n_cells, S->x->p, b->p), S->p_ref),
              ratio_or_infinity(team_max_difference(S->f->n_contacts, S->x->lambda, b->lambda), S->lambda_ref));
}
static double change_of_s(const granular_solver *S, const snapshot *b, double undamped)
{
  return ratio_or_infinity(fmax(undamped, team_max_difference(S->f->n_stress, S->x->s, b->s)), S->alpha_max * S->p_ref);
}
static double change_of_z(const granular_solver *S, const snapshot *b)
{
  return ratio_or_infinity(team_max_difference(2 * S->f->n_contacts, S->x->z, b->z), S->mu_max * S->lambda_ref);
}

/* Largest relative excess of |s| over the cone radius alpha (p + c) at the current p; 0 if all stress is within the cone.
 * Only cells with p above GRANULAR_YIELD_PRESSURE max p count. */
static double max_yield_excess(const granular_solver *S)
{
  const double p_enough = GRANULAR_YIELD_PRESSURE * max_nonnegative(S->f->n_cells, S->x->p);
  double       most     = 1.0;
  for (int64_t c = 0; c < S->f->n_cells; ++c) {
    const double bound = S->alpha[c] * (S->x->p[c] + granular_cohesion(S->f, c));
    if (S->x->p[c] > p_enough && bound > 0.0)
      most = fmax(most, granular_norm2(S->f->is_orthonormal, S->x->s + GRANULAR_COMPONENTS * c) / (bound * bound));
  }
  return sqrt(most) - 1.0;
}

static PetscErrorCode time_stage(granular_solver *S, int stage, PetscErrorCode (*solve)(granular_solver *))
{
  PetscFunctionBegin;
  const double start = timer_now();
  PetscCall(solve(S));
  S->r->seconds[stage] += timer_now() - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pressure and normal contact forces: alternating sweeps, or one solve for both (`unified`). When sweeps converge slowly (a light
 * body in a heavy continuum), this and all later calls use the unified solve. */
static PetscErrorCode solve_pressure_and_contacts(granular_solver *S, snapshot *sweep)
{
  const bool is_coupled = S->F_p.n_rows > 0 && S->f->n_contacts > 0;
  double     before     = INFINITY;
  PetscFunctionBegin;
  if (S->is_unified && is_coupled) {
    PetscCall(time_stage(S, PRESSURE, granular_solve_unified));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int64_t k = 0; k < (is_coupled ? MOST_SWEEPS : 1); ++k) {
    granular_copy(sweep->p, S->x->p, S->f->n_cells), granular_copy(sweep->lambda, S->x->lambda, S->f->n_contacts);
    PetscCall(time_stage(S, PRESSURE, granular_solve_p));
    PetscCall(time_stage(S, CONTACT, granular_solve_lambda));
    update_scales(S);
    const double now = change_of_pn(S, sweep);
    if (!S->r->is_finite || now <= GRANULAR_INNER * S->o->tolerance) break;
    if (k >= 2 && now > SLOW_CONTRACTION * before && now > S->o->tolerance) {
      S->is_unified = S->r->became_unified = true;
      PetscCall(time_stage(S, PRESSURE, granular_solve_unified));
      break;
    }
    before = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_stress(granular_solver *S, const granular_stress_solver *stress, double *undamped)
{
  PetscFunctionBegin;
  *undamped = 0.0;
  if (!stress) PetscFunctionReturn(PETSC_SUCCESS);
  const double start = timer_now();
  granular_radii(S);
  PetscCall(stress->solve(S, undamped));
  S->r->seconds[STRESS] += timer_now() - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_in_cone(const granular_solver *S, const granular_stress_solver *stress)
{
  return !stress || !stress->is_in_cone || S->f->is_staggered || max_yield_excess(S) <= YIELD_TOLERANCE * S->o->tolerance;
}

/* The unknowns that an outer loop changes. */
typedef struct {
  const granular_stress_solver *stress; /* NULL: s is fixed */
  bool                          has_p, has_contacts;
} phase;

static PetscErrorCode run_outer_iterations(granular_solver *S, const phase *which, snapshot *before, snapshot *sweep)
{
  granular_report *r = S->r;
  PetscFunctionBegin;
  r->is_converged = false;
  PetscCall(granular_support_start(S, which->stress && which->stress->is_in_cone));
  for (int64_t k = 0; k < S->o->max_outer_iterations && !r->is_converged && r->is_finite; ++k) {
    double undamped = 0.0;
    snapshot_store(S, before);
    if (which->has_p && S->f->update_alpha) S->f->update_alpha(S->f->alpha_context, S->x->p, S->u, S->alpha);
    update_scales(S);
    if (which->has_contacts) PetscCall(time_stage(S, FRICTION, granular_solve_z));
    PetscCall(solve_stress(S, which->stress, &undamped));
    if (team_first_not_finite(S->f->n_faces, S->u) < S->f->n_faces ||
        team_first_not_finite(GRANULAR_BODY * S->f->n_bodies, S->v) < GRANULAR_BODY * S->f->n_bodies)
      r->is_finite = false;
    if (!r->is_finite) break;
    if (which->has_p && which->has_contacts) PetscCall(solve_pressure_and_contacts(S, sweep));
    else if (which->has_p) PetscCall(time_stage(S, PRESSURE, granular_solve_p));
    else PetscCall(time_stage(S, CONTACT, granular_solve_lambda));
    update_scales(S);
    ++r->outer;
    const double earlier = k > 0 ? r->change : INFINITY;
    r->change            = fmax(fmax(change_of_pn(S, before), change_of_z(S, before)), change_of_s(S, before, undamped));
    if (which->stress) r->change = fmax(r->change, ratio_or_infinity(granular_support_error(S), S->p_ref));
    r->is_converged = r->change <= S->o->tolerance || (!which->stress && !(which->has_contacts && S->f->n_contacts > 0));
    r->is_converged = r->is_converged && is_in_cone(S, which->stress); /* many small changes of p can add up to a large excess */
    granular_support_update(S, r->change, earlier, k + 2 >= S->o->max_outer_iterations);
    if (stop_is_urgent()) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Final correction when p has changed so that stress is outside its cone: solve the stress again within the cone, then the pressure
 * and the contacts for it. The last operations solve stress and contacts, so stress ends in the cone and the contacts match. */
static PetscErrorCode project_stress_into_cone(granular_solver *S, const granular_stress_solver *stress)
{
  double undamped;
  PetscFunctionBegin;
  for (int round = 0; round < CONE_ROUNDS && !is_in_cone(S, stress); ++round) {
    PetscCall(granular_support_start(S, true));
    PetscCall(solve_stress(S, stress, &undamped));
    if (round + 1 < CONE_ROUNDS) PetscCall(time_stage(S, PRESSURE, granular_solve_p));
    PetscCall(granular_solve_contacts_accurately(S));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve the contacts accurately after the outer iterations. Where a body hits, the contact forces may change much, and the pressure
 * computed before would violate momentum balance. Then the outer iterations run again, SETTLE_ROUNDS times at most. The pressure is
 * always solved once more after the contacts. */
static PetscErrorCode settle_contacts_and_pressure(granular_solver *S, const phase *all, snapshot *before, snapshot *sweep)
{
  const bool is_coupled = S->f->n_contacts > 0 && S->F_p.n_rows > 0;
  PetscFunctionBegin;
  PetscCall(granular_solve_contacts_accurately(S));
  for (int round = 0; round < SETTLE_ROUNDS && is_coupled && S->r->is_finite; ++round) {
    snapshot_store(S, before);
    PetscCall(time_stage(S, PRESSURE, granular_solve_p));
    update_scales(S);
    const bool is_enough = !S->r->is_converged || change_of_pn(S, before) <= S->o->tolerance || round + 1 == SETTLE_ROUNDS;
    if (!is_enough) PetscCall(run_outer_iterations(S, all, before, sweep));
    PetscCall(granular_solve_contacts_accurately(S));
    if (is_enough) break;
  }
  if (is_coupled && S->r->is_finite) PetscCall(project_stress_into_cone(S, all->stress));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const granular_stress_solver *select_stress_solver(const granular_solver *S)
{
  static const granular_stress_solver *const solvers[] = {
#define X(symbol, name, solver, help) &solver,
      GRANULAR_STRESS_TABLE(X)
#undef X
  };
  const bool is_without = S->o->coupling == GRANULAR_P_C || S->o->coupling == GRANULAR_C_P;
  return S->f->n_stress == 0 || is_without ? NULL : solvers[S->o->stress];
}

static PetscErrorCode solve_in_coupling_order(granular_solver *S, const granular_stress_solver *stress)
{
  const int   coupling = S->o->coupling;
  const phase all = {stress, true, true}, continuum = {stress, true, false}, contacts = {NULL, false, true};
  snapshot    before, sweep;
  PetscFunctionBegin;
  PetscCall(snapshot_create(S, &before));
  PetscCall(snapshot_create(S, &sweep));
  S->is_unified = coupling == GRANULAR_UNIFIED;
  if (coupling == GRANULAR_MONOLITHIC || coupling == GRANULAR_UNIFIED) {
    PetscCall(run_outer_iterations(S, &all, &before, &sweep));
    PetscCall(granular_settle_create(S));
    PetscCall(settle_contacts_and_pressure(S, &all, &before, &sweep));
  } else {
    const bool is_contact_first = coupling == GRANULAR_C_P || coupling == GRANULAR_C_PF, has_contacts = S->f->n_contacts > 0;
    bool       is_converged = true;
    for (int k = 0; k < 2; ++k) {
      const bool is_contact = (k == 0) == is_contact_first;
      if (is_contact && !has_contacts) continue;
      PetscCall(run_outer_iterations(S, is_contact ? &contacts : &continuum, &before, &sweep));
      is_converged = is_converged && S->r->is_converged;
    }
    S->r->is_converged = is_converged;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a continuum the accurate contact solve determines the result, and the outer iterations are only its initial guess. They may
 * not converge where friction wedges a body. The error is then that of the contact law. */
static void evaluate_contacts_alone(granular_solver *S)
{
  const bool is_settled = S->o->coupling == GRANULAR_MONOLITHIC || S->o->coupling == GRANULAR_UNIFIED;
  if (!is_settled || S->f->n_cells > 0 || S->f->n_contacts == 0 || !S->r->is_finite) return;
  S->r->change       = S->r->kkt.kkt;
  S->r->is_converged = S->r->change <= S->o->tolerance;
}

static PetscErrorCode solve_with_memory(granular_solver *S, const granular_problem *f, const granular_options *o, granular_work *w,
                                        granular_state *x, granular_report *r)
{
  PetscFunctionBegin;
  PetscCall(granular_solver_create(S, f, o, granular_work_memory(w), x, r));
  S->coulomb                           = granular_work_coulomb(w);
  S->solvers                           = w->solvers;
  const granular_stress_solver *stress = select_stress_solver(S);
  if (!stress && f->n_stress > 0) memset(x->s, 0, (size_t)f->n_stress * sizeof *x->s);
  for (int64_t c = 0; c < f->n_cells; ++c) x->p[c] = fmax(x->p[c], S->lo_p[c]);
  for (int64_t j = 0; j < f->n_contacts; ++j) x->lambda[j] = fmax(x->lambda[j], 0.0);
  if (f->n_contacts > 0) {
    PetscCall(arena_alloc(S->memory, "granular friction", 1, sizeof *S->friction, &S->friction));
    PetscCall(granular_friction_create(S, S->friction));
  }
  if (stress) PetscCall(stress->create(S));
  granular_velocities(S);
  PetscErrorCode code = solve_in_coupling_order(S, stress);
  if (stress) stress->destroy(S);
  PetscCall(code);
  granular_velocities(S);
  granular_problem last = *f; /* with the final alpha */
  last.alpha            = S->alpha;
  PetscCall(granular_kkt(&last, x, &r->kkt));
  evaluate_contacts_alone(S);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode granular_solve(const granular_problem *f, const granular_options *o, granular_work *w, granular_state *x, granular_report *r)
{
  granular_solver S   = {0};
  granular_work  *own = NULL;
  PetscFunctionBegin;
  *r = (granular_report){.is_finite = true};
  if (!w) PetscCall(granular_work_create(&own));
  const PetscErrorCode code = solve_with_memory(&S, f, o, w ? w : own, x, r);
  granular_settle_destroy(&S);
  granular_solver_destroy(&S);
  granular_work_destroy(&own);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
