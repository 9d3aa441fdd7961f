/* One-step problems with a known solution, as FCLIB problems: a block released on a slope, standing on its corners. */
#ifndef SS_TESTS_FCLIB_SCENES_H
#define SS_TESTS_FCLIB_SCENES_H
#include "fclib_fixture.h"

/* Half sides of the block, its mass, moment of inertia about any axis, and the impulse of gravity in the step. */
static const double scene_half[3] = {0.5, 0.4, 0.1};
static const double scene_mass = 2.0, scene_inertia = 0.3, scene_weight = 0.02 * 9.81 * 2.0;

/* Frame of the slope: x down it, y across, z its normal. It sticks if mu >= tan(angle); else it slides down x at
 * (sin - mu cos) weight / mass. Impulses are not unique: 4 corners, 6 degrees of freedom. `is_plane`: 2 corners, x z and rotation about y. */
static inline void scene_slope(fclib_problem *p, bool is_plane, double angle, double mu)
{
  const int n = is_plane ? 3 : 6, n_c = is_plane ? 2 : 4, d = is_plane ? 2 : 3;
  double    M[36] = {0}, H[6 * 12] = {0};
  memset(p, 0, sizeof *p);
  p->is_global = true, p->dimension = d, p->n_contacts = n_c, p->n_dof = n;
  for (int i = 0; i < n; ++i) M[n * i + i] = i < (is_plane ? 2 : 3) ? scene_mass : scene_inertia;
  for (int a = 0; a < n_c; ++a) {
    const double x = a % 2 ? scene_half[0] : -scene_half[0], y = a / 2 ? scene_half[1] : -scene_half[1], z = -scene_half[2];
    const int    m = d * n_c, N = d * a, X = N + 1, Y = N + 2;
    if (is_plane) { /* v = (vx, vz, turn about y): corner moves by (vx + turn z, vz - turn x) */
      H[m * 1 + N] = 1, H[m * 2 + N] = -x;
      H[m * 0 + X] = 1, H[m * 2 + X] = z;
    } else { /* v + turn x arm */
      H[m * 2 + N] = 1, H[m * 3 + N] = y, H[m * 4 + N] = -x;
      H[m * 0 + X] = 1, H[m * 4 + X] = z, H[m * 5 + X] = -y;
      H[m * 1 + Y] = 1, H[m * 3 + Y] = -z, H[m * 5 + Y] = x;
    }
  }
  fixture_compress(n, n, M, &p->M);
  fixture_compress(n, d * n_c, H, &p->H);
  assert_ok(memory_alloc("test", n, sizeof *p->f, &p->f));
  assert_ok(memory_alloc("test", d * n_c, sizeof *p->w, &p->w));
  assert_ok(memory_alloc("test", n_c, sizeof *p->mu, &p->mu));
  p->f[0] = scene_weight * sin(angle), p->f[is_plane ? 1 : 2] = -scene_weight * cos(angle);
  for (int a = 0; a < n_c; ++a) p->mu[a] = mu;
  p->title = fixture_text(is_plane ? "block on a slope, in the plane" : "block on a slope");
}

/* Two bodies without rotation, a contact each: W is regular, and everything else as with the block. */
static inline void scene_points(fclib_problem *p, double angle, double mu)
{
  double M[36] = {0}, H[36] = {0};
  memset(p, 0, sizeof *p);
  p->is_global = true, p->dimension = 3, p->n_contacts = 2, p->n_dof = 6;
  for (int i = 0; i < 6; ++i) M[7 * i] = scene_mass, H[6 * i + 3 * (i / 3) + (i + 1) % 3] = 1;
  fixture_compress(6, 6, M, &p->M);
  fixture_compress(6, 6, H, &p->H);
  p->w = fixture_vector(6, 0), p->f = fixture_vector(6, 0);
  assert_ok(memory_alloc("test", 2, sizeof *p->mu, &p->mu));
  for (int a = 0; a < 2; ++a) {
    p->mu[a] = mu;
    for (int i = 0; i < 3; ++i) p->w[3 * a + i] = 0, p->f[3 * a + i] = scene_weight * (i == 0 ? sin(angle) : i == 2 ? -cos(angle) : 0);
  }
  p->title = fixture_text("two bodies on a slope");
}

/* What its corners move at, down the slope. */
static inline double scene_slope_speed(double angle, double mu)
{
  return fmax(0, sin(angle) - mu * cos(angle)) * scene_weight / scene_mass;
}

/* y [n_columns] = A^T x of a matrix in compressed columns. */
static inline void scene_apply_transposed(const fclib_matrix *A, const double *x, double *y)
{
  for (int64_t j = 0; j < A->n_columns; ++j) {
    y[j] = 0.0;
    for (int64_t k = A->start[j]; k < A->start[j + 1]; ++k) y[j] += A->value[k] * x[A->row[k]];
  }
}

/* The same without M: W = H^T M^-1 H, q = H^T M^-1 f + w. Its `asymmetry` is added to one entry. */
static inline void scene_local(fclib_problem *p, double asymmetry)
{
  const int64_t m = p->dimension * p->n_contacts, n = p->n_dof;
  double       *W = fixture_vector(m * m, 0), column[6], y[12], x[12] = {0};
  for (int64_t j = 0; j < m; ++j) {
    x[j] = 1;
    fclib_apply(&p->H, x, column);
    for (int64_t i = 0; i < n; ++i) column[i] /= p->M.value[i]; /* diagonal */
    scene_apply_transposed(&p->H, column, y);
    for (int64_t i = 0; i < m; ++i) W[m * i + j] = y[i];
    x[j] = 0;
  }
  W[1] += asymmetry;
  assert_ok(memory_alloc("test", m, sizeof *p->q, &p->q));
  for (int64_t i = 0; i < n; ++i) column[i] = p->f[i] / p->M.value[i];
  scene_apply_transposed(&p->H, column, p->q);
  for (int64_t i = 0; i < m; ++i) p->q[i] += p->w[i];
  fixture_compress(m, m, W, &p->W);
  memory_free(&W);
  memory_free(&p->M.start), memory_free(&p->M.row), memory_free(&p->M.value);
  memory_free(&p->H.start), memory_free(&p->H.row), memory_free(&p->H.value);
  memory_free(&p->f), memory_free(&p->w);
  p->is_global = false;
}
#endif
