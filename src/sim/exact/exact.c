/* The formulation `exact`: backward Euler with rigid contact and exact Coulomb friction [BertailsEtAl2011].
 *
 * A step solves g(v) = H^T r with (H v + w, r) in Coulomb's set of every contact, g the systems' residuals. Contacts, their frames
 * and H are those of its start. Linearised at v_k,
 *
 *   M (v - v_k) + g(v_k) = H^T r,   u = H v + w = W r + q,   W = H M^-1 H^T,   q = H v_k + w - H M^-1 g(v_k)
 *
 * which is the paper's one-step problem with f = g(v_k) - M v_k. M is the tangent without what is not symmetric or not definite in
 * it; whatever it leaves out stays in g, so that linearising again comes to the same step: until |D^-1 (g - H^T r)| is within the
 * tolerance (step_layout.h). From the third linearisation on they start from Anderson's combination of those before; M and W are
 * kept while that makes progress. Where the slope of work (v - v_k) . (g - H^T r) is not near 0 at v, the next linearisation is made
 * where it is, on the way from v_k through v; what is accepted is never such a place, but the solution of a linearised problem.
 * max_iterations: 1 takes the first linearisation as it is, as the paper does. */
#include "core/memory.h"
#include "core/stop.h"
#include "core/timer.h"
#include "optim/friction/anderson.h"
#include "sim/exact/exact_dump.h"
#include "sim/formulation.h"
#include "sim/step/step_contact_report.h"
#include "sim/step/step_finders.h"
#include "sim/step/step_impulses.h"
#include <string.h>

typedef struct {
  formulation    base;
  step_layout    layout;
  step_contacts contacts;
  step_impulses known;
  contact_points points;
  contact_forces forces;
  exact_dump     last; /* if the job asks for it */
} exact;

/* What leaves more than this of the residual is linearised anew: with the combination of steps an older matrix serves as well. */
#define SLOW 0.3
#define OFF  0.5 /* share of the slope at the start of a way that is no slope at its end: see search_the_way */
#define LONGEST_WAY 16.0
enum {
  IDLE     = 4,  /* iterations without getting nearer, after which linearising has given all it can: near the tolerance, */
  IDLE_FAR = 16, /* and far from it, where ways wind */
  TRIALS   = 20  /* places looked at on one way */
};

/* What one step needs, from its begin to its end. */
typedef struct {
  step_unknowns unknowns;
  delassus      *W;           /* of the last matrix; NULL: none yet */
  int64_t        n, n_contacts;
  double        *g, *full;    /* [n_full] residual of the systems; work */
  double        *y, *dy, *right; /* [n] free velocities, their change, P^T (g - H^T r) */
  double        *start, *reached, *weight; /* [n] what the last problem was linearised at, and came to; masses */
  anderson       past;
  double        *r, *u, *q;   /* [n_contacts][3] */
} exact_problem;

static void problem_destroy(exact_problem *p)
{
  delassus_destroy(&p->W);
  anderson_destroy(&p->past);
  step_unknowns_destroy(&p->unknowns);
  void *arrays[] = {&p->g, &p->full, &p->y, &p->dy, &p->right, &p->start, &p->reached, &p->weight, &p->r, &p->u, &p->q};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

/* The step has begun and its contacts are found: start from the velocities at its start and the impulses of the last one. */
static PetscErrorCode problem_start(exact *e, exact_problem *p)
{
  PetscFunctionBegin;
  step_layout *l = &e->layout;
  p->n           = p->unknowns.n;
  p->n_contacts  = step_contacts_size(&e->contacts);
  double **full[] = {&p->g, &p->full}, **free_ones[] = {&p->y, &p->dy, &p->right, &p->start, &p->reached},
         **contact[] = {&p->r, &p->u, &p->q};
  for (int k = 0; k < 2; ++k) PetscCall(memory_alloc("velocities", p->unknowns.n_full, sizeof(double), full[k]));
  for (int k = 0; k < 5; ++k) PetscCall(memory_alloc("velocities", p->n, sizeof(double), free_ones[k]));
  for (int k = 0; k < 3; ++k) PetscCall(memory_alloc("impulses", 3 * p->n_contacts, sizeof(double), contact[k]));
  step_unknowns_pick(&p->unknowns, l->v0, p->y);
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_follow(l));
  step_impulses_guess(&e->known, &e->contacts.rows, step_contacts_spots(&e->contacts), l->dt, p->r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p->right = P^T (g(v) - H^T r), p->full of it; *norm in units of acceleration_scale. */
static PetscErrorCode evaluate(exact *e, exact_problem *p, bool with_tangent, double *norm, step_verdict *verdict,
                               step_report *report)
{
  PetscFunctionBegin;
  step_layout *l = &e->layout;
  ++report->evaluations;
  PetscCall(step_layout_residual(l, p->g, with_tangent, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&e->contacts.rows, -1.0, p->r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
  double sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    const double x = p->right[i] * l->inverse_scale[p->unknowns.is_all ? i : p->unknowns.own[i]];
    sum += x * x;
  }
  *norm = sqrt(sum);
  if (!isfinite(sum)) *verdict = (step_verdict){STEP_NOT_FINITE, NULL, -1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is not definite, where its bodies promise one: the state is too far gone, or, if the step starts there, something
 * has no mass. */
static PetscErrorCode linearise(exact *e, exact_problem *p, bool is_start, step_verdict *verdict)
{
  sparse_rows M, H;
  PetscFunctionBegin;
  timer_begin(TIMER_PRECONDITIONER);
  delassus_destroy(&p->W);
  PetscCall(step_unknowns_mass(&p->unknowns, &e->layout, &M));
  PetscCall(step_unknowns_jacobian(&p->unknowns, &e->contacts.rows, &H));
  const PetscErrorCode code = delassus_create_system(&M, &H, &p->W);
  sparse_rows_destroy(&M);
  sparse_rows_destroy(&H);
  if (code == PETSC_ERR_MAT_CH_ZRPVT && !is_start) {
    error_clear();
    *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, -1};
  } else PetscCall(code);
  timer_end(TIMER_PRECONDITIONER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solver answered; a bad answer ends the attempt at this step. */
static void take_answer(const exact *e, const friction_result *answer, step_verdict *verdict, step_report *report)
{
  const job_solver *o = e->layout.scene->job->solver;
  friction_report  *f = &report->friction;
  f->iterations += answer->iterations;
  f->absolute = answer->absolute, f->siconos = answer->siconos, f->scaled = answer->scaled;
  f->method = -1;
  for (int k = 0; k < FRICTION_N_METHODS; ++k)
    if (strcmp(friction_solvers[k].name, answer->method) == 0) f->method = k;
  if (answer->verdict == FRICTION_OK) return;
  ++report->fallbacks;
  if (stop_is_urgent()) *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
  else if (!(friction_result_error(answer, o->friction->error) <= o->friction_stall_tolerance))
    *verdict = (step_verdict){STEP_FRICTION, NULL, -1};
}

static bool wants_dump(const exact *e) { return e->layout.scene->job->output->fclib > 0; }

/* With M and W as they are: impulses and velocities of the problem linearised at v. */
static PetscErrorCode solve_linearised(exact *e, exact_problem *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_layout          *l = &e->layout;
  const step_contacts *c = &e->contacts;
  step_unknowns_fold(&p->unknowns, p->g, p->right);
  delassus_solve(p->W, p->right, p->dy);
  for (int64_t i = 0; i < p->n; ++i) p->dy[i] = -p->dy[i];
  if (p->n_contacts > 0) {
    friction_result answer;
    for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i]; /* without impulses */
    step_unknowns_expand(&p->unknowns, p->y, p->full);
    contact_jacobian_velocity(&c->rows, p->full, p->q);
    for (int64_t i = 0; i < p->n_contacts; ++i) p->q[3 * i] += c->shift[i];
    if (wants_dump(e)) PetscCall(exact_dump_problem(&e->last, p->W, p->n_contacts, p->y, p->q, c->mu, p->r));
    for (int64_t i = 0; i < p->n; ++i) p->y[i] -= p->dy[i];
    const friction_problem problem = {p->W, p->n_contacts, p->q, c->mu};
    friction_options       options = *l->scene->job->solver->friction;
    options.enough                 = l->scene->job->solver->friction_stall_tolerance;
    timer_begin(TIMER_FRICTION);
    PetscCall(friction_solve(&problem, &options, p->r, p->u, &answer));
    timer_end(TIMER_FRICTION);
    take_answer(e, &answer, verdict, report);
    memset(p->full, 0, (size_t)p->unknowns.n_full * sizeof *p->full);
    contact_jacobian_scatter(&c->rows, 1.0, p->r, p->full);
    step_unknowns_fold(&p->unknowns, p->full, p->right);
    delassus_solve(p->W, p->right, p->right);
    for (int64_t i = 0; i < p->n; ++i) p->dy[i] += p->right[i];
  }
  for (int64_t i = 0; i < p->n; ++i) p->y[i] += p->dy[i];
  if (wants_dump(e) && p->n_contacts > 0) exact_dump_solution(&e->last, p->r, p->u, p->y);
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_follow(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the combination leads to cannot be: go on from where the last problem came to. */
static PetscErrorCode step_back(exact *e, exact_problem *p, bool with_tangent, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  double norm;
  *verdict = (step_verdict){STEP_OK, NULL, -1};
  anderson_forget(&p->past);
  memcpy(p->y, p->reached, (size_t)p->n * sizeof *p->y);
  step_unknowns_expand(&p->unknowns, p->y, e->layout.v);
  PetscCall(step_layout_follow(&e->layout));
  PetscCall(evaluate(e, p, with_tangent, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the velocities x [n] that the last problem was linearised at and those that it came to, p->y, to the next to try:
 * Anderson's combination, in the norm of kinetic energy, of what came before. */
static PetscErrorCode accelerate(exact *e, exact_problem *p, const double *x)
{
  PetscFunctionBegin;
  step_layout *l = &e->layout;
  if (!p->past.f) {
    PetscCall(anderson_create(p->n, 5, &p->past));
    PetscCall(memory_alloc("velocities", p->n, sizeof(double), &p->weight));
    for (int64_t i = 0; i < p->n; ++i) p->weight[i] = l->scale[p->unknowns.is_all ? i : p->unknowns.own[i]];
  }
  memcpy(p->reached, p->y, (size_t)p->n * sizeof *p->y);
  anderson_step(&p->past, x, p->reached, p->weight, p->y);
  step_unknowns_expand(&p->unknowns, p->y, l->v);
  PetscCall(step_layout_follow(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dy . (g - H^T r), of which p->right is the second. */
static double slope_along(const exact_problem *p)
{
  double sum = 0.0;
  for (int64_t i = 0; i < p->n; ++i) sum += p->dy[i] * p->right[i];
  return sum;
}

/* That slope where the last problem was linearised: -dy . M dy. */
static double slope_at_start(const exact *e, exact_problem *p)
{
  memcpy(p->full, p->g, (size_t)p->unknowns.n_full * sizeof *p->full);
  contact_jacobian_scatter(&e->contacts.rows, -1.0, p->r, p->full);
  step_unknowns_fold(&p->unknowns, p->full, p->right);
  return slope_along(p);
}

/* The next place to look, as a share of the way, between one not far enough and one (infinite: not known yet) too far. */
static double next_share(double low, double at_low, double high, double at_high, int k)
{
  const double width = high - low, straight = low + width * at_low / (at_low - at_high);
  if (isinf(high)) return 2.0 * low;
  if (k % 3 == 2 || !(straight > low)) return low + 0.5 * width;
  return fmin(fmax(straight, low + 0.1 * width), high - 0.1 * width);
}

/* Where a linearised problem led to, start + dy, the slope of work along the way is `last`. From `first` < 0 at the start it should
 * have come near 0. If not (infinite: that state cannot be), the next problem is linearised not there but where the way, made longer
 * if need be, comes near. */
static PetscErrorCode search_the_way(exact *e, exact_problem *p, double first, double last, step_verdict *verdict,
                                     step_report *report)
{
  double low = 0.0, at_low = first, high = 1.0, at_high = last, norm;
  PetscFunctionBegin;
  if (last < 0.0) low = 1.0, at_low = last, high = INFINITY;
  anderson_forget(&p->past);
  for (int k = 0; k < TRIALS; ++k) {
    const double share = next_share(low, at_low, high, at_high, k);
    for (int64_t i = 0; i < p->n; ++i) p->y[i] = p->start[i] + share * p->dy[i];
    step_unknowns_expand(&p->unknowns, p->y, e->layout.v);
    PetscCall(step_layout_follow(&e->layout));
    *verdict = (step_verdict){STEP_OK, NULL, -1};
    PetscCall(evaluate(e, p, false, &norm, verdict, report));
    const double slope = verdict->code == STEP_OK ? slope_along(p) : INFINITY;
    if (fabs(slope) <= -OFF * first || (slope < 0.0 && share >= LONGEST_WAY)) break;
    if (slope < 0.0) low = share, at_low = slope;
    else high = share, at_high = slope;
  }
  if (verdict->code == STEP_OK) PetscCall(evaluate(e, p, true, &norm, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Linearise until the step is solved. What is accepted is always the solution of a linearised problem, which obeys the law of
 * contact. */
static PetscErrorCode iterate(exact *e, exact_problem *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  const job_newton *o          = e->layout.scene->job->solver->newton;
  double            norm       = INFINITY, before, best = INFINITY;
  double            norm_at_start; /* of no interest: contacts are not solved for there */
  bool              is_renewed = true; /* M belongs to the state at hand */
  int64_t           n_idle     = 0;    /* iterations since the best */
  double            first;             /* slope of work where a way begins */
  PetscCall(evaluate(e, p, true, &norm, verdict, report));
  for (int64_t k = 0; verdict->code == STEP_OK; ++k) {
    if (stop_is_urgent()) {
      *verdict = (step_verdict){STEP_DROPPED, NULL, -1};
      break;
    }
    if (is_renewed) PetscCall(linearise(e, p, k == 0, verdict));
    if (verdict->code != STEP_OK) break;
    memcpy(p->start, p->y, (size_t)p->n * sizeof *p->y);
    PetscCall(solve_linearised(e, p, verdict, report));
    ++report->newton_iterations;
    if (verdict->code != STEP_OK) break;
    before = k > 0 ? norm : INFINITY; /* the state the step starts from is no approximation of its end */
    first  = slope_at_start(e, p);
    PetscCall(evaluate(e, p, false, &norm, verdict, report));
    if ((verdict->code == STEP_OK && norm <= o->tolerance) || o->max_iterations == 1) break;
    const double last = verdict->code == STEP_OK ? slope_along(p) : INFINITY;
    if (k + 1 < o->max_iterations && (last > -OFF * first || (k > 0 && last < OFF * first))) {
      PetscCall(search_the_way(e, p, first, last, verdict, report));
      is_renewed = true;
      norm = best = INFINITY, n_idle = 0;
      continue;
    }
    if (verdict->code != STEP_OK) break;
    n_idle = norm < 0.9 * best ? 0 : n_idle + 1;
    best   = fmin(best, norm);
    const int64_t patience = norm <= o->stall_tolerance ? IDLE : IDLE_FAR;
    if (k + 1 == o->max_iterations || (n_idle >= patience && norm <= best)) { /* all that linearising has to give */
      if (!(norm <= o->stall_tolerance)) *verdict = (step_verdict){STEP_NOT_CONVERGED, NULL, -1};
      break;
    }
    is_renewed = norm > SLOW * before;
    if (norm > before) anderson_forget(&p->past);
    else if (k > 0) PetscCall(accelerate(e, p, p->start));
    PetscCall(evaluate(e, p, is_renewed, &norm_at_start, verdict, report));
    if (verdict->code != STEP_OK && k > 0) PetscCall(step_back(e, p, is_renewed, verdict, report));
  }
  report->residual = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step is solved: make it permanent, unless a body refuses. */
static PetscErrorCode accept(exact *e, exact_problem *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  step_layout          *l = &e->layout;
  const step_contacts *c = &e->contacts;
  PetscCall(step_layout_end(l, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(step_contact_report(c, l, p->r, p->u, p->W ? delassus_diagonal(p->W) : NULL, &e->points, &e->forces, &report->contact));
  PetscCall(fibre_scene_accept(c->fibres));
  PetscCall(step_impulses_remember(&e->known, &c->rows, step_contacts_spots(c), l->dt, p->r));
  report->friction.n_contacts      = p->n_contacts;
  report->friction.over_constraint = p->n > 0 ? 3.0 * (double)p->n_contacts / (double)p->n : 0.0;
  PetscCall(scene_set_time(l->scene, l->t + l->dt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_try(exact *e, exact_problem *p, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  PetscCall(step_unknowns_create(&e->layout, &p->unknowns));
  memcpy(e->layout.v, e->layout.v0, (size_t)(3 * e->layout.n_blocks) * sizeof *e->layout.v);
  PetscCall(step_layout_follow(&e->layout)); /* poses of obstacles at the end */
  PetscCall(step_contacts_find(&e->contacts, &e->layout, &p->unknowns, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(problem_start(e, p));
  if (p->unknowns.n_full > 0) {
    PetscCall(iterate(e, p, verdict, report));
    if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(accept(e, p, verdict, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_step(formulation *f, double t, double dt, step_verdict *verdict, step_report *report)
{
  PetscFunctionBegin;
  exact        *e = (exact *)f;
  exact_problem problem = {0};
  *verdict              = (step_verdict){STEP_OK, NULL, -1};
  memset(report, 0, sizeof *report);
  report->friction.method = -1;
  PetscCall(step_layout_begin(&e->layout, t, dt, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  e->last.n_contacts = 0;
  const PetscErrorCode code = exact_try(e, &problem, verdict, report);
  problem_destroy(&problem);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exact_describe(const scene *s, FILE *out)
{
  fprintf(out, "formulation exact: rigid contact, Coulomb friction solved by %s; contacts are found between\n",
          friction_solvers[s->job->solver->friction->method].name);
  return step_finders_describe(s, out);
}

static PetscErrorCode exact_write_problem(const formulation *f, const char *path)
{
  const exact *e = (const exact *)f;
  return exact_dump_write(&e->last, e->layout.scene->job->name, path);
}

static PetscErrorCode exact_fields(formulation *f, field_table *table)
{
  exact *e = (exact *)f;
  PetscFunctionBegin;
  PetscCall(step_impulses_fields(&e->known, table));
  PetscCall(fibre_scene_fields(e->contacts.fibres, table));
  PetscCall(contact_points_fields(&e->points, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void exact_destroy(formulation **f)
{
  exact *e = (exact *)*f;
  if (!e) return;
  step_layout_destroy(&e->layout);
  step_contacts_destroy(&e->contacts);
  step_impulses_destroy(&e->known);
  contact_points_destroy(&e->points);
  contact_forces_destroy(&e->forces);
  exact_dump_destroy(&e->last);
  memory_free(&e);
  *f = NULL;
}

static PetscErrorCode exact_create(scene *s, formulation **out)
{
  PetscFunctionBegin;
  exact *e;
  PetscCall(memory_alloc("exact formulation", 1, sizeof *e, &e));
  e->base.ops = &exact_formulation;
  e->base.points = &e->points, e->base.forces = &e->forces;
  *out        = &e->base;
  PetscCall(step_layout_create(s, &e->layout));
  PetscCall(step_contacts_create(s, s->job->contact->overlap_share, &e->contacts));
  for (int i = 0; i < s->n_systems; ++i)
    if (s->systems[i]->ops->set_definite) s->systems[i]->ops->set_definite(s->systems[i], true);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const formulation_ops exact_formulation = {
  .name           = "exact",
  .is_rigid       = true,
  .outer          = "Newton",
  .inner          = "friction",
  .remedy         = "another solver.friction.method",
  .create         = exact_create,
  .step           = exact_step,
  .fields         = exact_fields,
  .describe       = exact_describe,
  .write_problem  = exact_write_problem,
  .destroy        = exact_destroy,
};
