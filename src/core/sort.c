/* Radix sort, see sort.h: least significant digit first, digits of 8 bits. Digits that are equal in all keys are skipped. */
#include "core/sort.h"
#include <omp.h>
#include <string.h>
#include "core/memory.h"

enum { DIGIT_BITS = 8, N_DIGITS = 1 << DIGIT_BITS, SERIAL_LIMIT = 1 << 14, MAX_THREADS = 256 };

/* Bits that are not equal in all keys. */
static uint64_t varying_bits(int64_t n, const uint64_t *restrict key)
{
  uint64_t any = 0, all = UINT64_MAX;
#pragma omp parallel for simd schedule(static) reduction(| : any) reduction(& : all) if (n >= SERIAL_LIMIT)
  for (int64_t i = 0; i < n; ++i) {
    any |= key[i];
    all &= key[i];
  }
  return n > 0 ? any & ~all : 0;
}

static int lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }

static void count_digits(int64_t lo, int64_t hi, int shift, uint64_t mask, const uint64_t *restrict key, int32_t *restrict count)
{
  memset(count, 0, N_DIGITS * sizeof *count);
  for (int64_t i = lo; i < hi; ++i) count[(key[i] & mask) >> shift]++;
}

/* Copy keys lo ... hi - 1 to their new positions. perm_in == NULL represents 0, 1, 2, ... */
static void scatter_keys(int64_t lo, int64_t hi, int shift, uint64_t mask, const uint64_t *restrict key_in, const int32_t *restrict perm_in,
                         uint64_t *restrict key, int32_t *restrict perm, int32_t *restrict next)
{
  for (int64_t i = lo; i < hi; ++i) {
    const int32_t to = next[(key_in[i] & mask) >> shift]++;
    key[to]          = key_in[i];
    perm[to]         = perm_in ? perm_in[i] : (int32_t)i;
  }
}

/* Sort by one digit. Thread t counts and scatters its own range of keys; its keys with digit d are placed behind all smaller digits and behind the keys
 * with digit d of threads 0 ... t - 1. This keeps the order of equal keys for any number of threads. */
static void sort_by_digit(int64_t n, int shift, uint64_t mask, const uint64_t *key_in, const int32_t *perm_in, uint64_t *key, int32_t *perm)
{
  static int32_t next[MAX_THREADS][N_DIGITS]; /* static, because 256 KiB is large for the stack; sorts are called by serial code */
  /* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the pragma reads it */
  const int want = n < SERIAL_LIMIT || omp_in_parallel() ? 1 : omp_get_max_threads();
#pragma omp parallel num_threads(want < MAX_THREADS ? want : MAX_THREADS)
  {
    const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
    const int64_t lo = n * t / n_threads, hi = n * (t + 1) / n_threads;
    count_digits(lo, hi, shift, mask, key_in, next[t]);
#pragma omp barrier
#pragma omp          single
    {
      int32_t start = 0;
      for (int d = 0; d < N_DIGITS; ++d)
        for (int k = 0; k < n_threads; ++k) {
                   const int32_t c = next[k][d];
                   next[k][d]      = start;
                   start += c;
        }
    }
    scatter_keys(lo, hi, shift, mask, key_in, perm_in, key, perm, next[t]);
  }
}

void sort_keys_with(int64_t n, int n_bits, uint64_t *key, int32_t *perm, uint64_t *key_scratch, int32_t *perm_scratch)
{
  SS_ASSERT(n >= 0 && n <= INT32_MAX && n_bits >= 0 && n_bits <= 64);
  const uint64_t considered = n_bits >= 64 ? UINT64_MAX : ((uint64_t)1 << n_bits) - 1;
  uint64_t       todo       = varying_bits(n, key) & considered;
  uint64_t      *from = key, *to = key_scratch;
  int32_t       *perm_from = NULL, *perm_to = perm_scratch;
  while (todo) {
    const int      shift = lowest_bit(todo);
    const uint64_t mask  = (uint64_t)(N_DIGITS - 1) << shift & considered;
    sort_by_digit(n, shift, mask, from, perm_from, to, perm_to);
    todo &= ~mask;
    perm_from      = perm_to;
    perm_to        = perm_to == perm_scratch ? perm : perm_scratch;
    uint64_t *swap = from;
    from           = to;
    to             = swap;
  }
  if (!perm_from) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only n = 0 comes without arrays */
    for (int64_t i = 0; i < n; ++i) perm[i] = (int32_t)i;
  if (from != key) {
    memcpy(key, from, sizeof *key * (size_t)n);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): only n = 0 comes without arrays */
    memcpy(perm, perm_from, sizeof *perm * (size_t)n);
  }
}

PetscErrorCode sort_keys(int64_t n, int n_bits, uint64_t *key, int32_t *perm)
{
  uint64_t *key_scratch  = NULL;
  int32_t  *perm_scratch = NULL;
  PetscCheck(n >= 0 && n <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW, "cannot sort %lld keys: at most 2^31 - 1", (long long)n);
  PetscErrorCode code = MEMORY_ALLOC("sort", ARRAY(key_scratch, n), ARRAY(perm_scratch, n));
  if (!code) sort_keys_with(n, n_bits, key, perm, key_scratch, perm_scratch);
  MEMORY_FREE(&perm_scratch, &key_scratch);
  PetscCall(code);
  return PETSC_SUCCESS;
}

static inline void swap(double *a, double *b)
{
  const double kept = *a;
  *a = *b, *b = kept;
}

static double median_of_three(double a, double b, double c)
{
  if (a > b) swap(&a, &b);
  return c < a ? a : c > b ? b : c;
}

double select_kth_smallest(int64_t n, double *x, int64_t k)
{
  int64_t lo = 0, hi = n - 1;
  while (lo < hi) {
    const double pivot = median_of_three(x[lo], x[lo + (hi - lo) / 2], x[hi]);
    int64_t      i = lo, j = hi;
    /* numbers equal to the pivot are exchanged, too, so that many equal numbers are divided into halves */
    while (i <= j) {
      while (x[i] < pivot) ++i;
      while (x[j] > pivot) --j;
      if (i <= j) swap(&x[i++], &x[j--]);
    }
    if (k <= j) hi = j;
    else if (k >= i) lo = i;
    else break; /* x[k] equals the pivot */
  }
  return x[k];
}

int sort_compare_int32(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}
