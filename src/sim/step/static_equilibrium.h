/* Search for a static equilibrium of a scene under gravity and contact before the run starts (`time.start: at_rest`).
 *
 * Each relaxation step is a step of the formulation that starts at rest: the velocities are set to 0 before it. For implicit integration it
 * minimises
 *
 *    E(x) + 1/(2 h^2) (x - x_k)^T M (x - x_k)
 *
 * with the energy E of gravity, elasticity and contact: the proximal point method [Rockafellar1976], in which the energy cannot increase. Friction
 * history, attachments and plastic strain are state and follow their laws. After a step from rest the residual force is M v/h, so the residual
 * acceleration of a body is a = |v|/h, with |v| = sqrt(2 kinetic energy/mass).
 *
 * The step length h starts at `dt`. It doubles after an accepted step and is halved after a rejected one. No body may move by more than
 * STATIC_DISPLACEMENT of its size in a step longer than dt. When a <= STATIC_TOLERANCE g0 for all bodies, h is halved, because an error d of the gap
 * of a rigid contact is a residual acceleration d/h^2; the search ends when the condition is satisfied with h = dt. Then all velocities are set to 0.
 *
 * The steps end at negative times, at which prescribed motions and loads have their values of t = 0 without rates (body.h). Called by
 * app/run/run.c. */
#ifndef SS_SIM_STEP_STATIC_EQUILIBRIUM_H
#define SS_SIM_STEP_STATIC_EQUILIBRIUM_H
#include "core/diagnostics.h"
#include "sim/scene/scene.h"
#include "sim/step/formulation.h"

#define STATIC_TOLERANCE 1e-6 /* residual acceleration over scene_options.acceleration_scale */
/* The same for bodies of kind mpm: their forces change when the particles move relative to the grid, so that the state after a step is in equilibrium
 * with the next grid only to about 1e-4 (a block of 4 x 2 x 2 cells reaches 5e-5 after 100 steps). */
#define STATIC_TOLERANCE_PARTICLES 1e-3
#define STATIC_DISPLACEMENT 0.2 /* displacement of a body in a step over its size (scene_size.h) */
enum { STATIC_MAX_STEPS = 1000 };

typedef enum { STATIC_FOUND, STATIC_NOT_FOUND, STATIC_INTERRUPTED } static_result;
typedef struct {
  static_result result;
  int64_t       n_steps;      /* relaxation steps, rejected ones included */
  double        velocity;     /* |v| of the body below, in the last step [m/s] */
  double        acceleration; /* a of this body [m/s^2] */
  double        displacement; /* largest displacement of a body's centre of mass since the start of the search [m] */
  double        tolerance;    /* STATIC_TOLERANCE of this body */
  const char   *body;         /* the body with the largest residual acceleration over its tolerance, owned by the scene; "": none */
  step_status   status;       /* of the last step */
  step_report   report;       /* of the last step */
} static_equilibrium;

/* Add an error for each body with an initial velocity. */
PetscErrorCode static_equilibrium_check(const scene *s, diagnostics *d);
/* Search from the state at t = 0. `fields`: all fields of scene and formulation. Unless the result is STATIC_FOUND, the state is that before the
 * call. A stop signal (core/stop.h) interrupts the search. */
PetscErrorCode static_equilibrium_find(scene *s, formulation *f, field_table *fields, static_equilibrium *out);
#endif
