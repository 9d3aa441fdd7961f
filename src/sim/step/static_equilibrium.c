/* Relaxation steps, control of their length, and termination; see static_equilibrium.h. */
#include "sim/step/static_equilibrium.h"
#include <math.h>
#include <string.h>
#include "core/log.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/stop.h"
#include "discretize/particles/particles.h"
#include "sim/scene/scene_size.h"

/* The largest step over dt. The inertia of a step regularises motions without stiffness, such as rolling: contacts with a period of one step dt then
 * have 3e6 times the stiffness of these motions. */
static const double LONGEST = 256.0;
/* The same for scenes with particles: a bed of sand needs more than 50 s for a step of 100 dt, and 1 s for one of 16 dt. */
static const double LONGEST_PARTICLES = 16.0;

typedef struct {
  scene       *s;
  formulation *f;
  field_table *fields;
  double       dt, shortest, longest, h;
  bool         is_final; /* the condition was satisfied with a longer step */
  double      *size;     /* [n_bodies] m */
  double (*begin)[3];    /* [n_bodies] centres of mass at the start [m] */
  double longest_next;   /* bound of the next step from the displacements of the last one */
} search;

/* Whether the body counts: it has unknowns of its own and a mass, and does not wait. Bodies with parts are represented by their parts. */
static bool is_considered(const scene *s, int i)
{
  body *b = s->bodies[i].body;
  return body_system(b) && b->ops->totals && !b->ops->parts && !b->is_waiting;
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
    if (!body_system(s->bodies[i].body) || !s->bodies[i].body->ops->totals || s->bodies[i].whole >= 0 || s->bodies[i].body->is_waiting)
      continue;
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
  out->tolerance                                        = STATIC_TOLERANCE;
  out->body                                             = "";
  w->longest_next                                       = INFINITY;
  for (int i = 0; i < w->s->n_bodies; ++i) {
    body_totals sum;
    double      move[3];
    if (!is_considered(w->s, i)) continue;
    PetscCall(centre_of(w->s, i, &sum));
    if (!(sum.mass > 0.0)) continue;
    const double v = sqrt(2.0 * sum.kinetic / sum.mass), a = v / w->h,
                 tolerance = particles_of(w->s->bodies[i].body) ? STATIC_TOLERANCE_PARTICLES : STATIC_TOLERANCE;
    v3_sub(move, sum.center, w->begin[i]);
    out->displacement = fmax(out->displacement, v3_norm(move));
    if (a * out->tolerance > out->acceleration * tolerance)
      out->acceleration = a, out->velocity = v, out->tolerance = tolerance, out->body = w->s->bodies[i].name;
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
    log_debug("relaxation step %lld of %g s: %s", (long long)out->n_steps, w->h, step_code_text(out->status.code));
    w->h = fmax(w->shortest, 0.5 * w->h);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(measure_state(w, out));
  log_debug("relaxation step %lld of %g s: residual acceleration %.3g m/s^2", (long long)out->n_steps, w->h, out->acceleration);
  const bool is_static = out->acceleration <= out->tolerance * w->s->options->acceleration_scale;
  if (is_static && w->h == w->dt) {
    out->result = STATIC_FOUND;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *is_done    = false;
  w->is_final = w->is_final || is_static;
  if (w->is_final) w->h = is_static ? fmax(0.5 * w->h, w->dt) : w->h < w->dt ? fmin(2.0 * w->h, w->dt) : w->h;
  else w->h = fmax(w->dt, fmin(fmin(2.0 * w->h, w->longest), w->longest_next));
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
  w->longest = LONGEST * w->dt;
  PetscCall(MEMORY_ALLOC("equilibrium", ARRAY(w->size, w->s->n_bodies), ARRAY(w->begin, w->s->n_bodies)));
  for (int i = 0; i < w->s->n_bodies; ++i) {
    body_totals sum;
    w->size[i] = scene_body_size(w->s, i);
    if (particles_of(w->s->bodies[i].body)) w->longest = LONGEST_PARTICLES * w->dt;
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
