/* Balanced forces between pairs with given totals per body. */
#include "core/math3.h"
#include "core/random.h"
#include "sim/hybrid/hybrid_balance.h"
#include "test.h"
#include <string.h>

enum { MOST = 40 };

static void sum_up(int32_t n, int64_t n_pairs, const balance_pair *pair, double (*sum)[3])
{
  memset(sum, 0, (size_t)n * sizeof *sum);
  for (int64_t p = 0; p < n_pairs; ++p) {
    v3_axpy(sum[pair[p].body[0]], 1.0, pair[p].force);
    v3_axpy(sum[pair[p].body[1]], -1.0, pair[p].force);
  }
}

static double any(uint64_t seed, int i) { return random_range(3, seed, (uint64_t)i, -1.0, 1.0); }

/* Chains, trees and rings of bodies with known forces, and perturbed guesses. */
static void random_pairs(uint64_t seed, int32_t n, int64_t *n_pairs, balance_pair *pair, balance_pair *truth)
{
  *n_pairs = 0;
  for (int32_t i = 1; i < n; ++i) {
    const int32_t before = (int32_t)(0.5 * (any(seed, 100 + i) + 1.0) * i);
    pair[(*n_pairs)++]   = (balance_pair){.body = {i, before < i ? before : i - 1}};
  }
  for (int k = 0; k < 5; ++k) {
    const int32_t a = (int32_t)(0.4999 * (any(seed, 200 + k) + 1.0) * n), b = (int32_t)(0.4999 * (any(seed, 300 + k) + 1.0) * n);
    if (a != b) pair[(*n_pairs)++] = (balance_pair){.body = {a, b}};
  }
  for (int64_t p = 0; p < *n_pairs; ++p) {
    truth[p] = pair[p];
    for (int k = 0; k < 3; ++k) {
      truth[p].force[k] = any(seed, (int)(1000 + 3 * p + k));
      pair[p].force[k]  = truth[p].force[k] + 0.5 * any(seed, (int)(5000 + 3 * p + k));
    }
  }
}

static void sums_are_felt(void **state)
{
  (void)state;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int32_t n = 2 + (int32_t)(seed % 20);
    balance_pair  pair[2 * MOST], truth[2 * MOST], guess[2 * MOST];
    double        felt[MOST][3], sum[MOST][3];
    bool          is_known[MOST];
    int64_t       n_pairs;
    random_pairs(seed, n, &n_pairs, pair, truth);
    sum_up(n, n_pairs, truth, felt);
    for (int32_t i = 0; i < n; ++i)
      is_known[i] = seed % 3 == 0 || i != 1; /* in a third of the cases all are known; else body 1
                                                                            * is constrained */
    for (int k = 0; k < 3 && seed % 3; ++k) felt[1][k] = 1e3;
    memcpy(guess, pair, sizeof guess);
    assert_ok(hybrid_balance(n, (const double(*)[3])felt, is_known, n_pairs, pair));
    sum_up(n, n_pairs, pair, sum);
    for (int32_t i = 0; i < n; ++i)
      for (int k = 0; k < 3 && is_known[i]; ++k) assert_close(sum[i][k], felt[i][k], 1e-12 * n);
    /* Closest to the guess: the correction is a difference of potentials and therefore orthogonal to every set of forces with
     * zero totals. */
    balance_pair zero[2 * MOST];
    double       none[MOST][3] = {{0.0}}, along = 0.0, size = 0.0;
    for (int64_t p = 0; p < n_pairs; ++p) {
      zero[p] = truth[p];
      for (int k = 0; k < 3; ++k) zero[p].force[k] = any(seed + 7777, (int)(3 * p + k));
    }
    assert_ok(hybrid_balance(n, (const double(*)[3])none, is_known, n_pairs, zero));
    for (int64_t p = 0; p < n_pairs; ++p)
      for (int k = 0; k < 3; ++k) {
        const double added = pair[p].force[k] - guess[p].force[k];
        along += added * zero[p].force[k], size += fabs(added * zero[p].force[k]) + fabs(added);
      }
    assert_close(along, 0.0, 1e-11 * (1.0 + size));
  }
}

/* Two separate groups, in one of which the totals do not balance: the other is not affected. */
static void heaps_are_apart(void **state)
{
  (void)state;
  balance_pair pair[2]     = {{.body = {0, 1}, .force = {1, 0, 0}}, {.body = {2, 3}, .force = {0, 2, 0}}};
  const double felt[4][3]  = {{3, 0, 0}, {-3, 0, 0}, {0, 5, 0}, {0, -4, 0}};
  const bool   is_known[4] = {true, true, true, true};
  assert_ok(hybrid_balance(4, felt, is_known, 2, pair));
  assert_close(pair[0].force[0], 3.0, 1e-13);
  assert_close(pair[0].force[1], 0.0, 1e-13);
  assert_close(pair[1].force[1], 4.5, 1e-13); /* half of the remainder goes to each */
  assert_ok(hybrid_balance(4, felt, is_known, 0, pair));
}

TEST_MAIN(cmocka_unit_test(sums_are_felt), cmocka_unit_test(heaps_are_apart))
