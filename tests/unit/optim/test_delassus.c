#include "friction_fixture.h"
#include "core/math3.h"
#include "core/team.h"
#include "optim/friction/contact_groups.h"
#include <string.h>

/* W entry by entry: u = H M^-1 H^T e_j with Gaussian elimination on the dense M. */
static void dense_solve(int64_t n, double *a, double *x)
{
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = k + 1; i < n; ++i) {
      const double f = a[i * n + k] / a[k * n + k];
      if (f == 0.0) continue;
      for (int64_t j = k; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
      x[i] -= f * x[k];
    }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = i + 1; j < n; ++j) x[i] -= a[i * n + j] * x[j];
    x[i] /= a[i * n + i];
  }
}
static void dense_apply(const contact_scene *s, const double *r, double *u)
{
  const int64_t n = s->M.n_rows;
  double       *a, *x;
  sparse_rows   HT;
  assert_ok(memory_alloc("dense", n * n, sizeof *a, &a));
  assert_ok(memory_alloc("vector", n, sizeof *x, &x));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = s->M.start[i]; k < s->M.start[i + 1]; ++k) a[i * n + s->M.col[k]] = s->M.value[k];
  assert_ok(sparse_rows_transposed(&s->H, &HT));
  sparse_rows_apply(&HT, r, x);
  dense_solve(n, a, x);
  sparse_rows_apply(&s->H, x, u);
  sparse_rows_destroy(&HT);
  memory_free(&a), memory_free(&x);
}

static void fill(int64_t n, double *x, uint64_t seed)
{
  for (int64_t i = 0; i < n; ++i) x[i] = scene_random(seed, 9, (uint64_t)i);
}

/* The system, its assembled blocks and the elimination agree; blocks are exactly symmetric. */
static void one_system(int64_t n_bodies, int64_t size, int64_t width, int64_t n)
{
  contact_scene  s;
  delassus      *w, *stored;
  double        *r, *u, *v;
  const int64_t *start;
  const int32_t *col;
  const double  *value;
  scene_create(7, n_bodies, size, width, n, 0.3, &s);
  assert_ok(delassus_create_system(&s.M, &s.H, &w));
  assert_int_equal(delassus_n_contacts(w), n);
  assert_int_equal(delassus_n_dof(w), n_bodies * size);
  assert_ok(memory_alloc("r", 3 * n, sizeof *r, &r));
  assert_ok(memory_alloc("u", 3 * n, sizeof *u, &u));
  assert_ok(memory_alloc("v", 3 * n, sizeof *v, &v));
  fill(3 * n, r, 1);
  dense_apply(&s, r, v);
  delassus_apply(w, r, u);
  const double round_off = 1e-13 * (double)n; /* values of order 1, well conditioned */
  for (int64_t i = 0; i < 3 * n; ++i) assert_close(u[i], v[i], round_off);
  assert_ok(delassus_blocks(w, &start, &col, &value));
  for (int64_t a = 0; a < n; ++a) {
    double t[3], sum[3] = {0.0, 0.0, 0.0};
    for (int64_t k = start[a]; k < start[a + 1]; ++k) {
      assert_true(k == start[a] || col[k] > col[k - 1]);
      m3_mulv(t, value + 9 * k, r + 3 * col[k]);
      v3_add(sum, sum, t);
      if (col[k] == a) assert_memory_equal(value + 9 * k, delassus_diagonal(w) + 9 * a, 9 * sizeof(double));
      int64_t back = start[col[k]];
      while (back < start[col[k] + 1] && col[back] != a) ++back;
      assert_true(back < start[col[k] + 1]);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) assert_true(value[9 * k + 3 * i + j] == value[9 * back + 3 * j + i]);
    }
    for (int i = 0; i < 3; ++i) assert_close(sum[i], v[3 * a + i], round_off);
  }
  assert_ok(delassus_create_blocks(n, start, col, value, 12, &stored));
  delassus_apply(stored, r, u);
  for (int64_t i = 0; i < 3 * n; ++i) assert_close(u[i], v[i], round_off);
  assert_int_equal(delassus_n_dof(stored), 12);
  assert_null(delassus_mass(stored));
  memory_free(&r), memory_free(&u), memory_free(&v);
  delassus_destroy(&w), delassus_destroy(&stored);
  scene_destroy(&s);
}
static void blocks_and_products_agree_with_elimination(void **state)
{
  (void)state;
  one_system(5, 6, 5, 9);    /* rigid: dense */
  one_system(4, 1, 0, 6);    /* point masses on rails */
  one_system(3, 60, 10, 30); /* rods */
  one_system(2, 90, 89, 12); /* wide */
  assert_no_leak();
}

static void expect(PetscErrorCode code, PetscErrorCode wanted, const char *words)
{
  assert_int_equal(code, wanted);
  if (!strstr(error_message(), words)) fail_msg("\"%s\" does not say \"%s\"", error_message(), words);
  error_clear();
}

/* A Laplacian of a square grid, numbered as it falls: wide enough for the package. */
static void grid_mass(int64_t side, double shift, sparse_rows *M)
{
  const int64_t n = side * side;
  int32_t      *row, *col;
  double       *value;
  int64_t       k = 0;
  assert_ok(memory_alloc("rows", 5 * n, sizeof *row, &row));
  assert_ok(memory_alloc("columns", 5 * n, sizeof *col, &col));
  assert_ok(memory_alloc("values", 5 * n, sizeof *value, &value));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t x = i % side, y = i / side,
                  other[4] = {x > 0 ? i - 1 : -1, x + 1 < side ? i + 1 : -1, y > 0 ? i - side : -1, y + 1 < side ? i + side : -1};
    row[k] = col[k] = (int32_t)i, value[k++] = 4.0 + shift;
    for (int e = 0; e < 4; ++e)
      if (other[e] >= 0) row[k] = (int32_t)i, col[k] = (int32_t)other[e], value[k++] = -1.0;
  }
  assert_ok(sparse_rows_from_triplets("grid", n, n, k, row, col, value, M));
  memory_free(&row), memory_free(&col), memory_free(&value);
}
static void wide_components_go_to_a_package(void **state)
{
  sparse_rows  M;
  mass_factor *f;
  double      *x, *y;
  (void)state;
  grid_mass(130, 0.01, &M);
  assert_ok(mass_factor_create(&M, &f));
  assert_int_equal(mass_factor_n_components(f), 1);
  assert_false(mass_factor_is_threadable(f, 0));
  assert_ok(memory_alloc("x", M.n_rows, sizeof *x, &x));
  assert_ok(memory_alloc("y", M.n_rows, sizeof *y, &y));
  fill(M.n_rows, x, 3);
  const int32_t *dof = mass_factor_dof(f);
  for (int64_t i = 0; i < M.n_rows; ++i) y[i] = x[dof[i]];
  mass_factor_solve_places(f, y);
  for (int64_t i = 0; i < M.n_rows; ++i) x[dof[i]] = y[i]; /* M x = what x was */
  sparse_rows_apply(&M, x, y);
  for (int64_t i = 0; i < M.n_rows; ++i) assert_close(y[i], scene_random(3, 9, (uint64_t)i), 1e-11);
  mass_factor_destroy(&f);
  sparse_rows_destroy(&M);
  grid_mass(130, -1.0, &M);
  expect(mass_factor_create(&M, &f), PETSC_ERR_MAT_CH_ZRPVT, "coupled with row");
  assert_null(f);
  sparse_rows_destroy(&M);
  memory_free(&x), memory_free(&y);
  assert_no_leak();
}

/* 21 strands, the tenth shorter, so that bands are factored together and alone: M times the solution, each alone, and a failing
 * pivot. */
enum { STRANDS = 21, STRAND_ROWS = 40, STRAND_WIDTH = 7 };
static void strands_mass(uint64_t seed, double pivot, sparse_rows *M)
{
  int64_t  k = 0, n = 0, room = (int64_t)STRANDS * STRAND_ROWS * (2 * STRAND_WIDTH + 1);
  int32_t *row, *col;
  double  *value;
  assert_ok(memory_alloc("rows", room, sizeof *row, &row));
  assert_ok(memory_alloc("columns", room, sizeof *col, &col));
  assert_ok(memory_alloc("values", room, sizeof *value, &value));
  for (int s = 0; s < STRANDS; ++s) {
    const int64_t rows = s == 9 ? STRAND_ROWS / 2 : STRAND_ROWS;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i > STRAND_WIDTH ? i - STRAND_WIDTH : 0; j <= i; ++j) {
        const double off = scene_random(seed, (uint64_t)(n + i), (uint64_t)j);
        row[k] = (int32_t)(n + i), col[k] = (int32_t)(n + j),
        value[k++] = i > j                ? off
                     : s == 13 && i == 20 ? pivot
                                          : 3.0 * STRAND_WIDTH + off;
        if (i > j) row[k] = (int32_t)(n + j), col[k] = (int32_t)(n + i), value[k++] = off;
      }
    n += rows;
  }
  assert_ok(sparse_rows_from_triplets("mass", n, n, k, row, col, value, M));
  memory_free(&row), memory_free(&col), memory_free(&value);
}

static void strands_go_side_by_side(void **state)
{
  sparse_rows  M;
  mass_factor *f;
  bool         is_definite;
  double       x[STRANDS * STRAND_ROWS], y[STRANDS * STRAND_ROWS], z[STRANDS * STRAND_ROWS];
  (void)state;
  strands_mass(1, 25.0, &M);
  assert_ok(mass_factor_create_pattern(&M, &f));
  assert_int_equal(mass_factor_n_components(f), STRANDS);
  for (int round = 0; round < 2; ++round) {
    fill(M.n_rows, x, 3);
    memcpy(y, x, sizeof y), memcpy(z, x, sizeof z); /* places are the unknowns: strands come well numbered */
    mass_factor_solve_places(f, y);
    for (int64_t c = 0; c < STRANDS; ++c) mass_factor_solve_component(f, c, 1, z + mass_factor_start(f)[c]);
    for (int64_t i = 0; i < M.n_rows; ++i) assert_close(y[i], z[i], 1e-15); /* 30 products of numbers below 0.1, contracted otherwise */
    sparse_rows_apply(&M, y, z);
    for (int64_t i = 0; i < M.n_rows; ++i) {
      assert_int_equal(mass_factor_dof(f)[i], i);
      assert_close(z[i], x[i], 1e-14);
    }
    sparse_rows_destroy(&M);
    strands_mass(2, 26.0, &M);
    assert_ok(mass_factor_refactor(f, &M, &is_definite));
    assert_true(is_definite);
  }
  sparse_rows_destroy(&M);
  strands_mass(2, -1.0, &M);
  assert_ok(mass_factor_refactor(f, &M, &is_definite));
  assert_false(is_definite);
  mass_factor_destroy(&f);
  expect(mass_factor_create(&M, &f), PETSC_ERR_MAT_CH_ZRPVT, "the pivot of row 520 is not above zero"); /* 12 x 40 + 20 + 20 */
  sparse_rows_destroy(&M);
  assert_no_leak();
}

/* Contacts on such a component and between it and small ones: blocks and groups against products, and W applied before anything is
 * assembled. */
static void contacts_on_wide_components(void **state)
{
  enum { SIDE = 70, N = 45, ROOM = 3 * N * 8 };
  const int64_t  n_dof = SIDE * SIDE + 6;
  sparse_rows    grid, M, H;
  int32_t        row[ROOM], col[ROOM], *m_row, *m_col;
  double         value[ROOM], r[3 * N], u[3 * N], v[3 * N], *m_value;
  int64_t        k = 0;
  const int64_t *start;
  const int32_t *at;
  const double  *block;
  delassus      *w;
  (void)state;
  grid_mass(SIDE, 0.05, &grid);
  const int64_t n_entries = grid.start[grid.n_rows];
  assert_ok(memory_alloc("rows", n_entries + 6, sizeof *m_row, &m_row));
  assert_ok(memory_alloc("columns", n_entries + 6, sizeof *m_col, &m_col));
  assert_ok(memory_alloc("values", n_entries + 6, sizeof *m_value, &m_value));
  for (int64_t i = 0; i < grid.n_rows; ++i)
    for (int64_t e = grid.start[i]; e < grid.start[i + 1]; ++e) m_row[k] = (int32_t)i, m_col[k] = grid.col[e], m_value[k++] = grid.value[e];
  for (int64_t i = SIDE * SIDE; i < n_dof; ++i) m_row[k] = m_col[k] = (int32_t)i, m_value[k++] = 2.0;
  assert_ok(sparse_rows_from_triplets("mass", n_dof, n_dof, k, m_row, m_col, m_value, &M));
  k = 0;
  for (int64_t a = 0; a < N; ++a) /* five unknowns of the grid, and for every third contact one of the others */
    for (int i = 0; i < 3; ++i)
      for (int e = 0; e < 5 + (a % 3 == 0); ++e) {
        row[k]   = (int32_t)(3 * a + i);
        col[k]   = (int32_t)(e == 5 ? SIDE * SIDE + (a + i) % 6 : (a * 97 + e * 71 + i) % (SIDE * SIDE));
        value[k] = scene_random(4, 4, (uint64_t)k);
        ++k;
      }
  assert_ok(sparse_rows_from_triplets("Jacobian", 3 * N, n_dof, k, row, col, value, &H));
  assert_ok(delassus_create_system(&M, &H, &w));
  assert_false(mass_factor_is_threadable(delassus_factor(w), 0));
  fill(3 * N, r, 2);
  delassus_apply(w, r, u);
  assert_ok(delassus_blocks(w, &start, &at, &block));
  for (int64_t a = 0; a < N; ++a) {
    double sum[3] = {0.0, 0.0, 0.0}, t[3];
    for (int64_t e = start[a]; e < start[a + 1]; ++e) {
      m3_mulv(t, block + 9 * e, r + 3 * at[e]);
      v3_add(sum, sum, t);
    }
    for (int i = 0; i < 3; ++i) assert_close(sum[i], u[3 * a + i], 1e-11);
  }
  contact_groups g;
  double        *moved;
  assert_ok(contact_groups_create(w, &g));
  assert_ok(memory_alloc("state", g.n_state, sizeof *moved, &moved));
  for (int64_t a = 0; a < N; ++a)
    for (int64_t e = g.side_start[a]; e < g.side_start[a + 1]; ++e) group_side_add_impulse(&g, g.side + e, moved, r + 3 * a);
  memset(v, 0, sizeof v);
  for (int64_t a = 0; a < N; ++a)
    for (int64_t e = g.side_start[a]; e < g.side_start[a + 1]; ++e) group_side_gather(&g, g.side + e, moved, v + 3 * a);
  for (int i = 0; i < 3 * N; ++i) assert_close(v[i], u[i], 1e-11);
  contact_groups_destroy(&g);
  delassus_destroy(&w);
  sparse_rows_destroy(&grid), sparse_rows_destroy(&M), sparse_rows_destroy(&H);
  memory_free(&m_row), memory_free(&m_col), memory_free(&m_value), memory_free(&moved);
  assert_no_leak();
}

static void same_bits_on_any_number_of_threads(void **state)
{
  contact_scene s;
  double       *r, *u[3];
  const int     threads[3] = {1, 2, 5};
  (void)state;
  scene_create(3, 60, 60, 10, 500, 0.3, &s);
  assert_ok(memory_alloc("r", 3 * s.n, sizeof *r, &r));
  fill(3 * s.n, r, 1);
  double *blocks[3];
  int64_t n_blocks = 0;
  for (int t = 0; t < 3; ++t) {
    delassus      *w;
    const int64_t *start;
    const int32_t *col;
    const double  *value;
    team_set_threads(threads[t]);
    assert_ok(memory_alloc("u", 3 * s.n, sizeof **u, &u[t]));
    assert_ok(delassus_create_system(&s.M, &s.H, &w));
    delassus_apply(w, r, u[t]);
    assert_ok(delassus_blocks(w, &start, &col, &value));
    n_blocks = start[s.n];
    assert_ok(memory_alloc("blocks", 9 * n_blocks, sizeof(double), &blocks[t]));
    memcpy(blocks[t], value, (size_t)n_blocks * 9 * sizeof(double));
    delassus_destroy(&w);
  }
  team_set_threads(0);
  for (int t = 1; t < 3; ++t) {
    assert_memory_equal(u[0], u[t], (size_t)s.n * 3 * sizeof(double));
    assert_memory_equal(blocks[0], blocks[t], (size_t)n_blocks * 9 * sizeof(double));
  }
  for (int t = 0; t < 3; ++t) memory_free(&u[t]), memory_free(&blocks[t]);
  memory_free(&r);
  scene_destroy(&s);
  assert_no_leak();
}

static void bad_input_is_refused_by_name(void **state)
{
  contact_scene s;
  delassus     *w        = NULL;
  const int64_t start[3] = {0, 1, 2}, falling[3] = {0, 2, 1};
  const int32_t col[2] = {0, 1}, far[2] = {0, 2}, empty[2] = {1, 0}, twice[2] = {0, 0};
  const int64_t double_start[3] = {0, 2, 2};
  double        value[18]       = {[0] = 1, [4] = 1, [8] = 1, [9] = 1, [13] = 1, [17] = 1};
  (void)state;
  expect(delassus_create_blocks(2, falling, col, value, 0, &w), PETSC_ERR_USER_INPUT, "contact 1 ends before it starts");
  expect(delassus_create_blocks(2, start, far, value, 0, &w), PETSC_ERR_USER_INPUT, "column 2, expected 0 ... 1");
  expect(delassus_create_blocks(2, start, empty, value, 0, &w), PETSC_ERR_USER_INPUT, "contact 0 has no diagonal block");
  expect(delassus_create_blocks(2, double_start, twice, value, 0, &w), PETSC_ERR_USER_INPUT, "occurs twice");
  value[3] = NAN;
  expect(delassus_create_blocks(2, start, col, value, 0, &w), PETSC_ERR_USER_INPUT, "contacts 0 and 0");
  assert_null(w);
  scene_create(1, 3, 6, 5, 4, 0.3, &s);
  sparse_rows narrow = s.H;
  narrow.n_cols      = 12;
  expect(delassus_create_system(&s.M, &narrow, &w), PETSC_ERR_USER_INPUT, "both count the unknowns");
  narrow        = s.H;
  narrow.n_rows = 11;
  expect(delassus_create_system(&s.M, &narrow, &w), PETSC_ERR_USER_INPUT, "three for each contact");
  for (int64_t k = s.M.start[7]; k < s.M.start[8]; ++k)
    if (s.M.col[k] == 7) s.M.value[k] = 0.0;
  expect(delassus_create_system(&s.M, &s.H, &w), PETSC_ERR_MAT_CH_ZRPVT, "row 7");
  s.M.value[0] = INFINITY;
  expect(delassus_create_system(&s.M, &s.H, &w), PETSC_ERR_USER_INPUT, "not a finite number");
  assert_null(w);
  scene_destroy(&s);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(blocks_and_products_agree_with_elimination), cmocka_unit_test(wide_components_go_to_a_package),
          cmocka_unit_test(strands_go_side_by_side), cmocka_unit_test(contacts_on_wide_components),
          cmocka_unit_test(same_bits_on_any_number_of_threads), cmocka_unit_test(bad_input_is_refused_by_name))
