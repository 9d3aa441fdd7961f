/* Implementation of tetrahedra_error.h: error norms of tetrahedra by numerical integration. */
#include "discretize/fem/tetrahedra_error.h"
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/fem/tetrahedra.h"

/* Barycentric coordinates and shares of the volume: two orbits (a, a, a, 1 - 3a), one (c, c, 1/2 - c, 1/2 - c). */
enum { N_POINTS = 14 };
typedef struct {
  double at[4], weight;
} quadrature_point;

static void quadrature(quadrature_point q[N_POINTS])
{
  static const double a[2] = {0.31088591926330060980, 0.092735250310891226402}, w[2] = {0.11268792571801585080, 0.073493043116361949544};
  static const double c = 0.045503704125649649492, v = 0.042546020777081466438;
  int                 n = 0;
  for (int orbit = 0; orbit < 2; ++orbit)
    for (int k = 0; k < 4; ++k, ++n) {
      for (int i = 0; i < 4; ++i) q[n].at[i] = i == k ? 1.0 - 3.0 * a[orbit] : a[orbit];
      q[n].weight = w[orbit];
    }
  for (int k = 0; k < 4; ++k)
    for (int l = k + 1; l < 4; ++l, ++n) {
      for (int i = 0; i < 4; ++i) q[n].at[i] = i == k || i == l ? c : 0.5 - c;
      q[n].weight = v;
    }
}

/* sum_a at_a x_a over the corners. */
static void tetrahedra_error_interpolate(const int32_t *node, const double *x, const double at[4], double out[3])
{
  v3_set(out, 0.0, 0.0, 0.0);
  for (int a = 0; a < 4; ++a) v3_axpy(out, at[a], x + 3 * (int64_t)node[a]);
}

/* Edges from corner 0 as columns. */
static void edges(const int32_t *node, const double *x, double E[9])
{
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k < 3; ++k) E[3 * k + a] = x[3 * (int64_t)node[a + 1] + k] - x[3 * (int64_t)node[0] + k];
}

static double square_error(const nodal_body *b, const int32_t *node, const double F[9], const vector_field *f, double t,
                           tetrahedra_quantity of, const double at[4])
{
  double X[3], x[3], e[9], expected[9], square = 0.0;
  tetrahedra_error_interpolate(node, b->rest, at, X);
  tetrahedra_error_interpolate(node, b->x, at, x);
  if (of == TETRAHEDRA_GRADIENT) {
    vector_field_gradient(f, X, x, t, F, expected);
    for (int k = 0; k < 9; ++k) e[k] = F[k] - (k % 4 == 0) - expected[k], square += e[k] * e[k];
    return square;
  }
  vector_field_at(f, X, x, t, expected);
  if (of == TETRAHEDRA_VELOCITY) tetrahedra_error_interpolate(node, b->v, at, e);
  else v3_sub(e, x, X);
  v3_axpy(e, -1.0, expected);
  return v3_dot(e, e);
}

PetscErrorCode tetrahedra_error(const nodal_body *b, const vector_field *f, double t, tetrahedra_quantity of, double *error)
{
  const element_set *set = tetrahedra_of(b);
  quadrature_point   q[N_POINTS];
  double            *volume, *square, total = 0.0, sum = 0.0;
  PetscFunctionBegin;
  SS_ASSERT(set);
  quadrature(q);
  PetscCall(MEMORY_ALLOC("errors of elements", ARRAY(volume, set->n), ARRAY(square, set->n)));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < set->n; ++i) {
    const int32_t *node = set->node + 4 * i;
    double         rest[9], now[9], inverse[9], F[9];
    edges(node, b->rest, rest);
    edges(node, b->x, now);
    volume[i] = m3_inverse(inverse, rest) / 6.0;
    m3_mul(F, now, inverse);
    square[i] = 0.0;
    for (int k = 0; k < N_POINTS; ++k) square[i] += q[k].weight * square_error(b, node, F, f, t, of, q[k].at);
  }
  for (int64_t i = 0; i < set->n; ++i) total += volume[i], sum += volume[i] * square[i]; /* in order: the same on any number of threads */
  memory_free(&volume);
  memory_free(&square);
  *error = sqrt(sum / total);
  PetscFunctionReturn(PETSC_SUCCESS);
}
