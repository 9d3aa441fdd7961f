/* Quantities of the particles or nodes of a body: sums, shape (extent, height, slope), self-intersection and connected pieces. */
#include "core/disjoint_sets.h"
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/nodal/nodal_body.h"
#include "discretize/particles/particles.h"
#include "sim/measure/heap_slope.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"
#include <stdlib.h>

static PetscErrorCode get_points(const measure_moment *now, measure *k, measure_points *p)
{
  return measure_points_get(now->scene, k->bodies, &k->points, p);
}

static bool is_within(const measure_box *box, const measure_points *p, int64_t i)
{
  for (int q = 0; box && q < 3; ++q)
    if (!(p->x[q][i] >= box->min[q] && p->x[q][i] <= box->max[q])) return false;
  return true;
}

PetscErrorCode measure_mass_beyond(const measure_moment *now, measure *k, double *value)
{
  measure_points p;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  *value = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    const double x[3] = {p.x[0][i] - k->point[0], p.x[1][i] - k->point[1], p.x[2][i] - k->point[2]};
    if (v3_dot(k->direction, x) > 0) *value += p.mass[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_density(const measure_moment *now, measure *k, double *value)
{
  measure_points     p;
  const measure_box *box = k->spec->within;
  double             sum = 0.0;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  for (int64_t i = 0; i < p.n; ++i)
    if (is_within(box, &p, i)) sum += p.mass[i];
  *value = sum / ((box->max[0] - box->min[0]) * (box->max[1] - box->min[1]) * (box->max[2] - box->min[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two passes, because the mean may be much larger than the deviations. */
PetscErrorCode measure_granular_temperature(const measure_moment *now, measure *k, double *value)
{
  measure_points p;
  double         mass = 0.0, mean[3] = {0.0, 0.0, 0.0}, sum = 0.0;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  for (int64_t i = 0; i < p.n; ++i) {
    if (!is_within(k->spec->within, &p, i)) continue;
    mass += p.mass[i];
    for (int q = 0; q < 3; ++q) mean[q] += p.mass[i] * p.v[q][i];
  }
  if (!(mass > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  v3_scale(mean, 1.0 / mass, mean);
  for (int64_t i = 0; i < p.n; ++i) {
    const double v[3] = {p.v[0][i] - mean[0], p.v[1][i] - mean[1], p.v[2][i] - mean[2]};
    if (is_within(k->spec->within, &p, i)) sum += p.mass[i] * v3_dot(v, v);
  }
  *value = sum / (3.0 * mass);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of mass and momentum by layer; layer 0 is the whole box. */
PetscErrorCode measure_velocity_profile(const measure_moment *now, measure *k, double *value)
{
  const measure_box *box  = k->spec->within;
  const int          axis = k->spec->axis;
  measure_points     p;
  double             mass[MEASURE_MOST_VALUES] = {0.0}, momentum[MEASURE_MOST_VALUES][3] = {{0.0}};
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  for (int64_t i = 0; i < p.n; ++i) {
    if (!is_within(box, &p, i)) continue;
    const double  at       = (p.x[axis][i] - box->min[axis]) / (box->max[axis] - box->min[axis]) * (double)k->spec->bins;
    const int64_t layer[2] = {0, 1 + (int64_t)fmin(at, (double)k->spec->bins - 1.0)};
    for (int q = 0; q < 2; ++q) {
      mass[layer[q]] += p.mass[i];
      for (int c = 0; c < 3; ++c) momentum[layer[q]][c] += p.mass[i] * p.v[c][i];
    }
  }
  for (int i = 0; i < k->n_values; ++i) {
    v3_scale(momentum[i], 1.0 / mass[i], momentum[i]); /* NaN in an empty layer */
    value[i] = measure_along(k, momentum[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== shape ==== */

/* Self-intersection of the surface of a body made of nodes. */
PetscErrorCode measure_self_intersection_depth(const measure_moment *now, measure *k, double *value)
{
  const nodal_body   *b       = nodal_body_of(measure_body_of(now, k));
  const triangle_mesh surface = {.n_vertices = b->n_nodes, .n_triangles = b->n_triangles, .x = b->x, .tri = b->triangles};
  int64_t             n;
  int32_t             first[2];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_crossings(&surface, &n, first, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_angle_of_repose(const measure_moment *now, measure *k, double *value)
{
  measure_points p;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  heap_frame f = {.is_round = !k->has_direction, .width = p.spacing};
  measure_up(now->scene, f.up);
  v3_copy(f.point, k->point);
  v3_copy(f.along, k->direction);
  PetscCall(heap_slope_angle(p.n, p.x, &f, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two horizontal directions; the first is in the plane of gravity and the coordinate axis that is least steep. */
static void horizontals(const double up[3], double e[2][3])
{
  int flattest = 0;
  for (int k = 1; k < 3; ++k)
    if (fabs(up[k]) < fabs(up[flattest])) flattest = k;
  for (int k = 0; k < 3; ++k) e[0][k] = (k == flattest) - up[flattest] * up[k];
  v3_scale(e[0], 1.0 / v3_norm(e[0]), e[0]);
  v3_cross(e[1], up, e[0]);
}

PetscErrorCode measure_anisotropy(const measure_moment *now, measure *k, double *value)
{
  measure_points p;
  double         up[3], e[2][3], sum = 0.0, all = 0.0;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, &p));
  measure_up(now->scene, up);
  horizontals(up, e);
  for (int64_t i = 0; i < p.n; ++i) {
    const double d[3] = {p.x[0][i] - k->point[0], p.x[1][i] - k->point[1], p.x[2][i] - k->point[2]};
    const double x = v3_dot(d, e[0]), y = v3_dot(d, e[1]), square = x * x + y * y;
    all += p.mass[i] * square;
    if (square > 0.0) sum += p.mass[i] * (x * x * x * x - 6.0 * x * x * y * y + y * y * y * y) / square; /* r^2 cos 4 phi */
  }
  if (all > 0.0) *value = sum / all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- quantiles ------------------------------------------------------------------------------------------------------- */

/* Positions along `direction`, or as distances from the axis `up` through `point`. */
typedef struct {
  bool          is_round;
  const double *direction, *point;
  double        up[3];
} ruler;

static double distance(const ruler *r, const double x[3])
{
  double d[3];
  if (!r->is_round) return v3_dot(r->direction, x);
  v3_sub(d, x, r->point);
  v3_axpy(d, -v3_dot(d, r->up), r->up);
  return v3_norm(d);
}

/* Linear interpolation between order statistics: 1 is the maximum, 0 the minimum; NaN without points. */
static PetscErrorCode quantile(const measure_moment *now, measure *k, const ruler *r, double fraction, double *value)
{
  const body    *b      = measure_body_of(now, k);
  body_nodes     s      = {0};
  measure_points points = {0}, *p;
  double        *d;
  PetscFunctionBegin;
  if (b->ops->nodes) b->ops->nodes(b, &s);
  else PetscCall(get_points(now, k, &points));
  p               = s.n ? NULL : &points;
  const int64_t n = p ? p->n : s.n;
  *value          = NAN;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("quantile", n, sizeof *d, &d));
#pragma omp parallel for schedule(static) if (n > 4096)
  for (int64_t i = 0; i < n; ++i) {
    double x[3];
    for (int q = 0; q < 3; ++q) x[q] = p ? p->x[q][i] : s.x[3 * i + q];
    d[i] = distance(r, x);
  }
  const double  at    = fraction * (double)(n - 1);
  const int64_t lo    = (int64_t)at;
  const double  below = select_kth_smallest(n, d, lo);
  double        above = lo + 1 < n ? d[lo + 1] : below; /* the smallest of the larger ones */
  for (int64_t i = lo + 2; i < n; ++i) above = d[i] < above ? d[i] : above;
  *value = below + (at - (double)lo) * (above - below);
  memory_free(&d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_extent(const measure_moment *now, measure *k, double *value)
{
  ruler r = {.is_round = !k->has_direction, .direction = k->direction, .point = k->point};
  PetscFunctionBegin;
  measure_up(now->scene, r.up);
  PetscCall(quantile(now, k, &r, k->fraction, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_runout(const measure_moment *now, measure *k, double *value)
{
  PetscFunctionBegin;
  PetscCall(measure_extent(now, k, value));
  *value -= k->reference;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_height(const measure_moment *now, measure *k, double *value)
{
  ruler r = {.is_round = false, .direction = r.up};
  PetscFunctionBegin;
  measure_up(now->scene, r.up);
  PetscCall(quantile(now, k, &r, k->fraction, value));
  *value -= v3_dot(k->point, r.up);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ==== pieces ==== */

/* A particle and the cell, with edges of length `radius`, that contains it. */
typedef struct {
  int64_t cell[3], particle;
} place;

static int compare_cells(const int64_t a[3], const int64_t b[3])
{
  for (int q = 0; q < 3; ++q)
    if (a[q] != b[q]) return a[q] < b[q] ? -1 : 1;
  return 0;
}

static int compare(const void *a, const void *b)
{
  const place *p = a, *q = b;
  const int    by_cell = compare_cells(p->cell, q->cell);
  return by_cell ? by_cell : (p->particle > q->particle) - (p->particle < q->particle);
}

/* Connect the particle at `from` with particles of a cell that come after it and are not farther than the radius. */
static void connect_particles(const measure_points *p, const place *from, const place *all, int64_t n, const int64_t cell[3], double radius,
                              int64_t *up)
{
  const int64_t i   = from->particle;
  int64_t       low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (compare_cells(all[middle].cell, cell) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < n && compare_cells(all[low].cell, cell) == 0; ++low) {
    const int64_t j   = all[low].particle;
    double        sum = 0.0;
    for (int q = 0; q < 3; ++q) sum += (p->x[q][i] - p->x[q][j]) * (p->x[q][i] - p->x[q][j]);
    if (sum <= radius * radius) disjoint_sets_join(up, i, j);
  }
}

PetscErrorCode measure_largest_fragment(const measure_moment *now, measure *k, double *value)
{
  measure_points points, *p = &points;
  const double   radius = k->spec->radius;
  place         *at     = NULL;
  int64_t       *up     = NULL;
  double        *mass = NULL, all = 0.0, most = 0.0;
  PetscFunctionBegin;
  PetscCall(get_points(now, k, p));
  PetscErrorCode code = MEMORY_ALLOC("pieces", ARRAY(at, p->n), ARRAY(up, p->n), ARRAY(mass, p->n));
  for (int64_t i = 0; i < p->n && !code; ++i) {
    up[i] = at[i].particle = i;
    for (int q = 0; q < 3; ++q) at[i].cell[q] = (int64_t)fmax(-1e18, fmin(1e18, floor(p->x[q][i] / radius)));
  }
  if (!code && p->n > 0) {
    qsort(at, (size_t)p->n, sizeof *at, compare);
    for (int64_t l = 0; l < p->n; ++l)
      for (int c = 0; c < 27; ++c) {
        const int64_t cell[3] = {at[l].cell[0] + c / 9 - 1, at[l].cell[1] + c / 3 % 3 - 1, at[l].cell[2] + c % 3 - 1};
        if (compare_cells(cell, at[l].cell) >= 0) connect_particles(p, &at[l], at, p->n, cell, radius, up);
      }
    for (int64_t i = 0; i < p->n; ++i) all += p->mass[i], mass[disjoint_sets_find(up, i)] += p->mass[i];
    for (int64_t i = 0; i < p->n; ++i) most = fmax(most, mass[i]);
    *value = most / all;
  }
  MEMORY_FREE(&at, &up, &mass);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
