/* core/memory: alignment, zeroing, counting, failures, and the arena. */
#include "test.h"
#include <string.h>

static bool is_aligned(const void *p) { return (uintptr_t)p % MEMORY_ALIGNMENT == 0; }
static bool is_zero(const void *p, size_t n)
{
  const char *c = p;
  while (n-- > 0)
    if (*c++) return false;
  return true;
}

static void test_blocks_are_aligned_zeroed_and_counted(void **state)
{
  (void)state;
  for (int64_t n = 1; n < 3000000; n = 3 * n + 1) {
    double *x;
    assert_ok(memory_alloc("x", n, sizeof *x, &x));
    assert_true(is_aligned(x) && is_zero(x, (size_t)n * sizeof *x));
    assert_int_equal(memory_live(), (n * 8 + 63) / 64 * 64);
    assert_true(memory_peak() >= memory_live());
    memset(x, 0xff, (size_t)n * sizeof *x); /* the next round must be zero all the same */
    memory_free(&x);
    assert_null(x);
    memory_free(&x); /* NULL is fine */
  }
  assert_no_leak();
}

static void test_zero_items(void **state)
{
  (void)state;
  double *x = (double *)state;
  assert_ok(memory_alloc("x", 0, sizeof *x, &x));
  assert_null(x);
  assert_ok(memory_resize("x", 5, sizeof *x, &x));
  assert_non_null(x);
  assert_ok(memory_resize("x", 0, sizeof *x, &x));
  assert_null(x);
  assert_no_leak();
}

static void test_resize_keeps_and_clears(void **state)
{
  (void)state;
  static const int64_t n[] = {10, 100, 7, 9, 100000, 3, 13, 2, 13, 5000, 5001};
  int32_t             *x   = NULL;
  int64_t              old = 0;
  for (size_t k = 0; k < sizeof n / sizeof *n; ++k) {
    assert_ok(memory_resize("x", n[k], sizeof *x, &x));
    assert_true(is_aligned(x));
    for (int64_t i = 0; i < n[k]; ++i) assert_int_equal(x[i], i < old ? i + 1 : 0);
    for (int64_t i = 0; i < n[k]; ++i) x[i] = (int32_t)i + 1;
    old = n[k];
  }
  memory_free(&x);
  assert_no_leak();
}

/* Room is made only when there is too little, with the old items in it, and rarely when it grows one by one. */
static void test_reserve_leaves_room(void **state)
{
  (void)state;
  int64_t capacity = 0, moved = 0, *a = NULL;
  for (int64_t n = 1; n <= 1000; ++n) {
    const int64_t before = capacity;
    assert_ok(memory_reserve("test", n, sizeof *a, &capacity, &a));
    assert_true(capacity >= n && capacity <= n + n / 2);
    moved += capacity != before;
    a[n - 1] = n;
    assert_int_equal(a[n / 2], n / 2 + 1);
  }
  assert_true(moved < 20);
  const int64_t before = capacity;
  assert_ok(memory_reserve("test", 3, sizeof *a, &capacity, &a));
  assert_int_equal(capacity, before);
  assert_true(memory_reserve("test", INT64_MAX / 4, sizeof *a, &capacity, &a));
  error_clear();
  assert_int_equal(capacity, before);
  assert_int_equal(a[999], 1000);
  memory_free(&a);
  assert_no_leak();
}

static void test_impossible_sizes_are_rejected(void **state)
{
  (void)state;
  double *x = NULL;
  assert_int_equal(memory_alloc("huge grid", INT64_MAX, 24, &x), PETSC_ERR_MEM); /* n * size overflows */
  assert_null(x);
  assert_non_null(strstr(error_message(), "huge grid"));
  error_clear();
  assert_int_equal(memory_alloc("wraps to 8 bytes", ((int64_t)1 << 61) + 1, 8, &x), PETSC_ERR_MEM);
  error_clear();
  assert_int_equal(memory_alloc("negative", -1, 8, &x), PETSC_ERR_MEM);
  error_clear();
  assert_ok(memory_alloc("x", 4, sizeof *x, &x));
  x[3]                 = 7.0;
  double *const before = x;
  assert_int_equal(memory_resize("x", INT64_MAX / 8, sizeof *x, &x), PETSC_ERR_MEM);
  assert_ptr_equal(x, before); /* unchanged */
  assert_true(x[3] == 7.0);
  error_clear();
  memory_free(&x);
  assert_no_leak();
}

static void test_counts_are_right_with_threads(void **state)
{
  (void)state;
  static char *kept[4000];
  int64_t      n_bytes = 0;
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 4000; ++i) {
    char *c = NULL;
    if (memory_alloc("c", 1 + i % 300, 1, &c) == PETSC_SUCCESS) memory_free(&c);
    (void)memory_alloc("c", 1 + i % 300, 1, &kept[i]);
  }
  for (int i = 0; i < 4000; ++i) n_bytes += (1 + i % 300 + 63) / 64 * 64;
  assert_int_equal(memory_live(), n_bytes);
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 4000; ++i) memory_free(&kept[i]);
  assert_no_leak();
}

static void test_arena_gives_disjoint_zeroed_blocks(void **state)
{
  (void)state;
  arena *a;
  assert_ok(arena_create(1000, &a));
  for (int round = 0; round < 4; ++round) {
    unsigned char *block[300];
    size_t         total = 0;
    for (int i = 0; i < 300; ++i) {
      const int64_t n = 1 + (i * 37 + round * 11) % 5000;
      assert_ok(arena_alloc(a, "block", n, 1, &block[i]));
      assert_true(is_aligned(block[i]) && is_zero(block[i], (size_t)n));
      memset(block[i], 1 + i % 255, (size_t)n);
      total += (size_t)(n + 63) / 64 * 64;
    }
    assert_int_equal(arena_used(a), total);
    for (int i = 0; i < 300; ++i) { /* blocks do not overlap */
      const int64_t n = 1 + (i * 37 + round * 11) % 5000;
      for (int64_t k = 0; k < n; ++k) assert_int_equal(block[i][k], 1 + i % 255);
    }
    arena_reset(a);
    assert_int_equal(arena_used(a), 0);
  }
  arena_destroy(&a);
  assert_null(a);
  arena_destroy(&a);
  assert_no_leak();
}

static void test_arena_reuses_its_chunks(void **state)
{
  (void)state;
  arena *a;
  void  *p;
  assert_ok(arena_create(4096, &a));
  for (int i = 0; i < 100; ++i) assert_ok(arena_alloc(a, "warm", 1000, 8, &p));
  const int64_t warm = memory_live();
  for (int round = 0; round < 10; ++round) {
    arena_reset(a);
    for (int i = 0; i < 100; ++i) assert_ok(arena_alloc(a, "again", 1000, 8, &p));
  }
  assert_int_equal(memory_live(), warm);
  assert_int_equal(arena_alloc(a, "monster", INT64_MAX, 8, &p), PETSC_ERR_MEM);
  assert_non_null(strstr(error_message(), "monster"));
  error_clear();
  arena_destroy(&a);
  assert_no_leak();
}

/* Lists: each array has its own block and keeps its rows when the common capacity grows; an error names tag and array. */
static void test_lists_of_arrays(void **state)
{
  (void)state;
  struct {
    int64_t  capacity;
    double  *x;
    int32_t *i;
    bool    *none;
  } s = {0};
  double *a, *b, from[] = {1.0, 2.0, 3.0};
  assert_ok(MEMORY_ALLOC("s", ARRAY(a, 5), ARRAY(b, 0)));
  assert_true(is_aligned(a) && is_zero(a, 5 * sizeof *a));
  assert_null(b);
  assert_ok(MEMORY_RESIZE("s", ARRAY(a, 9), ARRAY(b, 2)));
  assert_non_null(b);
  for (int64_t n = 1; n < 5000; n = 2 * n + 1) {
    assert_ok(MEMORY_RESERVE("s", n, &s.capacity, ARRAY(s.x, 3), ARRAY(s.i, 1), ARRAY(s.none, 0)));
    assert_true(s.capacity >= n && is_aligned(s.x) && is_aligned(s.i));
    assert_null(s.none);
    for (int64_t k = 0; k < n / 2; ++k) assert_true(s.x[3 * k + 2] == (double)k && s.i[k] == k);
    for (int64_t k = 0; k < n; ++k) s.x[3 * k + 2] = (double)k, s.i[k] = (int32_t)k;
  }
  const int64_t capacity = s.capacity;
  assert_int_equal(MEMORY_RESERVE("s", INT64_MAX / 2, &s.capacity, ARRAY(s.x, 3), ARRAY(s.i, 1)), PETSC_ERR_MEM);
  assert_non_null(strstr(error_message(), "s: s.x requested"));
  error_clear();
  assert_int_equal(s.capacity, capacity);
  MEMORY_FREE(&a, &b, &s.x, &s.i, &s.none);
  assert_null(s.x);
  assert_ok(memory_copy("copy", 3, sizeof *a, from, &a));
  assert_memory_equal(a, from, sizeof from);
  assert_ok(memory_copy("zeros", 3, sizeof *b, NULL, &b));
  assert_true(is_zero(b, 3 * sizeof *b));
  MEMORY_FREE(&a, &b);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_blocks_are_aligned_zeroed_and_counted), cmocka_unit_test(test_zero_items),
          cmocka_unit_test(test_reserve_leaves_room), cmocka_unit_test(test_resize_keeps_and_clears),
          cmocka_unit_test(test_lists_of_arrays), cmocka_unit_test(test_impossible_sizes_are_rejected),
          cmocka_unit_test(test_counts_are_right_with_threads), cmocka_unit_test(test_arena_gives_disjoint_zeroed_blocks),
          cmocka_unit_test(test_arena_reuses_its_chunks))
