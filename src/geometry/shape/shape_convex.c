/* Shapes as unions of convex solids, where they are that: see convex_solid.h. */
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/shape/shape.h"

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

/* A box without boxes of the same axes is a union of plates, each as long and wide as the box, so that its faces are whole: where a
 * coordinate is below or above that of what is cut away. Without several, plate by plate. */
enum { MOST_CUT = 3, SIDES = 6, MOST_PLATES = SIDES * SIDES * SIDES };

static bool is_plain_box(const shape_spec *s)
{
  double c[3], R[9];
  return s->box && !shape_pose(s, c, R);
}

static bool is_hollow_box(const shape_spec *s)
{
  if (!s->difference || !is_plain_box(s->difference->from) || s->difference->minus.n > MOST_CUT) return false;
  for (int i = 0; i < s->difference->minus.n; ++i)
    if (!is_plain_box(s->difference->minus.item[i].value)) return false;
  return true;
}

static bool overlaps(const shape_box_spec *a, const shape_box_spec *b)
{
  for (int k = 0; k < 3; ++k)
    if (a->max[k] <= b->min[k] || b->max[k] <= a->min[k]) return false;
  return true;
}

/* plate [MOST_PLATES] */
static int cut_plates(const shape_difference_spec *s, shape_box_spec *plate)
{
  int n    = 1;
  plate[0] = *s->from->box;
  for (int i = 0; i < s->minus.n; ++i) {
    const shape_box_spec *cut = ((const shape_spec *)s->minus.item[i].value)->box;
    shape_box_spec        next[MOST_PLATES];
    int                   m = 0;
    for (int p = 0; p < n; ++p) {
      if (!overlaps(&plate[p], cut)) next[m++] = plate[p];
      for (int side = 0; side < SIDES && overlaps(&plate[p], cut); ++side) {
        const int k = side / 2;
        if (side % 2 ? cut->max[k] >= plate[p].max[k] : cut->min[k] <= plate[p].min[k]) continue;
        next[m] = plate[p];
        if (side % 2) next[m++].min[k] = cut->max[k];
        else next[m++].max[k] = cut->min[k];
      }
    }
    for (n = 0; n < m; ++n) plate[n] = next[n];
  }
  return n;
}

static int count_parts(const shape_spec *s)
{
  shape_box_spec plate[MOST_PLATES];
  if (is_hollow_box(s)) return cut_plates(s->difference, plate);
  int n = s->unite.n == 0;
  for (int i = 0; i < s->unite.n; ++i) n += count_parts(s->unite.item[i].value);
  return n;
}

/* (c, R) holds the pose of s. */
static PetscErrorCode add_plates(collection *o, const shape_spec *s, const double *c, const double *R)
{
  shape_box_spec plate[MOST_PLATES];
  const int      n = cut_plates(s->difference, plate);
  PetscFunctionBegin;
  for (int i = 0; i < n && o->is_convex; ++i) {
    shape_spec one = *s->difference->from;
    one.box        = &plate[i];
    PetscCall(add_part(o, &one, c, R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode collect(collection *o, const shape_spec *s, const double *c, const double *R)
{
  double own_c[3], own_R[9], at[3], turn[9];
  PetscFunctionBegin;
  (void)shape_pose(s, own_c, own_R);
  m3_mulv(at, R, own_c);
  v3_axpy(at, 1.0, c);
  m3_mul(turn, R, own_R);
  if (is_hollow_box(s)) PetscCall(add_plates(o, s, at, turn));
  else if (s->unite.n == 0) PetscCall(add_part(o, s, at, turn));
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
