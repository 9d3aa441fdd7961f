/* Convex polyhedra as corners, faces and edges: what contact between rigid bodies with flat sides asks about.
 *
 * Faces are whole polygons, however many triangles they came in; corners in the middle of an edge or of a face are left out. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_POLYHEDRON_H
#define SS_GEOMETRY_CONVEX_CONVEX_POLYHEDRON_H
#include "geometry/triangle_mesh/triangle_mesh.h"

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

/* The polyhedron whose sound, closed surface m is; *out stays NULL if it is not convex (a corner stands out of a face by more
 * than 1e-6 of its size) or has more faces or sides than the above. */
PetscErrorCode convex_polyhedron_create(const triangle_mesh *m, convex_polyhedron **out);
void           convex_polyhedron_destroy(convex_polyhedron **p);
/* x <- x + d. */
void convex_polyhedron_move(convex_polyhedron *p, const double d[3]);
#endif
