/* Implementation: the fraction of the displacement is increased repeatedly by the distance divided by the closing displacement. */
#include "geometry/convex/convex_sweep.h"
#include "geometry/convex/convex_distance.h"

/* Distance that counts as touching, relative to the size of the smaller solid. */
static const double touch_distance = 1e-3;
enum { MAX_ADVANCES = 200 };

static void shift_pose(const convex_pose *a, const double d[3], double *work, convex_pose *out)
{
  *out = *a;
  v3_add(out->from, a->from, d);
  v3_add(out->to, a->to, d);
  v3_add(out->center, a->center, d);
  if (a->kind != CONVEX_POLYHEDRON) return;
  const convex_polyhedron *h = a->solid->polyhedron;
  double                  *x = work, *offset = work + 3 * h->n_corners;
  for (int i = 0; i < h->n_corners; ++i) v3_add(x + 3 * i, a->x + 3 * i, d);
  for (int f = 0; f < h->n_faces; ++f) offset[f] = a->face_offset[f] + v3_dot(a->face_normal + 3 * f, d);
  out->x = x, out->face_offset = offset;
}

/* Fraction of the displacement at the first touch; then n [3]: unit vector from b towards a; p, q [3]: closest points of the
 * cores. */
static bool first_touch(const convex_pose *a, const convex_pose *b, const double d[3], double turn, double *fraction, double p[3],
                        double q[3], double n[3])
{
  const double rounding = convex_rounding(a) + convex_rounding(b), near = touch_distance * fmin(a->solid->bound, b->solid->bound);
  double       shift[3];
  *fraction = 0.0;
  v3_set(n, 0.0, 0.0, 0.0);
  for (int k = 0; k < MAX_ADVANCES; ++k) {
    v3_scale(shift, *fraction, d);
    const double distance = convex_distance(a, b, shift, p, q, n) - rounding, closing = turn - v3_dot(n, d);
    if (!(v3_norm(n) > 0.5)) return false; /* the cores overlap initially */
    if (distance <= near + *fraction * turn) return true;
    if (!(closing > 0.0)) return false;
    *fraction += (distance - 0.5 * near) / closing;
    if (*fraction > 1.0) return false;
  }
  return true;
}

bool convex_sweep(const convex_pose *a, const convex_pose *b, const double d[3], double turn, double *work, double *fraction,
                  convex_touches *out)
{
  const double margin = (touch_distance * fmin(a->solid->bound, b->solid->bound) + turn) * 1.01;
  double       p[3], q[3], n[3], shift[3];
  convex_pose  moved;
  out->n = 0;
  if (!first_touch(a, b, d, turn, fraction, p, q, n)) return false;
  v3_scale(shift, *fraction, d);
  shift_pose(a, shift, work, &moved);
  convex_pair_touches(&moved, b, margin, out);
  if (out->n == 0) { /* none within margin because of round-off: use the closest points */
    v3_axpy(q, convex_rounding(b), n);
    convex_touches_add(out, INFINITY, q, n, convex_separation(&moved, b, n) - convex_rounding(a) - convex_rounding(b), 0);
  }
  for (int k = 0; k < out->n; ++k) {
    convex_touch *t = &out->touch[k];
    v3_axpy(t->x, -0.5 * t->gap, t->normal);
    t->gap -= v3_dot(shift, t->normal);
  }
  return true;
}
