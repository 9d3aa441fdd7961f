#include "geometry/convex/convex_solid.h"
#include "core/math3.h"

/* The sphere of the two ends and the radius around them. */
static void bound_segment(convex_solid *s)
{
  double half[3];
  for (int k = 0; k < 3; ++k) s->center[k] = 0.5 * (s->from[k] + s->to[k]), half[k] = 0.5 * (s->to[k] - s->from[k]);
  s->bound = s->kind == CONVEX_CYLINDER ? hypot(v3_norm(half), s->radius) : v3_norm(half) + s->radius;
}

void convex_solid_segment(convex_kind kind, const double from[3], const double to[3], double radius, convex_solid *out)
{
  *out = (convex_solid){.kind = kind, .radius = radius};
  v3_copy(out->from, from);
  v3_copy(out->to, to);
  bound_segment(out);
}

void convex_solid_sphere(const double center[3], double radius, convex_solid *out)
{
  convex_solid_segment(CONVEX_SPHERE, center, center, radius, out);
}

void convex_solid_half_space(const double normal[3], double offset, convex_solid *out)
{
  *out = (convex_solid){.kind = CONVEX_HALF_SPACE, .offset = offset, .bound = INFINITY};
  v3_scale(out->normal, 1.0 / v3_norm(normal), normal);
}

PetscErrorCode convex_solid_polyhedron(const triangle_mesh *m, convex_solid *out, bool *is_convex)
{
  convex_polyhedron *p;
  double             lo[3], hi[3];
  PetscFunctionBegin;
  *out = (convex_solid){.kind = CONVEX_POLYHEDRON};
  PetscCall(convex_polyhedron_create(m, &p));
  *is_convex = p != NULL;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  out->polyhedron = p;
  triangle_mesh_bounds(m, lo, hi);
  for (int k = 0; k < 3; ++k) out->center[k] = 0.5 * (lo[k] + hi[k]);
  for (int c = 0; c < p->n_corners; ++c) {
    double d[3];
    v3_sub(d, p->x + 3 * c, out->center);
    out->bound = fmax(out->bound, v3_norm(d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void convex_solid_clear(convex_solid *s)
{
  convex_polyhedron_destroy(&s->polyhedron);
}

void convex_solid_turn(convex_solid *s, const double c[3], const double R[9])
{
  double x[3];
  if (s->kind == CONVEX_HALF_SPACE) {
    m3_mulv(x, R, s->normal);
    v3_copy(s->normal, x);
    s->offset += v3_dot(x, c);
    return;
  }
  m3_mulv(x, R, s->from);
  v3_add(s->from, x, c);
  m3_mulv(x, R, s->to);
  v3_add(s->to, x, c);
  bound_segment(s);
}

void convex_solid_move(convex_solid *s, const double d[3])
{
  v3_axpy(s->center, 1.0, d);
  v3_axpy(s->from, 1.0, d);
  v3_axpy(s->to, 1.0, d);
  s->offset += v3_dot(s->normal, d);
  if (s->polyhedron) convex_polyhedron_move(s->polyhedron, d);
}
