/* Collision times against closed forms, against collisions built exactly from small integers, and against quadruple precision. */
#include "test.h"
#include "geometry/collision/ccd.h"
#include "core/math3.h"
#include "core/random.h"
#include <string.h>

#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad;
#else
typedef long double quad;
#endif
typedef bool (*ccd_query)(const double *, const double *, const ccd_limits *, ccd_hit *);

static const ccd_limits SHARP = {0.0, 0.0};

/* ---- closed forms ---- */

typedef struct {
  const char *name;
  bool        is_edges;
  double      x0[12], x1[12], separation, t; /* t < 0: no collision */
} known_case;

#define TRIANGLE 0, 0, 0, 1, 0, 0, 0, 1, 0
static const known_case CASES[] = {
    {"falls on the face", false, {.25, .25, 1, TRIANGLE}, {.25, .25, -1, TRIANGLE}, 0, .5},
    {"falls on the face, separated", false, {.25, .25, 1, TRIANGLE}, {.25, .25, -1, TRIANGLE}, .25, .375},
    {"stops just above", false, {.25, .25, 1, TRIANGLE}, {.25, .25, .125, TRIANGLE}, .0625, -1},
    {"arrives at the end of the step", false, {.25, .25, 1, TRIANGLE}, {.25, .25, 0, TRIANGLE}, 0, 1},
    {"falls past it", false, {.75, .75, 1, TRIANGLE}, {.75, .75, -1, TRIANGLE}, 0, -1},
    {"falls past it, within the separation", false, {-.375, .5, 1, TRIANGLE}, {-.375, .5, -1, TRIANGLE}, .625, .25},
    {"falls on a corner", false, {1, 0, 1, TRIANGLE}, {1, 0, -3, TRIANGLE}, 0, .25},
    {"falls on an edge", false, {.5, .5, 1, TRIANGLE}, {.5, .5, -3, TRIANGLE}, 0, .25},
    {"touches from the start", false, {.25, .25, 0, TRIANGLE}, {.25, .25, 1, TRIANGLE}, 0, 0},
    {"rests on the face", false, {.25, .25, 0, TRIANGLE}, {.25, .25, 0, TRIANGLE}, 0, 0},
    {"rests above the face", false, {.25, .25, .5, TRIANGLE}, {.25, .25, .5, TRIANGLE}, .25, -1},
    {"rests next to it in the plane", false, {2, 2, 0, TRIANGLE}, {2, 2, 0, TRIANGLE}, 0, -1},
    {"runs into an edge within the plane", false, {.25, -1, 0, TRIANGLE}, {.25, 1, 0, TRIANGLE}, 0, .5},
    {"passes by within the plane", false, {-1, 3, 0, TRIANGLE}, {3, -.5, 0, TRIANGLE}, 0, -1},
    {"a triangle that is a line", false, {.5, 0, 1, 0, 0, 0, 1, 0, 0, 2, 0, 0}, {.5, 0, -1, 0, 0, 0, 1, 0, 0, 2, 0, 0}, 0, .5},
    {"a triangle that is a point", false, {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, .5},
    {"misses a triangle that is a point", false, {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, .5, -1},
    {"all one point", false, {0}, {0}, 0, 0},
    {"a triangle that collapses into the point", false, {0, 0, 0, 1, 0, 1, -1, 1, 1, -1, -1, 1}, {0}, 0, 1},
    {"turns over through the point", false, {.25, .25, .25, 0, 0, 0, 1, 0, 0, 0, 1, 0}, {.25, .25, .25, 0, 0, 0, 1, 0, 0, 0, 1, 2}, 0, .5},
    {"a triangle flies over the point, twice coplanar",
     false,
     {0, 0, 0, 3, 3, -1, 4, 3, -1, 3, 4, -1},
     {0, 0, 0, 3, 3, 1, 4, 3, 1, 3, 4, 1},
     0,
     -1},
    {"crossing edges", true, {-1, 0, 1, 1, 0, 1, 0, -1, 0, 0, 1, 0}, {-1, 0, -1, 1, 0, -1, 0, -1, 0, 0, 1, 0}, 0, .5},
    {"crossing edges, separated", true, {-1, 0, 1, 1, 0, 1, 0, -1, 0, 0, 1, 0}, {-1, 0, -1, 1, 0, -1, 0, -1, 0, 0, 1, 0}, .5, .25},
    {"lines cross, edges do not", true, {2, 0, 1, 3, 0, 1, 0, -1, 0, 0, 1, 0}, {2, 0, -1, 3, 0, -1, 0, -1, 0, 0, 1, 0}, 0, -1},
    {"parallel edges", true, {0, 0, 1, 1, 0, 1, .5, 0, 0, 2, 0, 0}, {0, 0, -3, 1, 0, -3, .5, 0, 0, 2, 0, 0}, 0, .25},
    {"parallel edges next to each other", true, {0, 0, 1, 1, 0, 1, 1.5, 0, 0, 2, 0, 0}, {0, 0, -3, 1, 0, -3, 1.5, 0, 0, 2, 0, 0}, 0, -1},
    {"in line, head on", true, {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0}, 0, .5},
    {"in line, separated", true, {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0}, .5, .25},
    {"in line, away", true, {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, {-2, 0, 0, -1, 0, 0, 2, 0, 0, 3, 0, 0}, .5, -1},
    {"ends collide", true, {0, 0, 1, 1, 1, 1, 0, 0, 0, 1, -1, 0}, {0, 0, -1, 1, 1, -1, 0, 0, 0, 1, -1, 0}, 0, .5},
    {"within a plane", true, {0, 0, 0, 1, 0, 0, -1, 1, 0, .5, 2, 0}, {0, 0, 0, 1, 0, 0, -1, -3, 0, .5, -2, 0}, 0, 5.0 / 12},
    {"an edge that is a point", true, {0, 0, 1, 0, 0, 1, -1, 0, 0, 1, 0, 0}, {0, 0, -1, 0, 0, -1, -1, 0, 0, 1, 0, 0}, 0, .5},
    {"share an end", true, {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}, 0, 0},
};

static ccd_query query_of(bool is_edges) { return is_edges ? ccd_edge_edge : ccd_point_triangle; }
static ccd_query lenient_of(bool is_edges) { return is_edges ? ccd_edge_edge_conservative : ccd_point_triangle_conservative; }

static void closed_forms(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
    const known_case *c = &CASES[i];
    /* All approach speeds are at least 1/4, so times are early by at most four tolerances. */
    static const double tolerances[] = {0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4};
    for (int k = 0; k < 6; ++k) {
      const double     tolerance = tolerances[k];
      const ccd_limits limits    = {c->separation, tolerance};
      ccd_hit          hit       = {0};
      const bool       found     = query_of(c->is_edges)(c->x0, c->x1, &limits, &hit);
      if (found != (c->t >= 0.0)) fail_msg("%s: %s at tolerance %g", c->name, found ? "found" : "missed", tolerance);
      if (!found) continue;
      if (hit.t > c->t) fail_msg("%s: at %.17g, later than %.17g", c->name, hit.t, c->t);
      if (c->t - hit.t > 4.0 * (tolerance + 1e-13)) fail_msg("%s: %g too early at tolerance %g", c->name, c->t - hit.t, tolerance);
      assert_true(hit.is_certain);
      assert_true(hit.distance <= c->separation + tolerance + 1e-13);
    }
  }
}

static void weights_and_normal(void **unused)
{
  (void)unused;
  const double     down[2][12]  = {{.25, .5, 1, TRIANGLE}, {.25, .5, -1, TRIANGLE}};
  const double     cross[2][12] = {{-1, 0, 1, 3, 0, 1, 0, -1, 0, 0, 1, 0}, {-1, 0, -1, 3, 0, -1, 0, -1, 0, 0, 1, 0}};
  const ccd_limits limits       = {.125, 1e-9};
  ccd_hit          hit;
  assert_true(ccd_point_triangle(down[0], down[1], &limits, &hit));
  assert_close(hit.u, .25, 1e-12);
  assert_close(hit.v, .5, 1e-12);
  assert_close(hit.normal[2], 1.0, 1e-12);
  assert_close(hit.distance, .125, 2e-9);
  assert_true(ccd_edge_edge(cross[0], cross[1], &limits, &hit));
  assert_close(hit.u, .25, 1e-12);
  assert_close(hit.v, .5, 1e-12);
  assert_close(hit.normal[2], 1.0, 1e-12);
  assert_true(ccd_edge_edge(cross[0], cross[1], &limits, NULL));
}

/* ---- collisions built exactly: at t = k/8 the point is on the triangle with weights of eighths, all in small integers ---- */

static double integer(uint64_t i, uint64_t stream, int reach)
{
  return (double)random_index(7, i, stream, (uint64_t)(2 * reach + 1)) - reach;
}

/* Integer positions at time T and integer velocities, so that both ends are exact. A range of 0 to 3 makes degenerate cases
 * common. */
static void exact_collision(uint64_t i, bool is_edges, double x0[12], double x1[12], double *t)
{
  const int reach = (int)random_index(7, i, 90, 4), speed = (int)random_index(7, i, 91, 4);
  const int u = (int)random_index(7, i, 92, 9), v = (int)random_index(7, i, 93, is_edges ? 9 : (uint64_t)(9 - u));
  double    x[12], velocity[12];
  *t = (double)random_index(7, i, 94, 9) / 8.0;
  for (int k = 0; k < 12; ++k) x[k] = 8.0 * integer(i, (uint64_t)k, reach), velocity[k] = 8.0 * integer(i, (uint64_t)(20 + k), speed);
  for (int k = 0; k < 3; ++k) {
    if (is_edges) { /* translate the first edge so that the two points coincide */
      const double p = x[k] + u * (x[3 + k] - x[k]) / 8.0, q = x[6 + k] + v * (x[9 + k] - x[6 + k]) / 8.0;
      x[k] += q - p, x[3 + k] += q - p;
    } else x[k] = x[3 + k] + (u * (x[6 + k] - x[3 + k]) + v * (x[9 + k] - x[3 + k])) / 8.0;
  }
  for (int k = 0; k < 12; ++k) x0[k] = x[k] - *t * velocity[k], x1[k] = x[k] + (1.0 - *t) * velocity[k];
}

static void exact_collisions_are_found(void **unused)
{
  (void)unused;
  static const double tolerances[] = {0.0, 1e-9, 1e-3}, separations[] = {0.0, 1e-6, 0.5};
  int64_t             early = 0, gave_up = 0, n = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const bool       is_edges = i % 2;
    const ccd_limits limits   = {separations[i / 2 % 3], tolerances[i / 6 % 3]};
    double           x0[12], x1[12], t;
    ccd_hit          hit;
    exact_collision(i, is_edges, x0, x1, &t);
    if (i % 5 == 0) /* still exact: translated by 2^20, or tiny */
      for (int k = 0; k < 12; ++k) x0[k] += k % 3 * 0x1p20, x1[k] += k % 3 * 0x1p20;
    if (i % 5 == 1)
      for (int k = 0; k < 12; ++k) x0[k] *= 0x1p-1000, x1[k] *= 0x1p-1000;
    if (i % 5 == 2)
      for (int k = 0; k < 12; ++k) x0[k] *= 0x1p1000, x1[k] *= 0x1p1000;
    if (!query_of(is_edges)(x0, x1, &limits, &hit)) fail_msg("collision %lld is missed", (long long)i);
    if (hit.t > t) fail_msg("collision %lld: %.17g is later than %.17g", (long long)i, hit.t, t);
    gave_up += !hit.is_certain;
    early += hit.t < t - 1e-3 && limits.separation == 0.0, n += limits.separation == 0.0;
  }
  assert_true(gave_up <= 2);  /* all of these are grazing and coplanar */
  assert_true(early < n / 2); /* most collisions are the first of their motion; otherwise a report at t = 0 would pass */
}

/* ---- quadruple precision ---- */

/* Squared distance of the two features at time t, by minimisation over the face and its border. */
static quad dot(const quad *a, const quad *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static quad segment_distance2(const quad *o, const quad *e)
{
  const quad ee = dot(e, e), oe = -dot(o, e);
  const quad s    = ee > 0 ? (oe > 0 ? (oe < ee ? oe / ee : 1) : 0) : 0;
  const quad x[3] = {o[0] + s * e[0], o[1] + s * e[1], o[2] + s * e[2]};
  return dot(x, x);
}

static quad distance2(bool is_edges, const double *x0, const double *x1, double t)
{
  quad x[12], q[3], e[3][3], r[2][3], N[3], best, d;
  for (int k = 0; k < 12; ++k) x[k] = (1 - (quad)t) * x0[k] + (quad)t * x1[k];
  for (int k = 0; k < 3; ++k) {
    q[k]    = is_edges ? x[k] - x[6 + k] : x[3 + k] - x[k];
    e[0][k] = is_edges ? x[3 + k] - x[k] : x[6 + k] - x[3 + k];
    e[1][k] = is_edges ? x[6 + k] - x[9 + k] : x[9 + k] - x[3 + k];
    e[2][k] = e[1][k] - e[0][k];
    r[0][k] = q[k] + e[0][k], r[1][k] = q[k] + e[1][k];
  }
  best = segment_distance2(q, e[0]);
  if ((d = segment_distance2(q, e[1])) < best) best = d;
  if ((d = segment_distance2(r[0], is_edges ? e[1] : e[2])) < best) best = d;
  if (is_edges && (d = segment_distance2(r[1], e[0])) < best) best = d;
  for (int k = 0; k < 3; ++k) N[k] = e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
  const quad a = dot(e[0], e[0]), b = dot(e[0], e[1]), c = dot(e[1], e[1]), f = -dot(q, e[0]), g = -dot(q, e[1]), NN = dot(N, N);
  if (NN > 0) {
    const quad u = (c * f - b * g) / NN, v = (a * g - b * f) / NN, h = dot(q, N);
    if (u >= 0 && v >= 0 && (is_edges ? u <= 1 && v <= 1 : u + v <= 1) && h * h / NN < best) best = h * h / NN;
  }
  return best;
}

/* The coplanarity determinant at t. */
static quad coplanarity(bool is_edges, const double *x0, const double *x1, quad t)
{
  quad x[12], e[3][3];
  for (int k = 0; k < 12; ++k) x[k] = (1 - t) * x0[k] + t * x1[k];
  for (int k = 0; k < 3; ++k) {
    e[0][k] = x[3 + k] - x[k];
    e[1][k] = is_edges ? x[9 + k] - x[6 + k] : x[6 + k] - x[k];
    e[2][k] = is_edges ? x[6 + k] - x[k] : x[9 + k] - x[k];
  }
  quad N[3];
  for (int k = 0; k < 3; ++k) N[k] = e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
  return dot(N, e[2]);
}

enum { SAMPLES = 48 };

/* First time at which the sampled determinant changes sign while the features touch: certainly a collision, but not necessarily the
 * first one. 2: none. */
static double crossing(bool is_edges, const double *x0, const double *x1)
{
  for (int s = 0; s < SAMPLES; ++s) {
    quad lo = (quad)s / SAMPLES, hi = (quad)(s + 1) / SAMPLES, f_lo = coplanarity(is_edges, x0, x1, lo);
    if (!(f_lo * coplanarity(is_edges, x0, x1, hi) < 0)) continue;
    for (int i = 0; i < 60; ++i) {
      const quad middle = (lo + hi) / 2, f = coplanarity(is_edges, x0, x1, middle);
      if (f * f_lo > 0) lo = middle;
      else hi = middle;
    }
    if (distance2(is_edges, x0, x1, (double)hi) < 1e-30) return (double)hi; /* the cast to double changes it by 1e-16 */
  }
  return 2.0;
}

static void random_query(uint64_t i, double x0[12], double x1[12])
{
  const double speed = random_range(11, i, 30, 0.0, 1.5);
  for (uint64_t k = 0; k < 12; ++k) {
    x0[k] = random_range(11, i, k, -1.0, 1.0);
    x1[k] = x0[k] + speed * random_range(11, i, 12 + k, -1.0, 1.0);
  }
}

static void agrees_with_quadruple_precision(void **unused)
{
  (void)unused;
  int n_found = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const bool       is_edges = i % 2;
    const ccd_limits limits   = {0.0, i % 3 ? 1e-9 : 0.0};
    double           x0[12], x1[12];
    ccd_hit          hit;
    random_query(i, x0, x1);
    const double t     = crossing(is_edges, x0, x1);
    const bool   found = query_of(is_edges)(x0, x1, &limits, &hit);
    if (t <= 1.0 && !found) fail_msg("query %lld is missed", (long long)i);
    if (t <= 1.0 && hit.t > t + 1e-15) fail_msg("query %lld: %.17g later than %.17g", (long long)i, hit.t, t);
    if (!found) continue;
    ++n_found;
    const double d = sqrt((double)distance2(is_edges, x0, x1, hit.t));
    if (d > limits.tolerance + 1e-13) fail_msg("query %lld: false positive, %g apart", (long long)i, d);
    assert_close(d, hit.distance, 1e-14);
  }
  assert_true(n_found > 75);
}

/* Dense samples: the distance exceeds the separation before the reported time. */
static void keeps_the_separation(void **unused)
{
  (void)unused;
  int n_found = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const bool       is_edges = i % 2;
    const double     s        = pow(10.0, random_range(13, i, 0, -6.0, -0.3));
    const ccd_limits limits   = {s, 1e-3 * s};
    double           x0[12], x1[12];
    ccd_hit          hit = {.t = 1.0};
    random_query(i, x0, x1);
    const bool found = query_of(is_edges)(x0, x1, &limits, &hit);
    n_found += found && hit.t > 0.0;
    for (int k = 0; k < 40 && hit.t > 0.0; ++k)
      if (distance2(is_edges, x0, x1, hit.t * k / 40.0) <= (quad)s * s) fail_msg("query %lld: missed before %g", (long long)i, hit.t);
    if (!found) continue;
    const double d = sqrt((double)distance2(is_edges, x0, x1, hit.t));
    if (d > s + limits.tolerance + 1e-13) fail_msg("query %lld: false positive, %g apart for %g", (long long)i, d, s);
    assert_true(hit.is_certain);
  }
  assert_true(n_found > 100);
}

/* ---- symmetries ---- */

/* 0: time reversed; 1: corners permuted; 2: rotated by a quarter turn and mirrored; 3: translated exactly; 4: the two edges
 * exchanged, or the triangle reversed. */
static void transform(int kind, bool is_edges, const double *x, double *y)
{
  static const int names[2][2][4] = {{{0, 2, 3, 1}, {1, 0, 2, 3}}, {{0, 1, 3, 2}, {2, 3, 0, 1}}};
  memcpy(y, x, 12 * sizeof *y);
  for (int c = 0; c < 4 && (kind == 1 || kind == 4); ++c) {
    const int from = kind == 1 ? names[is_edges][0][c] : is_edges ? names[1][1][c] : (int[]){0, 3, 2, 1}[c];
    v3_copy(y + 3 * c, x + 3 * from);
  }
  for (int c = 0; c < 4 && kind == 2; ++c) v3_set(y + 3 * c, -x[3 * c + 1], x[3 * c + 2], x[3 * c]);
  for (int k = 0; k < 12 && kind == 3; ++k) y[k] = x[k] + (k % 3 - 1) * 4.0;
}

static void symmetries(void **unused)
{
  (void)unused;
  const ccd_limits limits = {1e-3, 1e-9};
  for (uint64_t i = 0; i < 6000; ++i) {
    const bool is_edges = i % 2;
    double     x0[12], x1[12], y0[12], y1[12];
    ccd_hit    hit, image;
    random_query(i, x0, x1);
    for (int k = 0; k < 12; ++k) x0[k] = ldexp(rint(ldexp(x0[k], 40)), -40), x1[k] = ldexp(rint(ldexp(x1[k], 40)), -40);
    const bool found = query_of(is_edges)(x0, x1, &limits, &hit);
    for (int kind = 0; kind < 5; ++kind) {
      transform(kind, is_edges, kind ? x0 : x1, y0);
      transform(kind, is_edges, kind ? x1 : x0, y1);
      if (query_of(is_edges)(y0, y1, &limits, &image) != found) fail_msg("query %lld: image %d differs", (long long)i, kind);
      /* For grazing features a tolerance of 1e-9 corresponds to a time difference of its square root. */
      if (found && kind && fabs(image.t - hit.t) > 1e-4) fail_msg("query %lld: image %d at %g, not %g", (long long)i, kind, image.t, hit.t);
      if (found && !kind && 1.0 - image.t < hit.t - 1e-15) fail_msg("query %lld: last contact before the first", (long long)i);
    }
  }
}

static void powers_of_two_change_no_bit(void **unused)
{
  (void)unused;
  static const int powers[] = {-1040, -1000, -500, 30, 500, 1010, 1022}; /* differences underflow in the first, overflow in the last */
  for (uint64_t i = 0; i < 2000; ++i) {
    const bool is_edges = i % 2;
    double     x0[12], x1[12], y0[12], y1[12];
    ccd_hit    hit, image;
    random_query(i, x0, x1);
    for (int k = 0; k < 12; ++k) x0[k] = ldexp(rint(ldexp(x0[k], 20)), -20), x1[k] = ldexp(rint(ldexp(x1[k], 20)), -20);
    const bool found = query_of(is_edges)(x0, x1, &SHARP, &hit);
    for (size_t p = 0; p < sizeof powers / sizeof *powers; ++p) {
      for (int k = 0; k < 12; ++k) y0[k] = ldexp(x0[k], powers[p]), y1[k] = ldexp(x1[k], powers[p]);
      assert_int_equal(query_of(is_edges)(y0, y1, &SHARP, &image), found);
      if (found) assert_true(image.t == hit.t && image.u == hit.u && image.pieces == hit.pieces);
    }
  }
}

/* ---- special cases ---- */

static void non_finite_input_counts_as_collision(void **unused)
{
  (void)unused;
  for (int k = 0; k < 24; ++k)
    for (int is_edges = 0; is_edges < 2; ++is_edges) {
      double  x[24] = {5, 5, 5, TRIANGLE, 6, 6, 6, TRIANGLE};
      ccd_hit hit   = {.t = 1.0};
      assert_false(query_of(is_edges)(x, x + 12, &SHARP, &hit) && !is_edges);
      x[k] = k % 2 ? NAN : -INFINITY;
      assert_true(query_of(is_edges)(x, x + 12, &SHARP, &hit));
      assert_true(hit.t == 0.0);
    }
  const double x[12] = {5, 5, 5, TRIANGLE};
  assert_true(ccd_point_triangle(x, x, &(ccd_limits){NAN, 0.0}, NULL));
  assert_true(ccd_point_triangle(x, x, &(ccd_limits){0.0, -1.0}, NULL));
  assert_true(ccd_point_triangle(x, x, &(ccd_limits){INFINITY, 0.0}, NULL));
  assert_false(ccd_point_triangle(x, x, &SHARP, NULL));
}

/* Rotating features that are close and never touch: the number of intervals must stay bounded. */
static void close_passes_take_few_subdivisions(void **unused)
{
  (void)unused;
  int worst = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    const double gap    = pow(10.0, random_range(17, i, 0, -12.0, -2.0));
    const double angle  = random_range(17, i, 1, 0.1, 1.5);
    double       x0[12] = {0, 0, gap, 1, 0, 0, -.5, .8, 0, -.5, -.8, 0}, x1[12];
    for (int c = 0; c < 4; ++c) { /* rotated about a tilted axis; each corner moves along a straight line */
      const double *p = x0 + 3 * c;
      v3_set(x1 + 3 * c, p[0], cos(angle) * p[1] - sin(angle) * p[2], sin(angle) * p[1] + cos(angle) * p[2]);
    }
    ccd_hit hit = {0};
    if (ccd_point_triangle(x0, x1, &SHARP, &hit)) assert_true(hit.distance < 1e-13);
    worst                   = hit.pieces > worst ? hit.pieces : worst;
    const ccd_limits limits = {0.5 * gap, 1e-3 * gap};
    ccd_point_triangle(x0, x1, &limits, &hit);
    worst = hit.pieces > worst ? hit.pieces : worst;
  }
  assert_true(worst < 1000);
  assert_no_leak();
}

/* Edges whose directions differ by 2^-k collide at their midpoints at an eighth of the step, with exact coordinates; or they pass
 * at a distance of 2^-k while sliding along each other and rotating in the plane. */
static void edges_that_are_almost_parallel(void **unused)
{
  (void)unused;
  for (uint64_t i = 0; i < 4000; ++i) {
    const int    k = (int)(i % 45), eighths = (int)random_index(19, i, 0, 9), slide = (int)random_index(19, i, 1, 5) - 2;
    const double angle = ldexp(1.0, -k), t = eighths / 8.0, fall = i % 3 ? 1.0 : ldexp(1.0, -k / 2), gap = ldexp(1.0, -k);
    double       x0[12], x1[12];
    ccd_hit      hit;
    for (int meets = 0; meets < 2; ++meets) {
      const double at_t[12]     = {-1, 0, 0, 1, 0, 0, -1, -angle, 0, 1, angle, 0},
                   velocity[12] = {0, 0, 0, 0, 0, 0, 0, 0, meets * fall, 0, 0, meets * fall};
      for (int c = 0; c < 12; ++c) {
        const double v = velocity[c] + (c % 3 == 0 && c >= 6 ? 8.0 * slide * ldexp(1.0, -k / 2) : 0.0);
        x0[c] = at_t[c] - t * v, x1[c] = at_t[c] + (1.0 - t) * v;
        if (c % 3 == 2 && c >= 6 && !meets) x0[c] += gap, x1[c] += gap;
      }
      const bool found = ccd_edge_edge(x0, x1, &SHARP, &hit);
      if (meets && (!found || hit.t > t)) fail_msg("query %lld: missed or late", (long long)i);
      if (!meets && found) fail_msg("query %lld: false positive at a distance of %g", (long long)i, hit.distance);
    }
  }
}

/* The box tests lose no collision: neither exact ones nor approaches to the given distance. */
static void bounding_boxes_miss_no_collision(void **unused)
{
  (void)unused;
  int n_apart = 0, n_found = 0, n_more = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const bool       is_edges = i % 2;
    const int        n_first  = is_edges ? 2 : 1;
    const ccd_limits limits   = {0.0, i % 3 ? 0.0 : 0.1};
    double           x0[12], x1[12], t;
    exact_collision(i, is_edges, x0, x1, &t);
    assert_false(ccd_boxes_are_apart(x0, x1, n_first, 0.0));
    assert_false(ccd_corners_are_apart(x0, x1, n_first, 0.0));
    for (int k = 0; k < 12; ++k)
      x1[k] = (x0[k] = random_range(23, i, (uint64_t)k, -1.0, 1.0)) + 0.3 * random_range(23, i, (uint64_t)(12 + k), -1.0, 1.0);
    const bool is_apart  = ccd_boxes_are_apart(x0, x1, n_first, limits.tolerance);
    const bool are_apart = ccd_corners_are_apart(x0, x1, n_first, limits.tolerance);
    assert_true(are_apart || !is_apart);
    n_more += are_apart && !is_apart;
    if (are_apart) assert_false(lenient_of(is_edges)(x0, x1, &limits, NULL));
    else n_found += lenient_of(is_edges)(x0, x1, &limits, NULL);
    n_apart += is_apart;
  }
  assert_true(n_apart > 1000 && n_found > 100 && n_more > 100);
}

/* The tolerance changes times, but not whether there is a collision, except for the queries ..._near. Many queries consist of small
 * integers, so that they graze or end at the border. */
static void tolerances_make_no_collisions(void **unused)
{
  static const double tolerances[] = {1e-9, 1e-6, 1e-3, 0.1}, separations[] = {0.0, 0.0, 1e-3, 0.1};
  int64_t             n[2][2] = {{0}}, passes = 0;
  (void)unused;
  for (uint64_t i = 0; i < 16000; ++i) {
    const bool       is_edges = i % 2;
    const ccd_limits sharp = {separations[i / 2 % 4], 0.0}, fast = {sharp.separation, tolerances[i / 8 % 4]};
    double           x0[12], x1[12], t;
    ccd_hit          exact = {0}, early = {0}, first = {0};
    if (i / 32 % 2) random_query(i, x0, x1);
    else exact_collision(i, is_edges, x0, x1, &t);
    const double off = pow(10.0, random_range(29, i, 0, -18.0, -3.0)); /* displaced by a tiny distance */
    for (int k = 0; k < 3 && i / 64 % 2; ++k)
      x0[k] += off * random_range(29, i, (uint64_t)(1 + k), -1.0, 1.0), x1[k] += off * random_range(29, i, (uint64_t)(4 + k), -1.0, 1.0);
    const bool is_one = query_of(is_edges)(x0, x1, &sharp, &exact), is_fast = query_of(is_edges)(x0, x1, &fast, &early);
    const bool is_near = lenient_of(is_edges)(x0, x1, &fast, &first);
    if (is_fast != is_one)
      fail_msg("query %lld: %s with a tolerance of %g", (long long)i, is_fast ? "a false positive" : "missed", fast.tolerance);
    if (is_one && !(early.t <= exact.t)) fail_msg("query %lld: late", (long long)i);
    if (is_one && !is_near) fail_msg("query %lld: missed by the query ..._near", (long long)i);
    if (is_one && early.is_certain && !(early.distance <= fast.separation + fast.tolerance + 1e-13))
      fail_msg("query %lld: too early, %g apart", (long long)i, early.distance);
    ++n[is_one][is_near];
    passes += is_one && exact.t > 0.0;
  }
  assert_true(n[0][0] > 400 && n[0][1] > 400 && n[1][1] > 400 && passes > 400);
}

TEST_MAIN(cmocka_unit_test(tolerances_make_no_collisions), cmocka_unit_test(edges_that_are_almost_parallel),
          cmocka_unit_test(bounding_boxes_miss_no_collision), cmocka_unit_test(closed_forms), cmocka_unit_test(weights_and_normal),
          cmocka_unit_test(exact_collisions_are_found), cmocka_unit_test(agrees_with_quadruple_precision),
          cmocka_unit_test(keeps_the_separation), cmocka_unit_test(symmetries), cmocka_unit_test(powers_of_two_change_no_bit),
          cmocka_unit_test(non_finite_input_counts_as_collision), cmocka_unit_test(close_passes_take_few_subdivisions))
