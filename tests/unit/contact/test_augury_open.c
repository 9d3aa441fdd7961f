/* Open surfaces in contact through a grid: cloth has no outside, so the inward direction depends on the places of the others. */
#include "augury_fixture.h"
#include "contact/augury/augury_near.h"

enum { SIDE = 9, SHEET_NODES = SIDE * SIDE, SHEET_TRIANGLES = 2 * (SIDE - 1) * (SIDE - 1), MOST_SHEETS = 3 };

typedef struct {
  augury_boundary b;
  int32_t         element[MOST_SHEETS * 3 * SHEET_TRIANGLES], body[MOST_SHEETS * SHEET_NODES];
  bool            is_open[MOST_SHEETS * SHEET_NODES], active[MOST_SHEETS * SHEET_TRIANGLES];
  double          mass[MOST_SHEETS * SHEET_NODES], x[MOST_SHEETS * 3 * SHEET_NODES], normal[MOST_SHEETS * 3 * SHEET_NODES],
      v[MOST_SHEETS * 3 * SHEET_NODES], A[MOST_SHEETS * 9 * SHEET_NODES];
  int8_t  side[MOST_SHEETS * SHEET_NODES];
  int64_t n_active;
} sheets;

/* Sheets of unit size with edges h = 1/8 at heights z, moving up at w; those with a normal of -1 are turned over. */
static void lay(sheets *s, int n, const double *z, const double *w, const double *normal)
{
  const double h = 1.0 / (SIDE - 1);
  memset(s, 0, sizeof *s);
  for (int b = 0; b < n; ++b) {
    for (int i = 0; i < SHEET_NODES; ++i) {
      const int at = b * SHEET_NODES + i;
      v3_set(s->x + 3 * at, h * (i % SIDE) + 0.013 * b, h * (i / SIDE) - 0.02 * b, z[b]);
      v3_set(s->v + 3 * at, 0.0, 0.0, w[b]);
      v3_set(s->normal + 3 * at, 0.0, 0.0, normal[b]);
      s->mass[at] = 1.0, s->body[at] = b, s->is_open[at] = true;
    }
    for (int i = 0; i < SHEET_TRIANGLES; ++i) {
      const int c       = i / 2 % (SIDE - 1) + SIDE * (i / 2 / (SIDE - 1)) + b * SHEET_NODES;
      const int t[2][3] = {{c, c + 1, c + SIDE}, {c + 1, c + SIDE + 1, c + SIDE}};
      for (int k = 0; k < 3; ++k) s->element[3 * (b * SHEET_TRIANGLES + i) + (normal[b] > 0 ? k : 2 - k)] = t[i % 2][k];
    }
  }
  s->b = (augury_boundary){n * SHEET_NODES, n * SHEET_TRIANGLES, s->element, s->mass, false};
}

static int middle(int sheet) { return sheet * SHEET_NODES + SHEET_NODES / 2; }

static void find(sheets *s, double dx)
{
  augury_near *near;
  assert_ok(augury_near_create(&s->b, s->body, dx, &near));
  augury_near_set_open(near, s->is_open);
  assert_ok(augury_near_find(near, s->x, s->v, s->active, &s->n_active));
  augury_near_sides(near, s->x, s->v, s->normal, s->side);
  augury_near_destroy(&near);
}

/* Velocities after contact of the active elements from find(). */
static void solve(sheets *s, double dx, bool accepts, int64_t iterations)
{
  const augury_options o = {.accepts_sliding_change = accepts, .max_iterations = iterations, .tolerance = 1e-12, .side = s->side};
  augury_result        r;
  augury              *a;
  step_status          status = {STEP_OK, NULL, -1};
  double               P[2][3], L[2][3];
  assert_ok(augury_create(&s->b, s->x, dx, &a));
  assert_ok(augury_begin(a, s->x, s->active, &status));
  boundary_momentum(&s->b, dx, s->x, s->v, s->A, P[0], L[0]);
  assert_ok(augury_solve(a, &o, s->normal, s->v, s->A, &r));
  boundary_momentum(&s->b, dx, s->x, s->v, s->A, P[1], L[1]);
  for (int k = 0; k < 3; ++k) {
    assert_close(P[1][k], P[0][k], 1e-12 * SHEET_NODES);
    assert_close(L[1][k], L[0][k], 1e-12 * SHEET_NODES);
  }
  augury_destroy(&a);
}

/* The orientation of a sheet has no effect; others on one side, on the other, on both, with one of them separating. */
static void sides_point_to_other_bodies(void **state)
{
  (void)state;
  static sheets s;
  const double  dx = 1.0 / (SIDE - 1), gap = 0.4 * dx;
  const struct {
    double below, above;
    int    expected;
  } cases[] = {{0.0, -1.0, 1},                   /* one approaches from above, one rests below, as seen from the middle */
               {1.0, 0.0, -1},  {1.0, -1.0, 0},  /* from both sides */
               {-1.0, -1.0, 1},                  /* the one below leaves */
               {1.0, 1.0, -1},  {-1.0, 1.0, 0}}; /* both leave: they are on both sides still */
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (int turned = 0; turned < 2; ++turned) {
      const double z[3] = {0.0, gap, -gap}, w[3] = {0.0, cases[c].above, cases[c].below}, n[3] = {turned ? -1.0 : 1.0, 1.0, -1.0};
      lay(&s, 3, z, w, n);
      find(&s, dx);
      assert_int_equal(s.side[middle(0)], turned ? -cases[c].expected : cases[c].expected);
      /* The outer ones have others on one side only, including those beyond the middle one. */
      assert_int_equal(s.side[middle(1)], -1);
      assert_int_equal(s.side[middle(2)], -1);
      assert_int_equal(s.n_active > 0, c < 5);
    }
  /* Far more than a cell behind the front one: not a side. */
  const double z[3] = {0.0, 0.4 * dx, -1.6 * dx}, w[3] = {0.0, -1.0, 1.0}, n[3] = {1.0, 1.0, 1.0};
  lay(&s, 3, z, w, n);
  find(&s, dx);
  assert_int_equal(s.side[middle(0)], 1);
  const double nearer[3] = {0.0, 0.4 * dx, -1.1 * dx}; /* less than a cell: a side */
  lay(&s, 3, nearer, w, n);
  find(&s, dx);
  assert_int_equal(s.side[middle(0)], 0);
  lay(&s, 1, z, w, n); /* alone */
  find(&s, dx);
  assert_int_equal(s.n_active, 0);
  assert_int_equal(s.side[middle(0)], 0);
  /* Closed surfaces keep theirs. */
  lay(&s, 3, z, w, n);
  memset(s.is_open, 0, sizeof s.is_open);
  find(&s, dx);
  for (int i = 0; i < 3 * SHEET_NODES; ++i) assert_int_equal(s.side[i], 1);
  assert_no_leak();
}

/* Touching exactly: behind a closed surface is where its body is. */
static void side_of_a_touching_body(void **state)
{
  (void)state;
  static sheets s;
  const double  dx = 1.0 / (SIDE - 1), z[2] = {0.0, 0.0}, w[2] = {0.0, -1.0};
  for (int up = 0; up < 2; ++up) {
    const double n[2] = {1.0, up ? 1.0 : -1.0};
    lay(&s, 2, z, w, n);
    for (int i = 0; i < 2 * SHEET_NODES; ++i) s.x[3 * i] = s.x[3 * (i % SHEET_NODES)], s.x[3 * i + 1] = s.x[3 * (i % SHEET_NODES) + 1];
    for (int i = SHEET_NODES; i < 2 * SHEET_NODES; ++i) s.is_open[i] = false;
    find(&s, dx);
    assert_int_equal(s.side[middle(0)], up ? -1 : 1);
  }
  assert_no_leak();
}

/* E09: a sheet against another, for both orientations: an approaching one stops, a separating one keeps every bit even at a
 * tenth of a cell. */
static void sheets_stop_for_both_orientations(void **state)
{
  (void)state;
  static sheets s;
  static double before[sizeof s.v / sizeof *s.v];
  const double  dx = 1.0 / (SIDE - 1);
  for (int c = 0; c < 8; ++c) {
    const double z[2] = {0.0, (c & 1 ? 0.3 : -0.3) * dx}, n[2] = {c & 2 ? 1.0 : -1.0, c & 4 ? 1.0 : -1.0};
    for (int parts = 0; parts < 2; ++parts) {
      const double w[2] = {0.0, (c & 1 ? -1.0 : 1.0) * (parts ? -1.0 : 1.0)};
      lay(&s, 2, z, w, n);
      find(&s, dx);
      memcpy(before, s.v, sizeof before);
      solve(&s, dx, true, 5);
      if (parts) {
        assert_int_equal(s.n_active, 0);
        assert_memory_equal(before, s.v, sizeof before);
      } else {
        const double left = fabs(s.v[3 * middle(1) + 2] - s.v[3 * middle(0) + 2]);
        if (c == 0) print_message("sheets: %.3f of 1 left\n", left);
        assert_true(left < 0.15);
      }
      /* All elements active and separating: cohesion is undone for both orientations of the normals. */
      if (!parts) continue;
      memset(s.active, true, sizeof s.active);
      solve(&s, dx, true, 0);
      const double cohesive = fabs(s.v[3 * middle(1) + 2] - s.v[3 * middle(0) + 2]);
      memcpy(s.v, before, sizeof before), memset(s.A, 0, sizeof s.A);
      solve(&s, dx, true, 5);
      const double free_again = fabs(s.v[3 * middle(1) + 2] - s.v[3 * middle(0) + 2]);
      if (c == 0) print_message("parting sheets, all active: %.3f of 1, after 5 iterations %.4f\n", cohesive, free_again);
      assert_true(cohesive < 0.5 && free_again > 0.99);
    }
  }
  assert_no_leak();
}

/* A sheet between two approaching sheets can move either way: it moves with the faster one, and all three get the same velocity. */
static void sheet_between_two_sheets_stops(void **state)
{
  (void)state;
  static sheets s;
  const double  dx = 1.0 / (SIDE - 1), z[3] = {0.0, 0.3 * dx, -0.3 * dx}, n[3] = {1.0, 1.0, 1.0};
  const double  w[3][3] = {{0.0, -1.0, 1.0}, {0.0, -0.2, 1.0}, {0.0, -1.0, 0.2}};
  for (int c = 0; c < 6; ++c) {
    lay(&s, 3, z, w[c / 2], n);
    find(&s, dx);
    assert_int_equal(s.side[middle(0)], 0);
    solve(&s, dx, c % 2, 5);
    const double above = s.v[3 * middle(0) + 2] - s.v[3 * middle(1) + 2], below = s.v[3 * middle(2) + 2] - s.v[3 * middle(0) + 2];
    print_message("squeezed: %.3f and %.3f of 1 left\n", above, below);
    assert_true(above < 0.1 && below < 0.1);
  }
  assert_no_leak();
}

/* A sheet in contact with a continuum: on that side, for both orientations; unchanged when it separates. Where the outside of
 * the continuum is unknown and nothing shows a separation, attraction is allowed. */
static void sheet_in_contact_with_a_continuum(void **state)
{
  (void)state;
  enum { REACH = 14 };
  static sheets  s;
  static int32_t node[32 * 32 * 32][3];
  static double  mass[32 * 32 * 32], outward[32 * 32 * 32][3], u[3 * 32 * 32 * 32];
  const double   dx = 1.0 / (SIDE - 1);
  for (int c = 0; c < 16; ++c) {
    const bool   is_below = c & 1, is_turned = c & 2, parts = c & 4, is_known = !(c & 8); /* material below z = 0, or above */
    const double z[1] = {is_below ? 0.3 * dx : -0.3 * dx}, n[1] = {is_turned ? -1.0 : 1.0},
                 w[1] = {(is_below ? -1.0 : 1.0) * (parts ? -1.0 : 1.0)};
    /* Even material, dx^3 each cell: mass by depth a node, smooth over three cells. */
    int64_t      m     = 0;
    const double of[5] = {1.0, 47.0 / 48.0, 0.5, 1.0 / 48.0, 0.0}, slope[5] = {0.0, 0.125, 0.75, 0.125, 0.0};
    for (int i = -4; i <= REACH; ++i)
      for (int j = -4; j <= REACH; ++j)
        for (int k = -6; k <= 6; ++k) {
          const int depth = is_below ? k : -k, q = depth < -2 ? 0 : depth > 2 ? 4 : depth + 2;
          if (!(of[q] > 0.0)) continue;
          node[m][0] = i, node[m][1] = j, node[m][2] = k;
          mass[m] = (is_known ? 1e3 : 1.0) * of[q];
          v3_set(outward[m], 0.0, 0.0, is_known ? 1e3 * slope[q] / dx * (is_below ? 1.0 : -1.0) : 0.0);
          v3_set(u + 3 * m, 0.0, 0.0, 0.0);
          ++m;
        }
    const augury_continuum there = {m, (const int32_t(*)[3])node, mass, (const double(*)[3])outward, u};
    augury_near           *near;
    lay(&s, 1, z, w, n);
    assert_ok(augury_near_create(&s.b, s.body, dx, &near));
    augury_near_set_open(near, s.is_open);
    augury_near_set_continuum(near, &there);
    assert_ok(augury_near_find(near, s.x, s.v, s.active, &s.n_active));
    augury_near_sides(near, s.x, s.v, s.normal, s.side);
    assert_int_equal(s.n_active > 0, !parts || !is_known);
    assert_int_equal(s.side[middle(0)], (is_below ? -1 : 1) * (is_turned ? -1 : 1));
    if (s.n_active > 0) {
      const augury_options o = {.accepts_sliding_change = true, .max_iterations = 5, .tolerance = 1e-12, .side = s.side};
      augury_result        r;
      augury              *a;
      step_status          status = {STEP_OK, NULL, -1};
      assert_ok(augury_create(&s.b, s.x, dx, &a));
      augury_set_continuum(a, &there);
      assert_ok(augury_begin(a, s.x, s.active, &status));
      assert_ok(augury_solve(a, &o, s.normal, s.v, s.A, &r));
      double pulled = 0.0; /* out of itself */
      for (int64_t i = 0; i < m; ++i) pulled = fmax(pulled, u[3 * i + 2] * (is_below ? 1.0 : -1.0));
      if (is_known) assert_true(fabs(s.v[3 * middle(0) + 2]) < 0.1);
      else if (parts) assert_true(fabs(s.v[3 * middle(0) + 2]) > 0.9 && pulled < 0.1);
      else assert_true(fabs(s.v[3 * middle(0) + 2]) < 0.75); /* a continuum as heavy as the sheet takes its part */
      if (c % 4 == 0) print_message("sheet on a continuum: %.3f of 1 left, %.3f pulled\n", fabs(s.v[3 * middle(0) + 2]), pulled);
      augury_destroy(&a);
    }
    augury_near_destroy(&near);
  }
  assert_no_leak();
}

/* A sheet inside an even continuum approaches the material in front of it. With both sides inwards no outside is known, and any
 * common velocity is accepted. */
static void sheet_inside_a_continuum_moves_with_it(void **state)
{
  (void)state;
  enum { ALL = 19 * 19 * 13 };
  static sheets  s;
  static int32_t node[ALL][3];
  static double  mass[ALL], outward[ALL][3], u[3 * ALL];
  const double   dx = 1.0 / (SIDE - 1), z[1] = {0.1 * dx}, n[1] = {1.0}, w[1] = {1.0};
  for (int i = 0; i < ALL; ++i) {
    node[i][0] = i / (19 * 13) - 4, node[i][1] = i / 13 % 19 - 4, node[i][2] = i % 13 - 6;
    mass[i] = 1e3;
  }
  const augury_continuum there = {ALL, (const int32_t(*)[3])node, mass, (const double(*)[3])outward, u};
  for (int accepts = 0; accepts < 2; ++accepts) {
    const augury_options o = {.accepts_sliding_change = accepts, .max_iterations = 5, .tolerance = 1e-12, .side = s.side};
    augury_result        r;
    augury_near         *near;
    augury              *a;
    step_status          status = {STEP_OK, NULL, -1};
    lay(&s, 1, z, w, n);
    memset(u, 0, sizeof u);
    assert_ok(augury_near_create(&s.b, s.body, dx, &near));
    augury_near_set_open(near, s.is_open);
    augury_near_set_continuum(near, &there);
    assert_ok(augury_near_find(near, s.x, s.v, s.active, &s.n_active));
    augury_near_sides(near, s.x, s.v, s.normal, s.side);
    assert_int_equal(s.n_active, SHEET_TRIANGLES);
    assert_int_equal(s.side[middle(0)], 1);
    memset(s.side, 0, sizeof s.side);
    assert_ok(augury_create(&s.b, s.x, dx, &a));
    augury_set_continuum(a, &there);
    assert_ok(augury_begin(a, s.x, s.active, &status));
    assert_ok(augury_solve(a, &o, s.normal, s.v, s.A, &r));
    assert_true(fabs(s.v[3 * middle(0) + 2]) < 0.01);
    if (accepts) assert_int_equal(r.iterations, 0); /* no change to undo */
    /* Nothing that moves with it is near it. */
    for (int i = 0; i < SHEET_NODES; ++i) v3_set(s.v + 3 * i, 0.0, 0.0, 1.0);
    for (int i = 0; i < ALL; ++i) v3_set(u + 3 * i, 0.0, 0.0, 1.0);
    assert_ok(augury_near_find(near, s.x, s.v, s.active, &s.n_active));
    assert_int_equal(s.n_active, 0);
    augury_destroy(&a);
    augury_near_destroy(&near);
  }
  assert_no_leak();
}

/* A folded sheet has self-contact on either side; a flat or bent sheet has none, even when strained. */
static void folded_sheet_has_self_contact(void **state)
{
  (void)state;
  static sheets s;
  const double  dx = 1.0 / (SIDE - 1), z[1] = {0.0}, w[1] = {0.0};
  for (int turned = 0; turned < 2; ++turned) {
    const double n[1] = {turned ? -1.0 : 1.0};
    lay(&s, 1, z, w, n);
    for (int i = 0; i < SHEET_NODES; ++i) v3_set(s.v + 3 * i, -s.x[3 * i], -s.x[3 * i + 1], 0.0);
    find(&s, dx);
    assert_int_equal(s.n_active, 0);
    for (int i = 0; i < SHEET_NODES; ++i) { /* rolled around 3/4, shrinking */
      const double angle = s.x[3 * i] / 0.75, r[3] = {0.75 * sin(angle), 0.0, -0.75 * cos(angle)};
      s.x[3 * i] = r[0], s.x[3 * i + 2] = r[2];
      v3_scale(s.v + 3 * i, -1.0, r);
      v3_scale(s.normal + 3 * i, (turned ? 1.0 : -1.0) / 0.75, r);
    }
    find(&s, dx);
    assert_int_equal(s.n_active, 0);
    lay(&s, 1, z, w, n);
    for (int i = 0; i < SHEET_NODES; ++i) { /* folded over at x = 1/2, half a cell above, the upper half coming down */
      if (s.x[3 * i] <= 0.5) continue;
      s.x[3 * i] = 1.0 - s.x[3 * i], s.x[3 * i + 2] = 0.5 * dx;
      s.v[3 * i + 2] = -1.0, s.normal[3 * i + 2] *= -1.0;
    }
    find(&s, dx);
    assert_true(s.n_active > 0);
    const int below = SIDE * (SIDE / 2) + 1, above = SIDE * (SIDE / 2) + 7;
    assert_int_equal(s.side[below], turned ? -1 : 1);
    assert_int_equal(s.side[above], turned ? -1 : 1); /* its normal has turned over with it */
    solve(&s, dx, true, 5);
    assert_true(s.v[3 * below + 2] - s.v[3 * above + 2] < 0.2);
    /* At rest it is not on its own side: another below it is. */
    const double two_z[2] = {0.0, -0.4 * dx}, two_w[2] = {0.0, 0.0}, two_n[2] = {n[0], 1.0};
    lay(&s, 2, two_z, two_w, two_n);
    for (int i = 0; i < SHEET_NODES; ++i)
      if (s.x[3 * i] > 0.5) s.x[3 * i] = 1.0 - s.x[3 * i], s.x[3 * i + 2] = 0.5 * dx, s.normal[3 * i + 2] *= -1.0;
    find(&s, dx);
    assert_int_equal(s.side[below], turned ? 1 : -1);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(sides_point_to_other_bodies), cmocka_unit_test(side_of_a_touching_body),
          cmocka_unit_test(sheets_stop_for_both_orientations), cmocka_unit_test(sheet_between_two_sheets_stops),
          cmocka_unit_test(sheet_in_contact_with_a_continuum), cmocka_unit_test(sheet_inside_a_continuum_moves_with_it),
          cmocka_unit_test(folded_sheet_has_self_contact))
