/* Contacts of deforming or rigid triangle surfaces with points, which may have a radius, and with edges of surfaces and segments of
 * fibres. For rigid contact (`exact`, `convex`).
 *
 * A point has a contact at each local minimum of its distance to a surface: on a triangle, an edge or a vertex. A point inside a closed
 * surface has only the nearest one. If the point is a vertex of a surface, it must be outermost on that surface. Two edges have a contact
 * at interior points if those of closed surfaces are outermost (contact/detection/edge_pair.h) and not both lie in flat faces, where
 * contacts of points suffice. A point of an edge deeper than the skin is inside a closed surface only if the line from the other edge to
 * it is inside and no other side is nearer. Self-contact requires that the distance is less than half of that of the undeformed surface.
 *
 * Two open surfaces, or an open surface and a point or fibre, have contact at a distance of SURFACE_SKIN times the mean edge length (the
 * skin). Without this distance, a penetration by round-off would change the side of the contact. Contacts that are deeper than the skin keep the
 * side of the last step (surface_sides.h); at borders of surfaces positions alone determine it.
 *
 * If positions at the end of the step are given, features that collide on straight trajectories have swept contacts
 * (geometry/collision/ccd.h); their position and normal are those at the time of collision. The result and its order do not depend on
 * the number of threads or on earlier calls. Caller: surface_scene.h. */
#ifndef SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#define SS_CONTACT_SURFACE_SURFACE_CONTACT_H
#include "contact/surface/surface_sides.h"
#include "core/pair_classes.h"
#include "geometry/triangle_mesh/triangle_topology.h"

#define SURFACE_SKIN 0.01

/* All features with contact; they share one set of vertices. surface_contact_create copies the arrays. */
typedef struct {
  int64_t             n_vertices, n_triangles, n_points, n_segments;
  const int32_t      *triangle; /* [n_triangles][3] triangles of all surfaces, oriented outwards if closed */
  const int32_t      *point;    /* [n_points] vertices that are contact points */
  const int32_t      *segment;  /* [n_segments][2] segments of fibres */
  const double       *radius;   /* [n_points + n_segments] radius of points, then of segments, >= 0 [m] */
  int32_t             n_bodies;
  const int32_t      *body;      /* [n_vertices] body of each vertex, the same for all vertices of a triangle or segment */
  const bool         *can_touch; /* [n_slots] of `pairs`, symmetric: pairs of bodies with contact; of a body with itself: self-contact */
  const bool         *is_rigid;  /* [n_bodies] true: edges inside flat faces of the body are ignored */
  const double       *rest;      /* [n_vertices][3] undeformed [m]; NULL without self-contact */
  const pair_classes *pairs;     /* borrowed; NULL: can_touch is [n_bodies][n_bodies] */
} surface_set;

typedef enum { SURFACE_POINT, SURFACE_EDGE } surface_spot_kind;
typedef struct {
  uint8_t kind;     /* surface_spot_kind */
  bool    is_swept; /* true: beyond the margin at the start of the step, collides during the step */
  int32_t first;    /* POINT: index in point[]; EDGE: edge of the topology, or n_edges + segment */
  int32_t second;   /* POINT: triangle; EDGE: edge of the topology */
  int32_t feature;  /* POINT: feature of the surface: triangle, n_triangles + edge, or n_triangles + n_edges + vertex */
  double  weight
      [3]; /* POINT: barycentric coordinates in the triangle; EDGE: weight[0], weight[1]: positions along both, in (0, 1), in the direction of edge_star */
  double x[2][3];   /* the two points [m] */
  double normal[3]; /* unit, from the second to the first */
  double gap;       /* normal . (x[0] - x[1]) - radius - skins [m] */
  int    side;      /* sign of the normal on the normal of the open surface: of the second feature, or of the first if the second is an edge
                     * at a border; 0: closed surface or border */
} surface_spot;

typedef struct surface_contact surface_contact;
/* Errors: those of broad_phase_create and triangle_topology_create; PETSC_ERR_ARG_OUTOFRANGE for other invalid input. */
PetscErrorCode surface_contact_create(const surface_set *set, surface_contact **out);
void           surface_contact_destroy(surface_contact **c);
/* Edges of all surfaces, and their triangles. */
const triangle_topology *surface_contact_topology(const surface_contact *c);
/* Use sides of earlier steps. point_id [n_points]: persistent identities of the points. Both are borrowed. */
void surface_contact_use_sides(surface_contact *c, const surface_sides *sides, const int64_t *point_id);
/* Key of a contact in surface_sides: its point or edge, and the body of the open surface. */
void surface_contact_side_key(const surface_contact *c, const surface_spot *p, uint64_t key[2]);
/* Contacts at x0 with a gap of at most `margin` >= 0 [m] (or half the mean edge length if that is less), and swept contacts from x0 to x1
 * (NULL: none), [n_vertices][3] each: *out [*n], contacts of points sorted by first and feature, then of edges sorted by first and second;
 * owned by c until the next call. *bad: first vertex with a position that is not finite, in which case *n = 0; else -1. */
PetscErrorCode surface_contact_run(surface_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                   const surface_spot **out, int64_t *bad);
#endif
