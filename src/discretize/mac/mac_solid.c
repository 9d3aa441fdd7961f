/* Implementation of mac_solid.h: distances of rigid bodies on the staggered grid. */
#include "discretize/mac/mac_solid.h"
#include "core/math3.h"

/* Bounds of a rotated box: centre +- |R| extent. */
static void add_bounds(const mac_solid *s, const level_set *set, double low[3], double high[3])
{
  double min[3], max[3];
  level_set_bounds(set, min, max);
  for (int a = 0; a < 3; ++a) {
    double from = s->frame.c[a], to = s->frame.c[a];
    for (int b = 0; b < 3; ++b) {
      const double r = s->frame.R[3 * a + b];
      if (r == 0.0) continue; /* 0 times infinity */
      from += r > 0.0 ? r * min[b] : r * max[b];
      to += r > 0.0 ? r * max[b] : r * min[b];
    }
    if (from < low[a]) low[a] = from;
    if (to > high[a]) high[a] = to;
  }
}

mac_placed mac_solid_placed(const mac_solid *s, const mac_grid *g)
{
  mac_placed p = {.solid = s, .low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
  for (int l = 0; l < s->n; ++l) add_bounds(s, s->sets[l], p.low, p.high);
  for (int a = 0; a < 3; ++a)
    if (mac_grid_is_periodic(g, a) && p.high[a] - p.low[a] < g->n[a] * g->h) p.period[a] = g->n[a] * g->h;
  return p;
}

static double image_shift(const mac_placed *p, int axis, double x)
{
  const double period = p->period[axis];
  return period > 0.0 ? period * round((x - 0.5 * (p->low[axis] + p->high[axis])) / period) : 0.0;
}

void mac_placed_arm(const mac_placed *p, const double x[3], double arm[3])
{
  for (int a = 0; a < 3; ++a) arm[a] = x[a] - image_shift(p, a, x[a]) - p->solid->frame.c[a];
}

bool mac_placed_is_outside(const mac_placed *p, const double x[3], double half)
{
  for (int a = 0; a < 3; ++a) {
    const double at = x[a] - image_shift(p, a, x[a]);
    if (at + half < p->low[a] || at - half > p->high[a]) return !(p->period[a] > 0.0) || p->high[a] - p->low[a] + 2.0 * half < p->period[a];
  }
  return false;
}

static double nearest_set(const mac_placed *p, const double x[3], double local[3], int *which)
{
  double arm[3], least = INFINITY;
  mac_placed_arm(p, x, arm);
  m3_mulv_t(local, p->solid->frame.R, arm);
  for (int l = 0; l < p->solid->n; ++l) {
    const double phi = level_set_value(p->solid->sets[l], local);
    if (phi < least) least = phi, *which = l;
  }
  return least;
}

double mac_placed_distance(const mac_placed *p, const double x[3])
{
  double local[3];
  int    which = -1;
  return nearest_set(p, x, local, &which);
}

double mac_placed_gradient(const mac_placed *p, const double x[3], double gradient[3])
{
  double local[3], slope[3] = {0};
  int    which = -1;
  double least;
  if (p->solid->n == 1) {
    double arm[3];
    mac_placed_arm(p, x, arm);
    m3_mulv_t(local, p->solid->frame.R, arm);
    least = level_set_eval(p->solid->sets[0], local, slope, NULL);
  } else {
    least = nearest_set(p, x, local, &which);
    if (which >= 0) level_set_eval(p->solid->sets[which], local, slope, NULL);
  }
  m3_mulv(gradient, p->solid->frame.R, slope);
  return least;
}
