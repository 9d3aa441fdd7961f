/* The life of measures: from the job's words to rows in tables. */
#include "sim/measure/measure.h"
#include "core/memory.h"
#include "io/history.h"
#include "io/sealed_file.h"
#include "sim/measure/measure_flow.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene_intersections.h"

/* A measure and where it is written. */
typedef struct {
  measure            k;
  history           *table;
  measure_statistics statistics;
} entry;

struct measures {
  scene       *scene;
  formulation *formulation;
  memo        *memo;
  int          n;
  entry       *entry;
};

/* --- before the first step ---------------------------------------------------------------------------------------------- */

/* Where bodies rest is known at a resume, too. */
static int64_t node_closest_to(const body *b, const double x[3])
{
  int64_t    best = 0;
  double     near = INFINITY, d[3];
  body_nodes nodes;
  b->ops->nodes(b, &nodes);
  for (int64_t i = 0; i < nodes.n; ++i) {
    v3_sub(d, nodes.rest + 3 * i, x);
    if (v3_dot(d, d) < near) near = v3_dot(d, d), best = i;
  }
  return best;
}

static PetscErrorCode resolve(const scene *s, const key_item *item, measure *k)
{
  const measure_spec *spec = item->value;
  PetscFunctionBegin;
  k->name          = item->name;
  k->spec          = spec;
  k->quantity      = &measure_quantities[spec->quantity];
  k->body          = spec->body ? scene_find_body(s, spec->body) : -1;
  k->other         = spec->other ? scene_find_body(s, spec->other) : -1;
  k->fraction      = isfinite(spec->fraction) ? spec->fraction : 1.0;
  k->has_direction = isfinite(spec->direction[0]);
  if (isfinite(spec->point[0])) v3_copy(k->point, spec->point);
  if (k->has_direction) v3_scale(k->direction, 1.0 / v3_norm(spec->direction), spec->direction);
  if (spec->expected.n > 0) {
    diagnostics *none;
    PetscCall(diagnostics_create(&none));
    PetscCall(vector_field_create(&spec->expected, item->node, item->name, none, &k->expected));
    diagnostics_destroy(&none);
  }
  if (k->body >= 0 && s->bodies[k->body].body->ops->nodes) k->node = node_closest_to(s->bodies[k->body].body, k->point);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_create(scene *s, const key_list *list, formulation *f, memo *keep, measures **out)
{
  const step_report nothing = {0};
  PetscFunctionBegin;
  measures *m;
  PetscCall(memory_alloc("measures", 1, sizeof *m, &m));
  *out = m;
  *m   = (measures){.scene = s, .formulation = f, .memo = keep, .n = list->n};
  PetscCall(memory_alloc("measures", m->n, sizeof *m->entry, &m->entry));
  const measure_moment start = {.scene = s, .formulation = f, .report = &nothing, .clock = {.dt = s->options->time->step}};
  for (int i = 0; i < m->n; ++i) {
    measure *k = &m->entry[i].k;
    PetscCall(resolve(s, &list->item[i], k));
    m->entry[i].statistics = (measure_statistics)MEASURE_STATISTICS_NONE;
    if (k->quantity->value == measure_run_out) PetscCall(measure_extent(&start, k, &k->reference));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- in time -------------------------------------------------------------------------------------------------------- */

/* What the rows that are kept came to, and the time of the last; minus infinity if there are none. */
static PetscErrorCode read_back(const char *path, measure_statistics *s, double *last)
{
  int     n_columns;
  int64_t n_rows;
  double *rows;
  PetscFunctionBegin;
  PetscCall(history_read(path, &n_columns, &n_rows, &rows));
  for (int64_t i = 0; i < n_rows; ++i) measure_statistics_add(s, rows[i * n_columns + 1], rows[i * n_columns + 2]);
  *last = n_rows > 0 ? rows[(n_rows - 1) * n_columns + 1] : -INFINITY;
  memory_free(&rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Go on with its table. The last record cannot be as long ago as the next one takes to come. */
static PetscErrorCode take_up(entry *e, const char *path, int64_t resume_step, const sim_clock *now)
{
  const double every = e->k.spec->every;
  double       last = -INFINITY;
  PetscFunctionBegin;
  PetscCall(read_back(path, &e->statistics, &last));
  if (!(now->time - last < every * (1.0 + 1e-6))) (void)history_is_whole(e->table, resume_step, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_flow(const measure *k) { return k->quantity->value == measure_flow_rate; }

PetscErrorCode measures_open(measures *m, const char *dir, int64_t resume_step, const sim_clock *now)
{
  const step_report    nothing = {0};
  const measure_moment moment  = {m->scene, m->formulation, &nothing, *now};
  char                 path[4400];
  PetscFunctionBegin;
  snprintf(path, sizeof path, "%s/measure", dir);
  if (m->n > 0) PetscCall(file_make_directory(path));
  for (int i = 0; i < m->n; ++i) {
    entry      *e       = &m->entry[i];
    const char *names[] = {"step", "time", e->k.name}, *units[] = {"1", "s", e->k.quantity->unit};
    snprintf(path, sizeof path, "%s/measure/%s.csv", dir, e->k.name);
    PetscCall(history_open(path, 3, names, units, resume_step, &e->table));
    if (resume_step >= 0) PetscCall(take_up(e, path, resume_step, now));
    if (is_flow(&e->k)) PetscCall(measure_flow_open(&moment, m->memo, &e->k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode record(entry *e, const measure_moment *moment)
{
  double value = NAN;
  PetscFunctionBegin;
  PetscCall(e->k.quantity->value(moment, &e->k, &value));
  measure_statistics_add(&e->statistics, moment->clock.time, value);
  PetscCall(history_row(e->table, (const double[]){(double)moment->clock.step, moment->clock.time, value}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_record(measures *m, const sim_clock *now, const step_report *report)
{
  const measure_moment moment = {m->scene, m->formulation, report, *now};
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) {
    entry *e = &m->entry[i];
    if (is_flow(&e->k)) PetscCall(measure_flow_step(&moment, &e->k));
    if (e->k.spec->every == 0.0 || sim_clock_is_due(now, e->k.spec->every)) PetscCall(record(e, &moment));
    if (is_flow(&e->k)) PetscCall(measure_flow_keep(&e->k, m->memo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measures_flush(measures *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < m->n; ++i) PetscCall(history_flush(m->entry[i].table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const measure_statistics *measures_statistics(const measures *m, int i, const char **unit)
{
  if (unit) *unit = m->entry[i].k.quantity->unit;
  return &m->entry[i].statistics;
}

PetscErrorCode measures_destroy(measures **m)
{
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  if (!*m) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < (*m)->n && (*m)->entry; ++i) {
    const PetscErrorCode one = history_close(&(*m)->entry[i].table);
    code                     = code ? code : one;
    vector_field_destroy(&(*m)->entry[i].k.expected);
    measure_flow_close(&(*m)->entry[i].k);
    scene_intersections_destroy(&(*m)->entry[i].k.intersections);
  }
  memory_free(&(*m)->entry);
  memory_free(m);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
