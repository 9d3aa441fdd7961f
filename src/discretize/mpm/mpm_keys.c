#include "discretize/mpm/mpm_keys.h"

static const char *const kernels[]   = {"quadratic", "cubic", NULL};
static const char *const transfers[] = {"apic", "pic_flip", NULL};
static const char *const gradients[] = {"spline", "affine", NULL};
static const char *const axes[]      = {"x", "y", "z", NULL};
static const char *const sides[]     = {"lower", "upper", NULL};
static const char *const walls[]     = {"stick", "slip", "periodic", NULL};

static const key_spec wall_keys[] = {
  {.name = "axis", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, axis), .choices = axes, .help = "the wall is normal to this axis"},
  {.name = "side", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, side), .choices = sides,
   .help = "lower: nodes with coordinate <= at are held; upper: those with >= at"},
  {.name = "at", .type = KEY_REAL, .offset = offsetof(mpm_wall_spec, at), .unit = "m", .help = "coordinate of the wall"},
  {.name = "kind", .type = KEY_ENUM, .offset = offsetof(mpm_wall_spec, kind), .choices = walls, .fallback = "slip",
   .help = "stick: all components are held; slip: only the one along the axis; periodic: joined with its partner on the other side, whole cells apart"},
  {.name = NULL}};
static const key_table wall_table = {.name = "mpm.walls",
  .help = "Grid boundary conditions, frictionless or sticking, for tests with a closed answer. Frictional walls are bodies.",
  .size = sizeof(mpm_wall_spec), .keys = wall_keys};
static const key_spec mpm_keys[] = {
  {.name = "kernel", .type = KEY_ENUM, .offset = offsetof(mpm_options, kernel), .choices = kernels, .fallback = "quadratic",
   .help = "B-spline between particles and grid"},
  {.name = "transfer", .type = KEY_ENUM, .offset = offsetof(mpm_options, transfer), .choices = transfers, .fallback = "apic",
   .help = "how velocity goes to the grid and back: affine (conserves angular momentum), or a blend of PIC and FLIP"},
  {.name = "flip", .type = KEY_REAL, .offset = offsetof(mpm_options, flip), .fallback = "0.95", .min = 0, .max = 1,
   .help = "share of FLIP in transfer: pic_flip; 0 is pure PIC"},
  {.name = "gradient", .type = KEY_ENUM, .offset = offsetof(mpm_options, gradient), .choices = gradients, .fallback = "spline",
   .help = "how velocities deform particles, and stress pushes nodes: by the gradients of the splines, or by those of the affine transfer "
           "(as MLS-MPM has it), which see less of what varies within a cell"},
  {.name = "light_nodes", .type = KEY_REAL, .offset = offsetof(mpm_options, light_nodes), .is_optional = true, .min = 0, .max = 1,
   .help = "grid nodes with less than this share of their heaviest neighbour's mass move as heavier ones tell (linear extrapolation) where those "
           "are at rest, which lets heaps come to rest; 0: every node moves by itself; not given: 0.1 where there is sand and formulation: penalty "
           "without metis_schwarz, which cannot take it, else 0"},
  {.name = "rest_speed", .type = KEY_REAL, .offset = offsetof(mpm_options, rest_speed), .fallback = "0.02", .min = 0, .max = INFINITY,
   .help = "light_nodes: slower than this times sqrt(g spacing), g of gravity, grid nodes count as being at rest; 1e9: light ones always follow, "
           "which holds back thin fronts"},
  {.name = "walls", .type = KEY_LIST, .offset = offsetof(mpm_options, walls), .table = &wall_table, .is_optional = true,
   .help = "grid boundary conditions"},
  {.name = "body_force", .type = KEY_STRINGS, .offset = offsetof(mpm_options, body_force), .unit = "m/s^2", .is_optional = true,
   .help = "acceleration besides gravity: three expressions in x, y, z (position), X, Y, Z (initial position) and t; not with pour"},
  {.name = NULL}};
const key_table mpm_options_table = {.name = "mpm", .help = "The grid shared by all bodies of kind mpm.", .size = sizeof(mpm_options), .keys = mpm_keys};

static const key_spec mpm_body_keys[] = {
  PARTICLE_BODY_SHAPE_KEYS,
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(mpm_body_spec, spacing), .unit = "m", .min = 0, .max = INFINITY, .is_open = true,
   .help = "grid spacing; the same for all MPM bodies of a job"},
  PARTICLE_BODY_KEYS("blue_noise", "0"),
  {.name = NULL}};
const key_table mpm_body_table = {.name = "bodies.mpm", .help = "A deformable body of material points on the shared grid.",
                                         .size = sizeof(mpm_body_spec), .keys = mpm_body_keys};
