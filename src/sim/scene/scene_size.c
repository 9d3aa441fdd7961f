/* Implementation of scene_size.h from level sets, surfaces and segments. */
#include "sim/scene/scene_size.h"
#include "core/math3.h"
#include "discretize/rigid/rigid_body.h"
#include <math.h>

/* Depth of the deepest point of {phi < 0} that a pattern search from x reaches with steps of at most `step` [m]. */
static double deepest_from(const level_set *phi, const double x[3], double step)
{
  const double least = 0.01 * step;
  double       depth = -level_set_value(phi, x), at[3] = {x[0], x[1], x[2]};
  bool         improved = true;
  while (improved || (step *= 0.5) > least) {
    improved = false;
    for (int k = 0; k < 6; ++k) {
      double trial[3] = {at[0], at[1], at[2]};
      trial[k / 2] += k % 2 ? -step : step;
      const double value = -level_set_value(phi, trial);
      if (!(value > depth + 0.1 * least)) continue; /* a minimum gain bounds the number of steps */
      depth = value, improved = true;
      at[k / 2] = trial[k / 2];
    }
  }
  return depth;
}

/* Smallest extent of the box min, max [3], or the diameter of a large ball inside the level set if that is smaller. The centre of a
 * concave body can be near its surface, so the search continues from there to the deepest place. If the centre is outside, the body is
 * hollow: the box counts. */
static double thickness_of_box(const double min[3], const double max[3], const level_set *phi)
{
  double size = INFINITY, center[3];
  for (int a = 0; a < 3; ++a) {
    size      = fmin(size, max[a] - min[a]);
    center[a] = 0.5 * (min[a] + max[a]);
  }
  if (!phi || !isfinite(size) || !isfinite(v3_norm(center)) || level_set_value(phi, center) >= 0.0) return size;
  return fmin(size, 2.0 * deepest_from(phi, center, 0.25 * size));
}

/* The parts of a union of level sets overlap or touch, so the box of all parts counts; the thickness at the centre needs a single one. */
static double size_of_level_sets(int n, level_set *const *phi)
{
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int k = 0; k < n; ++k) {
    double lo[3], hi[3];
    level_set_bounds(phi[k], lo, hi);
    for (int a = 0; a < 3; ++a) min[a] = fmin(min[a], lo[a]), max[a] = fmax(max[a], hi[a]);
  }
  return thickness_of_box(min, max, n == 1 ? phi[0] : NULL);
}

static double size_of_surface(const body_surface *s)
{
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int64_t i = 0; i < s->n_nodes; ++i)
    for (int a = 0; a < 3; ++a) min[a] = fmin(min[a], s->x[3 * i + a]), max[a] = fmax(max[a], s->x[3 * i + a]);
  return thickness_of_box(min, max, NULL);
}

static double size_of_rigid(const body *b)
{
  int               n   = 0;
  level_set *const *phi = b->ops->level_sets ? b->ops->level_sets(b, &n) : NULL;
  if (n > 0) return size_of_level_sets(n, phi);
  body_surface surface = {0};
  if (b->ops->surface) b->ops->surface(b, &surface);
  return surface.n_nodes > 0 ? size_of_surface(&surface) : INFINITY;
}

static double smallest_diameter(const body *b)
{
  body_segments s = {0};
  double        d = INFINITY;
  b->ops->segments(b, &s);
  for (int64_t i = 0; i < s.n_segments; ++i) d = fmin(d, 2.0 * s.radius[i]);
  return d;
}

double scene_body_size(const scene *s, int i)
{
  body *b = s->bodies[i].body;
  if (b->ops->segments) return smallest_diameter(b);
  if (rigid_body_of(b)) return size_of_rigid(b);
  const body *system = body_system(b);
  return system && system->ops->length ? system->ops->length(system) : INFINITY;
}
