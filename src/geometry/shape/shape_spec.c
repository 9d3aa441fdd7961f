/* Implementation: key tables of all kinds of shapes. */
#include "geometry/shape/shape_spec.h"
#include "core/math3.h"
#include "core/quaternion.h"

/* clang-format off */
#define VECTOR(T, member, key, ...) {.name = key, .type = KEY_REALS, .count = 3, .offset = offsetof(T, member), __VA_ARGS__}
#define REAL(T, member, key, ...) {.name = key, .type = KEY_REAL, .offset = offsetof(T, member), __VA_ARGS__}
#define POSITIVE .unit = "m", .min = 0.0, .max = INFINITY, .is_open = true
#define END {.name = NULL}
/* clang-format on */

static const key_spec  sphere_keys[] = {VECTOR(shape_sphere_spec, center, "center", .unit = "m", .help = "Centre"),
                                        REAL(shape_sphere_spec, radius, "radius", POSITIVE, .help = "Radius"), END};
static const key_table sphere_table  = {.name = "shape.sphere", .help = "A ball.", .size = sizeof(shape_sphere_spec), .keys = sphere_keys};

static const key_spec  box_keys[] = {VECTOR(shape_box_spec, min, "min", .unit = "m", .help = "Corner with the smallest coordinates"),
                                     VECTOR(shape_box_spec, max, "max", .unit = "m", .help = "Corner with the largest coordinates"), END};
static const key_table box_table  = {.name = "shape.box",
                                     .help = "A box aligned with the coordinate axes; rotate it with rotate_deg.",
                                     .size = sizeof(shape_box_spec),
                                     .keys = box_keys};

static const key_spec  segment_keys[] = {VECTOR(shape_segment_spec, from, "from", .unit = "m", .help = "One end of the axis"),
                                         VECTOR(shape_segment_spec, to, "to", .unit = "m", .help = "The other end of the axis"),
                                         REAL(shape_segment_spec, radius, "radius", POSITIVE, .help = "Radius"), END};
static const key_table cylinder_table = {
    .name = "shape.cylinder", .help = "A cylinder with flat ends.", .size = sizeof(shape_segment_spec), .keys = segment_keys};
static const key_table capsule_table = {.name = "shape.capsule",
                                        .help = "A cylinder with round ends: all points within `radius` of a segment.",
                                        .size = sizeof(shape_segment_spec),
                                        .keys = segment_keys};

static const key_spec torus_keys[] = {
    VECTOR(shape_torus_spec, center, "center", .unit = "m", .help = "Centre"),
    VECTOR(shape_torus_spec, axis, "axis", .fallback = "[0, 0, 1]", .help = "Direction of the axis of revolution (any length)"),
    REAL(shape_torus_spec, major_radius, "major_radius", POSITIVE, .help = "Distance from the centre to the centre of the tube"),
    REAL(shape_torus_spec, minor_radius, "minor_radius", POSITIVE, .help = "Radius of the tube; less than major_radius"), END};
static const key_table torus_table = {.name = "shape.torus", .help = "A torus.", .size = sizeof(shape_torus_spec), .keys = torus_keys};

static const key_spec ellipsoid_keys[] = {
    VECTOR(shape_ellipsoid_spec, center, "center", .unit = "m", .help = "Centre"),
    VECTOR(shape_ellipsoid_spec, radii, "radii", .unit = "m", .help = "Semi-axes along x, y and z; rotate the ellipsoid with rotate_deg"),
    END};
static const key_table ellipsoid_table = {.name = "shape.ellipsoid",
                                          .help = "An ellipsoid aligned with the coordinate axes.",
                                          .size = sizeof(shape_ellipsoid_spec),
                                          .keys = ellipsoid_keys};

static const key_spec profile_keys[] = {
    REAL(shape_profile_spec, at, "at", .unit = "m", .help = "Position on the axis, measured from `center`; ascending"),
    REAL(shape_profile_spec, radius, "radius", .unit = "m", .min = 0.0, .max = INFINITY,
         .help = "Radius at this position; 0 (a tip) only at the first and the last point"),
    END};
static const key_table profile_table = {
    .name = "shape.revolution.profile", .help = "A point of the profile.", .size = sizeof(shape_profile_spec), .keys = profile_keys};
/* clang-format off */
static const key_spec revolution_keys[] = {
  VECTOR(shape_revolution_spec, center, "center", .unit = "m", .fallback = "[0, 0, 0]", .help = "Point of the axis at which `at` is 0"),
  VECTOR(shape_revolution_spec, axis, "axis", .fallback = "[0, 0, 1]", .help = "Direction of the axis (any length)"),
  {.name = "profile", .type = KEY_LIST, .offset = offsetof(shape_revolution_spec, profile), .table = &profile_table, .min = 2, .max = INFINITY,
   .help = "Radius along the axis: linear between these points, with flat ends"},
  END};
/* clang-format on */
static const key_table revolution_table = {.name = "shape.revolution",
                                           .help = "A solid of revolution, for example a cone, a funnel or an hourglass.",
                                           .size = sizeof(shape_revolution_spec),
                                           .keys = revolution_keys};

static const key_spec rabbit_keys[] = {
    VECTOR(shape_rabbit_spec, base, "base", .unit = "m", .help = "Lowest point of its body"),
    REAL(shape_rabbit_spec, size, "size", POSITIVE,
         .help = "Scale: the height including the ears is 1.02 times, the length 0.84 times this value, the volume 0.151 times its cube"),
    END};
static const key_table rabbit_table = {.name = "shape.rabbit",
                                       .help = "A rabbit of five ellipsoids, upright along y and facing x: a round, asymmetric, non-convex "
                                               "shape that needs no file. Rotate it with "
                                               "rotate_deg.",
                                       .size = sizeof(shape_rabbit_spec),
                                       .keys = rabbit_keys};

static const key_spec plane_keys[] = {
    VECTOR(shape_plane_spec, normal, "normal", .fallback = "[0, 0, 1]", .help = "Direction out of the solid (any length)"),
    VECTOR(shape_plane_spec, point, "point", .unit = "m", .is_optional = true, .help = "A point of the plane; alternative to offset"),
    REAL(shape_plane_spec, offset, "offset", .unit = "m", .is_optional = true,
         .help = "Distance of the plane from the origin along the normal; 0 if neither point nor offset is specified"),
    REAL(shape_plane_spec, extent, "extent", POSITIVE, .fallback = "1", .help = "Half the side of the square drawn in pictures"), END};
static const key_table plane_table = {.name = "shape.plane",
                                      .help = "A half-space: all points behind a plane. For ground and walls.",
                                      .size = sizeof(shape_plane_spec),
                                      .keys = plane_keys};

static const char *const walls[] = {"left", "right", "front", "back", "bottom", "top", NULL};
/* clang-format off */
static const key_spec    container_keys[] = {
  VECTOR(shape_container_spec, min, "min", .unit = "m", .help = "Inner corner with the smallest coordinates"),
  VECTOR(shape_container_spec, max, "max", .unit = "m", .help = "Inner corner with the largest coordinates"),
  {.name = "open", .type = KEY_STRINGS, .offset = offsetof(shape_container_spec, open), .fallback = "[top]", .choices = walls,
   .help = "Walls that are omitted: left, right (x), front, back (y), bottom, top (z)"},
  END};
static const key_table container_table = {
  .name = "shape.container", .help = "The inside of a box: one infinite wall per side that is not open.",
  .size = sizeof(shape_container_spec), .keys = container_keys};

static const key_spec mesh_keys[] = {
  {.name = "file", .type = KEY_PATH, .offset = offsetof(shape_mesh_spec, file), .help = "Closed triangle surface: .obj, .stl, or the triangles of a .msh, .vtu or .face"},
  REAL(shape_mesh_spec, scale, "scale", .min = 0.0, .max = INFINITY, .is_open = true, .fallback = "1",
       .help = "Factor from the file's unit of length to metres"),
  REAL(shape_mesh_spec, spacing, "spacing", .unit = "m", .min = 0.0, .max = INFINITY, .is_open = true, .is_optional = true,
       .help = "Grid spacing of the sampled signed distance; default: the longest side divided by 64"),
  END};
static const key_table mesh_table = {
  .name = "shape.mesh", .help = "The solid inside a closed triangle surface.", .size = sizeof(shape_mesh_spec), .keys = mesh_keys};

static const key_spec difference_keys[] = {
  {.name = "from", .type = KEY_TABLE, .offset = offsetof(shape_difference_spec, from), .table = &shape_table, .help = "The shape to subtract from"},
  {.name = "minus", .type = KEY_LIST, .offset = offsetof(shape_difference_spec, minus), .table = &shape_table, .help = "The shapes to subtract"},
  END};
static const key_table difference_table = {
  .name = "shape.difference", .help = "A shape minus other shapes.", .size = sizeof(shape_difference_spec), .keys = difference_keys};

#define KIND(member, key, T, text) {.name = key, .type = KEY_TABLE, .offset = offsetof(shape_spec, member), .table = &T, .is_optional = true, .help = text}
static const key_spec shape_keys[] = {
  KIND(sphere, "sphere", sphere_table, "A ball"),
  KIND(box, "box", box_table, "A box aligned with the coordinate axes"),
  KIND(cylinder, "cylinder", cylinder_table, "A cylinder with flat ends"),
  KIND(capsule, "capsule", capsule_table, "A cylinder with round ends"),
  KIND(torus, "torus", torus_table, "A torus"),
  KIND(ellipsoid, "ellipsoid", ellipsoid_table, "An ellipsoid aligned with the coordinate axes"),
  KIND(revolution, "revolution", revolution_table, "A solid of revolution"),
  KIND(plane, "plane", plane_table, "A half-space: all points behind a plane"),
  KIND(container, "container", container_table, "The inside of a box, bounded by walls"),
  KIND(mesh, "mesh", mesh_table, "A closed triangle surface from a file"),
  KIND(rabbit, "rabbit", rabbit_table, "A rabbit"),
  KIND(difference, "difference", difference_table, "A shape minus other shapes"),
  {.name = "union", .type = KEY_LIST, .offset = offsetof(shape_spec, unite), .table = &shape_table, .is_optional = true,
   .help = "Union of several shapes"},
  {.name = "intersection", .type = KEY_LIST, .offset = offsetof(shape_spec, intersect), .table = &shape_table, .is_optional = true,
   .help = "Intersection of several shapes"},
  REAL(shape_spec, rotate_deg, "rotate_deg", .unit = "deg", .fallback = "0", .help = "Rotation angle, applied to the shape first"),
  VECTOR(shape_spec, axis, "axis", .fallback = "[0, 0, 1]", .only_if = {"rotate_deg", "*"}, .help = "Axis of the rotation (any length)"),
  VECTOR(shape_spec, about, "about", .unit = "m", .fallback = "[0, 0, 0]", .only_if = {"rotate_deg", "*"}, .help = "A point on the axis of the rotation"),
  VECTOR(shape_spec, translate, "translate", .unit = "m", .fallback = "[0, 0, 0]", .help = "Translation, applied after the rotation"),
  END};
/* clang-format on */

const key_table shape_table = {
    .name = "shape",
    .help =
        "Exactly one of sphere, box, cylinder, capsule, torus, ellipsoid, revolution, plane, container, mesh, rabbit, difference, union "
        "and "
        "intersection, optionally with a rotation and a translation. The operands of difference, union and intersection are shapes, too.",
    .size = sizeof(shape_spec),
    .keys = shape_keys};

double shape_plane_offset(const shape_plane_spec *s)
{
  if (!isnan(s->point[0])) return v3_dot(s->point, s->normal) / v3_norm(s->normal);
  return isnan(s->offset) ? 0.0 : s->offset;
}

bool shape_pose(const shape_spec *s, double c[3], double R[9])
{
  double theta[3], about[3];
  m3_identity(R);
  if (s->rotate_deg != 0.0) {
    v3_scale(theta, s->rotate_deg * M_PI / 180.0 / v3_norm(s->axis), s->axis);
    rotation_exp(R, theta);
  }
  m3_mulv(about, R, s->about);
  for (int k = 0; k < 3; ++k) c[k] = s->about[k] - about[k] + s->translate[k];
  return s->rotate_deg != 0.0 || v3_norm(s->translate) > 0.0;
}
