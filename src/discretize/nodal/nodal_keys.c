#include "discretize/nodal/nodal_keys.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/nodal/pressure.h"

static const key_spec pressure_keys[] = {
  {.name = "inside", .type = KEY_TABLE, .offset = offsetof(nodal_pressure_spec, inside), .table = &shape_table, .is_optional = true,
   .help = "on surface triangles whose corners are all in this shape, or on it, at the start; if not given, on all"},
  {.name = "value", .type = KEY_REAL, .offset = offsetof(nodal_pressure_spec, value), .unit = "Pa", .help = "pushes inwards where positive"},
  {.name = NULL}};
const key_table nodal_pressure_table = {.name = "bodies.pressure", .help = "Pressure on the surface.", .size = sizeof(nodal_pressure_spec), .keys = pressure_keys};

static PetscErrorCode add_pressure(nodal_body *b, const key_item *item, const char *path, diagnostics *d, uint8_t *is_in, int32_t *chosen)
{
  const nodal_pressure_spec *spec = item->value;
  char                       at[400];
  bool                       done = true;
  int64_t                    n    = 0;
  PetscFunctionBegin;
  snprintf(at, sizeof at, "%s.inside", path);
  for (int64_t i = 0; i < b->n_nodes; ++i) is_in[i] = 1;
  if (spec->inside) PetscCall(nodal_mark_inside(b->n_nodes, b->rest, spec->inside, document_find(item->node, "inside"), at, d, is_in, &done));
  if (!done) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t t = 0; t < b->n_triangles; ++t) {
    const int32_t *c = b->triangles + 3 * t;
    if (is_in[c[0]] && is_in[c[1]] && is_in[c[2]]) {
      for (int k = 0; k < 3; ++k) chosen[3 * n + k] = c[k];
      ++n;
    }
  }
  if (n == 0) diagnostics_add_under(d, item->node, path, "inside", "no triangle of the body's surface is in this shape: the pressure would act on nothing");
  else PetscCall(pressure_add(b, spec->value, n, chosen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_start(nodal_body *b, const nodal_spec *spec)
{
  double center[3] = {0.0, 0.0, 0.0}, mass = 0.0;
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    mass += b->mass[i];
    v3_axpy(center, b->mass[i], b->rest + 3 * i);
  }
  v3_scale(center, 1.0 / mass, center);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    double arm[3];
    v3_sub(arm, b->rest + 3 * i, center);
    v3_cross(b->v + 3 * i, spec->angular_velocity, arm);
    v3_axpy(b->v + 3 * i, 1.0, spec->velocity);
  }
}

PetscErrorCode nodal_body_configure(nodal_body *b, const nodal_spec *spec, const document_node *node, const char *path, diagnostics *d)
{
  uint8_t *is_in;
  int32_t *chosen;
  char     at[300];
  PetscFunctionBegin;
  set_start(b, spec);
  b->mass_damping = spec->damping->mass;
  const document_node *expressions = document_find(node, "load");
  if (expressions) {
    vector_field *load;
    snprintf(at, sizeof at, "%s.load", path);
    PetscCall(vector_field_create(&spec->load, expressions, at, d, &load));
    if (load) PetscCall(nodal_body_set_load(b, load));
  }
  PetscCall(memory_alloc("chosen nodes", b->n_nodes, 1, &is_in));
  PetscCall(memory_alloc("chosen triangles", 3 * b->n_triangles, sizeof *chosen, &chosen));
  for (int i = 0; i < spec->hold.n; ++i) {
    snprintf(at, sizeof at, "%s.hold[%d]", path, i);
    nodal_hold hold;
    PetscCall(nodal_hold_create(&spec->hold.item[i], at, b->n_nodes, b->rest, d, &hold));
    if (hold.n > 0) PetscCall(nodal_body_add_hold(b, &hold));
  }
  for (int i = 0; i < spec->pressure.n; ++i) {
    snprintf(at, sizeof at, "%s.pressure[%d]", path, i);
    PetscCall(add_pressure(b, &spec->pressure.item[i], at, d, is_in, chosen));
  }
  memory_free(&is_in);
  memory_free(&chosen);
  PetscFunctionReturn(PETSC_SUCCESS);
}
