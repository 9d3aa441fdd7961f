/* Spatial vectors [Featherstone2008]: six doubles in world axes. A motion is (w, v): angular velocity, and velocity of the point at the
 * world's origin. A force is (n, f): moment about this point, and force. Used by articulated_tree.c. */
#ifndef SS_DISCRETIZE_ARTICULATED_SPATIAL_H
#define SS_DISCRETIZE_ARTICULATED_SPATIAL_H
#include "core/math3.h"

/* Inertia about the world's origin: mass m [kg], h = m times the centre of mass [kg m], moments of inertia J [kg m^2]. */
typedef struct {
  double m, h[3], J[9];
} spatial_inertia;

static inline double spatial_dot(const double force[6], const double motion[6]) /* returns the power of the force */
{
  return v3_dot(force, motion) + v3_dot(force + 3, motion + 3);
}
static inline void spatial_axpy(double y[6], double s, const double x[6]) /* y += s x */
{
  for (int k = 0; k < 6; ++k) y[k] += s * x[k];
}
/* o = a x b: rate of change of a motion b that is fixed to a body with the motion a. */
static inline void spatial_cross_motion(double o[6], const double a[6], const double b[6])
{
  double t[3];
  v3_cross(o, a, b);
  v3_cross(o + 3, a, b + 3);
  v3_cross(t, a + 3, b);
  v3_axpy(o + 3, 1.0, t);
}
/* o = a x* f: rate of change of a force f that is fixed to a body with the motion a. */
static inline void spatial_cross_force(double o[6], const double a[6], const double f[6])
{
  double t[3];
  v3_cross(o, a, f);
  v3_cross(t, a + 3, f + 3);
  v3_axpy(o, 1.0, t);
  v3_cross(o + 3, a, f + 3);
}
/* o = velocity of the point at x. */
static inline void spatial_point_velocity(double o[3], const double motion[6], const double x[3])
{
  v3_cross(o, motion, x);
  v3_axpy(o, 1.0, motion + 3);
}
/* Set *o to the inertia of a body of mass m with its centre of mass at c and moments of inertia Ic about c. */
static inline void spatial_inertia_set(spatial_inertia *o, double m, const double c[3], const double Ic[9])
{
  const double cc = v3_dot(c, c);
  o->m            = m;
  v3_scale(o->h, m, c);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) o->J[3 * i + j] = Ic[3 * i + j] + m * ((i == j ? cc : 0.0) - c[i] * c[j]);
}
static inline void spatial_inertia_add(spatial_inertia *o, const spatial_inertia *x)
{
  o->m += x->m;
  v3_axpy(o->h, 1.0, x->h);
  m3_axpy(o->J, 1.0, x->J);
}
/* o = momentum (a spatial force) of inertia s with this motion. */
static inline void spatial_inertia_times(double o[6], const spatial_inertia *s, const double motion[6])
{
  double t[3];
  m3_mulv(o, s->J, motion);
  v3_cross(t, s->h, motion + 3);
  v3_axpy(o, 1.0, t);
  v3_cross(t, s->h, motion);
  for (int k = 0; k < 3; ++k) o[3 + k] = s->m * motion[3 + k] - t[k];
}
#endif
