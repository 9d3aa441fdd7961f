/* Multifrontal factors: solves, complements and products against the matrix itself, with additional terms of another kind. */
#include "core/random.h"
#include "core/team.h"
#include "optim/multifrontal/multifrontal_dense.h"
#include "optim/multifrontal/multifrontal_dual.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* A box of nodes of three unknowns, coupled with those within `reach` as in a stiff mesh; terms on nodes of the lowest layers, and one
 * body of six unknowns in all of them: it is a hub. */
typedef struct {
  int64_t            n, n_terms;
  sparse_rows        A;
  int64_t           *start;
  int32_t           *column;
  double            *value, *G;
  multifrontal_terms terms;
} problem;

static double any(uint64_t a, uint64_t b) { return random_range(17, a, b, -1.0, 1.0); }

static void make_matrix(problem *p, const int side[3], int reach)
{
  const int64_t n_nodes = (int64_t)side[0] * side[1] * side[2];
  int64_t       n = 0, room = 0;
  int32_t      *row, *col;
  double       *value;
  p->n = 3 * n_nodes + 6;
  room = n_nodes * (2 * reach + 1) * (2 * reach + 1) * (2 * reach + 1) * 9 + 36;
  assert_ok(memory_alloc("row", room, sizeof *row, &row));
  assert_ok(memory_alloc("col", room, sizeof *col, &col));
  assert_ok(memory_alloc("value", room, sizeof *value, &value));
  for (int64_t i = 0; i < n_nodes; ++i)
    for (int64_t j = 0; j < n_nodes; ++j) {
      const int64_t a[3] = {i / (side[1] * side[2]), i / side[2] % side[1], i % side[2]},
                    b[3] = {j / (side[1] * side[2]), j / side[2] % side[1], j % side[2]};
      bool is_near       = true;
      for (int k = 0; k < 3; ++k) is_near &= llabs(a[k] - b[k]) <= reach;
      if (!is_near) continue;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
          const uint64_t lo = (uint64_t)(3 * i + r < 3 * j + c ? 3 * i + r : 3 * j + c), hi = (uint64_t)(3 * i + r + 3 * j + c) - lo;
          row[n] = (int32_t)(3 * i + r), col[n] = (int32_t)(3 * j + c);
          value[n++] = lo == hi ? 3.0 * (2 * reach + 1) * (2 * reach + 1) * (2 * reach + 1) : any(lo, hi);
        }
    }
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 6; ++c) row[n] = (int32_t)(3 * n_nodes + r), col[n] = (int32_t)(3 * n_nodes + c), value[n++] = r == c ? 5.0 : 0.5;
  assert_ok(sparse_rows_from_triplets("A", p->n, p->n, n, row, col, value, &p->A));
  memory_free(&row), memory_free(&col), memory_free(&value);
}

/* Terms in groups of three with the same columns: 2 x 2 x 2 nodes each, and the body. */
static void make_terms(problem *p, const int side[3], int64_t n_groups)
{
  p->n_terms = 3 * n_groups;
  assert_ok(memory_alloc("start", p->n_terms + 1, sizeof *p->start, &p->start));
  assert_ok(memory_alloc("column", 30 * p->n_terms, sizeof *p->column, &p->column));
  assert_ok(memory_alloc("value", 90 * p->n_terms, sizeof *p->value, &p->value));
  assert_ok(memory_alloc("G", 9 * p->n_terms, sizeof *p->G, &p->G));
  for (int64_t a = 0; a < p->n_terms; ++a) {
    const int64_t x = random_index((uint64_t)(a / 3), 1, 5, (uint64_t)side[0] - 1),
                  y = random_index((uint64_t)(a / 3), 2, 5, (uint64_t)side[1] - 1);
    int64_t at      = p->start[a];
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 2; ++k)
          for (int64_t c = 0; c < 3; ++c) p->column[at++] = (int32_t)(3 * (((x + i) * side[1] + y + j) * side[2] + k) + c);
    for (int64_t c = 0; c < 6; ++c) p->column[at++] = (int32_t)(p->n - 6 + c);
    p->start[a + 1] = at;
    for (int64_t e = 3 * p->start[a]; e < 3 * at; ++e) p->value[e] = any((uint64_t)e, 991);
    double B[9];
    for (int k = 0; k < 9; ++k) B[k] = a % 7 == 3 ? 0.0 : any((uint64_t)(9 * a + k), 992); /* some have no normal impulse */
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 3; ++k) p->G[9 * a + 3 * r + c] += 100.0 * B[3 * r + k] * B[3 * c + k];
  }
  p->terms = (multifrontal_terms){p->n_terms, p->start, p->column, p->value};
}

static void problem_create(problem *p, const int side[3], int reach, int64_t n_groups)
{
  memset(p, 0, sizeof *p);
  make_matrix(p, side, reach);
  make_terms(p, side, n_groups);
}

static void problem_destroy(problem *p)
{
  sparse_rows_destroy(&p->A);
  memory_free(&p->start), memory_free(&p->column), memory_free(&p->value), memory_free(&p->G);
}

/* y = (A + terms) x; without terms if G is NULL. */
static void product(const problem *p, const double *G, const double *x, double *y)
{
  sparse_rows_apply(&p->A, x, y);
  for (int64_t a = 0; G && a < p->n_terms; ++a) {
    double u[3] = {0}, r[3] = {0};
    for (int64_t e = p->start[a]; e < p->start[a + 1]; ++e)
      for (int k = 0; k < 3; ++k) u[k] += p->value[3 * e + k] * x[p->column[e]];
    for (int k = 0; k < 9; ++k) r[k / 3] += G[9 * a + k] * u[k % 3];
    for (int64_t e = p->start[a]; e < p->start[a + 1]; ++e)
      for (int k = 0; k < 3; ++k) y[p->column[e]] += p->value[3 * e + k] * r[k];
  }
}

/* Thin and thick boxes: one in which eliminating early unknowns first is better, one in which dissection of all is better, one without terms. */
static const struct {
  int     side[3], reach;
  int64_t n_groups;
} kinds[] = {{{9, 5, 9}, 2, 6}, {{12, 4, 3}, 1, 40}, {{6, 6, 6}, 1, 0}, {{2, 2, 2}, 1, 3}};

static void solves_are_inverses(void **state)
{
  (void)state;
  for (size_t q = 0; q < sizeof kinds / sizeof *kinds; ++q) {
    problem              p;
    multifrontal_tree   *t;
    multifrontal_factor *f;
    double              *x, *b, *y;
    bool                 is_definite, *is_late;
    problem_create(&p, kinds[q].side, kinds[q].reach, kinds[q].n_groups);
    assert_ok(multifrontal_tree_create(&p.A, kinds[q].n_groups ? &p.terms : NULL, 10.0, &t));
    assert_ok(multifrontal_factor_create(t, &f));
    assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
    assert_true(is_definite);
    double **arrays[] = {&x, &b, &y};
    for (int k = 0; k < 3; ++k) assert_ok(memory_alloc("x", p.n, sizeof(double), arrays[k]));
    assert_ok(memory_alloc("late", p.n, sizeof *is_late, &is_late));
    for (int64_t i = 0; i < p.n; ++i) x[i] = b[i] = any((uint64_t)i, 77);
    multifrontal_solve(f, x);
    product(&p, NULL, x, y);
    for (int64_t i = 0; i < p.n; ++i) assert_close(y[i], b[i], 1e-12);
    multifrontal_tree_late(t, is_late);
    for (int64_t e = 0; e < p.start[p.n_terms]; ++e) assert_true(is_late[p.column[e]]);
    if (kinds[q].n_groups > 0) {
      assert_true(t->work_again <= multifrontal_tree_work(t));
      assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, p.G, &is_definite));
      assert_true(is_definite);
      /* late part of (A + terms) x = b with b = 0 elsewhere, the rest by A; */
      for (int64_t i = 0; i < p.n; ++i) b[i] = x[i] = is_late[i] ? any((uint64_t)i, 78) : 0.0;
      multifrontal_solve_late(f, x);
      /* S x is what the terms leave of b there, S the complement: of (A z = c, c 0 at early ones, z = x at late ones) c */
      multifrontal_product_late(f, x, y);
      double *c, *z;
      assert_ok(memory_alloc("c", p.n, sizeof *c, &c));
      assert_ok(memory_alloc("z", p.n, sizeof *z, &z));
      for (int64_t i = 0; i < p.n; ++i) z[i] = is_late[i] ? y[i] : 0.0;
      multifrontal_solve(f, z);
      for (int64_t i = 0; i < p.n; ++i)
        if (is_late[i]) assert_close(z[i], x[i], 1e-12);
      product(&p, p.G, z, c);
      for (int64_t i = 0; i < p.n; ++i) assert_close(c[i], b[i], 1e-11);
      multifrontal_diagonal_late(f, c);
      for (int64_t i = 0; i < p.n; i += 5) {
        if (!is_late[i]) continue;
        memset(z, 0, (size_t)p.n * sizeof *z);
        z[i] = 1.0;
        multifrontal_product_late(f, z, y);
        assert_close(c[i], y[i], 1e-12 * c[i]);
      }
      memory_free(&c), memory_free(&z);
    }
    memory_free(&x), memory_free(&b), memory_free(&y), memory_free(&is_late);
    multifrontal_factor_destroy(&f);
    multifrontal_tree_destroy(&t);
    problem_destroy(&p);
  }
  assert_no_leak();
}

/* Unknown 1 has fewer neighbours than unknown 0, all of them also of unknown 0, but terms, which unknown 0 does not have. */
static void unknowns_with_other_terms_are_other_groups(void **state)
{
  (void)state;
  problem              p      = {.n = 3, .n_terms = 1};
  const int32_t        row[7] = {0, 0, 0, 1, 1, 2, 2}, col[7] = {0, 1, 2, 0, 1, 0, 2}, columns[2] = {1, 2};
  const double         a[7] = {4.0, 1.0, -1.0, 1.0, 5.0, -1.0, 6.0}, b[3] = {0.0, 2.0, -3.0};
  double               value[6] = {1.0, 0.5, -0.3, 0.2, 1.0, 0.7}, G[9] = {3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0}, x[3], y[3], c[3];
  int64_t              start[2] = {0, 2};
  int32_t              column[2];
  multifrontal_tree   *t;
  multifrontal_factor *f;
  bool                 is_definite, is_late[3];
  memcpy(column, columns, sizeof column);
  assert_ok(sparse_rows_from_triplets("A", 3, 3, 7, row, col, a, &p.A));
  p.start = start, p.column = column, p.value = value;
  p.terms = (multifrontal_terms){1, start, column, value};
  assert_ok(multifrontal_tree_create(&p.A, &p.terms, 10.0, &t));
  multifrontal_tree_late(t, is_late);
  assert_true(is_late[1] && is_late[2]);
  assert_ok(multifrontal_factor_create(t, &f));
  assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
  assert_true(is_definite);
  assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, G, &is_definite));
  assert_true(is_definite);
  memcpy(x, b, sizeof x);
  multifrontal_solve_late(f, x);
  multifrontal_product_late(f, x, y);
  for (int i = 0; i < 3; ++i) c[i] = is_late[i] ? y[i] : 0.0;
  multifrontal_solve(f, c); /* the early unknowns follow from A */
  product(&p, G, c, y);
  for (int i = 0; i < 3; ++i) assert_close(y[i], b[i], 1e-14);
  multifrontal_factor_destroy(&f);
  multifrontal_tree_destroy(&t);
  sparse_rows_destroy(&p.A);
  assert_no_leak();
}

/* Through the terms that act, few at first and then others, too: what the fronts say. */
static void terms_by_themselves_say_the_same(void **state)
{
  problem              p;
  multifrontal_tree   *t;
  multifrontal_factor *f;
  multifrontal_dual   *d;
  double              *x, *y, *G, now, missing;
  bool                *is_late, is_definite;
  const int            side[3] = {8, 7, 5};
  (void)state;
  problem_create(&p, side, 1, 12);
  assert_ok(multifrontal_tree_create(&p.A, &p.terms, 10.0, &t));
  assert_ok(multifrontal_factor_create(t, &f));
  assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
  assert_ok(multifrontal_dual_create(f, &p.terms, &d));
  assert_ok(memory_alloc("x", p.n, sizeof *x, &x));
  assert_ok(memory_alloc("y", p.n, sizeof *y, &y));
  assert_ok(memory_alloc("G", 9 * p.n_terms, sizeof *G, &G));
  assert_ok(memory_alloc("late", p.n, sizeof *is_late, &is_late));
  multifrontal_tree_late(t, is_late);
  for (int k = 0; k < 4; ++k) {
    for (int64_t a = 0; a < p.n_terms; ++a) /* none, some, others, all; some of rank one, along their normal */
      for (int i = 0; i < 9; ++i) G[9 * a + i] = k == 0 || (k < 3 && a % 3 == k) ? 0.0 : a % 4 ? p.G[9 * a + i] : i == 0 ? 50.0 : 0.0;
    multifrontal_dual_work(d, G, &now, &missing);
    assert_true(isfinite(now) && (k == 0) == (now == 0.0) && (k == 1 || k == 2) == (missing > 0.0));
    assert_ok(multifrontal_dual_set(d, G, &is_definite));
    assert_true(is_definite);
    multifrontal_dual_work(d, G, &now, &missing);
    assert_close(missing, 0.0, 0.0);
    assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, G, &is_definite));
    assert_true(is_definite);
    for (int64_t i = 0; i < p.n; ++i) x[i] = y[i] = is_late[i] ? any((uint64_t)(i + k), 79) : 0.0;
    multifrontal_dual_solve(d, x);
    multifrontal_solve_late(f, y);
    for (int64_t i = 0; i < p.n; ++i) assert_close(x[i], y[i], 1e-12);
  }
  /* terms so stiff that the difference would lose its digits */
  for (int64_t i = 0; i < 9 * p.n_terms; ++i) G[i] *= 1e9;
  assert_ok(multifrontal_dual_set(d, G, &is_definite));
  assert_false(is_definite);
  assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, G, &is_definite));
  assert_true(is_definite);
  memory_free(&x), memory_free(&y), memory_free(&G), memory_free(&is_late);
  multifrontal_dual_destroy(&d);
  multifrontal_factor_destroy(&f);
  multifrontal_tree_destroy(&t);
  problem_destroy(&p);
  assert_no_leak();
}

/* Terms in one corner of a long bar leave most of its unknowns early. */
static void little_is_done_again(void **state)
{
  problem            p;
  multifrontal_tree *t;
  const int          side[3] = {12, 3, 14};
  (void)state;
  problem_create(&p, side, 1, 4);
  assert_ok(multifrontal_tree_create(&p.A, &p.terms, 20.0, &t));
  assert_true(t->work_again < 0.2 * multifrontal_tree_work(t));
  assert_true(t->entries > (double)p.n);
  multifrontal_tree_destroy(&t);
  problem_destroy(&p);
  assert_no_leak();
}

static void indefinite_is_an_answer(void **state)
{
  problem              p;
  multifrontal_tree   *t;
  multifrontal_factor *f;
  bool                 is_definite;
  const int            side[3] = {5, 4, 6};
  (void)state;
  problem_create(&p, side, 1, 5);
  assert_ok(multifrontal_tree_create(&p.A, &p.terms, 10.0, &t));
  assert_ok(multifrontal_factor_create(t, &f));
  for (int64_t k = p.A.start[p.n / 2]; k < p.A.start[p.n / 2 + 1]; ++k)
    if (p.A.col[k] == p.n / 2) p.A.value[k] = -p.A.value[k];
  assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
  assert_false(is_definite);
  for (int64_t k = p.A.start[p.n / 2]; k < p.A.start[p.n / 2 + 1]; ++k)
    if (p.A.col[k] == p.n / 2) p.A.value[k] = -p.A.value[k];
  assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
  assert_true(is_definite);
  for (int64_t k = 0; k < 9 * p.n_terms; ++k) p.G[k] = -p.G[k];
  assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, p.G, &is_definite));
  assert_false(is_definite);
  for (int64_t k = 0; k < 9 * p.n_terms; ++k) p.G[k] = -p.G[k];
  assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, p.G, &is_definite));
  assert_true(is_definite);
  multifrontal_factor_destroy(&f);
  multifrontal_tree_destroy(&t);
  problem_destroy(&p);
  assert_no_leak();
}

static void threads_change_no_bit(void **state)
{
  double *first = NULL, *x;
  (void)state;
  for (int k = 0; k < 3; ++k) {
    const int            side[3] = {9, 8, 9};
    problem              p;
    multifrontal_tree   *t;
    multifrontal_factor *f;
    bool                 is_definite;
    team_set_threads(k + 1);
    problem_create(&p, side, 1, 12);
    assert_ok(multifrontal_tree_create(&p.A, &p.terms, 10.0, &t));
    assert_ok(multifrontal_factor_create(t, &f));
    assert_ok(multifrontal_factor_set(f, &p.A, &is_definite));
    assert_ok(multifrontal_factor_add(f, &p.A, &p.terms, p.G, &is_definite));
    assert_ok(memory_alloc("x", p.n, sizeof *x, &x));
    for (int64_t i = 0; i < p.n; ++i) x[i] = any((uint64_t)i, 5);
    multifrontal_solve(f, x);
    multifrontal_solve_late(f, x);
    if (k == 0) first = x;
    else {
      assert_memory_equal(first, x, (size_t)p.n * sizeof *x);
      memory_free(&x);
    }
    multifrontal_factor_destroy(&f);
    multifrontal_tree_destroy(&t);
    problem_destroy(&p);
  }
  team_set_threads(0);
  memory_free(&first);
  assert_no_leak();
}

/* Large fronts are factored in tiles: L L^T equals the matrix, the remainder is the Schur complement, with the same bits on any
 * number of threads; a zero pivot within a later tile is reported. */
static void tiles_are_a_factor(void **state)
{
  enum { K = 300, R = 157, M = K + R };
  double *first = NULL, *given, *columns, *update;
  bool    is_definite;
  (void)state;
  assert_ok(memory_alloc("given", K * M, sizeof *given, &given));
  for (int64_t j = 0; j < K; ++j)
    for (int64_t i = j; i < M; ++i) given[j * M + i] = i == j ? 40.0 : any((uint64_t)i, (uint64_t)(5000 + j));
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    assert_ok(memory_alloc("columns", K * M + R * R, sizeof *columns, &columns));
    update = columns + K * M;
    memcpy(columns, given, K * M * sizeof *columns);
    for (int64_t j = 0; j < R; ++j)
      for (int64_t i = j; i < R; ++i) update[j * R + i] = any((uint64_t)i, (uint64_t)(7000 + j));
#pragma omp parallel num_threads(n_threads)
#pragma omp          single
    is_definite = multifrontal_dense_factor(K, R, columns, update);
    assert_true(is_definite);
    if (n_threads == 1) first = columns;
    else {
               assert_memory_equal(first, columns, (K * M + R * R) * sizeof *columns);
               memory_free(&columns);
    }
  }
  update = first + K * M;
  for (int64_t j = 0; j < M; ++j)
    for (int64_t i = j; i < M; ++i) {
      double sum = 0.0;
      for (int64_t q = 0; q <= j && q < K; ++q) sum += first[q * M + i] * first[q * M + j];
      if (j < K) assert_close(sum, given[j * M + i], 1e-11);
      else assert_close(update[(j - K) * R + i - K], any((uint64_t)(i - K), (uint64_t)(7000 + j - K)) - sum, 1e-11);
    }
  memcpy(first, given, K * M * sizeof *first);
  first[250 * M + 250] = 1e-3;
  assert_false(multifrontal_dense_factor(K, R, first, update));
  memory_free(&first), memory_free(&given);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(solves_are_inverses), cmocka_unit_test(unknowns_with_other_terms_are_other_groups),
          cmocka_unit_test(terms_by_themselves_say_the_same), cmocka_unit_test(little_is_done_again),
          cmocka_unit_test(indefinite_is_an_answer), cmocka_unit_test(tiles_are_a_factor), cmocka_unit_test(threads_change_no_bit))
