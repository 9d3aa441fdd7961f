/* Convex solids where they are: what finding contacts between two of them works on. Internal to the files convex_*.c and their
 * tests.
 *
 * Spheres and capsules are cores, a point and a segment, with a radius around them; all others have radius 0. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_POSE_H
#define SS_GEOMETRY_CONVEX_CONVEX_POSE_H
#include "core/math3.h"
#include "geometry/convex/convex_solid.h"

typedef struct {
  const convex_solid *solid;
  convex_kind         kind;
  double              radius;                 /* around the core; a cylinder's own */
  double              from[3], to[3];         /* ends of the axis */
  double              axis[3], across[3];     /* unit; across is fixed to the solid */
  double              normal[3], offset;      /* half-space */
  double              center[3];              /* of the bounding sphere, whose radius is solid->bound */
  const double       *x, *face_normal, *face_offset; /* polyhedron: [n_corners][3], [n_faces][3], [n_faces] */
} convex_pose;

/* Doubles that a pose of s keeps outside itself. */
int64_t convex_pose_room(const convex_solid *s);
/* s moved by x -> c + R x; room is borrowed by p. */
void convex_pose_set(convex_pose *p, const convex_solid *s, const double c[3], const double R[9], double *room);

/* Radius around the core. */
static inline double convex_rounding(const convex_pose *p)
{
  return p->kind == CONVEX_SPHERE || p->kind == CONVEX_CAPSULE ? p->radius : 0.0;
}
/* The point of the core farthest along d (not for half-spaces); of a polyhedron its number, else -1. */
int convex_support(const convex_pose *p, const double d[3], double x[3]);
/* How far a lies from b along the unit vector n: the least n.x of a minus the largest of b, without roundings. */
double convex_separation(const convex_pose *a, const convex_pose *b, const double n[3]);

/* Where two solids touch, or may. */
typedef struct {
  double   x[3];      /* halfway between the surfaces */
  double   normal[3]; /* unit, from b towards a */
  double   gap;       /* from the surface of b to that of a along the normal; negative: overlap [m] */
  uint64_t feature;   /* of what features, below 2^32: the same from step to step */
} convex_touch;
enum { CONVEX_MAX_TOUCHES = 20, CONVEX_MAX_CLIPPED = 18 }; /* in all; corners of what faces share */
typedef struct {
  int          n;
  convex_touch touch[CONVEX_MAX_TOUCHES];
} convex_touches;

/* Append, if it is within margin and there is room: the surface of b at q, that of a at q + gap normal. */
static inline void convex_touches_add(convex_touches *t, double margin, const double q[3], const double normal[3], double gap,
                                      uint64_t feature)
{
  if (!(gap <= margin) || t->n == CONVEX_MAX_TOUCHES) return;
  convex_touch *to = &t->touch[t->n++];
  for (int k = 0; k < 3; ++k) to->normal[k] = normal[k], to->x[k] = q[k] + 0.5 * gap * normal[k];
  to->gap     = gap;
  to->feature = feature;
}
#endif
