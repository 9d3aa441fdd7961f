/* Job keys of rigid bodies, of obstacles, and of how obstacles move. */
#include "discretize/rigid/rigid_body.h"

static const char *const interpolations[] = {"linear", "smooth", NULL};
static const key_spec key_keys[] = {
  {.name = "time", .type = KEY_REAL, .offset = offsetof(motion_key_spec, time), .unit = "s", .help = "when; ascending"},
  {.name = "translate", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_key_spec, translate), .unit = "m", .fallback = "[0, 0, 0]",
   .help = "displacement from the place at rest"},
  {.name = "rotate_deg", .type = KEY_REAL, .offset = offsetof(motion_key_spec, rotate_deg), .unit = "deg", .fallback = "0",
   .help = "rotation from the pose at rest: from 0 to 540 about one axis is a turn and a half; between different axes it goes by the "
           "shortest arc"},
  {.name = "axis", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_key_spec, axis), .fallback = "[0, 0, 1]", .help = "of the rotation"},
  {.name = NULL}};
static const key_table key_table_ = {.name = "motion.keyframes", .help = "A pose at a time; in between, see interpolation; before and after, at rest.",
                                     .size = sizeof(motion_key_spec), .keys = key_keys};
static const key_spec expression_keys[] = {
  {.name = "translate", .type = KEY_STRINGS, .offset = offsetof(motion_expression_spec, translate), .is_optional = true,
   .help = "three expressions in t [s], displacement in m"},
  {.name = "rotate_deg", .type = KEY_STRING, .offset = offsetof(motion_expression_spec, rotate_deg), .fallback = "0", .help = "expression in t [s], degrees"},
  {.name = "axis", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_expression_spec, axis), .fallback = "[0, 0, 1]", .help = "of the rotation"},
  {.name = NULL}};
static const key_table expression_table = {.name = "motion.expressions", .help = "Pose as formulas of the time t.", .size = sizeof(motion_expression_spec),
                                           .keys = expression_keys};
static const key_spec motion_keys[] = {
  {.name = "pivot", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, pivot), .unit = "m", .fallback = "[0, 0, 0]", .help = "point the rotation leaves alone"},
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "constant velocity of the pivot"},
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(motion_spec, angular_velocity), .unit = "rad/s", .fallback = "[0, 0, 0]",
   .help = "constant angular velocity"},
  {.name = "keyframes", .type = KEY_LIST, .offset = offsetof(motion_spec, keyframes), .table = &key_table_, .is_optional = true, .help = "poses at times"},
  {.name = "interpolation", .type = KEY_ENUM, .offset = offsetof(motion_spec, interpolation), .choices = interpolations, .fallback = "linear",
   .help = "between keyframes; linear: constant rates, velocity jumps at each; smooth: velocity is continuous, nothing overshoots, from and to rest"},
  {.name = "expressions", .type = KEY_TABLE, .offset = offsetof(motion_spec, expressions), .table = &expression_table, .is_optional = true, .help = "pose as formulas"},
  {.name = NULL}};
const key_table motion_table = {.name = "motion", .help = "How a kinematic body moves: constant velocities, keyframes, or expressions; only one of the three.",
                                .size = sizeof(motion_spec), .keys = motion_keys};

static const char *const rotations[] = {"backward_euler", "midpoint", NULL};

static const key_spec anchor_keys[] = {
  {.name = "point", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_anchor_spec, point), .unit = "m", .help = "on the body, as it stands at the start"},
  {.name = "to", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_anchor_spec, to), .unit = "m", .is_optional = true,
   .help = "point of the world it is tied to; the same point if not given"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(rigid_anchor_spec, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .help = "of the spring"},
  {.name = "damping", .type = KEY_REAL, .offset = offsetof(rigid_anchor_spec, damping), .unit = "N s/m", .fallback = "0", .min = 0, .max = INFINITY, .help = "of the spring"},
  {.name = NULL}};
static const key_table anchor_table = {.name = "bodies.rigid.anchors", .help = "Zero-length springs between points of the body and of the world.",
                                       .size = sizeof(rigid_anchor_spec), .keys = anchor_keys};

#define SHAPE_KEY                                                                                                                  \
  {.name = "shape", .type = KEY_TABLE, .offset = offsetof(rigid_body_spec, shape), .table = &shape_table, .help = "its surface"}
#define SPACING_KEY                                                                                                                \
  {.name = "surface_spacing", .type = KEY_REAL, .offset = offsetof(rigid_body_spec, surface_spacing), .unit = "m", .min = 0, .max = INFINITY, \
   .is_open = true, .is_optional = true,                                                                                           \
   .help = "distance of surface vertices, which are the contact points of a rigid body, the triangles of contact_surface: mesh, and the picture of an obstacle; " \
           "chosen if not given (a box: its 8 corners, 12 triangles)"}
static const char *const contact_surfaces[] = {"level_set", "mesh", NULL}; /* rigid_contact */
#define CONTACT_SURFACE_KEY                                                                                                        \
  {.name = "contact_surface", .type = KEY_ENUM, .offset = offsetof(rigid_body_spec, contact_surface), .choices = contact_surfaces, \
   .fallback = "level_set",                                                                                                        \
   .help = "what points of others touch; level_set: the exact shape (a file's mesh sampled on a grid), fit for smooth and thick bodies; mesh: " \
           "the triangles of its surface, found by continuous collision detection, fit for sharp, thin and hollow ones"}
static const key_spec rigid_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .help = "name of an entry of materials"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  {.name = "mass", .type = KEY_REAL, .offset = offsetof(rigid_body_spec, mass), .unit = "kg", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
   .help = "instead of density times volume"},
  {.name = "inertia", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, inertia), .unit = "kg m^2", .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true, .help = "principal moments along the axes of the job, instead of the shape's"},
  {.name = "center_of_mass", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, center_of_mass), .unit = "m", .is_optional = true,
   .help = "where it is, instead of at the centre of the shape, for bodies that are loaded inside; needs `inertia`, which is about it"},
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "initial"},
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, angular_velocity), .unit = "rad/s", .fallback = "[0, 0, 0]",
   .help = "initial"},
  {.name = "force", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, force), .unit = "N", .fallback = "[0, 0, 0]", .help = "constant, at the centre of mass"},
  {.name = "torque", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, torque), .unit = "N m", .fallback = "[0, 0, 0]", .help = "constant"},
  {.name = "rotation", .type = KEY_ENUM, .offset = offsetof(rigid_body_spec, rotation), .choices = rotations, .fallback = "backward_euler",
   .help = "integrator of the rotation; midpoint conserves energy of a free spin"},
  {.name = "anchors", .type = KEY_LIST, .offset = offsetof(rigid_body_spec, anchors), .table = &anchor_table, .is_optional = true, .help = "springs to the world"},
  {.name = NULL}};
const key_table rigid_body_table = {.name = "bodies.rigid", .help = "A rigid body that moves by the forces on it.", .size = sizeof(rigid_body_spec), .keys = rigid_keys};

static const key_spec kinematic_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .fallback = "\"\"", .help = "only to name it in contact.pairs"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  {.name = "motion", .type = KEY_TABLE, .offset = offsetof(rigid_body_spec, motion), .table = &motion_table, .help = "how it moves"},
  {.name = NULL}};
const key_table kinematic_body_table = {.name = "bodies.kinematic", .help = "An obstacle that moves as prescribed.", .size = sizeof(rigid_body_spec), .keys = kinematic_keys};

static const key_spec static_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .fallback = "\"\"", .help = "only to name it in contact.pairs"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  {.name = NULL}};
const key_table static_body_table = {.name = "bodies.static", .help = "An obstacle that never moves.", .size = sizeof(rigid_body_spec), .keys = static_keys};
