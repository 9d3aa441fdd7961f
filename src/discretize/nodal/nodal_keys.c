/* Implementation of nodal_keys.h: job keys of bodies of nodes, and their effect on a body. */
#include "discretize/nodal/nodal_keys.h"
#include "core/math3.h"
#include "core/memory.h"
#include <math.h>

/* --- damping --- */

static const char *const forms[]     = {"spatial", "polar", "green", NULL};
static const char *const form_help[] = {
    "viscous stress in the configuration at the start of the step; conserves both momenta; unbounded for flattened elements",
    "K rotated with the polar rotation of each element at the start of the step; exerts a net torque on deformed elements",
    "stress proportional to the rate of Green's strain, in the configuration at the start of the step; conserves both momenta", NULL};
/* clang-format off */
static const key_spec damping_keys[] = {
  {.name = "mass", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, mass), .unit = "1/s", .fallback = "0", .min = 0,
   .max = INFINITY, .help = "alpha: resists all motion, like a surrounding viscous fluid"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, stiffness), .unit = "s", .is_optional = true,
   .min = 0, .max = INFINITY,
   .help = "beta: resists deformation, in proportion to the stiffness at small strains; 0 if not given"},
  {.name = "ratio", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, ratio), .is_optional = true, .min = 0,
   .max = INFINITY,
   .help = "instead of stiffness: damping ratio of a mode with the given frequency (1: critical); the ratios of other modes are "
           "proportional to their frequencies. beta = ratio/(pi frequency)"},
  {.name = "frequency", .type = KEY_REAL, .offset = offsetof(nodal_damping_spec, frequency), .unit = "Hz",
   .is_optional = true, .min = 0, .max = INFINITY, .is_open = true, .help = "frequency of the mode that has the damping ratio"},
  {.name = "form", .type = KEY_ENUM, .offset = offsetof(nodal_damping_spec, form), .choices = forms, .choice_help = form_help,
   .is_optional = true, .help = "form of stiffness damping, only for kind fem: spatial if not given. At small strains all forms are equal"},
    {.name = NULL}};
/* clang-format on */
const key_table nodal_damping_table = {
    .name = "bodies.damping",
    .help = "Rayleigh damping forces -alpha M v - beta K v. The second does not resist rigid rotation, except with form: polar.",
    .size = sizeof(nodal_damping_spec),
    .keys = damping_keys};

double nodal_damping_beta(const nodal_damping_spec *spec, const char *formless, const document_node *node, const char *path, diagnostics *d)
{
  const bool has_stiffness = !isnan(spec->stiffness), has_ratio = !isnan(spec->ratio), has_frequency = !isnan(spec->frequency);
  if (spec->form >= 0 && formless)
    diagnostics_add_under(d, node, path, "damping.form", "is a key of kind fem; kind %s has one form of damping; remove it", formless);
  else if (spec->form >= 0 && !has_stiffness && !has_ratio)
    diagnostics_add_under(d, node, path, "damping.form", "requires stiffness damping: give `stiffness`, or `ratio` and `frequency`");
  if (has_stiffness && (has_ratio || has_frequency))
    diagnostics_add_under(d, node, path, has_ratio ? "damping.ratio" : "damping.frequency",
                          "expected either `stiffness` (a time) or `ratio` and `frequency`, not both; remove one");
  else if (has_ratio && !has_frequency)
    diagnostics_add_under(d, node, path, "damping.ratio", "requires `frequency`: that of the mode with this damping ratio [Hz]");
  else if (has_frequency && !has_ratio)
    diagnostics_add_under(d, node, path, "damping.frequency", "requires `ratio`: the damping ratio of a mode with this frequency");
  else return has_stiffness ? spec->stiffness : has_ratio ? spec->ratio / (M_PI * spec->frequency) : 0.0;
  return 0.0;
}

/* --- pressure --- */

/* Pressure on triangles of a surface, following it: f = -p A n / 3 on each corner. Over a closed surface it has a potential (p times the
 * volume) and a symmetric stiffness; on a part with a border it has neither. */
typedef struct {
  double p;
  bool   is_definite; /* its stiffness, which is not even symmetric, is omitted */
} pressure;

/* A n = (x1 x x2 + x2 x x0 + x0 x x1) / 2: its derivative along x_b is [x_c - x_a] / 2, with (a, b, c) a turn of (0, 1, 2). */
static int64_t evaluate_pressure(const void *context, int64_t first, int64_t n, double dt, const element_row *x, const element_row *v,
                                 element_row *f, element_row *S)
{
  const double p = ((const pressure *)context)->p, stiffness = ((const pressure *)context)->is_definite ? 0.0 : p;
  (void)first, (void)v;
  for (int64_t e = 0; e < n; ++e) {
    double X[3][3], e1[3], e2[3], area[3];
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) X[a][k] = x[3 * a + k][e];
    v3_sub(e1, X[1], X[0]);
    v3_sub(e2, X[2], X[0]);
    v3_cross(area, e1, e2);
    for (int a = 0; a < 3; ++a)
      for (int k = 0; k < 3; ++k) f[3 * a + k][e] = -p / 6.0 * area[k];
    if (!S) continue;
    for (int b = 0; b < 3; ++b) {
      double side[3], D[9];
      v3_sub(side, X[(b + 2) % 3], X[(b + 1) % 3]);
      m3_skew(D, side); /* d(2 A n)/dx_b */
      for (int a = 0; a < 3; ++a)
        for (int k = 0; k < 9; ++k) S[9 * (3 * a + b) + k][e] = dt * dt * stiffness / 6.0 * D[k];
    }
  }
  return n;
}

static void set_pressure_definite(void *context, bool is_wanted) { ((pressure *)context)->is_definite = is_wanted; }

static void destroy_pressure(void **context) { memory_free(context); }

static const element_ops pressure_ops = {
    .name = "pressure", .n_nodes = 3, .evaluate = evaluate_pressure, .destroy = destroy_pressure, .set_definite = set_pressure_definite};

/* Add p [Pa], positive inwards, on triangles [n][3] of nodes, outward, to an unfinished body. */
static PetscErrorCode add_pressure_set(nodal_body *b, double p, int64_t n, const int32_t *triangles)
{
  element_set *set;
  pressure    *c;
  PetscFunctionBegin;
  PetscCall(nodal_body_add_set(b, &pressure_ops, n, triangles, &set));
  PetscCall(memory_alloc("pressure", 1, sizeof *c, &c));
  c->p         = p;
  set->context = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- keys --- */

/* clang-format off */
static const key_spec pressure_keys[] = {
  {.name = "inside", .type = KEY_TABLE, .offset = offsetof(nodal_pressure_spec, inside), .table = &shape_table,
   .is_optional = true,
   .help = "surface triangles whose corners are all inside this shape, or on it, at the start; all triangles if not given"},
  {.name = "value", .type = KEY_REAL, .offset = offsetof(nodal_pressure_spec, value), .unit = "Pa",
   .help = "positive: compression"},
  {.name = NULL}};
/* clang-format on */
const key_table nodal_pressure_table = {
    .name = "bodies.pressure", .help = "Pressure on the surface.", .size = sizeof(nodal_pressure_spec), .keys = pressure_keys};

static PetscErrorCode add_pressure(nodal_body *b, const key_item *item, const char *path, diagnostics *d, uint8_t *is_in, int32_t *chosen)
{
  const nodal_pressure_spec *spec = item->value;
  char                       at[400];
  bool                       done = true;
  int64_t                    n    = 0;
  PetscFunctionBegin;
  snprintf(at, sizeof at, "%s.inside", path);
  for (int64_t i = 0; i < b->n_nodes; ++i) is_in[i] = 1;
  if (spec->inside)
    PetscCall(nodal_mark_inside(b->n_nodes, b->rest, spec->inside, document_find(item->node, "inside"), at, d, is_in, &done));
  if (!done) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t t = 0; t < b->n_triangles; ++t) {
    const int32_t *c = b->triangles + 3 * t;
    if (is_in[c[0]] && is_in[c[1]] && is_in[c[2]]) {
      for (int k = 0; k < 3; ++k) chosen[3 * n + k] = c[k];
      ++n;
    }
  }
  if (n == 0)
    diagnostics_add_under(
        d, item->node, path, "inside",
        "no triangle of the body's surface is in this shape: the pressure would act on nothing; enlarge or move the shape");
  else PetscCall(add_pressure_set(b, spec->value, n, chosen));
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
  b->mass_damping                  = spec->damping->mass;
  const document_node *expressions = document_find(node, "load");
  if (expressions) {
    vector_field *load;
    snprintf(at, sizeof at, "%s.load", path);
    PetscCall(vector_field_create(&spec->load, expressions, at, d, &load));
    if (load) PetscCall(nodal_body_set_load(b, load));
  }
  PetscCall(MEMORY_ALLOC("nodal keys", ARRAY(is_in, b->n_nodes), ARRAY(chosen, 3 * b->n_triangles)));
  for (int i = 0; i < spec->hold.n; ++i) {
    snprintf(at, sizeof at, "%s.hold[%d]", path, i);
    nodal_constraint hold;
    PetscCall(nodal_constraint_create(&spec->hold.item[i], at, b->n_nodes, b->rest, d, &hold));
    if (hold.n > 0) PetscCall(nodal_body_add_constraint(b, &hold));
  }
  for (int i = 0; i < spec->pressure.n; ++i) {
    snprintf(at, sizeof at, "%s.pressure[%d]", path, i);
    PetscCall(add_pressure(b, &spec->pressure.item[i], at, d, is_in, chosen));
  }
  MEMORY_FREE(&is_in, &chosen);
  PetscFunctionReturn(PETSC_SUCCESS);
}
