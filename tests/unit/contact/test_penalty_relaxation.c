/* Relaxation on a plane and on level sets: closed forms, the friction cone, derivatives against differences. */
#include "test.h"
#include "relax_plane.h"
#include "core/math3.h"
#include <float.h>

static uint64_t state;
static double   uniform(double lo, double hi) /* splitmix64 */
{
  uint64_t x = (state += 0x9e3779b97f4a7c15ull);
  x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x          = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static void random_vector(double *x, double size)
{
  for (int i = 0; i < 3; ++i) x[i] = uniform(-size, size);
}
static void random_unit(double *n)
{
  do random_vector(n, 1.0);
  while (v3_norm(n) < 0.1);
  v3_scale(n, 1.0 / v3_norm(n), n);
}

/* Surfaces. Context: up to 4 numbers. */
static double eval_plane(const void *context, const double x[3], double g[3], double H[9])
{
  const double *p = context;
  if (g) v3_copy(g, p);
  if (H) m3_zero(H);
  return v3_dot(p, x) - p[3];
}
static double eval_sphere(const void *context, const double x[3], double g[3], double H[9])
{
  const double R = *(const double *)context, l = v3_norm(x);
  if (g) v3_scale(g, 1.0 / l, x);
  for (int i = 0; H && i < 9; ++i) H[i] = ((i % 4 == 0) - x[i / 3] * x[i % 3] / (l * l)) / l;
  return l - R;
}
/* No distance: gradient neither of length one nor along closest points. */
static double eval_wavy(const void *context, const double x[3], double g[3], double H[9])
{
  const double a = *(const double *)context;
  if (g) v3_set(g, 0.6 * x[0] + a * cos(x[0] + x[1]), -0.2 * x[1] + a * cos(x[0] + x[1]), 1.3);
  if (H) {
    const double c    = -a * sin(x[0] + x[1]);
    const double h[9] = {0.6 + c, c, 0.0, c, -0.2 + c, 0.0, 0.0, 0.0, 0.0};
    m3_copy(H, h);
  }
  return 1.3 * x[2] + 0.3 * x[0] * x[0] - 0.1 * x[1] * x[1] + a * sin(x[0] + x[1]);
}
static double eval_zero_gradient(const void *context, const double x[3], double g[3], double H[9])
{
  (void)context;
  if (g) v3_set(g, 0.0, 0.0, 0.0);
  if (H) m3_zero(H);
  return v3_dot(x, x) - 1.0;
}

static relax_state relax_implicit(const relax_surface *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z)
{
  const relax_cone round = {.mu = mu};
  return relax_implicit_cone(s, &round, X, Z, Y, Y_Z);
}

typedef relax_state (*relax_fn)(const void *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z);
static relax_state by_plane(const void *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z)
{
  const double *p = ((const relax_surface *)s)->context;
  return relax_plane(p, p[3], mu, X, Z, Y, Y_Z);
}
static relax_state by_implicit(const void *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z)
{
  return relax_implicit(s, mu, X, Z, Y, Y_Z);
}

static const relax_cone ellipse = {.mu_across = 1.8, .direction = {0.4, 0.9, -0.5}}; /* mu: by_cone's */
static relax_state      by_cone(const void *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z)
{
  const relax_cone cone = {mu, ellipse.mu_across, {ellipse.direction[0], ellipse.direction[1], ellipse.direction[2]}};
  return relax_implicit_cone(s, &cone, X, Z, Y, Y_Z);
}

/* Largest entry of |central difference - derivative|. -1: the branch changed. */
static double difference_error(relax_fn relax, const void *s, double mu, const double *X, const double *Z, double step)
{
  double            Y[3], Y_Z[9], worst = 0.0;
  const relax_state here = relax(s, mu, X, Z, Y, Y_Z);
  for (int j = 0; j < 3; ++j) {
    double Yp[3], Ym[3], p[3], m[3];
    v3_copy(p, Z);
    v3_copy(m, Z);
    p[j] += step, m[j] -= step;
    if (relax(s, mu, X, p, Yp, NULL) != here || relax(s, mu, X, m, Ym, NULL) != here) return -1.0;
    for (int i = 0; i < 3; ++i) worst = fmax(worst, fabs((Yp[i] - Ym[i]) / (2.0 * step) - Y_Z[3 * i + j]));
  }
  return worst;
}

/* Differences at 1e-5 to 1e-6 (round-off is 1e-11), and between 4e-3 and 2e-3 the error falls by four. */
static void check_derivatives(relax_fn relax, const relax_surface *s, bool first)
{
  double coarse = 0.0, fine = 0.0;
  int    n_slide = 0, n_stick = 0, n_first = 0;
  for (int trial = 0; trial < 400; ++trial) {
    double X[3], Z[3], W[3], Y[3], g[3], mu = uniform(0.05, 1.5);
    random_vector(Z, 0.5);
    const double phi  = s->eval(s->context, Z, g, NULL);
    const double want = -uniform(0.15, 0.4);
    v3_scale(g, 1.0 / v3_norm(g), g);
    v3_axpy(Z, want - phi, g); /* inside, roughly that deep */
    if (s->eval(s->context, Z, g, NULL) > -0.1) continue;
    if (relax(s, 0.0, NULL, Z, W, NULL) != RELAX_FIRST) continue;
    random_vector(X, 0.5);
    v3_add(X, X, W);
    double depth = s->eval(s->context, X, g, NULL);
    v3_axpy(X, -depth / v3_norm(g), g);
    const double     *attachment = first ? NULL : X;
    const relax_state here       = relax(s, mu, attachment, Z, Y, NULL);
    n_slide += here == RELAX_SLIDE;
    n_stick += here == RELAX_STICK;
    n_first += here == RELAX_FIRST;
    const double e5 = difference_error(relax, s, mu, attachment, Z, 1e-5);
    const double e3 = difference_error(relax, s, mu, attachment, Z, 4e-3);
    const double e4 = difference_error(relax, s, mu, attachment, Z, 2e-3);
    if (e5 < 0.0) continue; /* a kink in reach */
    assert_close(e5, 0.0, 1e-6);
    double W_X[3];
    v3_sub(W_X, X, W);
    if (e3 >= 0.0 && e4 >= 0.0 && (first || v3_norm(W_X) > 0.3)) coarse += e3, fine += e4; /* far from d = 0 */
  }
  if (first) assert_true(n_first > 50);
  else assert_true(n_slide > 50 && n_stick > 20);
  if (coarse > 1e-9) assert_close(coarse / fine, 4.0, 0.25);
}

static const double plane[4] = {0.48, -0.6, 0.64, 0.15}, radius = 1.5, wave = 0.2;

static void derivatives(void **unused)
{
  (void)unused;
  const relax_surface flat = {eval_plane, plane}, sphere = {eval_sphere, &radius}, wavy = {eval_wavy, &wave};
  for (int first = 0; first < 2; ++first) {
    check_derivatives(by_plane, &flat, first);
    check_derivatives(by_implicit, &flat, first);
    check_derivatives(by_implicit, &sphere, first);
    check_derivatives(by_implicit, &wavy, first);
    check_derivatives(by_cone, &flat, first);
    check_derivatives(by_cone, &sphere, first);
    check_derivatives(by_cone, &wavy, first);
  }
  assert_no_leak();
}

static void random_pair(double *n, double *offset, double *mu, double *X, double *Z)
{
  random_unit(n);
  *offset = uniform(-1.0, 1.0);
  *mu     = uniform(0.0, 1.5);
  random_vector(Z, 1.0);
  v3_axpy(Z, *offset - uniform(0.01, 0.5) - v3_dot(n, Z), n);
  random_vector(X, 1.0);
  v3_axpy(X, *offset - v3_dot(n, X), n);
}

/* Cone, idempotence and the spectrum of the symmetric part; 64 eps: a dozen operations on numbers of size one. */
static void plane_is_exact(void **unused)
{
  (void)unused;
  const double tolerance = 64.0 * DBL_EPSILON;
  for (int trial = 0; trial < 2000; ++trial) {
    double n[3], offset, mu, X[3], Z[3], Y[3], again[3], A[9];
    random_pair(n, &offset, &mu, X, Z);
    const relax_state s = relax_plane(n, offset, mu, X, Z, Y, A);
    double            f[3], f_t[3];
    v3_sub(f, Y, Z);
    const double f_n = v3_dot(f, n);
    v3_copy(f_t, f);
    v3_axpy(f_t, -f_n, n);
    assert_close(v3_dot(n, Y), offset, tolerance);
    if (s == RELAX_STICK) {
      assert_memory_equal(Y, X, sizeof Y);
      assert_true(v3_norm(f_t) <= mu * f_n + tolerance);
      continue;
    }
    assert_int_equal(s, RELAX_SLIDE);
    assert_close(v3_norm(f_t), mu * f_n, tolerance);
    relax_plane(n, offset, mu, Y, Z, again, NULL);
    for (int i = 0; i < 3; ++i) assert_close(again[i], Y[i], tolerance);

    double d[3], S[9], B[9];
    v3_sub(d, X, Z);
    v3_axpy(d, -v3_dot(n, d), n);
    /* 1 - A: half of 1 +- sqrt(1 + mu^2) in the plane of normal and sliding direction, s across. */
    const double share = mu * f_n / v3_norm(d), root = sqrt(1.0 + mu * mu);
    const double spectrum[3] = {0.5 * (1.0 + root), 0.5 * (1.0 - root), share};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) S[3 * i + j] = (i == j) - 0.5 * (A[3 * i + j] + A[3 * j + i]);
    assert_close(m3_trace(S), spectrum[0] + spectrum[1] + spectrum[2], tolerance);
    for (int k = 0; k < 3; ++k) {
      m3_copy(B, S);
      for (int i = 0; i < 3; ++i) B[4 * i] -= spectrum[k];
      assert_close(m3_det(B), 0.0, tolerance);
    }
  }
  assert_no_leak();
}

/* On a plane: (f_1/mu_1)^2 + (f_2/mu_2)^2 against f_n^2, with independent axes; friction points from Y to X; a repeated
 * relaxation sticks. A circle written as an ellipse, and one whose direction is normal to the surface. 64 eps as above, over the
 * smaller mu. */
static void elliptical_cone(void **unused)
{
  (void)unused;
  int n_stick = 0, n_slide = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    double p[4], mu, X[3], Z[3], Y[3], Y2[3], f[3], along[3], across[3], d[3];
    random_pair(p, &p[3], &mu, X, Z);
    const relax_surface s    = {eval_plane, p};
    relax_cone          cone = {uniform(0.05, 4.0), uniform(0.05, 4.0), {0}};
    random_unit(cone.direction);
    v3_copy(along, cone.direction);
    v3_axpy(along, -v3_dot(along, p), p);
    if (v3_norm(along) < 0.1) continue;
    v3_scale(along, 1.0 / v3_norm(along), along);
    v3_cross(across, p, along);
    const double      tolerance  = 64.0 * DBL_EPSILON / fmin(cone.mu, cone.mu_across);
    const relax_state state_here = relax_implicit_cone(&s, &cone, X, Z, Y, NULL);
    v3_sub(f, Y, Z);
    const double f_n = v3_dot(f, p), share = hypot(v3_dot(f, along) / cone.mu, v3_dot(f, across) / cone.mu_across);
    n_stick += state_here == RELAX_STICK;
    n_slide += state_here == RELAX_SLIDE;
    assert_close(v3_dot(Y, p), p[3], 64.0 * DBL_EPSILON);
    if (state_here == RELAX_STICK) {
      assert_memory_equal(Y, X, sizeof Y);
      assert_true(share <= f_n + tolerance);
    } else {
      assert_close(share, f_n, tolerance);
      v3_axpy(f, -f_n, p);
      v3_sub(d, X, Y);
      v3_cross(Y2, f, d);
      assert_close(v3_norm(Y2), 0.0, 64.0 * DBL_EPSILON);
      assert_true(v3_dot(f, d) >= 0.0);
      relax_implicit_cone(&s, &cone, Y, Z, Y2, NULL);
      for (int i = 0; i < 3; ++i) assert_close(Y2[i], Y[i], tolerance);
    }
    relax_implicit(&s, fmin(cone.mu, cone.mu_across), X, Z, Y, NULL);
    v3_copy(cone.direction, p);
    relax_implicit_cone(&s, &cone, X, Z, Y2, NULL);
    for (int i = 0; i < 3; ++i) assert_close(Y2[i], Y[i], tolerance);
    relax_implicit(&s, cone.mu, X, Z, Y, NULL);
    v3_copy(cone.direction, along);
    cone.mu_across = cone.mu;
    relax_implicit_cone(&s, &cone, X, Z, Y2, NULL);
    assert_memory_equal(Y, Y2, sizeof Y);
  }
  assert_true(n_stick > 100 && n_slide > 200);
  assert_no_leak();
}

static void level_set_agrees_with_plane(void **unused)
{
  (void)unused;
  for (int trial = 0; trial < 1000; ++trial) {
    double p[4], mu, X[3], Z[3], Y1[3], Y2[3], A1[9], A2[9];
    random_pair(p, &p[3], &mu, X, Z);
    if (trial % 4 == 0) mu = 0.0;
    const double       *from = trial % 5 ? X : NULL;
    const relax_surface s    = {eval_plane, p};
    assert_int_equal(relax_plane(p, p[3], mu, from, Z, Y1, A1), relax_implicit(&s, mu, from, Z, Y2, A2));
    for (int i = 0; i < 3; ++i) assert_close(Y1[i], Y2[i], 64.0 * DBL_EPSILON);
    for (int i = 0; i < 9; ++i) assert_close(A1[i], A2[i], 64.0 * DBL_EPSILON);
  }
  assert_no_leak();
}

/* Y moves by at most a few times the motion of Z, across separation and across the stick-slip kink. */
static void continuous(void **unused)
{
  (void)unused;
  const relax_surface surfaces[] = {{eval_plane, plane}, {eval_sphere, &radius}};
  const double        eps        = 1e-9;
  for (int k = 0; k < 2; ++k)
    for (int trial = 0; trial < 300; ++trial) {
      const relax_surface *s = &surfaces[k];
      double               X[3], Z[3], g[3], Y[3], Y2[3], mu = uniform(0.1, 1.0), d[3];
      random_unit(X);
      if (k == 0) v3_axpy(X, plane[3] - v3_dot(plane, X), plane);
      else v3_scale(X, radius, X);
      random_vector(Z, 0.1);
      v3_add(Z, Z, X);
      double phi = s->eval(s->context, Z, g, NULL);
      v3_axpy(Z, -phi - eps, g); /* just inside: the force is of the size of the depth */
      assert_true(relax_implicit(s, mu, X, Z, Y, NULL) != RELAX_INACTIVE);
      v3_sub(d, Y, Z);
      assert_close(v3_norm(d), 0.0, 2.0 * eps);
      v3_axpy(Z, 2.0 * eps, g);
      assert_int_equal(relax_implicit(s, mu, X, Z, Y, NULL), RELAX_INACTIVE);
      assert_memory_equal(Y, Z, sizeof Y);

      /* Kink: a particle h deep whose closest point is mu h from the attachment, a little less and a little more. */
      double      W[3], n[3], t[3];
      relax_state state_in, state_out;
      s->eval(s->context, X, n, NULL);
      random_unit(t);
      v3_axpy(t, -v3_dot(t, n), n);
      v3_scale(t, 1.0 / v3_norm(t), t);
      const double h = 0.05;
      for (int side = 0; side < 2; ++side) {
        const double reach = mu * h * (side ? 1.0 + eps : 1.0 - eps);
        if (k == 0) {
          v3_copy(W, X);
          v3_axpy(W, reach, t);
        } else { /* turn X so that its chord is `reach` long */
          const double angle = 2.0 * asin(0.5 * reach / radius);
          for (int i = 0; i < 3; ++i) W[i] = radius * (cos(angle) * n[i] + sin(angle) * t[i]);
        }
        s->eval(s->context, W, g, NULL);
        v3_copy(Z, W);
        v3_axpy(Z, -h, g);
        if (side == 0) state_in = relax_implicit(s, mu, X, Z, Y, NULL);
        else state_out = relax_implicit(s, mu, X, Z, Y2, NULL);
      }
      assert_int_equal(state_in, RELAX_STICK);
      assert_int_equal(state_out, RELAX_SLIDE);
      v3_sub(d, Y, Y2);
      assert_close(v3_norm(d), 0.0, eps);
    }
  assert_no_leak();
}

/* On a sphere Y stays on the surface; the cone is satisfied up to curvature times chord. */
static void curved_surface(void **unused)
{
  (void)unused;
  const relax_surface s = {eval_sphere, &radius};
  for (int trial = 0; trial < 500; ++trial) {
    double X[3], Z[3], Y[3], f[3], f_t[3], n[3], d[3], mu = uniform(0.0, 1.0);
    random_unit(X);
    v3_scale(X, radius, X);
    random_vector(d, 0.2);
    v3_add(Z, X, d);
    v3_scale(Z, (radius - uniform(0.01, 0.1)) / v3_norm(Z), Z);
    if (relax_implicit(&s, mu, X, Z, Y, NULL) != RELAX_SLIDE) continue;
    assert_close(v3_norm(Y), radius, 16.0 * DBL_EPSILON);
    v3_scale(n, 1.0 / radius, Y);
    v3_sub(f, Y, Z);
    v3_copy(f_t, f);
    v3_axpy(f_t, -v3_dot(f, n), n);
    v3_sub(d, X, Y);
    assert_true(v3_norm(f_t) <= mu * v3_dot(f, n) + v3_norm(d) / radius * v3_norm(f));
  }
  assert_no_leak();
}

/* Without friction the derivative is symmetric and is that of the closest point, also when X happens to be that point. */
static void frictionless(void **unused)
{
  (void)unused;
  const relax_surface s    = {eval_sphere, &radius};
  const double        Z[3] = {0.3, 0.2, 1.2};
  double              W[3], Y[3], A[9], B[9];
  assert_int_equal(relax_implicit(&s, 0.0, NULL, Z, W, A), RELAX_FIRST);
  assert_int_equal(relax_implicit(&s, 0.0, W, Z, Y, B), RELAX_SLIDE);
  for (int i = 0; i < 9; ++i) assert_close(A[i], B[i], 1e-14);
  for (int i = 0; i < 9; ++i) assert_close(A[i], A[3 * (i % 3) + i / 3], 1e-15);
  for (int i = 0; i < 3; ++i) assert_close(W[i], Y[i], 1e-15);
  assert_int_equal(relax_plane(plane, plane[3], 0.0, NULL, (double[3]){-1, 0, 0}, W, A), RELAX_FIRST);
  assert_int_equal(relax_plane(plane, plane[3], 0.0, W, (double[3]){-1, 0, 0}, Y, B), RELAX_SLIDE);
  assert_memory_equal(A, B, sizeof A);
  assert_no_leak();
}

static void odd_cases(void **unused)
{
  (void)unused;
  const relax_surface flat = {eval_plane, plane}, none = {eval_zero_gradient, NULL};
  const double        X[3] = {0.9, 0.1, -0.2}, Z[3] = {0.1, 0.2, 0.3}, bad[3] = {NAN, 0.0, 0.0};
  double              Y[3], A[9];
  relax_implicit(&flat, 0.3, X, bad, Y, A);
  assert_true(isnan(Y[0] + Y[1] + Y[2]));
  relax_plane(plane, plane[3], 0.3, X, bad, Y, A);
  assert_true(isnan(Y[0] + Y[1] + Y[2]));
  /* No normal: a known attachment stays, a new one is not created. */
  assert_int_equal(relax_implicit(&none, 0.3, X, Z, Y, A), RELAX_STICK);
  assert_memory_equal(Y, X, sizeof Y);
  assert_int_equal(relax_implicit(&none, 0.3, NULL, Z, Y, A), RELAX_INACTIVE);
  for (int i = 0; i < 9; ++i) assert_true(A[i] == 0.0);
  assert_no_leak();
}

/* A contact that begins in the step: by_entering has the relax_fn interface with X as the point at the start of the step. */
static relax_state by_entering(const void *s, double mu, const double *X, const double *Z, double *Y, double *Y_Z)
{
  const relax_surface *surface = s;
  const relax_cone     round   = {.mu = mu};
  double               entry[3];
  if (!X) return relax_implicit(s, mu, NULL, Z, Y, Y_Z);
  return relax_entering_cone(surface, &round, X, surface->eval(surface->context, X, NULL, NULL), Z, entry, Y, Y_Z);
}

/* Derivatives on all surfaces, for points that start outside. */
static void entering_derivatives(void **unused)
{
  (void)unused;
  const double        slope[4] = {0.0, 0.6, 0.8, 0.1}, R = 1.2, a = 0.2;
  const relax_surface surfaces[3] = {{eval_plane, slope}, {eval_sphere, &R}, {eval_wavy, &a}};
  for (int k = 0; k < 3; ++k) {
    const relax_surface *s       = &surfaces[k];
    int                  n_slide = 0, n_stick = 0;
    for (int trial = 0; trial < 400; ++trial) {
      double Z0[3], Z[3], Y[3], g[3];
      random_vector(Z0, 0.5);
      v3_copy(Z, Z0);
      double phi = s->eval(s->context, Z0, g, NULL);
      v3_axpy(Z0, (uniform(0.05, 0.2) - phi) / v3_dot(g, g), g);
      random_vector(Z, 0.5);
      v3_add(Z, Z, Z0);
      phi = s->eval(s->context, Z, g, NULL);
      v3_axpy(Z, (-uniform(0.1, 0.3) - phi) / v3_dot(g, g), g);
      if (s->eval(s->context, Z0, NULL, NULL) <= 0.01 || s->eval(s->context, Z, NULL, NULL) > -0.05) continue;
      const double      mu = uniform(0.05, 1.5), e = difference_error(by_entering, s, mu, Z0, Z, 1e-6);
      const relax_state here = by_entering(s, mu, Z0, Z, Y, NULL);
      if (e < 0.0) continue; /* a kink in reach */
      assert_close(e, 0.0, 1e-6);
      n_slide += here == RELAX_SLIDE;
      n_stick += here == RELAX_STICK;
    }
    assert_true(n_slide > 40 && n_stick > 20);
  }
}

/* On a plane z = 0: the spring starts at the point of entry, so that its elongation is the tangential motion after it, limited by the cone. */
static void entering_a_plane(void **unused)
{
  (void)unused;
  const double        floor[4] = {0.0, 0.0, 1.0, 0.0}, Z0[3] = {0.3, -0.2, 1e-3}, Z[3] = {0.304, -0.2, -3e-3}; /* enters after a quarter */
  const relax_surface s = {eval_plane, floor};
  double              X[3], Y[3];
  const relax_cone    rough = {.mu = 2.0}, smooth = {.mu = 0.5}, none = {.mu = 0.0};
  assert_int_equal(relax_entering_cone(&s, &rough, Z0, 1e-3, Z, X, Y, NULL), RELAX_STICK);
  assert_close(X[0], 0.301, 1e-15);
  assert_close(Y[0], 0.301, 1e-15);
  assert_close(Y[2], 0.0, 1e-15);
  assert_int_equal(relax_entering_cone(&s, &smooth, Z0, 1e-3, Z, X, Y, NULL), RELAX_SLIDE);
  assert_close(Z[0] - Y[0], 0.5 * 3e-3, 1e-15);
  assert_int_equal(relax_entering_cone(&s, &none, Z0, 1e-3, Z, X, Y, NULL), RELAX_SLIDE);
  assert_close(Y[0], Z[0], 1e-15);
  assert_int_equal(relax_entering_cone(&s, &rough, Z0, 1e-3, (double[3]){0.3, 0.0, 1e-4}, X, Y, NULL), RELAX_INACTIVE);
}

TEST_MAIN(cmocka_unit_test(derivatives), cmocka_unit_test(plane_is_exact), cmocka_unit_test(elliptical_cone),
          cmocka_unit_test(level_set_agrees_with_plane), cmocka_unit_test(continuous), cmocka_unit_test(curved_surface),
          cmocka_unit_test(frictionless), cmocka_unit_test(odd_cases), cmocka_unit_test(entering_derivatives),
          cmocka_unit_test(entering_a_plane))
