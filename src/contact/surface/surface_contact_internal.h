/* Private to surface_contact*.c. */
#ifndef SS_CONTACT_SURFACE_SURFACE_CONTACT_INTERNAL_H
#define SS_CONTACT_SURFACE_SURFACE_CONTACT_INTERNAL_H
#include "geometry/collision/broad_phase.h"
#include "contact/detection/edge_pair.h"
#include "contact/surface/surface_contact.h"

struct surface_contact {
  int64_t            n_vertices, n_points, n_segments;
  int32_t            n_bodies, *point, *segment, *body;
  bool              *meets, *is_closed, *is_rigid; /* [n_bodies] is_closed: of its surface */
  double            *radius, *rest, thickest;
  triangle_topology *topology;
  broad_phase       *broad;
  /* Of the last run. */
  const double *x0, *x1; /* borrowed while it lasts */
  double        margin, skin;
  int64_t       flag_capacity, n_spots, spot_capacity;
  uint8_t      *flags;
  surface_spot *spot;
};

static inline const double *surface_at(const double *x, int32_t vertex) { return x + 3 * (int64_t)vertex; }
static inline int32_t       surface_body_of_triangle(const surface_contact *c, int32_t t)
{
  return c->body[c->topology->tri[3 * (int64_t)t]];
}
/* Is the vertex one of a closed surface? That tells sides, whatever it touches. */
static inline bool surface_vertex_is_closed(const surface_contact *c, int32_t vertex)
{
  return c->topology->fan_start[vertex + 1] > c->topology->fan_start[vertex] && c->is_closed[c->body[vertex]];
}
static inline double surface_point_skin(const surface_contact *c, int32_t point, int32_t t)
{
  return c->is_closed[surface_body_of_triangle(c, t)] || surface_vertex_is_closed(c, c->point[point]) ? 0.0 : c->skin;
}
/* Ends of an edge of the topology, or of a segment after all of them. */
static inline const int32_t *surface_edge(const surface_contact *c, int32_t e)
{
  const int64_t n = c->topology->n_edges;
  return e < n ? c->topology->edge + 2 * (int64_t)e : c->segment + 2 * (e - n);
}
/* Two points of one body: have they come so near that this cannot be its own shape? */
bool surface_has_folded(const surface_contact *c, int n_first, const int32_t *first, const double *weight_first, int n_second,
                        const int32_t *second, const double *weight_second, double distance);
/* The mean of the normals around a vertex, weighted by angles; 0 if it has no triangles. Not a unit vector. */
void surface_vertex_normal(const surface_contact *c, const double *x, int32_t vertex, double out[3]);

/* The nearest point of a triangle: weights, exactly 0 on sides and at corners, and its distance; INFINITY where the triangle is
 * not finite. a [3][3]: its corners. */
typedef struct {
  double w[3], x[3], distance;
} surface_nearest;
void surface_nearest_on(const double a[9], const double p[3], surface_nearest *out);
/* Unit; false of a triangle without one. */
bool surface_face_normal(const double a[9], double n[3]);
static inline void surface_corners(const surface_contact *c, const double *x, int32_t t, double out[9])
{
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i) out[3 * k + i] = surface_at(x, c->topology->tri[3 * (int64_t)t + k])[i];
}

/* A place `to`, taken to be inside a closed surface as seen from the place `from` on an edge of it: which is where on a line.
 * All borrowed. */
typedef struct {
  const edge_star *star;
  const double    *x;    /* [4][3] nodes of the star */
  const double    *line; /* [2][3] */
  const double    *from, *to;
  double           at; /* in (0, 1) */
} surface_inside;
/* surface_contact_inside.c: is it beyond the solid where that is thin, or in it behind another side? As points, lines that are
 * inside touch where they are nearest alone. */
bool surface_is_elsewhere(const surface_contact *c, const surface_inside *in);

/* surface_contact_point.c, surface_contact_edge.c: the contact of a pair of the broad phase, if it is one. */
bool surface_point_spot(const surface_contact *c, int32_t point, int32_t triangle, surface_spot *out);
bool surface_edge_spot(const surface_contact *c, int32_t first, int32_t second, surface_spot *out);
#endif
