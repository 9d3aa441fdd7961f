/* Contacts of fibres: against dense sampling of curves, closed forms for few segments, and their invariance. */
#include "test.h"
#include "contact/fibre/fibre_contact.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/random.h"
#include "core/team.h"
#include <string.h>

/* ---- scenes ---- */

enum { NODES = 400 };
typedef struct {
  int64_t n_nodes, n_segments;
  int32_t segment[2 * NODES], strand[NODES], body[NODES];
  double  radius[NODES], x0[3 * NODES], x1[3 * NODES];
  bool    can_touch[4];
} scene;

static void scene_clear(scene *s)
{
  memset(s, 0, sizeof *s);
  memset(s->can_touch, 1, sizeof s->can_touch);
}

/* n points, the segments between them, and one back to the first if closed. */
static void add_strand(scene *s, int32_t body, double radius, int n, const double *x, bool is_closed)
{
  const int32_t first = (int32_t)s->n_nodes, strand = s->n_segments ? s->strand[s->n_segments - 1] + 1 : 0;
  memcpy(s->x0 + 3 * first, x, 3 * (size_t)n * sizeof *x);
  memcpy(s->x1 + 3 * first, x, 3 * (size_t)n * sizeof *x);
  s->n_nodes += n;
  for (int i = 0; i < n - !is_closed; ++i, ++s->n_segments) {
    s->segment[2 * s->n_segments]     = first + i;
    s->segment[2 * s->n_segments + 1] = first + (i + 1) % n;
    s->strand[s->n_segments] = strand, s->body[s->n_segments] = body, s->radius[s->n_segments] = radius;
  }
}

static void add_segment(scene *s, int32_t body, double radius, const double x[6]) { add_strand(s, body, radius, 2, x, false); }

static fibre_contact *create(const scene *s)
{
  const fibre_set set = {.n_nodes    = s->n_nodes,
                         .n_segments = s->n_segments,
                         .segment    = s->segment,
                         .strand     = s->strand,
                         .radius     = s->radius,
                         .n_bodies   = 2,
                         .body       = s->body,
                         .can_touch  = s->can_touch};
  fibre_contact  *c   = NULL;
  assert_ok(fibre_contact_create(&set, &c));
  return c;
}

/* The spots of a scene, copied to out. */
static int64_t find(const scene *s, bool is_moving, double margin, fibre_spot *out)
{
  fibre_contact    *c = create(s);
  const fibre_spot *spot;
  int64_t           n, bad;
  assert_ok(fibre_contact_run(c, s->x0, is_moving ? s->x1 : NULL, margin, &n, &spot, &bad));
  assert_int_equal(bad, -1);
  assert_true(n <= 8 * NODES);
  if (n > 0) memcpy(out, spot, (size_t)n * sizeof *out);
  fibre_contact_destroy(&c);
  return n;
}

static fibre_spot found[8 * NODES], other[8 * NODES];
static scene      S, P;

static uint64_t rank(const fibre_spot *p)
{
  return (uint64_t)p->segment[0] << 32 | (uint64_t)p->segment[1] << 8 | (uint64_t)(p->feature[0] << 4 | p->feature[1] << 1 | p->is_swept);
}

/* Every spot satisfies the definitions of the header. */
static void assert_sound(const scene *s, int64_t n, const fibre_spot *spot, double margin)
{
  for (int64_t k = 0; k < n; ++k) {
    const fibre_spot *p = &spot[k];
    double            d[3];
    for (int e = 0; e < 2; ++e) {
      const int32_t *v = s->segment + 2 * p->segment[e];
      assert_true(p->at[e] >= 0.0 && (p->feature[e] == FIBRE_LAST ? p->at[e] == 1.0 : p->at[e] < 1.0));
      assert_true((p->feature[e] == FIBRE_FIRST) == (p->at[e] == 0.0));
      for (int i = 0; i < 3; ++i)
        assert_close(p->axis[e][i], (1.0 - p->at[e]) * s->x0[3 * v[0] + i] + p->at[e] * s->x0[3 * v[1] + i], 1e-13);
    }
    v3_sub(d, p->axis[0], p->axis[1]);
    assert_true(p->segment[0] < p->segment[1]);
    assert_close(v3_norm(p->normal), 1.0, 1e-12);
    assert_close(p->gap, v3_dot(d, p->normal) - s->radius[p->segment[0]] - s->radius[p->segment[1]], 1e-12);
    if (!p->is_swept) assert_close(p->gap, v3_norm(d) - s->radius[p->segment[0]] - s->radius[p->segment[1]], 1e-12);
    if (!p->is_swept) assert_true(p->gap < margin);
    if (k > 0) assert_true(rank(&spot[k - 1]) < rank(p)); /* sorted, and each once */
  }
}

/* ---- few segments ---- */

/* Crossed at an angle: one contact, at the place given by geometry. */
static void crossed(void **unused)
{
  (void)unused;
  for (int i = 0; i < 2000; ++i) {
    double u[3], v[3], n[3], x[6], y[6];
    random_direction(5, (uint64_t)i, 0, u);
    random_direction(5, (uint64_t)i, 1, v);
    v3_cross(n, u, v);
    if (v3_norm(n) < 0.2) continue;
    v3_scale(n, 1.0 / v3_norm(n), n);
    const double gap = random_range(5, (uint64_t)i, 2, -0.019, 0.01), s = random_range(5, (uint64_t)i, 3, 0.2, 0.8),
                 t = random_range(5, (uint64_t)i, 4, 0.2, 0.8), r = 0.01;
    for (int k = 0; k < 3; ++k) {
      x[k] = (2 * r + gap) * n[k] - s * u[k], x[3 + k] = x[k] + u[k];
      y[k] = -t * v[k], y[3 + k] = y[k] + v[k];
    }
    scene_clear(&S);
    add_segment(&S, 0, r, x);
    add_segment(&S, 1, r, y);
    assert_int_equal(find(&S, false, 0.005, found), gap < 0.005 ? 1 : 0);
    if (gap >= 0.005) continue;
    assert_sound(&S, 1, found, 0.005);
    assert_close(found[0].gap, gap, 1e-13);
    assert_close(found[0].at[0], s, 1e-11);
    assert_close(found[0].at[1], t, 1e-11);
    for (int k = 0; k < 3; ++k) assert_close(found[0].normal[k], n[k], 1e-10);
  }
  assert_no_leak();
}

/* Two strands side by side: the vertices of both, those of both at one place once. */
static void side_by_side(void **unused)
{
  (void)unused;
  for (int shift = 0; shift < 2; ++shift) {
    double x[33], y[33];
    for (int i = 0; i < 11; ++i) {
      v3_set(x + 3 * i, i, 0.0, 0.0);
      v3_set(y + 3 * i, i + 0.5 * shift, 0.1, 0.0);
    }
    scene_clear(&S);
    add_strand(&S, 0, 0.05, 11, x, false);
    add_strand(&S, 1, 0.05, 11, y, false);
    const int64_t n = find(&S, false, 0.01, found);
    assert_sound(&S, n, found, 0.01);
    assert_int_equal(n, shift ? 20 : 11); /* shifted: the first of x and the last of y hang over */
    for (int64_t k = 0; k < n; ++k) assert_close(fabs(found[k].normal[1]), 1.0, 1e-12);
  }
  assert_no_leak();
}

/* A strand bent over a straight one: its vertex touches once, not once for each of the segments there; in a valley, both do. */
static void vertices_once(void **unused)
{
  (void)unused;
  const double y[6] = {0, -1, 0, 0, 1, 0}, ridge[9] = {-1, 0, 0.5, 0, 0, 0.1, 1, 0, 0.5};
  const double y2[15]     = {0, -2, 1, 0, -1, 0.4, 0, 0, 0, 0, 1, 0.4, 0, 2, 1},
               ridge2[15] = {-2, 0, -1, -1, 0, -0.4, 0, 0, 0.1, 1, 0, -0.4, 2, 0, -1};
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 3, ridge, false);
  add_segment(&S, 1, 0.05, y);
  assert_int_equal(find(&S, false, 0.02, found), 1);
  assert_sound(&S, 1, found, 0.02);
  assert_true(found[0].feature[0] == FIBRE_FIRST && found[0].segment[0] == 1 && found[0].feature[1] == FIBRE_INSIDE);
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 5, y2, false); /* two saddles, vertex against vertex: the ways down are along neither */
  add_strand(&S, 1, 0.05, 5, ridge2, false);
  int64_t n = find(&S, false, 0.02, found);
  for (int64_t k = 0; k < n; ++k) {
    const fibre_spot *p = &found[k];
    assert_false(p->feature[0] == FIBRE_FIRST && p->segment[0] != 2 && p->feature[1] == FIBRE_FIRST);
  }
  const double valley[9] = {-1, 0, 0.35, 0, 0, -0.1, 1, 0, 0.35}, up[6] = {0, -1, 0.02, 0, 1, 0.02};
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 3, valley, false);
  add_segment(&S, 1, 0.05, up);
  n = find(&S, false, 0.02, found);
  assert_int_equal(n, 2); /* one wall each */
  for (int64_t k = 0; k < n; ++k) assert_true(found[k].feature[0] == FIBRE_INSIDE);
  assert_no_leak();
}

/* The inside of a bend is no contact, points farther along the strand are; bodies without self-contact have none. */
static void own_strand(void **unused)
{
  (void)unused;
  enum { N = 100 };
  double x[3 * N];
  for (int i = 0; i < N; ++i) { /* a coil with turns 2.1 radii apart, and a hairpin of its kind at the end */
    const double angle = 0.2 * i;
    v3_set(x + 3 * i, cos(angle), sin(angle), 0.105 * angle / (2.0 * M_PI));
  }
  scene_clear(&S);
  add_strand(&S, 0, 0.05, N, x, false);
  int64_t n = find(&S, false, 0.02, found);
  assert_sound(&S, n, found, 0.02);
  assert_true(n > 60 && n < 260);
  for (int64_t k = 0; k < n; ++k) {
    const double turns = (found[k].segment[1] + found[k].at[1] - found[k].segment[0] - found[k].at[0]) * 0.2 / (2.0 * M_PI);
    assert_close(turns, 1.0, 0.05); /* one turn apart, no more, no less */
    assert_close(fabs(found[k].normal[2]), 1.0, 0.1);
  }
  S.can_touch[0] = false;
  assert_int_equal(find(&S, false, 0.02, found), 0);
  for (int i = 0; i < N; ++i) v3_set(x + 3 * i, 0.02 * cos(2.0 * M_PI * i / N), 0.02 * sin(2.0 * M_PI * i / N), 0.0);
  scene_clear(&S); /* a ring smaller than its own thickness: all of it the inside of one bend */
  add_strand(&S, 0, 0.05, N, x, true);
  assert_int_equal(find(&S, false, 0.02, found), 0);
  assert_no_leak();
}

/* In one line, end to end: the farthest that two segments can be and still touch. And a loop as small as its own thickness, which
 * crosses itself. */
static void ends_and_loops(void **unused)
{
  (void)unused;
  const double x[6] = {0, 0, 0, 1, 0, 0}, y[6] = {1.1, 0, 0, 2.1, 0, 0};
  scene_clear(&S);
  add_segment(&S, 0, 0.05, x);
  add_segment(&S, 1, 0.05, y);
  assert_int_equal(find(&S, false, 0.001, found), 1);
  assert_sound(&S, 1, found, 0.001);
  assert_true(found[0].feature[0] == FIBRE_LAST && found[0].feature[1] == FIBRE_FIRST);
  assert_close(found[0].normal[0], -1.0, 1e-12);
  const double loop[15] = {-1, 0.05, 0, 0.02, 0, 0.002, 0, 0.03, 0, -0.02, 0, -0.002, 1, 0.05, 0};
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 5, loop, false);
  const int64_t n = find(&S, false, 0.001, found);
  for (int64_t k = 0; k < n; ++k) assert_false(found[k].segment[0] == 0 && found[k].segment[1] == 3);
  assert_int_equal(n, 0);
  double hairpin[42]; /* opens from its tip on: where its inside ends is where it touches */
  for (int k = 0; k < 14; ++k) {
    const int from_tip = k < 7 ? 6 - k : k - 7;
    v3_set(hairpin + 3 * k, 0.05 * from_tip, (k < 7 ? -1 : 1) * (0.02 + 0.005 * from_tip), 0.0);
  }
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 14, hairpin, false);
  assert_int_equal(find(&S, false, 0.001, found), 1);
  assert_sound(&S, 1, found, 0.001);
  assert_close(found[0].axis[0][0], 0.1, 0.01);
  assert_no_leak();
}

/* Axes on top of one another: a normal that is upright on them, whichever. */
static void coincident(void **unused)
{
  (void)unused;
  for (int i = 0; i < 3; ++i)
    for (int across = 0; across < 2; ++across) {
      double x[6] = {0}, y[6] = {0};
      x[i] = -1.0, x[3 + i] = 1.0;
      if (across) y[(i + 1) % 3] = -1.0, y[3 + (i + 1) % 3] = 1.0;
      else memcpy(y, x, sizeof y);
      scene_clear(&S);
      add_segment(&S, 0, 0.05, x);
      add_segment(&S, 1, 0.05, y);
      const int64_t n = find(&S, false, 0.001, found);
      assert_sound(&S, n, found, 0.001);
      assert_int_equal(n, across ? 1 : 2);
      for (int64_t k = 0; k < n; ++k) {
        assert_close(found[k].normal[i], 0.0, 1e-12);
        if (across) assert_close(found[k].normal[(i + 1) % 3], 0.0, 1e-12);
      }
    }
  assert_no_leak();
}

/* A closed strand has no ends: neither where it closes nor elsewhere is a bend a contact, but a stick through the very vertex
 * is. */
static void closed(void **unused)
{
  (void)unused;
  enum { N = 24 };
  double x[3 * N];
  for (int i = 0; i < N; ++i) v3_set(x + 3 * i, cos(2.0 * M_PI * i / N), sin(2.0 * M_PI * i / N), 0.0);
  const double y[6] = {1.07, 0.02, -1, 1.07, -0.02, 1}, out[6] = {1.0, 0, -0.1, 2.0, 0, -0.1};
  scene_clear(&S);
  add_strand(&S, 0, 0.05, N, x, true);
  add_segment(&S, 1, 0.05, y);
  assert_int_equal(find(&S, false, 0.001, found), 1);
  assert_sound(&S, 1, found, 0.001);
  assert_true(found[0].segment[0] == 0 && found[0].feature[0] == FIBRE_FIRST);
  scene_clear(&S); /* as thick as a segment is long: round the corner is near */
  add_strand(&S, 0, 0.3, N, x, true);
  assert_int_equal(find(&S, false, 0.001, found), 0);
  const double drop[18] = {0, 0, 0, 0.05, 0.04,  0, 0.1,  0.02,  0,
                           2, 1, 0, 0.1,  -0.02, 0, 0.05, -0.04, 0}; /* its neck is near its tip, node 0 */
  scene_clear(&S);
  add_strand(&S, 0, 0.1, 6, drop, true);
  assert_int_equal(find(&S, false, 0.001, found), 0);
  scene_clear(&S); /* one side of a ring passes through the other, where it closes, with a dent */
  x[0] = 0.8;
  add_strand(&S, 0, 0.05, N, x, true);
  S.x1[3 * (N / 2)] = 2.0;
  int64_t n         = find(&S, true, 0.001, found);
  assert_true(n > 0);
  assert_sound(&S, n, found, 0.001);
  int at_end = 0;
  for (int64_t k = 0; k < n; ++k) { /* the moving segments are N / 2 - 1 and N / 2 */
    at_end += found[k].segment[0] == 0 && found[k].feature[0] == FIBRE_FIRST;
    assert_true(found[k].is_swept && found[k].normal[0] * (found[k].segment[0] < N / 2 - 1 ? 1.0 : -1.0) > 0.1);
  }
  assert_true(at_end > 0);
  scene_clear(&S); /* passing at the vertex */
  x[0] = 1.0;
  add_strand(&S, 0, 0.05, N, x, true);
  add_segment(&S, 1, 0.05, out);
  for (int e = 0; e < 2; ++e) S.x0[3 * (N + e) + 2] = -1.0, S.x1[3 * (N + e) + 2] = 1.0;
  n = find(&S, true, 0.001, found);
  assert_sound(&S, n, found, 0.001);
  assert_int_equal(n, 1);
  assert_true(found[0].is_swept && found[0].segment[0] == 0 && found[0].feature[0] == FIBRE_FIRST);
  assert_close(found[0].normal[2], 1.0, 1e-3);
  assert_no_leak();
}

/* ---- tangles ---- */

/* Random walks, bent more or less, through one another. */
static void tangle(scene *s, int seed, int n_strands, int n, double length, double bend, double radius)
{
  scene_clear(s);
  for (int i = 0; i < n_strands; ++i) {
    double x[3 * 64], e[3], f[3];
    random_direction((uint64_t)seed, (uint64_t)i, 0, e);
    for (int k = 0; k < 3; ++k) x[k] = random_range((uint64_t)seed, (uint64_t)(3 * i + k), 1, -0.1, 0.1) - 0.5 * n * length * e[k];
    for (int j = 1; j < n; ++j) {
      random_direction((uint64_t)seed, (uint64_t)(64 * i + j), 2, f);
      v3_axpy(e, bend, f);
      v3_scale(e, 1.0 / v3_norm(e), e);
      for (int k = 0; k < 3; ++k) x[3 * j + k] = x[3 * (j - 1) + k] + length * e[k];
    }
    add_strand(s, i % 2, radius, n, x, false);
  }
}

enum { FINE = 8, SIDE = FINE * 24 };
static double  field[SIDE + 1][SIDE + 1];
static int32_t stack[(SIDE + 1) * (SIDE + 1)];
static bool    seen[SIDE + 1][SIDE + 1];

/* Distances of points at equal parameters of two strands of m segments, from nodes a and b. */
static void sample(const scene *s, int m, int64_t a, int64_t b)
{
  for (int i = 0; i <= FINE * m; ++i)
    for (int j = 0; j <= FINE * m; ++j) {
      const int    p = i == FINE * m ? m - 1 : i / FINE, q = j == FINE * m ? m - 1 : j / FINE;
      const double u = (double)(i - FINE * p) / FINE, v = (double)(j - FINE * q) / FINE;
      double       d[3];
      for (int k = 0; k < 3; ++k)
        d[k] = (1 - u) * s->x0[3 * (a + p) + k] + u * s->x0[3 * (a + p + 1) + k] - (1 - v) * s->x0[3 * (b + q) + k] -
               v * s->x0[3 * (b + q + 1) + k];
      field[i][j] = v3_norm(d), seen[i][j] = false;
    }
}

/* From a sample below the reach, over neighbours that are: is a spot among them that is as near, but for `slack`? Marks them. */
static bool has_spot(int m, int i0, int j0, double reach, int64_t n, const fibre_spot *spot, int64_t seg_a, int64_t seg_b, double radii,
                     double slack)
{
  int    top      = 0;
  double nearest  = INFINITY;
  bool   is_found = false;
  stack[top++]    = i0 * (SIDE + 1) + j0;
  seen[i0][j0]    = true;
  static int8_t mine[SIDE + 1][SIDE + 1];
  memset(mine, 0, sizeof mine);
  while (top > 0) {
    const int i = stack[--top] / (SIDE + 1), j = stack[top] % (SIDE + 1);
    mine[i][j] = 1;
    nearest    = fmin(nearest, field[i][j]);
    for (int k = 0; k < 9; ++k) {
      const int p = i + k / 3 - 1, q = j + k % 3 - 1;
      if (p < 0 || q < 0 || p > FINE * m || q > FINE * m || seen[p][q] || !(field[p][q] < reach)) continue;
      seen[p][q]   = true;
      stack[top++] = p * (SIDE + 1) + q;
    }
  }
  for (int64_t k = 0; k < n && !is_found; ++k) {
    const double u = FINE * ((double)(spot[k].segment[0] - seg_a) + spot[k].at[0]),
                 v = FINE * ((double)(spot[k].segment[1] - seg_b) + spot[k].at[1]);
    if (u < 0 || v < 0 || u > FINE * m || v > FINE * m || spot[k].gap + radii > nearest + slack) continue;
    for (int e = 0; e < 4; ++e) is_found |= mine[(int)fmin(u + e / 2, FINE * m)][(int)fmin(v + e % 2, FINE * m)];
  }
  return is_found;
}

/* Every region within reach of two strands has at least one spot, near their closest places. */
static void nothing_is_missed(void **unused)
{
  (void)unused;
  int regions = 0;
  for (int seed = 0; seed < 160; ++seed) {
    const int    m = seed % 2 ? 12 : 24, n_strands = 6;
    const double length = seed % 2 ? 0.15 : 0.05, bend = 0.1 * (seed % 8), r = 0.03;
    tangle(&S, seed, n_strands, m + 1, length, bend, r);
    const int64_t n = find(&S, false, 0.01, found);
    assert_sound(&S, n, found, 0.01);
    for (int a = 0; a < n_strands; ++a)
      for (int b = a + 1; b < n_strands; ++b) {
        sample(&S, m, (int64_t)a * (m + 1), (int64_t)b * (m + 1));
        for (int i = 0; i <= FINE * m; ++i)
          for (int j = 0; j <= FINE * m; ++j) {
            if (seen[i][j] || !(field[i][j] < 2 * r + 0.01)) continue;
            ++regions;
            if (!has_spot(m, i, j, 2 * r + 0.01, n, found, (int64_t)a * m, (int64_t)b * m, 2 * r, FIBRE_FLAT * r + 1e-9))
              fail_msg("tangle %d: strands %d and %d touch without a spot", seed, a, b);
          }
      }
  }
  assert_true(regions > 300);
  assert_no_leak();
}

/* No spot occurs twice, and every spot is a minimum or on a flat stretch. */
static void every_contact_is_necessary(void **unused)
{
  (void)unused;
  int64_t total = 0;
  for (int seed = 0; seed < 160; ++seed) {
    const int    m      = 12;
    const double length = 0.15, r = 0.03, h = 1e-3;
    tangle(&S, seed, 6, m + 1, length, 0.05 * (seed % 8), r);
    const int64_t n = find(&S, false, 0.01, found);
    total += n;
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t l = 0; l < k; ++l) {
        const double du         = (found[k].segment[0] + found[k].at[0] - found[l].segment[0] - found[l].at[0]) * length,
                     dv         = (found[k].segment[1] + found[k].at[1] - found[l].segment[1] - found[l].at[1]) * length;
        const bool same_strands = found[k].segment[0] / m == found[l].segment[0] / m && found[k].segment[1] / m == found[l].segment[1] / m;
        assert_false(same_strands && fabs(du) < r * (1 - 1e-9) && fabs(dv) < r * (1 - 1e-9));
      }
      /* along either strand, the distance rises or falls by no more than flat within a segment */
      double lowest = INFINITY;
      for (int e = 0; e < 2; ++e)
        for (int side = -1; side <= 1; side += 2) {
          const double   u = (found[k].segment[e] % m + found[k].at[e]) + side * h, from = fmin(fmax(u, 0.0), m);
          const int32_t  i = (int32_t)fmin(floor(from), m - 1) + found[k].segment[e] / m * m;
          const int32_t *v = S.segment + 2 * i;
          double         d[3], w = from - (i % m);
          for (int q = 0; q < 3; ++q) d[q] = (1 - w) * S.x0[3 * v[0] + q] + w * S.x0[3 * v[1] + q] - found[k].axis[1 - e][q];
          lowest = fmin(lowest, v3_norm(d) - 2 * r - found[k].gap);
        }
      /* descent by h of a segment is a descent by that part of `flat` at the most, but for curvature */
      assert_true(lowest > -(0.05 * FIBRE_FLAT * r + h * h * length * length / r));
    }
  }
  assert_true(total > 300);
  assert_no_leak();
}

/* ---- invariance ---- */

/* Strands in another order, turned round, exchanged bodies: the same places. */
static void order_does_not_matter(void **unused)
{
  (void)unused;
  for (int seed = 0; seed < 100; ++seed) {
    const int m = 9, n_strands = 12;
    tangle(&S, seed, n_strands, m + 1, 0.1, 0.05 * (seed % 6), 0.03);
    scene_clear(&P);
    for (int i = 0; i < n_strands; ++i) {
      const int from = n_strands - 1 - i;
      double    x[3 * 10];
      for (int j = 0; j <= m; ++j) v3_copy(x + 3 * j, S.x0 + 3 * (from * (m + 1) + (from % 3 ? m - j : j)));
      add_strand(&P, 1 - from % 2, 0.03, m + 1, x, false);
    }
    const int64_t n = find(&S, false, 0.01, found);
    assert_int_equal(find(&P, false, 0.01, other), n);
    for (int64_t k = 0; k < n; ++k) {
      double best = INFINITY;
      for (int64_t l = 0; l < n; ++l) {
        double d = fabs(found[k].gap - other[l].gap);
        for (int q = 0; q < 3; ++q)
          d = fmax(d, fabs(found[k].axis[0][q] + found[k].axis[1][q] - other[l].axis[0][q] - other[l].axis[1][q]));
        best = fmin(best, d);
      }
      assert_close(best, 0.0, 1e-11);
    }
  }
  assert_no_leak();
}

static void threads_do_not_matter(void **unused)
{
  (void)unused;
  int64_t n = 0;
  tangle(&S, 3, 20, 19, 0.05, 0.2, 0.045);
  for (int64_t i = 0; i < 3 * S.n_nodes; ++i) S.x1[i] = S.x0[i] + random_range(8, (uint64_t)i, 0, -0.2, 0.2);
  for (int t = 0; t < 4; ++t) {
    team_set_threads((int[]){1, 2, 3, 7}[t]);
    memset(found, 0, sizeof found);
    const int64_t now = find(&S, true, 0.005, found);
    if (t == 0) n = now, memcpy(other, found, sizeof found);
    assert_true(now == n && n > 600 && memcmp(found, other, sizeof found) == 0); /* enough for more than one thread */
  }
  team_set_threads(0);
  assert_no_leak();
}

/* ---- swept contacts ---- */

/* Straight motions with turns, far within a step, of pairs that do not touch yet. Where sampled times show them inside each
 * other there is a spot whose normal the free motion violates. */
static void nothing_passes(void **unused)
{
  (void)unused;
  int met = 0, cleared = 0;
  for (int i = 0; i < 20000; ++i) {
    const double r = pow(10.0, random_range(9, (uint64_t)i, 0, -3.0, -1.0)), speed = pow(10.0, random_range(9, (uint64_t)i, 1, -1.0, 1.0));
    double       x[6], y[6];
    for (int k = 0; k < 6; ++k) {
      x[k] = random_range(9, (uint64_t)(6 * i + k), 2, -1.0, 1.0);
      y[k] = random_range(9, (uint64_t)(6 * i + k), 3, -0.5, 0.5);
    }
    if (i % 5 == 0) /* side by side */
      for (int k = 0; k < 3; ++k) y[3 + k] = y[k] + (x[3 + k] - x[k]);
    scene_clear(&S);
    add_segment(&S, 0, r, x);
    add_segment(&S, 1, r, y);
    for (int k = 0; k < 12; ++k) S.x1[k] = S.x0[k] + speed * random_range(9, (uint64_t)(12 * i + k), 4, -1.0, 1.0);
    const int64_t n = find(&S, true, 0.0, found);
    assert_sound(&S, n, found, 0.0);
    double least = INFINITY, first = 0.0;
    for (int k = 0; k <= 400; ++k) {
      double          p[12];
      segment_nearest near;
      for (int q = 0; q < 12; ++q) p[q] = S.x0[q] + (S.x1[q] - S.x0[q]) * k / 400.0;
      segment_pair_nearest(p, p + 6, &near, NULL);
      least = fmin(least, near.distance);
      if (k == 0) first = near.distance;
    }
    if (first < 2 * r) continue; /* touches already */
    if (!(least < 2 * r * (1 - 1e-9))) {
      cleared += n == 0;
      continue;
    }
    ++met;
    bool is_held = false;
    for (int64_t k = 0; k < n; ++k) {
      double end = -2 * r;
      for (int q = 0; q < 3; ++q) {
        const double u = found[k].at[0], v = found[k].at[1];
        end += found[k].normal[q] * ((1 - u) * S.x1[q] + u * S.x1[3 + q] - (1 - v) * S.x1[6 + q] - v * S.x1[9 + q]);
      }
      is_held |= end < 1e-6 * r && found[k].gap > -1e-5 * r;
    }
    if (!is_held) fail_msg("pair %d comes within %.3g of %.3g and is let pass (%lld spots)", i, least, 2 * r, (long long)n);
  }
  assert_true(met > 2000 && cleared > 2000);
  assert_no_leak();
}

/* Collisions at the end of the step, head on; with rotation, where the normal is that of the moment; and neighbours in a strand
 * that folds up, which have no contact. */
static void late_rotating_and_folding_collisions(void **unused)
{
  (void)unused;
  const double x[6] = {0, 0, 0, 1, 0, 0}, y[6] = {0.5, 1, -1, 0.5, 1, 1}, z[6] = {0.5, 0.5, 0.02, 0.5, 1.5, 0.02};
  scene_clear(&S);
  add_segment(&S, 0, 0.01, x);
  add_segment(&S, 1, 0.01, y);
  S.x1[1] = S.x1[4] = 0.4901, S.x1[7] = S.x1[10] = 0.51;
  assert_int_equal(find(&S, true, 0.0, found), 1);
  assert_close(found[0].normal[1], -1.0, 1e-9);
  S.x1[1] = S.x1[4] = 0.4899;
  assert_int_equal(find(&S, true, 0.0, found), 0);
  scene_clear(&S); /* it approaches sideways from beyond the tip of z: the vector between them now has another direction */
  add_segment(&S, 0, 0.01, x);
  add_segment(&S, 1, 0.01, z);
  for (int e = 0; e < 2; ++e) S.x1[3 * e + 1] = 1.0, S.x1[3 * e + 2] = 0.01;
  const int64_t n = find(&S, true, 0.0, found);
  assert_sound(&S, n, found, 0.0);
  assert_int_equal(n, 1);
  double d[3];
  for (int k = 0; k < 3; ++k) d[k] = found[0].axis[0][k] - found[0].axis[1][k];
  assert_true(v3_dot(found[0].normal, d) < 0.99 * v3_norm(d));
  const double fold[12] = {-1, 0, 0, 0, 0, 0, 0.1, 0, 0, 1.1, 0, 0};
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 4, fold, false);
  S.x1[9] = -1, S.x1[10] = 0.01;
  assert_int_equal(find(&S, true, 0.0, found), 0);
  assert_no_leak();
}

/* Strands, open and closed, thrown at each other: spots in order, each once. */
static void thrown(void **unused)
{
  (void)unused;
  int64_t total = 0;
  for (int i = 0; i < 200; ++i) {
    tangle(&S, 1000 + i, 4, 10, 0.12, 0.2, 0.02);
    double x[18];
    for (int k = 0; k < 6; ++k) v3_set(x + 3 * k, 0.2 * cos(k * M_PI / 3), 0.2 * sin(k * M_PI / 3), 0.1 * (k % 2));
    add_strand(&S, i % 2, 0.02, 6, x, true);
    for (int64_t k = 0; k < S.n_nodes; ++k)
      for (int q = 0; q < 3; ++q) S.x1[3 * k + q] = S.x0[3 * k + q] + random_range(12, (uint64_t)(15 * i + 3 * (k / 10) + q), 0, -0.4, 0.4);
    const int64_t n = find(&S, true, 0.002, found);
    assert_sound(&S, n, found, 0.002);
    for (int64_t k = 0; k < n; ++k) total += found[k].is_swept;
  }
  assert_true(total > 500);
  assert_no_leak();
}

/* A segment that touches at an end and swings through elsewhere also gets a contact there. */
static void swinging_segments_are_found(void **unused)
{
  (void)unused;
  const double x[6] = {0, 0, 0, 1, 0, 0}, y[6] = {0, 0.02, 0, 1, 0.5, 0};
  scene_clear(&S);
  add_segment(&S, 0, 0.01, x);
  add_segment(&S, 1, 0.01, y);
  v3_set(S.x1 + 9, 1, -0.5, 0.0); /* the far end of the second moves down, through the first */
  const int64_t n = find(&S, true, 0.001, found);
  assert_sound(&S, n, found, 0.001);
  assert_int_equal(n, 2);
  assert_true(!found[0].is_swept && found[1].is_swept);
  assert_true(found[1].at[0] > 0.02);
  assert_close(found[1].normal[1], -1.0, 1e-3);
  assert_no_leak();
}

/* ---- over steps ---- */

/* A short strand slides along another over three of its vertices, and between two: warm starts move with it, each used once. */
static void sliding_contacts_are_matched(void **unused)
{
  (void)unused;
  double            x[15], y[9] = {0, 0.099, -0.5, 0, 0.099, 0.2, 0, 0.099, 0.9};
  fibre_spot        last[8];
  int64_t           n_last = 0, n, bad, from[8];
  const fibre_spot *spot;
  for (int i = 0; i < 5; ++i) v3_set(x + 3 * i, i, 0.0, 0.0);
  scene_clear(&S);
  add_strand(&S, 0, 0.05, 5, x, false);
  add_strand(&S, 1, 0.05, 3, y, false);
  fibre_contact *c = create(&S);
  for (int step = 0; step < 120; ++step) { /* there and back */
    for (int i = 0; i < 3; ++i)
      S.x0[3 * (5 + i)]                   = 0.5 + 0.05 * (step < 60 ? step : 119 - step),
                    S.x0[3 * (5 + i) + 2] = y[3 * i + 2] - 0.01 * (step < 60 ? step : 119 - step);
    assert_ok(fibre_contact_run(c, S.x0, NULL, 0.01, &n, &spot, &bad));
    if (n != 1) fail_msg("step %d: %d", step, (int)n);
    assert_ok(fibre_contact_match(c, n_last, last, n, spot, from));
    assert_int_equal(from[0], step ? 0 : -1);
    n_last = n;
    memcpy(last, spot, (size_t)n * sizeof *last);
  }
  fibre_spot twice[2] = {last[0], last[0]}; /* one cannot be two */
  twice[1].at[0] += 0.1, twice[1].feature[0] = FIBRE_INSIDE, twice[1].feature[1] = FIBRE_FIRST;
  assert_ok(fibre_contact_match(c, 1, last, 2, twice, from));
  assert_true(from[0] == 0 && from[1] == -1);
  v3_scale(twice[1].normal, -1.0, twice[1].normal); /* nor change to the other side */
  assert_ok(fibre_contact_match(c, 1, last, 1, twice + 1, from));
  assert_int_equal(from[0], -1);
  /* equal features count more than a smaller distance; features that only one of both has do not */
  fibre_spot two[2] = {last[0], last[0]}, now[2];
  two[0].feature[0] = FIBRE_FIRST, two[0].at[0] = 0.0, two[1].feature[0] = FIBRE_INSIDE, two[1].at[0] = 0.3;
  assert_true(fibre_spot_compare(&two[0], &two[1]) != 0);
  if (fibre_spot_compare(&two[0], &two[1]) > 0) now[0] = two[0], two[0] = two[1], two[1] = now[0];
  for (int k = 0; k < 2; ++k) now[k] = two[k], now[k].at[0] = two[1 - k].at[0];
  assert_ok(fibre_contact_match(c, 2, two, 2, now, from));
  assert_true(from[0] == 0 && from[1] == 1);
  assert_ok(fibre_contact_match(c, 1, two, 2, now, from));
  assert_true(from[0] == 0 && from[1] == -1);
  assert_ok(fibre_contact_match(c, 1, two + 1, 2, now, from));
  assert_true(from[0] == -1 && from[1] == 0);
  /* up to the length of the longer segment, here 1, away */
  for (int k = 0; k < 4; ++k) {
    two[0] = now[0]   = last[0];
    two[0].segment[0] = 1 + k / 2, now[0].segment[0] = 2 - k / 2;
    two[0].feature[0] = now[0].feature[0] = FIBRE_INSIDE;
    two[0].at[0] = 0.5, now[0].at[0] = k / 2 ? 0.5 + (k % 2 ? -0.01 : 0.01) : 0.5 + (k % 2 ? 0.01 : -0.01);
    assert_ok(fibre_contact_match(c, 1, two, 1, now, from));
    assert_int_equal(from[0], k % 2 ? -1 : 0);
  }
  fibre_contact_destroy(&c);
  assert_no_leak();
}

/* Axes that pass through each other keep their original side, and return to it. */
static void sides_are_kept(void **unused)
{
  (void)unused;
  const double      x[6] = {-1, 0, 0, 1, 0, 0}, y[6] = {0, 0.1, -1, 0.01, 0.1, 1};
  fibre_spot        last[1], now[1];
  const fibre_spot *spot;
  int64_t           n, bad;
  scene_clear(&S);
  add_segment(&S, 0, 0.05, x);
  add_segment(&S, 1, 0.05, y);
  fibre_contact *c = create(&S);
  for (int step = 0; step < 40; ++step) {
    const double height = 0.1 - 0.01 * (step < 19 ? step : 38 - step); /* to 0.08 on the wrong side, and back */
    S.x0[7] = S.x0[10] = height;
    assert_ok(fibre_contact_run(c, S.x0, NULL, 0.01, &n, &spot, &bad));
    assert_int_equal(n, step < 39 ? 1 : 0);
    if (n == 0) continue;
    memcpy(now, spot, sizeof now);
    if (step) fibre_contact_keep_sides(c, 1, last, 1, now);
    assert_close(now->normal[1], -1.0, 1e-9);
    assert_close(now->gap, height - 0.1, 1e-9);
    memcpy(last, now, sizeof now);
  }
  fibre_contact_destroy(&c);
  assert_no_leak();
}

/* ---- mistakes ---- */

static void errors(void **unused)
{
  (void)unused;
  const double x[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0};
  for (int k = 0; k < 5; ++k) {
    scene_clear(&S);
    add_strand(&S, 0, 0.1, 3, x, false);
    if (k == 0) S.segment[1] = 7;
    if (k == 1) S.segment[0] = 1;
    if (k == 2) S.body[1] = 2;
    if (k == 3) S.radius[0] = 0.0;
    if (k == 4) S.segment[2] = 0;
    const fibre_set set = {.n_nodes    = S.n_nodes,
                           .n_segments = S.n_segments,
                           .segment    = S.segment,
                           .strand     = S.strand,
                           .radius     = S.radius,
                           .n_bodies   = 2,
                           .body       = S.body,
                           .can_touch  = S.can_touch};
    fibre_contact  *c   = NULL;
    assert_int_equal(fibre_contact_create(&set, &c), PETSC_ERR_ARG_OUTOFRANGE);
    assert_null(c);
  }
  scene_clear(&S);
  add_strand(&S, 0, 0.1, 3, x, false);
  S.x0[4]             = NAN;
  fibre_contact    *c = create(&S);
  const fibre_spot *spot;
  int64_t           n, bad;
  assert_ok(fibre_contact_run(c, S.x0, NULL, 0.0, &n, &spot, &bad));
  assert_int_equal(bad, 1);
  fibre_contact_destroy(&c);
  assert_no_leak();
}

/* A second search for changed predictions finds new collisions there, but none near existing contacts, nor of unchanged pairs. */
static void second_search_finds_new_collisions_only(void **unused)
{
  (void)unused;
  enum { PAIRS = 3 };
  fibre_spot        first[8];
  const fibre_spot *spot;
  bool              moves[2 * PAIRS] = {false};
  int64_t           n, bad;
  S = (scene){.can_touch = {true, true, true, true}};
  for (int i = 0; i < PAIRS; ++i) { /* crossed, the upper one at a height of its own: the first touches */
    const double z = i == 0 ? 0.02 : 0.5, y = 10.0 * i, a[6] = {-1, y, 0, 1, y, 0}, b[6] = {0.25, y - 1, z, 0.25, y + 1, z};
    add_segment(&S, 0, 0.01, a);
    add_segment(&S, 1, 0.01, b);
  }
  fibre_contact *c = create(&S);
  assert_ok(fibre_contact_run(c, S.x0, S.x1, 0.001, &n, &spot, &bad));
  assert_int_equal(n, 1);
  first[0] = spot[0];
  for (int i = 0; i < PAIRS; ++i) /* all fall through */
    for (int k = 2; k < 4; ++k) S.x1[3 * (4 * i + k) + 2] = -0.5;
  assert_ok(fibre_contact_run_again(c, S.x0, S.x1, 0.001, moves, 1, first, &n, &spot, &bad));
  assert_int_equal(n, 0);
  moves[1] = moves[4] = true; /* of the first pair and of the last one */
  assert_ok(fibre_contact_run_again(c, S.x0, S.x1, 0.001, moves, 1, first, &n, &spot, &bad));
  assert_int_equal(bad, -1);
  assert_int_equal(n, 1);
  assert_true(spot[0].is_swept && spot[0].segment[0] == 4 && spot[0].segment[1] == 5);
  assert_close(spot[0].at[0], 0.625, 1e-6);
  assert_close(spot[0].at[1], 0.5, 1e-6);
  assert_close(spot[0].gap, 0.48, 1e-3);
  fibre_contact_destroy(&c);
  assert_no_leak();
}

/* A strand that turns back crosses another one twice, at nearly the same place of the latter. The second crossing, found in the second search, is not the first. */
static void a_strand_crosses_another_one_twice(void **unused)
{
  (void)unused;
  for (int is_first = 0; is_first < 2; ++is_first) {
    const double      bent[9] = {0.25, -1, 0.02, 0.255, 1, 0.02, 0.26, -1, 0.52}, straight[6] = {-1, 0, 0, 1, 0, 0};
    fibre_spot        first;
    const fibre_spot *spot;
    bool              moves[3] = {true, true, true};
    int64_t           n, bad;
    S = (scene){.can_touch = {true, true, true, true}};
    if (!is_first) add_segment(&S, 0, 0.01, straight);
    add_strand(&S, 1, 0.01, 3, bent, false);
    if (is_first) add_segment(&S, 0, 0.01, straight);
    fibre_contact *c = create(&S);
    assert_ok(fibre_contact_run(c, S.x0, S.x1, 0.001, &n, &spot, &bad));
    assert_int_equal(n, 1);
    first = spot[0];
    assert_int_equal(first.segment[1 - is_first], is_first ? 0 : 1);
    S.x1[3 * (is_first ? 2 : 4) + 2] = -0.5; /* its end falls */
    assert_ok(fibre_contact_run_again(c, S.x0, S.x1, 0.001, moves, 1, &first, &n, &spot, &bad));
    assert_int_equal(n, 1);
    assert_int_equal(spot[0].segment[1 - is_first], is_first ? 1 : 2);
    assert_true(spot[0].is_swept);
    assert_close(spot[0].at[is_first], 0.62875, 1e-3);
    fibre_contact_destroy(&c);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(second_search_finds_new_collisions_only), cmocka_unit_test(crossed), cmocka_unit_test(side_by_side),
          cmocka_unit_test(vertices_once), cmocka_unit_test(own_strand), cmocka_unit_test(ends_and_loops), cmocka_unit_test(coincident),
          cmocka_unit_test(closed), cmocka_unit_test(nothing_is_missed), cmocka_unit_test(every_contact_is_necessary),
          cmocka_unit_test(order_does_not_matter), cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(nothing_passes),
          cmocka_unit_test(late_rotating_and_folding_collisions), cmocka_unit_test(thrown), cmocka_unit_test(swinging_segments_are_found),
          cmocka_unit_test(sliding_contacts_are_matched), cmocka_unit_test(sides_are_kept), cmocka_unit_test(errors),
          cmocka_unit_test(a_strand_crosses_another_one_twice))
