/* Shapes, or parts of them, that are convex and known exactly: what contact between rigid bodies is found for in closed form. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_SOLID_H
#define SS_GEOMETRY_CONVEX_CONVEX_SOLID_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* A polyhedron as corners, faces and edges. Faces are whole polygons, however many triangles they came in; corners in the middle of
 * an edge or of a face are left out. */
enum { CONVEX_MAX_FACES = 96, CONVEX_MAX_SIDES = 48 }; /* of a polyhedron; of a face */

typedef struct {
  int      n_corners, n_faces, n_edges;
  double  *x;          /* [n_corners][3] m */
  double  *normal;     /* [n_faces][3] outwards, unit */
  double  *offset;     /* [n_faces] the solid is where normal . x <= offset [m] */
  int32_t *loop_start; /* [n_faces + 1] */
  int32_t *loop;       /* [loop_start[n_faces]] corners of each face, counter-clockwise seen from outside */
  int32_t *edge;       /* [n_edges][4] corners p, q and faces f, g: x_q - x_p has the direction of normal_f x normal_g */
  int32_t *fan_start;  /* [n_corners + 1] */
  int32_t *fan;        /* [fan_start[n_corners]] faces that meet in each corner, ascending */
} convex_polyhedron;

typedef enum { CONVEX_SPHERE, CONVEX_CAPSULE, CONVEX_CYLINDER, CONVEX_POLYHEDRON, CONVEX_HALF_SPACE } convex_kind;
typedef struct {
  convex_kind        kind;
  double             from[3], to[3], radius; /* sphere (from = to), capsule, cylinder [m] */
  double             normal[3], offset;      /* half-space: normal . x <= offset */
  convex_polyhedron *polyhedron;             /* owned */
  double             center[3], bound;       /* a sphere around it; INFINITY for half-spaces [m] */
} convex_solid;

/* Contents only; convex_solid is open data. */
void convex_solid_sphere(const double center[3], double radius, convex_solid *out);
void convex_solid_segment(convex_kind kind, const double from[3], const double to[3], double radius, convex_solid *out);
void convex_solid_half_space(const double normal[3], double offset, convex_solid *out); /* |normal| made 1, offset kept */
/* *is_convex false: it is not, out is then zeroed. */
PetscErrorCode convex_solid_polyhedron(const triangle_mesh *m, convex_solid *out, bool *is_convex);
void           convex_solid_clear(convex_solid *s);
/* x -> c + R x, for all but polyhedra. */
void convex_solid_turn(convex_solid *s, const double c[3], const double R[9]);
/* x -> x + d. */
void convex_solid_move(convex_solid *s, const double d[3]);
#endif
