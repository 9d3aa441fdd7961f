/* Implementation of mac_body.h: job keys, and creation of bodies and of their domain. */
#include "discretize/mac/mac_body.h"
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/mac/mac_transfer.h"
#include "discretize/particles/particle_fill.h"

/* --- shared grid ----------------------------------------------------------------------------------------------------- */

static const char axes[] = "xyz";

/* Largest number of cells along one axis that the stored indices can represent. */
static const double MOST_CELLS = 1e6;

static void check_axis(const mac_options *o, int a, const document_node *node, diagnostics *d)
{
  const double edge = o->domain->max[a] - o->domain->min[a], cells = edge / o->spacing;
  const int   *side = o->walls->side[a];
  if (!(edge > 0.0)) {
    diagnostics_add_under(d, node, "mac", "domain", "max is not above min along %c; increase max", axes[a]);
    return;
  }
  if (cells > MOST_CELLS)
    diagnostics_add_under(d, node, "mac", "spacing", "gives %.3g cells along %c: expected at most %g; increase it", cells, axes[a],
                          MOST_CELLS);
  else if (fabs(cells - nearbyint(cells)) > 1e-6 * cells)
    diagnostics_add_under(d, node, "mac", "spacing",
                          "%g m does not divide the domain along %c, %g m: it gives %.6g cells; expected a whole number", o->spacing,
                          axes[a], edge, cells);
  if ((side[0] == MAC_WALL_PERIODIC) != (side[1] == MAC_WALL_PERIODIC))
    diagnostics_add_under(d, node, "mac", "walls", "is periodic on only one side of %c: make both sides periodic or none", axes[a]);
  else if (side[0] == MAC_WALL_PERIODIC && (long long)nearbyint(cells) % MAC_SIDE != 0)
    diagnostics_add_under(d, node, "mac", "walls", "is periodic along %c, where the domain has %g cells: expected a multiple of %d",
                          axes[a], nearbyint(cells), MAC_SIDE);
}

static PetscErrorCode ensure_domain(const body_request *r, body_world *world, diagnostics *d)
{
  PetscFunctionBegin;
  const mac_options   *o      = world->mac_options;
  const document_node *node   = document_find(world->job, "mac");
  const int            before = diagnostics_count(d);
  if (world->mac) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("mac world", 1, sizeof *world->mac, &world->mac));
  if (!o || !node) {
    diagnostics_add(d, r->node->mark, r->path,
                    "is of kind mac, which needs a grid: give mac: {domain: {min: ..., max: ...}, spacing: ...}");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int a = 0; a < 3; ++a) check_axis(o, a, node, d);
  if (isfinite(o->wall_friction)) {
    bool has_rough = false;
    for (int k = 0; k < 6; ++k) has_rough = has_rough || o->walls->side[k / 2][k % 2] == MAC_WALL_ROUGH;
    if (!has_rough) diagnostics_add_under(d, node, "mac", "wall_friction", "has no effect without rough walls; remove it");
  }
  if (diagnostics_count(d) > before) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode code = mac_domain_create(o, world->gravity, &world->mac->domain);
  if (code) {
    mac_domain_destroy(&world->mac->domain);
    if (!diagnostics_take(d, node, "mac", "spacing", code)) PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void mac_release(body_world *world)
{
  if (!world->mac) return;
  mac_domain_destroy(&world->mac->domain);
  MEMORY_FREE(&world->mac->origins.x, &world->mac);
}

/* --- one body -------------------------------------------------------------------------------------------------------- */

static void check_inside(const body_request *r, const mac_grid *g, const particle_seed *seed, diagnostics *d)
{
  for (int64_t i = 0; i < seed->n; ++i)
    for (int a = 0; a < 3; ++a) {
      const double x = seed->x[3 * i + a], low = g->min[a], high = g->min[a] + g->h * g->n[a];
      if (x >= low && x <= high) continue;
      diagnostics_add_under(
          d, r->node, r->path, "shape",
          "extends beyond mac.domain: one of its particles is at %c = %g m, outside %g ... %g m; enlarge the domain or move the shape",
          axes[a], x, low, high);
      return;
    }
}

static PetscErrorCode mac_create(const body_request *r, body_world *world, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  const mac_body_spec *spec   = r->spec;
  const int            before = diagnostics_count(d);
  particle_fill        fill;
  int                  index;
  *out = NULL;
  PetscCall(ensure_domain(r, world, d));
  mac_domain *domain = world->mac->domain;
  if (!r->material || !domain) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(particle_fill_create(r, world, world->mac_options->spacing, domain->state.grid.min, d, &fill));
  if (fill.seed.n > 0) check_inside(r, &domain->state.grid, &fill.seed, d);
  if (fill.seed.n > 0 && diagnostics_count(d) == before) {
    const particle_seed start = particle_fill_at_start(&fill, &spec->fill);
    PetscCall(mac_domain_add_body(domain, r->name, r->material, &start, &index));
    PetscCall(particle_fill_finish(r, &fill, &domain->bodies, index, d, out));
  }
  particle_fill_free(&fill);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- checks across all bodies ---------------------------------------------------------------------------------------- */

/* A cell is filled twice if two bodies each have this share of their particles per cell in it. */
static const double FILLED = 0.75;

static double least_filled(const mac_domain *d, int b)
{
  const particles *p = d->bodies.particles[b];
  return p->n > 0 ? FILLED * d->bodies.materials[b]->density * pow(d->state.grid.h, 3) / p->mass[0] : INFINITY;
}

static int64_t cell_of(const mac_grid *g, const particles *p, int64_t i)
{
  int64_t at = 0;
  for (int a = 0; a < 3; ++a) at = at * g->n[a] + mac_grid_index(g, a, p->x[a][i]);
  return at;
}

/* The first two bodies that fill the same cells, and the number of these cells. */
static PetscErrorCode count_overlaps(const mac_domain *d, int pair[2], int64_t *n_cells)
{
  int64_t   n = 0, k = 0;
  uint64_t *key;
  int32_t  *order, *owner;
  double   *count;

  PetscFunctionBegin;
  *n_cells = 0;
  for (int b = 0; b < d->bodies.n; ++b) n += d->bodies.particles[b]->n;
  PetscCall(MEMORY_ALLOC("cells of particles", ARRAY(key, n), ARRAY(order, n), ARRAY(owner, n), ARRAY(count, d->bodies.n)));
  for (int b = 0; b < d->bodies.n; ++b)
    for (int64_t i = 0; i < d->bodies.particles[b]->n; ++i, ++k)
      key[k] = (uint64_t)cell_of(&d->state.grid, d->bodies.particles[b], i), owner[k] = b;
  PetscCall(sort_keys(n, 62, key, order));
  for (int64_t i = 0, end; i < n; i = end) {
    int filled[2] = {-1, -1}, n_filled = 0;
    for (int b = 0; b < d->bodies.n; ++b) count[b] = 0.0;
    for (end = i; end < n && key[end] == key[i]; ++end) ++count[owner[order[end]]];
    for (int b = 0; b < d->bodies.n; ++b)
      if (count[b] >= least_filled(d, b) && n_filled < 2) filled[n_filled++] = b;
    if (n_filled < 2 || (*n_cells > 0 && (filled[0] != pair[0] || filled[1] != pair[1]))) continue;
    pair[0] = filled[0], pair[1] = filled[1];
    ++*n_cells;
  }
  MEMORY_FREE(&key, &order, &owner, &count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mac_finish(body_world *world, diagnostics *d)
{
  PetscFunctionBegin;
  mac_world *w = world->mac;
  int        pair[2];
  int64_t    n_cells;
  if (!w || !w->domain || diagnostics_count(d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(count_overlaps(w->domain, pair, &n_cells));
  if (n_cells > 0)
    diagnostics_add(d, world->job->mark, "bodies",
                    "\"%s\" and \"%s\" overlap: %lld cells are full of particles of both; move one, or subtract its shape from the other",
                    w->domain->bodies.names[pair[0]], w->domain->bodies.names[pair[1]], (long long)n_cells);
  if (world->keeps_origins && particle_bodies_has_source(&w->domain->bodies))
    diagnostics_add(d, document_find(world->job, "mac")->mark, "mac", "initial positions (expected) cannot be used with pour");
  if (world->keeps_origins && !diagnostics_count(d))
    PetscCall(particle_origins_create(w->domain->bodies.n, w->domain->bodies.particles, &w->origins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const body_kind mac_body_kind = {.name     = "mac",
                                 .keys     = &mac_body_table,
                                 .ops      = &mac_body_ops,
                                 .material = BODY_MATERIAL_FLOWS,
                                 .create   = mac_create,
                                 .finish   = mac_finish,
                                 .release  = mac_release};
