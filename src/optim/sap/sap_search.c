#include "optim/sap/sap_search.h"
#include "core/team.h"
#include <math.h>

static const double LONGEST = 1.5, EXACT = 1e-8, SHRINK = 0.8, ARMIJO = 1e-4;
enum { EXACT_STEPS = 100, BACKTRACKS = 40, PARALLEL_CONTACTS = 512 };

double sap_ray_evaluate(sap_ray *ray, double a, double *slope, double *curve)
{
  const int64_t n = sap_terms_size(ray->terms);
  ++ray->n_evaluations;
  #pragma omp parallel for simd schedule(static) if (n >= PARALLEL_CONTACTS)
  for (int64_t i = 0; i < 3 * n; ++i) ray->trial[i] = ray->u[i] + a * ray->du[i];
  sap_laws(ray->terms, ray->trial, ray->cost, ray->r, curve ? ray->G : NULL);
  const double cost = a * ray->slope + 0.5 * a * a * ray->curve + team_sum(n, ray->cost);
  if (slope) *slope = ray->slope + a * ray->curve - team_dot(3 * n, ray->du, ray->r);
  if (curve) {
    #pragma omp parallel for schedule(static) if (n >= PARALLEL_CONTACTS)
    for (int64_t c = 0; c < n; ++c) {
      const double *d = ray->du + 3 * c, *G = ray->G + 9 * c;
      ray->cost[c] = d[0] * (G[0] * d[0] + G[1] * d[1] + G[2] * d[2]) + d[1] * (G[3] * d[0] + G[4] * d[1] + G[5] * d[2]) +
                     d[2] * (G[6] * d[0] + G[7] * d[1] + G[8] * d[2]);
    }
    *curve = ray->curve + team_sum(n, ray->cost);
  }
  return cost;
}

/* Newton's method on the slope, which rises, kept between two places of different sign. */
double sap_search_exact(sap_ray *ray, double start)
{
  double low = 0.0, high = LONGEST, slope, curve;
  sap_ray_evaluate(ray, high, &slope, &curve);
  if (slope <= 0.0) return high;
  double a = fmin(-start / curve, high);
  for (int k = 0; k < EXACT_STEPS; ++k) {
    sap_ray_evaluate(ray, a, &slope, &curve);
    if (fabs(slope) <= -EXACT * start) break;
    if (slope < 0.0) low = a;
    else high = a;
    if (high - low <= EXACT * high) break;
    a -= slope / curve;
    if (!(a > low && a < high)) a = low + 0.5 * (high - low);
  }
  return a;
}

double sap_search_backtracking(sap_ray *ray, double start)
{
  const double at_start = sap_ray_evaluate(ray, 0.0, NULL, NULL);
  double       a = 1.0 / SHRINK, cost = sap_ray_evaluate(ray, a, NULL, NULL);
  for (int k = 0; k < BACKTRACKS; ++k) {
    const double next = a * SHRINK, lower = sap_ray_evaluate(ray, next, NULL, NULL);
    if (cost < at_start + ARMIJO * a * start && lower >= cost) break;
    a = next, cost = lower;
  }
  return a;
}
