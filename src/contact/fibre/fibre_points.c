/* Contacts of material points with fibres, see fibre_points.h: box tree over moving segments, conservative advancement. */
#include "contact/fibre/fibre_points.h"
#include "contact/rows/contact_jacobian.h"
#include "contact/detection/contact_scene.h"
#include "geometry/primitive/box_tree.h"
#include "geometry/primitive/segment_pair.h"
#include "core/math3.h"
#include "core/memory.h"

struct fibre_points {
  box_tree          tree; /* boxes of the segments, extended by their motion */
  double           *box[6];
  int64_t           n_segments, cluster_capacity, spot_capacity;
  int64_t          *start; /* [n_clusters + 1] first spot of each cluster */
  fibre_point_spot *spot;
};

/* Arguments of one search. */
typedef struct {
  const fibre_contact *c;
  const bool          *touches;
  const double        *x0, *x1;
  const contact_scene *s;
  const body          *b;
  int32_t              i_body;
  const double        *v;                          /* velocities of the body of the points at the start of the step, or NULL */
  double               margin, point_displacement; /* point_displacement: largest displacement of a point */
} points_run;

PetscErrorCode fibre_points_create(fibre_points **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("points at fibres", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void fibre_points_destroy(fibre_points **out)
{
  if (!out || !*out) return;
  fibre_points *p = *out;
  box_tree_clear(&p->tree);
  for (int k = 0; k < 6; ++k) memory_free(&p->box[k]);
  MEMORY_FREE(&p->start, &p->spot, out);
}

/* ---- one point and one segment --------------------------------------------------------------------------------------- */

/* Vector from the axis at position `at` to the point; returns its length. */
static double arm_of(const double segment[6], double at, const double x[3], double axis[3], double arm[3])
{
  for (int k = 0; k < 3; ++k) axis[k] = (1.0 - at) * segment[k] + at * segment[3 + k];
  v3_sub(arm, x, axis);
  return v3_norm(arm);
}

/* Whether the closest point belongs to segment i. A vertex belongs to the segment that begins there; it must be closest on both segments. */
static bool is_own(const points_run *r, const double *nodes, int32_t i, double at, const double x[3])
{
  double before[6];
  if (at >= 1.0) return r->c->next[i] < 0;
  if (at > 0.0 || r->c->previous[i] < 0) return true;
  fibre_corners(r->c, nodes, r->c->previous[i], before);
  return segment_nearest_to(before, x) >= 1.0;
}

static bool set_spot(const double segment[6], double at, const double x[3], double radii, fibre_point_spot *out)
{
  double       arm[3];
  const double distance = arm_of(segment, at, x, out->axis, arm);
  if (!(distance > 0.0)) return false;
  out->at  = at;
  out->gap = distance - radii;
  v3_scale(out->normal, 1.0 / distance, arm);
  return true;
}

static void point_end(const points_run *r, int64_t i, const double x0[3], double x1[3])
{
  if (r->s->v) {
    const body_contact_location spot = {.kind = FEATURE_POINT, .index = i, .x = {x0[0], x0[1], x0[2]}};
    double                      v[3];
    contact_spot_velocity(r->s, r->i_body, &spot, r->s->v, v);
    v3_copy(x1, x0);
    v3_axpy(x1, r->s->dt, v);
  } else contact_scene_point_end(r->s, r->i_body, i, x0, r->v, NULL, x1);
}

/* First time at which the distance of point and segment is `radii`, by conservative advancement: each time step is the excess distance
 * divided by the largest approach speed. The iteration ends at an excess of a thousandth of the radii. Grazing pairs that reach the limit
 * of steps have a contact as well; a contact whose plane is not crossed has no effect. */
static bool fibre_points_sweep(const points_run *r, int32_t i, const double start[6], const double x0[3], const double x1[3], double radii,
                               fibre_point_spot *out)
{
  enum { MOST = 1000 };
  double       end[6], now[6], x[3], axis[3], arm[3], fastest = 0.0, t = 0.0;
  const double near = 1e-3 * radii;
  fibre_corners(r->c, r->x1, i, end);
  for (int e = 0; e < 2; ++e) {
    double d[3];
    for (int k = 0; k < 3; ++k) d[k] = (x1[k] - x0[k]) - (end[3 * e + k] - start[3 * e + k]);
    fastest = fmax(fastest, v3_norm(d));
  }
  if (!(fastest > out->gap)) return false;
  for (int step = 0;; ++step) {
    for (int k = 0; k < 6; ++k) now[k] = start[k] + t * (end[k] - start[k]);
    for (int k = 0; k < 3; ++k) x[k] = x0[k] + t * (x1[k] - x0[k]);
    const double at = segment_nearest_to(now, x), distance = arm_of(now, at, x, axis, arm);
    if (distance - radii <= near || step == MOST) {
      if (!(distance > 0.0) || !(at < 1.0 || r->c->next[i] < 0)) return false; /* the vertex belongs to the next segment */
      out->at       = at;
      out->is_swept = true;
      v3_scale(out->normal, 1.0 / distance, arm);
      (void)arm_of(start, at, x0, out->axis, arm);
      out->gap = v3_dot(out->normal, arm) - radii;
      return true;
    }
    t += (distance - radii) / fastest;
    if (t > 1.0) return false;
  }
}

/* Largest displacement of a segment. */
static double segment_displacement(const points_run *r, int32_t i, const double start[6])
{
  double end[6], most = 0.0;
  fibre_corners(r->c, r->x1, i, end);
  for (int e = 0; e < 2; ++e) {
    double d[3];
    v3_sub(d, end + 3 * e, start + 3 * e);
    most = fmax(most, v3_norm(d));
  }
  return most;
}

/* Contact within the margin at x0, otherwise a swept contact. */
static bool find_spot(const points_run *r, int32_t i, int64_t point, const double x0[3], double radius, fibre_point_spot *out)
{
  double       start[6], x1[3];
  const double radii = radius + r->c->radius[i];
  *out               = (fibre_point_spot){.segment = i, .point = point, .radius = radius};
  v3_copy(out->x, x0);
  fibre_corners(r->c, r->x0, i, start);
  const double at = segment_nearest_to(start, x0);
  if (!set_spot(start, at, x0, radii, out)) return false;
  if (out->gap <= r->margin) return is_own(r, r->x0, i, at, x0);
  if (out->gap > r->point_displacement + segment_displacement(r, i, start)) return false;
  point_end(r, point, x0, x1);
  return fibre_points_sweep(r, i, start, x0, x1, radii, out);
}

/* ---- a cluster of points --------------------------------------------------------------------------------------------- */

/* Contacts of the points of one cluster; out NULL: only their number is returned. */
static int64_t find_in_cluster(const fibre_points *p, const points_run *r, int64_t cluster, fibre_point_spot *out)
{
  double   center[3], radius, min[3], max[3];
  int64_t  first, end, n = 0;
  box_walk walk;
  int32_t  found[BOX_TREE_WIDTH];
  r->b->ops->cluster(r->b, cluster, center, &radius, &first, &end);
  double ball = 0.0;
  for (int64_t k = first; k < end; ++k) ball = fmax(ball, r->b->ops->point_radius(r->b, k));
  for (int k = 0; k < 3; ++k) {
    min[k] = center[k] - radius - ball - r->margin - r->point_displacement;
    max[k] = center[k] + radius + ball + r->margin + r->point_displacement;
  }
  box_walk_begin(&walk, &p->tree, min, max);
  for (int m; (m = box_walk_next(&walk, found)) > 0;)
    for (int j = 0; j < m; ++j) {
      if (!r->touches[r->c->body[found[j]]]) continue;
      for (int64_t k = first; k < end; ++k) {
        fibre_point_spot spot;
        double           x0[3];
        const int64_t    id = r->b->ops->point(r->b, k, x0);
        if (!find_spot(r, found[j], k, x0, r->b->ops->point_radius(r->b, k), &spot)) continue;
        spot.id = id;
        if (out) out[n] = spot;
        ++n;
      }
    }
  return n;
}

/* ---- all clusters ----------------------------------------------------------------------------------------------------- */

static PetscErrorCode fit_tree(fibre_points *p, const points_run *r)
{
  const int64_t n = r->c->n_segments;
  PetscFunctionBegin;
  if (p->n_segments == 0) {
    PetscCall(box_tree_create(n, &p->tree));
    for (int k = 0; k < 6; ++k) PetscCall(memory_alloc("boxes of fibres", n, sizeof **p->box, &p->box[k]));
    p->n_segments = n;
  }
#pragma omp parallel for schedule(static) if (n > 1024)
  for (int64_t i = 0; i < n; ++i) {
    double start[6], end[6];
    fibre_corners(r->c, r->x0, (int32_t)i, start);
    fibre_corners(r->c, r->x1, (int32_t)i, end);
    for (int k = 0; k < 3; ++k) {
      p->box[k][i]     = fmin(fmin(start[k], start[3 + k]), fmin(end[k], end[3 + k])) - r->c->radius[i];
      p->box[3 + k][i] = fmax(fmax(start[k], start[3 + k]), fmax(end[k], end[3 + k])) + r->c->radius[i];
    }
  }
  box_tree_fit(&p->tree, p->box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest displacement of all points. */
static double fibre_points_farthest(const points_run *r)
{
  const double *v       = r->s->v ? r->s->v + 3 * body_system(r->s->body[r->i_body])->first_block : r->v;
  const int64_t n       = body_system(r->s->body[r->i_body])->n_blocks;
  double        fastest = 0.0;
#pragma omp parallel for schedule(static) reduction(max : fastest) if (n > 1024)
  for (int64_t k = 0; k < (v ? n : 0); ++k) fastest = fmax(fastest, v3_dot(v + 3 * k, v + 3 * k));
  return r->s->dt * sqrt(fastest) + (r->s->v ? 0.0 : r->s->dt * r->s->dt * v3_norm(r->s->gravity));
}

static PetscErrorCode find_all(fibre_points *p, points_run *r, int64_t *n)
{
  const int64_t n_clusters = r->b->ops->n_clusters(r->b);
  PetscFunctionBegin;
  *n                    = 0;
  r->point_displacement = fibre_points_farthest(r);
  PetscCall(fit_tree(p, r));
  PetscCall(memory_reserve("points at fibres", n_clusters + 1, sizeof *p->start, &p->cluster_capacity, &p->start));
#pragma omp parallel for schedule(dynamic, 4) if (n_clusters > 16)
  for (int64_t i = 0; i < n_clusters; ++i) p->start[i + 1] = find_in_cluster(p, r, i, NULL);
  p->start[0] = 0;
  for (int64_t i = 0; i < n_clusters; ++i) p->start[i + 1] += p->start[i];
  *n = p->start[n_clusters];
  PetscCall(memory_reserve("points at fibres", *n, sizeof *p->spot, &p->spot_capacity, &p->spot));
#pragma omp parallel for schedule(dynamic, 4) if (n_clusters > 16)
  for (int64_t i = 0; i < n_clusters; ++i)
    if (p->start[i + 1] > p->start[i]) (void)find_in_cluster(p, r, i, p->spot + p->start[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_points_run(fibre_points *p, const fibre_contact *c, const bool *touches, const double *x0, const double *x1,
                                const contact_scene *s, int32_t body_of_points, double margin, int64_t *n, const fibre_point_spot **out)
{
  double    *v;
  points_run r = {c, touches, x0, x1, s, s->body[body_of_points], body_of_points, NULL, margin, 0.0};
  PetscFunctionBegin;
  PetscCall(contact_scene_velocities(s, body_of_points, &v));
  r.v                       = v;
  const PetscErrorCode code = find_all(p, &r, n);
  memory_free(&v);
  PetscCall(code);
  *out = p->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}
