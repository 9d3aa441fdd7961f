/* Quantities of contacts: forces, patches, penetration and exact intersections. */
#include "sim/measure/measure_quantity.h"
#include "sim/measure/patch.h"
#include "sim/scene/scene_intersections.h"
#include "sim/scene/scene_overlaps.h"

static contact_points_view points_of(const measure_moment *now) { return contact_points_get(now->formulation->points); }

PetscErrorCode measure_contact_force(const measure_moment *now, measure *k, double *value)
{
  double force[3], moment[3];
  PetscFunctionBegin;
  if (k->spec->part < 0) contact_forces_between(now->formulation->forces, k->body, k->other, force, moment);
  else {
    const contact_points_view p = points_of(now);
    patch_force(&p, k->body, k->other, k->spec->part == MEASURE_PART_NORMAL, force);
  }
  *value = measure_along(k, force);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_contact_moment(const measure_moment *now, measure *k, double *value)
{
  double force[3], moment[3];
  PetscFunctionBegin;
  contact_forces_between(now->formulation->forces, k->body, k->other, force, moment);
  *value = measure_along(k, moment);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_contact_extent(const measure_moment *now, measure *k, double *value)
{
  const contact_points_view p = points_of(now);
  patch_frame               f = {.on = k->body, .from = k->other, .is_round = !k->has_direction};
  PetscFunctionBegin;
  v3_copy(f.point, k->point);
  v3_copy(f.along, k->direction);
  measure_up(now->scene, f.up);
  PetscCall(patch_extent(&p, &f, k->fraction, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_sticking_fraction(const measure_moment *now, measure *k, double *value)
{
  const contact_points_view p = points_of(now);
  *value                      = patch_sticking(&p, k->body, k->other);
  return PETSC_SUCCESS;
}

PetscErrorCode measure_contacts(const measure_moment *now, measure *k, double *value)
{
  *value = (double)now->report->contact.contacts;
  if (k->body >= 0) {
    const contact_points_view p = points_of(now);
    *value                      = (double)patch_count(&p, k->body, k->other);
  }
  return PETSC_SUCCESS;
}

PetscErrorCode measure_penetration(const measure_moment *now, measure *k, double *value)
{
  *value = scene_overlaps_depth(now->scene->overlaps, k->body, k->other);
  if (k->body < 0) *value = fmax(*value, now->report->contact.penetration); /* also of earlier substeps */
  return PETSC_SUCCESS;
}

PetscErrorCode measure_friction_work(const measure_moment *now, measure *k, double *value)
{
  (void)k;
  *value = now->report->friction_work;
  return PETSC_SUCCESS;
}

/* True if the pair (a, b) belongs to the measured body or pair of bodies. */
static bool is_of(const measure *k, int a, int b)
{
  if (k->body < 0) return true;
  return k->other < 0 ? a == k->body || b == k->body : (a == k->body && b == k->other) || (a == k->other && b == k->body);
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
