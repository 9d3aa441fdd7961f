/* Compares the side of every particle, identified across resorting, with that of the previous step. */
#include "sim/measure/measure_flow.h"
#include "core/memory.h"
#include "sim/scene/scene.h"

enum { UNSEEN = 0, BEHIND = 1, BEYOND = 2 };

typedef struct measure_flow {
  int64_t  n, capacity;
  uint8_t *side;    /* [n] by identity of the particle */
  double   crossed; /* mass since the last record [kg] */
  double   since;   /* time of the last record [s] */
} measure_flow;

/* Names of the stored numbers; they contain the plane, so that another plane starts anew. */
static void names_of(const measure *k, char crossed[300], char since[300])
{
  char where[240];
  snprintf(where, sizeof where, "%s %.17g %.17g %.17g %.17g %.17g %.17g", k->name, k->point[0], k->point[1], k->point[2], k->direction[0],
           k->direction[1], k->direction[2]);
  snprintf(crossed, 300, "crossed %s", where);
  snprintf(since, 300, "since %s", where);
}

/* Distance beyond the plane. */
static double height_of(const measure *k, const measure_points *p, int64_t i)
{
  const double x[3] = {p->x[0][i] - k->point[0], p->x[1][i] - k->point[1], p->x[2][i] - k->point[2]};
  return v3_dot(k->direction, x);
}

/* True if the particle crossed the plane, on its trajectory within the step, inside the measured area. */
static bool is_in_measured_area(const measure *k, const measure_points *p, int64_t i, double height, double dt)
{
  const double v[3] = {p->v[0][i], p->v[1][i], p->v[2][i]}, across = v3_dot(k->direction, v);
  const double back = across * height > 0.0 ? fmin(height / across, dt) : 0.0;
  const double x[3] = {p->x[0][i] - back * v[0], p->x[1][i] - back * v[1], p->x[2][i] - back * v[2]};
  double       r[3];
  v3_sub(r, x, k->point);
  v3_axpy(r, -v3_dot(r, k->direction), k->direction);
  bool is_in = !(k->spec->radius < v3_norm(r)); /* NaN: anywhere */
  for (int q = 0; k->spec->within && q < 3; ++q) is_in = is_in && x[q] >= k->spec->within->min[q] && x[q] <= k->spec->within->max[q];
  return is_in;
}

static PetscErrorCode make_room(measure_flow *f, const measure_points *p)
{
  int64_t n = f->n;
  PetscFunctionBegin;
  for (int64_t i = 0; i < p->n; ++i) n = p->id[i] >= n ? p->id[i] + 1 : n;
  if (n == f->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_reserve("flow rate", n, sizeof *f->side, &f->capacity, &f->side));
  for (int64_t i = f->n; i < n; ++i) f->side[i] = UNSEEN;
  f->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_flow_step(const measure_moment *now, measure *k)
{
  measure_points points, *p = &points;
  measure_flow  *f = k->flow;
  PetscFunctionBegin;
  PetscCall(measure_points_get(now->scene, k->bodies, &k->points, p));
  PetscCall(make_room(f, p));
  for (int64_t i = 0; i < p->n; ++i) {
    const double  height = height_of(k, p, i);
    const uint8_t was = f->side[p->id[i]], is = height > 0.0 ? BEYOND : BEHIND;
    f->side[p->id[i]] = is;
    if (was != UNSEEN && was != is && is_in_measured_area(k, p, i, height, now->clock.dt))
      f->crossed += is == BEYOND ? p->mass[i] : -p->mass[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_flow_open(const measure_moment *now, const named_state *m, measure *k)
{
  char crossed[300], since[300];
  PetscFunctionBegin;
  names_of(k, crossed, since);
  PetscCall(memory_alloc("flow rate", 1, sizeof *k->flow, &k->flow));
  k->flow->crossed = named_state_get(m, crossed, 0.0);
  k->flow->since   = named_state_get(m, since, now->clock.time);
  PetscCall(measure_flow_step(now, k)); /* no previous sides: nothing crosses */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_flow_keep(const measure *k, named_state *m)
{
  char crossed[300], since[300];
  PetscFunctionBegin;
  names_of(k, crossed, since);
  PetscCall(named_state_set(m, crossed, k->flow->crossed));
  PetscCall(named_state_set(m, since, k->flow->since));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void measure_flow_close(measure *k)
{
  if (k->flow) memory_free(&k->flow->side);
  memory_free(&k->flow);
}

PetscErrorCode measure_flow_rate(const measure_moment *now, measure *k, double *value)
{
  measure_flow *f = k->flow;
  if (now->clock.time > f->since) *value = f->crossed / (now->clock.time - f->since);
  f->crossed = 0.0;
  f->since   = now->clock.time;
  return PETSC_SUCCESS;
}
