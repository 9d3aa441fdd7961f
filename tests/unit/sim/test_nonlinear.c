/* Nonlinear driver on small equations with known solutions: iteration counts, line search, stall detection, acceptance,
 * acceleration, inexact solves, added contacts and interruption. */
#include "test.h"
#include "core/stop.h"
#include "sim/step/nonlinear.h"
#include <string.h>

enum { N = 3 };
typedef void (*equation)(const double v[N], double g[N]);

/* A problem whose linearised solve is v - g/slope, per component. */
typedef struct {
  equation          g;
  double            slope[N], v[N], direction[N], residual[N], scale[N], solution[N];
  bool              follows;        /* slopes by finite differences at the linearisation point */
  bool              needs_solution; /* the equation is invalid except at solutions of linearised problems and at the start */
  double            best_error;     /* the solve has this error, or its tolerance if that is larger; 0: exact */
  int               n_evaluations, n_linearisations, n_incomplete, stops_after, n_solves;
  double            improved;   /* improve sets all components to this */
  double            impulse[N]; /* the solution, as an array that belongs to v */
  double            third[N];   /* state of the third evaluation */
  step_line_search *parts;
  double            tolerance[2000]; /* of the solves */
  scene             s;
  step_layout       l;
  step_unknowns     u;
} problem;

static PetscErrorCode evaluate(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  problem *p = context;
  (void)now, (void)with_tangent;
  if (++p->n_evaluations == 3) memcpy(p->third, p->v, sizeof p->v);
  p->g(p->v, p->residual);
  if (p->needs_solution && p->n_solves > 0 && memcmp(p->v, p->solution, sizeof p->v) != 0) status->code = STEP_INVERTED;
  return PETSC_SUCCESS;
}

static PetscErrorCode linearise(void *context, const nonlinear_state *now, step_status *status)
{
  problem *p = context;
  double   g[N], there[N], v[N];
  (void)now, (void)status;
  ++p->n_linearisations;
  if (!p->follows) return PETSC_SUCCESS;
  p->g(p->v, g);
  for (int i = 0; i < N; ++i) {
    memcpy(v, p->v, sizeof v);
    v[i] += 1e-7;
    p->g(v, there);
    p->slope[i] = (there[i] - g[i]) / 1e-7;
  }
  return PETSC_SUCCESS;
}

static PetscErrorCode solve(void *context, nonlinear_state *now, step_status *status)
{
  problem *p = context;
  (void)status;
  p->tolerance[p->n_solves++] = now->tolerance;
  now->error                  = p->best_error > 0.0 ? fmax(now->tolerance, p->best_error) : 0.0;
  for (int i = 0; i < N; ++i) p->direction[i] = -p->residual[i] / p->slope[i] + now->error, p->v[i] += p->direction[i];
  memcpy(p->solution, p->v, sizeof p->v);
  memcpy(p->impulse, p->v, sizeof p->v);
  if (p->n_solves == p->stops_after) stop_set_deadline(0.0);
  return PETSC_SUCCESS;
}

static PetscErrorCode extend(void *context, const nonlinear_state *now, bool is_end, bool *is_complete, step_status *status)
{
  problem *p = context;
  (void)now, (void)is_end, (void)status;
  *is_complete = p->n_incomplete-- <= 0;
  return PETSC_SUCCESS;
}

static PetscErrorCode improve(void *context, bool *has_moved, step_status *status)
{
  problem *p = context;
  (void)status;
  for (int i = 0; i < N; ++i) p->v[i] = p->improved;
  *has_moved = true;
  return PETSC_SUCCESS;
}

static int list_arrays(void *context, nonlinear_array out[NONLINEAR_MAX_ARRAYS])
{
  out[0] = (nonlinear_array){((problem *)context)->impulse, N};
  return 1;
}

static void set_up(equation g, problem *p)
{
  *p   = (problem){.g = g, .slope = {1.0, 1.0, 1.0}, .scale = {1.0, 1.0, 1.0}, .improved = NAN};
  p->l = (step_layout){.scene = &p->s, .n_blocks = 1, .scale = p->scale, .inverse_scale = p->scale};
  p->u = (step_unknowns){.n = N, .n_full = N, .is_all = true};
}

static const newton_options newton = {.tolerance = 1e-8, .stall_tolerance = 1e-8, .max_iterations = 200};

static nonlinear_result run(problem *p, const nonlinear_options *o, step_code expected)
{
  const nonlinear_problem driver = {p,
                                    &p->l,
                                    &p->u,
                                    p->v,
                                    p->direction,
                                    p->residual,
                                    p->residual,
                                    p->parts,
                                    .evaluate    = evaluate,
                                    .linearise   = linearise,
                                    .solve       = solve,
                                    .extend      = p->n_incomplete > 0 ? extend : NULL,
                                    .improve     = isnan(p->improved) ? NULL : improve,
                                    .list_arrays = list_arrays};
  nonlinear_result        out;
  step_status             status = {STEP_OK, NULL, -1};
  assert_ok(nonlinear_solve(&driver, o, &out, &status));
  assert_int_equal(status.code, expected);
  assert_int_equal(out.n_iterations, p->n_solves);
  return out;
}

static void linear(const double v[N], double g[N])
{
  for (int i = 0; i < N; ++i) g[i] = (1.0 + i) * (v[i] - 1.0);
}
/* Newton's method diverges from 0. */
static void bend(const double v[N], double g[N])
{
  for (int i = 0; i < N; ++i) g[i] = atan(5.0 * (v[i] - 1.0));
}
/* The last component cannot be reduced. */
static void stuck(const double v[N], double g[N]) { g[0] = v[0] - 1.0, g[1] = v[1] - 1.0, g[2] = 0.01; }
/* The identity is a poor tangent: the fixed-point iteration contracts by 0.95. */
static void stretched(const double v[N], double g[N])
{
  static const double factor[N] = {1.5, 0.5, 0.05};
  for (int i = 0; i < N; ++i) g[i] = factor[i] * (v[i] - 1.0);
}

/* One iteration, for a smooth problem even if rounding exceeds the tolerance. */
static void test_linear_problems_take_one_iteration(void **state)
{
  (void)state;
  for (int is_smooth = 0; is_smooth < 2; ++is_smooth) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    set_up(linear, &p);
    p.follows   = true;
    o.is_smooth = is_smooth;
    if (is_smooth) o.tolerance = -1.0, o.linear = 1e-6;
    const nonlinear_result out = run(&p, &o, STEP_OK);
    assert_int_equal(out.n_iterations, 1);
    assert_int_equal(p.n_evaluations, 2);
    for (int i = 0; i < N; ++i) assert_close(p.v[i], 1.0, 1e-7);
    assert_close(out.first, sqrt(14.0), 1e-14);
    assert_close(out.norm, 0.0, 1e-6);
  }
  assert_no_leak();
}

static void test_line_search_finds_the_root(void **state)
{
  (void)state;
  for (int is_smooth = 0; is_smooth < 2; ++is_smooth) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    o.is_smooth         = is_smooth;
    set_up(bend, &p);
    p.follows                  = true;
    const nonlinear_result out = run(&p, &o, STEP_OK);
    assert_in_range(out.n_iterations, 2, 12);
    for (int i = 0; i < N; ++i) assert_close(p.v[i], 1.0, 1e-8);
    if (!is_smooth) assert_memory_equal(p.v, p.solution, sizeof p.v); /* points of the line search are not accepted */
    set_up(bend, &p);
    p.follows        = true;
    o.trials         = 0;
    o.max_iterations = 3; /* then slopes underflow */
    run(&p, &o, STEP_NOT_CONVERGED);
    assert_true(fabs(p.v[0] - 1.0) > 1e3);
  }
  assert_no_leak();
}

/* With the identity as tangent the first part goes four times, the second three times too far. */
static void far(const double v[N], double g[N]) { g[0] = 4.0 * (v[0] - 1.0), g[1] = 3.0 * (v[1] - 1.0), g[2] = 0.0; }

/* Each part gets its own step length. Only parts with at least an average share of the residual, in units of its scale, are
 * shortened: both for equal shares, otherwise one. */
static void test_parts_have_their_own_step_lengths(void **state)
{
  const struct {
    double weight[N], v[2]; /* weight of the residual; v at the first trial point */
  } cases[] = {{{3.0, 6.0, 1.0}, {1.0, 1.0}}, {{1.0, 1.0, 1.0}, {1.0, 3.0}}, {{0.01, 1.0, 1.0}, {4.0, 1.0}}};
  (void)state;
  for (int k = 0; k < 3; ++k) {
    int32_t           part[N] = {0, 1, 1};
    double            number[8][2];
    bool              is_selected[2];
    step_line_search  parts = {N,         2,         part,      number[0], number[1],   number[2], number[3],
                               number[4], number[5], number[6], number[7], is_selected, 0};
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    set_up(far, &p);
    p.parts           = &parts;
    p.l.inverse_scale = (double *)cases[k].weight;
    run(&p, &o, STEP_OK);
    for (int i = 0; i < 2; ++i) assert_close(p.third[i], cases[k].v[i], 1e-14);
    for (int i = 0; i < 2; ++i) assert_close(p.v[i], 1.0, 1e-6);
  }
  assert_no_leak();
}

/* A residual that cannot reach the tolerance: accepted within stall_tolerance after `idle` iterations, rejected otherwise. */
static void test_stall(void **state)
{
  (void)state;
  const struct {
    double    stall_tolerance;
    int       most, n;
    step_code code;
  } cases[] = {{0.1, 200, 5, STEP_OK}, {0.001, 200, 17, STEP_NOT_CONVERGED}, {0.1, 3, 3, STEP_OK}, {0.001, 3, 3, STEP_NOT_CONVERGED}};
  for (int k = 0; k < 4; ++k) {
    problem           p;
    step_report       report = {0};
    nonlinear_options o      = nonlinear_defaults(&newton);
    o.idle = 4, o.idle_far = 16;
    o.stall_tolerance = cases[k].stall_tolerance, o.max_iterations = cases[k].most;
    set_up(stuck, &p);
    const nonlinear_result out = run(&p, &o, cases[k].code);
    assert_int_equal(out.n_iterations, cases[k].n);
    assert_true(out.norm == 0.01);
    nonlinear_record(&out, o.tolerance, &report);
    assert_true(report.residual == 0.01 && report.unconverged);
    nonlinear_record(&out, 0.01, &report);
    assert_false(report.unconverged);
  }
  assert_no_leak();
}

/* Steps that are repeated in substeps are rejected above the tolerance, unless the job gives a stall tolerance. */
static void test_stalled_steps_are_repeated(void **state)
{
  (void)state;
  for (int is_given = 0; is_given < 2; ++is_given) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    o.idle = 4, o.idle_far = 16, o.stall_tolerance = 0.1, o.stall_is_given = is_given;
    set_up(stuck, &p);
    p.l.repeats_stalled        = true;
    const nonlinear_result out = run(&p, &o, is_given ? STEP_OK : STEP_NOT_CONVERGED);
    assert_true(out.norm == 0.01);
  }
  const newton_options given = {.tolerance = 1e-3, .stall_tolerance = 0.1}, missing = {.tolerance = 1e-3, .stall_tolerance = NAN};
  assert_true(nonlinear_defaults(&given).stall_is_given && !nonlinear_defaults(&missing).stall_is_given);
  assert_close(nonlinear_defaults(&missing).stall_tolerance, 1e-2, 1e-16);
  assert_no_leak();
}

/* Each iteration multiplies the error by -3/2, so the first solution is the best one: the result if unconverged steps are accepted. */
static void test_best_state(void **state)
{
  (void)state;
  for (int accepts = 0; accepts < 2; ++accepts) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    o.max_iterations = 4, o.trials = 0;
    set_up(linear, &p);
    for (int i = 0; i < N; ++i) p.slope[i] = 0.4 * (1.0 + i);
    p.l.accepts_unconverged    = accepts;
    const nonlinear_result out = run(&p, &o, accepts ? STEP_OK : STEP_NOT_CONVERGED);
    assert_int_equal(out.n_iterations, 4);
    const double error = accepts ? 1.5 : 1.5 * 1.5 * 1.5 * -1.5;
    for (int i = 0; i < N; ++i) assert_close(p.v[i], 1.0 + error, 1e-13);
    assert_memory_equal(p.impulse, p.v, sizeof p.v);
    assert_close(out.norm, fabs(error) * sqrt(14.0), 1e-12);
  }
  assert_no_leak();
}

/* With one iteration the first solution is accepted if the options say so. */
static void test_single_iteration(void **state)
{
  (void)state;
  for (int accepts = 0; accepts < 2; ++accepts) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    o.max_iterations = 1, o.accepts_first = accepts;
    set_up(stretched, &p);
    run(&p, &o, accepts ? STEP_OK : STEP_NOT_CONVERGED);
    assert_close(p.v[2], 0.05, 1e-15);
  }
  assert_no_leak();
}

/* Three unknowns need as many differences. If the residual is invalid at combinations, the iteration continues without them. */
static void test_anderson(void **state)
{
  int n[3];
  (void)state;
  for (int k = 0; k < 3; ++k) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    set_up(stretched, &p);
    o.trials         = 0;
    o.max_iterations = 1000, o.idle_far = 1000;
    p.needs_solution = k == 2;
    o.accelerate     = k == 0 ? INFINITY : 0.0;
    n[k]             = (int)run(&p, &o, STEP_OK).n_iterations;
    for (int i = 0; i < N; ++i) assert_close(p.v[i], 1.0, 1e-6);
    assert_memory_equal(p.v, p.solution, sizeof p.v); /* combinations are not accepted */
  }
  assert_true(n[0] > 200);
  assert_in_range(n[1], 3, 7);
  assert_int_equal(n[2], n[0]);
  assert_no_leak();
}

/* The matrix is kept while residuals decrease by `renew`. */
static void test_matrix_is_renewed(void **state)
{
  (void)state;
  for (int k = 0; k < 2; ++k) {
    problem           p;
    nonlinear_options o = nonlinear_defaults(&newton);
    set_up(stretched, &p);
    o.trials = 0, o.accelerate = 0.0;
    o.renew                    = k == 0 ? 0.0 : 1.0;
    const nonlinear_result out = run(&p, &o, STEP_OK);
    assert_int_equal(p.n_linearisations, k == 0 ? out.n_iterations : 1);
  }
  assert_no_leak();
}

/* Tolerances of the linearised problem follow the residual; the accepted solution has the final one. */
static void test_inexact_solves(void **state)
{
  problem           p;
  nonlinear_options o = nonlinear_defaults(&newton);
  (void)state;
  set_up(linear, &p);
  p.follows    = true;
  p.best_error = 1e-30;
  o.least = 1e-10, o.loosest = 1e-2, o.forcing = 1e-3;
  const nonlinear_result out = run(&p, &o, STEP_OK);
  assert_true(p.tolerance[0] == o.loosest);
  assert_true(out.norm <= o.tolerance);
  /* The error per component is the tolerance e: the residual after a solve is sqrt(14) e. */
  for (int64_t k = 1; k < out.n_iterations; ++k)
    assert_close(p.tolerance[k], fmax(o.least, o.forcing * sqrt(14.0) * p.tolerance[k - 1]), 1e-6 * p.tolerance[k - 1]);
  assert_true(p.tolerance[out.n_iterations - 1] == o.least);
  assert_in_range(out.n_iterations, 3, 6);
  /* A stalled iteration is accepted only after a solve with the final tolerance. */
  set_up(stuck, &p);
  p.best_error      = 1e-30;
  o.idle            = 4;
  o.stall_tolerance = 0.1;
  assert_int_equal(run(&p, &o, STEP_OK).n_iterations, 7); /* the first two reduce the residual */
  assert_true(p.tolerance[5] > o.least && p.tolerance[6] == o.least);
  assert_no_leak();
}

static void test_added_contacts_are_solved_again(void **state)
{
  problem           p;
  nonlinear_options o = nonlinear_defaults(&newton);
  (void)state;
  set_up(linear, &p);
  p.follows = true, p.n_incomplete = 2;
  run(&p, &o, STEP_OK);
  assert_int_equal(p.n_solves, 3);
  assert_int_equal(p.n_linearisations, 3);
  set_up(linear, &p);
  p.follows = true, p.n_incomplete = 1000;
  o.max_iterations = 20;
  run(&p, &o, STEP_NOT_CONVERGED); /* contacts without end */
  assert_int_equal(p.n_solves, 20);
  assert_no_leak();
}

static void test_improved_point(void **state)
{
  problem           p;
  nonlinear_options o = nonlinear_defaults(&newton);
  (void)state;
  set_up(stretched, &p);
  p.improved = 1.0;
  assert_int_equal(run(&p, &o, STEP_OK).n_iterations, 2);
  assert_no_leak();
}

/* A monotone iteration ends at the last state that reduced the residual. */
static void test_monotone(void **state)
{
  problem           p;
  nonlinear_options o = nonlinear_defaults(&newton);
  (void)state;
  o.trials = 0, o.is_smooth = o.is_monotone = true;
  set_up(bend, &p);
  p.follows                  = true;
  const nonlinear_result out = run(&p, &o, STEP_OK);
  assert_true(p.v[0] == 0.0 && out.norm == out.first && out.n_iterations == 1);
  set_up(bend, &p);
  p.follows = true;
  p.v[0] = p.v[1] = p.v[2] = 1.0;
  o.checks_start           = true;
  assert_int_equal(run(&p, &o, STEP_OK).n_iterations, 0);
  assert_no_leak();
}

static void test_interruption(void **state)
{
  problem           p;
  nonlinear_options o = nonlinear_defaults(&newton);
  (void)state;
  set_up(stretched, &p);
  p.stops_after              = 2;
  const nonlinear_result out = run(&p, &o, STEP_INTERRUPTED);
  stop_reset();
  assert_int_equal(out.n_iterations, 2);
  assert_no_leak();
}

static void test_result_of_a_solver(void **state)
{
  (void)state;
  const struct {
    bool      is_solved, is_stopped, is_short;
    double    error;
    int64_t   n;
    step_code code;
  } cases[] = {{true, false, false, 1e-12, 0, STEP_OK},        {false, false, true, 1.0, 0, STEP_OK},
               {false, false, false, 1e-3, 1, STEP_OK},        {false, false, false, 1e-1, 1, STEP_FRICTION_NOT_CONVERGED},
               {false, false, false, NAN, 1, STEP_NOT_FINITE}, {false, true, false, 1e-3, 1, STEP_INTERRUPTED}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    step_status status = {STEP_OK, NULL, -1};
    int64_t     n      = 0;
    nonlinear_record_solver(cases[k].is_solved, cases[k].is_stopped, cases[k].is_short, cases[k].error, 1e-2, &n, &status);
    assert_int_equal(n, cases[k].n);
    assert_int_equal(status.code, cases[k].code);
  }
  step_status status = {STEP_OK, NULL, -1};
  int64_t     n      = 0;
  stop_set_deadline(0.0); /* the solver has not noticed that the step must be aborted */
  nonlinear_record_solver(false, false, false, 1e-3, 1e-2, &n, &status);
  stop_reset();
  assert_int_equal(status.code, STEP_INTERRUPTED);
}

TEST_MAIN(cmocka_unit_test(test_linear_problems_take_one_iteration), cmocka_unit_test(test_line_search_finds_the_root),
          cmocka_unit_test(test_parts_have_their_own_step_lengths), cmocka_unit_test(test_stall),
          cmocka_unit_test(test_stalled_steps_are_repeated), cmocka_unit_test(test_best_state), cmocka_unit_test(test_single_iteration),
          cmocka_unit_test(test_anderson), cmocka_unit_test(test_matrix_is_renewed), cmocka_unit_test(test_inexact_solves),
          cmocka_unit_test(test_added_contacts_are_solved_again), cmocka_unit_test(test_improved_point), cmocka_unit_test(test_monotone),
          cmocka_unit_test(test_interruption), cmocka_unit_test(test_result_of_a_solver))
