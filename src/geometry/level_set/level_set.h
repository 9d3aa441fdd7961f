/* Level sets: the signed distance phi to a closed surface, negative inside, with gradient and Hessian.
 *
 * Analytic primitives, boolean combinations (CSG) of them, and rigid motions. level_set_sampled.h adds distances that are sampled
 * from a triangle mesh. Penalty contact needs |grad phi| = 1 in the band around the surface; sampled level sets are checked when
 * they are loaded (| |grad phi| - 1 | <= 1e-2 where the surface is smooth). Used by shapes, obstacles, and contact detection
 * against them. */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#include "core/error.h"

typedef struct level_set level_set;

/* A kind of level set is a table of functions. */
typedef struct {
  /* phi; gradient and hessian are filled where not NULL. Defined everywhere, finite for finite x. */
  double (*eval)(const level_set *s, const double x[3], double *gradient, double *hessian);
  void (*bounds)(const level_set *s, double min[3], double max[3]);
  void (*destroy)(level_set *s); /* frees what the kind owns besides the struct; NULL: nothing */
} level_set_kind;

/* Every concrete level set struct has this as its first member. */
struct level_set {
  const level_set_kind *kind;
};

/* phi at x. Thread-safe. */
double level_set_value(const level_set *s, const double x[3]);
/* phi at x; also its gradient [3] and Hessian [9], either of which may be NULL. Thread-safe. */
double level_set_eval(const level_set *s, const double x[3], double gradient[3], double hessian[9]);
/* Axis-aligned bounds of {phi <= 0}; -INFINITY/INFINITY where unbounded. */
void level_set_bounds(const level_set *s, double min[3], double max[3]);

/* phi = n.x - offset, with the unit normal n */
PetscErrorCode level_set_plane(const double normal[3], double offset, level_set **out);
PetscErrorCode level_set_sphere(const double center[3], double radius, level_set **out);
PetscErrorCode level_set_box(const double min[3], const double max[3], level_set **out);
PetscErrorCode level_set_cylinder(const double a[3], const double b[3], double radius, level_set **out); /* with flat ends */
PetscErrorCode level_set_capsule(const double a[3], const double b[3], double radius, level_set **out);
PetscErrorCode level_set_torus(const double center[3], const double axis[3], double major, double minor, level_set **out);
/* The exact distance to the closest point (safeguarded root search), not an approximation from |x/r| - 1. radii [3]: semi-axes. */
PetscErrorCode level_set_ellipsoid(const double center[3], const double radii[3], level_set **out);
/* Solid of revolution: radius [n] >= 0 at the ascending positions along [n], measured from `center` along `axis`; linear in
 * between, with flat ends. Only the first and the last radius may be 0. n >= 2. */
PetscErrorCode level_set_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                    level_set **out);
/* Boolean combinations; they take ownership of the children on success. */
PetscErrorCode level_set_union(int n, level_set **child, level_set **out);
PetscErrorCode level_set_intersection(int n, level_set **child, level_set **out);
PetscErrorCode level_set_difference(level_set *from, level_set *minus, level_set **out);
/* Rigid motion: phi'(x) = phi(R^T (x - c)). Takes ownership of the child on success. */
PetscErrorCode level_set_transform(level_set *child, const double c[3], const double R[9], level_set **out);
void           level_set_destroy(level_set **s);
#endif
