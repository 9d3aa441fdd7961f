/* Relaxation: compute where the attachment of a contact slides to. Pure geometry, no state. Caller: penalty.c.
 *
 * A particle at Z is connected to an attachment X on the surface of an object. The relaxed attachment Y = P(X, Z) is X itself
 * while the spring force is inside the friction cone (stick). Otherwise it is the point between X and the closest point W where
 * the force reaches the cone (slide). All quantities are in the frame of the object. Method: [DingSchroeder2020], sec. 2.1. */
#ifndef SS_CONTACT_PENALTY_PENALTY_RELAXATION_H
#define SS_CONTACT_PENALTY_PENALTY_RELAXATION_H
#include "core/error.h"
#include "geometry/level_set/level_set.h"

typedef enum {
  RELAX_INACTIVE, /* phi(Z) >= 0: no force, derivatives zero, Y = Z */
  RELAX_FIRST,    /* no attachment yet: Y = W, the closest point of Z */
  RELAX_STICK,    /* Y = X, bit for bit */
  RELAX_SLIDE     /* Y on the friction cone */
} relax_state;

/* Smooth implicit surface, phi < 0 inside; gradient [3] and Hessian [9] may be NULL if not needed. The derivatives below
 * are valid for every phi, the geometry only where |grad phi| = 1. */
typedef struct {
  double (*eval)(const void *context, const double x[3], double gradient[3], double hessian[9]);
  const void *context;
} relax_surface;

/* Friction that depends on the direction of sliding: |f_t| in the metric of an ellipse is at most mu f_n. Half axes: mu f_n along
 * `direction` (projected on the surface, not zero) and mu_across f_n across it; mu_across == 0: a circle of radius mu f_n. Where
 * the direction is within 1e-6 of normal to the surface, a circle of the smaller one. Half axes of an ellipse are > 0. */
typedef struct {
  double mu, mu_across, direction[3];
} relax_cone;
#define RELAX_CONE_ALONG 1e-6
/* Length of the tangential vector d in that metric: |d| for d along the direction, |d| mu / mu_across across; n [3]: unit
 * normal. */
double relax_cone_length(const relax_cone *cone, const double n[3], const double d[3]);
/* Relax an attachment on an implicit surface: move along the chord from X towards W, then project.
 *
 *   X    [3] attachment, on the surface; NULL: first contact        Z  [3] particle
 *   Y    [3] relaxed attachment
 *   Y_Z  [9] dY/dZ; may be NULL
 *
 * On a plane the cone is satisfied to round-off, elsewhere up to curvature times sliding distance. Where the gradient vanishes
 * there is no normal: a known attachment then sticks, a first contact stays inactive. A NaN in Z or X gives a NaN in Y.
 * The attachment moves straight towards W, so friction opposes sliding. The limit of friction is the ellipse's radius in that
 * direction, with the normal at Z: s = min(1, mu h / r), r the length of X - W in the metric. */
relax_state relax_implicit_cone(const relax_surface *surface, const relax_cone *cone, const double *X, const double Z[3], double Y[3],
                                double *Y_Z);
relax_state relax_level_set(const level_set *phi, const relax_cone *cone, const double *X, const double Z[3], double Y[3], double *Y_Z);
#endif
