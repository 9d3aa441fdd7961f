/* One element of a super-helix (super_helix.h) in its own frame, at arc length s, with derivatives with respect to its curvatures k [3]:
 *
 *    A(s) = s + s^2 C_2 [k]x + s^3 C_3 [k]x^2,   C_k = C_k(y),   y = s^2 |k|^2
 *
 * The derivative of A w with respect to k_j, for a constant w, is
 *    B_j = s^2 C_2 e_j x w + 2 s^4 C_2' k_j (k x w) + s^3 C_3 (e_j (k.w) + k w_j - 2 w k_j) + 2 s^5 C_3' k_j k x (k x w)
 * Used by super_helix.c. */
#ifndef SS_DISCRETIZE_ROD_SUPER_HELIX_ELEMENT_H
#define SS_DISCRETIZE_ROD_SUPER_HELIX_ELEMENT_H
#include "core/math3.h"

/* Stumpff functions C_k(y) = sum_j (-y)^j / (2 j + k)!, k = 2 ... 7: integrals of a rotation with a constant rate.
 *
 * With y = x^2: C_2 = (1 - cos x) / x^2, C_3 = (x - sin x) / x^3, and so on; C_k = 1 / k! - y C_(k+2); dC_k/dy = (k C_(k+2) -
 * C_(k+1)) / 2. Hence derivatives of C_2 and C_3 need only functions of higher k. These formulas have no cancellation near y = 0. */
enum { STUMPFF_COUNT = 8, STUMPFF_TERMS = 10 };

/* C[k] for k = 2 ... 7 at y >= 0; C[0] and C[1] are not written. Relative errors of about 1e-15 (C_6, C_7: 1e-14). */
static inline void stumpff(double y, double C[STUMPFF_COUNT])
{
  static const double factorial[] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0};
  if (y < 4.0) {
    /* The series, evaluated from its last term; the first omitted term is 2e-18 of the first. */
    double even = 1.0, odd = 1.0;
    for (int j = STUMPFF_TERMS; j > 0; --j) {
      even = 1.0 - y / ((2 * j + 5) * (2 * j + 6)) * even;
      odd  = 1.0 - y / ((2 * j + 6) * (2 * j + 7)) * odd;
    }
    C[6] = even / factorial[6], C[7] = odd / factorial[7];
    for (int k = 5; k >= 2; --k) C[k] = 1.0 / factorial[k] - y * C[k + 2];
  } else {
    const double x = sqrt(y);
    C[2] = (1.0 - cos(x)) / y, C[3] = (x - sin(x)) / (x * y);
    for (int k = 4; k < STUMPFF_COUNT; ++k) C[k] = (1.0 / factorial[k - 2] - C[k - 2]) / y;
  }
}

/* The four Gauss points and their weights on [0, 1]. */
static const double helix_gauss_place[4]  = {0.069431844202973712388, 0.33000947820757186760, 0.66999052179242813240,
                                             0.93056815579702628761};
static const double helix_gauss_weight[4] = {0.17392742256872692869, 0.32607257743127307131, 0.32607257743127307131,
                                             0.17392742256872692869};

typedef struct {
  double s, k[3], C[STUMPFF_COUNT]; /* arc length, curvatures, Stumpff functions */
  double turn[9], frame[9];         /* A, exp(s [k]x) */
  double place[3];                  /* A e_0 */
} helix_element;

/* Set all members for curvatures k at arc length s. */
static inline void helix_element_at(helix_element *h, const double k[3], double s)
{
  const double kk = v3_dot(k, k), y = s * s * kk;
  double       K[9];
  h->s = s;
  v3_copy(h->k, k);
  stumpff(y, h->C);
  m3_skew(K, k);
  /* [k]x^2 = k k^T - |k|^2 */
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double square = k[i] * k[j] - (i == j) * kk;
      h->turn[3 * i + j]  = s * ((i == j) + s * h->C[2] * K[3 * i + j] + s * s * h->C[3] * square);
      h->frame[3 * i + j] = (i == j) + s * (1.0 - y * h->C[3]) * K[3 * i + j] + s * s * h->C[2] * square;
    }
  for (int i = 0; i < 3; ++i) h->place[i] = h->turn[3 * i];
}

static inline double helix_d2(const helix_element *h) { return h->C[4] - 0.5 * h->C[3]; }       /* dC_2/dy */
static inline double helix_d3(const helix_element *h) { return 1.5 * h->C[5] - 0.5 * h->C[4]; } /* dC_3/dy */

/* B [9]: column j is d(A w)/dk_j. */
static inline void helix_element_derivative(const helix_element *h, const double w[3], double B[9])
{
  const double *k = h->k, s = h->s, a = s * s * h->C[2], b = 2.0 * s * s * s * s * helix_d2(h), c = s * s * s * h->C[3],
               d = 2.0 * s * s * s * s * s * helix_d3(h), kw = v3_dot(k, w);
  double W[9], kxw[3], kkw[3];
  m3_skew(W, w);
  v3_cross(kxw, k, w);
  v3_cross(kkw, k, kxw);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      B[3 * i + j] = -a * W[3 * i + j] + k[j] * (b * kxw[i] + d * kkw[i]) + c * ((i == j) * kw + k[i] * w[j] - 2.0 * w[i] * k[j]);
}

/* Q [9] = d(place)/dk. */
static inline void helix_element_motion(const helix_element *h, double Q[9])
{
  const double e0[3] = {1.0, 0.0, 0.0};
  helix_element_derivative(h, e0, Q);
}

/* H [9] += f . d^2(place)/dk_i dk_j */
static inline void helix_element_second(const helix_element *h, const double f[3], double H[9])
{
  const double *k = h->k, *C = h->C, s = h->s, s3 = s * s * s, s5 = s3 * s * s, d2 = helix_d2(h), d3 = helix_d3(h);
  const double  d4 = 2.0 * C[6] - 0.5 * C[5], d5 = 2.5 * C[7] - 0.5 * C[6];
  const double  dd2 = d4 - 0.5 * d3, dd3 = 1.5 * d5 - 0.5 * d4, w[3] = {1.0, 0.0, 0.0};
  double        kxw[3], kkw[3], wxf[3];
  v3_cross(kxw, k, w);
  v3_cross(kkw, k, kxw);
  v3_cross(wxf, w, f); /* f . (e x w) = e . (w x f) */
  const double kw = k[0], fw = f[0], fk = v3_dot(f, k), f1 = v3_dot(f, kxw), f2 = v3_dot(f, kkw);
  double       g[3]; /* f . (e_i (k.w) + k w_i - 2 w k_i) */
  for (int i = 0; i < 3; ++i) g[i] = f[i] * kw + fk * w[i] - 2.0 * fw * k[i];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double same = i == j;
      H[3 * i + j] += 2.0 * s * s3 * d2 * (same * f1 + k[j] * wxf[i] + k[i] * wxf[j]) +
                      s3 * C[3] * (f[j] * w[i] + f[i] * w[j] - 2.0 * fw * same) + 2.0 * s5 * d3 * (k[i] * g[j] + k[j] * g[i] + same * f2) +
                      4.0 * k[i] * k[j] * (s3 * s3 * dd2 * f1 + s5 * s * s * dd3 * f2);
    }
}
#endif
