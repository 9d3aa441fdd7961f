/* Implementation of particle_fill.h: job keys, particles of a shape, sources and initial velocities. */
#include "discretize/particles/particle_fill.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/vector_field.h"

/* --- job keys --- */

/* clang-format off */
static const key_spec pour_keys[]         = {
  {.name = "start", .type = KEY_REAL, .offset = offsetof(particle_release_schedule, start), .unit = "s", .fallback = "0",
   .min = 0, .max = INFINITY, .help = "first release"},
  {.name = "end", .type = KEY_REAL, .offset = offsetof(particle_release_schedule, end), .unit = "s", .min = 0,
   .max = INFINITY, .help = "no release at or after this time"},
  {.name = "every", .type = KEY_REAL, .offset = offsetof(particle_release_schedule, every), .unit = "s", .min = 0,
   .max = INFINITY, .is_open = true,
   .help = "time between releases, each of which fills the shape; the height of the shape over the falling speed gives a "
           "continuous stream; if more than a twentieth of the particles would still be in the shape at the next release, this is an "
           "error, or, during the run, the release is omitted with a warning"},
                                             {.name = NULL}};
/* clang-format on */
const key_table particle_pour_table = {.name = "bodies.mpm.pour",
                                       .help = "Fill the shape with particles at regular times, like a spout.",
                                       .size = sizeof(particle_release_schedule),
                                       .keys = pour_keys};

/* --- particles of a shape --- */

/* Reject releases that would overlap: the displacement between two releases is known, at least in free fall. */
static void check_pour(const body_request *r, const body_world *world, const level_set *spout, const particle_seed *seed, diagnostics *d)
{
  const particle_body_spec        *spec   = r->spec;
  const particle_release_schedule *pour   = spec->pour;
  const int64_t                    n      = seed->n;
  int64_t                          n_left = 0;
  if (!(pour->end > pour->start))
    diagnostics_add_under(d, r->node, r->path, "pour.end", "%g s is not after the start, %g s: nothing would be poured; increase it",
                          pour->end, pour->start);
  if (pour->every < (1.0 - 1e-9) * world->time_step)
    diagnostics_add_under(
        d, r->node, r->path, "pour.every",
        "%g s is less than time.step, %g s, but at most one release per step is possible; increase `every` and the height of the shape",
        pour->every, world->time_step);
  if (pour->start + pour->every >= pour->end) return;
  for (int64_t i = 0; i < n; ++i) {
    double moved[3];
    for (int k = 0; k < 3; ++k)
      moved[k] = seed->x[3 * i + k] + pour->every * (spec->velocity[k] + 0.5 * (pour->every + world->time_step) * world->gravity[k]);
    n_left += level_set_value(spout, moved) < 0.0;
  }
  if ((double)n_left > PARTICLE_RELEASE_MAX_OVERLAP * (double)n)
    diagnostics_add_under(d, r->node, r->path, "pour.every",
                          "%g s after a release %lld of its %lld particles are still in the shape and would overlap the next release; "
                          "increase `every` or the velocity, or reduce the height of the shape",
                          pour->every, (long long)n_left, (long long)n);
}

static PetscErrorCode fill_shape(const body_request *r, const body_world *world, double spacing, const double origin[3], diagnostics *d,
                                 particle_fill *out)
{
  PetscFunctionBegin;
  const particle_body_spec *spec   = r->spec;
  const shape              *filled = out->filled;
  const double              wanted = filled->mass.volume / pow(spacing, 3) * spec->particles_per_cell;
  if (wanted < 1 || wanted > 2e9) {
    diagnostics_add_under(d, r->node, r->path, "spacing", "the shape would contain %.3g particles at a spacing of %g m: expected 1 to 2e9",
                          wanted, spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (spec->seeding == SAMPLING_CELLS && !sampling_cube(spec->particles_per_cell)) {
    diagnostics_add_under(d, r->node, r->path, "particles_per_cell",
                          "seeding: cells puts a cubic lattice into each cell: expected 1, 8, 27 or another cube, got %g",
                          spec->particles_per_cell);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const sampling_options o    = {.kind               = (sampling_kind)spec->seeding,
                                 .spacing            = spacing,
                                 .particles_per_cell = spec->particles_per_cell,
                                 .jitter             = spec->jitter,
                                 .origin             = {origin[0], origin[1], origin[2]},
                                 .seed               = (uint64_t)spec->seed};
  double                *x[3] = {NULL}, *points;
  particle_seed         *seed = &out->seed;
  PetscCall(sampling_fill(filled->piece[0], filled->min, filled->max, filled->mass.volume, &o, &seed->n, x, &seed->volume_each));
  if (seed->n == 0) {
    diagnostics_add_under(d, r->node, r->path, "shape",
                          "contains no particle: no cell of %g m has its centre inside; enlarge the shape, or choose smaller cells",
                          spacing);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(memory_alloc("seeded particles", 3 * seed->n, sizeof(double), &points));
  for (int k = 0; k < 3; ++k) {
    for (int64_t i = 0; i < seed->n; ++i) points[3 * i + k] = x[k][i];
    memory_free(&x[k]);
  }
  seed->x = points;
  v3_copy(seed->velocity, spec->velocity);
  v3_copy(seed->angular_velocity, spec->angular_velocity);
  if (spec->pour) check_pour(r, world, filled->piece[0], seed, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particle_fill_create(const body_request *r, const body_world *world, double spacing, const double origin[3], diagnostics *d,
                                    particle_fill *out)
{
  PetscFunctionBegin;
  const particle_body_spec *spec = r->spec;
  char                      path[256];
  *out = (particle_fill){0};
  snprintf(path, sizeof path, "%s.shape", r->path);
  PetscCall(shape_create_region(spec->shape, document_find(r->node, "shape"), path, d, &out->filled));
  if (!out->filled) PetscFunctionReturn(PETSC_SUCCESS);
  if (!out->filled->is_bounded) diagnostics_add_under(d, r->node, r->path, "shape", "has no volume to fill with particles");
  else PetscCall(fill_shape(r, world, spacing, origin, d, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void particle_fill_free(particle_fill *f)
{
  memory_free(&f->seed.x);
  shape_destroy(&f->filled);
}

particle_seed particle_fill_at_start(const particle_fill *f, const particle_body_spec *spec)
{
  const particle_seed none = {.volume_each = f->seed.volume_each};
  return spec->pour && spec->pour->start > 0 ? none : f->seed;
}

static PetscErrorCode set_velocity_field(const body_request *r, bool with_affine, particles *p, diagnostics *d)
{
  PetscFunctionBegin;
  const particle_body_spec *spec = r->spec;
  const document_node      *node = document_find(r->node, "velocity_field");
  char                      path[300];
  vector_field             *velocity;
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
    for (int k = 0; k < 9 && with_affine; ++k) p->C[k][i] = gradient[k];
  }
  vector_field_destroy(&velocity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode particle_fill_finish(const body_request *r, particle_fill *f, particle_bodies *set, int index, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  const particle_body_spec *spec = r->spec;
  if (spec->pour) PetscCall(particle_bodies_set_source(set, index, &f->seed, spec->pour, &f->filled->piece[0]));
  PetscCall(set_velocity_field(r, set->with_affine, set->particles[index], d));
  *out = &set->body[index]->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}
