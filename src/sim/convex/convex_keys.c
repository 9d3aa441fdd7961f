#include "sim/convex/convex_keys.h"
#include "sim/step/step_motion.h"
#include <math.h>

static const char *const laws[]     = {[SAP_REGULARISED] = "regularised", [SAP_LAGGED] = "lagged", NULL};
static const char *const law_help[] = {
    "impulses of the regularised cone, [CastroEtAl2022]: friction is in balance with the load of the same step; what sticks "
    "creeps, what slides rides higher by friction * speed * (step + relaxation_time)",
    "friction is limited by the load of the step before, [CastroHanMasterjohn2023]: nothing rides higher, and impacts rub a step "
    "late"};

static const char *const linears[]     = {[MOTION_AUTO] = "auto", [MOTION_DIRECT] = "direct", [MOTION_ITERATIVE] = "iterative", NULL};
static const char *const linear_help[] = {
    "iterative for matrices with more than 150 entries a row (MPM grids) if a factor would take more than 5e9 multiplications by count "
    "(some 10,000 unknowns), else direct",
    "Cholesky factors: exact to rounding; time of a step grows with about the square of the number of unknowns that hang together",
    "conjugate gradients on products of the bodies' tangents, to a tolerance that follows Newton's method: time grows little faster than "
    "the number of unknowns. Linear momentum is kept to rounding, angular momentum to solver.convex.tolerance"};

static const key_spec keys[] = {
  {.name = "law", .type = KEY_ENUM, .offset = offsetof(convex_options, law), .choices = laws, .choice_help = law_help,
   .fallback = "regularised", .help = "what makes contact convex"},
  {.name = "relaxation_time", .type = KEY_REAL, .offset = offsetof(convex_options, relaxation_time), .unit = "s",
   .is_optional = true, .min = 0, .max = INFINITY,
   .help = "of law: regularised: damping of a contact over its stiffness. One step if not given"},
  {.name = "dissipation", .type = KEY_REAL, .offset = offsetof(convex_options, dissipation), .unit = "s/m", .fallback = "0",
   .min = 0, .max = INFINITY,
   .help = "of law: lagged: forces are stiffness * depth * (1 + dissipation * speed of closing), after Hunt and Crossley"},
  {.name = "near_rigid", .type = KEY_REAL, .offset = offsetof(convex_options, near_rigid), .fallback = "1", .min = 0, .max = 100,
   .is_open = true,
   .help = "no contact vibrates with a period below this many steps: stiffer ones, and those without stiffness, are as stiff as "
           "that"},
  {.name = "stiction", .type = KEY_REAL, .offset = offsetof(convex_options, stiction), .fallback = "1.0e-3", .min = 0, .max = 1,
   .is_open = true,
   .help = "what sticks creeps with at most this times friction * (load/mass) * step"},
  {.name = "slip_speed", .type = KEY_REAL, .offset = offsetof(convex_options, slip_speed), .unit = "m/s", .fallback = "1.0e-4",
   .min = 0, .max = INFINITY, .is_open = true,
   .help = "of law: lagged: speed at which friction is at 71 % of what it is in full sliding, at least"},
  {.name = "linearisations", .type = KEY_INT, .offset = offsetof(convex_options, linearisations), .fallback = "50", .min = 1,
   .max = 1000,
   .help = "contact is solved for with bodies linearised at their free motion, then, up to this often, at what came out, until "
           "solver.newton.tolerance is met; what is linear needs one. Materials that are linear about the rotation at the start of the "
           "step (linear_corotated with rotation: lagged, von_mises) are so about the last one's. 1: as published, taken as it is, "
           "whatever is left"},
  {.name = "coulomb_passes", .type = KEY_INT, .offset = offsetof(convex_options, coulomb_passes), .fallback = "1", .min = 1,
   .max = 1000,
   .help = "of law: regularised: the convex problem is solved, then, up to this often, with the sliding that came out known, so that "
           "nothing rides higher by it: Coulomb's law, where that settles"},
  {.name = "linear", .type = KEY_ENUM, .offset = offsetof(convex_options, linear), .choices = linears, .choice_help = linear_help,
   .fallback = "auto", .help = "how linear systems are solved"},
  {.name = "stall_tolerance", .type = KEY_REAL, .offset = offsetof(convex_options, stall_tolerance), .fallback = "1.0e-6",
   .min = 0, .max = INFINITY,
   .help = "a contact problem that rounding errors keep from its tolerance is taken below this error, else the step is retried "
           "smaller"},
  SAP_OPTIONS_KEYS(convex_options, sap),
  {.name = NULL}};
const key_table convex_options_table = {.name = "solver.convex",
                                        .help = "Contact of formulation convex: its law, and how impulses are found.",
                                        .size = sizeof(convex_options), .keys = keys};
