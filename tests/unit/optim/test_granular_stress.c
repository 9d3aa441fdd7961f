/* Solvers of stress against each other and against references of their own. */
#include "flow_fixture.h"
#include "optim/granular/granular_component.h"

static bool is_heap(const int p[3], const int n[3])
{
  const double x = p[0] + 0.5 - 0.5 * n[0], z = p[2] + 0.5 - 0.5 * n[2];
  return 4.0 * (x * x + z * z) < 0.64 * n[0] * n[2] && 2 * p[1] < n[1];
}
static fixture_spec heap(bool is_staggered, bool is_orthonormal)
{
  return (fixture_spec){.n              = {6, 8, 6},
                        .h              = 0.05,
                        .dt             = 0.02,
                        .rho            = 1600,
                        .M              = 0.5,
                        .is_staggered   = is_staggered,
                        .is_orthonormal = is_orthonormal,
                        .is_open_wall   = true,
                        .is_material    = is_heap};
}
static double largest_difference(int64_t n, const double *a, const double *b)
{
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

/* The cone is the same set in both bases, and the published method ends where projected gradient does: the same velocities. */
static void methods_and_bases_agree_on_the_cone(void **state)
{
  (void)state;
  double *u = NULL, scale = 0.0;
  for (int basis = 0; basis < 2; ++basis)
    for (int method = GRANULAR_STRESS_GRADIENT; method <= GRANULAR_STRESS_LAGRANGIAN; ++method) {
      const fixture_spec spec = heap(false, basis == 0);
      fixture            w;
      fixture_create(&w, &spec);
      fixture_tighten(&w, 1e-9);
      w.o.stress              = method;
      const granular_report r = fixture_solve(&w);
      assert_true(r.is_converged);
      assert_true(r.kkt.energy < 0.0 && r.kkt.kkt < 1e-6);
      assert_close(r.kkt.yield, 1.0, 1e-6);
      if (!u) {
        assert_ok(memory_alloc("velocities", w.f.n_faces, sizeof *u, &u));
        memcpy(u, w.x.u, (size_t)w.f.n_faces * sizeof *u);
        scale = largest_difference(w.f.n_faces, w.x.u, w.u_star);
      }
      assert_close(largest_difference(w.f.n_faces, u, w.x.u), 0.0, 1e-6 * scale);
      fixture_destroy(&w);
    }
  memory_free(&u);
  assert_no_leak();
}

/* The published variants: each is a different iteration from the default, and each converges. */
static void change_variant(fixture *w, int variant)
{
  granular_lagrangian_options *o = &w->lagrangian;
  if (variant == 1) o->has_pyramid = false;
  if (variant == 2) o->kappa = 0.5;
  if (variant == 3) o->iterations = 4;
  if (variant == 4) o->has_line_search = true;
  if (variant == 5) o->mu = 1e-3;
  if (variant == 6) o->damping = 0.25;
}
static void variants_of_the_published_method_differ(void **state)
{
  (void)state;
  double *s          = NULL;
  int64_t iterations = 0;
  for (int variant = 0; variant < 7; ++variant) {
    const fixture_spec spec = heap(false, false);
    fixture            w;
    fixture_create(&w, &spec);
    w.o.stress = GRANULAR_STRESS_LAGRANGIAN, w.o.max_outer_iterations = 3;
    change_variant(&w, variant);
    for (int64_t c = 0; c < w.f.n_cells; ++c) w.x.p[c] = 1000.0, w.x.multiplier[c] = 1e-3;
    for (int64_t i = 0; i < w.f.n_stress; ++i)
      w.x.s[i] = i % 2 ? 3000.0 : -2000.0; /* far outside of the cones: the pyramid has something to do */
    const granular_report r = fixture_solve(&w);
    assert_true(r.is_finite && r.s_iterations > 0);
    if (!s) {
      iterations = r.s_iterations;
      assert_ok(memory_alloc("s", w.f.n_stress, sizeof *s, &s));
      memcpy(s, w.x.s, (size_t)w.f.n_stress * sizeof *s);
    } else if (!(largest_difference(w.f.n_stress, s, w.x.s) > 1e-3)) fail_msg("variant %d changes nothing", variant);
    if (variant == 3) assert_true(r.s_iterations > 2 * iterations);
    fixture_destroy(&w);
  }
  memory_free(&s);
  assert_no_leak();
}

/* ---- twelve unknowns: two cells, dense matrices made from the operators here ---- */
enum { N_P = 2, N_S = 10, N = N_P + N_S };
typedef struct {
  double A[N][N], b[N]; /* J = 1/2 x A x - b x over (p, s), to a constant */
} dense;
static bool is_pair(const int p[3], const int n[3])
{
  (void)n;
  return p[0] < 2 && p[1] == 0 && p[2] == 0;
}
static void pair_create(fixture *w, dense *d, bool is_orthonormal)
{
  const fixture_spec spec = {.n              = {2, 2, 1},
                             .h              = 0.1,
                             .dt             = 0.02,
                             .rho            = 1600,
                             .M              = 0.9,
                             .is_orthonormal = is_orthonormal,
                             .is_open_wall   = true,
                             .tilt           = 0.2,
                             .is_material    = is_pair};
  fixture_create(w, &spec);
  assert_int_equal(w->f.n_cells, N_P);
  for (int64_t i = 0; i < w->f.n_faces; ++i) {
    w->u_star[i] += 0.05 * (random_u01(3, (uint64_t)i, 0) - 0.5);
    w->mobility[i] *= 0.7 + random_u01(3, (uint64_t)i, 1);
  }
  *d                = (dense){0};
  double row[N][32] = {{0.0}};
  assert_true(w->f.n_faces <= 32);
  for (int i = 0; i < N; ++i) {
    const sparse_rows *a = i < N_P ? &w->G : &w->D;
    const int64_t      r = i < N_P ? i : i - N_P;
    for (int64_t k = a->start[r]; k < a->start[r + 1]; ++k) row[i][a->col[k]] = a->value[k];
  }
  for (int i = 0; i < N; ++i)
    for (int64_t f = 0; f < w->f.n_faces; ++f) {
      d->b[i] += row[i][f] * w->weight[f] * w->u_star[f];
      for (int j = 0; j < N; ++j) d->A[i][j] += row[i][f] * w->weight[f] * w->mobility[f] * row[j][f];
    }
}
static double value(const dense *d, const double *x)
{
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    double ax = 0.0;
    for (int j = 0; j < N; ++j) ax += d->A[i][j] * x[j];
    sum += (0.5 * ax - d->b[i]) * x[i];
  }
  return sum;
}

/* Unknowns first ... last - 1 of x to the minimum in their box, the others fixed, by trying every set of bounds that may hold. */
static bool enumerate(const dense *d, int first, int last, const double *lo, const double *hi, double *x)
{
  const int n      = last - first;
  int64_t   n_sets = 1;
  for (int i = 0; i < n; ++i) n_sets *= 3;
  for (int64_t set = 0; set < n_sets; ++set) {
    int    which[N_S], free_at[N_S], n_free = 0;
    double M[N_S][N_S + 1], y[N];
    memcpy(y, x, sizeof y);
    int64_t digits      = set;
    bool    is_possible = true;
    for (int i = 0; i < n; ++i, digits /= 3) {
      which[i] = (int)(digits % 3);
      if (which[i] == 0) free_at[n_free++] = first + i;
      else y[first + i] = which[i] == 1 ? lo[i] : hi[i];
      is_possible = is_possible && isfinite(y[first + i]);
    }
    if (!is_possible) continue;
    for (int i = 0; i < n_free; ++i) y[free_at[i]] = 0.0;
    for (int i = 0; i < n_free; ++i) {
      M[i][n_free] = d->b[free_at[i]];
      for (int j = 0; j < N; ++j) M[i][n_free] -= d->A[free_at[i]][j] * y[j];
      for (int j = 0; j < n_free; ++j) M[i][j] = d->A[free_at[i]][free_at[j]];
    }
    bool is_regular = true;
    for (int i = 0; i < n_free && is_regular; ++i) { /* symmetric positive definite or not at all: no pivoting */
      is_regular = M[i][i] > 1e-10 * d->A[free_at[i]][free_at[i]];
      for (int k = i + 1; k < n_free && is_regular; ++k) {
        const double factor = M[k][i] / M[i][i];
        for (int j = i; j <= n_free; ++j) M[k][j] -= factor * M[i][j];
      }
    }
    if (!is_regular) continue;
    for (int i = n_free - 1; i >= 0; --i) {
      double sum = M[i][n_free];
      for (int j = i + 1; j < n_free; ++j) sum -= M[i][j] * y[free_at[j]];
      y[free_at[i]] = sum / M[i][i];
    }
    bool is_solution = true;
    for (int i = 0; i < n && is_solution; ++i) {
      double g = -d->b[first + i], size = fabs(d->b[first + i]);
      for (int j = 0; j < N; ++j) g += d->A[first + i][j] * y[j], size += fabs(d->A[first + i][j] * y[j]);
      if (which[i] == 0) is_solution = y[first + i] >= lo[i] && y[first + i] <= hi[i];
      else is_solution = which[i] == 1 ? g >= -1e-12 * size : g <= 1e-12 * size;
    }
    if (is_solution) {
      memcpy(x, y, sizeof y);
      return true;
    }
  }
  return false;
}

/* s to its minimum in the cones, by many short projected steps of one cell after the other. */
static void descend_in_cones(const dense *d, bool is_orthonormal, const double *radius, double *x)
{
  double most = 0.0;
  for (int i = N_P; i < N; ++i) {
    double sum = 0.0;
    for (int j = N_P; j < N; ++j) sum += fabs(d->A[i][j]);
    most = fmax(most, sum);
  }
  for (int it = 0; it < 100000; ++it)
    for (int c = 0; c < N_P; ++c) {
      double g[5], raised[5], *s = x + N_P + 5 * c;
      for (int e = 0; e < 5; ++e) {
        g[e] = -d->b[N_P + 5 * c + e];
        for (int j = 0; j < N; ++j) g[e] += d->A[N_P + 5 * c + e][j] * x[j];
      }
      const double third[5] = {(2 * g[0] - g[1]) / 3, (2 * g[1] - g[0]) / 3, 0.5 * g[2], 0.5 * g[3], 0.5 * g[4]};
      memcpy(raised, is_orthonormal ? g : third, sizeof raised);
      for (int e = 0; e < 5; ++e) s[e] -= raised[e] / most;
      const double shear = s[2] * s[2] + s[3] * s[3] + s[4] * s[4],
                   size  = sqrt(is_orthonormal ? s[0] * s[0] + s[1] * s[1] + shear : 2 * (s[0] * s[0] + s[1] * s[1] + s[0] * s[1] + shear));
      for (int e = 0; e < 5 && size > radius[c]; ++e) s[e] *= radius[c] / size;
    }
}

static void gather(const fixture *w, double *x) { memcpy(x, w->x.p, N_P * sizeof *x), memcpy(x + N_P, w->x.s, N_S * sizeof *x); }
static void expect_same(const fixture *w, const dense *d, const char *what, const double *x, const double *reference)
{
  const double e = value(d, x), wanted = value(d, reference);
  if (!(fabs(e - wanted) <= 1e-10 * fabs(wanted) * test_tolerance_scale())) fail_msg("%s: energy %.15g, reference %.15g", what, e, wanted);
  double change = 0.0, scale = 0.0;
  for (int64_t f = 0; f < w->f.n_faces; ++f) {
    double u = w->u_star[f];
    for (int64_t k = w->GT.start[f]; k < w->GT.start[f + 1]; ++k) u -= w->mobility[f] * w->GT.value[k] * reference[w->GT.col[k]];
    for (int64_t k = w->DT.start[f]; k < w->DT.start[f + 1]; ++k) u -= w->mobility[f] * w->DT.value[k] * reference[N_P + w->DT.col[k]];
    change = fmax(change, fabs(u - w->x.u[f])), scale = fmax(scale, fabs(w->u_star[f]));
  }
  if (!(change <= 1e-6 * scale * test_tolerance_scale())) fail_msg("%s: velocities differ by %g of %g", what, change, scale);
}

/* A fixed point of the two projections: given p, no stress in the set does better; given s, no pressure does. The boxes have the
 * default width, the published one, and a narrow one. */
static void twelve_unknowns_agree_with_references(void **state)
{
  (void)state;
  static const double none[2] = {0.0, 0.0}, infinite[2] = {INFINITY, INFINITY}, widths[3] = {1.0, M_SQRT2, 0.9};
  enum { N_METHODS = GRANULAR_STRESS_SP - GRANULAR_STRESS_GRADIENT + 1 };
  for (int basis = 0; basis < 2; ++basis)
    for (int k = 0; k < 3 * N_METHODS; ++k) {
      const int    method = GRANULAR_STRESS_GRADIENT + k % N_METHODS;
      const double width  = widths[k / N_METHODS];
      if (method < GRANULAR_STRESS_PYRAMID && width != 1.0) continue; /* the cone */
      fixture w;
      dense   d;
      double  x[N], reference[N], radius[N_P], lo[N_S], hi[N_S];
      int     n_bound = 0;
      pair_create(&w, &d, basis == 1);
      fixture_tighten(&w, 1e-12);
      w.o.stress = method, w.o.pyramid_width = width;
      const double          shift = method == GRANULAR_STRESS_SP ? GRANULAR_SP_SHIFT : 0.0;
      const granular_report r     = fixture_solve(&w);
      assert_true(r.is_converged);
      gather(&w, x);
      for (int c = 0; c < N_P; ++c) radius[c] = w.alpha[c] * x[c];
      assert_true(x[0] > 0.0);
      memcpy(reference, x, sizeof x);
      assert_true(enumerate(&d, 0, N_P, none, infinite, reference));
      expect_same(&w, &d, "pressure", x, reference);
      memcpy(reference, x, sizeof x);
      for (int i = 0; i < N_S; ++i)
        hi[i] = width * radius[i / 5] * (basis == 1 ? 1.0 : sqrt(0.5)), lo[i] = -hi[i],
        n_bound += fabs(fabs(x[N_P + i]) - hi[i]) < 1e-9 * hi[i];
      if (method >= GRANULAR_STRESS_PYRAMID) {
        assert_true(n_bound > 0 && n_bound < N_S);              /* else this would be no test */
        for (int i = N_P; i < N; ++i) d.A[i][i] *= 1.0 + shift; /* the matrix of SP */
        assert_true(enumerate(&d, N_P, N, lo, hi, reference));
      } else descend_in_cones(&d, basis == 1, radius, reference);
      expect_same(&w, &d,
                  method == GRANULAR_STRESS_GRADIENT     ? "projected gradient"
                  : method == GRANULAR_STRESS_LAGRANGIAN ? "lagrangian"
                                                         : "pyramid",
                  x, reference);
      fixture_destroy(&w);
    }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(methods_and_bases_agree_on_the_cone), cmocka_unit_test(variants_of_the_published_method_differ),
          cmocka_unit_test(twelve_unknowns_agree_with_references))
