/* Implementation of measure_points.h. */
#include "sim/measure/measure_points.h"
#include "core/memory.h"
#include "discretize/particles/particles.h"
#include "discretize/rigid/rigid_body.h"

PetscErrorCode measure_points_get(const scene *s, body_range of, measure_points_memory *m, measure_points *out)
{
  body      *one = s->bodies[of.first].body;
  particles *p   = particles_of(one);
  PetscFunctionBegin;
  *out = (measure_points){0};
  if (p) {
    *out             = (measure_points){p->n, {p->x[0], p->x[1], p->x[2]}, {p->v[0], p->v[1], p->v[2]}, p->mass, p->id, 0.0};
    const body *grid = body_system(one);
    if (grid->ops->length) out->spacing = grid->ops->length(grid);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!rigid_body_dynamic(one)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MEMORY_RESERVE("measure", of.n, &m->capacity, ARRAY(m->x[0], 1), ARRAY(m->x[1], 1), ARRAY(m->x[2], 1), ARRAY(m->v[0], 1),
                           ARRAY(m->v[1], 1), ARRAY(m->v[2], 1), ARRAY(m->mass, 1), ARRAY(m->id, 1)));
  *out = (measure_points){0, {m->x[0], m->x[1], m->x[2]}, {m->v[0], m->v[1], m->v[2]}, m->mass, m->id, 0.0};
  for (int i = 0; i < of.n; ++i) {
    const rigid_body *b = rigid_body_dynamic(s->bodies[of.first + i].body);
    out->spacing += 2.0 * b->radius / of.n;
    if (b->base.is_waiting) continue;
    for (int k = 0; k < 3; ++k) m->x[k][out->n] = b->c[k], m->v[k][out->n] = b->v[k];
    m->mass[out->n] = b->mass;
    m->id[out->n++] = i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void measure_points_free(measure_points_memory *m)
{
  MEMORY_FREE(&m->x[0], &m->x[1], &m->x[2], &m->v[0], &m->v[1], &m->v[2], &m->mass, &m->id);
  m->capacity = 0;
}
