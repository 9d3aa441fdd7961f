/* Relaxation: compute the point to which the attachment of a contact slides. No state. Callers: penalty.c, penalty_rows.c.
 *
 * A contact point Z is connected by a spring to an attachment X on the surface of an object. W is the surface point closest to Z. The
 * relaxed attachment Y = P(X, Z) equals X if the spring force is inside the friction cone (stick). Otherwise Y is the point between X and
 * W at which the force reaches the cone (slide). All positions are in the frame of the object [m]. Method: [DingSchroeder2020, sec. 2.1]. */
#ifndef SS_CONTACT_PENALTY_PENALTY_RELAXATION_H
#define SS_CONTACT_PENALTY_PENALTY_RELAXATION_H
#include "core/error.h"
#include "geometry/level_set/level_set.h"

typedef enum {
  RELAX_INACTIVE, /* phi(Z) >= 0: no force, derivatives zero, Y = Z */
  RELAX_FIRST,    /* no attachment X: Y = W */
  RELAX_STICK,    /* Y = X, bit for bit */
  RELAX_SLIDE     /* the force of the spring at Y is on the friction cone */
} relax_state;

/* Smooth implicit surface, phi < 0 inside; eval returns phi at x, with gradient [3] and hessian [9] unless NULL. The derivatives dY/dZ
 * are those of the computed Y for every phi; Y is correct only if |grad phi| = 1. */
typedef struct {
  double (*eval)(const void *context, const double x[3], double gradient[3], double hessian[9]);
  const void *context;
} relax_surface;

/* Elliptic friction cone: the tangential force is inside an ellipse with the half axes mu f_n along `direction` (projected on the
 * surface) and mu_across f_n perpendicular to it, both > 0. mu_across == 0: a circle of radius mu f_n. If `direction` is parallel to the
 * surface normal within RELAX_CONE_ALONG, a circle with the smaller coefficient. */
typedef struct {
  double mu, mu_across, direction[3];
} relax_cone;
#define RELAX_CONE_ALONG 1e-6
/* Length of the tangential vector d in the metric of the ellipse: |d| for d along `direction`, |d| mu / mu_across perpendicular to it.
 * n [3]: unit normal of the surface. */
double relax_cone_length(const relax_cone *cone, const double n[3], const double d[3]);
/* m [3] = gradient of relax_cone_length with respect to d at a constant normal; r: this length. 0 if r is 0. */
void relax_cone_gradient(const relax_cone *cone, const double n[3], const double d[3], double r, double m[3]);
/* Relax an attachment on an implicit surface, or on a level set: move it on the straight line from X towards W, then project it.
 *
 *   X    [3] attachment, on the surface; NULL: first contact        Z  [3] contact point
 *   Y    [3] relaxed attachment
 *   Y_Z  [9] dY/dZ; may be NULL
 *
 * On a plane the force is inside the cone up to round-off, on other surfaces up to curvature times sliding distance. If the gradient at Z
 * vanishes, there is no normal: an existing attachment sticks, a first contact is inactive. A NaN in Z or X gives a NaN in Y.
 * The attachment moves straight towards W, so that friction opposes sliding. Before the projection, Y = W + s (X - W) with
 * s = min(1, mu h / r), h the penetration depth of Z, and r the length of X - W in the metric of the ellipse, with the normal at Z. */
relax_state relax_implicit_cone(const relax_surface *surface, const relax_cone *cone, const double *X, const double Z[3], double Y[3],
                                double *Y_Z);
relax_state relax_level_set(const level_set *phi, const relax_cone *cone, const double *X, const double Z[3], double Y[3], double *Y_Z);
/* As relax_implicit_cone for a contact that begins in this step: the point moves straight from Z0, outside with phi = phi0 >= 0, to Z. Its attachment
 * starts at the point of entry, X = the projection of Z0 + t (Z - Z0), t = phi0 / (phi0 - phi(Z)), so that friction acts in this step. On a plane this is the
 * law of penalty_rows.h. Out: X [3], defined unless the result is RELAX_INACTIVE or RELAX_FIRST; Y, and Y_Z with the derivative of X. RELAX_FIRST:
 * there is no normal at the point of entry, or phi0 < 0. */
relax_state relax_entering_cone(const relax_surface *surface, const relax_cone *cone, const double Z0[3], double phi0, const double Z[3],
                                double X[3], double Y[3], double *Y_Z);
relax_state relax_level_set_entering(const level_set *phi, const relax_cone *cone, const double Z0[3], double phi0, const double Z[3],
                                     double X[3], double Y[3], double *Y_Z);
#endif
