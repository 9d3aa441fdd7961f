/* What the parts of mac_system_assemble share. */
#ifndef SS_DISCRETIZE_MAC_MAC_SYSTEM_INTERNAL_H
#define SS_DISCRETIZE_MAC_MAC_SYSTEM_INTERNAL_H
#include "discretize/mac/mac_system.h"

static const int mac_step[3] = {36, 6, 1}; /* in a tile */

typedef struct {
  const mac_grid    *g;
  const mac_state   *s;
  const mac_options *o;
  const mac_solid   *solids;
  int                n_solids;
  bool               has_ghosts; /* at the surface of a liquid */
  mac_system        *y;
} mac_assembly;

/* The part of a row that lies on one lower face; not 0. */
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

/* A sample and where it is: the cell, or the edge's cell in the staggered arrangement. */
typedef struct {
  int64_t        slot;
  const int64_t *tile;
  int            place;
} mac_place;

PetscErrorCode mac_active_reserve(mac_assembly *c);
/* u* of faces without mass, from those around. After mac_active_reserve. */
PetscErrorCode mac_velocity_of_empty_faces(mac_assembly *c);
/* Active cells, weights of edges, unknown faces: all that is numbered. Sets n_cells, n_faces and their arrays. */
PetscErrorCode mac_active_find(mac_assembly *c);
/* The mass of faces and, mixed with what goes along with them, their u*: see mac_mass.c. After mac_active_find. */
PetscErrorCode mac_masses_find(mac_assembly *c);
/* Coulomb friction of what lies on rough walls of the box, on s->u: see mac_wall.c. After mac_masses_find. */
PetscErrorCode mac_walls_hold(mac_assembly *c);
/* Loans between faces whose u, mobility and weight are known. */
PetscErrorCode mac_masses_lend(mac_assembly *c);
/* What is borrowed goes back: u of lenders, once the faces' velocities are on the grid and before others follow them. */
void mac_masses_repay(const mac_system *y, double *const u[3]);
/* Liquid in a cell whose centre it does not reach yet: the face beyond it is not solved for, but what is there rests on what is
 * below and gets the same push: the mean change of u [n_faces] from u* over the faces beside it, unless it is ahead of them already
 * in its direction. Left to itself it would sink into the surface; made to follow, it would forget how it came. u NULL: push is not
 * asked for. */
bool mac_face_is_carried(const mac_system *y, const mac_state *s, int axis, int64_t slot, const double *u, double *push);
/* G, D and their transposes, F_p, F_s; mobility, weight, u. */
PetscErrorCode mac_operators_assemble(mac_assembly *c);
PetscErrorCode mac_couplings_assemble(mac_assembly *c);

void mac_row_of_pressure(const mac_assembly *c, const mac_place *at, mac_row *row);
void mac_row_of_stress(const mac_assembly *c, const mac_place *at, int component, mac_row *row);
/* Axis along which the edge of a shear component lies: xy, xz, yz -> z, y, x. */
static inline int mac_component_axis(int component) { return 4 - component; }
#endif
