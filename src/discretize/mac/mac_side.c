/* Implementation of mac_side.h: sides of the mac domain as static bodies. */
#include "discretize/mac/mac_side.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

typedef struct {
  body         base;
  level_set   *set;
  convex_solid solid;
} mac_side;

const char *const mac_side_name[3][2] = {
    {"walls.lower_x", "walls.upper_x"}, {"walls.lower_y", "walls.upper_y"}, {"walls.lower_z", "walls.upper_z"}};

double mac_side_plane(const mac_options *o, int axis, int upper, double normal[3])
{
  v3_set(normal, 0.0, 0.0, 0.0);
  normal[axis] = upper ? -1.0 : 1.0;
  return upper ? -o->domain->max[axis] : o->domain->min[axis];
}

static level_set *const *side_sets(const body *b, int *n)
{
  *n = 1;
  return &((const mac_side *)b)->set;
}
static const convex_solid *side_solids(const body *b, int *n)
{
  *n = 1;
  return &((const mac_side *)b)->solid;
}
static void side_frame(const body *b, double t, double dt, const double *v, rigid_frame *frame)
{
  (void)b, (void)t, (void)dt, (void)v;
  *frame = (rigid_frame){.block = -1};
  m3_identity(frame->R), m3_identity(frame->Jl);
}
static PetscErrorCode side_totals(const body *b, const double gravity[3], body_totals *out)
{
  (void)b, (void)gravity;
  memset(out, 0, sizeof *out);
  return PETSC_SUCCESS;
}
static void side_describe(const body *b, FILE *out)
{
  (void)b;
  fprintf(out, "obstacle for rigid bodies");
}
static void side_destroy(body **b)
{
  mac_side *s = (mac_side *)*b;
  level_set_destroy(&s->set);
  convex_solid_clear(&s->solid);
  memory_free(b);
}

static const body_ops side_ops      = {.kind       = "wall",
                                       .points     = POINT_NONE,
                                       .totals     = side_totals,
                                       .level_sets = side_sets,
                                       .solids     = side_solids,
                                       .frame      = side_frame,
                                       .describe   = side_describe,
                                       .destroy    = side_destroy};
const body_kind       mac_side_kind = {.name = "wall", .ops = &side_ops};

PetscErrorCode mac_side_create(const mac_options *o, int axis, int upper, body **out)
{
  mac_side    *s;
  double       normal[3];
  const double offset = mac_side_plane(o, axis, upper, normal);
  PetscFunctionBegin;
  PetscCall(memory_alloc("side of the domain", 1, sizeof *s, &s));
  s->base = (body){.ops = &side_ops, .name = mac_side_name[axis][upper]};
  convex_solid_half_space(normal, offset, &s->solid);
  const PetscErrorCode code = level_set_plane(normal, offset, &s->set);
  if (code) memory_free(&s);
  else *out = &s->base;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
