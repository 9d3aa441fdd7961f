/* Implementation of mac_system.h: numbering and assembly of the operators of a step. */
#include "core/memory.h"
#include "discretize/body/body_stages.h"
#include "discretize/mac/mac_velocity.h"
#include "discretize/mac/mac_system.h"
#include <math.h>
#include <omp.h>
#include <string.h>
#include "core/math3.h"
#include "core/team.h"
#include "core/timer.h"

/* DENSITY_FLOOR times FACE_FILL is the smallest mass of a face that pressure accelerates, relative to a full face; with fractions: area, FACE_FILL is
 * the smallest share of a face's volume that counts as filled. Lower values make the pressure system ill-conditioned. */
#define DENSITY_FLOOR 0.4
#define FACE_FILL 0.05
/* Smallest distance of the surface from a cell's centre, in grid spacings: the ghost fluid coefficients grow with its inverse. */
#define GHOST_FRACTION 0.05
/* Radius, in grid spacings, of the spheres whose union is the continuum, for particles_per_cell: 8; not used for the surface with ghost values. */
#define PARTICLE_RADIUS 0.62

/* Data shared by the stages of mac_system_assemble. */

typedef struct {
  const mac_grid    *g;
  const mac_state   *s;
  const mac_options *o;
  const mac_solid   *solids;
  int                n_solids;
  bool               has_ghosts; /* ghost values at the surface of a liquid */
  mac_system        *y;
} mac_assembly;

/* The entry of a row at one lower face; not 0. */
typedef struct {
  int64_t slot;
  int     axis;
  double  value;
} mac_entry;
enum { MAC_ROW = 12 };
typedef struct {
  int       n;
  mac_entry entry[MAC_ROW]; /* in any order */
} mac_row;

/* Location of a sample: its cell, or the cell of its edge in the staggered arrangement. */
typedef struct {
  int64_t        slot;
  const int64_t *tile;
  int            place;
} mac_place;

/* Axis along which the edge of a shear component lies: xy, xz, yz -> z, y, x. */
static inline int mac_component_axis(int component) { return 4 - component; }

/* --- active cells, unknown faces, stress samples, and the weights of edges and cells ----------------------------------------- */

static const double SCALED_FROM  = 0.03,
                    OBLIQUE_FROM = 0.004; /* see mac_system.h: threshold of the difference of W_S; threshold of sum of n_a^2
                                             n_b^2, reached at an angle of 4 degrees */

static bool has_open_face(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  for (int a = 0; a < 3; ++a) {
    const int64_t upper = tile[place + mac_tile_stride[a]];
    if (c->y->weights.face_fluid[a][slot] > 0.0 || (upper >= 0 && c->y->weights.face_fluid[a][upper] > 0.0)) return true;
  }
  return false;
}

static bool is_active(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  const mac_weights *w = &c->y->weights;
  if (!(w->cell_liquid[slot] > MAC_CELL_FILL)) return false;
  const double rest = c->s->rest_density[slot], dense = (rest > 0.0 ? c->s->rho[slot] / rest : 0.0) + 1.0 - w->cell_fluid[slot];
  return (c->has_ghosts || dense > MAC_DENSITY_THRESHOLD) && has_open_face(c, slot, tile, place);
}

static int64_t prefix_sum(int64_t n, int64_t *count)
{
  int64_t sum = 0;
  for (int64_t b = 0; b <= n; ++b) {
    const int64_t here = b < n ? count[b] : 0;
    count[b]           = sum, sum += here;
  }
  return sum;
}

/* Material constants of an active cell. A cell in a solid has those of the material around it, but no cohesion. */
static void set_material_constants(const mac_assembly *c, int64_t slot, int64_t i)
{
  const mac_state *s        = c->s;
  mac_system      *y        = c->y;
  const bool       is_solid = !(y->weights.cell_fluid[slot] > 0.0);
  double           friction = 0.0, density = 0.0;
  int              n = 0;
  y->friction[i] = s->friction[slot], y->rest_density[i] = s->rest_density[slot], y->cohesion[i] = is_solid ? 0.0 : s->cohesion[slot];
  if (!is_solid) return;
  for (int q = 0; q < 27 && !(s->rest_density[slot] > 0.0); ++q) {
    const int32_t *at    = y->ijk[i];
    const int64_t  other = mac_grid_slot(c->g, at[0] + q / 9 - 1, at[1] + q / 3 % 3 - 1, at[2] + q % 3 - 1);
    if (other >= 0 && s->rest_density[other] > 0.0) friction += s->friction[other], density += s->rest_density[other], ++n;
  }
  if (n) y->friction[i] = friction / n, y->rest_density[i] = density / n;
}

static PetscErrorCode number_cells(mac_assembly *c)
{
  const mac_grid *g     = c->g;
  mac_system     *y     = c->y;
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
      const bool on    = mac_grid_is_inside(g, ijk) && is_active(c, slot, tile, mac_grid_tile_place(l));
      y->cell_of[slot] = on ? 0 : -1;
      count[b] += on;
    }
  }
  y->n_cells = prefix_sum(g->n_blocks, count);
  PetscCheck(y->n_cells < INT32_MAX / MAC_STRESSES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "%" PRId64 " active cells exceed the range of 32-bit indices; use larger cells", y->n_cells);
  PetscCall(MEMORY_RESERVE("active cells", y->n_cells, &y->cells_capacity, ARRAY(y->cell_slot, 1), ARRAY(y->ijk, 1), ARRAY(y->friction, 1),
                           ARRAY(y->cohesion, 1), ARRAY(y->rest_density, 1)));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t i = count[b];
    for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot) {
      if (y->cell_of[slot] < 0) continue;
      y->cell_of[slot] = (int32_t)i, y->cell_slot[i] = slot;
      mac_grid_cell(g, slot, y->ijk[i]);
      set_material_constants(c, slot, i++);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factor on the material's shear stress if the bound is mu instead of M. */
static double shear_factor(double mu, double friction) { return mu < friction ? mu / friction : 1.0; }

static double share_of_face(const mac_assembly *c, int32_t solid, int64_t slot, int axis)
{
  const mac_share *s = slot < 0 ? NULL : mac_weights_share(&c->y->weights, slot / MAC_BLOCK, solid);
  return s ? s->face[axis][slot % MAC_BLOCK] : 0.0;
}

/* Factor on the stress at an edge between axes a and b from solids with friction below M. */
static double scale_of_solids(const mac_assembly *c, int64_t block, const int64_t *tile, int place, int a, int b, double friction)
{
  const mac_weights *w     = &c->y->weights;
  double             scale = 1.0;
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q) {
    const int32_t r = w->share[q].solid;
    if (!(c->solids[r].friction < friction)) continue;
    const double da         = fabs(share_of_face(c, r, tile[place], a) - share_of_face(c, r, tile[place - mac_tile_stride[b]], a)),
                 db         = fabs(share_of_face(c, r, tile[place], b) - share_of_face(c, r, tile[place - mac_tile_stride[a]], b));
    const double difference = (da > db ? da : db) / SCALED_FROM, least = shear_factor(c->solids[r].friction, friction);
    const double here = difference < 1.0 ? 1.0 - difference * (1.0 - least) : least;
    if (here < scale) scale = here;
  }
  return scale;
}

/* Weight of an edge from the four cells around it: the cell and its lower neighbours along a and b. */
static double weight_of_edge(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  const mac_grid   *g = c->g;
  const mac_system *y = c->y;
  const int         a = (axis + 1) % 3, b = (axis + 2) % 3,
            at[4] = {place, place - mac_tile_stride[a], place - mac_tile_stride[b], place - mac_tile_stride[a] - mac_tile_stride[b]};
  int32_t ijk[3];
  double  sum = 0.0, friction = 0.0, scale = 1.0;
  int     n = 0, air = 0; /* one bit per cell that is neither solid nor continuum */
  bool    is_rough = false;
  mac_grid_cell(g, slot, ijk);
  for (int q = 0; q < 4; ++q) {
    mac_wall beyond = MAC_WALL_PERIODIC; /* no wall */
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
    return 0.0; /* a free surface: no shear stress from the other side */
  friction /= n;
  if (is_rough && c->o->wall_friction < friction) scale = shear_factor(c->o->wall_friction, friction); /* false for NaN */
  const double solids = scale_of_solids(c, slot / MAC_BLOCK, tile, place, a, b, friction);
  if (solids < scale) scale = solids;
  return y->weights.edge_liquid[axis][slot] * scale / sum * (c->o->arrangement == MAC_STAGGERED ? n : 1);
}

/* Weight of normal stresses: W_L times the factor from the friction of solids with an oblique surface. */
static double weight_of_normals(const mac_assembly *c, int64_t slot, const int64_t *tile, int place)
{
  const mac_weights *w     = &c->y->weights;
  const int64_t      block = slot / MAC_BLOCK;
  const double       own   = c->y->friction[c->y->cell_of[slot]];
  double             scale = 1.0;
  for (int32_t q = w->share_start[block]; q < w->share_start[block + 1]; ++q) {
    const int32_t r = w->share[q].solid;
    double        d[3], square[3], sum = 0.0, most = 0.0;
    if (!(c->solids[r].friction < own)) continue;
    for (int a = 0; a < 3; ++a) {
      d[a]      = share_of_face(c, r, tile[place + mac_tile_stride[a]], a) - share_of_face(c, r, tile[place], a);
      square[a] = d[a] * d[a], sum += square[a];
      if (fabs(d[a]) > most) most = fabs(d[a]);
    }
    if (!(sum > 0.0)) continue;
    const double oblique    = (square[0] * square[1] + square[1] * square[2] + square[2] * square[0]) / (sum * sum) / OBLIQUE_FROM,
                 difference = most / SCALED_FROM, least = shear_factor(c->solids[r].friction, own);
    const double here = 1.0 - (difference < 1.0 ? difference : 1.0) * (oblique < 1.0 ? oblique : 1.0) * (1.0 - least);
    if (here < scale) scale = here;
  }
  return w->cell_liquid[slot] * scale;
}

static void compute_weights(mac_assembly *c)
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
        y->edge_weight[o][slot] =
            y->weights.edge_liquid[o][slot] > MAC_CELL_FILL && tile[place] == slot ? weight_of_edge(c, slot, tile, place, o) : 0.0;
      y->normal_weight[slot] = y->cell_of[slot] < 0 ? 0.0 : weight_of_normals(c, slot, tile, place);
    }
  }
}

/* Whether pressure or stress acts on the lower face of a cell. */
static bool has_force(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  const mac_system *y     = c->y;
  const int64_t     lower = tile[place - mac_tile_stride[axis]];
  if (y->cell_of[slot] >= 0 || (lower >= 0 && y->cell_of[lower] >= 0)) return true;
  for (int e = 1; e < 3 && y->n_stress; ++e) {
    const int     o = (axis + e) % 3, b = 3 - axis - o;
    const int64_t next = tile[place + mac_tile_stride[b]];
    if (y->edge_weight[o][slot] > 0.0 || (next >= 0 && y->edge_weight[o][next] > 0.0)) return true;
  }
  return false;
}

static PetscErrorCode number_faces(mac_assembly *c)
{
  const mac_grid *g     = c->g;
  mac_system     *y     = c->y;
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
                        has_force(c, slot, tile, place, a);
        y->face_of[a][slot] = on ? 0 : -1;
        count[b] += on;
      }
  }
  y->n_faces = prefix_sum(g->n_blocks, count);
  PetscCall(MEMORY_RESERVE("unknown faces", y->n_faces, &y->faces_capacity, ARRAY(y->face_slot, 1), ARRAY(y->face_axis, 1)));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < g->n_blocks; ++b) {
    int64_t f = count[b];
    for (int64_t slot = b * MAC_BLOCK; slot < (b + 1) * MAC_BLOCK; ++slot)
      for (int a = 0; a < 3; ++a)
        if (y->face_of[a][slot] >= 0) y->face_of[a][slot] = (int32_t)f, y->face_slot[f] = slot, y->face_axis[f++] = (uint8_t)a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the edge has its own sample, from the mean density of its cells. Solid parts count as dense. */
static bool is_active_edge(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int axis)
{
  if (!(c->y->edge_weight[axis][slot] > 0.0)) return false;
  const int a = mac_tile_stride[(axis + 1) % 3], b = mac_tile_stride[(axis + 2) % 3], at[4] = {place, place - a, place - b, place - a - b};
  double    dense = 0.0;
  int       n     = 0;
  for (int q = 0; q < 4; ++q) {
    const int64_t cell = tile[at[q]];
    if (cell < 0) continue;
    const double rest = c->s->rest_density[cell];
    dense += (rest > 0.0 ? c->s->rho[cell] / rest : 0.0) + 1.0 - c->y->weights.cell_fluid[cell], ++n;
  }
  return c->has_ghosts || dense > n * MAC_DENSITY_THRESHOLD;
}

static PetscErrorCode reserve_stresses(mac_system *y)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("stress samples", y->n_stress, &y->stress_capacity, ARRAY(y->component, 1), ARRAY(y->sample_cells, 1),
                           ARRAY(y->stress_slot, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode number_colocated(mac_system *y)
{
  PetscFunctionBegin;
  y->n_stress = MAC_STRESSES * y->n_cells;
  PetscCall(reserve_stresses(y));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < y->n_stress; ++i) {
    y->component[i]       = (uint8_t)(i % MAC_STRESSES);
    y->stress_slot[i]     = y->cell_slot[i / MAC_STRESSES];
    y->sample_cells[i][0] = (int32_t)(i / MAC_STRESSES);
    for (int q = 1; q < 4; ++q) y->sample_cells[i][q] = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void put_sample(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int component, int64_t i)
{
  mac_system *y   = c->y;
  int         n   = 0;
  y->component[i] = (uint8_t)component, y->stress_slot[i] = slot;
  for (int q = 0; q < 4; ++q) y->sample_cells[i][q] = -1;
  if (component < 2) {
    y->sample_cells[i][0] = y->cell_of[slot];
    return;
  }
  const int axis = mac_component_axis(component), a = mac_tile_stride[(axis + 1) % 3], b = mac_tile_stride[(axis + 2) % 3],
            at[4] = {place, place - a, place - b, place - a - b};
  for (int q = 0; q < 4; ++q) {
    const int64_t cell = tile[at[q]];
    if (cell >= 0 && y->cell_of[cell] >= 0 && y->friction[y->cell_of[cell]] > 0.0) y->sample_cells[i][n++] = y->cell_of[cell];
  }
}

/* Number the normal components at active cells and the shear components at edges: by slot, then component. */
static PetscErrorCode number_staggered(mac_assembly *c)
{
  const mac_grid *g     = c->g;
  mac_system     *y     = c->y;
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
    y->n_stress = prefix_sum(g->n_blocks, count);
    PetscCall(reserve_stresses(y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reserve_active(mac_assembly *c)
{
  const int64_t n = c->g->n_slots;
  mac_system   *y = c->y;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("cells and faces of slots", n, &y->slots_capacity, ARRAY(y->cell_of, 1), ARRAY(y->normal_weight, 1),
                           ARRAY(y->face_of[0], 1), ARRAY(y->face_of[1], 1), ARRAY(y->face_of[2], 1), ARRAY(y->edge_weight[0], 1),
                           ARRAY(y->edge_weight[1], 1), ARRAY(y->edge_weight[2], 1)));
  PetscCall(MEMORY_RESERVE("counts of blocks", c->g->n_blocks + 1, &y->blocks_capacity, ARRAY(y->block_count[0], 1),
                           ARRAY(y->block_count[1], 1), ARRAY(y->block_count[2], 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Find and number active cells, edge weights and unknown faces. Sets n_cells, n_faces and their arrays. */
static PetscErrorCode find_active(mac_assembly *c)
{
  mac_system *y        = c->y;
  double      friction = 0.0;
  PetscFunctionBegin;
  PetscCall(number_cells(c));
  for (int64_t i = 0; i < y->n_cells; ++i)
    if (y->friction[i] > friction) friction = y->friction[i];
  y->n_stress = 0;
  if (friction > 0.0) {
    compute_weights(c);
    if (c->o->arrangement == MAC_STAGGERED) PetscCall(number_staggered(c));
    else PetscCall(number_colocated(y));
  }
  PetscCall(number_faces(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- mass of faces ----------------------------------------------------------------------------------------------------
 *
 * Particles -> faces -> particles conserves sum (m_f u_f): particles gain m_f (u_f - u_f*) from every face, unknown or not. This
 * gain must equal the momentum from solids, walls and gravity. Therefore:
 *   * An unknown face has the mass m_f that its kernel gathers, even if the surface or a solid cuts it. (The published rho W_L
 *     counts the missing part at a surface twice.)
 *   * Faces with mass whose velocity is extrapolated from other faces give their mass to these first (mac_velocity.h): faces in
 *     solids, and the outermost particles of a surface.
 *   * Faces that are neither unknown nor extrapolated fall freely or are carried, see is_face_carried.
 *   * A face with less than the fraction DENSITY_FLOOR FACE_FILL of the mass of a full face, the minimum mass, would make the system
 *     ill-conditioned. It borrows the missing mass, with its u*, from heavy neighbouring faces in equal parts. The borrowed mass
 *     returns with the light face's velocity. If all neighbours are too light, it borrows up to the fraction 1/LENDER of the heaviest
 *     one's mass, and has less than the minimum mass. A face counts with the mass that it has after all loans; only a face without any
 *     mass within LENDER_REACH cells counts with the minimum mass. */

static const double LIGHT    = 0.23; /* relative to the mass of a full face; not a share that occurs in a lattice of 2x2x2
                                      particles per cell */
static const double LENDER   = 8.0;  /* in units of the minimum mass: a lender may have six borrowers */
static const double ROUNDING = 1e-9; /* relative to the minimum mass: no loan of less */
/* Cells: the spheres that fill a cell and the kernels of their particles reach this far from its faces. */
enum { LENDER_REACH = 3 };

/* Liquid in a cell whose centre is outside the liquid: the upper face of the cell is not unknown, but its liquid rests on the
 * liquid below and receives the same change of velocity. *change is the mean change of u [n_faces] from u* over the
 * neighbouring unknown faces. It is zero if the liquid already moves faster than these in the direction of the change. With
 * free fall instead, this liquid would sink into the surface; with extrapolation, it would lose its own velocity. u NULL:
 * *change is not computed. The cells of the face are that of its slot and the one before it along its axis. */
static bool is_face_carried(const mac_system *y, const mac_state *s, int axis, int64_t slot, const double *u, double *change)
{
  const mac_grid *g = &s->grid;
  int32_t         at[3];
  double          near = y->weights.center[slot], sum = 0.0, before = 0.0;
  int             n = 0;
  if (y->face_of[axis][slot] >= 0 || mac_grid_is_closed(g, axis, slot)) return false;
  if (!(s->mass[axis][slot] > 0.0 && y->weights.face_fluid[axis][slot] > 0.0)) return false;
  mac_grid_cell(g, slot, at);
  for (int q = 0; q < 6; ++q) {
    int32_t beside[3] = {at[0], at[1], at[2]};
    beside[q / 2] += q % 2 ? 1 : -1;
    const int64_t other = mac_grid_slot(g, beside[0], beside[1], beside[2]);
    const int32_t face  = other < 0 ? -1 : y->face_of[axis][other];
    if (q == 2 * axis && other >= 0) near = fmin(near, y->weights.center[other]);
    if (face >= 0) sum += u ? u[face] - y->u[face] : 0.0, before += u ? y->u[face] : 0.0, ++n;
  }
  /* liquid that moves ahead separates from the liquid below; otherwise a few particles at the tip of a sheet would accelerate without bound */
  if (change) *change = n && !((s->u[axis][slot] - before / n) * sum > 0.0) ? sum / n : 0.0;
  return n > 0 && near < 0.5 * g->h;
}

/* Whether a face has little mass and an unknown neighbour across its own direction: the outermost particles of a surface.
 * Their velocity is extrapolated. In free fall, they would accelerate along a slope and drag the particles below. */
static bool is_extrapolated_surface(const mac_assembly *c, int axis, int64_t slot, const int64_t *tile, int place)
{
  const int64_t lower = tile[place - mac_tile_stride[axis]];
  const double  rest  = fmax(c->s->rest_density[slot], lower >= 0 ? c->s->rest_density[lower] : 0.0);
  if (c->s->mass[axis][slot] > LIGHT * rest * c->g->h * c->g->h * c->g->h) return false;
  for (int q = 0; q < 6; ++q) {
    const int64_t other = tile[place + (q % 2 ? 1 : -1) * mac_tile_stride[q / 2]];
    if (q / 2 != axis && other >= 0 && c->y->face_of[axis][other] >= 0) return true;
  }
  return false;
}

/* Whether the velocity of a face is not extrapolated: it is unknown, closed, carried, or falls freely. */
static bool is_known(const mac_assembly *c, int axis, int64_t slot, const int64_t *tile, int place)
{
  if (c->y->face_of[axis][slot] >= 0 || mac_grid_is_closed(c->g, axis, slot)) return true;
  if (c->has_ghosts && is_face_carried(c->y, c->s, axis, slot, NULL, NULL)) return true;
  return c->s->mass[axis][slot] > 0.0 && c->y->weights.face_fluid[axis][slot] > 0.0 && !is_extrapolated_surface(c, axis, slot, tile, place);
}

static PetscErrorCode mac_system_reserve(mac_system *y, int64_t n_slots)
{
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("layers and masses of faces", n_slots, &y->mass_capacity, ARRAY(y->layer[0], 1), ARRAY(y->layer[1], 1),
                           ARRAY(y->layer[2], 1), ARRAY(y->mass[0], 1), ARRAY(y->mass[1], 1), ARRAY(y->mass[2], 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u* of faces without mass, extrapolated from the faces around them. After reserve_active. */
static PetscErrorCode extrapolate_empty_faces(mac_assembly *c)
{
  const mac_state *s = c->s;
  mac_system      *y = c->y;
  PetscFunctionBegin;
  PetscCall(mac_system_reserve(y, c->g->n_slots));
#pragma omp parallel
  for (int a = 0; a < 3; ++a) {
#pragma omp for schedule(static) nowait
    for (int64_t slot = 0; slot < c->g->n_slots; ++slot) {
      y->layer[a][slot] = !(s->mass[a][slot] > 0.0);
      if (y->layer[a][slot]) s->u[a][slot] = 0.0;
    }
  }
  PetscCall(mac_velocity_layers(c->g, y->layer));
  mac_velocity_extrapolate(c->g, y->layer, s->u);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mass of faces; their u*, mixed with the momentum of faces that give them their mass. After find_active. */
static PetscErrorCode find_masses(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < c->g->n_blocks; ++b) {
    int64_t tile[MAC_TILE];
    mac_grid_tile(c->g, b, tile);
    for (int l = 0; l < MAC_BLOCK; ++l)
      for (int a = 0; a < 3; ++a) {
        const int64_t slot = b * MAC_BLOCK + l;
        y->layer[a][slot]  = !is_known(c, a, slot, tile, mac_grid_tile_place(l));
        y->mass[a][slot]   = c->s->mass[a][slot];
      }
  }
  PetscCall(mac_velocity_layers(c->g, y->layer));
  if (!c->has_ghosts) PetscCall(mac_velocity_transfer_mass(c->g, y->layer, y->mass, c->s->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a face can lend mass: it is unknown, or, if `may_fall`, it falls freely. */
static bool can_lend(const mac_assembly *c, int axis, int64_t slot, bool may_fall)
{
  if (slot < 0 || !(c->y->mass[axis][slot] > 0.0)) return false;
  return c->y->face_of[axis][slot] >= 0 || (may_fall && c->y->layer[axis][slot] == 0 && !mac_grid_is_closed(c->g, axis, slot));
}

/* Slot of the heaviest of the nearest faces that can lend, at most LENDER_REACH cells away along each axis; -1: none. */
static int64_t find_distant_lender(const mac_assembly *c, int axis, int64_t slot)
{
  int64_t found = -1;
  int32_t at[3];
  mac_grid_cell(c->g, slot, at);
  for (int r = 1; r <= LENDER_REACH && found < 0; ++r)
    for (int i = -r; i <= r; ++i)
      for (int j = -r; j <= r; ++j)
        for (int k = -r; k <= r; ++k) {
          const int64_t other = mac_grid_slot(c->g, at[0] + i, at[1] + j, at[2] + k);
          if (other == slot || !can_lend(c, axis, other, true)) continue;
          if (found < 0 || c->y->mass[axis][other] > c->y->mass[axis][found]) found = other;
        }
  return found;
}

/* Slots of faces that lend mass to a light face: the unknown neighbours with at least LENDER times the mass `full`. If there are none,
 * *full is lowered to the mass that the heaviest neighbour can lend, which may be in free fall. Without neighbours that have mass,
 * a more distant face lends. Returns the number of lenders. */
static int find_lenders(const mac_assembly *c, int axis, int64_t slot, const int64_t *tile, double *full, int64_t lender[6])
{
  const double *mass  = c->y->mass[axis];
  const int     place = mac_grid_tile_place((int)(slot % MAC_BLOCK));
  int64_t       found = -1;
  int           n     = 0;
  for (int q = 0; q < 6; ++q) {
    const int64_t other = tile[place + (q % 2 ? 1 : -1) * mac_tile_stride[q / 2]];
    if (!can_lend(c, axis, other, true)) continue;
    if (can_lend(c, axis, other, false) && mass[other] > LENDER * *full) lender[n++] = other;
    if (found < 0 || mass[other] > mass[found]) found = other;
  }
  if (n) return n;
  if (found < 0) found = find_distant_lender(c, axis, slot);
  if (found < 0) return 0;
  *full = fmin(*full, mass[found] / LENDER), lender[0] = found;
  return 1;
}

/* Minimum mass of a face whose mobility is still that of set_face and bounded by this mass. */
static inline double least_mass(const mac_system *y, int64_t f) { return y->dt * y->weight[f] / y->mobility[f]; }

/* Faces with less than the minimum mass. After set_face. */
static PetscErrorCode find_light_faces(mac_system *y)
{
  PetscFunctionBegin;
  y->n_light = 0;
  for (int64_t f = 0; f < y->n_faces; ++f) {
    const double least = least_mass(y, f);
    if (!(least - y->mass[y->face_axis[f]][y->face_slot[f]] > ROUNDING * least)) continue;
    PetscCall(memory_reserve("light faces", y->n_light + 1, sizeof *y->light, &y->light_capacity, &y->light));
    y->light[y->n_light++] = (int32_t)f;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loans of all light faces. At this stage `share` is the mass. */
static PetscErrorCode find_loans(mac_assembly *c)
{
  mac_system  *y      = c->y;
  const double volume = y->h * y->h * y->h;
  int64_t      tile[MAC_TILE], block = -1;
  PetscFunctionBegin;
  y->n_loans = 0;
  for (int64_t i = 0; i < y->n_light; ++i) {
    const int64_t f = y->light[i], slot = y->face_slot[f];
    const int     axis  = y->face_axis[f];
    const double  least = least_mass(y, f), full = least * volume / y->weight[f]; /* minimum mass of a face that no solid cuts, so
                                                                                     that the lender is heavy enough for several
                                                                                     borrowers */
    double        lent = full;
    int64_t       lender[6];
    if (slot / MAC_BLOCK != block) block = slot / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
    const int    n      = find_lenders(c, axis, slot, tile, &lent, lender);
    const double target = lent < full ? lent * y->weight[f] / volume : least, lack = target - y->mass[axis][slot];
    if (!(lack > ROUNDING * target)) continue;
    PetscCall(memory_reserve("loans of mass", y->n_loans + n, sizeof *y->loan, &y->loans_capacity, &y->loan));
    for (int q = 0; q < n; ++q) y->loan[y->n_loans++] = (mac_loan){lender[q], (int32_t)f, lack / n};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transfer the masses of the loans, with their momentum. A lender keeps at least half of its mass in each. */
static void transfer_loans(mac_assembly *c)
{
  mac_system *y = c->y;
  for (int64_t q = 0; q < y->n_loans; ++q) {
    mac_loan *const l      = y->loan + q;
    const int       axis   = y->face_axis[l->face];
    const int32_t   lender = y->face_of[axis][l->lender]; /* -1: in free fall */
    double *const to = y->mass[axis] + y->face_slot[l->face], *const from = y->mass[axis] + l->lender;
    const double lent = fmin(l->share, 0.5 * *from);
    y->u[l->face]     = (*to * y->u[l->face] + lent * (lender >= 0 ? y->u[lender] : c->s->u[axis][l->lender])) / (*to + lent);
    l->share          = lent / *from;
    *to += lent, *from -= lent;
  }
}

/* Loans between faces whose u, mobility and weight are known; mobility of their faces and of faces that remain light. */
static PetscErrorCode lend_masses(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  y->n_loans = 0;
  if (c->has_ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(find_light_faces(y));
  PetscCall(find_loans(c));
  transfer_loans(c);
  for (int64_t i = 0; i < y->n_light; ++i) {
    const int64_t f    = y->light[i];
    const double  mass = y->mass[y->face_axis[f]][y->face_slot[f]], least = least_mass(y, f);
    if (mass > 0.0 && least - mass > ROUNDING * least) y->mobility[f] = y->dt * y->weight[f] / mass;
  }
  for (int64_t q = 0; q < y->n_loans; ++q) {
    const mac_loan *l      = y->loan + q;
    const int       axis   = y->face_axis[l->face];
    const int32_t   lender = y->face_of[axis][l->lender];
    if (lender >= 0) y->mobility[lender] = y->dt * y->weight[lender] / y->mass[axis][l->lender];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Return the borrowed mass: changes u of the lenders, once the velocities of the faces are on the grid and before extrapolation. */
static void repay_masses(const mac_system *y, double *const u[3])
{
  for (int64_t q = y->n_loans - 1; q >= 0; --q) { /* in reverse order: each share refers to the mass before the loan */
    const mac_loan *l    = y->loan + q;
    const int       axis = y->face_axis[l->face];
    double *const   to   = u[axis] + l->lender;
    *to += l->share * (u[axis][y->face_slot[l->face]] - *to);
  }
}

/* --- friction on rough walls of the box, of material below the lowest pressure sample -------------------------------------
 *
 * The wall supports the pressure of the adjacent cell, and in addition the mass on the wall's own faces: half of the mass of the
 * lowest layer, or all of it where the layer is too thin for a pressure. With shear stress bounded by the cell's pressure alone,
 * a layer of n cells would slide too easily by a share 1/(2 n), and thin layers would have no friction. The force on wall faces
 * is known in advance, m u* over dt, since these faces are at rest; so is the corresponding friction. It acts on the tangential
 * velocity next to the wall before the stress does. If both together exceed the momentum, the velocity becomes zero. */

/* Momentum into the wall at the wall face of a cell, >= 0. */
static double momentum_into_wall(const mac_assembly *c, const int64_t *tile, int place, int axis, int side)
{
  const int64_t slot = tile[place + side * mac_tile_stride[axis]];
  const double  into = slot < 0 ? 0.0 : (side ? 1.0 : -1.0) * c->y->mass[axis][slot] * c->s->u[axis][slot];
  return into > 0.0 ? into : 0.0;
}

/* Tangential tangential_speed at the lower face along a of a cell: from this face and the mean of the surrounding faces along b. */
static double tangential_speed(const mac_assembly *c, const int64_t *tile, int place, int a, int b)
{
  double sum = 0.0;
  int    n   = 0;
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = tile[place - (q & 1) * mac_tile_stride[a] + (q >> 1) * mac_tile_stride[b]];
    if (slot >= 0 && c->y->mass[b][slot] > 0.0) sum += c->s->u[b][slot], ++n;
  }
  return hypot(c->s->u[a][tile[place]], n ? sum / n : 0.0);
}

/* Factor on the velocity of a cell's lower face along a from friction of walls across the other axes; 1 if it touches none. */
static double velocity_factor(const mac_assembly *c, int64_t slot, const int64_t *tile, int place, int a)
{
  const mac_grid *g        = c->g;
  const int64_t   before   = tile[place - mac_tile_stride[a]];
  double          friction = 0.0, lost = 0.0, fastest = 0.0;
  int32_t         ijk[3];
  int             n = 0;
  if (!(c->y->mass[a][slot] > 0.0)) return 1.0;
  mac_grid_cell(g, slot, ijk);
  for (int q = 0; q < 2; ++q) {
    const int64_t cell = q ? before : slot;
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) friction += c->s->friction[cell], ++n;
  }
  if (!(friction > 0.0)) return 1.0;
  friction /= n;
  if (c->o->wall_friction < friction) friction = c->o->wall_friction; /* false for NaN */
  for (int e = 1; e < 3; ++e) {
    const int axis = (a + e) % 3, b = 3 - a - axis;
    for (int side = 0; side < 2; ++side) {
      if (g->wall[axis][side] != MAC_WALL_ROUGH || ijk[axis] != (side ? g->n[axis] - 1 : 0)) continue;
      lost += 0.5 * friction *
              (momentum_into_wall(c, tile, place, axis, side) + momentum_into_wall(c, tile, place - mac_tile_stride[a], axis, side)) /
              c->y->mass[a][slot];
      fastest = fmax(fastest, tangential_speed(c, tile, place, a, b));
    }
  }
  return lost > 0.0 ? fmax(0.0, 1.0 - lost / fmax(fastest, lost)) : 1.0;
}

static bool touches_rough_wall(const mac_grid *g, const int32_t b[3])
{
  for (int a = 0; a < 3; ++a) {
    if (g->wall[a][0] == MAC_WALL_ROUGH && b[a] == 0) return true;
    if (g->wall[a][1] == MAC_WALL_ROUGH && MAC_SIDE * (b[a] + 1) >= g->n[a]) return true;
  }
  return false;
}

/* Coulomb friction of material on rough walls of the box, applied to s->u. After find_masses. */
static PetscErrorCode apply_wall_friction(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("friction of walls", c->g->n_slots, &y->left_capacity, ARRAY(y->left[0], 1), ARRAY(y->left[1], 1),
                           ARRAY(y->left[2], 1)));
  double *const *left = y->left;
#pragma omp parallel
  for (int pass = 0; pass < 2; ++pass) { /* first all factors, from the unchanged velocities */
#pragma omp for schedule(static)
    for (int64_t block = 0; block < c->g->n_blocks; ++block) {
      int64_t tile[MAC_TILE];
      if (!touches_rough_wall(c->g, c->g->block[block])) continue;
      if (!pass) mac_grid_tile(c->g, block, tile);
      for (int l = 0; l < MAC_BLOCK; ++l) {
        const int64_t slot  = block * MAC_BLOCK + l;
        const int     place = mac_grid_tile_place(l);
        for (int a = 0; a < 3; ++a)
          if (pass) c->s->u[a][slot] *= left[a][slot];
          else left[a][slot] = tile[place] == slot ? velocity_factor(c, slot, tile, place, a) : 1.0;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- rows of G and D; velocity, mobility and weight of the unknown faces -------------------------------------------------- */

/* Normal parts of the first two components of each basis. */
static const double  normal_part[2][2][3] = {[MAC_ORTHONORMAL] = {{0.70710678118654752, 0.0, -0.70710678118654752},
                                                                  {0.40824829046386302, -0.81649658092772603, 0.40824829046386302}},
                                             [MAC_COMPONENTS]  = {{1.0, -1.0, 0.0}, {0.0, -1.0, 1.0}}};
static inline double shear_part(int basis) { return basis == MAC_ORTHONORMAL ? 0.70710678118654752 : 1.0; }

static inline void add_entry(mac_row *row, int64_t slot, int axis, double value)
{
  if (slot >= 0 && value != 0.0) row->entry[row->n++] = (mac_entry){slot, axis, value};
}

static void row_of_pressure(const mac_assembly *c, const mac_place *at, mac_row *row)
{
  const double value = c->y->weights.cell_liquid[at->slot] / c->g->h;
  row->n             = 0;
  for (int a = 0; a < 3; ++a) add_entry(row, at->slot, a, value);
  for (int a = 0; a < 3; ++a) add_entry(row, at->tile[at->place + mac_tile_stride[a]], a, -value);
}

static void row_of_normal_stress(const mac_assembly *c, const mac_place *at, int component, mac_row *row)
{
  const double *part = normal_part[c->o->basis][component], weight = c->y->normal_weight[at->slot] / c->g->h;
  for (int a = 0; a < 3; ++a) {
    add_entry(row, at->slot, a, -part[a] * weight);
    add_entry(row, at->tile[at->place + mac_tile_stride[a]], a, part[a] * weight);
  }
}

/* Shear stress between axes a and b at the lower edge of a cell: it acts on the faces of normal a on either side of the edge along b,
 * and on the faces of normal b on either side along a. */
static void row_of_edge(const mac_place *at, int a, int b, double value, mac_row *row)
{
  add_entry(row, at->slot, a, value);
  add_entry(row, at->tile[at->place - mac_tile_stride[b]], a, -value);
  add_entry(row, at->slot, b, value);
  add_entry(row, at->tile[at->place - mac_tile_stride[a]], b, -value);
}

/* Shear stress of a cell, transferred to its four edges. On faces between two edges of equal weight the contributions cancel.
 * Single products, so that no operations are fused and the transpose computes the same values. */
static void row_of_shear(const mac_place *at, int a, int b, const double *edge, double value, mac_row *row)
{
  double e[2][2]; /* indices 0, 1 along a and b */
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = at->tile[at->place + (q >> 1) * mac_tile_stride[a] + (q & 1) * mac_tile_stride[b]];
    e[q >> 1][q & 1]   = slot >= 0 ? edge[slot] : 0.0;
  }
  for (int i = 0; i < 2; ++i) { /* lower and upper face along the normal; cells before, here and after across it */
    const int on_a = at->place + i * mac_tile_stride[a], on_b = at->place + i * mac_tile_stride[b];
    add_entry(row, at->tile[on_a - mac_tile_stride[b]], a, -value * e[i][0]);
    add_entry(row, at->tile[on_a], a, value * (e[i][0] - e[i][1]));
    add_entry(row, at->tile[on_a + mac_tile_stride[b]], a, value * e[i][1]);
    add_entry(row, at->tile[on_b - mac_tile_stride[a]], b, -value * e[0][i]);
    add_entry(row, at->tile[on_b], b, value * (e[0][i] - e[1][i]));
    add_entry(row, at->tile[on_b + mac_tile_stride[a]], b, value * e[1][i]);
  }
}

static void row_of_stress(const mac_assembly *c, const mac_place *at, int component, mac_row *row)
{
  row->n = 0;
  if (component < 2) {
    row_of_normal_stress(c, at, component, row);
    return;
  }
  const int     axis = mac_component_axis(component), a = (axis + 1) % 3, b = (axis + 2) % 3;
  const double *edge = c->y->edge_weight[axis], value = shear_part(c->o->basis) / c->g->h;
  if (c->o->arrangement == MAC_STAGGERED) row_of_edge(at, a, b, value * edge[at->slot], row);
  else row_of_shear(at, a, b, edge, value, row);
}

/* Insert in ascending order. A column that occurs twice (a period of less than three cells) gets the sum. */
static inline int insert_entry(int32_t *restrict col, double *restrict value, int n, int32_t at_col, double here)
{
  int at = n;
  while (at > 0 && col[at - 1] >= at_col) --at;
  if (at < n && col[at] == at_col) {
    value[at] += here;
    return n;
  }
  for (int m = n; m > at; --m) col[m] = col[m - 1], value[m] = value[m - 1];
  col[at] = at_col, value[at] = here;
  return n + 1;
}

static int put_row(const mac_system *y, const mac_row *row, int32_t *restrict col, double *restrict value)
{
  int n = 0;
  for (int q = 0; q < row->n; ++q) {
    const int32_t face = y->face_of[row->entry[q].axis][row->entry[q].slot];
    if (face >= 0) n = insert_entry(col, value, n, face, row->entry[q].value);
  }
  return n;
}

static int write_pressure(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value)
{
  mac_row row;
  (void)i;
  row_of_pressure(c, at, &row);
  return put_row(c->y, &row, col, value);
}
static int write_stress(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value)
{
  mac_row row;
  row_of_stress(c, at, c->y->component[i], &row);
  return put_row(c->y, &row, col, value);
}

/* Rows of the transposes, assembled from the faces: the same products in the same order, so that the matrices are exact transposes. */
static int write_face_pressure(const mac_assembly *c, const mac_place *at, int64_t f, int32_t *col, double *value)
{
  const mac_system *y       = c->y;
  const int64_t     side[2] = {at->tile[at->place - mac_tile_stride[y->face_axis[f]]], at->slot};
  int               n       = 0;
  for (int q = 0; q < 2; ++q) {
    if (side[q] < 0 || y->cell_of[side[q]] < 0) continue;
    const double weight = y->weights.cell_liquid[side[q]] / c->g->h;
    if (weight != 0.0) n = insert_entry(col, value, n, y->cell_of[side[q]], q ? weight : -weight);
  }
  return n;
}
/* Entry of one cell in a face's row of stresses. r = -1, 0 or 1 is the row along b of the face relative to the cell; the edges on
 * either side of it lie along o. */
static int put_cell_stress(const mac_assembly *c, int64_t cell, int component, int r, const double edge[2], double per_h, int32_t *col,
                           double *value, int n)
{
  const double here = per_h * (r < 0 ? edge[0] : r > 0 ? -edge[1] : edge[0] - edge[1]);
  return here != 0.0 ? insert_entry(col, value, n, MAC_STRESSES * c->y->cell_of[cell] + component, here) : n;
}
static int write_face_stress(const mac_assembly *c, const mac_place *at, int64_t f, int32_t *col, double *value)
{
  const mac_system *y     = c->y;
  const int         a     = y->face_axis[f];
  const double      per_h = shear_part(c->o->basis) / c->g->h;
  double            edge[3][2]; /* by axis of the edge: at the face's position, and on its other side */
  int               n = 0;
  for (int o = 0; o < 3; ++o) {
    const int64_t above = o == a ? -1 : at->tile[at->place + mac_tile_stride[3 - a - o]];
    edge[o][0] = o == a ? 0.0 : y->edge_weight[o][at->slot], edge[o][1] = above >= 0 ? y->edge_weight[o][above] : 0.0;
  }
  /* cells in the order of their offsets, nearly that of their numbers */
  const int first = a == 0 ? 1 : 0, second = a == 2 ? 1 : 2,
            near[5][3] = {{-1, first, second}, {-1, second, first}, {0, 0, 0}, {1, second, first}, {1, first, second}};
  for (int q = 0; q < 2; ++q)
    for (int m = 0; m < 5; ++m) {
      const int     r = near[m][0], b = near[m][1], o = near[m][2];
      const int64_t cell = at->tile[at->place - (q ? 0 : mac_tile_stride[a]) + r * mac_tile_stride[b]];
      if (cell < 0 || y->cell_of[cell] < 0) continue;
      if (r) {
        n = put_cell_stress(c, cell, 4 - o, r, edge[o], per_h, col, value, n);
        continue;
      }
      const double weight = y->normal_weight[cell] / c->g->h;
      for (int k = 0; k < 2; ++k) {
        const double here = (q ? -weight : weight) * normal_part[c->o->basis][k][a];
        if (here != 0.0) n = insert_entry(col, value, n, MAC_STRESSES * y->cell_of[cell] + k, here);
      }
      n = put_cell_stress(c, cell, 4 - second, 0, edge[second], per_h, col, value, n);
      n = put_cell_stress(c, cell, 4 - first, 0, edge[first], per_h, col, value, n);
    }
  return n;
}

typedef int (*row_writer)(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value);

/* A matrix to assemble: rows of samples in the order of slots, with at most `most` entries each. */
typedef struct {
  int64_t        n, n_cols;
  const int64_t *slots;
  int            most;
  row_writer     write;
  sparse_rows   *to;
} row_job;
enum { MAX_JOBS = 4, MAX_ENTRIES = 16 };

/* Allocate the arrays of the matrix, or reuse those of an earlier step, of size capacity[0] (rows) and capacity[1] (entries). */
static PetscErrorCode reserve_rows(const row_job *j, int64_t *capacity)
{
  PetscFunctionBegin;
  j->to->n_rows = j->n, j->to->n_cols = j->n_cols;
  PetscCall(memory_reserve("operator's rows", j->n + 1, sizeof *j->to->start, &capacity[0], &j->to->start));
  PetscCall(MEMORY_RESERVE("operator's columns", j->n * j->most, &capacity[1], ARRAY(j->to->col, 1), ARRAY(j->to->value, 1)));
  j->to->start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Write rows first ... last-1, one after another; `start` is relative to the first of them. Returns the number of entries. */
static int64_t write_rows(const mac_assembly *c, const row_job *j, int64_t first, int64_t last, int32_t *col, double *value)
{
  int64_t tile[MAC_TILE], block = -1, at = 0;
  for (int64_t i = first; i < last; ++i) {
    if (j->slots[i] / MAC_BLOCK != block) block = j->slots[i] / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
    const mac_place place = {j->slots[i], tile, mac_grid_tile_place((int)(j->slots[i] % MAC_BLOCK))};
    at += j->write(c, &place, i, col + at, value + at);
    j->to->start[i + 1] = at;
  }
  return at;
}

/* Move the rows of a thread behind those of the threads before. Their position is known once all rows are written. The first
 * thread writes in place, the others write to scratch. So with one thread nothing is copied. */
static void place_rows(const row_job *j, int thread, int64_t first, int64_t last, const int64_t *n_entries, const int32_t *col,
                       const double *value)
{
  int64_t from = 0;
  if (!thread || first == last) return;
  for (int t = 0; t < thread; ++t) from += n_entries[t];
  for (int64_t i = first; i < last; ++i) j->to->start[i + 1] += from;
  if (!n_entries[thread]) return;
  memcpy(j->to->col + from, col, (size_t)n_entries[thread] * sizeof *col);
  memcpy(j->to->value + from, value, (size_t)n_entries[thread] * sizeof *value);
}

/* Largest number of entries that one of `threads` threads may have in any of the matrices. */
static int64_t most_of_thread(int n_jobs, const row_job *jobs, int threads)
{
  int64_t most = 0;
  for (int q = 0; q < n_jobs; ++q) {
    const int64_t here = (jobs[q].n / threads + 1) * jobs[q].most;
    if (here > most) most = here;
  }
  return most;
}

static PetscErrorCode assemble_rows(const mac_assembly *c, int n_jobs, const row_job *jobs)
{
  mac_system *y = c->y;
  int64_t    *n_entries; /* [job][thread] */
  const int   threads = team_threads();
  PetscFunctionBegin;
  for (int q = 0; q < n_jobs; ++q) PetscCall(reserve_rows(jobs + q, y->rows_capacity[q]));
  /* for any smaller number of threads: shares are rounded up by one row */
  const int64_t room = threads > 1 ? most_of_thread(n_jobs, jobs, 1) + threads * (int64_t)MAX_ENTRIES : 0;
  PetscCall(MEMORY_RESERVE("operator's scratch rows", room, &y->row_capacity, ARRAY(y->row_col, 1), ARRAY(y->row_value, 1)));
  PetscCall(memory_alloc("entries of threads", MAX_JOBS * threads, sizeof *n_entries, &n_entries));
#pragma omp parallel
  {
    const int     t = omp_get_thread_num(), n = omp_get_num_threads();
    const int64_t part = most_of_thread(n_jobs, jobs, n);
    for (int q = 0; q < n_jobs; ++q) {
      const row_job *j     = jobs + q;
      const int64_t  first = j->n * t / n, last = j->n * (t + 1) / n;
      int32_t       *col   = t ? y->row_col + (t - 1) * part : j->to->col;
      double        *value = t ? y->row_value + (t - 1) * part : j->to->value;
      n_entries[q * n + t] = write_rows(c, j, first, last, col, value);
#pragma omp barrier
      place_rows(j, t, first, last, n_entries + q * n, col, value);
    }
  }
  memory_free(&n_entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean rest density of the cells next to a face, else of all surrounding cells; `otherwise` if there are none. */
static double rest_density_of_face(const mac_assembly *c, const int64_t *tile, int place, int axis, double otherwise)
{
  double sum = 0.0;
  int    n   = 0;
  for (int q = 0; q < 2; ++q) {
    const int64_t cell = tile[place - q * mac_tile_stride[axis]];
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) sum += c->s->rest_density[cell], ++n;
  }
  for (int q = 0, n_next = n; q < 27 && n_next == 0; ++q) {
    const int64_t cell = tile[place + (q / 9 - 1) * 36 + (q / 3 % 3 - 1) * 6 + q % 3 - 1];
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) sum += c->s->rest_density[cell], ++n;
  }
  return n ? sum / n : otherwise;
}

static void set_face(const mac_assembly *c, int64_t f, const int64_t *tile, double otherwise)
{
  mac_system   *y    = c->y;
  const int64_t slot = y->face_slot[f];
  const int     axis = y->face_axis[f], place = mac_grid_tile_place((int)(slot % MAC_BLOCK));
  const double  h3 = c->g->h * c->g->h * c->g->h, rest = rest_density_of_face(c, tile, place, axis, otherwise),
               filled = fmax(y->weights.face_liquid[axis][slot], FACE_FILL);
  y->u[f]             = c->s->u[axis][slot];
  y->weight[f]        = h3 * y->weights.face_fluid[axis][slot];
  y->mobility[f] = y->dt / (c->has_ghosts ? rest * filled : fmax(y->mass[axis][slot] / y->weight[f], DENSITY_FLOOR * FACE_FILL * rest));
}

static PetscErrorCode set_faces(mac_assembly *c)
{
  mac_system *y         = c->y;
  double      otherwise = 0.0;
  PetscFunctionBegin;
  PetscCall(
      MEMORY_RESERVE("face velocities", y->n_faces, &y->velocity_capacity, ARRAY(y->u, 1), ARRAY(y->mobility, 1), ARRAY(y->weight, 1)));
  for (int64_t i = 0; i < y->n_cells; ++i)
    if (y->rest_density[i] > otherwise) otherwise = y->rest_density[i];
#pragma omp parallel
  {
    int64_t tile[MAC_TILE], block = -1;
#pragma omp for schedule(static)
    for (int64_t f = 0; f < y->n_faces; ++f) {
      if (y->face_slot[f] / MAC_BLOCK != block) block = y->face_slot[f] / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
      set_face(c, f, tile, otherwise);
    }
  }
  PetscCall(lend_masses(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemble G, D and their transposes, mobility, weight and u. */
static PetscErrorCode assemble_operators(mac_assembly *c)
{
  mac_system   *y              = c->y;
  const bool    is_direct      = c->o->arrangement == MAC_COLOCATED && y->n_stress;
  const row_job jobs[MAX_JOBS] = {{y->n_cells, y->n_faces, y->cell_slot, 6, write_pressure, &y->G},
                                  {y->n_faces, y->n_cells, y->face_slot, 2, write_face_pressure, &y->GT},
                                  {y->n_stress, y->n_faces, y->stress_slot, 12, write_stress, &y->D},
                                  {y->n_faces, y->n_stress, y->face_slot, MAX_ENTRIES, write_face_stress, &y->DT}};
  PetscFunctionBegin;
  PetscCall(set_faces(c));
  PetscCall(assemble_rows(c, is_direct ? MAX_JOBS : MAX_JOBS - 1, jobs));
  if (!is_direct) {
    sparse_rows_destroy(&y->DT);
    y->rows_capacity[3][0] = y->rows_capacity[3][1] = 0;
    PetscCall(sparse_rows_transposed(&y->D, &y->DT));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- forces of pressure and stress on solids ----------------------------------------------------------------------------- */

/* -h^3 J^T W_S of one solid applied to a row; returns false if the row does not touch the solid. */
static bool wrench_of_row(const mac_assembly *c, const mac_row *row, int32_t solid, double wrench[6])
{
  const mac_grid    *g          = c->g;
  const mac_weights *w          = &c->y->weights;
  const double       h3         = g->h * g->h * g->h;
  bool               is_reached = false;
  for (int d = 0; d < 6; ++d) wrench[d] = 0.0;
  for (int q = 0; q < row->n; ++q) {
    const int64_t    slot  = row->entry[q].slot;
    const int        axis  = row->entry[q].axis;
    const mac_share *share = mac_weights_share(w, slot / MAC_BLOCK, solid);
    const double     part  = share ? share->face[axis][slot % MAC_BLOCK] : 0.0;
    int32_t          ijk[3];
    double           x[3], arm[3], force[3] = {0.0, 0.0, 0.0}, moment[3];
    if (part == 0.0) continue;
    mac_grid_cell(g, slot, ijk);
    for (int a = 0; a < 3; ++a) x[a] = g->min[a] + g->h * (ijk[a] + (a == axis ? 0.0 : 0.5));
    mac_placed_arm(w->placed + solid, x, arm);
    force[axis] = -h3 * part * row->entry[q].value;
    v3_cross(moment, arm, force);
    for (int a = 0; a < 3; ++a) wrench[a] += force[a], wrench[3 + a] += moment[a];
    is_reached = true;
  }
  return is_reached;
}

/* Cells of a tile with a solid in a lower face. */
static void find_solid_faces(const mac_assembly *c, const int64_t *tile, bool *has)
{
  const mac_weights *w     = &c->y->weights;
  int64_t            block = -1;
  for (int t = 0; t < MAC_TILE; ++t) {
    if (tile[t] >= 0) block = tile[t] / MAC_BLOCK;
    has[t] = false;
    for (int32_t s = w->share_start[block < 0 ? 0 : block]; tile[t] >= 0 && s < w->share_start[block + 1]; ++s)
      for (int a = 0; a < 3; ++a) has[t] = has[t] || w->share[s].face[a][tile[t] % MAC_BLOCK] > 0.0;
  }
}
static bool is_near_solid(const bool *has, int place)
{
  for (int q = 0; q < 27; ++q)
    if (has[place + (q / 9 - 1) * 36 + (q / 3 % 3 - 1) * 6 + q % 3 - 1]) return true;
  return false;
}

/* Couplings of the samples of one chunk; only counts them if `out` is NULL. */
static int64_t couple_samples(const mac_assembly *c, int64_t first, int64_t last, const int64_t *slots, const uint8_t *component,
                              mac_coupling *out, int64_t at)
{
  const mac_weights *w = &c->y->weights;
  int64_t            tile[MAC_TILE], block = -1, n = 0, cell = -1;
  bool               has_solid[MAC_TILE], is_near = false;
  for (int64_t i = first; i < last; ++i) {
    const int64_t here = slots[i] / MAC_BLOCK;
    if (w->share_start[here] == w->share_start[here + 1]) continue;
    if (here != block) block = here, mac_grid_tile(c->g, block, tile), find_solid_faces(c, tile, has_solid);
    const mac_place place = {slots[i], tile, mac_grid_tile_place((int)(slots[i] % MAC_BLOCK))};
    mac_row         row;
    if (slots[i] != cell) cell = slots[i], is_near = is_near_solid(has_solid, place.place);
    if (!is_near) continue;
    if (component) row_of_stress(c, &place, component[i], &row);
    else row_of_pressure(c, &place, &row);
    for (int32_t s = w->share_start[here]; s < w->share_start[here + 1]; ++s) {
      double wrench[6];
      if (!wrench_of_row(c, &row, w->share[s].solid, wrench)) continue;
      if (out) {
        out->sample[at + n] = (int32_t)i, out->solid[at + n] = w->share[s].solid;
        for (int d = 0; d < 6; ++d) out->wrench[at + n][d] = wrench[d];
      }
      ++n;
    }
  }
  return n;
}

enum { SAMPLES = 512 }; /* per chunk: the boundaries depend only on the number of samples */
static PetscErrorCode assemble_coupling(const mac_assembly *c, int64_t n, const int64_t *slots, const uint8_t *component, mac_coupling *out)
{
  const int64_t n_chunks = (n + SAMPLES - 1) / SAMPLES;
  int64_t      *count    = NULL;
  PetscFunctionBegin;
  out->n = 0;
  if (c->y->weights.n_shares == 0 || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("counts of couplings", n_chunks, sizeof *count, &count));
#pragma omp parallel for schedule(dynamic)
  for (int64_t q = 0; q < n_chunks; ++q)
    count[q] = couple_samples(c, q * SAMPLES, (q + 1) * SAMPLES < n ? (q + 1) * SAMPLES : n, slots, component, NULL, 0);
  for (int64_t q = 0; q < n_chunks; ++q) {
    const int64_t here = count[q];
    count[q]           = out->n, out->n += here;
  }
  const PetscErrorCode code =
      MEMORY_RESERVE("couplings", out->n, &out->capacity, ARRAY(out->sample, 1), ARRAY(out->solid, 1), ARRAY(out->wrench, 1));
  if (!code) {
#pragma omp parallel for schedule(dynamic)
    for (int64_t q = 0; q < n_chunks; ++q)
      couple_samples(c, q * SAMPLES, (q + 1) * SAMPLES < n ? (q + 1) * SAMPLES : n, slots, component, out, count[q]);
  }
  memory_free(&count);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemble F_p and F_s. */
static PetscErrorCode assemble_couplings(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  PetscCall(assemble_coupling(c, y->n_cells, y->cell_slot, NULL, &y->F_p));
  PetscCall(assemble_coupling(c, y->n_stress, y->stress_slot, y->component, &y->F_s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void destroy_coupling(mac_coupling *f) { memory_free(&f->sample), memory_free(&f->solid), memory_free(&f->wrench); }

void mac_system_destroy(mac_system *y)
{
  MEMORY_FREE(&y->face_slot, &y->face_axis, &y->cell_slot, &y->ijk, &y->u, &y->mobility, &y->weight);
  sparse_rows_destroy(&y->G), sparse_rows_destroy(&y->GT), sparse_rows_destroy(&y->D), sparse_rows_destroy(&y->DT);
  destroy_coupling(&y->F_p), destroy_coupling(&y->F_s);
  MEMORY_FREE(&y->friction, &y->cohesion, &y->rest_density, &y->component, &y->sample_cells, &y->stress_slot, &y->light, &y->loan,
              &y->row_col, &y->row_value, &y->cell_of, &y->normal_weight);
  for (int a = 0; a < 3; ++a) {
    MEMORY_FREE(&y->face_of[a], &y->edge_weight[a], &y->block_count[a], &y->layer[a], &y->mass[a], &y->left[a], &y->hourglass[0][a],
                &y->hourglass[1][a]);
  }
  mac_weights_destroy(&y->weights);
  mac_bins_destroy(&y->bins);
  *y = (mac_system){0};
}

static bool is_granular(const mac_state *s)
{
  for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
    if (s->friction[slot] > 0.0) return true;
  return false;
}

PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt, mac_system *out)
{
  const bool has_stress = is_granular(s), is_area = o->fractions == MAC_FRACTIONS_AREA,
             has_ghosts  = o->fractions == MAC_FRACTIONS_AUTO ? !has_stress : is_area || o->fractions == MAC_FRACTIONS_GHOST;
  mac_assembly         c = {&s->grid, s, o, solids, n_solids, has_ghosts, out};
  mac_fraction_options f = {.radius      = PARTICLE_RADIUS,
                            .is_area     = is_area,
                            .has_ghosts  = has_ghosts,
                            .is_bare     = has_ghosts && !has_stress,
                            .rho         = s->rho,
                            .rest        = s->rest_density,
                            .is_voxel    = o->fractions == MAC_FRACTIONS_VOXEL,
                            .least_theta = GHOST_FRACTION};
  PetscFunctionBegin;
  out->h = s->grid.h, out->dt = dt, out->arrangement = o->arrangement, out->basis = o->basis;
  out->has_ghosts = has_ghosts;
  timer_begin(TIMER_GRID);
  PetscCall(mac_bins_fill(&out->bins, c.g, s->n_sets, s->n, s->x));
  PetscCall(mac_weights_compute(&out->weights, c.g, &out->bins, n_solids, solids, &f));
  PetscCall(reserve_active(&c));
  PetscCall(extrapolate_empty_faces(&c));
  PetscCall(find_active(&c));
  PetscCall(find_masses(&c));
  PetscCall(apply_wall_friction(&c));
  PetscCall(assemble_operators(&c));
  PetscCall(assemble_couplings(&c));
  timer_end(TIMER_GRID);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_state_accelerate(mac_state *s, const double dt_g[3])
{
#pragma omp parallel
  for (int a = 0; a < 3; ++a) {
#pragma omp for schedule(static) nowait
    for (int64_t slot = 0; slot < s->grid.n_slots; ++slot)
      if (s->mass[a][slot] > 0.0) s->u[a][slot] += dt_g[a];
  }
}

void mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s)
{
  const mac_grid *g = &s->grid;
#pragma omp parallel
  for (int a = 0; a < 3; ++a) {
#pragma omp for schedule(static) nowait
    for (int64_t slot = 0; slot < g->n_slots; ++slot) {
      const int32_t face = y->face_of[a][slot];
      double        change;
      if (face >= 0) s->u[a][slot] = u[face];
      else if (y->has_ghosts && is_face_carried(y, s, a, slot, u, &change)) s->u[a][slot] += change;
      else if (mac_grid_is_closed(g, a, slot) || !(s->mass[a][slot] > 0.0)) s->u[a][slot] = 0.0;
    }
  }
  repay_masses(y, s->u);
  mac_velocity_extrapolate(g, y->layer, s->u);
}
