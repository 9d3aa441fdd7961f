/* Key table of solver.convex. */
#include "sim/convex/convex_keys.h"
#include "sim/step/step_motion.h"
#include <math.h>

static const char *const laws[]     = {[SAP_REGULARISED] = "regularised", [SAP_LAGGED] = "lagged", NULL};
static const char *const law_help[] = {
    "impulses of the regularised cone, [CastroEtAl2022]: friction is in balance with the load of the same step. The convex problem is "
    "repeated "
    "until Coulomb's law is satisfied, except between two deformable bodies, see expert.max_coulomb_iterations",
    "friction is limited by the load of the previous step, [CastroHanMasterjohn2023]: sliding contacts do not open, but friction "
    "of impacts acts one step late"};

static const char *const linears[]     = {[MOTION_AUTO] = "auto", [MOTION_DIRECT] = "direct", [MOTION_ITERATIVE] = "iterative", NULL};
static const char *const linear_help[] = {
    "iterative for matrices with more than 150 entries per row (MPM grids) if a factorisation would take more than 5e9 "
    "multiplications (some 10,000 unknowns), else direct",
    "Cholesky factorisation: exact to rounding; the time per step grows with about the square of the number of connected unknowns",
    "conjugate gradients on products of the bodies' tangents, with a tolerance that follows Newton's method: the time grows "
    "little faster than the number of unknowns. Linear momentum is preserved to rounding, angular momentum to "
    "solver.convex.tolerance"};

/* clang-format off */
static const key_spec convex_expert_keys[] = {
  {.name = "min_contact_period", .type = KEY_REAL, .offset = offsetof(convex_options, min_contact_period), .fallback = "1", .min = 0, .max = 100,
   .is_open = true,
   .help = "no pair of rigid bodies, and no node of other bodies, vibrates on its contacts with a period below this many steps: stiffer contacts, and those without "
           "a given stiffness, get the stiffness of this period. max_static_penetration may require a smaller one"},
  {.name = "stiction_tolerance", .type = KEY_REAL, .offset = offsetof(convex_options, stiction_tolerance), .fallback = "1.0e-3", .min = 0, .max = 1,
   .is_open = true,
   .help = "tangential compliance of a contact over its inverse mass: a change of friction moves a sticking contact by this times change/mass * step, and by less "
           "if max_creep requires more passes"},
  SAP_EXPERT_KEYS(convex_options, sap),
  {.name = "dissipation", .type = KEY_REAL, .offset = offsetof(convex_options, dissipation), .unit = "s/m", .fallback = "0",
   .min = 0, .max = INFINITY,
   .only_if = {"^law", "lagged"}, .help = "law: lagged: forces are stiffness * depth * (1 + dissipation * closing speed), after Hunt and Crossley"},
  {.name = "slip_speed", .type = KEY_REAL, .offset = offsetof(convex_options, slip_speed), .unit = "m/s", .fallback = "1.0e-4",
   .min = 0, .max = INFINITY, .is_open = true,
   .only_if = {"^law", "lagged"}, .help = "law: lagged: lower bound of the speed at which friction is 71 % of its value in full sliding"},
  {.name = "coulomb_tolerance", .type = KEY_REAL, .offset = offsetof(convex_options, coulomb_tolerance), .fallback = "1.0e-3", .min = 0, .max = 1, .is_open = true,
   .only_if = {"^law", "regularised"},
   .help = "law: regularised: the convex problem is repeated until the separation velocity of each sliding contact is correct to this fraction of "
           "R_N r_N, r_N: largest impulse of its pair of bodies; the error of its normal force is then this fraction of the largest one. Velocities below max_creep/1000 are not resolved"},
  {.name = "max_coulomb_iterations", .type = KEY_INT, .offset = offsetof(convex_options, max_coulomb_iterations), .fallback = "50", .min = 1,
   .max = 1000,
   .only_if = {"^law", "regularised"}, .help = "law: regularised: maximum number of passes; each pass solves the convex problem with the sliding velocity and friction of the "
           "previous pass, so that sliding contacts do not open and sticking ones do not creep: Coulomb's law if this converges. Otherwise as many "
           "passes follow without the prediction from the last step. Contacts that have not converged are counted in contact_unconverged. 1: the published law, with its errors"},
  {.name = "linear", .type = KEY_ENUM, .offset = offsetof(convex_options, linear), .choices = linears, .choice_help = linear_help,
   .fallback = "auto", .help = "solver of the linear systems"},
  {.name = "stall_tolerance", .type = KEY_REAL, .offset = offsetof(convex_options, stall_tolerance), .is_optional = true,
   .min = 0, .max = INFINITY,
   .help = "if rounding errors prevent the contact solver from reaching its tolerance, the step is accepted below this error; "
           "otherwise it is repeated with a smaller step. 10 * solver.convex.tolerance, at least 1e-7, if not given"},
  {.name = NULL}};
static const key_table convex_expert_table = {.name = "solver.convex.expert", .help = "Parameters of the contact laws, and limits of the solver.", .size = sizeof(convex_options), .keys = convex_expert_keys};

static const key_spec keys[] = {
  {.name = "law", .type = KEY_ENUM, .offset = offsetof(convex_options, law), .choices = laws, .choice_help = law_help,
   .fallback = "regularised", .help = "convex approximation of the contact law"},
  {.name = "relaxation_time", .type = KEY_REAL, .offset = offsetof(convex_options, relaxation_time), .unit = "s",
   .is_optional = true, .min = 0, .max = INFINITY,
   .only_if = {"law", "regularised"}, .help = "law: regularised: damping of a contact over its stiffness. One step if not given"},
  {.name = "max_creep", .type = KEY_REAL, .offset = offsetof(convex_options, max_creep), .unit = "m/s", .is_optional = true, .min = 0, .max = INFINITY,
   .is_open = true, .only_if = {"law", "regularised"},
   .help = "law: regularised: contact is solved until no sticking contact moves faster than this. 1e-6 m/s if not given; without deformable bodies and with more than 128 contacts as "
           "solver.exact.max_creep"},
  {.name = "max_static_penetration", .type = KEY_REAL, .offset = offsetof(convex_options, max_static_penetration), .fallback = "1.0e-4", .min = 0, .max = 1,
   .is_open = true,
   .help = "largest depth of resting contacts without a given stiffness, relative to the smallest body (radius of its bounding sphere, four spacings of "
           "a grid or mesh). Contacts whose load of the last step would exceed it are stiffer than min_contact_period permits"},
  {.name = "max_outer_iterations", .type = KEY_INT, .offset = offsetof(convex_options, max_outer_iterations), .fallback = "50", .min = 1,
   .max = 1000,
   .help = "maximum number of outer iterations: contact is solved with bodies linearised at their free motion, then at the last "
           "solution, until solver.newton.tolerance is satisfied; linear systems need one. Materials that are linearised about "
           "the rotation at the start of the step (linear_corotated with rotation: lagged, von_mises) are then linearised about "
           "that of the last solution. 1: as published, accepted without a check of the residual"},
  SAP_OPTIONS_KEYS(convex_options, sap),
  {.name = "expert", .type = KEY_PART, .table = &convex_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
const key_table convex_options_table = {
    .name = "solver.convex", .help = "Contact law and contact solver of formulation convex.", .size = sizeof(convex_options), .keys = keys};
