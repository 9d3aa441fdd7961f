/* Key tables of kind mac and of the job entry `mac:`. */
#include "discretize/mac/mac_keys.h"

static const char *const walls[]        = {"rough", "smooth", "open", "periodic", NULL};
static const char *const fractions[]    = {"auto", "volume", "area", "voxel", "ghost", NULL};
static const char *const arrangements[] = {"colocated", "staggered", NULL};
static const char *const bases[]        = {"orthonormal", "components", NULL};

static const key_spec box_keys[] = {
    {.name = "min", .type = KEY_REALS, .count = 3, .offset = offsetof(mac_box, min), .unit = "m", .help = "lowest corner"},
    {.name = "max", .type = KEY_REALS, .count = 3, .offset = offsetof(mac_box, max), .unit = "m", .help = "highest corner"},
    {.name = NULL}};
static const key_table box_table = {.name = "mac.domain",
                                    .help = "The box of the grid: a whole number of cells along each axis.",
                                    .size = sizeof(mac_box),
                                    .keys = box_keys};

#define WALL(text, axis, upper)                                                                                                            \
  {                                                                                                                                        \
    .name = text, .type = KEY_ENUM, .offset = offsetof(mac_walls, side[axis][upper]), .choices = walls, .fallback = "rough",               \
    .help = "the side " text                                                                                                               \
  }
static const key_spec  wall_keys[] = {WALL("lower_x", 0, 0), WALL("upper_x", 0, 1), WALL("lower_y", 1, 0), WALL("upper_y", 1, 1),
                                      WALL("lower_z", 2, 0), WALL("upper_z", 2, 1), {.name = NULL}};
static const key_table wall_table  = {.name = "mac.walls",
                                      .help = "Boundary conditions of the domain. rough: a wall with friction, see wall_friction; smooth: a "
                                               "wall without friction; open: air at zero pressure, particles that leave are removed; "
                                               "periodic: continued at the opposite side, which must be periodic too. "
                                               "Rough and smooth walls are obstacles for rigid bodies.",
                                      .size = sizeof(mac_walls),
                                      .keys = wall_keys};

/* clang-format off */
static const key_spec mac_expert_keys[] = {
  {.name = "basis", .type = KEY_ENUM, .offset = offsetof(mac_options, basis), .choices = bases, .fallback = "orthonormal",
   .help = "basis of deviatoric stresses: orthonormal, or the components sxx, szz, sxy, sxz, syz as published"},
  {.name = "hourglass", .type = KEY_REAL, .offset = offsetof(mac_options, hourglass), .fallback = "0.1", .min = 0, .max = 1,
   .only_if = {"^arrangement", "colocated"},
   .help = "hourglass control for colocated stress, which does not resist velocities that alternate from cell to cell: they "
           "get an additional friction, at most this fraction of the material's; 0: none, as published"},
  {.name = "position_correction", .type = KEY_INT, .offset = offsetof(mac_options, position_correction), .fallback = "3",
   .min = 0, .max = 100,
   .help = "iterations that move apart particles that are too close, at the end of each frame; velocities do not change; 0: none, "
           "a flow loses volume"},
  {.name = NULL}};
static const key_table mac_expert_table = {.name = "mac.expert", .help = "Discretisation of surfaces and stress, and published alternatives.", .size = sizeof(mac_options), .keys = mac_expert_keys};

static const key_spec mac_keys[] = {
  {.name = "domain", .type = KEY_TABLE, .offset = offsetof(mac_options, domain), .table = &box_table,
   .help = "the box of the grid"},
  {.name = "spacing", .type = KEY_REAL, .offset = offsetof(mac_options, spacing), .unit = "m", .min = 0, .max = INFINITY,
   .is_open = true, .help = "edge of a cell; must divide the edges of the domain"},
  {.name = "walls", .type = KEY_TABLE, .offset = offsetof(mac_options, walls), .table = &wall_table, .fallback = "{}",
   .help = "boundary conditions of the domain"},
  {.name = "wall_friction", .type = KEY_REAL, .offset = offsetof(mac_options, wall_friction), .min = 0, .max = INFINITY,
   .is_optional = true,
   .help = "rough walls: largest ratio of shear stress to pressure; default: the material's own friction"},
  {.name = "cfl", .type = KEY_REAL, .offset = offsetof(mac_options, cfl), .fallback = "2", .min = 0, .max = 10,
   .is_open = true,
   .help = "number of cells that a particle may cross in a step; a step in which a particle would move farther is repeated "
           "with a smaller step"},
  {.name = "fractions", .type = KEY_ENUM, .offset = offsetof(mac_options, fractions), .choices = fractions,
   .fallback = "auto",
   .help = "weights of cells cut by solids and by the surface. volume: shares of control volumes; ghost: the same at solids, "
           "and ghost values at the surface, where the density is half of the rest density; area: shares of faces at solids, "
           "as published for liquids, and ghost values: the volume displaced by a solid then depends on its position on the "
           "grid; voxel: volume, but cells are either full or empty of continuum, for comparison: surfaces are disturbed; "
           "auto: volume if there is granular material, else ghost"},
  {.name = "arrangement", .type = KEY_ENUM, .offset = offsetof(mac_options, arrangement), .choices = arrangements,
   .fallback = "colocated", .help = "position of shear stresses: at cell centres (exact friction cone), or on edges"},
  {.name = "expert", .type = KEY_PART, .table = &mac_expert_table, .fallback = "{}", .help = "keys for experts"},
    {.name = NULL}};
/* clang-format on */
const key_table mac_options_table = {
    .name = "mac", .help = "The staggered grid shared by all bodies of kind mac.", .size = sizeof(mac_options), .keys = mac_keys};

static const key_spec mac_body_keys[] = {PARTICLE_BODY_SHAPE_KEYS, PARTICLE_BODY_KEYS("cells", "0.5"), {.name = NULL}};
const key_table       mac_body_table  = {.name = "bodies.mac",
                                         .help = "A granular or liquid continuum of material points on the staggered grid.",
                                         .size = sizeof(mac_body_spec),
                                         .keys = mac_body_keys};
