/* Key tables of kind articulated: links, drives, joints, loops, and the body itself. */
#include "discretize/articulated/articulated_keys.h"
#include "discretize/articulated/articulated_tree.h"

static const char *const contact_surfaces[] = {"level_set", "mesh", NULL}; /* rigid_contact */
#define LINK(member) .name = #member, .offset = offsetof(articulated_link_spec, member)
static const key_spec link_keys[] = {
    {LINK(shape), .type = KEY_TABLE, .table = &shape_table, .is_optional = true,
     .help = "shape with all joints at zero; none: the link has no contact"},
    {LINK(surface_spacing), .type = KEY_REAL, .unit = "m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "spacing of surface vertices, as for kind rigid; default: chosen from the shape"},
    {LINK(contact_surface), .type = KEY_ENUM, .choices = contact_surfaces, .fallback = "level_set",
     .help = "surface that contact points of other bodies touch, as for kind rigid"},
    {LINK(mass), .type = KEY_REAL, .unit = "kg", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "mass; default: density times volume; 0 is allowed for a link that carries links with mass"},
    {LINK(center_of_mass), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true,
     .help = "position of the centre of mass; default: that of the shape"},
    {LINK(inertia), .type = KEY_REALS, .count = 6, .unit = "kg m^2", .is_optional = true,
     .help = "xx, yy, zz, xy, xz, yz about the centre of mass along the axes of the job; default: those of the shape; 0 for mass points"},
    {LINK(force), .type = KEY_STRINGS, .is_optional = true, .help = "applied force at the centre of mass: three expressions in t [s], N"},
    {LINK(torque), .type = KEY_STRINGS, .is_optional = true, .help = "applied torque: three expressions in t [s], N m"},
    {.name = NULL}};
static const key_table link_table = {.name = "bodies.articulated.links",
                                     .help = "A rigid link. The links of a body NAME are bodies NAME.LINK for contact.pairs and measure.",
                                     .size = sizeof(articulated_link_spec),
                                     .keys = link_keys};

#define DRIVE(member) .name = #member, .offset = offsetof(articulated_drive_spec, member)
static const key_spec drive_keys[] = {
    {DRIVE(stiffness), .type = KEY_REAL, .unit = "N m/rad or N/m", .fallback = "0", .min = 0, .max = INFINITY,
     .help = "force per distance from the target"},
    {DRIVE(damping), .type = KEY_REAL, .unit = "N m s/rad or N s/m", .fallback = "0", .min = 0, .max = INFINITY,
     .help = "force per difference from the target rate"},
    {DRIVE(target), .type = KEY_STRING, .is_optional = true,
     .help = "target position: an expression in t [s], rad or m; default: the joint's column of the trajectory or, without one, 0"},
    {DRIVE(rate), .type = KEY_STRING, .is_optional = true,
     .help = "target rate: an expression in t [s], rad/s or m/s; default: the derivative of the target"},
    {DRIVE(force), .type = KEY_STRING, .fallback = "\"0\"", .help = "additional force: an expression in t [s], N m or N"},
    {.name = NULL}};
static const key_table drive_table = {
    .name = "bodies.articulated.joints.drive",
    .help = "A motor with a proportional-derivative controller, force + stiffness (target - position) + damping (rate - velocity), "
            "evaluated at the end of the step: stable for any gains.",
    .size = sizeof(articulated_drive_spec),
    .keys = drive_keys};

#define MIMIC(member) .name = #member, .offset = offsetof(articulated_mimic_spec, member)
static const key_spec mimic_keys[] = {
    {MIMIC(joint), .type = KEY_STRING, .help = "joint whose position it follows"},
    {MIMIC(factor), .type = KEY_REAL, .fallback = "1", .help = "factor on that position"},
    {MIMIC(offset), .type = KEY_REAL, .unit = "rad or m", .fallback = "0", .help = "offset added to the position"},
    {.name = NULL}};
static const key_table mimic_table = {
    .name = "bodies.articulated.joints.mimic",
    .help = "A joint without its own unknown: its position is factor times that of another joint, plus offset. Forces act on both.",
    .size = sizeof(articulated_mimic_spec),
    .keys = mimic_keys};

static const char *const joint_types[]     = {[JOINT_REVOLUTE]  = "revolute",
                                              [JOINT_PRISMATIC] = "prismatic",
                                              [JOINT_BALL]      = "ball",
                                              [JOINT_FREE]      = "free",
                                              [JOINT_FIXED]     = "fixed",
                                              [JOINT_PLANAR]    = "planar",
                                              NULL};
static const char *const joint_type_help[] = {[JOINT_REVOLUTE]  = "rotates about `axis` through `at`",
                                              [JOINT_PRISMATIC] = "slides along `axis`",
                                              [JOINT_BALL]      = "rotates freely about `at`",
                                              [JOINT_FREE]      = "moves without constraint",
                                              [JOINT_FIXED]     = "does not move",
                                              [JOINT_PLANAR]    = "moves in the plane normal to `axis`, rotates about `axis`"};
#define JOINT(member) .name = #member, .offset = offsetof(articulated_joint_spec, member)
static const key_spec joint_keys[] = {
    {JOINT(type), .type = KEY_ENUM, .choices = joint_types, .choice_help = joint_type_help, .is_optional = true,
     .help = "type; required, unless the joint is defined by a urdf"},
    {JOINT(parent), .type = KEY_STRING, .is_optional = true, .help = "parent link, or world; default: world"},
    {JOINT(child), .type = KEY_STRING, .is_optional = true,
     .help = "link that it carries; required, unless the joint is defined by a urdf"},
    {JOINT(at), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true,
     .help = "position; required for revolute and ball; default for others: the centre of mass of the child"},
    {JOINT(axis), .type = KEY_REALS, .count = 3, .is_optional = true,
     .help = "axis, of any length; required for revolute, prismatic and planar"},
    {JOINT(position), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "initial position; default: 0. For revolute and prismatic"},
    {JOINT(rate), .type = KEY_REAL, .unit = "rad/s or m/s", .is_optional = true,
     .help = "initial rate; default: 0. For revolute and prismatic"},
    {JOINT(velocity), .type = KEY_REALS, .count = 3, .unit = "m/s", .is_optional = true,
     .help = "initial velocity, along the axes of the parent; default: 0. For free and planar"},
    {JOINT(angular_velocity), .type = KEY_REALS, .count = 3, .unit = "rad/s", .is_optional = true,
     .help = "initial angular velocity, along the axes of the parent; default: 0. For free, ball and planar"},
    {JOINT(lower), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "position limit; default: none. For revolute and prismatic"},
    {JOINT(upper), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "position limit; default: none. For revolute and prismatic"},
    {JOINT(damping), .type = KEY_REAL, .unit = "N m s/rad or N s/m", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "viscous damping; default: 0. For revolute, prismatic and ball"},
    {JOINT(friction), .type = KEY_REAL, .unit = "N m or N", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "dry friction: its largest force; default: 0. For revolute and prismatic"},
    {JOINT(effort), .type = KEY_REAL, .unit = "N m or N", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "largest force of the motor in either direction; default: unlimited"},
    {JOINT(max_rate), .type = KEY_REAL, .unit = "rad/s or m/s", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "largest rate; default: unlimited. For revolute and prismatic"},
    {JOINT(motion), .type = KEY_STRING, .is_optional = true,
     .help = "prescribed position: an expression in t [s], rad or m. For revolute and prismatic"},
    {JOINT(drive), .type = KEY_TABLE, .table = &drive_table, .is_optional = true, .help = "a motor. For revolute and prismatic"},
    {JOINT(mimic), .type = KEY_TABLE, .table = &mimic_table, .is_optional = true,
     .help = "makes the joint follow another joint. For revolute and prismatic"},
    {.name = NULL}};
static const key_table joint_table = {.name = "bodies.articulated.joints",
                                      .help = "The joint that carries a link; each link has one. Entries with the names of joints of "
                                              "a urdf replace or add keys of these joints.",
                                      .size = sizeof(articulated_joint_spec),
                                      .keys = joint_keys};

static const char *const loop_types[] = {[LOOP_BALL] = "ball", [LOOP_REVOLUTE] = "revolute", [LOOP_FIXED] = "fixed", NULL};
#define LOOP(member) .name = #member, .offset = offsetof(articulated_loop_spec, member)
static const key_spec  loop_keys[] = {{LOOP(one), .type = KEY_STRING, .help = "first link"},
                                      {LOOP(other), .type = KEY_STRING, .fallback = "world", .help = "second link, or world"},
                                      {LOOP(type), .type = KEY_ENUM, .choices = loop_types, .fallback = "ball",
                                       .help = "ball: common point `at`; revolute: common axis; fixed: common pose"},
                                      {LOOP(at), .type = KEY_REALS, .count = 3, .unit = "m", .help = "position, with joints at zero"},
                                      {LOOP(axis), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "axis, for type: revolute"},
                                      {.name = NULL}};
static const key_table loop_table  = {
     .name = "bodies.articulated.loops",
     .help = "Joints that close a loop of links. They are very stiff springs, evaluated at the end of the step.",
     .size = sizeof(articulated_loop_spec),
     .keys = loop_keys};

static const char *const integrators[]     = {[ARTICULATED_MOMENTUM] = "momentum", [ARTICULATED_SEMI_IMPLICIT] = "semi_implicit", NULL};
static const char *const integrator_help[] = {
    [ARTICULATED_MOMENTUM]      = "conserves linear and angular momentum to the solver's tolerance, and energy in the mean",
    [ARTICULATED_SEMI_IMPLICIT] = "mass matrix and bias forces of the start of the step: one linear solve, first order"};
static const char *const bases[] = {[URDF_BASE_FIXED] = "fixed", [URDF_BASE_FREE] = "free", NULL};
#define BODY(member) .name = #member, .offset = offsetof(articulated_spec, member)
static const key_spec body_keys[] = {
    {BODY(material), .type = KEY_STRING, .fallback = "\"\"", .help = "name of an entry of materials: density of the links without `mass`"},
    {BODY(urdf), .type = KEY_PATH, .is_optional = true, .is_input = true,
     .help = "a file in the Unified Robot Description Format, which replaces links"},
    {BODY(base), .type = KEY_ENUM, .choices = bases, .is_optional = true,
     .help = "whether the root of the urdf is fixed or moves freely; default: fixed"},
    {BODY(translate), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true,
     .help = "position of the root of the urdf; default: the origin"},
    {BODY(rotate_deg), .type = KEY_REAL, .unit = "deg", .is_optional = true,
     .help = "rotation of the urdf, before the translation; default: 0"},
    {BODY(axis), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "axis of this rotation; default: z"},
    {BODY(links), .type = KEY_NAMED, .table = &link_table, .is_optional = true, .help = "its rigid links, by name"},
    {BODY(joints), .type = KEY_NAMED, .table = &joint_table, .is_optional = true, .help = "the joints that carry the links, by name"},
    {BODY(loops), .type = KEY_LIST, .table = &loop_table, .is_optional = true, .help = "additional joints that close loops"},
    {BODY(trajectory), .type = KEY_PATH, .is_optional = true, .is_input = true,
     .help = "comma-separated table of joint positions, rad or m: a first row t, JOINT, ..., then rows of times in s and positions, "
             "interpolated "
             "linearly. A joint with a column starts at its first value; the column is the target of its drive, or prescribes its motion "
             "if it has none"},
    {BODY(integrator), .type = KEY_ENUM, .choices = integrators, .choice_help = integrator_help, .fallback = "momentum",
     .help = "time integrator"},
    {.name = NULL}};
const key_table articulated_body_table = {.name = "bodies.articulated",
                                          .help = "Rigid links connected by joints, in joint coordinates: arms, grippers, chains.",
                                          .size = sizeof(articulated_spec),
                                          .keys = body_keys};

#define MODEL(member) .name = #member, .offset = offsetof(articulated_model_spec, member)
static const key_spec model_keys[] = {{MODEL(links), .type = KEY_NAMED, .table = &link_table, .is_optional = true, .help = "of a urdf"},
                                      {MODEL(joints), .type = KEY_NAMED, .table = &joint_table, .is_optional = true, .help = "of a urdf"},
                                      {.name = NULL}};
const key_table       articulated_model_table = {
          .name = "urdf", .help = "A urdf as job entries.", .size = sizeof(articulated_model_spec), .keys = model_keys};
