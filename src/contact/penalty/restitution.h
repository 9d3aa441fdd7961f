/* Coefficient of restitution by a spring whose stiffness depends on the speed of compression. Used by penalty contact.
 *
 *   f = gain k (Y - Z),   gain = 1 + a w/v within [0, 1 + a]
 *
 * w: speed of compression [m/s], > 0 during approach; v: approach speed when the pair was created. The damper [HuntCrossley1975]
 * multiplies the whole spring force. The force therefore starts without a jump, is never attractive, stays within Coulomb's cone,
 * and keeps its line of action, so that momenta balance. For a mass m on the spring, m dw/dt = -k d (1 + a w/v) has the integral
 * x - log(1 + x) + (a/v)^2 k d^2/2m = const, x = a w/v. The mass arrives with x = a and leaves with x = -e a where
 *
 *   (1 + e) a = log((1 + a) / (1 - e a))
 *
 * for all m, k and v, and for any number of such springs that are compressed simultaneously. A spring that a body reaches later,
 * already slower, has its own smaller v (a ball on four points: 0.491 for 0.5). The upper limit of the gain is active where a fast
 * body hits a pair that was created at a lower speed. Deformable bodies keep some energy in their own vibrations: e describes the
 * contact only.
 *
 * Time steps. Backward Euler damps the spring, too. Without a damper a mass leaves with about exp(-pi omega dt/2) of its speed,
 * omega = sqrt(k/m). With a damper, e is approached from below, with an error proportional to omega dt.
 *
 * Resting contact. A speed below the gain by gravity within a step, v_rest = g0 dt, cannot be distinguished from rest. v is
 * therefore never smaller than v_rest. Pairs created at lower speeds are damped less, and in the limit have the plain spring. At
 * rest w = 0 and the gain is 1: loads and friction are those of the plain spring. The damper of a resting body, a k d/v_rest, is
 * then at most a m/dt: it makes no step stiffer than its inertia. */
#ifndef SS_CONTACT_PENALTY_RESTITUTION_H
#define SS_CONTACT_PENALTY_RESTITUTION_H
#include "core/error.h"

/* Smallest coefficient different from none: the spring stiffens by 1 + a during approach, and a is about 1/e. */
#define RESTITUTION_LEAST 0.01

/* Return a >= 0 for a coefficient e in [RESTITUTION_LEAST, 1); 0 for e == 0, which means a plain spring without damper. */
double restitution_damping(double e);

/* Restitution data of one pair. damping 0: a plain spring, the other fields are unused. */
typedef struct {
  double damping;
  double speed; /* state: the largest w at the end of earlier steps, since the pair was created [m/s] */
  double rate;  /* w of the last evaluation */
} restitution;

/* Return the gain; *slope: its derivative with respect to w, 0 where it is limited. v_rest > 0 [m/s]. */
double restitution_gain(const restitution *r, double v_rest, double *slope);
/* Return the speed to store for the accepted state. */
double restitution_speed(const restitution *r);
#endif
