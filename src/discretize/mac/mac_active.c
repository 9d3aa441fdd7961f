/* Which cells and faces take part, and how edges and cells weigh. */
#include "core/memory.h"
#include "discretize/mac/mac_system_internal.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double SCALED_FROM  = 0.03,
                    OBLIQUE_FROM = 0.004; /* see mac_system.h: difference of W_S; sum of n_a^2 n_b^2, that of 4 degrees */

static bool has_open_face(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  for (int a = 0; a < 3; ++a) {
    const int64_t upper = tile[place + mac_step[a]];
    if (c->y->weights.face_fluid[a][slot] > 0.0 || (upper >= 0 && c->y->weights.face_fluid[a][upper] > 0.0)) return true;
  }
  return false;
}

static bool is_active(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  const mac_weights *w = &c->y->weights;
  if (!(w->cell_liquid[slot] > c->o->cell_fill)) return false;
  const double rest = c->s->rest_density[slot], dense = (rest > 0.0 ? c->s->rho[slot] / rest : 0.0) + 1.0 - w->cell_fluid[slot];
  return (c->has_ghosts || dense > c->o->density_threshold) && has_open_face(c, slot, tile, place);
}

static int64_t add_up(int64_t n, int64_t *count)
{
  int64_t sum = 0;
  for (int64_t b = 0; b <= n; ++b) {
    const int64_t here = b < n ? count[b] : 0;
    count[b] = sum, sum += here;
  }
  return sum;
}

/* Material constants of an active cell. One in a solid has those of the material around it; but it does not hold that together. */
static void put_constants(const mac_assembly *c, int64_t slot, int64_t i)
{
  const mac_state *s = c->s;
  mac_system      *y = c->y;
  const bool       is_solid = !(y->weights.cell_fluid[slot] > 0.0);
  double           friction = 0.0, density = 0.0;
  int              n = 0;
  y->friction[i] = s->friction[slot], y->rest_density[i] = s->rest_density[slot],
  y->cohesion[i] = is_solid ? 0.0 : s->cohesion[slot];
  if (!is_solid) return;
  for (int q = 0; q < 27 && !(s->rest_density[slot] > 0.0); ++q) {
    const int32_t *at = y->ijk[i];
    const int64_t  other = mac_grid_slot(c->g, at[0] + q / 9 - 1, at[1] + q / 3 % 3 - 1, at[2] + q % 3 - 1);
    if (other >= 0 && s->rest_density[other] > 0.0) friction += s->friction[other], density += s->rest_density[other], ++n;
  }
  if (n) y->friction[i] = friction / n, y->rest_density[i] = density / n;
  if (c->o->edge_weights == MAC_EDGES_PLAIN) y->friction[i] = 0.0;
}

static PetscErrorCode number_cells(mac_assembly *c)
{
  const mac_grid *g = c->g;
  mac_system     *y = c->y;
  int64_t        *count = y->block_count[0];
  PetscFunctionBegin;
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t tile[MAC_TILE];
    mac_grid_tile(g, b, tile);
    count[b] = 0;
    for (int l = 0; l < MAC_BLOCK; ++l) {
      const int64_t slot = b * MAC_BLOCK + l;
      int32_t       ijk[3];
      mac_grid_cell(g, slot, ijk);
      const bool on   = mac_grid_is_inside(g, ijk) && is_active(c, slot, tile, mac_grid_tile_place(l));
      y->cell_of[slot] = on ? 0 : -1;
      count[b] += on;
    }
  }
  y->n_cells = add_up(g->n_blocks, count);
  PetscCheck(y->n_cells < INT32_MAX / MAC_STRESSES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%" PRId64 " active cells are more than can be numbered", y->n_cells);
  PetscCall(memory_reserve("active cells", y->n_cells, sizeof *y->cell_slot, &y->capacity[0], &y->cell_slot));
  PetscCall(memory_reserve("active cells", y->n_cells, sizeof *y->ijk, &y->capacity[1], &y->ijk));
  PetscCall(memory_reserve("friction of cells", y->n_cells, sizeof *y->friction, &y->capacity[2], &y->friction));
  PetscCall(memory_reserve("cohesion of cells", y->n_cells, sizeof *y->cohesion, &y->capacity[3], &y->cohesion));
  PetscCall(memory_reserve("density of cells", y->n_cells, sizeof *y->rest_density, &y->capacity[4], &y->rest_density));
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t i = count[b];
    for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
      if (y->cell_of[slot] < 0) continue;
      y->cell_of[slot] = (int32_t)i, y->cell_slot[i] = slot;
      mac_grid_cell(g, slot, y->ijk[i]);
      put_constants(c, slot, i++);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much of the material's shear stress gets through where the bound is mu instead of M. */
static double admitted(double mu, double friction) { return mu < friction ? mu / friction : 1.0; }

static double share_of_face(const mac_assembly *c, int32_t solid, int64_t slot, int axis)
{
  const mac_share *s = slot < 0 ? NULL : mac_weights_share(&c->y->weights, slot / MAC_BLOCK, solid);
  return s ? s->face[axis][slot % MAC_BLOCK] : 0.0;
}

/* What friction of solids below M leaves of the stress at an edge between axes a and b. */
static double scale_of_solids(const mac_assembly *c, int64_t block, const int64_t *tile, int place, int a, int b, double friction)
{
  const mac_weights *w = &c->y->weights;
  double             scale = 1.0;
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q) {
    const int32_t r = w->share[q].solid;
    if (!(c->solids[r].friction < friction)) continue;
    const double da = fabs(share_of_face(c, r, tile[place], a) - share_of_face(c, r, tile[place - mac_step[b]], a)),
                 db = fabs(share_of_face(c, r, tile[place], b) - share_of_face(c, r, tile[place - mac_step[a]], b));
    const double difference = (da > db ? da : db) / SCALED_FROM, least = admitted(c->solids[r].friction, friction);
    const double here = difference < 1.0 ? 1.0 - difference * (1.0 - least) : least;
    if (here < scale) scale = here;
  }
  return scale;
}

/* The four cells around an edge: cell, its lower neighbours along a and b. What they are, and what that makes of the edge. */
static double weight_of_edge(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  const mac_grid   *g = c->g;
  const mac_system *y = c->y;
  const int         a = (axis + 1) % 3, b = (axis + 2) % 3,
            at[4] = {place, place - mac_step[a], place - mac_step[b], place - mac_step[a] - mac_step[b]};
  int32_t           ijk[3];
  double            sum = 0.0, friction = 0.0, scale = 1.0;
  int               n = 0, air = 0; /* a bit for each cell that is neither solid nor continuum */
  bool              is_rough = false;
  mac_grid_cell(g, slot, ijk);
  for (int q = 0; q < 4; ++q) {
    mac_wall beyond = MAC_WALL_PERIODIC; /* none */
    for (int e = 0; e < 2; ++e) {
      const int     d = e ? b : a;
      const int32_t i = ijk[d] - (e ? q >> 1 : q & 1);
      if (!mac_grid_is_periodic(g, d) && (i < 0 || i >= g->n[d])) beyond = g->wall[d][i >= g->n[d]];
      if (beyond == MAC_WALL_SMOOTH || beyond == MAC_WALL_OPEN) return 0.0;
      is_rough = is_rough || beyond == MAC_WALL_ROUGH;
    }
    const int64_t cell = tile[at[q]];
    if (beyond != MAC_WALL_PERIODIC) continue;
    const bool   is_on = cell >= 0 && y->cell_of[cell] >= 0;
    const double fluid = cell >= 0 ? y->weights.cell_fluid[cell] : 1.0;
    sum += is_on ? 1.0 : fluid;
    air |= (!is_on && fluid > 0.0) << q;
    if (is_on && y->friction[y->cell_of[cell]] > 0.0) friction += y->friction[y->cell_of[cell]], ++n;
  }
  if (!n || (air & 5) == 5 || (air & 10) == 10 || (air & 3) == 3 || (air & 12) == 12)
    return 0.0; /* a surface: nothing drags at it from beyond */
  friction /= n;
  if (is_rough && c->o->wall_friction < friction) scale = admitted(c->o->wall_friction, friction); /* NaN: no */
  const double solids = scale_of_solids(c, slot / MAC_BLOCK, tile, place, a, b, friction);
  if (solids < scale) scale = solids;
  const double norm = c->o->edge_weights == MAC_EDGES_PLAIN ? 4.0 : sum;
  return y->weights.edge_liquid[axis][slot] * scale / norm * (c->o->arrangement == MAC_STAGGERED ? n : 1);
}

/* Weight of normal stresses: W_L, and what friction of solids with an oblique surface leaves of it. */
static double weight_of_normals(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  const mac_weights *w = &c->y->weights;
  const int64_t      block = slot / MAC_BLOCK;
  const double       own = c->y->friction[c->y->cell_of[slot]];
  double             scale = 1.0;
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q) {
    const int32_t r = w->share[q].solid;
    double        d[3], square[3], sum = 0.0, most = 0.0;
    if (!(c->solids[r].friction < own)) continue;
    for (int a = 0; a < 3; ++a) {
      d[a]      = share_of_face(c, r, tile[place + mac_step[a]], a) - share_of_face(c, r, tile[place], a);
      square[a] = d[a] * d[a], sum += square[a];
      if (fabs(d[a]) > most) most = fabs(d[a]);
    }
    if (!(sum > 0.0)) continue;
    const double oblique = (square[0] * square[1] + square[1] * square[2] + square[2] * square[0]) / (sum * sum) / OBLIQUE_FROM,
                 difference = most / SCALED_FROM, least = admitted(c->solids[r].friction, own);
    const double here = 1.0 - (difference < 1.0 ? difference : 1.0) * (oblique < 1.0 ? oblique : 1.0) * (1.0 - least);
    if (here < scale) scale = here;
  }
  return w->cell_liquid[slot] * scale;
}

static void weigh(mac_assembly *c)
{
  mac_system *y = c->y;
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < c->g->n_blocks; ++b) {
    int64_t tile[MAC_TILE];
    mac_grid_tile(c->g, b, tile);
    for (int l = 0; l < MAC_BLOCK; ++l) {
      const int64_t slot  = b * MAC_BLOCK + l;
      const int     place = mac_grid_tile_place(l);
      for (int o = 0; o < 3; ++o)
        y->edge_weight[o][slot] = y->weights.edge_liquid[o][slot] > c->o->cell_fill && tile[place] == slot
                                      ? weight_of_edge(c, slot, tile, place, o)
                                      : 0.0;
      y->normal_weight[slot] = y->cell_of[slot] < 0 ? 0.0 : weight_of_normals(c, slot, tile, place);
    }
  }
}

/* Whether pressure or stress acts on the lower face of a cell. */
static bool is_pushed(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  const mac_system *y = c->y;
  const int64_t     lower = tile[place - mac_step[axis]];
  if (y->cell_of[slot] >= 0 || (lower >= 0 && y->cell_of[lower] >= 0)) return true;
  for (int e = 1; e < 3 && y->n_stress; ++e) {
    const int     o = (axis + e) % 3, b = 3 - axis - o;
    const int64_t next = tile[place + mac_step[b]];
    if (y->edge_weight[o][slot] > 0.0 || (next >= 0 && y->edge_weight[o][next] > 0.0)) return true;
  }
  return false;
}

static PetscErrorCode number_faces(mac_assembly *c)
{
  const mac_grid *g = c->g;
  mac_system     *y = c->y;
  int64_t        *count = y->block_count[0];
  PetscFunctionBegin;
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t tile[MAC_TILE];
    mac_grid_tile(g, b, tile);
    count[b] = 0;
    for (int l = 0; l < MAC_BLOCK; ++l)
      for (int a = 0; a < 3; ++a) {
        const int64_t slot  = b * MAC_BLOCK + l;
        const int     place = mac_grid_tile_place(l);
        const bool    on    = tile[place] == slot && y->weights.face_fluid[a][slot] > 0.0 && mac_grid_has_face(g, a, slot) &&
                        is_pushed(c, slot, tile, place, a);
        y->face_of[a][slot] = on ? 0 : -1;
        count[b] += on;
      }
  }
  y->n_faces = add_up(g->n_blocks, count);
  PetscCall(memory_reserve("unknown faces", y->n_faces, sizeof *y->face_slot, &y->capacity[5], &y->face_slot));
  PetscCall(memory_reserve("unknown faces", y->n_faces, sizeof *y->face_axis, &y->capacity[6], &y->face_axis));
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t f = count[b];
    for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot)
      for (int a = 0; a < 3; ++a)
        if (y->face_of[a][slot] >= 0) y->face_of[a][slot] = (int32_t)f, y->face_slot[f] = slot, y->face_axis[f++] = (uint8_t)a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the edge has a sample of its own: by the mean density of its cells, solid counting as dense. */
static bool is_active_edge(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  if (!(c->y->edge_weight[axis][slot] > 0.0)) return false;
  const int a = mac_step[(axis + 1) % 3], b = mac_step[(axis + 2) % 3], at[4] = {place, place - a, place - b, place - a - b};
  double    dense = 0.0;
  int       n = 0;
  for (int q = 0; q < 4; ++q) {
    const int64_t cell = tile[at[q]];
    if (cell < 0) continue;
    const double rest = c->s->rest_density[cell];
    dense += (rest > 0.0 ? c->s->rho[cell] / rest : 0.0) + 1.0 - c->y->weights.cell_fluid[cell], ++n;
  }
  return c->has_ghosts || dense > n * c->o->density_threshold;
}

static PetscErrorCode reserve_stresses(mac_system *y)
{
  PetscFunctionBegin;
  PetscCall(memory_reserve("stress samples", y->n_stress, sizeof *y->component, &y->capacity[18], &y->component));
  PetscCall(memory_reserve("stress samples", y->n_stress, sizeof *y->sample_cells, &y->capacity[19], &y->sample_cells));
  PetscCall(memory_reserve("stress samples", y->n_stress, sizeof *y->stress_slot, &y->capacity[20], &y->stress_slot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode number_colocated(mac_system *y)
{
  PetscFunctionBegin;
  y->n_stress = MAC_STRESSES * y->n_cells;
  PetscCall(reserve_stresses(y));
  #pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < y->n_stress; ++i) {
    y->component[i]   = (uint8_t)(i % MAC_STRESSES);
    y->stress_slot[i] = y->cell_slot[i / MAC_STRESSES];
    y->sample_cells[i][0] = (int32_t)(i / MAC_STRESSES);
    for (int q = 1; q < 4; ++q) y->sample_cells[i][q] = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void put_sample(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int component, int64_t i)
{
  mac_system *y = c->y;
  int         n = 0;
  y->component[i] = (uint8_t)component, y->stress_slot[i] = slot;
  for (int q = 0; q < 4; ++q) y->sample_cells[i][q] = -1;
  if (component < 2) {
    y->sample_cells[i][0] = y->cell_of[slot];
    return;
  }
  const int axis = mac_component_axis(component), a = mac_step[(axis + 1) % 3], b = mac_step[(axis + 2) % 3],
            at[4] = {place, place - a, place - b, place - a - b};
  for (int q = 0; q < 4; ++q) {
    const int64_t cell = tile[at[q]];
    if (cell >= 0 && y->cell_of[cell] >= 0 && y->friction[y->cell_of[cell]] > 0.0) y->sample_cells[i][n++] = y->cell_of[cell];
  }
}

/* Normal components at active cells, shear components at edges: by slot, then component. */
static PetscErrorCode number_staggered(mac_assembly *c)
{
  const mac_grid *g = c->g;
  mac_system     *y = c->y;
  int64_t        *count = y->block_count[0];
  PetscFunctionBegin;
  for (int pass = 0; pass < 2; ++pass) {
    #pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < g->n_blocks; ++b) {
      int64_t tile[MAC_TILE], i = pass ? count[b] : 0;
      mac_grid_tile(g, b, tile);
      for (int l = 0; l < MAC_BLOCK; ++l)
        for (int m = 0; m < MAC_STRESSES; ++m) {
          const int64_t slot  = b * MAC_BLOCK + l;
          const int     place = mac_grid_tile_place(l);
          if (!(m < 2 ? y->cell_of[slot] >= 0 : is_active_edge(c, slot, tile, place, mac_component_axis(m)))) continue;
          if (pass) put_sample(c, slot, tile, place, m, i);
          ++i;
        }
      if (!pass) count[b] = i;
    }
    if (pass) break;
    y->n_stress = add_up(g->n_blocks, count);
    PetscCall(reserve_stresses(y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_active_reserve(mac_assembly *c)
{
  const int64_t n = c->g->n_slots;
  mac_system   *y = c->y;
  PetscFunctionBegin;
  PetscCall(memory_reserve("cells of slots", n, sizeof *y->cell_of, &y->capacity[7], &y->cell_of));
  PetscCall(memory_reserve("weights of normal stress", n, sizeof *y->normal_weight, &y->capacity[8], &y->normal_weight));
  for (int a = 0; a < 3; ++a) {
    PetscCall(memory_reserve("faces of slots", n, sizeof *y->face_of[a], &y->capacity[9 + a], &y->face_of[a]));
    PetscCall(memory_reserve("weights of edges", n, sizeof *y->edge_weight[a], &y->capacity[12 + a], &y->edge_weight[a]));
    PetscCall(memory_reserve("counts of blocks", c->g->n_blocks + 1, sizeof *y->block_count[a], &y->capacity[15 + a],
                             &y->block_count[a]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_active_find(mac_assembly *c)
{
  mac_system *y = c->y;
  double      friction = 0.0;
  PetscFunctionBegin;
  PetscCall(number_cells(c));
  for (int64_t i = 0; i < y->n_cells; ++i)
    if (y->friction[i] > friction) friction = y->friction[i];
  y->n_stress = 0;
  if (friction > 0.0) {
    weigh(c);
    if (c->o->arrangement == MAC_STAGGERED) PetscCall(number_staggered(c));
    else PetscCall(number_colocated(y));
  }
  PetscCall(number_faces(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
