/* Where surfaces of triangles are touched, deforming or rigid ones: by points, that may have a radius, and by edges, those of
 * surfaces and the segments of fibres. Contacts for the exact law.
 *
 * A point touches a surface where the distance has a local minimum over it, on a triangle, an edge or a vertex of it; inside a
 * closed surface, at the nearest point alone. A vertex of a surface has to be outermost there. Edges touch inside both, if those
 * of closed surfaces are outermost (contact/penalty/edge_pair.h) and not both lie in flat faces: there points suffice. What is taken to
 * be in a closed surface, farther than the skin, is so only if the way from the edge to it stays inside and no other side is
 * nearer. A surface meets itself only where it has come nearer than half its distance at rest.
 *
 * A closed surface tells sides. Where nobody does, two surfaces with borders or one and a point or fibre, they keep a skin of
 * SURFACE_SKIN mean edges apart: else what has come through by rounding would be on the other side.
 *
 * If positions at the end of the step are known, what comes together on straight ways until then is found as well
 * (geometry/collision/ccd.h); its place and normal are those of the moment. What is found, and its order, depends neither on the number of
 * threads nor on what was asked before. */
#ifndef SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#define SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#include "geometry/triangle_mesh/triangle_topology.h"

#define SURFACE_SKIN 0.01

/* Everything that may touch, as one set of vertices. All borrowed while the finder is created, and copied. */
typedef struct {
  int64_t        n_vertices, n_triangles, n_points, n_segments;
  const int32_t *triangle; /* [n_triangles][3] of all surfaces, outwards where they are closed */
  const int32_t *point;    /* [n_points] vertices that touch as points */
  const int32_t *segment;  /* [n_segments][2] of fibres */
  const double  *radius;   /* [n_points + n_segments] >= 0 [m] */
  int32_t        n_bodies;
  const int32_t *body;     /* [n_vertices] the same for all vertices of a triangle or segment */
  const bool    *meets;    /* [n_bodies][n_bodies] symmetric; the diagonal says which surfaces meet themselves */
  const bool    *is_rigid; /* [n_bodies] edges within its flat faces are none */
  const double  *rest;     /* [n_vertices][3] undeformed [m]; NULL if none meets itself */
} surface_set;

typedef enum { SURFACE_POINT, SURFACE_EDGE } surface_spot_kind;
typedef struct {
  uint8_t kind;      /* surface_spot_kind */
  bool    is_swept;  /* not within reach yet, found on the way */
  int32_t first;     /* POINT: entry of point[]; EDGE: edge of the topology, or its number of edges + segment */
  int32_t second;    /* POINT: triangle; EDGE: edge of the topology, which is a surface's */
  int32_t feature;   /* POINT: of the surface: triangle, n_triangles + edge, or n_triangles + n_edges + vertex */
  double  weight[3]; /* POINT: of the triangle's corners; EDGE: where along both, in (0, 1) */
  double  x[2][3];   /* the two points [m] */
  double  normal[3]; /* unit, from the second to the first */
  double  gap;       /* normal . (x[0] - x[1]) - radius - skins [m] */
} surface_spot;

typedef struct surface_contact surface_contact;
/* Fails with PETSC_ERR_ARG_OUTOFRANGE on what cannot be, as broad_phase_create, and as triangle_topology_create. */
PetscErrorCode surface_contact_create(const surface_set *set, surface_contact **out);
void           surface_contact_destroy(surface_contact **c);
/* Edges of all surfaces, and their triangles. */
const triangle_topology *surface_contact_topology(const surface_contact *c);
/* Contacts at x0, and on the way to x1 (NULL: none), [n_vertices][3] each; within `margin` >= 0 of touching [m], or half a mean
 * edge if that is less. Points first, ascending by first, then feature; then edges, ascending by first, second. *out is owned by
 * c, until the next run. *bad: the first vertex that is not finite, and then nothing has happened; or -1. */
PetscErrorCode surface_contact_run(surface_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                   const surface_spot **out, int64_t *bad);
#endif
