#include "optim/friction/splitting_sweep.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include <omp.h>
#include <string.h>

enum { SLEEP = 10, AHEAD = 1, FAR_NUMBERS = 500000 }; /* 4 MB of columns: more than stays close by */

void sweeper_destroy(sweeper *s)
{
  contact_plan_destroy(&s->plan);
  memory_free(&s->one), memory_free(&s->side_start), memory_free(&s->side), memory_free(&s->q), memory_free(&s->r),
      memory_free(&s->alpha);
  memory_free(&s->state), memory_free(&s->quiet), memory_free(&s->sleep), memory_free(&s->lane_start), memory_free(&s->lane_task);
  *s = (sweeper){0};
}

static PetscErrorCode allocate(sweeper *s)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("contacts of a sweep", s->n, sizeof *s->one, &s->one));
  PetscCall(memory_alloc("sides of a sweep", s->n + 1, sizeof *s->side_start, &s->side_start));
  PetscCall(memory_alloc("sides of a sweep", s->groups->side_start[s->n], sizeof *s->side, &s->side));
  PetscCall(memory_alloc("free velocities of a sweep", 3 * s->n, sizeof *s->q, &s->q));
  PetscCall(memory_alloc("impulses of a sweep", 3 * s->n, sizeof *s->r, &s->r));
  PetscCall(memory_alloc("sliding coefficients", s->n, sizeof *s->alpha, &s->alpha));
  PetscCall(memory_alloc("states of groups", s->groups->n_state, sizeof *s->state, &s->state));
  PetscCall(memory_alloc("quiet contacts", s->n, sizeof *s->quiet, &s->quiet));
  PetscCall(memory_alloc("sleeping contacts", s->n, sizeof *s->sleep, &s->sleep));
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

/* What a task takes, about, in ns. */
static double work_of(const sweeper *s, int64_t task)
{
  const int64_t first = s->plan.task_start[task], last = s->plan.task_start[task + 1];
  double        work  = 25.0 * (double)(last - first);
  for (int64_t i = s->side_start[first]; i < s->side_start[last]; ++i)
    work += 5.0 + 0.35 * s->side[i].length + s->side[i].n_jacobian;
  return work;
}

/* The tasks of each round to threads: the longest that is left to the thread with least to do. */
static PetscErrorCode deal_tasks(sweeper *s)
{
  const contact_plan *p = &s->plan;
  double             *left = NULL, *load = NULL;
  int32_t            *lane_of = NULL;
  PetscFunctionBegin;
  s->n_lanes = p->n_tasks > 1 ? team_threads() : 1;
  PetscErrorCode code = memory_alloc("lanes of a sweep", p->n_rounds * s->n_lanes + 1, sizeof *s->lane_start, &s->lane_start);
  if (!code) code = memory_alloc("lanes of a sweep", p->n_tasks, sizeof *s->lane_task, &s->lane_task);
  if (!code) code = memory_alloc("work of tasks", p->n_tasks, sizeof *left, &left);
  if (!code) code = memory_alloc("work of lanes", s->n_lanes, sizeof *load, &load);
  if (!code) code = memory_alloc("lanes of tasks", p->n_tasks, sizeof *lane_of, &lane_of);
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
  memory_free(&left), memory_free(&load), memory_free(&lane_of);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sweeper_create(const friction_problem *p, const friction_splitting_options *o, sweeper *out)
{
  PetscFunctionBegin;
  *out = (sweeper){
      .n = p->n, .local = o->local, .freeze_after = (int)o->freeze_after, .freeze_change2 = o->freeze_change * o->freeze_change};
  PetscErrorCode code = contact_groups_of(p->W, &out->groups);
  if (!code) code = contact_plan_create(out->groups, o->parts > 0 ? o->parts : contact_plan_parts(out->groups), &out->plan);
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

/* A task of putting: its contacts push all they have. */
static void push_task(sweeper *s, int64_t task, bool is_backward)
{
  (void)is_backward;
  for (int64_t k = s->plan.task_start[task]; k < s->plan.task_start[task + 1]; ++k) {
    const double *const d = s->r + 3 * k;
    if (d[0] == 0.0 && d[1] == 0.0 && d[2] == 0.0) continue;
    for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_push(s->groups, s->side + i, s->state, d);
  }
}

typedef void (*task_function)(sweeper *s, int64_t task, bool is_backward);

/* All tasks, round by round, forward or backward. Called by every thread of a team, or by one alone: then without barriers, which
 * call the kernel even for a team of one. */
static inline void do_rounds(sweeper *s, int first_lane, int n_threads, bool is_backward, task_function f)
{
  for (int64_t i = 0; i < s->plan.n_rounds; ++i) {
    const int64_t  round = is_backward ? s->plan.n_rounds - 1 - i : i;
    const int64_t *start = s->lane_start + round * s->n_lanes;
    for (int lane = first_lane; lane < s->n_lanes; lane += n_threads)
      for (int64_t k = start[lane]; k < start[lane + 1]; ++k) f(s, s->lane_task[k], is_backward);
    if (n_threads > 1) {
      #pragma omp barrier
    }
  }
}

void sweeper_put(sweeper *s, const double *r)
{
  memset(s->state, 0, (size_t)s->groups->n_state * sizeof *s->state);
  for (int64_t k = 0; k < s->n; ++k) v3_copy(s->r + 3 * k, r + 3 * (int64_t)s->plan.order[k]);
  if (s->n_lanes == 1) {
    do_rounds(s, 0, 1, false, push_task);
    return;
  }
  #pragma omp parallel num_threads(s->n_lanes)
  do_rounds(s, omp_get_thread_num(), omp_get_num_threads(), false, push_task);
}

static inline void take_one(const sweeper *s, int64_t k, double *r, double *u)
{
  const int64_t a = s->plan.order[k];
  v3_copy(r + 3 * a, s->r + 3 * k);
  v3_copy(u + 3 * a, s->q + 3 * k);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_gather(s->groups, s->side + i, s->state, u + 3 * a);
}

void sweeper_take(const sweeper *s, double *r, double *u)
{
  if (s->n_lanes == 1) {
    for (int64_t k = 0; k < s->n; ++k) take_one(s, k, r, u);
    return;
  }
  #pragma omp parallel for schedule(static) num_threads(s->n_lanes)
  for (int64_t k = 0; k < s->n; ++k) take_one(s, k, r, u);
}

void sweeper_wake(sweeper *s)
{
  memset(s->quiet, 0, (size_t)s->n * sizeof *s->quiet);
  memset(s->sleep, 0, (size_t)s->n * sizeof *s->sleep);
}

/* Ask for the columns that contact k will push: with 10,000 contacts a sweep takes 10 to 30 % less (Zen 3). */
static inline void fetch(const sweeper *s, int64_t k)
{
  if (s->r[3 * k] == 0.0) return; /* open contacts rarely push */
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) {
    const double *column = s->groups->value + s->side[i].column, *end = column + 3 * s->side[i].length;
    for (; column < end; column += 8) __builtin_prefetch(column);
  }
}

/* Solve contact k for what the others do to it, and tell them. */
static inline __attribute__((always_inline)) void visit(sweeper *restrict s, int64_t k, const int local)
{
  const one_contact *const o = s->one + k;
  double *const            r = s->r + 3 * k;
  double                   b[3], d[3], next[3];
  if (s->sleep[k]) {
    --s->sleep[k];
    return;
  }
  v3_copy(b, s->q + 3 * k);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_gather(s->groups, s->side + i, s->state, b);
  for (int i = 0; i < 3; ++i) b[i] -= o->W[3 * i] * r[0] + o->W[3 * i + 1] * r[1] + o->W[3 * i + 2] * r[2];
  v3_copy(next, r);
  if (local == SPLITTING_LOCAL_EXACT) one_contact_solve(o, b, s->alpha + k, next);
  else one_contact_hybrid(o, b, 1e-12, next);
  for (int i = 0; i < 3; ++i) d[i] = next[i] - r[i];
  const double change = v3_dot(d, d);
  if (change == 0.0) return;
  v3_copy(r, next);
  for (int64_t i = s->side_start[k]; i < s->side_start[k + 1]; ++i) group_side_push(s->groups, s->side + i, s->state, d);
  if (change > s->freeze_change2 * v3_dot(next, next)) s->quiet[k] = 0;
  else if (++s->quiet[k] >= s->freeze_after) s->sleep[k] = SLEEP, s->quiet[k] = 0;
}

static inline __attribute__((always_inline)) void sweep_task(sweeper *s, int64_t task, bool is_backward, const int local)
{
  const int64_t first = s->plan.task_start[task], last = s->plan.task_start[task + 1];
  if (is_backward)
    for (int64_t k = last - 1; k >= first; --k) {
      if (s->is_far && k - AHEAD >= first) fetch(s, k - AHEAD);
      visit(s, k, local);
    }
  else
    for (int64_t k = first; k < last; ++k) {
      if (s->is_far && k + AHEAD < last) fetch(s, k + AHEAD);
      visit(s, k, local);
    }
}

static void sweep_any(sweeper *s, int64_t task, bool is_backward)
{
  if (s->local == SPLITTING_LOCAL_EXACT) sweep_task(s, task, is_backward, SPLITTING_LOCAL_EXACT);
  else sweep_task(s, task, is_backward, SPLITTING_LOCAL_HYBRID);
}

void sweeper_run(sweeper *s, int64_t n_sweeps, bool is_symmetric)
{
  if (s->n_lanes == 1) {
    for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) do_rounds(s, 0, 1, is_symmetric && sweep % 2 == 1, sweep_any);
    return;
  }
  #pragma omp parallel num_threads(s->n_lanes)
  for (int64_t sweep = 0; sweep < n_sweeps; ++sweep)
    do_rounds(s, omp_get_thread_num(), omp_get_num_threads(), is_symmetric && sweep % 2 == 1, sweep_any);
}
