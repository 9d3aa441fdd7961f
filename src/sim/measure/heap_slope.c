/* Particles are sorted by columns; the slope is fitted in two passes, the second with heights perpendicular to the first line. */
#include "sim/measure/heap_slope.h"
#include "core/math3.h"
#include "core/memory.h"
#include "core/sort.h"

/* Particles in coordinates of the heap, in the order of their columns, and the highest particle of every column. */
typedef struct {
  int64_t   n, n_columns;
  double   *s, *z, *top_s, *top_z; /* [n] distance down the slope, and height; the same for columns [n_columns] */
  uint64_t *key;                   /* of the column */
  int32_t  *order;
} columns;

/* Horizontal unit vectors; e[0] is the horizontal part of `along`. False if it has none. */
static bool basis(const heap_frame *f, double e[2][3])
{
  v3_copy(e[0], f->along);
  if (f->is_round) v3_set(e[0], fabs(f->up[0]) < 0.5, fabs(f->up[0]) >= 0.5, 0.0); /* any direction other than up */
  v3_axpy(e[0], -v3_dot(e[0], f->up), f->up);
  const double size = v3_norm(e[0]);
  if (!(size > 1e-6)) return false;
  v3_scale(e[0], 1.0 / size, e[0]);
  v3_cross(e[1], f->up, e[0]);
  return true;
}

static uint64_t column_of(double c, double width)
{
  return (uint64_t)(int64_t)(fmin(fmax(floor(c / width), -2.0e9), 2.0e9) + 2147483648.0);
}

static void transform_particles(columns *c, double *const x[3], const heap_frame *f, double e[2][3])
{
  for (int64_t i = 0; i < c->n; ++i) {
    const double d[3] = {x[0][i] - f->point[0], x[1][i] - f->point[1], x[2][i] - f->point[2]};
    const double a = v3_dot(d, e[0]), b = v3_dot(d, e[1]);
    c->s[i]   = f->is_round ? hypot(a, b) : a;
    c->z[i]   = v3_dot(d, f->up);
    c->key[i] = column_of(a, f->width) << 32 | column_of(b, f->width);
  }
}

/* Find in every column the particle that is highest above the line of slope t. */
static void find_tops(columns *c, double t)
{
  c->n_columns = 0;
  for (int64_t i = 0; i < c->n; ++i) {
    const double  s = c->s[c->order[i]], z = c->z[c->order[i]];
    const bool    is_first = i == 0 || c->key[i] != c->key[i - 1];
    const int64_t k        = is_first ? c->n_columns++ : c->n_columns - 1;
    if (is_first || z + t * s > c->top_z[k] + t * c->top_s[k]) c->top_s[k] = s, c->top_z[k] = z;
  }
}

/* Least squares z = a - t s over the middle of the slope; NaN if it has less than three columns. */
static double fit_line(const columns *c)
{
  double highest = -INFINITY, from = -INFINITY, to = -INFINITY, n = 0.0, s1 = 0.0, z1 = 0.0, ss = 0.0, sz = 0.0;
  for (int64_t k = 0; k < c->n_columns; ++k) highest = fmax(highest, c->top_z[k]);
  for (int64_t k = 0; k < c->n_columns; ++k) {
    if (c->top_z[k] >= 0.8 * highest) from = fmax(from, c->top_s[k]);
    if (c->top_z[k] >= 0.2 * highest) to = fmax(to, c->top_s[k]);
  }
  for (int64_t k = 0; k < c->n_columns; ++k)
    if (c->top_s[k] >= from && c->top_s[k] <= to) n += 1.0, s1 += c->top_s[k], z1 += c->top_z[k];
  if (n < 3.0) return NAN;
  for (int64_t k = 0; k < c->n_columns; ++k)
    if (c->top_s[k] >= from && c->top_s[k] <= to) {
      ss += (c->top_s[k] - s1 / n) * (c->top_s[k] - s1 / n);
      sz += (c->top_s[k] - s1 / n) * (c->top_z[k] - z1 / n);
    }
  return -sz / ss;
}

static PetscErrorCode columns_alloc(int64_t n, columns *c)
{
  PetscFunctionBegin;
  c->n = n;
  PetscCall(MEMORY_ALLOC("heap slope", ARRAY(c->s, n), ARRAY(c->z, n), ARRAY(c->top_s, n), ARRAY(c->top_z, n), ARRAY(c->key, n),
                         ARRAY(c->order, n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void columns_free(columns *c) { MEMORY_FREE(&c->s, &c->z, &c->top_s, &c->top_z, &c->key, &c->order); }

PetscErrorCode heap_slope_angle(int64_t n, double *const x[3], const heap_frame *f, double *angle)
{
  PetscFunctionBegin;
  columns c = {0};
  double  e[2][3];
  *angle = NAN;
  if (n < 3 || !basis(f, e)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = columns_alloc(n, &c);
  if (!code) {
    transform_particles(&c, x, f, e);
    code = sort_keys(n, 64, c.key, c.order);
  }
  if (!code) {
    find_tops(&c, 0.0);
    const double t = fit_line(&c);
    if (isfinite(t)) find_tops(&c, t), *angle = atan(fit_line(&c));
  }
  columns_free(&c);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
