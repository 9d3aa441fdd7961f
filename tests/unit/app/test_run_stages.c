/* sim/run/run_stages and run_machine: what a run leaves for its report is read back, summed over starts, and never trusted. */
#include <string.h>
#include "io_fixture.h"
#include "app/run/run_machine.h"
#include "app/run/run_stages.h"
#include "discretize/body/body_stages.h"

static char folder[256];

static const run_stage *find(const run_stages *s, const char *name)
{
  for (int i = 0; i < s->n; ++i)
    if (strcmp(s->stage[i].name, name) == 0) return &s->stage[i];
  return NULL;
}

static void stages_are_summed_over_starts(void **state)
{
  (void)state;
  static run_stages past, back;
  folder_make(folder);
  assert_ok(run_stages_read(folder, &past));
  assert_int_equal(past.n, 0);
  run_stages_add(&past, timer_name(TIMER_OPERATOR), &(timer_record){1.5, 2e9, 3e9, 7});
  run_stages_add(&past, "a stage of another version", &(timer_record){0.25, 0, 0, 1});
  timer_reset();
  timer_begin(TIMER_OPERATOR);
  timer_end(TIMER_OPERATOR);
  timer_work(TIMER_OPERATOR, 1e9, 5e9);
  for (int start = 0; start < 2; ++start) { /* writing again writes the same start again, it does not add */
    assert_ok(run_stages_write(folder, &past));
    assert_ok(run_stages_read(folder, &back));
    const run_stage *s = find(&back, timer_name(TIMER_OPERATOR));
    assert_non_null(s);
    assert_int_equal(s->record.n_calls, 8);
    assert_true(s->record.flops == 3e9 && s->record.bytes == 8e9);
    assert_true(s->record.seconds >= 1.5 && s->record.seconds < 2.5);
    assert_true(find(&back, "a stage of another version")->record.seconds == 0.25);
    assert_null(find(&back, timer_name(TIMER_SORT))); /* never entered */
  }
  folder_remove(folder);
  assert_no_leak();
}

static void what_is_no_such_table_is_no_stage(void **state)
{
  (void)state;
  static const char *const texts[] = {"", "stage", "another,header\nx,1,1,1,1\n", "stage,seconds [s],calls,traffic [byte],operations\nx,1\ny,-1,1,1,1\nz,nan,1,1,1\n,1,1,1,1\nx,1,1,1,1"};
  static run_stages        s;
  char                     path[300];
  folder_make(folder);
  snprintf(path, sizeof path, "%s/stages.csv", folder);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    FILE *out = fopen(path, "w");
    fputs(texts[i], out);
    fclose(out);
    assert_ok(run_stages_read(folder, &s));
    assert_int_equal(s.n, 0);
  }
  folder_remove(folder);
  assert_no_leak();
}

static void the_machine_is_read_back(void **state)
{
  (void)state;
  document          *owner;
  const run_machine *m;
  char               path[300];
  folder_make(folder);
  assert_ok(run_machine_read(folder, &owner, &m));
  assert_true(!owner && !m);
  assert_ok(run_machine_write(folder));
  assert_ok(run_machine_read(folder, &owner, &m));
  assert_true(m->processors >= 1 && m->memory > 1e6);
  assert_true(*m->processor && strstr(m->built, "PETSc") && strstr(m->libraries, "HDF5 1.") && strstr(m->system, "Linux"));
  document_destroy(&owner);
  snprintf(path, sizeof path, "%s/machine.yaml", folder);
  FILE *out = fopen(path, "w");
  fputs("memory: [1\n", out);
  fclose(out);
  assert_ok(run_machine_read(folder, &owner, &m));
  assert_true(!owner && !m);
  folder_remove(folder);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(stages_are_summed_over_starts), cmocka_unit_test(what_is_no_such_table_is_no_stage), cmocka_unit_test(the_machine_is_read_back))
