/* Key tables of `time:` and `contact:`. */
#include "sim/scene/scene_options.h"
#include <math.h>

/* clang-format off */
#define KEYS_END {.name = NULL}

/* --- time ---------------------------------------------------------------------------------------------------------- */

static const char *const accept_choices[] = {
    [RETRY_ACCEPT_NEVER] = "never", [RETRY_ACCEPT_SMALLEST_STEP] = "smallest_step", [RETRY_ACCEPT_ALWAYS] = "always", NULL};
static const char *const accept_help[] = {"the step is halved; if the smallest step fails, too, the run stops with exit code 4",
                                          "the step is halved; the best state of the smallest step is accepted",
                                          "the step is not halved, as in methods with a fixed number of iterations", NULL};
static const key_spec retry_keys[] = {
  {.name = "halvings", .type = KEY_INT, .offset = offsetof(retry_options, halvings), .fallback = "6", .min = 0, .max = 20,
   .help = "how often the step may be halved after failures before the run stops"},
  {.name = "accept_unconverged", .type = KEY_ENUM, .offset = offsetof(retry_options, accept_unconverged), .choices = accept_choices,
   .choice_help = accept_help, .fallback = "never", .help = "whether the best state of a step is accepted if its solver does not converge. Such steps are counted in the quality block"},
  KEYS_END};
static const key_table retry_table = {.name = "time.retry", .help = "What happens when a step fails: it is rolled back and "
                                                                    "repeated in substeps of half its length.",
                                      .size = sizeof(retry_options), .keys = retry_keys};
static const char *const start_choices[] = {[TIME_START_AS_GIVEN] = "as_given", [TIME_START_AT_REST] = "at_rest", NULL};
static const char *const start_help[]    = {
    "the positions and velocities of the job",
    "a static equilibrium near these positions, which is computed before the first step: springs, elastic bodies and contacts carry the weight. Bodies "
    "must not have an initial velocity; prescribed motions begin at t = 0. The run fails with exit code 4 if there is no equilibrium, see docs/guide/running.md"};
static const key_spec time_keys[] = {
  {.name = "end", .type = KEY_REAL, .offset = offsetof(time_options, end), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "simulated time at which the run ends", .may_change = true},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(time_options, step), .unit = "s", .min = 0, .max = INFINITY, .is_open = true,
   .help = "time step"},
  {.name = "start", .type = KEY_ENUM, .offset = offsetof(time_options, start), .choices = start_choices, .choice_help = start_help, .fallback = "as_given",
   .help = "state at t = 0"},
  {.name = "frame", .type = KEY_REAL, .offset = offsetof(time_options, frame), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "time between frames for ParaView and pictures, a multiple of step; 0: only the first and the last", .may_change = true},
  {.name = "retry", .type = KEY_TABLE, .offset = offsetof(time_options, retry), .fallback = "{}", .table = &retry_table,
   .help = "what happens when a step fails", .may_change = true},
  KEYS_END};
const key_table time_table = {.name = "time", .help = "Duration of the run and length of its steps.", .size = sizeof(time_options), .keys = time_keys};

/* --- contact ------------------------------------------------------------------------------------------------------- */

static const char *const overlap_choices[] = {"reject", "permit", "preload", NULL};
static const char *const overlap_help[]    = {"bodies that overlap at the start of the run are an error",
                                              "an overlap at the start of the run is permitted; contact removes it slowly, at overlap_correction_speed, without storing energy in springs",
                                              "an overlap at the start of the run is permitted and compresses contact springs of a given stiffness", NULL};

static const key_spec pair_keys[] = {
  {.name = "between", .type = KEY_STRINGS, .offset = offsetof(contact_pair_options, between),
   .help = "two names, each of a body or of a material; a later entry overrides an earlier one"},
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(contact_pair_options, friction), .min = 0, .max = INFINITY, .is_optional = true, .only_if = {"contact", "true"},
   .help = "coefficient of friction of this pair; with friction_direction: along that direction"},
  {.name = "friction_direction", .type = KEY_REALS, .count = 3, .offset = offsetof(contact_pair_options, friction_direction), .is_optional = true, .only_if = {"contact", "true"},
   .help = "direction-dependent friction: its cone is an ellipse about this axis, which rotates with the body that has the contact surface and is "
           "projected onto its surface; on a deformable surface, the direction on the undeformed surface"},
  {.name = "friction_transverse", .type = KEY_REAL, .offset = offsetof(contact_pair_options, friction_transverse), .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true, .help = "coefficient of friction across friction_direction", .only_if = {"contact", "true"}},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(contact_pair_options, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_open = true,
   .word = "auto", .is_optional = true, .help = "stiffness of this pair per contact point; auto: see contact.stiffness", .only_if = {"contact", "true"}},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(contact_pair_options, restitution), .min = 0, .max = 1, .is_optional = true,
   .help = "coefficient of restitution of this pair", .only_if = {"contact", "true"}},
  {.name = "contact", .type = KEY_BOOL, .offset = offsetof(contact_pair_options, contact), .fallback = "true",
   .help = "false: the two are never in contact, in any formulation"},
  {.name = "initial_overlap", .type = KEY_ENUM, .offset = offsetof(contact_pair_options, initial_overlap), .choices = overlap_choices, .choice_help = overlap_help,
   .is_optional = true, .help = "overlap of this pair at the start of the run", .only_if = {"contact", "true"}},
  KEYS_END};
static const key_table pair_table = {.name = "contact.pairs", .help = "Contact parameters of pairs of bodies or materials. They replace those of contact.", .size = sizeof(contact_pair_options), .keys = pair_keys};
static const key_spec contact_keys[] = {
  {.name = "friction", .type = KEY_REAL, .offset = offsetof(contact_options, friction), .min = 0, .max = INFINITY, .is_optional = true,
   .help = "coefficient of friction of pairs without an own value; between a body of kind mac and others the default is the "
           "friction of the material"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(contact_options, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true, .word = "auto",
   .help = "formulations penalty and convex: spring stiffness k of a contact point; a body of weight W on n points penetrates by W/(n k). convex: as stiff as the step allows if not "
           "given. auto: for each pair, the stiffness that limits the static penetration to 1 % and the penetration of an impact at the initial speed to 10 % of the "
           "smaller body or spacing; `check` prints the values, and the run stores them"},
  {.name = "restitution", .type = KEY_REAL, .offset = offsetof(contact_options, restitution), .min = 0, .max = 1, .fallback = "0",
   .help = "separation speed over approach speed. Formulation penalty: 0, or a value in [0.01, 1) for a damper parallel to each spring; the ratio approaches "
           "this value from below for steps much shorter than sqrt(m/stiffness), m: mass. 0: no damper; the time integration alone gives the ratio "
           "exp(-pi/2 step sqrt(stiffness/m))"},
  {.name = "overlap_correction", .type = KEY_REAL, .offset = offsetof(contact_options, overlap_correction), .fallback = "0.2", .min = 0, .max = 1,
   .help = "formulations exact and monolith: fraction of an overlap that is corrected per step, limited by "
           "overlap_correction_speed; exact corrects by velocities, monolith by displacements"},
  {.name = "overlap_correction_speed", .type = KEY_REAL, .offset = offsetof(contact_options, overlap_correction_speed), .unit = "m/s", .is_optional = true, .min = 0, .max = INFINITY,
   .help = "formulations exact, monolith and convex (only where contact is as stiff as the step allows; springs of a given "
           "stiffness are not limited): largest speed at which overlaps are corrected. If not given: exact and convex "
           "acceleration_scale * step, which gravity cancels before a body hops; monolith a tenth of a grid cell per step"},
  {.name = "initial_overlap", .type = KEY_ENUM, .offset = offsetof(contact_options, initial_overlap), .choices = overlap_choices, .choice_help = overlap_help,
   .fallback = "reject", .help = "overlap of bodies that may touch, at the start of the run"},
  {.name = "skip_resting", .type = KEY_BOOL, .offset = offsetof(contact_options, skip_resting), .fallback = "true",
   .help = "formulations exact and convex, without deformable bodies: rigid bodies in contact whose speed was at most 1e-9 * acceleration_scale * step in each of the last 20 steps are left out of the steps, with their contact "
           "forces, until something approaches them; column `resting` of history.csv counts them"},
  {.name = "pairs", .type = KEY_LIST, .offset = offsetof(contact_options, pairs), .table = &pair_table, .is_optional = true, .help = "exceptions"},
  KEYS_END};
/* clang-format on */
const key_table contact_table = {
    .name = "contact", .help = "Parameters of contact between bodies.", .size = sizeof(contact_options), .keys = contact_keys};
