/* Coefficient of restitution e of penalty contact, by a spring whose stiffness depends on the speed of compression.
 *
 *   f = gain k (Y - Z),   gain = 1 + a w/v, limited to [0, 1 + a]
 *
 * w: speed of compression [m/s], > 0 during approach; v: approach speed when the pair was created. The damper [HuntCrossley1975]
 * multiplies the whole spring force. The force is therefore zero at first contact, is never attractive, remains inside the friction cone,
 * and has the same line of action, so that momenta balance. For a mass m on the spring with compression d, m dw/dt = -k d (1 + a w/v) has
 * the integral x - log(1 + x) + (a/v)^2 k d^2/2m = const, x = a w/v. The contact begins with x = a and ends with x = -e a, where
 *
 *   (1 + e) a = log((1 + a) / (1 - e a))
 *
 * for all m, k and v, and for any number of such springs that are compressed simultaneously. A spring that a body reaches later, at a
 * lower speed, has its own smaller v (a ball on four points: 0.491 for e = 0.5). The upper limit of the gain applies if a pair created at
 * a low speed is compressed faster later. Part of the energy of deformable bodies becomes vibration: e describes the contact only.
 *
 * Time steps. Backward Euler also damps the spring. Without the damper, a mass separates with about exp(-pi omega dt/2) of its approach
 * speed, omega = sqrt(k/m). With the damper, the ratio is below e, with an error proportional to omega dt.
 *
 * Resting contact. A speed below v_rest = g0 dt, which gravity adds in one step, cannot be distinguished from rest. v is therefore at
 * least v_rest. Pairs created at lower speeds are damped less; for speed 0 only the spring remains. At rest w = 0 and the gain is 1: normal
 * force and friction are those of the undamped spring. The damping coefficient of a resting body, a k d/v_rest, is at most a m/dt, which
 * is of the order of the inertia term of the step. */
#ifndef SS_CONTACT_PENALTY_RESTITUTION_H
#define SS_CONTACT_PENALTY_RESTITUTION_H
#include "core/error.h"

/* Smallest coefficient e > 0. The gain during approach is 1 + a, and a is about 1/e for small e, so the spring would be too stiff. */
#define RESTITUTION_LEAST 0.01

/* Return a >= 0 for a coefficient e in [RESTITUTION_LEAST, 1); 0 for e == 0, which selects a spring without damper. */
double restitution_damping(double e);

/* Restitution data of one pair. damping: the coefficient a; 0: a spring without damper, the other fields are unused. */
typedef struct {
  double damping;
  double speed; /* state: the largest w at the end of earlier steps, since the pair was created [m/s] */
  double rate;  /* w of the last evaluation [m/s] */
} restitution;

/* Return the gain; *slope: derivative of the gain with respect to w, 0 at the limits of the gain. v_rest > 0 [m/s]. */
double restitution_gain(const restitution *r, double v_rest, double *slope);
/* Return the speed to store for the accepted state. */
double restitution_speed(const restitution *r);
#endif
