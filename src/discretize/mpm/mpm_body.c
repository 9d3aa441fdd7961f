#include "discretize/mpm/mpm_body.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_domain_impl.h"
#include "discretize/mpm/mpm_keys.h"
#include "discretize/particles/particle_fill.h"

/* --- the grid they share --------------------------------------------------------------------------------------------- */

/* A periodic wall wants one partner on the other side of its axis, at least four whole cells away. */
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
                    "a periodic wall wants one other on the opposite side of its axis, a whole number of cells (4 or more) away");
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
      diagnostics_add_under(d, r->node, r->path, "spacing", "all MPM bodies share one grid: expected %g m as before, got %g m", before, spacing);
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

/* Light nodes that follow others, unless the job says otherwise: for sand, where the formulation takes them. */
static void set_light_nodes(const body_world *world)
{
  const mpm_options *o       = world->mpm_options;
  mpm_domain        *d       = world->mpm->domain;
  bool               is_sand = false;
  for (int i = 0; i < d->bodies.n; ++i) is_sand |= d->bodies.materials[i]->law->is_granular;
  mpm_domain_set_light_nodes(d, !isnan(o->light_nodes) ? o->light_nodes : is_sand && world->has_light_nodes ? 0.1 : 0.0, o->rest_speed);
}

/* The origins of particles are kept only where something asks for them. */
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
  if (has_force && !w) diagnostics_add(d, node->mark, "mpm.body_force", "there is no body of kind mpm");
  if (w && mpm_domain_has_source(w->domain))
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
  memory_free(&world->mpm->origins.x);
  memory_free(&world->mpm);
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
    if (spec->fill.pour) PetscCall(mpm_domain_set_source(domain, index, &fill.seed, spec->fill.pour, &fill.filled->piece[0]));
    PetscCall(particle_fill_velocity_field(r, domain->transfer.is_apic, mpm_domain_particles(domain, index), d));
    *out = mpm_domain_point_body(domain, index);
  }
  particle_fill_free(&fill);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind mpm_body_kind = {.name     = "mpm",
                                 .keys     = &mpm_body_table,
                                 .ops      = &mpm_facade_ops,
                                 .material = BODY_MATERIAL_WITH_LAW,
                                 .create   = mpm_create,
                                 .finish   = mpm_finish,
                                 .release  = mpm_release};
