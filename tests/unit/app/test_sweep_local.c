/* Distribution of CPUs among cases: disjoint; second hyperthreads last; both hyperthreads of a core in one case. */
#define _GNU_SOURCE
#include "app/sweep/sweep_local.h"
#include <sched.h>
#include "test.h"

/* Two packages with two cores with two hyperthreads, in the numbering of the kernel: first threads of all cores, then second
 * threads, packages alternating. */
static int machine(sweep_cpu *cpus)
{
  for (int i = 0; i < 8; ++i) cpus[i] = (sweep_cpu){i, i % 2, (i / 2) % 2, i / 4};
  return 8;
}

static void test_cores_before_hyperthreads(void **state)
{
  (void)state;
  sweep_cpu cpus[8];
  const int n = machine(cpus);
  assert_true(sweep_cores_split(n, cpus, 2, 2));
  for (int i = 0; i < 4; ++i) assert_int_equal(cpus[i].thread, 0);
  assert_int_equal(cpus[0].package, cpus[1].package); /* a case of two threads stays on one package */
  assert_int_equal(cpus[2].package, cpus[3].package);
  assert_int_not_equal(cpus[0].package, cpus[2].package);
}

static void test_hyperthreads_stay_together(void **state)
{
  (void)state;
  sweep_cpu cpus[8];
  const int n = machine(cpus);
  assert_true(sweep_cores_split(n, cpus, 4, 2));
  for (int i = 0; i < 8; i += 2) {
    assert_int_equal(cpus[i].package, cpus[i + 1].package);
    assert_int_equal(cpus[i].core, cpus[i + 1].core);
    assert_int_not_equal(cpus[i].cpu, cpus[i + 1].cpu);
  }
}

static void test_every_cpu_once(void **state)
{
  (void)state;
  sweep_cpu cpus[8];
  const int n = machine(cpus);
  for (int slots = 1; slots <= 8; ++slots) {
    int seen = 0;
    assert_true(sweep_cores_split(n, cpus, slots, 8 / slots));
    for (int i = 0; i < n; ++i) seen |= 1 << cpus[i].cpu;
    assert_int_equal(seen, 255);
  }
  assert_false(sweep_cores_split(n, cpus, 9, 1));
  assert_false(sweep_cores_split(n, cpus, 3, 3));
}

static void test_finds_allowed_cpus(void **state)
{
  (void)state;
  static sweep_cpu cpus[SWEEP_CORES_MAX];
  cpu_set_t        all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_int_equal(sweep_cores_find(cpus), CPU_COUNT(&all));
  const int last = cpus[CPU_COUNT(&all) - 1].cpu;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(sweep_cores_find(cpus), 1);
  assert_int_equal(cpus[0].cpu, last);
  assert_int_equal(cpus[0].thread, 0);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_cores_before_hyperthreads), cmocka_unit_test(test_hyperthreads_stay_together),
          cmocka_unit_test(test_every_cpu_once), cmocka_unit_test(test_finds_allowed_cpus))
