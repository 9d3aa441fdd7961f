/* core/machine: the number of available processors is that of the system, for any number of threads. */
#include "core/machine.h"
#include "test.h"
#include <stdio.h>
#include <unistd.h>

static void test_described(void **state)
{
  (void)state;
  machine m;
  machine_describe(&m);
  assert_true(*m.system && *m.processor && m.n_processors >= 1 && m.memory > 0.0);
}

/* At least this process runs, and others come and go: between none free but its own and all. */
static void test_free_processors(void **state)
{
  (void)state;
  const int64_t free = machine_free_processors(), n = sysconf(_SC_NPROCESSORS_ONLN);
  if (access("/proc/stat", R_OK)) assert_int_equal(free, 0);
  else assert_true(free >= 1 && free <= n);
}

TEST_MAIN(cmocka_unit_test(test_described), cmocka_unit_test(test_free_processors))
