#include "geometry/convex/convex_pair.h"
#include "geometry/convex/convex_axis.h"
#include "geometry/convex/convex_clip.h"
#include "geometry/convex/convex_distance.h"

static const double GRAZING = 1e-4; /* sine of the angle within which two directions are the same */

/* ---- half-spaces ---- */

/* Lowest points of a; the half-space is b. */
static void half_space(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  const int n_corners = a->kind == CONVEX_POLYHEDRON ? a->solid->polyhedron->n_corners : 0;
  int       n_near    = 0;
  for (int i = 0; i < n_corners; ++i) n_near += v3_dot(b->normal, a->x + 3 * i) - b->offset <= margin;
  if (a->kind == CONVEX_CYLINDER || n_near > CONVEX_MAX_TOUCHES) {
    convex_clip(a, b, b->normal, margin, out);
  } else if (a->kind == CONVEX_POLYHEDRON) { /* every corner, not only those of one face */
    for (int i = 0; i < n_corners; ++i) {
      const double *x   = a->x + 3 * i;
      const double  gap = v3_dot(b->normal, x) - b->offset;
      double        q[3];
      v3_copy(q, x);
      v3_axpy(q, -gap, b->normal);
      convex_touches_add(out, margin, q, b->normal, gap, convex_feature_name(CONVEX_TOUCH_CORNER_A, (unsigned)i, 0));
    }
  } else {
    for (int end = 0; end < (a->kind == CONVEX_CAPSULE ? 2 : 1); ++end) {
      const double *x        = end ? a->to : a->from;
      const double  distance = v3_dot(b->normal, x) - b->offset;
      double        q[3];
      v3_copy(q, x);
      v3_axpy(q, -distance, b->normal);
      convex_touches_add(out, margin, q, b->normal, distance - a->radius,
                         convex_feature_name(CONVEX_TOUCH_END_A, (unsigned)end, 0));
    }
  }
}

/* ---- two with flat sides ---- */

/* Those that touch with corners, or with edges side by side: the two closest points. */
static void corners(const convex_pose *a, const convex_pose *b, const double *axis, bool is_line, double margin,
                    convex_touches *out)
{
  const double stay[3] = {0.0, 0.0, 0.0};
  double       p[3], q[3], n[3], sine[3];
  const double distance = convex_distance(a, b, stay, p, q, n);
  if (!(distance > 0.0) || distance > margin) return;
  v3_cross(sine, n, axis);
  if (is_line && v3_norm(sine) < GRAZING) return; /* they pass along each other */
  convex_touches_add(out, margin, q, n, distance, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

/* Where round sides or rims overlap most: the point of one that is farthest into the other. Where one of them is flat any of its
 * points is as far, and the other's says where. */
static void deepest(const convex_pose *a, const convex_pose *b, const double *n, double separation, double margin,
                    convex_touches *out)
{
  double p[3], q[3], back[3], normal[3], at[3];
  v3_scale(back, -1.0, n);
  convex_support(a, back, p);
  convex_support(b, n, q);
  v3_axpy(p, -separation, n); /* where the surface of b should be */
  const double off_b = fabs(convex_point_distance(b, p, normal, at));
  v3_copy(back, q);
  v3_axpy(back, separation, n);
  const double off_a = fabs(convex_point_distance(a, back, normal, at));
  convex_touches_add(out, margin, off_b < off_a ? p : q, n, separation, convex_feature_name(CONVEX_TOUCH_CLOSEST, 0, 0));
}

/* Found so far along the normal n, maybe without the closest points, which are `separation` apart. */
static void complete(const convex_pose *a, const convex_pose *b, const double *n, double separation, bool is_line, double margin,
                     convex_touches *out)
{
  const bool   is_round = a->kind == CONVEX_CYLINDER || b->kind == CONVEX_CYLINDER;
  const double slack    = (is_round ? 1e-7 : 1e-9) * fmin(a->solid->bound, b->solid->bound);
  double       least    = INFINITY;
  for (int i = 0; i < out->n; ++i) least = fmin(least, out->touch[i].gap);
  if (!(least > separation + slack)) return;
  if (separation > 0.0) corners(a, b, n, is_line, margin, out);
  else if (is_round) deepest(a, b, n, separation, margin, out);
}

static void polyhedra(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_polyhedra(a, b, margin, n);
  if (separation > margin) return;
  const bool is_area = convex_clip(a, b, n, margin, out);
  complete(a, b, n, separation, !is_area, margin, out);
}

/* Whether two cylinders touch with their sides: where these cross, or along a line. */
static bool is_side_by_side(const convex_pose *a, const convex_pose *b, const double *n)
{
  double       sine[3];
  const double tilt = fmax(fabs(v3_dot(n, a->axis)), fabs(v3_dot(n, b->axis)));
  v3_cross(sine, a->axis, b->axis);
  return tilt < (v3_norm(sine) < 0.1 ? 1e-3 : 1e-6);
}

static void cylinder(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  double       n[3];
  const double separation = convex_axis_cylinder(a, b, margin, n);
  if (separation > margin) return;
  if (a->kind == b->kind && is_side_by_side(a, b, n)) convex_barrel_touches(a, b, margin, out);
  else convex_clip(a, b, n, margin, out);
  complete(a, b, n, separation, false, margin, out);
}

void convex_pair_touches(const convex_pose *a, const convex_pose *b, double margin, convex_touches *out)
{
  out->n = 0;
  if (a->kind == CONVEX_HALF_SPACE && b->kind == CONVEX_HALF_SPACE) return;
  if (a->kind == CONVEX_HALF_SPACE) {
    half_space(b, a, margin, out);
    for (int i = 0; i < out->n; ++i) v3_scale(out->touch[i].normal, -1.0, out->touch[i].normal);
    return;
  }
  if (b->kind == CONVEX_HALF_SPACE) half_space(a, b, margin, out);
  else if (a->kind <= CONVEX_CAPSULE || b->kind <= CONVEX_CAPSULE) convex_round_touches(a, b, margin, out);
  else if (a->kind == CONVEX_POLYHEDRON && b->kind == CONVEX_POLYHEDRON) polyhedra(a, b, margin, out);
  else cylinder(a, b, margin, out);
}
