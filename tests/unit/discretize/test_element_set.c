/* Sets of elements: groups and colours, parallel assembly against a direct sum, the first invalid element, balanced forces. The elements
 * are tetrahedra of linear springs between all pairs of their nodes, so that forces and blocks are known. */
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/team.h"
#include "discretize/nodal/element_set.h"
#include "test.h"
#include <float.h>
#include <string.h>

enum { N_NODES = 4, BLOCKS = N_NODES * N_NODES };
/* Element e of the caller's list has springs of stiffness 1 + e % 7 and damping of half of that; `bad` [n] marks invalid elements. */
typedef struct {
  const element_set *set;
  const bool        *bad;
} springs;

static double stiffness_of(int64_t e) { return 1.0 + (double)(e % 7); }

static int64_t evaluate(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v,
                        element_row *f, element_row *S)
{
  const springs *c = context;
  for (int64_t e = 0; e < n; ++e) {
    const int64_t original = c->set->original[first + e];
    const double  k        = stiffness_of(original);
    if (c->bad && c->bad[original]) return e;
    for (int a = 0; a < N_NODES; ++a)
      for (int i = 0; i < 3; ++i) {
        f[3 * a + i][e] = 0.0;
        for (int b = 0; b < N_NODES; ++b)
          f[3 * a + i][e] += k * (x[3 * b + i][e] - x[3 * a + i][e]) + 0.5 * k * (v[3 * b + i][e] - v[3 * a + i][e]);
      }
    for (int q = 0; q < BLOCKS && S; ++q)
      for (int i = 0; i < 9; ++i)
        S[9 * q + i][e] = i % 4 ? 0.0 : (q / N_NODES == q % N_NODES ? N_NODES - 1 : -1) * k * (dt * dt + 0.5 * dt);
  }
  return n;
}

static void energy(const void *context, int64_t first, int64_t n, const element_row *x, double *out)
{
  const springs *c = context;
  for (int64_t e = 0; e < n; ++e) {
    out[e] = 0.0;
    for (int a = 0; a < N_NODES; ++a)
      for (int b = 0; b < a; ++b)
        for (int i = 0; i < 3; ++i) {
          const double d = x[3 * a + i][e] - x[3 * b + i][e];
          out[e] += 0.5 * stiffness_of(c->set->original[first + e]) * d * d;
        }
  }
}

static void forget(void **context) { *context = NULL; }

static const element_ops ops = {.name = "springs", .n_nodes = N_NODES, .evaluate = evaluate, .energy = energy, .destroy = forget};

/* n elements of random nodes near each other, as in the order of a mesher; or all with node 0. */
static int32_t *random_elements(int64_t n, int64_t n_all, bool is_star)
{
  int32_t *node;
  assert_ok(memory_alloc("nodes", N_NODES * n, sizeof *node, &node));
  for (int64_t e = 0; e < n; ++e)
    for (int a = 0; a < N_NODES; ++a) {
      bool is_new;
      for (int attempt = 0;; ++attempt) { /* four different nodes */
        const double u        = random_u01(3, (uint64_t)(N_NODES * e + a), (uint64_t)attempt);
        node[N_NODES * e + a] = (int32_t)((e * n_all / n + (int64_t)(40.0 * u)) % n_all);
        is_new                = true;
        if (is_star && a == 0) node[N_NODES * e] = 0;
        for (int b = 0; b < a; ++b) is_new = is_new && node[N_NODES * e + b] != node[N_NODES * e + a];
        if (is_new) break;
      }
    }
  return node;
}

static const struct {
  int64_t n, n_all;
  bool    is_star;
} meshes[] = {{1, 4, false}, {33, 100, false}, {5000, 1500, false}, {70 * ELEMENT_BATCH, 3000, true}};
enum { N_MESHES = sizeof meshes / sizeof *meshes };

/* Every element is there once with its nodes; groups keep the order of the caller; groups of one colour share no node. A node of
 * more than 64 groups needs as many colours. */
static void groups_of_a_colour_share_no_node(void **state)
{
  (void)state;
  for (int m = 0; m < N_MESHES; ++m) {
    const int64_t n = meshes[m].n, n_all = meshes[m].n_all;
    int32_t      *node = random_elements(n, n_all, meshes[m].is_star), *user;
    element_set   set;
    bool         *is_there;
    assert_ok(element_set_create(&ops, n, node, n_all, &set));
    assert_ok(memory_alloc("seen", n, sizeof *is_there, &is_there));
    assert_ok(memory_alloc("user", n_all, sizeof *user, &user));
    assert_int_equal(set.group_start[set.color_start[set.n_colors]], n);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t e = set.original[i];
      assert_false(is_there[e]);
      is_there[e] = true;
      assert_memory_equal(set.node + N_NODES * i, node + N_NODES * e, N_NODES * sizeof *node);
    }
    for (int c = 0; c < set.n_colors; ++c) {
      assert_true(set.color_start[c] < set.color_start[c + 1]);
      for (int64_t i = 0; i < n_all; ++i) user[i] = -1;
      for (int64_t k = set.color_start[c]; k < set.color_start[c + 1]; ++k)
        for (int64_t i = set.group_start[k]; i < set.group_start[k + 1]; ++i) {
          if (i > set.group_start[k]) assert_int_equal(set.original[i], set.original[i - 1] + 1);
          for (int a = 0; a < N_NODES; ++a) {
            int32_t *of = &user[set.node[N_NODES * i + a]];
            assert_true(*of < 0 || *of == k);
            *of = (int32_t)k;
          }
        }
    }
    if (meshes[m].is_star) assert_int_equal(set.n_colors, 70);
    memory_free(&is_there), memory_free(&user), memory_free(&node);
    element_set_destroy(&set);
    element_set_destroy(&set); /* nothing more to free */
    assert_null(set.ops);
  }
}

/* Momenta, matrix and energy against sums over the caller's list, in a dense matrix; the same bits on any number of threads. */
static void sums_are_those_of_the_list(void **state)
{
  enum { MOST = 300 };
  static const struct {
    int64_t n, n_all;
  } sizes[]       = {{1, 4}, {65, 40}, {2000, MOST}};
  const double dt = 0.02;
  (void)state;
  for (int m = 0; m < 3; ++m) {
    const int64_t n = sizes[m].n, n_all = sizes[m].n_all;
    int32_t      *node = random_elements(n, n_all, false), *col;
    int64_t       row_start[MOST + 1], n_blocks = 0;
    double       *dense, *value, expected = 0.0, *x, *v, *g, *first, *sum;
    bool         *is_block;
    element_set   set;
    assert_ok(element_set_create(&ops, n, node, n_all, &set));
    springs context = {&set, NULL};
    set.context     = &context;
    assert_ok(memory_alloc("dense", n_all * n_all, sizeof *dense, &dense));
    assert_ok(memory_alloc("blocks", n_all * n_all, sizeof *is_block, &is_block));
    double **vectors[] = {&x, &v, &g, &first, &sum};
    for (int k = 0; k < 5; ++k) assert_ok(memory_alloc("vector", 3 * n_all, sizeof(double), vectors[k]));
    for (int64_t i = 0; i < 3 * n_all; ++i) x[i] = random_range(5, (uint64_t)i, 0, -1, 1), v[i] = random_range(5, (uint64_t)i, 1, -1, 1);
    for (int64_t e = 0; e < n; ++e)
      for (int a = 0; a < N_NODES; ++a)
        for (int b = 0; b < N_NODES; ++b) {
          const int64_t p = node[N_NODES * e + a], q = node[N_NODES * e + b];
          const double  k         = stiffness_of(e);
          is_block[p * n_all + q] = true;
          dense[p * n_all + q] += (a == b ? N_NODES - 1 : -1) * k * (dt * dt + 0.5 * dt);
          for (int i = 0; i < 3; ++i) {
            const double d = x[3 * q + i] - x[3 * p + i];
            sum[3 * p + i] -= dt * k * (d + 0.5 * (v[3 * q + i] - v[3 * p + i]));
            expected += 0.25 * k * d * d; /* every pair twice */
          }
        }
    for (int64_t i = 0; i < n_all * n_all; ++i) n_blocks += is_block[i];
    assert_ok(memory_alloc("columns", n_blocks, sizeof *col, &col));
    assert_ok(memory_alloc("values", 9 * n_blocks, sizeof *value, &value));
    n_blocks = 0;
    for (int64_t p = 0; p < n_all; ++p) {
      row_start[p] = n_blocks;
      for (int64_t q = 0; q < n_all; ++q)
        if (is_block[p * n_all + q]) col[n_blocks++] = (int32_t)q;
    }
    row_start[n_all] = n_blocks;
    assert_ok(element_set_locate(&set, row_start, col));
    for (int threads = 1; threads <= 3; ++threads) {
      team_set_threads(threads);
      for (int64_t i = 0; i < 3 * n_all; ++i) g[i] = 0.0;
      for (int64_t i = 0; i < 9 * n_blocks; ++i) value[i] = 0.0;
      assert_int_equal(element_set_add(&set, dt, x, v, g, value), -1);
      if (threads == 1) memcpy(first, g, (size_t)(3 * n_all) * sizeof *g);
      assert_memory_equal(g, first, (size_t)(3 * n_all) * sizeof *g);
      assert_close(element_set_energy(&set, x), expected, 1e-13 * expected);
      for (int64_t i = 0; i < 3 * n_all; ++i) assert_close(g[i], sum[i], 1e-12);
      for (int64_t p = 0; p < n_all; ++p)
        for (int64_t b = row_start[p]; b < row_start[p + 1]; ++b)
          for (int i = 0; i < 9; ++i) assert_close(value[9 * b + i], i % 4 ? 0.0 : dense[p * n_all + col[b]], 1e-12);
    }
    team_set_threads(1);
    for (int64_t i = 0; i < 3 * n_all; ++i) g[i] = 0.0;
    assert_int_equal(element_set_add(&set, dt, x, v, g, NULL), -1); /* without a matrix */
    assert_memory_equal(g, first, (size_t)(3 * n_all) * sizeof *g);
    element_set_destroy(&set);
    for (int k = 0; k < 5; ++k) memory_free(vectors[k]);
    memory_free(&dense), memory_free(&is_block), memory_free(&node), memory_free(&col), memory_free(&value);
  }
}

/* The smallest invalid element in the caller's order, although colours evaluate others before it. */
static void the_first_invalid_element_is_reported(void **state)
{
  enum { N = 700, N_ALL = 200 };
  static const int at[][2] = {{699, 699}, {0, 650}, {31, 32}, {333, 340}, {65, 64}};
  static double    x[3 * N_ALL], v[3 * N_ALL], g[3 * N_ALL];
  (void)state;
  int32_t    *node = random_elements(N, N_ALL, false);
  bool        bad[N];
  element_set set;
  assert_ok(element_set_create(&ops, N, node, N_ALL, &set));
  springs context = {&set, bad};
  set.context     = &context;
  for (int k = 0; k < 5; ++k)
    for (int threads = 1; threads <= 3; ++threads) {
      memset(bad, 0, sizeof bad);
      bad[at[k][0]] = bad[at[k][1]] = true;
      team_set_threads(threads);
      assert_int_equal(element_set_add(&set, 0.1, x, v, g, NULL), at[k][0] < at[k][1] ? at[k][0] : at[k][1]);
    }
  team_set_threads(1);
  element_set_destroy(&set);
  memory_free(&node);
}

/* From forces and blocks of nodes 1 to 3 follow those of node 0: all sums over forces, rows and columns vanish; the given ones
 * keep their bits. */
static void balance_completes_node_zero(void **state)
{
  enum { N = 5 };
  (void)state;
  element_row f[3 * N_NODES], S[9 * BLOCKS], f_before[3 * N_NODES], S_before[9 * BLOCKS];
  for (int k = 0; k < 3 * N_NODES; ++k)
    for (int e = 0; e < ELEMENT_BATCH; ++e) f[k][e] = random_range(8, (uint64_t)k, (uint64_t)e, -1.0, 1.0);
  for (int k = 0; k < 9 * BLOCKS; ++k)
    for (int e = 0; e < ELEMENT_BATCH; ++e) S[k][e] = random_range(9, (uint64_t)k, (uint64_t)e, -1.0, 1.0);
  memcpy(f_before, f, sizeof f), memcpy(S_before, S, sizeof S);
  element_balance(N_NODES, N, f, NULL);
  assert_memory_equal(S, S_before, sizeof S);
  element_balance(N_NODES, N, f, S);
  for (int e = 0; e < N; ++e) {
    for (int i = 0; i < 3; ++i) assert_close(f[i][e] + f[3 + i][e] + f[6 + i][e] + f[9 + i][e], 0.0, 8 * DBL_EPSILON);
    for (int a = 0; a < N_NODES; ++a)
      for (int k = 0; k < 9; ++k) {
        double row = 0.0, column = 0.0;
        for (int b = 0; b < N_NODES; ++b) {
          row += S[9 * (N_NODES * a + b) + k][e], column += S[9 * (N_NODES * b + a) + k][e];
          if (a > 0 && b > 0) assert_true(S[9 * (N_NODES * a + b) + k][e] == S_before[9 * (N_NODES * a + b) + k][e]);
        }
        assert_close(row, 0.0, 32 * DBL_EPSILON);
        assert_close(column, 0.0, 32 * DBL_EPSILON);
      }
  }
  for (int k = 3; k < 3 * N_NODES; ++k) assert_memory_equal(f[k], f_before[k], sizeof f[k]);
  for (int e = N; e < ELEMENT_BATCH; ++e) assert_true(f[0][e] == f_before[0][e]); /* elements beyond n */
}

TEST_MAIN(cmocka_unit_test(groups_of_a_colour_share_no_node), cmocka_unit_test(sums_are_those_of_the_list),
          cmocka_unit_test(the_first_invalid_element_is_reported), cmocka_unit_test(balance_completes_node_zero))
