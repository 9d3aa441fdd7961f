/* Key tables of `solver.newton:` and `solver.linear:`. */
#include "sim/step/solver_options.h"
#include <math.h>

#define KEYS_END {.name = NULL}

static const char *const newton_norms[] = {[NEWTON_NORM_ACCELERATION] = "acceleration", [NEWTON_NORM_IMPULSE] = "impulse", NULL};
const char *newton_norm_unit(const newton_options *newton) { return newton->norm == NEWTON_NORM_IMPULSE ? "N s" : "in units of acceleration_scale"; }
static const key_spec newton_keys[] = {
  {.name = "norm", .type = KEY_ENUM, .offset = offsetof(newton_options, norm), .choices = newton_norms, .fallback = "acceleration",
   .help = "what the tolerances measure. acceleration: as they say; impulse, formulation penalty: as published, the Euclidean norm of what is left of all equations of momentum [N s] (rotation: N m s), "
           "which says the less of each the more there are, or that of its product with the transposed tangent [kg], whichever is less"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(newton_options, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1e6, .is_open = true,
   .help = "rms acceleration error of a body in units of acceleration_scale, at which a step counts as solved"},
  {.name = "stall_tolerance", .type = KEY_REAL, .offset = offsetof(newton_options, stall_tolerance), .fallback = "0.1", .min = 0, .max = INFINITY,
   .help = "a line search (exact, convex: a series of linearisations) that cannot go on is accepted below this error, else the step is retried smaller"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(newton_options, max_iterations), .fallback = "100", .min = 1, .max = 100000,
   .help = "Newton iterations per step; exact: linearisations, of which 1 is taken as it is"},
  {.name = "acceleration_scale", .type = KEY_REAL, .offset = offsetof(newton_options, acceleration_scale), .unit = "m/s^2", .is_optional = true,
   .min = 0, .max = INFINITY, .is_open = true, .help = "reference acceleration of the tolerance; |gravity| if not given, 9.81 without gravity"},
  KEYS_END};
const key_table newton_table = {.name = "solver.newton", .help = "The stabilised Newton method; in formulation exact, how often a step is linearised.", .size = sizeof(newton_options), .keys = newton_keys};
const char *const linear_methods[] = {"gmres", "fgmres", "bcgs", "tfqmr", NULL};
static const char *const preconditioners[] = {"auto", "block_diagonal", "metis_schwarz", "none", NULL};
static const char *const refreshes[] = {"step", "newton", NULL};
static const char *const linear_precisions[] = {"double", "single", NULL};
static const key_spec linear_keys[] = {
  {.name = "method", .type = KEY_ENUM, .offset = offsetof(linear_options, method), .choices = linear_methods, .fallback = "gmres",
   .help = "Krylov method (any other of PETSc's through petsc: {ksp_type: ...})"},
  {.name = "restart", .type = KEY_INT, .offset = offsetof(linear_options, restart), .fallback = "100", .min = 1, .max = 1000,
   .help = "of GMRES, which keeps as many vectors when it needs them; below the iterations that stiff sand takes it stalls"},
  {.name = "max_iterations", .type = KEY_INT, .offset = offsetof(linear_options, max_iterations), .fallback = "200", .min = 1, .max = 100000,
   .help = "per Newton iteration; Newton goes on with whatever direction that gives, but directions cut short cost many more iterations"},
  {.name = "tolerance", .type = KEY_REAL, .offset = offsetof(linear_options, tolerance), .fallback = "1.0e-3", .min = 0, .max = 1, .is_open = true,
   .help = "relative residual of the linear solve"},
  {.name = "preconditioner", .type = KEY_ENUM, .offset = offsetof(linear_options, preconditioner), .choices = preconditioners,
   .fallback = "auto",
   .help = "applied from the right; auto: metis_schwarz where there are bodies of kind fem or cloth and none of kind mpm, else block_diagonal; metis_schwarz assembles the tangent (1 kB to 25 kB per grid node) and factorises it in parts, for stiff problems"},
  {.name = "refresh", .type = KEY_ENUM, .offset = offsetof(linear_options, refresh), .choices = refreshes, .fallback = "newton",
   .help = "of metis_schwarz: at every Newton iteration, or once per step, at its first tangent, which sand that yields soon outdates; block_diagonal always follows Newton"},
  {.name = "precision", .type = KEY_ENUM, .offset = offsetof(linear_options, precision), .choices = linear_precisions, .fallback = "double",
   .help = "of products with bodies of kind mpm within linear solves, which take most of the time of large beds: single is twice as fast and serves tolerances down to 1e-3; what a step is judged by stays double"},
  KEYS_END};
const key_table linear_table = {.name = "solver.linear", .help = "The linear solves inside Newton.", .size = sizeof(linear_options), .keys = linear_keys};
