/* The kinds rigid, kinematic and static: their job keys and their rows of the registry of kinds. */
#include "discretize/body/body_kind.h"
#include "discretize/rigid/rigid_copies.h"
#include "geometry/convex/convex_pose.h"

static const char *const rotations[] = {
    [RIGID_CONSERVING] = "conserving", [RIGID_BACKWARD_EULER] = "backward_euler", [RIGID_MIDPOINT] = "midpoint", NULL};
static const char *const rotation_help[] = {
    [RIGID_CONSERVING]     = "conserves energy and angular momentum of a body without torque; impulses of contacts dissipate",
    [RIGID_BACKWARD_EULER] = "conserves angular momentum, but a body without torque loses energy and turns towards its stable axis",
    [RIGID_MIDPOINT]       = "conserves both also under the torques of smooth forces; impulses of contacts make spinning bodies bounce"};

/* clang-format off */
static const key_spec anchor_keys[] = {
  {.name = "point", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_anchor_spec, point), .unit = "m", .help = "point of the body at the start of the run"},
  {.name = "to", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_anchor_spec, to), .unit = "m", .is_optional = true,
   .help = "point of the world to which it is tied; default: the same point"},
  {.name = "stiffness", .type = KEY_REAL, .offset = offsetof(rigid_anchor_spec, stiffness), .unit = "N/m", .min = 0, .max = INFINITY, .help = "stiffness of the spring"},
  {.name = "damping", .type = KEY_REAL, .offset = offsetof(rigid_anchor_spec, damping), .unit = "N s/m", .fallback = "0", .min = 0, .max = INFINITY, .help = "coefficient of viscous damping of the spring"},
  {.name = NULL}};
static const key_table anchor_table = {.name = "bodies.rigid.anchors", .help = "Zero-length springs between points of the body and of the world.",
                                       .size = sizeof(rigid_anchor_spec), .keys = anchor_keys};

#define SHAPE_KEY                                                                                                                  \
  {.name = "shape", .type = KEY_TABLE, .offset = offsetof(rigid_body_spec, shape), .table = &shape_table, .help = "shape of the body"}
#define SPACING_KEY                                                                                                                \
  {.name = "surface_spacing", .type = KEY_REAL, .offset = offsetof(rigid_body_spec, surface_spacing), .unit = "m", .min = 0, .max = INFINITY, \
   .is_open = true, .is_optional = true,                                                                                           \
   .help = "spacing of the surface vertices: the contact points of a rigid body, the triangles of contact_surface: mesh, and the picture of an obstacle; " \
           "default: chosen from the shape (a box: its 8 corners, 12 triangles; a mesh that is not convex and has no contact_surface: mesh: 1/16 of its size)"}
static const char *const contact_surfaces[] = {"level_set", "mesh", NULL}; /* rigid_contact */
#define CONTACT_SURFACE_KEY                                                                                                        \
  {.name = "contact_surface", .type = KEY_ENUM, .offset = offsetof(rigid_body_spec, contact_surface), .choices = contact_surfaces, \
   .fallback = "level_set",                                                                                                        \
   .help = "surface that contact points of other bodies touch; level_set: the exact shape (a mesh file is sampled on a grid), for smooth and thick bodies; " \
           "mesh: the triangles of the surface, with continuous collision detection, for sharp, thin and hollow bodies"}
#define CONTACT_POINTS_KEY                                                                                                         \
  {.name = "contact_points", .type = KEY_INT, .offset = offsetof(rigid_body_spec, contact_points), .fallback = "0", .min = 0, .max = CONVEX_MAX_AREA_POINTS, \
   .help = "number of contact points of equal area in each patch where a flat face of the body lies on another flat face (boxes, polyhedra, ends of cylinders), " \
           "for a uniform load and the friction torque of the patch; of two bodies the larger number counts. 0: the corners of the common area, at most 18"}
static const key_spec rigid_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .help = "name of an entry of materials"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  CONTACT_POINTS_KEY,
  {.name = "mass", .type = KEY_REAL, .offset = offsetof(rigid_body_spec, mass), .unit = "kg", .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
   .help = "mass; default: density times volume"},
  {.name = "inertia", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, inertia), .unit = "kg m^2", .min = 0, .max = INFINITY, .is_open = true,
   .is_optional = true, .help = "principal moments of inertia along the axes of the job; default: those of the shape"},
  {.name = "center_of_mass", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, center_of_mass), .unit = "m", .is_optional = true,
   .help = "position of the centre of mass, for bodies with a non-uniform density; requires `inertia` about this point; default: the centre of the shape"},
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, velocity), .unit = "m/s", .fallback = "[0, 0, 0]", .help = "initial velocity"},
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, angular_velocity), .unit = "rad/s", .fallback = "[0, 0, 0]",
   .help = "initial angular velocity"},
  {.name = "force", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, force), .unit = "N", .fallback = "[0, 0, 0]", .help = "constant force at the centre of mass"},
  {.name = "torque", .type = KEY_REALS, .count = 3, .offset = offsetof(rigid_body_spec, torque), .unit = "N m", .fallback = "[0, 0, 0]", .help = "constant torque"},
  {.name = "rotation", .type = KEY_ENUM, .offset = offsetof(rigid_body_spec, rotation), .choices = rotations,
   .choice_help = rotation_help, .fallback = "conserving", .help = "time integrator of the rotation"},
  {.name = "anchors", .type = KEY_LIST, .offset = offsetof(rigid_body_spec, anchors), .table = &anchor_table, .is_optional = true, .help = "springs to the world"},
  {.name = "copies", .type = KEY_TABLE, .offset = offsetof(rigid_body_spec, copies), .table = &rigid_copies_table, .is_optional = true,
   .help = "many bodies of this shape instead of one"},
  {.name = NULL}};
const key_table rigid_body_table = {.name = "bodies.rigid", .help = "A rigid body that moves under forces.", .size = sizeof(rigid_body_spec), .keys = rigid_keys};

static const key_spec kinematic_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .fallback = "\"\"", .help = "used only to select the body in contact.pairs"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  CONTACT_POINTS_KEY,
  {.name = "motion", .type = KEY_TABLE, .offset = offsetof(rigid_body_spec, motion), .table = &motion_table, .help = "its prescribed motion"},
  {.name = NULL}};
const key_table kinematic_body_table = {.name = "bodies.kinematic", .help = "An obstacle with a prescribed motion.", .size = sizeof(rigid_body_spec), .keys = kinematic_keys};

static const key_spec static_keys[] = {
  {.name = "material", .type = KEY_STRING, .offset = offsetof(rigid_body_spec, material), .fallback = "\"\"", .help = "used only to select the body in contact.pairs"},
  SHAPE_KEY,
  SPACING_KEY,
  CONTACT_SURFACE_KEY,
  CONTACT_POINTS_KEY,
  {.name = NULL}};
/* clang-format on */
const key_table static_body_table = {
    .name = "bodies.static", .help = "An obstacle that never moves.", .size = sizeof(rigid_body_spec), .keys = static_keys};

/* --- creation -------------------------------------------------------------------------------------------------------- */

static PetscErrorCode create_body(rigid_kind kind, const body_request *r, const body_world *w, diagnostics *d, body **out)
{
  PetscFunctionBegin;
  rigid_body *b;
  *out = NULL;
  if (kind == RIGID_DYNAMIC && !r->material) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rigid_body_create(r->name, kind, r->spec, r->material ? r->material->density : 0.0, r->node, r->path, d, &b));
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  rigid_body_set_gravity(b, w->gravity);
  *out = &b->base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_rigid(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create_body(RIGID_DYNAMIC, r, w, d, out);
}
static bool           has_copies(const void *spec) { return ((const rigid_body_spec *)spec)->copies != NULL; }
static PetscErrorCode create_copies(const body_request *r, body_world *w, diagnostics *d, int64_t *n, body ***bodies)
{
  *n = 0, *bodies = NULL;
  return r->material ? rigid_copies_create(r, r->material->density, w->gravity, d, n, bodies) : PETSC_SUCCESS;
}
static PetscErrorCode create_kinematic(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create_body(RIGID_KINEMATIC, r, w, d, out);
}
static PetscErrorCode create_static(const body_request *r, body_world *w, diagnostics *d, body **out)
{
  return create_body(RIGID_STATIC, r, w, d, out);
}

const body_kind rigid_body_kind     = {.name          = "rigid",
                                       .keys          = &rigid_body_table,
                                       .ops           = &rigid_body_ops,
                                       .material      = BODY_MATERIAL_ANY,
                                       .create        = create_rigid,
                                       .create_copies = create_copies,
                                       .has_copies    = has_copies};
const body_kind kinematic_body_kind = {
    .name = "kinematic", .keys = &kinematic_body_table, .ops = &rigid_obstacle_ops, .create = create_kinematic};
const body_kind static_body_kind = {.name = "static", .keys = &static_body_table, .ops = &rigid_obstacle_ops, .create = create_static};
