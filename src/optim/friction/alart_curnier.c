#include "optim/friction/alart_curnier.h"
#include "core/math3.h"

void alart_curnier_rho(const double W[9], double rho[2])
{
  const double t = W[4] + W[8];
  rho[0]         = 1.0 / W[0];
  rho[1]         = t > 0.0 ? 2.0 / t : rho[0];
}

/* P(y) - r_T, with y = r_T - rho_T u_T outside the disc of radius `disc` = mu R: d = y/|y|, k = mu R/|y|, Pi = I - d d^T. */
static void slide(double mu, double rho_T, double disc, const double y[2], double size, const double r[3], double f[3], double A[9],
                  double B[9])
{
  const double d[2] = {y[0] / size, y[1] / size}, k = disc / size;
  f[1] = disc * d[0] - r[1];
  f[2] = disc * d[1] - r[2];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double part      = k * ((i == j) - d[i] * d[j]);
      A[3 * (i + 1) + j + 1] = -rho_T * part;
      B[3 * (i + 1) + j + 1] = part - (i == j);
    }
    B[3 * (i + 1)] = mu * d[i];
  }
}

bool alart_curnier_contact(alart_curnier_radius radius, double mu, const double rho[2], const double u[3], const double r[3], double f[3],
                           double A[9], double B[9])
{
  const double normal = r[0] - rho[0] * u[0], y[2] = {r[1] - rho[1] * u[1], r[2] - rho[1] * u[2]}, size = sqrt(y[0] * y[0] + y[1] * y[1]);
  const bool   is_pressed = normal > 0.0, is_augmented = radius == ALART_CURNIER_AUGMENTED;
  const double disc = mu * fmax(0.0, is_augmented ? normal : r[0]);
  m3_zero(A);
  m3_zero(B);
  f[0] = is_pressed ? -rho[0] * u[0] : -r[0];
  if (is_pressed) A[0] = -rho[0];
  else B[0] = -1.0;
  if (disc <= 0.0) {
    f[1] = -r[1], f[2] = -r[2];
    B[4] = B[8] = -1.0;
    return is_pressed;
  }
  if (size <= disc) {
    f[1] = -rho[1] * u[1], f[2] = -rho[1] * u[2];
    A[4] = A[8] = -rho[1];
    return true;
  }
  slide(mu, rho[1], disc, y, size, r, f, A, B);
  if (is_augmented)
    for (int i = 1; i < 3; ++i) A[3 * i] = -rho[0] * B[3 * i];
  return true;
}

double alart_curnier(alart_curnier_radius radius, const friction_problem *p, const double *rho, const double *u, const double *r, double *f,
                     double *A, double *B, bool *is_active)
{
  double sum = 0.0;
  for (int64_t a = 0; a < p->n; ++a) {
    is_active[a] = alart_curnier_contact(radius, p->mu[a], rho + 2 * a, u + 3 * a, r + 3 * a, f + 3 * a, A + 9 * a, B + 9 * a);
    sum += v3_dot(f + 3 * a, f + 3 * a);
  }
  return 0.5 * sum;
}
