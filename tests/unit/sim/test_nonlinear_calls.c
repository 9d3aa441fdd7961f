/* Nonlinear driver with prescribed residuals: order of the calls, linearisation points, tolerances and status of each branch.
 *
 * One unknown v, from 0. The k-th solve moves v by direction[k]. The residual is prescribed: `solution[k]` at the k-th solution,
 * `point[j]` at the j-th other evaluation. The slope of work at the start of every line search is -1, so that a full step with a
 * residual above 0.5 went too far, and linear interpolation gives the step length 1 / (1 + residual). */
#include "test.h"
#include "core/stop.h"
#include "sim/step/nonlinear.h"
#include <string.h>

enum { MOST = 60 };
static const double INVALID = INFINITY; /* a residual that is not defined: status STEP_INVERTED */

typedef struct {
  /* Prescribed. The last value of `solution` and `point` is repeated; errors NAN: solve does not set the error. */
  double    solution[MOST], point[MOST], direction[MOST], error[MOST];
  int       n_incomplete; /* the first calls of extend find the solution incomplete; negative: no extend */
  bool      expects_tangent, improves, has_moved;
  step_code solve_code, linearise_code, extend_code, improve_code;
  /* Recorded. */
  int    n_solves, n_points, n_calls;
  bool   is_new; /* v is a solution that has not been evaluated */
  double v[3], d[3], residual[3], last, at[MOST], tolerance[MOST];
  /* E evaluate, T the same with tangent (lower case: at the last solution), L linearise, S solve, C combine_start,
   * X extend (lower case: not at the end), I improve. at[] is v at each call. */
  char calls[MOST + 1];
} script;

static void record(script *s, char call)
{
  assert_true(s->n_calls < MOST);
  s->at[s->n_calls] = s->v[0], s->calls[s->n_calls++] = call;
}

/* Entry k of a list that ends with 0, or its last entry. */
static double entry(const double *list, int k)
{
  int i = 0;
  while (i < k && list[i + 1] != 0.0) ++i;
  return list[i];
}

static PetscErrorCode evaluate(void *context, const nonlinear_state *now, bool with_tangent, step_status *status)
{
  script *s = context;
  (void)now;
  const bool is_solution = s->n_solves > 0 && s->v[0] == s->last;
  record(s, "EeTt"[2 * with_tangent + is_solution]);
  s->residual[0] = s->is_new ? entry(s->solution, s->n_solves - 1) : entry(s->point, s->n_points++);
  s->is_new      = false;
  if (s->residual[0] != INVALID) return PETSC_SUCCESS;
  s->residual[0] = 0.0; /* must not be used */
  *status        = (step_status){STEP_INVERTED, NULL, -1};
  return PETSC_SUCCESS;
}

static PetscErrorCode linearise(void *context, const nonlinear_state *now, step_status *status)
{
  script *s = context;
  (void)now;
  record(s, 'L');
  status->code = s->linearise_code;
  return PETSC_SUCCESS;
}

static PetscErrorCode solve(void *context, nonlinear_state *now, step_status *status)
{
  script *s = context;
  record(s, 'S');
  s->tolerance[s->n_solves] = now->tolerance;
  if (!isnan(s->error[s->n_solves])) now->error = s->error[s->n_solves];
  now->expects_tangent = s->expects_tangent;
  s->d[0]              = entry(s->direction, s->n_solves++);
  s->last              = s->v[0] += s->d[0];
  s->is_new            = true;
  status->code         = s->solve_code;
  return PETSC_SUCCESS;
}

static void combine_start(void *context)
{
  script *s = context;
  record(s, 'C');
  s->residual[0] = -1.0 / s->d[0];
}

static PetscErrorCode extend(void *context, const nonlinear_state *now, bool is_end, bool *is_complete, step_status *status)
{
  script *s = context;
  (void)now;
  record(s, is_end ? 'X' : 'x');
  *is_complete = s->n_incomplete-- <= 0;
  status->code = s->extend_code;
  return PETSC_SUCCESS;
}

static PetscErrorCode improve(void *context, bool *has_moved, step_status *status)
{
  script *s = context;
  record(s, 'I');
  *has_moved = s->has_moved;
  if (s->has_moved) s->v[0] += 100.0;
  status->code = s->improve_code;
  return PETSC_SUCCESS;
}

static const newton_options newton = {.tolerance = 0.01, .stall_tolerance = 0.1, .max_iterations = 40};

/* All directions are 1, all errors unset, the residual at the start is -1. */
static script new_script(void)
{
  script s = {.direction = {1.0}, .point = {-1.0}, .n_incomplete = -1};
  for (int i = 0; i < MOST; ++i) s.error[i] = NAN;
  return s;
}

/* Of the current test: problem, options, result. */
static script            s;
static nonlinear_options o;
static nonlinear_result  out;

static int reset(void **state)
{
  (void)state;
  s      = new_script();
  o      = nonlinear_defaults(&newton);
  o.idle = 4, o.idle_far = 16; /* short scripts */
  out = (nonlinear_result){0};
  return 0;
}

/* Solves the problem and checks its calls. */
static void run(step_code code, const char *calls)
{
  static const body_ops   ops     = {0};
  body                    rope    = {.ops = &ops, .name = "rope", .n_blocks = 1};
  body                   *bodies  = &rope;
  double                  one[3]  = {1.0, 1.0, 1.0};
  scene                   owner   = {.n_systems = 1, .systems = &bodies};
  step_layout             layout  = {.scene = &owner, .n_blocks = 1, .scale = one, .inverse_scale = one};
  const step_unknowns     u       = {.n = 1, .n_full = 3, .is_all = true};
  const nonlinear_problem problem = {&s,
                                     &layout,
                                     &u,
                                     s.v,
                                     s.d,
                                     s.residual,
                                     s.residual,
                                     .evaluate      = evaluate,
                                     .linearise     = linearise,
                                     .solve         = solve,
                                     .combine_start = combine_start,
                                     .extend        = s.n_incomplete >= 0 ? extend : NULL,
                                     .improve       = s.improves ? improve : NULL};
  step_status             status  = {STEP_OK, NULL, -1};
  assert_ok(nonlinear_solve(&problem, &o, &out, &status));
  assert_string_equal(s.calls, calls);
  assert_int_equal(status.code, code);
  assert_int_equal(out.n_iterations, s.n_solves);
  if (code == STEP_NOT_CONVERGED) assert_string_equal(status.body, "rope");
}

#define SET(list, ...) memcpy(list, ((double[]){__VA_ARGS__}), sizeof((double[]){__VA_ARGS__}))

/* A smooth problem has a residual at the start and needs no acceleration. */
static void test_smooth_problem(void **state)
{
  (void)state;
  o.is_smooth = true, o.forcing = 0.1, o.least = 1e-6;
  SET(s.solution, 0.3, 0.2, 0.001);
  run(STEP_OK, "TLSCeLSCeLSCe");
  assert_true(out.first == 1.0 && out.before == 0.2 && out.norm == 0.001);
  assert_close(s.tolerance[0], 0.1, 1e-15); /* forcing times the residual */
  assert_close(s.tolerance[1], 0.03, 1e-15);
  assert_close(s.tolerance[2], 0.02, 1e-15);
}

/* The initial state of a problem with a contact law is no solution: the first tolerance is the loosest, and the residual before
 * the first solution is infinite. */
static void test_start_with_a_law(void **state)
{
  (void)state;
  o.forcing = 0.1, o.least = 1e-6, o.loosest = 0.05;
  SET(s.solution, 0.001);
  SET(s.point, -0.001); /* within the tolerance, but not checked */
  run(STEP_OK, "TLSCe");
  assert_true(s.tolerance[0] == 0.05);
  assert_true(out.first == 0.001 && isinf(out.before) && out.norm == 0.001);
  s = new_script(), o.is_linearised = true;
  SET(s.solution, 0.001);
  run(STEP_OK, "SCe");
  assert_true(isinf(out.first) && out.norm == 0.001);
  s = new_script(), o.is_linearised = false, o.is_smooth = true;
  SET(s.solution, 0.001);
  SET(s.point, -0.001);
  run(STEP_OK, "TLSCe");
  s = new_script(), o.checks_start = true;
  SET(s.point, -0.001);
  run(STEP_OK, "T");
  assert_true(out.first == 0.001 && out.norm == 0.001);
}

/* Solutions 1, 1.5, 1.75 of a fixed-point iteration that contracts by 1/2: Anderson's combination of two of them is the limit 2. */
static void test_combination(void **state)
{
  (void)state;
  SET(s.direction, 1.0, 0.5, 0.25, 0.125);
  SET(s.solution, 0.5, 0.4, 0.3, 0.001);
  run(STEP_OK, "TLSCeLSCetLSCeTLSCe");
  assert_close(s.at[14], 2.0, 1e-10);
  assert_close(s.v[0], 2.125, 1e-10);
}

/* An invalid combination is replaced by the solution, and the history is dropped: the next combination is a solution as well. */
static void test_invalid_combination(void **state)
{
  (void)state;
  SET(s.direction, 1.0, 0.5, 0.25, 0.2);
  SET(s.solution, 0.5, 0.4, 0.3, 0.2, 0.001);
  SET(s.point, -1.0, 0.4, INVALID, 0.3, 0.2);
  run(STEP_OK, "TLSCeLSCetLSCeTtLSCetLSCe");
  assert_true(s.at[15] == 1.75);
}

/* A larger residual than before drops the history, without a combination. */
static void test_growing_residual(void **state)
{
  (void)state;
  SET(s.direction, 1.0, 0.5, 0.25, 0.2);
  SET(s.solution, 0.4, 0.3, 0.35, 0.2, 0.001);
  run(STEP_OK, "TLSCeLSCetLSCeLSCetLSCe");
}

/* The improved point is evaluated, with tangent if the problem is linearised there, and not combined with others. */
static void test_improved_point(void **state)
{
  (void)state;
  s.improves = s.has_moved = true;
  SET(s.solution, 0.4, 0.3, 0.001);
  run(STEP_OK, "TLSCeITLSCeITLSCe");
  assert_true(s.at[6] == 101.0 && s.v[0] == 203.0);
  s = new_script(), o.renew = 1.0; /* the residual decreases: the matrix is kept */
  s.improves = s.has_moved = true;
  SET(s.solution, 0.4, 0.3, 0.001);
  run(STEP_OK, "TLSCeIESCeIESCe");
  s          = new_script();
  s.improves = true; /* no better point: combination */
  SET(s.direction, 1.0, 0.5, 0.25, 0.125);
  SET(s.solution, 0.5, 0.4, 0.3, 0.001);
  run(STEP_OK, "TLSCeIeSCeIeeSCeIeESCe");
  s          = new_script();
  s.improves = true, s.improve_code = STEP_INTERRUPTED;
  SET(s.solution, 0.4);
  run(STEP_INTERRUPTED, "TLSCeI");
}

/* With a contact law the point of the line search is linearised anew, with tolerances for the residual before the search and
 * without earlier residuals. */
static void test_line_search_with_a_law(void **state)
{
  (void)state;
  o.forcing = 0.1, o.loosest = 0.5, o.least = 1e-6, o.renew = 1.0;
  SET(s.solution, 0.3, 2.0, 0.001);
  SET(s.point, -1.0, 0.2, 0.2);
  run(STEP_OK, "TLSCeSCeETLSCe");
  assert_close(s.at[8], 1.0 + 1.0 / 3.0, 1e-15); /* one trial point */
  assert_close(s.at[9], 1.0 + 1.0 / 3.0, 1e-15);
  assert_close(s.tolerance[1], 0.03, 1e-15);
  assert_close(s.tolerance[2], 0.2, 1e-15);
  assert_true(isinf(out.before) && out.norm == 0.001);
}

/* A line search drops the history of combinations. */
static void test_no_combination_across_a_line_search(void **state)
{
  (void)state;
  SET(s.direction, 1.0, 0.5, 1.0, 0.25, 0.125);
  SET(s.solution, 0.5, 0.4, 2.0, 0.3, 0.2, 0.001);
  SET(s.point, -1.0, 0.4, 0.1);
  run(STEP_OK, "TLSCeLSCetLSCeETLSCeLSCetLSCe");
}

/* Iterations without progress are counted from the line search on. */
static void test_stall_after_a_line_search(void **state)
{
  (void)state;
  o.accelerate = INFINITY;
  SET(s.solution, 0.05, 0.05, 0.05, 2.0, 0.05);
  SET(s.point, -1.0, 0.1);
  run(STEP_OK, "TLSCeLSCeLSCeLSCeETLSCeLSCeLSCeLSCeLSCe");
  assert_int_equal(out.n_iterations, 4 + 1 + o.idle);
}

/* A stalled iteration continues until its residual is the smallest one. */
static void test_stall_ends_at_the_best_residual(void **state)
{
  (void)state;
  o.accelerate = INFINITY;
  SET(s.solution, 0.05, 0.06, 0.06, 0.06, 0.06, 0.05);
  run(STEP_OK, "TLSCeLSCeLSCeLSCeLSCeLSCe");
  assert_true(out.norm == 0.05);
}

/* Invalid and not finite states shorten the step by halves. No contacts are added there. */
static void test_invalid_solution(void **state)
{
  (void)state;
  for (int k = 0; k < 2; ++k) {
    reset(NULL);
    s.n_incomplete = 0;
    SET(s.solution, k == 0 ? INVALID : NAN, 0.001);
    SET(s.point, -1.0, INVALID, k == 0 ? INVALID : NAN, 0.1, 0.1);
    run(STEP_OK, "TLSCeEEETLSCeX");
    assert_true(s.at[5] == 0.5 && s.at[6] == 0.25 && s.at[7] == 0.125 && s.at[8] == 0.125);
  }
  /* After a solution within the tolerance whose impulses were not accurate enough. */
  reset(NULL);
  o.forcing = 0.1, o.least = 1e-6, o.loosest = 0.5;
  s.error[0] = 1.0;
  SET(s.solution, 0.005, INVALID, 0.001);
  SET(s.point, -1.0, 0.1);
  run(STEP_OK, "TLSCeLSCeETLSCe");
  /* The start itself. */
  s = new_script();
  SET(s.point, NAN);
  run(STEP_NOT_FINITE, "T");
  assert_true(isinf(out.norm));
}

/* No trial point is valid: the status is that of the last one. */
static void test_line_search_without_valid_point(void **state)
{
  (void)state;
  for (int is_smooth = 0; is_smooth < 2; ++is_smooth) {
    reset(NULL);
    o.is_smooth = is_smooth, o.trials = 3, o.max_iterations = is_smooth ? 1 : 40;
    SET(s.solution, INVALID);
    SET(s.point, -1.0, INVALID);
    run(STEP_INVERTED, "TLSCeEEE");
  }
}

/* Points of a line search are accepted for smooth problems, in the last iteration as well. */
static void test_line_search_of_a_smooth_problem(void **state)
{
  (void)state;
  o.is_smooth = true;
  SET(s.solution, 2.0);
  SET(s.point, -1.0, 0.005);
  run(STEP_OK, "TLSCeE");
  assert_close(s.v[0], 1.0 / 3.0, 1e-15);
  assert_true(out.norm == 0.005 && out.before == 1.0);
  s = new_script(), o.max_iterations = 1;
  SET(s.solution, 2.0);
  SET(s.point, -1.0, 0.05);
  run(STEP_OK, "TLSCeE");
  assert_true(out.norm == 0.05); /* within the stall tolerance */
}

/* With a law the last iteration has no line search, because its points cannot be accepted. */
static void test_last_iteration_with_a_law(void **state)
{
  (void)state;
  o.max_iterations = 1;
  SET(s.solution, 2.0);
  run(STEP_NOT_CONVERGED, "TLSCe");
  assert_true(s.v[0] == 1.0 && out.norm == 2.0);
}

/* Negative statuses of each function end the iteration. */
static void test_statuses(void **state)
{
  (void)state;
  s.linearise_code = STEP_INVERTED;
  run(STEP_INVERTED, "TL");
  s            = new_script();
  s.solve_code = STEP_FRICTION_NOT_CONVERGED;
  run(STEP_FRICTION_NOT_CONVERGED, "TLS");
  const double residuals[] = {0.001, 0.3, 2.0}; /* converged, not converged, too far: no line search */
  for (int k = 0; k < 3; ++k) {
    s             = new_script();
    s.extend_code = STEP_COLLISION_UNRESOLVED, s.n_incomplete = 0;
    SET(s.solution, residuals[k]);
    run(STEP_COLLISION_UNRESOLVED, k == 0 ? "TLSCeX" : "TLSCex");
  }
  s = new_script();
  stop_set_deadline(0.0);
  run(STEP_INTERRUPTED, "T");
  stop_reset();
}

/* Contacts are added at the solution; the problem is then linearised and solved again before a state is accepted. */
static void test_added_contacts(void **state)
{
  (void)state;
  o.renew        = 1.0;
  s.n_incomplete = 2;
  SET(s.solution, 0.001, 0.2, 0.3, 0.001);
  SET(s.point, -1.0, 0.2);
  run(STEP_OK, "TLSCeXtLSCextLSCexSCeX");
  /* A single iteration is repeated from the same linearisation point. */
  s                = new_script();
  s.n_incomplete   = 1;
  o.max_iterations = 1, o.accepts_first = true;
  SET(s.solution, 0.3);
  run(STEP_OK, "TLSCeXTLSCeX");
  assert_true(s.at[6] == 0.0 && s.v[0] == 1.0);
}

static void test_tangent_at_the_solution(void **state)
{
  (void)state;
  s.expects_tangent = true;
  SET(s.solution, 0.001);
  run(STEP_OK, "TLSCt");
}

/* A solution is accepted if it was solved to the final tolerance, or if its error happens to be that small. */
static void test_accuracy_of_accepted_solutions(void **state)
{
  (void)state;
  o.least = 1e-4;
  SET(s.solution, 0.001);
  s.error[0] = 1.0; /* solved with `least`: the best that the solver can do */
  run(STEP_OK, "TLSCe");
  o.forcing = 0.1, o.loosest = 0.5;
  s = new_script();
  SET(s.solution, 0.005);
  s.error[0] = 1e-5;
  run(STEP_OK, "TLSCe");
  assert_true(s.tolerance[0] > o.least);
  s = new_script();
  SET(s.solution, 0.005);
  s.error[0] = 1.0; /* the second solve sets no error: 0 */
  run(STEP_OK, "TLSCeLSCe");
  assert_true(s.tolerance[1] > o.least);
}

/* A monotone iteration ends at its best state without failure, also if the new state is invalid. */
static void test_monotone_iteration(void **state)
{
  (void)state;
  for (int k = 0; k < 2; ++k) {
    reset(NULL);
    o.is_smooth = o.is_monotone = true, o.trials = 0;
    SET(s.solution, 0.5, k == 0 ? 0.6 : INVALID);
    run(STEP_OK, "TLSeLSe");
    assert_true(s.v[0] == 1.0 && out.norm == 0.5);
  }
}

#define CALL_TEST(name) cmocka_unit_test_setup(name, reset)
TEST_MAIN(CALL_TEST(test_smooth_problem), CALL_TEST(test_start_with_a_law), CALL_TEST(test_combination),
          CALL_TEST(test_invalid_combination), CALL_TEST(test_growing_residual), CALL_TEST(test_improved_point),
          CALL_TEST(test_line_search_with_a_law), CALL_TEST(test_no_combination_across_a_line_search),
          CALL_TEST(test_stall_after_a_line_search), CALL_TEST(test_stall_ends_at_the_best_residual), CALL_TEST(test_invalid_solution),
          CALL_TEST(test_line_search_without_valid_point), CALL_TEST(test_line_search_of_a_smooth_problem),
          CALL_TEST(test_last_iteration_with_a_law), CALL_TEST(test_statuses), CALL_TEST(test_added_contacts),
          CALL_TEST(test_tangent_at_the_solution), CALL_TEST(test_accuracy_of_accepted_solutions), CALL_TEST(test_monotone_iteration))
