/* A domain on the staggered grid over whole steps: free fall, the same bits on any number of threads, steps that are rejected. The
 * transfers: test_mac_transfer.c. */
#include "mac_domain_fixture.h"
#include <string.h>
#include "core/team.h"

static const double nothing[3] = {0, 0, 0}, gravity[3] = {0, -9.81, 0};

/* With gravity on the faces only, all particles fall as with semi-implicit Euler. */
static void free_fall(void **state)
{
  (void)state;
  const int    n[3] = {10, 24, 10}, lo[3] = {3, 14, 3}, hi[3] = {7, 20, 7};
  const double h = 0.05, dt = 0.01, v0[3] = {0.2, 0.0, -0.1};
  material    *sand = fixture_sand("sand", 1600, 30);
  mac_options  o    = fixture_options(n, h);
  mac_domain  *d;
  assert_ok(mac_domain_create(&o, gravity, &d));
  const int  index = fixture_fill(d, "one", sand, lo, hi, 1.0, v0, 0.0); /* adding moves the list */
  particles *p     = d->bodies.particles[index];
  double    *x0;
  assert_ok(memory_alloc("x0", 3 * p->n, sizeof *x0, &x0));
  for (int64_t i = 0; i < p->n; ++i)
    for (int a = 0; a < 3; ++a) x0[3 * p->id[i] + a] = p->x[a][i];
  const int steps = 10;
  for (int s = 0; s < steps; ++s) {
    assert_int_equal(fixture_begin(d, dt).code, STEP_OK);
    mac_state *g = mac_domain_state(d);
    for (int a = 0; a < 3; ++a) /* also where there is no mass: the formulation extrapolates */
      for (int64_t i = 0; i < g->grid.n_slots; ++i)
        g->u[a][i] = (g->mass[a][i] > 0.0 ? g->u[a][i] : v0[a] + s * dt * gravity[a]) + dt * gravity[a];
    assert_int_equal(fixture_end(d).code, STEP_OK);
  }
  for (int64_t i = 0; i < p->n; ++i)
    for (int a = 0; a < 3; ++a) {
      assert_close(p->v[a][i], v0[a] + steps * dt * gravity[a], 1e-13);
      assert_close(p->x[a][i], x0[3 * p->id[i] + a] + steps * dt * v0[a] + 0.5 * steps * (steps + 1) * dt * dt * gravity[a], 1e-13);
    }
  memory_free(&x0);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

/* Several steps of something irregular, with walls, periodic borders and two bodies. */
static double *some_steps(int threads, int64_t *n)
{
  const int    cells[3] = {12, 9, 10}, lo[3] = {0, 0, 1}, hi[3] = {7, 4, 9}, lo2[3] = {7, 2, 3}, hi2[3] = {12, 7, 8};
  const double v0[3] = {0.4, -0.3, 0.2};
  mac_options  o     = fixture_options(cells, 0.05);
  mac_domain  *d;
  double      *out;
  material    *sand = fixture_sand("sand", 1600, 30), *gravel = fixture_sand("gravel", 2100, 40);
  fixture_walls.side[0][0] = fixture_walls.side[0][1] = MAC_WALL_PERIODIC;
  team_set_threads(threads);
  assert_ok(mac_domain_create(&o, nothing, &d));
  fixture_fill(d, "one", sand, lo, hi, 1.0, v0, 1.0);
  fixture_fill(d, "two", gravel, lo2, hi2, 1.0, v0, 1.0);
  for (int s = 0; s < 6; ++s) {
    assert_int_equal(fixture_begin(d, 0.01).code, STEP_OK);
    assert_int_equal(fixture_end(d).code, STEP_OK);
    assert_ok(mac_domain_correct_positions(d, 0, NULL, s % 2 == 1, NULL));
  }
  *n = 15 * (d->bodies.particles[0]->n + d->bodies.particles[1]->n);
  assert_ok(memory_alloc("state", *n, sizeof *out, &out));
  int64_t at = 0;
  for (int b = 0; b < 2; ++b)
    for (int64_t i = 0; i < d->bodies.particles[b]->n; ++i) {
      for (int a = 0; a < 3; ++a) out[at++] = d->bodies.particles[b]->x[a][i];
      for (int a = 0; a < 3; ++a) out[at++] = d->bodies.particles[b]->v[a][i];
      for (int q = 0; q < 9; ++q) out[at++] = d->bodies.particles[b]->C[q][i];
    }
  mac_domain_destroy(&d);
  material_destroy(&sand), material_destroy(&gravel);
  team_set_threads(1);
  return out;
}
static void same_bits_on_any_threads(void **state)
{
  (void)state;
  int64_t n, m;
  double *one = some_steps(1, &n);
  for (int threads = 2; threads <= 3; ++threads) {
    double *many = some_steps(threads, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, many, (size_t)n * sizeof *one);
    memory_free(&many);
  }
  memory_free(&one);
  assert_no_leak();
}

/* Too fast: before the step by its own velocity, after it by the grid's; then nothing has moved. */
static void steps_beyond_cfl_are_rejected(void **state)
{
  (void)state;
  const int    n[3] = {10, 10, 10}, lo[3] = {3, 3, 3}, hi[3] = {6, 6, 6};
  const double h = 0.1, dt = 0.01, v0[3] = {0, 0, 19.0};
  mac_options  o = fixture_options(n, h);
  mac_domain  *d;
  material    *sand = fixture_sand("sand", 1600, 30);
  assert_ok(mac_domain_create(&o, nothing, &d));
  const int  index = fixture_fill(d, "one", sand, lo, hi, 0.0, v0, 0.0); /* adding moves the list */
  particles *p     = d->bodies.particles[index];
  p->v[2][5]       = 20.1;
  step_status v    = fixture_begin(d, dt);
  assert_int_equal(v.code, STEP_CFL_VIOLATED);
  assert_string_equal(v.body, "one");
  assert_int_equal(v.where, 5);
  p->v[2][5] = 19.0;
  assert_int_equal(fixture_begin(d, dt).code, STEP_OK);
  mac_state   *s  = mac_domain_state(d);
  const double x5 = p->x[2][5];
  for (int64_t i = 0; i < s->grid.n_slots; ++i) s->u[2][i] = 19.99;
  s->u[2][mac_grid_slot(&s->grid, 3, 3, 3)] = 25.0;
  assert_int_equal(fixture_end(d).code, STEP_CFL_VIOLATED);
  assert_true(p->x[2][5] == x5 && p->v[2][5] == 19.0);
  s->u[2][mac_grid_slot(&s->grid, 3, 3, 3)] = NAN;
  assert_int_equal(fixture_end(d).code, STEP_NOT_FINITE);
  s->u[2][mac_grid_slot(&s->grid, 3, 3, 3)] = 19.99;
  s->u[2][mac_grid_slot(&s->grid, 8, 8, 8)] = 25.0; /* no particle sees it */
  assert_int_equal(fixture_end(d).code, STEP_OK);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(free_fall), cmocka_unit_test(same_bits_on_any_threads), cmocka_unit_test(steps_beyond_cfl_are_rejected))
