/* Implementation of rotation_step.h. */
#include "sim/scene/rotation_step.h"
#include "core/eigen3.h"
#include "core/math3.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/rigid/free_rotation.h"

static const double LARGEST_LOSS = 1e-3, LARGEST_RATE_ERROR = 1e-2;

/* Energy lost by backward Euler in a revolution with steps of `angle`, relative to the energy of rotation. */
static double loss_per_revolution(const double inertia[9], double angle)
{
  double lambda[3], axes[9], largest = 0.0;
  eigen3_symmetric(inertia, lambda, axes);
  for (int i = 0; i < 3; ++i) {
    const double difference = lambda[(i + 1) % 3] - lambda[(i + 2) % 3];
    if (lambda[i] > 0.0) largest = fmax(largest, difference * difference / lambda[i]);
  }
  return lambda[1] > 0.0 ? 0.5 * M_PI * angle * largest / lambda[1] : 0.0;
}

static void warn_rigid_body(const rigid_body *b, const char *path, double dt, warning_list *warnings)
{
  const double angle = dt * v3_norm(b->w), loss = loss_per_revolution(b->inertia, angle);
  if (b->rotation == RIGID_MIDPOINT || !(loss > LARGEST_LOSS)) return;
  if (b->rotation == RIGID_BACKWARD_EULER)
    warning_list_add(warnings, "rotation-step", path,
                     "with rotation: backward_euler and steps of %g s it loses up to %.3g %% of its energy of rotation per revolution; "
                     "use rotation: conserving, or steps of at most %.2g s",
                     dt, 100.0 * fmin(loss, 1.0), dt * LARGEST_LOSS / loss);
  else if (angle > FREE_ROTATION_LARGEST_ANGLE)
    warning_list_add(warnings, "rotation-step", path,
                     "it rotates by %.3g rad per step of %g s: above %g rad rotations do not conserve energy, it loses up to %.3g %% per "
                     "revolution; use steps of at most %.2g s",
                     angle, dt, FREE_ROTATION_LARGEST_ANGLE, 100.0 * fmin(loss, 1.0), dt / angle);
}

static void warn_links(const articulated_body *b, const char *path, double dt, warning_list *warnings)
{
  double loss = 0.0, angle = 0.0;
  for (int i = 0; i < b->tree.n; ++i) {
    const double a = dt * v3_norm(b->w + 3 * i), l = loss_per_revolution(b->tree.inertia + 9 * i, a);
    if (l > LARGEST_LOSS) angle = fmax(angle, a);
    loss = fmax(loss, l);
  }
  if (!(loss > LARGEST_LOSS)) return;
  const double error = angle * angle / 24.0;
  if (b->integrator == ARTICULATED_SEMI_IMPLICIT)
    warning_list_add(warnings, "rotation-step", path,
                     "with integrator: semi_implicit and steps of %g s free links gain up to %.3g %% of their energy of rotation per "
                     "revolution; use integrator: momentum, or steps of at most %.2g s",
                     dt, 100.0 * loss, dt * LARGEST_LOSS / loss);
  else if (error > LARGEST_RATE_ERROR)
    warning_list_add(warnings, "rotation-step", path,
                     "a link rotates by %.3g rad per step of %g s: its rotation has an error of about %.3g %%; use steps of at most %.2g s",
                     angle, dt, 100.0 * error, dt * sqrt(LARGEST_RATE_ERROR / error));
}

void rotation_step_warn(const body *b, const char *path, double dt, warning_list *warnings)
{
  if (b->ops == &rigid_body_ops) warn_rigid_body((const rigid_body *)b, path, dt, warnings);
  else if (b->ops == &articulated_body_ops) warn_links((const articulated_body *)b, path, dt, warnings);
}
