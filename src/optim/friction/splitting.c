#include "optim/friction/splitting.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/team.h"
#include "core/timer.h"
#include "optim/friction/anderson.h"
#include "optim/friction/body_sweeps.h"
#include "optim/friction/cone.h"
#include <omp.h>
#include <stddef.h>
#include <string.h>

enum { AHEAD = 1, FAR_NUMBERS = 500000 };     /* 4 MB of columns: more than stays close by */
static const double HYBRID_TOLERANCE = 1e-12; /* of one_contact_hybrid */

void sweeper_destroy(sweeper *s)
{
  contact_plan_destroy(&s->plan);
  MEMORY_FREE(&s->one, &s->side_start, &s->side, &s->q, &s->r, &s->alpha, &s->state, &s->lane_start, &s->lane_task);
  *s = (sweeper){0};
}

static PetscErrorCode allocate(sweeper *s)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("splitting", ARRAY(s->one, s->n), ARRAY(s->side_start, s->n + 1), ARRAY(s->side, s->groups->side_start[s->n]),
                         ARRAY(s->q, 3 * s->n), ARRAY(s->r, 3 * s->n), ARRAY(s->alpha, s->n), ARRAY(s->state, s->groups->n_state)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void arrange(const friction_problem *p, sweeper *s)
{
  int64_t slot = 0;
  for (int64_t k = 0; k < s->n; ++k) {
    const int64_t a = s->plan.order[k];
    one_contact_prepare(delassus_diagonal(p->W) + 9 * a, p->mu[a], s->one + k);
    v3_copy(s->q + 3 * k, p->q + 3 * a);
    for (int64_t i = s->groups->side_start[a]; i < s->groups->side_start[a + 1]; ++i) s->side[slot++] = s->groups->side[i];
    s->side_start[k + 1] = slot;
  }
}

/* Estimated time of a task in ns. */
static double work_of(const sweeper *s, int64_t task)
{
  const int64_t first = s->plan.task_start[task], last = s->plan.task_start[task + 1];
  double        work = 25.0 * (double)(last - first);
  for (int64_t i = s->side_start[first]; i < s->side_start[last]; ++i) work += 5.0 + 0.35 * s->side[i].length + s->side[i].n_jacobian;
  return work;
}

/* Distribute the tasks of each round over the threads: the longest remaining task to the thread with the least work. */
static PetscErrorCode deal_tasks(sweeper *s)
{
  const contact_plan *p    = &s->plan;
  double             *left = NULL, *load = NULL;
  int32_t            *lane_of = NULL;
  PetscFunctionBegin;
  s->n_lanes          = p->n_tasks > 1 ? team_threads() : 1;
  PetscErrorCode code = MEMORY_ALLOC("splitting", ARRAY(s->lane_start, p->n_rounds * s->n_lanes + 1), ARRAY(s->lane_task, p->n_tasks),
                                     ARRAY(left, p->n_tasks), ARRAY(load, s->n_lanes), ARRAY(lane_of, p->n_tasks));
  for (int64_t task = 0; !code && task < p->n_tasks; ++task) left[task] = work_of(s, task);
  int64_t slot = 0;
  for (int64_t round = 0; !code && round < p->n_rounds; ++round) {
    const int64_t first = p->round_start[round], last = p->round_start[round + 1];
    memset(load, 0, (size_t)s->n_lanes * sizeof *load);
    for (int64_t k = first; k < last; ++k) {
      int64_t longest = first;
      int     least   = 0;
      for (int64_t task = first; task < last; ++task)
        if (left[task] > left[longest]) longest = task;
      for (int lane = 1; lane < s->n_lanes; ++lane)
        if (load[lane] < load[least]) least = lane;
      load[least] += left[longest], left[longest] = -1.0;
      lane_of[longest] = least;
    }
    for (int lane = 0; lane < s->n_lanes; ++lane) {
      for (int64_t task = first; task < last; ++task)
        if (lane_of[task] == lane) s->lane_task[slot++] = (int32_t)task;
      s->lane_start[round * s->n_lanes + lane + 1] = slot;
    }
  }
  MEMORY_FREE(&left, &load, &lane_of);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweeper_create(const friction_problem *p, splitting_local_solver local_solver, sweeper *out)
{
  PetscFunctionBegin;
  *out                = (sweeper){.n = p->n, .local_solver = local_solver};
  PetscErrorCode code = contact_groups_of(p->W, &out->groups);
  if (!code) code = contact_plan_create(out->groups, contact_plan_parts(out->groups), &out->plan);
  if (!code) code = allocate(out);
  if (!code) {
    arrange(p, out);
    out->is_far = out->groups->n_value > FAR_NUMBERS;
  }
  if (!code) code = deal_tasks(out);
  if (code) sweeper_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the impulses of all contacts of a task to the states. */
static void add_impulses_of_task(sweeper *s, int64_t task)
{
  for (int64_t k = s->plan.task_start[task]; k < s->plan.task_start[task + 1]; ++k) {
    const double *const d = s->r + 3 * k;
    if (d[0] == 0.0 && d[1] == 0.0 && d[2] == 0.0) continue;
    for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_add_impulse(s->groups, s->side + i, s->state, d);
  }
}

typedef void (*task_function)(sweeper *s, int64_t task);

/* Run all tasks, round by round. Called by every thread of a team, or by one thread; then without barriers,
 * which call the operating system even for a team of one. */
static inline void run_rounds(sweeper *s, int first_lane, int n_threads, task_function f)
{
  for (int64_t round = 0; round < s->plan.n_rounds; ++round) {
    const int64_t *start = s->lane_start + round * s->n_lanes;
    for (int lane = first_lane; lane < s->n_lanes; lane += n_threads)
      for (int64_t k = start[lane]; k < start[lane + 1]; ++k) f(s, s->lane_task[k]);
    if (n_threads > 1) {
#pragma omp barrier
    }
  }
}

void sweeper_set_impulses(sweeper *s, const double *r)
{
  memset(s->state, 0, (size_t)s->groups->n_state * sizeof *s->state);
  for (int64_t k = 0; k < s->n; ++k) v3_copy(s->r + 3 * k, r + 3 * (int64_t)s->plan.order[k]);
  if (s->n_lanes == 1) {
    run_rounds(s, 0, 1, add_impulses_of_task);
    return;
  }
#pragma omp parallel num_threads(s->n_lanes)
  run_rounds(s, omp_get_thread_num(), omp_get_num_threads(), add_impulses_of_task);
}

static inline void take_one(const sweeper *s, int64_t k, double *r, double *u)
{
  const int64_t a = s->plan.order[k];
  v3_copy(r + 3 * a, s->r + 3 * k);
  v3_copy(u + 3 * a, s->q + 3 * k);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_gather(s->groups, s->side + i, s->state, u + 3 * a);
}

void sweeper_get_solution(const sweeper *s, double *r, double *u)
{
  if (s->n_lanes == 1) {
    for (int64_t k = 0; k < s->n; ++k) take_one(s, k, r, u);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(s->n_lanes)
  for (int64_t k = 0; k < s->n; ++k) take_one(s, k, r, u);
}

/* Prefetch the columns that contact k will add: with 10,000 contacts a sweep takes 10 to 30 % less time (Zen 3). */
static inline void prefetch_columns(const sweeper *s, int64_t k)
{
  if (s->r[3 * k] == 0.0) return; /* separated contacts rarely get an impulse */
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) {
    const double *column = s->groups->value + s->side[i].column, *end = column + 3 * s->side[i].length;
    for (; column < end; column += 8) __builtin_prefetch(column);
  }
}

/* Solve contact k for the current velocity and add the change of its impulse to the states. */
static inline __attribute__((always_inline)) void update_contact(sweeper *restrict s, int64_t k, const int local_solver)
{
  const one_contact *const o = s->one + k;
  double *const            r = s->r + 3 * k;
  double                   b[3], d[3], next[3];
  v3_copy(b, s->q + 3 * k);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_gather(s->groups, s->side + i, s->state, b);
  for (int i = 0; i < 3; ++i) b[i] -= o->W[3 * i] * r[0] + o->W[3 * i + 1] * r[1] + o->W[3 * i + 2] * r[2];
  v3_copy(next, r);
  if (local_solver == SPLITTING_LOCAL_EXACT) one_contact_solve(o, b, s->alpha + k, next);
  else one_contact_hybrid(o, b, HYBRID_TOLERANCE, next);
  for (int i = 0; i < 3; ++i) d[i] = next[i] - r[i];
  if (v3_dot(d, d) == 0.0) return;
  v3_copy(r, next);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_add_impulse(s->groups, s->side + i, s->state, d);
}

static inline __attribute__((always_inline)) void sweep_contacts(sweeper *s, int64_t task, const int local_solver)
{
  const int64_t first = s->plan.task_start[task], last = s->plan.task_start[task + 1];
  for (int64_t k = first; k < last; ++k) {
    if (s->is_far && k + AHEAD < last) prefetch_columns(s, k + AHEAD);
    update_contact(s, k, local_solver);
  }
}

/* One loop for each local solver. */
static void sweep_task(sweeper *s, int64_t task)
{
  if (s->local_solver == SPLITTING_LOCAL_EXACT) sweep_contacts(s, task, SPLITTING_LOCAL_EXACT);
  else sweep_contacts(s, task, SPLITTING_LOCAL_FISCHER_BURMEISTER);
}

void sweeper_run(sweeper *s, int64_t n_sweeps)
{
  if (s->n_lanes == 1) {
    for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) run_rounds(s, 0, 1, sweep_task);
    return;
  }
#pragma omp parallel num_threads(s->n_lanes)
  for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) run_rounds(s, omp_get_thread_num(), omp_get_num_threads(), sweep_task);
}

/* Memory of Anderson's acceleration, and sweeps between its steps: 300,000 sweeps of a stack become 700. */
enum { MEMORY = 10, PERIOD = 8 };
/* Largest number of sweeps between evaluations of the error. */
enum { CHECK_EVERY = 25 };
enum { SWEEPS = 100000, FRESH_EVERY = 2000, PARALLEL_CONTACTS = 512 };
static const double WORSE_MAX = 2.0; /* growth of a residual that shows an accelerated step was a mistake */

typedef struct {
  const friction_problem *p;
  const friction_options *o;
  sweeper                 s;
  double                  end, best_error;
  double                 *best;      /* [n][3] */
  friction_stop_test      stop_test; /* may be NULL */
  void                   *ctx;
  bool                    is_accelerated;
  /* acceleration */
  anderson past;
  double  *weight, *from; /* [3n]; from: where the sweeps of this period began */
  double   residual;      /* of the last period */
} solver;

static void solver_free(solver *v)
{
  sweeper_destroy(&v->s);
  anderson_destroy(&v->past);
  MEMORY_FREE(&v->best, &v->weight, &v->from);
}

static PetscErrorCode solver_create(solver *v, const double *r)
{
  const int64_t n = v->p->n;
  PetscFunctionBegin;
  PetscCall(sweeper_create(v->p, (splitting_local_solver)v->o->local_solver, &v->s));
  PetscCall(memory_alloc("best impulses", 3 * n, sizeof *v->best, &v->best));
  for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], r + 3 * a, v->best + 3 * a); /* fallback */
  v->best_error = INFINITY;
  sweeper_set_impulses(&v->s, v->best);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocated late: many problems converge before the acceleration starts. */
static PetscErrorCode create_acceleration(solver *v)
{
  const int64_t n = v->p->n;
  PetscFunctionBegin;
  PetscCall(anderson_create(3 * n, MEMORY, &v->past));
  PetscCall(MEMORY_ALLOC("splitting", ARRAY(v->weight, 3 * n), ARRAY(v->from, 3 * n)));
  for (int64_t i = 0; i < 3 * n; ++i) v->weight[i] = m3_trace(delassus_diagonal(v->p->W) + 9 * (i / 3)) / 3.0; /* energy */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Evaluate the error of the current impulses and store the best ones. */
static double evaluate_and_store_best(solver *v, double *r, double *u)
{
  sweeper_get_solution(&v->s, r, u);
  const double e = friction_error(v->p, v->o->error, r, u);
  if (e < v->best_error) {
    v->best_error = e;
    memcpy(v->best, r, (size_t)(3 * v->p->n) * sizeof *r);
  }
  return e;
}

/* Number of sweeps until the next evaluation of the error: 60 % of what the convergence rate since the last one predicts. */
static int64_t next_batch(const solver *v, double before, double now, int64_t swept)
{
  if (!(now < before)) return CHECK_EVERY;
  const double rate = log(before / now) / (double)swept, wanted = log(now / v->o->tolerance) / rate;
  return wanted < 2.0 ? 1 : wanted * 0.6 > CHECK_EVERY ? CHECK_EVERY : (int64_t)(wanted * 0.6) + 1;
}

/* After a period of sweeps from `from` to r: the next period starts from the Anderson combination of the last ones, projected onto the cones. */
static void accelerate(solver *v, const double *r)
{
  const int64_t n  = v->p->n;
  double        f2 = 0.0;
  for (int64_t i = 0; i < 3 * n; ++i) f2 += v->weight[i] * (r[i] - v->from[i]) * (r[i] - v->from[i]);
  const double f = sqrt(f2);
  if (v->past.n_kept > 0 && f > WORSE_MAX * v->residual) anderson_reset(&v->past);
  v->residual = f;
  anderson_step(&v->past, v->from, r, v->weight, v->from);
  if (n < PARALLEL_CONTACTS) { /* a region calls the kernel, even for one thread */
    for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], v->from + 3 * a, v->from + 3 * a);
  } else {
#pragma omp parallel for schedule(static)
    for (int64_t a = 0; a < n; ++a) cone_project(v->p->mu[a], v->from + 3 * a, v->from + 3 * a);
  }
  sweeper_set_impulses(&v->s, v->from);
}

/* Status after `swept` sweeps with the error `now`; FRICTION_ITERATIONS: continue. */
static friction_status choose_status(const solver *v, int64_t swept, double now)
{
  if (now <= v->o->tolerance) return FRICTION_OK;
  if (!isfinite(now)) return FRICTION_NOT_FINITE;
  if (timer_now() > v->end) return FRICTION_TIME;
  if (v->stop_test && v->stop_test(v->ctx, swept, now)) return FRICTION_STALLED;
  return stop_is_urgent() ? FRICTION_STOPPED : FRICTION_ITERATIONS;
}

static PetscErrorCode run(solver *v, double *r, double *u, friction_result *out)
{
  const int64_t most  = friction_most_iterations(v->o, SWEEPS);
  int64_t       batch = 1, fresh = 0;
  double        before = evaluate_and_store_best(v, r, u), now = before;
  PetscFunctionBegin;
  out->status = choose_status(v, out->iterations, now);
  while (out->status == FRICTION_ITERATIONS && out->iterations < most) {
    /* the first period is checked often, because easy problems converge in it */
    const bool is_period = v->is_accelerated && out->iterations >= PERIOD;
    if (is_period) batch = PERIOD;
    else if (v->is_accelerated && batch > PERIOD - out->iterations) batch = PERIOD - out->iterations;
    if (batch > most - out->iterations) batch = most - out->iterations;
    sweeper_run(&v->s, batch);
    out->iterations += batch, fresh += batch;
    now = evaluate_and_store_best(v, r, u);
    if (now <= v->o->tolerance || fresh >= FRESH_EVERY) { /* recompute the state: rounding errors of many small changes must
                                                           * not decide convergence */
      sweeper_set_impulses(&v->s, r);
      now = evaluate_and_store_best(v, r, u), fresh = 0;
    }
    out->status = choose_status(v, out->iterations, now);
    if (v->is_accelerated && out->status == FRICTION_ITERATIONS) {
      if (!v->from) PetscCall(create_acceleration(v));
      if (is_period) accelerate(v, r), fresh = 0;
      else memcpy(v->from, r, (size_t)(3 * v->p->n) * sizeof *r);
    }
    batch  = next_batch(v, before, now, batch);
    before = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode splitting_run(const friction_problem *p, const friction_options *o, bool is_accelerated, friction_stop_test stop_test,
                             void *ctx, double *r, double *u, friction_result *out)
{
  solver v = {.p              = p,
              .o              = o,
              .is_accelerated = is_accelerated,
              .stop_test      = stop_test,
              .ctx            = ctx,
              .end            = o->time_limit > 0.0 ? timer_now() + o->time_limit : INFINITY};
  PetscFunctionBegin;
  PetscErrorCode code = solver_create(&v, r);
  if (!code) code = run(&v, r, u, out);
  if (!code) {
    memcpy(r, v.best, (size_t)(3 * p->n) * sizeof *r);
    friction_velocity(p, r, u);
  }
  solver_free(&v);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode friction_solve_splitting(const friction_problem *p, const friction_options *o, double *r, double *u, friction_result *out)
{
  PetscFunctionBegin;
  if (o->error == FRICTION_ERROR_SPEED && body_sweeps_apply(p->W)) PetscCall(body_sweeps_solve(p, o, r, u, out));
  else PetscCall(splitting_run(p, o, true, NULL, NULL, r, u, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
