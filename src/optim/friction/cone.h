/* The friction cone K_mu = {|z_T| <= mu z_N} of one contact: projections and natural maps. z [3], normal first. */
#ifndef SS_OPTIM_FRICTION_CONE_H
#define SS_OPTIM_FRICTION_CONE_H
#include <math.h>

/* Above this coefficient of friction, errors are measured by cone_natural_map_steep. */
#define CONE_STEEP 10.0

/* p <- the point of K_mu nearest to z; mu >= 0. p may be z. Valid for all finite mu: 1 + mu^2 may overflow. */
static inline void cone_project(double mu, const double z[3], double p[3])
{
  const double t = sqrt(z[1] * z[1] + z[2] * z[2]);
  if (t <= mu * z[0] && z[0] >= 0.0) { /* the second condition matters only where both sides are 0 */
    p[0] = z[0], p[1] = z[1], p[2] = z[2];
  } else if (mu * t <= -z[0]) {
    p[0] = p[1] = p[2] = 0.0;
  } else {
    const double n = mu > CONE_STEEP ? (z[0] / mu + t) / (mu + 1.0 / mu) : (z[0] + mu * t) / (1.0 + mu * mu), s = mu * n / t;
    p[0] = n, p[1] = s * z[1], p[2] = s * z[2];
  }
}
/* p <- the point of the dual cone K* = K_{1/mu} = {mu |z_T| <= z_N} nearest to z, by Moreau's decomposition z = P_K*(z) - P_K(-z). */
static inline void cone_project_dual(double mu, const double z[3], double p[3])
{
  const double back[3] = {-z[0], -z[1], -z[2]};
  double       k[3];
  cone_project(mu, back, k);
  for (int i = 0; i < 3; ++i) p[i] = z[i] + k[i];
}
/* Natural map F = r - P(r - rho x), P: projection onto K_mu, rho > 0. F = 0 exactly if K_mu ∋ r _|_ x ∈ K_{1/mu}. */
static inline void cone_natural_map_of(double mu, double rho, const double x[3], const double r[3], double F[3])
{
  const double z[3] = {r[0] - rho * x[0], r[1] - rho * x[1], r[2] - rho * x[2]};
  cone_project(mu, z, F);
  for (int i = 0; i < 3; ++i) F[i] = r[i] - F[i];
}
/* Natural map by components: F_N = r_N - max(0, r_N - rho u_N), F_T = r_T - P(r_T - rho u_T), P: projection onto the disc of radius
 * mu max(0, min(r_N, r_N - rho u_N)). F = 0 exactly if u and r satisfy Coulomb's law. */
static inline void cone_natural_map_steep(double mu, double rho, const double u[3], const double r[3], double F[3])
{
  const double pressed = r[0] - rho * u[0], disc = mu * fmax(0.0, fmin(r[0], pressed)), y[2] = {r[1] - rho * u[1], r[2] - rho * u[2]},
               size = hypot(y[0], y[1]), part = size > disc ? disc / size : 1.0;
  F[0] = r[0] - (pressed < 0.0 ? 0.0 : pressed); /* NaN if u or r is NaN */
  F[1] = r[1] - part * y[0];
  F[2] = r[2] - part * y[1];
}
/* cone_natural_map_of with x = û = u + (mu |u_T|, 0, 0). F = 0 exactly if relative velocity u and impulse r satisfy Coulomb's law. This map
 * reduces errors of u_N by a factor of 1/mu if the contact slides, and rounding of û loses u_N. Steep cones therefore use
 * cone_natural_map_steep. */
static inline void cone_natural_map(double mu, double rho, const double u[3], const double r[3], double F[3])
{
  if (mu > CONE_STEEP) {
    cone_natural_map_steep(mu, rho, u, r, F);
    return;
  }
  const double x[3] = {u[0] + mu * sqrt(u[1] * u[1] + u[2] * u[2]), u[1], u[2]};
  cone_natural_map_of(mu, rho, x, r, F);
}
#endif
