/* Touches of two convex solids. Each gap is verified: both points lie on the surfaces, and a slab of that thickness separates the
 * solids. For overlapping solids no tested direction has a smaller penetration. */
#include "convex_zoo.h"

enum { TRIALS = test_samples(150) };
static const double MARGIN = 0.05;
/* Lengths are about 1, with a few hundred operations. Touches at rims are found by iteration, with errors of a few 1e-7. */
static double exact(const placed *a, const placed *b)
{
  return a->pose.kind == CONVEX_CYLINDER || b->pose.kind == CONVEX_CYLINDER ? 2e-6 : 1e-9;
}

/* For every touch both points lie on the surfaces. The ball at the upper end of a capsule may touch at a point inside its
 * cylinder. */
static void assert_on_surfaces(const placed *a, const placed *b, const convex_touches *t, uint64_t trial)
{
  for (int k = 0; k < t->n; ++k) {
    const convex_touch *o = &t->touch[k];
    double              p[3], q[3];
    v3_copy(p, o->x);
    v3_axpy(p, 0.5 * o->gap, o->normal);
    v3_copy(q, o->x);
    v3_axpy(q, -0.5 * o->gap, o->normal);
    double on_a = placed_phi(a, p), on_b = placed_phi(b, q);
    if (k != zoo_deepest(t) && a->pose.kind == CONVEX_CAPSULE && on_a > -0.2) on_a = fmax(0.0, on_a);
    if (k != zoo_deepest(t) && b->pose.kind == CONVEX_CAPSULE && on_b > -0.2) on_b = fmax(0.0, on_b);
    if (!(fabs(on_a) <= exact(a, b) && fabs(on_b) <= exact(a, b) && fabs(v3_norm(o->normal) - 1.0) <= 1e-12))
      fail_msg("%d against %d, trial %d touch %d of %d (%x): on a %g, on b %g, gap %g", (int)a->pose.kind, (int)b->pose.kind, (int)trial, k,
               t->n, (unsigned)o->feature, on_a, on_b, o->gap);
    for (int l = 0; l < k; ++l)
      if (t->touch[l].feature == o->feature)
        fail_msg("trial %d: touches %d and %d have the same feature %x", (int)trial, l, k, (unsigned)o->feature);
  }
}

/* Disjoint solids: the smallest gap is the distance, for any margin that includes it. */
static void test_apart(void **state)
{
  (void)state;
  zoo    z;
  placed a, b;
  zoo_create(&z);
  for (int i = 0; i < ZOO_SIZE; ++i)
    for (int j = 0; j < ZOO_SIZE; ++j) {
      if (i == ZOO_WALL && j == ZOO_WALL) continue;
      for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        convex_touches t;
        const double   gap = pow(10.0, random_range(3, trial, 9, -7.0, -1.4));
        zoo_pose(&z, i, j, trial, gap, &a, &b);
        convex_pair_touches(&a.pose, &b.pose, MARGIN, &t);
        if (t.n == 0) fail_msg("%d against %d, trial %d: nothing within %g, though %g apart", i, j, (int)trial, MARGIN, gap);
        const convex_touch *o    = &t.touch[zoo_deepest(&t)];
        const double        slab = placed_separation(&a, &b, o->normal);
        /* accuracy of a direction from two points at this distance, with coordinates of order 1 */
        const double aim = 4.0 * 2.22e-16 / gap;
        if (!(fabs(slab - o->gap) <= exact(&a, &b) + aim && fabs(o->gap - gap) <= exact(&a, &b)))
          fail_msg("%d against %d, trial %d: gap %.12g (%x), slab %.12g, true %.12g", i, j, (int)trial, o->gap, (unsigned)o->feature, slab,
                   gap);
        assert_on_surfaces(&a, &b, &t, trial);
        convex_pair_touches(&a.pose, &b.pose, 0.9 * gap, &t);
        if (gap > 10.0 * exact(&a, &b)) assert_int_equal(t.n, 0);
      }
    }
  zoo_destroy(&z);
  assert_no_leak();
}

/* Small penetration: the gap is the imposed depth, unless another direction has a smaller one; no tested direction is better. */
static void test_overlap(void **state)
{
  (void)state;
  zoo    z;
  placed a, b;
  zoo_create(&z);
  for (int i = 0; i < ZOO_SIZE; ++i)
    for (int j = 0; j < ZOO_SIZE; ++j)
      for (uint64_t trial = 0; trial < TRIALS / 3; ++trial) {
        if (i == ZOO_WALL && j == ZOO_WALL) continue;
        convex_touches t;
        const bool     is_rim = i == ZOO_CYLINDER || j == ZOO_CYLINDER; /* for rims the search for the axis is local */
        const double   depth  = pow(10.0, random_range(4, trial, 1, -9.0, is_rim ? -3.0 : -2.0));
        zoo_pose(&z, i, j, 5000 + trial, -depth, &a, &b);
        convex_pair_touches(&a.pose, &b.pose, MARGIN, &t);
        if (t.n == 0 && depth < 1e-5) continue; /* corners and edges with tiny penetration have no common area */
        if (t.n == 0) fail_msg("%d in %d, trial %d: overlap of %g not found", i, j, (int)trial, depth);
        assert_on_surfaces(&a, &b, &t, trial);
        const convex_touch *o    = &t.touch[zoo_deepest(&t)];
        const double        slab = placed_separation(&a, &b, o->normal);
        const double        hair = exact(&a, &b) + 3e-6; /* tolerance for corners close to each other */
        if (!(o->gap <= exact(&a, &b) && o->gap >= -depth - exact(&a, &b) && slab <= o->gap + exact(&a, &b) && slab >= o->gap - hair))
          fail_msg("%d in %d, trial %d: gap %.12g, slab %.12g, depth %g", i, j, (int)trial, o->gap, slab, depth);
        /* random directions, and directions close to the normal */
        for (uint64_t d = is_rim ? 200 : 0; d < 300 && i != ZOO_WALL && j != ZOO_WALL; ++d) {
          double m[3];
          random_direction(6, 1000 * trial + d, 2, m);
          if (d >= 100) v3_scale(m, d < 200 ? 0.1 : 1e-3, m), v3_axpy(m, 1.0, o->normal), v3_scale(m, 1.0 / v3_norm(m), m);
          const double other = placed_separation(&a, &b, m);
          if (!(other <= slab + exact(&a, &b)))
            fail_msg("%d in %d, trial %d: overlap %.12g, but %.12g along another direction", i, j, (int)trial, o->gap, other);
        }
      }
  zoo_destroy(&z);
  assert_no_leak();
}

/* Exchanging a and b changes only the sign of the normal. */
static void test_symmetry(void **state)
{
  (void)state;
  zoo    z;
  placed a, b;
  zoo_create(&z);
  for (int i = 0; i < ZOO_SIZE; ++i)
    for (int j = 0; j < ZOO_SIZE; ++j) {
      if (i == ZOO_WALL && j == ZOO_WALL) continue;
      for (uint64_t trial = 0; trial < TRIALS / 3; ++trial) {
        convex_touches ab, ba;
        zoo_pose(&z, i, j, 9000 + trial, random_range(3, trial, 9, -0.01, 0.04), &a, &b);
        convex_pair_touches(&a.pose, &b.pose, MARGIN, &ab);
        convex_pair_touches(&b.pose, &a.pose, MARGIN, &ba);
        if (exact(&a, &b) > 1e-8) { /* touches within the tolerance may be missing: compare the deepest ones */
          ab.touch[0] = ab.touch[zoo_deepest(&ab)];
          ab.n        = 1;
        } else if (ab.n != ba.n) fail_msg("%d against %d, trial %d: %d touches, and %d after exchange", i, j, (int)trial, ab.n, ba.n);
        for (int k = 0; k < ab.n; ++k) {
          double least = INFINITY;
          for (int l = 0; l < ba.n; ++l) {
            double d[3], m[3];
            v3_sub(d, ab.touch[k].x, ba.touch[l].x);
            v3_add(m, ab.touch[k].normal, ba.touch[l].normal);
            least = fmin(least, v3_norm(d) + v3_norm(m) + fabs(ab.touch[k].gap - ba.touch[l].gap));
          }
          if (!(least <= 100.0 * exact(&a, &b))) fail_msg("%d against %d, trial %d: touch %d differs by %g", i, j, (int)trial, k, least);
        }
      }
    }
  zoo_destroy(&z);
  assert_no_leak();
}

/* A motion of 1e-6 changes the smallest gap by no more than the largest displacement of a point. */
static void test_continuity(void **state)
{
  (void)state;
  zoo    z;
  placed a, b, c;
  zoo_create(&z);
  for (int i = 0; i < ZOO_WALL; ++i)
    for (int j = 0; j < ZOO_SIZE; ++j)
      for (uint64_t trial = 0; trial < TRIALS / 3; ++trial) {
        convex_touches before, after;
        double         shift[3], turn[3], Q[9], R[9];
        const double   step = 1e-6;
        zoo_pose(&z, i, j, 20000 + trial, random_range(3, trial, 9, -0.005, 0.03), &a, &b);
        random_direction(8, trial, 0, turn);
        random_direction(8, trial, 1, shift);
        v3_scale(turn, step, turn);
        rotation_exp(Q, turn);
        m3_mul(R, Q, a.R);
        v3_axpy(a.c, 0.0, shift);
        v3_scale(shift, step, shift);
        v3_add(shift, shift, a.c);
        placed_set(&c, a.s, shift, R);
        convex_pair_touches(&a.pose, &b.pose, 0.1, &before);
        convex_pair_touches(&c.pose, &b.pose, 0.1, &after);
        if (before.n == 0 || after.n == 0) continue; /* not within the margin */
        const double change = after.touch[zoo_deepest(&after)].gap - before.touch[zoo_deepest(&before)].gap;
        if (!(fabs(change) <= 2.5 * step))
          fail_msg("%d against %d, trial %d: gap %g changes by %g", i, j, (int)trial, before.touch[zoo_deepest(&before)].gap, change);
      }
  zoo_destroy(&z);
  assert_no_leak();
}

/* ---- faces ---- */

/* Clip a polygon to the left side of a -> b. */
static int cut(int n, double (*p)[2], const double *a, const double *b)
{
  double out[32][2];
  int    m = 0;
  for (int i = 0; i < n; ++i) {
    const double *x = p[i], *y = p[(i + 1) % n];
    const double  s = (b[0] - a[0]) * (x[1] - a[1]) - (b[1] - a[1]) * (x[0] - a[0]),
                 t  = (b[0] - a[0]) * (y[1] - a[1]) - (b[1] - a[1]) * (y[0] - a[0]);
    if (s >= 0.0) out[m][0] = x[0], out[m][1] = x[1], ++m;
    if (s * t < 0.0) out[m][0] = x[0] + s / (s - t) * (y[0] - x[0]), out[m][1] = x[1] + s / (s - t) * (y[1] - x[1]), ++m;
  }
  memcpy(p, out, sizeof out);
  return m;
}

static double farthest(int n, double (*p)[2], const double *d)
{
  double most = -INFINITY;
  for (int i = 0; i < n; ++i) most = fmax(most, p[i][0] * d[0] + p[i][1] * d[1]);
  return most;
}

/* A box on a box, rotated about the normal and shifted. The touches span the common area of the two faces; there are at most eight,
 * and their number and features do not change under perturbations of the pose by 1e-9. */
static void test_faces(void **state)
{
  (void)state;
  zoo    z;
  placed a, b;
  zoo_create(&z);
  for (uint64_t trial = 0; trial < 400; ++trial) {
    const double angle = trial == 0 ? 0.0 : random_range(1, trial, 0, -1.0, 1.0), gap = 1e-4;
    const double c[3] = {trial == 0 ? 0.0 : random_range(1, trial, 1, -0.8, 0.8), trial == 0 ? 0.0 : random_range(1, trial, 2, -0.8, 0.8),
                         0.32 + gap};
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, O[3] = {0, 0, 0},
                 R[9] = {cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1};
    placed_set(&b, z.s[ZOO_BOX], O, identity); /* its top at 0.3 */
    placed_set(&a, z.s[ZOO_PLATE], c, R);      /* its bottom at c_z - 0.02 */
    double       p[32][2], q[16][2];
    const double corner[4][2] = {{-0.6, -0.5}, {0.5, -0.5}, {0.5, 0.6}, {-0.6, 0.6}},
                 side[4][2]   = {{-0.4, -0.3}, {0.3, -0.3}, {0.3, 0.4}, {-0.4, 0.4}};
    for (int k = 0; k < 4; ++k)
      for (int d = 0; d < 2; ++d) p[k][d] = c[d] + R[3 * d] * corner[k][0] + R[3 * d + 1] * corner[k][1];
    int n = 4;
    for (int k = 0; k < 4; ++k) n = cut(n, p, side[k], side[(k + 1) % 4]);
    convex_touches t;
    convex_pair_touches(&a.pose, &b.pose, 0.001, &t);
    if (n == 0) {
      assert_int_equal(t.n, 0);
      continue;
    }
    assert_on_surfaces(&a, &b, &t, trial);
    assert_true(t.n >= 3 && t.n <= 8);
    for (int k = 0; k < t.n; ++k) {
      assert_close(t.touch[k].normal[2], 1.0, 1e-12);
      assert_close(t.touch[k].gap, gap, exact(&a, &b));
      q[k][0] = t.touch[k].x[0], q[k][1] = t.touch[k].x[1];
    }
    for (int k = 0; k < 64; ++k) { /* equal support functions: equal convex hulls, except for merged points */
      const double d[2] = {cos(2 * M_PI * k / 64), sin(2 * M_PI * k / 64)};
      assert_close(farthest(t.n, q, d), farthest(n, p, d), 3e-5);
    }
    for (uint64_t wobble = 0; wobble < 4; ++wobble) {
      double         theta[3], Q[9], RR[9];
      convex_touches again;
      random_direction(2, trial, wobble, theta);
      v3_scale(theta, 1e-9, theta);
      rotation_exp(Q, theta);
      m3_mul(RR, Q, R);
      placed w;
      placed_set(&w, z.s[ZOO_PLATE], c, RR);
      convex_pair_touches(&w.pose, &b.pose, 0.001, &again);
      assert_int_equal(again.n, t.n);
      for (int k = 0; k < t.n; ++k) {
        bool is_there = false;
        for (int l = 0; l < t.n; ++l) is_there = is_there || again.touch[l].feature == t.touch[k].feature;
        assert_true(is_there);
      }
    }
  }
  zoo_destroy(&z);
  assert_no_leak();
}

/* ---- special configurations ---- */

static void pair(const shape *s, const double *cs, const shape *t, const double *ct, double margin, convex_touches *out)
{
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  placed       a, b;
  placed_set(&a, s, cs, identity);
  placed_set(&b, t, ct, identity);
  convex_pair_touches(&a.pose, &b.pose, margin, out);
}

/* Two parallel cylinders or capsules touch at both ends of their overlap. A cylinder lying on a plane or face touches along a
 * line, an upright one at more than three points. Boxes edge to edge, and boxes that pass each other with flush sides. */
static void test_special(void **state)
{
  (void)state;
  const shape_segment_spec lying = {{-0.5, 0, 0.25}, {0.5, 0, 0.25}, 0.25}, standing = {{0, 0, 0}, {0, 0, 1}, 0.25};
  const shape_plane_spec   floor_ = {{0, 0, 1}, {NAN, NAN, NAN}, 0, 1};
  const shape_box_spec     slab = {{-2, -2, -1}, {2, 2, 0}}, cube = {{0, 0, 0}, {1, 1, 1}}, bar = {{-0.1, -2, -1}, {0.1, 2, 0}};
  const shape_spec         specs[7] = {
              {.cylinder = &lying, .axis = {0, 0, 1}}, {.capsule = &lying, .axis = {0, 0, 1}}, {.cylinder = &standing, .axis = {0, 0, 1}},
              {.plane = &floor_, .axis = {0, 0, 1}},   {.box = &slab, .axis = {0, 0, 1}},      {.box = &cube, .axis = {0, 0, 1}},
              {.box = &bar, .axis = {0, 0, 1}}};
  shape         *s[7];
  convex_touches t;
  const double   O[3] = {0, 0, 0};
  for (int i = 0; i < 7; ++i) s[i] = zoo_shape(&specs[i]);
  for (int k = 0; k < 2; ++k) {
    pair(s[k], (double[3]){0.3, 0.5 + 1e-4, 0}, s[k], O, 0.01, &t);
    assert_int_equal(t.n, 2);
    for (int i = 0; i < 2; ++i) {
      assert_close(t.touch[i].gap, 1e-4, 1e-14);
      assert_close(t.touch[i].normal[1], 1.0, 1e-14);
    }
    assert_close(fmax(t.touch[0].x[0], t.touch[1].x[0]), 0.5, 1e-14);
    assert_close(fmin(t.touch[0].x[0], t.touch[1].x[0]), -0.2, 1e-14);
    for (int wobble = 0; wobble < 200; ++wobble) { /* ends flush up to round-off */
      pair(s[k], (double[3]){random_range(1, (uint64_t)wobble, 0, -1e-15, 1e-15), 0.5, random_range(1, (uint64_t)wobble, 1, -1e-12, 1e-12)},
           s[k], O, 0.01, &t);
      assert_int_equal(t.n, 2);
      assert_close(fabs(t.touch[0].x[0] - t.touch[1].x[0]), 1.0, 1e-12);
    }
    for (int floor_kind = 3; floor_kind < 5; ++floor_kind) {
      pair(s[k], (double[3]){0.2, 0, 1e-4}, s[floor_kind], O, 0.01, &t);
      assert_int_equal(t.n, 2);
      assert_close(fabs(t.touch[0].x[0] - t.touch[1].x[0]), 1.0, 1e-14);
      for (int i = 0; i < 2; ++i) assert_close(t.touch[i].gap, 1e-4, 1e-14);
    }
  }
  for (int k = 0; k < 2; ++k) { /* across a narrow bar */
    pair(s[k], (double[3]){0.2, 0, 1e-4}, s[6], O, 0.01, &t);
    assert_true(t.n >= 2);
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < t.n; ++i) {
      assert_close(t.touch[i].gap, 1e-4, 1e-14);
      assert_close(t.touch[i].normal[2], 1.0, 1e-12);
      lo = fmin(lo, t.touch[i].x[0]), hi = fmax(hi, t.touch[i].x[0]);
    }
    assert_close(lo, -0.1, 1e-12);
    assert_close(hi, 0.1, 1e-12);
  }
  for (int floor_kind = 3; floor_kind < 5; ++floor_kind) {
    double lo = 0.0, hi = 0.0;
    pair(s[2], (double[3]){0.2, 0.1, 1e-4}, s[floor_kind], O, 0.01, &t);
    assert_int_equal(t.n, 16);
    for (int i = 0; i < t.n; ++i) {
      assert_close(t.touch[i].gap, 1e-4, 1e-14);
      assert_close(hypot(t.touch[i].x[0] - 0.2, t.touch[i].x[1] - 0.1), 0.25, 1e-14);
      lo = fmin(lo, t.touch[i].x[0] - 0.2), hi = fmax(hi, t.touch[i].x[0] - 0.2);
    }
    assert_close(hi - lo, 0.5, 1e-12);
  }
  pair(s[5], (double[3]){1.0, 0.2, 1.001}, s[5], O, 0.01, &t); /* flush: passes */
  assert_int_equal(t.n, 0);
  pair(s[5], (double[3]){1.003, 0.2, 1.004}, s[5], O, 0.01, &t); /* edge to edge, across the corner */
  assert_int_equal(t.n, 1);
  assert_close(t.touch[0].gap, 0.005, 1e-12);
  pair(s[5], (double[3]){1.003, 1.004, 1.012}, s[5], O, 0.02, &t); /* corner to corner */
  assert_int_equal(t.n, 1);
  assert_close(t.touch[0].gap, 0.013, 1e-12);
  pair(s[5], (double[3]){0.9, 0.0, 1.0}, s[5], O, 0.01, &t); /* overhanging, flush at two sides: a strip */
  assert_int_equal(t.n, 4);
  for (int i = 0; i < 7; ++i) shape_destroy(&s[i]);
  assert_no_leak();
}

/* Deep overlap of the sides of two long cylinders, crossed or parallel, with centres that do not face each other: depth and direction follow from the
 * distance of the axes. */
static void test_sides_of_cylinders(void **state)
{
  (void)state;
  const shape_segment_spec along_x = {{-2, 0, 0}, {2, 0, 0}, 0.25}, along_y = {{0, -2, 0}, {0, 2, 0}, 0.25};
  const shape_spec         specs[2] = {{.cylinder = &along_x, .axis = {0, 0, 1}}, {.cylinder = &along_y, .axis = {0, 0, 1}}};
  const double             O[3] = {0, 0, 0}, tolerance = 2e-6;
  shape                   *s[2];
  convex_touches           t;
  for (int i = 0; i < 2; ++i) s[i] = zoo_shape(&specs[i]);
  for (double height = 0.1; height < 0.5; height += 0.1)
    for (int side = -1; side <= 1; side += 2) {
      pair(s[0], (double[3]){0.8, 0.7, side * height}, s[1], O, 0.01, &t);
      assert_true(t.n > 0);
      assert_close(t.touch[zoo_deepest(&t)].gap, height - 0.5, tolerance);
      assert_close(t.touch[zoo_deepest(&t)].normal[2], side, tolerance);
      const double y = side * 0.6 * height, z = 0.8 * height;
      pair(s[0], (double[3]){0.8, y, z}, s[0], O, 0.01, &t);
      assert_true(t.n > 0);
      assert_close(t.touch[zoo_deepest(&t)].gap, height - 0.5, tolerance);
      assert_close(t.touch[zoo_deepest(&t)].normal[1], side * 0.6, tolerance);
      assert_close(t.touch[zoo_deepest(&t)].normal[2], 0.8, tolerance);
    }
  for (int i = 0; i < 2; ++i) shape_destroy(&s[i]);
  assert_no_leak();
}

/* Rotated so that edges of two cubes cross, both at 45 degrees: one touch at the crossing. */
static void test_edges(void **state)
{
  (void)state;
  const shape_box_spec cube  = {{-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}};
  const shape_spec     lower = {.box = &cube, .axis = {1, 0, 0}, .rotate_deg = 45.0},
                   upper     = {.box = &cube, .axis = {0, 1, 0}, .rotate_deg = 45.0};
  shape         *s = zoo_shape(&lower), *t = zoo_shape(&upper);
  convex_touches out;
  for (int k = -3; k <= 3; ++k) {
    const double gap = 1e-3 * k, c[3] = {0.2, 0.1, 2.0 * M_SQRT1_2 + gap}, O[3] = {0, 0, 0};
    pair(t, c, s, O, 0.01, &out);
    assert_int_equal(out.n, 1);
    assert_close(out.touch[0].gap, gap, 1e-12);
    assert_close(out.touch[0].normal[2], 1.0, 1e-12);
    assert_close(out.touch[0].x[0], 0.2, 1e-12);
    assert_close(out.touch[0].x[1], 0.0, 1e-12);
  }
  shape_destroy(&s);
  shape_destroy(&t);
  assert_no_leak();
}

/* A box on an equal box, with a tilt and a rotation about the vertical at the level of rounding: all points are at corners of the common
 * area, although two pairs of edges are on the same line and cross somewhere. */
static void test_coincident_edges(void **state)
{
  (void)state;
  const shape_box_spec cube = {{0, 0, 0}, {1, 1, 1}};
  const shape_spec     spec = {.box = &cube, .axis = {0, 0, 1}};
  shape               *s    = zoo_shape(&spec);
  const double         O[3] = {0, 0, 0}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (uint64_t trial = 0; trial < TRIALS; ++trial) {
    convex_touches t;
    placed         a, b;
    const double   yaw = random_range(7, trial, 0, -1e-10, 1e-10), tilt = random_range(7, trial, 1, -2e-6, 2e-6);
    const double   R[9] = {1, -yaw, tilt, yaw, 1, 0, -tilt, 0, 1};
    placed_set(&a, s, (double[3]){0.4, random_range(7, trial, 2, -1e-10, 1e-10), 1.0}, R);
    placed_set(&b, s, O, identity);
    convex_pair_touches(&a.pose, &b.pose, 0.01, &t);
    assert_int_equal(t.n, 4);
    for (int k = 0; k < t.n; ++k) {
      assert_close(fmin(fabs(t.touch[k].x[0] - 0.4), fabs(t.touch[k].x[0] - 1.0)), 0.0, 1e-5);
      assert_close(fmin(fabs(t.touch[k].x[1]), fabs(t.touch[k].x[1] - 1.0)), 0.0, 1e-5);
    }
  }
  shape_destroy(&s);
  assert_no_leak();
}

/* Contact points of equal area: a disc on a half-space has points within the disc with the mean squared radius of its area; a disc on a second disc
 * shares a lens, whose points lie in both. A tilted disc and a ball have none. */
static void test_equal_area(void **state)
{
  (void)state;
  enum { N = 200 };
  const double up[3] = {0, 0, 1}, R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, low[3] = {0, 0, 0}, high[3] = {0, 0, 0.1}, lower[3] = {0, 0, -0.1},
               aside[3] = {0.08, 0, 0}, origin[3] = {0, 0, 0};
  convex_solid disc, other, wall, ball;
  convex_pose  a, b;
  convex_touch touch[N];
  double       room[2][64], square = 0.0, mean[2] = {0.0, 0.0};
  convex_solid_segment(CONVEX_CYLINDER, low, high, 0.1, &disc);
  convex_solid_segment(CONVEX_CYLINDER, lower, low, 0.1, &other);
  convex_solid_half_space(up, 0.0, &wall);
  convex_solid_sphere(high, 0.1, &ball);
  disc.area_points = N;
  convex_pose_set(&a, &disc, origin, R, room[0]);
  convex_pose_set(&b, &wall, origin, R, room[1]);
  assert_int_equal(convex_pair_area_touches(&a, &b, 0.01, touch), N);
  for (int i = 0; i < N; ++i) {
    const double q = hypot(touch[i].x[0], touch[i].x[1]);
    assert_true(q < 0.1 && convex_touch_is_area(touch[i].feature));
    assert_close(touch[i].gap, 0.0, 1e-15);
    assert_close(touch[i].normal[2], 1.0, 1e-15);
    square += q * q / N, mean[0] += touch[i].x[0] / N, mean[1] += touch[i].x[1] / N;
  }
  assert_close(square, 0.005, 0.005 * 1.5 / N);
  assert_close(hypot(mean[0], mean[1]), 0.0, 1e-14);
  convex_pose_set(&b, &other, aside, R, room[1]);
  assert_int_equal(convex_pair_area_touches(&a, &b, 0.01, touch), N);
  for (int i = 0; i < N; ++i)
    assert_true(hypot(touch[i].x[0], touch[i].x[1]) < 0.1002 && hypot(touch[i].x[0] - 0.08, touch[i].x[1]) < 0.1002);
  const double c = cos(0.01), s = sin(0.01), tilted[9] = {c, 0, s, 0, 1, 0, -s, 0, c};
  convex_pose_set(&a, &disc, origin, tilted, room[0]);
  convex_pose_set(&b, &wall, origin, R, room[1]);
  assert_int_equal(convex_pair_area_touches(&a, &b, 0.01, touch), -1);
  ball.area_points = N;
  convex_pose_set(&a, &ball, origin, R, room[0]);
  assert_int_equal(convex_pair_area_touches(&a, &b, 0.01, touch), -1);
}

/* A disc whose rim touches a half-space at the sine t of its tilt: in a step with displacements up to half the margin it can roll onto every
 * point of its rim within the margin. The point at the angle q from the lowest one is at the height R t (1 - cos q). */
static void test_tilted_disc(void **state)
{
  (void)state;
  const double   up[3] = {0, 0, 1}, R = 0.1, turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, low[3] = {0, 0, 0}, high[3] = {0, 0, 0.02};
  const double   tilts[3] = {0.019, 0.021, 0.3};
  convex_solid   disc, wall;
  convex_pose    a, b;
  convex_touches touch;
  double         room[2][64];
  convex_solid_segment(CONVEX_CYLINDER, low, high, R, &disc);
  convex_solid_half_space(up, 0.0, &wall);
  for (int k = 0; k < 3; ++k) {
    const double t = tilts[k], c = sqrt(1.0 - t * t), tilted[9] = {c, 0, t, 0, 1, 0, -t, 0, c}, at[3] = {0, 0, R * t};
    int          n     = 0;
    double       least = INFINITY;
    convex_pose_set(&a, &disc, at, tilted, room[0]);
    convex_pose_set(&b, &wall, low, turn, room[1]);
    convex_pair_touches(&a, &b, 2.1 * R * t, &touch); /* all points of the rim */
    assert_true(touch.n >= 16);
    convex_pair_touches(&a, &b, 0.5 * R * t, &touch);
    for (int i = 0; i < touch.n; ++i) {
      least = fmin(least, touch.touch[i].gap);
      n += touch.touch[i].gap > 0.05 * R * t;
      assert_true(touch.touch[i].gap <= 0.5 * R * t);
    }
    assert_close(least, 0.0, 1e-15);
    assert_int_equal(n, 4); /* q = 22.5 and 45 degrees on both sides: 0.076 and 0.293 R t */
  }
}

TEST_MAIN(cmocka_unit_test(test_equal_area), cmocka_unit_test(test_tilted_disc), cmocka_unit_test(test_apart),
          cmocka_unit_test(test_overlap), cmocka_unit_test(test_symmetry), cmocka_unit_test(test_continuity), cmocka_unit_test(test_faces),
          cmocka_unit_test(test_special), cmocka_unit_test(test_sides_of_cylinders), cmocka_unit_test(test_coincident_edges),
          cmocka_unit_test(test_edges))
