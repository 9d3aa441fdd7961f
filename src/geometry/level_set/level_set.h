/* Level sets: the signed distance phi to a closed surface, negative inside, with gradient and Hessian.
 *
 * This module contains analytic primitives, their boolean combinations (CSG), and rigid motions. level_set_sampled.h adds distances
 * that are sampled from a triangle mesh. Penalty contact needs |grad phi| = 1 near the surface; level_set_measure checks sampled level
 * sets (| |grad phi| - 1 | <= 1e-2 where the surface is smooth). Used by shapes, obstacles, and contact detection against them. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#include "core/error.h"

typedef struct level_set level_set;

/* Memory of level_set_within: initialise `used` with 0; restore `used` to release everything that was taken since. */
typedef struct {
  int              used;
  const level_set *slot[1024];
} level_set_pool;

/* A kind of level set is a table of functions. */
typedef struct {
  /* Returns phi [m] at x; gradient [3] and hessian [9] are set unless NULL. Finite for every finite x. */
  double (*eval)(const level_set *s, const double x[3], double *gradient, double *hessian);
  void (*bounds)(const level_set *s, double min[3], double max[3]);
  void (*destroy)(level_set *s); /* frees memory that the kind owns in addition to the struct; NULL: no such memory */
  double (*implicit)(const level_set *s, const double x[3]); /* level_set_implicit; NULL: phi */
  const level_set *(*within)(const level_set *s, const double x[3], double radius, level_set_pool *pool); /* level_set_within; NULL: s */
} level_set_kind;

/* Every concrete level set struct has a `level_set` as its first member. */
struct level_set {
  const level_set_kind *kind;
};

/* phi at x. Thread-safe. */
double level_set_value(const level_set *s, const double x[3]);
/* phi at x; also its gradient [3] and Hessian [9], either of which may be NULL. Thread-safe. */
double level_set_eval(const level_set *s, const double x[3], double gradient[3], double hessian[9]);
/* A continuous function that has the zeros and the sign of phi but is not a distance. It costs less than phi for some kinds of shapes; searches
 * for points on the surface use it. Thread-safe. */
double level_set_implicit(const level_set *s, const double x[3]);
/* A level set with the values of s in the ball around x: without children of unions and intersections that are not active there, because a
 * distance differs by at most 2 radius between two points of the ball. It uses memory of s and `pool`; s itself if `pool` is full. */
const level_set *level_set_within(const level_set *s, const double x[3], double radius, level_set_pool *pool);
/* Axis-aligned bounds of {phi <= 0}; -INFINITY/INFINITY where unbounded. */
void level_set_bounds(const level_set *s, double min[3], double max[3]);

/* Primitives; lengths in m, *out is owned by the caller. Plane: phi = n . x - offset with n = normal/|normal|. */
PetscErrorCode level_set_plane(const double normal[3], double offset, level_set **out);
PetscErrorCode level_set_sphere(const double center[3], double radius, level_set **out);
PetscErrorCode level_set_box(const double min[3], const double max[3], level_set **out);
PetscErrorCode level_set_cylinder(const double a[3], const double b[3], double radius, level_set **out); /* with flat ends */
PetscErrorCode level_set_capsule(const double a[3], const double b[3], double radius, level_set **out);
PetscErrorCode level_set_torus(const double center[3], const double axis[3], double major, double minor, level_set **out);
/* radii [3]: semi-axes. phi is the exact distance to the closest point (safeguarded root search), not an approximation from |x/r| - 1. */
PetscErrorCode level_set_ellipsoid(const double center[3], const double radii[3], level_set **out);
/* Solid of revolution about `axis`: radius[i] >= 0 at distance along[i] (ascending) from `center`, i < n, n >= 2. The radius is linear
 * between these positions; the ends are flat. Only the first and the last radius may be 0. */
PetscErrorCode level_set_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                    level_set **out);
/* Boolean combinations. On success *out owns the children. */
PetscErrorCode level_set_union(int n, level_set **child, level_set **out);
PetscErrorCode level_set_intersection(int n, level_set **child, level_set **out);
PetscErrorCode level_set_difference(level_set *from, level_set *minus, level_set **out);
/* Rigid motion of the child: *out has the value phi(R^T (x - c)) at x. On success *out owns the child. */
PetscErrorCode level_set_transform(level_set *child, const double c[3], const double R[9], level_set **out);
/* The child enlarged by `factor` > 0 about the origin: *out has the value factor phi(x / factor). Borrows the child. */
PetscErrorCode level_set_scaled(const level_set *child, double factor, level_set **out);
void           level_set_destroy(level_set **s);

/* A solid that is smaller by a layer of thickness `depth`: phi + depth. Not allocated: the caller owns the struct, and must not destroy it. */
typedef struct {
  level_set        base;
  const level_set *child; /* borrowed */
  double           depth; /* [m] */
} level_set_inset;
void level_set_inset_set(level_set_inset *s, const level_set *child, double depth);
#endif
