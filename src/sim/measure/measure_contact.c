/* Quantities of contacts: forces, patches, penetration and exact intersections. */
#include "core/memory.h"
#include "sim/measure/measure_quantity.h"
#include "sim/measure/patch.h"
#include "sim/scene/scene_intersections.h"
#include "sim/scene/scene_overlaps.h"

/* ==== all copies of an entry as one body ==== */

/* The body that represents body i: the first of the measured copies that i belongs to. */
static int32_t representative(const measure *k, int32_t i)
{
  if (body_range_has(k->bodies, i)) return k->body;
  return body_range_has(k->others, i) ? k->other : i;
}

/* Contact points of the last step between representatives. *memory: to be freed after use. */
static PetscErrorCode get_points(const measure_moment *now, const measure *k, int32_t **memory, contact_points_view *p)
{
  PetscFunctionBegin;
  *memory = NULL;
  *p      = contact_points_get(now->formulation->points);
  if (k->bodies.n <= 1 && k->others.n <= 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("contact points", 2 * p->n, sizeof **memory, memory));
  for (int64_t i = 0; i < p->n; ++i) {
    (*memory)[i]        = representative(k, p->source_body[i]);
    (*memory)[p->n + i] = representative(k, p->object_body[i]);
  }
  p->source_body = *memory, p->object_body = *memory + p->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean force and moment on the measured bodies in the step, so that they give its impulses. The forces between two copies of an entry cancel. */
static void get_force(const measure_moment *now, const measure *k, double force[3], double moment[3])
{
  const contact_forces *f = now->formulation->mean_forces ? now->formulation->mean_forces : now->formulation->forces;
  if (k->bodies.n <= 1 && k->others.n <= 1) {
    contact_forces_between(f, k->body, k->other, force, moment);
    return;
  }
  v3_set(force, 0.0, 0.0, 0.0);
  v3_set(moment, 0.0, 0.0, 0.0);
  for (int64_t i = 0; i < f->n; ++i) {
    const contact_group_force *g = &f->group[i];
    const int                  a = representative(k, g->source_body), b = representative(k, g->object_body);
    if (a == b || (a != k->body && b != k->body) || (k->other >= 0 && a != k->other && b != k->other)) continue;
    v3_axpy(force, a == k->body ? 1.0 : -1.0, g->force);
    v3_axpy(moment, a == k->body ? 1.0 : -1.0, g->moment);
  }
}

/* ==== quantities ==== */

PetscErrorCode measure_contact_force(const measure_moment *now, measure *k, double *value)
{
  double              force[3], moment[3];
  int32_t            *memory;
  contact_points_view p;
  PetscFunctionBegin;
  if (k->spec->part < 0) get_force(now, k, force, moment);
  else {
    PetscCall(get_points(now, k, &memory, &p));
    patch_force(&p, k->body, k->other, k->spec->part == MEASURE_PART_NORMAL, force);
    memory_free(&memory);
  }
  *value = measure_along(k, force);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_contact_moment(const measure_moment *now, measure *k, double *value)
{
  double force[3], moment[3];
  PetscFunctionBegin;
  get_force(now, k, force, moment);
  *value = measure_along(k, moment);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_contact_extent(const measure_moment *now, measure *k, double *value)
{
  contact_points_view p;
  int32_t            *memory;
  patch_frame         f = {.on = k->body, .from = k->other, .is_round = !k->has_direction};
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &memory, &p));
  v3_copy(f.point, k->point);
  v3_copy(f.along, k->direction);
  measure_up(now->scene, f.up);
  PetscCall(patch_extent(&p, &f, k->fraction, value));
  memory_free(&memory);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_sticking_fraction(const measure_moment *now, measure *k, double *value)
{
  contact_points_view p;
  int32_t            *memory;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &memory, &p));
  *value = patch_sticking(&p, k->body, k->other);
  memory_free(&memory);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_contacts(const measure_moment *now, measure *k, double *value)
{
  contact_points_view p;
  int32_t            *memory;
  PetscFunctionBegin;
  *value = (double)now->report->contact.contacts;
  if (k->body >= 0) {
    PetscCall(get_points(now, k, &memory, &p));
    *value = (double)patch_count(&p, k->body, k->other);
    memory_free(&memory);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* True if the pair (a, b) belongs to the measured body or pair of bodies. */
static bool is_of(const measure *k, int a, int b)
{
  const int p = representative(k, a), q = representative(k, b);
  if (k->body < 0) return true;
  return k->other < 0 ? p == k->body || q == k->body : (p == k->body && q == k->other) || (p == k->other && q == k->body);
}

PetscErrorCode measure_penetration(const measure_moment *now, measure *k, double *value)
{
  const scene_overlap *list;
  const int64_t        n = scene_overlaps_list(now->scene->overlaps, &list);
  *value                 = 0.0;
  for (int64_t i = 0; i < n; ++i)
    if (is_of(k, list[i].a, list[i].b)) *value = fmax(*value, list[i].at.depth);
  if (k->body < 0) *value = fmax(*value, now->report->contact.penetration); /* also of earlier substeps */
  return PETSC_SUCCESS;
}

PetscErrorCode measure_friction_work(const measure_moment *now, measure *k, double *value)
{
  (void)k;
  *value = now->report->friction_work;
  return PETSC_SUCCESS;
}

PetscErrorCode measure_intersections(const measure_moment *now, measure *k, double *value)
{
  const intersection        *list;
  const scene_vertex_beyond *sunk;
  int64_t                    bad, n, n_beyond, count = 0;
  PetscFunctionBegin;
  if (!k->intersections) PetscCall(scene_intersections_create(now->scene, &k->intersections));
  const scene_surfaces *all = k->intersections->surfaces;
  PetscCall(scene_intersections_find(k->intersections, now->scene, now->clock.time, &bad, &n, &list));
  PetscCall(scene_intersections_beyond(k->intersections, now->scene, now->clock.time, &n_beyond, &sunk));
  for (int64_t i = 0; i < n; ++i)
    count += is_of(k, all->body[all->edge[2 * (int64_t)list[i].edge]], all->body[all->triangle[3 * (int64_t)list[i].triangle]]);
  for (int64_t i = 0; i < n_beyond; ++i) count += is_of(k, all->body[sunk[i].vertex], sunk[i].body);
  *value = bad < 0 ? (double)count : NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
