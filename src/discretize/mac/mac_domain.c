/* Implementation of mac_domain.h: body_ops of the domain and its adapters, and the corrections after a step. */
#include "discretize/mac/mac_domain.h"
#include <math.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_correction.h"
#include "discretize/mac/mac_transfer.h"

static const body_ops             mac_domain_ops;
static const particle_carrier_ops mac_carrier_ops;

/* --- creation -------------------------------------------------------------------------------------------------------- */

PetscErrorCode mac_domain_create(const mac_options *o, const double gravity[3], mac_domain **out)
{
  mac_domain *d;
  int32_t     n[3];
  mac_wall    wall[3][2];

  PetscFunctionBeginUser;
  for (int a = 0; a < 3; ++a) {
    const double cells = (o->domain->max[a] - o->domain->min[a]) / o->spacing;
    PetscCheck(cells > 0.5 && cells < 1e9, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "the domain has %.3g cells along axis %d: expected 1 to 1e9", cells, a);
    n[a] = (int32_t)lround(cells);
    for (int side = 0; side < 2; ++side) wall[a][side] = (mac_wall)o->walls->side[a][side];
  }
  PetscCall(memory_alloc("mac domain", 1, sizeof *d, &d));
  *out         = d;
  d->base.ops  = &mac_domain_ops;
  d->base.name = "mac";
  d->options   = o;
  d->bodies    = (particle_bodies){.carrier = &d->base, .ops = &mac_carrier_ops, .with_affine = true};
  v3_copy(d->gravity, gravity);
  PetscCall(mac_grid_create(o->spacing, o->domain->min, n, (const mac_wall(*)[2])wall, &d->state.grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_domain_destroy(mac_domain **out)
{
  if (!*out) return;
  mac_domain *d = *out;
  mac_state  *s = &d->state;
  for (int b = 0; b < d->bodies.n; ++b) {
    MEMORY_FREE(&d->seen[b].pressure, &d->seen[b].density);
    for (int a = 0; a < 3; ++a) memory_free(&d->seen[b].move[a]);
    MEMORY_FREE(&d->start[b], &d->tile_of[b]);
  }
  particle_bodies_free(&d->bodies);
  MEMORY_FREE(&d->seen, &d->start, &d->start_capacity, &d->tile_of, &d->tile_of_capacity, &d->tiles, &d->n, &d->x, &d->key, &d->key_scratch,
              &d->order, &d->order_scratch, &s->rho, &s->rest_density, &s->friction, &s->cohesion, &s->pressure);
  for (int a = 0; a < 3; ++a) memory_free(&s->mass[a]), memory_free(&s->u[a]);
  for (int c = 0; c < MAC_MU_I_CONSTANTS; ++c) memory_free(&s->mu_i[c]);
  mac_correction_free(&d->correction);
  mac_grid_destroy(&s->grid);
  memory_free(out);
}

mac_domain *mac_domain_of(body *b)
{
  if (b->ops == &mac_domain_ops) return (mac_domain *)b;
  return b->ops == &mac_body_ops ? (mac_domain *)particle_body_carrier(b) : NULL;
}

mac_state *mac_domain_state(mac_domain *d) { return &d->state; }

PetscErrorCode mac_domain_add_body(mac_domain *d, const char *name, const material *m, const particle_seed *seed, int *index)
{
  const int n = d->bodies.n;

  PetscFunctionBeginUser;
  PetscCheck(m->flow, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: its material does not flow", name);
  PetscCall(MEMORY_RESIZE("mac bodies", ARRAY(d->n, n + 1), ARRAY(d->x, n + 1), ARRAY(d->seen, n + 1), ARRAY(d->start, n + 1),
                          ARRAY(d->start_capacity, n + 1), ARRAY(d->tile_of, n + 1), ARRAY(d->tile_of_capacity, n + 1)));
  d->seen[n]           = (mac_samples){0};
  d->start[n]          = NULL;
  d->tile_of[n]        = NULL;
  d->start_capacity[n] = d->tile_of_capacity[n] = 0;
  PetscCall(particle_bodies_add(&d->bodies, &mac_body_ops, name, m, NULL, index));
  PetscCall(particle_bodies_emit(&d->bodies, n, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- totals ---------------------------------------------------------------------------------------------------------- */

/* Angular momentum and kinetic energy include the affine velocity as it will appear on the grid. With staggered trilinear
 * weights, the second affine_second_moment along k about a particle is h^2 f (1 - f), where f is the relative position between two nodes. For
 * the component along k these nodes are faces; for the other components they are points half a cell away. */
static double affine_second_moment(double s, double h)
{
  const double f = s - floor(s);
  return h * h * f * (1.0 - f);
}

static void sum_particle(const mac_grid *g, const particles *p, int64_t i, double *sum)
{
  double spin[3], beside[3], along[3], c2 = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double s = (p->x[k][i] - g->min[k]) / g->h;
    along[k]       = affine_second_moment(s, g->h);
    beside[k]      = affine_second_moment(s - 0.5, g->h);
  }
  for (int a = 0; a < 3; ++a) {
    const int k = (a + 1) % 3, e = (a + 2) % 3; /* e_k x e_e = e_a */
    spin[a] = beside[k] * p->C[3 * e + k][i] - beside[e] * p->C[3 * k + e][i];
    for (int q = 0; q < 3; ++q) c2 += (q == a ? along[q] : beside[q]) * p->C[3 * a + q][i] * p->C[3 * a + q][i];
  }
  particle_sum_one(p, i, spin, c2, sum);
}

static void sum_chunk(const void *context, const particles *p, int64_t first, int64_t n, double *sum)
{
  for (int64_t i = first; i < first + n; ++i) sum_particle(context, p, i, sum);
}

/* --- body operations of the domain and of its bodies --------------------------------------------------------------------- */

static mac_domain       *domain_of(body *b) { return (mac_domain *)b; }
static const mac_domain *domain_of_const(const body *b) { return (const mac_domain *)b; }

static PetscErrorCode step_begin(body *b, double t, double dt, int64_t *n_blocks, step_status *status)
{
  mac_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  (void)t;
  d->dt          = dt;
  d->is_laid_out = false;
  *n_blocks = b->n_blocks = 0;
  mac_check_cfl(d, true, status);
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mac_layout(d));
  PetscCall(mac_to_grid(d));
  d->is_laid_out = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_end(body *b, const double *v, step_status *status)
{
  mac_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  (void)v;
  SS_ASSERT(d->is_laid_out);
  mac_check_cfl(d, false, status);
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mac_reserve_samples(d));
  mac_to_particles(d);
  for (int i = 0; i < d->bodies.n; ++i) PetscCall(mac_return_to_box(d, i));
  d->is_laid_out = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Totals of body `index`, or of all bodies if it is negative. */
static PetscErrorCode sum_bodies(const mac_domain *d, int index, const double gravity[3], body_totals *out)
{
  double sum[PARTICLE_N_SUMS] = {0};

  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b)
    if (index < 0 || b == index) PetscCall(particle_sums_add(d->bodies.particles[b], PARTICLE_N_SUMS, sum_chunk, &d->state.grid, sum));
  *out = (body_totals){0};
  particle_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_totals(const body *b, const double gravity[3], body_totals *out)
{
  return sum_bodies(domain_of_const(b), -1, gravity, out);
}

static void discard_layout(body *b) { domain_of(b)->is_laid_out = false; }

static void restore_particles(body *b, int index) { domain_of(b)->seen[index].n = 0; }

/* Fields at the particles from the end of the last step. Before the first step, and for particles emitted since, the pressure is
 * zero and the density that of rest. */
static PetscErrorCode refresh_fields(body *b, int index)
{
  mac_domain        *d    = domain_of(b);
  particles         *p    = d->bodies.particles[index];
  const mac_samples *s    = &d->seen[index];
  const double       rest = d->bodies.materials[index]->density;

  PetscFunctionBeginUser;
  PetscCall(particles_room_for_frames(p));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; ++i) {
    p->speed[i]    = sqrt(particles_speed2(p, i));
    p->pressure[i] = i < s->n ? s->pressure[i] : 0.0;
    p->density[i]  = i < s->n ? s->density[i] : rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const particle_carrier_ops mac_carrier_ops = {.forget = discard_layout, .refresh = refresh_fields, .restored = restore_particles};

static PetscErrorCode step_fields(body *b, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_fields(&domain_of(b)->bodies, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The domain has no blocks in the global vector: these operations do nothing. */
static PetscErrorCode no_blocks(const body *b, double *out)
{
  (void)b, (void)out;
  return PETSC_SUCCESS;
}
static PetscErrorCode no_residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_SUCCESS;
}
static PetscErrorCode no_tangent(const body *b, const double *x, double *y, bool is_transposed)
{
  (void)b, (void)x, (void)y, (void)is_transposed;
  return PETSC_SUCCESS;
}

static double step_length(const body *b) { return domain_of_const(b)->state.grid.h; }

static const body_ops mac_domain_ops = {.kind           = "mac",
                                        .points         = POINT_NONE,
                                        .begin_step     = step_begin,
                                        .velocity       = no_blocks,
                                        .mass           = no_blocks,
                                        .residual       = no_residual,
                                        .tangent        = no_tangent,
                                        .block_diagonal = no_blocks,
                                        .end_step       = step_end,
                                        .totals         = step_totals,
                                        .fields         = step_fields,
                                        .length         = step_length};

/* --- adapter of one body -------------------------------------------------------------------------------------------------- */

static PetscErrorCode adapter_totals(const body *b, const double gravity[3], body_totals *out)
{
  return sum_bodies(domain_of_const(particle_body_carrier(b)), ((const particle_body *)b)->index, gravity, out);
}

static void adapter_describe(const body *b, FILE *out)
{
  const mac_grid *g = &domain_of_const(particle_body_carrier(b))->state.grid;
  fprintf(out, "%lld particles on a staggered grid of %d x %d x %d cells", (long long)particles_of(b)->n, g->n[0], g->n[1], g->n[2]);
}

const body_ops mac_body_ops = {.kind      = "mac",
                               .points    = POINT_NONE,
                               .totals    = adapter_totals,
                               .carrier   = particle_body_carrier,
                               .particles = particle_body_particles,
                               .emit      = particle_body_emit,
                               .describe  = adapter_describe};

/* --- between two steps: particles out of solids, and apart ----------------------------------------------------------------- */

/* Rounds for several solids that touch; particles per chunk; samples, then bisections, to find where a displacement enters a solid. */
enum { ROUNDS_OUT = 3, CHUNK = 256, PIECES = 8, HALVINGS = 12 };

/* Velocity of a solid at x. */
static void solid_velocity(const mac_placed *solid, const double x[3], double v[3])
{
  double arm[3];
  mac_placed_arm(solid, x, arm);
  v3_cross(v, solid->solid->frame.w, arm);
  v3_axpy(v, 1.0, solid->solid->frame.v);
}

/* Find where the displacement from -> x enters the solid in its current pose: normal there, and distance < 0 of x along it.
 * Returns false if it does not enter. */
static bool find_entry(const mac_placed *solid, const double from[3], const double x[3], double normal[3], double *distance)
{
  double     outside = 0.0, inside = 0.0, at[3];
  const bool is_out = mac_placed_distance(solid, from) >= 0.0; /* up to round-off, and for solids that rotate much in a step */
  for (int k = 1; k <= PIECES && is_out && !(inside > 0.0); ++k) {
    const double t = (double)k / PIECES;
    for (int a = 0; a < 3; ++a) at[a] = from[a] + t * (x[a] - from[a]);
    if (mac_placed_distance(solid, at) < 0.0) inside = t;
    else outside = t;
  }
  if (is_out && !(inside > 0.0)) return false;
  for (int k = 0; k < HALVINGS && is_out; ++k) {
    const double t = 0.5 * (outside + inside);
    for (int a = 0; a < 3; ++a) at[a] = from[a] + t * (x[a] - from[a]);
    if (mac_placed_distance(solid, at) < 0.0) inside = t;
    else outside = t;
  }
  for (int a = 0; a < 3; ++a) at[a] = from[a] + inside * (x[a] - from[a]);
  const double depth = mac_placed_gradient(solid, at, normal), length = v3_norm(normal);
  if (!(length > 0.0)) return false;
  v3_scale(normal, 1.0 / length, normal);
  *distance = depth;
  for (int a = 0; a < 3; ++a) *distance += normal[a] * (x[a] - at[a]);
  return *distance < 0.0;
}

/* Direction and depth to move a particle out of a solid: across the nearest surface; or, if the particle entered through another surface in this
 * step, back through that one, however thin the solid is. Returns false if the particle is outside and its displacement did not cross the solid. */
static bool find_exit(const mac_domain *d, int b, int64_t i, const mac_placed *solid, double normal[3], double *depth)
{
  const particles *p    = d->bodies.particles[b];
  const double     x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]}, phi = mac_placed_distance(solid, x);
  double           moved[3] = {0.0, 0.0, 0.0}, from[3], before[3];
  if (i < d->seen[b].n) { /* displacement relative to the solid */
    solid_velocity(solid, x, moved);
    for (int a = 0; a < 3; ++a) moved[a] = d->seen[b].move[a][i] - d->dt * moved[a];
  }
  const double length_moved = v3_norm(moved);
  if (phi >= 0.0 && phi >= length_moved) return false;
  v3_sub(from, x, moved);
  if (phi < 0.0) {
    const double length = (*depth = -mac_placed_gradient(solid, x, normal), v3_norm(normal));
    if (!(length > 0.0)) return false;
    v3_scale(normal, 1.0 / length, normal);
    if (!(length_moved > -phi)) return true;
    mac_placed_gradient(solid, from, before);
    if (v3_dot(before, normal) >= 0.0 || !find_entry(solid, from, x, before, depth)) return true;
  } else if (mac_placed_distance(solid, from) + phi >= length_moved || !find_entry(solid, from, x, before, depth)) return false;
  *depth = -*depth;
  v3_copy(normal, before);
  return true;
}

/* Bounding sphere of particles first ... end - 1. */
static double bound_chunk(const particles *p, int64_t first, int64_t end, double center[3])
{
  double radius2 = 0.0;
  for (int a = 0; a < 3; ++a) {
    double low = INFINITY, high = -INFINITY;
    const double *restrict x = p->x[a];
    for (int64_t i = first; i < end; ++i) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
    center[a] = 0.5 * (low + high);
    radius2 += 0.25 * (high - low) * (high - low);
  }
  return sqrt(radius2);
}

/* Remove the velocity of a particle into a solid and apply Coulomb friction along the surface, as apply_wall_friction does for
 * sparse particles at walls of the box. The solid receives the momentum. */
static void apply_contact_impulse(const mac_domain *d, int b, int64_t i, const mac_placed *solid, const double normal[3], double impulse[6])
{
  particles   *p        = d->bodies.particles[b];
  const double friction = isfinite(solid->solid->friction) ? solid->solid->friction : d->bodies.materials[b]->flow->friction,
               x[3]     = {p->x[0][i], p->x[1][i], p->x[2][i]};
  double arm[3], slip[3], change[3], turn[3];
  mac_placed_arm(solid, x, arm);
  solid_velocity(solid, x, slip);
  for (int a = 0; a < 3; ++a) slip[a] = p->v[a][i] - slip[a];
  const double into = -v3_dot(slip, normal);
  if (!(into > 0.0)) return;
  v3_axpy(slip, into, normal); /* tangential part */
  const double speed = v3_norm(slip), lost = speed > friction * into ? friction * into / speed : 1.0;
  for (int a = 0; a < 3; ++a) {
    change[a] = into * normal[a] - lost * slip[a];
    p->v[a][i] += change[a];
    impulse[a] -= p->mass[i] * change[a];
  }
  v3_cross(turn, arm, change);
  for (int a = 0; a < 3; ++a) impulse[3 + a] -= p->mass[i] * turn[a];
  if (i < d->seen[b].n && d->seen[b].density[i] > MAC_DENSITY_THRESHOLD * d->bodies.materials[b]->density) return;
  for (int q = 0; q < 3; ++q) { /* too sparse for a continuum: remove the affine velocity along the normal */
    double along = 0.0;
    for (int a = 0; a < 3; ++a) along += normal[a] * p->C[3 * a + q][i];
    for (int a = 0; a < 3; ++a) p->C[3 * a + q][i] -= along * normal[a];
  }
}

static bool move_chunk_out(const mac_domain *d, int b, const mac_placed *solid, int64_t first, int64_t end, double impulse[6])
{
  particles   *p = d->bodies.particles[b];
  double       center[3];
  bool         has_moved = false;
  const double radius    = bound_chunk(p, first, end, center) + d->options->cfl * d->state.grid.h;
  if (mac_placed_is_outside(solid, center, radius) || mac_placed_distance(solid, center) > radius) return false;
  for (int64_t i = first; i < end; ++i) {
    double normal[3], depth;
    if (!find_exit(d, b, i, solid, normal, &depth)) continue;
    for (int a = 0; a < 3; ++a) {
      const double push = depth * (1.0 + 1e-9) * normal[a];
      p->x[a][i] += push;
      if (i < d->seen[b].n) d->seen[b].move[a][i] += push;
    }
    apply_contact_impulse(d, b, i, solid, normal, impulse);
    has_moved = true;
  }
  return has_moved;
}

/* Adds to impulse [n_placed][6]. */
static PetscErrorCode move_particles_out(mac_domain *d, int n_placed, const mac_placed *placed, double (*impulse)[6])
{
  PetscFunctionBegin;
  for (int b = 0; b < d->bodies.n && n_placed > 0; ++b) {
    const int64_t n = d->bodies.particles[b]->n, n_chunks = (n + CHUNK - 1) / CHUNK;
    double(*part)[6];
    PetscCall(memory_alloc("impulses", n_chunks * n_placed, sizeof *part, &part));
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t c = 0; c < n_chunks; ++c) {
      const int64_t end       = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
      bool          has_moved = true;
      for (int round = 0; round < ROUNDS_OUT && has_moved; ++round) {
        has_moved = false;
        for (int s = 0; s < n_placed; ++s)
          has_moved = move_chunk_out(d, b, &placed[s], c * CHUNK, end, part[c * n_placed + s]) || has_moved;
      }
    }
    for (int64_t k = 0; k < n_chunks * n_placed; ++k)
      for (int q = 0; q < 6; ++q) impulse[k % n_placed][q] += part[k][q];
    memory_free(&part);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode contain_all(mac_domain *d)
{
  PetscFunctionBegin;
  for (int b = 0; b < d->bodies.n; ++b) {
    PetscCall(mac_return_to_box(d, b));
    d->n[b] = d->bodies.particles[b]->n;
    memcpy(d->x[b], d->bodies.particles[b]->x, sizeof d->x[b]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A particle that the last round moved against its velocity is supported by other particles. Where particles are too sparse for a continuum, the
 * face on the far side is determined by this particle alone and falls freely. Between this face and the one fixed by the particles below, the
 * affine velocity of the particle would grow with every step, while its own velocity hardly changes. So the affine velocity along the displacement
 * is removed, as at walls. This is done along the axes only, so that momentum and angular momentum do not change. */
static void remove_unsupported_shear(mac_domain *d)
{
  const mac_correction *c = &d->correction;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->bins.n; ++i) {
    int64_t at = c->bins.order[i];
    int     b  = 0;
    while (at >= d->n[b]) at -= d->n[b++];
    particles      *p = d->bodies.particles[b];
    const material *m = d->bodies.materials[b];
    if (at >= d->seen[b].n || !(m->flow->friction > 0.0)) continue; /* liquids are treated by is_face_carried */
    if (!(d->seen[b].density[at] <= MAC_DENSITY_THRESHOLD * m->density)) continue;
    for (int a = 0; a < 3; ++a)
      if (c->move[a][i] * p->v[a][at] < 0.0) p->C[4 * a][at] = 0.0;
  }
}

#define CORRECTION_RADIUS 2.0 /* of the density kernel, in mean particle spacings: includes the second neighbours of a lattice */
#define CORRECTION_STEP 0.1   /* largest displacement in one iteration, in grid spacings */

/* Position correction. All particles of a body are equal. */
static PetscErrorCode correct_positions(mac_domain *d, int n_placed, const mac_placed *placed)
{
  mac_state   *s       = &d->state;
  double       largest = 0.0;
  mac_packing *packing;

  PetscFunctionBegin;
  PetscCall(memory_alloc("packing", d->bodies.n, sizeof *packing, &packing));
  for (int b = 0; b < d->bodies.n; ++b)
    if (d->n[b] > 0) largest = fmax(largest, d->bodies.particles[b]->mass[0] / d->bodies.materials[b]->density);
  const double radius = fmin(CORRECTION_RADIUS * cbrt(largest), 3.0 * s->grid.h);
  for (int b = 0; b < d->bodies.n; ++b)
    if (d->n[b] > 0) packing[b] = mac_packing_of(d->bodies.particles[b]->mass[0] / d->bodies.materials[b]->density, radius);
  PetscErrorCode code    = PETSC_SUCCESS;
  bool           is_done = largest == 0.0;
  for (int64_t round = 0; round < d->options->position_correction && !code && !is_done; ++round) {
    code = mac_grid_build(&s->grid, d->bodies.n, d->n, (const double *const(*)[3])d->x, MAC_REACH);
    if (!code)
      code = mac_correction_round(&d->correction, &s->grid, d->bodies.n, d->n, (double *const(*)[3])d->x, packing, radius,
                                  CORRECTION_STEP * s->grid.h, n_placed, placed, &is_done);
    if (!code && !is_done) remove_unsupported_shear(d);
    if (!code) code = contain_all(d);
  }
  memory_free(&packing);
  PetscFunctionReturn(code);
}

PetscErrorCode mac_domain_correct_positions(mac_domain *d, int n, const mac_solid *solids, bool is_frame_end, double (*impulse)[6])
{
  mac_placed *placed;
  double(*own)[6];

  PetscFunctionBegin;
  timer_begin(TIMER_G2P);
  d->is_laid_out = false;
  PetscCall(MEMORY_ALLOC("solids", ARRAY(placed, n), ARRAY(own, n)));
  for (int i = 0; i < n; ++i) placed[i] = mac_solid_placed(&solids[i], &d->state.grid);
  PetscErrorCode code = move_particles_out(d, n, placed, own);
  if (!code) code = contain_all(d);
  if (!code && is_frame_end && d->options->position_correction > 0) {
    code = correct_positions(d, n, placed);
    if (!code) code = move_particles_out(d, n, placed, own);
    if (!code) code = contain_all(d);
  }
  for (int i = 0; i < n && impulse; ++i) memcpy(impulse[i], own[i], sizeof own[i]);
  MEMORY_FREE(&placed, &own);
  timer_end(TIMER_G2P);
  PetscFunctionReturn(code);
}
