/* Contacts of deforming or rigid triangle surfaces with points, which may have a radius, and with edges of surfaces and segments of
 * fibres. For rigid contact (`exact`, `convex`).
 *
 * A point has a contact at each local minimum of its distance over a surface: on a triangle, an edge or a vertex. Inside a closed
 * surface it only has the nearest one. A vertex of a surface must be outermost there. Two edges touch in their interiors if those
 * of closed surfaces are outermost (contact/detection/edge_pair.h) and not both lie in flat faces; there points suffice. A place
 * deeper than the skin is inside a closed surface only if the line from the edge to it stays inside and no other side is nearer. A
 * surface has self-contact only where its distance is less than half of that at rest.
 *
 * A closed surface has an inside. Two open surfaces, or an open one and a point or fibre, keep a skin of SURFACE_SKIN mean edges
 * between them. Otherwise a penetration by rounding would be taken for the other side.
 *
 * If positions at the end of the step are given, features that collide on straight trajectories are found as well
 * (geometry/collision/ccd.h); their place and normal are those of the moment of collision. The result and its order do not depend on
 * the number of threads or on earlier calls. Caller: surface_scene.h. */
#ifndef SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#define SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#include "geometry/triangle_mesh/triangle_topology.h"

#define SURFACE_SKIN 0.01

/* All features that may touch, as one set of vertices. Borrowed during creation and copied. */
typedef struct {
  int64_t        n_vertices, n_triangles, n_points, n_segments;
  const int32_t *triangle; /* [n_triangles][3] of all surfaces, outwards where they are closed */
  const int32_t *point;    /* [n_points] vertices that touch as points */
  const int32_t *segment;  /* [n_segments][2] of fibres */
  const double  *radius;   /* [n_points + n_segments] >= 0 [m] */
  int32_t        n_bodies;
  const int32_t *body;     /* [n_vertices] the same for all vertices of a triangle or segment */
  const bool    *meets;    /* [n_bodies][n_bodies] symmetric; the diagonal enables self-contact */
  const bool    *is_rigid; /* [n_bodies] edges within its flat faces are ignored */
  const double  *rest;     /* [n_vertices][3] undeformed [m]; NULL without self-contact */
} surface_set;

typedef enum { SURFACE_POINT, SURFACE_EDGE } surface_spot_kind;
typedef struct {
  uint8_t kind;      /* surface_spot_kind */
  bool    is_swept;  /* not within reach yet; collides during the step */
  int32_t first;     /* POINT: entry of point[]; EDGE: edge of the topology, or its number of edges + segment */
  int32_t second;    /* POINT: triangle; EDGE: edge of the topology, always of a surface */
  int32_t feature;   /* POINT: of the surface: triangle, n_triangles + edge, or n_triangles + n_edges + vertex */
  double  weight[3]; /* POINT: of the triangle's corners; EDGE: positions along both, in (0, 1) */
  double  x[2][3];   /* the two points [m] */
  double  normal[3]; /* unit, from the second to the first */
  double  gap;       /* normal . (x[0] - x[1]) - radius - skins [m] */
} surface_spot;

typedef struct surface_contact surface_contact;
/* Fails with PETSC_ERR_ARG_OUTOFRANGE on invalid input, as broad_phase_create and triangle_topology_create do. */
PetscErrorCode surface_contact_create(const surface_set *set, surface_contact **out);
void           surface_contact_destroy(surface_contact **c);
/* Edges of all surfaces, and their triangles. */
const triangle_topology *surface_contact_topology(const surface_contact *c);
/* Contacts at x0, and swept contacts from x0 to x1 (NULL: none), [n_vertices][3] each, within `margin` >= 0 of touching [m], or half
 * a mean edge if that is less. Points first, ascending by first, then feature; then edges, ascending by first, second. c owns *out
 * until the next call. *bad: the first vertex that is not finite, in which case nothing is computed; or -1. */
PetscErrorCode surface_contact_run(surface_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                   const surface_spot **out, int64_t *bad);
#endif
