/* A scene with measures, with given contacts instead of a formulation, and the tables that they write. */
#ifndef SS_TESTS_MEASURE_FIXTURE_H
#define SS_TESTS_MEASURE_FIXTURE_H
#include "app/job/job.h"
#include "core/math3.h"
#include "io/history.h"
#include "io_fixture.h"
#include "sim/measure/measure.h"
#include "sim/scene/scene.h"

typedef struct {
  char         dir[256];
  diagnostics *d;
  job         *j;
  scene       *s;
  named_state *named_state;
  measures    *m;
  field_table *table; /* of the cache only */
} bench;

/* A formulation that does nothing and has given contacts. */
static contact_points        given_points;
static contact_group_force   given_group  = {0, 1, {1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
static const contact_forces  given_forces = {1, 1, &given_group};
static const formulation_ops fake_ops     = {.scene = {.name = "fake"}};
static formulation           fake         = {.ops = &fake_ops, .points = &given_points, .forces = &given_forces};

static inline void bench_open(bench *b, const char *text, void (*prepare)(bench *))
{
  memset(b, 0, sizeof *b);
  folder_make(b->dir);
  assert_ok(diagnostics_create(&b->d));
  assert_ok(job_read_text("job", text, 0, NULL, b->d, &b->j));
  if (b->j) assert_ok(scene_create(PETSC_COMM_SELF, &b->j->scene, b->d, &b->s));
  if (b->s) assert_ok(measures_check(b->s, &b->j->measure, b->d));
  if (diagnostics_count(b->d)) fail_msg("%s", diagnostics_text(b->d, 0));
  assert_ok(field_table_create(&b->table));
  assert_ok(named_state_create(b->table, &b->named_state));
  if (prepare) prepare(b);
  assert_ok(measures_create(b->s, &b->j->measure, &fake, b->named_state, &b->m));
  assert_ok(measures_open(b->m, b->dir, -1, &(sim_clock){0, 0.0, b->j->scene.time->step}));
}

static inline void bench_record(bench *b, int64_t step, const step_report *report)
{
  static const step_report nothing;
  const sim_clock          now = {step, (double)step * b->j->scene.time->step, b->j->scene.time->step};
  assert_ok(measures_record(b->m, &now, report ? report : &nothing));
}

static inline void bench_close(bench *b)
{
  assert_ok(measures_destroy(&b->m));
  named_state_destroy(&b->named_state);
  field_table_destroy(&b->table);
  scene_destroy(&b->s);
  job_destroy(&b->j);
  diagnostics_destroy(&b->d);
  folder_remove(b->dir);
  assert_no_leak();
}

/* The value last recorded in the table, or entry `component` of a table with more values. */
static inline double component_of(const bench *b, const char *name, int component, int n_values)
{
  char    path[512];
  int     n_columns;
  int64_t n;
  double *rows;
  snprintf(path, sizeof path, "%s/measure/%s.csv", b->dir, name);
  assert_ok(history_read(path, &n_columns, &n, &rows));
  assert_int_equal(n_columns, 2 + n_values);
  assert_true(n > 0);
  const double value = rows[n_columns * (n - 1) + 2 + component];
  memory_free(&rows);
  return value;
}
static inline double last_of(const bench *b, const char *name) { return component_of(b, name, 0, 1); }
#define expect(name, value, tolerance) assert_close(last_of(&b, name), value, tolerance)
#endif
