/* Relaxation of an attachment on a level set, see penalty_relaxation.h. */
#include "contact/penalty/penalty_relaxation.h"
#include "core/math3.h"

static void penalty_relaxation_clear(double *m)
{
  if (m) m3_zero(m);
}

static relax_state inactive(const double *Z, double *Y, double *Y_Z)
{
  v3_copy(Y, Z);
  penalty_relaxation_clear(Y_Z);
  return RELAX_INACTIVE;
}

static relax_state stick(const double *X, const double *X_Z, double *Y, double *Y_Z)
{
  v3_copy(Y, X);
  penalty_relaxation_clear(Y_Z);
  if (Y_Z && X_Z) m3_copy(Y_Z, X_Z);
  return RELAX_STICK;
}

/* p = x - phi n, the closest point if phi is a distance, and its derivative I - n g^T - phi grad n. False: no normal. n [3] and
 * its derivative n_x [9] may be NULL; n_x requires p_x. */
static bool penalty_relaxation_project(const relax_surface *s, const double x[3], double *phi, double g[3], double p[3], double *p_x,
                                       double n[3], double *n_x)
{
  double hessian[9];
  *phi                = s->eval(s->context, x, g, p_x ? hessian : NULL);
  const double length = v3_norm(g);
  if (length < 1e-12) return false;
  v3_scale(n, 1.0 / length, g);
  for (int i = 0; i < 3; ++i) p[i] = x[i] - *phi * n[i];
  if (!p_x) return true;
  double nH[3];
  m3_mulv_t(nH, hessian, n);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double turn = (hessian[3 * i + j] - n[i] * nH[j]) / length;
      p_x[3 * i + j]    = (i == j) - n[i] * g[j] - *phi * turn;
      if (n_x) n_x[3 * i + j] = turn;
    }
  return true;
}

/* Unit vector of the tangential part of cone->direction, and the length of this part. False: the cone is circular here. */
static bool penalty_relaxation_along(const relax_cone *cone, const double *n, double *t, double *length)
{
  if (cone->mu_across <= 0.0 || cone->mu_across == cone->mu) return false;
  v3_copy(t, cone->direction);
  v3_axpy(t, -v3_dot(n, t), n);
  *length = v3_norm(t);
  if (!(*length > RELAX_CONE_ALONG * v3_norm(cone->direction))) return false;
  v3_scale(t, 1.0 / *length, t);
  return true;
}

/* Factor of the metric across the direction; without a direction, in all directions. */
static double penalty_relaxation_stretch(const relax_cone *cone) { return cone->mu / cone->mu_across; }
static double round_stretch(const relax_cone *cone) { return cone->mu_across > 0.0 ? fmax(1.0, penalty_relaxation_stretch(cone)) : 1.0; }

double relax_cone_length(const relax_cone *cone, const double n[3], const double d[3])
{
  double t[3], length;
  if (!penalty_relaxation_along(cone, n, t, &length)) return v3_norm(d) * round_stretch(cone);
  const double a = penalty_relaxation_stretch(cone), dt = v3_dot(d, t);
  return sqrt(fmax(0.0, a * a * (v3_dot(d, d) - dt * dt)) + dt * dt);
}

void relax_cone_gradient(const relax_cone *cone, const double n[3], const double d[3], double r, double m[3])
{
  double t[3], length;
  v3_set(m, 0.0, 0.0, 0.0);
  if (r <= 0.0) return;
  if (!penalty_relaxation_along(cone, n, t, &length)) {
    const double a = round_stretch(cone);
    v3_scale(m, a * a / r, d);
    return;
  }
  /* r^2 = a^2 |d|^2 + (1 - a^2) (d.t)^2 */
  const double a = penalty_relaxation_stretch(cone);
  v3_scale(m, a * a / r, d);
  v3_axpy(m, (1.0 - a * a) * v3_dot(d, t) / r, t);
}

/* Derivatives of r(d, n) = relax_cone_length: m = dr/dd, q = (dr/dn) n_Z. */
static void length_gradient(const relax_cone *cone, const double *n, const double *n_Z, const double *d, double r, double *m, double *q)
{
  double t[3], length, across[3], dr[3];
  v3_set(q, 0.0, 0.0, 0.0);
  relax_cone_gradient(cone, n, d, r, m);
  if (r <= 0.0 || !penalty_relaxation_along(cone, n, t, &length)) return;
  /* dt = -(1 - t t^T) (n.c + n c^T) dn / |c_t|,   c: the direction */
  const double a = penalty_relaxation_stretch(cone), dt = v3_dot(d, t), share = (1.0 - a * a) * dt / r, nc = v3_dot(n, cone->direction);
  for (int i = 0; i < 3; ++i) across[i] = d[i] - dt * t[i];
  for (int i = 0; i < 3; ++i) dr[i] = -share * (nc * across[i] + v3_dot(n, across) * cone->direction[i]) / length;
  m3_mulv_t(q, n_Z, dr);
}

/* relax_implicit_cone at a point Z inside, with the derivative X_Z [9] of an attachment that depends on Z; NULL: it does not. */
static relax_state relax_inside(const relax_surface *surface, const relax_cone *cone, const double *X, const double *X_Z, const double Z[3],
                                double Y[3], double *Y_Z)
{
  const double mu = cone->mu;
  double       phi, g[3], W[3], W_Z[9], n[3], n_Z[9];
  if (!penalty_relaxation_project(surface, Z, &phi, g, W, Y_Z ? W_Z : NULL, n, Y_Z ? n_Z : NULL))
    return X ? stick(X, X_Z, Y, Y_Z) : inactive(Z, Y, Y_Z);
  if (!X) {
    v3_copy(Y, W);
    if (Y_Z) m3_copy(Y_Z, W_Z);
    return RELAX_FIRST;
  }
  double       d[3], K[3];
  const double h = -phi;
  v3_sub(d, X, W);
  const double r = relax_cone_length(cone, n, d);
  if (r <= mu * h && mu > 0.0) return stick(X, X_Z, Y, Y_Z);

  /* On the straight line from X to W to the point K, where the force reaches the cone; then projection onto the surface. */
  const double s = r > 0.0 ? mu * h / r : 0.0;
  for (int i = 0; i < 3; ++i) K[i] = W[i] + s * d[i];
  double phi_K, g_K[3], n_K[3], D[9];
  if (!penalty_relaxation_project(surface, K, &phi_K, g_K, Y, Y_Z ? D : NULL, n_K, NULL)) {
    v3_copy(Y, K);
    m3_identity(D);
  }
  if (!Y_Z) return RELAX_SLIDE;
  /* r ds/dZ = -mu g - s dr/dZ = -mu g + s ((W_Z - X_Z)^T dr - q), for phi < 0; d (ds/dZ) = e (r ds/dZ). */
  double e[3] = {0.0, 0.0, 0.0}, dr[3], q[3], ds[3], ds_X[3] = {0.0, 0.0, 0.0}, m[9];
  if (r > 0.0) v3_scale(e, 1.0 / r, d);
  length_gradient(cone, n, n_Z, d, r, dr, q);
  m3_mulv_t(ds, W_Z, dr);
  if (X_Z) m3_mulv_t(ds_X, X_Z, dr);
  for (int j = 0; j < 3; ++j) ds[j] = s * (ds[j] - ds_X[j] - q[j]) - mu * g[j];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) m[3 * i + j] = (1.0 - s) * W_Z[3 * i + j] + e[i] * ds[j] + (X_Z ? s * X_Z[3 * i + j] : 0.0);
  m3_mul(Y_Z, D, m);
  return RELAX_SLIDE;
}

relax_state relax_implicit_cone(const relax_surface *surface, const relax_cone *cone, const double *X, const double Z[3], double Y[3],
                                double *Y_Z)
{
  /* Most candidates are outside: for them only the value of phi is computed. */
  if (surface->eval(surface->context, Z, NULL, NULL) >= 0.0) return inactive(Z, Y, Y_Z);
  return relax_inside(surface, cone, X, NULL, Z, Y, Y_Z);
}

relax_state relax_entering_cone(const relax_surface *surface, const relax_cone *cone, const double Z0[3], double phi0, const double Z[3],
                                double X[3], double Y[3], double *Y_Z)
{
  double       g[3], g_E[3], n[3], E[3], way[3], E_Z[9], D[9], X_Z[9], phi_E;
  const double phi = surface->eval(surface->context, Z, NULL, NULL);
  if (phi >= 0.0) return inactive(Z, Y, Y_Z);
  if (phi0 < 0.0) return relax_inside(surface, cone, NULL, NULL, Z, Y, Y_Z);
  (void)surface->eval(surface->context, Z, g, NULL);
  /* E = Z0 + t (Z - Z0), t = phi0 / (phi0 - phi), dt = t / (phi0 - phi) g . dZ */
  const double t = phi0 / (phi0 - phi);
  v3_sub(way, Z, Z0);
  v3_copy(E, Z0);
  v3_axpy(E, t, way);
  if (!penalty_relaxation_project(surface, E, &phi_E, g_E, X, Y_Z ? D : NULL, n, NULL))
    return relax_inside(surface, cone, NULL, NULL, Z, Y, Y_Z);
  if (Y_Z) {
    v3_scale(g, t / (phi0 - phi), g);
    m3_outer(E_Z, way, g);
    for (int j = 0; j < 3; ++j) E_Z[4 * j] += t;
    m3_mul(X_Z, D, E_Z);
  }
  return relax_inside(surface, cone, X, Y_Z ? X_Z : NULL, Z, Y, Y_Z);
}

static double eval_level_set(const void *context, const double x[3], double gradient[3], double hessian[9])
{
  const level_set *s = context;
  return gradient || hessian ? level_set_eval(s, x, gradient, hessian) : level_set_value(s, x);
}

relax_state relax_level_set(const level_set *phi, const relax_cone *cone, const double *X, const double Z[3], double Y[3], double *Y_Z)
{
  const relax_surface surface = {eval_level_set, phi};
  return relax_implicit_cone(&surface, cone, X, Z, Y, Y_Z);
}

relax_state relax_level_set_entering(const level_set *phi, const relax_cone *cone, const double Z0[3], double phi0, const double Z[3],
                                     double X[3], double Y[3], double *Y_Z)
{
  const relax_surface surface = {eval_level_set, phi};
  return relax_entering_cone(&surface, cone, Z0, phi0, Z, X, Y, Y_Z);
}
