/* The quantities that a job can measure. Each is a line of QUANTITY_TABLE, which lists the keys that it requires and supports,
 * and a function measure_NAME in one of the files measure_*.c. measure.c checks the keys; the functions rely on the checks.
 * Quantities do not depend on a formulation: contact data come from its step_report, forces and contact points
 * (sim/step/formulation.h). */
#ifndef SS_SIM_MEASURE_MEASURE_QUANTITY_H
#define SS_SIM_MEASURE_MEASURE_QUANTITY_H
#include "core/key_table.h"
#include "core/math3.h"
#include "discretize/body/body.h"
#include "discretize/body/vector_field.h"
#include "sim/measure/clock.h"
#include "sim/measure/measure_points.h"
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

/* measure.NAME of a job */
typedef struct {
  double min[3], max[3];
} measure_box;
enum { MEASURE_PART_NORMAL, MEASURE_PART_FRICTION };
typedef struct {
  int                quantity;
  const char        *body, *other;                             /* NULL: not given */
  double             point[3], direction[3], fraction, radius; /* NaN: not given */
  const measure_box *within;                                   /* NULL: not given */
  int                part, axis;                               /* -1: not given */
  int64_t            bins;                                     /* KEY_INT_ABSENT: not given */
  key_list           expected;
  double             every;
} measure_spec;

/* Keys that a quantity requires or supports. If `body` is optional, the quantity without it refers to all bodies. */
/* clang-format off */
enum {
  TAKE_BODY = 1, TAKE_OTHER = 2, TAKE_DIRECTION = 4, TAKE_POINT = 8, TAKE_FRACTION = 16, TAKE_EXPECTED = 32, TAKE_WITHIN = 64, TAKE_RADIUS = 128, TAKE_PART = 256, TAKE_AXIS = 512, TAKE_BINS = 1024,
  HAS_TENSOR = 1 << 20 /* no key: the table has six more columns, the components of a symmetric tensor */
};
/* Properties of bodies: the body of a measure must have at least one of those listed; 0: any body. */
enum { OF_RIGID = 1, OF_PARTICLES = 2, OF_NODES = 4, OF_ELEMENTS = 8, OF_MASS = 16, OF_SURFACE = 32, OF_CONTINUUM = 64, OF_LINK = 128, OF_TOUCHED = 256, OF_TRIANGLES = 512, OF_GRAINS = 1024, OF_COPIES = 2048,
  OF_ONE = 1 << 20 /* no property: one body, not all copies of an entry */
};
enum { MEASURE_MOST_BINS = 1000, MEASURE_MOST_VALUES = 1 + MEASURE_MOST_BINS };

/* name, unit, properties of the body, required keys, optional keys, help */
#define QUANTITY_TABLE(X)                                                                                                                       \
  X(position, "m", 0, TAKE_BODY, TAKE_DIRECTION, "centre of mass; of an obstacle, the position of its frame")                                           \
  X(velocity, "m/s", OF_MASS, TAKE_BODY, TAKE_DIRECTION, "velocity of the centre of mass: momentum / mass")                                       \
  X(distance, "m", 0, TAKE_BODY | TAKE_OTHER, TAKE_DIRECTION, "from the `position` of a body to that of `other`")                                  \
  X(point, "m", OF_RIGID | OF_NODES | OF_ONE, TAKE_BODY, TAKE_POINT | TAKE_DIRECTION,                                                                       \
    "current position of the point of a rigid body that was at `point` at the start of the run; for a body made of nodes: of the node that was closest to it") \
  X(stress, "Pa", OF_ELEMENTS, TAKE_BODY | TAKE_DIRECTION, TAKE_POINT,                                                                             \
    "normal stress along `direction`, positive in tension, around the node that was closest to `point` at the start of the run")                   \
  X(pressure, "Pa", OF_CONTINUUM, TAKE_BODY | TAKE_POINT, 0,                                                                                       \
    "on the grid of a body of kind mac at `point`: interpolated between cell centres, 0 in empty cells; near a wall, the value of the cell there") \
  X(angular_velocity, "rad/s", OF_RIGID | OF_ONE, TAKE_BODY, TAKE_DIRECTION, "of a rigid body")                                                            \
  X(rotation, "rad", OF_RIGID | OF_ONE, TAKE_BODY, TAKE_DIRECTION,                                                                                        \
    "rotation of a rigid body since the start: axis times angle, which is at most pi")                                       \
  X(tilt, "rad", OF_RIGID | OF_ONE, TAKE_BODY | TAKE_DIRECTION, 0, "angle between `direction` fixed in a rigid body and the same direction at the start")  \
  X(joint_position, "rad or m", OF_LINK, TAKE_BODY, 0, "of the revolute or prismatic joint that carries a link of an articulated body, `body: ARM.LINK`")  \
  X(joint_velocity, "rad/s or m/s", OF_LINK, TAKE_BODY, 0, "rate of the joint that carries a link, `body: ARM.LINK`")                                                                      \
  X(joint_torque, "N m or N", OF_LINK, TAKE_BODY, 0, "torque or force of the motor of the joint that carries a link, in the last step; 0 without a motor")                          \
  X(joint_force, "N", OF_LINK, TAKE_BODY, TAKE_DIRECTION,                                                                                         \
    "force through the joint that carries a link, on the link, in the last step: the change of momentum of all bodies beyond it, minus gravity, " \
    "contacts and applied forces; loops count as bodies beyond")                                                                                \
  X(mass, "kg", OF_MASS, 0, TAKE_BODY, "of a body; of all if none is named")                                                                     \
  X(momentum, "N s", OF_MASS, 0, TAKE_BODY | TAKE_DIRECTION, "of a body; of all if none is named")                                                \
  X(angular_momentum, "N m s", OF_MASS, 0, TAKE_BODY | TAKE_DIRECTION, "about the origin; of all bodies if none is named")                        \
  X(kinetic_energy, "J", OF_MASS, 0, TAKE_BODY, "of a body; of all if none is named")                                                            \
  X(elastic_energy, "J", OF_MASS, 0, TAKE_BODY, "of a body; of all if none is named")                                                            \
  X(potential_energy, "J", OF_MASS, 0, TAKE_BODY, "energy of a body in gravity, zero at the origin; of all bodies if none is named")                          \
  X(mechanical_energy, "J", 0, 0, 0, "sum of the kinetic, elastic and potential energy of all bodies and of the energy of contact springs")                                      \
  X(max_speed, "m/s", OF_MASS, 0, TAKE_BODY, "of the fastest particle, node or vertex of a rigid surface of a body; of all if none is named")   \
  X(contact_force, "N", OF_TOUCHED, TAKE_BODY, TAKE_OTHER | TAKE_DIRECTION | TAKE_PART,                                                                     \
    "mean force on a body in the step, from `other` or from all; `part`: only the components along the contact normals, or only friction, of the last substep")                          \
  X(contact_moment, "N m", OF_TOUCHED, TAKE_BODY, TAKE_OTHER | TAKE_DIRECTION, "mean moment about the origin of the contact forces on a body in the step, from `other` or from all")                     \
  X(contact_extent, "m", OF_TOUCHED, TAKE_BODY, TAKE_OTHER | TAKE_DIRECTION | TAKE_POINT | TAKE_FRACTION,                                                     \
    "extent of the contact patch on a body, from `other` or from all: position along `direction` up to which `fraction` of the normal force acts; without a direction, "     \
    "distance from the vertical axis through `point`; fraction: 1 gives the outermost contact")                                                              \
  X(sticking_fraction, "1", OF_TOUCHED, TAKE_BODY, TAKE_OTHER,                                                                                                      \
    "fraction of the normal contact force on a body, from `other` or from all, that sticking contacts carry")                            \
  X(contacts, "1", OF_TOUCHED, 0, TAKE_BODY | TAKE_OTHER, "number of active contacts of the scene, of a body, or between a body and `other`")                        \
  X(penetration, "m", OF_TOUCHED, 0, TAKE_BODY | TAKE_OTHER, "largest overlap depth of the shapes of two bodies of the scene, of a body with any other, or of a body with `other`. Surfaces of solids that are not convex are searched locally: a lower bound, usually to 1e-3 of the smallest extent")                                                              \
  X(friction_work, "J", 0, 0, 0, "energy dissipated by friction since the start of the run, in all contacts")                                           \
  X(self_intersection_depth, "m", OF_SURFACE, TAKE_BODY, 0,                                                                                                  \
    "depth by which the surface of a body made of nodes intersects itself: the smallest displacement that removes the worst edge from the triangle " \
    "it intersects, at most the inradius of the triangle; from the geometry alone")                                           \
  X(intersections, "1", OF_TRIANGLES, 0, TAKE_BODY | TAKE_OTHER,                                                                                  \
    "exact number of pairs of an edge and a triangle with a common point at the end of a step: of all triangle surfaces that may "          \
    "touch, and of deformable surfaces with themselves, including touching; plus vertices of these beyond half-spaces. Of all bodies, of one body, "    \
    "or of it and `other` (the same body: with itself). From the geometry alone; bodies represented by other level sets are not included")  \
  X(extent, "m", OF_PARTICLES | OF_NODES | OF_COPIES, TAKE_BODY, TAKE_DIRECTION | TAKE_POINT | TAKE_FRACTION,                                                   \
    "quantile `fraction` of a body's particles or nodes along `direction`; without one, of their distance from the vertical axis through "      \
    "`point`; fraction: 1 gives the front")                                                                                                                  \
  X(runout, "m", OF_PARTICLES | OF_NODES | OF_COPIES, TAKE_BODY, TAKE_DIRECTION | TAKE_POINT | TAKE_FRACTION,                                                  \
    "change of the `extent` of a body since the start of the run")                                                              \
  X(height, "m", OF_PARTICLES | OF_NODES | OF_COPIES, TAKE_BODY, TAKE_POINT | TAKE_FRACTION,                                                                   \
    "quantile `fraction` of a body's particles or nodes, upwards (against gravity) from `point`; fraction: 1 gives the top")                                 \
  X(angle_of_repose, "rad", OF_PARTICLES | OF_COPIES, TAKE_BODY, TAKE_DIRECTION | TAKE_POINT,                                                                  \
    "slope of a heap, from its highest particles: down along `direction`; without one, away from the vertical axis through `point`, "   \
    "which is on the ground")                                                                                                                   \
  X(anisotropy, "1", OF_PARTICLES | OF_COPIES, TAKE_BODY, TAKE_POINT,                                                                                         \
    "fourfold anisotropy of a heap: mean of cos 4 phi over a body's particles, weighted by mass and squared distance r^2 from the vertical axis through `point`, "  \
    "with phi the angle about it from a horizontal coordinate axis; 0: round, 1: a cross along the axes, -1: along the diagonals")                 \
  X(mass_beyond, "kg", OF_PARTICLES | OF_COPIES, TAKE_BODY | TAKE_DIRECTION, TAKE_POINT, "mass of a body's particles with direction . (x - point) > 0")        \
  X(largest_fragment, "1", OF_PARTICLES | OF_COPIES, TAKE_BODY | TAKE_RADIUS, 0,                                                                                 \
    "mass of the largest connected part of a body, divided by the mass of the body; particles closer to each other than `radius` are connected")                    \
  X(flow_rate, "kg/s", OF_PARTICLES | OF_COPIES, TAKE_BODY | TAKE_DIRECTION, TAKE_POINT | TAKE_WITHIN | TAKE_RADIUS,                                             \
    "mass of a body's particles that crossed the plane through `point` along `direction` since the previous record, minus those that crossed "   \
    "back, per second; with `radius` or `within`, only crossings within that distance from `point`, or in that box")             \
  X(density, "kg/m^3", OF_PARTICLES | OF_COPIES, TAKE_BODY | TAKE_WITHIN, 0, "mass of a body's particles in the box `within`, divided by the volume of the box")               \
  X(granular_temperature, "m^2/s^2", OF_PARTICLES | OF_COPIES, TAKE_BODY, TAKE_WITHIN,                                                                        \
    "a third of the mean squared deviation, by mass, of the velocities of a body's particles from their mean; with `within`, of those in the box") \
  X(velocity_profile, "m/s", OF_PARTICLES | OF_COPIES, TAKE_BODY | TAKE_WITHIN | TAKE_AXIS | TAKE_BINS, TAKE_DIRECTION,                         \
    "mean velocity, by mass, of a body's particles in the box `within`; then in each of `bins` equal layers of the box along `axis`, from its lower side: bin_1, bin_2, ...") \
  X(coordination_number, "1", OF_GRAINS, 0, TAKE_BODY | TAKE_WITHIN,                                                                              \
    "mean number of contacts of a rigid body, also with walls; with `within`, of bodies whose centre is in the box. Contact points of the same two bodies with the same normal are one contact")             \
  X(mechanical_coordination_number, "1", OF_GRAINS, 0, TAKE_BODY | TAKE_WITHIN,                                                                   \
    "the same without rattlers: bodies with less than 2 contacts, or 4 without friction, are removed until none is left; their contacts do not count")  \
  X(packing_fraction, "1", OF_GRAINS, TAKE_WITHIN, TAKE_BODY,                                                                                     \
    "volume of rigid bodies in the box `within`, divided by the volume of the box; exact for balls and polyhedra")                                   \
  X(contact_stress, "Pa", OF_GRAINS, TAKE_WITHIN, TAKE_BODY | TAKE_DIRECTION | HAS_TENSOR,                                                        \
    "Love-Weber stress of rigid bodies whose centre is in the box `within`, positive in compression: sum of -force (x) (contact point - centre), divided by the volume of the box. "  \
    "Normal stress along `direction`; without one, the mean pressure; then the components xx, yy, zz, yz, zx, xy of the symmetric part")             \
  X(fabric, "1", OF_GRAINS, 0, TAKE_BODY | TAKE_WITHIN | TAKE_DIRECTION | HAS_TENSOR,                                                             \
    "fabric tensor of rigid bodies: mean of normal (x) normal over their contacts; isotropic: 1/3 of the unit tensor. Component along `direction`; without one, largest minus smallest "  \
    "eigenvalue; then the components xx, yy, zz, yz, zx, xy")                                                                                       \
  X(velocity_error, "m/s", OF_PARTICLES | OF_NODES, TAKE_BODY | TAKE_EXPECTED, 0,                                                               \
    "root mean square of velocity - `expected`, weighted by mass: over particles, over the nodes of a cloth, or over the volume of a body of kind fem")                   \
  X(displacement_error, "m", OF_PARTICLES | OF_NODES, TAKE_BODY | TAKE_EXPECTED, 0, "root mean square of displacement - `expected`, weighted as in velocity_error")           \
  X(gradient_error, "1", OF_ELEMENTS, TAKE_BODY | TAKE_EXPECTED, 0,                                                                             \
    "root mean square over the volume of a body of kind fem, and over all nine components, of the displacement gradient minus that of `expected`")
/* clang-format on */

/* One measure of a job with its names resolved. */
typedef struct measure measure;
/* State of the scene at the end of a step, or at the start with an empty report. */
typedef struct {
  struct scene      *scene;
  formulation       *formulation;
  const step_report *report;
  sim_clock          clock;
} measure_moment;
/* value [measure.n_values]: NaN before the call. */
typedef PetscErrorCode (*measure_function)(const measure_moment *now, measure *k, double *value);

typedef struct {
  const char      *name, *unit;
  unsigned         of, wants, takes; /* takes: including the required keys */
  measure_function value;            /* NaN if the quantity is not defined, for example without particles */
} measure_quantity;

struct measure {
  const char                 *name;
  const measure_spec         *spec;
  const measure_quantity     *quantity;
  body_range                  bodies, others; /* n = 0: none */
  int                         body, other;    /* the first of them; -1: none */
  int                         n_values;       /* columns after the time */
  measure_points_memory       points;
  double                      point[3], direction[3], fraction; /* with defaults; direction: unit vector */
  bool                        has_direction;
  int64_t                     node;          /* node closest to `point` in the initial shape, of a body made of nodes */
  vector_field               *expected;      /* NULL: none */
  double                      reference;     /* of runout: the extent at the start of the run */
  struct measure_flow        *flow;          /* state of flow_rate; NULL: other quantity */
  struct scene_intersections *intersections; /* of intersections; NULL until first used */
};

#define X(name, unit, of, wants, takes, help) PetscErrorCode measure_##name(const measure_moment *now, measure *k, double *value);
QUANTITY_TABLE(X)
#undef X

/* The component along its direction, or the norm if it has none. */
static inline double measure_along(const measure *k, const double v[3]) { return k->has_direction ? v3_dot(k->direction, v) : v3_norm(v); }
/* Unit vector against gravity; z without gravity. */
static inline void measure_up(const struct scene *s, double up[3])
{
  const double g = v3_norm(s->gravity);
  v3_set(up, 0.0, 0.0, 1.0);
  if (g > 0.0) v3_scale(up, -1.0 / g, s->gravity);
}

static inline body *measure_body_of(const measure_moment *now, const measure *k) { return now->scene->bodies[k->body].body; }
#endif
