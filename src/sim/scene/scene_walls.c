/* Where a continuum on a grid meets rigid bodies, the sides of its domain hold the bodies, too. */
#include "core/math3.h"
#include "discretize/mac/mac_side.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/scene/scene_impl.h"

static const double ACROSS = 0.02; /* of a body's radius: what starts deeper in a side goes through it */

bool scene_is_wall(const scene *s, int i) { return s->bodies[i].kind == &mac_side_kind; }

static const rigid_body *dynamic(const scene *s, int i)
{
  body *b = s->bodies[i].body;
  return b && !b->ops->carrier && body_system(b) ? rigid_body_of(b) : NULL;
}

static bool needs_walls(const scene *s)
{
  bool has_grid = false, has_rigid = false;
  for (int i = 0; i < s->n_bodies; ++i) {
    has_grid  = has_grid || s->bodies[i].kind->ops->carrier;
    has_rigid = has_rigid || dynamic(s, i);
  }
  return s->options->formulation->meets_on_grid && s->options->mac && has_grid && has_rigid;
}

/* Whether an obstacle that stays where it is, a half-space, covers the side: then it is what bodies meet. */
static bool covers(const body *b, const double normal[3], double offset, double nearly)
{
  int                 n = 0;
  const convex_solid *solid = b && !body_system((body *)b) && b->ops->solids ? b->ops->solids(b, &n) : NULL;
  if (n > 0 && rigid_body_of((body *)b)->kind != RIGID_STATIC) return false;
  for (int k = 0; k < n; ++k)
    if (solid[k].kind == CONVEX_HALF_SPACE && v3_dot(solid[k].normal, normal) > 1.0 - 1e-12 && solid[k].offset > offset - nearly)
      return true;
  return false;
}

PetscErrorCode scene_add_walls(scene *s)
{
  const mac_options *o        = s->options->mac;
  const int          n_of_job = s->n_bodies;
  PetscFunctionBegin;
  if (!needs_walls(s)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int a = 0; a < 3; ++a)
    for (int upper = 0; upper < 2; ++upper) {
      double       normal[3];
      const double offset     = mac_side_plane(o, a, upper, normal);
      bool         is_covered = !mac_side_is_solid(o, a, upper);
      for (int i = 0; i < n_of_job; ++i) is_covered = is_covered || covers(s->bodies[i].body, normal, offset, 1e-6 * o->spacing);
      if (is_covered) continue;
      scene_body *b = &s->bodies[s->n_bodies];
      *b            = (scene_body){.name = mac_side_name[a][upper], .kind = &mac_side_kind, .frame = -1, .whole = -1};
      PetscCall(mac_side_create(o, a, upper, &b->body));
      ++s->n_bodies;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A body reaches through a side at the start. */
static bool starts_across(const rigid_body *b, const convex_solid *side)
{
  rigid_frame f;
  double      least = INFINITY;
  if (!b->surface) return false;
  rigid_body_frame(b, NULL, 0.0, &f);
  for (int64_t i = 0; i < b->n_vertices; ++i) {
    double x[3];
    m3_mulv(x, f.R, b->surface->x + 3 * i);
    v3_axpy(x, 1.0, f.c);
    least = fmin(least, v3_dot(side->normal, x) - side->offset);
  }
  return least < -ACROSS * b->radius;
}

void scene_wall_law(const scene *s, int i, int j, contact_law *law)
{
  const int wall = scene_is_wall(s, i) ? i : j, other = wall == i ? j : i;
  if (!scene_is_wall(s, wall)) return;
  int                 n;
  const rigid_body   *b     = dynamic(s, other);
  const convex_solid *side  = s->bodies[wall].body->ops->solids(s->bodies[wall].body, &n);
  int                 axis  = 0;
  while (side->normal[axis] == 0.0) ++axis;
  law->never_touch = !b || starts_across(b, side);
  if (s->options->mac->walls->side[axis][side->normal[axis] < 0.0] == MAC_WALL_SMOOTH || isnan(law->friction)) law->friction = 0.0;
}
