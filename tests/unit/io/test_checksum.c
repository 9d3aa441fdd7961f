/* The checksum: the same for any cut of the stream, different for any change of a bit, of the length, of the order. */
#include "io/checksum.h"
#include "test.h"
#include <string.h>

static void sum_of(const unsigned char *bytes, size_t n, size_t piece, uint64_t sum[4])
{
  checksum c;
  checksum_begin(&c);
  for (size_t at = 0; at < n; at += piece) checksum_add(&c, bytes + at, n - at < piece ? n - at : piece);
  checksum_end(&c, sum);
}

static void result_does_not_depend_on_chunks(void **state)
{
  (void)state;
  unsigned char bytes[1000];
  uint64_t      whole[4], cut[4];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)(i * 37 + i / 256);
  for (size_t n = 0; n < 200; ++n) {
    sum_of(bytes, n, sizeof bytes, whole);
    for (size_t piece = 1; piece < 70; ++piece) {
      sum_of(bytes, n, piece, cut);
      assert_memory_equal(whole, cut, sizeof whole);
    }
  }
}

static void every_single_bit_matters(void **state)
{
  (void)state;
  unsigned char bytes[200] = {0};
  uint64_t      before[4], after[4];
  sum_of(bytes, sizeof bytes, sizeof bytes, before);
  for (size_t bit = 0; bit < 8 * sizeof bytes; ++bit) {
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    sum_of(bytes, sizeof bytes, sizeof bytes, after);
    for (int i = 0; i < 4; ++i) assert_true(before[i] != after[i]); /* and it reaches every word */
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
}

static void length_and_order_matter(void **state)
{
  (void)state;
  unsigned char bytes[128] = {0};
  uint64_t      sums[129][4], one[4], other[4];
  for (size_t n = 0; n <= 128; ++n) {
    sum_of(bytes, n, 128, sums[n]);
    for (size_t m = 0; m < n; ++m) assert_memory_not_equal(sums[m], sums[n], sizeof sums[n]);
  }
  for (size_t i = 0; i < 128; ++i) bytes[i] = (unsigned char)i;
  sum_of(bytes, 128, 128, one);
  for (size_t i = 0; i < 128; ++i) bytes[i] = (unsigned char)((i + 32) % 128); /* whole rows of words exchanged */
  sum_of(bytes, 128, 128, other);
  assert_memory_not_equal(one, other, sizeof one);
  char text[CHECKSUM_TEXT];
  checksum_text(one, text);
  assert_int_equal(strlen(text), 64);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(result_does_not_depend_on_chunks), cmocka_unit_test(every_single_bit_matters),
          cmocka_unit_test(length_and_order_matter))
