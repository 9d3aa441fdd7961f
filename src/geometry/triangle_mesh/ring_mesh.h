/* Closed surfaces made of rings of vertices around an axis, whose vertices represent equal areas. Caller: triangle_mesh_primitives.c.
 *
 * Contact points are vertices (point_contact.h), each with the same stiffness, so that the load on a patch is uniform only if every vertex represents
 * the same area. The surface consists of smooth pieces. It begins and ends at a point on the axis (a pole), or it is
 * closed like a torus. Two neighbouring pieces meet at a sharp edge, on which they share a ring. The rings of a piece are zones of the piece: the area of a zone is proportional to its number of vertices [Leopardi2006]. A ring
 * lies in the middle of its zone, and its vertices divide it into equal areas. A ring on a sharp edge has half a zone on each side. */
#ifndef SS_GEOMETRY_TRIANGLE_MESH_RING_MESH_H
#define SS_GEOMETRY_TRIANGLE_MESH_RING_MESH_H
#include "geometry/triangle_mesh/triangle_mesh.h"

/* Point of piece i at t in [0, 1] along the meridian and at `angle` around the axis, with its derivatives by t and angle [3]. Counter-clockwise
 * angles seen from the end of the surface; the outward normal is x_angle x x_t. */
typedef void ring_surface_point(const void *context, int i, double t, double angle, double x[3], double x_t[3], double x_angle[3]);

typedef struct {
  int                 n_pieces;
  bool                is_closed;     /* one piece whose end is its start; otherwise the first and the last point are poles */
  bool                is_revolution; /* area and length do not depend on the angle */
  ring_surface_point *point;
  const void         *context;
} ring_surface;

/* Vertices are about `spacing` > 0 apart [m]. The caller owns *out. PETSC_ERR_USER_INPUT beyond 10 million vertices. */
PetscErrorCode ring_mesh_create(const ring_surface *s, double spacing, triangle_mesh **out);
#endif
