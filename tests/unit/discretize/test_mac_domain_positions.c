/* Corrections between steps: particles leave solids and separate if they are too close; material at rest does not move. */
#include "mac_domain_fixture.h"
#include <string.h>

static const double nothing[3] = {0, 0, 0};
enum { SIDE = 10 };
static const double h = 0.1;

static mac_domain *domain_of_cells(const int lo[3], const int hi[3], double jitter, mac_options *o, material *m)
{
  const int   n[3] = {SIDE, SIDE, SIDE};
  mac_domain *d;
  *o = fixture_options(n, h);
  assert_ok(mac_domain_create(o, nothing, &d));
  fixture_fill(d, "one", m, lo, hi, jitter, nothing, 0.0);
  assert_int_equal(fixture_begin(d, 1e-3).code, STEP_OK); /* sorts */
  return d;
}

static double *positions(const particles *p)
{
  double *x;
  assert_ok(memory_alloc("x", 3 * p->n, sizeof *x, &x));
  for (int64_t i = 0; i < p->n; ++i)
    for (int a = 0; a < 3; ++a) x[3 * p->id[i] + a] = p->x[a][i];
  return x;
}

/* A lattice at rest keeps every bit: free, on the floor, in a corner, and filling the whole box. */
static void lattices_rest(void **state)
{
  (void)state;
  const int lo[4][3] = {{3, 3, 3}, {3, 0, 3}, {0, 0, 0}, {0, 0, 0}}, hi[4][3] = {{7, 7, 7}, {7, 4, 7}, {4, 4, 4}, {SIDE, SIDE, SIDE}};
  material *sand = fixture_sand("sand", 1600, 30);
  for (int c = 0; c < 4; ++c) {
    mac_options o;
    mac_domain *d = domain_of_cells(lo[c], hi[c], 0.0, &o, sand);
    double     *x = positions(d->bodies.particles[0]);
    assert_ok(mac_domain_correct_positions(d, 0, NULL, true, NULL));
    double *y = positions(d->bodies.particles[0]);
    assert_memory_equal(x, y, (size_t)(3 * d->bodies.particles[0]->n) * sizeof *x);
    memory_free(&x), memory_free(&y);
    mac_domain_destroy(&d);
  }
  material_destroy(&sand);
  assert_no_leak();
}

static double volume_of(const double *x, int64_t n) /* of the bounds */
{
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int64_t i = 0; i < n; ++i)
    for (int a = 0; a < 3; ++a) low[a] = fmin(low[a], x[3 * i + a]), high[a] = fmax(high[a], x[3 * i + a]);
  return (high[0] - low[0] + 0.5 * h) * (high[1] - low[1] + 0.5 * h) * (high[2] - low[2] + 0.5 * h);
}

/* Compressed to half its volume, it expands to its initial volume about its centre; velocities do not change; it does not pass the floor.
 * */
static void a_squeezed_blob_spreads(void **state)
{
  (void)state;
  const int lo[3] = {3, 3, 3}, hi[3] = {7, 7, 7};
  material *sand = fixture_sand("sand", 1600, 30);
  for (int on_floor = 0; on_floor < 2; ++on_floor) {
    mac_options o;
    mac_domain *d    = domain_of_cells(lo, hi, 0.5, &o, sand);
    particles  *p    = d->bodies.particles[0];
    double     *full = positions(p), mean[3] = {0, 0, 0};
    for (int64_t i = 0; i < p->n; ++i)
      for (int a = 0; a < 3; ++a)
        p->x[a][i] = on_floor && a == 1 ? 0.5 * (p->x[a][i] - 0.3) : 0.5 + (on_floor ? 1.0 : 0.7937) * (p->x[a][i] - 0.5),
        p->v[a][i] = 0.25 * a;
    double *x = positions(p);
    for (int frame = 0; frame < 10; ++frame) assert_ok(mac_domain_correct_positions(d, 0, NULL, true, NULL));
    double *y = positions(p);
    assert_true(volume_of(x, p->n) < 0.56 * volume_of(full, p->n));
    assert_close(volume_of(y, p->n) / volume_of(full, p->n), 1.0, 0.25);
    for (int64_t i = 0; i < p->n; ++i)
      for (int a = 0; a < 3; ++a) {
        mean[a] += (y[3 * i + a] - x[3 * i + a]) / (double)p->n;
        assert_true(p->v[a][i] == 0.25 * a && p->x[a][i] > 0.0);
      }
    if (!on_floor) assert_close(v3_norm(mean), 0.0, 1e-2 * h); /* the limit of each move does not keep it exactly */
    else assert_true(mean[1] > 0.1 * h);
    print_message("volume %.3f of what it was before it was squeezed\n", volume_of(y, p->n) / volume_of(full, p->n));
    memory_free(&x), memory_free(&y), memory_free(&full);
    mac_domain_destroy(&d);
  }
  material_destroy(&sand);
  assert_no_leak();
}

/* A correction against the motion where there are too few particles for a continuum: velocity variation along the axis of the
 * correction is removed. Everything else keeps every bit: velocities, shear, single falling particles, and dense regions. */
static void check_thin(double angle_deg)
{
  const int   lo[3] = {3, 3, 3}, hi[3] = {7, 7, 7};
  const bool  is_sand = angle_deg > 0.0;
  material   *sand    = fixture_sand("sand", 1600, angle_deg);
  mac_options o;
  mac_domain *d      = domain_of_cells(lo, hi, 0.5, &o, sand);
  particles  *p      = d->bodies.particles[0];
  int         n_kept = 0, n_forgot = 0;
  o.position_correction = 1;
  assert_ok(mac_reserve_samples(d));
  for (int64_t i = 0; i < p->n; ++i) {
    d->seen[0].density[i] = MAC_DENSITY_THRESHOLD * (p->id[i] % 2 ? 1600.0 : 1600.1); /* just thin, just dense */
    for (int a = 0; a < 3; ++a) {
      d->seen[0].move[a][i] = 0.0;
      p->x[a][i]            = 0.5 + (p->id[i] == 1 ? 2.0 : 0.8) * (p->x[a][i] - 0.5),
      p->v[a][i]            = random_range(13, (uint64_t)p->id[i], (uint64_t)a, -1, 1);
    }
    for (int q = 0; q < 9; ++q) p->C[q][i] = 1.0 + q;
  }
  double *x = positions(p);
  assert_ok(mac_domain_correct_positions(d, 0, NULL, true, NULL));
  for (int64_t i = 0; i < p->n; ++i)
    for (int a = 0; a < 3; ++a) {
      const bool is_pushed_back = (p->x[a][i] - x[3 * p->id[i] + a]) * p->v[a][i] < 0.0,
                 forgets        = is_pushed_back && p->id[i] % 2 && is_sand;
      assert_true(p->v[a][i] == random_range(13, (uint64_t)p->id[i], (uint64_t)a, -1, 1));
      for (int q = 0; q < 3; ++q) assert_true(p->C[3 * a + q][i] == (q == a && forgets ? 0.0 : 1.0 + 3 * a + q));
      assert_true(p->id[i] != 1 || !is_pushed_back); /* on its own */
      n_forgot += forgets, n_kept += is_pushed_back && !forgets;
    }
  assert_true((is_sand ? n_forgot > 200 : n_forgot == 0) && n_kept > 200);
  memory_free(&x);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

static void thin_grains_rest(void **state)
{
  (void)state;
  check_thin(30.0);
  check_thin(0.0); /* a liquid keeps all */
}

/* An irregular heap against walls comes to rest: what moves in a frame falls below a thousandth of a cell, and it has not grown. */
static void a_settled_column_stays(void **state)
{
  (void)state;
  const int   lo[3] = {0, 0, 0}, hi[3] = {6, 5, 5};
  material   *sand = fixture_sand("sand", 1600, 30);
  mac_options o;
  mac_domain *d = domain_of_cells(lo, hi, 1.0, &o, sand);
  particles  *p = d->bodies.particles[0];
  double     *x = positions(p), *before = NULL, top[2] = {0, 0}, drift = 0.0;
  for (int frame = 0; frame < 20; ++frame) {
    memory_free(&before);
    before = positions(p);
    assert_ok(mac_domain_correct_positions(d, 0, NULL, true, NULL));
    double *now = positions(p), sum = 0.0;
    for (int64_t i = 0; i < 3 * p->n; ++i) sum += pow(now[i] - before[i], 2);
    drift = sqrt(sum / (double)p->n) / h;
    memory_free(&now);
  }
  double *y = positions(p);
  for (int64_t i = 0; i < p->n; ++i) top[0] += x[3 * i + 1] / (double)p->n, top[1] += y[3 * i + 1] / (double)p->n;
  print_message("drift %.2e h a frame; mean height %.4f -> %.4f\n", drift, top[0], top[1]);
  assert_true(drift < 1e-3);
  assert_close(top[1] / top[0], 1.0, 0.05);
  memory_free(&x), memory_free(&y), memory_free(&before);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

/* Those inside a solid go to the nearest point of its surface, wherever its frame is; others stay. */
static void out_of_solids(void **state)
{
  (void)state;
  const int    none[3] = {1, 1, 1}, all[3] = {SIDE - 1, SIDE - 1, SIDE - 1};
  const double c[3] = {0.05, 0, 0}, at[3] = {0.5, 0.5, 0.5};
  material    *sand = fixture_sand("sand", 1600, 30);
  mac_options  o;
  level_set   *ball;
  mac_domain  *d = domain_of_cells(none, all, 1.0, &o, sand);
  assert_ok(level_set_sphere(c, 0.2, &ball));
  mac_solid solid = {
      .n = 1, .sets = &ball, .frame = {.c = {0.5, 0.5, 0.5}, .R = {0, -1, 0, 1, 0, 0, 0, 0, 1}}}; /* a quarter turn about z */
  double *x = positions(d->bodies.particles[0]);
  assert_ok(mac_domain_correct_positions(d, 1, &solid, false, NULL));
  double      *y         = positions(d->bodies.particles[0]);
  const double center[3] = {at[0], at[1] + 0.05, at[2]};
  int          n_moved   = 0;
  for (int64_t i = 0; i < d->bodies.particles[0]->n; ++i) {
    double r[3], q[3];
    v3_sub(r, x + 3 * i, center), v3_sub(q, y + 3 * i, center);
    if (v3_norm(r) > 0.2) {
      assert_memory_equal(x + 3 * i, y + 3 * i, 3 * sizeof *x);
      continue;
    }
    ++n_moved;
    assert_close(v3_norm(q), 0.2, 1e-9);
    assert_close(v3_dot(r, q), v3_norm(r) * 0.2, 1e-9);
  }
  assert_in_range(n_moved, 200, 330); /* 8000 times 4/3 pi 0.008 is 268 */
  memory_free(&x), memory_free(&y);
  level_set_destroy(&ball);
  mac_domain_destroy(&d);
  material_destroy(&sand);
  assert_no_leak();
}

/* Particles that hit a moving solid do not enter it. Their loss of tangential momentum is at most friction times that of normal
 * momentum. The solid receives their linear and angular momentum, for sand and for liquid. */
static void solids_are_hit(void **state)
{
  (void)state;
  const int    none[3] = {1, 1, 1}, all[3] = {SIDE - 1, SIDE - 1, SIDE - 1};
  const double c[3] = {0.05, 0, 0};
  material    *sand = fixture_sand("sand", 1600, 30);
  level_set   *ball;
  assert_ok(level_set_sphere(c, 0.2, &ball));
  for (int own = 0; own < 2; ++own) {
    mac_options  o;
    mac_domain  *d     = domain_of_cells(none, all, 1.0, &o, sand);
    const double mu    = own ? 0.1 : 0.5;
    mac_solid    solid = {.n        = 1,
                          .sets     = &ball,
                          .friction = own ? mu : INFINITY,
                          .frame    = {.c = {0.5, 0.5, 0.5}, .R = {0, -1, 0, 1, 0, 0, 0, 0, 1}, .v = {0.5, -0.3, 0.2}, .w = {1, -2, 3}}};
    particles   *p     = d->bodies.particles[0];
    double       impulse[1][6], lost[6] = {0};
    int          n_slipped = 0;
    for (int64_t i = 0; i < p->n; ++i)
      for (int a = 0; a < 3; ++a) p->v[a][i] = random_range(11, (uint64_t)p->id[i], (uint64_t)a, -2, 2);
    double *v;
    assert_ok(memory_alloc("v", 3 * p->n, sizeof *v, &v));
    for (int64_t i = 0; i < p->n; ++i)
      for (int a = 0; a < 3; ++a) v[3 * i + a] = p->v[a][i];
    assert_ok(mac_domain_correct_positions(d, 1, &solid, false, impulse));
    for (int64_t i = 0; i < p->n; ++i) {
      const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]}, after[3] = {p->v[0][i], p->v[1][i], p->v[2][i]},
                   out[3] = {x[0] - 0.5, x[1] - 0.55, x[2] - 0.5};
      double change[3], arm[3], turn[3], slip[3], normal[3], along[3];
      v3_sub(change, after, v + 3 * i), v3_sub(arm, x, solid.frame.c), v3_cross(turn, arm, change);
      for (int a = 0; a < 3; ++a) lost[a] -= p->mass[i] * change[a], lost[3 + a] -= p->mass[i] * turn[a];
      if (v3_norm(change) == 0.0) continue;
      v3_scale(normal, 1.0 / v3_norm(out), out);
      v3_cross(slip, solid.frame.w, arm);
      for (int a = 0; a < 3; ++a) slip[a] = after[a] - solid.frame.v[a] - slip[a];
      assert_close(v3_dot(slip, normal), 0.0, 1e-9);
      const double push = v3_dot(change, normal);
      v3_copy(along, change), v3_axpy(along, -push, normal);
      if (v3_norm(slip) > 1e-9) { /* slides: on the border of the cone, against the slip */
        ++n_slipped;
        assert_close(v3_norm(along), mu * push, 1e-9);
        assert_close(v3_dot(along, slip), -v3_norm(along) * v3_norm(slip), 1e-9);
      } else assert_true(v3_norm(along) <= mu * push + 1e-9);
    }
    assert_in_range(n_slipped, 60, 200);
    for (int q = 0; q < 6; ++q) assert_close(impulse[0][q], lost[q], 1e-10 * 1600);
    memory_free(&v);
    mac_domain_destroy(&d);
  }
  level_set_destroy(&ball);
  material_destroy(&sand);
  assert_no_leak();
}

/* No particle passes a plate thinner than half a cell: neither particles beyond its middle after a step nor those on its other side,
 * even if other surfaces are nearer; with a plate at rest or in motion. */
static void thin_solids_stop_particles(void **state)
{
  (void)state;
  const int    none[3] = {1, 1, 1}, all[3] = {SIDE - 1, SIDE - 1, SIDE - 1};
  const double low[3] = {-1, -1, -0.02}, high[3] = {1, 1, 0.02};
  material    *sand = fixture_sand("sand", 1600, 30);
  level_set   *plate;
  assert_ok(level_set_box(low, high, &plate));
  for (int moves = 0; moves < 2; ++moves) {
    mac_options  o;
    mac_domain  *d        = domain_of_cells(none, all, 1.0, &o, sand);
    const double rise     = moves ? 0.05 : 0.0;
    mac_solid    solid    = {.n        = 1,
                             .sets     = &plate,
                             .friction = INFINITY,
                             .frame    = {.c = {0.5, 0.5, 0.5 + rise}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .v = {0, 0, rise / d->dt}}};
    particles   *p        = d->bodies.particles[0];
    int          n_beyond = 0, n_through = 0;
    double      *before;
    assert_ok(mac_reserve_samples(d));
    assert_ok(memory_alloc("before", p->n, sizeof *before, &before));
    for (int64_t i = 0; i < p->n; ++i) {
      if (fabs(p->x[2][i] - 0.5) < 0.021) p->x[2][i] = p->x[2][i] < 0.5 ? 0.47 : 0.53;
      before[i] = p->x[2][i] - 0.5;
      for (int a = 0; a < 3; ++a) {
        d->seen[0].move[a][i] = random_range(12, (uint64_t)p->id[i], (uint64_t)a, -0.05, 0.05);
        p->x[a][i] += d->seen[0].move[a][i], p->v[a][i] = d->seen[0].move[a][i] / d->dt;
      }
      const double now = p->x[2][i] - 0.5 - rise;
      n_beyond += before[i] * now < 0.0 && fabs(now) < 0.02, n_through += before[i] * now < 0.0 && fabs(now) >= 0.02;
    }
    assert_true(n_beyond > 50 && n_through > 3);
    assert_ok(mac_domain_correct_positions(d, 1, &solid, false, NULL));
    for (int64_t i = 0; i < p->n; ++i) {
      const double now = p->x[2][i] - 0.5 - rise;
      assert_true(before[i] * now > 0.0 && fabs(now) >= 0.02);
    }
    memory_free(&before);
    mac_domain_destroy(&d);
  }
  level_set_destroy(&plate);
  material_destroy(&sand);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(lattices_rest), cmocka_unit_test(a_squeezed_blob_spreads), cmocka_unit_test(a_settled_column_stays),
          cmocka_unit_test(thin_grains_rest), cmocka_unit_test(out_of_solids), cmocka_unit_test(solids_are_hit),
          cmocka_unit_test(thin_solids_stop_particles))
