/* Spatial vectors [Featherstone2008]. A motion is (w, v), where v is the velocity of the point at the world's origin. A force is
 * (n, f), where n is the moment about that point. All in world axes, as six doubles. */
#ifndef SS_DISCRETIZE_ARTICULATED_SPATIAL_H
#define SS_DISCRETIZE_ARTICULATED_SPATIAL_H
#include "core/math3.h"

/* Inertia about the world's origin: mass, mass times the centre of mass, second moments. */
typedef struct {
  double m, h[3], J[9];
} spatial_inertia;

static inline double spatial_dot(const double force[6], const double motion[6]) /* power */
{
  return v3_dot(force, motion) + v3_dot(force + 3, motion + 3);
}
static inline void spatial_axpy(double y[6], double s, const double x[6])
{
  for (int k = 0; k < 6; ++k) y[k] += s * x[k];
}
/* o = a x b: rate of change of the motion b when it is carried along by the motion a. */
static inline void spatial_cross_motion(double o[6], const double a[6], const double b[6])
{
  double t[3];
  v3_cross(o, a, b);
  v3_cross(o + 3, a, b + 3);
  v3_cross(t, a + 3, b);
  v3_axpy(o + 3, 1.0, t);
}
/* The same for a force. */
static inline void spatial_cross_force(double o[6], const double a[6], const double f[6])
{
  double t[3];
  v3_cross(o, a, f);
  v3_cross(t, a + 3, f + 3);
  v3_axpy(o, 1.0, t);
  v3_cross(o + 3, a, f + 3);
}
/* Velocity of the point at x. */
static inline void spatial_point_velocity(double o[3], const double motion[6], const double x[3])
{
  v3_cross(o, motion, x);
  v3_axpy(o, 1.0, motion + 3);
}
/* Of a mass m with its centre at c and moments of inertia Ic about that. */
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
/* Momentum of a motion. */
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
