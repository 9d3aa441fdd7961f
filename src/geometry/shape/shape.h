/* Shapes: the `shape:` block of a job, and what bodies and obstacles need of it.
 *
 * A shape is one or more level sets in the coordinates of the job; bounded solids also have a closed surface and mass
 * properties for unit density. A container is several half-spaces seen from inside, one level set per wall, so that
 * corners push along both walls.                                                                                      */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_H
#define SS_GEOMETRY_SHAPE_SHAPE_H
#include "core/diagnostics.h"
#include "core/key_table.h"
#include "geometry/convex/convex_solid.h"
#include "geometry/level_set/level_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* ---- what a job says; read by shape_table ---- */

typedef struct { double center[3], radius; } shape_sphere_spec;
typedef struct { double min[3], max[3]; } shape_box_spec;
typedef struct { double from[3], to[3], radius; } shape_segment_spec; /* cylinder, capsule */
typedef struct { double center[3], axis[3], major_radius, minor_radius; } shape_torus_spec;
typedef struct { double center[3], radii[3]; } shape_ellipsoid_spec;
typedef struct { double at, radius; } shape_profile_spec;
typedef struct { double center[3], axis[3]; key_list profile; /* of shape_profile_spec */ } shape_revolution_spec;
typedef struct { double base[3], size; } shape_rabbit_spec;
typedef struct { double normal[3], point[3], offset, extent; } shape_plane_spec; /* NaN: not given */
typedef struct { double min[3], max[3]; key_list open; } shape_container_spec;
typedef struct { const char *file; double scale, spacing; } shape_mesh_spec;
typedef struct shape_spec shape_spec;
typedef struct { const shape_spec *from; key_list minus; } shape_difference_spec;
struct shape_spec { /* exactly one of the first fourteen, then an optional move */
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
  key_list                     unite, intersect; /* union, intersection: of shape_spec */
  double                       rotate_deg, axis[3], about[3], translate[3];
};
extern const key_table shape_table;
/* The pose of a shape's optional turn and move, x -> c + R x; true if it is not the identity. */
bool shape_pose(const shape_spec *s, double c[3], double R[9]);

/* ---- what comes of it ---- */

typedef struct {
  int             n_pieces;
  level_set     **piece;      /* [n_pieces] together they are the solid: it is where any of them is negative */
  bool            is_bounded; /* then n_pieces == 1 (but see shape_create_surface) and the following are set */
  double          min[3], max[3];
  mass_properties mass;       /* unit density, in the coordinates of the job */
  triangle_mesh  *surface;    /* closed, sorted; NULL if not bounded */
  triangle_mesh  *outline;    /* not bounded: open surface for pictures only; else NULL */
  int             n_solids;   /* 0: it is not made of convex ones, or only its surface was asked for */
  convex_solid   *solid;      /* [n_solids] together they are the solid, too */
} shape;

/* Build what `spec` says. node: its mapping in the document, for places (may be NULL); path: its dotted path in the job.
 * surface_spacing: wanted distance of surface vertices [m], NaN: a default fit for the shape (a box has its 8 corners).
 * The user's mistakes go to `d`, then *out is NULL and the function still succeeds.
 * Mass properties: closed forms for primitives, exact integrals for meshes (of the given triangles) and convex polyhedra, and quadrature
 * for other boolean combinations (relative error below 1e-6; see shape_quadrature.c). */
PetscErrorCode shape_create(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                            double surface_spacing, shape **out);
/* The same for who wants nothing but the surface: meshes from files are not sampled, which thin and sharp ones would not survive;
 * n_pieces is 0 then. Shapes that are not bounded come as they are. */
PetscErrorCode shape_create_surface(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                    double surface_spacing, shape **out);
void           shape_destroy(shape **s);

/* The distance of the plane from the origin along its normal, however it is given. */
double shape_plane_offset(const shape_plane_spec *s);

/* The parts behind it. */
/* Of one of sphere, box, cylinder, capsule, torus, ellipsoid, revolution; the level set also of plane and rabbit. Their move is left out. The
 * surface has its vertices on the solid's; spacing NaN: a default fit for the shape. */
PetscErrorCode  shape_primitive_level_set(const shape_spec *s, level_set **out);
PetscErrorCode  shape_primitive_surface(const shape_spec *s, double spacing, triangle_mesh **out);
mass_properties shape_primitive_mass(const shape_spec *s);
/* Set s->solid, the rest being there. Boxes, balls, capsules, cylinders, half-spaces, bounded intersections of flat-sided ones and convex meshes
 * are convex, and unions of such. */
PetscErrorCode shape_convex_solids(const shape_spec *spec, shape *s);
void           shape_clear_solids(shape *s);
/* For bounded level sets. */
/* The exact surface, one fan of triangles per face, of an intersection of boxes, half-spaces and intersections of such, within these finite
 * bounds; *out stays NULL for anything else, or beyond 64 faces. Without corners (an empty solid) it has no triangles. */
PetscErrorCode shape_polyhedron(const shape_spec *spec, const double min[3], const double max[3], triangle_mesh **out);
/* Integrals of {phi < 0} within the bounds, which must hold all of it; phi must change by at most its distance (every
 * distance and every min/max of distances does). Fixed order of summation. */
mass_properties level_set_mass(const level_set *phi, const double min[3], const double max[3], int cells_along_longest);
/* A closed surface by dual contouring [JuLosassoSchaeferWarren2002]: one vertex per cell of size `spacing` that the surface
 * crosses, where it best fits the tangent planes, so that sharp edges and corners stay sharp. Topology that a grid cannot
 * hold gives a mesh with defects: triangle_mesh_check. PETSC_ERR_USER_INPUT beyond 30 million cells or if nothing is found. */
PetscErrorCode level_set_contour(const level_set *phi, const double min[3], const double max[3], double spacing, triangle_mesh **out);
#endif
