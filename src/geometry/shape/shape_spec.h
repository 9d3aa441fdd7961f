/* The `shape:` block of a job: structs filled by the key table shape_table, and the rigid motion of a shape. Included by all key tables
 * that contain a shape; shape.h creates the geometry. Lengths in m; the keys are documented by the help texts in shape_spec.c. */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_SPEC_H
#define SS_GEOMETRY_SHAPE_SHAPE_SPEC_H
#include "core/key_table.h"
#include <stdbool.h>

typedef struct {
  double center[3], radius;
} shape_sphere_spec;
typedef struct {
  double min[3], max[3];
} shape_box_spec;
typedef struct {
  double from[3], to[3], radius;
} shape_segment_spec; /* cylinder, capsule */
typedef struct {
  double center[3], axis[3], major_radius, minor_radius;
} shape_torus_spec;
typedef struct {
  double center[3], radii[3];
} shape_ellipsoid_spec;
typedef struct {
  double at, radius;
} shape_profile_spec;
typedef struct {
  double   center[3], axis[3];
  key_list profile; /* of shape_profile_spec */
} shape_revolution_spec;
typedef struct {
  double base[3], size;
} shape_rabbit_spec;
typedef struct {
  double normal[3], point[3], offset, extent;
} shape_plane_spec; /* NaN: not specified */
typedef struct {
  double   min[3], max[3];
  key_list open;
} shape_container_spec;
typedef struct {
  const char *file;
  double      scale, spacing;
} shape_mesh_spec;
typedef struct shape_spec shape_spec;
typedef struct {
  const shape_spec *from;
  key_list          minus;
} shape_difference_spec;
struct shape_spec { /* exactly one of the first fourteen members is set; the last line is an optional rigid motion */
  const shape_sphere_spec     *sphere;
  const shape_box_spec        *box;
  const shape_segment_spec    *cylinder, *capsule;
  const shape_torus_spec      *torus;
  const shape_ellipsoid_spec  *ellipsoid;
  const shape_revolution_spec *revolution;
  const shape_plane_spec      *plane;
  const shape_container_spec  *container;
  const shape_mesh_spec       *mesh;
  const shape_rabbit_spec     *rabbit;
  const shape_difference_spec *difference;
  key_list                     unite, intersect; /* keys `union` and `intersection`: lists of shape_spec */
  double                       rotate_deg, axis[3], about[3], translate[3];
};
extern const key_table shape_table;
/* Rigid motion x -> c + R x from rotate_deg, axis, about and translate. Returns true unless it is the identity. */
bool shape_pose(const shape_spec *s, double c[3], double R[9]);
/* Distance of the plane from the origin along its unit normal, from `offset` or `point`. */
double shape_plane_offset(const shape_plane_spec *s);
#endif
