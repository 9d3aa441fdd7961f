/* Linear systems of the Newton methods of friction against dense elimination: block LU, saddle-point form, full pivoting, changes of the
 * active contacts, singular matrices. */
#include "friction_fixture.h"
#include "core/math3.h"
#include "optim/friction/newton_matrix.h"
#include <string.h>

enum { MOST = 40 }; /* contacts */

typedef struct {
  contact_scene  scene;
  delassus      *w;
  double         A[9 * MOST], B[9 * MOST], f[3 * MOST], d[3 * MOST];
  bool           is_active[MOST];
  newton_matrix *m;
} bench;

static friction_problem problem_of(const bench *b)
{
  return (friction_problem){.W = b->w, .n = b->scene.n, .q = b->scene.q, .mu = b->scene.mu};
}

/* Random blocks: those of A like a projection, those of B negative definite, so that the system is regular. Inactive: A = 0, B = -I. */
static void set_blocks(bench *b, uint64_t seed, double active_share)
{
  for (int64_t a = 0; a < b->scene.n; ++a) {
    b->is_active[a] = random_u01(seed, (uint64_t)a, 1) < active_share;
    for (int e = 0; e < 9; ++e) {
      const double unit = e % 4 == 0;
      b->A[9 * a + e]   = b->is_active[a] ? -unit + 0.2 * random_range(seed, (uint64_t)(9 * a + e), 2, -1.0, 1.0) : 0.0;
      b->B[9 * a + e]   = b->is_active[a] ? -unit + 0.2 * random_range(seed, (uint64_t)(9 * a + e), 3, -1.0, 1.0) : -unit;
    }
    for (int e = 0; e < 3; ++e) b->f[3 * a + e] = random_range(seed, (uint64_t)(3 * a + e), 4, -1.0, 1.0);
  }
}

/* A_a sum_b (W_ab + alpha delta_ab) d_b + B_a d_a = -f_a by elimination with pivoting. */
static void solve_dense(const bench *b, double alpha, double *d)
{
  static double  J[3 * MOST][3 * MOST + 1];
  const int      n = (int)(3 * b->scene.n);
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  assert_ok(delassus_blocks(b->w, &start, &col, &value));
  memset(J, 0, sizeof J);
  for (int a = 0; a < n / 3; ++a) {
    for (int64_t k = start[a]; k < start[a + 1]; ++k) {
      double w[9], j[9];
      m3_copy(w, value + 9 * k);
      for (int e = 0; e < 9 && col[k] == a; e += 4) w[e] += alpha;
      m3_mul(j, b->A + 9 * a, w);
      for (int e = 0; e < 9; ++e) J[3 * a + e / 3][3 * col[k] + e % 3] += j[e];
    }
    for (int e = 0; e < 9; ++e) J[3 * a + e / 3][3 * a + e % 3] += b->B[9 * a + e];
    for (int e = 0; e < 3; ++e) J[3 * a + e][n] = -b->f[3 * a + e];
  }
  for (int p = 0; p < n; ++p) {
    int best = p;
    for (int i = p + 1; i < n; ++i)
      if (fabs(J[i][p]) > fabs(J[best][p])) best = i;
    for (int k = 0; k <= n; ++k) {
      const double swap = J[p][k];
      J[p][k] = J[best][k], J[best][k] = swap;
    }
    for (int i = p + 1; i < n; ++i) {
      const double factor = J[i][p] / J[p][p];
      for (int k = p; k <= n; ++k) J[i][k] -= factor * J[p][k];
    }
  }
  for (int p = n - 1; p >= 0; --p) {
    d[p] = J[p][n];
    for (int k = p + 1; k < n; ++k) d[p] -= J[p][k] * d[k];
    d[p] /= J[p][p];
  }
}

static void bench_create(bench *b, uint64_t seed, int64_t n_bodies, int64_t size, int64_t n)
{
  scene_create(seed, n_bodies, size, 5, n, 0.3, &b->scene);
  assert_ok(delassus_create_system(&b->scene.M, &b->scene.H, &b->w));
}
static void bench_destroy(bench *b)
{
  newton_matrix_destroy(&b->m);
  newton_matrix_destroy(&b->m); /* nothing more to free */
  delassus_destroy(&b->w);
  scene_destroy(&b->scene);
}

/* Factor and solve, and compare with elimination. */
static void check(bench *b, double alpha, double tolerance)
{
  bool   is_solved = false;
  double expected[3 * MOST], size = 0.0;
  assert_ok(newton_matrix_factor(b->m, alpha, b->A, b->B, b->is_active, &is_solved));
  assert_true(is_solved);
  is_solved = false;
  assert_ok(newton_matrix_solve(b->m, b->f, b->d, &is_solved));
  assert_true(is_solved);
  solve_dense(b, alpha, expected);
  for (int64_t i = 0; i < 3 * b->scene.n; ++i) size = fmax(size, fabs(expected[i]));
  for (int64_t i = 0; i < 3 * b->scene.n; ++i) assert_close(b->d[i], expected[i], tolerance * size);
  for (int64_t i = 0; i < 3 * b->scene.n; ++i)
    if (!b->is_active[i / 3]) assert_true(b->d[i] == b->f[i]);
}

/* Few contacts on many bodies: blocks. Many contacts on one body of many degrees of freedom: the saddle-point form. All contacts active,
 * fewer and fewer, none, all again, with and without a shift. */
static void solutions_are_those_of_elimination(void **state)
{
  static const struct {
    int64_t n_bodies, size, n;
  } sizes[]                    = {{12, 6, 20}, {1, 40, MOST}, {3, 30, MOST}};
  static const double shares[] = {1.0, 0.95, 0.9, 0.5, 0.0, 1.0};
  (void)state;
  for (int k = 0; k < 3; ++k) {
    bench b;
    bench_create(&b, 50 + (uint64_t)k, sizes[k].n_bodies, sizes[k].size, sizes[k].n);
    const friction_problem p = problem_of(&b);
    assert_ok(newton_matrix_create(&p, &b.m));
    for (int s = 0; s < 6; ++s)
      for (int shifted = 0; shifted < 2; ++shifted) {
        set_blocks(&b, 60 + (uint64_t)s, shares[s]);
        check(&b, shifted ? 0.3 : 0.0, 1e-9);
      }
    bench_destroy(&b);
  }
}

/* Blocks on the diagonal that vanish or are tiny, while the matrix is regular: elimination within blocks fails or is inexact, and the
 * matrix is factored with full pivoting. */
static void singular_diagonal_blocks_are_pivoted(void **state)
{
  static const double remainders[] = {0.0, 1e-20, 1e-15, 3e-14, 1e-13, 1e-11};
  const int64_t      *start;
  const int32_t      *col;
  const double       *value;
  (void)state;
  for (int k = 0; k < 6; ++k) {
    bench b;
    bench_create(&b, 70, 1, 12, 2); /* 2 contacts of one body are coupled by regular blocks */
    const friction_problem p = problem_of(&b);
    assert_ok(newton_matrix_create(&p, &b.m));
    assert_ok(delassus_blocks(b.w, &start, &col, &value));
    for (int repeat = 0; repeat < 2; ++repeat) { /* the second time with the pattern of the first */
      set_blocks(&b, 71 + (uint64_t)repeat, 1.0);
      for (int a = 0; a < 2; ++a)
        for (int64_t e = start[a]; e < start[a + 1]; ++e) {
          double j[9];
          if (col[e] != a) continue;
          m3_mul(j, b.A + 9 * a, value + 9 * e);
          for (int i = 0; i < 9; ++i) b.B[9 * a + i] = -j[i] + (i % 4 ? 0.0 : remainders[k]);
        }
      check(&b, 0.0, 1e-9);
    }
    bench_destroy(&b);
  }
}

/* -friction_lu_type selects a package for the whole matrix instead of the block LU. */
static void an_option_selects_the_package(void **state)
{
  static const char *const options[] = {"-friction_lu_type petsc", "-friction_lu_type umfpack",
#ifdef PETSC_HAVE_SUPERLU
                                        "-friction_lu_type superlu"
#endif
  };
  (void)state;
  for (size_t k = 0; k < sizeof options / sizeof *options; ++k) {
    bench b;
    bench_create(&b, 80, 12, 6, 20);
    const friction_problem p = problem_of(&b);
    assert_ok(PetscOptionsInsertString(NULL, options[k]));
    assert_ok(newton_matrix_create(&p, &b.m));
    for (int s = 0; s < 3; ++s) {
      set_blocks(&b, 81 + (uint64_t)s, s == 1 ? 0.5 : 1.0);
      check(&b, 0.1, 1e-10);
    }
    assert_ok(PetscOptionsClear(NULL));
    bench_destroy(&b);
  }
}

/* A row without entries: no step, in both forms; a regular matrix is solved afterwards. */
static void singular_matrices_are_reported(void **state)
{
  (void)state;
  for (int is_saddle = 0; is_saddle < 2; ++is_saddle) {
    bench b;
    bool  is_solved;
    bench_create(&b, 90, is_saddle ? 1 : 12, is_saddle ? 40 : 6, is_saddle ? MOST : 20);
    const friction_problem p = problem_of(&b);
    assert_ok(newton_matrix_create(&p, &b.m));
    set_blocks(&b, 91, 1.0);
    m3_zero(b.A + 9 * 3), m3_zero(b.B + 9 * 3);
    assert_ok(newton_matrix_factor(b.m, 0.0, b.A, b.B, b.is_active, &is_solved));
    if (is_solved) assert_ok(newton_matrix_solve(b.m, b.f, b.d, &is_solved));
    assert_false(is_solved);
    set_blocks(&b, 92, 1.0);
    check(&b, 0.0, 1e-9);
    bench_destroy(&b);
  }
}

TEST_MAIN(cmocka_unit_test(solutions_are_those_of_elimination), cmocka_unit_test(singular_diagonal_blocks_are_pivoted),
          cmocka_unit_test(an_option_selects_the_package), cmocka_unit_test(singular_matrices_are_reported))
