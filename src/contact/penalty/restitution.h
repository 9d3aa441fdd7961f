/* Coefficient of restitution through a spring whose stiffness follows the speed of compression.
 *
 *   f = gain k (Y - Z),   gain = 1 + a w/v within [0, 1 + a]
 *
 * w: speed of compression [m/s], > 0 on the way in; v: speed at which the pair came to be. The damper [HuntCrossley1975]
 * multiplies the whole spring: the force neither starts with a jump nor ever pulls, stays within Coulomb's cone, and keeps its
 * line, with which momenta balance. For a mass m on the spring, m dw/dt = -k d (1 + a w/v) has the integral x - log(1 + x) +
 * (a/v)^2 k d^2/2m = const, x = a w/v: it comes in with x = a and leaves with x = -e a where
 *
 *   (1 + e) a = log((1 + a) / (1 - e a))
 *
 * whatever m, k and v are, and for any number of such springs that are met together; one that a body meets later, already slowed,
 * has its own, smaller v (a ball on four points: 0.491 for 0.5). The upper limit of the gain matters where something hits a pair
 * that has come to be more slowly. Bodies that deform keep some energy in their own vibrations: e is the contact's, not theirs.
 *
 * Time steps. Backward Euler damps a spring, too: without a damper a mass leaves with about exp(-pi omega dt/2) of its speed,
 * omega = sqrt(k/m); with one e is reached from below, with an error proportional to omega dt.
 *
 * Resting contact. A speed below what gravity adds within a step, v_rest = g0 dt, cannot be told from rest: v is never taken
 * smaller, and pairs that come to be more slowly are damped less, to the plain spring in the limit. At rest w = 0 and the gain is
 * 1: loads and friction are those of the plain spring. a k d/v_rest, the damper of a body that rests, is then at most a m/dt: it
 * makes no step stiffer than its inertia. */
#ifndef SS_CONTACT_PENALTY_RESTITUTION_H
#define SS_CONTACT_PENALTY_RESTITUTION_H
#include "core/error.h"

/* Smallest coefficient that is told from none: the spring stiffens by 1 + a on the way in, and a is about 1/e. */
#define RESTITUTION_LEAST 0.01

/* a >= 0 of a coefficient e in [RESTITUTION_LEAST, 1); 0 for e == 0: the plain spring, which stands for no damper. */
double restitution_damping(double e);

/* Of one pair. damping 0: a plain spring, the rest unused. */
typedef struct {
  double damping;
  double speed; /* the largest w since the pair came to be, at the end of earlier steps [m/s]: state */
  double rate;  /* w of the last evaluation */
} restitution;

/* gain; *slope: its derivative by w, 0 where it is limited. v_rest > 0 [m/s]. */
double restitution_gain(const restitution *r, double v_rest, double *slope);
/* What to remember of the accepted state. */
double restitution_speed(const restitution *r);
#endif
