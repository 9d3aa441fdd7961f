#include "discretize/mpm/mpm_domain.h"
#include <stddef.h>
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/mpm/mpm_domain_impl.h"

/* ---------------------------------------------------------------- making ---------------------------------------------------------------- */

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
  d->bodies    = (particle_bodies){.carrier = &d->base, .ops = &mpm_carrier_ops, .with_affine = transfer.is_apic};
  v3_copy(d->gravity, gravity);
  PetscCall(mpm_grid_create(h, kernel, &d->grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_domain_destroy(mpm_domain **out)
{
  if (!*out) return;
  mpm_domain *d = *out;
  particle_bodies_free(&d->bodies);
  memory_free(&d->acceleration);
  memory_free(&d->marks);
  mpm_walls_free(&d->walls);
  memory_free(&d->external);
  memory_free(&d->masked);
  memory_free(&d->internal);
  memory_free(&d->last_v);
  memory_free(&d->leading);
  memory_free(&d->follower);
  mpm_tangent_free(&d->tangent);
  mpm_grid_destroy(&d->grid);
  memory_free(out);
}

body           *mpm_domain_body(mpm_domain *d) { return &d->base; }
int             mpm_domain_n_bodies(const mpm_domain *d) { return d->bodies.n; }
body           *mpm_domain_point_body(mpm_domain *d, int index) { return &d->bodies.body[index]->base; }
particles      *mpm_domain_particles(mpm_domain *d, int index) { return d->bodies.particles[index]; }
const mpm_grid *mpm_domain_grid(const mpm_domain *d) { return d->grid; }

PetscErrorCode mpm_domain_add_body(mpm_domain *d, const char *name, const material *m, const particle_seed *seed, int *index)
{
  const int n = d->bodies.n;

  PetscFunctionBeginUser;
  PetscCheck(m->law, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body %s: a rigid material cannot be an MPM body", name);
  PetscCall(memory_resize("mpm bodies", n + 1, sizeof *d->acceleration, &d->acceleration));
  PetscCall(memory_resize("mpm bodies", n + 1, sizeof *d->marks, &d->marks));
  d->marks[n] = (material_marks){0.0, 0.0};
  v3_set(d->acceleration[n], 0.0, 0.0, 0.0);
  PetscCall(particle_bodies_add(&d->bodies, &mpm_facade_ops, name, m, m->law, index));
  PetscCall(particle_bodies_emit(&d->bodies, n, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpm_domain_set_source(mpm_domain *d, int index, const particle_seed *seed, const particle_pour *schedule, level_set **spout)
{
  PetscFunctionBeginUser;
  PetscCall(particle_bodies_set_source(&d->bodies, index, seed, schedule, spout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool mpm_domain_has_source(const mpm_domain *d) { return particle_bodies_has_source(&d->bodies); }

PetscErrorCode mpm_domain_add_wall(mpm_domain *d, int axis, int side, double coordinate, mpm_wall_kind kind)
{
  PetscFunctionBeginUser;
  PetscCheck(axis >= 0 && axis < 3 && (side == -1 || side == 1), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "MPM wall: axis 0 to 2, side -1 or 1");
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

void mpm_domain_set_acceleration(mpm_domain *d, int index, const double a[3]) { v3_copy(d->acceleration[index], a); }

double mpm_domain_cfl_step(const mpm_domain *d)
{
  double fastest2 = 0.0;
  for (int b = 0; b < d->bodies.n; ++b) {
    const particles *p = d->bodies.particles[b];
#pragma omp parallel for schedule(static) reduction(max : fastest2)
    for (int64_t i = 0; i < p->n; ++i) {
      const double v2 = p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
      fastest2        = v2 > fastest2 ? v2 : fastest2;
    }
  }
  return fastest2 > 0.0 ? d->grid->h / sqrt(fastest2) : INFINITY;
}

void mpm_domain_memory(const mpm_domain *d, double *state, double *work)
{
  const mpm_grid *g = d->grid;
  double          n = 0.0, bytes = 0.0, solver = 0.0;
  for (int b = 0; b < d->bodies.n; ++b) {
    n += (double)d->bodies.particles[b]->n;
    bytes += particles_bytes(d->bodies.particles[b]) * (double)d->bodies.particles[b]->n;
    if (b < d->tangent.n_bodies) solver += 8.0 * MPM_TANGENT * (double)d->tangent.capacity[b];
  }
  bytes += 8.0 * (double)g->keys_capacity + 4.0 * (double)(g->orders_capacity + g->order_scratch_capacity);
  solver += 8.0 * (double)g->tiles_capacity + (double)g->blocks_capacity * (4.0 * BLOCK_NODES + 12.0) +
            (double)g->dofs_capacity * 36.0 + (double)g->clusters_capacity * sizeof(mpm_cluster) + 8.0 * 12.0 * (double)d->work_capacity;
  *state = n > 0.0 ? bytes / n : 0.0;
  *work  = n > 0.0 ? solver / n : 0.0;
}

/* ---------------------------------------------------------------- sums ---------------------------------------------------------------- */

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
    const int64_t at = first + i;
    const double  spin[3] = {s->inertia * (p->C[7][at] - p->C[5][at]), s->inertia * (p->C[2][at] - p->C[6][at]),
                             s->inertia * (p->C[3][at] - p->C[1][at])};
    double        c2 = 0.0;
    for (int k = 0; k < 9; ++k) c2 += p->C[k][at] * p->C[k][at];
    particle_sum_one(p, at, spin, s->inertia * c2, sum);
    sum[MPM_SUM_ELASTIC] += p->volume[at] * psi[i];
  }
}

static void sum_chunk(const void *context, const particles *p, int64_t first, int64_t n, double *sum)
{
  for (int64_t i = 0; i < n; i += MATERIAL_BATCH)
    sum_batch(context, p, first + i, n - i < MATERIAL_BATCH ? n - i : MATERIAL_BATCH, sum);
}

PetscErrorCode mpm_domain_add_totals(const mpm_domain *d, int b, double *sum)
{
  const summing s = {d->bodies.materials[b], d->transfer.is_apic ? kernel_inertia(d->grid->kernel, d->grid->h) : 0.0};

  PetscFunctionBeginUser;
  PetscCall(particle_sums_add(d->bodies.particles[b], MPM_N_SUMS, sum_chunk, &s, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mpm_totals_from(const double *sum, const double gravity[3], body_totals *out)
{
  particle_totals_from(sum, gravity, out);
  out->elastic = sum[MPM_SUM_ELASTIC];
}

bool mpm_domain_is_projected(const body *b)
{
  bool is = false;
  if (b->ops != &mpm_domain_ops) return false;
  const mpm_domain *d = (const mpm_domain *)b;
  for (int i = 0; i < d->bodies.n; ++i) is |= !(d->bodies.materials[i]->law->step && d->bodies.materials[i]->law->step->is_convex);
  return is;
}
