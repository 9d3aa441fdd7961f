/* Key tables of `solver.newton:` and `solver.linear:`. */
#include "sim/step/solver_options.h"
#include <math.h>

static const double STALL_FACTOR = 10.0, CONTACT_ROUNDING = 1e-7;

double solver_stall_tolerance(double given, double tolerance) { return isnan(given) ? STALL_FACTOR * tolerance : given; }

double solver_contact_stall_tolerance(double given, double tolerance)
{
  return isnan(given) ? fmax(CONTACT_ROUNDING, STALL_FACTOR * tolerance) : given;
}

double solver_friction_tolerance(const friction_options *o) { return friction_tolerance(o); }

/* clang-format off */
#define KEYS_END {.name = NULL}

static const key_spec newton_keys[] = {
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(newton_options, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1e6, .is_open = true,
   .help = "residual at which a step is solved: rms acceleration error of a body in units of acceleration_scale"},
  {.name = "stall_tolerance", .type = KEY_REAL, .offset = offsetof(newton_options, stall_tolerance), .is_optional = true, .min = 0, .max = INFINITY,
   .help = "largest residual at which a step is accepted when the line search (exact, convex: the linearisations) makes no more "
           "progress; above it the step is repeated with a smaller step. If not given: the tolerance; 10 * tolerance in eighths of a step and shorter substeps"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(newton_options, max_iterations), .fallback = "100", .min = 1, .max = 100000,
   .help = "maximum Newton iterations per step; exact: maximum linearisations; 1: the first linearisation is accepted without a "
           "check"},
  {.name = "acceleration_scale", .type = KEY_REAL, .offset = offsetof(newton_options, acceleration_scale), .unit = "m/s^2", .is_optional = true,
   .min = 0, .max = INFINITY, .is_open = true, .help = "reference acceleration of the tolerance; |gravity| if not given, 9.81 "
                                                       "without gravity"},
  KEYS_END};
const key_table newton_table = {.name = "solver.newton", .help = "The stabilised Newton method; for formulation exact, the "
                                                                 "linearisations of a step.", .size = sizeof(newton_options), .keys = newton_keys};
static const char *const preconditioners[] = {"auto", "block_diagonal", "metis_schwarz", "none", NULL};
static const char *const refreshes[] = {"step", "newton", NULL};
static const char *const linear_precisions[] = {"double", "single", NULL};
static const key_spec linear_keys[] = {
  {.name = "restart", .type = KEY_INT, .offset = offsetof(linear_options, restart), .fallback = "100", .min = 1, .max = 1000,
   .help = "restart length of GMRES, which stores that many vectors; GMRES stalls if stiff sand needs more iterations than this"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(linear_options, max_iterations), .fallback = "200", .min = 1, .max = 100000,
   .help = "maximum iterations per Newton iteration; Newton continues with the inexact direction, but inexact directions cost "
           "many more iterations"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(linear_options, tolerance), .is_optional = true, .min = 0, .max = 1, .is_open = true,
   .help = "relative residual of the linear solves. If not given: 1e-3 in the first solve of a step, and 1e-3 to 0.03 in later ones. These depend on "
           "the last decrease of the residual and on solver.newton.tolerance (inexact Newton)"},
  {.name = "preconditioner", .type = KEY_ENUM, .offset = offsetof(linear_options, preconditioner), .choices = preconditioners,
   .fallback = "auto",
   .help = "right preconditioner; auto: metis_schwarz if there are bodies of kind fem or cloth and none of kind mpm, else "
           "block_diagonal; metis_schwarz assembles the tangent (1 kB to 25 kB per grid node) and factorises it in overlapping "
           "blocks, for stiff problems"},
  {.name = "refresh", .type = KEY_ENUM, .offset = offsetof(linear_options, refresh), .choices = refreshes, .fallback = "newton",
   .only_if = {"preconditioner", "auto metis_schwarz"}, .help = "update of metis_schwarz: in every Newton iteration (newton), or once per step at its first tangent (step), which is "
           "soon outdated where sand yields; block_diagonal is always updated"},
  {.name = "precision", .type = KEY_ENUM, .offset = offsetof(linear_options, precision), .choices = linear_precisions, .fallback = "double",
   .only_if = {"/bodies.*.kind", "mpm"}, .help = "precision of products with bodies of kind mpm inside linear solves, which take most of the time of large beds: single "
           "is twice as fast and sufficient for tolerances down to 1e-3; the residual of the step is always evaluated in double"},
  KEYS_END};
/* clang-format on */
const key_table linear_table = {
    .name = "solver.linear", .help = "The linear solves inside Newton's method.", .size = sizeof(linear_options), .keys = linear_keys};
