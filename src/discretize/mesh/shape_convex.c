/* Shapes as unions of convex solids, where they are that: see convex_solid.h. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mesh/shape.h"

typedef struct {
  const shape  *whole;
  int           n, capacity;
  convex_solid *solid;
  bool          is_convex; /* so far */
} collection;

static PetscErrorCode add_polyhedron(collection *o, const triangle_mesh *m, const double *c, const double *R, convex_solid *solid)
{
  triangle_mesh *turned = NULL;
  PetscFunctionBegin;
  PetscCall(triangle_mesh_copy(m, &turned));
  triangle_mesh_transform(turned, c, R);
  PetscCall(convex_solid_polyhedron(turned, solid, &o->is_convex));
  triangle_mesh_destroy(&turned);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One that is not a union, in the pose (c, R), which holds its own. */
static PetscErrorCode add_part(collection *o, const shape_spec *s, const double *c, const double *R)
{
  triangle_mesh *m = NULL;
  convex_solid   solid = {0};
  PetscFunctionBegin;
  if (s->sphere) convex_solid_sphere(s->sphere->center, s->sphere->radius, &solid);
  else if (s->capsule) convex_solid_segment(CONVEX_CAPSULE, s->capsule->from, s->capsule->to, s->capsule->radius, &solid);
  else if (s->cylinder) convex_solid_segment(CONVEX_CYLINDER, s->cylinder->from, s->cylinder->to, s->cylinder->radius, &solid);
  else if (s->plane) convex_solid_half_space(s->plane->normal, shape_plane_offset(s->plane), &solid);
  else if (s->box || s->intersect.n > 0) {
    shape_spec plain = *s; /* its move is in (c, R) */
    plain.rotate_deg = 0.0;
    plain.translate[0] = plain.translate[1] = plain.translate[2] = 0.0;
    PetscCall(shape_polyhedron(&plain, o->whole->min, o->whole->max, &m));
    o->is_convex = m && m->n_triangles >= 4;
    if (o->is_convex) PetscCall(add_polyhedron(o, m, c, R, &solid));
    triangle_mesh_destroy(&m);
  } else o->is_convex = false;
  if (!o->is_convex) PetscFunctionReturn(PETSC_SUCCESS);
  if (solid.kind != CONVEX_POLYHEDRON) convex_solid_turn(&solid, c, R);
  o->solid[o->n++] = solid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int count_parts(const shape_spec *s)
{
  int n = s->unite.n == 0;
  for (int i = 0; i < s->unite.n; ++i) n += count_parts(s->unite.item[i].value);
  return n;
}

static PetscErrorCode collect(collection *o, const shape_spec *s, const double *c, const double *R)
{
  double own_c[3], own_R[9], at[3], turn[9];
  PetscFunctionBegin;
  (void)shape_pose(s, own_c, own_R);
  m3_mulv(at, R, own_c);
  v3_axpy(at, 1.0, c);
  m3_mul(turn, R, own_R);
  if (s->unite.n == 0) PetscCall(add_part(o, s, at, turn));
  for (int i = 0; i < s->unite.n && o->is_convex; ++i) PetscCall(collect(o, s->unite.item[i].value, at, turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode shape_convex_solids(const shape_spec *spec, shape *s)
{
  const double origin[3] = {0.0, 0.0, 0.0}, identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  collection   o         = {.whole = s, .is_convex = true};
  PetscFunctionBegin;
  PetscCall(memory_alloc("convex solids", count_parts(spec), sizeof *o.solid, &o.solid));
  if (spec->mesh) { /* its surface is where it belongs */
    PetscCall(convex_solid_polyhedron(s->surface, o.solid, &o.is_convex));
    o.n = o.is_convex;
  } else PetscCall(collect(&o, spec, origin, identity));
  s->n_solids = o.n;
  s->solid    = o.solid;
  if (!o.is_convex) shape_clear_solids(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void shape_clear_solids(shape *s)
{
  for (int i = 0; i < s->n_solids; ++i) convex_solid_clear(&s->solid[i]);
  memory_free(&s->solid);
  s->n_solids = 0;
}
