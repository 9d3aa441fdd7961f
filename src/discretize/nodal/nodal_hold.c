/* Implementation of nodal_hold.h: job keys of Dirichlet conditions, selection of nodes, prescribed positions. */
#include "discretize/nodal/nodal_hold.h"
#include "core/math3.h"
#include "core/memory.h"

static const char *const axes[] = {"x", "y", "z", NULL};
/* clang-format off */
static const key_spec    hold_keys[] = {
  {.name = "inside", .type = KEY_TABLE, .offset = offsetof(nodal_constraint_spec, inside), .table = &shape_table,
   .help = "nodes inside this shape, or on it, at the start"},
  {.name = "axes", .type = KEY_STRINGS, .offset = offsetof(nodal_constraint_spec, axes), .choices = axes, .fallback = "[x, y, z]", .help = "constrained coordinates"},
  {.name = "motion", .type = KEY_TABLE, .offset = offsetof(nodal_constraint_spec, motion), .table = &motion_table, .is_optional = true,
   .help = "rigid motion of these nodes; at rest if not given"},
  {.name = "displacement", .type = KEY_STRINGS, .offset = offsetof(nodal_constraint_spec, displacement), .unit = "m", .is_optional = true,
   .help = "instead of a motion: displacement of each node from its initial position: three expressions in X, Y, Z (initial position), "
           "x, y, z (position at the start of a step) and t (its end)"},
  {.name = NULL}};
/* clang-format on */
const key_table nodal_constraint_table = {
    .name = "bodies.hold", .help = "Nodes with prescribed positions.", .size = sizeof(nodal_constraint_spec), .keys = hold_keys};

/* Distance outside of a shape up to which a node counts as on it, relative to the body's size. */
#define ON_SURFACE 1e-6

static double size_of(int64_t n_nodes, const double *rest)
{
  double size = 0.0;
  for (int k = 0; k < 3; ++k) {
    double min = INFINITY, max = -INFINITY;
    for (int64_t i = 0; i < n_nodes; ++i) min = fmin(min, rest[3 * i + k]), max = fmax(max, rest[3 * i + k]);
    size = fmax(size, max - min);
  }
  return size;
}

PetscErrorCode nodal_mark_inside(int64_t n_nodes, const double *rest, const shape_spec *spec, const document_node *node, const char *path,
                                 diagnostics *d, uint8_t *is_in, bool *done)
{
  shape *s;
  PetscFunctionBegin;
  *done = false;
  PetscCall(shape_create_region(spec, node, path, d, &s));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  const double reach = ON_SURFACE * size_of(n_nodes, rest);
  for (int64_t i = 0; i < n_nodes; ++i) {
    is_in[i] = 0;
    for (int k = 0; k < s->n_pieces; ++k) is_in[i] |= level_set_eval(s->piece[k], rest + 3 * i, NULL, NULL) <= reach;
  }
  shape_destroy(&s);
  *done = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which components, and how they move. */
static PetscErrorCode read_hold(const key_item *item, const char *path, diagnostics *d, nodal_constraint *h)
{
  const nodal_constraint_spec *spec        = item->value;
  const document_node         *expressions = document_find(item->node, "displacement");
  char                         at[400];
  PetscFunctionBegin;
  if (spec->axes.n == 0)
    diagnostics_add_under(d, item->node, path, "axes", "is empty: no component would be constrained; give some of x, y and z");
  for (int i = 0; i < spec->axes.n; ++i) h->axis[*(const char *)spec->axes.item[i].value - 'x'] = true;
  if (spec->motion) {
    snprintf(at, sizeof at, "%s.motion", path);
    PetscCall(motion_create(spec->motion, document_find(item->node, "motion"), at, d, &h->motion));
    if (expressions) diagnostics_add_under(d, item->node, path, "displacement", "give motion or displacement, not both");
  } else if (expressions) {
    snprintf(at, sizeof at, "%s.displacement", path);
    PetscCall(vector_field_create(&spec->displacement, expressions, at, d, &h->displacement));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode nodal_constraint_create(const key_item *item, const char *path, int64_t n_nodes, const double *rest, diagnostics *d,
                                       nodal_constraint *out)
{
  const nodal_constraint_spec *spec = item->value;
  uint8_t                     *is_in;
  char                         at[400];
  bool                         done;
  PetscFunctionBegin;
  *out = (nodal_constraint){0};
  snprintf(at, sizeof at, "%s.inside", path);
  PetscCall(memory_alloc("held nodes", n_nodes, 1, &is_in));
  PetscCall(nodal_mark_inside(n_nodes, rest, spec->inside, document_find(item->node, "inside"), at, d, is_in, &done));
  for (int64_t i = 0; i < n_nodes && done; ++i) out->n += is_in[i];
  if (done && out->n == 0)
    diagnostics_add_under(d, item->node, path, "inside",
                          "no node of the body is in this shape: no node would be constrained; enlarge or move the shape");
  if (out->n > 0) {
    PetscCall(read_hold(item, path, d, out));
    PetscCall(memory_alloc("held nodes", out->n, sizeof *out->node, &out->node));
    for (int64_t i = 0, j = 0; i < n_nodes; ++i)
      if (is_in[i]) out->node[j++] = (int32_t)i;
  }
  memory_free(&is_in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void nodal_constraint_destroy(nodal_constraint *hold)
{
  memory_free(&hold->node);
  motion_destroy(&hold->motion);
  vector_field_destroy(&hold->displacement);
}

void nodal_constraints_mark(int n, const nodal_constraint *hold, uint8_t *is_held)
{
  for (int h = 0; h < n; ++h)
    for (int64_t i = 0; i < hold[h].n; ++i)
      for (int k = 0; k < 3; ++k) is_held[3 * (int64_t)hold[h].node[i] + k] |= hold[h].axis[k];
}

void nodal_constraints_place(int n, const nodal_constraint *holds, const double *rest, const double *x, double t, double *place)
{
  for (int h = 0; h < n; ++h) {
    const nodal_constraint *hold = &holds[h];
    rigid_frame             frame;
    if (hold->motion) motion_frame(hold->motion, t, &frame);
    for (int64_t i = 0; i < hold->n; ++i) {
      const int64_t at = 3 * (int64_t)hold->node[i];
      double        to[3];
      v3_copy(to, rest + at);
      if (hold->motion) { rigid_frame_to_world(&frame, rest + at, to); }
      if (hold->displacement) {
        double u[3];
        vector_field_at(hold->displacement, rest + at, x + at, t, u);
        v3_axpy(to, 1.0, u);
      }
      for (int k = 0; k < 3; ++k)
        if (hold->axis[k]) place[at + k] = to[k];
    }
  }
}
