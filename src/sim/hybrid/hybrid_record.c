#include "sim/hybrid/hybrid_record.h"
#include "core/math3.h"
#include "core/memory.h"

/* Vertices beside those that meet something: what they felt came through these. */
static PetscErrorCode spread(hybrid_contact *c)
{
  const scene_surfaces *f = c->boundary.surfaces;
  int32_t              *push;
  bool                  is_more = true;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pushed vertices", f->n_vertices, sizeof *push, &push));
  for (int64_t k = 0; k < f->n_vertices; ++k) push[k] = -1;
  for (int64_t i = 0; i < c->n_pushed; ++i) push[c->pushed[i].vertex] = (int32_t)i;
  while (is_more) {
    is_more = false;
    for (int64_t k = 0; k < 3 * f->n_triangles; ++k) {
      const int32_t from = push[f->triangle[k]], to = push[f->triangle[k % 3 == 2 ? k - 2 : k + 1]];
      if (from < 0 || to < 0 || (c->pushed[from].other < 0) == (c->pushed[to].other < 0)) continue;
      if (c->pushed[to].other < 0) c->pushed[to].other = c->pushed[from].other;
      else c->pushed[from].other = c->pushed[to].other;
      is_more = true;
    }
  }
  memory_free(&push);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_record_note(hybrid_contact *c)
{
  const hybrid_boundary *b = &c->boundary;
  const scene_surfaces  *f = b->surfaces;
  PetscFunctionBegin;
  c->n_pushed = 0;
  if (!c->element) {
    PetscCall(memory_alloc("boundary", f->n_vertices, sizeof *c->element, &c->element));
    for (int64_t k = 3 * f->n_triangles - 1; k >= 0; --k) c->element[f->triangle[k]] = (int32_t)(k / 3);
  }
  PetscCall(memory_reserve("pushed vertices", f->n_vertices, sizeof *c->pushed, &c->pushed_capacity, &c->pushed));
  for (int64_t k = 0; k < f->n_vertices; ++k) {
    hybrid_push *p = &c->pushed[c->n_pushed];
    v3_sub(p->change, b->v + 3 * k, c->v_old + 3 * k);
    p->vertex = (int32_t)k;
    c->n_pushed += p->change[0] != 0.0 || p->change[1] != 0.0 || p->change[2] != 0.0;
  }
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < c->n_pushed; ++i) c->pushed[i].other = augury_near_other(c->near, b->x0, c->element[c->pushed[i].vertex]);
  if (!c->continuum.system) PetscCall(spread(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A body of kind mpm, if there is one. */
static int32_t continuum_of(const scene *s)
{
  for (int i = 0; i < s->n_bodies; ++i)
    if (s->bodies[i].kind->ops->carrier) return i;
  return -1;
}

/* Where a vertex is now. */
static void place_of(const hybrid_contact *c, const step_layout *l, int64_t k, double x[3])
{
  const hybrid_boundary *b = &c->boundary;
  for (int i = 0; i < 3; ++i) x[i] = b->x0[3 * k + i] + l->dt * b->v[3 * k + i];
}

static PetscErrorCode add(step_record *r, const double x[3], const double normal[3], const double force[3], double gap, const int32_t pair[2],
                          bool is_sliding)
{
  contact_points      *p = &r->points;
  contact_group_force *group;
  PetscFunctionBegin;
  v3_copy(p->position + 3 * p->n, x);
  v3_copy(p->force + 3 * p->n, force);
  v3_copy(p->normal + 3 * p->n, normal);
  p->gap[p->n]         = gap;
  p->source_body[p->n] = pair[0], p->object_body[p->n] = pair[1];
  p->is_sliding[p->n]  = is_sliding;
  ++p->n;
  PetscCall(contact_forces_find(&r->forces, pair[0], pair[1], &group));
  contact_group_add(group, x, force);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_pushes(hybrid_contact *c, const step_layout *l, step_record *record)
{
  const hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  const int32_t continuum = continuum_of(l->scene);
  for (int64_t i = 0; i < c->n_pushed; ++i) {
    const hybrid_push *p       = &c->pushed[i];
    const int64_t      k       = p->vertex;
    const int32_t      pair[2] = {b->surfaces->body[k], p->other >= 0 ? p->other : continuum};
    const double       share   = p->other >= 0 ? 0.5 : 1.0; /* a continuum has no vertices to tell its half */
    double             x[3], force[3], normal[3];
    if (pair[1] < 0) continue;
    v3_scale(force, share * b->mass[k] / l->dt, p->change);
    v3_scale(normal, -1.0, b->normal + 3 * k);
    place_of(c, l, k, x);
    PetscCall(add(record, x, normal, force, 0.0, pair, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_impulses(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report, int64_t n,
                                    const impulse_contact *contact)
{
  contact_summary *sum    = &report->contact;
  double           excess = 0.0, most = 0.0;
  PetscFunctionBegin;
  (void)c;
  for (int64_t i = 0; i < n; ++i) {
    const impulse_contact *p = &contact[i];
    double                 force[3];
    v3_scale(force, 1.0 / l->dt, p->impulse);
    PetscCall(add(record, p->place, p->normal, force, p->gap, p->body, p->is_sliding));
    sum->n_sliding += p->is_sliding;
    sum->max_penetration = fmax(sum->max_penetration, -p->gap);
    const double mu      = l->scene->laws[(int64_t)p->body[0] * l->scene->n_bodies + p->body[1]].friction;
    excess               = fmax(excess, v3_norm(p->friction) - mu * p->pressed);
    most                 = fmax(most, p->pressed);
  }
  if (most > 0.0) sum->max_cone_violation = fmax(0.0, excess) / most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_record_take(hybrid_contact *c, const step_layout *l, step_record *record, step_report *report)
{
  int64_t                n       = 0;
  const impulse_contact *contact = c->impulses && c->boundary.surfaces->n_triangles > 0 ? impulses_contacts(c->impulses, &n) : NULL;
  PetscFunctionBegin;
  if (!c->has_acted) n = 0;
  record->forces.n = record->points.n = 0;
  PetscCall(contact_points_reserve(&record->points, c->n_pushed + n));
  PetscCall(take_pushes(c, l, record));
  PetscCall(take_impulses(c, l, record, report, n, contact));
  report->contact.n_active = record->points.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
