/* Convex solids in a given pose, and touches: pairs of close points of two solids. Input and output of convex_pair.h and
 * convex_sweep.h.
 *
 * Spheres and capsules are represented by a core (a point or a segment) and a radius around it. All other solids are their own
 * core. */
#ifndef SS_GEOMETRY_CONVEX_CONVEX_POSE_H
#define SS_GEOMETRY_CONVEX_CONVEX_POSE_H
#include "core/math3.h"
#include "geometry/convex/convex_solid.h"

typedef struct {
  const convex_solid *solid;
  convex_kind         kind;
  double              radius;                        /* around the core; for a cylinder its radius */
  double              from[3], to[3];                /* ends of the axis */
  double              axis[3], across[3];            /* unit vectors along and perpendicular to the axis; `across` is fixed to the solid */
  double              normal[3], offset;             /* half-space */
  double              center[3];                     /* centre of the bounding sphere, whose radius is solid->bound */
  const double       *x, *face_normal, *face_offset; /* polyhedron: [n_corners][3], [n_faces][3], [n_faces] */
} convex_pose;

/* Number of doubles of work space that a pose of s needs. */
int64_t convex_pose_work_size(const convex_solid *s);
/* Set p to s after the rigid motion x -> c + R x. s and `work` [convex_pose_work_size] are borrowed as long as p is used. */
void convex_pose_set(convex_pose *p, const convex_solid *s, const double c[3], const double R[9], double *work);

/* Radius around the core; 0 for solids that are their own core. */
static inline double convex_rounding(const convex_pose *p)
{
  return p->kind == CONVEX_SPHERE || p->kind == CONVEX_CAPSULE ? p->radius : 0.0;
}
/* Support point x [3]: the point of the core that is farthest along d. Returns its corner number for a polyhedron, else -1. Not for
 * half-spaces. */
int convex_support(const convex_pose *p, const double d[3], double x[3]);
/* Separation of the cores along the unit vector n: minimum of n.x over a minus maximum over b. Negative: overlap. */
double convex_separation(const convex_pose *a, const convex_pose *b, const double n[3]);

/* A touch: a pair of close points of two solids. */
typedef struct {
  double   x[3];      /* halfway between the surfaces */
  double   normal[3]; /* unit, from b towards a */
  double   gap;       /* from the surface of b to that of a along the normal; negative: penetration [m] */
  uint64_t feature;   /* number of the pair of features (corners, edges, ...), below 2^32; it does not change from step to step */
} convex_touch;
enum { CONVEX_MAX_TOUCHES = 20, CONVEX_MAX_CLIPPED = 18 }; /* maximum number of touches; of those, from the clipping of two faces */
enum { CONVEX_MAX_AREA_POINTS = 1024 };                    /* maximum of convex_solid.area_points */
typedef struct {
  int          n;
  convex_touch touch[CONVEX_MAX_TOUCHES];
} convex_touches;

/* Append the touch of the points q on the surface of b and q + gap normal on that of a, if gap <= margin and the list is not full. */
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
