/* The operators of one step on the staggered grid [TakahashiBatty2021, sec. 3], assembled for the formulation `monolith`.
 *
 * Weights W_S, W_F, W_L: see mac_fractions.h. Faces (unknown ones only), cells (active ones) and stress samples are numbered in the order
 * of grid slots. SI units; the volume h^3 is in `weight`, so that energies are in J. Velocities: u = u* - mobility (G^T p + D^T s). The
 * matrix G is the published G W_L, D is the published D W_L T.
 *
 * Active cells and unknown faces. A cell is active if three conditions are satisfied. Its density, where the part in solids counts as
 * full, exceeds MAC_DENSITY_THRESHOLD; W_L > MAC_CELL_FILL; and one of its faces has W_F > 0. This includes cells in a solid next to a
 * face that the solid cuts: only their pressure constrains the velocity of that face to that of the solid. (The published criterion, W_F
 * of the cell > 0, lets material leak through a solid whose surface is in the outer half of a cell.) A face is unknown if W_F > 0 and an
 * active sample acts on it. W_L of an unknown face is at least FACE_FILL, because an omitted face would be a rigid cover of the cell below
 * the surface. The mass of a face is rho W_L W_F h^3. Faces with less than DENSITY_FLOOR FACE_FILL times the rest density times
 * W_F h^3 borrow mass from others, see "mass of faces" in mac_system.c. With ghosts at the surface, rho is the rest density.
 *
 * The matrix T gives the shear stress of an edge as the mean over its active cells and empty cells; empty cells have no stress. Cells in
 * solids have the stress of the adjacent material, so that the friction at a surface follows from the pressure there. (The published mean
 * over all four cells, with no stress in solids, halves the friction of walls.) There are no cells outside the box. An edge on a wall has
 * the mean of the two cells inside, limited by the pressure half a cell above the wall. Additional loads on the wall have separate
 * friction, see apply_wall_friction in mac_system.c. Edges on smooth walls have no stress.
 *
 * If the friction mu of a surface is below M of the material, the stress that acts on the surface is scaled by mu / M, so that its shear
 * is at most mu p. Scaled are: edges on a rough wall of the box; at a solid, all edges across which W_S of the faces differs; and, at
 * surfaces oblique to the grid, the normal components of the cells of these edges. (The differences of W_S are the weights of the force
 * of an edge on the solid; they add up to one across its surface.) To keep the weights continuous in the position of the solid, the
 * scaling increases linearly over a difference of 0.03. This transmits up to 2 % of the shear of the material in addition. */
#ifndef SS_DISCRETIZE_MAC_MAC_SYSTEM_H
#define SS_DISCRETIZE_MAC_MAC_SYSTEM_H
#include "core/sparse_rows.h"
#include "discretize/mac/mac_fractions.h"
#include "discretize/mac/mac_keys.h"

enum { MAC_STRESSES = 5 };

/* Coupling of samples and solids: force [N] on a solid and moment [N m] about the origin of its frame, per Pa of a sample of p
 * (-h^3 J^T W_S G) or s. Sorted by sample, then solid. Contains all solids, also those of known motion. */
typedef struct {
  int64_t  n;
  int32_t *sample, *solid;
  double (*wrench)[6];
  int64_t capacity;
} mac_coupling;

/* Transfer of mass from a heavy face (`lender`) to a light one of the same axis (`face`), see "mass of faces" in mac_system.c. share: transferred mass
 * over the mass of the lender before the transfer. */
typedef struct {
  int64_t lender; /* slot: the lender may be in free fall */
  int32_t face;   /* number of the borrower */
  double  share;
} mac_loan;

typedef struct {
  double   h, dt;
  int64_t  n_faces, n_cells, n_stress; /* colocated: n_stress = 5 n_cells, sample 5 cell + component. Liquids (M = 0 everywhere): 0 */
  int64_t *face_slot;                  /* [n_faces] */
  uint8_t *face_axis;                  /* [n_faces] */
  int64_t *cell_slot;                  /* [n_cells] */
  int32_t (*ijk)[3];                   /* [n_cells] */
  double      *u, *mobility, *weight;  /* [n_faces] u* m/s; dt/(rho W_L) m^3 s/kg; h^3 W_F m^3 */
  sparse_rows  G, GT, D, DT;           /* G: cells x faces, D: stress samples x faces */
  mac_coupling F_p, F_s;
  double      *friction, *cohesion, *rest_density; /* [n_cells] M = |s|_F / (sqrt(2) p), Pa, kg/m^3 */
  int          arrangement, basis;                 /* mac_arrangement, mac_basis */
  bool         has_ghosts;                         /* ghosts at the surface of a liquid, see mac_fractions.h */
  int64_t     *stress_slot;                        /* [n_stress] slot of the cell, or of the cell whose lower edge has the sample */
  uint8_t     *component;     /* [n_stress] 0 ... 4: two normal ones, then xy, xz, yz. MAC_COMPONENTS: sxx, szz (syy is minus their sum);
                                          MAC_ORTHONORMAL: |s|_F is the Euclidean norm of the five */
  int32_t (*sample_cells)[4]; /* [n_stress] cells whose mean p bounds the sample, -1: unused entry */
  /* [n_slots] number of the cell and of its lower faces; -1: not numbered */
  int32_t    *cell_of, *face_of[3];
  uint8_t    *layer[3]; /* [n_slots] 0: faces that are unknown, at rest or in free fall; others: see mac_velocity.h */
  double     *mass[3];  /* [n_slots] mass of faces of layer 0, including that of extrapolated faces and loans [kg] */
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
  int64_t  cells_capacity, faces_capacity, stress_capacity, slots_capacity, blocks_capacity, mass_capacity, light_capacity, loans_capacity,
      left_capacity;
  int64_t velocity_capacity, row_capacity, rows_capacity[4][2];
  /* scratch of mac_hourglass_apply: [2] by the axis of edges */
  double *hourglass[2][3];
  int64_t hourglass_capacity[2][3];
} mac_system;

/* Assemble the system of a step of length dt. *out is zeroed or from an earlier step, whose memory is reused. s->u of faces without mass is
 * extrapolated from neighbouring faces. All arguments are borrowed, the solids for as long as out->weights is used. Same bits on any number
 * of threads. Fails only if memory allocation fails. */
PetscErrorCode mac_system_assemble(mac_state *s, const mac_options *o, int n_solids, const mac_solid *solids, double dt, mac_system *out);
void           mac_system_destroy(mac_system *y);

/* Write the solution u [n_faces] to s->u; faces on walls get 0. Extrapolate to two layers around all faces that are unknowns of the system,
 * or have mass and are not in a solid. */
void mac_system_store_velocity(const mac_system *y, const double *u, mac_state *s);
/* s->u += dt_g on all faces that have mass; dt_g: time step times gravity [m/s]. */
void mac_state_accelerate(mac_state *s, const double dt_g[3]);
#endif
