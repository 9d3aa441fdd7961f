/* The kinds rigid, kinematic and static, and what a scene asks of obstacles: they have a pose and level sets, no unknowns. */
#include <string.h>
#include "core/math3.h"
#include "discretize/body_kinds.h"
#include "discretize/rigid/rigid_body.h"

level_set *const *rigid_body_level_sets(const body *base, int *n)
{
  const rigid_body *b = (const rigid_body *)base;
  *n                  = b->n_level_sets;
  return b->level_sets;
}

/* Fixed in the body frame; no triangles where level sets are what is touched. */
void rigid_body_surface(const body *base, body_surface *out)
{
  const rigid_body *b = (const rigid_body *)base;
  if (b->contact_surface == RIGID_CONTACT_MESH) *out = (body_surface){b->surface->n_vertices, b->surface->n_triangles, b->surface->tri, b->surface->x, b->surface->x};
  else *out = (body_surface){0, 0, NULL, NULL, NULL};
}

const convex_solid *rigid_body_solids(const body *base, int *n)
{
  const rigid_body *b = (const rigid_body *)base;
  *n                  = b->n_solids;
  return b->solids;
}

void rigid_body_describe(const body *base, FILE *out)
{
  const rigid_body *b = (const rigid_body *)base;
  if (b->contact_surface == RIGID_CONTACT_MESH)
    fprintf(out, "%lld triangles to touch, %lld surface vertices", (long long)b->surface->n_triangles, (long long)b->n_vertices);
  else fprintf(out, "%d level sets, %lld surface vertices", b->n_level_sets, (long long)b->n_vertices);
}

/* --- obstacles ------------------------------------------------------------------------------------------------------- */

static void obstacle_frame(const body *base, double t, double dt, const double *v, rigid_frame *frame)
{
  rigid_body_prescribed_frame((const rigid_body *)base, v ? t + dt : t, frame);
}

static void obstacle_move_to(body *base, double t) { rigid_body_move_to((rigid_body *)base, t); }

static PetscErrorCode obstacle_totals(const body *base, const double gravity[3], body_totals *out)
{
  (void)gravity;
  memset(out, 0, sizeof *out);
  v3_copy(out->center, ((const rigid_body *)base)->c);
  return PETSC_SUCCESS;
}

const body_ops rigid_obstacle_ops = {
    .kind       = "obstacle",
    .points     = POINT_NONE,
    .totals     = obstacle_totals,
    .fields     = rigid_body_fields,
    .level_sets = rigid_body_level_sets,
    .surface    = rigid_body_surface,
    .solids     = rigid_body_solids,
    .frame      = obstacle_frame,
    .move_to    = obstacle_move_to,
    .describe   = rigid_body_describe,
    .destroy    = rigid_body_destroy_base,
};

/* --- making ---------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create(rigid_kind kind, const body_request *r, const body_world *w, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  rigid_body *b;
  *out = NULL;
  if (kind == RIGID_DYNAMIC && !r->material) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rigid_body_create(r->name, kind, r->spec, r->material ? r->material->density : 0.0, r->node, r->path, d, &b));
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_body_set_gravity(b, w->gravity);
  *out = &b->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_rigid(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create(RIGID_DYNAMIC, r, w, d, out);
}
static PetscErrorCode create_kinematic(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create(RIGID_KINEMATIC, r, w, d, out);
}
static PetscErrorCode create_static(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create(RIGID_STATIC, r, w, d, out);
}

const body_kind rigid_body_kind = {
    .name = "rigid", .keys = &rigid_body_table, .ops = &rigid_body_ops, .material = BODY_MATERIAL_ANY, .create = create_rigid};
const body_kind kinematic_body_kind = {
    .name = "kinematic", .keys = &kinematic_body_table, .ops = &rigid_obstacle_ops, .create = create_kinematic};
const body_kind static_body_kind = {
    .name = "static", .keys = &static_body_table, .ops = &rigid_obstacle_ops, .create = create_static};
