/* Where everything is in a step: the grid where particles are, and particles in its order. */
#include <math.h>
#include <string.h>
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_domain_impl.h"

/* Room for n entries, not kept. */
static PetscErrorCode renew(const char *tag, int64_t n, size_t size, void *out)
{
  PetscFunctionBeginUser;
  memory_free(out);
  PetscCall(memory_alloc(tag, n, size, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_sort_reserve(mac_domain *d, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= d->keys_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 8;
  d->keys_capacity       = 0;
  PetscCall(renew("mac sort", capacity, sizeof *d->key, &d->key));
  PetscCall(renew("mac sort", capacity, sizeof *d->key, &d->key_scratch));
  PetscCall(renew("mac sort", capacity, sizeof *d->order, &d->order));
  PetscCall(renew("mac sort", capacity, sizeof *d->order, &d->order_scratch));
  d->keys_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_inertial(const mac_domain *d)
{
  for (int b = 0; b < d->bodies.n; ++b)
    if (d->bodies.materials[b]->flow->is_inertial) return true;
  return false;
}

static PetscErrorCode reserve_slots(mac_domain *d)
{
  mac_state    *s = &d->state;
  const int64_t n = s->grid.n_slots;

  PetscFunctionBeginUser;
  if (n <= d->slots_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t capacity = n + n / 4;
  double **arrays[] = {&s->mass[0], &s->mass[1], &s->mass[2], &s->u[0], &s->u[1], &s->u[2], &s->rho, &s->rest_density, &s->friction,
                       &s->cohesion, &s->pressure,
                       /* only where asked for */
                       &s->old_u[0], &s->old_u[1], &s->old_u[2], &s->mu_i[0], &s->mu_i[1], &s->mu_i[2], &s->mu_i[3]};
  const bool has_flip = d->options->transfer == MAC_PIC_FLIP, has_mu_i = is_inertial(d);
  d->slots_capacity = 0;
  for (int a = 0; a < 18; ++a)
    if (a < 11 || (a < 14 ? has_flip : has_mu_i)) PetscCall(renew("mac grid", capacity, sizeof(double), arrays[a]));
  d->slots_capacity = capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Particles of one body by slot, and where each block begins. */
static PetscErrorCode sort_body(mac_domain *d, int b)
{
  const mac_grid *g = &d->state.grid;
  particles      *p = d->bodies.particles[b];
  const int64_t   n = p->n;

  PetscFunctionBeginUser;
  PetscCall(memory_reserve("mac blocks", g->n_blocks + 1, sizeof(int32_t), &d->start_capacity[b], &d->start[b]));
  PetscCall(memory_reserve("mac blocks", g->n_blocks, sizeof(int32_t), &d->tile_of_capacity[b], &d->tile_of[b]));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i)
    d->key[i] = (uint64_t)mac_grid_slot(g, mac_grid_index(g, 0, p->x[0][i]), mac_grid_index(g, 1, p->x[1][i]),
                                        mac_grid_index(g, 2, p->x[2][i]));
  sort_keys_with(n, 40, d->key, d->order, d->key_scratch, d->order_scratch);
  (void)particles_permute(p, d->order);
  int32_t *start = d->start[b];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i <= n; ++i) {
    const int64_t from = i > 0 ? (int64_t)(d->key[i - 1] / MAC_BLOCK) + 1 : 0,
                  to   = i < n ? (int64_t)(d->key[i] / MAC_BLOCK) : g->n_blocks;
    for (int64_t k = from; k <= to; ++k) start[k] = (int32_t)i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the state shows of the particles; they may have been permuted since. */
static void show_particles(mac_domain *d)
{
  for (int b = 0; b < d->bodies.n; ++b) {
    d->n[b] = d->bodies.particles[b]->n;
    memcpy(d->x[b], d->bodies.particles[b]->x, sizeof d->x[b]);
  }
  d->state.n_sets = d->bodies.n;
  d->state.n      = d->n;
  d->state.x      = (const double *const(*)[3])d->x;
}

static PetscErrorCode reserve_tiles(mac_domain *d)
{
  int64_t n = 0;

  PetscFunctionBeginUser;
  for (int b = 0; b < d->bodies.n; ++b)
    for (int64_t k = 0; k < d->state.grid.n_blocks; ++k) d->tile_of[b][k] = d->start[b][k] < d->start[b][k + 1] ? (int32_t)n++ : -1;
  if (n * MAC_TILE_DOUBLES > d->tiles_capacity) {
    d->tiles_capacity = 0;
    PetscCall(renew("mac tiles", (n + n / 4) * MAC_TILE_DOUBLES, sizeof(double), &d->tiles));
    d->tiles_capacity = (n + n / 4) * MAC_TILE_DOUBLES;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_layout(mac_domain *d)
{
  mac_state *s    = &d->state;
  int64_t    most = 0;

  PetscFunctionBeginUser;
  timer_begin(TIMER_SORT);
  show_particles(d);
  for (int b = 0; b < d->bodies.n; ++b) most = d->n[b] > most ? d->n[b] : most;
  /* Half a step, of cfl cells at most, leads to where velocities are looked up again. */
  const int reach = (int)ceil(0.5 * d->options->cfl) + 2;
  PetscCall(mac_grid_build(&s->grid, s->n_sets, s->n, s->x, reach > MAC_REACH ? reach : MAC_REACH));
  PetscCall(mac_sort_reserve(d, most));
  PetscCall(reserve_slots(d));
  for (int b = 0; b < d->bodies.n; ++b) PetscCall(sort_body(d, b));
  PetscCall(reserve_tiles(d));
  show_particles(d);
  timer_end(TIMER_SORT);
  PetscFunctionReturn(PETSC_SUCCESS);
}
