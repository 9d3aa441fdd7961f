/* Implementation: arrays that do not change are set at creation, world positions at placement. */
#include "sim/scene/overlap_shape.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/rigid/rigid_body.h"
#include <string.h>

/* ---- creation ---- */

void overlap_shape_clear(overlap_shape *s)
{
  triangle_bvh_destroy(&s->bvh);
  if (!s->is_posed) s->x = NULL, triangle_mesh_destroy(&s->mesh);
  MEMORY_FREE(&s->convex, &s->work, &s->phi_box, &s->x, &s->thin);
}

static PetscErrorCode set_solids(overlap_shape *s)
{
  int64_t size = 0, at = 0;
  PetscFunctionBegin;
  if (s->b->ops->solids) s->solid = s->b->ops->solids(s->b, &s->n_solids);
  for (int k = 0; k < s->n_solids; ++k) size += convex_pose_work_size(&s->solid[k]);
  PetscCall(MEMORY_ALLOC("overlap shapes", ARRAY(s->convex, s->n_solids), ARRAY(s->work, size)));
  s->is_walls = s->n_solids > 0;
  s->size     = INFINITY;
  for (int k = 0; k < s->n_solids; ++k) {
    const double zero[3] = {0.0, 0.0, 0.0}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    convex_pose_set(&s->convex[k], &s->solid[k], zero, identity, s->work + at);
    at += convex_pose_work_size(&s->solid[k]);
    s->is_walls = s->is_walls && s->solid[k].kind == CONVEX_HALF_SPACE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_level_sets(overlap_shape *s)
{
  PetscFunctionBegin;
  if (s->b->ops->level_sets) s->phi = s->b->ops->level_sets(s->b, &s->n_phi);
  PetscCall(memory_alloc("overlap shapes", 6 * (int64_t)s->n_phi, sizeof *s->phi_box, &s->phi_box));
  for (int k = 0; k < s->n_phi; ++k) level_set_bounds(s->phi[k], s->phi_box + 6 * k, s->phi_box + 6 * k + 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The surface of a rigid body; the check of a surface that `like` has, too, is not repeated. */
static PetscErrorCode set_rigid_mesh(overlap_shape *s, triangle_mesh *surface, const overlap_shape *like)
{
  triangle_mesh_defects defects;
  PetscFunctionBegin;
  if (like && like->mesh == surface) s->is_closed = true;
  else {
    PetscCall(triangle_mesh_check(surface, &defects));
    s->is_closed = triangle_mesh_is_sound(&defects);
  }
  if (s->is_closed) s->mesh = surface; /* else of an unbounded shape, for pictures */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_mesh(overlap_shape *s, const overlap_shape *like)
{
  triangle_mesh_defects defects;
  const rigid_body     *rigid = rigid_body_of((body *)s->b);
  body_surface          own   = {0};
  PetscFunctionBegin;
  if (s->is_walls) PetscFunctionReturn(PETSC_SUCCESS); /* their triangles are only for pictures */
  if (rigid) {
    if (rigid->surface) PetscCall(set_rigid_mesh(s, rigid->surface, like));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->b->ops->surface) s->b->ops->surface(s->b, &own);
  if (own.n_triangles == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(triangle_mesh_create(own.n_nodes, own.n_triangles, &s->mesh));
  memcpy(s->mesh->tri, own.triangles, 3 * (size_t)own.n_triangles * sizeof *own.triangles);
  memcpy(s->mesh->x, own.x, 3 * (size_t)own.n_nodes * sizeof *own.x);
  PetscCall(triangle_mesh_check(s->mesh, &defects));
  s->is_closed = triangle_mesh_is_sound(&defects);
  s->x         = s->mesh->x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest extent of the body in its own axes. */
static double smallest_extent(const overlap_shape *s)
{
  double min[3], max[3], least = INFINITY;
  triangle_mesh_bounds(s->mesh, min, max);
  for (int k = 0; k < 3; ++k) least = fmin(least, max[k] - min[k]);
  return least;
}

static void set_size(overlap_shape *s)
{
  if (s->is_posed) {
    if (s->mesh) s->size = smallest_extent(s);
    return;
  }
  if (s->fibres.n_segments > 0)
    for (int64_t k = 0; k < s->fibres.n_segments; ++k) s->size = fmin(s->size, 2.0 * s->fibres.radius[k]);
  else if (s->particles && s->b->ops->point_radius && s->particles->n > 0) s->size = 2.0 * s->b->ops->point_radius(s->b, 0);
  else if (s->b->ops->length) s->size = s->b->ops->length(s->b);
}

PetscErrorCode overlap_shape_create(const body *b, bool is_thick, const overlap_shape *like, overlap_shape *out)
{
  PetscFunctionBegin;
  memset(out, 0, sizeof *out);
  out->b        = b;
  out->is_posed = b->ops->frame != NULL;
  PetscCall(set_solids(out));
  PetscCall(set_level_sets(out));
  PetscCall(set_mesh(out, like));
  if (b->ops->segments) b->ops->segments(b, &out->fibres);
  if (b->ops->particles) out->particles = b->ops->particles(b);
  set_size(out);
  if (!is_thick && out->fibres.n_segments > 0) {
    PetscCall(memory_alloc("overlap shapes", out->fibres.n_segments, sizeof *out->thin, &out->thin));
    out->fibres.radius = out->thin;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- placement ---- */

static void extend(overlap_shape *s, const double x[3], double r)
{
  for (int k = 0; k < 3; ++k) { /* no fmin: gcc calls the library for it */
    if (x[k] - r < s->min[k]) s->min[k] = x[k] - r;
    if (x[k] + r > s->max[k]) s->max[k] = x[k] + r;
  }
}

static void place_solids(overlap_shape *s)
{
  int64_t at = 0;
  for (int k = 0; k < s->n_solids; ++k) {
    convex_pose *p = &s->convex[k];
    convex_pose_set(p, &s->solid[k], s->pose.c, s->pose.R, s->work + at);
    at += convex_pose_work_size(&s->solid[k]);
    if (p->kind == CONVEX_HALF_SPACE) extend(s, s->pose.c, INFINITY);
    else if (p->kind == CONVEX_POLYHEDRON)
      for (int c = 0; c < p->solid->polyhedron->n_corners; ++c) extend(s, p->x + 3 * c, 0.0);
    else extend(s, p->from, p->radius), extend(s, p->to, p->radius);
  }
}

/* Corners of the boxes of level sets; for bodies without convex solids. */
static void place_level_sets(overlap_shape *s)
{
  for (int k = 0; k < s->n_phi; ++k) {
    const double *box = s->phi_box + 6 * k;
    for (int corner = 0; corner < 8; ++corner) {
      const double X[3] = {box[corner & 1 ? 3 : 0], box[corner & 2 ? 4 : 1], box[corner & 4 ? 5 : 2]};
      double       x[3];
      if (!isfinite(X[0]) || !isfinite(X[1]) || !isfinite(X[2])) {
        extend(s, s->pose.c, INFINITY);
        return;
      }
      rigid_frame_to_world(&s->pose, X, x);
      extend(s, x, 0.0);
    }
  }
}

/* Bounds of a rigid mesh without level sets and solids: the corners of its box. */
static void place_rigid_mesh(overlap_shape *s)
{
  double min[3], max[3];
  triangle_mesh_bounds(s->mesh, min, max);
  for (int corner = 0; corner < 8; ++corner) {
    const double X[3] = {corner & 1 ? max[0] : min[0], corner & 2 ? max[1] : min[1], corner & 4 ? max[2] : min[2]};
    double x[3];
    rigid_frame_to_world(&s->pose, X, x);
    extend(s, x, 0.0);
  }
}

static void place_particles(overlap_shape *s)
{
  const particles *p = s->particles;
  for (int k = 0; k < 3; ++k) {
    double least = INFINITY, most = -INFINITY;
#pragma omp parallel for reduction(min : least) reduction(max : most) if (p->n > 4096)
    for (int64_t i = 0; i < p->n; ++i) {
      least = fmin(least, p->x[k][i]);
      most  = fmax(most, p->x[k][i]);
    }
    s->min[k] = fmin(s->min[k], least);
    s->max[k] = fmax(s->max[k], most);
  }
}

PetscErrorCode overlap_shape_place(overlap_shape *s, double t)
{
  body_surface own = {0};
  PetscFunctionBegin;
  if (s->is_posed) {
    const rigid_frame last = s->pose;
    s->b->ops->frame(s->b, t, 0.0, NULL, &s->pose);
    s->is_still  = s->is_placed && rigid_frame_is_equal(&last, &s->pose);
    s->is_placed = true;
    if (s->is_still) PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 3; ++k) s->min[k] = INFINITY, s->max[k] = -INFINITY;
  if (s->is_posed) {
    place_solids(s);
    if (s->n_solids == 0 && s->n_phi > 0) place_level_sets(s);
    if (s->n_solids == 0 && s->n_phi == 0 && s->mesh) place_rigid_mesh(s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->mesh) {
    s->b->ops->surface(s->b, &own);
    memcpy(s->mesh->x, own.x, 3 * (size_t)own.n_nodes * sizeof *own.x);
    triangle_bvh_destroy(&s->bvh); /* of the previous positions */
    for (int64_t k = 0; k < 3 * own.n_triangles; ++k) extend(s, own.x + 3 * (int64_t)own.triangles[k], 0.0);
  }
  if (s->b->ops->segments) {
    s->b->ops->segments(s->b, &s->fibres);
    if (s->thin) s->fibres.radius = s->thin;
    for (int64_t k = 0; k < s->fibres.n_segments; ++k)
      for (int e = 0; e < 2; ++e) extend(s, s->fibres.x + 3 * (int64_t)s->fibres.segment[2 * k + e], s->fibres.radius[k]);
  }
  if (s->particles) place_particles(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode overlap_shape_prepare_inside(overlap_shape *s)
{
  PetscFunctionBegin;
  if (s->n_phi == 0 && s->is_closed && !s->bvh) PetscCall(triangle_bvh_create(s->mesh, &s->bvh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode overlap_shape_prepare_vertices(overlap_shape *s)
{
  PetscFunctionBegin;
  if (!s->mesh || !s->is_posed) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->x) PetscCall(memory_alloc("overlap shapes", 3 * s->mesh->n_vertices, sizeof *s->x, &s->x));
  for (int64_t k = 0; k < s->mesh->n_vertices; ++k) rigid_frame_to_world(&s->pose, s->mesh->x + 3 * k, s->x + 3 * k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool overlap_shape_has_inside(const overlap_shape *s) { return !s->is_walls && (s->n_phi > 0 || s->is_closed); }

double overlap_shape_distance(const overlap_shape *s, const double x[3], double limit, int32_t *hint)
{
  double X[3], phi = INFINITY;
  if (s->is_posed) rigid_frame_to_local(&s->pose, x, X);
  else v3_copy(X, x);
  if (s->n_phi == 0) return s->bvh ? triangle_bvh_distance_below(s->bvh, X, limit, hint, NULL) : INFINITY;
  for (int k = 0; k < s->n_phi; ++k) phi = fmin(phi, level_set_value(s->phi[k], X));
  return phi;
}
