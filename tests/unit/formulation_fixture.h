/* A scene from the text of a job, stepped by its formulation. */
#ifndef SS_TESTS_FORMULATION_FIXTURE_H
#define SS_TESTS_FORMULATION_FIXTURE_H
#include <string.h>
#include "app/job/job.h"
#include "core/diagnostics.h"
#include "discretize/rigid/rigid_body.h"
#include "optim/optim.h"
#include "sim/formulations.h"
#include "sim/scene/scene.h"
#include "test.h"

typedef struct {
  diagnostics *d;
  job         *j;
  scene       *s;
  formulation *f;
  field_table *fields;
  step_report  report;
  double       t;
} world;

static inline void open_world(const char *text, world *w)
{
  memset(w, 0, sizeof *w);
  assert_ok(optim_register_all());
  assert_ok(diagnostics_create(&w->d));
  assert_ok(job_read_text("job", text, 0, NULL, w->d, &w->j));
  if (w->j) assert_ok(scene_create(PETSC_COMM_SELF, &w->j->scene, w->d, &w->s));
  if (diagnostics_count(w->d)) fail_msg("%s", diagnostics_text(w->d, 0));
  assert_ok(formulation_create(formulations[w->j->formulation], w->s, &w->f));
}

static inline void close_world(world *w)
{
  formulation_destroy(&w->f);
  scene_destroy(&w->s);
  job_destroy(&w->j);
  diagnostics_destroy(&w->d);
}

static inline void step(world *w)
{
  step_status  status;
  const double dt = w->j->scene.time->step;
  assert_ok(w->f->ops->step(w->f, w->t, dt, &status, &w->report));
  if (status.code != STEP_OK) fail_msg("t = %g: %s", w->t, step_code_text(status.code));
  w->t += dt;
}

static inline body_totals totals(const world *w)
{
  body_totals sum;
  assert_ok(scene_totals(w->s, &sum));
  return sum;
}
static inline double energy(const world *w)
{
  const body_totals sum = totals(w);
  return sum.kinetic + sum.elastic + sum.potential;
}
static inline const rigid_body *rigid(const world *w, const char *name)
{
  const int i = scene_find_body(w->s, name);
  assert_true(i >= 0);
  return rigid_body_of(w->s->bodies[i].body);
}

#endif
