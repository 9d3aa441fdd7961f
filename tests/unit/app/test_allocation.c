/* Reading the allocation of a SLURM job: environment variables, control groups, and times printed by squeue. */
#define _GNU_SOURCE
#include "temporary.h"
#include "test.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "app/run/allocation.h"

static const char *const names[] = {"SLURM_JOB_ID",        "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_NTASKS",
                                    "SLURM_JOB_NUM_NODES", "SLURM_MEM_PER_NODE",  "SLURM_MEM_PER_CPU",  "SLURM_RESTART_COUNT",
                                    "SLURM_JOB_END_TIME",  "OMP_PLACES",          "OMP_PROC_BIND",      "GOMP_CPU_AFFINITY"};
enum { N_NAMES = sizeof names / sizeof *names };

/* Reads an allocation with only these variables set: name, value, name, value, ..., NULL. */
static allocation read_with(const char *const *pairs)
{
  allocation a;
  for (int i = 0; i < N_NAMES; ++i) unsetenv(names[i]);
  for (; *pairs; pairs += 2) setenv(pairs[0], pairs[1], 1);
  allocation_read(&a);
  return a;
}
#define WITH(...) read_with((const char *const[]){__VA_ARGS__, NULL})

static void test_cores(void **state)
{
  (void)state;
  assert_int_equal(read_with((const char *const[]){NULL}).cores, 0);
  assert_int_equal(WITH("SLURM_CPUS_PER_TASK", "8").cores, 0); /* variable of a shell outside of a job */
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_PER_TASK", "8", "SLURM_CPUS_ON_NODE", "16").cores, 8);
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_ON_NODE", "1").cores, 1); /* sbatch without --cpus-per-task */
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_ON_NODE", "16", "SLURM_NTASKS", "4").cores, 4);
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_ON_NODE", "16", "SLURM_NTASKS", "8", "SLURM_JOB_NUM_NODES", "2").cores, 4);
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_ON_NODE", "2", "SLURM_NTASKS", "4").cores, 1);
  assert_string_equal(WITH("SLURM_JOB_ID", "7; rm x").job, "");
}

static void test_restarts(void **state)
{
  (void)state;
  assert_int_equal(WITH("SLURM_JOB_ID", "7").restarts, 0);
  assert_false(allocation_is_restart());
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_RESTART_COUNT", "2").restarts, 2);
  assert_true(allocation_is_restart());
  (void)WITH("SLURM_RESTART_COUNT", "0");
  assert_false(allocation_is_restart());
}

static void test_memory_of_slurm(void **state)
{
  (void)state;
  const int64_t around = read_with((const char *const[]){NULL}).memory; /* memory limit of this test; 0: none */
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_MEM_PER_NODE", "3").memory, 3 << 20);
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_MEM_PER_CPU", "2", "SLURM_CPUS_PER_TASK", "5").memory, 10 << 20);
  assert_int_equal(WITH("SLURM_JOB_ID", "7", "SLURM_MEM_PER_NODE", "0").memory, around); /* --mem=0: all memory of the node */
}

static void write_file(const char *dir, const char *name, const char *text)
{
  char path[600];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void make_folder(const char *root, const char *name)
{
  char path[600];
  snprintf(path, sizeof path, "%s/%s", root, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

static void test_memory_of_control_groups(void **state)
{
  char root[TEMPORARY_ROOM], own[TEMPORARY_ROOM + 8], clean[TEMPORARY_ROOM + 8];
  (void)state;
  assert_non_null(mkdtemp(temporary_name(root, "")));
  snprintf(own, sizeof own, "%s/self", root);
  const char *const folders[] = {"slurm", "slurm/job_7", "slurm/job_7/step", "memory", "memory/slurm"};
  for (int i = 0; i < 5; ++i) make_folder(root, folders[i]);
  write_file(root, "slurm/memory.max", "8000000\n");
  write_file(root, "slurm/job_7/memory.max", "5000000\n");
  write_file(root, "slurm/job_7/step/memory.max", "max\n");
  write_file(root, "memory/memory.limit_in_bytes", "9223372036854771712\n");
  write_file(root, "memory/slurm/memory.limit_in_bytes", "4000000\n");
  write_file(root, "self", "0::/slurm/job_7/step\n");
  assert_int_equal(allocation_group_memory(root, own), 5000000);
  write_file(root, "self", "0::/slurm\n");
  assert_int_equal(allocation_group_memory(root, own), 8000000);
  write_file(root, "self", "0::/\n");
  assert_int_equal(allocation_group_memory(root, own), 0);
  write_file(root, "self", "9:memory:/slurm\n3:cpu,cpuacct:/slurm\n0::/slurm/job_7\n");
  assert_int_equal(allocation_group_memory(root, own), 4000000);
  write_file(root, "self", "9:memory:/\n");
  assert_int_equal(allocation_group_memory(root, own), 0);
  assert_int_equal(allocation_group_memory(root, "/nowhere"), 0);
  snprintf(clean, sizeof clean, "rm -rf %s", root);
  assert_int_equal(system(clean), 0);
}

static void test_time_format_of_squeue(void **state)
{
  const char *const no_times[] = {"UNLIMITED", "INVALID", "NOT_SET", "", "1:", ":1", "1:2x", "-1:00", "1-"};
  (void)state;
  assert_close(allocation_parse_time("59\n"), 59.0, 0.0);
  assert_close(allocation_parse_time("0:00"), 0.0, 0.0);
  assert_close(allocation_parse_time("9:58\n"), 598.0, 0.0);
  assert_close(allocation_parse_time("2:03:04"), 7384.0, 0.0);
  assert_close(allocation_parse_time("1-02:03:04\n"), 93784.0, 0.0);
  for (size_t i = 0; i < sizeof no_times / sizeof *no_times; ++i) assert_true(isinf(allocation_parse_time(no_times[i])));
}

static void test_time_from_environment(void **state)
{
  char end[40];
  (void)state;
  snprintf(end, sizeof end, "%lld", (long long)time(NULL) + 100);
  allocation a = WITH("SLURM_JOB_ID", "7", "SLURM_JOB_END_TIME", end);
  assert_close(allocation_time_left(&a), 100.0, 1.5);
  a = WITH("SLURM_JOB_END_TIME", end); /* no job */
  assert_true(isinf(allocation_time_left(&a)));
}

/* If a job is not confined to its cores, threads must not be bound, because all jobs would use the same cores. */
static void test_threads_are_bound_only_to_own_cores(void **state)
{
  char      cores[20];
  cpu_set_t before, one;
  (void)state;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const int  n = CPU_COUNT(&before);
  allocation a = WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_PER_TASK", "1");
  if (n > 1) assert_null(allocation_places(&a, 1));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_string_equal(allocation_places(&a, 1), "cores");
  assert_null(allocation_places(&a, 2)); /* more threads than cores: not bound */
  setenv("OMP_PROC_BIND", "false", 1);
  assert_null(allocation_places(&a, 1)); /* setting of the user */
  a = read_with((const char *const[]){NULL});
  assert_null(allocation_places(&a, 1)); /* not confined to own cores */
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  snprintf(cores, sizeof cores, "%d", n);
  a = WITH("SLURM_JOB_ID", "7", "SLURM_CPUS_PER_TASK", cores);
  assert_non_null(allocation_places(&a, 1)); /* the whole node */
}

static void test_requests(void **state)
{
  static const struct {
    const char *text;
    double      seconds;
  } times[] = {{"2", 120.0},          {"2:01", 121.0},      {"0:1:59", 119.0},       {"1-2", 93600.0},
               {"1-2:3", 93780.0},    {"1-2:3:4", 93784.0}, {"UNLIMITED", INFINITY}, {"", INFINITY},
               {"1:2:3:4", INFINITY}, {"2x", INFINITY},     {"-1", INFINITY},        {"x-1", INFINITY}};
  (void)state;
  for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
    const double got = allocation_parse_request(times[i].text);
    assert_true(got == times[i].seconds);
  }
  assert_close(allocation_parse_lead("B:USR1@170"), 170.0, 0.0);
  assert_close(allocation_parse_lead("USR1"), 60.0, 0.0);
}

TEST_MAIN(cmocka_unit_test(test_requests), cmocka_unit_test(test_cores), cmocka_unit_test(test_restarts),
          cmocka_unit_test(test_memory_of_slurm), cmocka_unit_test(test_memory_of_control_groups),
          cmocka_unit_test(test_time_format_of_squeue), cmocka_unit_test(test_time_from_environment),
          cmocka_unit_test(test_threads_are_bound_only_to_own_cores))
