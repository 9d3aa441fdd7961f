/* Level sets: signed distance to a closed surface, negative inside, in the owner's body frame.
 *
 * Analytic primitives, CSG of them, and distances sampled from a triangle mesh (C2 cubic B-spline interpolation, so that the
 * Hessian is continuous). Penalty contact needs |grad phi| = 1 in the band around the surface: sampled level sets are
 * checked at load time (|1 - |grad phi|| <= 1e-2 where the surface is smooth).                                          */
#ifndef SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#define SS_GEOMETRY_LEVEL_SET_LEVEL_SET_H
#include "core/error.h"

typedef struct level_set level_set;

/* A kind of level set is a table of functions. */
typedef struct {
  /* phi; gradient and hessian are filled where not NULL. Defined everywhere, finite for finite x. */
  double (*eval)(const level_set *s, const double x[3], double *gradient, double *hessian);
  void (*bounds)(const level_set *s, double min[3], double max[3]);
  void (*destroy)(level_set *s); /* of what the kind owns besides the struct itself; NULL: nothing */
} level_set_kind;

/* Concrete level sets start with this member. */
struct level_set {
  const level_set_kind *kind;
};

double level_set_value(const level_set *s, const double x[3]);
/* phi, its gradient [3] and Hessian [9] (either may be NULL). Thread-safe. */
double level_set_eval(const level_set *s, const double x[3], double gradient[3], double hessian[9]);
/* Axis-aligned bounds of {phi <= 0}; -INFINITY/INFINITY where unbounded. */
void level_set_bounds(const level_set *s, double min[3], double max[3]);

PetscErrorCode level_set_plane(const double normal[3], double offset, level_set **out); /* phi = n.x - offset, |n| made 1 */
PetscErrorCode level_set_sphere(const double center[3], double radius, level_set **out);
PetscErrorCode level_set_box(const double min[3], const double max[3], level_set **out);
PetscErrorCode level_set_cylinder(const double a[3], const double b[3], double radius, level_set **out); /* capped */
PetscErrorCode level_set_capsule(const double a[3], const double b[3], double radius, level_set **out);
PetscErrorCode level_set_torus(const double center[3], const double axis[3], double major, double minor, level_set **out);
/* True distance, not the bound |x/r|-1 gives: the nearest point by a safeguarded root search. radii [3] along x, y, z. */
PetscErrorCode level_set_ellipsoid(const double center[3], const double radii[3], level_set **out);
/* Solid of revolution: at `along` [n] (ascending, distances from `center` along `axis`) it has the radius [n] >= 0, straight
 * between, flat ends. Radii inside the profile must be positive. n >= 2. */
PetscErrorCode level_set_revolution(const double center[3], const double axis[3], int n, const double *along, const double *radius,
                                    level_set **out);
/* CSG takes ownership of the children on success. */
PetscErrorCode level_set_union(int n, level_set **child, level_set **out);
PetscErrorCode level_set_intersection(int n, level_set **child, level_set **out);
PetscErrorCode level_set_difference(level_set *from, level_set *minus, level_set **out);
/* Pose: phi'(x) = phi(R^T (x - c)); takes ownership. */
PetscErrorCode level_set_transform(level_set *child, const double c[3], const double R[9], level_set **out);
void           level_set_destroy(level_set **s);
#endif
