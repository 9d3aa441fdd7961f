/* core/svd3: reconstruction, rotations, order and sign for every kind of matrix; batch = reference; derivative. */
#include "core/svd3.h"
#include "core/math3.h"
#include "test.h"
#include <float.h>

/* What a product of 15 rotations may lose; the worst seen is 3e-15. */
#define ROUND_OFF (32.0 * DBL_EPSILON)

static uint64_t random_state = 88172645463325252u;
static double   random_unit(void) /* [-1, 1) */
{
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) * 0x1p-52 - 1.0;
}

static void compose(double *F, const double *U, const double *sigma, const double *V)
{
  double T[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) T[3 * i + j] = U[3 * i + j] * sigma[j];
  m3_mul_nt(F, T, V);
}

static double largest_entry(const double *a)
{
  double m = 0.0;
  for (int k = 0; k < 9; ++k) m = fmax(m, fabs(a[k]));
  return m;
}

static void assert_rotation(const double *R)
{
  double T[9];
  m3_mul_tn(T, R, R);
  for (int k = 0; k < 9; ++k) assert_close(T[k], k % 4 == 0, ROUND_OFF);
  assert_close(m3_det(R), 1.0, ROUND_OFF);
}

static void assert_svd(const double *F, const double *U, const double *sigma, const double *V)
{
  double       G[9], D[9];
  const double size = largest_entry(F), scale = size > 0.0 ? size : 1.0;
  assert_rotation(U);
  assert_rotation(V);
  assert_true(sigma[0] >= sigma[1] && sigma[1] >= fabs(sigma[2]));
  for (int k = 0; k < 3; ++k) G[k] = sigma[k] / scale;
  compose(D, U, G, V);
  for (int k = 0; k < 9; ++k) assert_close(D[k], F[k] / scale, ROUND_OFF);
}

enum { KIND_ANY, KIND_NEAR_IDENTITY, KIND_NEAR_RANK_1, KIND_CLUSTERED, KIND_GRADED, KIND_INTEGER, N_KINDS };

/* `kind` selects sigma close to each other, opposite, or spread over 34 orders of magnitude */
static void random_matrix(int kind, double *F)
{
  double U[9], V[9], sigma[3];
  for (int k = 0; k < 9; ++k) F[k] = random_unit();
  const double e1 = exp(-20.0 * (1.0 + random_unit())), e2 = exp(-20.0 * (1.0 + random_unit()));
  const double sign = random_unit() < -0.4 ? -1.0 : 1.0;
  switch (kind) {
  case KIND_NEAR_IDENTITY:
    for (int k = 0; k < 9; ++k) F[k] = 0.1 * F[k] + (k % 4 == 0);
    break;
  case KIND_NEAR_RANK_1:
    for (int k = 0; k < 9; ++k) F[k] = (k / 3 - 0.7) * (k % 3 + 0.2) + e1 * F[k];
    break;
  case KIND_CLUSTERED:
  case KIND_GRADED:
    svd3(F, U, sigma, V);
    if (kind == KIND_CLUSTERED) v3_set(sigma, 1.0, random_unit() < 0.0 ? 1.0 - e1 : e1, sign * (1.0 - e2));
    else v3_set(sigma, 1.0, e1, sign * e1 * e2);
    compose(F, U, sigma, V);
    break;
  case KIND_INTEGER: /* every rank, repeated values, exact ties */
    for (int k = 0; k < 9; ++k) F[k] = floor(1.5 * F[k] + 0.5);
    break;
  default: break;
  }
}

static void random_matrices(void **state)
{
  (void)state;
  enum { N = 512, N_REPEAT = 8 };
  static double F[9 * N], U[9 * N], V[9 * N], sigma[3 * N];
  for (int kind = 0; kind < N_KINDS; ++kind)
    for (int repeat = 0; repeat < N_REPEAT; ++repeat) {
      double f[9], u[9], v[9], s[3], reference[3];
      for (int i = 0; i < N; ++i) {
        random_matrix(kind, f);
        for (int k = 0; k < 9; ++k) F[k * N + i] = f[k];
      }
      svd3_batch(N, N, F, U, sigma, V);
      for (int i = 0; i < N; ++i) {
        for (int k = 0; k < 9; ++k) f[k] = F[k * N + i], u[k] = U[k * N + i], v[k] = V[k * N + i];
        for (int k = 0; k < 3; ++k) s[k] = sigma[k * N + i];
        assert_svd(f, u, s, v);
        svd3(f, u, reference, v);
        assert_svd(f, u, reference, v);
        for (int k = 0; k < 3; ++k) assert_close(s[k], reference[k], ROUND_OFF * largest_entry(f));
      }
    }
}

/* The matrix hardest for five sweeps, found by climbing: a sixth must have nothing left to do. Without the fifth sweep this
 * search finds errors of 1e-10 within seconds. */
static void worst_matrices(void **state)
{
  (void)state;
  enum { N = 64, N_GENERATIONS = 200 };
  static double F[9 * N], U[9 * N], V[9 * N], sigma[3 * N];
  double        best[9], worst = -1.0;
  random_matrix(KIND_ANY, best);
  for (int generation = 0; generation < N_GENERATIONS; ++generation) {
    const double step = exp(4.0 * random_unit() - 4.0);
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < 9; ++k) F[k * N + i] = (i < N / 2 ? best[k] : 0.0) + (i < N / 2 ? step : 1.0) * random_unit();
    svd3_batch(N, N, F, U, sigma, V);
    for (int i = 0; i < N; ++i) {
      double f[9], u[9], v[9], s[3], g[9], error = 0.0;
      for (int k = 0; k < 9; ++k) f[k] = F[k * N + i], u[k] = U[k * N + i], v[k] = V[k * N + i];
      for (int k = 0; k < 3; ++k) s[k] = sigma[k * N + i];
      compose(g, u, s, v);
      for (int k = 0; k < 9; ++k) error = fmax(error, fabs(g[k] - f[k]) / largest_entry(f));
      if (error > worst) worst = error, m3_copy(best, f);
    }
  }
  assert_close(worst, 0.0, ROUND_OFF);
}

static void special_matrices(void **state)
{
  (void)state;
  static const double list[][9] = {
      {0},                                   /* zero */
      {1, 0, 0, 0, 1, 0, 0, 0, 1},           /* identity */
      {-1, 0, 0, 0, -1, 0, 0, 0, -1},        /* inverted, all equal */
      {1, 0, 0, 0, 1, 0, 0, 0, -1},          /* reflection */
      {0, 1, 0, 0, 0, 1, 1, 0, 0},           /* rotation */
      {0, 0, 0, 0, 0, 0, 0, 0, 5},           /* rank 1 */
      {1, 1, 1, 1, 1, 1, 1, 1, 1},           /* rank 1, dense */
      {0, 2, 0, 0, 0, 0, 0, 0, 0},           /* nilpotent */
      {1, 2, 3, 4, 5, 6, 7, 8, 9},           /* rank 2 */
      {1, 0, 0, 1e-200, 0, 0, 0, 0, 1e-200}, /* squares underflow */
      {1, 1e-160, 0, 0, 1e-160, 0, 0, 0, 1e-170},
      {1, 1, 0, 1, 1 + DBL_EPSILON, 0, 0, 0, 0},
      {3, 0, 0, 0, 3, 0, 0, 0, 3},
  };
  static const double scales[] = {1.0, 1e150, 1e-150, 1e300, 1e-290};
  const int           n_list = sizeof list / sizeof *list, n_scales = sizeof scales / sizeof *scales;
  for (int i = 0; i < n_list; ++i)
    for (int j = 0; j < n_scales; ++j) {
      double F[9], U[9], V[9], sigma[3];
      for (int k = 0; k < 9; ++k) F[k] = list[i][k] * scales[j];
      svd3(F, U, sigma, V);
      assert_svd(F, U, sigma, V);
      svd3_batch(1, 1, F, U, sigma, V);
      assert_svd(F, U, sigma, V);
    }
  /* known values, with the sign of the determinant in the last */
  double U[9], V[9], sigma[3];
  svd3_batch(1, 1, (const double[9]){0, 0, -2, 3, 0, 0, 0, -1, 0}, U, sigma, V); /* det = 6 */
  for (int k = 0; k < 3; ++k) assert_close(sigma[k], 3.0 - k, ROUND_OFF);
  svd3_batch(1, 1, (const double[9]){0, 0, 2, 3, 0, 0, 0, -1, 0}, U, sigma, V); /* det = -6 */
  for (int k = 0; k < 3; ++k) assert_close(sigma[k], k < 2 ? 3.0 - k : -1.0, ROUND_OFF);
}

static void non_finite_input_gives_non_finite_output(void **state)
{
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 9; ++k) {
      double F[9] = {1, 2, 3, 0, 1, 4, 5, 6, 0}, U[9], V[9], sigma[3];
      F[k]        = bad[i];
      svd3(F, U, sigma, V);
      assert_false(isfinite(sigma[0]) && isfinite(sigma[1]) && isfinite(sigma[2]));
      svd3_batch(1, 1, F, U, sigma, V);
      assert_false(isfinite(sigma[0]) && isfinite(sigma[1]) && isfinite(sigma[2]));
    }
}

/* The same bits wherever a matrix stands in the batch. */
static void place_does_not_matter(void **state)
{
  (void)state;
  enum { N = 37 };
  static double F[9 * N], U[9 * N], V[9 * N], sigma[3 * N];
  for (int i = 0; i < N; ++i) {
    double f[9];
    random_matrix(i % N_KINDS, f);
    for (int k = 0; k < 9; ++k) F[k * N + i] = f[k];
  }
  svd3_batch(N, N, F, U, sigma, V);
  for (int i = 0; i < N; ++i) {
    double f[9], u[9], v[9], s[3];
    for (int k = 0; k < 9; ++k) f[k] = F[k * N + i];
    svd3_batch(1, 1, f, u, s, v);
    for (int k = 0; k < 9; ++k) assert_true(u[k] == U[k * N + i] && v[k] == V[k * N + i]);
    for (int k = 0; k < 3; ++k) assert_true(s[k] == sigma[k * N + i]);
  }
}

TEST_MAIN(cmocka_unit_test(random_matrices), cmocka_unit_test(worst_matrices), cmocka_unit_test(special_matrices),
          cmocka_unit_test(non_finite_input_gives_non_finite_output), cmocka_unit_test(place_does_not_matter))
