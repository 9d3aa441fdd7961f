/* Transfers between particles and the staggered grid: conservation, linear fields, walls as mirrors, mixed materials, advection,
 * particles outside the box, friction of single grains. */
#include "mac_domain_fixture.h"
#include <string.h>

static const double nothing[3] = {0, 0, 0}, gravity[3] = {0, -9.81, 0};

static double sum_faces(const mac_state *s, int axis, bool is_momentum)
{
  double sum = 0.0;
  for (int64_t i = 0; i < s->grid.n_slots; ++i) sum += s->mass[axis][i] * (is_momentum ? s->u[axis][i] : 1.0);
  return sum;
}

/* Angular momentum of the faces: each has one component of momentum. */
static void spin_of_faces(const mac_state *s, double L[3])
{
  const mac_grid *g = &s->grid;
  v3_set(L, 0, 0, 0);
  for (int64_t i = 0; i < g->n_slots; ++i) {
    int32_t c[3];
    mac_grid_cell(g, i, c);
    for (int axis = 0; axis < 3; ++axis) {
      double x[3], q[3] = {0, 0, 0}, l[3];
      for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (c[a] + (a == axis ? 0.0 : 0.5));
      q[axis] = s->mass[axis][i] * s->u[axis][i];
      v3_cross(l, x, q);
      v3_add(L, L, l);
    }
  }
}

/* Particles -> faces -> particles keeps mass, momentum and angular momentum to rounding, away from walls; two bodies, jittered. */
static void transfers_conserve(void **state)
{
  (void)state;
  const int    n[3] = {18, 14, 21}, lo[3] = {2, 2, 3}, mid[3] = {11, 12, 17}, hi[3] = {16, 12, 18}, lo2[3] = {11, 3, 5};
  const double v0[3] = {0.3, -0.2, 0.1}, h = 0.05, dt = 1e-9; /* so that particles do not move on the scale of rounding */
  mac_options  o = fixture_options(n, h);
  mac_domain  *d;
  body_totals  before, after;
  double       L[3];
  material    *sand = fixture_sand("sand", 1600, 30), *gravel = fixture_sand("gravel", 2100, 40);
  assert_ok(mac_domain_create(&o, nothing, &d));
  fixture_fill(d, "one", sand, lo, mid, 1.0, v0, 0.5);
  fixture_fill(d, "two", gravel, lo2, hi, 1.0, v0, 0.5);
  assert_ok(d->base.ops->totals(&d->base, nothing, &before));
  assert_int_equal(fixture_begin(d, dt).code, STEP_OK);
  const mac_state *s = mac_domain_state(d);
  const double     N = (double)(d->bodies.particles[0]->n + d->bodies.particles[1]->n), scale = 1e-13 * sqrt(N), V = 1.0, length = 1.0;
  double           mass = 0.0;
  for (int64_t i = 0; i < s->grid.n_slots; ++i) mass += s->rho[i] * h * h * h;
  assert_close(mass, before.mass, scale * before.mass);
  spin_of_faces(s, L);
  for (int a = 0; a < 3; ++a) {
    assert_close(sum_faces(s, a, false), before.mass, scale * before.mass);
    assert_close(sum_faces(s, a, true), before.momentum[a], scale * before.mass * V);
    assert_close(L[a], before.angular_momentum[a], scale * before.mass * V * length);
  }
  assert_true(fabs(before.angular_momentum[0]) > 1e-3 * before.mass); /* something to conserve */
  assert_int_equal(fixture_end(d).code, STEP_OK);
  assert_ok(d->base.ops->totals(&d->base, nothing, &after));
  for (int a = 0; a < 3; ++a) {
    assert_close(after.momentum[a], before.momentum[a], scale * before.mass * V);
    assert_close(after.angular_momentum[a], before.angular_momentum[a], (scale + 1e2 * dt) * before.mass * V * length);
  }
  assert_true(after.kinetic < before.kinetic); /* averaging loses */
  mac_domain_destroy(&d);
  material_destroy(&sand), material_destroy(&gravel);
  assert_no_leak();
}

/* A linear velocity field, with its gradient on the particles, is on the faces exactly, and comes back exactly: to the wall along
 * it. */
static void linear_fields_are_exact(void **state)
{
  (void)state;
  const int    n[3] = {9, 10, 11}, lo[3] = {2, 2, 2}, hi[3] = {7, 8, 9};
  const double A[9] = {0.3, -1.2, 0.7, 0.4, 0.9, -0.6, 1.1, 0.2, -0.8}, v0[3] = {1, 2, 3}, h = 0.1;
  mac_options  o = fixture_options(n, h);
  mac_domain  *d;
  material    *sand = fixture_sand("sand", 1600, 30);
  assert_ok(mac_domain_create(&o, nothing, &d));
  const int  index = fixture_fill(d, "one", sand, lo, hi, 1.0, v0, 0.0); /* adding moves the list */
  particles *p     = d->bodies.particles[index];
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double       v[3];
    m3_mulv(v, A, x);
    for (int a = 0; a < 3; ++a) p->v[a][i] = v[a] + v0[a];
    for (int q = 0; q < 9; ++q) p->C[q][i] = A[q];
  }
  assert_int_equal(fixture_begin(d, 1e-12).code, STEP_OK);
  const mac_state *s = mac_domain_state(d);
  for (int64_t i = 0; i < s->grid.n_slots; ++i) {
    int32_t c[3];
    mac_grid_cell(&s->grid, i, c);
    for (int axis = 0; axis < 3; ++axis) {
      double x[3], v[3];
      if (s->mass[axis][i] == 0.0) continue;
      for (int a = 0; a < 3; ++a) x[a] = h * (c[a] + (a == axis ? 0.0 : 0.5));
      m3_mulv(v, A, x);
      assert_close(s->u[axis][i], v[axis] + v0[axis], 1e-13 * 4);
    }
    s->pressure[i] = (double)(i + 1);
  }
  assert_int_equal(fixture_end(d).code, STEP_OK);
  p = d->bodies.particles[0];
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double       v[3];
    m3_mulv(v, A, x);
    for (int a = 0; a < 3; ++a) assert_close(p->v[a][i], v[a] + v0[a], 1e-11);
    for (int q = 0; q < 9; ++q) assert_close(p->C[q][i], A[q], 1e-11);
    const int64_t slot = mac_grid_slot(&s->grid, (int32_t)(x[0] / h), (int32_t)(x[1] / h), (int32_t)(x[2] / h));
    assert_close(d->seen[0].pressure[i], (double)(slot + 1), 0.0); /* of its cell */
    assert_close(d->seen[0].density[i], s->rho[slot], 0.0);
  }
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

/* A box full to its walls on a lattice: density is right in every cell, also at walls and in corners. */
static void walls_are_mirrors(void **state)
{
  (void)state;
  const int n[3] = {6, 8, 4}, none[3] = {0, 0, 0};
  material *sand = fixture_sand("sand", 1600, 30);
  for (int is_periodic = 0; is_periodic < 2; ++is_periodic) {
    mac_options o = fixture_options((const int[3]){is_periodic ? 8 : 6, 8, 4}, 0.1);
    mac_domain *d;
    if (is_periodic)
      for (int k = 0; k < 6; ++k) fixture_walls.side[k / 2][k % 2] = MAC_WALL_PERIODIC;
    assert_ok(mac_domain_create(&o, nothing, &d));
    const int full[3] = {is_periodic ? 8 : n[0], n[1], n[2]};
    fixture_fill(d, "one", sand, none, full, 0.0, nothing, 0.0);
    assert_int_equal(fixture_begin(d, 1e-3).code, STEP_OK);
    const mac_state *s = mac_domain_state(d);
    for (int i = 0; i < full[0]; ++i)
      for (int j = 0; j < full[1]; ++j)
        for (int k = 0; k < full[2]; ++k) {
          const int64_t slot = mac_grid_slot(&s->grid, i, j, k);
          const int     c[3] = {i, j, k};
          assert_close(s->rho[slot], 1600, 1e-9);
          assert_close(s->friction[slot], 0.5, 1e-15);
          for (int axis = 0; axis < 3; ++axis) /* of faces on a wall half the volume is inside */
            assert_close(s->mass[axis][slot], 1600 * 1e-3 * (c[axis] == 0 && !is_periodic ? 0.5 : 1.0), 1e-12);
        }
    mac_domain_destroy(&d);
  }
  material_destroy(&sand);
  assert_no_leak();
}

/* Constants of materials mix by mass. */
static void check_mixture(bool is_inertial)
{
  static const double constants[2][MAC_MU_I_CONSTANTS] = {{0.5, 0.3, 1e-3, 2500.0}, {0.25, 0.7, 4e-3, 2100.0}};
  const int           n[3] = {6, 6, 6}, lo[3] = {1, 1, 1}, mid[3] = {3, 5, 5}, lo2[3] = {3, 1, 1}, hi[3] = {5, 5, 5};
  mac_options         o = fixture_options(n, 0.1);
  mac_domain         *d;
  material           *sand = fixture_sand("sand", 1000, 30), *gravel = fixture_sand("gravel", 3000, 90);
  sand->flow->tension = 5.0, gravel->flow->tension = 7.0;
  gravel->flow->is_inertial = is_inertial; /* one is sufficient */
  for (int q = 0; q < MAC_MU_I_CONSTANTS; ++q) sand->flow->inertial[q] = constants[0][q], gravel->flow->inertial[q] = constants[1][q];
  assert_ok(mac_domain_create(&o, nothing, &d));
  fixture_fill(d, "one", sand, lo, mid, 0.0, nothing, 0.0);
  fixture_fill(d, "two", gravel, lo2, hi, 0.0, nothing, 0.0);
  assert_int_equal(fixture_begin(d, 1e-3).code, STEP_OK);
  const mac_state *s = mac_domain_state(d);
  for (int i = 1; i < 5; ++i) { /* of the kernel of cells next to the border 1/8 of the volume is the other material */
    const int64_t slot  = mac_grid_slot(&s->grid, i, 3, 3);
    const double  share = i == 1   ? 0.0
                          : i == 2 ? 0.125
                          : i == 3 ? 0.875
                                   : 1.0,
                 light = (1.0 - share) * 1000, heavy = share * 3000, all = light + heavy;
    if (i == 2 || i == 3) assert_close(s->rho[slot], all, 1e-9);
    assert_close(s->rest_density[slot], (light * 1000 + heavy * 3000) / all, 1e-9);
    assert_close(s->friction[slot], (light * 0.5 + heavy * 1.0) / all, 1e-14);
    assert_close(s->cohesion[slot], (light * 5.0 + heavy * 7.0) / all, 1e-13);
    for (int q = 0; q < MAC_MU_I_CONSTANTS; ++q) {
      if (!is_inertial) assert_null(s->mu_i[q]);
      else assert_close(s->mu_i[q][slot], (light * constants[0][q] + heavy * constants[1][q]) / all, 1e-12 * constants[0][q]);
    }
  }
  mac_domain_destroy(&d);
  material_destroy(&sand), material_destroy(&gravel);
}

static void materials_mix(void **state)
{
  (void)state;
  check_mixture(false);
  check_mixture(true);
  assert_no_leak();
}

/* Blocks exist as far as a particle may move in half a step, and two cells farther: cfl / 2 + 2 cells along every axis. */
static void blocks_reach_as_far_as_particles_move(void **state)
{
  (void)state;
  static const double cfl[3] = {0.5, 2.0, 9.0};
  static const int    n[3] = {24, 24, 24}, reach[3] = {3, 3, 7}, first[3] = {11, 12, 13}, end[3] = {12, 13, 14};
  material           *m = fixture_sand("sand", 1600.0, 30.0);
  for (int k = 0; k < 3; ++k) {
    mac_options o = fixture_options(n, 0.1);
    mac_domain *d;
    o.cfl = cfl[k];
    assert_ok(mac_domain_create(&o, nothing, &d));
    (void)fixture_fill(d, "sand", m, first, end, 0.0, nothing, 0.0);
    assert_ok(mac_layout(d));
    for (int q = 0; q < 27; ++q)
      assert_true(mac_grid_slot(&d->state.grid, first[0] + reach[k] * (q / 9 - 1), first[1] + reach[k] * (q / 3 % 3 - 1),
                                first[2] + reach[k] * (q % 3 - 1)) >= 0);
    mac_domain_destroy(&d);
  }
  material_destroy(&m);
  assert_no_leak();
}

/* Particles carried round by a steady rotation of the faces: the error of the path falls as dt^2. */
static double rotation_error(double dt)
{
  const int   n[3] = {20, 20, 8}, lo[3] = {12, 9, 3}, hi[3] = {15, 11, 5};
  mac_options o = fixture_options(n, 0.05);
  mac_domain *d;
  material   *sand  = fixture_sand("sand", 1600, 30);
  double      worst = 0.0, *x0;
  const int   steps = (int)lround(0.5 / dt);
  assert_ok(mac_domain_create(&o, nothing, &d));
  const int  index = fixture_fill(d, "one", sand, lo, hi, 0.5, nothing, 0.0); /* adding moves the list */
  particles *p     = d->bodies.particles[index];
  assert_ok(memory_alloc("x0", 3 * p->n, sizeof *x0, &x0));
  for (int64_t i = 0; i < p->n; ++i)
    for (int a = 0; a < 3; ++a) x0[3 * p->id[i] + a] = p->x[a][i];
  for (int s = 0; s < steps; ++s) {
    assert_int_equal(fixture_begin(d, dt).code, STEP_OK);
    mac_state *g = mac_domain_state(d);
    for (int64_t i = 0; i < g->grid.n_slots; ++i) {
      int32_t c[3];
      mac_grid_cell(&g->grid, i, c);
      g->u[0][i] = -(0.05 * (c[1] + 0.5) - 0.5), g->u[1][i] = 0.05 * (c[0] + 0.5) - 0.5, g->u[2][i] = 0.0;
    }
    assert_int_equal(fixture_end(d).code, STEP_OK);
  }
  const double c = cos(steps * dt), q = sin(steps * dt);
  for (int64_t i = 0; i < p->n; ++i) {
    const double *X = x0 + 3 * p->id[i], rx = X[0] - 0.5, ry = X[1] - 0.5;
    worst = fmax(worst, hypot(p->x[0][i] - 0.5 - (c * rx - q * ry), p->x[1][i] - 0.5 - (q * rx + c * ry)));
  }
  memory_free(&x0);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  return worst;
}

static void advection_is_second_order(void **state)
{
  (void)state;
  const double e1 = rotation_error(0.1), e2 = rotation_error(0.05);
  assert_close(e1 / e2, 4.0, 0.3);
  assert_close(e1, 0.33 * 0.5 * 0.1 * 0.1 / 6.0, 0.4 * e1); /* r t dt^2/6 */
  assert_no_leak();
}

/* No particle passes a wall; one that leaves through an open side is removed, through a periodic one it enters on the other
 * side. */
static void sides_of_the_box(void **state)
{
  (void)state;
  const int    n[3] = {8, 8, 8}, none[3] = {0, 0, 0}, hi[3] = {8, 8, 8};
  const double h = 0.1, v0[3] = {1.5, 0.5, 0.5};
  mac_options  o = fixture_options(n, h);
  mac_domain  *d;
  material    *sand        = fixture_sand("sand", 1600, 30);
  fixture_walls.side[0][1] = MAC_WALL_OPEN;
  fixture_walls.side[1][0] = fixture_walls.side[1][1] = MAC_WALL_PERIODIC;
  assert_ok(mac_domain_create(&o, nothing, &d));
  const int  index = fixture_fill(d, "one", sand, none, hi, 0.0, v0, 0.0); /* adding moves the list */
  particles *p     = d->bodies.particles[index];
  assert_int_equal(fixture_begin(d, 0.1).code, STEP_OK);
  assert_int_equal(fixture_end(d).code, STEP_OK);
  assert_int_equal(p->n, 8 * 8 * 8 * 8 * 13 / 16); /* three of 16 layers went, by 0.15 m */
  for (int64_t i = 0; i < p->n; ++i) {
    assert_true(p->x[0][i] > 0.15 && p->x[0][i] < 0.8);
    assert_true(p->x[1][i] > 0.0 && p->x[1][i] < 0.8);
    assert_true(p->x[2][i] <= 0.8 - 0.9e-4);
  }
  assert_int_equal(fixture_begin(d, 0.01).code, STEP_OK);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

/* Single grains on the floor, too few for a continuum: a rough floor slows them by M g, no more and not beyond rest, a smooth one
 * not at all. What a dense bed feels of the floor is the formulation's alone. */
static void grains_slide_with_friction(void **state)
{
  (void)state;
  const int    n[3] = {40, 4, 4}, lo[3] = {4, 0, 1}, hi[3] = {6, 1, 3}, none[3] = {0, 0, 0}, layer[3] = {40, 1, 4};
  const double h = 0.05, dt = 0.005, v0[3] = {1.0, 0.0, 0.0};
  material    *sand = fixture_sand("sand", 1600, 30);
  for (int c = 0; c < 4; ++c) { /* rough, smooth, rough with its own friction, dense */
    mac_options o = fixture_options(n, h);
    mac_domain *d;
    if (c == 1) fixture_walls.side[1][0] = MAC_WALL_SMOOTH;
    if (c == 2) o.wall_friction = 0.2;
    if (c == 3) fixture_walls.side[0][0] = fixture_walls.side[0][1] = MAC_WALL_PERIODIC;
    assert_ok(mac_domain_create(&o, gravity, &d));
    const int  index = fixture_fill(d, "one", sand, c == 3 ? none : lo, c == 3 ? layer : hi, 0.0, v0, 0.0); /* adding moves the list */
    particles *p     = d->bodies.particles[index];
    if (c < 3)
      for (int64_t i = 0; i < p->n; ++i) p->x[1][i] = 1e-3 * h, p->mass[i] *= 0.1;
    for (int s = 0; s < 60; ++s) {
      assert_int_equal(fixture_begin(d, dt).code, STEP_OK);
      mac_state *g = mac_domain_state(d);
      for (int64_t i = 0; i < g->grid.n_slots; ++i) {
        int32_t at[3];
        mac_grid_cell(&g->grid, i, at);
        g->u[1][i] = at[1] == 0 ? 0.0 : g->u[1][i] + dt * gravity[1];
      }
      assert_int_equal(fixture_end(d).code, STEP_OK);
      const double t = dt * (s + 1), mu = c == 0 ? 0.5 : c == 2 ? 0.2 : 0.0, expected = fmax(0.0, 1.0 - mu * 9.81 * t);
      for (int64_t i = 0; i < p->n; ++i) {
        assert_close(p->v[0][i], expected, 0.02);
        assert_true(c == 3 || (fabs(p->v[1][i]) < 0.01 && fabs(p->C[4][i]) * h < 0.2));
      }
    }
    mac_domain_destroy(&d);
  }
  material_destroy(&sand);
  assert_no_leak();
}

/* A box and its particles elsewhere, with walls, periodic sides and a spacing that has few digits: the same densities, masses and
 * velocities on the same slots, and the same motion. */
static void place_of_the_box_does_not_matter(void **state)
{
  (void)state;
  const int    n[3] = {8, 8, 12}, lo[3] = {0, 1, 0}, hi[3] = {8, 6, 9};
  const double shift[2][3] = {{0.0, 0.0, 0.0}, {0.5, -1.25, 7.0}}, v0[3] = {0.3, -0.2, 0.1}, h = 0.0625, dt = 0.01;
  mac_options  o[2];
  mac_box      box[2];
  mac_domain  *d[2];
  material    *sand = fixture_sand("sand", 1600, 30);
  for (int k = 0; k < 2; ++k) {
    o[k]   = fixture_options(n, h);
    box[k] = fixture_box, o[k].domain = &box[k];
    fixture_walls.side[1][0] = fixture_walls.side[1][1] = MAC_WALL_PERIODIC;
    for (int a = 0; a < 3; ++a) box[k].min[a] += shift[k][a], box[k].max[a] += shift[k][a];
    assert_ok(mac_domain_create(&o[k], nothing, &d[k]));
    const int  index = fixture_fill(d[k], "one", sand, lo, hi, 1.0, v0, 0.5); /* adding moves the list */
    particles *p     = d[k]->bodies.particles[index];
    for (int64_t i = 0; i < p->n; ++i)
      for (int a = 0; a < 3; ++a) p->x[a][i] += shift[k][a];
    assert_int_equal(fixture_begin(d[k], dt).code, STEP_OK);
  }
  const mac_state *one = mac_domain_state(d[0]), *two = mac_domain_state(d[1]);
  assert_int_equal(one->grid.n_slots, two->grid.n_slots);
  for (int64_t i = 0; i < one->grid.n_slots; ++i) {
    assert_close(one->rho[i], two->rho[i], 1e-9);
    for (int a = 0; a < 3; ++a) assert_close(one->mass[a][i], two->mass[a][i], 1e-12);
    for (int a = 0; a < 3; ++a) assert_close(one->mass[a][i] * one->u[a][i], two->mass[a][i] * two->u[a][i], 1e-12);
  }
  for (int k = 0; k < 2; ++k) assert_int_equal(fixture_end(d[k]).code, STEP_OK);
  const particles *p = d[0]->bodies.particles[0], *q = d[1]->bodies.particles[0];
  for (int64_t i = 0; i < p->n; ++i) {
    assert_int_equal(p->id[i], q->id[i]);
    for (int a = 0; a < 3; ++a) {
      assert_close(p->x[a][i] + shift[1][a], q->x[a][i], 1e-11);
      assert_close(p->v[a][i], q->v[a][i], 1e-9);
    }
  }
  for (int k = 0; k < 2; ++k) mac_domain_destroy(&d[k]);
  material_destroy(&sand);
}

TEST_MAIN(cmocka_unit_test(blocks_reach_as_far_as_particles_move), cmocka_unit_test(place_of_the_box_does_not_matter),
          cmocka_unit_test(transfers_conserve), cmocka_unit_test(linear_fields_are_exact), cmocka_unit_test(walls_are_mirrors),
          cmocka_unit_test(materials_mix), cmocka_unit_test(advection_is_second_order), cmocka_unit_test(sides_of_the_box),
          cmocka_unit_test(grains_slide_with_friction))
