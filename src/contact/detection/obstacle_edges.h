/* Contacts of the edges and vertices of obstacles that are not unions of convex solids with the polyhedra of moving bodies, for a contact_set.
 *
 * point_contact.h finds the vertices of the moving body at the obstacle. This detector finds the two other kinds of contacts of polyhedral
 * surfaces: a vertex of the obstacle at a face, edge or corner of a polyhedron, and an edge of the obstacle across an edge of a polyhedron. Only
 * convex edges and vertices take part, and only with normals between those of the adjacent faces. Callers: contact detection of `exact`,
 * `convex` and `penalty`; under `hybrid` both bodies have triangles, whose edges are tested by the detector of triangle surfaces. */
#ifndef SS_CONTACT_DETECTION_OBSTACLE_EDGES_H
#define SS_CONTACT_DETECTION_OBSTACLE_EDGES_H
#include "contact/detection/contact_set.h"
#include "geometry/triangle_mesh/triangle_mesh.h"

/* True if this detector finds contacts of the two bodies: `moving` has unknowns and convex solids, at least one of which is a polyhedron. The obstacle
 * has a closed surface, which the caller knows, and neither unknowns nor convex solids. False if both have triangles for contact
 * (contact_surface: mesh). */
bool obstacle_edges_takes(const body *moving, const body *obstacle);

typedef struct obstacle_edges obstacle_edges;
/* Create for these bodies, with their closed surfaces in their own frames; NULL: none. All [n_bodies], in the order of contact_scene. Borrows the
 * bodies and their solids. */
PetscErrorCode obstacle_edges_create(int n_bodies, body *const *bodies, const triangle_mesh *const *surface, obstacle_edges **out);
void           obstacle_edges_destroy(obstacle_edges **c); /* accepts NULL */
/* Append the contacts within the margin at the poses of this step. They act on the surface of the moving body. If bodies move farther than the margin,
 * the first contacts on their predicted motion are appended as well. Each of these acts at the points of the two bodies that will collide. */
PetscErrorCode obstacle_edges_find(obstacle_edges *c, const contact_scene *scene, contact_set *set);
#endif
