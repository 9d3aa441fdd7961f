/* The initial guess by sweeps on body velocities: it satisfies the equations of the step, whose residual penalty_system_evaluate computes independently. */
#include "penalty_fixture.h"
#include "sim/penalty/penalty_sweeps.h"

/* A container with n^3 balls and boxes in turn, 20 um apart, which all slide and fall: many contacts close in the step, some of them slide, others stick. */
static char *pile(int n, const char *contact)
{
  static char text[20000];
  int         at = snprintf(text, sizeof text,
                            "stickslip: 1\nname: test\ngravity: [0, 0, -9.81]\ntime: {end: 0.1, step: 2.0e-3}\nmaterials: {stone: {model: rigid, "
                                    "density: 1000}}\n"
                                    "contact: {friction: 0.4, stiffness: 1.0e5%s}\nbodies:\n  box: {kind: static, shape: {container: {min: [0, 0, 0], max: "
                                    "[%g, %g, 9]}}}\n",
                            contact, 0.10002 * n + 4e-5, 0.10002 * n + 4e-5);
  for (int k = 0; k < n * n * n; ++k) {
    const double x = 0.05003 + 0.10002 * (k % n), y = 0.05003 + 0.10002 * (k / n % n), z = 0.05003 + 0.10002 * (k / n / n), a = 0.05;
    at += snprintf(text + at, sizeof text - (size_t)at, "  b%d: {kind: rigid, material: stone, velocity: [%g, 0.3, -0.7], shape: {", k,
                   0.2 + 0.1 * (k % 3));
    if (k % 2) at += snprintf(text + at, sizeof text - (size_t)at, "sphere: {center: [%.9g, %.9g, %.9g], radius: %g}}}\n", x, y, z, a);
    else
      at += snprintf(text + at, sizeof text - (size_t)at, "box: {min: [%.9g, %.9g, %.9g], max: [%.9g, %.9g, %.9g]}}}\n", x - a, y - a,
                     z - a, x + a, y + a, z + a);
  }
  assert_true(at < (int)sizeof text);
  return text;
}

static void open_pile(const char *text, world *w)
{
  read_world(text, w);
  begin(w, 0.0);
  w->n = 3 * w->p.layout.n_blocks;
  w->z = numbers(w->n);
  w->g = numbers(w->n);
}

/* |D^-1 g(z)|. */
static double residual_at(world *w, const double *z)
{
  double sum = 0.0;
  evaluate(w, z, w->g, false);
  for (int64_t i = 0; i < w->n; ++i) sum += pow(w->g[i] * w->p.layout.inverse_scale[i], 2);
  return sqrt(sum);
}

/* In the first step, in which most contacts close, and in the next one, in which they have friction springs. */
static void guess_satisfies_the_equations(void **unused)
{
  (void)unused;
  for (int k = 0; k < 3; ++k) {
    const double    tolerance = pow(10.0, -2 - 2 * k);
    step_status     status    = {STEP_OK, NULL, -1};
    contact_summary summary;
    world           w;
    open_pile(pile(3, ""), &w);
    for (int step = 0; step < 2; ++step) {
      penalty_sweeps_result r;
      memset(w.z, 0, (size_t)w.n * sizeof *w.z);
      const double start = residual_at(&w, w.z);
      assert_ok(penalty_sweeps_guess(&w.p, tolerance, w.z, &r));
      print_message("%d contacts, %d sweeps: residual %.2e to %.2e, tolerance %.0e\n", (int)r.n_contacts, (int)r.n_sweeps, start, r.norm,
                    tolerance);
      assert_true(r.n_contacts > 100 && r.n_sweeps > 5 && r.n_evaluations == 2 && start > 10.0);
      assert_close(residual_at(&w, w.z), r.norm, 1e-12 * start);
      assert_true(r.norm <= 5.0 * tolerance); /* the errors of all contacts add up */
      assert_ok(penalty_system_end(&w.p, w.z, &status, &summary));
      assert_int_equal(status.code, STEP_OK);
      assert_true(summary.contacts > 50 && summary.sliding > 10);
      begin(&w, DT);
    }
    close_world(&w);
  }
  assert_no_leak();
}

/* n boxes on a floor with the contact law `law`; they overlap with it by their weight over the stiffness. */
static const char *boxes(int n, const char *law, double overlap, double speed, const char *more)
{
  static char text[4000];
  int         at = snprintf(
              text, sizeof text,
              "stickslip: 1\nname: test\ngravity: [0, 0, -9.81]\ntime: {end: 0.1, step: 2.0e-3}\nmaterials:\n  stone: {model: rigid, density: "
                      "1000}\n  rubber: {model: fixed_corotated, density: 1000, youngs_modulus: 1.0e6, poisson_ratio: 0.3}\n"
                      "contact: {stiffness: 1.0e5, initial_overlap: preload, %s}\nbodies:\n"
                      "  floor: {kind: static, shape: {box: {min: [-1, -1, -1], max: [1, 1, 0]}}}\n%s",
              law, more);
  for (int k = 0; k < n; ++k)
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "  b%d: {kind: rigid, material: stone, velocity: [0, %g, 0], shape: {box: {min: [%g, 0, %g], max: [%g, 0.1, %g]}}}\n", k,
                   speed, 0.15 * k - 0.9, -overlap, 0.15 * k - 0.8, 0.1 - overlap);
  assert_true(at < (int)sizeof text);
  return text;
}

static const double DEPTH = 2.4525e-5;

/* With restitution and elliptic cones the law of the guess is another one: the guess is used only if its residual is smaller than that of the start. The guess brakes
 * boxes, which slide in the direction of the smaller coefficient of friction, with the larger one. */
static void a_worse_guess_is_not_used(void **unused)
{
  static const char *const laws[] = {
      "friction: 0.9",
      "friction: 0.9, pairs: [{between: [floor, stone], friction: 0.9, friction_direction: [1, 0, 0], friction_transverse: 0.15}]",
      "friction: 0.9, restitution: 0.5, pairs: [{between: [floor, stone], friction: 0.9, friction_direction: [1, 0, 0], "
      "friction_transverse: 0.15}]"};
  (void)unused;
  for (int k = 0; k < 3; ++k) {
    world                 w;
    penalty_sweeps_result r;
    open_pile(boxes(9, laws[k], DEPTH, 1.0, ""), &w);
    const double start = residual_at(&w, w.z);
    assert_ok(penalty_sweeps_guess(&w.p, 1e-3, w.z, &r));
    print_message("%s: %.2e to %.2e\n", laws[k], start, r.norm);
    assert_true(r.n_sweeps > 0);
    assert_true(k == 0 ? r.norm < 1e-3 && norm(w.n, w.z) > 0.0 : r.norm == start && norm(w.n, w.z) == 0.0);
    assert_close(residual_at(&w, w.z), r.norm, 1e-12 * start);
    close_world(&w);
  }
  assert_no_leak();
}

/* There are no sweeps with deformable bodies, for contacts with level sets, for few bodies, without contacts and at rest (in equilibrium, or slow). z remains 0,
 * or is -v0 at rest, if the residual is smaller there. */
static void other_scenes_have_no_sweeps(void **unused)
{
  const struct {
    int         n;
    double      overlap, speed;
    const char *more;
    int         evaluations;
  } c[] = {
      {9, DEPTH, 0.0, "", 2},
      {9, DEPTH, 1e-4, "", 2},
      {9, 1.2 * DEPTH, 1e-4, "", 2},
      {8, DEPTH, 1.0, "", 0},
      {9, -1.0, 1.0, "", 0},
      {9, DEPTH, 1.0, "  soft: {kind: fem, material: rubber, spacing: 0.1, shape: {box: {min: [0, 0, 0.5], max: [0.1, 0.1, 0.6]}}}\n", 0},
      {9, DEPTH, 1.0,
       "  ring: {kind: rigid, material: stone, shape: {torus: {center: [0, 0.5, 0.0203], axis: [0, 0, 1], major_radius: 0.05, "
       "minor_radius: 0.02}}}\n",
       0}};
  int n_at_rest = 0;
  (void)unused;
  for (int k = 0; k < (int)(sizeof c / sizeof *c); ++k) {
    world                 w;
    penalty_sweeps_result r;
    open_pile(boxes(c[k].n, "friction: 0.4", c[k].overlap, c[k].speed, c[k].more), &w);
    const double start = c[k].evaluations > 0 ? residual_at(&w, w.z) : 0.0;
    assert_ok(penalty_sweeps_guess(&w.p, 1e-3, w.z, &r));
    print_message("%d: residual %.2e to %.2e, %d evaluations\n", k, start, r.norm, (int)r.n_evaluations);
    assert_true(r.n_contacts == 0 && r.n_sweeps == 0 && r.n_evaluations == c[k].evaluations);
    double *rest = numbers(w.n);
    for (int64_t i = 0; i < w.n; ++i) rest[i] = -w.p.layout.v0[i];
    const double at_rest = c[k].evaluations > 0 ? residual_at(&w, rest) : INFINITY;
    for (int64_t i = 0; i < w.n; ++i) assert_true(w.z[i] == (at_rest < start ? -w.p.layout.v0[i] : 0.0));
    n_at_rest += at_rest < start;
    if (c[k].evaluations > 0) assert_close(r.norm, fmin(start, at_rest), 1e-12 * start);
    memory_free(&rest);
    close_world(&w);
  }
  assert_in_range(n_at_rest, 1, 2);
  assert_no_leak();
}

/* Slow bodies are not at rest if they are hit in the step, or if their springs are compressed much more than by the weight. */
static void slow_bodies_with_large_forces(void **unused)
{
  (void)unused;
  for (int k = 0; k < 3; ++k) {
    world                 w;
    penalty_sweeps_result r;
    open_pile(boxes(9, "friction: 0.4", (k == 2 ? 3.0 : 1.2) * DEPTH, 1e-4,
                    k == 1 ? "  ball: {kind: rigid, material: stone, velocity: [0, 0, -1], shape: {sphere: {center: [-0.85, 0.05, 0.1501], "
                             "radius: 0.05}}}\n"
                           : ""),
              &w);
    assert_ok(penalty_sweeps_guess(&w.p, 1e-3, w.z, &r));
    assert_true(k == 0 ? r.n_sweeps == 0 : r.n_sweeps > 0 && r.norm <= 1e-3);
    close_world(&w);
  }
  assert_no_leak();
}

static double *guess_of_threads(const void *unused, int64_t *n)
{
  world                 w;
  penalty_sweeps_result r;
  (void)unused;
  open_pile(pile(3, ""), &w);
  assert_ok(penalty_sweeps_guess(&w.p, 1e-6, w.z, &r));
  double *z = numbers(w.n);
  memcpy(z, w.z, (size_t)w.n * sizeof *z);
  *n = w.n;
  close_world(&w);
  return z;
}
static void bits_do_not_depend_on_threads(void **unused)
{
  (void)unused;
  check_threads(guess_of_threads, NULL);
}

TEST_MAIN(cmocka_unit_test(guess_satisfies_the_equations), cmocka_unit_test(a_worse_guess_is_not_used),
          cmocka_unit_test(other_scenes_have_no_sweeps), cmocka_unit_test(slow_bodies_with_large_forces),
          cmocka_unit_test(bits_do_not_depend_on_threads))
