/* Sizes of many bodies: moments of the distributions by number and by mass against closed forms, limits, repetition, rejected input. */
#include "discretize/rigid/size_distribution.h"
#include "document_fixture.h"
#include <string.h>

enum { N = 20000 };

static const size_distribution *read_sizes(const char *text)
{
  document_node *node = NULL;
  const void    *spec = NULL;
  assert_ok(document_read_flow(doc, text, (document_mark){"job.yaml", 3, 1}, &node));
  assert_ok(key_table_read(&size_distribution_table, doc, node, "sizes", d, &spec));
  size_distribution_check(spec, node, "sizes", d);
  return spec;
}

/* Share of N bodies with sizes from a to b. */
static double share_between(const size_distribution *s, double a, double b)
{
  int n = 0;
  for (int64_t i = 0; i < N; ++i) {
    const double x = size_distribution_draw(s, 7, i);
    n += x >= a && x <= b;
  }
  return (double)n / N;
}

/* Mean of size^power over N bodies. */
static double moment(const size_distribution *s, int power)
{
  double sum = 0.0;
  for (int64_t i = 0; i < N; ++i) sum += pow(size_distribution_draw(s, 7, i), power);
  return sum / N;
}

/* The statistical error of a mean over N draws is the deviation / sqrt(N); five of these are allowed. */
static void test_uniform(void **state)
{
  (void)state;
  begin();
  const size_distribution *s = read_sizes("{uniform: [1, 3]}"), *m = read_sizes("{uniform: [1, 3], by_mass: true}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(moment(s, 1), 2.0, 5.0 * (2.0 / sqrt(12.0)) / sqrt((double)N));
  /* density c/s^3 with c = 2/(1 - 1/9) = 9/4: mean size 9/4 (1 - 1/3) = 1.5, mean cube 9/4 * 2 = 4.5; by mass, the mean size is 2 */
  assert_close(moment(m, 1), 1.5, 5.0 * 0.5 / sqrt((double)N));
  assert_close(moment(m, 4) / moment(m, 3), 2.0, 0.03);
  assert_close(size_distribution_largest(m), 3.0, 0.0);
  for (int64_t i = 0; i < 100; ++i) {
    const double x = size_distribution_draw(s, 7, i);
    assert_true(x >= 1.0 && x <= 3.0 && x == size_distribution_draw(s, 7, i) && x != size_distribution_draw(s, 8, i));
  }
  assert_close(size_distribution_draw(NULL, 7, 0), 1.0, 0.0);
  end();
}

static void test_log_normal(void **state)
{
  (void)state;
  begin();
  const size_distribution *s = read_sizes("{log_normal: [2, 0.1]}"), *m = read_sizes("{log_normal: [2, 0.1], by_mass: true}"),
                          *l = read_sizes("{log_normal: [2, 0.5], limits: [1.5, 2.5]}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(moment(s, 1), 2.0 * exp(0.005), 5.0 * 0.2 / sqrt((double)N));
  assert_close(moment(m, 1), 2.0 * exp(0.005 - 0.03), 5.0 * 0.2 / sqrt((double)N)); /* Hatch and Choate: median 2 exp(-3 s^2) by number */
  assert_true(isinf(size_distribution_largest(s)));
  assert_close(size_distribution_largest(l), 2.5, 0.0);
  for (int64_t i = 0; i < 1000; ++i) {
    const double x = size_distribution_draw(l, 7, i);
    assert_true(x >= 1.5 && x <= 2.5);
  }
  /* between the limits the distribution is the normal one of ln(size), also by mass about ln(median) - 3 s^2 */
  const size_distribution *c = read_sizes("{log_normal: [2, 0.5], limits: [1.5, 2.5], by_mass: true}");
  assert_int_equal(diagnostics_count(d), 0);
  for (int k = 0; k < 2; ++k) {
    const double mean = log(2.0) - (k ? 0.75 : 0.0), scale = 1.0 / (0.5 * M_SQRT2);
    const double low = erf(scale * (log(1.5) - mean)), middle = erf(scale * (log(1.8) - mean)), high = erf(scale * (log(2.5) - mean));
    assert_close(share_between(k ? c : l, 0.0, 1.8), (middle - low) / (high - low), 5.0 * 0.5 / sqrt((double)N));
  }
  end();
}

static void test_list(void **state)
{
  (void)state;
  begin();
  const size_distribution *s = read_sizes("{list: [{size: 1, share: 3}, {size: 2}]}"),
                          *m = read_sizes("{list: [{size: 1}, {size: 2}], by_mass: true}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(moment(s, 1), 1.25, 5.0 * sqrt(0.1875 / N));
  /* equal masses: 8 small ones for each large one */
  assert_close(moment(m, 1), 10.0 / 9.0, 5.0 * sqrt(8.0 / 81.0 / N));
  assert_close(size_distribution_largest(s), 2.0, 0.0);
  /* three sizes: shares 1/7, 4/7, 2/7; by mass the numbers are as 1/27, 4 and 2/8 */
  const size_distribution *three = read_sizes("{list: [{size: 3, share: 1}, {size: 1, share: 4}, {size: 2, share: 2}]}"),
                          *heavy = read_sizes("{list: [{size: 3, share: 1}, {size: 1, share: 4}, {size: 2, share: 2}], by_mass: true}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(size_distribution_largest(three), 3.0, 0.0);
  const double share[3] = {4.0, 2.0, 1.0}, total = 4.0 + 2.0 / 8.0 + 1.0 / 27.0;
  for (int k = 0; k < 3; ++k) {
    const double size = k + 1.0, by_number = share[k] / 7.0, by_mass = share[k] / (size * size * size) / total;
    assert_close(share_between(three, size, size), by_number, 5.0 * sqrt(by_number * (1.0 - by_number) / N));
    assert_close(share_between(heavy, size, size), by_mass, 5.0 * sqrt(by_mass * (1.0 - by_mass) / N));
  }
  /* one size, as a list and as an interval */
  const size_distribution *one = read_sizes("{list: [{size: 1.5}]}"), *equal = read_sizes("{uniform: [1.5, 1.5]}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_close(share_between(one, 1.5, 1.5), 1.0, 0.0);
  assert_close(share_between(equal, 1.5, 1.5), 1.0, 0.0);
  end();
}

static void test_errors(void **state)
{
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"{uniform: [1, 2], log_normal: [1, 0.1]}", "exactly one of uniform, log_normal and list, got 2"},
      {"{by_mass: true}", "exactly one of uniform, log_normal and list, got 0"},
      {"{uniform: [2, 1]}", "sizes.uniform: the smallest size, 2, is above the largest, 1; exchange them"},
      {"{log_normal: [1, 0.1], limits: [2, 1]}", "sizes.limits: the smallest size, 2, is not below the largest, 1; exchange them"},
      {"{log_normal: [1, 0.01], limits: [2, 3]}", "sizes.limits: log_normal has practically no sizes between 2 and 3; widen the limits"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    begin();
    (void)read_sizes(bad[k].text);
    assert_int_equal(diagnostics_count(d), 1);
    if (!strstr(diagnostics_text(d, 0), bad[k].message)) fail_msg("%s", diagnostics_text(d, 0));
    end();
  }
}

TEST_MAIN(cmocka_unit_test(test_uniform), cmocka_unit_test(test_log_normal), cmocka_unit_test(test_list), cmocka_unit_test(test_errors))
