/* Implementation: one function per combination of representations; each keeps the deepest overlap found so far. */
#include "sim/scene/overlap_pair.h"
#include "discretize/particles/particle_bodies.h"
#include "core/math3.h"
#include "core/memory.h"
#include "geometry/convex/convex_overlap.h"
#include "geometry/primitive/box_tree.h"
#include "geometry/primitive/segment_pair.h"
#include "geometry/primitive/triangle_nearest.h"

enum { MOST_LEVELS = 5, TRIALS = 16, MOST_SAMPLES = 2000 };
static const double FINEST = 1e-8; /* last step of a local search, relative to the other body's smallest extent */
/* Largest slope of the distance: that of sampled level sets can exceed 1 by 2 %. */
static const double SLOPE = 1.02;
static const double FINE  = 0.125; /* triangles are sampled down to this share of the other body's smallest extent */

static void keep_deeper(overlap *out, double depth, const double x[3])
{
  if (!(depth > out->depth)) return;
  out->depth = depth;
  v3_copy(out->x, x);
}

static bool is_near(const double min[3], const double max[3], const overlap_shape *s)
{
  for (int k = 0; k < 3; ++k)
    if (min[k] > s->max[k] || max[k] < s->min[k]) return false;
  return true;
}

/* ---- convex solids ---- */

static void overlap_solids(const overlap_shape *a, const overlap_shape *b, bool with_point, overlap *out)
{
  int    deepest[2]   = {-1, -1};
  double direction[3] = {0.0, 0.0, 1.0};
  for (int i = 0; i < a->n_solids; ++i)
    for (int j = 0; j < b->n_solids; ++j) {
      double       normal[3];
      const double depth = convex_overlap_depth(&a->convex[i], &b->convex[j], normal);
      if (!(depth > out->depth)) continue;
      out->depth = depth;
      deepest[0] = i, deepest[1] = j;
      v3_copy(direction, normal);
    }
  if (deepest[0] >= 0 && with_point) convex_overlap_point(&a->convex[deepest[0]], &b->convex[deepest[1]], out->depth, direction, out->x);
}

/* ---- half-spaces ---- */

static void overlap_point_walls(const overlap_shape *walls, const double x[3], double radius, overlap *out)
{
  for (int k = 0; k < walls->n_solids; ++k) keep_deeper(out, walls->convex[k].offset - v3_dot(walls->convex[k].normal, x) + radius, x);
}

static void overlap_walls(const overlap_shape *a, const overlap_shape *walls, overlap *out)
{
  if (a->mesh)
    for (int64_t k = 0; k < 3 * a->mesh->n_triangles; ++k) overlap_point_walls(walls, a->x + 3 * (int64_t)a->mesh->tri[k], 0.0, out);
  for (int64_t k = 0; k < a->fibres.n_segments; ++k)
    for (int e = 0; e < 2; ++e)
      overlap_point_walls(walls, a->fibres.x + 3 * (int64_t)a->fibres.segment[2 * k + e], a->fibres.radius[k], out);
}

/* ---- surfaces in solids ---- */

/* The sample with the smallest signed distance, and the triangle in which it lies. */
typedef struct {
  const overlap_shape *to;
  int32_t              hint;
  double               phi, x[3], finest, to_size;
  int64_t              triangle;
} deepest_sample;

/* Signed distance of x, if it is below `limit` (at least s->phi); otherwise any number that is not. */
static double evaluate_sample(deepest_sample *s, const double x[3], double limit, int64_t triangle)
{
  const double phi = overlap_shape_distance(s->to, x, limit, &s->hint);
  if (phi < s->phi) s->phi = phi, s->triangle = triangle, v3_copy(s->x, x);
  return phi;
}

/* Centroid of a triangle; returns the distance of the farthest corner from it. */
static double centroid(const double *p, const double *q, const double *r, double middle[3])
{
  double d[3], reach;
  for (int k = 0; k < 3; ++k) middle[k] = (p[k] + q[k] + r[k]) / 3.0;
  v3_sub(d, p, middle), reach = v3_norm(d);
  v3_sub(d, q, middle), reach = fmax(reach, v3_norm(d));
  v3_sub(d, r, middle), reach = fmax(reach, v3_norm(d));
  return reach;
}

/* Sample a triangle and its parts. A part is skipped if, by the largest slope of the signed distance, it cannot contain a deeper
 * point. */
static void sample_triangle(deepest_sample *s, int64_t triangle, const double *p, const double *q, const double *r, int level)
{
  double       middle[3], pq[3], qr[3], rp[3];
  const double reach = centroid(p, q, r, middle), limit = fmin(s->phi, 0.0) + SLOPE * reach;
  const double phi = evaluate_sample(s, middle, limit, triangle);
  if (phi >= limit || phi - SLOPE * reach >= fmin(s->phi, 0.0)) return;
  if (level == 0) {
    evaluate_sample(s, p, s->phi, triangle);
    evaluate_sample(s, q, s->phi, triangle);
    evaluate_sample(s, r, s->phi, triangle);
  }
  if (level == MOST_LEVELS || reach < s->finest) return;
  for (int k = 0; k < 3; ++k) pq[k] = 0.5 * (p[k] + q[k]), qr[k] = 0.5 * (q[k] + r[k]), rp[k] = 0.5 * (r[k] + p[k]);
  evaluate_sample(s, pq, s->phi, triangle);
  evaluate_sample(s, qr, s->phi, triangle);
  evaluate_sample(s, rp, s->phi, triangle);
  sample_triangle(s, triangle, pq, qr, rp, level + 1);
  sample_triangle(s, triangle, p, pq, rp, level + 1);
  sample_triangle(s, triangle, q, qr, pq, level + 1);
  sample_triangle(s, triangle, r, rp, qr, level + 1);
}

/* Direct search from the deepest sample within its triangle (p, q, r), with directions that differ by the golden angle. They become dense, so that the
 * search follows kinks of the distance, along which few directions descend. A step is doubled after a success and halved after TRIALS failures. */
static void improve_sample(deepest_sample *s, const double *p, const double *q, const double *r)
{
  const double golden_angle = M_PI * (3.0 - sqrt(5.0));
  double       e[3], f[3], n[3];
  v3_sub(e, q, p), v3_sub(f, r, p), v3_cross(n, e, f);
  const double size = v3_norm(e);
  if (!(v3_norm(n) > 0.0)) return;
  v3_cross(f, n, e);
  v3_scale(e, 1.0 / size, e), v3_scale(f, 1.0 / v3_norm(f), f);
  double h       = 0.25 * fmax(size, v3_norm(n) / size);
  int    n_fails = 0;
  for (int i = 0; i < MOST_SAMPLES && h > FINEST * s->to_size; ++i) {
    const double angle = i * golden_angle, before = s->phi;
    double       x[3], w[3];
    v3_copy(x, s->x), v3_axpy(x, h * cos(angle), e), v3_axpy(x, h * sin(angle), f);
    (void)triangle_nearest(p, q, r, x, w);
    for (int c = 0; c < 3; ++c) x[c] = w[0] * p[c] + w[1] * q[c] + w[2] * r[c];
    if (evaluate_sample(s, x, before, s->triangle) < before) h *= 2.0, n_fails = 0;
    else if (++n_fails == TRIALS) h *= 0.5, n_fails = 0;
  }
}

/* Lower bound of the signed distance on the triangles lo, ..., hi - 1 of a, from that at the centre of their box; INFINITY if they are not near, or if
 * it is not below the deepest sample and 0. */
static double bound_range(deepest_sample *s, const overlap_shape *a, int64_t lo, int64_t hi)
{
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, middle[3], d[3];
  for (int64_t i = 3 * lo; i < 3 * hi; ++i) {
    const double *x = a->x + 3 * (int64_t)a->mesh->tri[i];
    for (int k = 0; k < 3; ++k) { /* no fmin: gcc calls the library for it */
      min[k] = x[k] < min[k] ? x[k] : min[k];
      max[k] = x[k] > max[k] ? x[k] : max[k];
    }
  }
  if (!is_near(min, max, s->to)) return INFINITY;
  for (int k = 0; k < 3; ++k) middle[k] = 0.5 * (min[k] + max[k]);
  v3_sub(d, max, middle);
  const double reach = SLOPE * v3_norm(d), limit = fmin(s->phi, 0.0) + reach, phi = overlap_shape_distance(s->to, middle, limit, &s->hint);
  return phi >= limit ? INFINITY : phi - reach;
}

/* Sample the triangles lo, ..., hi - 1, the deeper half first. Consecutive triangles are close to each other, so that most ranges are skipped. */
static void sample_range(deepest_sample *s, const overlap_shape *a, int64_t lo, int64_t hi)
{
  if (hi - lo == 1) {
    const int32_t *v = a->mesh->tri + 3 * lo;
    sample_triangle(s, lo, a->x + 3 * (int64_t)v[0], a->x + 3 * (int64_t)v[1], a->x + 3 * (int64_t)v[2], 0);
    return;
  }
  const int64_t middle = lo + (hi - lo) / 2, begin[2] = {lo, middle}, end[2] = {middle, hi};
  const double  bound[2] = {bound_range(s, a, lo, middle), bound_range(s, a, middle, hi)};
  const int     first    = bound[1] < bound[0];
  for (int k = 0; k < 2; ++k) {
    const int half = k == 0 ? first : !first;
    if (bound[half] < fmin(s->phi, 0.0)) sample_range(s, a, begin[half], end[half]);
  }
}

static void overlap_surface(const overlap_shape *a, const overlap_shape *to, overlap *out)
{
  const double   size = isfinite(to->size) ? to->size : 0.0;
  deepest_sample s    = {.to = to, .hint = -1, .phi = INFINITY, .triangle = -1, .finest = FINE * size, .to_size = size};
  if (a->mesh->n_triangles > 0 && bound_range(&s, a, 0, a->mesh->n_triangles) < 0.0) sample_range(&s, a, 0, a->mesh->n_triangles);
  if (s.triangle < 0) return;
  const int32_t *v = a->mesh->tri + 3 * s.triangle;
  improve_sample(&s, a->x + 3 * (int64_t)v[0], a->x + 3 * (int64_t)v[1], a->x + 3 * (int64_t)v[2]);
  keep_deeper(out, -s.phi, s.x);
}

/* Points below the surface of a that are inside both bodies. */
static void overlap_below(const overlap_shape *a, const overlap_shape *to, overlap *out)
{
  const double size   = fmin(a->size, to->size);
  int32_t      hint_a = -1, hint_to = -1;
  for (int64_t t = 0; t < a->mesh->n_triangles; ++t) {
    const int32_t *v = a->mesh->tri + 3 * t;
    const double  *p = a->x + 3 * (int64_t)v[0], *q = a->x + 3 * (int64_t)v[1], *r = a->x + 3 * (int64_t)v[2];
    double         e[3], f[3], n[3], middle[3];
    for (int k = 0; k < 3; ++k) middle[k] = (p[k] + q[k] + r[k]) / 3.0;
    v3_sub(e, q, p), v3_sub(f, r, p), v3_cross(n, e, f);
    if (!is_near(middle, middle, to) || !(v3_norm(n) > 0.0)) continue;
    for (double h = 0.5; h > 0.01; h *= 0.5) {
      double x[3];
      v3_copy(x, middle);
      v3_axpy(x, -h * size / v3_norm(n), n);
      const double in_both = fmin(-overlap_shape_distance(a, x, INFINITY, &hint_a), -overlap_shape_distance(to, x, INFINITY, &hint_to));
      keep_deeper(out, 2.0 * in_both, x);
    }
  }
}

/* ---- fibres in solids ---- */

static void overlap_fibres(const overlap_shape *a, const overlap_shape *to, overlap *out)
{
  int32_t hint = -1;
  for (int64_t k = 0; k < a->fibres.n_segments; ++k) {
    const double *p = a->fibres.x + 3 * (int64_t)a->fibres.segment[2 * k], *q = a->fibres.x + 3 * (int64_t)a->fibres.segment[2 * k + 1];
    const double  radius = a->fibres.radius[k];
    double        min[3], max[3], d[3], least = INFINITY, best = 0.5;
    for (int c = 0; c < 3; ++c) min[c] = fmin(p[c], q[c]) - radius, max[c] = fmax(p[c], q[c]) + radius;
    if (!is_near(min, max, to)) continue;
    v3_sub(d, q, p);
    for (double h = 0.25, s = 0.0; h > 1e-7; h *= 0.5) { /* five samples, then a pattern search */
      const int    n      = h == 0.25 ? 5 : 2;
      const double around = best;
      for (int i = 0; i < n; ++i) {
        double x[3];
        s = n == 5 ? 0.25 * i : around + (i == 0 ? -h : h);
        if (s < 0.0 || s > 1.0) continue;
        v3_copy(x, p), v3_axpy(x, s, d);
        const double phi = overlap_shape_distance(to, x, INFINITY, &hint);
        if (phi < least) least = phi, best = s;
      }
      if (least - radius - 2.0 * h * v3_norm(d) >= 0.0) break; /* cannot overlap */
    }
    double x[3];
    v3_copy(x, p), v3_axpy(x, best, d);
    keep_deeper(out, radius - least, x);
  }
}

/* ---- particles in solids ---- */

/* filled: the shape of a body of particles; NULL: `to` is a solid or half-spaces. */
static void overlap_particles(const overlap_shape *a, const overlap_shape *to, const level_set *filled, overlap *out)
{
  const particles *p    = a->particles;
  double           most = out->depth;
  int64_t          at   = p->n;
#pragma omp parallel if (p->n > 4096)
  {
    double  own    = most;
    int64_t own_at = p->n;
    int32_t hint   = -1;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < p->n; ++i) {
      const double x[3]  = {p->x[0][i], p->x[1][i], p->x[2][i]};
      double       depth = -INFINITY;
      if (to->is_walls)
        for (int k = 0; k < to->n_solids; ++k) depth = fmax(depth, to->convex[k].offset - v3_dot(to->convex[k].normal, x));
      else if (is_near(x, x, to)) depth = filled ? -level_set_value(filled, x) : -overlap_shape_distance(to, x, -own, &hint);
      if (depth > own) own = depth, own_at = i;
    }
#pragma omp critical(overlap_particles)
    if (own_at < p->n && (own > most || (own == most && own_at < at))) most = own, at = own_at;
  }
  if (at < p->n) keep_deeper(out, most, (const double[3]){p->x[0][at], p->x[1][at], p->x[2][at]});
}

/* ---- fibres and fibres ---- */

/* Arc length from the start of its strand to the start of each segment, and the length of closed strands (0: open). */
static void measure_arcs(const body_segments *f, double *arc, double *closed)
{
  for (int64_t first = 0, end; first < f->n_segments; first = end) {
    double s = 0.0;
    for (end = first; end < f->n_segments && f->strand[end] == f->strand[first]; ++end) {
      double d[3];
      v3_sub(d, f->x + 3 * (int64_t)f->segment[2 * end + 1], f->x + 3 * (int64_t)f->segment[2 * end]);
      arc[end] = s;
      s += v3_norm(d);
    }
    for (int64_t k = first; k < end; ++k) closed[k] = f->segment[2 * (end - 1) + 1] == f->segment[2 * first] ? s : 0.0;
  }
}

static void copy_segment(const body_segments *f, int64_t k, double x[6])
{
  v3_copy(x, f->x + 3 * (int64_t)f->segment[2 * k]);
  v3_copy(x + 3, f->x + 3 * (int64_t)f->segment[2 * k + 1]);
}

typedef struct {
  const body_segments *f, *g;
  const double        *arc, *closed; /* NULL: two bodies */
} strand_pair;

/* True if the two points are in the same bend of one strand. */
static bool are_in_one_bend(const strand_pair *w, int64_t i, double s, const double a[6], int64_t j, double t, const double b[6])
{
  double d[3], e[3];
  if (!w->arc || w->f->strand[i] != w->f->strand[j]) return false;
  v3_sub(d, a + 3, a), v3_sub(e, b + 3, b);
  double length = fabs(w->arc[i] + s * v3_norm(d) - w->arc[j] - t * v3_norm(e));
  if (w->closed[i] > 0.0) length = fmin(length, w->closed[i] - length);
  return length < M_PI * fmax(w->f->radius[i], w->f->radius[j]);
}

static void overlap_segments(const strand_pair *w, int64_t i, int64_t j, overlap *out)
{
  double          a[6], b[6];
  segment_nearest best, rim[4];
  copy_segment(w->f, i, a), copy_segment(w->g, j, b);
  segment_pair_nearest(a, b, &best, rim);
  for (int k = 0; k < 5; ++k) { /* adjacent segments: the closest points are in one bend, ends may not be */
    const segment_nearest *n     = k == 0 ? &best : &rim[k - 1];
    const double           depth = w->f->radius[i] + w->g->radius[j] - n->distance;
    double                 x[3];
    if (!(depth > out->depth) || are_in_one_bend(w, i, n->s, a, j, n->t, b)) continue;
    for (int c = 0; c < 3; ++c) x[c] = 0.5 * (a[c] + n->s * (a[3 + c] - a[c]) + b[c] + n->t * (b[3 + c] - b[c]));
    keep_deeper(out, depth, x);
  }
}

static PetscErrorCode overlap_strands(const overlap_shape *a, const overlap_shape *b, overlap *out)
{
  const body_segments *f = &a->fibres, *g = &b->fibres;
  box_tree             tree   = {0};
  double              *box[6] = {NULL}, *arc = NULL, *closed = NULL;
  PetscFunctionBegin;
  for (int c = 0; c < 6; ++c) PetscCall(memory_alloc("overlaps of fibres", g->n_segments, sizeof **box, &box[c]));
  if (a == b) {
    PetscCall(MEMORY_ALLOC("overlaps of fibres", ARRAY(arc, f->n_segments), ARRAY(closed, f->n_segments)));
    measure_arcs(f, arc, closed);
  }
  for (int64_t k = 0; k < g->n_segments; ++k) {
    double x[6];
    copy_segment(g, k, x);
    for (int c = 0; c < 3; ++c) {
      box[c][k]     = fmin(x[c], x[3 + c]) - g->radius[k];
      box[3 + c][k] = fmax(x[c], x[3 + c]) + g->radius[k];
    }
  }
  PetscCall(box_tree_create(g->n_segments, &tree));
  box_tree_fit(&tree, box);
  const strand_pair w = {f, g, arc, closed};
  for (int64_t k = 0; k < f->n_segments; ++k) {
    double   x[6], min[3], max[3];
    box_walk walk;
    int32_t  found[BOX_TREE_WIDTH];
    copy_segment(f, k, x);
    for (int c = 0; c < 3; ++c) min[c] = fmin(x[c], x[3 + c]) - f->radius[k], max[c] = fmax(x[c], x[3 + c]) + f->radius[k];
    box_walk_begin(&walk, &tree, min, max);
    for (int m = box_walk_next(&walk, found); m > 0; m = box_walk_next(&walk, found))
      for (int i = 0; i < m; ++i)
        if (a != b || found[i] > k) overlap_segments(&w, k, found[i], out);
  }
  box_tree_clear(&tree);
  for (int c = 0; c < 6; ++c) memory_free(&box[c]);
  MEMORY_FREE(&arc, &closed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all representations ---- */

bool overlap_pair_is_serial(const overlap_shape *a, const overlap_shape *b)
{
  return a->particles || b->particles || (a->fibres.n_segments > 0 && b->fibres.n_segments > 0);
}

/* The features of a in the solid `to`. */
static void overlap_features(const overlap_shape *a, const overlap_shape *to, bool is_thorough, overlap *out)
{
  if (to->is_walls) overlap_walls(a, to, out);
  if (a->particles && (to->is_walls || overlap_shape_has_inside(to))) overlap_particles(a, to, NULL, out);
  const level_set *filled = is_thorough && a->particles && to->particles && to->particles->n > 0 ? particle_body_filled(to->b) : NULL;
  if (filled) overlap_particles(a, to, filled, out);
  if (!overlap_shape_has_inside(to)) return;
  if (a->mesh) overlap_surface(a, to, out);
  overlap_fibres(a, to, out);
  if (is_thorough && a->mesh && overlap_shape_has_inside(a)) overlap_below(a, to, out);
}

PetscErrorCode overlap_pair_find(const overlap_shape *a, const overlap_shape *b, bool is_thorough, bool with_point, overlap *out)
{
  *out = (overlap){0};
  if (a->n_solids > 0 && b->n_solids > 0) {
    overlap_solids(a, b, with_point, out);
    return PETSC_SUCCESS;
  }
  if (a->fibres.n_segments > 0 && b->fibres.n_segments > 0) return overlap_strands(a, b, out);
  overlap_features(a, b, is_thorough, out);
  overlap_features(b, a, is_thorough, out);
  return PETSC_SUCCESS;
}
