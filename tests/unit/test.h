/* What every unit test shares: cmocka, close comparisons on a named scale, and the check that nothing leaks.
 * STICKSLIP_TOLERANCE scales every tolerance: 0 shows the true margins. */
#ifndef SS_TESTS_TEST_H
#define SS_TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>
#include "core/error.h"
#include "core/memory.h"

/* Number of random samples: a fifth under AddressSanitizer, whose run looks for wrong accesses only. The other profiles take all. */
#ifdef __SANITIZE_ADDRESS__
#define test_samples(n) (((n) + 4) / 5)
#else
#define test_samples(n) (n)
#endif

static inline double test_tolerance_scale(void)
{
  const char *s = getenv("STICKSLIP_TOLERANCE");
  return s ? strtod(s, NULL) : 1.0;
}
/* |a - b| <= tolerance, both finite; prints the margin when it fails. */
#define assert_close(a, b, tolerance)                                                                                                      \
  do {                                                                                                                                     \
    const double a_ = (a), b_ = (b), t_ = (tolerance)*test_tolerance_scale();                                                              \
    if (!(fabs(a_ - b_) <= t_)) fail_msg("%s = %.17g, %s = %.17g: differ by %.3g > %.3g", #a, a_, #b, b_, fabs(a_ - b_), t_);              \
  } while (0)
/* Call something that returns PetscErrorCode and must succeed. */
#define assert_ok(call)                                                                                                                    \
  do {                                                                                                                                     \
    const PetscErrorCode e_ = (call);                                                                                                      \
    if (e_) { fail_msg("%s failed: %s", #call, error_message()); }                                                                         \
  } while (0)
#define assert_no_leak() assert_int_equal(memory_live(), 0)
/* Runs after every test: nothing that the test allocated may be left. */
static inline int test_check_leaks(void **state)
{
  (void)state;
  const int64_t left = (int64_t)memory_live();
  if (left == 0) return 0;
  print_error("%lld bytes are still allocated at the end of the test\n", (long long)left);
  return 1;
}

/* main of every test file: TEST_MAIN(cmocka_unit_test(a), cmocka_unit_test(b), ...) */
#define TEST_MAIN(...)                                                                                                                     \
  int main(int argc, char **argv)                                                                                                          \
  {                                                                                                                                        \
    setenv("OMPI_MCA_pml", "ob1", 0);                                                                                                      \
    setenv("OMPI_MCA_btl", "self", 0);                                                                                                     \
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);                                                                                     \
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);                                                                                   \
    setenv("OPENBLAS_NUM_THREADS", "1", 0);                                                                                                \
    if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;                                                                               \
    if (error_install()) return 1;                                                                                                         \
    struct CMUnitTest tests_[] = {__VA_ARGS__};                                                                                            \
    for (size_t i_ = 0; i_ < sizeof tests_ / sizeof *tests_; ++i_)                                                                         \
      if (!tests_[i_].teardown_func) tests_[i_].teardown_func = test_check_leaks;                                                          \
    const int failed_ = cmocka_run_group_tests(tests_, NULL, NULL);                                                                        \
    if (PetscFinalize()) return 1;                                                                                                         \
    return failed_;                                                                                                                        \
  }
#endif
