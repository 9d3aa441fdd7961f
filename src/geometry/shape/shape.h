/* Shapes: the `shape:` block of a job, and what bodies and obstacles need of it.
 *
 * A shape is one or more level sets in the coordinates of the job; bounded solids also have a closed surface and mass
 * properties for unit density. A container is several half-spaces seen from inside, one level set per wall, so that
 * corners push along both walls.                                                                                      */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_H
#define SS_GEOMETRY_SHAPE_SHAPE_H
#include "core/diagnostics.h"
#include "geometry/convex/convex_solid.h"
#include "geometry/level_set/level_set.h"
#include "geometry/shape/shape_spec.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

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

/* The exact surface, one fan of triangles per face, of an intersection of boxes, half-spaces and intersections of such, within these finite
 * bounds; *out stays NULL for anything else, or beyond 64 faces. Without corners (an empty solid) it has no triangles. */
PetscErrorCode shape_polyhedron(const shape_spec *spec, const double min[3], const double max[3], triangle_mesh **out);
#endif
