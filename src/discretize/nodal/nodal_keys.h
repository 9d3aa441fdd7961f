/* Job keys shared by all bodies of nodes (fem, cloth): initial velocity, damping, constraints, pressures and loads. */
#ifndef SS_DISCRETIZE_NODAL_NODAL_KEYS_H
#define SS_DISCRETIZE_NODAL_NODAL_KEYS_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "geometry/shape/shape.h"
#include "discretize/nodal/nodal_body.h"

/* Rayleigh damping with forces -alpha M v - beta K v, for bodies of nodes and for rods. M: masses, K: stiffness matrix.
 * nodal_damping_form: definition of K in a deformed state, see discretize/fem/tetrahedra.c. */
typedef enum { NODAL_DAMPING_SPATIAL, NODAL_DAMPING_POLAR, NODAL_DAMPING_GREEN } nodal_damping_form;

typedef struct {
  double mass, stiffness;  /* alpha [1/s]; beta [s], NaN: not given */
  double ratio, frequency; /* damping ratio (1: critical) of the mode with this frequency [Hz]; NaN: not given */
  int    form;             /* nodal_damping_form; -1: not given */
} nodal_damping_spec;

extern const key_table nodal_damping_table;

/* Returns the damping coefficient beta [s]: `stiffness`, or the value that gives the mode of `frequency` the damping ratio `ratio` =
 * beta omega / 2; 0 if neither is given, or after an error was added to `d`. node, path: of bodies.NAME. formless: name of the kind, e.g.
 * "cloth", if it does not support the key `form`; otherwise NULL. */
double nodal_damping_beta(const nodal_damping_spec *spec, const char *formless, const document_node *node, const char *path,
                          diagnostics *d);

/* One entry of `pressure:`. */
typedef struct {
  const shape_spec *inside; /* surface triangles in this shape; NULL: all */
  double            value;  /* Pa */
} nodal_pressure_spec;

/* Keys common to the kinds fem and cloth; member of their specs. */
typedef struct {
  double                    velocity[3], angular_velocity[3]; /* initial values */
  const nodal_damping_spec *damping;                          /* never NULL */
  key_list                  hold;                             /* list of nodal_constraint_spec */
  key_list                  pressure;                         /* list of nodal_pressure_spec */
  key_list                  load;                             /* force per mass besides gravity: three expressions [m/s^2] */
} nodal_spec;

extern const key_table nodal_pressure_table;
/* Key specs of nodal_spec for a struct T with a member `nodal` of this type. */
/* clang-format off */
#define NODAL_KEYS(T)                                                                                                              \
  {.name = "velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(T, nodal.velocity), .unit = "m/s", .fallback = "[0, 0, 0]", \
   .help = "initial velocity"},                                                                                                    \
  {.name = "angular_velocity", .type = KEY_REALS, .count = 3, .offset = offsetof(T, nodal.angular_velocity), .unit = "rad/s",      \
   .fallback = "[0, 0, 0]", .help = "initial rotation about the centre of mass"},                                                  \
  {.name = "damping", .type = KEY_TABLE, .offset = offsetof(T, nodal.damping), .table = &nodal_damping_table, .fallback = "{}", .help = "Rayleigh damping"}, \
  {.name = "hold", .type = KEY_LIST, .offset = offsetof(T, nodal.hold), .table = &nodal_constraint_table, .is_optional = true,           \
   .help = "nodes that are fixed or follow a prescribed motion"},                                                                  \
  {.name = "pressure", .type = KEY_LIST, .offset = offsetof(T, nodal.pressure), .table = &nodal_pressure_table, .is_optional = true, \
   .help = "pressure on parts of the surface, normal to the deformed surface"},                                                    \
  {.name = "load", .type = KEY_STRINGS, .offset = offsetof(T, nodal.load), .unit = "m/s^2", .is_optional = true,                   \
   .help = "force per mass in addition to gravity: three expressions in X, Y, Z (initial position), "                               \
           "x, y, z (position at the start of a step) and t (its end)"}
/* clang-format on */

/* Apply initial velocity, constraints, pressures, load and mass damping of `spec` to an unfinished body with a surface. node, path: of
 * bodies.NAME. Errors in the job are added to `d`. */
PetscErrorCode nodal_body_configure(nodal_body *b, const nodal_spec *spec, const document_node *node, const char *path, diagnostics *d);
#endif
