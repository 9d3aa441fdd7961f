/* Implementation of der_vertex.h: curvatures and twist at a vertex of a discrete elastic rod. */
#include "discretize/rod/der_vertex.h"
#include "core/math3.h"
#include <stdbool.h>

int der_vertex_set(der_vertex *v)
{
  const double *t0 = v->e[0].t, *t1 = v->e[1].t;
  double        cross[3], sum[3];
  v->chi = 1.0 + v3_dot(t0, t1);
  if (!(v->chi > 1e-12)) return 0;
  v3_cross(cross, t0, t1);
  v3_scale(v->kb, 2.0 / v->chi, cross);
  v3_add(sum, t0, t1);
  v3_scale(v->tt, 1.0 / v->chi, sum);
  v->kappa[0] = 0.5 * (v3_dot(v->e[0].m2, v->kb) + v3_dot(v->e[1].m2, v->kb));
  v->kappa[1] = -0.5 * (v3_dot(v->e[0].m1, v->kb) + v3_dot(v->e[1].m1, v->kb));
  return 1;
}

void der_vertex_gradient(const der_vertex *v, double g[DER_STRAINS][DER_VARIABLES])
{
  const der_edge *e0 = &v->e[0], *e1 = &v->e[1];
  double          m1[3], m2[3], a[3], b[3];
  v3_add(m1, e0->m1, e1->m1);
  v3_add(m2, e0->m2, e1->m2);
  v3_scale(m1, 1.0 / v->chi, m1);
  v3_scale(m2, 1.0 / v->chi, m2);
  v3_cross(a, e1->t, m2);
  v3_cross(b, e0->t, m2);
  for (int i = 0; i < 3; ++i) {
    g[0][i]     = (-v->kappa[0] * v->tt[i] + a[i]) / e0->length;
    g[0][3 + i] = (-v->kappa[0] * v->tt[i] - b[i]) / e1->length;
  }
  v3_cross(a, e1->t, m1);
  v3_cross(b, e0->t, m1);
  for (int i = 0; i < 3; ++i) {
    g[1][i]     = (-v->kappa[1] * v->tt[i] - a[i]) / e0->length;
    g[1][3 + i] = (-v->kappa[1] * v->tt[i] + b[i]) / e1->length;
    g[2][i]     = 0.5 * v->kb[i] / e0->length;
    g[2][3 + i] = 0.5 * v->kb[i] / e1->length;
  }
  for (int j = 0; j < 2; ++j) {
    g[0][6 + j] = -0.5 * v3_dot(v->e[j].m1, v->kb);
    g[1][6 + j] = -0.5 * v3_dot(v->e[j].m2, v->kb);
    g[2][6 + j] = j == 0 ? -1.0 : 1.0;
  }
}

/* H block (p, q) of edges += s a b^T. */
static void add_outer(double H[DER_VARIABLES][DER_VARIABLES], int p, int q, double s, const double a[3], const double b[3])
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * p + i][3 * q + j] += s * a[i] * b[j];
}

/* Block (p, q) of H += s [a]x. */
static void add_skew(double H[DER_VARIABLES][DER_VARIABLES], int p, int q, double s, const double a[3])
{
  double A[9];
  m3_skew(A, a);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * p + i][3 * q + j] += s * A[3 * i + j];
}

/* H block (p, p) += s (I - t t^T). */
static void add_across(double H[DER_VARIABLES][DER_VARIABLES], int p, double s, const double t[3])
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[3 * p + i][3 * p + j] += s * ((i == j) - t[i] * t[j]);
}

/* Add w times the second derivative of a curvature kappa = sign n.kappa b / 2. n is the sum of the directors n_0 and n_1 across the bend (m2 with
 * sign 1, m1 with sign -1); n/chi = tilde. o_0 and o_1 are the derivatives of n_0, n_1: d n_j / d theta_j = -sign o_j. */
static void add_curvature(const der_vertex *v, double w, double sign, double kappa, const double *const n[2], const double *const o[2],
                          double H[DER_VARIABLES][DER_VARIABLES])
{
  const double *t0 = v->e[0].t, *t1 = v->e[1].t, *tt = v->tt, l0 = v->e[0].length, l1 = v->e[1].length, chi = v->chi;
  double        tilde[3], a0[3], a1[3];
  v3_add(tilde, n[0], n[1]);
  v3_scale(tilde, sign / chi, tilde);
  v3_cross(a0, t1, tilde); /* d kappa / d e0 = (-kappa tt + a0) / l0, d kappa / d e1 = (-kappa tt - a1) / l1 */
  v3_cross(a1, t0, tilde);
  /* Twice with respect to one edge. */
  add_outer(H, 0, 0, 2.0 * w * kappa / (l0 * l0), tt, tt);
  add_outer(H, 0, 0, -w / (l0 * l0), a0, tt);
  add_outer(H, 0, 0, -w / (l0 * l0), tt, a0);
  add_across(H, 0, -w * kappa / (chi * l0 * l0), t0);
  add_outer(H, 0, 0, 0.25 * w * sign / (l0 * l0), v->kb, n[0]);
  add_outer(H, 0, 0, 0.25 * w * sign / (l0 * l0), n[0], v->kb);
  add_outer(H, 1, 1, 2.0 * w * kappa / (l1 * l1), tt, tt);
  add_outer(H, 1, 1, w / (l1 * l1), a1, tt);
  add_outer(H, 1, 1, w / (l1 * l1), tt, a1);
  add_across(H, 1, -w * kappa / (chi * l1 * l1), t1);
  add_outer(H, 1, 1, 0.25 * w * sign / (l1 * l1), v->kb, n[1]);
  add_outer(H, 1, 1, 0.25 * w * sign / (l1 * l1), n[1], v->kb);
  /* With respect to both edges. */
  double       M[DER_VARIABLES][DER_VARIABLES] = {{0.0}};
  const double s                               = w / (l0 * l1);
  for (int i = 0; i < 3; ++i) M[i][3 + i] = -s * kappa / chi;
  add_outer(M, 0, 1, -s * kappa / chi, t0, t1);
  add_outer(M, 0, 1, 2.0 * s * kappa, tt, tt);
  add_outer(M, 0, 1, -s, a0, tt);
  add_outer(M, 0, 1, s, tt, a1);
  add_skew(M, 0, 1, -s, tilde);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[i][3 + j] += M[i][3 + j], H[3 + j][i] += M[i][3 + j];
  /* With respect to angles: d n_j = -sign o_j, so that d tilde = -o_j / chi and d kappa = -o_j.kb / 2. */
  for (int j = 0; j < 2; ++j) {
    double c0[3], c1[3];
    v3_cross(c0, t1, o[j]);
    v3_cross(c1, t0, o[j]);
    const double along = 0.5 * v3_dot(o[j], v->kb);
    for (int i = 0; i < 3; ++i) {
      const double d0 = w * (along * tt[i] - c0[i] / chi) / l0, d1 = w * (along * tt[i] + c1[i] / chi) / l1;
      H[i][6 + j] += d0, H[6 + j][i] += d0;
      H[3 + i][6 + j] += d1, H[6 + j][3 + i] += d1;
    }
    H[6 + j][6 + j] += -0.5 * w * sign * v3_dot(n[j], v->kb);
  }
}

void der_vertex_hessian(const der_vertex *v, const double weight[DER_STRAINS], double H[DER_VARIABLES][DER_VARIABLES])
{
  const double *const m1[2] = {v->e[0].m1, v->e[1].m1}, *const m2[2] = {v->e[0].m2, v->e[1].m2};
  const double l0 = v->e[0].length, l1 = v->e[1].length, w = weight[2];
  double       sum[3];
  add_curvature(v, weight[0], 1.0, v->kappa[0], m2, m1, H);
  add_curvature(v, weight[1], -1.0, v->kappa[1], m1, m2, H);
  v3_add(sum, v->e[0].t, v->tt);
  add_outer(H, 0, 0, -0.25 * w / (l0 * l0), v->kb, sum);
  add_outer(H, 0, 0, -0.25 * w / (l0 * l0), sum, v->kb);
  v3_add(sum, v->e[1].t, v->tt);
  add_outer(H, 1, 1, -0.25 * w / (l1 * l1), v->kb, sum);
  add_outer(H, 1, 1, -0.25 * w / (l1 * l1), sum, v->kb);
  double M[DER_VARIABLES][DER_VARIABLES] = {{0.0}};
  add_skew(M, 0, 1, w / (l0 * l1 * v->chi), v->e[0].t);
  add_outer(M, 0, 1, -0.5 * w / (l0 * l1), v->kb, v->tt);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H[i][3 + j] += M[i][3 + j], H[3 + j][i] += M[i][3 + j];
}

/* h = 2 atan(r/2) / r, J = h I + p kappa kappa^T, p = (q - h) / r^2 with q = 1 / (1 + r^2/4), dp/dr / r = -(q^2/2 + 3 p) / r^2.
 * Below r = 0.1 these suffer from cancellation, and their series are used. */
void der_bend_angle(const double kappa[2], double s[2], double J[2][2], const double moment[2], double D[2][2])
{
  const double rr = kappa[0] * kappa[0] + kappa[1] * kappa[1], r = sqrt(rr), q = 1.0 / (1.0 + 0.25 * rr);
  const bool   is_small = r < 0.1;
  const double h =
      is_small ? 1.0 - rr / 12.0 * (1.0 - 3.0 * rr / 20.0 * (1.0 - 5.0 * rr / 28.0 * (1.0 - 7.0 * rr / 36.0))) : 2.0 * atan(0.5 * r) / r;
  const double p = is_small ? -1.0 / 6.0 + rr * (1.0 / 20.0 - rr * (3.0 / 224.0 - rr / 288.0)) : (q - h) / rr;
  const double t = is_small ? 1.0 / 10.0 - rr * (3.0 / 56.0 - rr / 48.0) : -(0.5 * q * q + 3.0 * p) / rr;
  for (int k = 0; k < 2; ++k) {
    s[k] = h * kappa[k];
    for (int l = 0; l < 2; ++l) J[k][l] = (k == l ? h : 0.0) + p * kappa[k] * kappa[l];
  }
  if (!moment) return;
  const double along = moment[0] * kappa[0] + moment[1] * kappa[1];
  for (int l = 0; l < 2; ++l)
    for (int m = 0; m < 2; ++m)
      D[l][m] = p * (moment[l] * kappa[m] + moment[m] * kappa[l] + (l == m ? along : 0.0)) + t * along * kappa[l] * kappa[m];
}
