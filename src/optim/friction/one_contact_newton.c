/* The local solver of [Daviet2011]: Fischer-Burmeister on the friction cone, made self-dual by x = (mu r_N, r_T), y = (û_N, mu
 * û_T). */
#include "core/math3.h"
#include "optim/friction/one_contact.h"
#include <float.h>

enum { BACKTRACKS = 12 };
static const double MU_ENORMOUS = 1e3;

/* z = (x^2 + y^2)^(1/2) by the spectral values of x^2 + y^2, sqrt(lambda-) and sqrt(lambda+) in root. */
static void jordan_root(const double x[3], const double y[3], double z[3], double root[2])
{
  double w[3] = {v3_dot(x, x) + v3_dot(y, y), 2.0 * (x[0] * x[1] + y[0] * y[1]), 2.0 * (x[0] * x[2] + y[0] * y[2])};
  const double t = sqrt(w[1] * w[1] + w[2] * w[2]);
  /* lambda- without cancellation: lambda- lambda+ = w_0^2 - |w_T|^2 is still a difference, so clip it at round-off */
  const double low = w[0] - t;
  root[0] = low > 4.0 * DBL_EPSILON * w[0] ? sqrt(low) : 0.0;
  root[1] = sqrt(w[0] + t);
  z[0]    = 0.5 * (root[0] + root[1]);
  const double s = t > 0.0 ? 0.5 * (root[1] - root[0]) / t : 0.0;
  z[1] = s * w[1], z[2] = s * w[2];
}

static void arrow(const double x[3], double l[9])
{
  l[0] = l[4] = l[8] = x[0];
  l[1] = l[3] = x[1], l[2] = l[6] = x[2];
  l[5] = l[7] = 0.0;
}

/* d phi/dx and d phi/dy. */
static void derivatives(const double x[3], const double y[3], const double z[3], const double root[2], double dx[9], double dy[9])
{
  double lx[9], ly[9], lz[9], inverse[9];
  m3_identity(dx), m3_identity(dy);
  if (root[0] > 0.0) {
    arrow(x, lx), arrow(y, ly), arrow(z, lz);
    m3_inverse(inverse, lz);
    m3_mul(lz, inverse, lx), m3_axpy(dx, -1.0, lz);
    m3_mul(lz, inverse, ly), m3_axpy(dy, -1.0, lz);
    return;
  }
  const double size = sqrt(x[0] * x[0] + y[0] * y[0]); /* grazing, or the tip of both cones */
  for (int i = 0; i < 9; i += 4) {
    dx[i] -= size > 0.0 ? x[0] / size : M_SQRT1_2;
    dy[i] -= size > 0.0 ? y[0] / size : M_SQRT1_2;
  }
}

void one_contact_fischer_burmeister(const one_contact *o, const double b[3], const double r[3], double phi[3], double jacobian[9])
{
  const double mu = o->mu, rho = o->rho;
  double       u[3], z[3], root[2];
  m3_mulv(u, o->W, r);
  v3_add(u, u, b);
  const double t = sqrt(u[1] * u[1] + u[2] * u[2]), x[3] = {mu * r[0], r[1], r[2]},
               y[3] = {rho * (u[0] + mu * t), rho * mu * u[1], rho * mu * u[2]};
  jordan_root(x, y, z, root);
  for (int i = 0; i < 3; ++i) phi[i] = x[i] + y[i] - z[i];
  if (!jacobian) return;
  double       dx[9], dy[9], chain[9], wrt_u[9];
  const double lift[2] = {t > 0.0 ? mu * u[1] / t : 0.0, t > 0.0 ? mu * u[2] / t : 0.0};
  const double from_u[9] = {rho, rho * lift[0], rho * lift[1], 0.0, rho * mu, 0.0, 0.0, 0.0, rho * mu};
  derivatives(x, y, z, root, dx, dy);
  m3_mul(wrt_u, dy, from_u);
  m3_mul(chain, wrt_u, o->W);
  for (int i = 0; i < 3; ++i) {
    jacobian[3 * i] = chain[3 * i] + mu * dx[3 * i];
    for (int j = 1; j < 3; ++j) jacobian[3 * i + j] = chain[3 * i + j] + dx[3 * i + j];
  }
}

bool one_contact_newton(const one_contact *o, const double b[3], int n_steps, double tolerance, double r[3], double *norm)
{
  double phi[3], J[9], inverse[9], step[3], trial[3];
  one_contact_fischer_burmeister(o, b, r, phi, J);
  double size = v3_norm(phi);
  for (int k = 0; k < n_steps && size > tolerance; ++k) {
    m3_inverse(inverse, J);
    m3_mulv(step, inverse, phi);
    double s = 1.0, trial_size = INFINITY;
    int    back = 0;
    for (; back < BACKTRACKS; ++back, s *= 0.5) { /* Armijo on 1/2 |phi|^2 */
      for (int i = 0; i < 3; ++i) trial[i] = r[i] - s * step[i];
      one_contact_fischer_burmeister(o, b, trial, phi, J);
      trial_size = v3_norm(phi);
      if (trial_size <= (1.0 - 1e-4 * s) * size) break;
    }
    if (back == BACKTRACKS || !(trial_size < size)) break;
    v3_copy(r, trial);
    size = trial_size;
  }
  if (norm) *norm = size;
  return size <= tolerance;
}

/* Into the cone, where Newton's answers are up to their tolerance. */
static void clip(double mu, double r[3])
{
  const double t = sqrt(r[1] * r[1] + r[2] * r[2]);
  if (!(r[0] > 0.0)) r[0] = r[1] = r[2] = 0.0;
  else if (t > mu * r[0]) r[1] *= mu * r[0] / t, r[2] *= mu * r[0] / t;
}

/* |phi| of r after it was brought into the cone, relative to what it is a difference of: near a singular W a wrong r of small size
 * has a small |phi|, too. */
static double clipped_norm(const one_contact *o, const double b[3], double r[3])
{
  double phi[3];
  clip(o->mu, r);
  one_contact_fischer_burmeister(o, b, r, phi, NULL);
  return v3_norm(phi) / (v3_norm(r) + o->rho * v3_norm(b));
}

void one_contact_hybrid(const one_contact *o, const double b[3], double tolerance, double r[3])
{
  double tried[3], listed[3], again[3];
  /* with enormous friction u_N drowns in û_N = u_N + mu |u_T|: |phi| judges nothing */
  if (b[0] >= 0.0 || o->mu == 0.0 || o->mu > MU_ENORMOUS) {
    one_contact_enumerate(o, b, r);
    return;
  }
  v3_copy(tried, r);
  const bool   is_solved = one_contact_newton(o, b, 10, tolerance * (v3_norm(r) + o->rho * v3_norm(b)), tried, NULL);
  const double tried_norm = clipped_norm(o, b, tried);
  if (!is_solved) {
    one_contact_enumerate(o, b, listed);
    const double listed_norm = clipped_norm(o, b, listed);
    if (listed_norm < tried_norm) v3_copy(tried, listed);
    if (listed_norm > tolerance) {
      v3_copy(again, listed);
      one_contact_newton(o, b, 10, tolerance * (v3_norm(listed) + o->rho * v3_norm(b)), again, NULL);
      if (clipped_norm(o, b, again) < fmin(listed_norm, tried_norm)) v3_copy(tried, again);
    }
  }
  v3_copy(r, tried);
}
