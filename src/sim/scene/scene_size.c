/* Implementation of scene_size.h from level sets, surfaces and segments. */
#include "sim/scene/scene_size.h"
#include "discretize/rigid/rigid_body.h"
#include <math.h>

/* Smallest extent of the box min, max [3], or twice the depth of its centre below the level set if that is smaller. */
static double thickness_of_box(const double min[3], const double max[3], const level_set *phi)
{
  double size = INFINITY, center[3];
  for (int a = 0; a < 3; ++a) {
    size      = fmin(size, max[a] - min[a]);
    center[a] = 0.5 * (min[a] + max[a]);
  }
  const double depth = phi && isfinite(v3_norm(center)) ? -level_set_value(phi, center) : 0.0;
  return depth > 0.0 ? fmin(size, 2.0 * depth) : size;
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
