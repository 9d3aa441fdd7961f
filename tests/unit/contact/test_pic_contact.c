/* Grid contact with one velocity field per body: effect on bodies that approach, separate, or are not in contact. */
#include "augury_fixture.h"
#include "contact/augury/pic_contact.h"

static int32_t    body_of[2 * NODES];
static bool       all_active[2 * TRIANGLES];
static const bool both[4] = {false, true, true, false}, nobody[4] = {false, false, false, false};

static void spheres(scene *s, double gap, double speed)
{
  two_spheres(s, gap);
  for (int i = 0; i < 2 * NODES; ++i) body_of[i] = i >= NODES;
  for (int i = 0; i < 2 * NODES; ++i) s->v[3 * i] = i < NODES ? speed : -speed, s->v[3 * i + 1] = 0.3;
  for (int t = 0; t < 2 * TRIANGLES; ++t) all_active[t] = true;
}

static void momentum(const scene *s, const double *v, double P[3])
{
  v3_set(P, 0.0, 0.0, 0.0);
  for (int i = 0; i < 2 * NODES; ++i) v3_axpy(P, s->mass[i], v + 3 * i);
}

static void solve(scene *s, double dx, const bool *can_touch, const bool *is_active)
{
  pic_contact *p;
  int64_t      n_corners = 0;
  for (int t = 0; t < 2 * TRIANGLES; ++t) n_corners += is_active[t] ? 3 : 0;
  assert_ok(pic_contact_create(&s->b, body_of, 2, NULL, can_touch, s->x, dx, &p));
  assert_ok(pic_contact_solve(p, s->x, is_active, s->v));
  if (s->b.is_bare || n_corners == 0) assert_int_equal(pic_contact_n_points(p), n_corners);
  else assert_true(pic_contact_n_points(p) > n_corners);
  pic_contact_destroy(&p);
}

/* The nearest nodes of the two; how fast they close in. */
static double closing(const scene *s)
{
  int one = 0, two = NODES;
  for (int i = 0; i < NODES; ++i) {
    if (s->x[3 * i] > s->x[3 * one]) one = i;
    if (s->x[3 * (NODES + i)] < s->x[3 * two]) two = NODES + i;
  }
  return s->v[3 * one] - s->v[3 * two];
}

static void approaching_bodies_are_slowed(void **state)
{
  (void)state;
  for (int bare = 0; bare < 2; ++bare) {
    scene  s;
    double P0[3], P[3], before[2 * 3 * NODES];
    spheres(&s, 0.05, 1.0);
    s.b.is_bare = bare;
    memcpy(before, s.v, sizeof before);
    momentum(&s, s.v, P0);
    solve(&s, edge(), both, all_active);
    assert_true(closing(&s) < 1.0 && closing(&s) > -0.1); /* half and more of 2 m/s; one transfer leaves the smoothing of the
                                                           * splines */
    momentum(&s, s.v, P);
    /* The normals of the two are opposite except for the scatter of points and masses: momentum is conserved to a small part of
     * the exchange. */
    double exchanged = 0.0, across = 0.0;
    for (int i = 0; i < NODES; ++i) exchanged += s.mass[i] * fabs(s.v[3 * i] - before[3 * i]);
    for (int k = 0; k < 3; ++k) across = fmax(across, fabs(P[k] - P0[k]));
    assert_true(exchanged > 1.0);
    assert_true(across < 0.2 * exchanged);
    /* Nodes farther than the grid's reach do not change. */
    for (int i = 0; i < NODES; ++i)
      if (s.x[3 * i] < -3.5 * edge() - 0.3) assert_memory_equal(s.v + 3 * i, before + 3 * i, 3 * sizeof(double));
    /* Along the surface at the nearest nodes hardly anything happens. */
    assert_close(s.v[1], before[1], 0.3);
  }
  assert_no_leak();
}

/* A scene that is its own mirror image at x = 0, a plane of the grid, remains so: all 27 nodes around a point count. */
static void mirrored_bodies_remain_mirrored(void **state)
{
  (void)state;
  scene  s;
  double change = 0.0;
  spheres(&s, 0.05, 1.0);
  s.b.is_bare = true; /* additional points are random */
  for (int i = 0; i < NODES; ++i) {
    v3_set(s.x + 3 * (NODES + i), -s.x[3 * i], s.x[3 * i + 1], s.x[3 * i + 2]);
    s.mass[NODES + i] = s.mass[i];
  }
  solve(&s, edge(), both, all_active);
  for (int i = 0; i < NODES; ++i) {
    const double *one = s.v + 3 * i, *two = s.v + 3 * (NODES + i);
    for (int k = 0; k < 3; ++k) assert_close(two[k], k == 0 ? -one[k] : one[k], 1e-12);
    change = fmax(change, fabs(one[0] - 1.0));
  }
  assert_true(change > 0.5);
  assert_no_leak();
}

static void separating_bodies_do_not_change(void **state)
{
  (void)state;
  scene  s;
  double before[2 * 3 * NODES];
  spheres(&s, 0.05, -1.0);
  memcpy(before, s.v, sizeof before);
  solve(&s, edge(), both, all_active);
  assert_true(closing(&s) < -1.9);
  spheres(&s, 0.05, 1.0);
  memcpy(before, s.v, sizeof before);
  solve(&s, edge(), nobody, all_active); /* no contact allowed */
  assert_memory_equal(s.v, before, sizeof before);
  memset(all_active, 0, sizeof all_active);
  solve(&s, edge(), both, all_active); /* nothing takes part */
  assert_memory_equal(s.v, before, sizeof before);
  spheres(&s, 4.0 * edge(), 1.0); /* out of reach */
  memcpy(before, s.v, sizeof before);
  solve(&s, edge(), both, all_active);
  assert_memory_equal(s.v, before, sizeof before);
  assert_no_leak();
}

static void threads_agree(void **state)
{
  (void)state;
  scene  s;
  double one[2 * 3 * NODES];
  for (int n = 1; n <= 3; ++n) {
    team_set_threads(n);
    spheres(&s, 0.05, 1.0);
    solve(&s, 0.5 * edge(), both, all_active);
    if (n == 1) memcpy(one, s.v, sizeof one);
    else assert_memory_equal(s.v, one, sizeof one);
  }
  assert_no_leak();
}

static void coordinates_out_of_range_are_reported(void **state)
{
  (void)state;
  scene        s;
  pic_contact *p;
  spheres(&s, 0.05, 1.0);
  assert_ok(pic_contact_create(&s.b, body_of, 2, NULL, both, s.x, edge(), &p));
  s.x[0] = 1e7;
  assert_int_equal(pic_contact_solve(p, s.x, all_active, s.v), PETSC_ERR_ARG_OUTOFRANGE);
  error_clear();
  pic_contact_destroy(&p);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(approaching_bodies_are_slowed), cmocka_unit_test(mirrored_bodies_remain_mirrored),
          cmocka_unit_test(separating_bodies_do_not_change), cmocka_unit_test(threads_agree),
          cmocka_unit_test(coordinates_out_of_range_are_reported))
