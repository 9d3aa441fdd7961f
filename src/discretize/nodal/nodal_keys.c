#include "discretize/nodal/nodal_keys.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/nodal/pressure.h"

static const key_spec damping_keys[] = {
  {.name = "mass", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, mass), .unit = "1/s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "alpha: resists every motion, as a thick fluid around the body would"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, stiffness), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "beta: resists deformation, in proportion to the elastic stiffness at small strains"},
  {.name = NULL}};
const key_table nodal_damping_table = {.name = "bodies.damping", .help = "Damping forces -alpha M v - beta K v; turning the body costs nothing of the second.",
                                       .size = sizeof(nodal_damping_spec), .keys = damping_keys};

static const char *const axes[] = {"x", "y", "z", NULL};
static const key_spec    hold_keys[] = {
  {.name = "inside", .type = KEY_TABLE, .offset = offsetof(nodal_hold_spec, inside), .table = &shape_table,
   .help = "nodes that are in this shape, or on it, at the start"},
  {.name = "axes", .type = KEY_STRINGS, .offset = offsetof(nodal_hold_spec, axes), .choices = axes, .fallback = "[x, y, z]", .help = "held along these axes"},
  {.name = "motion", .type = KEY_TABLE, .offset = offsetof(nodal_hold_spec, motion), .table = &motion_table, .is_optional = true,
   .help = "how they are moved, as one rigid piece; at rest if not given"},
  {.name = "displacement", .type = KEY_STRINGS, .offset = offsetof(nodal_hold_spec, displacement), .unit = "m", .is_optional = true,
   .help = "instead of a motion: how far each is moved from where it was drawn: three expressions in X, Y, Z (initial position), "
           "x, y, z (position at the start of a step) and t (its end)"},
  {.name = NULL}};
const key_table nodal_hold_table = {.name = "bodies.hold", .help = "Nodes with a prescribed place.", .size = sizeof(nodal_hold_spec), .keys = hold_keys};

static const key_spec pressure_keys[] = {
  {.name = "inside", .type = KEY_TABLE, .offset = offsetof(nodal_pressure_spec, inside), .table = &shape_table, .is_optional = true,
   .help = "on surface triangles whose corners are all in this shape, or on it, at the start; if not given, on all"},
  {.name = "value", .type = KEY_REAL, .offset = offsetof(nodal_pressure_spec, value), .unit = "Pa", .help = "pushes inwards where positive"},
  {.name = NULL}};
const key_table nodal_pressure_table = {.name = "bodies.pressure", .help = "Pressure on the surface.", .size = sizeof(nodal_pressure_spec), .keys = pressure_keys};

/* How far outside of a shape a node still counts as on it, in parts of the body's size. */
#define ON_SURFACE 1e-6

static double size_of(const nodal_body *b)
{
  double size = 0.0;
  for (int k = 0; k < 3; ++k) {
    double min = INFINITY, max = -INFINITY;
    for (int64_t i = 0; i < b->n_nodes; ++i) min = fmin(min, b->rest[3 * i + k]), max = fmax(max, b->rest[3 * i + k]);
    size = fmax(size, max - min);
  }
  return size;
}

/* is_in [n_nodes]; false after a complaint. */
static PetscErrorCode mark_inside(const nodal_body *b, const shape_spec *spec, const document_node *node, const char *path, diagnostics *d, uint8_t *is_in,
                                  bool *done)
{
  shape *s;
  PetscFunctionBegin;
  *done = false;
  PetscCall(shape_create(spec, node, path, d, NAN, &s));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  const double reach = ON_SURFACE * size_of(b);
  for (int64_t i = 0; i < b->n_nodes; ++i) {
    is_in[i] = 0;
    for (int k = 0; k < s->n_pieces; ++k) is_in[i] |= level_set_eval(s->piece[k], b->rest + 3 * i, NULL, NULL) <= reach;
  }
  shape_destroy(&s);
  *done = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_hold(nodal_body *b, const key_item *item, const char *path, diagnostics *d, uint8_t *is_in)
{
  const nodal_hold_spec *spec = item->value;
  char                   at[400];
  bool                   done;
  nodal_hold             h = {0};
  PetscFunctionBegin;
  const document_node *expressions = document_find(item->node, "displacement");
  snprintf(at, sizeof at, "%s.inside", path);
  PetscCall(mark_inside(b, spec->inside, document_find(item->node, "inside"), at, d, is_in, &done));
  if (!done) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < b->n_nodes; ++i) h.n += is_in[i];
  if (h.n == 0) {
    diagnostics_add_under(d, item->node, path, "inside", "no node of the body is in this shape: nothing would be held");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (spec->axes.n == 0) diagnostics_add_under(d, item->node, path, "axes", "is empty: nothing would be held; give some of x, y and z");
  for (int i = 0; i < spec->axes.n; ++i) h.axis[*(const char *)spec->axes.item[i].value - 'x'] = true;
  if (spec->motion) {
    snprintf(at, sizeof at, "%s.motion", path);
    PetscCall(motion_create(spec->motion, document_find(item->node, "motion"), at, d, &h.motion));
    if (expressions) diagnostics_add_under(d, item->node, path, "displacement", "give motion or displacement, not both");
  } else if (expressions) {
    snprintf(at, sizeof at, "%s.displacement", path);
    PetscCall(vector_field_create(&spec->displacement, expressions, at, d, &h.displacement));
  }
  PetscCall(memory_alloc("held nodes", h.n, sizeof *h.node, &h.node));
  for (int64_t i = 0, j = 0; i < b->n_nodes; ++i)
    if (is_in[i]) h.node[j++] = (int32_t)i;
  PetscCall(nodal_body_add_hold(b, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_pressure(nodal_body *b, const key_item *item, const char *path, diagnostics *d, uint8_t *is_in, int32_t *chosen)
{
  const nodal_pressure_spec *spec = item->value;
  char                       at[400];
  bool                       done = true;
  int64_t                    n    = 0;
  PetscFunctionBegin;
  snprintf(at, sizeof at, "%s.inside", path);
  for (int64_t i = 0; i < b->n_nodes; ++i) is_in[i] = 1;
  if (spec->inside) PetscCall(mark_inside(b, spec->inside, document_find(item->node, "inside"), at, d, is_in, &done));
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
    PetscCall(add_hold(b, &spec->hold.item[i], at, d, is_in));
  }
  for (int i = 0; i < spec->pressure.n; ++i) {
    snprintf(at, sizeof at, "%s.pressure[%d]", path, i);
    PetscCall(add_pressure(b, &spec->pressure.item[i], at, d, is_in, chosen));
  }
  memory_free(&is_in);
  memory_free(&chosen);
  PetscFunctionReturn(PETSC_SUCCESS);
}
