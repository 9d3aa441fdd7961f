/* What kinds of bodies share: the pattern of a matrix of blocks, and the mean error of nodes. */
#include "test.h"
#include "vector_field_fixture.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/random.h"
#include "discretize/body/body.h"
#include <string.h>

/* Pairs in any order and any number of times: rows in ascending order, each entry once, with the index of the transposed entry. */
static void the_pattern_of_a_matrix(void **state)
{
  (void)state;
  enum { N = 13 };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const int n_given   = seed == 0 ? 0 : 40;
    bool      has[N][N] = {{false}};
    uint64_t  pair[4 * 40 + 1];
    int64_t  *row_start, m = 0, n_pairs = 0;
    int32_t  *col, *transposed;
    double   *value;
    for (int q = 0; q < n_given; ++q) {
      const uint64_t i = random_index(seed, (uint64_t)q, 1, N), j = random_index(seed, (uint64_t)q, 2, N);
      pair[n_pairs++] = i << 32 | j, pair[n_pairs++] = j << 32 | i;
      has[i][j] = has[j][i] = true;
      if (q % 3 == 0) pair[n_pairs] = pair[n_pairs - 1], ++n_pairs;
    }
    assert_ok(block_matrix_create(N, n_pairs, pair, &row_start, &col, &transposed, &value));
    assert_int_equal(row_start[0], 0);
    for (int64_t i = 0; i < N; ++i)
      for (int32_t j = 0; j < N; ++j) {
        if (has[i][j]) {
          assert_true(m < row_start[i + 1]);
          assert_int_equal(col[m], j);
          const int64_t back = transposed[m];
          assert_true(back >= row_start[j] && back < row_start[j + 1]);
          assert_int_equal(col[back], i);
          for (int k = 0; k < 9; ++k) assert_close(value[9 * m + k], 0.0, 0.0);
          ++m;
        }
        if (j == N - 1) assert_int_equal(row_start[i + 1], m);
      }
    MEMORY_FREE(&row_start, &col, &transposed, &value);
  }
  assert_no_leak();
}

/* Root mean square, weighted with the masses, of displacements or velocities minus a field of initial position, position and time. */
static body_nodes some;
static void       nodes(const body *b, body_nodes *out) { (void)b, *out = some; }
static void       the_error_of_nodes(void **state)
{
  (void)state;
  static const double rest[6] = {1, 2, 3, 4, 5, 6}, x[6] = {1.5, 2, 3, 4, 5.25, 7}, v[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
                      mass[2] = {2.0, 3.0};
  const body_ops ops          = {.kind = "mock", .nodes = nodes};
  const body     b            = {.ops = &ops, .name = "mock"};
  vector_field  *f            = field_of("0.5 * X", "y - t", "2");
  some                        = (body_nodes){.n = 2, .rest = rest, .x = x, .v = v, .mass = mass};
  for (int is_velocity = 0; is_velocity < 2; ++is_velocity) {
    double sum = 0.0;
    for (int i = 0; i < 2; ++i) {
      const double expected[3] = {0.5 * rest[3 * i], x[3 * i + 1] - 0.7, 2.0};
      for (int k = 0; k < 3; ++k) sum += mass[i] * pow((is_velocity ? v[3 * i + k] : x[3 * i + k] - rest[3 * i + k]) - expected[k], 2);
    }
    assert_close(body_nodes_error(&b, f, 0.7, is_velocity), sqrt(sum / 5.0), 1e-14);
  }
  vector_field_destroy(&f);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(the_pattern_of_a_matrix), cmocka_unit_test(the_error_of_nodes))
