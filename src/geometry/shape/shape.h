/* Shapes: the geometry given by the `shape:` block of a job (shape_spec.h). Created for bodies, obstacles, boundary conditions
 * and particle sources.
 *
 * A shape consists of level sets in the coordinates of the job. Bounded solids also have a closed surface and mass properties for
 * unit density; solids that are convex, or a union of convex parts, also have a list of convex solids. A container consists of one
 * half-space per wall, each with its own level set, so that in a corner both walls give a contact normal. */
#ifndef SS_GEOMETRY_SHAPE_SHAPE_H
#define SS_GEOMETRY_SHAPE_SHAPE_H
#include "core/diagnostics.h"
#include "geometry/convex/convex_solid.h"
#include "geometry/level_set/level_set.h"
#include "geometry/shape/shape_spec.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

typedef struct {
  int             n_pieces;
  level_set     **piece;      /* [n_pieces] level sets; the solid is their union */
  bool            is_bounded; /* if true, n_pieces is 1 (0 for a mesh after shape_create_surface), and min, max, mass, surface are set */
  double          min[3], max[3]; /* bounds [m] */
  mass_properties mass;           /* for unit density, in the coordinates of the job */
  triangle_mesh  *surface;        /* closed, sorted; NULL if not bounded */
  triangle_mesh  *outline;        /* not bounded: an open surface for pictures; else NULL */
  int             n_solids;       /* 0: not a union of convex solids */
  convex_solid   *solid;          /* [n_solids] convex solids; the solid is also their union */
} shape;

/* Create the shape of `spec`; free it with shape_destroy.
 *   node             mapping of the specification in the document, for positions in messages; may be NULL
 *   path             dotted path of this mapping in the job
 *   d                errors in the input are added to this list; *out is then NULL, and the function returns success
 *   surface_spacing  edge length of the surface mesh [m]; NaN: a default for the shape (a box has its 8 corners)
 * Mass properties are closed forms for primitives, exact integrals over the triangles for meshes and convex polyhedra, and
 * quadrature for other boolean combinations (relative error below 1e-6, level_set_mass.h). */
PetscErrorCode shape_create(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d, double surface_spacing,
                            shape **out);
/* As shape_create, for callers that need only the surface and the convex solids. A mesh from a file is not sampled to a level set, which
 * would fail for thin or sharp meshes; n_pieces is then 0. */
PetscErrorCode shape_create_surface(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                    double surface_spacing, shape **out);
/* As shape_create, for callers that do not need the mass properties, which are then undefined for boolean combinations. */
PetscErrorCode shape_create_obstacle(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d,
                                     double surface_spacing, shape **out);
/* As shape_create, for callers that need only the level set, bounds and mass properties: the rabbit and boolean combinations get no surface. */
PetscErrorCode shape_create_region(const shape_spec *spec, const document_node *node, const char *path, diagnostics *d, shape **out);
void           shape_destroy(shape **s);

/* The exact surface of a box, or of an intersection of boxes, half-spaces and such intersections, with finite bounds min, max [m]. Each face
 * is a fan of triangles. *out is not changed for other shapes and beyond 64 faces. An empty solid has no triangles. */
PetscErrorCode shape_polyhedron(const shape_spec *spec, const double min[3], const double max[3], triangle_mesh **out);
#endif
