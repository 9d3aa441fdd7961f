/* Implementation: tensor-product cubic B-splines; their coefficients follow from tridiagonal systems along each axis. */
#include "geometry/level_set/level_set_sampled.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/team.h"
#include "geometry/triangle_mesh/triangle_bvh.h"

enum { MAX_NODES = 64000000 };

/* Spline coefficients with one padding layer on every side: node i of the grid is coefficient i + 1. */
typedef struct {
  level_set base;
  int64_t   n[3], padded[3];
  double    origin[3], spacing, min[3], max[3]; /* min, max: bounds of {phi <= 0}, accurate to one cell */
  double   *c;
} level_set_grid;

/* ---- evaluation ---- */

static void cubic_weights(double t, double *w, double *d, double *dd)
{
  const double u = 1.0 - t;
  w[0] = u * u * u / 6.0, w[3] = t * t * t / 6.0;
  w[1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0;
  w[2] = (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0;
  d[0] = -0.5 * u * u, d[3] = 0.5 * t * t;
  d[1] = -2.0 * t + 1.5 * t * t, d[2] = 2.0 * u - 1.5 * u * u;
  dd[0] = u, dd[1] = 3.0 * t - 2.0, dd[2] = 3.0 * u - 2.0, dd[3] = t;
}

/* Value and derivatives at a point inside the grid. */
static double grid_inside(const level_set_grid *s, const double *x, double *gradient, double *hessian)
{
  double        w[3][4], d[3][4], dd[3][4], v = 0.0, g[3] = {0}, h[6] = {0}; /* h: xx yy zz yz xz xy */
  int64_t       base      = 0;
  const int64_t stride[3] = {s->padded[1] * s->padded[2], s->padded[2], 1};
  for (int k = 0; k < 3; ++k) {
    const double  r = (x[k] - s->origin[k]) / s->spacing;
    const int64_t i = r <= 0.0 ? 0 : r >= (double)(s->n[k] - 1) ? s->n[k] - 2 : (int64_t)r;
    cubic_weights(r - (double)i, w[k], d[k], dd[k]);
    base += i * stride[k]; /* support: padded nodes i ... i + 3 */
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const double *c  = &s->c[base + i * stride[0] + j * stride[1]];
      const double  f  = c[0] * w[2][0] + c[1] * w[2][1] + c[2] * w[2][2] + c[3] * w[2][3];
      const double  fz = c[0] * d[2][0] + c[1] * d[2][1] + c[2] * d[2][2] + c[3] * d[2][3];
      const double  wx = w[0][i], wy = w[1][j], dx = d[0][i], dy = d[1][j];
      v += wx * wy * f;
      g[0] += dx * wy * f, g[1] += wx * dy * f, g[2] += wx * wy * fz;
      if (!hessian) continue;
      const double fzz = c[0] * dd[2][0] + c[1] * dd[2][1] + c[2] * dd[2][2] + c[3] * dd[2][3];
      h[0] += dd[0][i] * wy * f, h[1] += wx * dd[1][j] * f, h[2] += wx * wy * fzz;
      h[3] += wx * dy * fz, h[4] += dx * wy * fz, h[5] += dx * dy * f;
    }
  const double inverse = 1.0 / s->spacing;
  if (gradient) v3_scale(gradient, inverse, g);
  if (hessian) {
    const double full[9] = {h[0], h[5], h[4], h[5], h[1], h[3], h[4], h[3], h[2]};
    for (int i = 0; i < 9; ++i) hessian[i] = inverse * inverse * full[i];
  }
  return v;
}

static double grid_eval(const level_set *base, const double x[3], double *gradient, double *hessian)
{
  const level_set_grid *s = (const level_set_grid *)base;
  double                p[3], d[3], g[3], h[9];
  bool                  is_inside = true;
  for (int k = 0; k < 3; ++k) {
    const double hi = s->origin[k] + s->spacing * (double)(s->n[k] - 1);
    p[k]            = fmin(fmax(x[k], s->origin[k]), hi);
    d[k]            = x[k] - p[k];
    is_inside       = is_inside && d[k] == 0.0;
  }
  if (is_inside) return grid_inside(s, x, gradient, hessian);
  /* F = sqrt(A), A = phi(p)^2 + |d|^2; p follows x only along the axes that are not clamped */
  const double phi = grid_inside(s, p, g, hessian ? h : NULL), f = sqrt(phi * phi + v3_dot(d, d));
  double       half[3]; /* half the gradient of A */
  for (int k = 0; k < 3; ++k) half[k] = d[k] != 0.0 ? d[k] : phi * g[k];
  if (gradient) v3_scale(gradient, 1.0 / f, half);
  if (hessian)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const bool   is_free = d[i] == 0.0 && d[j] == 0.0;
        const double a       = is_free ? g[i] * g[j] + phi * h[3 * i + j] : (i == j && d[i] != 0.0);
        hessian[3 * i + j]   = (a - half[i] * half[j] / (f * f)) / f;
      }
  return f;
}

static void grid_bounds(const level_set *base, double min[3], double max[3])
{
  const level_set_grid *s = (const level_set_grid *)base;
  v3_copy(min, s->min);
  v3_copy(max, s->max);
}

static void grid_destroy(level_set *base) { memory_free(&((level_set_grid *)base)->c); }

static const level_set_kind kind_grid = {.eval = grid_eval, .bounds = grid_bounds, .destroy = grid_destroy};

/* ---- prefilter: coefficients of the spline that interpolates the values ---- */

/* Solve (c[i-1] + 4 c[i] + c[i+1])/6 = f[i] with c'' = 0 at both ends, which makes c = f there; entries `stride` apart.
 * c[0] and c[n+1] are padding; on entry c[1..n] contains f. `work` [n]. */
static void prefilter_line(int64_t n, int64_t stride, double *c, double *work)
{
#define C(i) c[(i)*stride]
  double carry = 0.0;
  for (int64_t i = 2; i < n; ++i) { /* Thomas algorithm: diagonal 4, off-diagonals 1 */
    const double right = 6.0 * C(i) - (i == 2 ? C(1) : 0.0) - (i == n - 1 ? C(n) : 0.0);
    const double m     = 1.0 / (4.0 - (i == 2 ? 0.0 : work[i - 1]));
    work[i]            = m;
    carry              = m * (right - (i == 2 ? 0.0 : carry));
    C(i)               = carry;
  }
  for (int64_t i = n - 2; i >= 2; --i) C(i) -= work[i] * C(i + 1);
  C(0)     = 2.0 * C(1) - C(2);
  C(n + 1) = 2.0 * C(n) - C(n - 1);
#undef C
}

static PetscErrorCode prefilter(level_set_grid *s)
{
  const int64_t *p = s->padded, longest = p[0] > p[1] ? (p[0] > p[2] ? p[0] : p[2]) : (p[1] > p[2] ? p[1] : p[2]);
  const int64_t  stride[3] = {p[1] * p[2], p[2], 1};
  double        *work      = NULL;
  const int      n_team    = team_threads();
  PetscFunctionBegin;
  PetscCall(memory_alloc("level set prefilter", n_team * longest, sizeof *work, &work));
  for (int axis = 2; axis >= 0; --axis) { /* lines along this axis; later axes include the padding of earlier ones */
    const int     a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    const int64_t a0 = a > axis ? 0 : 1, a1 = a > axis ? p[a] : p[a] - 1, b0 = b > axis ? 0 : 1, b1 = b > axis ? p[b] : p[b] - 1;
#pragma omp parallel for schedule(static) num_threads(n_team)
    for (int part = 0; part < n_team; ++part)
      for (int64_t i = a0 + (a1 - a0) * part / n_team; i < a0 + (a1 - a0) * (part + 1) / n_team; ++i)
        for (int64_t j = b0; j < b1; ++j)
          prefilter_line(s->n[axis], stride[axis], &s->c[i * stride[a] + j * stride[b]], &work[part * longest]);
  }
  memory_free(&work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

static PetscErrorCode grid_create(const int64_t n[3], const double origin[3], double spacing, level_set_grid **out)
{
  level_set_grid *s     = NULL;
  int64_t         total = 1;
  PetscFunctionBegin;
  PetscCheck(n[0] >= 4 && n[1] >= 4 && n[2] >= 4, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "a sampled level set needs at least 4 nodes in every direction");
  PetscCheck(isfinite(spacing) && spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the spacing must be positive");
  PetscCall(memory_alloc("level set", 1, sizeof *s, &s));
  for (int k = 0; k < 3; ++k) {
    s->n[k] = n[k], s->padded[k] = n[k] + 2, s->origin[k] = origin[k];
    total *= s->padded[k];
  }
  s->base.kind              = &kind_grid;
  s->spacing                = spacing;
  const PetscErrorCode code = memory_alloc("sampled level set", total, sizeof *s->c, &s->c);
  if (code) memory_free(&s);
  PetscCall(code);
  *out = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int64_t node_index(const level_set_grid *s, int64_t i, int64_t j, int64_t k)
{
  return ((i + 1) * s->padded[1] + j + 1) * s->padded[2] + k + 1;
}

/* Check the sampled values, compute the bounds and replace the values by spline coefficients. */
static PetscErrorCode grid_finish(level_set_grid *s)
{
  int64_t lo[3] = {INT64_MAX, INT64_MAX, INT64_MAX}, hi[3] = {-1, -1, -1};
  bool    is_open = false, is_finite = true;
  PetscFunctionBegin;
  for (int64_t i = 0; i < s->n[0]; ++i)
    for (int64_t j = 0; j < s->n[1]; ++j)
      for (int64_t k = 0; k < s->n[2]; ++k) {
        const int64_t at[3] = {i, j, k};
        const double  v     = s->c[node_index(s, i, j, k)];
        is_finite           = is_finite && isfinite(v);
        if (v > 0.0) continue;
        for (int q = 0; q < 3; ++q) {
          lo[q]   = at[q] < lo[q] ? at[q] : lo[q];
          hi[q]   = at[q] > hi[q] ? at[q] : hi[q];
          is_open = is_open || at[q] == 0 || at[q] == s->n[q] - 1;
        }
      }
  PetscCheck(is_finite, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "a sampled level set has values that are not finite numbers");
  PetscCheck(!is_open, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "a sampled level set is not positive on the border of its grid");
  PetscCheck(
      hi[0] >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
      "no node of the grid lies inside the shape: it is thinner than the spacing %g m of its sampled level set; choose a smaller spacing",
      s->spacing);
  for (int q = 0; q < 3; ++q) {
    s->min[q] = s->origin[q] + s->spacing * (double)(lo[q] - 1);
    s->max[q] = s->origin[q] + s->spacing * (double)(hi[q] + 1);
  }
  PetscCall(prefilter(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode level_set_sampled(const int64_t n[3], const double origin[3], double spacing, const double *phi, level_set **out)
{
  level_set_grid *s = NULL;
  PetscFunctionBegin;
  PetscCall(grid_create(n, origin, spacing, &s));
  for (int64_t i = 0; i < n[0]; ++i)
    for (int64_t j = 0; j < n[1]; ++j) memcpy(&s->c[node_index(s, i, j, 0)], &phi[(i * n[1] + j) * n[2]], (size_t)n[2] * sizeof *phi);
  level_set           *base = &s->base;
  const PetscErrorCode code = grid_finish(s);
  if (code) level_set_destroy(&base);
  PetscCall(code);
  *out = base;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void sample_distance(level_set_grid *s, const triangle_bvh *tree)
{
  const int64_t n_rows = s->n[0] * s->n[1];
#pragma omp parallel for schedule(dynamic, 16)
  /* the hint is reset in every row, so that the bits do not depend on the number of threads */
  for (int64_t row = 0; row < n_rows; ++row) {
    int32_t hint = -1;
    for (int64_t k = 0; k < s->n[2]; ++k) {
      const int64_t at[3] = {row / s->n[1], row % s->n[1], k};
      double        x[3];
      for (int q = 0; q < 3; ++q) x[q] = s->origin[q] + s->spacing * (double)at[q];
      s->c[node_index(s, at[0], at[1], k)] = triangle_bvh_distance(tree, x, &hint, NULL);
    }
  }
}

PetscErrorCode level_set_from_mesh(const triangle_mesh *mesh, double spacing, level_set **out)
{
  triangle_mesh_defects defects;
  triangle_bvh         *tree = NULL;
  level_set_grid       *s    = NULL;
  double                lo[3], hi[3], origin[3], total = 1.0;
  int64_t               n[3];
  char                  text[256];
  PetscFunctionBegin;
  PetscCall(triangle_mesh_check(mesh, &defects));
  triangle_mesh_defects_text(mesh, &defects, sizeof text, text);
  PetscCheck(triangle_mesh_is_sound(&defects), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "no distance can be sampled from this mesh: %s",
             text);
  PetscCheck(isfinite(spacing) && spacing > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the spacing must be positive");
  triangle_mesh_bounds(mesh, lo, hi);
  for (int k = 0; k < 3; ++k) total *= ceil((hi[k] - lo[k]) / spacing) + 1.0 + 2.0 * LEVEL_SET_MARGIN;
  PetscCheck(total <= MAX_NODES, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "the level set of this mesh would need %.3g nodes at spacing %g m (at most %d): choose a larger spacing", total, spacing,
             MAX_NODES);
  for (int k = 0; k < 3; ++k) { /* the grid is centred on the mesh, so that a symmetric mesh gives a symmetric level set */
    n[k]      = (int64_t)ceil((hi[k] - lo[k]) / spacing) + 1 + 2 * LEVEL_SET_MARGIN;
    origin[k] = 0.5 * (lo[k] + hi[k]) - 0.5 * spacing * (double)(n[k] - 1);
  }
  PetscCall(triangle_bvh_create(mesh, &tree));
  PetscErrorCode code = grid_create(n, origin, spacing, &s);
  if (!code) {
    level_set *base = &s->base;
    sample_distance(s, tree);
    code = grid_finish(s);
    if (!code) *out = base;
    else level_set_destroy(&base);
  }
  triangle_bvh_destroy(&tree);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

level_set_quality level_set_measure(const level_set *s, const double min[3], const double max[3], double step, double band)
{
  level_set_quality q = {0};
  double            x[3], g[3], sum = 0.0;
  for (x[0] = min[0] + 0.5 * step; x[0] < max[0]; x[0] += step)
    for (x[1] = min[1] + 0.5 * step; x[1] < max[1]; x[1] += step)
      for (x[2] = min[2] + 0.5 * step; x[2] < max[2]; x[2] += step) {
        if (!(fabs(level_set_eval(s, x, g, NULL)) < band)) continue;
        const double e = v3_norm(g) - 1.0;
        ++q.n;
        q.n_bad += fabs(e) > 1e-2;
        q.worst = fmax(q.worst, fabs(e));
        sum += e * e;
      }
  q.rms = q.n ? sqrt(sum / (double)q.n) : 0.0;
  return q;
}
