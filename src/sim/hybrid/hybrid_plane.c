#include "sim/hybrid/hybrid_plane.h"
#include "core/memory.h"
#include "discretize/fem/tetrahedra.h"
#include "discretize/rigid/rigid_body.h"

static const double FLAT = 1e-9; /* of the shortest edge: heights of corners of one face */

/* Are all nodes held along an axis, and at rest? Of several holds the last counts: none may move them. */
static PetscErrorCode is_held_along(const nodal_body *b, int axis, bool *is)
{
  uint8_t *is_held;
  PetscFunctionBegin;
  *is = false;
  for (int i = 0; i < b->n_holds; ++i)
    if (b->holds[i].axis[axis] && (b->holds[i].motion || b->holds[i].displacement)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("held nodes", 3 * b->n_nodes, sizeof *is_held, &is_held));
  nodal_holds_mark(b->n_holds, b->holds, is_held);
  *is = true;
  for (int64_t k = 0; k < b->n_nodes; ++k) *is = *is && is_held[3 * k + axis];
  memory_free(&is_held);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does nothing of it ever move along the axis? */
static PetscErrorCode stays(const scene *s, int i, int axis, bool *does)
{
  const nodal_body *nodal = nodal_body_of(s->bodies[i].body);
  const rigid_body *rigid = rigid_body_of(s->bodies[i].body);
  PetscFunctionBegin;
  *does = rigid && s->bodies[i].body->ops == &rigid_obstacle_ops && !rigid->motion;
  if (nodal) PetscCall(is_held_along(nodal, axis, does));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_alone_with(const scene *s, int i, const bool *stay)
{
  for (int j = 0; j < s->n_bodies; ++j)
    if (!s->laws[i * s->n_bodies + j].never_touch && !stay[j]) return false;
  return true;
}

static bool is_flat(const nodal_body *b, const int32_t *node, int axis)
{
  const double h = b->rest[3 * (int64_t)node[0] + axis], least = FLAT * b->length;
  return fabs(b->rest[3 * (int64_t)node[1] + axis] - h) <= least && fabs(b->rest[3 * (int64_t)node[2] + axis] - h) <= least;
}

static int64_t n_triangles_of(const scene *s, int i)
{
  const body  *b = s->bodies[i].body;
  body_surface f = {0};
  if (b->ops->surface) b->ops->surface(b, &f);
  return f.n_triangles;
}

static PetscErrorCode mark(const scene *s, int axis, bool *stay, bool *is_idle, bool *has_any)
{
  int64_t at = 0;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) PetscCall(stays(s, i, axis, &stay[i]));
  for (int i = 0; i < s->n_bodies; ++i) {
    const nodal_body *b = nodal_body_of(s->bodies[i].body);
    const int64_t     n = n_triangles_of(s, i);
    if (b && stay[i] && tetrahedra_of(b) && is_alone_with(s, i, stay))
      for (int64_t t = 0; t < n; ++t) is_idle[at + t] = is_idle[at + t] || is_flat(b, b->triangles + 3 * t, axis), *has_any = *has_any || is_idle[at + t];
    at += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode hybrid_plane_faces(const scene *s, bool **is_idle)
{
  int64_t n       = 0;
  bool    has_any = false, *stay;
  PetscFunctionBegin;
  for (int i = 0; i < s->n_bodies; ++i) n += n_triangles_of(s, i);
  PetscCall(memory_alloc("idle faces", n, sizeof **is_idle, is_idle));
  PetscCall(memory_alloc("idle faces", s->n_bodies, sizeof *stay, &stay));
  PetscErrorCode code = PETSC_SUCCESS;
  for (int axis = 0; axis < 3 && !code; ++axis) code = mark(s, axis, stay, *is_idle, &has_any);
  memory_free(&stay);
  if (code || !has_any) memory_free(is_idle);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
