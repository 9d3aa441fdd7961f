/* Implementation of corde.h: energies of the CORDE rod model and their derivatives. */
#include "discretize/rod/corde.h"
#include "core/math3.h"
#include "core/quaternion.h"

/* Smallest 1 + cos(phi / 2) of two frames at an angle phi: that of 343 degrees. */
#define CLOSEST 1e-2

double corde_stretch(const double e[3], double length, double stiffness, bool is_definite, double *gradient, double *hessian)
{
  const double now = v3_norm(e), strain = now / length - 1.0, force = stiffness * strain;
  if (gradient) v3_scale(gradient, force / now, e);
  if (hessian) {
    const double across = (is_definite && force < 0.0 ? 0.0 : force) / now, along = stiffness / length - across;
    m3_outer(hessian, e, e);
    for (int k = 0; k < 9; ++k) hessian[k] *= along / (now * now);
    for (int k = 0; k < 9; k += 4) hessian[k] += across;
  }
  return 0.5 * stiffness * length * strain * strain;
}

/* ---- strain between two frames ------------------------------------------------------------------------------------------- */

/* The relative_quaternion quaternion P = conj((1, a) q0) (1, b) q1 with a, b = theta / 2: P = T (1 + a.b, b - a - a x b), bilinear. T [4][4] by its columns
 * conj(q0) (1 or e_k) q1. value [4], first [4][6] by (a, b), cross [4][9]: by a_i and b_j. */
static void relative_quaternion(const double q0[4], const double a[3], const double q1[4], const double b[3], double value[4],
                                double first[4][6], double cross[4][9])
{
  double inverse[4], T[4][4], s = 1.0 + v3_dot(a, b), w[3], axb[3], skew_a[9], skew_b[9];
  quaternion_conjugate(inverse, q0);
  for (int k = 0; k < 4; ++k) {
    const double unit[4] = {k == 0, k == 1, k == 2, k == 3};
    double       part[4];
    quaternion_multiply(part, inverse, unit);
    quaternion_multiply(T[k], part, q1);
  }
  v3_cross(axb, a, b);
  for (int k = 0; k < 3; ++k) w[k] = b[k] - a[k] - axb[k];
  m3_skew(skew_a, a);
  m3_skew(skew_b, b);
  for (int p = 0; p < 4; ++p) {
    const double t[3] = {T[1][p], T[2][p], T[3][p]};
    value[p]          = s * T[0][p] + v3_dot(w, t);
    /* dw/da = -1 + [b]x, dw/db = 1 - [a]x */
    for (int j = 0; j < 3; ++j) {
      double by_a = -t[j], by_b = t[j];
      for (int i = 0; i < 3; ++i) by_a += t[i] * skew_b[3 * i + j], by_b -= t[i] * skew_a[3 * i + j];
      first[p][j]     = b[j] * T[0][p] + by_a;
      first[p][3 + j] = a[j] * T[0][p] + by_b;
    }
    m3_skew(cross[p], t); /* -t . (e_i x e_j) = [t]x_ij */
    for (int k = 0; k < 9; k += 4) cross[p][k] += T[0][p];
  }
}

/* All derivatives are with respect to (a, b); u = factor P_v / (|(1, a)| |(1, b)| + P_0). */
typedef struct {
  double u[3], first[3][6], denominator, denominator_first[6], P_cross[4][9], a[3], b[3], na, nb, factor;
} strain;

static void strain_at(strain *s, const double q0[4], const double theta0[3], const double q1[4], const double theta1[3], double length)
{
  double P[4], P_first[4][6];
  v3_scale(s->a, 0.5, theta0), v3_scale(s->b, 0.5, theta1);
  relative_quaternion(q0, s->a, q1, s->b, P, P_first, s->P_cross);
  s->na = sqrt(1.0 + v3_dot(s->a, s->a)), s->nb = sqrt(1.0 + v3_dot(s->b, s->b));
  s->denominator = s->na * s->nb + P[0];
  s->factor      = 4.0 / length;
  for (int j = 0; j < 3; ++j) {
    s->denominator_first[j]     = s->a[j] * s->nb / s->na + P_first[0][j];
    s->denominator_first[3 + j] = s->b[j] * s->na / s->nb + P_first[0][3 + j];
  }
  /* Frames almost one full turn apart: strains are nearly infinite, and their squares dominate all other energies. */
  const double scale = s->denominator > CLOSEST * s->na * s->nb ? 1.0 / s->denominator : NAN;
  for (int k = 0; k < 3; ++k) {
    s->u[k] = s->factor * P[1 + k] * scale;
    for (int j = 0; j < 6; ++j) s->first[k][j] = (s->factor * P_first[1 + k][j] - s->u[k] * s->denominator_first[j]) * scale;
  }
}

/* H [36] += sum_k f_k d^2 u_k, symmetric part. */
static void strain_second(const strain *s, const double f[3], double H[36])
{
  double       N[36], fu = 0.0, g[6] = {0.0};
  const double ra = s->nb / s->na, rb = s->na / s->nb, raa = s->nb / (s->na * s->na * s->na), rbb = s->na / (s->nb * s->nb * s->nb);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) { /* second derivative of the denominator */
      N[6 * i + j]           = (i == j) * ra - raa * s->a[i] * s->a[j];
      N[6 * (3 + i) + 3 + j] = (i == j) * rb - rbb * s->b[i] * s->b[j];
      N[6 * i + 3 + j] = N[6 * (3 + j) + i] = s->a[i] * s->b[j] / (s->na * s->nb) + s->P_cross[0][3 * i + j];
    }
  for (int k = 0; k < 3; ++k) {
    fu += f[k] * s->u[k];
    for (int j = 0; j < 6; ++j) g[j] += f[k] * s->first[k][j];
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      double P = 0.0;
      for (int k = 0; k < 3 && i / 3 != j / 3; ++k)
        P += f[k] * (i < 3 ? s->P_cross[1 + k][3 * i + j - 3] : s->P_cross[1 + k][3 * j + i - 3]);
      H[6 * i + j] +=
          (s->factor * P - g[i] * s->denominator_first[j] - g[j] * s->denominator_first[i] - fu * N[6 * i + j]) / s->denominator;
    }
}

void corde_curvature(const double q0[4], const double theta0[3], const double q1[4], const double theta1[3], double length, double u[3])
{
  strain s;
  strain_at(&s, q0, theta0, q1, theta1, length);
  v3_copy(u, s.u);
}

double corde_bend(const double q0[4], const double theta0[3], const double q1[4], const double theta1[3], double length,
                  const double stiffness[3], const double rest[3], bool is_definite, double *gradient, double *hessian)
{
  strain s;
  double energy = 0.0, moment[3];
  strain_at(&s, q0, theta0, q1, theta1, length);
  for (int k = 0; k < 3; ++k) {
    moment[k] = length * stiffness[k] * (s.u[k] - rest[k]);
    energy += 0.5 * moment[k] * (s.u[k] - rest[k]);
  }
  for (int i = 0; i < 6 && gradient; ++i) {
    gradient[i] = 0.0;
    for (int k = 0; k < 3; ++k) gradient[i] += 0.5 * moment[k] * s.first[k][i]; /* a = theta / 2 */
  }
  if (!hessian) return energy;
  memset(hessian, 0, 36 * sizeof *hessian);
  if (!is_definite) strain_second(&s, moment, hessian);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      for (int k = 0; k < 3; ++k) hessian[6 * i + j] += length * stiffness[k] * s.first[k][i] * s.first[k][j];
      hessian[6 * i + j] *= 0.25;
    }
  return energy;
}

/* ---- directors ------------------------------------------------------------------------------------------------------------------ */

/* d = ((1 - a.a) d0 + 2 a (a.d0) + 2 a x d0) / (1 + a.a), a = theta / 2; first [9]: column j by a_j. */
static void turn_director(const double d0[3], const double a[3], double d[3], double first[9])
{
  const double aa = v3_dot(a, a), ad = v3_dot(a, d0), n = 1.0 / (1.0 + aa);
  double       c[3], D[9];
  v3_cross(c, a, d0);
  m3_skew(D, d0);
  for (int i = 0; i < 3; ++i) d[i] = n * ((1.0 - aa) * d0[i] + 2.0 * (a[i] * ad + c[i]));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) first[3 * i + j] = 2.0 * n * (-a[j] * d0[i] + (i == j) * ad + a[i] * d0[j] - D[3 * i + j] - a[j] * d[i]);
}

/* H [9] = f . d^2 d / da_i da_j, from d and its first derivative. */
static void turn_director_second(const double d0[3], const double a[3], const double d[3], const double first[9], const double f[3],
                                 double H[9])
{
  const double n = 2.0 / (1.0 + v3_dot(a, a)), fd0 = v3_dot(f, d0), fd = v3_dot(f, d);
  double       g[3];
  m3_mulv_t(g, first, f);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * i + j] = n * (-(i == j) * (fd0 + fd) + f[j] * d0[i] + f[i] * d0[j] - a[j] * g[i] - a[i] * g[j]);
}

double corde_parallel(const double e[3], const double d0[3], const double theta[3], double stiffness_length, bool is_definite,
                      double *gradient, double *hessian)
{
  const double length = v3_norm(e), K = stiffness_length;
  double       t[3], a[3], d[3], D[9], off[3], by_a[3];
  v3_scale(t, 1.0 / length, e);
  v3_scale(a, 0.5, theta);
  turn_director(d0, a, d, D);
  v3_sub(off, t, d);
  const double c = v3_dot(t, d), energy = 0.5 * K * v3_dot(off, off); /* as a square, because 1 - c suffers from cancellation */
  m3_mulv_t(by_a, D, t);
  for (int i = 0; i < 3 && gradient; ++i) {
    gradient[i]     = -K * (d[i] - c * t[i]) / length;
    gradient[3 + i] = -0.5 * K * by_a[i];
  }
  if (!hessian) return energy;
  double second[9], ee, aa;
  if (is_definite) m3_mul_tn(second, D, D);
  else turn_director_second(d0, a, d, D, t, second);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double across = (i == j) - t[i] * t[j];
      if (is_definite) ee = across, aa = second[3 * i + j];
      else ee = t[i] * (d[j] - c * t[j]) + t[j] * (d[i] - c * t[i]) + c * across, aa = -second[3 * i + j];
      hessian[6 * i + j]           = K * ee / (length * length);
      hessian[6 * (3 + i) + 3 + j] = 0.25 * K * aa;
      /* (1 - t t^T) dd/da: valid for both forms, since |t| is constant */
      const double mixed     = -0.5 * K * (D[3 * i + j] - t[i] * by_a[j]) / length;
      hessian[6 * i + 3 + j] = hessian[6 * (3 + j) + i] = mixed;
    }
  return energy;
}

double corde_director(const double d0[3], const double target[3], const double theta[3], double c, bool is_definite, double *gradient,
                      double *hessian)
{
  double a[3], d[3], D[9], off[3], second[9];
  v3_scale(a, 0.5, theta);
  turn_director(d0, a, d, D);
  v3_sub(off, d, target);
  if (gradient) {
    m3_mulv_t(gradient, D, off);
    v3_scale(gradient, 0.5 * c, gradient);
  }
  if (hessian) {
    m3_mul_tn(hessian, D, D);
    if (!is_definite) {
      turn_director_second(d0, a, d, D, off, second);
      m3_axpy(hessian, 1.0, second);
    }
    for (int k = 0; k < 9; ++k) hessian[k] *= 0.25 * c;
  }
  return 0.5 * c * v3_dot(off, off);
}
