#include "contact/augury/max_entropy.h"
#include <math.h>

enum { MOST_STEPS = 60, MOST_HALVINGS = 60 };
#define MEAN_ERROR 1e-15 /* of the points' size */

/* log sum exp(-l . y_j); w the terms over their sum. */
static double log_partition(int n, const double (*y)[2], const double l[2], double *w)
{
  double top = -INFINITY, sum = 0.0;
  for (int j = 0; j < n; ++j) top = fmax(top, -(l[0] * y[j][0] + l[1] * y[j][1]));
  for (int j = 0; j < n; ++j) sum += w[j] = exp(-(l[0] * y[j][0] + l[1] * y[j][1]) - top);
  for (int j = 0; j < n; ++j) w[j] /= sum;
  return top + log(sum); // cppcheck-suppress invalidFunctionArg; a term of the sum is exp(0)
}

bool max_entropy_weights(int n, const double (*y)[2], double *w)
{
  double l[2] = {0.0, 0.0}, size = 0.0, value = log_partition(n, y, l, w);
  for (int j = 0; j < n; ++j) size = fmax(size, hypot(y[j][0], y[j][1]));
  for (int step = 0; step < MOST_STEPS; ++step) {
    double r[2] = {0.0, 0.0}, H[3] = {0.0, 0.0, 0.0};
    for (int j = 0; j < n; ++j) {
      r[0] += w[j] * y[j][0], r[1] += w[j] * y[j][1];
      H[0] += w[j] * y[j][0] * y[j][0], H[1] += w[j] * y[j][0] * y[j][1], H[2] += w[j] * y[j][1] * y[j][1];
    }
    H[0] -= r[0] * r[0], H[1] -= r[0] * r[1], H[2] -= r[1] * r[1];
    const double error = hypot(r[0], r[1]), det = H[0] * H[2] - H[1] * H[1];
    if (error <= MEAN_ERROR * size) return true;
    if (!(det > 0.0)) return false;
    const double d[2] = {(H[2] * r[0] - H[1] * r[1]) / det, (H[0] * r[1] - H[1] * r[0]) / det}; /* gradient of log Z is -r */
    double       share = 1.0;
    for (int k = 0;; ++k, share *= 0.5) {
      const double trial[2] = {l[0] + share * d[0], l[1] + share * d[1]}, there = log_partition(n, y, trial, w);
      const bool   is_round_off = fabs(there - value) <= 1e-14 * fmax(1.0, fabs(value));
      if (there < value || is_round_off) {
        l[0] = trial[0], l[1] = trial[1], value = there;
        break;
      }
      if (k == MOST_HALVINGS) return false;
    }
    if (step + 1 == MOST_STEPS) return error <= 1e3 * MEAN_ERROR * size;
  }
  return false;
}
