/* Alternating velocities, which have no colocated stress: they decay at the rate of the header; other velocities do not change. */
#include <string.h>
#include "test.h"
#include "mac_fixture.h"
#include "core/memory.h"
#include "core/team.h"
#include "discretize/mac/mac_hourglass.h"

static const double DT = 0.01, DENSITY = 1500.0, FRICTION = 0.5;

static void make(mac_scene *c, mac_system *y, const mac_wall (*wall)[2], bool (*is_filled)(const double x[3]), int32_t n, double jitter,
                 int n_solids, const mac_solid *solids)
{
  mac_scene_spec m = {
      .h = 1.0 / n, .n = {n, n, n}, .wall = wall, .is_filled = is_filled, .density = DENSITY, .friction = FRICTION, .jitter = jitter};
  mac_scene_create(c, &m);
  *y = (mac_system){0};
  assert_ok(mac_system_assemble(&c->s, &c->o, n_solids, solids, DT, y));
}
static void done(mac_scene *c, mac_system *y) { mac_system_destroy(y), mac_scene_destroy(c); }

static double *filled(int64_t n, double value)
{
  double *x;
  assert_ok(memory_alloc("test", n, sizeof *x, &x));
  for (int64_t i = 0; i < n; ++i) x[i] = value;
  return x;
}

/* Of one that alternates across one axis a quarter goes, if M p allows; else what 2 share M p per cell takes in a step. */
static void alternating_rows_decay(void **unused)
{
  (void)unused;
  const double a = 0.01;
  for (int is_bounded = 0; is_bounded < 2; ++is_bounded) {
    mac_scene    c;
    mac_system   y;
    const double share = 0.1, p = is_bounded ? 1.0 : 1e6;
    make(&c, &y, MAC_ALL_PERIODIC, NULL, 8, 0.0, 0, NULL);
    double *pressure = filled(y.n_cells, p);
    for (int64_t f = 0; f < y.n_faces; ++f) {
      int32_t at[3];
      mac_grid_cell(&c.s.grid, y.face_slot[f], at);
      y.u[f] = y.face_axis[f] == 0 ? 0.3 + (at[1] % 2 ? -a : a) : -0.2;
    }
    assert_ok(mac_hourglass_apply(&c.s.grid, &y, share, pressure));
    const double lost = is_bounded ? 2.0 * share * FRICTION * p * DT / (DENSITY * y.h) : 0.25 * a;
    assert_true(lost < 0.3 * a);
    for (int64_t f = 0; f < y.n_faces; ++f) {
      int32_t at[3];
      mac_grid_cell(&c.s.grid, y.face_slot[f], at);
      assert_close(y.u[f], y.face_axis[f] == 0 ? 0.3 + (at[1] % 2 ? -1.0 : 1.0) * (a - lost) : -0.2, 1e-14);
    }
    memory_free(&pressure), done(&c, &y);
  }
  assert_no_leak();
}

/* Uniform shear and rotation pass, up to the surface and to walls; without pressure, or with share 0, everything does. */
static bool block(const double x[3]) { return x[1] < 0.6 && x[0] > 0.2 && x[2] < 0.8; }
static void smooth_flow_does_not_change(void **unused)
{
  (void)unused;
  const double L[3][3] = {{0.2, 3.0, -1.0}, {-0.5, 0.3, 2.0}, {0.7, -1.5, -0.5}};
  mac_scene    c;
  mac_system   y;
  make(&c, &y, MAC_ALL_ROUGH, block, 12, 0.5, 0, NULL);
  double *p = filled(y.n_cells, 1e6), *u = filled(y.n_faces, 0.0);
  for (int kind = 0; kind < 3; ++kind) { /* linear; any, without pressure; any, with share 0 */
    for (int64_t f = 0; f < y.n_faces; ++f) {
      double x[3];
      mac_face_center(&c.s.grid, y.face_slot[f], y.face_axis[f], x);
      y.u[f] = u[f] = kind ? random_range(2, (uint64_t)f, 0, -1.0, 1.0) : v3_dot(L[y.face_axis[f]], x);
    }
    for (int64_t i = 0; i < y.n_cells; ++i) p[i] = kind == 1 ? -1.0 : 1e6;
    assert_ok(mac_hourglass_apply(&c.s.grid, &y, kind == 2 ? 0.0 : 1.0, p));
    for (int64_t f = 0; f < y.n_faces; ++f) assert_close(y.u[f], u[f], 1e-13);
  }
  memory_free(&p), memory_free(&u), done(&c, &y);
  assert_no_leak();
}

/* Momentum [3], its moment [3], kinetic energy of the faces. */
static void sums(const mac_scene *c, const mac_system *y, double sum[7])
{
  memset(sum, 0, 7 * sizeof *sum);
  for (int64_t f = 0; f < y->n_faces; ++f) {
    const double mass = y->weight[f] * y->dt / y->mobility[f];
    double       x[3], push[3] = {0}, moment[3];
    mac_face_center(&c->s.grid, y->face_slot[f], y->face_axis[f], x);
    push[y->face_axis[f]] = mass * y->u[f];
    v3_cross(moment, x, push);
    for (int a = 0; a < 3; ++a) sum[a] += push[a], sum[3 + a] += moment[a];
    sum[6] += 0.5 * mass * y->u[f] * y->u[f];
  }
}

/* Any velocities, unevenly laid grains with a surface, a solid in them, pressures that bound some edges and not others: momentum
 * and moments stay, energy falls, faces that the solid cuts are left alone; the same bits on 1, 2, 7 threads. */
static bool blob(const double x[3]) { return fabs(x[0] - 0.5) < 0.3 && fabs(x[1] - 0.5) < 0.33 && x[2] > 0.2 && x[2] < 0.7 + 0.1 * x[0]; }
static void only_energy_is_dissipated(void **unused)
{
  (void)unused;
  const int  threads[3] = {1, 2, 7};
  level_set *ball;
  double    *first = NULL;
  assert_ok(level_set_sphere((double[3]){0.01, 0.0, 0.02}, 0.12, &ball));
  mac_solid solid = {.n = 1, .sets = &ball, .frame = mac_frame_at(0.45, 0.52, 0.5), .is_unknown = true, .friction = 0.1};
  for (int t = 0; t < 3; ++t) {
    mac_scene  c;
    mac_system y;
    double     before[7], after[7];
    team_set_threads(threads[t]);
    make(&c, &y, MAC_ALL_OPEN, blob, 20, 0.8, 1, &solid);
    double *p = filled(y.n_cells, 0.0), *u = filled(y.n_faces, 0.0);
    for (int64_t i = 0; i < y.n_cells; ++i) p[i] = random_range(3, (uint64_t)i, 1, 0.0, 2000.0);
    for (int64_t f = 0; f < y.n_faces; ++f) y.u[f] = u[f] = 2.0 + random_range(3, (uint64_t)f, 0, -1.0, 1.0);
    sums(&c, &y, before);
    assert_ok(mac_hourglass_apply(&c.s.grid, &y, 0.5, p));
    sums(&c, &y, after);
    const double scale = 1e-13 * before[6];
    for (int k = 0; k < 6; ++k) assert_close(after[k], before[k], scale);
    assert_true(after[6] < (1.0 - 1e-3) * before[6]);
    int64_t n_cut = 0;
    for (int64_t f = 0; f < y.n_faces; ++f)
      if (y.weight[f] < 0.99 * y.h * y.h * y.h) assert_true(y.u[f] == u[f]), ++n_cut;
    assert_true(n_cut > 50);
    if (!t) first = filled(y.n_faces, 0.0), memcpy(first, y.u, (size_t)y.n_faces * sizeof *first);
    assert_memory_equal(first, y.u, (size_t)y.n_faces * sizeof *first);
    memory_free(&p), memory_free(&u), done(&c, &y);
  }
  team_set_threads(0);
  memory_free(&first), level_set_destroy(&ball);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(alternating_rows_decay), cmocka_unit_test(smooth_flow_does_not_change),
          cmocka_unit_test(only_energy_is_dissipated))
