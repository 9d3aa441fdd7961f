/* What joints and loops do within a step, as impulses that depend on where it ends. */
#include "core/math3.h"
#include "discretize/articulated/articulated_body.h"
#include <string.h>

#define PERIOD 0.1  /* of springs that nothing should be seen of, in steps */
#define CREEP  1e-3 /* of dry friction: R_t over the inverse of the mass */

static double rigid_stiffness(void) { return 4.0 * M_PI * M_PI / (PERIOD * PERIOD); }

double articulated_motor(const articulated_body *b, int k, double v, double q1, double *slope)
{
  const articulated_axis *a = &b->axis[k];
  const double            t = b->t + b->dt;
  double                  target, rate = expression_derivative(a->target, &t, 0, &target);
  if (a->rate) rate = expression_value(a->rate, &t);
  const double u = a->stiffness * (target - q1) + a->rate_damping * (rate - v) + expression_value(a->force, &t);
  if (slope) *slope = fabs(u) <= a->effort ? b->dt * a->stiffness + a->rate_damping : 0.0;
  return fmin(fmax(u, -a->effort), a->effort);
}

/* A stop that is not passed by the end of the step, `gap` from it on its side, pushing along `sign`. */
static void add_stop(const articulated_body *b, int k, double gap, double sign, double *tau, double *H)
{
  const int    n = b->tree.n_v;
  const double stiff = rigid_stiffness() * b->M[(n + 1) * k];
  if (!(gap < 0.0)) return;
  tau[k] -= sign * stiff * gap / b->dt;
  if (H) H[(n + 1) * k] += stiff;
}

void articulated_joint_impulses(const articulated_body *b, const double *v, const double *q1, double *tau, double *H)
{
  const int n = b->tree.n_v;
  for (int k = 0; k < n; ++k) {
    const articulated_axis *a = &b->axis[k];
    double                  slope;
    tau[k] -= b->dt * a->damping * v[k];
    if (H) H[(n + 1) * k] += b->dt * a->damping;
    if (a->friction > 0.0) {
      const double stiff = b->M[(n + 1) * k] / CREEP, most = b->dt * a->friction, stuck = -stiff * v[k];
      tau[k] += fmin(fmax(stuck, -most), most);
      if (H && fabs(stuck) < most) H[(n + 1) * k] += stiff;
    }
    if (fabs(v[k]) > a->max_rate) {
      const double stiff = rigid_stiffness() * b->M[(n + 1) * k];
      tau[k] -= stiff * (v[k] - copysign(a->max_rate, v[k]));
      if (H) H[(n + 1) * k] += stiff;
    }
    if (b->q_of[k] < 0) continue;
    const double at = q1[b->q_of[k]];
    add_stop(b, k, at - a->lower, 1.0, tau, H);
    add_stop(b, k, a->upper - at, -1.0, tau, H);
    if (!a->target) continue;
    tau[k] += b->dt * articulated_motor(b, k, v[k], at, &slope);
    if (H) H[(n + 1) * k] += b->dt * slope;
  }
}

/* Where a pin's point of a link is. */
static void pin_point(const double *R, const double *p, int link, const double X[3], double x[3])
{
  v3_copy(x, X);
  if (link < 0) return;
  m3_mulv(x, R + 9 * link, X);
  v3_axpy(x, 1.0, p + 3 * link);
}

void articulated_loop_impulses(articulated_body *b, const double *R1, const double *p1, double *tau, double *H)
{
  const int n = b->tree.n_v;
  for (int i = 0; i < b->n_pins; ++i) {
    const articulated_pin *pin = &b->pin[i];
    double                 one[3], other[3], middle[3], gap[3], w = 0.0;
    pin_point(b->R0, b->p0, pin->one, pin->X, one);
    pin_point(b->R0, b->p0, pin->other, pin->X, other);
    for (int k = 0; k < 3; ++k) middle[k] = 0.5 * (one[k] + other[k]);
    articulated_tree_point_jacobian(&b->tree, b->S, pin->one, middle, b->J);
    articulated_tree_point_jacobian(&b->tree, b->S, pin->other, middle, b->Jp);
    for (int k = 0; k < 3 * n; ++k) b->J[k] -= b->Jp[k];
    for (int k = 0; k < 3 * n; ++k) w += b->J[k] * b->J[k] / b->M[(n + 1) * (k % n)] / 3.0;
    if (!(w > 0.0)) continue; /* nothing that moves is held */
    const double stiff = rigid_stiffness() / w;
    pin_point(R1, p1, pin->one, pin->X, one);
    pin_point(R1, p1, pin->other, pin->X, other);
    v3_sub(gap, one, other);
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < n; ++k) {
        const double Jrk = b->J[r * n + k];
        tau[k] -= Jrk * stiff * gap[r] / b->dt;
        for (int l = 0; l < n && H && Jrk != 0.0; ++l) H[n * k + l] += stiff * Jrk * b->J[r * n + l];
      }
  }
}
