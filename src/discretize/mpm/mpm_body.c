#include "discretize/mpm/mpm_body.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_domain_impl.h"
#include "discretize/mpm/mpm_keys.h"
#include "discretize/mpm/sampling.h"

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
  mpm_domain_set_light_share(*domain, o->light_nodes);
  if (o->light_nodes > 0.0 && o->walls.n > 0)
    diagnostics_add(d, o->walls.item[0].node->mark, "mpm.light_nodes", "cannot be given with mpm.walls: a mirror wants each node to itself");
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

/* The origins of particles are kept only where something asks for them. */
static PetscErrorCode mpm_finish(body_world *world, diagnostics *d)
{
  PetscFunctionBegin;
  mpm_world      *w         = world->mpm;
  const key_list *texts     = &world->mpm_options->body_force;
  const bool      has_force = texts->n > 0;
  if (!has_force && !world->keeps_origins) PetscFunctionReturn(PETSC_SUCCESS);
  const document_node *mpm = document_find(world->job, "mpm"), *node = mpm ? document_find(mpm, "body_force") : NULL;
  if (!node) node = world->job;
  if (has_force && !w) diagnostics_add(d, node->mark, "mpm.body_force", "there is no body of kind mpm");
  if (w && mpm_domain_has_source(w->domain))
    diagnostics_add(d, node->mark, "mpm.body_force", "initial positions (body_force, expected) cannot be used with pour");
  if (!w || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_origins_create(w->domain, &w->origins));
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

/* Initial velocities from expressions, with their gradient as the affine part. */
static PetscErrorCode set_velocity_field(const body_request *r, bool is_apic, mpm_particles *p, diagnostics *d)
{
  PetscFunctionBegin;
  const mpm_body_spec *spec = r->spec;
  const document_node *node = document_find(r->node, "velocity_field");
  char                 path[300];
  vector_field      *velocity;
  if (spec->velocity_field.n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  snprintf(path, sizeof path, "%s.velocity_field", r->path);
  if (spec->pour) diagnostics_add(d, node->mark, path, "velocity_field cannot be given with pour");
  if (v3_norm(spec->velocity) > 0 || v3_norm(spec->angular_velocity) > 0)
    diagnostics_add(d, node->mark, path, "give velocity and angular_velocity, or velocity_field, not both");
  PetscCall(vector_field_create(&spec->velocity_field, node, path, d, &velocity));
  if (!velocity) PetscFunctionReturn(PETSC_SUCCESS);
  for (int64_t i = 0; i < p->n; ++i) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    double       v[3], gradient[9];
    vector_field_at(velocity, x, x, 0.0, v);
    vector_field_gradient(velocity, x, x, 0.0, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, gradient);
    for (int k = 0; k < 3; ++k) p->v[k][i] = v[k];
    for (int k = 0; k < 9 && is_apic; ++k) p->C[k][i] = gradient[k];
  }
  vector_field_destroy(&velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Releases that would fall into each other are a slip: how far one moves until the next comes is known, in free fall at least. */
static void check_pour(const body_request *r, const body_world *world, const level_set *spout, int64_t n, const double *x, diagnostics *d)
{
  const mpm_body_spec *spec = r->spec;
  const mpm_pour      *pour = spec->pour;
  int64_t              n_left = 0;
  if (!(pour->end > pour->start))
    diagnostics_add_under(d, r->node, r->path, "pour.end", "%g s is not after the start, %g s: nothing would be poured", pour->end, pour->start);
  if (pour->every < (1.0 - 1e-9) * world->time_step)
    diagnostics_add_under(d, r->node, r->path, "pour.every", "%g s is less than time.step, %g s, and there is one release a step at most; pour a higher shape less often",
                          pour->every, world->time_step);
  if (pour->start + pour->every >= pour->end) return;
  for (int64_t i = 0; i < n; ++i) {
    double moved[3];
    for (int k = 0; k < 3; ++k)
      moved[k] = x[3 * i + k] + pour->every * (spec->velocity[k] + 0.5 * (pour->every + world->time_step) * world->gravity[k]);
    n_left += level_set_value(spout, moved) < 0.0;
  }
  if ((double)n_left > MPM_POUR_OVERLAP * (double)n)
    diagnostics_add_under(d, r->node, r->path, "pour.every",
                          "%g s after a release %lld of its %lld particles are still in the shape, where the next would be put; pour less often, faster, or a shape that is "
                          "less high", pour->every, (long long)n_left, (long long)n);
}

/* Particles in `filled`: now, or as a source, or both. */
static PetscErrorCode fill_with_particles(const body_request *r, const body_world *world, shape *filled, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  mpm_domain          *domain = world->mpm->domain;
  const mpm_body_spec *spec   = r->spec;
  const double         wanted = filled->mass.volume / pow(spec->spacing, 3) * spec->particles_per_cell;
  if (wanted < 1 || wanted > 2e9) {
    diagnostics_add_under(d, r->node, r->path, "spacing", "the shape would hold %.3g particles at a spacing of %g m: expected 1 to 2e9", wanted,
                          spec->spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const sampling_options o    = {.kind               = (sampling_kind)spec->seeding,
                                 .spacing            = spec->spacing,
                                 .particles_per_cell = spec->particles_per_cell,
                                 .jitter             = spec->jitter,
                                 .seed               = (uint64_t)spec->seed};
  mpm_seed               seed = {0};
  double                *x[3] = {NULL}, *points;
  int                    index;
  PetscCall(sampling_fill(filled->piece[0], filled->min, filled->max, filled->mass.volume, &o, &seed.n, x, &seed.volume_each));
  PetscCall(memory_alloc("seeded particles", 3 * seed.n, sizeof(double), &points));
  for (int k = 0; k < 3; ++k) {
    for (int64_t i = 0; i < seed.n; ++i) points[3 * i + k] = x[k][i];
    memory_free(&x[k]);
  }
  seed.x = points;
  v3_copy(seed.velocity, spec->velocity);
  v3_copy(seed.angular_velocity, spec->angular_velocity);
  if (spec->pour) check_pour(r, world, filled->piece[0], seed.n, points, d);
  const mpm_seed none = {.volume_each = seed.volume_each};
  PetscCall(mpm_domain_add_body(domain, r->name, r->material, spec->pour && spec->pour->start > 0 ? &none : &seed, &index));
  if (spec->pour) PetscCall(mpm_domain_set_source(domain, index, &seed, spec->pour, &filled->piece[0]));
  memory_free(&points);
  PetscCall(set_velocity_field(r, domain->transfer.is_apic, mpm_domain_particles(domain, index), d));
  *out = mpm_domain_point_body(domain, index);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mpm_create(const body_request *r, body_world *world, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  const mpm_body_spec *spec = r->spec;
  shape               *filled;
  char                 path[256];
  *out = NULL;
  snprintf(path, sizeof path, "%s.shape", r->path);
  PetscCall(ensure_domain(r, world, d));
  if (!r->material || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(shape_create(spec->shape, document_find(r->node, "shape"), path, d, NAN, &filled));
  if (!filled) PetscFunctionReturn(PETSC_SUCCESS);
  if (!filled->is_bounded)
    diagnostics_add_under(d, r->node, r->path, "shape", "has no volume to fill with particles");
  else
    PetscCall(fill_with_particles(r, world, filled, d, out));
  shape_destroy(&filled);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind mpm_body_kind = {.name     = "mpm",
                                 .keys     = &mpm_body_table,
                                 .ops      = &mpm_facade_ops,
                                 .material = BODY_MATERIAL_WITH_LAW,
                                 .create   = mpm_create,
                                 .finish   = mpm_finish,
                                 .release  = mpm_release};
