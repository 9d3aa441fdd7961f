/* Quantities that a step reports: one line per quantity in STEP_REPORT_TABLE and, for contacts, in CONTACT_SUMMARY_TABLE.
 *
 * The struct, the merge over substeps, the columns of history.csv, the totals of summary.txt, the table of the report page and
 * docs/reference/history.md are derived from these lines. A formulation fills the struct and lists its groups in formulation_ops.
 * Line: name of member and column, type, unit, merge rule, group, help. */
#ifndef SS_SIM_STEP_STEP_REPORT_H
#define SS_SIM_STEP_STEP_REPORT_H
#include "contact/detection/contact_record.h"

/* Rule that merges the values of substeps into the value of the step. FALLBACK: sum; the report page warns if it is not 0. DEEPEST: value
 * of the substep with the largest penetration. */
typedef enum { REPORT_SUM, REPORT_MAX, REPORT_LAST, REPORT_FALLBACK, REPORT_DEEPEST } report_rule;
extern const char *const report_rule_names[]; /* "sum", "maximum", "last", "sum", "at largest penetration" */

/* Groups of quantities. A formulation provides all quantities of a group or none. INTERNAL: not a column of history.csv. */
/* clang-format off */
#define REPORT_GROUP_TABLE(X)                                                                                                      \
  X(RUN)                                                                                                                           \
  X(PLASTICITY) X(OUTER) X(EVALUATIONS) X(LINEAR) X(INNER) X(GRADIENT) X(TOLERANCE) X(CONTACT) X(CONTACT_LAW) X(SPRINGS)           \
      X(IMPULSES) X(CONTACT_PROBLEM) X(RESTING) X(FRICTION_SOLVER) X(CONVEX) X(GRANULAR) X(TRANSFER)
/* clang-format on */
enum {
#define X(name) REPORT_BIT_##name,
  REPORT_GROUP_TABLE(X)
#undef X
      REPORT_N_GROUPS,
#define X(name) REPORT_##name = 1 << REPORT_BIT_##name,
  REPORT_GROUP_TABLE(X)
#undef X
      REPORT_INTERNAL = 0
};

/* Types: int64_t, double, or report_index, an index that is negative if there is none. */
typedef int64_t report_index;

/* clang-format off */
#define STEP_REPORT_TABLE(X)                                                                                                       \
  X(penetration_body_a, report_index, "1", DEEPEST, CONTACT, "index of a body of the deepest overlap, in the order of `bodies:` with links after their body; empty without overlap") \
  X(penetration_body_b, report_index, "1", DEEPEST, CONTACT, "index of the other body of the deepest overlap; empty without overlap") \
  X(friction_work, double, "J", LAST, CONTACT, "energy dissipated by friction since the start of the run")                         \
  X(friction_angle_rms, double, "rad", LAST, IMPULSES,                                                                             \
    "root mean square of the angle between friction and the direction opposite to slip, "                                          \
    "over all slip since the start of the run, weighted by the energy that friction can dissipate")                                \
  X(yield_overshoot, double, "1", MAX, PLASTICITY, "largest trial stress divided by the yield stress, before the return mapping")          \
  X(step_rotation, double, "rad", MAX, PLASTICITY, "largest rotation of a material point in a step or substep")                    \
  X(newton_iterations, int64_t, "1", SUM, OUTER, "outer iterations: Newton iterations, or coupling iterations (monolith)")         \
  X(linear_iterations, int64_t, "1", SUM, LINEAR,                                                                                  \
    "iterations of the linear solver (penalty), of the contact problem (convex), rounds of "                                       \
    "impulses (hybrid), pressure iterations (monolith)")                                                                           \
  X(inner_iterations, int64_t, "1", SUM, INNER,                                                                                    \
    "iterations of iterative linear solvers inside the outer iterations; 0 with factorisations. penalty: "                         \
    "sweeps over the contacts of rigid bodies for the initial guess")                                                                  \
  X(evaluations, int64_t, "1", SUM, EVALUATIONS, "evaluations of the residual")                                                    \
  X(residual, double, "1", MAX, OUTER,                                                                                             \
    "residual norm of the accepted state, unit: acceleration_scale, or N s with solver.penalty.expert.norm: impulse; monolith: last change of an "                       \
    "outer iteration relative to the scale of the solution, or coupling_error without a continuum")                                                                       \
  X(gradient, double, "1", MAX, GRADIENT,                                                                                          \
    "norm of the gradient of the squared residual (penalty); relative gradient of the last contact "                               \
    "problem (convex)")                                                                                                            \
  X(unconverged, int64_t, "1", SUM, TOLERANCE, "substeps accepted although their residual exceeds solver.newton.tolerance, or solver.monolith.tolerance")        \
  X(gradient_directions, int64_t, "1", FALLBACK, SPRINGS, "Newton iterations that used the negative gradient as search direction") \
  X(friction_unconverged, int64_t, "1", FALLBACK, FRICTION_SOLVER, "friction problems accepted above solver.friction.tolerance")   \
  X(contact_unconverged, int64_t, "1", FALLBACK, CONVEX, "contact problems accepted above solver.convex.tolerance, and contacts that violate Coulomb's law after the last pass")                \
  X(rigid_zone_rounds, int64_t, "1", FALLBACK, TRANSFER,                                                                           \
    "collision rounds that were resolved by rigid impact zones instead of impulses")                                               \
  X(unified_solves, int64_t, "1", FALLBACK, GRANULAR,                                                                              \
    "coupled solves that switched to the unified solver because the iteration between "                                            \
    "pressure and contact converged slowly")                                                                                       \
  X(contact_candidates, int64_t, "1", LAST, CONTACT_PROBLEM, "contacts in the last contact problem, with and without a force")     \
  X(over_constraint, double, "1", LAST, CONTACT_PROBLEM, "3 * contact_candidates / (number of free unknowns)")                  \
  X(resting, int64_t, "1", LAST, RESTING, "bodies at rest, which the step has left out (contact.skip_resting)")           \
  X(friction_method, report_index, "1", LAST, FRICTION_SOLVER,                                                                     \
    "friction solver that found the last solution; empty if no friction problem "                                                  \
    "was solved")                                                                                                                  \
  X(friction_iterations, int64_t, "1", SUM, FRICTION_SOLVER, "iterations of the friction solver")                                  \
  X(friction_error, double, "1", MAX, FRICTION_SOLVER, "error of the last friction solution, error norm `scaled`")                 \
  X(friction_error_absolute, double, "1", MAX, FRICTION_SOLVER, "error of the last friction solution, error norm `absolute`")                                 \
  X(friction_error_siconos, double, "1", MAX, FRICTION_SOLVER, "error of the last friction solution, error norm `siconos`")                                   \
  X(friction_residual_speed, double, "m/s", MAX, FRICTION_SOLVER, "largest creep or approach velocity that the last friction solution leaves, if solver.exact.max_creep applies")            \
  X(friction_speed_ratio, double, "1", MAX, FRICTION_SOLVER, "largest ratio of such a velocity to the accepted one, see solver.exact.max_creep")            \
  X(pressure_unknowns, int64_t, "1", LAST, GRANULAR, "unknown pressures, one per cell of the continuum")                           \
  X(stress_unknowns, int64_t, "1", LAST, GRANULAR, "unknown components of the deviatoric stress")                                  \
  X(stress_iterations, int64_t, "1", SUM, GRANULAR, "iterations of the stress solver")                                             \
  X(contact_iterations, int64_t, "1", SUM, GRANULAR, "iterations of the contact and friction solvers between bodies")              \
  X(coupling_error, double, "1", MAX, GRANULAR,                                                                                    \
    "largest natural map of pressure, stress, normal force and friction, each relative to its "                                    \
    "scale; 0 at a solution")                                                                                                      \
  X(yield_ratio, double, "1", MAX, GRANULAR,                                                                                       \
    "largest deviatoric stress divided by its bound; at most 1 if the yield condition is satisfied")                                     \
  X(complementarity, double, "W", MAX, GRANULAR,                                                                                   \
    "sum over cells of pressure (plus cohesion) times rate of opening; 0 at a solution")                                           \
  X(contact_complementarity, double, "W", MAX, GRANULAR,                                                                           \
    "sum over contacts of normal force times separation speed; 0 at a solution")                                                   \
  X(volume_rate, double, "m^3/s", MAX, GRANULAR, "remaining rate of volume loss; 0 at a solution")                                 \
  X(volume, double, "m^3", LAST, GRANULAR, "volume of the continuum outside solids, inside the surface of its particles")          \
  X(excess_mass_fraction, double, "1", LAST, GRANULAR,                                                                             \
    "mass above the rest density, summed over cells, as a fraction of the total mass")                                             \
  X(transfer_iterations, int64_t, "1", SUM, TRANSFER, "iterations of the contact solution on the grid (augury)")                   \
  X(transfer_points, int64_t, "1", SUM, TRANSFER, "sample points transferred to the grid")                                         \
  X(transfer_residual, double, "m/s", MAX, TRANSFER, "velocity change that a further iteration on the grid would make")            \
  X(affine_angular_momentum_x, double, "N m s", LAST, TRANSFER,                                                                    \
    "angular momentum of affine velocities of boundaries, in addition to that "                                                    \
    "of the bodies, x component")                                                                                                            \
  X(affine_angular_momentum_y, double, "N m s", LAST, TRANSFER, "like affine_angular_momentum_x, y component")                                                     \
  X(affine_angular_momentum_z, double, "N m s", LAST, TRANSFER, "like affine_angular_momentum_x, z component")                                                     \
  X(collisions, int64_t, "1", SUM, TRANSFER, "colliding pairs of surface features, summed over all collision rounds")              \
  X(rigid_zone_nodes, int64_t, "1", SUM, TRANSFER, "vertices and rigid bodies in impact zones that move rigidly")
/* clang-format on */

/* Quantities of one accepted or rejected step. friction_work, friction_angle_rms, yield_overshoot, step_rotation and
 * the geometric overlap (contact.penetration, penetration_body_a, penetration_body_b) are set by app/run. */
typedef struct {
#define X(name, type, unit, rule, group, help) type name;
  STEP_REPORT_TABLE(X)
#undef X
  contact_summary contact;
  const char     *residual_body; /* body with the largest part of `residual`, owned by the scene; NULL: unknown */
} step_report;

/* A line of the tables. */
typedef struct {
  const char *name, *unit, *help;
  report_rule rule;
  int         group; /* REPORT_...; REPORT_INTERNAL: not a column */
  bool        is_index;
} report_quantity;
enum {
#define X(name, type, unit, rule, group, help) REPORT_ROW_##name,
  CONTACT_SUMMARY_TABLE(X) STEP_REPORT_TABLE(X)
#undef X
      REPORT_N_QUANTITIES
};
extern const report_quantity report_quantities[REPORT_N_QUANTITIES]; /* those of contacts first */

/* Add the report of a substep to that of the step; the first substep is added to zeros. Statistics of relaxations are summed. */
void step_report_merge(step_report *sum, const step_report *substep);
/* values [REPORT_N_QUANTITIES] in the order of report_quantities. */
void step_report_values(const step_report *r, double *values);
#endif
