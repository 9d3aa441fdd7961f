/* Implementation of mpm_domain.h: body_ops of the domain and of the adapters, checkpoint fields. */
#include "discretize/mpm/mpm_domain.h"
#include <stddef.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_assemble.h"
#include "discretize/mpm/mpm_light.h"
#include "discretize/mpm/mpm_single.h"

static mpm_domain       *domain_of(body *b) { return (mpm_domain *)b; }
static const mpm_domain *domain_of_const(const body *b) { return (const mpm_domain *)b; }

/* --- derived fields for frames ---------------------------------------------------------------------------------------- */

/* Cauchy stress from P F^T / J; an impossible state (which no accepted step leaves behind) shows as NaN. */
static void derive_batch(particles *p, const material *m, int64_t first, int64_t n)
{
  double F[9 * MATERIAL_BATCH] = {0}, P[9 * MATERIAL_BATCH], state[MATERIAL_MAX_STATE * MATERIAL_BATCH] = {0};
  for (int k = 0; k < 9; ++k)
    for (int64_t i = 0; i < n; ++i) F[k * MATERIAL_BATCH + i] = p->F[k][first + i];
  for (int k = 0; k < p->n_state; ++k)
    for (int64_t i = 0; i < n; ++i) state[k * MATERIAL_BATCH + i] = p->state[k][first + i];
  const int64_t good = material_stress(m, n, MATERIAL_BATCH, NULL, F, state, P, NULL, NULL, NULL, NULL, NULL);
  for (int64_t i = 0; i < n; ++i) {
    double f[9], q[9], s[9];
    for (int k = 0; k < 9; ++k) f[k] = F[k * MATERIAL_BATCH + i], q[k] = i < good ? P[k * MATERIAL_BATCH + i] : NAN;
    m3_mul_nt(s, q, f);
    const double j = m3_det(f), mean = m3_trace(s) / (3.0 * j);
    double       dev2 = 0.0;
    for (int k = 0; k < 9; ++k) {
      const double d = s[k] / j - (k % 4 == 0 ? mean : 0.0);
      dev2 += d * d;
    }
    const int64_t a = first + i;
    p->pressure[a]  = -mean;
    p->shear[a]     = sqrt(1.5 * dev2);
    p->density[a]   = p->mass[a] / (p->volume[a] * j);
    p->speed[a]     = sqrt(particles_speed2(p, a));
  }
}

static PetscErrorCode derive_fields(particles *p, const material *m)
{
  PetscFunctionBeginUser;
  PetscCall(particles_room_for_frames(p));
  const int64_t n_chunks = (p->n + MATERIAL_BATCH - 1) / MATERIAL_BATCH;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int64_t first = c * MATERIAL_BATCH, left = p->n - first;
    derive_batch(p, m, first, left < MATERIAL_BATCH ? left : MATERIAL_BATCH);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void mpm_domain_forget(body *b)
{
  mpm_domain *d  = domain_of(b);
  d->is_laid_out = d->has_tangent = d->has_last_v = false;
}

static PetscErrorCode refresh(body *b, int index)
{
  const mpm_domain *d = domain_of_const(b);

  PetscFunctionBeginUser;
  PetscCall(derive_fields(d->bodies.particles[index], d->bodies.materials[index]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const particle_carrier_ops carrier_ops = {.forget = mpm_domain_forget, .refresh = refresh};

static const body_ops mpm_domain_ops;

/* --- construction -------------------------------------------------------------------------------------------------- */

PetscErrorCode mpm_domain_create(double h, mpm_kernel kernel, mpm_transfer transfer, const double gravity[3], mpm_domain **out)
{
  mpm_domain *d;

  PetscFunctionBeginUser;
  PetscCheck(kernel == MPM_QUADRATIC || kernel == MPM_CUBIC, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "unknown MPM kernel");
  PetscCheck(transfer.is_apic || (transfer.flip >= 0.0 && transfer.flip <= 1.0), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the PIC/FLIP blend must lie between 0 and 1");
  PetscCall(memory_alloc("mpm domain", 1, sizeof *d, &d));
  *out         = d;
  d->base.ops  = &mpm_domain_ops;
  d->base.name = "mpm";
  d->transfer  = transfer;
  d->bodies    = (particle_bodies){.carrier = &d->base, .ops = &carrier_ops, .with_affine = transfer.is_apic};
  v3_copy(d->gravity, gravity);
  PetscCall(mpm_grid_create(h, kernel, &d->grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_domain_destroy(mpm_domain **out)
{
  if (!*out) return;
  mpm_domain *d = *out;
  particle_bodies_free(&d->bodies);
  memory_free(&d->marks);
  mpm_walls_free(&d->walls);
  MEMORY_FREE(&d->external, &d->masked, &d->internal, &d->last_v, &d->leading, &d->follower);
  mpm_tangent_free(&d->tangent);
  mpm_grid_destroy(&d->grid);
  memory_free(out);
}

PetscErrorCode mpm_domain_add_body(mpm_domain *d, const char *name, const material *m, const particle_seed *seed, int *index)
{
  const int n = d->bodies.n;

  PetscFunctionBeginUser;
  PetscCheck(m->law, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: kind mpm does not support a rigid material", name);
  PetscCall(memory_resize("mpm bodies", n + 1, sizeof *d->marks, &d->marks));
  d->marks[n] = (material_step_maxima){0.0, 0.0};
  PetscCall(particle_bodies_add(&d->bodies, &mpm_adapter_ops, name, m, m->law, index));
  PetscCall(particle_bodies_emit(&d->bodies, n, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpm_domain_add_wall(mpm_domain *d, int axis, int side, double coordinate, mpm_wall_kind kind)
{
  PetscFunctionBeginUser;
  PetscCheck(axis >= 0 && axis < 3 && (side == -1 || side == 1), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "MPM wall: axis 0 to 2, side -1 or 1");
  PetscCall(memory_resize("mpm walls", d->walls.n_walls + 1, sizeof *d->walls.wall, &d->walls.wall));
  d->walls.wall[d->walls.n_walls++] = (mpm_wall){axis, side, coordinate, kind};
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_domain_set_light_nodes(mpm_domain *d, double share, double rest_speed) { d->light_share = share, d->rest_speed = rest_speed; }

void mpm_domain_set_affine_gradient(mpm_domain *d, bool is_affine) { d->grid->gradient = is_affine ? KERNEL_AFFINE : KERNEL_GRADIENT; }

void mpm_domain_set_body_force(mpm_domain *d, mpm_body_force force, void *context)
{
  d->body_force         = force;
  d->body_force_context = context;
}

bool mpm_domain_has_projected_tangent(const body *b)
{
  bool is = false;
  if (b->ops != &mpm_domain_ops) return false;
  const mpm_domain *d = (const mpm_domain *)b;
  for (int i = 0; i < d->bodies.n; ++i) is |= !(d->bodies.materials[i]->law->step && d->bodies.materials[i]->law->step->is_convex);
  return is;
}

/* --- sums over a body ----------------------------------------------------------------------------------------------- */

enum { MPM_SUM_ELASTIC = PARTICLE_N_SUMS, MPM_N_SUMS };

typedef struct {
  const material *material;
  double          inertia; /* m^2, of the kernel */
} summing;

/* Kinetic energy and angular momentum include the affine velocity, which the grid will see: 1/2 m D |C|^2 and m D axial(C). */
static void sum_batch(const summing *s, const particles *p, int64_t first, int64_t n, double *sum)
{
  double F[9 * MATERIAL_BATCH] = {0}, state[MATERIAL_MAX_STATE * MATERIAL_BATCH] = {0}, psi[MATERIAL_BATCH];
  for (int k = 0; k < 9; ++k) memcpy(F + k * MATERIAL_BATCH, p->F[k] + first, (size_t)n * sizeof(double));
  for (int k = 0; k < p->n_state; ++k) memcpy(state + k * MATERIAL_BATCH, p->state[k] + first, (size_t)n * sizeof(double));
  material_energy(s->material, n, MATERIAL_BATCH, F, state, psi);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at      = first + i;
    const double  spin[3] = {s->inertia * (p->C[7][at] - p->C[5][at]), s->inertia * (p->C[2][at] - p->C[6][at]),
                             s->inertia * (p->C[3][at] - p->C[1][at])};
    double        c2      = 0.0;
    for (int k = 0; k < 9; ++k) c2 += p->C[k][at] * p->C[k][at];
    particle_sum_one(p, at, spin, s->inertia * c2, sum);
    sum[MPM_SUM_ELASTIC] += p->volume[at] * psi[i];
  }
}

static void sum_chunk(const void *context, const particles *p, int64_t first, int64_t n, double *sum)
{
  for (int64_t i = 0; i < n; i += MATERIAL_BATCH) sum_batch(context, p, first + i, n - i < MATERIAL_BATCH ? n - i : MATERIAL_BATCH, sum);
}

/* sum [MPM_N_SUMS] += the sums over body b. */
static PetscErrorCode add_sums(const mpm_domain *d, int b, double *sum)
{
  const summing s = {d->bodies.materials[b], d->transfer.is_apic ? kernel_inertia(d->grid->kernel, d->grid->h) : 0.0};

  PetscFunctionBeginUser;
  PetscCall(particle_sums_add(d->bodies.particles[b], MPM_N_SUMS, sum_chunk, &s, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All totals except those that depend on the material. */
static void totals_from_sums(const double *sum, const double gravity[3], body_totals *out)
{
  particle_totals_from(sum, gravity, out);
  out->elastic = sum[MPM_SUM_ELASTIC];
}

/* --- one MPM body: contact points clustered by grid block, sums, source -------------------------------------------- */

static const particle_body *adapter_of(const body *b) { return (const particle_body *)b; }
static const mpm_domain    *domain_of_adapter(const particle_body *f) { return (const mpm_domain *)f->set->carrier; }

/* Clusters are ordered by body: those of body `index` are [first, end). */
static void own_clusters(const particle_body *f, int64_t *first, int64_t *end)
{
  const mpm_grid *g = domain_of_adapter(f)->grid;
  for (int side = 0; side < 2; ++side) {
    int64_t lo = 0, hi = g->n_clusters;
    while (lo < hi) {
      const int64_t mid = (lo + hi) / 2;
      if (g->cluster[mid].body < f->index + side) lo = mid + 1;
      else hi = mid;
    }
    *(side ? end : first) = lo;
  }
}

static int64_t adapter_n_clusters(const body *b)
{
  const particle_body *f = adapter_of(b);
  int64_t              first, end;
  own_clusters(f, &first, &end);
  return end - first;
}

static void adapter_cluster(const body *b, int64_t i, double center[3], double *radius, int64_t *first_point, int64_t *end_point)
{
  const particle_body *f = adapter_of(b);
  int64_t              first, end;
  SS_ASSERT(domain_of_adapter(f)->is_laid_out);
  own_clusters(f, &first, &end);
  const mpm_cluster *c = &domain_of_adapter(f)->grid->cluster[first + i];
  v3_copy(center, c->center);
  *radius      = c->radius;
  *first_point = c->first;
  *end_point   = c->end;
}

static int64_t adapter_point(const body *b, int64_t i, double x[3])
{
  const particle_body *f = adapter_of(b);
  const particles     *p = f->set->particles[f->index];
  SS_ASSERT(domain_of_adapter(f)->is_laid_out);
  v3_set(x, p->x[0][i], p->x[1][i], p->x[2][i]);
  return p->id[i];
}

static int adapter_point_row_beside(const body *b, int64_t i, const double *beside, int32_t *block, double *weight)
{
  const particle_body *f    = adapter_of(b);
  const particles     *p    = f->set->particles[f->index];
  const mpm_grid      *g    = domain_of_adapter(f)->grid;
  const double         x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
  int64_t              lo, hi;
  SS_ASSERT(domain_of_adapter(f)->is_laid_out);
  own_clusters(f, &lo, &hi);
  while (hi - lo > 1) {
    const int64_t mid = (lo + hi) / 2;
    if (g->cluster[mid].first <= i) lo = mid;
    else hi = mid;
  }
  return mpm_grid_stencil(g, &g->cluster[lo], x, beside, block, weight);
}

static int adapter_point_row(const body *b, int64_t i, int32_t *block, double *weight)
{
  return adapter_point_row_beside(b, i, NULL, block, weight);
}

/* Half the edge of the cube that it filled at first. */
static double adapter_point_radius(const body *b, int64_t i) { return 0.5 * cbrt(particles_of(b)->volume[i]); }

static PetscErrorCode adapter_totals(const body *b, const double gravity[3], body_totals *out)
{
  const particle_body *f               = adapter_of(b);
  double               sum[MPM_N_SUMS] = {0};

  PetscFunctionBeginUser;
  *out = (body_totals){.overshoot = domain_of_adapter(f)->marks[f->index].overshoot, .turn = domain_of_adapter(f)->marks[f->index].turn};
  PetscCall(add_sums(domain_of_adapter(f), f->index, sum));
  totals_from_sums(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void adapter_describe(const body *b, FILE *out) { fprintf(out, "%lld particles", (long long)particles_of(b)->n); }

const body_ops mpm_adapter_ops = {.kind             = "mpm points",
                                  .points           = POINT_WEIGHTED,
                                  .n_clusters       = adapter_n_clusters,
                                  .cluster          = adapter_cluster,
                                  .point            = adapter_point,
                                  .point_row        = adapter_point_row,
                                  .point_radius     = adapter_point_radius,
                                  .point_row_beside = adapter_point_row_beside,
                                  .totals           = adapter_totals,
                                  .carrier          = particle_body_carrier,
                                  .emit             = particle_body_emit,
                                  .particles        = particle_body_particles,
                                  .describe         = adapter_describe};

/* --- the step ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode reserve_work(mpm_domain *d, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= d->work_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 4;
  double      **arrays[] = {&d->external, &d->masked, &d->internal, &d->last_v, &d->leading};
  d->work_capacity       = 0;
  for (int a = 0; a < 5; ++a) {
    memory_free(arrays[a]);
    PetscCall(memory_alloc("mpm work", 3 * capacity, sizeof(double), arrays[a]));
  }
  d->work_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* External forces on the nodes, and gravity if there are walls. */
static PetscErrorCode find_external(mpm_domain *d, double t)
{
  const mpm_grid *g = d->grid;

  PetscFunctionBeginUser;
  const bool has_force = d->body_force != NULL;
  d->has_external      = has_force || d->walls.n_walls > 0;
  if (has_force) PetscCall(mpm_transfer_body_force(d->grid, d->bodies.particles, d->body_force, d->body_force_context, t, d->external));
  if (d->walls.n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* gravity pulls on the mirror images too, so it must be folded with the rest */
  for (int64_t q = 0; q < 3 * g->n_dofs; ++q) d->external[q] = (has_force ? d->external[q] : 0.0) + g->mass[q / 3] * d->gravity[q % 3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_followers(mpm_domain *d)
{
  const double   g = v3_norm(d->gravity), rest = isinf(d->rest_speed) ? INFINITY : d->rest_speed * sqrt(g * d->grid->h);
  mpm_light_rule rule = {d->light_share, rest, rest + 2.0 * g * d->dt};

  PetscFunctionBeginUser;
  PetscCall(mpm_light_find(d->grid, &d->walls, &rule, &d->n_followers, &d->followers_capacity, &d->follower));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_begin(body *b, double t, double dt, int64_t *n_blocks, step_status *status)
{
  mpm_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  d->dt          = dt;
  d->is_laid_out = d->has_tangent = d->has_last_v = d->has_external = false;
  *n_blocks = b->n_blocks = 0;
  d->grid->leading        = NULL;
  for (int i = 0; i < d->bodies.n; ++i) mpm_walls_wrap(&d->walls, d->bodies.particles[i]);
  PetscCall(mpm_grid_build(d->grid, d->bodies.n, d->bodies.particles, d->bodies.names, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mpm_transfer_to_grid(d->grid, d->bodies.particles, d->transfer));
  PetscCall(reserve_work(d, d->grid->n_dofs));
  PetscCall(find_external(d, t + dt));
  PetscCall(mpm_walls_find(&d->walls, d->grid));
  if (d->walls.n_walls > 0) mpm_walls_fold_grid(&d->walls, d->grid);
  if (d->light_share > 0.0) PetscCall(find_followers(d));
  *n_blocks = b->n_blocks = d->grid->n_dofs;
  d->is_laid_out          = true;
  particle_bodies_set_blocks(&d->bodies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_velocity(const body *b, double *v0)
{
  const mpm_domain *d = domain_of_const(b);

  PetscFunctionBeginUser;
  memcpy(v0, d->grid->velocity, (size_t)(3 * d->grid->n_dofs) * sizeof *v0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_mass(const body *b, double *scale)
{
  const mpm_grid *g = domain_of_const(b)->grid;

  PetscFunctionBeginUser;
  for (int64_t i = 0; i < g->n_dofs; ++i) v3_set(scale + 3 * i, g->mass[i], g->mass[i], g->mass[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x on all nodes, mirrored ones too; x itself if there are no walls. */
static const double *on_all_nodes(const mpm_domain *d, const double *x)
{
  if (d->walls.n_walls == 0) return x;
  mpm_walls_expand(&d->walls, d->grid, x, d->masked);
  return d->masked;
}

static PetscErrorCode step_residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  mpm_domain     *d    = domain_of(b);
  const mpm_grid *grid = d->grid;
  const double    dt   = d->dt;

  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  d->has_last_v = false;
  if (with_tangent) d->has_tangent = false;
  PetscCall(mpm_force_residual(d->grid, d->bodies.n, d->bodies.particles, d->bodies.materials, d->bodies.names, dt, on_all_nodes(d, v),
                               d->internal, with_tangent ? &d->tangent : NULL, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->has_external)
#pragma omp parallel for schedule(static)
    for (int64_t q = 0; q < 3 * grid->n_dofs; ++q) d->internal[q] -= dt * d->external[q];
  if (d->walls.n_walls > 0) mpm_walls_fold(&d->walls, grid, d->internal);
  const double weight = d->walls.n_walls > 0 ? 0.0 : dt;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < grid->n_dofs; ++i)
    for (int k = 0; k < 3; ++k) {
      const int64_t q = 3 * i + k;
      if (mpm_walls_held(&d->walls, i, k)) g[q] += grid->mass[i] * v[q];
      else g[q] += grid->mass[i] * (v[q] - grid->velocity[q] - weight * d->gravity[k]) + d->internal[q];
    }
  memcpy(d->last_v, v, (size_t)(3 * grid->n_dofs) * sizeof *v);
  d->has_last_v = true;
  if (with_tangent) d->has_tangent = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mpm_domain_product(const mpm_domain *d, const double *x, double *y, bool is_transposed, bool is_single)
{
  const mpm_grid *g = d->grid;

  PetscFunctionBeginUser;
  SS_ASSERT(d->has_tangent);
  if (is_single) PetscCall(mpm_single_product(d->grid, d->bodies.particles, &d->tangent, on_all_nodes(d, x), d->internal));
  else PetscCall(mpm_force_product(d->grid, d->bodies.particles, &d->tangent, is_transposed, on_all_nodes(d, x), d->internal));
  if (d->walls.n_walls > 0) mpm_walls_fold(&d->walls, g, d->internal);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int k = 0; k < 3; ++k) y[3 * i + k] += g->mass[i] * x[3 * i + k] + d->internal[3 * i + k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_tangent(const body *b, const double *x, double *y, bool is_transposed)
{
  PetscFunctionBeginUser;
  PetscCall(mpm_domain_product(domain_of_const(b), x, y, is_transposed, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void step_want_single(body *b, bool is_wanted) { domain_of(b)->tangent.wants_single = is_wanted; }

static PetscErrorCode step_tangent_single(const body *b, const double *x, double *y)
{
  PetscFunctionBeginUser;
  PetscCall(mpm_domain_product(domain_of_const(b), x, y, false, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_block_diagonal(const body *b, double *out)
{
  const mpm_domain *d = domain_of_const(b);
  const mpm_grid   *g = d->grid;
  double           *sum;

  PetscFunctionBeginUser;
  SS_ASSERT(d->has_tangent);
  PetscCall(memory_alloc("mpm diagonal", 9 * g->n_dofs, sizeof *sum, &sum));
  PetscCall(mpm_force_block_diagonal(d->grid, d->bodies.particles, &d->tangent, sum));
  for (int64_t q = 0; q < d->walls.n_ghosts; ++q) {
    const mpm_ghost *ghost = &d->walls.ghost[q];
    for (int k = 0; k < 9; ++k)
      sum[9 * (int64_t)ghost->image + k] += ghost->sign[k / 3] * ghost->sign[k % 3] * sum[9 * (int64_t)ghost->dof + k];
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        out[9 * i + 3 * r + c] += (mpm_walls_held(&d->walls, i, r) || mpm_walls_held(&d->walls, i, c) ? 0.0 : sum[9 * i + 3 * r + c]) +
                                  (r == c ? g->mass[i] : 0.0);
  memory_free(&sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t step_followers(const body *b, const body_dependent_block **follower)
{
  *follower = domain_of_const(b)->follower;
  return domain_of_const(b)->n_followers;
}

static int step_couplings(const body *b, int64_t block, int32_t *other)
{
  const mpm_domain *d = domain_of_const(b);
  return mpm_couplings(d->grid, &d->walls, block, other);
}

static PetscErrorCode step_assemble(const body *b, const block_rows *H)
{
  const mpm_domain *d = domain_of_const(b);

  PetscFunctionBeginUser;
  SS_ASSERT(d->has_tangent);
  PetscCall(mpm_assemble(d->grid, d->bodies.n, d->bodies.particles, &d->tangent, &d->walls, b->first_block, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void step_set_definite(body *b, bool is_wanted) { domain_of(b)->tangent.is_definite = is_wanted; }

static bool step_relinearise(body *b, const double *v)
{
  mpm_domain *d            = domain_of(b);
  bool        has_rotation = false;
  for (int i = 0; i < d->bodies.n; ++i)
    has_rotation |= d->bodies.materials[i]->law->step && d->bodies.materials[i]->law->step->has_rotation;
  if (!has_rotation) return false;
  memcpy(d->leading, on_all_nodes(d, v), (size_t)(3 * d->grid->n_dofs) * sizeof *v);
  d->grid->leading = d->leading;
  d->has_last_v    = false;
  return true;
}

static PetscErrorCode step_end(body *b, const double *v, step_status *status)
{
  mpm_domain   *d       = domain_of(b);
  const int64_t n_bytes = 3 * d->grid->n_dofs * (int64_t)sizeof *v;

  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  const double *u = on_all_nodes(d, v);
  mpm_transfer_check_cfl(d->grid, d->bodies.n, d->bodies.particles, d->bodies.names, u, d->dt, status);
  /* Particles are only ever changed if all of them can be: a residual at this very v has shown that, or one does now. */
  if (status->code == STEP_OK && !(d->has_last_v && memcmp(v, d->last_v, (size_t)n_bytes) == 0))
    PetscCall(mpm_force_residual(d->grid, d->bodies.n, d->bodies.particles, d->bodies.materials, d->bodies.names, d->dt, u, d->internal,
                                 NULL, status));
  bool may_refuse = false;
  for (int i = 0; i < d->bodies.n; ++i) may_refuse |= material_may_reject(d->bodies.materials[i]);
  if (may_refuse && status->code == STEP_OK)
    PetscCall(mpm_force_check(d->grid, d->bodies.particles, d->bodies.materials, d->bodies.names, d->dt, u, status));
  if (status->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < d->bodies.n; ++i) d->marks[i] = (material_step_maxima){0.0, 0.0};
  mpm_force_advance(d->grid, d->bodies.particles, d->bodies.materials, d->dt, u, d->marks);
  mpm_transfer_to_particles(d->grid, d->bodies.particles, d->transfer, u, d->dt);
  d->is_laid_out = d->has_tangent = d->has_last_v = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_totals(const body *b, const double gravity[3], body_totals *out)
{
  const mpm_domain *d               = domain_of_const(b);
  double            sum[MPM_N_SUMS] = {0};

  PetscFunctionBeginUser;
  *out = (body_totals){0};
  for (int i = 0; i < d->bodies.n; ++i) {
    PetscCall(add_sums(d, i, sum));
    out->overshoot = fmax(out->overshoot, d->marks[i].overshoot), out->turn = fmax(out->turn, d->marks[i].turn);
  }
  totals_from_sums(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_fields(body *b, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_fields(&domain_of(b)->bodies, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void step_destroy(body **b) { mpm_domain_destroy((mpm_domain **)b); }

static double step_length(const body *b) { return domain_of_const(b)->grid->h; }

static const body_ops mpm_domain_ops = {.kind           = "mpm",
                                        .begin_step     = step_begin,
                                        .velocity       = step_velocity,
                                        .mass           = step_mass,
                                        .residual       = step_residual,
                                        .tangent        = step_tangent,
                                        .want_single    = step_want_single,
                                        .tangent_single = step_tangent_single,
                                        .block_diagonal = step_block_diagonal,
                                        .followers      = step_followers,
                                        .couplings      = step_couplings,
                                        .assembles_part = true,
                                        .assemble       = step_assemble,
                                        .set_definite   = step_set_definite,
                                        .relinearise    = step_relinearise,
                                        .end_step       = step_end,
                                        .totals         = step_totals,
                                        .fields         = step_fields,
                                        .length         = step_length,
                                        .points         = POINT_NONE,
                                        .destroy        = step_destroy};

/* --- nodes for other solvers on the same grid ---------------------------------------------------------------------- */

PetscErrorCode mpm_domain_get_nodes(mpm_domain *d, int32_t (*node)[3], double *mass, double (*outward)[3])
{
  mpm_grid *g = d->grid;
  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  PetscCall(mpm_transfer_mass_gradient(g, d->bodies.particles, outward[0]));
  if (d->walls.n_walls > 0) mpm_walls_fold(&d->walls, g, outward[0]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i) {
    int64_t at[3];
    mpm_grid_node(g, i, at);
    for (int k = 0; k < 3; ++k) node[i][k] = (int32_t)at[k];
    mass[i] = g->mass[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
