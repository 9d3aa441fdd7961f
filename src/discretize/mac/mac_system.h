/* The operators of one step on the staggered grid [TakahashiBatty2021, sec. 3], assembled for the formulation `monolith`.
 *
 * Numbering: faces 0 ... n_faces-1 (unknown ones only), cells 0 ... n_cells-1 (active ones), and stress samples, all in the order
 * of grid slots. SI units; the volume h^3 is in `weight`, so that energies are in J. Velocities: u = u* - mobility (G^T p + D^T
 * s); G contains G W_L, D contains D W_L T.
 *
 * Active cells and unknown faces. A cell is active if its density, with its solid part counted as dense, exceeds the threshold,
 * W_L > MAC_CELL_FILL, and one of its faces has W_F > 0. This includes cells in a solid next to a cut face: without their pressure
 * nothing would constrain the velocity of that face to the solid's. (The published criterion, W_F of the cell > 0, lets material
 * leak through a solid whose surface is in the outer half of a cell.) A face is unknown if W_F > 0 and an active sample acts on
 * it. W_L of an unknown face is at least FACE_FILL: an omitted face would act as a lid on the cell below the surface. rho W_L W_F
 * h^3 of a face is its mass. Faces with less than DENSITY_FLOOR FACE_FILL of the rest density times W_F h^3 borrow mass from others,
 * see "mass of faces" in mac_system.c. With ghosts at the surface, rho is the rest density.
 *
 * T transfers shear stress from cells to an edge, as the mean over its active cells and air, which has no stress; cells of solids have
 * the stress of the material next to them, so that the surface of a solid has the friction of the pressure there. (The published mean
 * over all four cells, with no stress in solids, halves the friction of walls.) Walls of the box have no cells beyond them. An edge on
 * a wall has the mean of the two cells inside, bounded by the pressure half a cell above the wall; the additional load on the wall has
 * its own friction, see apply_wall_friction in mac_system.c. Edges on smooth walls have no stress.
 *
 * Friction at a surface below the material's own, mu < M: the stress that acts on the surface is scaled by mu / M, so that its
 * shear is at most mu p. The scaled stress is: the edges on a rough wall of the box; at a solid, all edges across which W_S of the
 * faces differs (these differences, the weights of an edge's force on the solid, add up to one across its surface); and, where its
 * surface is oblique to the grid, the normal components of all such cells. To keep weights continuous in the solid's position, the
 * scaling increases linearly over a difference of 0.03; this transmits up to 2 % of the material's own shear in addition. */
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
  int64_t capacity;
} mac_coupling;

/* Loan of mass from a heavy face to a light neighbour of the same axis, as a share of the lender's mass before this loan. */
typedef struct {
  int64_t lender; /* slot: the lender may be in free fall */
  int32_t face;   /* number of the borrower */
  double  share;
} mac_loan;

typedef struct {
  double   h, dt;
  int64_t  n_faces, n_cells, n_stress; /* colocated: n_stress = 5 n_cells, sample 5 cell + component. Liquids (M = 0 everywhere): 0 */
  int64_t *face_slot;                  /* [n_faces] */
  uint8_t *face_axis;
  int64_t *cell_slot; /* [n_cells] */
  int32_t (*ijk)[3];
  double      *u, *mobility, *weight; /* [n_faces] u* m/s; dt/(rho W_L) m^3 s/kg; h^3 W_F m^3 */
  sparse_rows  G, GT, D, DT;          /* G: cells x faces, D: stress samples x faces */
  mac_coupling F_p, F_s;
  double      *friction, *cohesion, *rest_density; /* [n_cells] M = |s|_F / (sqrt(2) p), Pa, kg/m^3 */
  int          arrangement, basis;                 /* mac_arrangement, mac_basis */
  bool         has_ghosts;                         /* a liquid's surface, see mac_fractions.h */
  int64_t     *stress_slot;                        /* [n_stress] slot of the cell, or of the cell whose lower edge has the sample */
  uint8_t     *component;     /* [n_stress] 0 ... 4: two normal ones, then xy, xz, yz. MAC_COMPONENTS: sxx, szz (syy is minus their sum);
                                          MAC_ORTHONORMAL: |s|_F is the Euclidean norm of the five */
  int32_t (*sample_cells)[4]; /* [n_stress] cells whose mean p bounds the sample, -1: none */
  /* by slot of the grid; -1: not numbered */
  int32_t    *cell_of, *face_of[3];
  uint8_t    *layer[3]; /* 0: faces that are unknown, at rest or in free fall; others: see mac_velocity.h */
  double     *mass[3];  /* kg, of faces of layer 0, including extrapolated faces and loans */
  int64_t     n_light, n_loans;
  int32_t    *light; /* [n_light] unknown faces with less than the minimum mass, before loans */
  mac_loan   *loan;
  mac_weights weights;
  mac_bins    bins;
  /* scratch of mac_system_assemble */
  double  *edge_weight[3], *normal_weight, *left[3];
  int64_t *block_count[3];
  int32_t *row_col;
  double  *row_value;
  int64_t  cells_capacity, faces_capacity, stress_capacity, slots_capacity, blocks_capacity, mass_capacity, light_capacity, loans_capacity, left_capacity;
  int64_t  velocity_capacity, row_capacity, rows_capacity[4][2];
  /* scratch of mac_hourglass_apply: [2] by the axis of edges */
  double *hourglass[2][3];
  int64_t hourglass_capacity[2][3];
} mac_system;

/* Assemble the system of a step. *out is empty or from an earlier step, whose memory is reused. s->u of faces without mass is
 * extrapolated from the faces around. Borrows all arguments; the solids as long as weights are used. Same bits on any number of
 * threads. */
PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt, mac_system *out);
void           mac_system_destroy(mac_system *y);

/* Write u [n_faces] to the grid; 0 on closed walls. Two layers around all known faces (unknown ones of the system, or with mass
 * and not in a solid) are extrapolated. */
void mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s);
/* u += dt g on all faces that have mass. */
void mac_state_accelerate(mac_state *s, const double dt_g[3]);
#endif
