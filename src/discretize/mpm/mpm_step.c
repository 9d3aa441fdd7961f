/* The step of an MPM domain: the functions behind its body_ops. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_assemble.h"
#include "discretize/mpm/mpm_domain_impl.h"
#include "discretize/mpm/mpm_derive.h"
#include "discretize/mpm/mpm_light.h"
#include "discretize/mpm/mpm_single.h"

static mpm_domain       *domain_of(body *b) { return (mpm_domain *)b; }
static const mpm_domain *domain_of_const(const body *b) { return (const mpm_domain *)b; }

static PetscErrorCode reserve_work(mpm_domain *d, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= d->work_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 4;
  double      **arrays[] = {&d->external, &d->masked, &d->internal, &d->last_v, &d->leading};
  d->work_capacity = 0;
  for (int a = 0; a < 5; ++a) {
    memory_free(arrays[a]);
    PetscCall(memory_alloc("mpm work", 3 * capacity, sizeof(double), arrays[a]));
  }
  d->work_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What pulls on the nodes besides internal forces and (unless there are walls) gravity. */
static PetscErrorCode find_external(mpm_domain *d, double t)
{
  const mpm_grid *g = d->grid;

  PetscFunctionBeginUser;
  bool has_force = d->body_force != NULL;
  for (int i = 0; i < d->bodies.n; ++i) has_force |= v3_dot(d->acceleration[i], d->acceleration[i]) > 0.0;
  d->has_external = has_force || d->walls.n_walls > 0;
  if (has_force)
    PetscCall(mpm_transfer_body_force(d->grid, d->bodies.particles, (const double(*)[3])d->acceleration, d->body_force, d->body_force_context, t,
                                      d->external));
  if (d->walls.n_walls == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* gravity pulls on the mirror images too, so it must be folded with the rest */
  for (int64_t q = 0; q < 3 * g->n_dofs; ++q) d->external[q] = (has_force ? d->external[q] : 0.0) + g->mass[q / 3] * d->gravity[q % 3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_followers(mpm_domain *d)
{
  const double   g    = v3_norm(d->gravity), rest = isinf(d->rest_speed) ? INFINITY : d->rest_speed * sqrt(g * d->grid->h);
  mpm_light_rule rule = {d->light_share, rest, rest + 2.0 * g * d->dt};

  PetscFunctionBeginUser;
  PetscCall(mpm_light_find(d->grid, &d->walls, &rule, &d->n_followers, &d->followers_capacity, &d->follower));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_begin(body *b, double t, double dt, int64_t *n_blocks, step_verdict *verdict)
{
  mpm_domain *d = domain_of(b);

  PetscFunctionBeginUser;
  d->dt          = dt;
  d->is_laid_out = d->has_tangent = d->has_last_v = d->has_external = false;
  *n_blocks      = b->n_blocks = 0;
  d->grid->leading = NULL;
  for (int i = 0; i < d->bodies.n; ++i) mpm_walls_wrap(&d->walls, d->bodies.particles[i]);
  PetscCall(mpm_grid_build(d->grid, d->bodies.n, d->bodies.particles, d->bodies.names, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mpm_transfer_to_grid(d->grid, d->bodies.particles, d->transfer));
  PetscCall(reserve_work(d, d->grid->n_dofs));
  PetscCall(find_external(d, t + dt));
  PetscCall(mpm_walls_find(&d->walls, d->grid));
  if (d->walls.n_walls > 0) mpm_walls_fold_grid(&d->walls, d->grid);
  if (d->light_share > 0.0) PetscCall(find_followers(d));
  *n_blocks = b->n_blocks = d->grid->n_dofs;
  d->is_laid_out          = true;
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

static PetscErrorCode step_residual(body *b, const double *v, double *g, bool with_tangent, step_verdict *verdict)
{
  mpm_domain     *d    = domain_of(b);
  const mpm_grid *grid = d->grid;
  const double    dt   = d->dt;

  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  d->has_last_v = false;
  if (with_tangent) d->has_tangent = false;
  PetscCall(mpm_force_residual(d->grid, d->bodies.n, d->bodies.particles, d->bodies.materials, d->bodies.names, dt, on_all_nodes(d, v), d->internal,
                               with_tangent ? &d->tangent : NULL, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
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

static PetscErrorCode product(const mpm_domain *d, const double *x, double *y, bool is_transposed, bool is_single)
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
  PetscCall(product(domain_of_const(b), x, y, is_transposed, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void step_want_single(body *b, bool is_wanted) { domain_of(b)->tangent.wants_single = is_wanted; }

static PetscErrorCode step_tangent_single(const body *b, const double *x, double *y)
{
  PetscFunctionBeginUser;
  PetscCall(product(domain_of_const(b), x, y, false, true));
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
    for (int k = 0; k < 9; ++k) sum[9 * (int64_t)ghost->image + k] += ghost->sign[k / 3] * ghost->sign[k % 3] * sum[9 * (int64_t)ghost->dof + k];
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g->n_dofs; ++i)
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        out[9 * i + 3 * r + c] += (mpm_walls_held(&d->walls, i, r) || mpm_walls_held(&d->walls, i, c) ? 0.0 : sum[9 * i + 3 * r + c]) + (r == c ? g->mass[i] : 0.0);
  memory_free(&sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t step_followers(const body *b, const body_follower **follower)
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
  for (int i = 0; i < d->bodies.n; ++i) has_rotation |= d->bodies.materials[i]->law->step && d->bodies.materials[i]->law->step->has_rotation;
  if (!has_rotation) return false;
  memcpy(d->leading, on_all_nodes(d, v), (size_t)(3 * d->grid->n_dofs) * sizeof *v);
  d->grid->leading = d->leading;
  d->has_last_v    = false;
  return true;
}

static PetscErrorCode step_end(body *b, const double *v, step_verdict *verdict)
{
  mpm_domain   *d       = domain_of(b);
  const int64_t n_bytes = 3 * d->grid->n_dofs * (int64_t)sizeof *v;

  PetscFunctionBeginUser;
  SS_ASSERT(d->is_laid_out);
  const double *u = on_all_nodes(d, v);
  mpm_transfer_check_cfl(d->grid, d->bodies.n, d->bodies.particles, d->bodies.names, u, d->dt, verdict);
  /* Particles are only ever changed if all of them can be: a residual at this very v has shown that, or one does now. */
  if (verdict->code == STEP_OK && !(d->has_last_v && memcmp(v, d->last_v, (size_t)n_bytes) == 0))
    PetscCall(mpm_force_residual(d->grid, d->bodies.n, d->bodies.particles, d->bodies.materials, d->bodies.names, d->dt, u, d->internal, NULL, verdict));
  bool may_refuse = false;
  for (int i = 0; i < d->bodies.n; ++i) may_refuse |= material_may_refuse(d->bodies.materials[i]);
  if (may_refuse && verdict->code == STEP_OK)
    PetscCall(mpm_force_check(d->grid, d->bodies.particles, d->bodies.materials, d->bodies.names, d->dt, u, verdict));
  if (verdict->code != STEP_OK) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < d->bodies.n; ++i) d->marks[i] = (material_marks){0.0, 0.0};
  mpm_force_advance(d->grid, d->bodies.particles, d->bodies.materials, d->dt, u, d->marks);
  mpm_transfer_to_particles(d->grid, d->bodies.particles, d->transfer, u, d->dt);
  d->is_laid_out = d->has_tangent = d->has_last_v = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_totals(const body *b, const double gravity[3], body_totals *out)
{
  const mpm_domain *d = domain_of_const(b);
  double            sum[MPM_N_SUMS] = {0};

  PetscFunctionBeginUser;
  *out = (body_totals){0};
  for (int i = 0; i < d->bodies.n; ++i) {
    PetscCall(mpm_domain_add_totals(d, i, sum));
    out->overshoot = fmax(out->overshoot, d->marks[i].overshoot), out->turn = fmax(out->turn, d->marks[i].turn);
  }
  mpm_totals_from(sum, gravity, out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget(body *b)
{
  mpm_domain *d  = domain_of(b);
  d->is_laid_out = d->has_tangent = d->has_last_v = false;
}

static PetscErrorCode refresh(body *b, int index)
{
  const mpm_domain *d = domain_of_const(b);

  PetscFunctionBeginUser;
  PetscCall(mpm_derive(d->bodies.particles[index], d->bodies.materials[index]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const particle_carrier_ops mpm_carrier_ops = {.forget = forget, .refresh = refresh};

static PetscErrorCode step_fields(body *b, field_table *table)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_fields(&domain_of(b)->bodies, table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void step_destroy(body **b)
{
  mpm_domain_destroy((mpm_domain **)b);
}

static double step_length(const body *b) { return domain_of_const(b)->grid->h; }

const body_ops mpm_domain_ops = {.kind = "mpm",
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
