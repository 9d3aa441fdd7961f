/* The granular problem: constrained minimisation for pressure p, deviatoric stress s, normal contact forces lambda and tangential contact
 * forces z of one time step [TakahashiBatty2021, eq. (13)]. It is defined by samples and matrices, without a grid.
 *
 *   u = u* - mobility (G^T p + D^T s)                                   [n_faces] m/s
 *   v = v* + inverse_mass (F_p^T p + F_s^T s + B^T (lambda, z))          [n_bodies][6] m/s, rad/s
 *   J = 1/2 sum (weight/mobility) u^2 + 1/2 v^T inverse_mass^-1 v + p_known . p + s_known . s + known . (lambda, z) [W], energy over dt
 *
 * p >= -c and lambda >= 0 minimise J; s and z minimise J for fixed p and lambda under |s|_F <= alpha (p + c), |z_j| <= mu_j lambda_j.
 * The solution is a fixed point of convex projections, not one convex program. Gradients of J are
 *
 *   p: -G (weight u) + F_p v + p_known    s: -D (weight u) + F_s v + s_known    lambda, z: B v + known
 *
 * Here u: velocities at faces, v: velocities of bodies, both at the end of the step; u*, v*: without these unknowns; c: cohesion.
 * Solvers store the velocities of the current unknowns. Therefore a change of one unknown needs one product, without cross terms.
 * Differences from the paper: `weight` contains the cell volume h^3, unknowns are forces instead of impulses, rows of G are cells.
 * Filled by sim/monolith, solved by granular_solve. This header also declares the key table of solver.monolith. */
#ifndef SS_OPTIM_GRANULAR_GRANULAR_PROBLEM_H
#define SS_OPTIM_GRANULAR_GRANULAR_PROBLEM_H
#include "core/key_table.h"
#include "core/sparse_rows.h"
#include "optim/bounds/bounds_qp.h"

/* A coupling matrix F between samples of pressure or stress and bodies. Each of its n blocks contains force [N] and moment [N m] on one
 * body per Pa of one sample. Sorted by sample, then body. Bodies of known velocity contribute to p_known and s_known instead. */
typedef struct {
  int64_t        n;
  const int32_t *sample, *body; /* [n] */
  const double (*wrench)[6];    /* [n] */
} granular_coupling;

typedef struct {
  int32_t body[2]; /* indices of the two bodies; -1: body of known velocity */
  double
      row[3][2]
         [6]; /* rows of B: normal (separating > 0), two tangents; relative velocity k = sum of row[k][side] . v[body[side]] + known[k] */
  double known[3]; /* part of the relative velocity by bodies of known velocity and by restitution [m/s] */
  double mu;       /* friction coefficient, >= 0 */
} granular_contact;

typedef struct granular_problem {
  int64_t            n_faces, n_cells, n_stress, n_bodies, n_contacts; /* n_stress 0: a liquid without stress */
  const double      *u_star, *v_star;                                  /* [n_faces], [n_bodies][6] u*, v* */
  const double      *mobility, *weight;                                /* [n_faces] dt/(rho W_L) [m^3 s/kg] > 0; h^3 W_F [m^3] */
  const sparse_rows *G, *GT, *D, *DT; /* G [n_cells x n_faces], D [n_stress x n_faces] [1/m], and their transposes */
  const int32_t (*ijk)[3];            /* [n_cells] grid indices */
  granular_coupling F_p, F_s;
  const double (*inverse_mass)[36];          /* [n_bodies] dt M^-1 */
  const granular_contact *contact;           /* [n_contacts] */
  const double           *p_known, *s_known; /* [n_cells], [n_stress] volume rates by bodies of known velocity [m^3/s]; NULL: 0 */
  bool                    is_staggered;      /* false: sample 5 i + e is component e of cell i; true: see sample_cells */
  bool           is_orthonormal; /* |s|_F is the Euclidean norm of the five components; false: sxx, szz, sxy, sxz, syz, syy = -sxx - szz */
  const uint8_t *component;      /* [n_stress] 0 ... 4; 0 and 1 are diagonal components */
  const int32_t (*sample_cells)[4]; /* [n_stress] cells whose p bounds the sample and to whose stress it contributes; -1: unused entry */
  const double *alpha, *cohesion;   /* [n_cells] slope of the cone sqrt(2) M, cohesion c [Pa] >= 0; cohesion NULL: 0 */
  double        pressure_scale;     /* rho g h [Pa]: scale of p; stress is 0 in cells whose p + c is below 1e-6 of it */
  double        contact_scale;      /* scale of lambda: weight of bodies over number of contacts [N]; 0: the largest lambda */
  /* If not NULL, called at the start of every outer iteration. Sets alpha [n_cells] from p and u, for the mu(I) rheology and similar laws. */
  void (*update_alpha)(void *context, const double *p, const double *u, double *alpha);
  void *alpha_context;
  /* If not NULL, called in the final contact solve for bodies with nonlinear equations of motion. It updates v_star so that
   * v_star + inverse_mass wrench is their velocity under the given wrench [n_bodies][6]. */
  PetscErrorCode (*update_bodies)(void *context, const double (*wrench)[6]);
  void *bodies_context;
} granular_problem;

/* Unknowns. In: initial guess; 0 is allowed, and for lambda and z it is as good as other values. Out: solution, with its u and v. */
typedef struct {
  double *p;          /* [n_cells] Pa */
  double *s;          /* [n_stress] Pa */
  double *lambda, *z; /* [n_contacts], [n_contacts][2] N */
  double *multiplier; /* [n_cells] multipliers of the cones, only for `stress: augmented_lagrangian`; NULL: start from 0 */
  double *u, *v;      /* out: [n_faces], [n_bodies][6] m/s, rad/s */
} granular_state;

/* Tables of the coupling schemes (order of the solves, with their names in the paper), stress solvers and friction solvers. */
/* clang-format off */
#define GRANULAR_COUPLING_TABLE(X)                                                                                                            \
  X(MONOLITHIC, "monolithic", "T-F-P-N iterated: contact friction, stress, then sweeps of pressure and normal forces, until convergence") \
  X(UNIFIED, "unified", "T-F-PN: pressure and normal forces in one solve")                                                                  \
  X(P_C, "p_c", "P-C, weak: pressure alone (no stress), then contacts, once")                                                                \
  X(C_P, "c_p", "C-P, weak: contacts, then pressure alone (no stress), once")                                                                \
  X(PF_C, "pf_c", "PF-C, weak: pressure and stress, then contacts, once")                                                                     \
  X(C_PF, "c_pf", "C-PF, weak: contacts, then pressure and stress, once")
#define GRANULAR_STRESS_TABLE(X)                                                                                                              \
  X(GRADIENT, "projected_gradient", granular_stress_gradient, "accelerated projected gradient on all five components with exact projection on the cone")            \
  X(LAGRANGIAN, "augmented_lagrangian", granular_stress_lagrangian, "component by component, augmented Lagrangian and inexact projected Newton [TakahashiBatty2021]")  \
  X(PYRAMID, "pyramid", granular_stress_pyramid, "bounds for each component, all solved from the same stress (JCSP); anisotropic, published for staggered stress")      \
  X(SP, "sp", granular_stress_sp, "the same bounds, all components in one solve with a larger diagonal; published for comparison, heaps do not stay at rest")
#define GRANULAR_FRICTION_TABLE(X)                                                                                \
  X(GRADIENT, "projected_gradient", "accelerated projected gradient with exact projection on the discs")      \
  X(NEWTON, "newton", "augmented Lagrangian, projected Newton with line search on the energy [TakahashiBatty2021]")
/* clang-format on */
enum {
#define X(symbol, name, help) GRANULAR_##symbol,
  GRANULAR_COUPLING_TABLE(X)
#undef X
};
enum {
#define X(symbol, name, solver, help) GRANULAR_STRESS_##symbol,
  GRANULAR_STRESS_TABLE(X)
#undef X
};
enum {
#define X(symbol, name, help) GRANULAR_FRICTION_##symbol,
  GRANULAR_FRICTION_TABLE(X)
#undef X
};

typedef struct {
  int64_t max_iterations; /* of one stress solve */
} granular_gradient_options;
typedef struct {
  int64_t iterations;      /* Newton steps of each component in an outer iteration */
  double  damping;         /* factor gamma on each Newton step */
  bool    has_pyramid;     /* Newton steps are bounded by an auxiliary pyramid */
  double  kappa;           /* width of the pyramid over the width of the cone */
  double  mu;              /* penalty common to all cells, as published [W]; NaN: a value per cell (granular_stress_lagrangian.c) */
  bool    has_line_search; /* backtracking from step length 1 replaces the damping */
} granular_lagrangian_options;
typedef struct {
  int     method;         /* GRANULAR_FRICTION_... */
  int64_t max_iterations; /* of one solve for z */
} granular_friction_options;

typedef struct granular_options {
  int                                coupling, stress; /* GRANULAR_..., GRANULAR_STRESS_... */
  double                             tolerance;        /* on the change of an outer iteration (granular_report.change) */
  int64_t                            max_outer_iterations;
  double                             pyramid_width;    /* bound of a component over alpha p/sqrt(2) */
  const bounds_options              *pressure, *boxes; /* options for p and lambda; for stress components */
  const granular_gradient_options   *gradient;
  const granular_lagrangian_options *lagrangian;
  const granular_friction_options   *friction;
} granular_options;
/* KSPs (borrowed) of the linear systems: `pressure` for p, also with lambda; `contact` for lambda; `stress` for stress components and z;
 * `friction` for the final contact solve. NULL: solved without options of PETSc. */
typedef struct {
  linear_solver *pressure, *contact, *stress, *friction;
} granular_solvers;
extern const key_table granular_options_table; /* of struct granular_options: solver.monolith of a job */

/* Residual, evaluated independently of the solver (granular_kkt.h). kkt, complementarity and volume_rate are 0 at a solution. */
typedef struct {
  /* Largest entry of the natural map x - P(x - g/d) of p, s, lambda, z; g: gradient, d: diagonal of the Hessian, P: projection onto the
   * constraints. Divided by p_ref, alpha p_ref, lambda_ref, mu lambda_ref. s is 0 (not evaluated) for staggered stress, and nonzero at
   * solutions of `pyramid` and `sp`, which replace the cone by other bounds. */
  double p, s, lambda, z;
  double kkt;                     /* the largest of the four */
  double yield;                   /* largest |s|/(alpha (p + c)) of cells with p > 5 % of max p; 0 without stress */
  double complementarity;         /* sum |(p + c) g_p| [W], g_p: gradient with respect to p */
  double volume_rate;             /* sum max(0, -g_p): rate of volume loss [m^3/s] */
  double contact_complementarity; /* sum |lambda g_lambda| [W] */
  double energy;                  /* J - J(p = s = lambda = z = 0) [W], <= 0 at a solution */
} granular_kkt_report;

typedef struct {
  int64_t outer, p_iterations, s_iterations, n_iterations, t_iterations,
      pn_iterations;                    /* outer iterations; inner iterations of the solvers of p, s, lambda, z, (p, lambda) */
  int64_t products;                     /* pairs of products with D^T and D */
  bool    is_converged, became_unified; /* became_unified: p and lambda converged slowly, so the remaining iterations used `unified` */
  bool    is_finite;                    /* false: NaN or infinity, the step failed; the state is that of the last iteration */
  double  change; /* largest change of an unknown in the last outer iteration over its scale; without a continuum: kkt */
  granular_kkt_report kkt;
  double              seconds[4]; /* wall time of p, s, lambda, z; a solve for p and lambda together counts as p */
} granular_report;
#endif
