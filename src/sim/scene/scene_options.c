/* Key tables of `time:` and `contact:`. */
#include "sim/scene/scene_options.h"
#include "contact/penalty/penalty.h"
#include <math.h>

#define KEYS_END {.name = NULL}

/* --- time ---------------------------------------------------------------------------------------------------------- */

static const key_spec retry_keys[] = {
  {.name = "halvings", .type = KEY_INT, .offset = offsetof(retry_options, halvings), .fallback = "6", .min = 0, .max = 20,
   .help = "how often a failed step may be halved before the run gives up"},
  KEYS_END};
static const key_table retry_table = {.name = "time.retry", .help = "What happens when a step fails: it is rolled back and taken in halves.",
                                      .size = sizeof(retry_options), .keys = retry_keys};
static const key_spec time_keys[] = {
  {.name = "end", .type = KEY_REAL, .offset = offsetof(time_options, end), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "simulated time at which the run ends", .may_change = true},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(time_options, step), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "time step"},
  {.name = "frame", .type = KEY_REAL, .offset = offsetof(time_options, frame), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "time between frames for ParaView and pictures, a multiple of step; 0: only the first and the last", .may_change = true},
  {.name = "retry", .type = KEY_TABLE, .offset = offsetof(time_options, retry), .fallback = "{}", .table = &retry_table,
   .help = "what happens when a step fails", .may_change = true},
  KEYS_END};
const key_table time_table = {.name = "time", .help = "How long to run and in which steps.", .size = sizeof(time_options), .keys = time_keys};

/* --- contact ------------------------------------------------------------------------------------------------------- */

static const key_spec pair_keys[] = {
  {.name = "between", .type = KEY_STRINGS, .offset = offsetof(contact_pair_options, between),
   .help = "two names, each of a body or of a material; a later entry overrides an earlier one"},
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(contact_pair_options, friction), .min = 0, .max = INFINITY, .is_optional = true,
   .help = "coefficient of friction of this pair; with friction_direction, along it"},
  {.name = "friction_direction", .type = KEY_REALS, .count = 3, .offset = offsetof(contact_pair_options, friction_direction), .is_optional = true,
   .help = "friction depends on the direction: its cone is an ellipse about this axis, which turns with the body that is touched and counts as projected on its surface; on a surface that deforms, as drawn on it before"},
  {.name = "friction_transverse", .type = KEY_REAL, .offset = offsetof(contact_pair_options, friction_transverse), .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true, .help = "coefficient of friction across friction_direction"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(contact_pair_options, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_optional = true,
   .help = "stiffness of this pair, per contact point; 0: the two never touch"},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(contact_pair_options, restitution), .min = 0, .max = 1, .is_optional = true,
   .help = "coefficient of restitution of this pair"},
  {.name = "touch", .type = KEY_BOOL, .offset = offsetof(contact_pair_options, touch), .fallback = "true", .help = "false: the two never touch, in any formulation"},
  KEYS_END};
static const key_table pair_table = {.name = "contact.pairs", .help = "Exceptions from the defaults.", .size = sizeof(contact_pair_options), .keys = pair_keys};
static const char *const contact_schemes[] = {[CONTACT_IMPLICIT] = "implicit", [CONTACT_LAGGED_FRICTION] = "lagged_friction",
                                              [CONTACT_LAGGED_CONTACT] = "lagged_contact", NULL};
static const char *const contact_detections[] = {[CONTACT_DETECT_EVALUATION] = "evaluation", [CONTACT_DETECT_STEP] = "step", NULL};
static const key_spec contact_keys[] = {
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(contact_options, friction), .min = 0, .max = INFINITY, .is_optional = true,
   .help = "coefficient of friction where no pair says otherwise; between a body of kind mac and others that is the material's own"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(contact_options, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_optional = true,
   .help = "of the spring at a contact point; a body of weight W on n points sinks W/(n k). Formulation convex: as stiff as the step can carry if not given"},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(contact_options, restitution), .min = 0, .max = 1, .fallback = "0",
   .help = "speed of leaving over speed of arriving, in [0.01, 1): a damper beside each spring takes the rest; reached from below as the step gets short against sqrt(m/stiffness). 0: no damper, the step alone damps, to exp(-pi/2 step sqrt(stiffness/m))"},
  {.name = "overlap_share", .type = KEY_REAL, .offset = offsetof(contact_options, overlap_share), .fallback = "0.2", .min = 0, .max = 1,
   .help = "formulations exact and monolith: what part of an overlap a step takes back, as far as overlap_speed lets it; exact by velocities, monolith by moving bodies"},
  {.name = "overlap_speed", .type = KEY_REAL, .offset = offsetof(contact_options, overlap_speed), .unit = "m/s", .is_optional = true, .min = 0, .max = INFINITY,
   .help = "formulations exact, monolith and convex (where contact is as stiff as the step can carry; springs of a given stiffness push as they do): the fastest that overlaps are pushed apart. If not given: exact and convex, acceleration_scale * step, which gravity takes back before anything hops; monolith, a tenth of a grid cell in a step"},
  {.name = "detection", .type = KEY_ENUM, .offset = offsetof(contact_options, detection), .choices = contact_detections, .fallback = "evaluation",
   .help = "when points that come to surfaces of triangles are looked for: in every evaluation of the forces, or twice a step: as it begins, on the way it would take without contact, and as it ends. Fewer searches, and Newton's method keeps one set of contacts; what comes unexpected is stopped a step late"},
  {.name = "edges", .type = KEY_BOOL, .offset = offsetof(contact_options, edges), .fallback = "false",
   .help = "edges of surfaces of triangles meet edges of others, not only points triangles: for corners, bars and folds that cross"},
  {.name = "scheme", .type = KEY_ENUM, .offset = offsetof(contact_options, scheme), .choices = contact_schemes, .fallback = "implicit",
   .help = "for comparison: lagged_friction takes friction from the start of each step, lagged_contact all of the contact forces; stacks creep, and steps beyond 2 sqrt(m/k) explode"},
  {.name = "pairs", .type = KEY_LIST, .offset = offsetof(contact_options, pairs), .table = &pair_table, .is_optional = true, .help = "exceptions"},
  KEYS_END};
const key_table contact_table = {.name = "contact", .help = "How bodies touch.", .size = sizeof(contact_options), .keys = contact_keys};
