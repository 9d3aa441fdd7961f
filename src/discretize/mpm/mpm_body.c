/* Implementation of mpm_body.h: job keys, and creation of bodies and of their domain. */
#include "discretize/mpm/mpm_body.h"
#include "core/memory.h"
#include "discretize/particles/particle_fill.h"

/* --- job keys --------------------------------------------------------------------------------------------------------- */

static const char *const kernels[]   = {"quadratic", "cubic", NULL};
static const char *const transfers[] = {"apic", "pic_flip", NULL};
static const char *const gradients[] = {"spline", "affine", NULL};
static const char *const axes[]      = {"x", "y", "z", NULL};
static const char *const sides[]     = {"lower", "upper", NULL};
static const char *const walls[]     = {"stick", "slip", "periodic", NULL};

/* clang-format off */
static const key_spec wall_keys[] = {
  {.name = "axis", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, axis), .choices = axes, .help = "the wall is normal to this axis"},
  {.name = "side", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, side), .choices = sides,
   .help = "lower: nodes with coordinate <= at are constrained; upper: those with >= at"},
  {.name = "at", .type = KEY_REAL, .offset = offsetof(mpm_wall_spec, at), .unit = "m", .help = "coordinate of the wall"},
  {.name = "kind", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, kind), .choices = walls, .fallback = "slip",
   .help = "components of the velocity that are zero. stick: all; slip: only the one along the axis; periodic: none, the domain is periodic up to the wall on the other side, a whole number of cells away"},
  {.name = NULL}};
static const key_table wall_table = {.name = "mpm.walls",
  .help = "Grid boundary conditions, frictionless or sticking, for tests with a closed-form solution. Frictional walls are bodies.",
  .size = sizeof(mpm_wall_spec), .keys = wall_keys};
static const key_spec mpm_expert_keys[] = {
  {.name = "light_node_mass_fraction", .type = KEY_REAL, .offset = offsetof(mpm_options, light_node_mass_fraction), .is_optional = true, .min = 0, .max = 1,
   .help = "grid nodes with less mass than this fraction of their heaviest neighbour get a velocity extrapolated linearly from heavier neighbours, if "
           "those are at rest, so that heaps come to rest; 0: never; not given: 0.1 for sand with formulation: penalty without preconditioner "
           "metis_schwarz, which does not support it, else 0"},
  {.name = "gradient", .type = KEY_ENUM, .offset = offsetof(mpm_options, gradient), .choices = gradients, .fallback = "spline",
   .help = "gradients for strain rates and internal forces: those of the splines, or those of the affine transfer (as in MLS-MPM), which resolve "
           "less of the variation within a cell"},
  {.name = "light_node_rest_speed", .type = KEY_REAL, .offset = offsetof(mpm_options, light_node_rest_speed), .fallback = "0.02", .min = 0, .max = INFINITY,
   .only_if = {"light_node_mass_fraction", "!0"}, .help = "grid nodes slower than this times sqrt(g spacing), g of gravity, are at rest for light_node_mass_fraction; 1e9: light nodes are "
           "always extrapolated, which decelerates thin fronts"},
  {.name = NULL}};
static const key_table mpm_expert_table = {.name = "mpm.expert", .help = "Alternatives of the transfer, and motion of nearly empty nodes.", .size = sizeof(mpm_options), .keys = mpm_expert_keys};

static const key_spec mpm_keys[] = {
  {.name = "kernel", .type = KEY_ENUM, .offset = offsetof(mpm_options, kernel), .choices = kernels, .fallback = "quadratic",
   .help = "B-spline between particles and grid"},
  {.name = "transfer", .type = KEY_ENUM, .offset = offsetof(mpm_options, transfer), .choices = transfers, .fallback = "apic",
   .help = "transfer of velocities between particles and grid: affine (conserves angular momentum), or a blend of PIC and FLIP"},
  {.name = "flip", .type = KEY_REAL, .offset = offsetof(mpm_options, flip), .fallback = "0.95", .min = 0, .max = 1,
   .only_if = {"transfer", "pic_flip"}, .help = "share of FLIP in transfer: pic_flip; 0 is pure PIC"},
  {.name = "walls", .type = KEY_LIST, .offset = offsetof(mpm_options, walls), .table = &wall_table, .is_optional = true,
   .help = "grid boundary conditions"},
  {.name = "body_force", .type = KEY_STRINGS, .offset = offsetof(mpm_options, body_force), .unit = "m/s^2", .is_optional = true,
   .help = "acceleration besides gravity: three expressions in x, y, z (position), X, Y, Z (initial position) and t; not with pour"},
  {.name = "expert", .type = KEY_PART, .table = &mpm_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
const key_table mpm_options_table = {.name = "mpm", .help = "The grid shared by all bodies of kind mpm.", .size = sizeof(mpm_options), .keys = mpm_keys};

static const key_spec mpm_body_keys[] = {
  PARTICLE_BODY_SHAPE_KEYS,
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(mpm_body_spec, spacing), .unit = "m", .min = 0, .max = INFINITY, .is_open = true,
   .help = "grid spacing; the same for all MPM bodies of a job"},
  PARTICLE_BODY_KEYS("blue_noise", "0"),
  {.name = NULL}};
/* clang-format on */
const key_table mpm_body_table = {.name = "bodies.mpm",
                                  .help = "A deformable body of material points on the shared grid.",
                                  .size = sizeof(mpm_body_spec),
                                  .keys = mpm_body_keys};

/* --- the shared grid --- */

/* A periodic wall requires one partner on the other side of its axis, at least four whole cells away. */
static void check_periodic(const mpm_options *o, int i, double spacing, diagnostics *d)
{
  const mpm_wall_spec *w     = o->walls.item[i].value;
  int                  n     = 0;
  double               cells = 0;
  for (int k = 0; k < o->walls.n && w->kind == MPM_WALL_PERIODIC; ++k) {
    const mpm_wall_spec *other = o->walls.item[k].value;
    if (k == i || other->axis != w->axis) continue;
    n += other->kind == MPM_WALL_PERIODIC && other->side != w->side ? 1 : 2;
    cells = (w->side == 0 ? other->at - w->at : w->at - other->at) / spacing;
  }
  if (w->kind == MPM_WALL_PERIODIC && (n != 1 || cells < 4 - 1e-6 || fabs(cells - nearbyint(cells)) > 1e-6))
    diagnostics_add(d, o->walls.item[i].node->mark, "mpm.walls",
                    "a periodic wall requires one partner on the opposite side of its axis, a whole number of cells (4 or more) away");
}

/* The first body's spacing, the others must agree. */
static PetscErrorCode ensure_domain(const body_request *r, body_world *world, diagnostics *d)
{
  PetscFunctionBegin;
  const mpm_options *o       = world->mpm_options;
  const double       spacing = ((const mpm_body_spec *)r->spec)->spacing;
  if (world->mpm) {
    const double before = world->mpm->domain->grid->h;
    if (fabs(before / spacing - 1) > 1e-12)
      diagnostics_add_under(d, r->node, r->path, "spacing",
                            "all MPM bodies share one grid: expected %g m as for the bodies before, got %g m", before, spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const mpm_transfer transfer = {.is_apic = o->transfer == 0, .flip = o->flip};
  PetscCall(memory_alloc("mpm world", 1, sizeof *world->mpm, &world->mpm));
  mpm_domain **domain = &world->mpm->domain;
  PetscCall(mpm_domain_create(spacing, o->kernel == 0 ? MPM_QUADRATIC : MPM_CUBIC, transfer, world->gravity, domain));
  mpm_domain_set_affine_gradient(*domain, o->gradient == 1);
  for (int i = 0; i < o->walls.n; ++i) {
    const mpm_wall_spec *w = o->walls.item[i].value;
    check_periodic(o, i, spacing, d);
    PetscCall(mpm_domain_add_wall(*domain, w->axis, w->side == 0 ? -1 : 1, w->at, (mpm_wall_kind)w->kind));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void body_force(void *context, double t, int64_t n, const double *const x[3], const int64_t *id, double *const a[3])
{
  const mpm_world *w = context;
  for (int64_t i = 0; i < n; ++i) {
    const double here[3] = {x[0][i], x[1][i], x[2][i]};
    double       value[3];
    vector_field_at(w->body_force, w->origins.x + 3 * id[i], here, t, value);
    for (int k = 0; k < 3; ++k) a[k][i] = value[k];
  }
}

/* Default of light_node_mass_fraction: on for sand, if the formulation supports dependent nodes. */
static void set_light_nodes(const body_world *world)
{
  const mpm_options *o       = world->mpm_options;
  mpm_domain        *d       = world->mpm->domain;
  bool               is_sand = false;
  for (int i = 0; i < d->bodies.n; ++i) is_sand |= d->bodies.materials[i]->law->is_granular;
  mpm_domain_set_light_nodes(d,
                             !isnan(o->light_node_mass_fraction) ? o->light_node_mass_fraction
                             : is_sand && world->has_light_nodes ? 0.1
                                                                 : 0.0,
                             o->light_node_rest_speed);
}

/* Initial positions of particles are stored only if something uses them. */
static PetscErrorCode mpm_finish(body_world *world, diagnostics *d)
{
  PetscFunctionBegin;
  mpm_world      *w         = world->mpm;
  const key_list *texts     = &world->mpm_options->body_force;
  const bool      has_force = texts->n > 0;
  if (w) set_light_nodes(world);
  if (!has_force && !world->keeps_origins) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *mpm = document_find(world->job, "mpm"), *node = mpm ? document_find(mpm, "body_force") : NULL;
  if (!node) node = world->job;
  if (w && particle_bodies_has_source(&w->domain->bodies))
    diagnostics_add(d, node->mark, "mpm.body_force", "initial positions (body_force, expected) cannot be used with pour");
  if (!w || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_origins_create(w->domain->bodies.n, w->domain->bodies.particles, &w->origins));
  if (!has_force) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(vector_field_create(texts, node, "mpm.body_force", d, &w->body_force));
  if (w->body_force) mpm_domain_set_body_force(w->domain, body_force, w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void mpm_release(body_world *world)
{
  if (!world->mpm) return;
  mpm_domain_destroy(&world->mpm->domain);
  vector_field_destroy(&world->mpm->body_force);
  MEMORY_FREE(&world->mpm->origins.x, &world->mpm);
}

/* --- one body -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode mpm_create(const body_request *r, body_world *world, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  const mpm_body_spec *spec = r->spec;
  particle_fill        fill;
  int                  index;
  *out = NULL;
  PetscCall(ensure_domain(r, world, d));
  if (!r->material || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_fill_create(r, world, spec->spacing, (const double[3]){0, 0, 0}, d, &fill));
  if (fill.seed.n > 0) {
    mpm_domain         *domain = world->mpm->domain;
    const particle_seed start  = particle_fill_at_start(&fill, &spec->fill);
    PetscCall(mpm_domain_add_body(domain, r->name, r->material, &start, &index));
    PetscCall(particle_fill_finish(r, &fill, &domain->bodies, index, d, out));
    if (!spec->fill.pour) particle_bodies_set_filled(&domain->bodies, index, &fill.filled->piece[0]);
  }
  particle_fill_free(&fill);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind mpm_body_kind = {.name     = "mpm",
                                 .keys     = &mpm_body_table,
                                 .ops      = &mpm_adapter_ops,
                                 .material = BODY_MATERIAL_WITH_LAW,
                                 .create   = mpm_create,
                                 .finish   = mpm_finish,
                                 .release  = mpm_release};
