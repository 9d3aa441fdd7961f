/* Relaxation steps, control of their length, and termination; see static_equilibrium.h. */
#include "sim/step/static_equilibrium.h"
#include <math.h>
#include <string.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "sim/scene/scene_size.h"

/* The largest step over dt. The inertia of a step regularises motions without stiffness, such as rolling; with 1e3 the equations of bodies on stiff
 * contacts still have condition numbers below 1e12. */
static const double LONGEST = 1e3;

typedef struct {
  scene       *s;
  formulation *f;
  field_table *fields;
  double       dt, shortest, h;
  bool         is_final;     /* the condition was satisfied with a longer step */
  double      *size;         /* [n_bodies] m */
  double     (*begin)[3];    /* [n_bodies] centres of mass at the start [m] */
  double       longest_next; /* bound of the next step from the displacements of the last one */
} search;

/* Whether the body counts: it has unknowns of its own and a mass. Bodies with parts are represented by their parts. */
static bool is_considered(const scene *s, int i)
{
  body *b = s->bodies[i].body;
  return body_system(b) && b->ops->totals && !b->ops->parts;
}

static PetscErrorCode centre_of(const scene *s, int i, body_totals *sum)
{
  PetscFunctionBegin;
  PetscCall(scene_body_totals(s, i, sum));
  for (int k = 0; k < 3; ++k) sum->center[k] = sum->mass > 0.0 ? sum->center[k] / sum->mass : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode static_equilibrium_check(const scene *s, diagnostics *d)
{
  static const char *const keys[] = {"velocity", "angular_velocity", "joints"};
  PetscFunctionBegin;
  if (s->options->time->start != TIME_START_AT_REST) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < s->n_bodies; ++i) {
    const document_node *node = scene_body_node(s, i);
    const char          *key  = NULL;
    char                 path[300];
    body_totals          sum = {0};
    if (!body_system(s->bodies[i].body) || !s->bodies[i].body->ops->totals || s->bodies[i].whole >= 0) continue;
    PetscCall(scene_body_totals(s, i, &sum));
    if (!(sum.kinetic > 0.0)) continue;
    for (size_t k = 0; k < sizeof keys / sizeof *keys && !key; ++k)
      if (node && document_find(node, keys[k])) key = keys[k];
    snprintf(path, sizeof path, "bodies.%s", s->bodies[i].name);
    diagnostics_add_under(d, node, path, key,
                          "the body has an initial velocity (kinetic energy %.3g J), but time.start: at_rest starts at rest; remove the "
                          "velocity or time.start",
                          sum.kinetic);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode measure_state(search *w, static_equilibrium *out)
{
  PetscFunctionBegin;
  out->velocity = out->acceleration = out->displacement = 0.0;
  out->body                                             = "";
  w->longest_next                                       = INFINITY;
  for (int i = 0; i < w->s->n_bodies; ++i) {
    body_totals sum;
    double      move[3];
    if (!is_considered(w->s, i)) continue;
    PetscCall(centre_of(w->s, i, &sum));
    if (!(sum.mass > 0.0)) continue;
    const double v = sqrt(2.0 * sum.kinetic / sum.mass), a = v / w->h;
    v3_sub(move, sum.center, w->begin[i]);
    out->displacement = fmax(out->displacement, v3_norm(move));
    if (a > out->acceleration) out->acceleration = a, out->velocity = v, out->body = w->s->bodies[i].name;
    if (a > 0.0) w->longest_next = fmin(w->longest_next, sqrt(STATIC_DISPLACEMENT * w->size[i] / a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One relaxation step. *is_done: the search ends. */
static PetscErrorCode relax(search *w, static_equilibrium *out, bool *is_done)
{
  PetscFunctionBegin;
  PetscCall(field_table_stop(w->fields));
  PetscCall(w->f->ops->step(w->f, -2.0 * w->h, w->h, &out->status, &out->report));
  ++out->n_steps;
  *is_done = true;
  if (out->status.code == STEP_INTERRUPTED || stop_signal()) {
    out->result = STATIC_INTERRUPTED;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (out->status.code != STEP_OK) {
    *is_done = w->h <= w->shortest;
    w->h     = fmax(w->shortest, 0.5 * w->h);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(measure_state(w, out));
  const bool is_static = out->acceleration <= STATIC_TOLERANCE * w->s->options->acceleration_scale;
  if (is_static && w->h == w->dt) {
    out->result = STATIC_FOUND;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *is_done    = false;
  w->is_final = w->is_final || is_static;
  if (w->is_final) w->h = fmin(2.0 * w->h, w->dt);
  else w->h = fmax(w->dt, fmin(fmin(2.0 * w->h, LONGEST * w->dt), w->longest_next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode iterate(search *w, static_equilibrium *out)
{
  bool is_done = false;
  PetscFunctionBegin;
  while (!is_done && out->n_steps < STATIC_MAX_STEPS) {
    PetscCall(relax(w, out, &is_done));
    log_progress("initial equilibrium: step %lld, residual acceleration %.3g m/s^2%s%s", (long long)out->n_steps, out->acceleration,
                 *out->body ? " of " : "", out->body);
  }
  log_progress_end();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode begin(search *w)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("equilibrium", ARRAY(w->size, w->s->n_bodies), ARRAY(w->begin, w->s->n_bodies)));
  for (int i = 0; i < w->s->n_bodies; ++i) {
    body_totals sum;
    w->size[i] = scene_body_size(w->s, i);
    if (!is_considered(w->s, i)) continue;
    PetscCall(centre_of(w->s, i, &sum));
    v3_copy(w->begin[i], sum.center);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode static_equilibrium_find(scene *s, formulation *f, field_table *fields, static_equilibrium *out)
{
  const time_options *t        = s->options->time;
  field_snapshot     *snapshot = NULL;
  search w = {.s = s, .f = f, .fields = fields, .dt = t->step, .h = t->step, .shortest = ldexp(t->step, -(int)t->retry->halvings)};
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  out->result = STATIC_NOT_FOUND;
  out->body   = "";
  PetscCall(field_snapshot_create(&snapshot));
  PetscErrorCode code = field_snapshot_take(snapshot, fields);
  if (!code) code = begin(&w);
  f->is_precise = true;
  if (!code) code = iterate(&w, out);
  f->is_precise = false;
  if (!code && out->result != STATIC_FOUND) code = field_snapshot_restore(snapshot, fields);
  if (!code) code = field_table_stop(fields);
  if (!code) code = scene_set_time(s, 0.0);
  field_snapshot_destroy(&snapshot);
  MEMORY_FREE(&w.size, &w.begin);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
