/* Key table of solver.exact. */
#include "sim/exact/exact_keys.h"
#include <math.h>

/* clang-format off */
static const key_spec exact_expert_keys[] = {
  {.name = "friction_stall_tolerance", .type = KEY_REAL, .offset = offsetof(exact_options, friction_stall_tolerance), .is_optional = true, .min = 0, .max = INFINITY,
   .help = "if the friction solver stalls, the step is accepted when its error is at most this; otherwise it is repeated with a smaller step. "
           "10 * solver.friction.tolerance, at least 1e-7, if not given. Where max_creep decides: 10 times the accepted creep"},
  {.name = NULL}};
static const key_table exact_expert_table = {.name = "solver.exact.expert", .help = "Acceptance of a step.", .size = sizeof(exact_options), .keys = exact_expert_keys};

static const key_spec keys[] = {
  {.name = "max_creep", .type = KEY_REAL, .offset = offsetof(exact_options, max_creep), .unit = "m/s", .is_optional = true, .min = 0, .max = INFINITY,
   .help = "without deformable bodies and with more than 128 contacts: creep and approach velocity that the friction solver may leave at a contact, but no more than 1 % of the impulses; 0: "
           "solver.friction.tolerance decides. If neither is given: 1e-5 of the size of the smaller body per second, or 1 % of the rms relative velocity of the contacts of connected bodies if that is more"},
  {.name = "expert", .type = KEY_PART, .table = &exact_expert_table, .fallback = "{}", .help = "keys for experts"},
  {.name = NULL}};
/* clang-format on */
const key_table exact_options_table = {.name = "solver.exact",
                                       .help = "Step of formulation exact; the solver of impulses is solver.friction.",
                                       .size = sizeof(exact_options),
                                       .keys = keys};
