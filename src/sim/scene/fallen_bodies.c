/* Implementation: extents along gravity. */
#include "sim/scene/fallen_bodies.h"
#include "core/math3.h"
#include "discretize/rigid/rigid_body.h"
#include "sim/scene/scene_overlaps.h"

/* Largest and smallest coordinate of the bounds of a body along `down`. */
static double extent_along(const overlap_shape *o, const double down[3], bool is_largest)
{
  double sum = 0.0;
  for (int a = 0; a < 3; ++a) {
    const bool uses_max = (down[a] > 0.0) == is_largest;
    if (fabs(down[a]) > 1e-12) sum += down[a] * (uses_max ? o->max[a] : o->min[a]);
  }
  return sum;
}

/* Lowest coordinate of body i as a support; INFINITY: it stops every body. -INFINITY: it has no shape. */
static double lowest_of(const scene *s, int i, const double down[3])
{
  const overlap_shape *o       = scene_overlaps_shape(s->overlaps, i);
  const rigid_body    *rigid   = rigid_body_of(s->bodies[i].body);
  double               deepest = -INFINITY;
  if (!o->is_walls) return o->min[0] <= o->max[0] ? extent_along(o, down, true) : -INFINITY;
  for (int k = 0; k < o->n_solids; ++k)
    if (v3_dot(o->convex[k].normal, down) < -1e-3) return INFINITY;
  for (int64_t k = 0; rigid && rigid->surface && k < rigid->surface->n_vertices; ++k) { /* the walls as far as they are drawn */
    double x[3];
    rigid_frame_to_world(&o->pose, rigid->surface->x + 3 * k, x);
    deepest = fmax(deepest, v3_dot(down, x));
  }
  return deepest;
}

int64_t fallen_bodies_count(const scene *s, void (*first)(const scene *s, int body))
{
  const double g = v3_norm(s->gravity);
  double       down[3], lowest = -INFINITY;
  int64_t      n    = 0;
  const char  *last = NULL;
  if (g == 0.0) return 0;
  v3_scale(down, 1.0 / g, s->gravity);
  for (int i = 0; i < s->n_bodies; ++i)
    if (!rigid_body_dynamic(s->bodies[i].body)) lowest = fmax(lowest, lowest_of(s, i, down));
  if (!isfinite(lowest)) return 0;
  for (int i = 0; i < s->n_bodies; ++i) {
    const rigid_body *b = rigid_body_dynamic(s->bodies[i].body);
    if (!b || b->base.is_waiting || !(v3_dot(b->v, down) > 0.0)) continue;
    if (!(extent_along(scene_overlaps_shape(s->overlaps, i), down, false) > lowest)) continue;
    ++n;
    if (first && s->bodies[i].entry != last) first(s, i);
    last = s->bodies[i].entry;
  }
  return n;
}
