/* Two edges as the origin and a parallelogram: against closed forms, against themselves with exchanged edges, and the conditions
 * for a contact. */
#include "test.h"
#include "contact/penalty/penalty_edges.h"
#include "core/math3.h"
#include "core/random.h"
#include <float.h>
#include <string.h>

static const double origin[3] = {0.0, 0.0, 0.0};

static edge_patch patches[EDGE_PATCHES];

static void relax(const double a[6], const double b[6], double mu, double s, double t, mesh_relaxation *out)
{
  double chains[24] = {0.0}, corners[3 * EDGE_CORNERS]; /* edges that are all of their lines: the first patch */
  memcpy(chains + 3, a, 6 * sizeof *a);
  memcpy(chains + 15, b, 6 * sizeof *b);
  const mesh_attachment X = edge_patch_attachment(&patches[0], (const double[2]){s, t});
  edge_patch_corners(chains, chains + 12, corners);
  relax_mesh(patches[0].topology, corners, mu, &X, origin, false, out);
}

static void fractions(const mesh_attachment *X, double *s, double *t)
{
  int    cell[2];
  double at[2];
  edge_patch_fractions(&patches[0], X, cell, at);
  assert_true(cell[0] == 1 && cell[1] == 1);
  *s = at[0], *t = at[1];
}

/* The patches exist during each test. */
static int patches_setup(void **state)
{
  (void)state;
  memset(patches, 0, sizeof patches);
  return edge_patches_create(patches) ? 1 : 0;
}
static int patches_teardown(void **state)
{
  edge_patches_destroy(patches);
  return test_check_leaks(state);
}

static void test_fractions(void **unused)
{
  (void)unused;
  for (uint64_t i = 0; i < 10000; ++i) {
    const edge_patch *p = &patches[i % EDGE_PATCHES];
    double            st[2], back[2], again[2];
    int               cell[2];
    for (uint64_t k = 0; k < 2; ++k) {
      st[k] = random_range(1, i, k, -0.1, 1.1);
      st[k] = st[k] < 0.0 ? 0.0 : st[k] > 1.0 ? 1.0 : st[k];
    }
    mesh_attachment X = edge_patch_attachment(p, st);
    for (int k = 0; k < 3; ++k) assert_true(X.weight[k] >= 0.0);
    edge_patch_fractions(p, &X, cell, back);
    assert_true(cell[0] == 1 && cell[1] == 1);
    X = edge_patch_attachment(p, back);
    edge_patch_fractions(p, &X, cell, again);
    for (int k = 0; k < 2; ++k) {
      assert_close(back[k], st[k], DBL_EPSILON);
      assert_true(again[k] == back[k]); /* a resting edge does not creep by round-off */
      if (st[k] == 0.0 || st[k] == 1.0) assert_true(back[k] == st[k]);
    }
  }
}

/* Straight lines of three edges each are as good as one edge: the same place, cell for cell. */
static void test_patches(void **unused)
{
  (void)unused;
  bool seen[9] = {false};
  for (uint64_t i = 0; i < 3000; ++i) {
    double          a[12], b[12], corners[3 * EDGE_CORNERS], at[2];
    int             cell[2];
    mesh_relaxation r;
    const double    x = random_range(3, i, 0, -1.4, 1.4), y = random_range(3, i, 1, -1.4, 1.4), mu = i % 2 ? 0.5 : 0.0, h = 0.1;
    const int32_t   present[EDGE_CHAIN] = {0, 1, 2, 3};
    for (int k = 0; k < EDGE_CHAIN; ++k) v3_set(a + 3 * k, k - 1.5 + x, 0.0, -h), v3_set(b + 3 * k, 0.0, k - 1.5 + y, 0.0);
    const edge_patch     *p = &patches[edge_patch_of(present, present)];
    const mesh_attachment X = edge_patch_attachment(p, (const double[2]){0.5, 0.5}); /* first met at x = y = 0 */
    edge_patch_corners(a, b, corners);
    relax_mesh(p->topology, corners, mu, &X, origin, false, &r);
    edge_patch_fractions(p, &r.at, cell, at);
    seen[3 * cell[0] + cell[1]] = true;
    const double way = hypot(x, y), left = way > mu * h ? mu * h / way : 1.0;
    assert_close(cell[0] + at[0], 1.5 - (1.0 - left) * x, 1e-14);
    assert_close(cell[1] + at[1], 1.5 - (1.0 - left) * y, 1e-14);
  }
  for (int k = 0; k < 9; ++k) assert_true(seen[k]);
  for (int k = 0; k < EDGE_PATCHES; ++k) { /* the other patches lack the parts that their chains lack */
    const int32_t     a[EDGE_CHAIN] = {k & 1 ? 5 : -1, 6, 7, k & 2 ? 8 : -1}, b[EDGE_CHAIN] = {k & 4 ? 5 : -1, 6, 7, k & 8 ? 8 : -1};
    const edge_patch *p = &patches[edge_patch_of(a, b)];
    int               n = 0;
    for (int c = 0; c < 9; ++c) {
      const bool is_there = a[c / 3] >= 0 && a[c / 3 + 1] >= 0 && b[c % 3] >= 0 && b[c % 3 + 1] >= 0;
      if (is_there) assert_int_equal(p->cell[n], c);
      n += is_there;
    }
    assert_int_equal(n, p->n_cells);
    assert_int_equal(p->cell[p->own], 4);
  }
}

/* Edge a along x at height -h, b along y at 0, met at (s, t) of the middle, now moved by (x, y): Coulomb in the plane of both. */
static void test_cone(void **unused)
{
  (void)unused;
  const double h = 0.01, mu = 0.4;
  for (int k = 0; k < 60; ++k) {
    const double    angle = 0.1 * k, way = k % 2 ? 0.0035 : 0.02, x = way * cos(angle), y = way * sin(angle); /* of a against b */
    const double    a[6] = {-0.7 + x, 0.1 + y, -h, 0.3 + x, 0.1 + y, -h}, b[6] = {0.0, -0.4, 0.0, 0.0, 0.6, 0.0};
    mesh_relaxation r;
    double          s, t;
    relax(a, b, mu, 0.7, 0.5, &r); /* first met at x = 0 of both, y = 0.1 */
    fractions(&r.at, &s, &t);
    const double left = way > mu * h ? mu * h / way : 1.0; /* of the way, held by friction */
    assert_close(r.Y[0], -left * x, 1e-15);                /* b(t) - a(s), away from the motion of a */
    assert_close(r.Y[1], -left * y, 1e-15);
    assert_close(r.Y[2], h, 1e-16);
    assert_close(s, 0.7 - (1.0 - left) * x, 1e-15);
    assert_close(t, 0.5 + (1.0 - left) * y, 1e-15);
    if (left == 1.0) assert_true(s == 0.7 && t == 0.5);
    assert_close(fabs(r.normal[2]), 1.0, 1e-15);
  }
}

/* a is b and b is a: the same places and forces, with the other sign. */
static void test_exchange(void **unused)
{
  (void)unused;
  int n_rim = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    double          ends[12], s[2], t[2];
    mesh_relaxation r, q;
    for (uint64_t k = 0; k < 12; ++k) ends[k] = random_range(2, i, k, -1.0, 1.0);
    const double mu = random_range(2, i, 20, -0.3, 1.0), at[2] = {random_range(2, i, 21, 0.0, 1.0), random_range(2, i, 22, 0.0, 1.0)};
    relax(ends, ends + 6, fmax(mu, 0.0), at[0], at[1], &r);
    relax(ends + 6, ends, fmax(mu, 0.0), at[1], at[0], &q);
    fractions(&r.at, &s[0], &t[0]);
    fractions(&q.at, &t[1], &s[1]);
    n_rim += s[0] == 0.0 || s[0] == 1.0 || t[0] == 0.0 || t[0] == 1.0;
    assert_close(s[0], s[1], 1e-9);
    assert_close(t[0], t[1], 1e-9);
    for (int k = 0; k < 3; ++k) {
      assert_close(r.Y[k], -q.Y[k], 1e-9);
      assert_close(r.normal[k], -q.normal[k], 1e-9);
    }
  }
  assert_true(n_rim > 300 && n_rim < 2900);
}

/* ---- which crossings are contacts ------------------------------------------------------------------------------------------------ */

/* Edge along x (a) or y (b), its triangles falling by `slope` to the left and right, a's roof pointing down: positions [4][3]. */
static void roof(double *x, bool is_a, double left, double right, double height)
{
  const double sign        = is_a ? 1.0 : -1.0; /* a's sides rise, b's fall */
  const double along[4][3] = {{-0.5, 0, 0}, {0.5, 0, 0}, {0.1, 1, sign * left}, {-0.1, -1, sign * right}};
  for (int i = 0; i < 4; ++i) {
    v3_copy(x + 3 * i, along[i]);
    if (!is_a) v3_set(x + 3 * i, -along[i][1], along[i][0], along[i][2]);
    x[3 * i + 2] += height;
  }
}

static bool meets(const edge_star star[2], double left_a, double right_a, double left_b, double right_b, double from, double to, int *side)
{
  double x0[24], x1[24], at[3];
  roof(x0, true, left_a, right_a, from);
  roof(x1, true, left_a, right_a, to);
  roof(x0 + 12, false, left_b, right_b, 0.0);
  roof(x1 + 12, false, left_b, right_b, 0.0);
  x0[2] += 1e-3, x1[2] += 1e-3; /* not quite level */
  if (!edge_pair_collides(star, x0, x1, false, side, at)) return false;
  assert_close(at[0], 0.5, 1e-8);
  assert_close(at[1], 0.5, 1e-8);
  return true;
}

static void test_outermost(void **unused)
{
  (void)unused;
  const edge_star open = {{0, 1, 2, 3}, false}, border = {{0, 1, 2, -1}, false}, open2[2] = {open, open}, borders[2] = {border, border};
  const edge_star low[2] = {open, {{0, 1, 2, 3}, true}}; /* b's first triangle runs 0, 1, 2: its outside is above */
  int             up, down;
  assert_true(meets(open2, 1, 1, 1, 1, 0.1, -0.1, &up));    /* ridge on ridge, from above */
  assert_false(meets(open2, 1, 1, 1, 1, -0.1, 0.1, &down)); /* from below: valleys */
  assert_true(meets(open2, -1, -1, -1, -1, -0.1, 0.1, &down));
  assert_int_equal(up, -down);
  assert_false(meets(open2, 1, 1, -1, -1, 0.1, -0.1, &up)); /* into a valley */
  assert_false(meets(open2, -1, -1, 1, 1, 0.1, -0.1, &up));
  assert_false(meets(open2, 1, -1, 1, 1, 0.1, -0.1, &up));   /* a is a slope */
  assert_true(meets(open2, 0, 0, 1, 1, 0.1, -0.1, &up));     /* a sheet on a ridge */
  assert_true(meets(open2, 0, 1, 0, 1, 0.1, -0.1, &up));     /* rims of flat faces */
  assert_false(meets(open2, 0, 0, 0, 0, 0.1, -0.1, &up));    /* within flat faces */
  assert_true(meets(open2, -0.04, 1, 1, 1, 0.1, -0.1, &up)); /* surfaces sink in: a little is allowed */
  assert_false(meets(open2, -0.06, 1, 1, 1, 0.1, -0.1, &up));
  assert_true(meets(borders, 1, 5, 1, 5, 0.1, -0.1, &up)); /* borders have one side */
  assert_true(meets(borders, -1, 5, -1, 5, -0.1, 0.1, &up));
  assert_false(meets(borders, -1, 5, 1, 5, 0.1, -0.1, &up));
  assert_true(meets(low, 1, 1, 1, 1, 0.1, -0.1, &up));
  assert_false(meets(low, -1, -1, -1, -1, -0.1, 0.1, &up)); /* from inside of b */
}

static void test_ends_and_parallels(void **unused)
{
  (void)unused;
  const edge_star star[2] = {{{0, 1, 2, 3}, false}, {{0, 1, 2, 3}, false}};
  double          x0[24], x1[24];
  int             side, n = 0;
  double          met[3];
  for (int k = 0; k < 5;
       ++k) { /* the middle of b reaches a, moved along itself, at fractions 0.5, 1e-3, 1e-7, 1e-11, -1e-3. Points beside a
                                 * triangle collide within 1e-10: no contact vanishes between points and edges */
    const double at[] = {0.5, 1e-3, 1e-7, 1e-11, -1e-3};
    roof(x0, true, 1, 1, 0.1);
    roof(x1, true, 1, 1, -0.1);
    roof(x0 + 12, false, 1, 1, 0.0);
    roof(x1 + 12, false, 1, 1, 0.0);
    for (int i = 0; i < 4; ++i) x0[3 * i] += 0.5 - at[k], x1[3 * i] += 0.5 - at[k];
    const bool meets = edge_pair_collides(star, x0, x1, false, &side, met);
    assert_int_equal(meets, k < 3);
    n += meets;
    if (meets) assert_close(met[2], 0.5, 1e-8); /* time */
  }
  assert_int_equal(n, 3);
  for (int k = 0; k < 2; ++k) { /* turned towards each other to an angle of 0.01 and of 1e-4 */
    const double angle = k == 0 ? 0.01 : 1e-4;
    roof(x0 + 12, false, 1, 1, 0.0);
    for (int i = 0; i < 4; ++i) {
      const double *p = x0 + 12 + 3 * i;
      v3_set(x0 + 3 * i, cos(angle) * p[0] - sin(angle) * p[1], sin(angle) * p[0] + cos(angle) * p[1], -p[2]);
    }
    memcpy(x1, x0, sizeof x1);
    for (int i = 0; i < 4; ++i) x0[3 * i + 2] += 0.1, x1[3 * i + 2] -= 0.1;
    assert_int_equal(edge_pair_collides(star, x0, x1, false, &side, met), k == 0);
  }
}

/* Edges that have crossed, with the depth and the place of the crossing. Their triangles extend beyond the ends of the edges; crossings
 * there belong to points. */
static void test_crossed(void **unused)
{
  static const struct {
    double height, along_a, along_b; /* of a above b; where a and b cross, as fractions of the edges */
    bool   is_crossed;
  } cases[]               = {{-0.1, 0.5, 0.5, true},    {-0.1, 0.7, 0.2, true},   {0.1, 0.5, 0.5, false},   {-0.1, 0.999, 0.5, true},
                             {-0.1, 0.001, 0.5, true},  {-0.1, 0.5, 0.999, true}, {-0.1, 0.5, 0.001, true}, {-0.1, 1.1, 0.5, false},
                             {-0.1, -0.1, 0.5, false},  {-0.1, 0.5, 1.1, false},  {-0.1, 0.5, -0.1, false}, {-0.1, 1.0 + 1e-7, 0.5, false},
                             {-0.1, 1e-11, 0.5, false}, {-0.1, 1e-7, 0.5, true}};
  const edge_star star[2] = {{{0, 1, 2, 3}, false}, {{0, 1, 2, 3}, false}};
  (void)unused;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    double x[24], at[3], depth;
    int    side, before;
    roof(x, true, 1, 1, cases[k].height);
    roof(x + 12, false, 1, 1, 0.0);
    for (int i = 0; i < 4; ++i) { /* third nodes at 3 m along the edge, one to each side */
      if (i >= 2) x[3 * i] = i == 2 ? 3.0 : -3.0, x[12 + 3 * i + 1] = i == 2 ? 3.0 : -3.0;
      x[3 * i] += 0.5 - cases[k].along_a, x[12 + 3 * i + 1] += 0.5 - cases[k].along_b;
    }
    assert_int_equal(edge_pair_is_crossed(star, x, &side, at, &depth), cases[k].is_crossed);
    if (!cases[k].is_crossed) continue;
    assert_close(depth, 0.1, 1e-15);
    assert_close(at[0], cases[k].along_a, 1e-14);
    assert_close(at[1], cases[k].along_b, 1e-14);
    double above[24]; /* the collision from above has the opposite side: then b was below a */
    roof(above, true, 1, 1, 0.1);
    memcpy(above + 12, x + 12, 12 * sizeof *x);
    for (int i = 0; i < 4; ++i) above[3 * i] = x[3 * i], above[3 * i + 1] = x[3 * i + 1], above[3 * i + 2] = x[3 * i + 2] + 0.2;
    assert_true(edge_pair_collides(star, above, x, false, &before, at));
    assert_int_equal(side, before);
  }
  for (int narrow = 0; narrow < 4; ++narrow) { /* the edge of one passes the narrow triangles of the other; one that pierces suffices */
    double x[24], at[2], depth;
    int    side;
    roof(x, true, 1, 1, -0.1);
    roof(x + 12, false, 1, 1, 0.0);
    for (int i = 2; i < 4; ++i) {
      if (narrow & 1) x[3 * i + 1] *= 0.05, x[3 * i + 2] = -0.1 + 0.05 * (x[3 * i + 2] + 0.1);
      if (narrow & 2) x[12 + 3 * i] *= 0.05, x[12 + 3 * i + 2] *= 0.05;
    }
    assert_int_equal(edge_pair_is_crossed(star, x, &side, at, &depth), narrow < 3);
  }
}

/* The outside at an edge of a closed surface is the sum of the unit normals of its triangles and does not depend on their sizes: one side falls by 37
 * degrees, the other is folded under it. */
static void test_outside_of_folds(void **unused)
{
  static const double sizes[] = {0.01, 1.0, 100.0}, up[3] = {0.0, 0.0, 1.0}, down[3] = {0.0, 0.0, -1.0};
  const edge_star     star = {{0, 1, 2, 3}, true};
  (void)unused;
  for (int k = 0; k < 9; ++k) {
    const double a = sizes[k / 3], b = sizes[k % 3];
    /* the heights of the normals are 0.8 and -0.6, in this order or the other */
    const double x[12]     = {0, -1, 0, 0, 1, 0, -0.8 * a, 0, -0.6 * a, -0.6 * b, 0, -0.8 * b};
    const double other[12] = {0, -1, 0, 0, 1, 0, 0.6 * a, 0, -0.8 * a, 0.8 * b, 0, -0.6 * b};
    assert_int_equal(edge_star_is_outermost(&star, x, up), true);
    assert_int_equal(edge_star_is_outermost(&star, other, up), true);
    assert_int_equal(edge_star_is_outermost(&star, x, down), false);
    assert_int_equal(edge_star_is_outermost(&star, other, down), false);
  }
}

static void test_star(void **unused)
{
  (void)unused;
  const int32_t      tri[6] = {0, 1, 2, 2, 1, 3};
  triangle_topology *t;
  assert_ok(triangle_topology_create(4, 2, tri, &t));
  int n_inner = 0;
  for (int32_t e = 0; e < t->n_edges; ++e) {
    edge_star star;
    edge_star_fill(t, false, e, &star);
    const int32_t *v = t->edge + 2 * e;
    assert_true((star.node[0] == v[0] && star.node[1] == v[1]) || (star.node[0] == v[1] && star.node[1] == v[0]));
    /* the first triangle runs along it */
    const int32_t *c    = tri + 3 * (int64_t)t->edge_triangle[2 * e];
    bool           runs = false;
    for (int i = 0; i < 3; ++i) runs |= c[i] == star.node[0] && c[(i + 1) % 3] == star.node[1] && c[(i + 2) % 3] == star.node[2];
    assert_true(runs);
    if (star.node[3] < 0) continue;
    ++n_inner;
    assert_int_equal(star.node[2], 0);
    assert_int_equal(star.node[3], 3);
  }
  assert_int_equal(n_inner, 1);
  triangle_topology_destroy(&t);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(test_fractions, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_patches, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_cone, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_exchange, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_outermost, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_ends_and_parallels, patches_setup, patches_teardown),
          cmocka_unit_test_setup_teardown(test_star, patches_setup, patches_teardown), cmocka_unit_test(test_crossed),
          cmocka_unit_test(test_outside_of_folds))
