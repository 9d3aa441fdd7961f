/* Loops over many rigid bodies, which use all threads: the same bits on any number of threads, and the first failure counts. */
#include "sim/step/step_layout.h"
#include <math.h>
#include "core/memory.h"
#include "core/team.h"
#include "formulation_fixture.h"

enum { N = 300 };
static const char TEXT[] =
    "{stickslip: 1, name: many, formulation: exact, gravity: [0, 0, -10], time: {end: 1, step: 0.01}, contact: {friction: 0}, materials: "
    "{stone: {model: rigid, "
    "density: 1000}}, bodies: {b: {kind: rigid, material: stone, shape: {box: {min: [0, 0, 0], max: [0.01, 0.02, 0.03]}}, velocity: [1, "
    "2, 3], angular_velocity: [4, 5, 6], copies: {arrangement: lattice, count: 300, orientation: random, gap: 0.01, region: {box: {min: "
    "[0, 0, 0], max: [1, 1, 1]}}}}}}";

static void begin(world *w, step_layout *l)
{
  step_status status = {STEP_OK, NULL, -1};
  open_world(TEXT, w);
  assert_int_equal(w->s->n_systems, N);
  assert_ok(step_layout_create(w->s, l));
  assert_ok(step_layout_begin(l, 0.0, 0.01, &status));
  assert_int_equal(status.code, STEP_OK);
  assert_int_equal(l->n_blocks, 2 * N);
  for (int i = 0; i < N; ++i) assert_int_equal(w->s->systems[i]->first_block, 2 * i);
  memcpy(l->v, l->v0, 6 * N * sizeof *l->v);
}

static void end(world *w, step_layout *l)
{
  step_layout_destroy(l);
  close_world(w);
}

/* Velocities, scaling, residual, poses and the state after the step. */
static void record(int n_threads, double *out)
{
  world       w;
  step_layout l      = {0};
  step_status status = {STEP_OK, NULL, -1};
  team_set_threads(n_threads);
  begin(&w, &l);
  memcpy(out, l.inverse_scale, 6 * N * sizeof *out);
  for (int i = 0; i < 6 * N; ++i) l.v[i] *= 1.0 + 1e-3 * i;
  assert_ok(step_layout_residual(&l, out + 6 * N, true, &status));
  assert_ok(step_layout_update_poses(&l));
  for (int i = 0; i < N; ++i)
    memcpy(out + 12 * N + 12 * i, l.frames[i].R, 9 * sizeof *out), memcpy(out + 12 * N + 12 * i + 9, l.frames[i].c, 3 * sizeof *out);
  assert_ok(step_layout_end(&l, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int i = 0; i < N; ++i) {
    body_totals one;
    assert_ok(w.s->systems[i]->ops->totals(w.s->systems[i], w.s->gravity, &one));
    memcpy(out + 24 * N + 6 * i, one.momentum, 3 * sizeof *out), memcpy(out + 24 * N + 6 * i + 3, one.angular_momentum, 3 * sizeof *out);
  }
  /* of body 7: mass 6 g, at the end of the step with the velocity of the unknowns */
  for (int k = 0; k < 3; ++k) assert_close(out[24 * N + 42 + k], 0.006 * l.v[42 + k], 1e-15);
  /* residual: M (v - v0) - dt M g */
  for (int k = 0; k < 3; ++k) assert_close(out[6 * N + 42 + k], 0.006 * (l.v[42 + k] - l.v0[42 + k]) + (k == 2 ? 0.0006 : 0.0), 1e-15);
  end(&w, &l);
  team_set_threads(1);
}

static void bits_do_not_depend_on_threads(void **state)
{
  static double one[30 * N], three[30 * N];
  (void)state;
  record(1, one);
  record(3, three);
  assert_memory_equal(one, three, sizeof one);
}

static void the_first_failure_counts(void **state)
{
  world         w;
  step_layout   l      = {0};
  step_status   status = {STEP_OK, NULL, -1};
  static double g[6 * N];
  (void)state;
  team_set_threads(3);
  begin(&w, &l);
  l.v[6 * 250] = NAN;
  l.v[6 * 120] = INFINITY; /* of the second thread */
  assert_ok(step_layout_residual(&l, g, false, &status));
  assert_int_equal(status.code, STEP_NOT_FINITE);
  assert_string_equal(status.body, w.s->systems[120]->name);
  end(&w, &l);
  team_set_threads(1);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(bits_do_not_depend_on_threads), cmocka_unit_test(the_first_failure_counts))
