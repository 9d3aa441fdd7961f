#include "sim/hybrid/hybrid_record.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/hybrid/hybrid_balance.h"
#include <string.h>

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
      if (c->pushed[to].other < 0)
        c->pushed[to].other = c->pushed[from].other;
      else
        c->pushed[from].other = c->pushed[to].other;
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
  for (int64_t i = 0; i < c->n_pushed; ++i) c->pushed[i].other = augury_near_other(c->near, c->element[c->pushed[i].vertex]);
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

static void add_point(contact_points *p, const double x[3], const double normal[3], const double force[3], double gap,
                      const int32_t pair[2], bool is_sliding)
{
  v3_copy(p->position + 3 * p->n, x);
  v3_copy(p->force + 3 * p->n, force);
  v3_copy(p->normal + 3 * p->n, normal);
  p->gap[p->n]         = gap;
  p->source_body[p->n] = pair[0], p->object_body[p->n] = pair[1];
  p->is_sliding[p->n] = is_sliding;
  ++p->n;
}

/* Forces between pairs as they are collected: groups of the record, and where they act (c->met_at). */
static PetscErrorCode collect(hybrid_contact *c, step_record *record, const double x[3], const double force[3], int32_t on, int32_t by)
{
  contact_group_force *group;
  const int64_t        n = record->forces.n;
  PetscFunctionBegin;
  if (by < 0 || on == by) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(contact_forces_find(&record->forces, on, by, &group));
  const int64_t at = group - record->forces.group;
  PetscCall(memory_reserve("places of contact", record->forces.n, sizeof *c->met_at, &c->met_capacity, &c->met_at));
  if (record->forces.n > n) memset(c->met_at[at], 0, sizeof *c->met_at);
  contact_group_add(group, x, force);
  v3_axpy(c->met_at[at], 1.0, x);
  c->met_at[at][3] += 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool may_meet(const scene *s, int32_t a, int32_t b)
{
  return a >= 0 && b >= 0 && !s->laws[(int64_t)a * s->n_bodies + b].never_touch;
}

/* Vertices that the grid pushed. Both sides of a pair tell half; a continuum has no vertices to tell its own. */
static PetscErrorCode take_pushes(hybrid_contact *c, const step_layout *l, step_record *record)
{
  const hybrid_boundary *b = &c->boundary;
  PetscFunctionBegin;
  const double  nothing[3] = {0.0, 0.0, 0.0};
  const int32_t continuum  = c->continuum.is_met ? continuum_of(l->scene) : -1;
  for (int64_t i = 0; i < c->n_pushed; ++i) {
    const hybrid_push *p       = &c->pushed[i];
    const int64_t      k       = p->vertex;
    const int32_t      pair[2] = {b->surfaces->body[k], p->other >= 0 ? p->other : continuum};
    double             x[3], force[3], normal[3];
    v3_scale(force, b->mass[k] / l->dt, p->change);
    v3_scale(normal, -1.0, b->normal + 3 * k);
    place_of(c, l, k, x);
    if (pair[1] >= 0) add_point(&record->points, x, normal, force, 0.0, pair, false);
    v3_scale(force, p->other >= 0 ? 0.5 : 1.0, force);
    PetscCall(collect(c, record, x, force, pair[0], pair[1]));
    if (may_meet(l->scene, pair[0], continuum)) PetscCall(collect(c, record, x, nothing, pair[0], continuum)); /* it may have, too */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_impulses(hybrid_contact *c, const step_layout *l, step_record *record, contact_summary *sum)
{
  const int64_t n      = c->n_pairs;
  double        excess = 0.0, most = 0.0;
  PetscFunctionBegin;
  PetscCall(contact_points_reserve(&record->points, record->points.n + n));
  for (int64_t i = 0; i < n; ++i) {
    const impulse_contact *p = &c->pair[i];
    double                 force[3];
    v3_scale(force, 1.0 / l->dt, p->impulse);
    add_point(&record->points, p->place, p->normal, force, p->gap, p->body, p->is_sliding);
    PetscCall(collect(c, record, p->place, force, p->body[0], p->body[1]));
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
  PetscFunctionBegin;
  record->forces.n = record->points.n = 0;
  if (!c->has_acted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(contact_points_reserve(&record->points, c->n_pushed));
  PetscCall(take_pushes(c, l, record));
  PetscCall(take_impulses(c, l, record, &report->contact));
  report->contact.n_active = record->points.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- forces that bodies felt -------------------------------------------------------------------------------------------- */

/* What contact did to each body that is held nowhere, zones included [N]. */
static void feel(const hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3], bool *is_known,
                 double (*felt)[3])
{
  const hybrid_boundary  *b         = &c->boundary;
  const scene_surfaces   *f         = b->surfaces;
  const hybrid_continuum *o         = &c->continuum;
  const int32_t           continuum = continuum_of(l->scene);
  for (int32_t i = 0; i < f->n_bodies; ++i) {
    is_known[i] = !f->is_rigid[i] && f->first_vertex[i] < f->first_vertex[i + 1];
    v3_scale(felt[i], 1.0 / l->dt, gained[i]);
  }
  for (int64_t k = 0; k < f->n_vertices; ++k) is_known[f->body[k]] = is_known[f->body[k]] && !b->held[k];
  for (int r = 0; r < b->n_rigids; ++r) {
    const int32_t i = b->rigids[r].body;
    is_known[i]     = true;
    for (int j = 0; j < 3; ++j)
      felt[i][j] = b->rigids[r].mass / l->dt *
                   (rigid_body_of(b->rigids[r].system)->v[j] - v_free[3 * b->rigids[r].system->first_block + j]);
  }
  if (continuum < 0) return;
  is_known[continuum] = true;
  for (int64_t i = 0; i < o->view.n && o->is_met; ++i)
    for (int k = 0; k < 3; ++k)
      felt[continuum][k] += o->mass[i] / l->dt * (o->velocity[3 * i + k] - v_free[3 * (o->system->first_block + i) + k]);
}

static PetscErrorCode balance(const hybrid_contact *c, contact_forces *forces, int32_t n_bodies, const bool *is_known,
                              const double (*felt)[3])
{
  balance_pair *pair;
  PetscFunctionBegin;
  PetscCall(memory_alloc("pairs that met", forces->n, sizeof *pair, &pair));
  for (int64_t i = 0; i < forces->n; ++i) {
    pair[i].body[0] = forces->group[i].source_body, pair[i].body[1] = forces->group[i].object_body;
    v3_copy(pair[i].force, forces->group[i].force);
  }
  PetscErrorCode code = hybrid_balance(n_bodies, felt, is_known, forces->n, pair);
  for (int64_t i = 0; i < forces->n && !code; ++i) {
    double x[3], more[3];
    v3_scale(x, 1.0 / c->met_at[i][3], c->met_at[i]);
    v3_sub(more, pair[i].force, forces->group[i].force);
    contact_group_add(&forces->group[i], x, more);
  }
  memory_free(&pair);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_record_balance(hybrid_contact *c, const step_layout *l, const double *v_free, const double (*gained)[3],
                                     step_record *record)
{
  const int32_t n_bodies = l->scene->n_bodies;
  bool         *is_known;
  double      (*felt)[3];
  PetscFunctionBegin;
  PetscCall(memory_alloc("forces on bodies", n_bodies, sizeof *is_known, &is_known));
  PetscCall(memory_alloc("forces on bodies", n_bodies, sizeof *felt, &felt));
  feel(c, l, v_free, gained, is_known, felt);
  const PetscErrorCode code = balance(c, &record->forces, n_bodies, is_known, (const double(*)[3])felt);
  memory_free(&is_known), memory_free(&felt);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
