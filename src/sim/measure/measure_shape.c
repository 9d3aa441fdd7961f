/* Quantities of where the particles or nodes of a body are: how far, how high, how steep. */
#include "core/memory.h"
#include "core/sort.h"
#include "discretize/particles/particles.h"
#include "discretize/nodal/nodal_body.h"
#include "sim/measure/flank.h"
#include "sim/measure/measure_quantity.h"
#include "sim/scene/scene.h"

PetscErrorCode measure_self_crossing(const measure_moment *now, measure *k, double *value)
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
  PetscFunctionBegin;
  body                *b    = measure_body_of(now, k), *grid = body_system(b);
  const particles     *p    = particles_of(b);
  flank_frame          f    = {.is_round = !k->has_direction, .width = grid->ops->length(grid)};
  measure_up(now->scene, f.up);
  v3_copy(f.point, k->point);
  v3_copy(f.along, k->direction);
  PetscCall(flank_slope(p->n, p->x, &f, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two horizontal directions; the first lies in the plane of gravity and the coordinate axis that is least steep. */
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
  const particles *p = particles_of(measure_body_of(now, k));
  double           up[3], e[2][3], sum = 0.0, all = 0.0;
  PetscFunctionBegin;
  measure_up(now->scene, up);
  horizontals(up, e);
  for (int64_t i = 0; i < p->n; ++i) {
    const double d[3] = {p->x[0][i] - k->point[0], p->x[1][i] - k->point[1], p->x[2][i] - k->point[2]};
    const double x = v3_dot(d, e[0]), y = v3_dot(d, e[1]), square = x * x + y * y;
    all += p->mass[i] * square;
    if (square > 0.0) sum += p->mass[i] * (x * x * x * x - 6.0 * x * x * y * y + y * y * y * y) / square; /* r^2 cos 4 phi */
  }
  if (all > 0.0) *value = sum / all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- quantiles ------------------------------------------------------------------------------------------------------- */

/* Along `direction`, or away from the axis `up` through `point`. */
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

/* Linear interpolation between order statistics, so that 1 is the maximum and 0 the minimum; NaN of nothing. */
static PetscErrorCode quantile(const body *b, const ruler *r, double fraction, double *value)
{
  body_nodes           s = {0};
  if (b->ops->nodes) b->ops->nodes(b, &s);
  const particles     *p = s.n ? NULL : particles_of(b);
  const int64_t        n = p ? p->n : s.n;
  double              *d;
  PetscFunctionBegin;
  *value = NAN;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("quantile", n, sizeof *d, &d));
  #pragma omp parallel for schedule(static) if (n > 4096)
  for (int64_t i = 0; i < n; ++i) {
    double x[3];
    for (int q = 0; q < 3; ++q) x[q] = p ? p->x[q][i] : s.x[3 * i + q];
    d[i] = distance(r, x);
  }
  const double  at = fraction * (double)(n - 1);
  const int64_t lo = (int64_t)at;
  const double  below = select_place(n, d, lo);
  double        above = lo + 1 < n ? d[lo + 1] : below; /* the least of those behind it */
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
  PetscCall(quantile(measure_body_of(now, k), &r, k->fraction, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode measure_run_out(const measure_moment *now, measure *k, double *value)
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
  PetscCall(quantile(measure_body_of(now, k), &r, k->fraction, value));
  *value -= v3_dot(k->point, r.up);
  PetscFunctionReturn(PETSC_SUCCESS);
}
