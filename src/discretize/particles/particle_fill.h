/* Creates the particles that fill the shape of an entry of `bodies:`. Used by the kinds whose spec begins with particle_body_spec (mpm,
 * mac). Also defines the job keys that these kinds share. */
#ifndef SS_DISCRETIZE_PARTICLES_PARTICLE_FILL_H
#define SS_DISCRETIZE_PARTICLES_PARTICLE_FILL_H
#include "core/key_table.h"
#include "discretize/body/body_kind.h"
#include "discretize/particles/particle_bodies.h"
#include "discretize/particles/sampling.h"
#include "geometry/shape/shape.h"

/* Job keys of an entry; first member of the spec of each of these kinds. */
typedef struct {
  const char                      *material; /* first, as in every kind */
  const shape_spec                *shape;
  double                           particles_per_cell;
  int                              seeding;
  double                           jitter;
  int64_t                          seed;
  double                           velocity[3], angular_velocity[3];
  key_list                         velocity_field; /* const char *: three expressions, see vector_field.h; empty: not given */
  const particle_release_schedule *pour;           /* NULL: all particles exist from the start of the run */
} particle_body_spec;
extern const key_table particle_pour_table;

/* clang-format off */
#define PARTICLE_BODY_SHAPE_KEYS                                                                                                                  \
  {.name = "material", .type = KEY_STRING, .offset = offsetof(particle_body_spec, material), .help = "name of an entry of materials"},            \
  {.name = "shape", .type = KEY_TABLE, .offset = offsetof(particle_body_spec, shape), .table = &shape_table, .help = "region filled with particles"}
#define PARTICLE_BODY_KEYS(usual_seeding, usual_jitter)                                                                                                        \
  {.name = "particles_per_cell", .type = KEY_REAL, .offset = offsetof(particle_body_spec, particles_per_cell), .fallback = "8", .min = 0.1,       \
   .max = 1000, .help = "mean number of particles in a grid cell"},                                                                               \
  {.name = "seeding", .type = KEY_ENUM, .offset = offsetof(particle_body_spec, seeding), .choices = sampling_names, .fallback = usual_seeding,    \
   .help = "distribution of the particles. blue_noise: random with even spacing; lattice: cubic, fitted to the shape; cells: particles_per_cell (1, 8, 27, ...) "  \
           "on a cubic lattice in each grid cell whose centre is inside"},                                                                        \
  {.name = "jitter", .type = KEY_REAL, .offset = offsetof(particle_body_spec, jitter), .fallback = usual_jitter, .min = 0, .max = 1,              \
   .only_if = {"seeding", "lattice cells"}, .help = "random shift of the particles, in units of the lattice constant"},                                                        \
  {.name = "seed", .type = KEY_INT, .offset = offsetof(particle_body_spec, seed), .fallback = "1", .min = 0, .max = 4294967295.0,                 \
   .help = "seed of the random numbers for blue_noise and jitter"},                                                                                 \
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(particle_body_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]",   \
   .help = "initial velocity"},                                                                                                                   \
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(particle_body_spec, angular_velocity), .unit = "rad/s",          \
   .fallback = "[0, 0, 0]", .help = "initial rotation about the centre of mass"},                                                                 \
  {.name = "velocity_field", .type = KEY_STRINGS, .offset = offsetof(particle_body_spec, velocity_field), .unit = "m/s", .is_optional = true,     \
   .help = "instead of velocity and angular_velocity: initial velocity as three expressions in x, y and z; not with pour"},                                                \
  {.name = "pour", .type = KEY_TABLE, .offset = offsetof(particle_body_spec, pour), .table = &particle_pour_table, .is_optional = true,           \
   .help = "release particles over time"}
/* clang-format on */

/* The particles of one entry before they are added to a set. */
typedef struct {
  shape        *filled; /* owned */
  particle_seed seed;   /* its x is owned; n = 0: the entry has errors */
} particle_fill;

/* Fill the shape of entry r on a grid of spacing `spacing` [m] with a node at `origin`. Errors in the entry are added to `d`; out->seed.n
 * is then 0. The caller frees *out. */
PetscErrorCode particle_fill_create(const body_request *r, const body_world *world, double spacing, const double origin[3], diagnostics *d,
                                    particle_fill *out);
void           particle_fill_free(particle_fill *f);
/* The particles that exist at the start of the run: all, or none if the entry has a `pour`. Borrowed from f. */
particle_seed particle_fill_at_start(const particle_fill *f, const particle_body_spec *spec);
/* Complete body `index` of `set` after its particles have been added: set its source, and set initial velocities from expressions, with
 * their gradient as affine velocity. *out: the body, owned by the set. Errors in the entry are added to `d`. */
PetscErrorCode particle_fill_finish(const body_request *r, particle_fill *f, particle_bodies *set, int index, diagnostics *d, body **out);
#endif
