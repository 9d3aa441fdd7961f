#include "discretize/articulated/articulated_keys.h"
#include "discretize/articulated/articulated_tree.h"

static const char *const contact_surfaces[] = {"level_set", "mesh", NULL}; /* rigid_contact */
#define LINK(member) .name = #member, .offset = offsetof(articulated_link_spec, member)
static const key_spec link_keys[] = {
    {LINK(shape), .type = KEY_TABLE, .table = &shape_table, .is_optional = true,
     .help = "its surface, where all joints are at zero; none: it touches nothing"},
    {LINK(surface_spacing), .type = KEY_REAL, .unit = "m", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "distance of surface vertices; chosen if not given, as for kind rigid"},
    {LINK(contact_surface), .type = KEY_ENUM, .choices = contact_surfaces, .fallback = "level_set",
     .help = "what points of others touch, as for kind rigid"},
    {LINK(mass), .type = KEY_REAL, .unit = "kg", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "instead of density times volume; 0 is allowed where something with mass hangs on it"},
    {LINK(center_of_mass), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true, .help = "instead of the shape's"},
    {LINK(inertia), .type = KEY_REALS, .count = 6, .unit = "kg m^2", .is_optional = true,
     .help = "xx, yy, zz, xy, xz, yz about the centre of mass along the axes of the job, instead of the shape's; 0 of mass points"},
    {LINK(force), .type = KEY_STRINGS, .is_optional = true, .help = "three expressions in t [s], N, at the centre of mass"},
    {LINK(torque), .type = KEY_STRINGS, .is_optional = true, .help = "three expressions in t [s], N m"},
    {.name = NULL}};
static const key_table link_table = {
    .name = "bodies.articulated.links",
    .help = "A rigid part. The parts of a body NAME are bodies NAME.LINK for contact.pairs and measure.",
    .size = sizeof(articulated_link_spec),
    .keys = link_keys};

#define DRIVE(member) .name = #member, .offset = offsetof(articulated_drive_spec, member)
static const key_spec drive_keys[] = {
    {DRIVE(stiffness), .type = KEY_REAL, .unit = "N m/rad or N/m", .fallback = "0", .min = 0, .max = INFINITY,
     .help = "per distance from the target"},
    {DRIVE(damping), .type = KEY_REAL, .unit = "N m s/rad or N s/m", .fallback = "0", .min = 0, .max = INFINITY,
     .help = "per difference from the target's rate"},
    {DRIVE(target), .type = KEY_STRING, .is_optional = true,
     .help = "position it pulls to: an expression in t [s], rad or m; its column of the trajectory or, without one, 0 if not given"},
    {DRIVE(rate), .type = KEY_STRING, .is_optional = true,
     .help = "an expression in t [s], rad/s or m/s; the derivative of the target if not given"},
    {DRIVE(force), .type = KEY_STRING, .fallback = "\"0\"", .help = "what it gives besides: an expression in t [s], N m or N"},
    {.name = NULL}};
static const key_table drive_table = {
    .name = "bodies.articulated.joints.drive",
    .help = "A motor with a proportional-derivative controller, force + stiffness (target - position) + damping (rate - velocity), "
            "taken at the end of the step: any gains are stable.",
    .size = sizeof(articulated_drive_spec),
    .keys = drive_keys};

#define MIMIC(member) .name = #member, .offset = offsetof(articulated_mimic_spec, member)
static const key_spec mimic_keys[] = {
  {MIMIC(joint), .type = KEY_STRING, .help = "whose position it follows"},
  {MIMIC(factor), .type = KEY_REAL, .fallback = "1", .help = "times that position"},
  {MIMIC(offset), .type = KEY_REAL, .unit = "rad or m", .fallback = "0", .help = "plus this"},
  {.name = NULL}};
static const key_table mimic_table = {
    .name = "bodies.articulated.joints.mimic",
    .help =
        "A joint that has no unknown of its own: its position is factor times that of another, plus offset. Forces act both ways.",
    .size = sizeof(articulated_mimic_spec),
    .keys = mimic_keys};

static const char *const joint_types[]     = {[JOINT_REVOLUTE]  = "revolute",
                                              [JOINT_PRISMATIC] = "prismatic",
                                              [JOINT_BALL]      = "ball",
                                              [JOINT_FREE]      = "free",
                                              [JOINT_FIXED]     = "fixed",
                                              [JOINT_PLANAR]    = "planar",
                                              NULL};
static const char *const joint_type_help[] = {[JOINT_REVOLUTE]  = "turns about `axis` through `at`",
                                              [JOINT_PRISMATIC] = "slides along `axis`",
                                              [JOINT_BALL]      = "turns any way about `at`",
                                              [JOINT_FREE]      = "moves any way",
                                              [JOINT_FIXED]     = "does not move",
                                              [JOINT_PLANAR]    = "slides in the plane across `axis` and turns about it"};
#define JOINT(member) .name = #member, .offset = offsetof(articulated_joint_spec, member)
static const key_spec joint_keys[] = {
    {JOINT(type), .type = KEY_ENUM, .choices = joint_types, .choice_help = joint_type_help, .is_optional = true,
     .help = "required, unless the joint is of a urdf"},
    {JOINT(parent), .type = KEY_STRING, .is_optional = true, .help = "link that carries it, or world; world if not given"},
    {JOINT(child), .type = KEY_STRING, .is_optional = true,
     .help = "link that it carries; required, unless the joint is of a urdf"},
    {JOINT(at), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true,
     .help = "where it is; required for revolute and ball, the child's centre of mass for others"},
    {JOINT(axis), .type = KEY_REALS, .count = 3, .is_optional = true,
     .help = "of any length; required for revolute, prismatic and planar"},
    {JOINT(position), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "initial; 0, as drawn, if not given. For revolute and prismatic"},
    {JOINT(rate), .type = KEY_REAL, .unit = "rad/s or m/s", .is_optional = true,
     .help = "initial; 0 if not given. For revolute and prismatic"},
    {JOINT(velocity), .type = KEY_REALS, .count = 3, .unit = "m/s", .is_optional = true,
     .help = "initial, along the axes of the parent; 0 if not given. For free and planar"},
    {JOINT(angular_velocity), .type = KEY_REALS, .count = 3, .unit = "rad/s", .is_optional = true,
     .help = "initial, along the axes of the parent; 0 if not given. For free, ball and planar"},
    {JOINT(lower), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "stop; none if not given. For revolute and prismatic"},
    {JOINT(upper), .type = KEY_REAL, .unit = "rad or m", .is_optional = true,
     .help = "stop; none if not given. For revolute and prismatic"},
    {JOINT(damping), .type = KEY_REAL, .unit = "N m s/rad or N s/m", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "viscous; 0 if not given. For revolute, prismatic and ball"},
    {JOINT(friction), .type = KEY_REAL, .unit = "N m or N", .min = 0, .max = INFINITY, .is_optional = true,
     .help = "dry: the most that it resists with; 0 if not given. For revolute and prismatic"},
    {JOINT(effort), .type = KEY_REAL, .unit = "N m or N", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "the most that its motor gives, either way; without end if not given"},
    {JOINT(max_rate), .type = KEY_REAL, .unit = "rad/s or m/s", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
     .help = "faster than this it does not go; without end if not given. For revolute and prismatic"},
    {JOINT(motion), .type = KEY_STRING, .is_optional = true,
     .help = "prescribed position: an expression in t [s], rad or m. For revolute and prismatic"},
    {JOINT(drive), .type = KEY_TABLE, .table = &drive_table, .is_optional = true, .help = "a motor. For revolute and prismatic"},
    {JOINT(mimic), .type = KEY_TABLE, .table = &mimic_table, .is_optional = true,
     .help = "follows another. For revolute and prismatic"},
    {.name = NULL}};
static const key_table joint_table = {.name = "bodies.articulated.joints",
                                      .help = "What carries a link; each link has one. The joints of a urdf are meant by their "
                                              "names: what is said here of one replaces or adds to what is said there.",
                                      .size = sizeof(articulated_joint_spec),
                                      .keys = joint_keys};

static const char *const loop_types[] = {[LOOP_BALL] = "ball", [LOOP_REVOLUTE] = "revolute", [LOOP_FIXED] = "fixed", NULL};
#define LOOP(member) .name = #member, .offset = offsetof(articulated_loop_spec, member)
static const key_spec  loop_keys[] = {{LOOP(one), .type = KEY_STRING, .help = "a link"},
                                      {LOOP(other), .type = KEY_STRING, .fallback = "world", .help = "another, or world"},
                                      {LOOP(type), .type = KEY_ENUM, .choices = loop_types, .fallback = "ball",
                                       .help = "what stays together: the point `at`, the axis through it, or all"},
                                      {LOOP(at), .type = KEY_REALS, .count = 3, .unit = "m", .help = "where, as drawn"},
                                      {LOOP(axis), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "of type revolute"},
                                      {.name = NULL}};
static const key_table loop_table  = {
     .name = "bodies.articulated.loops",
     .help = "Joints that close a loop of links. They hold by springs too stiff to be seen in a step, at its end.",
     .size = sizeof(articulated_loop_spec),
     .keys = loop_keys};

static const char *const integrators[] = {[ARTICULATED_MOMENTUM] = "momentum", [ARTICULATED_SEMI_IMPLICIT] = "semi_implicit", NULL};
static const char *const integrator_help[] = {
    [ARTICULATED_MOMENTUM]      = "conserves linear and angular momentum to the solver's tolerance, and energy in the mean",
    [ARTICULATED_SEMI_IMPLICIT] = "mass matrix and bias forces of the start of the step: one linear solve, first order"};
static const char *const bases[] = {[URDF_BASE_FIXED] = "fixed", [URDF_BASE_FREE] = "free", NULL};
#define BODY(member) .name = #member, .offset = offsetof(articulated_spec, member)
static const key_spec body_keys[] = {
    {BODY(material), .type = KEY_STRING, .fallback = "\"\"", .help = "name of an entry of materials: of all links that name none"},
    {BODY(urdf), .type = KEY_PATH, .is_optional = true, .is_input = true,
     .help = "a file in the Unified Robot Description Format, instead of links"},
    {BODY(base), .type = KEY_ENUM, .choices = bases, .is_optional = true,
     .help = "of the urdf: its root stays where it is, or moves freely; fixed if not given"},
    {BODY(translate), .type = KEY_REALS, .count = 3, .unit = "m", .is_optional = true,
     .help = "where the root of the urdf is put; the origin if not given"},
    {BODY(rotate_deg), .type = KEY_REAL, .unit = "deg", .is_optional = true,
     .help = "by which the urdf is turned first; 0 if not given"},
    {BODY(axis), .type = KEY_REALS, .count = 3, .is_optional = true, .help = "of that turn; z if not given"},
    {BODY(links), .type = KEY_NAMED, .table = &link_table, .is_optional = true, .help = "its rigid parts, by name"},
    {BODY(joints), .type = KEY_NAMED, .table = &joint_table, .is_optional = true, .help = "what holds them together, by name"},
    {BODY(loops), .type = KEY_LIST, .table = &loop_table, .is_optional = true, .help = "further joints, that close loops"},
    {BODY(trajectory), .type = KEY_PATH, .is_optional = true, .is_input = true,
     .help = "comma-separated table of joint positions, rad or m: a first row t, JOINT, ..., then times in s and positions, straight "
             "from row to row. A joint with a column begins there; it is the target of its drive, or prescribed if it has none"},
    {BODY(integrator), .type = KEY_ENUM, .choices = integrators, .choice_help = integrator_help, .fallback = "momentum",
     .help = "of its motion"},
    {.name = NULL}};
const key_table articulated_body_table = {
    .name = "bodies.articulated",
    .help = "Rigid links that hang together by joints, in the coordinates of these: arms, grippers, chains.",
    .size = sizeof(articulated_spec),
    .keys = body_keys};

#define MODEL(member) .name = #member, .offset = offsetof(articulated_model_spec, member)
static const key_spec model_keys[] = {
  {MODEL(links), .type = KEY_NAMED, .table = &link_table, .is_optional = true, .help = "of a urdf"},
  {MODEL(joints), .type = KEY_NAMED, .table = &joint_table, .is_optional = true, .help = "of a urdf"},
  {.name = NULL}};
const key_table articulated_model_table = {
    .name = "urdf", .help = "A urdf in the words of a job.", .size = sizeof(articulated_model_spec), .keys = model_keys};
