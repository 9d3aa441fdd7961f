/* Convex solids with an exact description: spheres, capsules, cylinders, polyhedra and half-spaces.
 *
 * Shapes are decomposed into such solids where possible (shape.h). The contact points of two solids are then computed in closed form
 * (convex_pair.h) instead of from a sampled level set. Used by rigid and static bodies. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_SOLID_H
#define SS_GEOMETRY_CONVEX_CONVEX_SOLID_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* A convex polyhedron as corners, faces and edges. Faces are complete polygons, also if the surface mesh has several triangles per
 * face. Mesh vertices in the middle of an edge or of a face are not corners. */
enum { CONVEX_MAX_FACES = 96, CONVEX_MAX_SIDES = 48 }; /* maximum faces of a polyhedron; maximum sides of a face */

typedef struct {
  int      n_corners, n_faces, n_edges;
  double  *x;          /* [n_corners][3] m */
  double  *normal;     /* [n_faces][3] outward unit normals */
  double  *offset;     /* [n_faces] the solid is the set of x with normal . x <= offset for all faces [m] */
  int32_t *loop_start; /* [n_faces + 1] */
  int32_t *loop;       /* [loop_start[n_faces]] corners of each face, counter-clockwise seen from outside */
  int32_t *edge;       /* [n_edges][4] corners p, q and faces f, g of an edge; x_q - x_p has the direction of normal_f x normal_g */
  int32_t *fan_start;  /* [n_corners + 1] */
  int32_t *fan;        /* [fan_start[n_corners]] faces at each corner, ascending */
} convex_polyhedron;

typedef enum { CONVEX_SPHERE, CONVEX_CAPSULE, CONVEX_CYLINDER, CONVEX_POLYHEDRON, CONVEX_HALF_SPACE } convex_kind;
typedef struct {
  convex_kind        kind;
  double             from[3], to[3], radius; /* sphere (from = to), capsule, cylinder [m] */
  double             normal[3], offset;      /* half-space normal . x <= offset [m], with unit normal */
  convex_polyhedron *polyhedron;             /* owned */
  int                area_points;      /* requested contact points of equal area per pair of flat faces; 0: corners of the common area */
  double             center[3], bound; /* bounding sphere: centre and radius; INFINITY for half-spaces [m] */
} convex_solid;

/* Set *out, a struct of the caller; free it with convex_solid_clear. convex_solid_segment: `kind` is CONVEX_CAPSULE or CONVEX_CYLINDER. */
void convex_solid_sphere(const double center[3], double radius, convex_solid *out);
void convex_solid_segment(convex_kind kind, const double from[3], const double to[3], double radius, convex_solid *out);
/* Half-space normal/|normal| . x <= offset. */
void convex_solid_half_space(const double normal[3], double offset, convex_solid *out);
/* The polyhedron with the closed surface m, which must be sound (triangle_mesh_check). *is_convex is false, and *out has no polyhedron,
 * if a corner lies outside the plane of a face by more than 1e-6 of the mesh size, or if the maximum of faces or sides is exceeded. */
PetscErrorCode convex_solid_polyhedron(const triangle_mesh *m, convex_solid *out, bool *is_convex);
void           convex_solid_clear(convex_solid *s);
/* Rigid motion x -> c + R x; not for polyhedra. */
void convex_solid_turn(convex_solid *s, const double c[3], const double R[9]);
/* A copy of s, enlarged by `factor` > 0 about the origin; free it with convex_solid_clear. */
PetscErrorCode convex_solid_scaled(const convex_solid *s, double factor, convex_solid *out);
/* Translation x -> x + d. */
void convex_solid_move(convex_solid *s, const double d[3]);
#endif
