/* Sums of contact forces per rigid body: serial sums, with many chunks per body; same bits on any number of threads. */
#include "test.h"
#include "contact_bodies.h"
#include "contact/rows/wrenches.h"
#include <omp.h>
#include <string.h>

enum { FRAMES = 5, SUMS = 3, MOST = 4 * WRENCH_CHUNK + 7 };

/* term: 1, the pair's number, and its reciprocal with the sign of the side, which is inexact. Lists are ascending. */
static void count_terms(const void *context, const wrench_side *side, int64_t n, double *sum)
{
  const double scale = *(const double *)context;
  assert_true(n > 0 && n <= WRENCH_CHUNK);
  for (int64_t i = 0; i < n; ++i) {
    sum[0] += 1.0;
    sum[1] += side[i].pair;
    sum[2] += (side[i].is_object ? -scale : scale) / (1.0 + side[i].pair);
    if (i > 0 && side[i - 1].pair > side[i].pair) sum[0] = NAN;
  }
}
static void store_sum(const void *context, int frame, const double *sum, double *out)
{
  (void)context;
  for (int k = 0; k < SUMS; ++k) out[SUMS * frame + k] += sum[k];
}

/* Frame 0 has no unknowns, frame 3 has no pairs. n pairs in one list, reused for more and for fewer pairs. */
static void sums_equal_serial_ones(void **unused)
{
  (void)unused;
  const int         numbers[] = {40, MOST, WRENCH_CHUNK, WRENCH_CHUNK + 1, 2 * WRENCH_CHUNK, 1, 0};
  const double      scale     = 0.1;
  contact_wrenches *w;
  rigid_frame       frames[FRAMES];
  int32_t           source[MOST], object[MOST];
  for (int f = 0; f < FRAMES; ++f) frames[f] = mock_frame((const double[3]){0.0, 0.0, 0.0}, f == 0 ? -1 : 2 * f);
  assert_ok(contact_wrenches_create(&w));
  for (size_t q = 0; q < 3 * sizeof numbers / sizeof *numbers; ++q) {
    const int n = numbers[q / 3];
    double    first[SUMS * FRAMES];
    for (int i = 0; i < n; ++i) { /* the last kind: all pairs of the last frame */
      source[i] = q % 3 == 2 ? 4 : i % 3 == 2 ? 1 : i % 3 - 1;
      object[i] = q % 3 == 1 ? 2 : i % 5 == 0 ? -1 : i % 2 == 1 ? 2 : 0;
    }
    assert_ok(contact_wrenches_build(w, n, source, object, FRAMES, frames));
    for (int threads = 1; threads <= 3; ++threads) {
      double out[SUMS * FRAMES] = {0.0}, expected[SUMS * FRAMES] = {0.0};
      omp_set_num_threads(threads);
      contact_wrenches_sum(w, SUMS, &scale, count_terms, store_sum, out);
      for (int i = 0; i < n; ++i)
        for (int side = 0; side < 2; ++side) {
          const int32_t f = side ? object[i] : source[i];
          if (f <= 0) continue;
          expected[SUMS * f] += 1.0, expected[SUMS * f + 1] += i;
          expected[SUMS * f + 2] += (side ? -scale : scale) / (1.0 + i);
        }
      for (int k = 0; k < SUMS * FRAMES; ++k) assert_close(out[k], expected[k], 1e-13);
      if (threads == 1) memcpy(first, out, sizeof out);
      assert_memory_equal(first, out, sizeof out);
    }
  }
  omp_set_num_threads(2);
  contact_wrenches_destroy(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(sums_equal_serial_ones))
