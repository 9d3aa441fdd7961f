/* Slope of synthetic heaps: cones and a wedge of known angle with a rounded top and a thin toe, filled with perturbed lattices
 * of particles. */
#include "core/math3.h"
#include "core/random.h"
#include "sim/measure/heap_slope.h"
#include "test.h"

enum { MOST = 400000 };

/* Height of the surface over the height of the cone: a rounded top, the slope, and a thin toe; u = s/reach. */
static double surface(double u) { return u < 0.2 ? 0.9 - 2.5 * u * u : fmax(1.0 - u, u < 1.3 ? 0.08 : 0.0); }

/* Particles, two per column and axis, in a rotated frame with `up` last; `jitter` in lattice constants, in both directions. */
static int64_t fill(const heap_frame *f, double reach, double slope_deg, double jitter, uint64_t seed, double *x[3])
{
  const double d = 0.5 * f->width, t = tan(slope_deg * M_PI / 180.0);
  const int    m = (int)ceil(1.3 * reach / d) + 1, layers = (int)ceil(reach * t / d) + 1;
  int64_t      n = 0, site = 0;
  double       e[2][3];
  v3_set(e[0], 1.0, 0.0, 0.0);
  if (!f->is_round) v3_copy(e[0], f->along);
  v3_axpy(e[0], -v3_dot(e[0], f->up), f->up);
  v3_scale(e[0], 1.0 / v3_norm(e[0]), e[0]);
  v3_cross(e[1], f->up, e[0]);
  for (int i = -m; i < m; ++i)
    for (int j = f->is_round ? -m : 0; j < (f->is_round ? m : 4); ++j)
      for (int k = 0; k < layers; ++k, ++site) {
        double p[3] = {i + 0.5, j + 0.5, k + 0.5};
        for (int q = 0; q < 3; ++q) p[q] = d * (p[q] + random_range(seed, (uint64_t)site, (uint64_t)q, -jitter, jitter));
        const double s = f->is_round ? hypot(p[0], p[1]) : fabs(p[0]);
        if (p[2] < 0.0 || p[2] > reach * t * surface(s / reach)) continue;
        assert_true(n < MOST);
        for (int q = 0; q < 3; ++q) x[q][n] = f->point[q] + p[0] * e[0][q] + p[1] * e[1][q] + p[2] * f->up[q];
        ++n;
      }
  return n;
}

static void with_particles(void (*body)(double *x[3]))
{
  double *x[3];
  for (int q = 0; q < 3; ++q) assert_ok(memory_alloc("x", MOST, sizeof(double), &x[q]));
  body(x);
  for (int q = 0; q < 3; ++q) memory_free(&x[q]);
  assert_no_leak();
}

static double slope_deg(int64_t n, double *const x[3], const heap_frame *f)
{
  double angle;
  assert_ok(heap_slope_angle(n, x, f, &angle));
  return angle * 180.0 / M_PI;
}

static void cones_in(double *x[3])
{
  heap_frame f = {.up = {0, 0, 1}, .point = {0.3, -0.2, 0.05}, .is_round = true, .width = 0.01};
  for (int i = 0; i < 4; ++i) {
    const double wanted = (double[]){10.0, 22.0, 31.0, 40.0}[i];
    for (uint64_t seed = 1; seed < 4; ++seed) assert_close(slope_deg(fill(&f, 0.2, wanted, 0.5, seed, x), x, &f), wanted, 0.2);
    if (wanted > 20.0) /* gentler slopes of a perfect lattice have only a few stairs */
      assert_close(slope_deg(fill(&f, 0.2, wanted, 0.0, 1, x), x, &f), wanted, 0.2);
  }
}
static void cones(void **state) { (void)state, with_particles(cones_in); }

/* One column wide, with axes oblique to the coordinates, and two-sided: only the side that `along` points to is evaluated. */
static void wedge_in(double *x[3])
{
  heap_frame f = {.up = {0.6, 0, 0.8}, .point = {0.1, 0.2, 0.3}, .along = {0.0, 1.0, 0.0}, .width = 0.01};
  assert_close(slope_deg(fill(&f, 0.4, 31.0, 0.4, 5, x), x, &f), 31.0, 0.5);
  v3_set(f.along, 0.8, 0.3, -0.1);
  const int64_t n = fill(&f, 0.4, 26.0, 0.4, 6, x);
  assert_close(slope_deg(n, x, &f), 26.0, 0.5);
  for (int64_t i = 0; i < n; ++i) { /* squeeze the other side to half its width */
    const double d[3] = {x[0][i] - f.point[0], x[1][i] - f.point[1], x[2][i] - f.point[2]}, a = v3_dot(d, f.along);
    for (int q = 0; q < 3 && a < 0.0; ++q) x[q][i] -= 0.5 * a * f.along[q] / v3_dot(f.along, f.along);
  }
  assert_close(slope_deg(n, x, &f), 26.0, 0.5);
}
static void wedge(void **state) { (void)state, with_particles(wedge_in); }

static void too_little_in(double *x[3])
{
  heap_frame f = {.up = {0, 0, 1}, .is_round = true, .width = 0.01};
  assert_true(isnan(slope_deg(0, x, &f)));
  for (int i = 0; i < 5; ++i) x[0][i] = x[1][i] = 0.001 * i, x[2][i] = 0.01 * i;
  assert_true(isnan(slope_deg(5, x, &f)));
  f.is_round = false;
  v3_set(f.along, 0, 0, 1);
  assert_true(isnan(slope_deg(fill(&(heap_frame){.up = {0, 0, 1}, .is_round = true, .width = 0.01}, 0.1, 30.0, 0.0, 1, x), x, &f)));
}
static void too_little(void **state) { (void)state, with_particles(too_little_in); }

TEST_MAIN(cmocka_unit_test(cones), cmocka_unit_test(wedge), cmocka_unit_test(too_little))
