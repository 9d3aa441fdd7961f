/* The mass of faces, as the problem of a step has it.
 *
 * * Particles -> faces -> particles keeps sum (m_f u_f), so grains gain m_f (u_f - u_f*) of every face, solved for or not. For
 * that to be what solids, walls and gravity give, a face that is solved for has the mass m_f that its kernel gathers, cut by the
 * surface or a solid as it may be (the published rho W_L counts what is missing at a surface twice), and faces with mass whose
 * velocity follows that of others hand them that mass beforehand, see mac_velocity.h: those in solids, and the outermost grains
 * of a surface. What neither is solved for nor follows falls freely, or is carried: see mac_face_is_carried. A face lighter than
 * the share density_floor face_fill of a full one, which could not be solved for, borrows what it lacks from heavy faces beside
 * it, in equal parts: with their u*, and what is borrowed goes back with the light face's velocity. Where nothing beside it is
 * heavy enough to lend, it counts as that heavy all the same, and takes momentum that no grain has: at most its lack of mass
 * times its change of velocity. */
#include "core/memory.h"
#include <math.h>
#include "discretize/mac/mac_system_internal.h"
#include "discretize/mac/mac_velocity.h"

static const double LIGHT = 0.23;  /* of the mass of a full face; no share that a lattice of 2x2x2 grains a cell has */
static const double LENDER = 8.0;  /* least masses: it may have six borrowers */

/* Little mass beside a face that is solved for, across its own direction: the outermost grains of a surface, which go along with
 * it. Left to themselves they would fall freely along a slope and drag what is under them. */
static bool goes_along(const mac_assembly *c, int axis, int64_t slot, const int64_t *tile, int place)
{
  const int64_t lower = tile[place - mac_step[axis]];
  const double  rest = fmax(c->s->rest_density[slot], lower >= 0 ? c->s->rest_density[lower] : 0.0);
  if (c->s->mass[axis][slot] > LIGHT * rest * c->g->h * c->g->h * c->g->h) return false;
  for (int q = 0; q < 6; ++q) {
    const int64_t other = tile[place + (q % 2 ? 1 : -1) * mac_step[q / 2]];
    if (q / 2 != axis && other >= 0 && c->y->face_of[axis][other] >= 0) return true;
  }
  return false;
}

/* Solved for, standing still, or left to itself. */
static bool is_known(const mac_assembly *c, int axis, int64_t slot, const int64_t *tile, int place)
{
  if (c->y->face_of[axis][slot] >= 0 || mac_grid_is_closed(c->g, axis, slot)) return true;
  if (c->has_ghosts && mac_face_is_carried(c->y, c->s, axis, slot, NULL, NULL)) return true;
  return c->s->mass[axis][slot] > 0.0 && c->y->weights.face_fluid[axis][slot] > 0.0 && !goes_along(c, axis, slot, tile, place);
}

static PetscErrorCode reserve(mac_system *y, int64_t n_slots)
{
  PetscFunctionBegin;
  for (int a = 0; a < 3; ++a) {
    PetscCall(memory_reserve("layers of faces", n_slots, sizeof *y->layer[a], &y->capacity[24 + a], &y->layer[a]));
    PetscCall(memory_reserve("masses of faces", n_slots, sizeof *y->mass[a], &y->capacity[27 + a], &y->mass[a]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_velocity_of_empty_faces(mac_assembly *c)
{
  const mac_state *s = c->s;
  mac_system      *y = c->y;
  PetscFunctionBegin;
  PetscCall(reserve(y, c->g->n_slots));
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

PetscErrorCode mac_masses_find(mac_assembly *c)
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
  if (!c->has_ghosts) PetscCall(mac_velocity_carry(c->g, y->layer, y->mass, c->s->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Faces beside one that are solved for and can spare `least` several times over. */
static int find_lenders(const mac_assembly *c, int axis, const int64_t *tile, int place, double least, int32_t lender[6])
{
  int n = 0;
  for (int q = 0; q < 6; ++q) {
    const int64_t other = tile[place + (q % 2 ? 1 : -1) * mac_step[q / 2]];
    if (other < 0 || c->y->face_of[axis][other] < 0 || !(c->y->mass[axis][other] > LENDER * least)) continue;
    lender[n++] = c->y->face_of[axis][other];
  }
  return n;
}

/* Loans of all light faces; their share is the mass yet. */
static PetscErrorCode find_loans(mac_assembly *c)
{
  mac_system *y = c->y;
  int64_t     tile[MAC_TILE], block = -1;
  PetscFunctionBegin;
  y->n_loans = 0;
  for (int64_t f = 0; f < y->n_faces; ++f) {
    const int64_t slot  = y->face_slot[f];
    const int     axis  = y->face_axis[f];
    const double  least = y->dt * y->weight[f] / y->mobility[f], lack = least - y->mass[axis][slot];
    int32_t       lender[6];
    if (!(lack > 1e-9 * least)) continue;
    if (slot / MAC_BLOCK != block) block = slot / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
    const double full = least * y->h * y->h * y->h / y->weight[f]; /* of a face that no solid cuts: who has several is not light */
    const int    n    = find_lenders(c, axis, tile, mac_grid_tile_place((int)(slot % MAC_BLOCK)), full, lender);
    PetscCall(memory_reserve("loans of mass", y->n_loans + n, sizeof *y->loan, &y->capacity[30], &y->loan));
    for (int q = 0; q < n; ++q) y->loan[y->n_loans++] = (mac_loan){(int32_t)f, lender[q], lack / n};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_masses_lend(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  y->n_loans = 0;
  if (c->has_ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(find_loans(c));
  for (int64_t q = 0; q < y->n_loans; ++q) {
    mac_loan *const l = y->loan + q;
    const int       axis = y->face_axis[l->face];
    double *const   to = y->mass[axis] + y->face_slot[l->face], *const from = y->mass[axis] + y->face_slot[l->lender];
    const double    lent = l->share;
    y->u[l->face] = (*to * y->u[l->face] + lent * y->u[l->lender]) / (*to + lent);
    l->share = lent / *from;
    *to += lent, *from -= lent;
    y->mobility[l->lender] = y->dt * y->weight[l->lender] / *from;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_masses_repay(const mac_system *y, double *const u[3])
{
  for (int64_t q = y->n_loans - 1; q >= 0; --q) { /* in reverse: each share is of the mass before the loan */
    const mac_loan *l    = y->loan + q;
    const int       axis = y->face_axis[l->face];
    double *const   to   = u[axis] + y->face_slot[l->lender];
    *to += l->share * (u[axis][y->face_slot[l->face]] - *to);
  }
}
