/* core/random: the published test vectors, and moments within their standard errors. */
#include "core/random.h"
#include "test.h"

/* Random123 1.x, tests/kat_vectors, "philox4x32 10". */
static void test_known_answers(void **state)
{
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } row[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
      {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
       {0xffffffffu, 0xffffffffu},
       {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
      {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
       {0xa4093822u, 0x299f31d0u},
       {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; ++i) {
    uint32_t out[4];
    random_philox(row[i].counter, row[i].key, out);
    assert_memory_equal(out, row[i].out, sizeof out);
  }
}

enum { N = 200000 };

/* Five standard errors each: with a fixed seed a correct generator always gives the same result. */
static void test_moments(void **state)
{
  (void)state;
  double u1 = 0, u2 = 0, g1 = 0, g2 = 0, g4 = 0, d[3] = {0, 0, 0}, zz = 0, lag = 0, previous = 0.5;
  for (uint64_t i = 0; i < N; ++i) {
    const double u = random_u01(42, i, 3), g = random_normal(42, i, 4);
    double       e[3];
    assert_true(u >= 0.0 && u < 1.0);
    random_direction(42, i, 5, e);
    assert_close(e[0] * e[0] + e[1] * e[1] + e[2] * e[2], 1.0, 4e-16 * 4);
    u1 += u, u2 += u * u, g1 += g, g2 += g * g, g4 += g * g * g * g;
    for (int k = 0; k < 3; ++k) d[k] += e[k];
    zz += e[2] * e[2];
    lag += (u - 0.5) * (previous - 0.5);
    previous = u;
  }
  const double r = 1.0 / sqrt((double)N);
  assert_close(u1 / N, 0.5, 5.0 * r * sqrt(1.0 / 12.0));
  assert_close(u2 / N, 1.0 / 3.0, 5.0 * r * sqrt(4.0 / 45.0));
  assert_close(lag / N, 0.0, 5.0 * r / 12.0);
  assert_close(g1 / N, 0.0, 5.0 * r);
  assert_close(g2 / N, 1.0, 5.0 * r * sqrt(2.0));
  assert_close(g4 / N, 3.0, 5.0 * r * sqrt(96.0));
  for (int k = 0; k < 3; ++k) assert_close(d[k] / N, 0.0, 5.0 * r * sqrt(1.0 / 3.0));
  assert_close(zz / N, 1.0 / 3.0, 5.0 * r * sqrt(4.0 / 45.0));
}

/* Chi-squared over bins, also of neighbouring ids, seeds and streams: they must not look alike. */
static void test_bins_and_independence(void **state)
{
  (void)state;
  enum { BINS = 64 };
  for (int which = 0; which < 3; ++which) {
    int count[BINS] = {0};
    for (uint64_t i = 0; i < N; ++i) count[random_index(which == 0 ? i : 1, which == 1 ? i : 1, which == 2 ? i : 1, BINS)]++;
    double chi2 = 0.0;
    for (int b = 0; b < BINS; ++b) chi2 += pow(count[b] - (double)N / BINS, 2) / ((double)N / BINS);
    assert_close(chi2, BINS - 1.0, 5.0 * sqrt(2.0 * (BINS - 1.0)));
  }
  assert_true(random_u01(1, 2, 3) != random_u01(1, 3, 2));
  assert_true(random_u01(1ull << 32, 0, 0) != random_u01(1, 0, 0));
}

TEST_MAIN(cmocka_unit_test(test_known_answers), cmocka_unit_test(test_moments), cmocka_unit_test(test_bins_and_independence))
