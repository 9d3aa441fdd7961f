/* Contacts of fibres with level sets: closed forms, dense sampling along strands, sampled times. */
#include "test.h"
#include "contact/fibre/fibre_object.h"
#include "core/math3.h"
#include "core/quaternion.h"
#include "core/random.h"
#include "core/team.h"
#include <string.h>

enum { NODES = 500 };
static int64_t            n_nodes, n_segments;
static int32_t            segment[2 * NODES], strand[NODES], body_of[NODES];
static double             radius[NODES], x0[3 * NODES], x1[3 * NODES];
static fibre_object_spots found;

static const rigid_frame still = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .block = -1};

static void clear(void) { n_nodes = n_segments = 0; }

static void add_strand(double r, int n, const double *x)
{
  for (int i = 0; i + 1 < n; ++i, ++n_segments) {
    segment[2 * n_segments]     = (int32_t)(n_nodes + i);
    segment[2 * n_segments + 1] = (int32_t)(n_nodes + i + 1);
    strand[n_segments]          = (int32_t)n_nodes;
    radius[n_segments]          = r;
  }
  memcpy(x0 + 3 * n_nodes, x, 3 * (size_t)n * sizeof *x);
  memcpy(x1 + 3 * n_nodes, x, 3 * (size_t)n * sizeof *x);
  n_nodes += n;
}

static const bool yes = true;

static fibre_contact *make_contact(void)
{
  const fibre_set set = {.n_nodes    = n_nodes,
                         .n_segments = n_segments,
                         .segment    = segment,
                         .strand     = strand,
                         .radius     = radius,
                         .n_bodies   = 1,
                         .body       = body_of,
                         .can_touch  = &yes};
  fibre_contact  *c;
  assert_ok(fibre_contact_create(&set, &c));
  return c;
}

static int64_t find(const level_set *phi, const rigid_frame *f0, const rigid_frame *f1, bool is_moving, double margin)
{
  fibre_contact *c = make_contact();
  assert_ok(fibre_object_run(c, &yes, x0, is_moving ? x1 : NULL, phi, f0, f1, margin, &found));
  fibre_contact_destroy(&c);
  return found.n;
}

static double value_at(const level_set *phi, const rigid_frame *f, const double x[3], double normal[3])
{
  double d[3], y[3], g[3];
  v3_sub(d, x, f->c);
  m3_mulv_t(y, f->R, d);
  const double value = level_set_eval(phi, y, g, NULL);
  if (normal) m3_mulv(normal, f->R, g), v3_scale(normal, 1.0 / v3_norm(normal), normal);
  return value;
}

static void assert_sound(const level_set *phi, const rigid_frame *f, double margin)
{
  for (int64_t k = 0; k < found.n; ++k) {
    const fibre_object_spot *p = &found.spot[k], *q = p - 1;
    const int32_t           *v = segment + 2 * p->segment;
    double                   n[3];
    assert_true(p->at >= 0.0 && (p->feature == FIBRE_LAST ? p->at == 1.0 : p->at < 1.0));
    assert_true((p->feature == FIBRE_FIRST) == (p->at == 0.0));
    for (int i = 0; i < 3; ++i) assert_close(p->axis[i], (1 - p->at) * x0[3 * v[0] + i] + p->at * x0[3 * v[1] + i], 1e-13);
    assert_close(v3_norm(p->normal), 1.0, 1e-12);
    if (k > 0) {
      const int now = p->feature * 64 + p->ordinal * 2 + p->is_swept, was = q->feature * 64 + q->ordinal * 2 + q->is_swept;
      assert_true(q->segment < p->segment || (q->segment == p->segment && was != now));
    }
    if (p->is_swept) continue;
    assert_close(p->gap, value_at(phi, f, p->axis, n) - radius[p->segment], 1e-12);
    assert_true(p->gap < margin);
    for (int i = 0; i < 3; ++i) assert_close(p->normal[i], n[i], 1e-9);
  }
}

/* A straight strand on a plane touches with its vertices; tilted, with the lowest; one segment, with its lower end. */
static void on_a_plane(void **unused)
{
  (void)unused;
  const double n[3] = {0, 0, 1};
  level_set   *phi;
  double       x[33];
  assert_ok(level_set_plane(n, 0.0, &phi));
  for (int tilted = 0; tilted < 2; ++tilted) {
    for (int i = 0; i < 11; ++i) v3_set(x + 3 * i, 0.5 * i, 0.0, 0.0095 + 0.002 * tilted * i);
    clear();
    add_strand(0.01, 11, x);
    const int64_t m = find(phi, &still, &still, false, 0.1);
    assert_sound(phi, &still, 0.1);
    assert_int_equal(m, tilted ? 1 : 11);
    for (int64_t k = 0; k < m; ++k) assert_close(found.spot[k].gap, -0.0005, 1e-14);
  }
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Between its vertices: over a sphere, across a cylinder, on two bumps; none of it at nodes. */
static void between_vertices(void **unused)
{
  (void)unused;
  const double o[3] = {0}, a[3] = {0, -1, 0}, b[3] = {0, 1, 0}, c1[3] = {-0.4, 0, 0}, c2[3] = {0.3, 0, -0.001};
  const double x[6] = {-1, 0, 0.3, 1.2, 0, 0.3};
  level_set   *phi, *child[2];
  for (int i = 0; i < 2; ++i) {
    if (i) assert_ok(level_set_cylinder(a, b, 0.295, &phi));
    else assert_ok(level_set_sphere(o, 0.295, &phi));
    clear();
    add_strand(0.01, 2, x);
    assert_int_equal(find(phi, &still, &still, false, 0.001), 1);
    assert_sound(phi, &still, 0.001);
    assert_close(found.spot[0].at, 1.0 / 2.2, 1e-7);
    assert_close(found.spot[0].gap, -0.005, 1e-12);
    assert_true(found.spot[0].feature == FIBRE_INSIDE);
    level_set_destroy(&phi);
  }
  assert_ok(level_set_sphere(c1, 0.295, &child[0]));
  assert_ok(level_set_sphere(c2, 0.295, &child[1]));
  assert_ok(level_set_union(2, child, &phi));
  assert_int_equal(find(phi, &still, &still, false, 0.001), 2);
  assert_sound(phi, &still, 0.001);
  assert_true(found.spot[0].ordinal == 0 && found.spot[1].ordinal == 1);
  assert_close(found.spot[0].axis[0], -0.4, 1e-7);
  assert_close(found.spot[1].axis[0], 0.3, 1e-7);
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* A fibre that hangs over the borders of a table touches where they are, to a radius, be the table at its middle or under one
 * end. */
static void over_borders(void **unused)
{
  (void)unused;
  const double lo[3] = {-0.3, -1, -1}, hi[3] = {0.4, 1, 0}, x[6] = {-1, 0, 0.0099, 1, 0, 0.0099}, y[6] = {-0.1, 0, 0.0099, 1, 0, 0.0099};
  level_set   *phi;
  assert_ok(level_set_box(lo, hi, &phi));
  for (int way = 0; way < 3; ++way) {
    double z[6];
    memcpy(z, way ? y : x, sizeof z);
    if (way == 2) memcpy(z, y + 3, 3 * sizeof *z), memcpy(z + 3, y, 3 * sizeof *z);
    clear();
    add_strand(0.01, 2, z);
    assert_int_equal(find(phi, &still, &still, false, 0.001), 2);
    assert_sound(phi, &still, 0.001);
    bool left = false, right = false;

    for (int k = 0; k < 2; ++k) {
      left |= fabs(found.spot[k].axis[0] - (way ? -0.1 : -0.3)) < 0.01;
      right |= fabs(found.spot[k].axis[0] - 0.4) < 0.01;
      assert_close(found.spot[k].gap, -1e-4, 1.01e-4);
    }
    assert_true(left && right);
  }
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Nearly level to both borders, where the one surface takes over from the other, and lowest between by 0.0025 radii: all three hold it. */
static void level_between_borders(void **unused)
{
  (void)unused;
  const double lo[3] = {-0.05, -1, -1}, hi[3] = {0.05, 1, 1}, c[3] = {0, 0, -50}, x[6] = {-0.9, 0, 0.0099, 1, 0, 0.0099};
  level_set   *phi, *child[2];
  assert_ok(level_set_box(lo, hi, &child[0]));
  assert_ok(level_set_sphere(c, 50, &child[1]));
  assert_ok(level_set_intersection(2, child, &phi));
  clear();
  add_strand(0.01, 2, x);
  assert_int_equal(find(phi, &still, &still, false, 0.001), 3);
  assert_sound(phi, &still, 0.001);
  for (int k = 0; k < 3; k += 2) assert_close(found.spot[k].axis[0], k ? 0.05 : -0.05, 0.0101);
  assert_close(found.spot[1].axis[0], 0.0, 1e-3);
  assert_close(found.spot[1].gap, -1e-4, 1e-7);
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* A polygon around a drum, of segments that rise between 0.0005 and 0.4 radii from their lowest point to their ends: the contacts include the
 * lowest point of each segment up to 0.001 radii. */
static void segments_on_a_drum(void **unused)
{
  (void)unused;
  const double a[3] = {0, -1, 0}, b[3] = {0, 1, 0}, r = 0.005;
  level_set   *phi;
  assert_ok(level_set_cylinder(a, b, 0.1, &phi));
  for (int n = 200; n >= 8; n -= 4) {
    double       x[3 * 201];
    const double turn = 2.0 * M_PI / n, corner = (0.1 + r) / cos(0.5 * turn);
    int          n_lowest = 0;
    clear();
    for (int i = 0; i <= n / 2; ++i) v3_set(x + 3 * i, corner * cos(i * turn), 0.0, corner * sin(i * turn));
    add_strand(r, n / 2 + 1, x);
    find(phi, &still, &still, false, 0.1 * r);
    for (int k = 0; k < n / 2; ++k) {
      double least = INFINITY;
      for (int64_t p = 0; p < found.n; ++p)
        if (found.spot[p].segment == k || (found.spot[p].segment == k + 1 && found.spot[p].at == 0.0))
          least = fmin(least, found.spot[p].gap);
      n_lowest += least < 1.001e-3 * r;
    }
    assert_int_equal(n_lowest, n / 2);
  }
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* A vertex on one bump, the segment lower on another: both. */
static void vertex_and_inside(void **unused)
{
  (void)unused;
  const double c1[3] = {0, 0, 0}, c2[3] = {0.7, 0, 0.01}, x[9] = {-1, 0, 0.9, 0, 0, 0.3, 1, 0, 0.3};
  level_set   *phi, *child[2];
  assert_ok(level_set_sphere(c1, 0.295, &child[0]));
  assert_ok(level_set_sphere(c2, 0.295, &child[1]));
  assert_ok(level_set_union(2, child, &phi));
  clear();
  add_strand(0.01, 3, x);
  assert_int_equal(find(phi, &still, &still, false, 0.001), 2);
  assert_sound(phi, &still, 0.001);
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* ---- at random ---- */

static void random_frame(int seed, double reach, rigid_frame *f)
{
  double axis[3], q[4];
  *f = still;
  random_direction(21, (uint64_t)seed, 0, axis);
  v3_scale(axis, random_range(21, (uint64_t)seed, 1, 0.0, 3.0), axis);
  quaternion_exp(q, axis);
  quaternion_to_matrix(f->R, q);
  for (int k = 0; k < 3; ++k) f->c[k] = random_range(21, (uint64_t)(3 * seed + k), 2, -reach, reach);
}

static void random_object(int seed, level_set **out)
{
  const double u = random_range(22, (uint64_t)seed, 0, 0.1, 0.5), w = random_range(22, (uint64_t)seed, 1, 0.05, 0.3);
  const double p[3] = {-u, 0.1, 0}, q[3] = {u, -0.1, w}, lo[3] = {-u, -w, -0.2}, hi[3] = {u, w, 0.1}, up[3] = {0, 0, 1}, o[3] = {0};
  level_set   *child[2];
  switch (seed % 7) {
  case 0: assert_ok(level_set_plane(up, 0.0, out)); break;
  case 1: assert_ok(level_set_sphere(p, u, out)); break;
  case 2: assert_ok(level_set_box(lo, hi, out)); break;
  case 3: assert_ok(level_set_cylinder(p, q, w, out)); break;
  case 4: assert_ok(level_set_capsule(p, q, w, out)); break;
  case 5: assert_ok(level_set_torus(o, up, 0.4, 0.1, out)); break;
  default:
    assert_ok(level_set_box(lo, hi, &child[0]));
    assert_ok(level_set_sphere(q, w, &child[1]));
    assert_ok(level_set_union(2, child, out));
  }
}

static void random_strand(int seed, int n, double length, double bend, double r)
{
  double x[3 * 64], e[3], f[3];
  random_direction(23, (uint64_t)seed, 0, e);
  for (int k = 0; k < 3; ++k) x[k] = random_range(23, (uint64_t)(3 * seed + k), 1, -0.3, 0.3) - 0.5 * n * length * e[k];
  for (int j = 1; j < n; ++j) {
    random_direction(23, (uint64_t)(64 * seed + j), 2, f);
    v3_axpy(e, bend, f);
    v3_scale(e, 1.0 / v3_norm(e), e);
    for (int k = 0; k < 3; ++k) x[3 * j + k] = x[3 * j - 3 + k] + length * e[k];
  }
  add_strand(r, n, x);
}

/* Every stretch of a strand within reach has a spot at about its smallest distance. */
static void nothing_is_missed(void **unused)
{
  (void)unused;
  enum { FINE = 64 };
  int stretches = 0;
  for (int seed = 0; seed < 1400; ++seed) {
    level_set   *phi;
    rigid_frame  f;
    const double r = seed % 3 ? 0.02 : 0.005, margin = 0.3 * r;
    const int    n = 2 + seed % 9;
    random_object(seed, &phi);
    random_frame(seed, 0.2, &f);
    clear();
    random_strand(seed, n, 1.5 / n, 0.1 * (seed % 5), r);
    find(phi, &f, &f, false, margin);
    assert_sound(phi, &f, margin);
    double begin = -1.0, least = INFINITY;
    for (int k = 0; k <= FINE * (n - 1) + 1; ++k) {
      const int i     = k < FINE * (n - 1) ? k / FINE : n - 2;
      double    value = INFINITY, x[3], s = (double)k / FINE - i;
      for (int e = 0; e < 3; ++e) x[e] = (1 - s) * x0[3 * i + e] + s * x0[3 * i + 3 + e];
      if (k <= FINE * (n - 1)) value = value_at(phi, &f, x, NULL);
      if (value < r + margin) {
        if (begin < 0.0) begin = (double)k / FINE;
        least = fmin(least, value);
        continue;
      }
      if (begin < 0.0) continue;
      bool is_found = false;
      for (int64_t p = 0; p < found.n; ++p) {
        const double at = found.spot[p].segment + found.spot[p].at;
        is_found |= at > begin - 1.0 / FINE && at < (k + 1.0) / FINE && found.spot[p].gap + r < least + FIBRE_FLAT * r + 1e-9;
      }
      ++stretches;
      if (!is_found) fail_msg("case %d: strand touches at %g to %g without a spot", seed, begin, (double)k / FINE);
      begin = -1.0, least = INFINITY;
    }
    level_set_destroy(&phi);
  }
  assert_true(stretches > 500);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Neither twice, nor without reason: each spot is a minimum, level with one, or a vertex that is nearly. */
static void every_contact_is_necessary(void **unused)
{
  (void)unused;
  int64_t total = 0;
  for (int seed = 0; seed < 700; ++seed) {
    level_set   *phi;
    rigid_frame  f;
    const double r = 0.02, length = 1.5 / (2 + seed % 9);
    random_object(seed, &phi);
    random_frame(seed, 0.2, &f);
    clear();
    random_strand(seed, 2 + seed % 9, length, 0.1 * (seed % 5), r);
    total += find(phi, &f, &f, false, 0.3 * r);
    for (int64_t p = 0; p < found.n; ++p) {
      const fibre_object_spot *s = &found.spot[p];
      for (int64_t q = 0; q < p; ++q) assert_true(fabs(s->segment + s->at - found.spot[q].segment - found.spot[q].at) * length > 0.45 * r);
      if (s->feature != FIBRE_INSIDE) continue;
      for (int side = -1; side <= 1; side += 2) {
        double       x[3];
        const double at = fmin(fmax(s->at + side * 0.1 * r / length, 0.0), 1.0);
        for (int e = 0; e < 3; ++e) x[e] = (1 - at) * x0[3 * s->segment + e] + at * x0[3 * s->segment + 3 + e];
        assert_true(value_at(phi, &f, x, NULL) - r > s->gap - 0.0101 * r);
      }
    }
    level_set_destroy(&phi);
  }
  assert_true(total > 300);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Fast motion at and past objects: a point inside at a sampled time has a spot that the free motion violates. */
static void nothing_passes(void **unused)
{
  (void)unused;
  int met = 0, cleared = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    level_set   *phi;
    rigid_frame  f;
    const double r = 0.01, speed = pow(10.0, random_range(24, (uint64_t)seed, 0, -1.0, 1.0));
    random_object(seed, &phi);
    random_frame(seed, 1.0, &f);
    clear();
    random_strand(seed, 3, 0.3, 0.3, r);
    double shift[3];
    random_direction(24, (uint64_t)seed, 1, shift);
    for (int k = 0; k < 9; ++k) {
      if (seed % 2) x0[k] += shift[k % 3];
      x1[k] = x0[k] + speed * (random_range(24, (uint64_t)(9 * seed + k), 2, -1.0, 1.0) - (seed % 2 ? 2.0 * shift[k % 3] : 0.0));
    }
    const int64_t n = find(phi, &f, &f, true, 0.0);
    assert_sound(phi, &f, 0.0);
    double first = INFINITY, least = INFINITY;
    for (int t = 0; t <= 100; ++t)
      for (int k = 0; k <= 128; ++k) {
        const int    i = k < 128 ? k / 64 : 1;
        const double s = k / 64.0 - i;
        double       x[3];
        for (int e = 0; e < 3; ++e)
          x[e] = (1 - t / 100.0) * ((1 - s) * x0[3 * i + e] + s * x0[3 * i + 3 + e]) +
                 t / 100.0 * ((1 - s) * x1[3 * i + e] + s * x1[3 * i + 3 + e]);
        least = fmin(least, value_at(phi, &f, x, NULL));
        if (t == 0) first = least;
      }
    level_set_destroy(&phi);
    if (first < 1.3 * r) continue; /* touches already */
    if (least > r) {
      cleared += n == 0;
      continue;
    }
    ++met;
    bool is_held = false;
    for (int64_t p = 0; p < n; ++p) {
      const fibre_object_spot *s   = &found.spot[p];
      double                   end = s->gap;
      for (int e = 0; e < 3; ++e)
        end += s->normal[e] * ((1 - s->at) * (x1[3 * segment[2 * s->segment] + e] - x0[3 * segment[2 * s->segment] + e]) +
                               s->at * (x1[3 * segment[2 * s->segment + 1] + e] - x0[3 * segment[2 * s->segment + 1] + e]));
      is_held |= s->is_swept && end < 0.2 * r && s->gap > -0.01 * r;
    }
    if (!is_held) fail_msg("case %d comes to %.3g of %.3g and is let pass (%lld spots)", seed, least, r, (long long)n);
  }
  assert_true(met > 250 && cleared > 250);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Only the relative motion matters: a moving object hits a fibre at rest. */
static void moving_object_equals_moving_fibre(void **unused)
{
  (void)unused;
  const double x[6] = {-0.5, 0, 0, 0.5, 0, 0}, o[3] = {0};
  rigid_frame  from = still, to = still;
  level_set   *phi;
  assert_ok(level_set_sphere(o, 0.1, &phi));
  v3_set(from.c, 0.2, 0.0, 1.0);
  v3_set(to.c, 0.2, 0.0, -1.0);
  clear();
  add_strand(0.01, 2, x);
  assert_int_equal(find(phi, &from, &from, true, 0.0), 0);
  assert_int_equal(find(phi, &from, &to, true, 0.0), 1);
  assert_close(found.spot[0].normal[2], -1.0, 1e-3);
  assert_close(found.spot[0].gap, 1.0 - 0.11, 0.002);
  assert_close(found.spot[0].at, 0.7, 0.01);
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

/* Small ones against long segments, wherever they hit; and a strand that falls on its vertex. */
static void bullets(void **unused)
{
  (void)unused;
  const double x[6] = {-1, 0, 0, 1, 0, 0}, o[3] = {0}, up[3] = {0, 0, 1}, bent[9] = {-1, 0, 1.5, 0, 0, 1, 1, 0, 1.5};
  level_set   *phi;
  assert_ok(level_set_sphere(o, 0.015, &phi));
  clear();
  add_strand(0.01, 2, x);
  for (int i = 0; i < 2000; ++i) {
    rigid_frame  from = still, to = still;
    double       n[3], slide      = random_range(26, (uint64_t)i, 0, -1.0, 1.0);
    const double at = random_range(26, (uint64_t)i, 1, -0.99, 0.99), off = random_range(26, (uint64_t)i, 2, -0.0249, 0.0249);
    const double turn = random_range(26, (uint64_t)i, 3, 0.0, 6.3), far = random_range(26, (uint64_t)i, 4, 0.03, 2.0);
    v3_set(n, 0.0, cos(turn), sin(turn));
    for (int k = 0; k < 3; ++k) {
      const double across[3] = {0.0, -n[2], n[1]};
      from.c[k]              = far * n[k] + off * across[k] + (k == 0) * (at - slide * far);
      to.c[k]                = -far * n[k] + off * across[k] + (k == 0) * (at + slide * far);
    }
    if (find(phi, &from, &to, true, 0.0) != 1) fail_msg("bullet %d is missed", i);
    assert_true(v3_dot(found.spot[0].normal, n) < 0.5);
  }
  level_set_destroy(&phi);
  assert_ok(level_set_plane(up, 0.0, &phi));
  clear();
  add_strand(0.01, 3, bent);
  for (int k = 0; k < 3; ++k) x1[3 * k + 2] -= 1.2;
  assert_int_equal(find(phi, &still, &still, true, 0.0), 1);
  assert_true(found.spot[0].is_swept && found.spot[0].segment == 1 && found.spot[0].feature == FIBRE_FIRST);
  clear(); /* a loop falls on the very vertex where it closes: both its segments there, under two names, or one */
  const double loop[12] = {0, 0, 1, 1, 0, 2, 0, 0, 3, -1, 0, 2}, r = 0.01;
  add_strand(r, 4, loop);
  segment[6] = 3, segment[7] = 0, strand[3] = strand[2], radius[3] = r, ++n_segments;
  for (int k = 0; k < 4; ++k) x1[3 * k + 2] -= 1.2;
  const int64_t n = find(phi, &still, &still, true, 0.0);
  assert_true(n == 1 || n == 2);
  for (int64_t k = 0; k < n; ++k)
    assert_true(found.spot[k].is_swept && fabs(found.spot[k].axis[0]) < 1e-6 && (k == 0 || found.spot[k].segment != found.spot[0].segment));
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

static int64_t find_entries(const level_set *phi, const rigid_frame *f0, const rigid_frame *f1)
{
  fibre_contact *c = make_contact();
  assert_ok(fibre_object_entries(c, &yes, x0, x1, phi, f0, f1, 0.05, 8, &found));
  fibre_contact_destroy(&c);
  return found.n;
}

/* A tooth that touches a segment at one place and is inside it at another by the end: only the first is found from where it begins. */
static void predicted_penetration_gives_a_contact(void **unused)
{
  (void)unused;
  const double x[6] = {-1, 0, 0, 1, 0, 0}, o[3] = {0};
  rigid_frame  from = still, to = still;
  level_set   *phi;
  assert_ok(level_set_sphere(o, 0.1, &phi));
  clear();
  add_strand(0.01, 2, x);
  v3_set(from.c, -0.5, 0.0, -0.112);
  v3_set(to.c, 0.5, 0.0, -0.08);
  assert_int_equal(find(phi, &from, &to, true, 0.01), 1);
  assert_close(found.spot[0].at, 0.25, 1e-6);
  assert_int_equal(find_entries(phi, &from, &to), 1);
  const fibre_object_spot *p = found.spot;
  assert_true(p->is_swept && p->feature == FIBRE_INSIDE && p->ordinal == 8 && p->segment == 0);
  assert_close(p->at, 0.75, 1e-6);
  assert_close(p->axis[0], 0.5, 1e-6);
  assert_close(p->normal[2], 1.0, 1e-9);
  assert_close(p->gap, 0.002, 1e-7);
  /* it enters from the other side, and is past the middle at the end: the contact is at the entry */
  v3_set(from.c, 0.5, 0.0, 0.3);
  v3_set(to.c, 0.5, 0.0, -0.05);
  assert_int_equal(find_entries(phi, &from, &to), 1);
  assert_close(found.spot[0].normal[2], -1.0, 1e-6);
  assert_close(found.spot[0].gap, 0.19, 1e-4);
  /* a shallower entry is accepted; a point inside at the start has no entry */
  v3_set(to.c, 0.5, 0.0, -0.1096);
  assert_int_equal(find_entries(phi, &from, &to), 0);
  v3_set(to.c, 0.5, 0.0, -0.1092);
  assert_int_equal(find_entries(phi, &from, &to), 1);
  v3_set(from.c, 0.5, 0.0, -0.05);
  assert_int_equal(find_entries(phi, &from, &from), 0);
  level_set_destroy(&phi);
  fibre_object_spots_clear(&found);
  assert_no_leak();
}

static void threads_do_not_matter(void **unused)
{
  (void)unused;
  static fibre_object_spot kept[4 * NODES];
  int64_t                  n = 0;
  level_set               *phi;
  rigid_frame              f;
  random_object(6, &phi);
  random_frame(6, 0.1, &f);
  clear();
  for (int i = 0; i < 40; ++i) random_strand(i, 12, 0.1, 0.2, 0.02);
  for (int64_t k = 0; k < 3 * n_nodes; ++k) x1[k] = x0[k] + random_range(25, (uint64_t)k, 0, -0.2, 0.2);
  for (int t = 0; t < 4; ++t) {
    team_set_threads((int[]){1, 2, 3, 7}[t]);
    const int64_t now = find(phi, &f, &f, true, 0.01);
    if (t == 0) n = now, memcpy(kept, found.spot, (size_t)n * sizeof *kept);
    assert_true(now == n && n > 20 && memcmp(kept, found.spot, (size_t)n * sizeof *kept) == 0);
    fibre_object_spots_clear(&found);
  }
  team_set_threads(0);
  level_set_destroy(&phi);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(on_a_plane), cmocka_unit_test(between_vertices), cmocka_unit_test(over_borders),
          cmocka_unit_test(segments_on_a_drum), cmocka_unit_test(vertex_and_inside), cmocka_unit_test(nothing_is_missed),
          cmocka_unit_test(every_contact_is_necessary), cmocka_unit_test(nothing_passes),
          cmocka_unit_test(moving_object_equals_moving_fibre), cmocka_unit_test(bullets), cmocka_unit_test(level_between_borders),
          cmocka_unit_test(predicted_penetration_gives_a_contact), cmocka_unit_test(threads_do_not_matter))
