/* The operators of one step on the staggered grid [theory: frictional-monolith, sec. 3, 4; Takahashi and Batty 2021, sec. 3].
 *
 * Numbered: faces 0 ... n_faces-1 (unknown ones only), cells 0 ... n_cells-1 (active ones), stress samples, all by slot of the
 * grid. SI units; energies in J: the volume h^3 is in `weight`. Velocities: u = u* - mobility (G^T p + D^T s); G holds G W_L, D
 * holds D W_L T.
 *
 * What takes part. A cell is active if its density, counting its solid part as dense, exceeds the threshold, W_L > cell_fill, and
 * one of its faces has W_F > 0: also a cell in a solid, next to a face that is cut. Without its pressure nothing would hold the
 * velocity of that face to the solid's (the published test, W_F of the cell > 0, lets material leak through a solid whose surface
 * lies in the outer half of a cell). A face is unknown if W_F > 0 and an active sample acts on it. W_L of an unknown face counts as
 * at least face_fill: a face left out would be a lid on the cell below the surface. rho W_L W_F h^3 of a face is its mass, see mac_mass.c,
 * and at least density_floor face_fill of the rest density times W_F h^3; with ghosts at the surface, rho is the rest density.
 *
 * T carries shear stress of cells to an edge, as the mean of its four cells. Plain, as published: inactive ones and those in solids
 * have none, so that walls hold with half of the material's friction. Normalised: the mean over active cells and air (which has
 * none); cells of solids bear stress like the material next to them, so that the surface of a solid has the friction of the
 * pressure there. Walls of the box have no cells beyond: an edge on a wall has the mean of the two inside, bounded by the pressure
 * half a cell above the wall, and what the wall bears in addition holds by itself, see mac_wall.c. On smooth walls edges carry
 * none.
 *
 * Friction at a surface below the material's own, mu < M: the stress that pushes on the surface is scaled by mu / M, so that its
 * shear is at most mu p. That stress is, in full: the edges on a rough wall of the box; at a solid all edges across which W_S of
 * the faces differs (their differences, the weights with which an edge pushes on the solid, add up to one across its surface), and,
 * where its surface is oblique to the grid, all cells likewise for their normal components. To keep weights continuous in the
 * solid's position the scaling sets in linearly over a difference of 0.03: up to 2 % of the material's own shear may get through in
 * addition. */
#ifndef SS_DISCRETIZE_MAC_MAC_SYSTEM_H
#define SS_DISCRETIZE_MAC_MAC_SYSTEM_H
#include "core/sparse_rows.h"
#include "discretize/mac/mac_fractions.h"
#include "discretize/mac/mac_keys.h"

enum { MAC_STRESSES = 5 };

/* Force [N] on a solid and moment [N m] about the origin of its frame, per Pa of a sample: -h^3 J^T W_S G and so on. By sample,
 * then solid; of all solids, also those whose motion is known. */
typedef struct {
  int64_t  n;
  int32_t *sample, *solid;
  double (*wrench)[6];
  int64_t  capacity[3];
} mac_coupling;

/* Mass that a light face has of a heavy one beside it, as a share of the latter's before this loan; both numbers of faces. */
typedef struct {
  int32_t face, lender;
  double  share;
} mac_loan;

typedef struct {
  double   h, dt;
  int64_t  n_faces, n_cells, n_stress; /* colocated: n_stress = 5 n_cells, sample 5 cell + component. Liquids (M = 0 everywhere): 0 */
  int64_t *face_slot;                  /* [n_faces] */
  uint8_t *face_axis;
  int64_t *cell_slot;                  /* [n_cells] */
  int32_t (*ijk)[3];
  double  *u, *mobility, *weight;      /* [n_faces] u* m/s; dt/(rho W_L) m^3 s/kg; h^3 W_F m^3 */
  sparse_rows  G, GT, D, DT;           /* G: cells x faces, D: stress samples x faces */
  mac_coupling F_p, F_s;
  double  *friction, *cohesion, *rest_density; /* [n_cells] M = |s|_F / (sqrt(2) p), Pa, kg/m^3 */
  int      arrangement, basis;         /* mac_arrangement, mac_basis */
  bool     has_ghosts;                 /* a liquid's surface, see mac_fractions.h */
  int64_t *stress_slot;                /* [n_stress] cell, or cell whose lower edge it is */
  uint8_t *component;                  /* [n_stress] 0 ... 4: two normal ones, then xy, xz, yz. MAC_COMPONENTS: sxx, szz (syy is minus their sum);
                                          MAC_ORTHONORMAL: |s|_F is the Euclidean norm of the five, see mac_stress_tensor */
  int32_t (*sample_cells)[4];          /* [n_stress] cells whose mean p bounds the sample, -1: none */
  /* by slot of the grid; -1: not numbered */
  int32_t *cell_of, *face_of[3];
  uint8_t *layer[3];                   /* 0: faces that are solved for, stand still or fall freely; others: see mac_velocity.h */
  double  *mass[3];                    /* kg, of faces of layer 0, with what goes along with them and with loans */
  int64_t   n_loans;
  mac_loan *loan;
  mac_weights weights;
  mac_bins    bins;
  /* scratch of mac_system_assemble */
  double  *edge_weight[3], *normal_weight, *left[3];
  int64_t *block_count[3];
  int32_t *row_col;
  double  *row_value;
  int64_t  capacity[36], rows_capacity[4][3];
  /* scratch of mac_hourglass_hold: [2] by the axis of edges */
  double  *hourglass[2][3];
  int64_t  hourglass_capacity[2][3];
} mac_system;

/* *out is empty or of an earlier step, and serves again. s->u of faces without mass is extrapolated from those around. Borrows all;
 * the solids as long as weights are used. Same bits on any number of threads. */
PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt, mac_system *out);
void           mac_system_destroy(mac_system *y);

/* u [n_faces] to the grid; 0 on closed walls; two layers around all that is known (solved for, or with mass and not in a solid)
 * are extrapolated. */
void           mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s);
/* u += dt g on all faces that have mass. */
void mac_state_accelerate(mac_state *s, const double dt_g[3]);
/* xx, yy, zz, xy, xz, yz of five numbers in a basis. */
void mac_stress_tensor(int basis, const double c[MAC_STRESSES], double s[6]);
#endif
